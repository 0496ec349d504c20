//! What the drawings of a polygon and of a solid have in common.

use dermis::pose::{Coordinates, Outside};
use egui::accesskit::Role;
use egui::{
    Align2, Color32, CornerRadius, EventFilter, FontId, Id, Key, Pos2, Rect, Response, Sense, Stroke, StrokeKind, Ui,
    Vec2, WidgetInfo,
};

use super::colors::{faded, percent};

/// A corner as it is drawn.
pub struct CornerView {
    /// Name of the pose it holds.
    pub name: String,
    pub weight: f32,
    pub color: Color32,
    /// Picture of the pose.
    pub picture: Option<egui::TextureId>,
    /// Number of poses to choose from.
    pub alternatives: usize,
}

/// A point as it is drawn; the first of a list is the space's own.
#[derive(Clone)]
pub struct PointView {
    pub name: String,
    pub at: [f32; 3],
    pub color: Color32,
    /// It can be dragged.
    pub movable: bool,
}

/// A space as it is drawn.
pub struct ShapeView<'a> {
    pub shape: &'a Coordinates,
    pub outside: Outside,
    pub corners: &'a [CornerView],
    pub points: &'a [PointView],
    /// Corners are dragged, not only the point.
    pub editing: bool,
}

/// What the user did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Done {
    /// Moved a point of the list.
    Point(usize, [f32; 3]),
    /// Moved a corner.
    Corner(usize, [f32; 3]),
}

/// Side of a corner's picture, points.
pub fn picture_size(corners: usize) -> f32 {
    match corners {
        0..=4 => 74.0,
        5..=7 => 58.0,
        8..=10 => 46.0,
        _ => 38.0,
    }
}

/// Draws a corner's picture with name and weight, and makes it a button.
pub fn badge(ui: &Ui, id: Id, at: Pos2, side: f32, clear: f32, corner: &CornerView) -> Response {
    let rect = Rect::from_center_size(at, Vec2::splat(side));
    let response = ui.interact(rect.expand2(egui::vec2(0.0, 8.0)), id, Sense::click_and_drag());
    let label = format!("corner {}, {}", corner.name, percent(corner.weight));
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &label));
    let painter = ui.painter().with_clip_rect(ui.clip_rect());
    let round = CornerRadius::same(6);
    let ground = ui.visuals().extreme_bg_color;
    painter.rect_filled(rect, round, faded(ground, clear));
    if let Some(picture) = corner.picture {
        let uv = Rect::from_min_max(Pos2::ZERO, egui::pos2(1.0, 1.0));
        let image =
            egui::epaint::RectShape::filled(rect, round, faded(Color32::WHITE, clear)).with_texture(picture, uv);
        painter.add(image);
    }
    let strength = corner.weight.clamp(0.0, 1.0);
    let width = 1.5 + 2.5 * strength + f32::from(response.hovered() || response.has_focus());
    painter.rect_stroke(rect, round, Stroke::new(width, faded(corner.color, clear)), StrokeKind::Inside);
    // The weight as a bar along the lower edge.
    let bar = Rect::from_min_size(
        egui::pos2(rect.left() + 4.0, rect.bottom() - 8.0),
        egui::vec2((side - 8.0) * strength, 4.0),
    );
    painter.rect_filled(bar, CornerRadius::same(2), faded(corner.color, clear));
    let text = ui.visuals().strong_text_color();
    let galley = painter.layout_no_wrap(corner.name.clone(), FontId::proportional(11.5), faded(text, clear.max(0.7)));
    let place = Rect::from_center_size(egui::pos2(at.x, rect.top() - 8.0), galley.size());
    let place = inside(place, ui.clip_rect().shrink(6.0));
    painter.galley(place.min, galley, text);
    if corner.alternatives > 1 {
        // There are others to choose from.
        let tip = place.right_center() + Vec2::new(7.0, 2.5);
        let arrow = vec![tip + Vec2::new(-3.5, -5.0), tip + Vec2::new(3.5, -5.0), tip];
        painter.add(egui::Shape::convex_polygon(arrow, text, Stroke::NONE));
    }
    let number = if corner.weight < -0.005 { Color32::from_rgb(240, 110, 90) } else { text };
    let shown = percent(corner.weight);
    painter.text(
        egui::pos2(at.x, rect.bottom() + 9.0),
        Align2::CENTER_CENTER,
        shown,
        FontId::proportional(12.5),
        number,
    );
    response.on_hover_cursor(egui::CursorIcon::PointingHand)
}

/// A rectangle moved so that it lies inside another.
fn inside(rect: Rect, outer: Rect) -> Rect {
    let right = (rect.right() - outer.right()).max(0.0);
    let left = (outer.left() - rect.left()).max(0.0);
    rect.translate(egui::vec2(left - right, 0.0))
}

/// A handle for a point: where it is, focusable, with a name.
pub fn handle(ui: &Ui, id: Id, at: Pos2, point: &PointView, dimensions: usize) -> Response {
    let sense = if point.movable { Sense::click_and_drag() } else { Sense::hover() };
    let response =
        ui.interact(Rect::from_center_size(at, Vec2::splat(if point.movable { 26.0 } else { 14.0 })), id, sense);
    let numbers: Vec<String> = point.at[..dimensions].iter().map(|x| format!("{x:.2}")).collect();
    let (name, value) = (point.name.clone(), numbers.join(", "));
    response.widget_info(|| {
        let mut info = WidgetInfo::labeled(Role::Slider, true, &name);
        info.current_text_value = Some(value.clone());
        info
    });
    if response.has_focus() {
        let arrows = EventFilter { horizontal_arrows: true, vertical_arrows: true, ..EventFilter::default() };
        ui.ctx().memory_mut(|m| m.set_focus_lock_filter(id, arrows));
    }
    response.on_hover_and_drag_cursor(egui::CursorIcon::Move)
}

/// Draws a point.
pub fn dot(ui: &Ui, response: &Response, at: Pos2, point: &PointView, main: bool) {
    let painter = ui.painter();
    let radius = if main { 8.0 } else { 5.5 };
    let ring = if response.has_focus() { Color32::WHITE } else { Color32::from_black_alpha(200) };
    let radius = radius + f32::from(response.hovered() || response.dragged()) * 1.5;
    painter.circle(at, radius + 1.5, Color32::from_black_alpha(140), Stroke::NONE);
    painter.circle(
        at,
        radius,
        if point.movable { point.color } else { faded(point.color, 0.55) },
        Stroke::new(2.0, ring),
    );
    if main {
        painter.circle_filled(at, 2.0, Color32::BLACK);
    }
}

/// How far arrow keys move a focused point: steps right, up and (page keys) towards the viewer, in diameters.
pub fn arrows(ui: &Ui, response: &Response) -> [f32; 3] {
    if !response.has_focus() {
        return [0.0; 3];
    }
    ui.input(|i| {
        let step = if i.modifiers.shift {
            0.1
        } else if i.modifiers.alt {
            0.005
        } else {
            0.02
        };
        let presses = |key: Key| step * i.num_presses(key) as f32;
        [
            presses(Key::ArrowRight) - presses(Key::ArrowLeft),
            presses(Key::ArrowUp) - presses(Key::ArrowDown),
            presses(Key::PageUp) - presses(Key::PageDown),
        ]
    })
}
