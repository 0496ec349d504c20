//! Undo by whole states, for things that are small.

/// A value and what it was before.
#[derive(Clone, Debug, Default)]
pub struct History<T> {
    now: T,
    done: Vec<T>,
    undone: Vec<T>,
    /// What is changed as one step: a number while it is dragged.
    stroke: Option<u64>,
}

/// Steps that are kept.
const MOST: usize = 200;

impl<T: Clone + PartialEq> History<T> {
    pub fn new(now: T) -> Self {
        Self { now, done: Vec::new(), undone: Vec::new(), stroke: None }
    }

    pub fn now(&self) -> &T {
        &self.now
    }

    /// One step; none when nothing changes.
    pub fn set(&mut self, new: T) {
        self.stroke = None;
        self.step(new);
    }

    /// Part of a step that goes on as long as `stroke` stays the same and nothing else happens.
    pub fn drag(&mut self, stroke: u64, new: T) {
        if self.stroke == Some(stroke) {
            self.now = new;
            return;
        }
        if self.step(new) {
            self.stroke = Some(stroke);
        }
    }

    /// The stroke is over.
    pub fn release(&mut self) {
        self.stroke = None;
    }

    /// False when nothing changes.
    fn step(&mut self, new: T) -> bool {
        if new == self.now {
            return false;
        }
        self.done.push(std::mem::replace(&mut self.now, new));
        if self.done.len() > MOST {
            self.done.remove(0);
        }
        self.undone.clear();
        true
    }

    /// Takes the last step back; false when there is none.
    pub fn undo(&mut self) -> bool {
        self.stroke = None;
        let Some(before) = self.done.pop() else { return false };
        self.undone.push(std::mem::replace(&mut self.now, before));
        true
    }

    /// Does the last undone step again; false when there is none.
    pub fn redo(&mut self) -> bool {
        self.stroke = None;
        let Some(after) = self.undone.pop() else { return false };
        self.done.push(std::mem::replace(&mut self.now, after));
        true
    }

    /// Whether there is something to take back, and something to do again.
    pub fn steps(&self) -> (bool, bool) {
        (!self.done.is_empty(), !self.undone.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strokes_are_one_step() {
        let mut h = History::new(0);
        h.set(1);
        h.set(1);
        // A drag that begins where it is.
        for x in 1..9 {
            h.drag(7, x);
        }
        h.release();
        h.drag(7, 20);
        h.drag(8, 21);
        let mut seen = vec![*h.now()];
        while h.undo() {
            seen.push(*h.now());
        }
        assert_eq!(seen, [21, 20, 8, 1, 0]);
        while h.redo() {}
        assert_eq!(*h.now(), 21);
        h.undo();
        h.set(5);
        assert!(!h.redo());
        assert_eq!(h.steps(), (true, false));
        for x in 0..500 {
            h.set(x);
        }
        let mut steps = 0;
        while h.undo() {
            steps += 1;
        }
        assert_eq!(steps, MOST);
    }
}
