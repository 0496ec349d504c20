//! Everything that holds a wgpu handle.

use std::ops::Range;

use crate::Result;
use crate::character::{Clip, Mesh, Rig, Skin};
use crate::math::Affine;
use crate::pose::Pose;

/// What a [`Skinner`] is made with.
#[derive(Clone, Debug, Default)]
pub struct SkinnerDescriptor {}

/// What a rig is made of on the GPU.
#[derive(Clone, Copy, Debug)]
pub struct RigDescriptor<'a> {
    /// The nodes.
    pub rig: &'a Rig,
    /// The skins that hang on it.
    pub skins: &'a [Skin],
    /// Clips that [`Drive::Clip`] may play.
    pub clips: &'a [Clip],
}

/// A rig of a [`Skinner`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RigId(u32);

/// A mesh of a [`Skinner`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MeshId(u32);

/// A spawned character; stale after `despawn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CharacterId {
    index: u32,
    generation: u32,
}

/// A mesh of a character under one of its rig's skins. `MeshId` converts into a part under skin 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartId {
    /// The mesh.
    pub mesh: MeshId,
    /// Index into the rig's skins.
    pub skin: usize,
}

/// Where a character's pose comes from.
#[derive(Clone, Copy, Debug)]
pub enum Drive<'a> {
    /// A local pose, one record per rig node.
    Local(&'a Pose),
    /// Skin `0`'s palette itself: one map per joint, in character space.
    Palette(usize, &'a [Affine]),
    /// A clip of the rig: `start` is the time in seconds (as given to `prepare`) at which it begins; it loops if `looping`.
    Clip {
        /// Index into the rig's clips.
        clip: usize,
        /// `prepare`'s seconds at the clip's time 0.
        start: f64,
        /// Starts over at its end; else holds the last pose.
        looping: bool,
    },
}

/// Where the skinned vertices of one part lie.
#[derive(Clone, Debug)]
pub struct Vertices<'a> {
    /// f32×3, stride 12; `VERTEX | STORAGE | COPY_SRC`.
    pub positions: &'a wgpu::Buffer,
    /// Octahedral normal and tangent, stride 8, see [`FRAME_WGSL`]; `VERTEX | STORAGE | COPY_SRC`.
    pub frames: &'a wgpu::Buffer,
    /// Which page the two buffers are: equal pages need no new bindings.
    pub page: u32,
    /// The vertices of this part, in the page; `start` is the `base_vertex` of a draw.
    pub range: Range<u32>,
}

/// WGSL functions that decode a frame (`vec2<u32>`, one word normal, one word tangent):
/// `fn frame_normal(frame: vec2<u32>) -> vec3<f32>` and `fn frame_tangent(frame: vec2<u32>) -> vec4<f32>`.
pub const FRAME_WGSL: &str = "";

/// The engine.
pub struct Skinner {}

impl Skinner {
    /// Pipelines' layout and the first buffers.
    pub fn new(_device: &wgpu::Device, _descriptor: &SkinnerDescriptor) -> Result<Self> {
        todo!()
    }
    /// Uploads a rig.
    pub fn add_rig(&mut self, _queue: &wgpu::Queue, _rig: &RigDescriptor<'_>) -> Result<RigId> {
        todo!()
    }
    /// Prunes to 8, packs and uploads a mesh.
    pub fn add_mesh(&mut self, _queue: &wgpu::Queue, _mesh: &Mesh) -> Result<MeshId> {
        todo!()
    }
    /// A new character; reserves its output range.
    pub fn spawn(&mut self, _rig: RigId, _parts: &[PartId]) -> Result<CharacterId> {
        todo!()
    }
    /// Removes a character.
    pub fn despawn(&mut self, _character: CharacterId) -> Result<()> {
        todo!()
    }
    /// Says where its pose comes from.
    pub fn drive(&mut self, _character: CharacterId, _drive: Drive<'_>) -> Result<()> {
        todo!()
    }
    /// Morph weights of one part, one per target; `Drive::Clip` overrides what it drives.
    pub fn set_morph_weights(&mut self, _character: CharacterId, _part: usize, _weights: &[f32]) -> Result<()> {
        todo!()
    }
    /// Uploads what changed; `seconds` is the host's clock.
    pub fn prepare(&mut self, _device: &wgpu::Device, _queue: &wgpu::Queue, _seconds: f64) {
        todo!()
    }
    /// Records the skin pass.
    pub fn record(&mut self, _encoder: &mut wgpu::CommandEncoder) {
        todo!()
    }
    /// The skinned vertices of a character's part (index into the list it was spawned with); valid until the next `prepare`.
    pub fn vertices(&self, _character: CharacterId, _part: usize) -> Result<Vertices<'_>> {
        todo!()
    }
}
