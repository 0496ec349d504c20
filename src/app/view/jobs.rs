//! Work off the UI thread, and file dialogs, whose answers arrive while frames go on.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Arc, Mutex};

use super::asking::{self, Ask};

/// Something that runs on another thread. Whoever asked for it keeps this and looks with [`Job::take`] in every frame; the
/// event loop is woken when there is something to see. Dropping it forgets the answer, not the work.
pub struct Job<T> {
    answer: Receiver<Result<T, String>>,
    progress: Progress,
}

/// What a job says of itself while it runs.
#[derive(Clone)]
pub struct Progress {
    text: Arc<Mutex<String>>,
    wake: Arc<dyn Fn() + Send + Sync>,
}

impl Progress {
    /// Shows one short line, such as "Reading hand.glb".
    pub fn say(&self, text: impl Into<String>) {
        if let Ok(mut shown) = self.text.lock() {
            *shown = text.into();
        }
        (self.wake)();
    }
}

impl<T> Job<T> {
    /// The answer, once: `None` while there is none yet. An error is one line.
    pub fn take(&mut self) -> Option<Result<T, String>> {
        match self.answer.try_recv() {
            Ok(answer) => Some(answer),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err("the work was given up".into())),
        }
    }

    /// What it said last.
    pub fn progress(&self) -> String {
        self.progress.text.lock().map(|t| t.clone()).unwrap_or_default()
    }
}

/// Starts jobs. Cheap to clone.
#[derive(Clone)]
pub struct Jobs {
    wake: Arc<dyn Fn() + Send + Sync>,
    window: Option<Arc<winit::window::Window>>,
    /// Paths that are to be typed, where there are no file dialogs.
    asks: Arc<Mutex<Vec<Ask>>>,
}

impl Jobs {
    /// `wake` makes the event loop draw a frame; dialogs belong to `window`, and without one are drawn by [`Jobs::ask`].
    pub fn new(wake: impl Fn() + Send + Sync + 'static, window: Option<Arc<winit::window::Window>>) -> Self {
        Self { wake: Arc::new(wake), window, asks: Arc::default() }
    }

    /// Runs `work` on a thread of its own; `text` is the first thing it says. A panic becomes an error.
    pub fn start<T: Send + 'static>(
        &self,
        text: &str,
        work: impl FnOnce(&Progress) -> Result<T, String> + Send + 'static,
    ) -> Job<T> {
        let (sender, answer) = channel();
        let progress = Progress { text: Arc::new(Mutex::new(text.into())), wake: self.wake.clone() };
        let (inside, wake) = (progress.clone(), self.wake.clone());
        std::thread::spawn(move || {
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(&inside)));
            // Nobody listens any more: then the answer is not wanted.
            let _ = sender.send(result.unwrap_or_else(|_| Err("this failed inside; nothing was changed".into())));
            wake();
        });
        Job { answer, progress }
    }

    /// Asks for an existing file; the answer is `None` when the user does not want one after all.
    pub fn open_file(&self, title: &str, kind: &str, extensions: &[&str]) -> Job<Option<PathBuf>> {
        match self.dialog(title, kind, extensions) {
            Some(dialog) => self.answer(dialog.pick_file()),
            None => self.typed(title, "", false),
        }
    }

    /// Asks where to save; `name` is what the dialog starts with.
    pub fn save_file(&self, title: &str, kind: &str, extensions: &[&str], name: &str) -> Job<Option<PathBuf>> {
        match self.dialog(title, kind, extensions) {
            Some(dialog) => self.answer(dialog.set_file_name(name).save_file()),
            None => self.typed(title, name, true),
        }
    }

    /// `None` where the system has no dialogs.
    fn dialog(&self, title: &str, kind: &str, extensions: &[&str]) -> Option<rfd::AsyncFileDialog> {
        let window = self.window.as_ref().filter(|_| !asking::is_needed())?;
        Some(rfd::AsyncFileDialog::new().set_title(title).add_filter(kind, extensions).set_parent(&**window))
    }

    fn answer(&self, dialog: impl Future<Output = Option<rfd::FileHandle>> + Send + 'static) -> Job<Option<PathBuf>> {
        self.start("", move |_| Ok(pollster::block_on(dialog).map(|f| f.path().to_owned())))
    }

    fn typed(&self, title: &str, name: &str, save: bool) -> Job<Option<PathBuf>> {
        let (sender, answer) = channel();
        let progress = Progress { text: Arc::default(), wake: self.wake.clone() };
        if let Ok(mut asks) = self.asks.lock() {
            asks.push(Ask::new(title, name, save, sender));
        }
        (self.wake)();
        Job { answer, progress }
    }

    /// Draws the first path that is asked for; true while one is.
    pub fn ask(&self, context: &egui::Context) -> bool {
        let Ok(mut asks) = self.asks.lock() else { return false };
        if asks.first_mut().is_some_and(|ask| ask.show(context)) {
            asks.remove(0);
            context.request_repaint();
        }
        !asks.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_answers_once_and_survives_a_panic() {
        let (sender, woken) = channel();
        let jobs = Jobs::new(move || sender.send(()).unwrap_or_default(), None);
        let mut fine = jobs.start("counting", |progress| {
            progress.say("nearly");
            Ok(7)
        });
        woken.recv().unwrap();
        woken.recv().unwrap();
        assert_eq!((fine.take(), fine.progress().as_str()), (Some(Ok(7)), "nearly"));
        let mut broken = jobs.start("breaking", |_| -> Result<(), String> { panic!("on purpose") });
        woken.recv().unwrap();
        assert!(broken.take().unwrap().unwrap_err().contains("failed inside"));
    }
}
