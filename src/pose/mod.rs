//! Poses: one local record per rig node, and what they do to a rig.

mod barycentric;
mod blend;
mod builtin;
mod carry;
mod evaluate;
#[cfg(feature = "json")]
mod file;
mod fingers;
pub(crate) mod flatten;
mod follow;
pub(crate) mod groups;
mod hands;
mod hierarchy;
mod hull;
pub(crate) mod limits;
mod mirror;
mod names;
mod range;
#[cfg(feature = "json")]
mod save;
mod space;
mod surfaces;
pub(crate) mod turns;

pub use barycentric::{Coordinates, MAX_CORNERS, Outside, REACH, SNAP};
pub use builtin::{BuiltIn, built_in_limits};
pub use carry::Carry;
pub use evaluate::Blended;
#[cfg(feature = "json")]
pub use file::PoseSpaceFile;
pub use fingers::{FingerAngles, FingerPose};
pub use groups::{Channels, Fade, GroupMode, SpaceState};
pub use hands::{FingerJoint, FingerJoints, Hand, HandChoice, Hands};
pub use hierarchy::{SkinPoser, joint_worlds, skin_palette};
pub(crate) use hierarchy::{palette64, worlds64};
pub use limits::Limit;
pub use mirror::Mirror;
pub use names::{Finger, Side};
pub use range::JointRange;
pub use space::{Corner, Group, MAX_CELLS, MAX_SAMPLES, MAX_SLOTS, NodeLimit, PoseSpace, PoseSpaceDescriptor, Sample};
pub use surfaces::Surfaces;

use bytemuck::{Pod, Zeroable};

use crate::character::Rig;

/// A pose of a rig: one [`JointPose`] per node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pose {
    /// As many as the rig has nodes, in its order.
    pub joints: Vec<JointPose>,
}

/// The local state of one rig node, relative to its parent; 48 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct JointPose {
    /// Unit quaternion `(x, y, z, w)`.
    pub rotation: [f32; 4],
    /// Metres.
    pub translation: [f32; 3],
    /// Bone length factor, > 0: stretches the flesh along the bone and moves the children with it; not inherited.
    pub length: f32,
    /// Factor per axis; inherited by children.
    pub scale: [f32; 3],
    /// Bone thickness factor, > 0: swells the flesh across the bone; not inherited.
    pub thickness: f32,
}

impl JointPose {
    /// A node exactly at its parent.
    pub const IDENTITY: Self =
        Self { rotation: [0.0, 0.0, 0.0, 1.0], translation: [0.0; 3], length: 1.0, scale: [1.0; 3], thickness: 1.0 };
}

impl Default for JointPose {
    fn default() -> Self {
        Self::IDENTITY
    }
}

impl Pose {
    /// The rig's rest pose.
    pub fn rest(rig: &Rig) -> Self {
        let joint = |n: &crate::character::RigNode| JointPose {
            rotation: n.rest.rotation,
            translation: n.rest.translation,
            scale: n.rest.scale,
            ..JointPose::IDENTITY
        };
        Self { joints: rig.nodes.iter().map(joint).collect() }
    }
}
