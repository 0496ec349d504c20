//! Joint limits: how far a joint may turn from its rest pose.

use std::f64::consts::{FRAC_PI_2, PI};

use glam::{DMat3, DQuat, DVec3};

use crate::math::unit_quat;
use crate::{Error, Result};

/// Angles a joint may turn from its rest rotation, `[least, most]` in radians within ±π.
///
/// The rotation `r = rest⁻¹ · q` is taken apart as `r = swing · twist` in a right-handed frame (x, y, z) fixed in the
/// joint: **x is the bone axis** ([`Rig::bone_axes`](crate::character::Rig::bone_axes)). For fingers, thumbs, elbows and
/// knees **z is the hinge**, so that positive `swing_z` is flexion, and y = z × x. For every other joint y is the joint's own
/// axis that follows x in the cycle X → Y → Z → X (Y where the bone is mostly along ±X, Z where along ±Y, X where along ±Z),
/// made square to x, and z = x × y. Twist is about x; `swing_y` and `swing_z` are twice `atan2(y, w)` and `atan2(z, w)` of the
/// swing: a pyramid, each axis with its own least and most, clamped as angles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// About the bone.
    pub twist: [f32; 2],
    /// About y.
    pub swing_y: [f32; 2],
    /// About z.
    pub swing_z: [f32; 2],
}

impl Limit {
    /// Allows everything.
    pub const FREE: Self = Self { twist: FULL, swing_y: FULL, swing_z: FULL };

    /// From degrees.
    pub fn degrees(twist: [f32; 2], swing_y: [f32; 2], swing_z: [f32; 2]) -> Self {
        let radians = |r: [f32; 2]| r.map(f32::to_radians);
        Self { twist: radians(twist), swing_y: radians(swing_y), swing_z: radians(swing_z) }
    }

    /// Checks that every range is finite, in order and within ±π.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`].
    pub fn validate(&self) -> Result<()> {
        for (what, range) in [("twist", self.twist), ("swing_y", self.swing_y), ("swing_z", self.swing_z)] {
            // A little over π: 180 degrees do not survive f32 exactly.
            let ok = range.iter().all(|x| x.is_finite() && x.abs() <= 1.000_01 * std::f32::consts::PI)
                && range[0] <= range[1];
            if !ok {
                let [a, b] = range.map(f32::to_degrees);
                let expected = "[least, most] degrees, in order, within -180 and 180";
                return Err(Error::InvalidParameter { what, value: format!("[{a}, {b}]"), expected });
            }
        }
        Ok(())
    }
}

const FULL: [f32; 2] = [-std::f32::consts::PI, std::f32::consts::PI];

/// A rotation's half-angle is cut to this (radians) before it is taken apart: 170°, past every limit that is tighter than
/// a half turn and short of where twist and swing stop being unique.
pub(crate) const MOST_HALF: f64 = 85.0 / 180.0 * PI;

/// A limit fitted to one joint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct JointLimit {
    /// `frame⁻¹ · rest⁻¹`.
    pub before: DQuat,
    /// Rotates X, Y, Z onto the limit's x, y, z in the joint's frame.
    pub frame: DQuat,
    /// Half-angles: twist, swing y, swing z.
    pub half: [[f64; 2]; 3],
    /// The rotation's sign carries how it was reached (beyond a half turn, say); else only the rotation itself counts.
    pub signed: bool,
}

impl JointLimit {
    pub fn new(limit: &Limit, rest: [f32; 4], axis: DVec3, hinge: Option<DVec3>) -> Self {
        let frame = frame(axis, hinge);
        let half = [limit.twist, limit.swing_y, limit.swing_z].map(|r| r.map(|a| f64::from(a) / 2.0));
        let signed = half.iter().flatten().all(|a| a.abs() < MOST_HALF);
        Self { before: frame.conjugate() * unit_quat(rest).conjugate(), frame, half, signed }
    }

    /// Half-angles of a local rotation: twist, swing y, swing z.
    pub fn half_angles(&self, q: DQuat) -> [f64; 3] {
        half_angles(self.before * q * self.frame)
    }

    /// Widens the limit until `q` is inside.
    pub fn include(&mut self, q: DQuat) {
        let angles = self.half_angles(q);
        for (range, angle) in self.half.iter_mut().zip(angles) {
            // The slack keeps rounding in a blend from being reported as a clamp.
            *range = [range[0].min(angle - 1e-4), range[1].max(angle + 1e-4)];
        }
        if (self.before * q * self.frame).w < MOST_HALF.cos() {
            self.signed = false;
        }
    }

    /// True when the rotation itself is allowed, whichever of its two quaternions is given.
    pub fn allows(&self, q: DQuat) -> bool {
        self.half_angles(q).iter().zip(&self.half).all(|(a, r)| *a >= r[0] && *a <= r[1])
    }

    /// The nearest allowed rotation, by angles, and whether that is another one.
    pub fn clamp(&self, q: DQuat) -> (DQuat, bool) {
        let mut r = self.before * q * self.frame;
        let mut cut = false;
        if !self.signed && r.w < 0.0 {
            r = -r;
        }
        if self.signed && r.w < MOST_HALF.cos() {
            let v = DVec3::new(r.x, r.y, r.z).normalize_or(DVec3::Z) * MOST_HALF.sin();
            r = DQuat::from_xyzw(v.x, v.y, v.z, MOST_HALF.cos());
            cut = true;
        }
        let angles = half_angles(r);
        let mut kept = angles;
        for (angle, range) in kept.iter_mut().zip(&self.half) {
            *angle = angle.clamp(range[0], range[1]);
        }
        if !cut && kept == angles {
            return (q, false);
        }
        let r = compose(kept);
        ((self.before.conjugate() * r * self.frame.conjugate()).normalize(), true)
    }
}

/// Twist about X, then swing as a pyramid about Y and Z, of a rotation; its quaternion's sign does not matter.
fn half_angles(r: DQuat) -> [f64; 3] {
    let r = if r.w < 0.0 { -r } else { r };
    let s = (r.w * r.w + r.x * r.x).sqrt();
    if s < 1e-9 {
        // A half turn about an axis across the bone: no twist can be told.
        return [
            0.0,
            r.y.signum() * FRAC_PI_2 * f64::from(r.y != 0.0),
            r.z.signum() * FRAC_PI_2 * f64::from(r.z != 0.0),
        ];
    }
    let y = (r.w * r.y - r.x * r.z) / s;
    let z = (r.w * r.z + r.x * r.y) / s;
    [(r.x / s).atan2(r.w / s), y.atan2(s), z.atan2(s)]
}

/// The rotation with these half-angles. Products instead of tangents: right angles are no special case.
fn compose([twist, y, z]: [f64; 3]) -> DQuat {
    let ((sy, cy), (sz, cz)) = (y.sin_cos(), z.sin_cos());
    let swing = DQuat::from_xyzw(0.0, sy * cz, cy * sz, cy * cz);
    let swing = if swing.length() > 1e-9 { swing.normalize() } else { DQuat::from_xyzw(0.0, sy, sz, 0.0).normalize() };
    swing * DQuat::from_xyzw(twist.sin(), 0.0, 0.0, twist.cos())
}

/// The frame [`Limit`] describes, as the rotation of X, Y, Z onto it.
pub(crate) fn frame(axis: DVec3, hinge: Option<DVec3>) -> DQuat {
    let x = axis.normalize_or(DVec3::Y);
    let square = |v: DVec3| (v - x * x.dot(v)).try_normalize();
    let z = hinge.and_then(square).unwrap_or_else(|| {
        let a = x.abs();
        let next = if a.x >= a.y && a.x >= a.z {
            DVec3::Y
        } else if a.y >= a.z {
            DVec3::Z
        } else {
            DVec3::X
        };
        x.cross(square(next).unwrap_or_else(|| x.any_orthonormal_vector()))
    });
    DQuat::from_mat3(&DMat3::from_cols(x, z.cross(x), z)).normalize()
}
