//! A joint's limits painted around it: the pyramid its bone may swing in, and the arc it may twist by.

use dermis::pose::JointRange;
use egui::{Color32, Pos2, Shape, Stroke, Ui};
use glam::{Mat3, Quat, Vec3};

use super::bones::triangle;
use crate::app::view::projection::Projection;

const FILL: Color32 = Color32::from_rgba_premultiplied(30, 44, 52, 40);
const EDGE: Color32 = Color32::from_rgb(110, 190, 230);
const NOW: Color32 = Color32::from_rgb(255, 190, 60);
/// Steps along each side of the pyramid, and of the arc.
const STEPS: usize = 10;

/// Paints the limits of a joint at `middle`. `parent` is its parent's world basis, unit columns; `rotation` its local
/// rotation now; `length` how far out to paint, metres.
pub fn paint(
    ui: &Ui,
    view: &Projection,
    range: &JointRange,
    middle: Vec3,
    parent: Mat3,
    rotation: [f32; 4],
    length: f32,
) {
    let [twist, y, z] = range.ranges();
    let swing = |a: f32, b: f32| middle + parent * Vec3::from(range.direction(a, b)) * length;
    let t = |k: usize| k as f32 / STEPS as f32;
    let lerp = |r: [f32; 2], t: f32| r[0] + (r[1] - r[0]) * t;
    // Around the pyramid's mouth.
    let mut rim: Vec<Vec3> = Vec::with_capacity(4 * STEPS);
    for k in 0..STEPS {
        rim.push(swing(lerp(y, t(k)), z[0]));
    }
    for k in 0..STEPS {
        rim.push(swing(y[1], lerp(z, t(k))));
    }
    for k in 0..STEPS {
        rim.push(swing(lerp(y, 1.0 - t(k)), z[1]));
    }
    for k in 0..STEPS {
        rim.push(swing(y[0], lerp(z, 1.0 - t(k))));
    }
    let painter = ui.painter();
    let seen: Option<Vec<Pos2>> = rim.iter().map(|&p| view.screen(p)).collect();
    let Some((seen, apex)) = seen.zip(view.screen(middle)) else { return };
    for k in 0..seen.len() {
        triangle(painter, [apex, seen[k], seen[(k + 1) % seen.len()]], FILL);
    }
    painter.add(Shape::closed_line(seen.clone(), Stroke::new(1.5, EDGE)));
    for corner in 0..4 {
        painter.line_segment([apex, seen[corner * STEPS]], Stroke::new(1.0, EDGE.gamma_multiply(0.7)));
    }
    // Where the bone points now, and the twist about it, on a circle a little way out.
    let [twist_now, y_now, z_now] = range.angles(rotation);
    let tip = swing(y_now, z_now);
    if let Some(p) = view.screen(tip) {
        painter.circle_filled(p, 3.5, NOW);
    }
    let bone = (tip - middle).normalize_or(Vec3::Y);
    let frame = parent * Mat3::from_quat(Quat::from_array(range.frame()));
    let up = (frame.y_axis - bone * bone.dot(frame.y_axis)).normalize_or(bone.any_orthonormal_vector());
    let side = bone.cross(up) * frame.determinant().signum();
    let center = middle + bone * (0.55 * length);
    let arc = |angle: f32| center + (up * angle.cos() + side * angle.sin()) * (0.22 * length);
    let points: Option<Vec<Pos2>> = (0..=2 * STEPS).map(|k| view.screen(arc(lerp(twist, 0.5 * t(k))))).collect();
    if let Some(points) = points {
        painter.add(Shape::line(points, Stroke::new(2.0, EDGE)));
    }
    if let (Some(a), Some(b)) = (view.screen(center), view.screen(arc(twist_now))) {
        painter.line_segment([a, b], Stroke::new(2.0, NOW));
    }
}
