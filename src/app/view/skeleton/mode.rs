//! The skeleton mode in the window.

use std::path::{Path, PathBuf};

use egui::Ui;

use super::panel::panel;
use super::{Ask, Bound, Click, Skeleton};
use crate::app::view::jobs::Job;
use crate::app::view::mode::{Context, Made, Mode, Request};
use crate::app::view::pick::{Ray, Surface, middle};

/// A file that is being chosen.
enum Pending {
    Save(Job<Option<PathBuf>>),
    Sample(Job<Option<PathBuf>>),
}

/// The skeleton tab.
#[derive(Default)]
pub struct SkeletonMode {
    skeleton: Option<Skeleton>,
    /// Skinned positions of the parts, while the pose does not change.
    surface: Option<Vec<Vec<[f32; 3]>>>,
    clicked: Option<egui::Pos2>,
    pending: Vec<Pending>,
    /// What binding came to, to be shown with the character it made.
    note: Option<String>,
}

impl SkeletonMode {
    fn open(&mut self, context: &mut Context<'_>) {
        if self.skeleton.is_some() {
            return;
        }
        let mut skeleton = Skeleton::new(context.stage.character.clone(), context.origin());
        skeleton.note = self.note.take().filter(|_| context.made.is_some());
        self.skeleton = Some(skeleton);
        self.surface = None;
    }

    fn ask(&mut self, ask: Ask, context: &mut Context<'_>) {
        let Some(skeleton) = &mut self.skeleton else { return };
        let name = &skeleton.character.name;
        match ask {
            Ask::Save => {
                let name = format!("{name}-posed.glb");
                let dialog = context.jobs.save_file("Save a copy in this pose", "glTF binary", &["glb", "vrm"], &name);
                self.pending.push(Pending::Save(dialog));
            }
            Ask::SaveSample => {
                let name = format!("{name}-space.json");
                let title = "Save the pose into a pose space";
                self.pending.push(Pending::Sample(context.jobs.save_file(title, "Pose space", &["json"], &name)));
            }
        }
    }

    fn files(&mut self, context: &mut Context<'_>) {
        for mut pending in std::mem::take(&mut self.pending) {
            let Some(skeleton) = &mut self.skeleton else { return };
            let (Pending::Save(job) | Pending::Sample(job)) = &mut pending;
            let Some(answer) = job.take() else {
                self.pending.push(pending);
                continue;
            };
            let Some(Some(path)) = context.check(answer) else { continue };
            let saved = match pending {
                Pending::Save(_) => skeleton.save(&path),
                Pending::Sample(_) => skeleton.save_sample(&path).map(|note| vec![note]),
            };
            if let Some(notes) = context.check(saved) {
                context.messages.note = Some(said(&path, &notes));
                skeleton.kept();
            }
        }
    }

    /// Skinned positions of the parts, for placing joints.
    fn read(&mut self, context: &mut Context<'_>) {
        if self.surface.is_some() {
            return;
        }
        let hero = context.stage.hero;
        let read = (0..context.stage.parts.len())
            .map(|part| context.stage.read_back(context.gpu, hero, part).map(|v| v.positions))
            .collect::<dermis::Result<Vec<_>>>();
        self.surface = context.check(read);
    }
}

/// Where something went, and what could not be kept.
fn said(path: &Path, notes: &[String]) -> String {
    std::iter::once(format!("Saved {}", path.display())).chain(notes.iter().cloned()).collect::<Vec<_>>().join("\n")
}

impl Mode for SkeletonMode {
    fn name(&self) -> &'static str {
        "Skeleton"
    }

    fn enter(&mut self, context: &mut Context<'_>) {
        self.open(context);
        self.surface = None;
        if let Some(skeleton) = &mut self.skeleton {
            skeleton.posed = true;
        }
    }

    fn loaded(&mut self, _context: &mut Context<'_>) {
        *self = Self { note: self.note.take(), ..Self::default() };
    }

    fn panel(&mut self, ui: &mut Ui, context: &mut Context<'_>) {
        self.open(context);
        let Some(skeleton) = &mut self.skeleton else { return };
        let asks = panel(ui, skeleton);
        asks.into_iter().for_each(|ask| self.ask(ask, context));
    }

    fn tick(&mut self, _step: f64, context: &mut Context<'_>) -> bool {
        self.files(context);
        let Some(skeleton) = &mut self.skeleton else { return false };
        if let Some(Bound { glb, warnings }) = skeleton.poll() {
            skeleton.bound = true;
            let name = skeleton.character.name.clone();
            context.requests.push(Request::Show(Made { name, glb }));
            let done = "Bound. Turn the joints to try it, then save it.".to_owned();
            self.note = Some(std::iter::once(done).chain(warnings).collect::<Vec<_>>().join("\n"));
            return true;
        }
        if std::mem::take(&mut skeleton.posed)
            && let Some(pose) = skeleton.pose()
        {
            let held = context.stage.hold(pose);
            context.check(held);
        }
        skeleton.binding().is_some()
    }

    fn pointer(&mut self, response: &egui::Response, _context: &mut Context<'_>) -> bool {
        self.clicked = response.interact_pointer_pos().filter(|_| response.clicked());
        self.clicked.is_some()
    }

    fn overlay(&mut self, ui: &mut Ui, context: &mut Context<'_>) {
        let clicked = self.clicked.take();
        if clicked.is_some() && self.skeleton.as_ref().is_some_and(|s| s.poser.is_none()) {
            self.read(context);
        }
        let Some(skeleton) = &mut self.skeleton else { return };
        let surface = self.surface.as_deref().unwrap_or_default();
        let character = &context.stage.character;
        let mut place = |ray: &Ray| {
            let surfaces: Vec<Surface<'_>> = character
                .parts
                .iter()
                .zip(surface)
                .map(|(p, positions)| Surface { positions, indices: &character.meshes[p.mesh].indices })
                .collect();
            middle(ray, &surfaces)
        };
        if let Click::Taken = skeleton.paint(ui, &context.projection, clicked, &mut place) {
            ui.ctx().request_repaint();
        }
    }

    fn undo(&mut self, _context: &mut Context<'_>) -> bool {
        self.skeleton.as_mut().is_some_and(Skeleton::undo)
    }

    fn redo(&mut self, _context: &mut Context<'_>) -> bool {
        self.skeleton.as_mut().is_some_and(Skeleton::redo)
    }

    fn keys(&mut self, input: &mut egui::InputState, _context: &mut Context<'_>) {
        let Some(skeleton) = &mut self.skeleton else { return };
        let delete = input.consume_key(egui::Modifiers::NONE, egui::Key::Delete);
        if let Some(joint) = skeleton.chosen.filter(|_| delete && skeleton.poser.is_none()) {
            skeleton.delete(joint);
        }
    }

    fn help(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("Click", "Choose a joint; on a mesh without a skeleton, place one"),
            ("Drag a ring", "Turn the chosen joint"),
            ("Delete", "Delete the chosen joint of a skeleton that is being drawn"),
        ]
    }

    fn unsaved(&self) -> Option<String> {
        self.skeleton.as_ref().filter(|s| s.unsaved()).map(|s| match s.poser {
            Some(_) if s.made() => "a new skeleton".into(),
            Some(_) => "a pose".into(),
            None => "a skeleton".into(),
        })
    }
}
