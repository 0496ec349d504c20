//! What stands before everything else: the question before work is lost, and the sheet of keys.

use std::path::PathBuf;

use egui::{Align2, Context, Id, Key, Modifiers};

use super::mode::Mode;

/// Something that would throw unsaved work away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leave {
    /// Show another file.
    Open(PathBuf),
    /// Close the window.
    Close,
}

/// Asks whether `unsaved` work may go; the answer, once there is one.
pub fn ask(context: &Context, unsaved: &str) -> Option<bool> {
    let mut answer = None;
    let modal = egui::Modal::new(Id::unique("unsaved")).show(context, |ui| {
        ui.set_max_width(320.0);
        ui.heading("Not saved");
        ui.label(format!("This would be lost: {unsaved}."));
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
    if modal.should_close() { answer.or(Some(false)) } else { answer }
}

/// Keys of the viewer itself.
const KEYS: [(&str, &str); 6] = [
    ("F", "frame all"),
    ("G", "ground on and off"),
    ("S", "save a screenshot"),
    ("Ctrl+Z, Ctrl+Shift+Z", "undo, redo"),
    ("Ctrl+O", "open a file"),
    ("F1, ?", "these keys"),
];

/// Shows the keys of the viewer and of a mode while `open`; F1 and ? turn it on and off, Escape off.
pub fn help(context: &Context, open: &mut bool, mode: &dyn Mode) {
    let editing = context.text_edit_focused();
    let pressed = |key| context.input_mut(|i| i.consume_key(Modifiers::NONE, key));
    if pressed(Key::F1) || (!editing && context.input_mut(|i| i.consume_key(Modifiers::SHIFT, Key::Questionmark))) {
        *open = !*open;
    }
    if *open && pressed(Key::Escape) {
        *open = false;
    }
    let window = egui::Window::new("Keys").collapsible(false).resizable(false).anchor(Align2::CENTER_CENTER, [0.0; 2]);
    window.open(open).show(context, |ui| {
        egui::Grid::new("keys").num_columns(2).spacing([24.0, 6.0]).show(ui, |ui| {
            for (keys, does) in KEYS.iter().chain(mode.help()) {
                ui.strong(*keys);
                ui.label(*does);
                ui.end_row();
            }
        });
        ui.add_space(6.0);
        ui.weak("Drag to turn, right-drag or shift-drag to move, scroll or pinch to zoom.");
    });
}
