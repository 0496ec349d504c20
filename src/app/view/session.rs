//! What exists while there is a window: the character on show, how it is seen and played, one frame after the other.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dermis::Character;
use dermis::render::Renderer;
use glam::Vec2;
use winit::event_loop::{ActiveEventLoop, EventLoopProxy};

use super::app::Event;
use super::camera::Orbit;
use super::input::Pointer;
use super::panel::{self, Action, Controls};
use super::picture;
use super::scene::Stage;
use super::window::{Canvas, Overlay, Shown};
use crate::app::device::Opened;

/// What exists while there is a window.
pub struct Session {
    pub(super) canvas: Canvas,
    pub(super) egui: egui_winit::State,
    pub(super) stage: Option<Stage>,
    pub(super) controls: Controls,
    pub(super) orbit: Orbit,
    pub(super) pointer: Pointer,
    /// Pixels from the left that the panel covers.
    covered: f32,
    /// Number of the latest request to load something.
    pub(super) request: u32,
    /// When the last frame began.
    last: Instant,
    /// Frames shown since the character was loaded.
    pub(super) frames: u32,
    /// When to draw again though nothing happens.
    pub(super) wake: Option<Instant>,
    /// The next frame frames everything.
    pub(super) frame_all: bool,
}

/// A character ready to be shown, and the points to frame it by.
pub struct Loaded {
    stage: Stage,
    points: Vec<[f32; 3]>,
}

impl Loaded {
    fn new(gpu: &Opened, renderer: &Renderer, character: Character) -> dermis::Result<Self> {
        let mut stage = Stage::new(gpu, renderer, character)?;
        let points = if stage.character.clips.is_empty() {
            stage.prepare(gpu, 0.0);
            stage.measure(gpu)?
        } else {
            stage.play(Some(0), false)?;
            stage.measure_clip(gpu, 0)?
        };
        Ok(Self { stage, points })
    }
}

impl Session {
    /// A window and an adapter that can draw to it.
    pub fn new(event_loop: &ActiveEventLoop, adapter: Option<&str>) -> Result<Self, Box<dyn std::error::Error>> {
        let attributes = winit::window::Window::default_attributes()
            .with_title("dermis")
            .with_inner_size(winit::dpi::LogicalSize::new(1200.0, 800.0))
            .with_min_inner_size(winit::dpi::LogicalSize::new(480.0, 320.0));
        let window = Arc::new(event_loop.create_window(attributes)?);
        let canvas = Canvas::new(window.clone(), event_loop.owned_display_handle(), adapter)?;
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
        Ok(Self {
            canvas,
            egui,
            stage: None,
            controls,
            orbit: Orbit::default(),
            pointer: Pointer::default(),
            covered: panel::WIDTH * window.scale_factor() as f32,
            request: 0,
            last: Instant::now(),
            frames: 0,
            wake: None,
            frame_all: false,
        })
    }

    /// Reads a model, or makes the built-in one, on another thread.
    pub(super) fn load(&mut self, proxy: &EventLoopProxy<Event>, path: Option<PathBuf>) {
        self.request += 1;
        self.controls.problem = None;
        let name =
            path.as_deref().and_then(Path::file_name).map_or("tube".into(), |n| n.to_string_lossy().into_owned());
        self.controls.loading = Some(name);
        let (request, proxy) = (self.request, proxy.clone());
        let (gpu, renderer) = (self.canvas.gpu.clone(), self.canvas.renderer.clone());
        std::thread::spawn(move || {
            let build = || {
                let character = path.as_deref().map_or_else(|| Ok(crate::app::tube::tube()), read)?;
                Loaded::new(&gpu, &renderer, character).map_err(|e| e.to_string())
            };
            // A crash of the loader must not leave the window waiting for ever.
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(build))
                .unwrap_or_else(|_| Err("this file could not be read".into()));
            // Without an event loop nobody waits for the answer.
            let _ = proxy.send_event(Event::Loaded(request, Box::new(result)));
        });
    }

    /// Shows what was read, or why it could not be.
    pub(super) fn loaded(&mut self, result: Result<Loaded, String>) {
        self.controls.loading = None;
        let Loaded { stage, points } = match result {
            Ok(loaded) => loaded,
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
        let (aspect, _, free) = self.layout();
        self.frame_points(Ok(points), aspect, free);
    }

    fn frame_points(&mut self, points: dermis::Result<Vec<[f32; 3]>>, aspect: f32, free: Vec2) {
        match points {
            Ok(points) if points.is_empty() => self.controls.problem = Some("this file has nothing to draw".into()),
            Ok(points) => self.orbit.frame(&points, aspect, free),
            Err(error) => self.controls.problem = Some(error.to_string()),
        }
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
    pub(super) fn frame(&mut self, proxy: &EventLoopProxy<Event>) -> Result<(), Box<dyn std::error::Error>> {
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
        let points = stage.measure(&self.canvas.gpu);
        self.frame_points(points, aspect, free);
    }

    /// Saves what is seen, without the panel, under the first free name in the current folder.
    pub(super) fn save_screenshot(&mut self) {
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

    pub(super) fn screenshot(&mut self, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
        let (aspect, _, free) = self.layout();
        let [width, height] = self.canvas.size();
        // The free part of the window, seen as it is there: nothing is scaled.
        let size = [((width as f32 * free.x) as u32).max(1), height];
        let camera = self.orbit.camera(aspect * free.x, Vec2::ZERO);
        let Some(stage) = &mut self.stage else { return Err("there is nothing to draw yet".into()) };
        let picture = picture::take(&self.canvas.gpu, &self.canvas.renderer, stage, &camera, size, self.controls.grid)?;
        picture.save(path)
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
