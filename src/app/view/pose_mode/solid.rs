//! A convex solid with poses at its corners, drawn in three dimensions, and a point to drag inside it.

use egui::{Color32, Pos2, Rect, Sense, Shape, Stroke, Ui, Vec2};
use glam::{Quat, Vec3};

use super::colors::{faded, mix};
use super::shape::{Done, ShapeView, arrows, badge, dot, handle, picture_size};

/// How far the eye is from the middle, in radii of the solid: near enough that depth shows.
const EYE: f32 = 4.5;

/// How the space lies in the widget.
struct Map {
    middle: Pos2,
    center: Vec3,
    turn: Quat,
    /// Points per unit at the middle.
    scale: f32,
    radius: f32,
}

impl Map {
    /// Place on the widget, and depth: 1 nearest to the eye, −1 farthest, in radii.
    fn screen(&self, at: [f32; 3]) -> (Pos2, f32) {
        let p = self.turn * (Vec3::from(at) - self.center);
        let depth = p.z / self.radius;
        let s = self.scale * EYE / (EYE - depth);
        (self.middle + Vec2::new(p.x * s, -p.y * s), depth)
    }

    /// What a step on the widget is in the plane through `at` that is parallel to it.
    fn step(&self, at: [f32; 3], by: Vec2) -> [f32; 3] {
        let (_, depth) = self.screen(at);
        let s = self.scale * EYE / (EYE - depth);
        (Vec3::from(at) + self.turn.inverse() * Vec3::new(by.x / s, -by.y / s, 0.0)).to_array()
    }
}

/// The view a solid is first seen from.
pub fn first_turn() -> Quat {
    Quat::from_rotation_x(0.55) * Quat::from_rotation_y(0.15)
}

/// Draws the solid in `size`, turned by `turn`; `menu` fills the menu of a corner.
pub fn show(
    ui: &mut Ui,
    size: Vec2,
    view: &ShapeView<'_>,
    turn: &mut Quat,
    menu: &mut dyn FnMut(&mut Ui, usize),
) -> Vec<Done> {
    let (rect, area) = ui.allocate_exact_size(size, Sense::click_and_drag());
    let name = "solid: drag to turn it";
    area.widget_info(|| egui::WidgetInfo::labeled(egui::accesskit::Role::Slider, true, name));
    if area.dragged() {
        let by = area.drag_delta() * 0.011;
        *turn = (Quat::from_rotation_y(by.x) * Quat::from_rotation_x(by.y) * *turn).normalize();
    }
    let [x, y, _] = arrows(ui, &area);
    *turn = (Quat::from_rotation_y(5.0 * x) * Quat::from_rotation_x(-5.0 * y) * *turn).normalize();
    if area.has_focus() {
        let keys = egui::EventFilter { horizontal_arrows: true, vertical_arrows: true, ..Default::default() };
        ui.ctx().memory_mut(|m| m.set_focus_lock_filter(area.id, keys));
    }
    let corners: Vec<Vec3> = view.shape.corners().iter().map(|&c| Vec3::from(c)).collect();
    let center = corners.iter().sum::<Vec3>() / corners.len().max(1) as f32;
    let radius = corners.iter().map(|c| c.distance(center)).fold(1e-9, f32::max);
    let side = picture_size(view.corners.len()) * 0.86;
    let free = 0.5 * rect.size().min_elem() - side - 22.0;
    let map = Map { middle: rect.center(), center, turn: *turn, scale: free.max(30.0) / radius, radius };
    let main = view.points.first().map_or([0.0; 3], |p| p.at);
    let mut done = Vec::new();

    let mut faces: Vec<&[usize]> = view.shape.faces().collect();
    let depth_of =
        |face: &[usize]| face.iter().map(|&c| map.screen(view.shape.corners()[c]).1).sum::<f32>() / face.len() as f32;
    faces.sort_by(|a, b| depth_of(a).total_cmp(&depth_of(b)));
    for back in [true, false] {
        for face in &faces {
            if facing(&map, view, face) != back {
                draw_face(ui, &map, view, face, back);
            }
        }
        if back {
            section(ui, &map, view, main);
            spokes(ui, &map, view, main);
        }
    }

    let mut order: Vec<usize> = (0..view.corners.len()).collect();
    let at = |i: usize| map.screen(view.shape.corners()[i]);
    order.sort_by(|&a, &b| at(a).1.total_cmp(&at(b).1));
    let responses: Vec<(usize, egui::Response)> = order
        .into_iter()
        .map(|i| {
            let (corner, (at, depth)) = (&view.corners[i], at(i));
            let near = 0.5 * (depth + 1.0);
            let out = (at - map.middle).normalized();
            let out = if out.is_finite() { out } else { Vec2::new(0.0, -1.0) };
            let side = side * (0.78 + 0.22 * near);
            let by = 0.5 * side / out.abs().max_elem().max(0.5) + 10.0 + 12.0 * out.y.abs();
            let place = bring_inside(at + out * by, rect, side);
            ui.painter().circle_filled(at, 3.0 + 2.5 * near, corner.color);
            ui.painter().line_segment([at, place], Stroke::new(1.0, faded(corner.color, 0.6)));
            let response = badge(ui, area.id.with(("corner", i)), place, side, 0.55 + 0.45 * near, corner);
            if view.editing && response.dragged() {
                done.push(Done::Corner(i, map.step(view.shape.corners()[i], response.drag_delta())));
            }
            (i, response)
        })
        .collect();
    for (i, response) in &responses {
        egui::Popup::menu(response).show(|ui| menu(ui, *i));
    }

    for (i, point) in view.points.iter().enumerate().rev() {
        let (place, _) = map.screen(point.at);
        let response = handle(ui, area.id.with(("point", &point.name)), place, point, 3);
        if response.dragged() && response.drag_delta() != Vec2::ZERO {
            done.push(Done::Point(i, map.step(point.at, response.drag_delta())));
        }
        let by = Vec3::from(arrows(ui, &response)) * view.shape.diameter();
        if by != Vec3::ZERO {
            done.push(Done::Point(i, (Vec3::from(point.at) + map.turn.inverse() * by).to_array()));
        }
        let on = view.shape.clamp(point.at);
        let (hull, _) = map.screen(on);
        if hull.distance(place) > 1.0 {
            ui.painter().add(Shape::dashed_line(&[place, hull], Stroke::new(1.5, Color32::WHITE), 4.0, 3.0));
            ui.painter().circle_filled(hull, 3.5, Color32::WHITE);
        }
        dot(ui, &response, place, point, i == 0);
    }
    done
}

fn bring_inside(at: Pos2, rect: Rect, side: f32) -> Pos2 {
    let room = rect.shrink2(Vec2::new(0.5 * side + 2.0, 0.5 * side + 16.0));
    if room.is_positive() { at.clamp(room.min, room.max) } else { at }
}

/// True when the outside of a face is seen.
fn facing(map: &Map, view: &ShapeView<'_>, face: &[usize]) -> bool {
    let p = |i: usize| map.screen(view.shape.corners()[face[i % face.len()]]).0;
    // Counter-clockwise from outside; on the widget y points down.
    let area: f32 = (0..face.len()).map(|i| p(i).x * p(i + 1).y - p(i + 1).x * p(i).y).sum();
    area < 0.0
}

fn draw_face(ui: &Ui, map: &Map, view: &ShapeView<'_>, face: &[usize], back: bool) {
    let places: Vec<(Pos2, f32)> = face.iter().map(|&c| map.screen(view.shape.corners()[c])).collect();
    let mut mesh = egui::Mesh::default();
    for (&c, &(at, depth)) in face.iter().zip(&places) {
        // What is far is paler.
        let near = 0.5 * (depth + 1.0);
        let clear = if back { 0.16 + 0.14 * near } else { 0.12 + 0.16 * near };
        mesh.colored_vertex(at, faded(view.corners[c].color, clear));
    }
    let middle = places.iter().fold(Vec2::ZERO, |s, p| s + p.0.to_vec2()) / places.len() as f32;
    let color = mix(face.iter().map(|&c| (view.corners[c].color, 1.0)));
    mesh.colored_vertex(middle.to_pos2(), faded(color, if back { 0.22 } else { 0.16 }));
    let n = face.len() as u32;
    (0..n).for_each(|i| mesh.add_triangle(n, i, (i + 1) % n));
    ui.painter().add(Shape::mesh(mesh));
    let line = ui.visuals().strong_text_color();
    for i in 0..face.len() {
        let ((a, da), (b, db)) = (places[i], places[(i + 1) % face.len()]);
        let near = 0.25 * (da + db) + 0.5;
        if back {
            ui.painter().add(Shape::dashed_line(&[a, b], Stroke::new(1.0, faded(line, 0.3 + 0.25 * near)), 4.0, 4.0));
        } else {
            ui.painter().line_segment([a, b], Stroke::new(1.0 + 1.6 * near, faded(line, 0.55 + 0.4 * near)));
        }
    }
}

/// The cut of the plane that the point is dragged in: it shows how deep the point lies.
fn section(ui: &Ui, map: &Map, view: &ShapeView<'_>, point: [f32; 3]) {
    let depth = |at: [f32; 3]| (map.turn * (Vec3::from(at) - map.center)).z;
    let level = depth(point);
    let mut cut: Vec<Pos2> = Vec::new();
    for face in view.shape.faces() {
        for i in 0..face.len() {
            let [a, b] = [face[i], face[(i + 1) % face.len()]].map(|c| view.shape.corners()[c]);
            let (da, db) = (depth(a) - level, depth(b) - level);
            if da < 0.0 && db >= 0.0 {
                let at = Vec3::from(a).lerp(Vec3::from(b), da / (da - db));
                cut.push(map.screen(at.to_array()).0);
            }
        }
    }
    if cut.len() < 3 {
        return;
    }
    let middle = cut.iter().fold(Vec2::ZERO, |s, p| s + p.to_vec2()) / cut.len() as f32;
    cut.sort_by(|a, b| (a.to_vec2() - middle).angle().total_cmp(&(b.to_vec2() - middle).angle()));
    let color = ui.visuals().strong_text_color();
    ui.painter().add(Shape::convex_polygon(cut, faded(color, 0.10), Stroke::new(1.0, faded(color, 0.45))));
}

fn spokes(ui: &Ui, map: &Map, view: &ShapeView<'_>, point: [f32; 3]) {
    let (from, _) = map.screen(point);
    for (corner, at) in view.corners.iter().zip(view.shape.corners()) {
        let width = 0.6 + 5.0 * corner.weight.abs().min(1.5);
        ui.painter().line_segment([from, map.screen(*at).0], Stroke::new(width, faded(corner.color, 0.8)));
    }
}
