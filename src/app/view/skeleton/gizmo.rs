//! Three rings around a joint to turn it by.

use std::f32::consts::TAU;

use egui::{Align2, Color32, FontId, Pos2, Sense, Shape, Stroke, Ui, vec2};
use glam::{Quat, Vec3};

use super::bones::{segment_distance, triangle};
use crate::app::view::projection::Projection;

/// Points from the middle to the rings.
const RADIUS: f32 = 72.0;
/// A pointer this near (points) is on a ring.
const NEAR: f32 = 7.0;
const STEPS: usize = 72;
/// A plane seen more edgewise than this (cosine) is turned by the pointer's way along the ring instead.
const EDGE: f32 = 0.18;

/// What is being turned.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Drag {
    axis: usize,
    /// World axes when the drag began.
    axes: [Vec3; 3],
    /// Angle of the pointer on the ring then, and now.
    start: f32,
    now: f32,
    /// Where the pointer was, for rings that are seen edgewise.
    from: Pos2,
}

/// Rings around the chosen joint.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gizmo {
    drag: Option<Drag>,
}

/// What a frame of dragging asks for: a turn about an axis since the drag began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turn {
    /// 0, 1, 2: the joint's own x, y, z.
    pub axis: usize,
    /// Radians.
    pub angle: f32,
    /// The pointer was let go.
    pub over: bool,
}

impl Gizmo {
    /// True while a ring is dragged.
    pub fn busy(&self) -> bool {
        self.drag.is_some()
    }

    /// Paints the rings around `middle` and follows the pointer; `axes` are the joint's own, unit, in the world.
    pub fn show(&mut self, ui: &mut Ui, view: &Projection, middle: Vec3, axes: [Vec3; 3]) -> Option<Turn> {
        let radius = RADIUS / view.scale(middle);
        let axes = self.drag.map_or(axes, |d| d.axes);
        let pointer = ui.input(|i| i.pointer.latest_pos());
        let free = pointer_over(ui).is_some();
        let hot = match (self.drag, pointer) {
            (Some(drag), _) => Some(drag.axis),
            (None, Some(pointer)) if free => ring_under(view, middle, axes, radius, pointer),
            _ => None,
        };
        let mut turn = None;
        if let Some((axis, pointer)) = hot.zip(pointer) {
            // Only the ring itself is in the way of what is below.
            let grip = egui::Rect::from_center_size(pointer, vec2(14.0, 14.0));
            let response = ui.interact(grip, ui.scope_id().with("ring"), Sense::drag());
            ui.ctx().set_cursor_icon(egui::CursorIcon::Grab);
            if response.drag_started() {
                let from = ui.input(|i| i.pointer.press_origin()).unwrap_or(pointer);
                let start = angle_at(view, middle, axes, axis, radius, from, from);
                self.drag = Some(Drag { axis, axes, start, now: start, from });
            }
            if let Some(drag) = &mut self.drag {
                let angle = angle_at(view, middle, axes, axis, radius, drag.from, pointer);
                // The nearest of the angles that mean the same: turning on past half a turn goes on.
                drag.now += (angle - drag.now + TAU / 2.0).rem_euclid(TAU) - TAU / 2.0;
                let over = response.drag_stopped() || !ui.input(|i| i.pointer.any_down());
                turn = Some(Turn { axis, angle: drag.now - drag.start, over });
                wedge(ui, view, middle, axes, radius, drag);
                if over {
                    self.drag = None;
                }
            }
        } else {
            self.drag = None;
        }
        for axis in 0..3 {
            ring(ui, view, middle, axes, axis, radius, hot == Some(axis));
        }
        turn
    }
}

/// Where the pointer is, if it is over the picture itself and not over something on top of it.
pub fn pointer_over(ui: &Ui) -> Option<Pos2> {
    let at = ui.input(|i| i.pointer.latest_pos())?;
    (ui.max_rect().contains(at) && ui.ctx().layer_id_at(at).is_none_or(|l| l == ui.layer_id())).then_some(at)
}

/// A place on the ring about `axis`.
fn place(middle: Vec3, axes: [Vec3; 3], axis: usize, radius: f32, angle: f32) -> Vec3 {
    let (u, v) = (axes[(axis + 1) % 3], axes[(axis + 2) % 3]);
    middle + (u * angle.cos() + v * angle.sin()) * radius
}

fn angles() -> impl Iterator<Item = f32> {
    (0..=STEPS).map(|k| k as f32 / STEPS as f32 * TAU)
}

/// True for places of a ring that are nearer to the eye than its middle.
fn in_front(view: &Projection, middle: Vec3, at: Vec3) -> bool {
    (at - middle).dot(view.eye() - middle) > -0.02 * (at - middle).length() * (view.eye() - middle).length()
}

fn ring_under(view: &Projection, middle: Vec3, axes: [Vec3; 3], radius: f32, pointer: Pos2) -> Option<usize> {
    let distance = |axis: usize| {
        let points: Vec<(Pos2, bool)> = angles()
            .filter_map(|a| {
                let at = place(middle, axes, axis, radius, a);
                Some((view.screen(at)?, in_front(view, middle, at)))
            })
            .collect();
        let pieces = points.windows(2).filter(|w| w[0].1 || w[1].1);
        pieces.map(|w| segment_distance(pointer, w[0].0, w[1].0)).fold(f32::INFINITY, f32::min)
    };
    let near = (0..3).map(|axis| (axis, distance(axis))).filter(|d| d.1 < NEAR);
    near.min_by(|a, b| a.1.total_cmp(&b.1)).map(|d| d.0)
}

/// The angle at which a pointer is on a ring: where its ray meets the ring's plane; for a plane seen edgewise, by the way
/// along the ring since `from`.
fn angle_at(
    view: &Projection,
    middle: Vec3,
    axes: [Vec3; 3],
    axis: usize,
    radius: f32,
    from: Pos2,
    pointer: Pos2,
) -> f32 {
    let (u, v, n) = (axes[(axis + 1) % 3], axes[(axis + 2) % 3], axes[axis]);
    let (origin, direction) = view.ray(pointer);
    let to_eye = (view.eye() - middle).normalize_or(Vec3::Z);
    if to_eye.dot(n).abs() > EDGE {
        let t = (middle - origin).dot(n) / direction.dot(n);
        let p = origin + direction * t - middle;
        return p.dot(v).atan2(p.dot(u));
    }
    // Where the ring passes in front of its middle it runs along this direction of the picture.
    let front = (to_eye - n * to_eye.dot(n)).normalize_or(u);
    let start = front.dot(v).atan2(front.dot(u));
    let tangent = v * start.cos() - u * start.sin();
    let (Some(a), Some(b)) = (view.screen(middle), view.screen(middle + tangent * radius)) else { return start };
    let way = b - a;
    start + (pointer - from).dot(way) / way.length_sq().max(1.0)
}

fn color(axis: usize) -> Color32 {
    [Color32::from_rgb(240, 84, 84), Color32::from_rgb(120, 206, 84), Color32::from_rgb(84, 144, 250)][axis]
}

fn ring(ui: &Ui, view: &Projection, middle: Vec3, axes: [Vec3; 3], axis: usize, radius: f32, hot: bool) {
    let strong = if hot { Color32::from_rgb(255, 222, 90) } else { color(axis) };
    let (mut front, mut back): (Vec<Vec<Pos2>>, Vec<Vec<Pos2>>) = (Vec::new(), Vec::new());
    let mut last = None;
    for angle in angles() {
        let at = place(middle, axes, axis, radius, angle);
        let near = in_front(view, middle, at);
        let Some(p) = view.screen(at) else { return };
        let lines = if near { &mut front } else { &mut back };
        match lines.last_mut() {
            Some(line) if last == Some(near) => line.push(p),
            _ => lines.push(vec![p]),
        }
        last = Some(near);
    }
    for line in back {
        ui.painter().add(Shape::line(line, Stroke::new(1.0, strong.gamma_multiply(0.3))));
    }
    for line in front {
        ui.painter().add(Shape::line(line.clone(), Stroke::new(5.0, Color32::from_black_alpha(70))));
        ui.painter().add(Shape::line(line, Stroke::new(if hot { 3.5 } else { 2.5 }, strong)));
    }
}

/// How far it was turned: a slice and a number.
fn wedge(ui: &Ui, view: &Projection, middle: Vec3, axes: [Vec3; 3], radius: f32, drag: &Drag) {
    let (from, to) = (drag.start, drag.now);
    let steps = (((to - from).abs() / 0.1) as usize + 1).min(200);
    let at = |k: usize| from + (to - from) * k as f32 / steps as f32;
    let rim: Option<Vec<Pos2>> =
        (0..=steps).map(|k| view.screen(place(middle, axes, drag.axis, radius, at(k)))).collect();
    let (Some(rim), Some(center)) = (rim, view.screen(middle)) else { return };
    let fill = color(drag.axis).gamma_multiply(0.25);
    for pair in rim.windows(2) {
        triangle(ui.painter(), [center, pair[0], pair[1]], fill);
    }
    let text = format!("{:.0}°", (to - from).to_degrees());
    let label = center + vec2(0.0, -RADIUS - 16.0);
    let galley = ui.painter().layout_no_wrap(text, FontId::proportional(14.0), Color32::WHITE);
    let frame = egui::Rect::from_center_size(label, galley.size() + vec2(12.0, 6.0));
    ui.painter().rect_filled(frame, 4.0, Color32::from_black_alpha(170));
    ui.painter().text(label, Align2::CENTER_CENTER, galley.text(), FontId::proportional(14.0), Color32::WHITE);
}

/// A joint's own axes in the world, unit, from its world transform; mirrored ones keep their directions.
pub fn axes_of(world: &dermis::Affine) -> [Vec3; 3] {
    let column = |c: usize| Vec3::from(world.rows.map(|r| r[c]));
    let x = column(0).normalize_or(Vec3::X);
    let y = (column(1) - x * x.dot(column(1))).normalize_or(x.any_orthonormal_vector());
    [x, y, x.cross(y) * x.cross(y).dot(column(2)).signum()]
}

/// The local rotation after a turn about one of the joint's own axes. Where the joint is mirrored the ring's own sense of
/// turning is mirrored with it: [`axes_of`] keeps the third axis where the joint has it.
pub fn turned(start: [f32; 4], turn: &Turn) -> [f32; 4] {
    let axis = [Vec3::X, Vec3::Y, Vec3::Z][turn.axis];
    (Quat::from_array(start).normalize() * Quat::from_axis_angle(axis, turn.angle)).normalize().to_array()
}

#[cfg(test)]
mod tests {
    use dermis::Affine;
    use dermis::render::{Camera, Depth, perspective};
    use egui_kittest::Harness;

    use super::*;

    fn look() -> Projection {
        let camera = Camera::look_at([2.0, 1.5, 4.0], [0.0; 3], perspective(0.7, 1.0, 0.01, Depth::Reversed));
        Projection::new(
            camera,
            egui::Rect::from_min_size(egui::pos2(0.0, 0.0), vec2(500.0, 500.0)),
            egui::Rect::from_min_size(egui::pos2(0.0, 0.0), vec2(500.0, 500.0)),
        )
    }

    /// What a drag along a ring from one angle to another turns by.
    fn dragged(axes: [Vec3; 3], axis: usize, from: f32, to: f32) -> f32 {
        struct State {
            gizmo: Gizmo,
            angle: f32,
            ended: bool,
        }
        let view = look();
        let state = State { gizmo: Gizmo::default(), angle: 0.0, ended: false };
        let mut harness = Harness::builder().with_size([500.0, 500.0]).build_ui_state(
            |ui, s: &mut State| {
                if let Some(turn) = s.gizmo.show(ui, &view, Vec3::ZERO, axes) {
                    assert_eq!(turn.axis, axis);
                    (s.angle, s.ended) = (turn.angle, turn.over);
                }
            },
            state,
        );
        let radius = RADIUS / view.scale(Vec3::ZERO);
        let at = |a: f32| view.screen(place(Vec3::ZERO, axes, axis, radius, a)).unwrap();
        harness.hover_at(at(from));
        harness.run_steps(2);
        harness.drag_at(at(from));
        harness.run_steps(2);
        for k in 1..=10 {
            harness.hover_at(at(from + (to - from) * k as f32 / 10.0));
            harness.run_steps(1);
        }
        harness.drop_at(at(to));
        harness.run_steps(2);
        assert!(harness.state().ended && !harness.state().gizmo.busy());
        harness.state().angle
    }

    #[test]
    fn dragging_along_a_ring_turns_by_its_angle() {
        let axes = [Vec3::X, Vec3::Y, Vec3::Z];
        // The front of the ring about Z (the camera is at +x +y +z), and on past half a turn of the one about Y.
        let found = dragged(axes, 2, 0.3, 1.3);
        assert!((found - 1.0).abs() < 0.03, "{found}");
        let found = dragged(axes, 1, 0.2, -0.9);
        assert!((found + 1.1).abs() < 0.03, "{found}");
        // A mirrored joint: the same way along the mirrored ring.
        let found = dragged([Vec3::X, Vec3::Y, -Vec3::Z], 0, 5.6, 6.2);
        assert!((found - 0.6).abs() < 0.03, "{found}");
    }

    #[test]
    fn the_ring_turns_what_the_joint_turns() {
        // A world that mirrors along its own z.
        let world = Affine { rows: [[0.0, 0.0, 2.0, 0.0], [0.0, 3.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]] };
        let axes = axes_of(&world);
        let det = axes[0].cross(axes[1]).dot(axes[2]);
        for axis in 0..3 {
            let q = turned([0.0, 0.0, 0.0, 1.0], &Turn { axis, angle: 0.4, over: false });
            // The image of the next axis, as the world shows it, is where the ring has it after that angle.
            let local = Quat::from_array(q) * [Vec3::X, Vec3::Y, Vec3::Z][(axis + 1) % 3];
            let shown = axes[0] * local.x + axes[1] * local.y + axes[2] * local.z;
            assert!((shown - place(Vec3::ZERO, axes, axis, 1.0, 0.4)).length() < 1e-6, "{axis} {det}");
        }
    }
}
