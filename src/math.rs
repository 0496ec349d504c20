//! The plain-old-data types the public API speaks: [`Transform`], [`Affine`], and octahedral packing of unit vectors.

use bytemuck::{Pod, Zeroable};
use glam::{DMat3, DQuat, DVec3};

/// Rotation, translation and scale; applied scale first, then rotation, then translation.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Transform {
    /// Unit quaternion `(x, y, z, w)`.
    pub rotation: [f32; 4],
    /// Metres.
    pub translation: [f32; 3],
    /// Factor per axis, may be negative.
    pub scale: [f32; 3],
}

impl Transform {
    /// Changes nothing.
    pub const IDENTITY: Self = Self { rotation: [0.0, 0.0, 0.0, 1.0], translation: [0.0; 3], scale: [1.0; 3] };
}

impl Default for Transform {
    fn default() -> Self {
        Self::IDENTITY
    }
}

/// An affine map: the upper three rows of a 4×4 matrix, `[m_r0 m_r1 m_r2 t_r]` each; 48 bytes.
///
/// In WGSL the same bytes are a `mat3x4<f32>`, applied as `vec4(p, 1.0) * m`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Affine {
    /// Row r is `[m_r0, m_r1, m_r2, t_r]`.
    pub rows: [[f32; 4]; 3],
}

impl Affine {
    /// Changes nothing.
    pub const IDENTITY: Self = Self { rows: [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]] };

    /// The upper three rows of a 4×4 matrix given in column-major order, as glTF stores it.
    pub fn from_columns(m: &[[f32; 4]; 4]) -> Self {
        let row = |r: usize| [m[0][r], m[1][r], m[2][r], m[3][r]];
        Self { rows: [row(0), row(1), row(2)] }
    }

    /// The 4×4 matrix in column-major order, as glTF stores it.
    pub fn to_columns(&self) -> [[f32; 4]; 4] {
        let r = &self.rows;
        let column = |c: usize| [r[0][c], r[1][c], r[2][c], if c == 3 { 1.0 } else { 0.0 }];
        [column(0), column(1), column(2), column(3)]
    }

    /// The image of a point.
    pub fn transform_point(&self, p: [f32; 3]) -> [f32; 3] {
        self.rows.map(|r| r[0] * p[0] + r[1] * p[1] + r[2] * p[2] + r[3])
    }

    /// True when every element is finite.
    pub fn is_finite(&self) -> bool {
        self.rows.iter().flatten().all(|x| x.is_finite())
    }
}

impl Default for Affine {
    fn default() -> Self {
        Self::IDENTITY
    }
}

/// The f64 affine map the CPU side composes hierarchies in, so that deep chains do not lose digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Affine64 {
    pub m: DMat3,
    pub t: DVec3,
}

impl Affine64 {
    pub fn from_trs(rotation: [f32; 4], translation: [f32; 3], scale: [f32; 3]) -> Self {
        let q = unit_quat(rotation);
        let s = DVec3::from(scale.map(f64::from));
        Self { m: DMat3::from_quat(q) * DMat3::from_diagonal(s), t: DVec3::from(translation.map(f64::from)) }
    }

    pub fn mul(&self, b: &Self) -> Self {
        Self { m: self.m * b.m, t: self.m * b.t + self.t }
    }

    pub fn point(&self, p: DVec3) -> DVec3 {
        self.m * p + self.t
    }
}

impl From<&Affine> for Affine64 {
    fn from(a: &Affine) -> Self {
        let r = a.rows.map(|r| r.map(f64::from));
        Self {
            m: DMat3::from_cols(
                DVec3::new(r[0][0], r[1][0], r[2][0]),
                DVec3::new(r[0][1], r[1][1], r[2][1]),
                DVec3::new(r[0][2], r[1][2], r[2][2]),
            ),
            t: DVec3::new(r[0][3], r[1][3], r[2][3]),
        }
    }
}

impl From<Affine64> for Affine {
    fn from(a: Affine64) -> Self {
        let (x, y, z) = (a.m.x_axis, a.m.y_axis, a.m.z_axis);
        let row = |r: usize| [x[r] as f32, y[r] as f32, z[r] as f32, a.t[r] as f32];
        Self { rows: [row(0), row(1), row(2)] }
    }
}

/// A unit quaternion in f64; the identity where the input has no direction.
pub(crate) fn unit_quat(q: [f32; 4]) -> DQuat {
    let q = DQuat::from_array(q.map(f64::from));
    let length = q.length();
    if length > 1e-30 && length.is_finite() { q / length } else { DQuat::IDENTITY }
}
