//! The Play tab: clips and morph targets.

use dermis::character::{Character, Target};
use dermis::gpu::{ClipLayer, Drive, WeightFade};
use egui::{Align, Layout, Ui};

use super::company::Company;
use super::mode::{Context, Mode};
use super::panel::{named, section};
use super::scene::Stage;

/// What the tab shows and changes.
pub struct Play {
    /// Clip that plays; the rest pose without one.
    clip: Option<usize>,
    /// Seconds into the clip.
    time: f64,
    playing: bool,
    speed: f32,
    looping: bool,
    /// Morph weights of each part.
    morphs: Vec<Vec<f32>>,
    /// Seconds in which one clip gives way to another.
    fade: f32,
    /// The hero plays two clips until this time.
    fading: Option<f64>,
    company: Company,
}

impl Default for Play {
    fn default() -> Self {
        Self {
            clip: None,
            time: 0.0,
            playing: true,
            speed: 1.0,
            looping: true,
            morphs: Vec::new(),
            fade: 0.3,
            fading: None,
            company: Company::default(),
        }
    }
}

impl Mode for Play {
    fn name(&self) -> &'static str {
        "Play"
    }

    fn loaded(&mut self, context: &mut Context<'_>) {
        let character = &context.stage.character;
        self.clip = (!character.clips.is_empty()).then_some(0);
        self.time = 0.0;
        self.playing = true;
        self.morphs = morph_weights(character);
        self.fading = None;
        self.company.loaded(context.stage);
    }

    fn enter(&mut self, context: &mut Context<'_>) {
        self.drive(context);
    }

    fn leave(&mut self, context: &mut Context<'_>) {
        let outcome = self.company.leave(context.stage);
        context.check(outcome);
        self.company.alone();
    }

    fn tick(&mut self, step: f64, context: &mut Context<'_>) -> bool {
        let before = self.time;
        let moving = self.advance(step, self.duration(context.stage));
        if self.fading.is_some_and(|end| self.time >= end || self.time < before) {
            self.drive(context);
        }
        context.stage.seconds = self.time;
        moving
    }

    fn panel(&mut self, ui: &mut Ui, context: &mut Context<'_>) {
        self.clips(ui, context);
        self.morphs(ui, context);
        if self.company.panel(ui, context) {
            self.drive(context);
        }
        context.stage.seconds = self.time;
    }

    fn overlay(&mut self, ui: &mut Ui, context: &mut Context<'_>) {
        self.company.overlay(ui, context);
    }

    fn keys(&mut self, input: &mut egui::InputState, context: &mut Context<'_>) {
        if input.consume_key(egui::Modifiers::NONE, egui::Key::Space) {
            self.toggle(self.duration(context.stage));
        }
    }

    fn help(&self) -> &'static [(&'static str, &'static str)] {
        &[("Space", "Play or pause")]
    }
}

impl Play {
    /// Seconds of the clip that is chosen; 0 without one.
    fn duration(&self, stage: &Stage) -> f64 {
        self.clip.and_then(|i| stage.character.clips.get(i)).map_or(0.0, |c| f64::from(c.duration))
    }

    /// Plays or pauses; at the end of the clip it starts over.
    fn toggle(&mut self, duration: f64) {
        self.playing = !self.playing;
        if self.playing && self.time >= duration {
            self.time = 0.0;
        }
    }

    /// Moves the clip's time on; true while it plays.
    fn advance(&mut self, step: f64, duration: f64) -> bool {
        if !self.playing || duration <= 0.0 {
            return false;
        }
        self.time += step * f64::from(self.speed);
        if self.time >= duration {
            if self.looping {
                self.time = self.time.rem_euclid(duration);
            } else {
                self.time = duration;
                self.playing = false;
            }
        }
        true
    }

    fn drive(&mut self, context: &mut Context<'_>) {
        self.fading = None;
        // The panel keeps the time within the clip and starts it over; see `advance`.
        let stage = &mut *context.stage;
        let mut outcome = stage.play(self.clip, false);
        for (part, weights) in self.morphs.iter().enumerate().filter(|(_, w)| !w.is_empty()) {
            outcome = outcome.and_then(|()| stage.set_morphs(part, weights));
        }
        outcome = outcome.and_then(|()| self.company.drive(stage, self.clip, &self.morphs));
        context.check(outcome);
    }

    /// Lets the hero's clip begin while the one before, which was at `time`, fades out.
    fn cross_fade(&mut self, context: &mut Context<'_>, before: Option<usize>, time: f64) {
        let (Some(old), Some(new)) = (before, self.clip) else { return };
        // Not past the clip's end, where the time starts over.
        let seconds = f64::from(self.fade).min(self.duration(context.stage));
        if seconds <= 0.0 {
            return;
        }
        let fade = |from, to| WeightFade { from, to, start: 0.0, seconds };
        let layers = [
            ClipLayer { time, weight: fade(1.0, 0.0), ..ClipLayer::new(old, 0.0) },
            ClipLayer { weight: fade(0.0, 1.0), ..ClipLayer::new(new, 0.0) },
        ];
        let outcome = context.stage.skinner.drive(context.stage.hero, Drive::Clips(&layers));
        context.check(outcome);
        self.fading = Some(seconds);
    }

    fn clips(&mut self, ui: &mut Ui, context: &mut Context<'_>) {
        let clips = &context.stage.character.clips;
        if clips.is_empty() {
            return;
        }
        section(ui, "Clips");
        let before = self.clip;
        egui::ScrollArea::vertical().id_salt("clips").max_height(180.0).show(ui, |ui| {
            ui.with_layout(Layout::top_down_justified(Align::Min), |ui| {
                choice(ui, &mut self.clip, None, "Rest pose");
                for (i, clip) in clips.iter().enumerate() {
                    let name = if clip.name.is_empty() { format!("clip {i}") } else { clip.name.clone() };
                    choice(ui, &mut self.clip, Some(i), &name);
                }
            });
        });
        if self.clip != before {
            let time = std::mem::replace(&mut self.time, 0.0);
            self.playing = true;
            self.drive(context);
            self.cross_fade(context, before, time);
        }
        let duration = self.duration(context.stage);
        if self.clip.is_none() {
            return;
        }
        ui.add_space(4.0);
        ui.horizontal(|ui| {
            let name = if self.playing { "Pause" } else { "Play" };
            let button = egui::Button::new(name).min_size(egui::vec2(52.0, 0.0));
            if ui.add(button).on_hover_text("Space").clicked() {
                self.toggle(duration);
            }
            let rest = ui.available_width() - 58.0;
            ui.spacing_mut().slider_width = rest.max(40.0);
            let slider = egui::Slider::new(&mut self.time, 0.0..=duration.max(1e-3)).show_value(false);
            if named(ui.add(slider), "time").changed() {
                self.playing = false;
            }
            ui.label(format!("{:.2} s", self.time));
        });
        ui.horizontal(|ui| {
            ui.checkbox(&mut self.looping, "Loop");
            ui.spacing_mut().slider_width = 70.0;
            let slider = egui::Slider::new(&mut self.speed, 0.1..=4.0).logarithmic(true).suffix("×").max_decimals(2);
            named(ui.add(slider), "speed").on_hover_text("Speed");
        });
        ui.horizontal(|ui| {
            ui.spacing_mut().slider_width = 70.0;
            ui.add(egui::Slider::new(&mut self.fade, 0.0..=2.0).suffix(" s").max_decimals(2).text("cross-fade"));
        });
    }

    fn morphs(&mut self, ui: &mut Ui, context: &mut Context<'_>) {
        let c = &context.stage.character;
        if self.morphs.iter().all(Vec::is_empty) {
            return;
        }
        section(ui, "Morph targets");
        let mut changed = None;
        let clip = self.clip.and_then(|i| c.clips.get(i));
        for (part, weights) in self.morphs.iter_mut().enumerate().filter(|(_, w)| !w.is_empty()) {
            // What the clip drives it has the last word on: shown, not changed.
            let driven = clip.filter(|c| c.channels.iter().any(|c| c.target == Target::Morph(part)));
            let mut shown = weights.clone();
            let weights = match driven {
                None => weights,
                Some(clip) => {
                    clip.sample_morphs(part, self.time as f32, &mut shown);
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
                        let slider = egui::Slider::new(weight, 0.0..=1.0).max_decimals(2);
                        if named(ui.add(slider), &name).changed() {
                            changed = Some(part);
                        }
                        ui.add(egui::Label::new(name.as_str()).truncate()).on_hover_text(name);
                    });
                }
            });
        }
        if let Some(part) = changed {
            let outcome = context.stage.set_morphs(part, &self.morphs[part]);
            let outcome = outcome.and_then(|()| self.company.drive(context.stage, self.clip, &self.morphs));
            context.check(outcome);
        }
    }
}

fn choice(ui: &mut Ui, chosen: &mut Option<usize>, value: Option<usize>, name: &str) {
    let button = egui::Button::selectable(*chosen == value, name).truncate();
    if ui.add(button).clicked() {
        *chosen = value;
    }
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

#[cfg(test)]
mod tests {
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;

    use crate::app::view::shell::Shell;
    use crate::app::view::testing;

    fn slider<'a>(h: &'a Harness<'static, Shell>, name: &'a str) -> egui_kittest::Node<'a> {
        h.get_by_role_and_label(egui::accesskit::Role::Slider, name)
    }

    #[test]
    fn clips_are_scrubbed_slowed_and_ended_and_crowds_gather() {
        let size = egui::vec2(960.0, 1200.0);
        let mut h = testing::harness(testing::shell_with(size, testing::small_hands()), size);
        let now = |h: &Harness<'static, Shell>| h.state().stage.as_ref().unwrap().seconds;
        h.run_steps(4);
        let start = now(&h);
        h.run_steps(4);
        // 50 ms a frame.
        assert!((now(&h) - start - 0.2).abs() < 1e-9, "{start} {}", now(&h));
        slider(&h, "speed").set_value_accesskit(0.5);
        h.run_steps(1);
        let start = now(&h);
        h.run_steps(4);
        assert!((now(&h) - start - 0.1).abs() < 1e-6, "{start} {}", now(&h));
        // Scrubbing pauses; the slider's steps are small.
        slider(&h, "time").focus();
        h.run_steps(1);
        h.key_press(egui::Key::ArrowRight);
        h.run_steps(1);
        let scrubbed = now(&h);
        h.run_steps(4);
        assert_eq!(now(&h), scrubbed);
        // Without a loop it ends where the clip does, and begins again.
        h.get_by_label("Loop").click();
        slider(&h, "speed").set_value_accesskit(4.0);
        h.run_steps(2);
        // The first one is the tab.
        h.get_all_by_label("Play").last().unwrap().click();
        h.run_steps(60);
        let duration = f64::from(h.state().stage.as_ref().unwrap().character.clips[0].duration);
        assert_eq!(now(&h), duration);
        h.key_press(egui::Key::Space);
        h.run_steps(3);
        assert!(now(&h) < 0.5 * duration);

        slider(&h, "characters").set_value_accesskit(12.0);
        h.run_steps(3);
        let stage = h.state().stage.as_ref().unwrap();
        let crowd: Vec<_> = stage.shown.iter().map(|p| p.character).collect();
        assert!(crowd.len() == 12 && crowd.iter().all(|&c| stage.skinner.vertices(c, 0).is_ok()));
        slider(&h, "characters").set_value_accesskit(1.0);
        h.run_steps(3);
        let stage = h.state().stage.as_ref().unwrap();
        assert_eq!(stage.shown.len(), 1);
        assert!(crowd[1..].iter().all(|&c| stage.skinner.vertices(c, 0).is_err()), "they are gone");
        assert!(h.state().messages.problem.is_none(), "{:?}", h.state().messages.problem);
    }

    #[test]
    fn clips_fade_methods_switch_and_two_stand_side_by_side() {
        let size = egui::vec2(960.0, 1200.0);
        let mut h = testing::harness(testing::shell_with(size, testing::small_hands()), size);
        h.run_steps(3);
        let hero = h.state().stage.as_ref().unwrap().hero;
        // What the engine makes of it: the joint's place while a clip gives way to another is neither's.
        let tip = |h: &mut Harness<'static, Shell>, seconds: f64| {
            let gpu = h.state().gpu.clone();
            let stage = h.state_mut().stage.as_mut().unwrap();
            stage.prepare(&gpu, seconds);
            stage.skinner.joint_world(hero, 9).unwrap().rows.map(|r| r[3])
        };
        h.get_by_label("ripple").click();
        h.run_steps(2);
        let during = tip(&mut h, 0.15);
        h.run_steps(12);
        let after = tip(&mut h, 0.15);
        assert_ne!(during, after, "the old clip still has weight half-way through the fade, and none after it");

        h.get_by_label("Dual quaternion").click();
        h.run_steps(2);
        h.get_by_label("Side by side").click();
        h.run_steps(2);
        assert_eq!(h.state().stage.as_ref().unwrap().shown.len(), 2);
        h.get_by_label("Skeleton").click();
        h.run_steps(2);
        h.get_by_label("Play").click();
        h.run_steps(2);
        assert_eq!(h.state().stage.as_ref().unwrap().shown.len(), 1);
        assert!(h.state().messages.problem.is_none(), "{:?}", h.state().messages.problem);
    }
}
