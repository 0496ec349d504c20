//! A place on the surface with a label.

use egui::{Align2, Color32, FontId, Rect, Stroke, Ui, vec2};
use glam::Vec3;

use crate::app::view::projection::Projection;

/// Paints a ring around a place and, with a line to it, some words; paler where the surface there faces away.
pub fn mark(ui: &Ui, view: &Projection, at: Vec3, text: &str, color: Color32, behind: bool) {
    let Some(p) = view.screen(at) else { return };
    if !view.picture.contains(p) {
        return;
    }
    let painter = ui.painter();
    let color = if behind { color.gamma_multiply(0.55) } else { color };
    let shadow = Color32::from_black_alpha(if behind { 90 } else { 170 });
    painter.circle_stroke(p, 6.0, Stroke::new(4.0, shadow));
    painter.circle_stroke(p, 6.0, Stroke::new(2.0, color));
    painter.circle_filled(p, 1.5, color);
    if text.is_empty() {
        return;
    }
    let font = FontId::proportional(13.0);
    let text = if behind { format!("{text} (behind)") } else { text.to_owned() };
    let galley = painter.layout_no_wrap(text.clone(), font.clone(), Color32::WHITE);
    // Towards the middle of the picture, where there is room.
    let side = if p.x > view.picture.center().x { -1.0 } else { 1.0 };
    let rise = if p.y > view.picture.top() + 60.0 { -1.0 } else { 1.0 };
    let corner = p + vec2(side * 26.0, rise * 26.0);
    let size = galley.size() + vec2(14.0, 7.0);
    let frame = Rect::from_center_size(corner + vec2(side * 0.5 * size.x, 0.0), size);
    let edge = p + vec2(side, rise) * 4.6;
    painter.line_segment([edge, corner], Stroke::new(3.0, shadow));
    painter.line_segment([edge, corner], Stroke::new(1.5, color));
    painter.rect_filled(frame, 4.0, Color32::from_black_alpha(190));
    painter.text(frame.center(), Align2::CENTER_CENTER, text, font, Color32::WHITE);
}
