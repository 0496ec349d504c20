//! Steps that can be taken back.

/// Keeps at most this many steps.
const MOST: usize = 200;

/// A stack of steps. A step holds what is needed to take it back and to do it again, such as the value before and after;
/// what it means is up to the mode that keeps the stack.
#[derive(Debug)]
pub struct Undo<Step> {
    steps: Vec<Step>,
    /// Steps before this one are done, the rest taken back.
    done: usize,
}

impl<Step> Default for Undo<Step> {
    fn default() -> Self {
        Self { steps: Vec::new(), done: 0 }
    }
}

impl<Step> Undo<Step> {
    /// Remembers a step that was just done; what was taken back before is forgotten.
    pub fn push(&mut self, step: Step) {
        self.steps.truncate(self.done);
        self.steps.push(step);
        if self.steps.len() > MOST {
            self.steps.remove(0);
        }
        self.done = self.steps.len();
    }

    /// The step to take back, if any; it counts as taken back.
    pub fn undo(&mut self) -> Option<&Step> {
        self.done = self.done.checked_sub(1)?;
        self.steps.get(self.done)
    }

    /// The step to do again, if any; it counts as done.
    pub fn redo(&mut self) -> Option<&Step> {
        let step = self.steps.get(self.done)?;
        self.done += 1;
        Some(step)
    }

    /// The step done last: a drag that goes on may change it instead of pushing another.
    pub fn last(&mut self) -> Option<&mut Step> {
        self.steps.get_mut(self.done.checked_sub(1)?)
    }

    pub fn can_undo(&self) -> bool {
        self.done > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_go_back_and_forth() {
        let mut undo = Undo::default();
        assert!(undo.undo().is_none() && !undo.can_undo());
        undo.push(1);
        undo.push(2);
        assert_eq!(undo.undo(), Some(&2));
        assert_eq!(undo.redo(), Some(&2));
        assert!(undo.redo().is_none());
        undo.undo();
        undo.push(3);
        assert!(undo.redo().is_none(), "what was taken back is forgotten");
        undo.undo();
        undo.undo();
        assert!(!undo.can_undo());
        for i in 0..2 * MOST {
            undo.push(i);
        }
        assert_eq!((0..).take_while(|_| undo.undo().is_some()).count(), MOST);
    }
}
