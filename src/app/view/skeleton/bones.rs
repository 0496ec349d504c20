//! Bones and joints painted over the picture, and which of them a pointer is on.

use egui::{Align2, Color32, FontId, Painter, Pos2, Shape, Stroke};
use glam::Vec3;

use crate::app::view::projection::Projection;

/// A bone to paint; `joint` is what it belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bone {
    pub joint: usize,
    pub head: Vec3,
    pub tail: Vec3,
}

/// Where the bone is widest, and how wide, as shares of its length.
const SHOULDER: f32 = 0.14;
const WIDTH: f32 = 0.085;
/// A pointer this near (points) is on a joint, or on a bone.
const NEAR_JOINT: f32 = 11.0;
const NEAR_BONE: f32 = 6.0;

/// How a bone looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Plain,
    Hot,
    Chosen,
}

impl Look {
    fn color(self) -> Color32 {
        match self {
            Self::Plain => Color32::from_rgb(208, 214, 224),
            Self::Hot => Color32::from_rgb(255, 232, 150),
            Self::Chosen => Color32::from_rgb(255, 168, 40),
        }
    }
}

/// Paints an octahedron from head to tail; what is far away is painted first by whoever calls.
pub fn bone(painter: &Painter, view: &Projection, bone: &Bone, look: Look) {
    let along = bone.tail - bone.head;
    let length = along.length();
    if length <= 0.0 {
        return;
    }
    let y = along / length;
    let (x, z) = y.any_orthonormal_pair();
    let middle = bone.head + along * SHOULDER;
    let ring = [x, z, -x, -z].map(|side| middle + side * (WIDTH * length));
    let points = [bone.head, bone.tail, ring[0], ring[1], ring[2], ring[3]];
    let Some(seen) = points.iter().map(|&p| view.screen(p)).collect::<Option<Vec<Pos2>>>() else { return };
    let color = look.color();
    for k in 0..4 {
        let (a, b) = (2 + k, 2 + (k + 1) % 4);
        for (tip, first, second) in [(0, a, b), (1, b, a)] {
            let [p, q, r] = [tip, first, second].map(|i| seen[i]);
            let (u, v) = (q - p, r - p);
            let area = u.x * v.y - u.y * v.x;
            // Which way round a face that looks at the eye goes: from outside the corners follow each other so.
            let normal = (points[first] - points[tip]).cross(points[second] - points[tip]).normalize_or_zero();
            let outward = normal * normal.dot((points[first] + points[second]) * 0.5 - middle).signum();
            let facing = outward.dot((view.eye() - middle).normalize_or_zero());
            if facing <= 0.0 || area.abs() < 1e-3 {
                continue;
            }
            let shade = 0.45 + 0.55 * facing;
            let fill = color.gamma_multiply(0.62);
            let dark = |c: u8| (f32::from(c) * shade) as u8;
            let fill = Color32::from_rgba_premultiplied(dark(fill.r()), dark(fill.g()), dark(fill.b()), fill.a());
            triangle(painter, [p, q, r], fill);
            // Lines of their own: joined ones would be pointed far beyond the slim ends.
            for ends in [[p, q], [q, r], [r, p]] {
                painter.line_segment(ends, Stroke::new(0.8, Color32::from_black_alpha(90)));
            }
        }
    }
}

/// Paints a triangle without soft edges: those of slim ones reach far beyond their ends.
pub fn triangle(painter: &Painter, corners: [Pos2; 3], color: Color32) {
    let mut mesh = egui::Mesh::default();
    corners.into_iter().for_each(|p| mesh.colored_vertex(p, color));
    mesh.add_triangle(0, 1, 2);
    painter.add(Shape::mesh(mesh));
}

/// Paints a joint as a ball.
pub fn joint(painter: &Painter, view: &Projection, at: Vec3, look: Look) {
    let Some(p) = view.screen(at) else { return };
    let radius = if look == Look::Plain { 3.0 } else { 4.5 };
    painter.circle(p, radius, look.color(), Stroke::new(1.0, Color32::from_black_alpha(190)));
}

/// Paints a name beside a joint, readable on anything.
pub fn name(painter: &Painter, view: &Projection, at: Vec3, text: &str, look: Look) {
    let Some(p) = view.screen(at) else { return };
    let font = FontId::proportional(if look == Look::Plain { 11.0 } else { 13.0 });
    let at = p + egui::vec2(8.0, -2.0);
    for by in [egui::vec2(1.0, 1.0), egui::vec2(-1.0, 1.0), egui::vec2(1.0, -1.0), egui::vec2(-1.0, -1.0)] {
        painter.text(at + by, Align2::LEFT_CENTER, text, font.clone(), Color32::from_black_alpha(170));
    }
    painter.text(at, Align2::LEFT_CENTER, text, font, look.color());
}

/// The joint that a pointer is on: a ball, else a bone.
pub fn under(pointer: Pos2, view: &Projection, joints: &[Vec3], bones: &[Bone]) -> Option<usize> {
    let near = |at: &Vec3| view.screen(*at).map_or(f32::INFINITY, |p| p.distance(pointer));
    let balls = joints.iter().map(near).enumerate().filter(|b| b.1 < NEAR_JOINT);
    if let Some((joint, _)) = balls.min_by(|a, b| a.1.total_cmp(&b.1)) {
        return Some(joint);
    }
    let distance = |b: &Bone| match (view.screen(b.head), view.screen(b.tail)) {
        (Some(h), Some(t)) => segment_distance(pointer, h, t),
        _ => f32::INFINITY,
    };
    let lines = bones.iter().map(|b| (b.joint, distance(b))).filter(|b| b.1 < NEAR_BONE);
    lines.min_by(|a, b| a.1.total_cmp(&b.1)).map(|b| b.0)
}

/// Distance of a point to a line between two others.
pub fn segment_distance(p: Pos2, a: Pos2, b: Pos2) -> f32 {
    let along = b - a;
    let t = if along.length_sq() > 0.0 { ((p - a).dot(along) / along.length_sq()).clamp(0.0, 1.0) } else { 0.0 };
    p.distance(a + along * t)
}
