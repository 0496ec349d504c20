//! What a skinner keeps of a rig.

use super::pose::RigWords;
use crate::Result;
use crate::character::{Clip, Rig, Skin};
use crate::math::Affine;
use crate::math::Affine64;
use crate::pose::turns::Turns;
use crate::pose::{Pose, palette64, worlds64};

/// What [`super::Skinner::add_rig`] takes.
#[derive(Clone, Copy, Debug)]
pub struct RigDescriptor<'a> {
    /// The nodes.
    pub rig: &'a Rig,
    /// The skins that hang on it; parts name them by index.
    pub skins: &'a [Skin],
    /// Clips that [`super::Drive::Clip`] may play.
    pub clips: &'a [Clip],
}

/// A rig with what posing needs precomputed.
#[derive(Debug)]
pub(crate) struct RigData {
    rig: Rig,
    skins: Vec<Skin>,
    pub clips: Vec<Clip>,
    /// [`Rig::bone_axes`].
    axes: Vec<[f32; 3]>,
    /// The rest pose.
    pub rest: Pose,
    /// Any of its clips has a channel for morph weights.
    pub drives_morphs: bool,
    /// Where its words start.
    pub words: u32,
    /// How many they are.
    pub word_count: u32,
    /// Of the identifiers that name it; goes up when it is removed.
    pub generation: u32,
    /// Offset of each clip's table in its words.
    pub clip_words: Vec<u32>,
    /// First joint of each skin in a character's palettes; one more than there are skins, the last is the total.
    pub skin_starts: Vec<u32>,
    /// For dual quaternion skinning, once a character needs it.
    pub turns: Option<Turns>,
    /// Start and number of their words, beside the rig's own.
    pub turn_words: (u32, u32),
}

impl RigData {
    /// The rig and the words the pose pass reads; the caller says where those go.
    pub fn new(descriptor: &RigDescriptor<'_>) -> Result<(Self, Vec<u32>)> {
        descriptor.rig.validate()?;
        let mut skin_starts = vec![0];
        let mut total = 0;
        for skin in descriptor.skins {
            skin.validate(descriptor.rig)?;
            total += skin.joints.len() as u32;
            skin_starts.push(total);
        }
        descriptor.clips.iter().try_for_each(|clip| clip.validate(descriptor.rig))?;
        let words = RigWords::new(descriptor.rig, descriptor.skins, descriptor.clips);
        let data = Self {
            rest: Pose::rest(descriptor.rig),
            drives_morphs: descriptor
                .clips
                .iter()
                .any(|c| c.channels.iter().any(|c| matches!(c.target, crate::character::Target::Morph(_)))),
            words: 0,
            word_count: 0,
            generation: 0,
            clip_words: words.clips,
            rig: descriptor.rig.clone(),
            skins: descriptor.skins.to_vec(),
            clips: descriptor.clips.to_vec(),
            axes: descriptor.rig.bone_axes(),
            skin_starts,
            turns: None,
            turn_words: (0, 0),
        };
        Ok((data, words.words))
    }

    pub fn rig(&self) -> &Rig {
        &self.rig
    }

    pub fn skins(&self) -> &[Skin] {
        &self.skins
    }

    /// Nodes of the joints of all skins, one skin after the other.
    pub fn joints(&self) -> impl Iterator<Item = usize> {
        self.skins.iter().flat_map(|s| s.joints.iter().copied())
    }

    pub fn node_count(&self) -> usize {
        self.rig.nodes.len()
    }

    pub fn skin_count(&self) -> usize {
        self.skins.len()
    }

    pub fn joint_count(&self, skin: usize) -> u32 {
        self.skin_starts[skin + 1] - self.skin_starts[skin]
    }

    /// Joints of all skins together.
    pub fn palette_len(&self) -> u32 {
        self.skin_starts[self.skins.len()]
    }

    /// World transform of a node in a pose; `worlds` is scratch.
    pub fn world(&self, pose: &Pose, node: usize, worlds: &mut Vec<Affine64>) -> Result<Affine> {
        worlds64(&self.rig, &self.axes, pose, worlds)?;
        Ok(worlds[node].into())
    }

    /// Palettes of all skins into `out` (`palette_len` elements); `worlds` is scratch.
    pub fn palettes(&self, pose: &Pose, worlds: &mut Vec<Affine64>, out: &mut [Affine]) -> Result<()> {
        worlds64(&self.rig, &self.axes, pose, worlds)?;
        for (skin, ends) in self.skins.iter().zip(self.skin_starts.windows(2)) {
            palette64(skin, &self.axes, pose, worlds, &mut out[ends[0] as usize..ends[1] as usize]);
        }
        Ok(())
    }
}
