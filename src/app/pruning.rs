//! Pruning a file's meshes, for the command line and for the viewer.

use dermis::influence::{
    self, Displacement, Influences, Moving, PruneContext, PruneReport, Quantised, Symmetry, displacements, quantise,
};
use dermis::io::{FileEdit, FileMesh};
use dermis::{Character, Result};

use super::preset::{Priorities, Settings};
use super::weights;

/// A skinned mesh in its file's own terms.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// Index into [`Character::meshes`].
    pub mesh: usize,
    /// Indices of the parts that show it.
    pub parts: Vec<usize>,
    /// Skins under which it is shown; the first is the one whose joints are named.
    pub skins: Vec<usize>,
    /// Node of the file that shows it.
    pub node: usize,
    pub file: FileMesh,
    /// Name of each joint.
    pub names: Vec<String>,
    pub symmetry: Option<Symmetry>,
}

/// Influences as they are written into a file.
#[derive(Clone, Debug)]
pub struct Stored {
    /// As integers, if they are stored so.
    quantised: Option<Quantised>,
    /// The weights they stand for.
    pub influences: Influences,
    pub report: PruneReport,
}

/// The skinned meshes of a character, each once.
pub fn sheets(character: &Character) -> Vec<Sheet> {
    let mut out: Vec<Sheet> = Vec::new();
    for (index, part) in character.parts.iter().enumerate().filter(|(_, p)| !p.rigid) {
        if let Some(sheet) = out.iter_mut().find(|s| s.mesh == part.mesh) {
            sheet.parts.push(index);
            if !sheet.skins.contains(&part.skin) {
                sheet.skins.push(part.skin);
            }
            continue;
        }
        let skin = &character.skins[part.skin];
        out.push(Sheet {
            mesh: part.mesh,
            parts: vec![index],
            skins: vec![part.skin],
            node: part.node,
            file: FileMesh::new(&character.meshes[part.mesh]),
            names: skin.joints.iter().map(|&j| character.rig.nodes[j].name.clone()).collect(),
            symmetry: Symmetry::of_skin(&character.rig, skin),
        });
    }
    out.sort_by_key(|s| s.mesh);
    out
}

impl Sheet {
    /// Prunes `influences`, which stand for the file's own, as `settings` say; without `prune` they are only made storable.
    pub fn store(&self, influences: &Influences, settings: &Settings, prune: bool) -> Result<Stored> {
        let priority = self.priority(&settings.priorities);
        let context = PruneContext {
            positions: &self.file.positions,
            indices: &self.file.indices,
            priority: &priority,
            symmetry: self.symmetry.as_ref(),
        };
        let options = settings.options();
        if prune {
            let pruned = influence::prune(influences, &options, &context)?;
            let (quantised, influences) = settings.weights.stored(&pruned, options.ties, &context)?;
            return Ok(Stored { quantised, influences, report: pruned.report });
        }
        let quantised = settings.weights.total().map(|total| quantise(influences, total, options.ties, &context));
        let quantised = quantised.transpose()?;
        let influences = quantised.as_ref().map_or_else(|| influences.clone(), Quantised::to_influences);
        Ok(Stored { quantised, influences, report: PruneReport::default() })
    }

    fn priority(&self, priorities: &Priorities) -> Vec<f32> {
        self.names.iter().map(|n| priorities.get(n).copied().unwrap_or(0.0)).collect()
    }

    /// Puts influences into the file that the mesh was read from.
    pub fn put(&self, edit: &mut FileEdit, stored: &Stored) -> Result<(), Box<dyn std::error::Error>> {
        let Some(mesh) = edit.mesh_of(self.node) else {
            return Err(format!("nodes[{}] of the file shows no mesh", self.node).into());
        };
        Ok(weights::put(edit, mesh, &self.file, stored.quantised.as_ref(), &stored.influences)?)
    }

    /// How far the mesh moves when `before` becomes `after`: the most over the skins that show it, and the most for each
    /// vertex, metres.
    pub fn displacements(
        &self,
        character: &Character,
        before: &Influences,
        after: &Influences,
    ) -> Result<(Displacement, Vec<f64>)> {
        let (mut worst, mut field): (Option<Displacement>, Vec<f64>) = (None, vec![0.0; self.file.positions.len()]);
        for &skin in &self.skins {
            let (mut found, each) = displacements(&self.moving(character, skin), before, after)?;
            found.mesh = character.meshes[self.mesh].name.clone();
            field.iter_mut().zip(each).for_each(|(most, one)| *most = one.max(*most));
            if worst.as_ref().is_none_or(|w| found.metres > w.metres) {
                worst = Some(found);
            }
        }
        Ok((worst.unwrap_or_default(), field))
    }

    /// What is moved to measure displacements.
    pub fn moving<'a>(&'a self, character: &'a Character, skin: usize) -> Moving<'a> {
        Moving {
            rig: &character.rig,
            skin: &character.skins[skin],
            positions: &self.file.positions,
            clips: &character.clips,
        }
    }
}
