//! A convex polygon with poses at its corners and a point to drag.

use dermis::pose::{Outside, REACH};
use egui::{Align2, Color32, FontId, Mesh, Pos2, Rect, Sense, Shape, Stroke, Ui, Vec2};

use super::colors::{faded, mix};
use super::shape::{Done, ShapeView, arrows, badge, dot, handle, picture_size};

/// How the space's plane lies in the widget.
struct Map {
    middle: Pos2,
    center: Vec2,
    scale: f32,
}

impl Map {
    fn new(view: &ShapeView<'_>, rect: Rect, zoom: f32) -> Self {
        let corners = view.shape.corners().iter().map(|c| Vec2::new(c[0], c[1]));
        let low = corners.clone().fold(Vec2::splat(f32::INFINITY), Vec2::min);
        let high = corners.fold(Vec2::splat(f32::NEG_INFINITY), Vec2::max);
        let margin = picture_size(view.corners.len()) + 26.0;
        let free =
            (rect.size() - Vec2::splat(2.0 * margin)).max(Vec2::splat(40.0)) / (high - low).max(Vec2::splat(1e-9));
        Self { middle: rect.center(), center: (low + high) * 0.5, scale: free.min_elem() * zoom }
    }

    fn screen(&self, at: [f32; 3]) -> Pos2 {
        let by = (Vec2::new(at[0], at[1]) - self.center) * self.scale;
        self.middle + Vec2::new(by.x, -by.y)
    }

    fn space(&self, at: Pos2) -> [f32; 3] {
        let by = (at - self.middle) / self.scale;
        [self.center.x + by.x, self.center.y - by.y, 0.0]
    }
}

/// Draws the polygon in `size`; `menu` fills the menu of a corner.
pub fn show(ui: &mut Ui, size: Vec2, view: &ShapeView<'_>, menu: &mut dyn FnMut(&mut Ui, usize)) -> Vec<Done> {
    let (rect, area) = ui.allocate_exact_size(size, Sense::click_and_drag());
    let id = area.id;
    let zoom_id = id.with("zoom");
    let default = if view.outside == Outside::Extrapolate { 0.8_f32 } else { 1.0 };
    let mut zoom = ui.data(|d| d.get_temp::<f32>(zoom_id)).unwrap_or(1.0);
    if area.contains_pointer() {
        zoom = (zoom * ui.input(|i| i.zoom_delta())).clamp(0.08, 4.0);
        ui.data_mut(|d| d.insert_temp(zoom_id, zoom));
    }
    let map = Map::new(view, rect, zoom * default);
    let mut done = Vec::new();
    let main = view.points.first().map_or([0.0; 3], |p| p.at);

    ground(ui, view, &map);
    if view.outside == Outside::Extrapolate {
        rings(&ui.painter_at(rect), ui.visuals(), view, &map);
    }
    spokes(ui, view, &map, main);

    // The plane itself: a press anywhere brings the point there.
    if let Some(at) = area.interact_pointer_pos().filter(|_| !view.editing && (area.dragged() || area.clicked())) {
        done.push(Done::Point(0, map.space(at)));
    }
    let middle = map.screen(mean(view));
    let side = picture_size(view.corners.len());
    for (i, (corner, at)) in view.corners.iter().zip(view.shape.corners()).enumerate() {
        let at = map.screen(*at);
        let out = (at - middle).normalized();
        let out = if out.is_finite() { out } else { Vec2::new(0.0, -1.0) };
        // Outside of the corner, by the extent of the picture in that direction.
        let by = 0.5 * side / out.abs().max_elem().max(0.5) + 12.0 + 12.0 * out.y.abs();
        let place = bring_inside(at + out * by, rect, side);
        ui.painter().line_segment([at, place], Stroke::new(1.0, faded(corner.color, 0.5)));
        let response = badge(ui, id.with(("corner", i)), place, side, 1.0, corner);
        if view.editing && response.dragged() {
            let to = map.space(at + response.drag_delta());
            done.push(Done::Corner(i, to));
        }
        if view.editing {
            let grip = ui.interact(Rect::from_center_size(at, Vec2::splat(20.0)), id.with(("grip", i)), Sense::drag());
            let name = format!("grip of corner {}", corner.name);
            grip.widget_info(|| egui::WidgetInfo::labeled(egui::accesskit::Role::Slider, true, &name));
            if let Some(to) = grip.interact_pointer_pos().filter(|_| grip.dragged()) {
                done.push(Done::Corner(i, map.space(to)));
            }
            let fill = if grip.hovered() { Color32::WHITE } else { corner.color };
            ui.painter().rect(
                Rect::from_center_size(at, Vec2::splat(11.0)),
                2,
                fill,
                Stroke::new(1.5, Color32::BLACK),
                egui::StrokeKind::Middle,
            );
        } else {
            ui.painter().circle_filled(at, 4.0, corner.color);
        }
        egui::Popup::menu(&response).show(|ui| menu(ui, i));
    }
    for (i, point) in view.points.iter().enumerate().rev() {
        let at = map.screen(point.at);
        let response = handle(ui, id.with(("point", &point.name)), at, point, 2);
        if let Some(to) = response.interact_pointer_pos().filter(|_| response.dragged()) {
            done.push(Done::Point(i, map.space(to)));
        }
        let [x, y, _] = arrows(ui, &response);
        if (x, y) != (0.0, 0.0) {
            let d = view.shape.diameter();
            done.push(Done::Point(i, [point.at[0] + x * d, point.at[1] + y * d, 0.0]));
        }
        hull_point(ui, view, &map, point.at);
        dot(ui, &response, at, point, i == 0);
        if i > 0 {
            name(ui, at + Vec2::new(0.0, 15.0), &point.name);
        }
    }
    done
}

/// A name on a dark ground, readable over everything.
fn name(ui: &Ui, at: Pos2, text: &str) {
    let galley = ui.painter().layout_no_wrap(text.into(), FontId::proportional(10.5), Color32::WHITE);
    let rect = Rect::from_center_size(at, galley.size());
    ui.painter().rect_filled(rect.expand2(Vec2::new(4.0, 1.0)), 4, Color32::from_black_alpha(170));
    ui.painter().galley(rect.min, galley, Color32::WHITE);
}

fn mean(view: &ShapeView<'_>) -> [f32; 3] {
    let n = view.shape.corners().len().max(1) as f32;
    std::array::from_fn(|a| view.shape.corners().iter().map(|c| c[a]).sum::<f32>() / n)
}

fn bring_inside(at: Pos2, rect: Rect, side: f32) -> Pos2 {
    let room = rect.shrink2(Vec2::new(0.5 * side + 2.0, 0.5 * side + 16.0));
    if room.is_positive() { at.clamp(room.min, room.max) } else { at }
}

/// The polygon, each place in the colours of the corners by their weights there.
fn ground(ui: &Ui, view: &ShapeView<'_>, map: &Map) {
    const STEPS: usize = 10;
    let Some(ring) = view.shape.faces().next() else { return };
    let c = mean(view);
    let mut mesh = Mesh::default();
    for k in 0..ring.len() {
        let [a, b] = [ring[k], ring[(k + 1) % ring.len()]].map(|i| view.shape.corners()[i]);
        let first = mesh.vertices.len() as u32;
        for row in 0..=STEPS {
            for column in 0..=row {
                let (s, t) = (row as f32 / STEPS as f32, column as f32 / STEPS as f32);
                let at = std::array::from_fn(|x| c[x] + (a[x] - c[x]) * (s - t) + (b[x] - c[x]) * t);
                let weights = view.shape.weights(at, Outside::Clamp);
                let color = mix(view.corners.iter().map(|v| v.color).zip(weights));
                mesh.colored_vertex(map.screen(at), faded(color, 0.42));
            }
        }
        let index = |row: usize, column: usize| first + (row * (row + 1) / 2 + column) as u32;
        for row in 0..STEPS {
            for column in 0..=row {
                mesh.add_triangle(index(row, column), index(row + 1, column), index(row + 1, column + 1));
                if column < row {
                    mesh.add_triangle(index(row, column), index(row + 1, column + 1), index(row, column + 1));
                }
            }
        }
    }
    ui.painter().add(Shape::mesh(mesh));
    let outline: Vec<Pos2> = ring.iter().map(|&i| map.screen(view.shape.corners()[i])).collect();
    ui.painter()
        .add(Shape::closed_line(outline, Stroke::new(1.5, ui.visuals().widgets.noninteractive.fg_stroke.color)));
}

/// From the point to every corner, as thick as its weight.
fn spokes(ui: &Ui, view: &ShapeView<'_>, map: &Map, point: [f32; 3]) {
    let from = map.screen(point);
    for (corner, at) in view.corners.iter().zip(view.shape.corners()) {
        let width = 0.6 + 5.0 * corner.weight.abs().min(1.5);
        ui.painter().line_segment([from, map.screen(*at)], Stroke::new(width, faded(corner.color, 0.75)));
    }
}

/// Where a point outside is taken from: the hull's nearest point.
fn hull_point(ui: &Ui, view: &ShapeView<'_>, map: &Map, point: [f32; 3]) {
    let on = map.screen(view.shape.clamp(point));
    let at = map.screen(point);
    if on.distance(at) < 1.0 {
        return;
    }
    let color = ui.visuals().strong_text_color();
    if view.outside == Outside::Clamp {
        ui.painter().add(Shape::dashed_line(&[at, on], Stroke::new(1.5, color), 4.0, 3.0));
        ui.painter().circle(on, 5.0, color, Stroke::new(1.0, Color32::BLACK));
    } else {
        ui.painter().line_segment([at, on], Stroke::new(2.0, Color32::from_rgb(240, 170, 60)));
        ui.painter().circle_filled(on, 3.0, Color32::from_rgb(240, 170, 60));
    }
}

/// Lines of equal distance from the polygon, in diameters; the last is where extrapolation ends.
fn rings(painter: &egui::Painter, visuals: &egui::Visuals, view: &ShapeView<'_>, map: &Map) {
    let Some(ring) = view.shape.faces().next() else { return };
    let corner = |k: usize| {
        let c = view.shape.corners()[ring[k % ring.len()]];
        Vec2::new(c[0], c[1])
    };
    let limit = REACH as f32;
    for by in [0.25, 0.5, 1.0, 2.0, limit] {
        let radius = by * view.shape.diameter();
        let mut path = Vec::new();
        for k in 0..ring.len() {
            let n = ring.len();
            let (before, at, after) = (corner(k + n - 1), corner(k), corner(k + 1));
            // Outward normals of the two edges; the corners run counter-clockwise.
            let outward = |edge: Vec2| -edge.rot90_up();
            let (from, to) = (outward(at - before).angle(), outward(after - at).angle());
            let turn = (to - from).rem_euclid(std::f32::consts::TAU);
            for step in 0..=8 {
                let p = at + Vec2::angled(from + turn * step as f32 / 8.0) * radius;
                path.push(map.screen([p.x, p.y, 0.0]));
            }
        }
        let last = by == limit;
        let color = if last { Color32::from_rgb(240, 110, 90) } else { visuals.weak_text_color() };
        let Some(top) = path.iter().copied().min_by(|a, b| a.y.total_cmp(&b.y)) else { continue };
        painter.add(Shape::closed_line(path, Stroke::new(if last { 2.0 } else { 0.8 }, faded(color, 0.8))));
        let text = if last { "limit".into() } else { format!("+{by}") };
        painter.text(top, Align2::CENTER_BOTTOM, text, FontId::proportional(9.5), color);
    }
}

/// Counter-clockwise quarter turn where y points up.
trait Quarter {
    fn rot90_up(self) -> Self;
}

impl Quarter for Vec2 {
    fn rot90_up(self) -> Self {
        Self::new(-self.y, self.x)
    }
}
