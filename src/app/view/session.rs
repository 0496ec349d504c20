//! What exists while there is a window: the shell, and one frame of it after the other.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use glam::Vec2;
use winit::event_loop::{ActiveEventLoop, EventLoopProxy};

use super::app::Wake;
use super::jobs::Jobs;
use super::manners::Leaving;
use super::mode::Request;
use super::picture;
use super::settings::Memory;
use super::shell::Shell;
use super::thumbnail::Textures;
use super::window::{Overlay, Screen, Shown};
use crate::app::timing::Stopwatch;

/// Pauses between frames that are longer, such as a minimised window, are not time that passes.
const LONGEST_STEP: f64 = 0.25;

/// What exists while there is a window.
pub struct Session {
    pub(super) screen: Screen,
    pub(super) egui: egui_winit::State,
    pub(super) shell: Shell,
    /// When the last frame began.
    last: Instant,
    /// Frames shown since the character was loaded.
    pub(super) frames: u32,
    /// When to draw again though nothing happens.
    pub(super) wake: Option<Instant>,
    moving: bool,
}

impl Session {
    /// A window and an adapter that can draw to it.
    pub fn new(
        event_loop: &ActiveEventLoop,
        proxy: &EventLoopProxy<Wake>,
        adapter: Option<&str>,
        memory: Memory,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let [width, height] = memory.settings.window;
        let attributes = winit::window::Window::default_attributes()
            .with_title("dermis")
            .with_inner_size(winit::dpi::LogicalSize::new(width, height))
            .with_maximized(memory.settings.maximized)
            .with_min_inner_size(winit::dpi::LogicalSize::new(480.0, 320.0));
        let window = Arc::new(event_loop.create_window(attributes)?);
        let screen = Screen::new(window.clone(), event_loop.owned_display_handle(), adapter)?;
        let largest = screen.gpu.device.limits().max_texture_dimension_2d as usize;
        let egui = egui_winit::State::new(
            egui::Context::default(),
            egui::ViewportId::ROOT,
            &window,
            Some(window.scale_factor() as f32),
            window.theme(),
            Some(largest),
        );
        let proxy = proxy.clone();
        // Without an event loop nobody waits for the answer.
        let jobs = Jobs::new(move || drop(proxy.send_event(Wake)), Some(window.clone()));
        let textures = Textures::new(screen.gpu.clone(), screen.painter.clone());
        let size = window.inner_size().to_logical::<f32>(window.scale_factor());
        let size = egui::vec2(size.width.max(1.0), size.height.max(1.0));
        let mut shell = Shell::new(screen.gpu.clone(), screen.renderer.clone(), textures, jobs, size);
        egui.egui_ctx().set_theme(memory.settings.theme);
        shell.grid = memory.settings.ground;
        shell.memory = memory;
        Ok(Self { screen, egui, shell, last: Instant::now(), frames: 0, wake: None, moving: false })
    }

    /// Keeps what is to be remembered.
    pub(super) fn remember(&mut self) -> Result<(), String> {
        let window = &self.screen.window;
        let settings = &mut self.shell.memory.settings;
        settings.maximized = window.is_maximized();
        let size = window.inner_size().to_logical::<f32>(window.scale_factor());
        if !settings.maximized && self.screen.visible() {
            settings.window = [size.width, size.height];
        }
        settings.theme = self.egui.egui_ctx().options(|o| o.theme_preference).into();
        settings.ground = self.shell.grid;
        self.shell.note_view();
        self.shell.memory.save()
    }

    /// One frame: time, panels, pose, picture.
    pub(super) fn frame(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        self.wake = None;
        if !self.screen.visible() {
            return Ok(());
        }
        if self.shell.poll() {
            self.frames = 0;
            // Now, not only at the end: who knows how this ends.
            if let Err(problem) = self.remember() {
                self.shell.messages.note = Some(problem);
            }
            if let Some(stage) = &self.shell.stage {
                self.screen.window.set_title(&format!("{} – dermis", stage.character.name));
            }
        }
        let step = self.step();
        let input = self.egui.take_egui_input(&self.screen.window);
        let context = self.egui.egui_ctx().clone();
        let mut moving = false;
        // A frame may be laid out more than once; time passes in the first round only.
        let mut rest = step;
        let output = context.run_ui(input, |ui| moving |= self.shell.ui(ui, std::mem::take(&mut rest)));
        self.moving = moving;
        self.shell.pass_ms = self.screen.stopwatch.as_ref().and_then(Stopwatch::times);
        self.egui.handle_platform_output(&self.screen.window, output.platform_output);
        for request in std::mem::take(&mut self.shell.requests) {
            self.act(request);
        }
        if let Some(stage) = &mut self.shell.stage {
            stage.prepare(&self.screen.gpu, stage.seconds);
        }
        let camera = self.shell.layout.camera(&self.shell.orbit);
        let primitives = context.tessellate(output.shapes, output.pixels_per_point);
        let pixels_per_point = output.pixels_per_point;
        let overlay = Overlay { primitives, textures: output.textures_delta, pixels_per_point };
        let shown = self.screen.show(self.shell.stage.as_mut(), &camera, self.shell.grid, overlay)?;
        match shown {
            Shown::Yes => self.frames += 1,
            Shown::Later => self.wake = Some(Instant::now() + Duration::from_millis(30)),
        }
        let delay = output.viewport_output.get(&egui::ViewportId::ROOT).map_or(Duration::MAX, |v| v.repaint_delay);
        if shown == Shown::Yes && (moving || delay.is_zero()) {
            self.screen.window.request_redraw();
        } else if let Some(at) = Instant::now().checked_add(delay) {
            self.wake = Some(self.wake.map_or(at, |wake| wake.min(at)));
        }
        Ok(())
    }

    /// Seconds since the last frame, and how they are on average while something moves.
    fn step(&mut self) -> f64 {
        let now = Instant::now();
        let step = now.duration_since(self.last).as_secs_f64();
        self.last = now;
        let (ms, smooth) = (1000.0 * step as f32, self.shell.frame_ms);
        self.shell.frame_ms = match self.moving {
            false => 0.0,
            true if smooth > 0.0 && step < LONGEST_STEP => 0.9 * smooth + 0.1 * ms,
            true => ms,
        };
        step.min(LONGEST_STEP)
    }

    fn act(&mut self, request: Request) {
        match request {
            Request::Open(path) => self.shell.leave(Leaving::Open(path)),
            Request::Reload => self.shell.reload(),
            Request::ChooseFile => self.shell.choose_file(),
            Request::FrameAll => self.shell.frame_all(),
            Request::Screenshot => self.save_screenshot(),
            Request::Show(made) => self.shell.show(made),
        }
    }

    /// Saves what is seen, without the panel, under the first free name in the current folder.
    fn save_screenshot(&mut self) {
        let Some(stage) = &self.shell.stage else { return };
        let name: String = stage.character.name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
        let name = if name.is_empty() { "dermis" } else { &name };
        let path = (1..10_000).map(|i| PathBuf::from(format!("{name}-{i}.png"))).find(|p| !p.exists());
        let Some(path) = path else { return };
        match self.screenshot(&path) {
            Ok(()) => self.shell.messages.note = Some(format!("Saved {}", path.display())),
            Err(error) => self.shell.messages.problem = Some(error.to_string()),
        }
    }

    pub(super) fn screenshot(&mut self, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
        // Beside the panel, as it is seen there: nothing is scaled.
        let (camera, share) = self.shell.layout.picture_camera(&self.shell.orbit);
        let size = (Vec2::from(self.screen.size().map(|s| s as f32)) * share).max(Vec2::ONE).as_uvec2().to_array();
        let Some(stage) = &mut self.shell.stage else { return Err("there is nothing to draw yet".into()) };
        let (gpu, renderer) = (&self.screen.gpu, &self.screen.renderer);
        let picture = picture::take(gpu, renderer, stage, &camera, size, self.shell.grid)?;
        picture.save(path)
    }
}
