//! The menu of a corner: which pose it holds, and what else can be done with it.

use dermis::Character;
use egui::Ui;

use super::clip::FromClip;
use super::desk::Act;
use super::desk_ui::Wish;
use super::setup::Setup;
use crate::app::view::panel::named;

/// Fills the menu; `rename` is the name being edited and whose it is, the others what is asked for besides acts.
pub fn corner(
    ui: &mut Ui,
    setup: &Setup,
    character: &Character,
    corner: usize,
    rename: &mut (usize, String),
    (wish, from_clip): (&mut Option<Wish>, &mut Option<FromClip>),
    acts: &mut Vec<Act>,
) {
    let space = &setup.space;
    let Some(entry) = space.corners().get(corner) else { return };
    ui.set_min_width(170.0);
    let selected = setup.state.selected(corner).unwrap_or(0);
    for (alternative, &sample) in entry.samples.iter().enumerate() {
        let name = &space.samples()[sample].name;
        let name = if sample == space.default_sample() { format!("{name} (default)") } else { name.clone() };
        if ui.selectable_label(alternative == selected, name).clicked() {
            acts.push(Act::Select(corner, alternative));
        }
    }
    let Some(&sample) = entry.samples.get(selected) else { return };
    let name = &space.samples()[sample].name;
    ui.separator();
    if ui.button("Add the current pose here").clicked() {
        acts.push(Act::AddPose(corner));
    }
    let others: Vec<usize> = (0..space.samples().len()).filter(|s| !entry.samples.contains(s)).collect();
    ui.add_enabled_ui(!others.is_empty(), |ui| {
        ui.menu_button("Add another pose", |ui| {
            for other in others {
                if ui.button(&space.samples()[other].name).clicked() {
                    acts.push(Act::SharePose(corner, other));
                }
            }
        });
    });
    ui.separator();
    ui.horizontal(|ui| {
        if rename.0 != sample {
            *rename = (sample, name.clone());
        }
        let edit = named(ui.add(egui::TextEdit::singleline(&mut rename.1).desired_width(110.0)), "name of the pose");
        let enter = edit.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter));
        if (ui.button("Rename").clicked() || enter) && rename.1 != *name {
            acts.push(Act::Rename(sample, rename.1.clone()));
            rename.0 = usize::MAX;
        }
    });
    if ui.button(format!("Overwrite {name} with the current pose")).clicked() {
        acts.push(Act::Overwrite(sample));
    }
    if !character.clips.is_empty() && ui.button(format!("Take {name} from a clip")).clicked() {
        *from_clip = Some(FromClip { sample: name.clone(), clip: 0, time: 0.0 });
        acts.extend(from_clip.as_ref().and_then(|f| f.act(space, character)));
    }
    if ui.button(format!("Make {name} the default pose")).clicked() {
        acts.push(Act::Default(sample));
    }
    if character.parts.iter().any(|p| character.meshes.get(p.mesh).is_some_and(|m| !m.uvs[0].is_empty())) {
        ui.menu_button("Texture", |ui| {
            let now = space.samples()[sample].texture.as_deref();
            if ui.selectable_label(now.is_none(), "The material's own").clicked() {
                acts.push(Act::Texture(sample, None));
            }
            for image in character.images.iter().filter(|i| !i.name.is_empty()) {
                if ui.selectable_label(now == Some(image.name.as_str()), &image.name).clicked() {
                    acts.push(Act::Texture(sample, Some(image.name.clone())));
                }
            }
            if let Some(other) = now.filter(|now| character.images.iter().all(|i| i.name != **now)) {
                drop(ui.selectable_label(true, other));
            }
            if ui.button("A picture…").clicked() {
                *wish = Some(Wish::Texture(sample));
            }
        });
    }
    ui.separator();
    if ui.button(format!("Remove {name} from this corner")).clicked() {
        acts.push(Act::RemovePose(corner, selected));
    }
    if ui.button("Remove this corner").clicked() {
        acts.push(Act::RemoveCorner(corner));
    }
}
