//! Palettes for dual quaternion skinning, beside the linear ones of characters that have such a mesh.
//!
//! With M = palette[j] and q the joint's rotation, a vertex p becomes
//! vec((Σ w s (M p) q) (Σ w s q)*) / |Σ w s q|², s = ±1 the side of the heaviest joint's q. (M p) q is linear in (p, 1): a
//! 4×4 matrix, whose rows stand in the palette before q itself. Where M is rigid, its last column is twice the dual part and
//! the result is that of Kavan, Collins, Žára and O'Sullivan (2007), "Skinning with dual quaternions". Scale and shear ride along
//! with the points, so that a point which all joints move to one place goes there whatever they scale by; were they
//! blended and applied about the origin before the rotations, an elbow would leave its arm as soon as the forearm grows.

use glam::DQuat;

use super::character::CharacterData;
use super::pose::Scratch;
use super::rig::RigData;
use super::skinner::Skinner;
use crate::Result;
use crate::math::{Affine, Affine64};
use crate::pose::Pose;
use crate::pose::turns::{Turns, rotation_part};

/// Rows of a joint in a dual palette; `DUAL_ROWS` of the shaders.
pub(crate) const DUAL_ROWS: u32 = 5;
/// Words of a node among a rig's turns; `TURN_WORDS` of the pose pass.
pub(crate) const TURN_WORDS: u32 = 5;
/// Rows of a linear palette entry, which palettes are allocated by.
const ROWS: u32 = 3;

/// Palette entries that the dual palette of this many joints takes up.
pub(super) fn dual_len(joints: u32) -> u32 {
    (DUAL_ROWS * joints).div_ceil(ROWS)
}

/// A joint's rows from its linear palette entry and its rotation.
fn rows(entry: &Affine, q: DQuat) -> [[f32; 4]; 5] {
    let [a, b, c] = entry.rows.map(|row| glam::DVec4::from_array(row.map(f64::from)));
    [
        q.w * a + q.z * b - q.y * c,
        q.w * b + q.x * c - q.z * a,
        q.w * c + q.y * a - q.x * b,
        -(q.x * a + q.y * b + q.z * c),
        glam::DVec4::from(q),
    ]
    .map(|row| row.as_vec4().to_array())
}

/// The dual palette `to` of the linear `entries` and their rotations.
fn fill(entries: &[Affine], turns: impl Iterator<Item = DQuat>, to: &mut [[f32; 4]]) {
    for ((entry, turn), to) in entries.iter().zip(turns).zip(to.chunks_exact_mut(DUAL_ROWS as usize)) {
        to.copy_from_slice(&rows(entry, turn));
    }
}

/// Where a character's palettes are: first entry and number of the linear one, then of the dual one.
type Ranges = [(u32, u32); 2];

/// None without a dual palette.
fn split(data: &mut [Affine], [linear, dual]: Ranges) -> Option<(&[Affine], &mut [[f32; 4]])> {
    if dual.1 == 0 {
        return None;
    }
    let (linear, dual) =
        (linear.0 as usize..(linear.0 + linear.1) as usize, dual.0 as usize..(dual.0 + dual.1) as usize);
    let [linear, dual] = data.get_disjoint_mut([linear, dual]).ok()?;
    Some((linear, bytemuck::cast_slice_mut(dual)))
}

/// The dual palettes of all skins, for the pose that the linear ones in `data` were made from.
pub(super) fn dual_of_pose(rig: &RigData, pose: &Pose, worlds: &mut Vec<DQuat>, data: &mut [Affine], ranges: Ranges) {
    let (Some(turns), Some((entries, to))) = (&rig.turns, split(data, ranges)) else { return };
    turns.worlds(rig.rig(), pose, worlds);
    fill(entries, rig.joints().zip(&turns.joints).map(|(node, turn)| worlds[node] * *turn), to);
}

/// The dual palette of one skin from the linear one that the host gave.
pub(super) fn dual_of_palette(rig: &RigData, skin: usize, data: &mut [Affine], ranges: Ranges) {
    let Some((entries, to)) = split(data, ranges) else { return };
    let (first, end) = (rig.skin_starts[skin] as usize, rig.skin_starts[skin + 1] as usize);
    let turns = entries[first..end].iter().map(|m| rotation_part(Affine64::from(m).m).0);
    let to = &mut to[DUAL_ROWS as usize * first..];
    fill(&entries[first..end], turns, to);
}

impl CharacterData {
    /// It has a dual palette.
    pub fn is_dual(&self) -> bool {
        self.dual.1 > 0
    }
}

impl Skinner {
    /// Gives a character a dual palette, its rig the turns, and the pose pass room for the rotations of the nodes. True when
    /// a shared buffer was replaced; after an error the character holds what it already got.
    pub(super) fn reserve_dual(&mut self, character: &mut CharacterData) -> Result<bool> {
        let mut moved = self.upload_turns(character.rig)?;
        if character.is_dual() {
            return Ok(moved);
        }
        let nodes = self.rigs[character.rig as usize].node_count();
        let linear = Scratch::rows(nodes, false);
        let needed = character.scratch.1.max(linear) + Scratch::rows(nodes, true) - linear;
        let (start, grown) = self.scratch.allocate(&self.device, needed)?;
        self.scratch.release(character.scratch.0, character.scratch.1);
        character.scratch = (start, needed);
        moved |= grown;
        let count = dual_len(character.palette.1);
        let (start, grown) = self.palettes.allocate(&self.device, count)?;
        character.dual = (start, count);
        Ok(moved | grown)
    }

    /// The rig's turns beside its words, once: per joint the rotation after its node's, then per node the one before its own and
    /// the factor of its y and z.
    fn upload_turns(&mut self, rig: u32) -> Result<bool> {
        let data = &mut self.rigs[rig as usize];
        if data.turns.is_some() {
            return Ok(false);
        }
        let turns = Turns::new(data.rig(), data.skins());
        let count = 4 * turns.joints.len() + TURN_WORDS as usize * turns.nodes.len();
        let (start, moved) = self.rig_words.allocate(&self.device, count as u32)?;
        let words = turns.joints.iter().flat_map(|q| q.to_array()).chain(turns.nodes.iter().flat_map(|n| {
            let [x, y, z, w] = n.before.to_array();
            [x, y, z, w, if n.mirrored { -1.0 } else { 1.0 }]
        }));
        for (word, value) in self.rig_words.data[start as usize..].iter_mut().zip(words) {
            *word = (value as f32).to_bits();
        }
        self.rig_words.mark(start, count as u32);
        let head = data.words + super::pose::TURNS_WORD;
        self.rig_words.data[head as usize] = start;
        self.rig_words.mark(head, 1);
        data.turns = Some(turns);
        data.turn_words = (start, count as u32);
        Ok(moved)
    }
}
