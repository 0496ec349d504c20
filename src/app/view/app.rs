//! The viewer's event loop: input, loading off the UI thread, playing, frames.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dermis::Character;
use glam::Vec2;
use winit::application::ApplicationHandler;
use winit::event::{ElementState, MouseButton, MouseScrollDelta, StartCause, WindowEvent};
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoopProxy};
use winit::keyboard::{Key, ModifiersState, NamedKey};
use winit::window::WindowId;

use super::camera::Orbit;
use super::panel::{self, Action, Controls};
use super::picture;
use super::scene::Stage;
use super::window::{Canvas, Overlay, Shown};

/// What other threads tell the event loop.
pub enum Event {
    /// A character is ready, or why it is not; the number says which request it answers.
    Loaded(u32, Box<Result<Stage, String>>),
    /// The user chose a file.
    Open(PathBuf),
}

/// What a script asks for.
#[derive(Clone, Default)]
pub struct Script {
    /// Picture to save before closing.
    pub screenshot: Option<PathBuf>,
    /// Closes after this many frames of the loaded character.
    pub frames: Option<u32>,
}

/// The viewer.
pub struct App {
    proxy: EventLoopProxy<Event>,
    adapter: Option<String>,
    model: Option<PathBuf>,
    script: Script,
    /// Why there is no window, or why it had to close.
    pub failure: Option<String>,
    open: Option<Open>,
}

/// What exists while there is a window.
struct Open {
    canvas: Canvas,
    egui: egui_winit::State,
    stage: Option<Stage>,
    controls: Controls,
    orbit: Orbit,
    pointer: Pointer,
    /// Points from the left that the panel covers.
    covered: f32,
    request: u32,
    last: Instant,
    /// Frames shown since the character was loaded.
    frames: u32,
    wake: Option<Instant>,
    frame_all: bool,
}

#[derive(Default)]
struct Pointer {
    at: Vec2,
    turning: bool,
    panning: bool,
    modifiers: ModifiersState,
}

impl App {
    pub fn new(proxy: EventLoopProxy<Event>, adapter: Option<&str>, model: Option<PathBuf>, script: Script) -> Self {
        Self { proxy, adapter: adapter.map(str::to_owned), model, script, failure: None, open: None }
    }

    /// True when there was a window.
    pub fn opened(&self) -> bool {
        self.open.is_some()
    }

    fn fail(&mut self, event_loop: &ActiveEventLoop, failure: impl ToString) {
        self.failure = Some(failure.to_string());
        event_loop.exit();
    }

    fn create(&mut self, event_loop: &ActiveEventLoop) -> Result<Open, Box<dyn std::error::Error>> {
        let attributes = winit::window::Window::default_attributes()
            .with_title("dermis")
            .with_inner_size(winit::dpi::LogicalSize::new(1200.0, 800.0))
            .with_min_inner_size(winit::dpi::LogicalSize::new(480.0, 320.0));
        let window = Arc::new(event_loop.create_window(attributes)?);
        let canvas = Canvas::new(window.clone(), event_loop.owned_display_handle(), self.adapter.as_deref())?;
        let largest = canvas.gpu.device.limits().max_texture_dimension_2d as usize;
        let egui = egui_winit::State::new(
            egui::Context::default(),
            egui::ViewportId::ROOT,
            &window,
            Some(window.scale_factor() as f32),
            window.theme(),
            Some(largest),
        );
        let info = &canvas.gpu.info;
        let (adapter, backend) = (info.name.clone(), info.backend.to_string());
        let controls = Controls { adapter, backend, ..Controls::default() };
        Ok(Open {
            canvas,
            egui,
            stage: None,
            controls,
            orbit: Orbit::default(),
            pointer: Pointer::default(),
            covered: 0.0,
            request: 0,
            last: Instant::now(),
            frames: 0,
            wake: None,
            frame_all: false,
        })
    }
}

impl ApplicationHandler<Event> for App {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        if self.open.is_some() {
            return;
        }
        match self.create(event_loop) {
            Ok(mut open) => {
                open.load(&self.proxy, self.model.clone());
                open.canvas.window.request_redraw();
                self.open = Some(open);
            }
            Err(error) => self.fail(event_loop, error),
        }
    }

    fn new_events(&mut self, _event_loop: &ActiveEventLoop, cause: StartCause) {
        if let (StartCause::ResumeTimeReached { .. }, Some(open)) = (cause, &mut self.open) {
            open.canvas.window.request_redraw();
        }
    }

    fn user_event(&mut self, _event_loop: &ActiveEventLoop, event: Event) {
        let Some(open) = &mut self.open else { return };
        match event {
            Event::Open(path) => open.load(&self.proxy, Some(path)),
            Event::Loaded(request, result) if request == open.request => open.loaded(*result),
            Event::Loaded(..) => {}
        }
        open.canvas.window.request_redraw();
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _window: WindowId, event: WindowEvent) {
        let Some(open) = &mut self.open else { return };
        let response = open.egui.on_window_event(&open.canvas.window, &event);
        if response.repaint && !matches!(event, WindowEvent::RedrawRequested) {
            open.canvas.window.request_redraw();
        }
        match event {
            WindowEvent::CloseRequested => event_loop.exit(),
            WindowEvent::Resized(_) | WindowEvent::ScaleFactorChanged { .. } => open.canvas.resize(),
            WindowEvent::DroppedFile(path) => open.load(&self.proxy, Some(path)),
            WindowEvent::RedrawRequested => {
                let outcome = open.frame(&self.proxy);
                match outcome {
                    Ok(()) => self.after_frame(event_loop),
                    Err(error) => self.fail(event_loop, error),
                }
            }
            event => open.input(&event, response.consumed),
        }
    }

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        let wake = self.open.as_ref().and_then(|open| open.wake);
        event_loop.set_control_flow(wake.map_or(ControlFlow::Wait, ControlFlow::WaitUntil));
    }
}

impl App {
    /// Does what the script wants once enough frames were shown.
    fn after_frame(&mut self, event_loop: &ActiveEventLoop) {
        let Some(open) = &mut self.open else { return };
        if self.script.screenshot.is_none() && self.script.frames.is_none() {
            return;
        }
        let loading = open.controls.loading.is_some();
        if !loading && let (None, Some(problem)) = (&open.stage, &open.controls.problem) {
            let problem = problem.clone();
            return self.fail(event_loop, problem);
        }
        if loading || open.frames < self.script.frames.unwrap_or(1).max(1) {
            return open.canvas.window.request_redraw();
        }
        if let Some(path) = self.script.screenshot.take()
            && let Err(error) = open.screenshot(&path)
        {
            return self.fail(event_loop, error);
        }
        event_loop.exit();
    }
}

impl Open {
    /// Reads a model, or makes the built-in one, on another thread.
    fn load(&mut self, proxy: &EventLoopProxy<Event>, path: Option<PathBuf>) {
        self.request += 1;
        self.controls.problem = None;
        let name =
            path.as_deref().and_then(Path::file_name).map_or("tube".into(), |n| n.to_string_lossy().into_owned());
        self.controls.loading = Some(name);
        let (request, proxy) = (self.request, proxy.clone());
        let (gpu, renderer) = (self.canvas.gpu.clone(), self.canvas.renderer.clone());
        std::thread::spawn(move || {
            let build = || -> Result<Stage, String> {
                let character = path.as_deref().map_or_else(|| Ok(crate::app::tube::tube()), read);
                Stage::new(&gpu, &renderer, character?).map_err(|e| e.to_string())
            };
            // A crash of the loader must not leave the window waiting for ever.
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(build))
                .unwrap_or_else(|_| Err("this file could not be read".into()));
            // Without an event loop nobody waits for the answer.
            let _ = proxy.send_event(Event::Loaded(request, Box::new(result)));
        });
    }

    fn loaded(&mut self, result: Result<Stage, String>) {
        self.controls.loading = None;
        let stage = match result {
            Ok(stage) => stage,
            Err(problem) => return self.controls.problem = Some(problem),
        };
        self.canvas.window.set_title(&format!("{} – dermis", stage.character.name));
        let character = &stage.character;
        self.controls.clip = (!character.clips.is_empty()).then_some(0);
        self.controls.time = 0.0;
        self.controls.playing = true;
        self.controls.morphs = morph_weights(character);
        self.controls.note = None;
        self.stage = Some(stage);
        self.frames = 0;
        self.orbit = Orbit::default();
        self.change_clip();
        self.frame_all = true;
    }

    fn change_clip(&mut self) {
        let Some(stage) = &mut self.stage else { return };
        // The panel keeps the time within the clip and starts it over; see `advance`.
        let mut outcome = stage.play(self.controls.clip, false);
        for (part, weights) in self.controls.morphs.iter().enumerate().filter(|(_, w)| !w.is_empty()) {
            outcome = outcome.and_then(|()| stage.set_morphs(part, weights));
        }
        if let Err(error) = outcome {
            self.controls.problem = Some(error.to_string());
        }
    }

    /// One frame: panel, time, pose, picture.
    fn frame(&mut self, proxy: &EventLoopProxy<Event>) -> Result<(), Box<dyn std::error::Error>> {
        self.wake = None;
        if !self.canvas.visible() {
            return Ok(());
        }
        let moving = self.advance();
        let input = self.egui.take_egui_input(&self.canvas.window);
        let context = self.egui.egui_ctx().clone();
        let mut actions = Vec::new();
        let mut free = egui::Rect::NOTHING;
        let output = context.run_ui(input, |ui| {
            actions = panel::show(ui, &mut self.controls, self.stage.as_ref());
            free = ui.available_rect_before_wrap();
        });
        self.covered = free.left().max(0.0) * output.pixels_per_point;
        self.egui.handle_platform_output(&self.canvas.window, output.platform_output);
        actions.into_iter().for_each(|action| self.act(action, proxy));

        if let Some(stage) = &mut self.stage {
            stage.prepare(&self.canvas.gpu, self.controls.time);
        }
        if std::mem::take(&mut self.frame_all) {
            self.frame_all();
        }
        let (aspect, middle, _) = self.layout();
        let camera = self.orbit.camera(aspect, middle);
        let primitives = context.tessellate(output.shapes, output.pixels_per_point);
        let pixels_per_point = output.pixels_per_point;
        let overlay = Overlay { primitives, textures: output.textures_delta, pixels_per_point };
        let shown = self.canvas.show(self.stage.as_mut(), &camera, self.controls.grid, overlay)?;
        match shown {
            Shown::Yes => self.frames += 1,
            Shown::Later => self.wake = Some(Instant::now() + Duration::from_millis(30)),
        }
        let delay = output.viewport_output.get(&egui::ViewportId::ROOT).map_or(Duration::MAX, |v| v.repaint_delay);
        if shown == Shown::Yes && (moving || delay.is_zero()) {
            self.canvas.window.request_redraw();
        } else if let Some(at) = Instant::now().checked_add(delay) {
            self.wake = Some(self.wake.map_or(at, |wake| wake.min(at)));
        }
        Ok(())
    }

    /// Moves the clip's time on; true while it plays.
    fn advance(&mut self) -> bool {
        let now = Instant::now();
        let step = now.duration_since(self.last).as_secs_f64();
        self.last = now;
        let duration =
            self.controls.clip.zip(self.stage.as_ref()).map(|(i, s)| f64::from(s.character.clips[i].duration));
        let c = &mut self.controls;
        let Some(duration) = duration.filter(|&d| c.playing && d > 0.0) else {
            c.frame_ms = 0.0;
            return false;
        };
        // Pauses between frames, such as a minimised window, are not time that passes in the clip.
        c.time += step.min(0.25) * f64::from(c.speed);
        if c.time >= duration {
            if c.looping {
                c.time = c.time.rem_euclid(duration);
            } else {
                c.time = duration;
                c.playing = false;
            }
        }
        let ms = 1000.0 * step as f32;
        c.frame_ms = if c.frame_ms > 0.0 && step < 0.25 { 0.9 * c.frame_ms + 0.1 * ms } else { ms };
        true
    }

    fn act(&mut self, action: Action, proxy: &EventLoopProxy<Event>) {
        match action {
            Action::Open => self.choose_file(proxy),
            Action::FrameAll => self.frame_all = true,
            Action::Screenshot => self.save_screenshot(),
            Action::ChangeClip => self.change_clip(),
            Action::ChangeMorphs(part) => {
                let Some(stage) = &mut self.stage else { return };
                if let Err(error) = stage.set_morphs(part, &self.controls.morphs[part]) {
                    self.controls.problem = Some(error.to_string());
                }
            }
        }
    }

    fn choose_file(&self, proxy: &EventLoopProxy<Event>) {
        let dialog = rfd::AsyncFileDialog::new()
            .set_title("Open a model")
            .add_filter("glTF models", &["glb", "gltf", "vrm"])
            .set_parent(&*self.canvas.window)
            .pick_file();
        let proxy = proxy.clone();
        std::thread::spawn(move || {
            if let Some(file) = pollster::block_on(dialog) {
                // Without an event loop nobody waits for the answer.
                let _ = proxy.send_event(Event::Open(file.path().to_owned()));
            }
        });
    }

    /// Aspect of the window, where its free part's middle is (−1…1), and the free share of width and height.
    fn layout(&self) -> (f32, Vec2, Vec2) {
        let [width, height] = self.canvas.size().map(|s| s as f32);
        let covered = (self.covered / width).clamp(0.0, 0.8);
        (width / height, Vec2::new(covered, 0.0), Vec2::new(1.0 - covered, 1.0))
    }

    fn frame_all(&mut self) {
        let (aspect, _, free) = self.layout();
        let Some(stage) = &mut self.stage else { return };
        match stage.measure(&self.canvas.gpu) {
            Ok(points) if points.is_empty() => self.controls.problem = Some("this file has nothing to draw".into()),
            Ok(points) => self.orbit.frame(&points, aspect, free),
            Err(error) => self.controls.problem = Some(error.to_string()),
        }
    }

    /// Saves what is seen, without the panel, under the first free name in the current folder.
    fn save_screenshot(&mut self) {
        let Some(stage) = &self.stage else { return };
        let name: String = stage.character.name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
        let name = if name.is_empty() { "dermis" } else { &name };
        let path = (1..10_000).map(|i| PathBuf::from(format!("{name}-{i}.png"))).find(|p| !p.exists());
        let Some(path) = path else { return };
        match self.screenshot(&path) {
            Ok(()) => self.controls.note = Some(format!("Saved {}", path.display())),
            Err(error) => self.controls.problem = Some(error.to_string()),
        }
    }

    fn screenshot(&mut self, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
        let (aspect, _, free) = self.layout();
        let [width, height] = self.canvas.size();
        // The free part of the window, seen as it is there: nothing is scaled.
        let size = [((width as f32 * free.x) as u32).max(1), height];
        let camera = self.orbit.camera(aspect * free.x, Vec2::ZERO);
        let Some(stage) = &mut self.stage else { return Err("there is nothing to draw yet".into()) };
        let picture = picture::take(&self.canvas.gpu, &self.canvas.renderer, stage, &camera, size, self.controls.grid)?;
        picture.save(path)
    }

    fn input(&mut self, event: &WindowEvent, consumed: bool) {
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
            Key::Named(NamedKey::Space) => self.controls.playing = !self.controls.playing,
            Key::Character(c) if c.eq_ignore_ascii_case("f") => self.frame_all = true,
            Key::Character(c) if c.eq_ignore_ascii_case("g") => self.controls.grid = !self.controls.grid,
            Key::Character(c) if c.eq_ignore_ascii_case("s") => self.save_screenshot(),
            _ => {}
        }
    }
}

fn read(path: &Path) -> Result<Character, String> {
    dermis::io::load(path).map_err(|e| e.to_string())
}

/// The weights each part starts with, one per morph target of its mesh.
fn morph_weights(character: &Character) -> Vec<Vec<f32>> {
    let of = |part: &dermis::character::Part| {
        let count = character.meshes.get(part.mesh).map_or(0, |m| m.morphs.len());
        let mut weights = part.morph_weights.clone();
        weights.resize(count, 0.0);
        weights
    };
    character.parts.iter().map(of).collect()
}
