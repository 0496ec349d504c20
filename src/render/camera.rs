//! Where a picture is seen from.

use glam::{Mat3, Mat4, Quat, Vec3};

/// How depth runs in the depth buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// 1 at the near plane, 0 infinitely far away: with a float format the precision is even over all distances.
    #[default]
    Reversed,
    /// 0 at the near plane, 1 far away.
    Forward,
}

impl Depth {
    /// What a depth buffer is cleared to: the farthest depth.
    pub fn far(self) -> f32 {
        match self {
            Self::Reversed => 0.0,
            Self::Forward => 1.0,
        }
    }

    pub(super) fn compare(self) -> wgpu::CompareFunction {
        match self {
            Self::Reversed => wgpu::CompareFunction::GreaterEqual,
            Self::Forward => wgpu::CompareFunction::LessEqual,
        }
    }
}

/// A place and a projection. The camera looks along its own −Z with +Y up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Metres.
    pub position: [f32; 3],
    /// From the camera's axes to the world's: a unit quaternion `(x, y, z, w)`.
    pub rotation: [f32; 4],
    /// Clip from camera, perspective, columns; depth 0…1 as WebGPU has it. See [`perspective`].
    pub projection: [[f32; 4]; 4],
}

impl Camera {
    /// A camera at `position` that looks at `target`, +Y up in the picture (+Z up when it looks straight up or down).
    pub fn look_at(position: [f32; 3], target: [f32; 3], projection: [[f32; 4]; 4]) -> Self {
        let back = (Vec3::from(position) - Vec3::from(target)).normalize_or(Vec3::Z);
        let right = Vec3::Y.cross(back).normalize_or(Vec3::X);
        let axes = Mat3::from_cols(right, back.cross(right), back);
        Self { position, rotation: Quat::from_mat3(&axes).normalize().to_array(), projection }
    }

    /// Camera axes in the world: right, up, back.
    pub(super) fn axes(&self) -> Mat3 {
        Mat3::from_quat(Quat::from_array(self.rotation).normalize())
    }

    /// Clip space from directions and places relative to [`Camera::position`].
    pub(super) fn clip_from_relative(&self) -> Mat4 {
        Mat4::from_cols_array_2d(&self.projection) * Mat4::from_mat3(self.axes().transpose())
    }

    /// View rays: at the middle of the picture, and what half a width to the right and half a height up add to them.
    pub(super) fn rays(&self) -> [Vec3; 3] {
        let p = &self.projection;
        let axes = self.axes();
        [
            axes * Vec3::new(p[2][0] / p[0][0], p[2][1] / p[1][1], -1.0),
            axes * Vec3::new(1.0 / p[0][0], 0.0, 0.0),
            axes * Vec3::new(0.0, 1.0 / p[1][1], 0.0),
        ]
    }
}

/// A perspective projection without a far plane: `fov_y` in radians over the picture's height, `aspect` = width / height,
/// `near` in metres, > 0.
pub fn perspective(fov_y: f32, aspect: f32, near: f32, depth: Depth) -> [[f32; 4]; 4] {
    let f = 1.0 / (0.5 * fov_y).tan();
    let (a, b) = match depth {
        Depth::Reversed => (0.0, near),
        Depth::Forward => (-1.0, -near),
    };
    [[f / aspect, 0.0, 0.0, 0.0], [0.0, f, 0.0, 0.0], [0.0, 0.0, a, -1.0], [0.0, 0.0, b, 0.0]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::Vec4;

    #[test]
    fn depth_runs_from_near_to_far() {
        for (depth, near, far) in [(Depth::Reversed, 1.0, 0.0), (Depth::Forward, 0.0, 1.0)] {
            let p = Mat4::from_cols_array_2d(&perspective(1.0, 1.5, 0.1, depth));
            let at = |z: f32| {
                let c = p * Vec4::new(0.0, 0.0, -z, 1.0);
                c.z / c.w
            };
            // One rounding of a product and a quotient near 1: 2 ulp.
            assert!((at(0.1) - near).abs() < 3e-7, "{depth:?} {}", at(0.1));
            assert!((at(1e6) - far).abs() < 1e-6, "{depth:?} {}", at(1e6));
            assert_eq!(depth.far(), far);
        }
    }

    #[test]
    fn look_at_centres_its_target() {
        for (eye, target) in [([3.0, 2.0, 5.0], [0.5, 1.0, -1.0]), ([0.0, 4.0, 0.0], [0.0; 3]), ([1.0; 3], [1.0; 3])] {
            let camera = Camera::look_at(eye, target, perspective(0.7, 1.0, 0.1, Depth::Reversed));
            let relative = Vec3::from(target) - Vec3::from(eye);
            let c = camera.clip_from_relative() * relative.extend(1.0);
            assert!(c.x.abs() < 1e-5 && c.y.abs() < 1e-5 && c.w >= 0.0, "{eye:?}: {c}");
            assert!((camera.rays()[0].dot(relative.normalize_or(camera.rays()[0])) - 1.0).abs() < 1e-5);
        }
    }
}
