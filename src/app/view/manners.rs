//! The help sheet, and the question before unsaved work goes away.

use std::path::PathBuf;

use egui::{Context, Id, Modal, RichText, ScrollArea};

/// Keys that work in every tab.
const KEYS: &[(&str, &str)] = &[
    ("F1, ?", "This sheet"),
    ("F", "Frame all"),
    ("G", "Ground on or off"),
    ("S", "Save a screenshot"),
    ("Ctrl+O", "Open a file"),
    ("Ctrl+R", "Read the file again"),
    ("Ctrl+Z", "Undo"),
    ("Ctrl+Shift+Z, Ctrl+Y", "Redo"),
    ("Ctrl+Q", "Close the window"),
    ("Drag", "Turn the camera"),
    ("Right-drag, Shift+drag", "Move the camera"),
    ("Scroll, pinch", "Zoom"),
];

/// What makes the character on show go away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// The window closes.
    Close,
    /// Another file is shown, or the built-in hands.
    Open(Option<PathBuf>),
}

/// The question whether to lose something for the sake of something else.
#[derive(Debug)]
pub struct Question {
    pub leaving: Leaving,
    /// What would be lost, such as "edited weights".
    pub lost: String,
}

/// Lists keys, those of a tab under its name; false once the sheet was closed.
pub fn help(context: &Context, mode: &str, keys: &[(&str, &str)]) -> bool {
    let mut open = true;
    let shown = Modal::new(Id::unique("help")).show(context, |ui| {
        ui.heading("Keys");
        ScrollArea::vertical().max_height((context.content_rect().height() - 120.0).max(80.0)).show(ui, |ui| {
            if !keys.is_empty() {
                ui.add_space(6.0);
                ui.label(RichText::new(mode).strong());
                table(ui, "keys of the tab", keys);
            }
            ui.add_space(6.0);
            ui.label(RichText::new("Everywhere").strong());
            table(ui, "keys everywhere", KEYS);
        });
        ui.add_space(8.0);
        if ui.button("Close").clicked() {
            open = false;
        }
    });
    open && !shown.should_close()
}

fn table(ui: &mut egui::Ui, id: &str, keys: &[(&str, &str)]) {
    egui::Grid::new(id).num_columns(2).spacing([24.0, 4.0]).show(ui, |ui| {
        for (keys, what) in keys {
            ui.monospace(*keys);
            ui.label(*what);
            ui.end_row();
        }
    });
}

/// Asks; the answer is true to lose the work, false to stay, and `None` while there is none.
pub fn ask(context: &Context, question: &Question) -> Option<bool> {
    let mut answer = None;
    let shown = Modal::new(Id::unique("unsaved")).show(context, |ui| {
        ui.set_max_width(360.0);
        ui.heading("Unsaved work");
        let before = match &question.leaving {
            Leaving::Close => "Closing the window".into(),
            Leaving::Open(None) => "Opening the hands".into(),
            Leaving::Open(Some(path)) => format!("Opening {}", path.file_name().unwrap_or_default().to_string_lossy()),
        };
        ui.label(format!("{before} would lose {}.", question.lost));
        ui.add_space(8.0);
        ui.horizontal(|ui| {
            if ui.button("Keep working").clicked() {
                answer = Some(false);
            }
            if ui.button("Discard").clicked() {
                answer = Some(true);
            }
        });
    });
    if shown.should_close() { answer.or(Some(false)) } else { answer }
}

#[cfg(test)]
mod tests {
    use egui::{Key, Modifiers};
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;

    use super::*;
    use crate::app::view::mode::{Context, Mode};
    use crate::app::view::shell::Shell;
    use crate::app::view::testing;

    /// A tab with work in it.
    struct Busy(bool);

    impl Mode for Busy {
        fn name(&self) -> &'static str {
            "Busy"
        }

        fn panel(&mut self, _ui: &mut egui::Ui, _context: &mut Context<'_>) {}

        fn enter(&mut self, _context: &mut Context<'_>) {}

        fn unsaved(&self) -> Option<String> {
            self.0.then(|| "edited weights".into())
        }
    }

    /// The viewer without a character, with one tab.
    fn harness(busy: bool) -> Harness<'static, Shell> {
        let size = egui::vec2(900.0, 700.0);
        let mut shell = testing::shell(size);
        shell.modes = vec![Box::new(Busy(busy))];
        let ui = |ui: &mut egui::Ui, shell: &mut Shell| {
            shell.ui(ui, 0.0);
        };
        Harness::builder().with_size(size).build_ui_state(ui, shell)
    }

    #[test]
    fn the_window_closes_at_once_when_nothing_is_lost() {
        let mut harness = harness(false);
        harness.state_mut().leave(Leaving::Close);
        assert!(harness.state().closing);
    }

    #[test]
    fn unsaved_work_is_asked_about() {
        let mut harness = harness(true);
        harness.state_mut().leave(Leaving::Close);
        harness.run_ok();
        assert!(!harness.state().closing);
        harness.get_by_label("Closing the window would lose edited weights.");
        // Keys go to the question alone.
        let grid = harness.state().grid;
        harness.key_press(Key::G);
        harness.run_ok();
        assert_eq!(harness.state().grid, grid);
        harness.get_by_label("Keep working").click();
        harness.run_ok();
        assert!(!harness.state().closing);
        assert!(harness.query_by_label("Keep working").is_none());

        harness.state_mut().leave(Leaving::Open(Some("hand.glb".into())));
        harness.run_ok();
        harness.get_by_label("Opening hand.glb would lose edited weights.");
        harness.key_press(Key::Escape);
        harness.run_ok();
        assert!(harness.state().loading.is_none());
        assert!(harness.query_by_label("Keep working").is_none());

        harness.state_mut().leave(Leaving::Close);
        harness.run_ok();
        harness.get_by_label("Discard").click();
        harness.run_ok();
        assert!(harness.state().closing);
    }

    #[test]
    fn the_help_sheet_opens_by_key_and_closes() {
        let mut harness = harness(false);
        harness.run_ok();
        assert!(harness.query_by_label("Frame all").is_none());
        harness.key_press(Key::F1);
        harness.run_ok();
        harness.get_by_label("Frame all");
        harness.get_by_label("Close").click();
        harness.run_ok();
        assert!(harness.query_by_label("Frame all").is_none());
        harness.key_press_modifiers(Modifiers::SHIFT, Key::Questionmark);
        harness.run_ok();
        harness.get_by_label("Frame all");
        harness.key_press(Key::Escape);
        harness.run_ok();
        assert!(harness.query_by_label("Frame all").is_none());
    }
}
