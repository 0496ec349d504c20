//! A path typed by hand, where the system has no file dialog.

use std::path::PathBuf;
use std::sync::mpsc::Sender;

use egui::{Context, Id, Key, Modal};

use super::panel::named;

/// Somebody wants the path of a file.
pub struct Ask {
    title: String,
    text: String,
    /// It is written: an existing one is replaced, but not without asking.
    save: bool,
    answer: Sender<Result<Option<PathBuf>, String>>,
    /// The keyboard goes to the text once.
    fresh: bool,
}

impl Ask {
    pub fn new(title: &str, name: &str, save: bool, answer: Sender<Result<Option<PathBuf>, String>>) -> Self {
        Self { title: title.into(), text: name.into(), save, answer, fresh: true }
    }

    /// Draws the question; true once it was answered.
    pub fn show(&mut self, context: &Context) -> bool {
        let mut answer = None;
        let shown = Modal::new(Id::unique("path")).show(context, |ui| {
            ui.set_width(420.0_f32.min(context.content_rect().width() - 60.0));
            ui.heading(&self.title);
            ui.weak("This system has no file dialog (zenity or a desktop portal). Type the path.");
            ui.add_space(4.0);
            let edit = named(ui.add(egui::TextEdit::singleline(&mut self.text).desired_width(f32::INFINITY)), "path");
            if std::mem::take(&mut self.fresh) {
                edit.request_focus();
            }
            let path = PathBuf::from(self.text.trim());
            let exists = path.is_file();
            let problem = match () {
                () if self.text.trim().is_empty() => Some("There is no name yet."),
                () if path.is_dir() => Some("This is a folder."),
                () if !self.save && !exists => Some("There is no such file."),
                () if self.save && path.parent().is_some_and(|p| !p.as_os_str().is_empty() && !p.is_dir()) => {
                    Some("There is no such folder.")
                }
                () => None,
            };
            ui.label(problem.unwrap_or(if self.save && exists {
                "The file that is there will be replaced."
            } else {
                ""
            }));
            ui.add_space(4.0);
            let entered = edit.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter));
            ui.horizontal(|ui| {
                let name = match (self.save, exists) {
                    (false, _) => "Open",
                    (true, false) => "Save",
                    (true, true) => "Replace",
                };
                // Enter does not replace.
                let go = ui.add_enabled(problem.is_none(), egui::Button::new(name)).clicked();
                if go || (entered && problem.is_none() && !(self.save && exists)) {
                    answer = Some(Some(path));
                }
                if ui.button("Cancel").clicked() {
                    answer = Some(None);
                }
            });
        });
        let answer = if shown.should_close() { answer.or(Some(None)) } else { answer };
        let Some(answer) = answer else { return false };
        // Whoever asked may have gone.
        let _ = self.answer.send(Ok(answer));
        true
    }
}

/// True where `rfd` would find nobody to show a dialog: neither a desktop portal, which needs a session bus, nor zenity.
pub fn is_needed() -> bool {
    if !cfg!(all(unix, not(target_os = "macos"))) {
        return false;
    }
    let bus = std::env::var_os("DBUS_SESSION_BUS_ADDRESS").is_some_and(|a| !a.is_empty())
        || std::env::var_os("XDG_RUNTIME_DIR").is_some_and(|folder| PathBuf::from(folder).join("bus").exists());
    let zenity = std::env::var_os("PATH").is_some_and(|p| std::env::split_paths(&p).any(|f| f.join("zenity").exists()));
    !bus && !zenity
}
