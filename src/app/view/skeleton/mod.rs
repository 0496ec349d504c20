//! The skeleton mode: drawing a skeleton into a mesh that has none, binding it, and posing joints by hand.

mod bones;
mod build;
mod draft;
mod gizmo;
mod history;
mod limits;
mod mode;
mod panel;
mod poser;
mod sample;
mod save;

use std::sync::Arc;

use dermis::Character;
use dermis::pose::Pose;
use egui::{Sense, Ui, vec2};
use glam::Vec3;

use super::pick::Ray;
use super::projection::Projection;
use super::source::Source;
use bones::Look;
use draft::Draft;
use gizmo::Gizmo;
use history::History;
use poser::Poser;

pub use mode::SkeletonMode;

use build::Bound;
use panel::Ask;

/// The skeleton of the character on show.
pub struct Skeleton {
    pub character: Arc<Character>,
    /// Where a changed copy is made from.
    pub source: Source,
    /// Posing, where there are joints.
    pub poser: Option<Poser>,
    /// Drawing, where there are none.
    pub draft: History<Draft>,
    pub chosen: Option<usize>,
    /// Moving a joint moves those that hang on it.
    pub together: bool,
    pub options: build::Options,
    job: Option<build::Job>,
    gizmo: Gizmo,
    pub names: bool,
    pub show_limits: bool,
    pub ui: panel::Memory,
    held: Option<Held>,
    strokes: u64,
    pub problem: Option<String>,
    pub note: Option<String>,
    /// The pose on show has changed.
    pub posed: bool,
    /// The pose that was saved last.
    saved: Option<Pose>,
    /// What was drawn has become a model of its own.
    bound: bool,
}

/// A joint that the pointer holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    joint: usize,
    /// From where the pointer took hold of it to the joint.
    by: Vec3,
    from: egui::Pos2,
    /// The pointer has moved: it is no click.
    moving: bool,
}

/// A pointer that moves less (points) clicks.
const DEAD: f32 = 4.0;

/// What the mouse met in the picture.
pub enum Click {
    /// Nothing of the skeleton: the host may turn the camera.
    Free,
    Taken,
}

impl Skeleton {
    pub fn new(character: Arc<Character>, source: Source) -> Self {
        Self {
            poser: Poser::new(character.clone()),
            character,
            source,
            draft: History::default(),
            chosen: None,
            together: true,
            options: build::Options::default(),
            job: None,
            gizmo: Gizmo::default(),
            names: false,
            show_limits: true,
            ui: panel::Memory::default(),
            held: None,
            strokes: 0,
            problem: None,
            note: None,
            posed: true,
            saved: None,
            bound: false,
        }
    }

    /// The pose to show; `None` where there is nothing to pose.
    pub fn pose(&self) -> Option<&Pose> {
        self.poser.as_ref().map(Poser::pose)
    }

    /// Binds the drawn skeleton.
    pub fn bind(&mut self) {
        self.problem = None;
        self.job = Some(build::Job::start(self.character.clone(), self.source.clone(), self.draft.now(), self.options));
    }

    /// Since when it binds.
    pub fn binding(&self) -> Option<std::time::Instant> {
        self.job.as_ref().map(|j| j.since)
    }

    /// What was bound, once it is.
    pub fn poll(&mut self) -> Option<Bound> {
        let answer = self.job.as_ref()?.poll()?;
        self.job = None;
        answer.map_err(|problem| self.problem = Some(problem)).ok()
    }

    /// Deletes a drawn joint; its parent is chosen then.
    pub fn delete(&mut self, joint: usize) {
        let mut less = self.draft.now().clone();
        let parent = less.joints.get(joint).and_then(|j| j.parent);
        less.delete(joint);
        self.chosen = parent.map(|p| if p > joint { p - 1 } else { p });
        self.draft.set(less);
    }

    /// What there is was saved.
    pub fn kept(&mut self) {
        self.saved = self.pose().cloned();
    }

    /// True where the character is in no file yet.
    pub fn made(&self) -> bool {
        matches!(self.source, Source::Made(..))
    }

    /// True when a pose or a drawing would be lost.
    pub fn unsaved(&self) -> bool {
        match &self.poser {
            Some(poser) => (poser.steps().0 || self.made()) && self.saved.as_ref() != Some(poser.pose()),
            None => !self.bound && !self.draft.now().joints.is_empty(),
        }
    }

    pub fn undo(&mut self) -> bool {
        self.posed = true;
        match &mut self.poser {
            Some(poser) => poser.undo(),
            None => self.draft.undo(),
        }
    }

    pub fn redo(&mut self) -> bool {
        self.posed = true;
        match &mut self.poser {
            Some(poser) => poser.redo(),
            None => self.draft.redo(),
        }
    }

    /// Paints the skeleton over the picture and follows the pointer; `middle` says where the middle of the body is along a ray.
    /// `clicked` is a point that was clicked without being dragged.
    pub fn paint(
        &mut self,
        ui: &mut Ui,
        view: &Projection,
        clicked: Option<egui::Pos2>,
        middle: &mut dyn FnMut(&Ray) -> Option<Vec3>,
    ) -> Click {
        if self.poser.is_some() {
            self.paint_posed(ui, view, clicked)
        } else {
            self.paint_draft(ui, view, clicked, middle)
        }
    }

    fn paint_posed(&mut self, ui: &mut Ui, view: &Projection, clicked: Option<egui::Pos2>) -> Click {
        let Some(poser) = &mut self.poser else { return Click::Free };
        let (places, mut all) = (poser.places(), poser.bones());
        let pointer = gizmo::pointer_over(ui);
        let hot = pointer.filter(|_| !self.gizmo.busy()).and_then(|p| bones::under(p, view, &places, &all));
        let look = |joint: usize| match (poser.chosen == Some(joint), hot == Some(joint)) {
            (true, _) => Look::Chosen,
            (_, true) => Look::Hot,
            _ => Look::Plain,
        };
        far_first(view, &mut all);
        all.iter().for_each(|b| bones::bone(ui.painter(), view, b, look(b.joint)));
        for (joint, &at) in places.iter().enumerate() {
            bones::joint(ui.painter(), view, at, look(joint));
            if self.names || look(joint) != Look::Plain {
                bones::name(ui.painter(), view, at, poser.name(joint), look(joint));
            }
        }
        if let Some(joint) = poser.chosen {
            let middle = places[joint];
            if let Some(range) = poser.range(joint).filter(|_| self.show_limits) {
                let own = all.iter().filter(|b| b.joint == joint).map(|b| b.head.distance(b.tail)).fold(0.0, f32::max);
                let (parent, rotation) = (poser.parent_basis(joint), poser.local(joint).rotation);
                limits::paint(ui, view, range, middle, parent, rotation, own.max(40.0 / view.scale(middle)));
            }
            let axes = gizmo::axes_of(poser.world(joint));
            if let Some(turn) = self.gizmo.show(ui, view, middle, axes) {
                poser.turn(joint, &turn);
                self.posed = true;
                return Click::Taken;
            }
        }
        if let Some(at) = clicked {
            poser.chosen = bones::under(at, view, &places, &all);
            return Click::Taken;
        }
        Click::Free
    }

    fn paint_draft(
        &mut self,
        ui: &mut Ui,
        view: &Projection,
        clicked: Option<egui::Pos2>,
        middle: &mut dyn FnMut(&Ray) -> Option<Vec3>,
    ) -> Click {
        let joints = &self.draft.now().joints;
        let places: Vec<Vec3> = joints.iter().map(|j| j.at.into()).collect();
        let bone = |(joint, j): (usize, &draft::Joint)| {
            let parent = j.parent?;
            Some(bones::Bone { joint: parent, head: places[parent], tail: places[joint] })
        };
        let mut all: Vec<bones::Bone> = joints.iter().enumerate().filter_map(bone).collect();
        far_first(view, &mut all);
        let pointer = ui.input(|i| i.pointer.latest_pos());
        let over = gizmo::pointer_over(ui);
        let hot = self.held.map(|h| h.joint).or_else(|| over.and_then(|p| bones::under(p, view, &places, &[])));
        let look = |joint: usize| match (self.chosen == Some(joint), hot == Some(joint)) {
            (true, _) => Look::Chosen,
            (_, true) => Look::Hot,
            _ => Look::Plain,
        };
        all.iter().for_each(|b| bones::bone(ui.painter(), view, b, look(b.joint)));
        for (joint, &at) in places.iter().enumerate() {
            bones::joint(ui.painter(), view, at, look(joint));
            if self.names || look(joint) != Look::Plain {
                bones::name(ui.painter(), view, at, &joints[joint].name, look(joint));
            }
        }
        let mut taken = Click::Free;
        if let Some((joint, pointer)) = hot.zip(pointer) {
            let grip = egui::Rect::from_center_size(pointer, vec2(16.0, 16.0));
            let response = ui.interact(grip, ui.scope_id().with("joint"), Sense::click_and_drag());
            ui.ctx().set_cursor_icon(egui::CursorIcon::Move);
            if response.is_pointer_button_down_on() && self.held.is_none() {
                let from = ui.input(|i| i.pointer.press_origin()).unwrap_or(pointer);
                let at = view.beside(places[joint], from);
                self.held = Some(Held { joint, by: places[joint] - at, from, moving: false });
                self.chosen = Some(joint);
                self.strokes += 1;
            }
            taken = Click::Taken;
        }
        if let Some((held, pointer)) = self.held.as_mut().zip(pointer) {
            held.moving |= pointer.distance(held.from) > DEAD;
            if held.moving {
                let to = view.beside(places[held.joint] - held.by, pointer) + held.by;
                let mut new = self.draft.now().clone();
                new.shift(held.joint, to.to_array(), self.together);
                self.draft.drag(self.strokes, new);
            }
        }
        if !ui.input(|i| i.pointer.any_down()) && self.held.take().is_some() {
            self.draft.release();
        }
        if let Some(at) = clicked.filter(|_| hot.is_none()) {
            match middle(&Ray::from(view.ray(at))) {
                Some(place) => {
                    let mut new = self.draft.now().clone();
                    let joint = new.place(place.to_array(), self.chosen);
                    self.draft.set(new);
                    self.chosen = Some(joint);
                }
                None => self.chosen = None,
            }
            taken = Click::Taken;
        }
        taken
    }
}

/// Sorts bones so that nearer ones are painted over farther ones.
fn far_first(view: &Projection, bones: &mut [bones::Bone]) {
    let distance = |b: &bones::Bone| (0.5 * (b.head + b.tail)).distance(view.eye());
    bones.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
}

#[cfg(test)]
mod tests;
