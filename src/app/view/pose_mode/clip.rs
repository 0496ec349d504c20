//! A pose of the space taken from one of the model's clips, by scrubbing.

use dermis::Character;
use dermis::character::Clip;
use dermis::pose::PoseSpace;
use egui::{ComboBox, Ui};

use super::desk::{Act, Desk};
use crate::app::view::panel::section;

/// The pose that is being taken, by name because numbers change, and from where.
#[derive(Clone, Debug, PartialEq)]
pub struct FromClip {
    pub sample: String,
    pub clip: usize,
    /// Seconds.
    pub time: f32,
}

impl FromClip {
    /// What takes it; `None` when the pose is gone.
    pub fn act(&self, space: &PoseSpace, character: &Character) -> Option<Act> {
        let sample = space.samples().iter().position(|s| s.name == self.sample)?;
        let clip = character.clips.get(self.clip)?;
        Some(Act::Clip(sample, self.clip, self.time.clamp(0.0, clip.duration)))
    }
}

/// Chooses clip and time while a pose is being taken.
pub fn panel(ui: &mut Ui, desk: &mut Desk, character: &Character) -> Vec<Act> {
    let Some(from) = &mut desk.from_clip else { return Vec::new() };
    let name = |clip: usize, c: &Clip| if c.name.is_empty() { format!("clip {clip}") } else { c.name.clone() };
    let before = from.clone();
    section(ui, &format!("{} from a clip", from.sample));
    let shown = character.clips.get(from.clip).map_or(String::new(), |c| name(from.clip, c));
    ComboBox::from_label("clip").width(150.0).selected_text(shown).show_ui(ui, |ui| {
        for (i, clip) in character.clips.iter().enumerate() {
            ui.selectable_value(&mut from.clip, i, name(i, clip));
        }
    });
    let duration = character.clips.get(from.clip).map_or(0.0, |c| c.duration);
    from.time = from.time.min(duration);
    ui.spacing_mut().slider_width = 120.0;
    let slider = egui::Slider::new(&mut from.time, 0.0..=duration).suffix(" s").max_decimals(2).text("time");
    ui.add(slider);
    let act = from.act(&desk.setup.space, character);
    let moved = *from != before;
    if ui.button("Done").clicked() || act.is_none() {
        desk.from_clip = None;
    }
    act.into_iter().filter(|_| moved).collect()
}
