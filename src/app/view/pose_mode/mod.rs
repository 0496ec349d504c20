//! The Pose tab: a pose space as a polygon or a solid, hands whose fingers can be held, and what is saved of it.
//!
//! ```text
//! mod        the tab (trait Mode): draws, drives the stage
//! desk         what is edited, what the user can ask for (Act), steps back
//! setup          a space in use: point, locks, hands            edit   changes of the space itself
//! desk_ui      panel and window                                 menu   of a corner
//! clip         a pose taken from a clip
//! plane solid hand_map   the widgets                            shape colors   what they share
//! pictures     the corners' thumbnails
//! files        reading and writing
//! ```
//! The pose itself is blended on the GPU ([`Drive::Space`]); the CPU's copy is for numbers, marks and files.

mod clip;
mod colors;
mod desk;
mod desk_ui;
mod edit;
mod files;
mod hand_map;
mod menu;
mod pictures;
mod plane;
mod setup;
mod shape;
mod solid;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use dermis::gpu::{Drive, SpaceId};
use dermis::pose::{PoseSpace, SpaceState, Surfaces, joint_worlds};
use egui::{Align2, Color32, FontId, Stroke, Ui};
use glam::{Quat, Vec3};

use super::jobs::Job;
use super::mode::{Context, Mode};
use crate::app::textures;
use desk::{Act, Desk};
use desk_ui::Wish;
use pictures::Pictures;

/// Colour of joints that a limit stops.
const LIMIT: Color32 = Color32::from_rgb(255, 140, 40);

/// The tab.
pub struct PoseMode {
    desk: Option<Desk>,
    /// The space on the GPU and what it was made from.
    space: Option<(SpaceId, Arc<PoseSpace>)>,
    /// What the hero was driven with.
    driven: Option<SpaceState>,
    /// Index of the mixed textures on the stage, what they were made from, and which joints each material follows.
    mixed: Option<(usize, Vec<Option<String>>, Surfaces)>,
    pictures: Pictures,
    /// How a solid is turned.
    turn: Quat,
    dialog: Option<(Wish, Job<Option<PathBuf>>)>,
    /// Where the window is.
    window: Option<egui::Rect>,
}

impl Default for PoseMode {
    fn default() -> Self {
        Self {
            desk: None,
            space: None,
            driven: None,
            mixed: None,
            pictures: Pictures::default(),
            turn: solid::first_turn(),
            dialog: None,
            window: None,
        }
    }
}

impl Mode for PoseMode {
    fn name(&self) -> &'static str {
        "Pose"
    }

    fn loaded(&mut self, context: &mut Context<'_>) {
        *self = Self::default();
        self.desk = context.check(Desk::new(&context.stage.character));
    }

    fn enter(&mut self, context: &mut Context<'_>) {
        if self.desk.is_none() {
            self.desk = context.check(Desk::new(&context.stage.character));
        }
        self.driven = None;
        self.drive(context);
    }

    fn leave(&mut self, context: &mut Context<'_>) {
        let outcome = self.pictures.clear(context.stage);
        context.check(outcome);
        context.stage.seconds = 0.0;
    }

    fn tick(&mut self, step: f64, context: &mut Context<'_>) -> bool {
        self.answer(context);
        let eye = context.projection.eye().to_array();
        let Some(desk) = &mut self.desk else { return false };
        desk.choose_hand(&context.stage.character, eye);
        let moving = desk.tick(step);
        context.stage.seconds = desk.clock;
        moving || self.pictures.busy()
    }

    fn panel(&mut self, ui: &mut Ui, context: &mut Context<'_>) {
        let Some(desk) = &mut self.desk else { return };
        let mut acts = clip::panel(ui, desk, &context.stage.character);
        let (more, wishes) = desk_ui::panel(ui, desk);
        acts.extend(more);
        self.act(&acts, context);
        wishes.into_iter().for_each(|wish| self.wish(wish, context));
    }

    fn pointer(&mut self, response: &egui::Response, context: &mut Context<'_>) -> bool {
        if let Some(at) = response.interact_pointer_pos().filter(|_| response.clicked()) {
            self.touch(at, context);
        }
        false
    }

    fn overlay(&mut self, ui: &mut Ui, context: &mut Context<'_>) {
        self.marks(ui, context);
        let ids = self.pictures.ids();
        let Some(desk) = &mut self.desk else { return };
        let picture = ui.max_rect();
        let width = (0.42 * picture.width()).clamp(240.0, 350.0);
        let at = picture.right_bottom() + egui::vec2(-width - 34.0, -width - 120.0);
        let shown = egui::Window::new("Pose space")
            .default_pos(at)
            .default_width(width)
            .min_width(220.0)
            .resizable([true, false])
            .constrain_to(picture)
            .show(ui.ctx(), |ui| desk_ui::window(ui, desk, &context.stage.character, &ids, &mut self.turn));
        self.window = shown.as_ref().map(|s| s.response.rect);
        if let Some(acts) = shown.and_then(|s| s.inner) {
            self.act(&acts, context);
        }
        if let Some(wish) = self.desk.as_mut().and_then(|desk| desk.wish.take()) {
            self.wish(wish, context);
        }
        self.drive(context);
    }

    fn covered(&self) -> Option<egui::Rect> {
        self.window
    }

    fn help(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("Drag in the shape", "Move the point"),
            ("Arrows", "Move the point that has the focus (Shift: far, Alt: near)"),
            ("Page up, page down", "Move it towards you or away, in a solid"),
            ("Click on a corner", "Choose its pose"),
            ("Click on a finger", "Hold it or let it go"),
        ]
    }

    fn undo(&mut self, _context: &mut Context<'_>) -> bool {
        self.desk.as_mut().is_some_and(|desk| desk.step(true))
    }

    fn redo(&mut self, _context: &mut Context<'_>) -> bool {
        self.desk.as_mut().is_some_and(|desk| desk.step(false))
    }

    fn unsaved(&self) -> Option<String> {
        self.desk.as_ref().filter(|desk| desk.edited() && desk.undo.can_undo()).map(|_| "edited pose space".into())
    }
}

impl PoseMode {
    fn act(&mut self, acts: &[Act], context: &mut Context<'_>) {
        let eye = context.projection.eye().to_array();
        for act in acts {
            let Some(desk) = &mut self.desk else { return };
            let outcome = desk.act(&context.stage.character, eye, act);
            context.check(outcome);
        }
    }

    /// Brings what was changed to the GPU.
    fn drive(&mut self, context: &mut Context<'_>) {
        let outcome = self.try_drive(context);
        context.check(outcome);
    }

    fn try_drive(&mut self, context: &mut Context<'_>) -> Result<(), String> {
        let Some(desk) = &self.desk else { return Ok(()) };
        let stage = &mut *context.stage;
        let text = |e: dermis::Error| e.to_string();
        let setup = &desk.setup;
        let id = match &mut self.space {
            Some((id, known)) => {
                if !Arc::ptr_eq(known, &setup.space) {
                    stage.skinner.replace_space(*id, &setup.space).map_err(text)?;
                    *known = setup.space.clone();
                    self.driven = None;
                }
                *id
            }
            none => {
                let id = stage.skinner.add_space(stage.rig, &setup.space).map_err(text)?;
                *none = Some((id, setup.space.clone()));
                id
            }
        };
        if self.driven.as_ref() != Some(&setup.state) {
            stage.skinner.drive(stage.hero, Drive::Space { space: id, state: &setup.state }).map_err(text)?;
            self.driven = Some(setup.state.clone());
        }
        stage.seconds = desk.clock;
        self.pictures.draw(context, desk, id).map_err(text)?;
        self.mix(context)
    }

    /// Mixes the textures of the poses, each material by the joints that carry it.
    fn mix(&mut self, context: &mut Context<'_>) -> Result<(), String> {
        let Some(desk) = &self.desk else { return Ok(()) };
        let (space, stage) = (&desk.setup.space, &mut *context.stage);
        let names: Vec<Option<String>> = space.samples().iter().map(|s| s.texture.clone()).collect();
        if names.iter().all(Option::is_none) {
            self.mixed = None;
            stage.shown.iter_mut().for_each(|p| p.mix = None);
            return Ok(());
        }
        let text = |e: dermis::Error| e.to_string();
        if self.mixed.as_ref().is_none_or(|m| m.1 != names) {
            let file = desk.file.clone().unwrap_or_default();
            let pictures = textures::of_samples(space, &stage.character, &desk.chosen_pictures, &file)?;
            let pictures = pictures.unwrap_or_default();
            stage.mix(context.gpu, context.renderer, &pictures, &[]).map_err(text)?;
            let surfaces = space.surfaces(&stage.character).map_err(text)?;
            self.mixed = Some((stage.mixes.len() - 1, names, surfaces));
        }
        let Some((index, _, surfaces)) = &self.mixed else { return Ok(()) };
        stage.shown.iter_mut().filter(|p| p.character == stage.hero).for_each(|p| p.mix = Some(*index));
        let weights = space.surface_weights(surfaces, &desk.setup.state, desk.clock).map_err(text)?;
        if let Some(mix) = stage.mixes.get_mut(*index) {
            for (material, weights) in weights.iter().enumerate() {
                mix.set_material_weights(material, weights).map_err(text)?;
            }
        }
        Ok(())
    }

    /// The hand that a click on the picture means.
    fn touch(&mut self, at: egui::Pos2, context: &Context<'_>) {
        let Some(desk) = &mut self.desk else { return };
        let Some(hands) = &desk.hands else { return };
        let Ok(worlds) = joint_worlds(&context.stage.character.rig, &desk.blended.pose) else { return };
        let mut best = (40.0, None);
        for hand in &hands.hands {
            for node in hand.nodes() {
                let seen = context.projection.screen(Vec3::from(worlds[node].rows.map(|r| r[3])));
                let away = seen.map_or(f32::INFINITY, |s| s.distance(at));
                if away < best.0 {
                    best = (away, Some(hand.side));
                }
            }
        }
        desk.hand = best.1.or(desk.hand);
    }

    /// Marks the joints that a limit stops.
    fn marks(&self, ui: &Ui, context: &Context<'_>) {
        let Some(desk) = &self.desk else { return };
        let rig = &context.stage.character.rig;
        if !desk.blended.clamped.contains(&true) {
            return;
        }
        let Ok(worlds) = joint_worlds(rig, &desk.blended.pose) else { return };
        for (node, _) in desk.blended.clamped.iter().enumerate().filter(|(_, c)| **c) {
            let world = Vec3::from(worlds[node].rows.map(|r| r[3]));
            let Some(at) = context.projection.screen(world) else { continue };
            ui.painter().circle_stroke(at, 7.0, Stroke::new(4.0, Color32::from_black_alpha(120)));
            ui.painter().circle_stroke(at, 7.0, Stroke::new(2.0, LIMIT));
            if ui.input(|i| i.pointer.hover_pos()).is_some_and(|p| p.distance(at) < 9.0) {
                let text = format!("{}: at its limit", rig.nodes[node].name);
                ui.painter().text(
                    at + egui::vec2(11.0, 0.0),
                    Align2::LEFT_CENTER,
                    text,
                    FontId::proportional(12.0),
                    LIMIT,
                );
            }
        }
    }

    fn wish(&mut self, wish: Wish, context: &Context<'_>) {
        self.dialog = self.desk.as_ref().map(|desk| (wish, files::ask(wish, desk, context)));
    }

    /// Does what a file dialog was for.
    fn answer(&mut self, context: &mut Context<'_>) {
        let Some((wish, job)) = &mut self.dialog else { return };
        let (wish, Some(answer)) = (*wish, job.take()) else { return };
        self.dialog = None;
        let Some(Some(path)) = context.check(answer) else { return };
        let Some(desk) = &mut self.desk else { return };
        if let Wish::Texture(sample) = wish {
            let name = desk.choose_picture(&path);
            if let Some(name) = context.check(name) {
                self.act(&[Act::Texture(sample, Some(name))], context);
            }
            return;
        }
        let outcome = files::fulfil(wish, desk, context, &path);
        if let Some(note) = context.check(outcome) {
            context.messages.note = Some(note);
        }
    }
}
