//! The side panel of the weights mode.

use dermis::influence::Influence;
use egui::{ComboBox, RichText, ScrollArea, Slider, Ui};

use super::edit::Stroke;
use super::field::legend_number;
use super::histogram::histogram;
use super::rows::bone_list;
use super::vertex::vertex;
use super::{Chosen, Show, Weights};
use crate::app::preset::{Redistribute, Ties};
use crate::app::weights::Weights as Format;

/// What the panel itself remembers.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// What is looked for in the list of bones, and among bones to add to a vertex.
    pub search: String,
    pub search_added: String,
    /// The chosen bone is to be scrolled into view.
    pub reveal: bool,
    /// Each change is scaled to the sum 1 at once; else numbers are collected in `draft` first.
    pub collect: bool,
    pub draft: Option<Vec<Influence>>,
    /// Edits reach the vertex on the other side too.
    pub mirror: bool,
    pub stroke: Option<Stroke>,
}

/// What only the window can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Write the model with the weights on show.
    Save,
    SavePreset,
    LoadPreset,
    /// Choose a file to compare with.
    Compare,
    /// Bring a vertex into view.
    Look(Chosen),
}

/// Draws the panel.
pub fn panel(ui: &mut Ui, w: &mut Weights) -> Vec<Ask> {
    let mut asks = Vec::new();
    show(ui, w, &mut asks);
    if w.show == Show::Bone {
        let height = if w.chosen.is_some() { 150.0 } else { 220.0 };
        let mut bone = w.bone;
        let mut search = std::mem::take(&mut w.ui.search);
        let reveal = std::mem::take(&mut w.ui.reveal);
        w.recolor |= bone_list(ui, &w.bones, &mut search, &mut bone, height, reveal);
        (w.bone, w.ui.search) = (bone, search);
    }
    if w.show == Show::Difference {
        difference(ui, w, &mut asks);
    }
    vertex(ui, w);
    section(ui, "Pruning");
    settings(ui, w);
    report(ui, w, &mut asks);
    section(ui, "Files");
    files(ui, &mut asks);
    if let Some(problem) = w.problem.clone() {
        ui.add_space(4.0);
        ui.colored_label(ui.visuals().error_fg_color, problem);
    }
    asks
}

pub fn section(ui: &mut Ui, title: &str) {
    ui.add_space(8.0);
    ui.separator();
    ui.label(RichText::new(title).strong());
    ui.add_space(2.0);
}

fn show(ui: &mut Ui, w: &mut Weights, asks: &mut Vec<Ask>) {
    ui.add_space(4.0);
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        for (show, name, about) in Show::ALL {
            if ui.selectable_label(w.show == show, name).on_hover_text(about).clicked() {
                (w.show, w.recolor) = (show, true);
                if show == Show::Difference && w.other.is_none() {
                    asks.push(Ask::Compare);
                }
            }
        }
    });
    ui.add_space(4.0);
}

fn settings(ui: &mut Ui, w: &mut Weights) {
    let before = (w.settings.clone(), w.prune);
    ui.checkbox(&mut w.prune, "Prune").on_hover_text("Off: the weights are shown and saved as they are");
    egui::Grid::new("pruning").num_columns(2).spacing([8.0, 5.0]).show(ui, |ui| {
        let prune = w.prune;
        let s = &mut w.settings;
        let label = ui.label("Influences").id;
        ui.spacing_mut().slider_width = 96.0;
        let slider = ui.add_enabled(prune, Slider::new(&mut s.max_influences, 1..=8)).labelled_by(label);
        slider.on_hover_text("Kept per vertex");
        ui.end_row();
        let all = [
            (Redistribute::Proportional, "proportional", "In proportion to what the survivors have"),
            (Redistribute::Equal, "equal", "The same for each survivor"),
            (Redistribute::Continuous, "continuous", "The heaviest removed weight is taken off all: no jumps"),
        ];
        choice(ui, "Hand over", prune, &mut s.redistribute, &all);
        let all = [
            (Ties::Neighbours, "neighbours", "The bone that is heavier around the vertex stays"),
            (Ties::Priority, "priority", "The bone of higher priority in the preset stays"),
            (Ties::Index, "index", "The bone of lower index stays"),
        ];
        choice(ui, "Ties", prune, &mut s.ties, &all);
        let all = [
            (Format::U8, "u8", "Bytes that sum to 255"),
            (Format::U16, "u16", "16-bit numbers that sum to 65535"),
            (Format::F32, "f32", "Floats"),
        ];
        choice(ui, "Stored as", true, &mut s.weights, &all);
    });
    if !w.settings.priorities.is_empty() {
        ui.weak(format!("{} bones have a priority in the preset.", w.settings.priorities.len()));
    }
    if (w.settings.clone(), w.prune) != before {
        w.changed();
    }
}

/// A labelled row of a grid with a menu.
fn choice<T: Copy + PartialEq>(ui: &mut Ui, title: &str, on: bool, chosen: &mut T, all: &[(T, &str, &str)]) {
    let label = ui.label(title).id;
    let name = all.iter().find(|a| a.0 == *chosen).map_or("", |a| a.1);
    let mut menu = |ui: &mut Ui| {
        ComboBox::from_id_salt(title)
            .width(118.0)
            .selected_text(name)
            .show_ui(ui, |ui| {
                for (value, name, about) in all {
                    ui.selectable_value(chosen, *value, *name).on_hover_text(*about);
                }
            })
            .response
            .labelled_by(label)
    };
    ui.add_enabled_ui(on, |ui| menu(ui));
    ui.end_row();
}

fn report(ui: &mut Ui, w: &Weights, asks: &mut Vec<Ask>) {
    let Some(report) = w.report() else {
        ui.horizontal(|ui| {
            ui.spinner();
            ui.weak("Pruning…");
        });
        return;
    };
    if w.prune {
        let p = &report.prune;
        ui.add_space(2.0);
        let after = w.outcome.as_ref().map_or(&p.after, |o| &o.after);
        histogram(ui, &p.before, after);
        let (max, mean, p99) = (p.removed_max(), p.removed_mean(), p.removed_percentile(0.99));
        ui.label(format!("Weight removed: at most {max:.3}"))
            .on_hover_text(format!("mean {mean:.4}; 99 % of the vertices lost at most {p99:.4}"));
        if p.ties.met > 0 {
            let t = &p.ties;
            let rules = [
                ("neighbours", t.neighbours),
                ("priority", t.priority),
                ("side", t.side),
                ("index", t.index),
                ("dropping both of a pair", t.both_dropped),
            ];
            let rules: Vec<String> = rules.iter().filter(|r| r.1 > 0).map(|r| format!("{} by {}", r.1, r.0)).collect();
            ui.label(format!("Ties: {}", p.ties.met)).on_hover_text(rules.join("\n"));
        }
    }
    match &report.displacement {
        None => {
            ui.horizontal(|ui| {
                ui.spinner();
                ui.weak("Measuring…");
            });
        }
        Some(d) => {
            let text = format!("Displaced: at most {} mm", legend_number(d.metres * 1000.0));
            let worst = w.outcome.as_ref().and_then(|o| o.measured.as_ref()).and_then(|m| {
                let sheets = m.1.iter().enumerate();
                let all = sheets.flat_map(|(s, f)| f.iter().enumerate().map(move |(v, &x)| (s, v, x)));
                all.max_by(|a, b| a.2.total_cmp(&b.2)).map(|(sheet, vertex, _)| Chosen { sheet, vertex })
            });
            let about = format!("{:.3} % of the size; vertex {}, {}", d.percent(), d.vertex, d.pose);
            let response = ui.add(egui::Label::new(text).sense(egui::Sense::click())).on_hover_text(about);
            if response.clicked() && d.metres > 0.0 {
                asks.extend(worst.map(Ask::Look));
            }
        }
    }
}

fn files(ui: &mut Ui, asks: &mut Vec<Ask>) {
    ui.horizontal_wrapped(|ui| {
        let save = ui.button("Save model…");
        if save.on_hover_text("A copy of the model with these weights; everything else in it unchanged").clicked() {
            asks.push(Ask::Save);
        }
        if ui.button("Compare…").on_hover_text("With the weights in another file of the same mesh").clicked() {
            asks.push(Ask::Compare);
        }
    });
    ui.horizontal_wrapped(|ui| {
        let about = "The pruning settings as a file, for dermis prune --preset";
        if ui.button("Save preset…").on_hover_text(about).clicked() {
            asks.push(Ask::SavePreset);
        }
        if ui.button("Load preset…").clicked() {
            asks.push(Ask::LoadPreset);
        }
    });
}

fn difference(ui: &mut Ui, w: &mut Weights, asks: &mut Vec<Ask>) {
    let Some(other) = &w.other else {
        ui.weak("Choose a second file of the same mesh with Compare…");
        return;
    };
    ui.label(format!("Against {}", other.name));
    if other.foreign > 0 {
        ui.weak(format!("{} of its bones do not exist here.", other.foreign));
    }
    if other.worst.is_empty() {
        ui.label("The weights are the same.");
        return;
    }
    let several = w.sheets.len() > 1;
    let mut look = None;
    ScrollArea::vertical().id_salt("differences").max_height(150.0).auto_shrink([false, true]).show(ui, |ui| {
        for &(at, x) in &other.worst {
            let mesh = if several { format!("mesh {}, ", w.sheets[at.sheet].mesh) } else { String::new() };
            let text = format!("{x:.3}   {mesh}vertex {}", at.vertex);
            if ui.selectable_label(w.chosen == Some(at), text).clicked() {
                look = Some(at);
            }
        }
    });
    if let Some(at) = look {
        w.chosen = Some(at);
        w.ui.draft = None;
        asks.push(Ask::Look(at));
    }
}
