//! The weights mode in the window: its character on the stage, its colours, its files.

use std::sync::Arc;

use dermis::Character;
use dermis::character::Mesh;
use dermis::gpu::{CharacterId, Drive, MeshId, MeshOptions, PartId};
use dermis::influence::Precision;
use dermis::pose::Pose;
use dermis::render::{ColorMap, Overlay};
use egui::{Color32, Ui};
use glam::Vec3;

use super::files::Pending;
use super::panel::panel;
use super::{Legend, Show, Weights, mark};
use crate::app::view::mode::{Context, Mode};
use crate::app::view::panel::named;
use crate::app::view::pick::{Ray, Surface, pick};

/// The weights tab.
#[derive(Default)]
pub struct WeightsMode {
    pub(super) weights: Option<Weights>,
    overlay: Option<Arc<Overlay>>,
    /// The map that the overlay has.
    map: Option<ColorMap>,
    legend: Option<Legend>,
    peak: Option<(super::Chosen, String)>,
    /// The character with the weights on show.
    shown: Option<CharacterId>,
    /// Its meshes.
    meshes: Vec<MeshId>,
    clip: Option<usize>,
    time: f64,
    playing: bool,
    pub(super) pending: Vec<Pending>,
    /// Revision of the weights that were saved last.
    pub(super) saved: usize,
}

impl WeightsMode {
    /// The pose on show.
    pub(super) fn pose(&self, character: &Character) -> Pose {
        let mut pose = Pose::rest(&character.rig);
        if let Some(clip) = self.clip.and_then(|c| character.clips.get(c)) {
            clip.sample(self.time as f32, &mut pose);
        }
        pose
    }

    /// Shows the character with its weights as they are now.
    fn repack(&mut self, context: &mut Context<'_>) {
        let Some(weights) = &mut self.weights else { return };
        weights.repack = false;
        let packed = weights.packed_meshes();
        let stage = &mut *context.stage;
        let mut parts: Vec<PartId> = stage.parts.clone();
        let options = MeshOptions { precision: Precision::Fine, ..MeshOptions::default() };
        let mut made: Vec<MeshId> = Vec::new();
        let replace = || -> dermis::Result<CharacterId> {
            for (index, influences) in packed {
                let mesh = Mesh { influences, ..stage.character.meshes[index].clone() };
                let id = stage.skinner.add_mesh_with(&context.gpu.queue, &mesh, options)?;
                made.push(id);
                let shows = stage.character.parts.iter().zip(&mut parts).filter(|(p, _)| p.mesh == index);
                shows.for_each(|(_, part)| part.mesh = id);
            }
            let shown = match self.shown {
                Some(shown) => {
                    stage.skinner.set_meshes(shown, &parts)?;
                    shown
                }
                None => stage.skinner.spawn(stage.rig, &parts)?,
            };
            for (part, p) in stage.character.parts.iter().enumerate().filter(|(_, p)| !p.morph_weights.is_empty()) {
                stage.skinner.set_morph_weights(shown, part, &p.morph_weights)?;
            }
            Ok(shown)
        };
        let replaced = replace();
        // What was shown before, or, after an error, what was to be.
        let old = if replaced.is_ok() { std::mem::replace(&mut self.meshes, made) } else { made };
        for mesh in old {
            let removed = context.stage.skinner.remove_mesh(mesh);
            context.check(removed);
        }
        let Some(shown) = context.check(replaced) else { return };
        self.shown = Some(shown);
        self.drive(context);
        self.place(context);
    }

    /// Says what moves the character.
    fn drive(&mut self, context: &mut Context<'_>) {
        let pose = self.pose(&context.stage.character);
        for id in [Some(context.stage.hero), self.shown].into_iter().flatten() {
            let driven = context.stage.skinner.drive(id, Drive::Local(&pose));
            context.check(driven);
        }
        if let Some(weights) = &mut self.weights {
            weights.recolor |= weights.show == Show::ErrorNow;
        }
    }

    /// Puts it into the picture, in its colours.
    fn place(&mut self, context: &mut Context<'_>) {
        let Some(shown) = self.shown else { return };
        context.stage.shown = vec![context.stage.place(shown)];
        context.stage.overlay = self.overlay.clone().filter(|_| self.legend.is_some()).map(|overlay| (shown, overlay));
    }

    fn recolor(&mut self, context: &mut Context<'_>) {
        let pose = self.pose(&context.stage.character);
        let Some(weights) = &mut self.weights else { return };
        if !std::mem::take(&mut weights.recolor) {
            return;
        }
        let field = weights.field(&pose);
        (self.legend, self.peak) = (None, None);
        if let Some(field) = field {
            let gpu = context.gpu;
            let mut paint = || -> dermis::Result<()> {
                let overlay = match &self.overlay {
                    Some(overlay) => overlay.clone(),
                    None => Arc::new(context.renderer.overlay(&gpu.device, &context.stage.model, &field.map)?),
                };
                if self.map.as_ref() != Some(&field.map) {
                    overlay.set_map(&gpu.queue, &field.map)?;
                }
                for (part, values) in field.values.iter().enumerate() {
                    overlay.write(&gpu.queue, part, values)?;
                }
                self.overlay = Some(overlay);
                Ok(())
            };
            let painted = paint();
            context.check(painted);
            (self.map, self.legend, self.peak) = (Some(field.map), Some(field.legend), field.peak);
        }
        self.place(context);
    }

    fn playback(&mut self, ui: &mut Ui, context: &mut Context<'_>) {
        let clips = &context.stage.character.clips;
        if clips.is_empty() {
            return;
        }
        let before = (self.clip, self.time);
        ui.horizontal(|ui| {
            let label = ui.label("Pose").id;
            let name = |c: usize| if clips[c].name.is_empty() { format!("clip {c}") } else { clips[c].name.clone() };
            let text = self.clip.filter(|&c| c < clips.len()).map_or("rest pose".into(), name);
            let menu = egui::ComboBox::from_id_salt("clip").width(150.0).selected_text(text).truncate();
            let menu = menu.show_ui(ui, |ui| {
                ui.selectable_value(&mut self.clip, None, "rest pose");
                for c in 0..clips.len() {
                    ui.selectable_value(&mut self.clip, Some(c), name(c));
                }
            });
            menu.response.labelled_by(label);
        });
        if let Some(clip) = self.clip.and_then(|c| clips.get(c)) {
            ui.horizontal(|ui| {
                if ui.button(if self.playing { "Pause" } else { "Play" }).clicked() {
                    self.playing = !self.playing;
                }
                ui.spacing_mut().slider_width = (ui.available_width() - 60.0).max(40.0);
                let slider = egui::Slider::new(&mut self.time, 0.0..=f64::from(clip.duration.max(1e-3)));
                if named(ui.add(slider.show_value(false)), "time").changed() {
                    self.playing = false;
                }
                ui.label(format!("{:.2} s", self.time));
            });
        }
        if self.clip != before.0 {
            (self.time, self.playing) = (0.0, self.clip.is_some());
        }
        if (self.clip, self.time) != before {
            self.drive(context);
        }
    }

    fn forget(&mut self) {
        *self = Self::default();
    }

    fn open(&mut self, context: &mut Context<'_>) {
        if self.weights.is_none() {
            self.weights = Weights::new(&context.stage.character);
        }
    }
}

impl Mode for WeightsMode {
    fn name(&self) -> &'static str {
        "Weights"
    }

    fn enter(&mut self, context: &mut Context<'_>) {
        self.open(context);
        if let Some(weights) = &mut self.weights {
            weights.recolor = true;
        }
        self.drive(context);
        self.place(context);
    }

    fn loaded(&mut self, _context: &mut Context<'_>) {
        self.forget();
    }

    fn panel(&mut self, ui: &mut Ui, context: &mut Context<'_>) {
        self.open(context);
        let Some(weights) = &mut self.weights else {
            ui.label("This model has no skinned mesh: there are no weights to look at.");
            return;
        };
        let asks = panel(ui, weights);
        ui.add_space(6.0);
        self.playback(ui, context);
        asks.into_iter().for_each(|ask| self.ask(ask, context));
    }

    fn tick(&mut self, step: f64, context: &mut Context<'_>) -> bool {
        self.files(context);
        let Some(weights) = &mut self.weights else { return false };
        let busy = weights.poll();
        if weights.other.is_some() && weights.recolor && weights.show == Show::Difference {
            weights.difference();
        }
        let clip = self.clip.and_then(|c| context.stage.character.clips.get(c));
        let moves = self.playing && clip.is_some_and(|c| c.duration > 0.0);
        if let Some(clip) = clip.filter(|_| moves) {
            self.time = (self.time + step.min(0.25)).rem_euclid(f64::from(clip.duration));
            self.drive(context);
        }
        if self.weights.as_ref().is_some_and(|w| w.repack) {
            self.repack(context);
        }
        self.recolor(context);
        busy || moves
    }

    fn pointer(&mut self, response: &egui::Response, context: &mut Context<'_>) -> bool {
        let (Some(shown), Some(at)) = (self.shown, response.interact_pointer_pos().filter(|_| response.clicked()))
        else {
            return false;
        };
        let ray = Ray::from(context.projection.ray(at));
        let read = (0..context.stage.parts.len()).map(|part| context.stage.read_back(context.gpu, shown, part));
        let read: dermis::Result<Vec<_>> = read.collect();
        let Some(read) = context.check(read) else { return false };
        let character = &context.stage.character;
        let surfaces: Vec<Surface<'_>> = character
            .parts
            .iter()
            .zip(&read)
            .map(|(p, v)| Surface { positions: &v.positions, indices: &character.meshes[p.mesh].indices })
            .collect();
        if let Some(weights) = &mut self.weights {
            weights.choose(pick(&ray, &surfaces));
        }
        true
    }

    fn overlay(&mut self, ui: &mut Ui, context: &mut Context<'_>) {
        let Some(weights) = &self.weights else { return };
        if let Some(legend) = &self.legend {
            legend.paint(ui, context.projection.picture);
        }
        let pose = self.pose(&context.stage.character);
        let paint = |at: super::Chosen, text: &str, color: Color32| {
            if let Some((place, normal)) = weights.place(at, &pose) {
                let place = Vec3::from(place);
                let behind = Vec3::from(normal).dot(context.projection.eye() - place) < 0.0;
                mark::mark(ui, &context.projection, place, text, color, behind);
            }
        };
        if let Some((at, text)) = &self.peak {
            paint(*at, &format!("max {text}, vertex {}", at.vertex), Color32::from_rgb(120, 220, 255));
        }
        if let Some(at) = weights.chosen {
            let text =
                if self.peak.as_ref().is_some_and(|p| p.0 == at) { String::new() } else { format!("{}", at.vertex) };
            paint(at, &text, Color32::WHITE);
        }
    }

    fn undo(&mut self, _context: &mut Context<'_>) -> bool {
        self.weights.as_mut().is_some_and(Weights::undo)
    }

    fn redo(&mut self, _context: &mut Context<'_>) -> bool {
        self.weights.as_mut().is_some_and(Weights::redo)
    }

    fn keys(&mut self, input: &mut egui::InputState, _context: &mut Context<'_>) {
        let Some(weights) = &mut self.weights else { return };
        use egui::{Key, Modifiers};
        let numbers = [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5, Key::Num6, Key::Num7, Key::Num8];
        for (most, key) in (1u8..).zip(numbers) {
            if input.consume_key(Modifiers::NONE, key) {
                weights.settings.max_influences = most;
                weights.prune = true;
                weights.changed();
            }
        }
        if weights.chosen.is_some() && input.consume_key(Modifiers::NONE, Key::Escape) {
            weights.choose(None);
        }
    }

    fn help(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("Click", "Choose a vertex and see what pulls at it"),
            ("1 … 8", "Prune to that many influences"),
            ("Esc", "Choose no vertex"),
        ]
    }

    fn unsaved(&self) -> Option<String> {
        let steps = self.weights.as_ref().map_or(0, Weights::steps_done);
        (steps != self.saved).then(|| "edited weights".into())
    }
}
