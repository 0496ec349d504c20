//! Influences changed by hand, with undo.

use std::collections::HashMap;

use super::prune::checked;
use super::twins::Twins;
use super::{Influence, Influences, clean};
use crate::{Error, Result};

/// Influences under a designer's hand.
///
/// Every edit reaches the twins of a vertex as well (the other side of a seam), keeps sums at 1, and is one step of undo.
#[derive(Clone, Debug)]
pub struct Editor {
    vertices: Vec<Vec<Influence>>,
    joint_count: usize,
    /// Group of each vertex, and the vertices of each group.
    group: Vec<u32>,
    members: Vec<Vec<u32>>,
    done: Vec<Step>,
    undone: Vec<Step>,
}

/// The other state of the vertices that a step touched.
type Step = Vec<(u32, Vec<Influence>)>;

impl Editor {
    /// Takes clean influences over `joint_count` joints; `positions` (as many, or empty) tell which vertices are twins.
    ///
    /// # Errors
    /// Those of [`clean`]; [`Error::LengthMismatch`] for positions that do not fit.
    pub fn new(influences: &Influences, joint_count: usize, positions: &[[f32; 3]]) -> Result<Self> {
        let (influences, _) = clean(influences, joint_count)?;
        let n = influences.vertex_count();
        if !positions.is_empty() && positions.len() != n {
            return Err(Error::LengthMismatch { what: "the list of positions", found: positions.len(), expected: n });
        }
        let twins = Twins::find(checked(&influences)?, positions);
        let mut members = vec![Vec::new(); twins.count()];
        (0u32..).zip(&twins.of).for_each(|(v, &g)| members[g as usize].push(v));
        let vertices = (0..n).map(|v| influences.of(v).to_vec()).collect();
        Ok(Self { vertices, joint_count, group: twins.of, members, done: Vec::new(), undone: Vec::new() })
    }

    /// Number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.vertices.len()
    }

    /// The influences of one vertex now, heaviest first; `None` past the end.
    pub fn of(&self, vertex: usize) -> Option<&[Influence]> {
        self.vertices.get(vertex).map(Vec::as_slice)
    }

    /// All influences now.
    pub fn influences(&self) -> Influences {
        Influences::from_vertices(self.vertices.iter().map(Vec::as_slice))
    }

    /// Replaces the influences of a vertex; they are cleaned (duplicates added up, normalised) first.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for the vertex; those of [`clean`], and [`Error::InvalidWeight`] where all weights are 0.
    pub fn set(&mut self, vertex: usize, influences: &[Influence]) -> Result<()> {
        self.set_all(&[(vertex, influences.to_vec())])
    }

    fn cleaned(&self, vertex: usize, influences: &[Influence]) -> Result<Vec<Influence>> {
        if influences.iter().all(|i| i.weight == 0.0) {
            let joint = influences.first().map_or(0, |i| i.joint as usize);
            return Err(Error::InvalidWeight { vertex, joint, weight: 0.0 });
        }
        let (cleaned, _) = clean(&Influences::from_vertices([influences]), self.joint_count).map_err(at(vertex))?;
        Ok(cleaned.entries)
    }

    /// The vertices that are edited together with a vertex, itself among them; empty past the end.
    pub fn together(&self, vertex: usize) -> &[u32] {
        self.group.get(vertex).map_or(&[], |&g| &self.members[g as usize])
    }

    /// [`Editor::set`] for several vertices in one step of undo; of two changes to one vertex (or its twin) the later stays.
    ///
    /// # Errors
    /// Those of [`Editor::set`]; nothing has changed then.
    pub fn set_all(&mut self, changes: &[(usize, Vec<Influence>)]) -> Result<()> {
        let mut new: HashMap<u32, Vec<Influence>> = HashMap::new();
        for (vertex, influences) in changes {
            new.insert(self.group[self.check_vertex(*vertex)?], self.cleaned(*vertex, influences)?);
        }
        let vertices: Vec<usize> = changes.iter().map(|c| c.0).collect();
        self.apply(&vertices, |group, old| new.get(&group).map_or_else(|| old.to_vec(), Clone::clone));
        Ok(())
    }

    /// Gives `joint` the weight `weight` (0…1) at each of `vertices` and scales the other joints so that the sum stays 1. Where no
    /// other joint is there to take what is left, the joint keeps all of it. One step of undo.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a vertex or joint; [`Error::InvalidWeight`] for a weight outside 0…1. Nothing has changed
    /// then.
    pub fn set_weight(&mut self, vertices: &[usize], joint: u32, weight: f32) -> Result<()> {
        if joint as usize >= self.joint_count {
            return Err(Error::OutOfRange { what: "joint", index: joint as usize, count: self.joint_count });
        }
        vertices.iter().try_for_each(|&v| self.check_vertex(v).map(drop))?;
        if !(0.0..=1.0).contains(&weight) {
            let vertex = vertices.first().copied().unwrap_or(0);
            return Err(Error::InvalidWeight { vertex, joint: joint as usize, weight });
        }
        self.apply(vertices, |_, old| {
            let others: f64 = old.iter().filter(|i| i.joint != joint).map(|i| f64::from(i.weight)).sum();
            let own = if others > 0.0 { f64::from(weight) } else { 1.0 };
            let mut new: Vec<Influence> = old
                .iter()
                .filter(|i| i.joint != joint && own < 1.0)
                .map(|i| Influence { weight: (f64::from(i.weight) / others * (1.0 - own)) as f32, ..*i })
                .chain([Influence { joint, weight: own as f32 }])
                .filter(|i| i.weight > 0.0)
                .collect();
            new.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.joint.cmp(&b.joint)));
            new
        });
        Ok(())
    }

    /// Takes the last step back; false when there is none.
    pub fn undo(&mut self) -> bool {
        let Some(step) = self.done.pop() else { return false };
        let step = self.swap(step);
        self.undone.push(step);
        true
    }

    /// Does the last undone step again; false when there is none.
    pub fn redo(&mut self) -> bool {
        let Some(step) = self.undone.pop() else { return false };
        let step = self.swap(step);
        self.done.push(step);
        true
    }

    /// True when there is a step to take back.
    pub fn can_undo(&self) -> bool {
        !self.done.is_empty()
    }

    /// True when there is a step to do again.
    pub fn can_redo(&self) -> bool {
        !self.undone.is_empty()
    }

    fn check_vertex(&self, vertex: usize) -> Result<usize> {
        let count = self.vertices.len();
        if vertex < count { Ok(vertex) } else { Err(Error::OutOfRange { what: "vertex", index: vertex, count }) }
    }

    fn apply(&mut self, vertices: &[usize], change: impl Fn(u32, &[Influence]) -> Vec<Influence>) {
        let mut groups: Vec<u32> = vertices.iter().map(|&v| self.group[v]).collect();
        groups.sort_unstable();
        groups.dedup();
        let mut step = Step::new();
        for (g, &v) in groups.iter().flat_map(|&g| self.members[g as usize].iter().map(move |v| (g, v))) {
            let new = change(g, &self.vertices[v as usize]);
            if new != self.vertices[v as usize] {
                step.push((v, new));
            }
        }
        if !step.is_empty() {
            let step = self.swap(step);
            self.done.push(step);
            self.undone.clear();
        }
    }

    /// Puts a step's states in place and returns those that were there.
    fn swap(&mut self, mut step: Step) -> Step {
        step.iter_mut().for_each(|(v, state)| std::mem::swap(&mut self.vertices[*v as usize], state));
        step
    }
}

/// Names the vertex that was edited in an error about a list of one.
fn at(vertex: usize) -> impl Fn(Error) -> Error {
    move |error| match error {
        Error::InvalidWeight { joint, weight, .. } => Error::InvalidWeight { vertex, joint, weight },
        Error::JointOutOfRange { joint, joint_count, .. } => Error::JointOutOfRange { vertex, joint, joint_count },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn i(joint: u32, weight: f32) -> Influence {
        Influence { joint, weight }
    }

    #[test]
    fn set_renormalises_and_undoes() {
        let start = Influences::from_vertices([&[i(0, 0.5), i(1, 0.3), i(2, 0.2)][..], &[i(1, 1.0)]]);
        let mut editor = Editor::new(&start, 4, &[]).unwrap();
        editor.set_weight(&[0, 1], 3, 0.5).unwrap();
        assert_eq!(editor.of(0).unwrap(), [i(3, 0.5), i(0, 0.25), i(1, 0.15), i(2, 0.1)]);
        assert_eq!(editor.of(1).unwrap(), [i(1, 0.5), i(3, 0.5)]);
        editor.set_weight(&[1], 1, 0.0).unwrap();
        assert_eq!(editor.of(1).unwrap(), [i(3, 1.0)]);
        // The only joint cannot give its weight to anybody.
        editor.set_weight(&[1], 3, 0.25).unwrap();
        assert_eq!(editor.of(1).unwrap(), [i(3, 1.0)]);
        editor.set(0, &[i(2, 3.0), i(2, 1.0), i(1, 0.0)]).unwrap();
        assert_eq!(editor.of(0).unwrap(), [i(2, 1.0)]);
        let end = editor.influences();
        while editor.undo() {}
        assert_eq!(editor.influences(), start);
        while editor.redo() {}
        assert_eq!(editor.influences(), end);
        // A new edit forgets what was undone.
        editor.undo();
        editor.set_weight(&[0], 0, 0.1).unwrap();
        assert!(!editor.redo());
    }

    #[test]
    fn twins_are_edited_together() {
        let start = Influences::from_vertices([&[i(0, 1.0)][..], &[i(0, 1.0)], &[i(1, 1.0)]]);
        let mut editor = Editor::new(&start, 3, &[[1.0; 3]; 3]).unwrap();
        editor.set_weight(&[1], 2, 0.25).unwrap();
        assert_eq!(editor.of(0), editor.of(1));
        assert_eq!(editor.of(2).unwrap(), [i(1, 1.0)]);
        assert_eq!((editor.together(1), editor.together(2), editor.together(9)), (&[0, 1][..], &[2][..], &[][..]));
        // Several vertices are one step; the later of two changes to twins stays.
        let before = editor.influences();
        editor.set_all(&[(0, vec![i(0, 1.0)]), (2, vec![i(2, 2.0)]), (1, vec![i(1, 0.5), i(0, 0.5)])]).unwrap();
        assert_eq!(editor.of(0).unwrap(), [i(0, 0.5), i(1, 0.5)]);
        assert_eq!(editor.of(2).unwrap(), [i(2, 1.0)]);
        assert!(editor.can_undo() && !editor.can_redo());
        editor.undo();
        assert_eq!(editor.influences(), before);
        assert!(editor.can_redo());
        assert!(editor.set_all(&[(0, vec![i(0, 1.0)]), (2, vec![])]).is_err());
        assert_eq!(editor.influences(), before);
    }

    #[test]
    fn refusals_change_nothing() {
        let start = Influences::from_vertices([&[i(0, 1.0)][..]]);
        let mut editor = Editor::new(&start, 2, &[]).unwrap();
        assert!(editor.set_weight(&[0, 7], 1, 0.5).is_err());
        assert!(editor.set_weight(&[0], 2, 0.5).is_err());
        for bad in [-0.1, 1.1, f32::NAN] {
            assert!(editor.set_weight(&[0], 1, bad).is_err());
        }
        assert!(editor.set(0, &[]).is_err());
        assert!(editor.set(0, &[i(5, 1.0)]).is_err());
        assert!(editor.set(9, &[i(0, 1.0)]).is_err());
        assert_eq!(editor.influences(), start);
        assert!(!editor.undo());
        assert!(Editor::new(&start, 2, &[[0.0; 3]; 2]).is_err());
    }
}
