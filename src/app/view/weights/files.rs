//! Files of the weights mode: what is asked for, chosen, read and written.

use std::path::PathBuf;

use dermis::Character;
use glam::Vec3;

use super::mode::WeightsMode;
use super::{Ask, Show};
use crate::app::preset::Settings;
use crate::app::view::camera::Orbit;
use crate::app::view::jobs::Job;
use crate::app::view::mode::Context;

/// A file that is being chosen or worked on.
pub enum Pending {
    Save(Job<Option<PathBuf>>),
    SavePreset(Job<Option<PathBuf>>),
    LoadPreset(Job<Option<PathBuf>>),
    Compare(Job<Option<PathBuf>>),
    Read(Job<Character>),
}

impl WeightsMode {
    pub(super) fn ask(&mut self, ask: Ask, context: &mut Context<'_>) {
        let jobs = context.jobs;
        match ask {
            Ask::Save => {
                let name = format!("{}-weights.glb", context.stage.character.name);
                let dialog = jobs.save_file("Save a copy with these weights", "glTF binary", &["glb", "vrm"], &name);
                self.pending.push(Pending::Save(dialog));
            }
            Ask::SavePreset => {
                let dialog = jobs.save_file("Save the pruning settings", "Preset", &["json"], "preset.json");
                self.pending.push(Pending::SavePreset(dialog));
            }
            Ask::LoadPreset => {
                self.pending.push(Pending::LoadPreset(jobs.open_file("Load pruning settings", "Preset", &["json"])));
            }
            Ask::Compare => {
                let kinds = ["glb", "gltf", "vrm"];
                self.pending.push(Pending::Compare(jobs.open_file("Compare the weights with", "glTF models", &kinds)));
            }
            Ask::Look(at) => {
                let pose = self.pose(&context.stage.character);
                if let Some(weights) = &mut self.weights {
                    weights.chosen = Some(at);
                    if let Some((place, normal)) = weights.place(at, &pose) {
                        look(context.orbit, place.into(), normal.into());
                    }
                }
            }
        }
    }

    /// Takes in files that were chosen and read.
    pub(super) fn files(&mut self, context: &mut Context<'_>) {
        for mut pending in std::mem::take(&mut self.pending) {
            let Some(weights) = &mut self.weights else { return };
            match &mut pending {
                Pending::Save(job) | Pending::SavePreset(job) | Pending::LoadPreset(job) | Pending::Compare(job) => {
                    let Some(answer) = job.take() else {
                        self.pending.push(pending);
                        continue;
                    };
                    let Some(Some(path)) = context.check(answer) else { continue };
                    match pending {
                        Pending::Save(_) => {
                            let saved = weights.save(&context.origin(), &path);
                            if let Some(warnings) = context.check(saved) {
                                self.saved = weights.steps_done();
                                context.messages.note = Some(said(&path, &warnings));
                            }
                        }
                        Pending::SavePreset(_) => {
                            if context.check(weights.settings.write(&path)).is_some() {
                                context.messages.note = Some(format!("Saved {}", path.display()));
                            }
                        }
                        Pending::LoadPreset(_) => {
                            if let Some(settings) = context.check(Settings::read(&path)) {
                                weights.settings = settings;
                                weights.changed();
                            }
                        }
                        _ => {
                            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                            let job = context.jobs.start(&format!("Reading {name}"), move |_| {
                                dermis::io::load(&path).map_err(|e| e.to_string())
                            });
                            self.pending.push(Pending::Read(job));
                        }
                    }
                }
                Pending::Read(job) => match job.take() {
                    None => self.pending.push(pending),
                    Some(answer) => {
                        if let Some(character) = context.check(answer)
                            && context.check(weights.compare(&character)).is_some()
                        {
                            (weights.show, weights.recolor) = (Show::Difference, true);
                        }
                    }
                },
            }
        }
    }
}

/// Turns the camera so that it looks at a place from outside, as near as it is.
fn look(orbit: &mut Orbit, at: Vec3, normal: Vec3) {
    orbit.target = at;
    if let Some(n) = normal.try_normalize() {
        orbit.yaw = n.x.atan2(n.z).rem_euclid(std::f32::consts::TAU);
        orbit.pitch = n.y.asin().clamp(-1.2, 1.2);
    }
}

/// Where something went, and what could not be kept.
fn said(path: &std::path::Path, warnings: &[String]) -> String {
    std::iter::once(format!("Saved {}", path.display())).chain(warnings.iter().cloned()).collect::<Vec<_>>().join("\n")
}
