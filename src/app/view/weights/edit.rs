//! Changing the influences of a vertex by hand, with undo over all meshes.

use std::sync::Arc;

use dermis::influence::Influence;

use super::{Chosen, Weights};

/// An edit that follows a pointer: one step of undo, however often the pointer moves.
#[derive(Clone, Debug, PartialEq)]
pub struct Stroke {
    /// What is dragged.
    pub at: (Chosen, u32),
    /// What the vertex had when the drag began.
    start: Vec<Influence>,
    /// It has made a step already.
    made: bool,
}

impl Weights {
    /// What the panel lists of a vertex. While a number is dragged the order stays, and a bone at 0 stays too.
    pub fn listed(&self, at: Chosen) -> Vec<Influence> {
        let now = self.influences_of(at);
        let Some(stroke) = self.ui.stroke.as_ref().filter(|s| s.at.0 == at) else { return now };
        let weight = |joint: u32| now.iter().filter(|i| i.joint == joint).map(|i| i.weight).sum();
        stroke.start.iter().map(|i| Influence { weight: weight(i.joint), ..*i }).collect()
    }

    /// Replaces the influences of a vertex, and on request those of its mirror image.
    pub fn set(&mut self, at: Chosen, influences: &[Influence], mirror: bool) {
        let changes = self.changes(at, influences, mirror);
        self.edit(at.sheet, &changes);
    }

    /// Gives `joint` the weight `weight` while a pointer drags it: from what the vertex had when the drag began, so that going
    /// back and forth loses nothing.
    pub fn drag(&mut self, at: Chosen, joint: u32, weight: f32, mirror: bool) {
        let stroke = self.ui.stroke.take().filter(|s| s.at == (at, joint));
        let mut stroke =
            stroke.unwrap_or_else(|| Stroke { at: (at, joint), start: self.influences_of(at), made: false });
        if stroke.made {
            self.step_back();
        }
        let changes = self.changes(at, &with_weight(&stroke.start, joint, weight), mirror);
        stroke.made = self.edit(at.sheet, &changes);
        self.ui.stroke = Some(stroke);
    }

    fn changes(&mut self, at: Chosen, influences: &[Influence], mirror: bool) -> Vec<(usize, Vec<Influence>)> {
        let mut changes = vec![(at.vertex, influences.to_vec())];
        let image = if mirror { self.image_of(at) } else { None };
        if let Some((image, symmetry)) = image.zip(self.sheets[at.sheet].symmetry.as_ref()) {
            let mate = |joint: u32| symmetry.mate.get(joint as usize).copied().flatten().unwrap_or(joint);
            let turned = influences.iter().map(|i| Influence { joint: mate(i.joint), ..*i }).collect();
            changes.push((image, turned));
        }
        changes
    }

    /// The vertex on the other side; `None` in the middle and where there is none.
    pub fn image_of(&mut self, at: Chosen) -> Option<usize> {
        let sheet = &self.sheets[at.sheet];
        let symmetry = sheet.symmetry.as_ref()?;
        let all = self.mirrored[at.sheet].get_or_insert_with(|| symmetry.mirrored(&sheet.file.positions));
        let image = all.get(at.vertex).copied().flatten()? as usize;
        (image != at.vertex).then_some(image)
    }

    /// True when something changed.
    fn edit(&mut self, sheet: usize, changes: &[(usize, Vec<Influence>)]) -> bool {
        let before: Vec<Vec<Influence>> = changes.iter().map(|c| self.now(sheet, c.0)).collect();
        if let Err(error) = self.editors[sheet].set_all(changes) {
            self.problem = Some(error.to_string());
            return false;
        }
        let same = changes.iter().zip(before).all(|(c, before)| self.now(sheet, c.0) == before);
        if same {
            return false;
        }
        self.history.0.push(sheet);
        self.history.1.clear();
        self.edited(sheet);
        true
    }

    fn now(&self, sheet: usize, vertex: usize) -> Vec<Influence> {
        self.influences_of(Chosen { sheet, vertex })
    }

    fn edited(&mut self, sheet: usize) {
        self.full[sheet] = Arc::new(self.editors[sheet].influences());
        self.changed();
    }

    /// Takes the last edit back; false when there is none.
    pub fn undo(&mut self) -> bool {
        self.ui.stroke = None;
        self.ui.draft = None;
        self.step_back()
    }

    fn step_back(&mut self) -> bool {
        let Some(sheet) = self.history.0.pop() else { return false };
        self.editors[sheet].undo();
        self.history.1.push(sheet);
        self.edited(sheet);
        true
    }

    /// Does the last undone edit again; false when there is none.
    pub fn redo(&mut self) -> bool {
        self.ui.stroke = None;
        self.ui.draft = None;
        let Some(sheet) = self.history.1.pop() else { return false };
        self.editors[sheet].redo();
        self.history.0.push(sheet);
        self.edited(sheet);
        true
    }

    /// Edits that are in effect.
    pub fn steps_done(&self) -> usize {
        self.history.0.len()
    }

    /// Whether there is something to take back, and something to do again.
    pub fn steps(&self) -> (bool, bool) {
        (!self.history.0.is_empty(), !self.history.1.is_empty())
    }
}

/// Influences in which `joint` has `weight` and the others share what is left in proportion; where there are no others it keeps
/// all.
pub fn with_weight(old: &[Influence], joint: u32, weight: f32) -> Vec<Influence> {
    let others: f64 = old.iter().filter(|i| i.joint != joint).map(|i| f64::from(i.weight)).sum();
    let own = if others > 0.0 { f64::from(weight) } else { 1.0 };
    let share = |i: &Influence| (f64::from(i.weight) / others.max(1e-30) * (1.0 - own)) as f32;
    let mut new: Vec<Influence> = old.iter().map(|i| Influence { weight: share(i), ..*i }).collect();
    match new.iter_mut().find(|i| i.joint == joint) {
        Some(i) => i.weight = own as f32,
        None => new.push(Influence { joint, weight: own as f32 }),
    }
    new
}
