//! What a limit means at one joint, for those who draw it or turn the joint by hand.

use glam::{DQuat, DVec3};

use super::limits::JointLimit;
use super::space::{NodeLimit, PoseSpace};
use crate::character::Rig;
use crate::math::unit_quat;
use crate::{Error, Result};

/// How far one joint may turn, fitted to its rig; see [`Limit`](super::Limit) for the angles and their frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointRange(JointLimit);

impl NodeLimit {
    /// The limit at its node; a built-in one is widened until the rest pose lies inside.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for the node; those of [`Limit::validate`](super::Limit::validate) and [`Rig::validate`].
    pub fn range(&self, rig: &Rig) -> Result<JointRange> {
        rig.validate()?;
        let count = rig.nodes.len();
        let node = rig.nodes.get(self.node).ok_or(Error::OutOfRange { what: "rig node", index: self.node, count })?;
        self.limit.validate()?;
        let wide = |v: [f32; 3]| DVec3::from(v.map(f64::from));
        let axis = wide(rig.bone_axes()[self.node]);
        let mut limit = JointLimit::new(&self.limit, node.rest.rotation, axis, self.hinge.map(wide));
        if self.built_in {
            limit.include(unit_quat(node.rest.rotation));
        }
        Ok(JointRange(limit))
    }
}

impl PoseSpace {
    /// How far a rig node may turn, after built-in limits were widened by the samples; `None` where nothing limits it.
    pub fn range(&self, node: usize) -> Option<JointRange> {
        self.limits.get(node).copied().flatten().map(JointRange)
    }
}

impl JointRange {
    /// Rotates X, Y, Z onto the limit's axes x (the bone), y and z, at rest, in the frame of the node's parent.
    pub fn frame(&self) -> [f32; 4] {
        self.0.before.conjugate().to_array().map(|x| x as f32)
    }

    /// Least and most twist, swing about y and swing about z, radians.
    pub fn ranges(&self) -> [[f32; 2]; 3] {
        self.0.half.map(|r| r.map(|a| (2.0 * a) as f32))
    }

    /// Twist, swing about y and swing about z of a local rotation, radians.
    pub fn angles(&self, rotation: [f32; 4]) -> [f32; 3] {
        self.0.half_angles(unit_quat(rotation)).map(|a| (2.0 * a) as f32)
    }

    /// The nearest allowed local rotation, by angles, and whether that is another one.
    pub fn clamp(&self, rotation: [f32; 4]) -> ([f32; 4], bool) {
        let (q, cut) = self.0.clamp(unit_quat(rotation));
        if cut { (q.to_array().map(|x| x as f32), true) } else { (rotation, false) }
    }

    /// Where a swing turns the bone: a unit direction in the frame of the node's parent, at rest with swings of 0.
    pub fn direction(&self, swing_y: f32, swing_z: f32) -> [f32; 3] {
        let [(sy, cy), (sz, cz)] = [swing_y, swing_z].map(|a| (0.5 * f64::from(a)).sin_cos());
        let swing = DQuat::from_xyzw(0.0, sy * cz, cy * sz, cy * cz).normalize();
        (self.0.before.conjugate() * swing * DVec3::X).as_vec3().to_array()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::character::RigNode;
    use crate::math::Transform;
    use crate::pose::Limit;

    #[test]
    fn angles_and_clamps_in_the_joint_s_own_frame() {
        let turned = DQuat::from_rotation_z(0.5).to_array().map(|x| x as f32);
        let node = |parent, rotation: [f32; 4], translation| RigNode {
            parent,
            rest: Transform { rotation, translation, ..Transform::IDENTITY },
            ..RigNode::default()
        };
        let rig = Rig {
            nodes: vec![
                node(None, [0.0, 0.0, 0.0, 1.0], [0.0; 3]),
                node(Some(0), turned, [0.0, 1.0, 0.0]),
                node(Some(1), [0.0, 0.0, 0.0, 1.0], [0.0, 2.0, 0.0]),
            ],
        };
        let limit = Limit::degrees([-10.0, 20.0], [-5.0, 15.0], [-30.0, 90.0]);
        let range = NodeLimit { node: 1, limit, hinge: Some([1.0, 0.0, 0.0]), built_in: false }.range(&rig).unwrap();
        let degrees = range.ranges().map(|r| r.map(|a| a.to_degrees().round()));
        assert_eq!(degrees, [[-10.0, 20.0], [-5.0, 15.0], [-30.0, 90.0]]);
        // The bone is +Y, the hinge X: flexing by 40° about X from rest.
        let q = DQuat::from_rotation_z(0.5) * DQuat::from_rotation_x(40f64.to_radians());
        let flexed = q.to_array().map(|x| x as f32);
        let angles = range.angles(flexed).map(f32::to_degrees);
        assert!(angles[0].abs() < 1e-3 && angles[1].abs() < 1e-3 && (angles[2] - 40.0).abs() < 1e-3, "{angles:?}");
        assert_eq!(range.clamp(flexed), (flexed, false));
        let far = (DQuat::from_rotation_z(0.5) * DQuat::from_rotation_x(2.0)).to_array().map(|x| x as f32);
        let (kept, cut) = range.clamp(far);
        assert!(cut && (range.angles(kept)[2].to_degrees() - 90.0).abs() < 1e-3);
        // The direction of a swing is the bone's, turned.
        let [x, y, z] = range.direction(0.0, 40f32.to_radians());
        let expected = (q * DVec3::Y).as_vec3();
        assert!((glam::Vec3::new(x, y, z) - expected).length() < 1e-6);
        let frame = DQuat::from_array(range.frame().map(f64::from));
        assert!((frame * DVec3::X - DQuat::from_rotation_z(0.5) * DVec3::Y).length() < 1e-6);
        assert!(NodeLimit { node: 9, limit, hinge: None, built_in: false }.range(&rig).is_err());
    }
}
