//! The viewer's side panel.

use egui::{Align, Color32, Layout, RichText, Ui};

use dermis::character::Target;

use super::scene::Stage;

/// Width of the panel in points.
pub const WIDTH: f32 = 250.0;

/// What the panel shows and changes.
pub struct Controls {
    /// Clip that plays; the rest pose without one.
    pub clip: Option<usize>,
    /// Seconds into the clip.
    pub time: f64,
    pub playing: bool,
    pub speed: f32,
    pub looping: bool,
    pub grid: bool,
    /// Morph weights of each part.
    pub morphs: Vec<Vec<f32>>,
    /// What went wrong, until it is dismissed.
    pub problem: Option<String>,
    /// What was done last, such as where a picture went.
    pub note: Option<String>,
    /// File that is being read.
    pub loading: Option<String>,
    /// Name of the adapter.
    pub adapter: String,
    /// What it is driven by.
    pub backend: String,
    /// Smoothed milliseconds from frame to frame while something moves.
    pub frame_ms: f32,
}

impl Default for Controls {
    fn default() -> Self {
        Self {
            clip: None,
            time: 0.0,
            playing: true,
            speed: 1.0,
            looping: true,
            grid: true,
            morphs: Vec::new(),
            problem: None,
            note: None,
            loading: None,
            adapter: String::new(),
            backend: String::new(),
            frame_ms: 0.0,
        }
    }
}

impl Controls {
    /// Plays or pauses; at the end of a clip that is `duration` seconds long it starts over.
    pub fn toggle(&mut self, duration: f32) {
        self.playing = !self.playing;
        if self.playing && self.time >= f64::from(duration) {
            self.time = 0.0;
        }
    }
}

/// What the user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Open,
    FrameAll,
    Screenshot,
    ChangeClip,
    ChangeMorphs(usize),
}

/// Draws the panel; `stage` is what is shown, if anything.
pub fn show(ui: &mut Ui, controls: &mut Controls, stage: Option<&Stage>) -> Vec<Action> {
    let mut actions = Vec::new();
    egui::Panel::left("controls").resizable(false).exact_size(WIDTH).show(ui, |ui| {
        egui::Panel::bottom("device").resizable(false).frame(egui::Frame::NONE).show(ui, |ui| device(ui, controls));
        egui::ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            ui.add_space(4.0);
            header(ui, stage, &mut actions);
            if let Some(stage) = stage {
                clips(ui, controls, stage, &mut actions);
                morphs(ui, controls, stage, &mut actions);
                warnings(ui, stage);
            }
            scene(ui, controls, &mut actions);
        });
    });
    messages(ui, controls);
    actions
}

fn header(ui: &mut Ui, stage: Option<&Stage>, actions: &mut Vec<Action>) {
    ui.horizontal(|ui| {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if ui.button("Open…").on_hover_text("Or drop a file on the window").clicked() {
                actions.push(Action::Open);
            }
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                let name = stage.map_or("dermis", |s| s.character.name.as_str());
                ui.add(egui::Label::new(RichText::new(name).heading().strong()).truncate());
            });
        });
    });
    if let Some(stage) = stage {
        let c = &stage.character;
        let vertices: usize = c.parts.iter().filter_map(|p| c.meshes.get(p.mesh)).map(|m| m.positions.len()).sum();
        let joints: usize = c.skins.iter().map(|s| s.joints.len()).sum();
        ui.weak(format!("{}, {}", count(vertices, "vertex", "vertices"), count(joints, "joint", "joints")));
    }
}

fn clips(ui: &mut Ui, controls: &mut Controls, stage: &Stage, actions: &mut Vec<Action>) {
    let clips = &stage.character.clips;
    if clips.is_empty() {
        return;
    }
    section(ui, "Clips");
    let before = controls.clip;
    egui::ScrollArea::vertical().id_salt("clips").max_height(180.0).show(ui, |ui| {
        ui.with_layout(Layout::top_down_justified(Align::Min), |ui| {
            choice(ui, &mut controls.clip, None, "Rest pose");
            for (i, clip) in clips.iter().enumerate() {
                let name = if clip.name.is_empty() { format!("clip {i}") } else { clip.name.clone() };
                choice(ui, &mut controls.clip, Some(i), &name);
            }
        });
    });
    if controls.clip != before {
        controls.time = 0.0;
        controls.playing = true;
        actions.push(Action::ChangeClip);
    }
    let Some(clip) = controls.clip.and_then(|i| clips.get(i)) else { return };
    ui.add_space(4.0);
    ui.horizontal(|ui| {
        let name = if controls.playing { "Pause" } else { "Play" };
        let button = egui::Button::new(name).min_size(egui::vec2(52.0, 0.0));
        if ui.add(button).on_hover_text("Space").clicked() {
            controls.toggle(clip.duration);
        }
        let rest = ui.available_width() - 58.0;
        ui.spacing_mut().slider_width = rest.max(40.0);
        let slider = egui::Slider::new(&mut controls.time, 0.0..=f64::from(clip.duration.max(1e-3))).show_value(false);
        if ui.add(slider).changed() {
            controls.playing = false;
        }
        ui.label(format!("{:.2} s", controls.time));
    });
    ui.horizontal(|ui| {
        ui.checkbox(&mut controls.looping, "Loop");
        ui.spacing_mut().slider_width = 70.0;
        ui.add(egui::Slider::new(&mut controls.speed, 0.1..=4.0).logarithmic(true).suffix("×").max_decimals(2))
            .on_hover_text("Speed");
    });
}

fn choice(ui: &mut Ui, chosen: &mut Option<usize>, value: Option<usize>, name: &str) {
    let button = egui::Button::selectable(*chosen == value, name).truncate();
    if ui.add(button).clicked() {
        *chosen = value;
    }
}

fn morphs(ui: &mut Ui, controls: &mut Controls, stage: &Stage, actions: &mut Vec<Action>) {
    let c = &stage.character;
    if controls.morphs.iter().all(Vec::is_empty) {
        return;
    }
    section(ui, "Morph targets");
    let clip = controls.clip.and_then(|i| c.clips.get(i));
    for (part, weights) in controls.morphs.iter_mut().enumerate().filter(|(_, w)| !w.is_empty()) {
        // What the clip drives it has the last word on: shown, not changed.
        let driven = clip.filter(|c| c.channels.iter().any(|c| c.target == Target::Morph(part)));
        let mut shown = weights.clone();
        let weights = match driven {
            None => weights,
            Some(clip) => {
                clip.sample_morphs(part, controls.time as f32, &mut shown);
                &mut shown
            }
        };
        let targets = &c.meshes[c.parts[part].mesh].morphs;
        let name = if c.parts[part].name.is_empty() { format!("part {part}") } else { c.parts[part].name.clone() };
        let open = targets.len() <= 8;
        egui::CollapsingHeader::new(name).id_salt(("morphs", part)).default_open(open).show(ui, |ui| {
            ui.spacing_mut().slider_width = 90.0;
            if driven.is_some() {
                ui.disable();
            }
            for (i, (weight, target)) in weights.iter_mut().zip(targets).enumerate() {
                let name = if target.name.is_empty() { format!("target {i}") } else { target.name.clone() };
                ui.horizontal(|ui| {
                    if ui.add(egui::Slider::new(weight, 0.0..=1.0).max_decimals(2)).changed() {
                        actions.push(Action::ChangeMorphs(part));
                    }
                    ui.add(egui::Label::new(name.as_str()).truncate()).on_hover_text(name);
                });
            }
        });
    }
}

fn warnings(ui: &mut Ui, stage: &Stage) {
    let warnings = &stage.character.warnings;
    if warnings.is_empty() {
        return;
    }
    ui.add_space(8.0);
    let title = count(warnings.len(), "warning", "warnings");
    egui::CollapsingHeader::new(RichText::new(title).color(ui.visuals().warn_fg_color)).id_salt("warnings").show(
        ui,
        |ui| {
            for warning in warnings {
                ui.label(warning);
            }
        },
    );
}

fn scene(ui: &mut Ui, controls: &mut Controls, actions: &mut Vec<Action>) {
    section(ui, "View");
    ui.checkbox(&mut controls.grid, "Ground (G)");
    ui.horizontal(|ui| {
        if ui.button("Frame all (F)").clicked() {
            actions.push(Action::FrameAll);
        }
        if ui.button("Screenshot (S)").clicked() {
            actions.push(Action::Screenshot);
        }
    });
    ui.add_space(4.0);
    ui.weak("Drag to turn, right-drag or shift-drag to move, scroll or pinch to zoom.");
    if let Some(note) = &controls.note {
        ui.add_space(4.0);
        ui.label(note);
    }
}

fn device(ui: &mut Ui, controls: &Controls) {
    ui.add_space(4.0);
    let ms = controls.frame_ms;
    let speed = if ms > 0.0 { format!("{ms:.1} ms, {:.0} fps", 1000.0 / ms) } else { "still".into() };
    ui.label(format!("{speed}, {}", controls.backend));
    ui.add(egui::Label::new(RichText::new(&controls.adapter).weak()).truncate()).on_hover_text(&controls.adapter);
    ui.add_space(2.0);
}

/// What is being read and what went wrong, over the picture.
fn messages(ui: &Ui, controls: &mut Controls) {
    let free = ui.available_rect_before_wrap();
    if let Some(name) = &controls.loading {
        let area =
            egui::Area::new(egui::Id::unique("loading")).pivot(egui::Align2::CENTER_CENTER).fixed_pos(free.center());
        area.interactable(false).show(ui.ctx(), |ui| {
            egui::Frame::popup(ui.style()).show(ui, |ui| {
                ui.horizontal(|ui| {
                    ui.spinner();
                    ui.label(format!("Reading {name}"));
                });
            });
        });
    }
    let Some(problem) = controls.problem.clone() else { return };
    let at = egui::pos2(free.center().x, free.top() + 16.0);
    let area = egui::Area::new(egui::Id::unique("problem")).pivot(egui::Align2::CENTER_TOP).fixed_pos(at);
    area.show(ui.ctx(), |ui| {
        let fill =
            if ui.visuals().dark_mode { Color32::from_rgb(84, 28, 28) } else { Color32::from_rgb(255, 224, 220) };
        egui::Frame::popup(ui.style()).fill(fill).show(ui, |ui| {
            ui.set_max_width((free.width() - 48.0).clamp(80.0, 460.0));
            ui.label(problem);
            if ui.button("Dismiss").clicked() {
                controls.problem = None;
            }
        });
    });
}

fn section(ui: &mut Ui, title: &str) {
    ui.add_space(8.0);
    ui.separator();
    ui.label(RichText::new(title).strong());
    ui.add_space(2.0);
}

fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
