//! A second file of the same mesh, compared vertex by vertex.

use dermis::Character;
use dermis::influence::{Influence, Influences, variation};

use super::{Chosen, Weights};
use crate::app::pruning::{self, Sheet};

/// How many vertices the list of the most different has.
const LISTED: usize = 40;

/// The weights of a second file.
#[derive(Clone, Debug, Default)]
pub struct Other {
    pub name: String,
    /// Its influences for each sheet, over the joints of the file on show; bones that this file does not have come after.
    pub influences: Vec<Influences>,
    /// Total variation of each vertex of each sheet.
    pub variation: Vec<Vec<f32>>,
    /// The most different vertices, the worst first.
    pub worst: Vec<(Chosen, f32)>,
    /// Bones that only the other file has.
    pub foreign: usize,
}

impl Weights {
    /// Takes in a second file; says why where it does not fit.
    pub fn compare(&mut self, character: &Character) -> Result<(), String> {
        let theirs = pruning::sheets(character);
        let name = character.name.clone();
        let (found, expected) = (theirs.len(), self.sheets.len());
        if found != expected {
            return Err(format!("{name} has {found} skinned meshes, but the model on show has {expected}"));
        }
        let (mut influences, mut foreign) = (Vec::new(), 0);
        for (ours, theirs) in self.sheets.iter().zip(&theirs) {
            let (found, expected) = (theirs.file.positions.len(), ours.file.positions.len());
            if found != expected {
                return Err(format!(
                    "mesh {} of {name} has {found} vertices, but that on show has {expected}: only the same mesh can be compared",
                    ours.mesh
                ));
            }
            let (own, extra) = in_terms_of(ours, theirs);
            influences.push(own);
            foreign += extra;
        }
        self.other = Some(Other { name, influences, foreign, ..Other::default() });
        self.difference();
        Ok(())
    }

    /// Compares again: the weights on show have changed.
    pub fn difference(&mut self) {
        let Some(mut other) = self.other.take() else { return };
        let of = |(s, theirs): (usize, &Influences)| variation(self.shown(s), theirs).unwrap_or_default();
        other.variation = other.influences.iter().enumerate().map(of).collect();
        let all = other.variation.iter().enumerate();
        let all =
            all.flat_map(|(sheet, v)| v.iter().enumerate().map(move |(vertex, &x)| (Chosen { sheet, vertex }, x)));
        let mut worst: Vec<(Chosen, f32)> = all.filter(|w| w.1 > 0.0).collect();
        worst.sort_by(|a, b| b.1.total_cmp(&a.1));
        worst.truncate(LISTED);
        other.worst = worst;
        self.other = Some(other);
        self.recolor = true;
    }
}

/// Their influences with our joints of the same names; joints of names that are not ours come after ours.
fn in_terms_of(ours: &Sheet, theirs: &Sheet) -> (Influences, usize) {
    let mut extra = 0;
    let mut joint_of = |(joint, name): (usize, &String)| {
        // Where several joints have one name, that of the same index is meant.
        let same = ours.names.get(joint).filter(|n| *n == name).map(|_| joint);
        let at = same.or_else(|| ours.names.iter().position(|n| n == name));
        at.unwrap_or_else(|| {
            extra += 1;
            ours.names.len() + extra - 1
        }) as u32
    };
    let joints: Vec<u32> = theirs.names.iter().enumerate().map(&mut joint_of).collect();
    let entries = &theirs.file.influences.entries;
    let entries = entries.iter().map(|i| Influence { joint: joints[i.joint as usize], weight: i.weight });
    (Influences { offsets: theirs.file.influences.offsets.clone(), entries: entries.collect() }, extra)
}
