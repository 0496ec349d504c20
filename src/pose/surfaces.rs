//! Which surfaces of a character follow which joints, so that a held group keeps its texture too.

use super::groups::{CHANNELS, SpaceState};
use super::space::PoseSpace;
use crate::character::Character;
use crate::{Error, Result};

/// For each material of a character the joints that carry most of it; see [`PoseSpace::surfaces`].
#[derive(Clone, Debug, PartialEq)]
pub struct Surfaces {
    cells: Vec<usize>,
}

impl Surfaces {
    /// Number of materials: at least one, because a character without any is drawn with a plain one.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Never true.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }
}

impl PoseSpace {
    /// Finds for every material the joints that carry most of its vertices' weight: those of one finger, say, or those in no
    /// group. A material follows the texture channel of these joints alone, so that it changes as one piece.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] for a character of another rig; [`Error::OutOfRange`] for a part, material or joint that
    /// does not exist.
    pub fn surfaces(&self, character: &Character) -> Result<Surfaces> {
        let (found, expected) = (character.rig.nodes.len(), self.node_count());
        if found != expected {
            return Err(Error::LengthMismatch { what: "rig of a pose space's character", found, expected });
        }
        let count = character.materials.len().max(1);
        let mut shares = vec![vec![0.0_f64; self.cell_count]; count];
        let range = |what, index, count| Error::OutOfRange { what, index, count };
        for part in &character.parts {
            let (meshes, skins) = (&character.meshes, &character.skins);
            let mesh = meshes.get(part.mesh).ok_or(range("mesh", part.mesh, meshes.len()))?;
            let skin = skins.get(part.skin).ok_or(range("skin", part.skin, skins.len()))?;
            for primitive in &mesh.primitives {
                let share = shares.get_mut(primitive.material).ok_or(range("material", primitive.material, count))?;
                for vertex in primitive.vertices.clone().filter(|&v| v < mesh.positions.len()) {
                    for influence in mesh.influences.of(vertex) {
                        let joint = influence.joint as usize;
                        let node = *skin.joints.get(joint).ok_or(range("joint", joint, skin.joints.len()))?;
                        let cell = *self.cell_of.get(node).ok_or(range("rig node", node, expected))?;
                        share[cell] += f64::from(influence.weight);
                    }
                }
            }
        }
        let most =
            |share: &Vec<f64>| (0..share.len()).rev().max_by(|&a, &b| share[a].total_cmp(&share[b])).unwrap_or(0);
        Ok(Surfaces { cells: shares.iter().map(most).collect() })
    }

    /// Weights of every sample for the texture of every material at `time`: holds, defaults and own points of the joints
    /// that carry it count.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] when the state or the surfaces were made for another space.
    pub fn surface_weights(&self, surfaces: &Surfaces, state: &SpaceState, time: f64) -> Result<Vec<Vec<f32>>> {
        state.check(self)?;
        let live = state.live(self, time);
        let weights = |&cell: &usize| {
            let track = state.cells.get(cell).map(|tracks| &tracks[CHANNELS - 1]);
            let (found, expected) = (cell, state.cells.len());
            let track =
                track.ok_or(Error::LengthMismatch { what: "surfaces of another pose space", found, expected })?;
            Ok(state.effective(self, track, &live, time).into_iter().map(|w| w as f32).collect())
        };
        surfaces.cells.iter().map(weights).collect()
    }
}
