//! Identifiers, drives, and what a skinner keeps of a character.

use std::ops::Range;

use super::clips::{ClipLayer, Layers};
use super::pages::Place;
use crate::math::Affine;
use crate::pose::{Pose, SpaceState};

/// A rig of a [`super::Skinner`]; stale after [`super::Skinner::remove_rig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RigId {
    pub(super) skinner: u32,
    pub(super) index: u32,
    pub(super) generation: u32,
}

/// A mesh of a [`super::Skinner`]; stale after [`super::Skinner::remove_mesh`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MeshId {
    pub(super) skinner: u32,
    pub(super) index: u32,
    pub(super) generation: u32,
}

/// A spawned character; stale after [`super::Skinner::despawn`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CharacterId {
    pub(super) skinner: u32,
    pub(super) index: u32,
    pub(super) generation: u32,
}

/// A mesh under one of its rig's skins. A [`MeshId`] converts into a part under skin 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PartId {
    /// The mesh.
    pub mesh: MeshId,
    /// Index into [`super::RigDescriptor::skins`].
    pub skin: usize,
}

impl From<MeshId> for PartId {
    fn from(mesh: MeshId) -> Self {
        Self { mesh, skin: 0 }
    }
}

/// A pose space of a [`super::Skinner`]; stale once its rig is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpaceId {
    pub(super) skinner: u32,
    pub(super) index: u32,
    pub(super) generation: u32,
}

/// Where a character's pose comes from.
#[derive(Clone, Copy, Debug)]
pub enum Drive<'a> {
    /// A local pose, one record per rig node; it is copied.
    Local(&'a Pose),
    /// The palette of the skin with this index: one map per joint, in character space. Other
    /// skins keep the pose they had; after `Space`, the last `Local` pose (or the rest pose), which the CPU still has.
    Palette(usize, &'a [Affine]),
    /// A clip of the rig over the rest pose, as a function of the time given to [`super::Skinner::prepare`]: no call is needed
    /// while it plays.
    Clip {
        /// Index into [`super::RigDescriptor::clips`].
        clip: usize,
        /// The host's seconds at which the clip is at its time 0.
        start: f64,
        /// Starts over at its end; else the last pose stays.
        looping: bool,
    },
    /// Up to [`super::MAX_LAYERS`] clips of the rig, blended by weights over the rest pose; times and fading weights are functions
    /// of the time given to [`super::Skinner::prepare`], no call is needed while they run. The layers are copied.
    ///
    /// Weights are multiplied by the layer's mask, if it has one. Where they sum to less than 1 the rest pose (for morph weights:
    /// those the host set) takes the remainder; where they sum to more they are divided by the sum. Rotations are added with
    /// the signs that bring them nearest to the first listed layer with weight, and normalised; translations and morph weights
    /// are linear; scales are multiplied (an axis whose sign differs: linear). What a clip does not drive it leaves as it is in
    /// the rest pose. Masks do not act on morph weights.
    Clips(&'a [ClipLayer]),
    /// A point in a pose space of the rig, with the alternatives selected and what its groups do; all fades are functions of
    /// the time given to [`super::Skinner::prepare`], no call is needed while they last. The state is copied.
    Space {
        /// The space, as [`super::Skinner::add_space`] gave it.
        space: SpaceId,
        /// The character's state in it.
        state: &'a SpaceState,
    },
    /// The host's own shader writes the palettes, [`super::Skinner::palette`], and, if it likes, morph weights,
    /// [`super::Skinner::morph_weights`]: nothing of ours writes them. The character is skinned once, and again in every frame
    /// that [`super::Skinner::touch`] is called for. Not for characters with a dual quaternion mesh.
    External,
}

/// How the normals and tangents of skinned vertices are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Octahedral: two words, 8 bytes per vertex; a `Uint32x2` attribute or an `array<vec2<u32>>`, to be read with
    /// [`super::FRAME_WGSL`]. Within 1.3e-4 rad of [`Layout::Full`].
    #[default]
    Packed,
    /// f32: unit normal (3), unit tangent (3) and the sign of the bitangent, 28 bytes per vertex. For hosts that cannot decode:
    /// a `Float32x3` attribute at offset 0 and a `Float32x4` attribute at offset 12, or an `array<f32>` with vertex `v` from
    /// element `7 * v` on. 20 more bytes of traffic and memory per vertex.
    Full,
}

impl Layout {
    /// Bytes per vertex of [`Vertices::frames`].
    pub fn stride(self) -> u64 {
        match self {
            Self::Packed => 8,
            Self::Full => 28,
        }
    }
}

/// Where the skinned vertices of one part lie.
#[derive(Clone, Debug)]
pub struct Vertices<'a> {
    /// f32×3 per vertex, stride 12; usages `VERTEX | STORAGE | COPY_SRC`.
    pub positions: &'a wgpu::Buffer,
    /// Normals and tangents, laid out as `layout` says; usages as above.
    pub frames: &'a wgpu::Buffer,
    /// Layout of `frames`.
    pub layout: Layout,
    /// The positions of the frame before, laid out as `positions`; only with [`super::SkinnerDescriptor::previous_positions`].
    /// A frame is a `prepare` with its `record`. A character shown again has those it was hidden with, a new one has its
    /// first positions here too.
    pub previous: Option<&'a wgpu::Buffer>,
    /// The buffer with the part's box and its index in it, 32 bytes each, to be read with [`super::BOUNDS_WGSL`]; only with
    /// [`super::SkinnerDescriptor::bounds`]. All parts of a skinner share the buffer; it is replaced by a larger one when
    /// `spawn` finds it full. Usages `STORAGE | COPY_SRC`; a part not skinned yet has an empty box (+∞, -∞).
    pub bounds: Option<(&'a wgpu::Buffer, u32)>,
    /// Index of the page the vertex buffers are; parts with equal pages need no new bindings.
    pub page: u32,
    /// The part's vertices in the page; `start` is the `base_vertex` of a draw, and a multiple of 4.
    pub range: Range<u32>,
}

#[derive(Debug)]
pub(super) struct PartData {
    pub mesh: u32,
    /// In quads.
    pub output: Place,
    /// First joint, relative to the character's palettes.
    pub skin_start: u32,
    /// First weight and number of weights.
    pub morphs: (u32, u32),
    /// First of the weights that the host set: the same, or right behind those where the rig's clips drive morph weights.
    pub own_weights: u32,
    /// Its box, if there are any.
    pub bounds: u32,
    /// The frame it is first skinned in.
    pub first_frame: Option<u64>,
    /// Its box has been emptied.
    pub boxed: bool,
}

/// What the next `record` does to a character's vertices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Todo {
    Nothing,
    Skin,
    /// Its positions become the previous ones and stay.
    Settle,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum DriveState {
    /// `CharacterData::pose`, evaluated on the CPU.
    Local,
    /// The host's palettes, already in the mirror.
    Palette,
    /// A clip, evaluated on the GPU; `shift` is added to its start, whole loops.
    Clip { clip: usize, start: f64, looping: bool, shift: f64 },
    /// Several clips, or one that drives morph weights, evaluated on the GPU.
    Clips(Box<Layers>),
    /// The host's shader wrote the palettes.
    External,
    /// A pose space, evaluated on the GPU; it does not change by itself after `settled`.
    Space { space: u32, settled: f64 },
}

impl DriveState {
    /// Evaluated by the pose pass.
    pub fn on_gpu(&self) -> bool {
        matches!(self, Self::Clip { .. } | Self::Clips(_) | Self::Space { .. })
    }
}

#[derive(Debug)]
pub(super) struct CharacterData {
    pub rig: u32,
    pub parts: Vec<PartData>,
    /// Start and number of its joints in the palettes.
    pub palette: (u32, u32),
    /// Start and number of the palette entries its dual palette takes up; none without a mesh that needs it.
    pub dual: (u32, u32),
    /// Index of its record in the pose pass, and 1.
    pub record: (u32, u32),
    /// Start and number of its world transforms, where the host asked for them.
    pub joints: Option<(u32, u32)>,
    /// Start and number of its rows of scratch.
    pub scratch: (u32, u32),
    /// Start and number of its words of pose space state.
    pub state: (u32, u32),
    /// Those of them not uploaded yet.
    pub state_dirty: Range<u32>,
    pub drive: DriveState,
    pub pose: Pose,
    pub visible: bool,
    /// The pose or a morph weight changed since it was last posed.
    pub changed: bool,
    /// Morph weights the host set are not uploaded yet, or not where they must be now.
    pub weights_changed: bool,
    pub todo: Todo,
    /// The frame it is first skinned in.
    pub first_frame: Option<u64>,
    /// Clip time it was last posed at; in a pose space the host's seconds.
    pub clip_time: f64,
    /// The host's seconds it was last posed at.
    pub posed_at: f64,
    /// Seconds between two poses, and the part of them by which its own are shifted.
    pub interval: (f64, f64),
    /// Shown or driven for the first time: it does not wait for its turn.
    pub due: bool,
    /// Its state in the pose space it is driven by.
    pub space_state: Option<Box<SpaceState>>,
}

impl PartData {
    /// Number of weights it holds in the buffer.
    pub fn weight_count(&self) -> u32 {
        self.own_weights - self.morphs.0 + self.morphs.1
    }
}

#[derive(Debug, Default)]
pub(super) struct Slot {
    pub generation: u32,
    pub character: Option<CharacterData>,
}

/// Time in a clip for seconds since its start.
pub(super) fn clip_time(elapsed: f64, duration: f32, looping: bool) -> f64 {
    let duration = f64::from(duration);
    if looping && duration > 0.0 { elapsed.rem_euclid(duration) } else { elapsed.clamp(0.0, duration) }
}
