//! A camera that circles a point.

use dermis::render::{Camera, Depth, perspective};
use glam::{Mat3, Vec2, Vec3};

/// Radians over the picture's height.
const FIELD_OF_VIEW: f32 = 0.6;
/// Share of the picture that a framed character fills.
const FILL: f32 = 0.88;
/// Radians: short of straight up and down.
const STEEPEST: f32 = 1.55;
/// Metres.
const DISTANCES: std::ops::RangeInclusive<f32> = 1e-5..=1e7;

/// Where the camera is and what it turns about.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Orbit {
    /// What is in the middle.
    pub target: Vec3,
    /// Radians about +Y; 0 looks along −Z, at a glTF character's front.
    pub yaw: f32,
    /// Radians above the horizon.
    pub pitch: f32,
    /// Metres from the target.
    pub distance: f32,
}

impl Default for Orbit {
    /// Three quarters from the front, a little above.
    fn default() -> Self {
        Self { target: Vec3::ZERO, yaw: 30f32.to_radians(), pitch: 12f32.to_radians(), distance: 3.0 }
    }
}

impl Orbit {
    /// False for numbers that no camera has.
    pub fn is_sane(&self) -> bool {
        let finite = self.target.is_finite() && self.yaw.is_finite() && self.pitch.is_finite();
        finite && self.pitch.abs() <= STEEPEST && DISTANCES.contains(&self.distance)
    }

    /// Right, up and back in the world.
    fn axes(&self) -> Mat3 {
        Mat3::from_rotation_y(self.yaw) * Mat3::from_rotation_x(-self.pitch)
    }

    /// The renderer's camera. `aspect` is that of the whole picture; `middle` is where the target is shown, −1…1 from
    /// left to right and from bottom to top.
    pub fn camera(&self, aspect: f32, middle: Vec2) -> Camera {
        let mut projection = perspective(FIELD_OF_VIEW, aspect, 0.01 * self.distance, Depth::Reversed);
        // Clip space is divided by −z, so what is to move right needs less of it.
        projection[2][0] = -middle.x;
        projection[2][1] = -middle.y;
        let axes = self.axes();
        let position = self.target + axes.z_axis * self.distance;
        Camera {
            position: position.to_array(),
            rotation: glam::Quat::from_mat3(&axes).normalize().to_array(),
            projection,
        }
    }

    /// Moves target and distance so that all `points` just fit into a picture of which the share `free` (width, height)
    /// is to be filled. Keeps the direction.
    pub fn frame(&mut self, points: &[[f32; 3]], aspect: f32, free: Vec2) {
        let (mut low, mut high) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
        for p in points.iter().map(|&p| Vec3::from(p)).filter(|p| p.is_finite()) {
            (low, high) = (low.min(p), high.max(p));
        }
        if low.x > high.x {
            (low, high) = (Vec3::splat(-0.5), Vec3::splat(0.5));
        }
        self.target = 0.5 * (low + high);
        let tan = (0.5 * FIELD_OF_VIEW).tan() * Vec2::new(aspect, 1.0) * free * FILL;
        let axes = self.axes();
        let to_camera = axes.transpose();
        let smallest = 1e-3 * (high - low).length().max(1e-6);
        // The middle of a picture is not the middle of a box: a few rounds of moving it there converge.
        for _ in 0..4 {
            let (mut left, mut right) = (Vec2::INFINITY, Vec2::NEG_INFINITY);
            self.distance = smallest;
            for p in points.iter().map(|&p| Vec3::from(p)).filter(|p| p.is_finite()) {
                let p = to_camera * (p - self.target);
                let needed = (p.truncate().abs() / tan).max_element() + p.z;
                self.distance = self.distance.max(needed);
            }
            for p in points.iter().map(|&p| Vec3::from(p)).filter(|p| p.is_finite()) {
                let p = to_camera * (p - self.target);
                let seen = p.truncate() / (self.distance - p.z).max(smallest);
                (left, right) = (left.min(seen), right.max(seen));
            }
            if left.x <= right.x {
                let shift = 0.5 * (left + right) * self.distance;
                self.target += axes.x_axis * shift.x + axes.y_axis * shift.y;
            }
        }
    }

    /// Turns by radians; stops short of straight up and down.
    pub fn turn(&mut self, yaw: f32, pitch: f32) {
        self.yaw = (self.yaw + yaw).rem_euclid(std::f32::consts::TAU);
        self.pitch = (self.pitch + pitch).clamp(-STEEPEST, STEEPEST);
    }

    /// Moves the target with the pointer: `by` is in heights of the picture, right and down.
    pub fn pan(&mut self, by: Vec2) {
        let axes = self.axes();
        let height = 2.0 * (0.5 * FIELD_OF_VIEW).tan() * self.distance;
        self.target += (axes.y_axis * by.y - axes.x_axis * by.x) * height;
    }

    /// Comes nearer (`steps` > 0) or goes away.
    pub fn zoom(&mut self, steps: f32) {
        self.distance = (self.distance * (-0.12 * steps).exp()).clamp(*DISTANCES.start(), *DISTANCES.end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::{Mat4, Quat};

    #[test]
    fn framed_points_fill_the_free_part_of_the_picture() {
        let points: Vec<[f32; 3]> =
            (0..27).map(|i| [(i % 3) as f32 * 0.4 + 5.0, (i / 3 % 3) as f32 * 2.0, (i / 9) as f32 * 0.7]).collect();
        for (aspect, free, middle) in [
            (1.5, Vec2::ONE, Vec2::ZERO),
            (0.7, Vec2::ONE, Vec2::ZERO),
            (1.6, Vec2::new(0.7, 1.0), Vec2::new(0.3, 0.0)),
        ] {
            let mut orbit = Orbit::default();
            orbit.frame(&points, aspect, free);
            let camera = orbit.camera(aspect, middle);
            let view = Mat4::from_quat(Quat::from_array(camera.rotation).inverse())
                * Mat4::from_translation(-Vec3::from(camera.position));
            let clip = Mat4::from_cols_array_2d(&camera.projection) * view;
            let (mut low, mut high) = (Vec2::INFINITY, Vec2::NEG_INFINITY);
            for p in &points {
                let p = (clip.project_point3(Vec3::from(*p)).truncate() - middle) / free;
                (low, high) = (low.min(p), high.max(p));
            }
            // One direction is filled, none overflows, and the rest is shared evenly.
            let most = high.max(-low).max_element();
            assert!((most - FILL).abs() < 0.01, "{aspect}: {low} {high}");
            assert!((low + high).abs().max_element() < 0.01, "{aspect}: {low} {high}");
        }
    }
}
