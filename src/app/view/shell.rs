//! The viewer without its window: everything egui draws and what it works on. Tests drive this one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dermis::render::Renderer;
use egui::{Key, Modifiers, Ui};

use super::camera::Orbit;
use super::input;
use super::jobs::{Job, Jobs};
use super::layout::Layout;
use super::manners::{self, Leaving, Question};
use super::mode::{Context, Made, Messages, Mode, Request};
use super::panel;
use super::scene::{Loaded, Stage};
use super::settings::Memory;
use super::thumbnail::Textures;
use crate::app::device::Opened;
use crate::app::timing::Times;

/// The viewer's state and user interface.
pub struct Shell {
    pub gpu: Arc<Opened>,
    pub renderer: Renderer,
    pub textures: Textures,
    pub jobs: Jobs,
    pub stage: Option<Stage>,
    pub source: Option<PathBuf>,
    /// What the character was made into here, if it is not what `source` holds.
    pub made: Option<Made>,
    /// What is being made ready to be shown.
    making: Option<Made>,
    pub modes: Vec<Box<dyn Mode>>,
    /// Index into `modes`.
    pub active: usize,
    pub orbit: Orbit,
    pub grid: bool,
    pub messages: Messages,
    pub requests: Vec<Request>,
    /// What is being read, and from where.
    pub loading: Option<(Option<PathBuf>, Job<Loaded>)>,
    /// Files to read after that and to write, as they are answered.
    choosing: Option<Job<Option<PathBuf>>>,
    /// The help sheet is open.
    help: bool,
    /// What the viewer remembers from one time to the next.
    pub memory: Memory,
    /// What is asked before unsaved work goes away.
    asking: Option<Question>,
    /// The window may close: nothing is lost, or nobody minds.
    pub closing: bool,
    /// The tab to begin with.
    pub first_tab: Option<usize>,
    /// Smoothed milliseconds from frame to frame while something moves.
    pub frame_ms: f32,
    /// Milliseconds the GPU needs for each of [`PASSES`](crate::app::timing::PASSES), where it can tell.
    pub pass_ms: Option<Times>,
    pub layout: Layout,
    /// Frames until it is looked at what is covered: windows need some to find their place.
    settling: u32,
    /// The view, if nobody has changed it since it was framed.
    framed: Option<Orbit>,
}

impl Shell {
    pub fn new(gpu: Arc<Opened>, renderer: Renderer, textures: Textures, jobs: Jobs, size: egui::Vec2) -> Self {
        Self {
            gpu,
            renderer,
            textures,
            jobs,
            stage: None,
            source: None,
            made: None,
            making: None,
            modes: super::modes(),
            active: 0,
            orbit: Orbit::default(),
            grid: true,
            messages: Messages::default(),
            requests: Vec::new(),
            loading: None,
            choosing: None,
            help: false,
            memory: Memory::default(),
            asking: None,
            closing: false,
            first_tab: None,
            frame_ms: 0.0,
            pass_ms: None,
            layout: Layout::new(size),
            settling: 0,
            framed: None,
        }
    }

    /// Reads a model, or makes the built-in one, on another thread.
    pub fn load(&mut self, path: Option<PathBuf>) {
        self.messages.problem = None;
        let name =
            path.as_deref().and_then(Path::file_name).map_or("hand".into(), |n| n.to_string_lossy().into_owned());
        let (gpu, renderer, from) = (self.gpu.clone(), self.renderer.clone(), path.clone());
        let job = self.jobs.start(&format!("Reading {name}"), move |progress| {
            let character = match &from {
                None => crate::app::model::start().map_err(|e| e.to_string())?,
                Some(path) => crate::app::model::open(path).map_err(|e| e.to_string())?,
            };
            progress.say(format!("Preparing {name}"));
            Loaded::new(&gpu, &renderer, character).map_err(|e| e.to_string())
        });
        self.making = None;
        self.loading = Some((path, job));
    }

    /// Closes the window or shows another file, at once or after asking where that would lose unsaved work.
    pub fn leave(&mut self, leaving: Leaving) {
        let lost: Vec<String> = self.modes.iter().filter_map(|mode| mode.unsaved()).collect();
        if lost.is_empty() {
            self.go(leaving);
        } else {
            self.asking = Some(Question { leaving, lost: lost.join(", ") });
        }
    }

    fn go(&mut self, leaving: Leaving) {
        match leaving {
            Leaving::Close => self.closing = true,
            Leaving::Open(path) => self.load(path),
        }
    }

    /// Reads the file on show, or what it was made of, again.
    pub fn reload(&mut self) {
        if self.stage.is_some() {
            self.leave(Leaving::Open(self.source.clone()));
        }
    }

    /// Notes how the file on show is looked at.
    pub fn note_view(&mut self) {
        if let Some(source) = self.source.as_deref().filter(|_| self.stage.is_some()) {
            self.memory.settings.looked(source, self.orbit);
        }
    }

    /// What lies over everything: the help sheet, paths to be typed, and the question about unsaved work.
    fn sheets(&mut self, context: &egui::Context) {
        self.jobs.ask(context);
        if self.help {
            let mode = &self.modes[self.active];
            let keys = if self.stage.is_some() { mode.help() } else { &[] };
            self.help = manners::help(context, mode.name(), keys);
        }
        let Some(answer) = self.asking.as_ref().and_then(|question| manners::ask(context, question)) else { return };
        if let Some(question) = self.asking.take().filter(|_| answer) {
            self.go(question.leaving);
        }
    }

    /// Shows a model that was made here out of the one on show.
    pub fn show(&mut self, made: Made) {
        let (gpu, renderer, inside) = (self.gpu.clone(), self.renderer.clone(), made.clone());
        let job = self.jobs.start(&format!("Preparing {}", made.name), move |_| {
            let none = &mut |uri: &str| Err(format!("{uri}: is not inside the file"));
            let character = dermis::io::load_bytes(&format!("{}.glb", inside.name), &inside.glb, none);
            let loaded = character.and_then(|character| Loaded::new(&gpu, &renderer, character));
            loaded.map_err(|e| e.to_string())
        });
        self.making = Some(made);
        self.loading = Some((self.source.clone(), job));
    }

    /// Takes what other threads have finished; true when another character is on the stage.
    pub fn poll(&mut self) -> bool {
        if let Some(answer) = self.choosing.as_mut().and_then(Job::take) {
            self.choosing = None;
            match answer {
                Ok(path @ Some(_)) => self.leave(Leaving::Open(path)),
                Ok(None) => {}
                Err(problem) => self.messages.problem = Some(problem),
            }
        }
        let Some(answer) = self.loading.as_mut().and_then(|(_, job)| job.take()) else { return false };
        let path = self.loading.take().and_then(|(path, _)| path);
        match answer {
            Ok(loaded) => self.loaded(loaded, path),
            Err(problem) => {
                self.messages.problem = Some(problem);
                return false;
            }
        }
        true
    }

    /// Puts a character on the stage.
    pub fn loaded(&mut self, loaded: Loaded, source: Option<PathBuf>) {
        let Loaded { stage, points } = loaded;
        self.note_view();
        let known = source.as_deref().and_then(|path| self.memory.settings.opened(path));
        self.made = self.making.take();
        // What is looked at anew, or made out of it, is looked at as before.
        let stays = self.made.is_some() || (self.stage.is_some() && self.source == source);
        self.stage = Some(stage);
        self.source = source;
        self.messages.note = None;
        if !stays {
            self.orbit = known.unwrap_or_default();
        }
        self.with_modes(|modes, active, context| {
            modes.iter_mut().for_each(|mode| mode.loaded(context));
            let outcome = context.stage.reset();
            context.check(outcome);
            modes[active].enter(context);
        });
        if !stays && known.is_none() {
            self.frame_points(Ok(points));
        }
        if let Some(tab) = self.first_tab.take() {
            self.switch(tab);
        }
        self.settling = 3;
    }

    /// Calls `f` with the modes, the active one's index, and what they work with; `None` without a character.
    fn with_modes<R>(&mut self, f: impl FnOnce(&mut [Box<dyn Mode>], usize, &mut Context<'_>) -> R) -> Option<R> {
        let projection = self.layout.projection(&self.orbit);
        let mut context = Context {
            stage: self.stage.as_mut()?,
            source: self.source.as_deref(),
            made: self.made.as_ref(),
            gpu: &self.gpu,
            renderer: &self.renderer,
            textures: &self.textures,
            projection,
            orbit: &mut self.orbit,
            jobs: &self.jobs,
            messages: &mut self.messages,
            requests: &mut self.requests,
        };
        Some(f(&mut self.modes, self.active, &mut context))
    }

    /// Calls `f` with the active mode.
    fn with_mode<R>(&mut self, f: impl FnOnce(&mut dyn Mode, &mut Context<'_>) -> R) -> Option<R> {
        self.with_modes(|modes, active, context| f(&mut *modes[active], context))
    }

    /// Chooses a tab.
    pub fn switch(&mut self, to: usize) {
        if to == self.active || to >= self.modes.len() {
            return;
        }
        self.with_modes(|modes, from, context| {
            modes[from].leave(context);
            let outcome = context.stage.reset();
            context.check(outcome);
            modes[to].enter(context);
        });
        self.active = to;
        self.settling = 3;
    }

    /// One frame of `step` seconds: panels, modes, camera. True when something moves, so that another frame follows.
    pub fn ui(&mut self, ui: &mut Ui, step: f64) -> bool {
        self.layout.window = ui.ctx().content_rect();
        let moving = self.with_mode(|mode, context| mode.tick(step, context)).unwrap_or(false);
        self.keys(ui.ctx());
        egui::Panel::left("controls").resizable(false).exact_size(panel::WIDTH).show(ui, |ui| {
            egui::Panel::bottom("device").resizable(false).frame(egui::Frame::NONE).show(ui, |ui| {
                panel::device(ui, self.frame_ms, self.pass_ms, &self.gpu);
            });
            ui.add_space(4.0);
            panel::header(ui, self.stage.as_ref(), &mut self.memory.settings.recent, &mut self.requests);
            self.tabs(ui);
            egui::ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
                self.with_mode(|mode, context| mode.panel(ui, context));
                if let Some(stage) = &self.stage {
                    panel::warnings(ui, stage);
                }
                panel::scene(ui, &mut self.grid, &mut self.help, &self.messages, &mut self.requests);
            });
        });
        self.layout.picture = ui.available_rect_before_wrap().intersect(self.layout.window);
        self.over_picture(ui);
        let loading = self.loading.as_ref().map(|(_, job)| job.progress());
        panel::messages(ui, loading.as_deref(), &mut self.messages);
        self.sheets(ui.ctx());
        self.settle(ui.ctx());
        moving
    }

    /// Makes room for the windows of a tab that was just chosen.
    fn settle(&mut self, context: &egui::Context) {
        if self.settling == 0 || self.stage.is_none() {
            return;
        }
        self.settling -= 1;
        context.request_repaint();
        // Who has chosen a view keeps it.
        let covered = self.modes[self.active].covered();
        if self.settling == 0 && self.layout.look(covered) && self.framed == Some(self.orbit) {
            self.requests.push(Request::FrameAll);
        }
    }

    fn tabs(&mut self, ui: &mut Ui) {
        if self.modes.len() < 2 || self.stage.is_none() {
            return;
        }
        let mut chosen = self.active;
        ui.add_space(4.0);
        ui.horizontal(|ui| {
            for (i, mode) in self.modes.iter().enumerate() {
                ui.selectable_value(&mut chosen, i, mode.name());
            }
        });
        self.switch(chosen);
    }

    fn over_picture(&mut self, ui: &mut Ui) {
        let response = ui.interact(self.layout.picture, ui.scope_id().with("picture"), egui::Sense::click_and_drag());
        let kept = self.with_mode(|mode, context| mode.pointer(&response, context)).unwrap_or(false);
        if !kept {
            input::steer(&mut self.orbit, ui, &response, self.layout.window.height());
        }
        let mut over = ui.new_child(egui::UiBuilder::new().max_rect(self.layout.picture));
        over.set_clip_rect(self.layout.picture);
        self.with_mode(|mode, context| mode.overlay(&mut over, context));
    }

    fn keys(&mut self, context: &egui::Context) {
        // Nothing behind a sheet or the question is to be changed.
        if context.text_edit_focused() || self.help || self.asking.is_some() {
            return;
        }
        let pressed = |modifiers, key| context.input_mut(|i| i.consume_key(modifiers, key));
        let shifted = Modifiers::COMMAND | Modifiers::SHIFT;
        if pressed(shifted, Key::Z) || pressed(Modifiers::COMMAND, Key::Y) {
            self.with_mode(|mode, context| mode.redo(context));
        }
        if pressed(Modifiers::COMMAND, Key::Z) {
            self.with_mode(|mode, context| mode.undo(context));
        }
        if pressed(Modifiers::COMMAND, Key::O) {
            self.requests.push(Request::ChooseFile);
        }
        if pressed(Modifiers::COMMAND, Key::R) {
            self.requests.push(Request::Reload);
        }
        if pressed(Modifiers::COMMAND, Key::Q) {
            self.leave(Leaving::Close);
        }
        context.input_mut(|input| self.with_mode(|mode, context| mode.keys(input, context)));
        let pressed = |key| context.input_mut(|i| i.consume_key(Modifiers::NONE, key));
        if pressed(Key::F1) || pressed(Key::Questionmark) {
            self.help = true;
        }
        if pressed(Key::F) {
            self.requests.push(Request::FrameAll);
        }
        if pressed(Key::G) {
            self.grid = !self.grid;
        }
        if pressed(Key::S) {
            self.requests.push(Request::Screenshot);
        }
    }

    /// Asks for a file to open.
    pub fn choose_file(&mut self) {
        self.choosing = Some(self.jobs.open_file("Open a model", "glTF models", &["glb", "gltf", "vrm"]));
    }

    /// Moves the camera so that all of what is shown is seen.
    pub fn frame_all(&mut self) {
        let Some(stage) = &mut self.stage else { return };
        stage.prepare(&self.gpu, stage.seconds);
        let points = stage.measure(&self.gpu);
        self.frame_points(points);
    }

    fn frame_points(&mut self, points: dermis::Result<Vec<[f32; 3]>>) {
        self.layout.look(self.modes[self.active].covered());
        match points {
            Ok(points) if points.is_empty() => self.messages.problem = Some("this file has nothing to draw".into()),
            Ok(points) => {
                self.layout.frame(&mut self.orbit, &points);
                self.framed = Some(self.orbit);
            }
            Err(error) => self.messages.problem = Some(error.to_string()),
        }
    }
}
