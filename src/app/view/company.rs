//! The Play tab's company: the skinning method, both methods side by side, crowds.

use dermis::gpu::{CharacterId, Drive, MeshOptions, Method, PartId};
use dermis::{Affine, Result};
use egui::Ui;

use super::mode::{Context, Request};
use super::panel::section;
use super::scene::Stage;

/// Characters a crowd may have.
const MOST: u32 = 10_000;
/// Vertices it may have together: 800 MB when skinned.
const MOST_VERTICES: usize = 40_000_000;
/// Seconds between the clip times of neighbours.
const APART: f64 = 0.37;

/// Who is shown, and how they are skinned.
pub struct Company {
    method: Method,
    /// A second one beside the hero, skinned by the other method.
    split: bool,
    /// Characters of the crowd, the hero included.
    count: u32,
    /// The character's parts by dual quaternions, once they were asked for.
    dual: Option<Vec<PartId>>,
    others: Vec<CharacterId>,
    /// Metres from one character to the next, to the right and back.
    apart: [f32; 2],
}

impl Default for Company {
    fn default() -> Self {
        Self { method: Method::Linear, split: false, count: 1, dual: None, others: Vec::new(), apart: [1.0; 2] }
    }
}

impl Company {
    /// Another character is on the stage, alone.
    pub fn loaded(&mut self, stage: &Stage) {
        // Not closer than a walk sways, however thin the character is.
        let [width, height, depth] = stage.extent;
        let apart = [width, depth].map(|side| (1.15 * side).max(0.25 * height).max(1e-6));
        *self = Self { apart, ..Self::default() };
    }

    /// Takes the others away; the hero is skinned as it was made.
    pub fn leave(&mut self, stage: &mut Stage) -> Result<()> {
        self.others.drain(..).try_for_each(|c| stage.skinner.despawn(c))?;
        if self.method == Method::DualQuaternion {
            stage.skinner.set_meshes(stage.hero, &stage.parts)?;
        }
        Ok(())
    }

    /// The tab was left: the next time it starts with the hero alone. What was made for it stays.
    pub fn alone(&mut self) {
        (self.method, self.split, self.count) = (Method::Linear, false, 1);
    }

    /// True when somebody is new: all must be driven again.
    pub fn panel(&mut self, ui: &mut Ui, context: &mut Context<'_>) -> bool {
        section(ui, "Skinning");
        let before = (self.method, self.split);
        ui.horizontal(|ui| {
            ui.selectable_value(&mut self.method, Method::Linear, "Linear");
            ui.selectable_value(&mut self.method, Method::DualQuaternion, "Dual quaternion");
        });
        ui.add_enabled(self.count == 1, egui::Checkbox::new(&mut self.split, "Side by side"))
            .on_hover_text("The same pose by the other method, to the right");
        let vertices: usize =
            context.stage.character.parts.iter().map(|p| context.stage.character.meshes[p.mesh].positions.len()).sum();
        let most = (MOST_VERTICES / vertices.max(1)).clamp(1, MOST as usize) as u32;
        let slider = egui::Slider::new(&mut self.count, 1..=most).logarithmic(true).text("characters");
        ui.spacing_mut().slider_width = 80.0;
        let response = ui.add(slider);
        let settled = response.drag_stopped() || (response.changed() && !response.dragged());
        if self.count > 1 {
            self.split = false;
        }
        let changed = settled || before != (self.method, self.split);
        if changed {
            let outcome = self.assemble(context);
            context.check(outcome);
            if settled || before.1 != self.split {
                context.requests.push(Request::FrameAll);
            }
        }
        changed
    }

    /// Everybody plays the clip, each at another time of it, and has the hero's morph weights.
    pub fn drive(&self, stage: &mut Stage, clip: Option<usize>, morphs: &[Vec<f32>]) -> Result<()> {
        for (i, &character) in self.others.iter().enumerate() {
            for (part, weights) in morphs.iter().enumerate().filter(|(_, w)| !w.is_empty()) {
                stage.skinner.set_morph_weights(character, part, weights)?;
            }
            let start = if self.split { 0.0 } else { -APART * (i + 1) as f64 };
            let drive = match clip {
                Some(clip) => Drive::Clip { clip, start, looping: true },
                None => Drive::Local(&stage.rest),
            };
            stage.skinner.drive(character, drive)?;
        }
        Ok(())
    }

    /// Says which is which, where two stand side by side.
    pub fn overlay(&self, ui: &Ui, context: &Context<'_>) {
        if !self.split {
            return;
        }
        let name = |method| if method == Method::Linear { "linear" } else { "dual quaternion" };
        let other = if self.method == Method::Linear { Method::DualQuaternion } else { Method::Linear };
        let visuals = &ui.visuals().widgets.noninteractive;
        for (placed, method) in context.stage.shown.iter().zip([self.method, other]) {
            let [x, _, z] = placed.transform.rows.map(|row| row[3]);
            let foot = glam::Vec3::new(x, context.stage.ground.center[1], z);
            let Some(at) = context.projection.screen(foot) else { continue };
            let text = ui.painter().layout_no_wrap(
                name(method).into(),
                egui::FontId::proportional(14.0),
                visuals.text_color(),
            );
            let at = egui::Align2::CENTER_TOP.anchor_size(at + egui::vec2(0.0, 10.0), text.size());
            ui.painter().rect_filled(at.expand2(egui::vec2(6.0, 3.0)), 4, ui.visuals().window_fill);
            ui.painter().galley(at.min, text, visuals.text_color());
        }
    }

    fn assemble(&mut self, context: &mut Context<'_>) -> Result<()> {
        let stage = &mut *context.stage;
        self.others.drain(..).try_for_each(|c| stage.skinner.despawn(c))?;
        if self.dual.is_none() && (self.split || self.method == Method::DualQuaternion) {
            let options = MeshOptions { method: Method::DualQuaternion, ..MeshOptions::default() };
            let skinner = &mut stage.skinner;
            let meshes = &stage.character.meshes;
            let meshes: Vec<_> =
                meshes.iter().map(|m| skinner.add_mesh_with(&context.gpu.queue, m, options)).collect::<Result<_>>()?;
            let part = |p: &dermis::character::Part| PartId { mesh: meshes[p.mesh], skin: p.skin };
            self.dual = Some(stage.character.parts.iter().map(part).collect());
        }
        let linear = stage.parts.clone();
        let dual = self.dual.clone().unwrap_or_else(|| linear.clone());
        let (own, other) = if self.method == Method::Linear { (linear, dual) } else { (dual, linear) };
        stage.skinner.set_meshes(stage.hero, &own)?;
        for _ in 1..self.count {
            self.others.push(stage.skinner.spawn(stage.rig, &own)?);
        }
        if self.split {
            self.others.push(stage.skinner.spawn(stage.rig, &other)?);
        }
        let everybody = std::iter::once(stage.hero).chain(self.others.iter().copied());
        let shown = everybody.enumerate().map(|(i, c)| {
            let mut placed = stage.place(c);
            placed.transform = at(i as u32, 1 + self.others.len() as u32, self.split, self.apart);
            placed
        });
        stage.shown = shown.collect();
        Ok(())
    }
}

/// Where the `i`-th of `count` stands: in a square, or two beside each other; `apart` as in [`Company`].
fn at(i: u32, count: u32, split: bool, apart: [f32; 2]) -> Affine {
    // As wide as it is deep.
    let columns = (f64::from(count) * f64::from(apart[1] / apart[0])).sqrt().ceil() as u32;
    let side = if split { 2 } else { columns.clamp(1, count) };
    let x = ((i % side) as f32 - 0.5 * (side - 1) as f32) * apart[0];
    let z = -((i / side) as f32) * apart[1];
    let mut affine = Affine::IDENTITY;
    affine.rows[0][3] = x;
    affine.rows[2][3] = z;
    affine
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_stands_in_another_s_place() {
        for (count, split) in [(1, false), (2, true), (2, false), (101, false)] {
            let places: Vec<[f32; 2]> =
                (0..count).map(|i| at(i, count, split, [1.2; 2])).map(|t| [t.rows[0][3], t.rows[2][3]]).collect();
            for (i, a) in places.iter().enumerate() {
                assert!(places[..i].iter().all(|b| (a[0] - b[0]).hypot(a[1] - b[1]) > 1.19), "{count}: {places:?}");
            }
            let middle: f32 = places.iter().take(if split { 2 } else { 1 }).map(|p| p[0]).sum();
            assert!(count > 2 || !split || middle.abs() < 1e-6);
        }
    }
}
