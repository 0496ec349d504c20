//! What the side panel shows in every tab, and the messages over the picture.

use egui::{Align, Color32, Layout, Response, RichText, Ui};

use super::mode::{Messages, Request};
use super::scene::Stage;
use super::settings::Recent;
use crate::app::device::Opened;
use crate::app::timing::{PASSES, Times};

/// Width of the panel in points.
pub const WIDTH: f32 = 260.0;

/// Name and size of what is shown, and the way to something else.
pub fn header(ui: &mut Ui, stage: Option<&Stage>, recent: &mut Vec<Recent>, requests: &mut Vec<Request>) {
    ui.horizontal(|ui| {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.menu_button("Recent", |ui| recents(ui, recent, requests));
            if ui.button("Open…").on_hover_text("Or drop a file on the window").clicked() {
                requests.push(Request::ChooseFile);
            }
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                let name = stage.map_or("dermis", |s| s.character.name.as_str());
                ui.add(egui::Label::new(RichText::new(name).heading().strong()).truncate());
            });
        });
    });
    if let Some(stage) = stage {
        let c = &stage.character;
        let vertices: usize = c.parts.iter().filter_map(|p| c.meshes.get(p.mesh)).map(|m| m.positions.len()).sum();
        // What hangs on a node rigidly has a skin for the engine's sake only.
        let is_bound = |skin: usize| c.parts.iter().any(|p| p.skin == skin && !p.rigid);
        let joints: usize = (0..c.skins.len()).filter(|&s| is_bound(s)).map(|s| c.skins[s].joints.len()).sum();
        ui.weak(format!("{}, {}", count(vertices, "vertex", "vertices"), count(joints, "joint", "joints")));
    }
}

/// The files that were opened last, and the built-in hands.
fn recents(ui: &mut Ui, recent: &mut Vec<Recent>, requests: &mut Vec<Request>) {
    for Recent { path, .. } in recent.iter() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let button = ui.add_enabled(path.is_file(), egui::Button::new(name));
        let at = path.display().to_string();
        if button.on_hover_text(&at).on_disabled_hover_text(format!("{at} is not there any more")).clicked() {
            requests.push(Request::Open(Some(path.clone())));
        }
    }
    if ui.button("Built-in hands").clicked() {
        requests.push(Request::Open(None));
    }
    ui.separator();
    if ui.add_enabled(!recent.is_empty(), egui::Button::new("Clear list")).clicked() {
        recent.clear();
    }
}

pub fn warnings(ui: &mut Ui, stage: &Stage) {
    let warnings = &stage.character.warnings;
    if warnings.is_empty() {
        return;
    }
    ui.add_space(8.0);
    let title = count(warnings.len(), "warning", "warnings");
    egui::CollapsingHeader::new(RichText::new(title).color(ui.visuals().warn_fg_color)).id_salt("warnings").show(
        ui,
        |ui| {
            for warning in warnings {
                ui.label(warning);
            }
        },
    );
}

/// What is seen besides the character.
pub fn scene(ui: &mut Ui, grid: &mut bool, help: &mut bool, messages: &Messages, requests: &mut Vec<Request>) {
    section(ui, "View");
    ui.checkbox(grid, "Ground (G)");
    ui.horizontal(|ui| {
        if ui.button("Frame all (F)").clicked() {
            requests.push(Request::FrameAll);
        }
        if ui.button("Screenshot (S)").clicked() {
            requests.push(Request::Screenshot);
        }
    });
    ui.horizontal(|ui| {
        let mut theme = ui.ctx().options(|options| options.theme_preference);
        for (choice, name) in [
            (egui::ThemePreference::System, "System"),
            (egui::ThemePreference::Dark, "Dark"),
            (egui::ThemePreference::Light, "Light"),
        ] {
            if ui.selectable_value(&mut theme, choice, name).clicked() {
                ui.ctx().set_theme(theme);
            }
        }
        if ui.button("Keys (F1)").clicked() {
            *help = true;
        }
    });
    ui.add_space(4.0);
    ui.weak("Drag to turn, right-drag or shift-drag to move, scroll or pinch to zoom.");
    if let Some(note) = &messages.note {
        ui.add_space(4.0);
        ui.label(note);
    }
}

/// The adapter and how fast it is.
pub fn device(ui: &mut Ui, frame_ms: f32, pass_ms: Option<Times>, gpu: &Opened) {
    let info = &gpu.info;
    ui.add_space(4.0);
    let speed = if frame_ms > 0.0 { format!("{frame_ms:.1} ms, {:.0} fps", 1000.0 / frame_ms) } else { "still".into() };
    ui.label(format!("{speed}, {}", info.backend));
    match gpu.device.features().contains(dermis::wgpu::Features::TIMESTAMP_QUERY) {
        true => {
            egui::Grid::new("passes")
                .num_columns(PASSES.len())
                .spacing([14.0, 0.0])
                .show(ui, |ui| {
                    PASSES.iter().for_each(|name| drop(ui.weak(*name)));
                    ui.end_row();
                    let text = |i: usize| pass_ms.map_or("…".into(), |times| milliseconds(times[i]));
                    (0..PASSES.len()).for_each(|i| drop(ui.label(text(i))));
                    ui.end_row();
                })
                .response
                .on_hover_text("What the GPU needs for each pass of a frame, on average; skinning includes bounds");
        }
        false => drop(ui.weak("no times of its passes")),
    }
    ui.add(egui::Label::new(RichText::new(&info.name).weak()).truncate()).on_hover_text(&info.name);
    ui.add_space(2.0);
}

/// Three digits that do not jump about.
fn milliseconds(ms: f32) -> String {
    let decimals = if ms < 9.995 {
        2
    } else if ms < 99.95 {
        1
    } else {
        0
    };
    format!("{ms:.decimals$} ms")
}

/// What is being read and what went wrong, over the picture.
pub fn messages(ui: &Ui, loading: Option<&str>, messages: &mut Messages) {
    let free = ui.available_rect_before_wrap();
    if let Some(text) = loading {
        let area =
            egui::Area::new(egui::Id::unique("loading")).pivot(egui::Align2::CENTER_CENTER).fixed_pos(free.center());
        area.interactable(false).show(ui.ctx(), |ui| {
            egui::Frame::popup(ui.style()).show(ui, |ui| {
                ui.horizontal(|ui| {
                    ui.spinner();
                    ui.label(text);
                });
            });
        });
    }
    let Some(problem) = messages.problem.clone() else { return };
    let at = egui::pos2(free.center().x, free.top() + 16.0);
    let area = egui::Area::new(egui::Id::unique("problem")).pivot(egui::Align2::CENTER_TOP).fixed_pos(at);
    area.show(ui.ctx(), |ui| {
        let fill =
            if ui.visuals().dark_mode { Color32::from_rgb(84, 28, 28) } else { Color32::from_rgb(255, 224, 220) };
        egui::Frame::popup(ui.style()).fill(fill).show(ui, |ui| {
            ui.set_max_width((free.width() - 48.0).clamp(80.0, 460.0));
            ui.label(problem);
            if ui.button("Dismiss").clicked() {
                messages.problem = None;
            }
        });
    });
}

/// Names a widget that has no text of its own, for screen readers and tests.
pub fn named(response: Response, name: &str) -> Response {
    response.ctx.accesskit_node_builder(response.id, |node| node.set_label(name));
    response
}

/// A heading with a line above it.
pub fn section(ui: &mut Ui, title: &str) {
    ui.add_space(8.0);
    ui.separator();
    ui.label(RichText::new(title).strong());
    ui.add_space(2.0);
}

pub fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
