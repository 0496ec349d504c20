//! Mouse, touchpad and keys.

use glam::Vec2;
use winit::event::{ElementState, MouseButton, MouseScrollDelta, WindowEvent};
use winit::keyboard::{Key, ModifiersState, NamedKey};

use super::session::Session;

/// What the pointer does.
#[derive(Default)]
pub struct Pointer {
    at: Vec2,
    turning: bool,
    panning: bool,
    modifiers: ModifiersState,
}

impl Session {
    /// Handles what is not for the panel: `consumed` says that egui took it.
    pub(super) fn input(&mut self, event: &WindowEvent, consumed: bool) {
        let height = self.canvas.size()[1] as f32;
        match event {
            WindowEvent::ModifiersChanged(modifiers) => self.pointer.modifiers = modifiers.state(),
            WindowEvent::CursorMoved { position, .. } => {
                let at = Vec2::new(position.x as f32, position.y as f32);
                let by = (at - self.pointer.at) / height;
                self.pointer.at = at;
                if self.pointer.turning {
                    self.orbit.turn(-4.0 * by.x, 4.0 * by.y);
                } else if self.pointer.panning {
                    self.orbit.pan(by);
                }
            }
            WindowEvent::MouseInput { state, button, .. } => {
                let pressed = *state == ElementState::Pressed && !consumed;
                let shift = self.pointer.modifiers.shift_key();
                match button {
                    MouseButton::Left => {
                        self.pointer.turning = pressed && !shift;
                        self.pointer.panning = pressed && shift;
                    }
                    MouseButton::Right | MouseButton::Middle => self.pointer.panning = pressed,
                    _ => {}
                }
            }
            WindowEvent::MouseWheel { delta, .. } if !consumed => self.orbit.zoom(match delta {
                MouseScrollDelta::LineDelta(_, lines) => *lines,
                MouseScrollDelta::PixelDelta(pixels) => 0.02 * pixels.y as f32,
            }),
            WindowEvent::PinchGesture { delta, .. } if delta.is_finite() => self.orbit.zoom(8.0 * *delta as f32),
            WindowEvent::KeyboardInput { event, .. } if event.state == ElementState::Pressed && !consumed => {
                self.key(&event.logical_key, event.repeat);
            }
            _ => {}
        }
    }

    fn key(&mut self, key: &Key, repeat: bool) {
        let modified = self.pointer.modifiers.control_key() || self.pointer.modifiers.alt_key();
        if repeat || modified || self.pointer.modifiers.super_key() {
            return;
        }
        match key {
            Key::Named(NamedKey::Space) => {
                let clip = self.controls.clip.zip(self.stage.as_ref()).map(|(i, s)| s.character.clips[i].duration);
                self.controls.toggle(clip.unwrap_or(f32::MAX));
            }
            Key::Character(c) if c.eq_ignore_ascii_case("f") => self.frame_all = true,
            Key::Character(c) if c.eq_ignore_ascii_case("g") => self.controls.grid = !self.controls.grid,
            Key::Character(c) if c.eq_ignore_ascii_case("s") => self.save_screenshot(),
            _ => {}
        }
    }
}
