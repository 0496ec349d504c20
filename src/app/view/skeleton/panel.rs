//! The side panel of the skeleton mode.

use egui::{Align, Button, ComboBox, DragValue, Layout, RichText, ScrollArea, Slider, TextEdit, Ui};

use super::Skeleton;
use super::draft::Draft;
use super::poser::{Poser, SHAPE};

/// What the panel itself remembers.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    search: String,
    /// A name that is being typed, and whose.
    renaming: Option<(usize, String)>,
    /// Seconds into the clip to start from.
    time: f32,
    /// Name of the next sample.
    pub sample: String,
    /// The corner it goes to.
    pub corner: usize,
}

/// What only the window can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Write a copy of the file: with the skeleton, in the pose on show.
    Save,
    /// Keep the pose as a sample of a pose space.
    SaveSample,
}

/// Draws the panel.
pub fn panel(ui: &mut Ui, s: &mut Skeleton) -> Vec<Ask> {
    let mut asks = Vec::new();
    if s.poser.is_some() {
        posing(ui, s, &mut asks);
    } else {
        drawing(ui, s);
    }
    if let Some(problem) = &s.problem {
        ui.add_space(4.0);
        ui.colored_label(ui.visuals().error_fg_color, problem);
    }
    if let Some(note) = &s.note {
        ui.add_space(4.0);
        ui.label(note);
    }
    asks
}

fn section(ui: &mut Ui, title: &str) {
    ui.add_space(8.0);
    ui.separator();
    ui.label(RichText::new(title).strong());
    ui.add_space(2.0);
}

fn steps(ui: &mut Ui, (undo, redo): (bool, bool)) -> (bool, bool) {
    let mut asked = (false, false);
    ui.horizontal(|ui| {
        asked.0 = ui.add_enabled(undo, Button::new("Undo")).on_hover_text("Ctrl+Z").clicked();
        asked.1 = ui.add_enabled(redo, Button::new("Redo")).on_hover_text("Ctrl+Shift+Z").clicked();
    });
    asked
}

fn posing(ui: &mut Ui, s: &mut Skeleton, asks: &mut Vec<Ask>) {
    let Some(poser) = &mut s.poser else { return };
    ui.add_space(4.0);
    ui.weak("Click a bone, then drag a ring to turn it.");
    ui.add(TextEdit::singleline(&mut s.ui.search).hint_text("Search joints").desired_width(f32::INFINITY));
    let words: Vec<String> = s.ui.search.split_whitespace().map(str::to_lowercase).collect();
    let fits = |joint: &usize| {
        let name = poser.name(*joint).to_lowercase();
        words.iter().all(|w| name.contains(w))
    };
    let rows: Vec<usize> = (0..poser.joints.len()).filter(fits).collect();
    let height = if poser.chosen.is_some() { 150.0 } else { 260.0 };
    let row = ui.spacing().interact_size.y;
    let list = ScrollArea::vertical().id_salt("joints").max_height(height).auto_shrink([false, true]);
    list.show_rows(ui, row, rows.len(), |ui, range| {
        ui.with_layout(Layout::top_down_justified(Align::Min), |ui| {
            for &joint in &rows[range] {
                let depth = if words.is_empty() { poser.depths[joint].min(12) } else { 0 };
                let name = format!("{}{}", "  ".repeat(depth), poser.name(joint));
                if ui.add(Button::selectable(poser.chosen == Some(joint), name).truncate()).clicked() {
                    poser.chosen = Some(joint);
                }
            }
        });
    });
    s.posed |= joint(ui, poser);
    section(ui, "Pose");
    let (undo, redo) = steps(ui, poser.steps());
    ui.horizontal_wrapped(|ui| {
        if ui.button("Rest pose").on_hover_text("Everything back to the rest pose").clicked() {
            poser.reset_all();
            s.posed = true;
        }
        let mirror = ui.add_enabled(poser.can_mirror(), Button::new("Mirror"));
        if mirror.on_hover_text("Left and right change places").clicked() {
            poser.mirror();
            s.posed = true;
        }
        if !poser.character.clips.is_empty() {
            ui.menu_button("From clip…", |ui| from_clip(ui, poser, &mut s.ui.time, &mut s.posed));
        }
    });
    let limited = poser.limited();
    ui.checkbox(&mut s.names, "Names");
    if limited {
        ui.horizontal(|ui| {
            ui.checkbox(&mut s.show_limits, "Show limits");
            ui.checkbox(&mut poser.clamp, "Stop at limits");
        });
    }
    section(ui, "Files");
    let save = ui.button("Save model…");
    if save.on_hover_text("A copy of the model in this pose, with a clip of one key").clicked() {
        asks.push(Ask::Save);
    }
    ui.horizontal(|ui| {
        let about = "The pose as a sample of a pose space: a new file, or added to one that exists";
        if ui.button("Save sample…").on_hover_text(about).clicked() {
            asks.push(Ask::SaveSample);
        }
        let corner = DragValue::new(&mut s.ui.corner).range(0..=15).speed(0.05).prefix("corner ");
        ui.add(corner).on_hover_text("Corner of the space where it can be selected; corners count from 0");
        ui.add(TextEdit::singleline(&mut s.ui.sample).hint_text("name").desired_width(f32::INFINITY));
    });
    if undo {
        s.undo();
    }
    if redo {
        s.redo();
    }
}

/// Starts from a clip at some time.
fn from_clip(ui: &mut Ui, poser: &mut Poser, time: &mut f32, posed: &mut bool) {
    let character = poser.character.clone();
    let longest = character.clips.iter().map(|c| c.duration).fold(0.0, f32::max);
    ui.horizontal(|ui| {
        let label = ui.label("At").id;
        ui.add(Slider::new(time, 0.0..=longest.max(1e-3)).suffix(" s").max_decimals(2)).labelled_by(label);
    });
    ScrollArea::vertical().max_height(220.0).show(ui, |ui| {
        for (c, clip) in character.clips.iter().enumerate() {
            let name = if clip.name.is_empty() { format!("clip {c}") } else { clip.name.clone() };
            if ui.button(name).clicked() {
                let mut pose = dermis::pose::Pose::rest(&character.rig);
                clip.sample(*time, &mut pose);
                poser.set_pose(pose);
                *posed = true;
                ui.close();
            }
        }
    });
}

/// The chosen joint's numbers; true when the pose changed.
fn joint(ui: &mut Ui, poser: &mut Poser) -> bool {
    let Some(joint) = poser.chosen else { return false };
    section(ui, poser.name(joint));
    let mut changed = false;
    let mut released = false;
    let mut degrees = poser.degrees(joint);
    ui.horizontal(|ui| {
        for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
            let number =
                DragValue::new(&mut degrees[axis]).speed(0.5).range(-180.0..=180.0).fixed_decimals(1).suffix("°");
            let response = ui.add(number.prefix(format!("{name} ")).update_while_editing(false));
            released |= response.drag_stopped() || response.lost_focus();
            if response.changed() {
                poser.set_degrees(joint, degrees, response.dragged());
                changed = true;
            }
        }
    });
    let (mut length, mut thickness) = (poser.local(joint).length, poser.local(joint).thickness);
    egui::Grid::new("shape").num_columns(2).show(ui, |ui| {
        ui.spacing_mut().slider_width = 100.0;
        for (name, value) in [("Length", &mut length), ("Thickness", &mut thickness)] {
            let label = ui.label(name).id;
            let response = ui.add(Slider::new(value, SHAPE).logarithmic(true).max_decimals(2)).labelled_by(label);
            released |= response.drag_stopped() || response.lost_focus();
            if response.changed() {
                changed = true;
            }
            ui.end_row();
        }
    });
    if (length, thickness) != (poser.local(joint).length, poser.local(joint).thickness) {
        let dragged = ui.input(|i| i.pointer.any_down());
        poser.set_shape(joint, length, thickness, dragged);
    }
    if let Some(range) = poser.range(joint) {
        // Rounded, so that nothing shows as -0.
        let now = range.angles(poser.local(joint).rotation).map(|a| a.to_degrees().round() + 0.0);
        let text: Vec<String> = ["twist", "swing y", "swing z"]
            .iter()
            .zip(now.iter().zip(range.ranges()))
            .map(|(name, (now, r))| {
                format!("{name} {now:.0}° of {:.0}° … {:.0}°", r[0].to_degrees(), r[1].to_degrees())
            })
            .collect();
        ui.weak(text.join("\n"));
    }
    if ui.button("Reset joint").clicked() {
        poser.reset(joint);
        changed = true;
    }
    if released {
        poser.release();
    }
    changed
}

fn drawing(ui: &mut Ui, s: &mut Skeleton) {
    let joints = s.draft.now().joints.len();
    ui.add_space(4.0);
    ui.weak("Click the body to place a joint in its middle: each hangs on the chosen one. Drag a joint to move it; click beside the body to choose none.");
    ui.add_space(4.0);
    let (undo, redo) = steps(ui, s.draft.steps());
    list(ui, s);
    if let Some(joint) = s.chosen.filter(|&j| j < joints) {
        chosen(ui, s, joint);
    }
    ui.checkbox(&mut s.together, "Moving takes along what hangs on it");
    ui.checkbox(&mut s.names, "Names");
    section(ui, "Bind");
    ui.horizontal(|ui| {
        let label = ui.label("Method").id;
        let text = if s.options.heat { "heat" } else { "distance" };
        let menu = ComboBox::from_id_salt("method").selected_text(text).show_ui(ui, |ui| {
            ui.selectable_value(&mut s.options.heat, true, "heat")
                .on_hover_text("Spreads over the surface: fingers stay apart");
            ui.selectable_value(&mut s.options.heat, false, "distance")
                .on_hover_text("By distance to the bones: quick, for hard parts");
        });
        menu.response.labelled_by(label);
    });
    ui.horizontal(|ui| {
        let label = ui.label("Influences").id;
        ui.spacing_mut().slider_width = 90.0;
        ui.add(Slider::new(&mut s.options.max_influences, 1..=8)).labelled_by(label);
    });
    match s.binding() {
        Some(since) => {
            ui.horizontal(|ui| {
                ui.spinner();
                ui.label(format!("Binding… {:.0} s", since.elapsed().as_secs_f32()));
            });
            ui.ctx().request_repaint_after(std::time::Duration::from_millis(100));
        }
        None => {
            let bind = ui
                .add_enabled(joints > 0, Button::new("Bind"))
                .on_hover_text("Finds what pulls at each vertex; then pose and save it");
            if bind.on_disabled_hover_text("Place a joint first").clicked() {
                s.bind();
            }
        }
    }
    if undo {
        s.undo();
    }
    if redo {
        s.redo();
    }
    let count = s.draft.now().joints.len();
    s.chosen = s.chosen.filter(|&j| j < count);
}

fn list(ui: &mut Ui, s: &mut Skeleton) {
    let draft = s.draft.now();
    if draft.joints.is_empty() {
        return;
    }
    let depth = |joint: usize| {
        let (mut depth, mut at) = (0, draft.joints[joint].parent);
        while let Some(p) = at.filter(|_| depth < 12) {
            depth += 1;
            at = draft.joints[p].parent;
        }
        depth
    };
    // In the order of the tree.
    let (rig, node) = draft.rig();
    let mut order: Vec<usize> = (0..rig.nodes.len()).collect();
    node.iter().enumerate().for_each(|(joint, &n)| order[n] = joint);
    ScrollArea::vertical().id_salt("draft").max_height(180.0).auto_shrink([false, true]).show(ui, |ui| {
        ui.with_layout(Layout::top_down_justified(Align::Min), |ui| {
            for joint in order {
                let name = format!("{}{}", "  ".repeat(depth(joint)), draft.joints[joint].name);
                if ui.add(Button::selectable(s.chosen == Some(joint), name).truncate()).clicked() {
                    s.chosen = Some(joint);
                }
            }
        });
    });
}

fn chosen(ui: &mut Ui, s: &mut Skeleton, joint: usize) {
    section(ui, "Joint");
    let mut new: Option<Draft> = None;
    let mut delete = false;
    let draft = s.draft.now();
    let mut name = match &s.ui.renaming {
        Some((whose, text)) if *whose == joint => text.clone(),
        _ => draft.joints[joint].name.clone(),
    };
    ui.horizontal(|ui| {
        let label = ui.label("Name").id;
        let response = ui.add(TextEdit::singleline(&mut name).desired_width(f32::INFINITY)).labelled_by(label);
        if response.lost_focus() {
            let mut renamed = draft.clone();
            if renamed.rename(joint, &name) {
                new = Some(renamed);
            }
            s.ui.renaming = None;
        } else if response.changed() {
            s.ui.renaming = Some((joint, name.clone()));
        }
    });
    ui.horizontal(|ui| {
        let label = ui.label("Hangs on").id;
        let parent = draft.joints[joint].parent;
        let mut picked = parent;
        let text = parent.map_or("nothing", |p| draft.joints[p].name.as_str());
        let menu = ComboBox::from_id_salt("parent").selected_text(text).show_ui(ui, |ui| {
            ui.selectable_value(&mut picked, None, "nothing");
            for p in (0..draft.joints.len()).filter(|&p| !draft.hangs_on(p, joint)) {
                ui.selectable_value(&mut picked, Some(p), &draft.joints[p].name);
            }
        });
        menu.response.labelled_by(label);
        if picked != parent {
            let mut hung = draft.clone();
            if hung.hang(joint, picked) {
                new = Some(hung);
            }
        }
    });
    ui.horizontal(|ui| {
        if ui.button("Delete").on_hover_text("What hangs on it goes to its parent").clicked() {
            delete = true;
        }
        let about = "Copies this joint and what hangs on it to the other side of the plane x = 0";
        if ui.button("Mirror").on_hover_text(about).clicked() {
            let mut more = draft.clone();
            more.mirror(joint, 0.0);
            new = Some(more);
        }
    });
    if let Some(new) = new {
        s.draft.set(new);
    }
    if delete {
        s.delete(joint);
    }
}
