//! Pruning and measuring on a thread of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use dermis::Character;
use dermis::influence::{Displacement, Influences};

use crate::app::preset::Settings;
use crate::app::pruning::{Sheet, Stored};

/// What is to be done.
pub struct Task {
    pub revision: u64,
    pub facts: Arc<Character>,
    pub sheets: Arc<Vec<Sheet>>,
    pub full: Vec<Arc<Influences>>,
    pub settings: Settings,
    pub prune: bool,
}

/// What was done; the number is the task's.
pub enum Message {
    Stored(u64, Vec<Stored>),
    Measured(u64, Displacement, Vec<Vec<f64>>),
    Failed(u64, String),
    /// The thread has ended.
    Over,
}

/// At most one thread; of the tasks that come while it works only the last is kept.
pub struct Worker {
    messages: (Sender<Message>, Receiver<Message>),
    latest: Arc<AtomicU64>,
    running: bool,
    next: Option<Task>,
}

impl Default for Worker {
    fn default() -> Self {
        Self { messages: channel(), latest: Arc::default(), running: false, next: None }
    }
}

impl Worker {
    pub fn start(&mut self, task: Task) {
        self.latest.store(task.revision, Ordering::Relaxed);
        if self.running {
            self.next = Some(task);
            return;
        }
        self.running = true;
        let (sender, latest) = (self.messages.0.clone(), self.latest.clone());
        std::thread::spawn(move || {
            // Without a receiver nobody waits for the answer.
            let tell = |message| drop(sender.send(message));
            let current = || latest.load(Ordering::Relaxed) == task.revision;
            let outcome = catch_unwind(AssertUnwindSafe(|| work(&task, &current, &tell)));
            if let Ok(Err(problem)) = outcome {
                tell(Message::Failed(task.revision, problem.to_string()));
            } else if outcome.is_err() {
                tell(Message::Failed(task.revision, "pruning broke off".into()));
            }
            tell(Message::Over);
        });
    }

    /// The next message, if there is one.
    pub fn next(&mut self) -> Option<Message> {
        let message = self.messages.1.try_recv().ok()?;
        if matches!(message, Message::Over) {
            self.running = false;
            if let Some(task) = self.next.take() {
                self.start(task);
            }
        }
        Some(message)
    }

    pub fn busy(&self) -> bool {
        self.running
    }
}

fn work(task: &Task, current: &dyn Fn() -> bool, tell: &dyn Fn(Message)) -> dermis::Result<()> {
    let mut all = Vec::with_capacity(task.sheets.len());
    for (sheet, full) in task.sheets.iter().zip(&task.full) {
        if !current() {
            return Ok(());
        }
        all.push(sheet.store(full, &task.settings, task.prune)?);
    }
    tell(Message::Stored(task.revision, all.clone()));
    let (mut worst, mut fields): (Option<Displacement>, _) = (None, Vec::new());
    for ((sheet, full), stored) in task.sheets.iter().zip(&task.full).zip(&all) {
        if !current() {
            return Ok(());
        }
        let (found, field) = sheet.displacements(&task.facts, full, &stored.influences)?;
        fields.push(field);
        if worst.as_ref().is_none_or(|w| found.metres > w.metres) {
            worst = Some(found);
        }
    }
    tell(Message::Measured(task.revision, worst.unwrap_or_default(), fields));
    Ok(())
}
