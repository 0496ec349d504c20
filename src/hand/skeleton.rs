//! The rig of two hands, and influences for its right one.

use glam::{Quat, Vec3};

use super::anatomy::{Anatomy, FIRST, JOINTS, NAMES, STUMP};
use super::surface::Surface;
use crate::Result;
use crate::character::{Rig, RigNode};
use crate::influence::bind::{self, Bone, Bound, HeatOptions};
use crate::math::{Affine, Transform};

/// Metres from the plane between the hands to the middle of a wrist.
const APART: f32 = 0.115;

/// First rig node of the left and of the right hand.
pub(super) const HANDS: [(usize, &str); 2] = [(0, "left"), (JOINTS, "right")];

/// A point of the right hand in character space, metres.
pub(super) fn place(p: Vec3) -> Vec3 {
    1e-3 * (p - Vec3::Y * STUMP) - Vec3::X * APART
}

/// The other hand's point or direction.
pub(super) fn mirrored(v: Vec3) -> Vec3 {
    Vec3::new(-v.x, v.y, v.z)
}

/// Twice 25 joints, left first, each hand's in WebXR's order; fingertips up, palms to the front.
pub(super) fn rig(anatomy: &Anatomy) -> Rig {
    let mut rig = Rig::default();
    for (first, side) in HANDS {
        let left = side == "left";
        // Mirrored bones, but right-handed axes made anew: −Z along the bone, +Y out of the back of the hand.
        let joints = anatomy.joints.map(|mut j| {
            j.at = place(j.at);
            if left {
                (j.at, j.along, j.dorsal) = (mirrored(j.at), mirrored(j.along), mirrored(j.dorsal));
            }
            j
        });
        for (i, joint) in joints.iter().enumerate() {
            let world = Quat::from_mat3(&joint.axes()).normalize();
            let (rotation, translation) = match joint.parent {
                Some(p) => {
                    let back = Quat::from_mat3(&joints[p].axes()).normalize().inverse();
                    ((back * world).normalize(), back * (joint.at - joints[p].at))
                }
                None => (world, joint.at),
            };
            rig.nodes.push(RigNode {
                name: format!("{}_{side}", NAMES[i]),
                parent: joint.parent.map(|p| first + p),
                rest: Transform { rotation: rotation.to_array(), translation: translation.to_array(), scale: [1.0; 3] },
                base: Affine::IDENTITY,
                source: first + i,
            });
        }
    }
    rig
}

/// Influences of the right hand's vertices by bone heat; joints count within the hand.
pub(super) fn bind(rig: &Rig, surface: &Surface) -> Result<Bound> {
    let joints: Vec<usize> = (HANDS[1].0..HANDS[1].0 + JOINTS).collect();
    let skin = bind::skin_at_rest("right hand", rig, &joints, &Affine::IDENTITY)?;
    let mut skeleton = bind::skeleton(rig, &skin)?;
    // A tip moves nothing: its bone would only take the flesh in front of it from the last phalanx.
    let tips = FIRST.map(|f| if f == FIRST[0] { f + 3 } else { f + 4 } as u32);
    skeleton.bones.retain(|b| !tips.contains(&b.joint));
    // The forearm's stump goes with the wrist.
    skeleton.bones.push(Bone { joint: 0, head: place(Vec3::ZERO).to_array(), tail: place(Vec3::Y * STUMP).to_array() });
    let positions: Vec<[f32; 3]> = surface.positions.iter().map(|&p| place(p).to_array()).collect();
    bind::heat(&positions, surface.triangles.as_flattened(), &skeleton, &HeatOptions::default())
}
