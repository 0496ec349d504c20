//! Finger poses stated as angles, so that one description fits every rig.

use glam::{DQuat, DVec3};

use super::follow::{Chain, quat32};
use super::hands::Hands;
use super::names::{Finger, Side};
use crate::character::Rig;
use crate::math::unit_quat;
use crate::pose::Pose;
use crate::{Error, Result};

/// How one finger is bent, radians from the rest pose.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FingerAngles {
    /// Towards the palm, joint by joint from the palm outwards (a thumb's first is its metacarpal). Angles for joints that
    /// a rig lacks are left out.
    pub flexion: [f32; 3],
    /// Of the first joint: away from the middle finger; the middle finger towards the thumb; the thumb away from the palm.
    pub spread: f32,
    /// Of the first joint about its bone; equal twists of two hands mirror each other.
    pub twist: f32,
}

/// How a hand is held: angles by [`Finger`]; `None` keeps the rest pose.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FingerPose {
    /// Thumb to little finger.
    pub fingers: [Option<FingerAngles>; 5],
    /// Flexion counts from a straight finger in the palm's plane instead of from the rest pose (not for a thumb's
    /// metacarpal, which has no straight).
    pub from_straight: bool,
}

impl Hands {
    /// Bends the fingers of one hand in `pose`, from the rest pose: `rest · spread · flexion · twist`, each about the
    /// joint's own axes ([`super::FingerJoint`]).
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] for a pose of another rig, [`Error::NotFinite`] for an angle.
    pub fn apply(&self, rig: &Rig, side: Side, fingers: &FingerPose, pose: &mut Pose) -> Result<()> {
        if pose.joints.len() != rig.nodes.len() {
            let (found, expected) = (pose.joints.len(), rig.nodes.len());
            return Err(Error::LengthMismatch { what: "pose", found, expected });
        }
        let Some(hand) = self.get(side) else { return Ok(()) };
        let chain = Chain::new(rig, &self.leaders)?;
        let rest = chain.relative(&Pose::rest(rig));
        let mut joints = chain.relative(pose);
        for finger in Finger::ALL {
            let Some(angles) = fingers.fingers[finger as usize] else { continue };
            let all = angles.flexion.into_iter().chain([angles.spread, angles.twist]);
            if !all.into_iter().all(f32::is_finite) {
                return Err(Error::NotFinite { what: "angle of finger", index: finger as usize });
            }
            for (i, joint) in hand.fingers[finger as usize].joints.iter().enumerate() {
                let straight = fingers.from_straight && !(finger == Finger::Thumb && i == 0);
                let flexion = angles.flexion[i] - if straight { joint.rest_flexion } else { 0.0 };
                let (spread, twist) = if i == 0 { (angles.spread, angles.twist) } else { (0.0, 0.0) };
                let about = |axis: [f32; 3], angle: f32| {
                    DQuat::from_axis_angle(DVec3::from(axis.map(f64::from)).normalize(), f64::from(angle))
                };
                let turn = about(joint.spread, spread) * about(joint.hinge, flexion) * about(joint.twist, twist);
                joints[joint.node].rotation = quat32(unit_quat(rest[joint.node].rotation) * turn);
            }
        }
        chain.resolve(&mut joints);
        pose.joints = joints;
        Ok(())
    }
}
