//! Between the world and the window.

use dermis::render::Camera;
use egui::{Pos2, Rect};
use glam::{Mat4, Quat, Vec2, Vec3};

/// How the picture lies in the window. Points are egui's; the camera's picture fills `window`, of which the panel covers a
/// part: `picture` is the rest.
#[derive(Clone, Copy, Debug)]
pub struct Projection {
    pub window: Rect,
    pub picture: Rect,
    pub camera: Camera,
    clip: Mat4,
}

impl Projection {
    pub fn new(camera: Camera, window: Rect, picture: Rect) -> Self {
        let view = Mat4::from_quat(Quat::from_array(camera.rotation).inverse())
            * Mat4::from_translation(-Vec3::from(camera.position));
        Self { window, picture, camera, clip: Mat4::from_cols_array_2d(&camera.projection) * view }
    }

    /// Where a place in the world is seen; `None` behind the camera. May be outside of the picture.
    pub fn screen(&self, world: Vec3) -> Option<Pos2> {
        let clip = self.clip * world.extend(1.0);
        if clip.w <= 1e-9 || !clip.is_finite() {
            return None;
        }
        let (x, y) = (clip.x / clip.w, clip.y / clip.w);
        let half = 0.5 * self.window.size();
        Some(self.window.center() + egui::vec2(x * half.x, -y * half.y))
    }

    /// Origin and unit direction of the line of sight through a point of the window.
    pub fn ray(&self, at: Pos2) -> (Vec3, Vec3) {
        let half = 0.5 * self.window.size();
        let from = at - self.window.center();
        let ndc = Vec2::new(from.x / half.x, -from.y / half.y);
        let p = &self.camera.projection;
        let direction = Vec3::new((ndc.x + p[2][0]) / p[0][0], (ndc.y + p[2][1]) / p[1][1], -1.0);
        (self.eye(), (self.axes() * direction).normalize())
    }

    /// Metres in front of the camera.
    pub fn depth(&self, world: Vec3) -> f32 {
        (world - self.eye()).dot(self.forward())
    }

    /// Points per metre, across the line of sight, at a place in the world.
    pub fn scale(&self, world: Vec3) -> f32 {
        0.5 * self.window.height() * self.camera.projection[1][1] / self.depth(world).max(1e-9)
    }

    /// The place under `at` in the plane through `through` that faces the camera: for dragging something.
    pub fn beside(&self, through: Vec3, at: Pos2) -> Vec3 {
        let (origin, direction) = self.ray(at);
        origin + direction * (self.depth(through) / direction.dot(self.forward()).max(1e-6))
    }

    pub fn eye(&self) -> Vec3 {
        Vec3::from(self.camera.position)
    }

    pub fn forward(&self) -> Vec3 {
        -(self.axes() * Vec3::Z)
    }

    fn axes(&self) -> Quat {
        Quat::from_array(self.camera.rotation).normalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::view::camera::Orbit;

    #[test]
    fn rays_go_through_what_is_seen() {
        let window = Rect::from_min_size(Pos2::ZERO, egui::vec2(960.0, 720.0));
        let picture = Rect::from_min_max(egui::pos2(250.0, 0.0), window.max);
        let orbit = Orbit { target: Vec3::new(1.0, 2.0, -3.0), ..Orbit::default() };
        let camera = orbit.camera(window.aspect_ratio(), Vec2::new(250.0 / 960.0, 0.0));
        let projection = Projection::new(camera, window, picture);
        let middle = projection.screen(orbit.target).unwrap();
        // Products of numbers up to 1000 in f32: about 1e-4 points each.
        assert!((middle - picture.center()).length() < 1e-2, "{middle:?}");
        for world in [Vec3::new(1.3, 2.4, -2.9), Vec3::new(0.2, 1.7, -3.6)] {
            let at = projection.screen(world).unwrap();
            let (origin, direction) = projection.ray(at);
            let along = (world - origin).dot(direction);
            assert!((origin + direction * along - world).length() < 1e-4);
            assert!((projection.beside(world, at) - world).length() < 1e-4);
            let step = projection.scale(world) * 1e-2;
            let aside = world + 1e-2 * direction.cross(Vec3::Y).normalize();
            assert!(((projection.screen(aside).unwrap() - at).length() / step - 1.0).abs() < 0.05);
        }
        assert!(projection.screen(projection.eye() - projection.forward()).is_none());
    }
}
