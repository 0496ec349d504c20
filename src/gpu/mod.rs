//! Everything that holds a wgpu handle: the [`Skinner`], its pages and its passes.
//!
//! The host owns device, queue, encoder and submission. Per frame it calls [`Skinner::drive`] for what changed,
//! [`Skinner::prepare`] to upload it, [`Skinner::record`] to record one skin dispatch for everybody, and draws from
//! [`Skinner::vertices`].

mod bounds;
mod character;
mod clips;
mod collect;
mod dual;
mod frame;
mod joints;
mod memory;
mod mesh;
mod mirror;
mod pages;
mod pose;
mod ranges;
mod read_back;
mod readback;
mod record;
mod rig;
mod schedule;
mod skin;
mod skinner;
mod space;
mod spawn;
#[cfg(test)]
pub(crate) mod tests;

pub use bounds::{BOUNDS_WGSL, Bounds};
pub use character::{CharacterId, Drive, Layout, MeshId, PartId, RigId, SpaceId, Vertices};
pub use clips::{ClipLayer, MAX_LAYERS, MaskId, WeightFade};
pub use frame::{FRAME_WGSL, decode_normal, decode_tangent, encode_frame};
pub use joints::BufferRange;
pub use memory::{Memory, Usage};
pub use mesh::{MeshOptions, Method};
pub use read_back::ReadBack;
pub use readback::{SkinnedVertices, read_vertices};
pub use record::Timestamps;
pub use rig::RigDescriptor;
pub use skin::{CHUNK, Pipelines};
pub use skinner::{Skinner, SkinnerDescriptor};
