//! What pulls at the chosen vertex, in numbers that can be changed.

use dermis::influence::Influence;
use egui::{Button, DragValue, Layout, ScrollArea, Ui};

use super::edit::with_weight;
use super::panel::section;
use super::rows::matching;
use super::{Chosen, Show, Weights};

/// The part of the panel that is about the chosen vertex.
pub fn vertex(ui: &mut Ui, w: &mut Weights) {
    let Some(at) = w.chosen else {
        ui.add_space(4.0);
        ui.weak("Click the surface to see what pulls at a vertex.");
        return;
    };
    section(ui, &title(w, at));
    let (undo, redo) = w.steps();
    ui.horizontal(|ui| {
        if ui.add_enabled(undo, Button::new("Undo")).on_hover_text("Ctrl+Z").clicked() {
            w.undo();
        }
        if ui.add_enabled(redo, Button::new("Redo")).on_hover_text("Ctrl+Shift+Z").clicked() {
            w.redo();
        }
        if ui.button("Done").on_hover_text("Choose no vertex").clicked() {
            w.chosen = None;
        }
    });
    let mut normalise = !w.ui.collect;
    ui.horizontal(|ui| {
        let about = "On: the other weights make room at once. Off: change several numbers, then apply them together";
        if ui.checkbox(&mut normalise, "Normalise").on_hover_text(about).changed() {
            w.ui.collect = !normalise;
            w.ui.draft = None;
        }
        let image = w.image_of(at);
        let mirror = ui.add_enabled(image.is_some(), egui::Checkbox::new(&mut w.ui.mirror, "Mirror"));
        let text = image.map_or(String::new(), |v| format!("Vertex {v} on the other side gets the mirrored bones"));
        mirror
            .on_hover_text(text)
            .on_disabled_hover_text("No vertex stands at the mirror image, or nothing is a left/right pair");
    });
    rows(ui, w, at);
    add(ui, w, at);
    let shown = w.shown(at.sheet).of(at.vertex);
    if w.prune && !same(shown, &w.influences_of(at)) {
        let names = &w.sheets[at.sheet].names;
        let text: Vec<String> = shown.iter().map(|i| format!("{} {:.3}", names[i.joint as usize], i.weight)).collect();
        ui.weak(format!("Pruned: {}", text.join(", ")));
    }
}

/// True when pruning and storing changed nothing to speak of.
fn same(a: &[Influence], b: &[Influence]) -> bool {
    let weight = |list: &[Influence], joint| list.iter().filter(|i| i.joint == joint).map(|i| i.weight).sum::<f32>();
    a.iter().chain(b).all(|i| (weight(a, i.joint) - weight(b, i.joint)).abs() < 0.0025)
}

fn title(w: &Weights, at: Chosen) -> String {
    let sheet = &w.sheets[at.sheet];
    let primitive = sheet.file.primitives.iter().find(|p| p.1.contains(&at.vertex));
    match primitive {
        Some((index, range)) if sheet.file.primitives.len() > 1 => {
            format!("Vertex {} of primitive {index}", at.vertex - range.start)
        }
        _ => format!("Vertex {}", at.vertex),
    }
}

/// One row per influence: its bone, a number to drag, a button to remove it.
fn rows(ui: &mut Ui, w: &mut Weights, at: Chosen) {
    let mut list = w.ui.draft.clone().unwrap_or_else(|| w.listed(at));
    let (collect, mirror) = (w.ui.collect, w.ui.mirror);
    let mut released = false;
    let mut change: Option<(usize, f32, bool)> = None;
    let mut gone = None;
    let alone = list.len() == 1;
    for (row, i) in list.iter().enumerate() {
        ui.push_id(("influence", i.joint), |ui| {
            ui.horizontal(|ui| {
                let mut weight = i.weight;
                let most = if collect { 10.0 } else { 1.0 };
                let name = w.sheets[at.sheet].names[i.joint as usize].as_str();
                let number = DragValue::new(&mut weight)
                    .speed(0.004)
                    .range(0.0..=most)
                    .fixed_decimals(3)
                    .update_while_editing(false);
                let response = ui.add_enabled(collect || !alone, number);
                released |= response.drag_stopped() || response.lost_focus();
                if response.changed() {
                    change = Some((row, weight, response.dragged()));
                }
                ui.with_layout(Layout::right_to_left(egui::Align::Center), |ui| {
                    let remove = ui.add_enabled(!alone, Button::new("×").small()).on_hover_text("Remove");
                    if remove.clicked() {
                        gone = Some(row);
                    }
                    ui.with_layout(Layout::left_to_right(egui::Align::Center), |ui| {
                        let bone = w.bones.iter().position(|b| b.joints[at.sheet] == Some(i.joint));
                        let label = egui::Label::new(name).truncate().sense(egui::Sense::click());
                        if ui.add(label).on_hover_text("Click to show this bone").clicked() && bone.is_some() {
                            (w.bone, w.show, w.recolor) = (bone, Show::Bone, true);
                            w.ui.reveal = true;
                        }
                    });
                });
            })
        });
    }
    if let Some((row, weight, dragged)) = change {
        let joint = list[row].joint;
        if collect {
            list[row].weight = weight;
            w.ui.draft = Some(list.clone());
        } else {
            match dragged {
                true => w.drag(at, joint, weight, mirror),
                false => w.set(at, &with_weight(&list, joint, weight), mirror),
            }
        }
    }
    if released {
        w.ui.stroke = None;
    }
    if let Some(row) = gone {
        list.remove(row);
        if collect {
            w.ui.draft = Some(list.clone());
        } else {
            w.set(at, &list, mirror);
        }
    }
    if let Some(draft) = w.ui.draft.clone() {
        let sum: f32 = draft.iter().map(|i| i.weight).sum();
        ui.horizontal(|ui| {
            ui.label(format!("Sum {sum:.3}"));
            let apply = ui.add_enabled(sum > 0.0, Button::new("Normalise and apply"));
            if apply.on_disabled_hover_text("Some weight must be above 0").clicked() {
                w.ui.draft = None;
                w.set(at, &draft, mirror);
            }
            if ui.button("Discard").clicked() {
                w.ui.draft = None;
            }
        });
    }
}

/// A bone to add: it starts with a tenth of the vertex.
fn add(ui: &mut Ui, w: &mut Weights, at: Chosen) {
    ui.menu_button("Add bone…", |ui| {
        ui.set_min_width(200.0);
        ui.add(egui::TextEdit::singleline(&mut w.ui.search_added).hint_text("Search bones"));
        let has = w.ui.draft.clone().unwrap_or_else(|| w.influences_of(at));
        let mut added = None;
        ScrollArea::vertical().max_height(220.0).show(ui, |ui| {
            for bone in matching(&w.bones, &w.ui.search_added) {
                let Some(joint) = w.bones[bone].joints[at.sheet] else { continue };
                if has.iter().all(|i| i.joint != joint) && ui.button(&w.bones[bone].name).clicked() {
                    added = Some(joint);
                    ui.close();
                }
            }
        });
        let Some(joint) = added else { return };
        if w.ui.collect {
            let mut draft = has;
            draft.push(Influence { joint, weight: 0.1 });
            w.ui.draft = Some(draft);
        } else {
            w.set(at, &with_weight(&has, joint, 0.1), w.ui.mirror);
        }
    });
}
