//! Where the picture is in the window, and which part of it is free.

use dermis::render::Camera;
use egui::{Pos2, Rect, pos2};
use glam::Vec2;

use super::camera::Orbit;
use super::panel;
use super::projection::Projection;

/// All of the picture.
const WHOLE: Rect = Rect { min: Pos2::ZERO, max: pos2(1.0, 1.0) };
/// What must be free of the picture for a character to be framed there.
const LEAST: f32 = 0.2;
/// What may lie over it, such as the title of a window that is folded.
const TRIFLE: f32 = 0.05;

/// Rectangles in points.
#[derive(Clone, Debug)]
pub struct Layout {
    pub window: Rect,
    /// What the panel leaves of it.
    pub picture: Rect,
    /// What nothing covered of the picture when it was looked at last, each side 0…1.
    free: Rect,
}

impl Layout {
    pub fn new(size: egui::Vec2) -> Self {
        let window = Rect::from_min_size(Pos2::ZERO, size);
        let picture = Rect::from_min_max(pos2(panel::WIDTH.min(window.right()), 0.0), window.max);
        Self { window, picture, free: WHOLE }
    }

    /// Looks at what is covered; true if something else is free now.
    pub fn look(&mut self, covered: Option<Rect>) -> bool {
        let before = std::mem::replace(&mut self.free, WHOLE);
        let counts = |c: &Rect| c.is_positive() && c.area() > TRIFLE * self.picture.area();
        if let Some(covered) = covered.map(|c| c.intersect(self.picture)).filter(counts) {
            self.free = beside(self.picture, covered);
        }
        self.free != before
    }

    /// Where the middle of the free part is in `whole`, −1…1 to the right and up, and its share of width and height.
    fn free_in(&self, whole: Rect) -> (Vec2, Vec2) {
        let at = |p: Pos2| self.picture.lerp_inside(p.to_vec2());
        let free = Rect { min: at(self.free.min), max: at(self.free.max) };
        let middle = 2.0 * (free.center() - whole.center()) / whole.size();
        let share = free.size() / whole.size();
        (Vec2::new(middle.x, -middle.y), Vec2::new(share.x, share.y).max(Vec2::splat(0.02)))
    }

    /// Moves the camera so that all points are seen in the free part.
    pub fn frame(&self, orbit: &mut Orbit, points: &[[f32; 3]]) {
        orbit.frame(points, self.window.aspect_ratio(), self.free_in(self.window).1);
    }

    /// What the window's picture is seen with.
    pub fn camera(&self, orbit: &Orbit) -> Camera {
        orbit.camera(self.window.aspect_ratio(), self.free_in(self.window).0)
    }

    pub fn projection(&self, orbit: &Orbit) -> Projection {
        Projection::new(self.camera(orbit), self.window, self.picture)
    }

    /// What the picture without the panel is seen with, and its share of the window's width and height.
    pub fn picture_camera(&self, orbit: &Orbit) -> (Camera, Vec2) {
        let share = self.picture.size() / self.window.size();
        let camera = orbit.camera(self.picture.aspect_ratio(), self.free_in(self.picture).0);
        (camera, Vec2::new(share.x, share.y))
    }
}

/// The largest part of the picture beside what is covered, each side 0…1.
fn beside(picture: Rect, covered: Rect) -> Rect {
    let parts = [
        Rect { max: pos2(covered.left(), picture.bottom()), ..picture },
        Rect { min: pos2(covered.right(), picture.top()), ..picture },
        Rect { max: pos2(picture.right(), covered.top()), ..picture },
        Rect { min: pos2(picture.left(), covered.bottom()), ..picture },
    ];
    let largest = parts.into_iter().max_by(|a, b| a.area().total_cmp(&b.area())).unwrap_or(picture);
    if largest.area() < LEAST * picture.area() {
        return WHOLE;
    }
    let share = |p: Pos2| ((p - picture.min) / picture.size()).to_pos2();
    Rect { min: share(largest.min), max: share(largest.max) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::vec2;

    #[test]
    fn characters_are_framed_beside_what_covers_the_picture() {
        let points: Vec<[f32; 3]> = (0..8).map(|i| [(i & 1) as f32, (i >> 1 & 1) as f32, (i >> 2) as f32]).collect();
        let mut layout = Layout::new(vec2(1200.0, 800.0));
        layout.picture.min.x = 260.0;
        let seen = |layout: &Layout| {
            let mut orbit = Orbit::default();
            layout.frame(&mut orbit, &points);
            let view = layout.projection(&orbit);
            Rect::from_points(&points.iter().filter_map(|&p| view.screen(p.into())).collect::<Vec<_>>())
        };
        assert!(!layout.look(None));
        let all = seen(&layout);
        assert!(layout.picture.contains_rect(all) && (all.center().x - 730.0).abs() < 1.0, "{all}");
        // A window at the right, one below, one that leaves nothing, none.
        let right = Rect::from_min_max(pos2(800.0, 300.0), pos2(1190.0, 790.0));
        assert!(layout.look(Some(right)) && !layout.look(Some(right)));
        let left = seen(&layout);
        assert!(left.max.x < 800.0 && left.min.x > 260.0 && (left.center().x - 530.0).abs() < 1.0, "{left}");
        assert!(layout.look(Some(Rect::from_min_max(pos2(300.0, 500.0), pos2(1400.0, 790.0)))));
        let above = seen(&layout);
        assert!(above.max.y < 500.0 && (above.center().y - 250.0).abs() < 1.0, "{above}");
        assert!(layout.look(Some(layout.picture.shrink(20.0))));
        assert_eq!(seen(&layout), all);
        assert!(!layout.look(Some(Rect::from_min_max(pos2(0.0, 0.0), pos2(200.0, 800.0)))));
    }

    #[test]
    fn a_screenshot_shows_what_the_window_shows() {
        let mut layout = Layout::new(vec2(1200.0, 800.0));
        layout.look(Some(Rect::from_min_max(pos2(800.0, 300.0), pos2(1190.0, 790.0))));
        let orbit = Orbit::default();
        let (camera, share) = layout.picture_camera(&orbit);
        let picture = Rect::from_min_size(layout.picture.min, vec2(1200.0 * share.x, 800.0 * share.y));
        let shot = Projection::new(camera, picture, picture);
        for p in [[0.0, 0.0, 0.0], [0.5, 0.7, -0.4]] {
            let [a, b] = [shot.screen(p.into()).unwrap(), layout.projection(&orbit).screen(p.into()).unwrap()];
            assert!(a.distance(b) < 0.1, "{a} {b}");
        }
    }
}
