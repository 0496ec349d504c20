//! The camera follows mouse and touchpad.

use egui::{PointerButton, Response, Ui};
use glam::Vec2;

use super::camera::Orbit;

/// Turns, moves and zooms with what was done to the picture; `height` is the window's, in points.
pub fn steer(orbit: &mut Orbit, ui: &Ui, response: &Response, height: f32) {
    let by = response.drag_delta() / height;
    let by = Vec2::new(by.x, by.y);
    let shift = ui.input(|i| i.modifiers.shift);
    let pans = response.dragged_by(PointerButton::Secondary) || response.dragged_by(PointerButton::Middle);
    if pans || (response.dragged_by(PointerButton::Primary) && shift) {
        orbit.pan(by);
    } else if response.dragged_by(PointerButton::Primary) {
        orbit.turn(-4.0 * by.x, 4.0 * by.y);
    }
    if response.hovered() {
        let (scroll, pinch) = ui.input(|i| (i.smooth_scroll_delta().y, i.zoom_delta()));
        // A notch of a wheel is about 50 points.
        orbit.zoom(0.02 * scroll + 8.0 * pinch.max(1e-3).ln());
    }
}
