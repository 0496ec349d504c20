//! The side panel and the space window of the hand setup.

use dermis::Character;
use dermis::pose::{BuiltIn, Channels, Finger, HandChoice, Outside, Side};
use egui::{Color32, RichText, Ui, Vec2};
use glam::Quat;

use super::colors;
use super::desk::{Act, Desk};
use super::hand_map::{self, Area, HandView, Picked};
use super::setup::{Lock, parts};
use super::shape::{CornerView, Done, PointView, ShapeView};
use super::{plane, solid};
use crate::app::view::panel::section;

/// What the panel asks for that is not a change of the setup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    OpenSpace,
    SaveSpace,
    SavePose,
    SaveModel,
    /// A picture for a sample.
    Texture(usize),
}

const LOCKS: [(Lock, &str); 4] = [
    (Lock::Follow, "follows the point"),
    (Lock::Held, "held"),
    (Lock::Default, "default pose"),
    (Lock::Own, "own point"),
];

/// The side panel.
pub fn panel(ui: &mut Ui, desk: &mut Desk) -> (Vec<Act>, Vec<Wish>) {
    let (mut acts, mut wishes) = (Vec::new(), Vec::new());
    space_row(ui, desk, &mut acts, &mut wishes);
    section(ui, "Hands");
    if desk.hands.is_some() {
        choice(ui, desk, &mut acts);
        map(ui, desk, &mut acts);
    } else {
        ui.weak("No fingers were found among the joints.").on_hover_text(&desk.handless);
    }
    holds(ui, desk, &mut acts);
    section(ui, "Outside the corners");
    ui.horizontal(|ui| {
        for (outside, name, text) in [
            (Outside::Clamp, "Clamp", "The nearest point of the shape"),
            (Outside::Extrapolate, "Extrapolate", "Goes on in a straight line, within the joints' limits"),
        ] {
            if ui.selectable_label(desk.setup.space.outside() == outside, name).on_hover_text(text).clicked() {
                acts.push(Act::Outside(outside));
            }
        }
    });
    let cut = desk.blended.clamped.iter().filter(|c| **c).count();
    let text = format!("{cut} {} at the limit", if cut == 1 { "joint" } else { "joints" });
    ui.label(if cut > 0 { RichText::new(text).color(super::LIMIT) } else { RichText::new(text).weak() });
    if desk.blended.quality < 0.5 {
        let text = format!("poses more than 120° apart (quality {:.2})", desk.blended.quality);
        ui.label(RichText::new(text).color(ui.visuals().warn_fg_color));
    }
    section(ui, "Save");
    ui.horizontal_wrapped(|ui| {
        if ui.button("Pose…").on_hover_text("Weights and joints of this pose as JSON").clicked() {
            wishes.push(Wish::SavePose);
        }
        if ui.button("Posed copy…").on_hover_text("The model in this pose, as GLB").clicked() {
            wishes.push(Wish::SaveModel);
        }
    });
    (acts, wishes)
}

fn space_row(ui: &mut Ui, desk: &mut Desk, acts: &mut Vec<Act>, wishes: &mut Vec<Wish>) {
    section(ui, "Pose space");
    ui.horizontal_wrapped(|ui| {
        for (kind, name) in
            [(BuiltIn::Triangle, "Triangle"), (BuiltIn::Square, "Square"), (BuiltIn::Tetrahedron, "Tetrahedron")]
        {
            if ui.add_enabled(desk.hands.is_some(), egui::Button::new(name)).clicked() {
                acts.push(Act::BuiltIn(kind));
            }
        }
    });
    ui.horizontal_wrapped(|ui| {
        if ui.button("New").on_hover_text("Three rest poses, to be filled").clicked() {
            acts.push(Act::Blank);
        }
        if ui.button("Open space…").clicked() {
            wishes.push(Wish::OpenSpace);
        }
        if ui.button("Save space…").clicked() {
            wishes.push(Wish::SaveSpace);
        }
    });
    let name = desk.file.as_deref().and_then(|f| f.file_name()).map(|n| n.to_string_lossy().into_owned());
    let name = name.unwrap_or_else(|| desk.setup.space.name().to_owned());
    ui.weak(if desk.edited() { format!("{name} (edited)") } else { name });
    ui.horizontal_wrapped(|ui| {
        ui.toggle_value(&mut desk.editing, "Edit corners").on_hover_text("Drag corners instead of the point");
        let add = ui.button("Add corner").on_hover_text("A new corner that holds the pose you see");
        if add.clicked() {
            acts.push(Act::AddCorner);
        }
        if desk.hands.as_ref().is_some_and(|h| h.hands.len() > 1) {
            ui.menu_button("Mirror", |ui| {
                for side in [Side::Left, Side::Right] {
                    let text = format!("{} hand of every pose to the {}", side.name(), side.other().name());
                    if ui.button(text).clicked() {
                        acts.push(Act::Mirror(side));
                    }
                }
            });
        }
    });
}

fn choice(ui: &mut Ui, desk: &Desk, acts: &mut Vec<Act>) {
    let Some(hands) = &desk.hands else { return };
    ui.horizontal(|ui| {
        for (choice, name, side) in [
            (HandChoice::Left, "Left", Some(Side::Left)),
            (HandChoice::Right, "Right", Some(Side::Right)),
            (HandChoice::Both, "Both", None),
            (HandChoice::Auto, "Auto", None),
        ] {
            let there = side.is_none_or(|s| hands.get(s).is_some());
            let button = egui::Button::selectable(desk.setup.choice == choice, name);
            let response = ui.add_enabled(there, button);
            let response = if choice == HandChoice::Auto {
                response.on_hover_text("The hand you last touched, else the one nearer the camera")
            } else {
                response
            };
            if response.clicked() {
                acts.push(Act::Hands(choice));
            }
        }
    });
}

fn map(ui: &mut Ui, desk: &mut Desk, acts: &mut Vec<Act>) {
    let Some(hands) = desk.hands.clone() else { return };
    let mut clicked = None;
    let mut wanted = None;
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 2.0;
        let height = (0.5 * ui.available_width() / 1.08 - 2.0).clamp(60.0, 150.0);
        for side in [Side::Left, Side::Right] {
            let Some(hand) = hands.get(side) else { continue };
            let mut fingers = [None; 5];
            for finger in Finger::ALL {
                fingers[finger as usize] = desk.setup.finger_group(&hands, hand.side, finger).map(|g| area(desk, g));
            }
            let known: Vec<Area> = fingers.iter().flatten().copied().collect();
            let same = known.windows(2).all(|w| w[0].lock == w[1].lock);
            let palm = Area {
                color: colors::mix(known.iter().map(|a| (a.color, 1.0))),
                lock: if same { known.first().and_then(|a| a.lock) } else { Some(Lock::Follow) },
                strength: known.iter().map(|a| a.strength).fold(0.0, f32::max),
            };
            let view = HandView { side, fingers, palm, active: desk.setup.is_active(side) };
            let mut menu = |ui: &mut Ui, picked: Picked| {
                for (lock, name) in LOCKS {
                    if ui.button(name).clicked() {
                        wanted = Some((picked, lock));
                    }
                }
            };
            clicked = hand_map::show(ui, height, &view, &mut menu).or(clicked);
        }
    });
    let groups = |picked: Picked| -> Vec<usize> {
        let of = |finger| desk.setup.finger_group(&hands, picked.0, finger);
        picked.1.map_or_else(|| Finger::ALL.into_iter().filter_map(of).collect(), |f| of(f).into_iter().collect())
    };
    if let Some(picked) = clicked {
        acts.push(Act::Toggle(groups(picked)));
    }
    if let Some((picked, lock)) = wanted {
        acts.extend(groups(picked).into_iter().map(|group| Act::Lock(group, lock)));
    }
    if let Some((side, _)) = clicked.or(wanted.map(|w| w.0)) {
        desk.hand = Some(side);
    }
}

/// What a group shows: the mix of corner colours that its joints have.
fn area(desk: &Desk, group: usize) -> Area {
    let setup = &desk.setup;
    let weights = setup.state.captured(&setup.space, group, desk.clock).unwrap_or_default();
    let color = |sample: usize| {
        let corner = setup.space.corners().iter().position(|c| c.samples.contains(&sample));
        corner.map_or(Color32::GRAY, colors::corner)
    };
    let lock = setup.lock(group, desk.chosen);
    let strength = setup.state.group_strength(&setup.space, group, Channels::ALL, desk.clock).unwrap_or(0.0);
    Area { color: colors::mix(weights.iter().enumerate().map(|(i, &w)| (color(i), w as f32))), lock, strength }
}

fn holds(ui: &mut Ui, desk: &mut Desk, acts: &mut Vec<Act>) {
    ui.horizontal(|ui| {
        ui.spacing_mut().slider_width = 90.0;
        ui.add(egui::Slider::new(&mut desk.fade, 0.0..=3.0).suffix(" s").max_decimals(2).text("fade"));
    });
    ui.horizontal_wrapped(|ui| {
        ui.label("Hold:");
        for (i, (name, _)) in parts().into_iter().enumerate() {
            ui.checkbox(&mut desk.chosen[i], name);
        }
    });
    if desk.chosen == [false; 4] {
        desk.chosen = [true; 4];
    }
    egui::CollapsingHeader::new("All groups").show(ui, |ui| {
        for (group, entry) in desk.setup.space.groups().iter().enumerate() {
            ui.horizontal(|ui| {
                let now = desk.setup.lock(group, desk.chosen);
                let shown = LOCKS.iter().find(|l| Some(l.0) == now).map_or("differs", |l| l.1);
                egui::ComboBox::from_id_salt(("group", group)).width(118.0).selected_text(shown).show_ui(ui, |ui| {
                    for (lock, name) in LOCKS {
                        if ui.selectable_label(now == Some(lock), name).clicked() {
                            acts.push(Act::Lock(group, lock));
                        }
                    }
                });
                ui.add(egui::Label::new(&entry.name).truncate());
            });
            if desk.setup.lock(group, desk.chosen).is_some_and(|lock| lock != Lock::Follow) {
                let mut strength = desk.setup.strength(group, desk.chosen, desk.clock);
                ui.spacing_mut().slider_width = 112.0;
                let slider = egui::Slider::new(&mut strength, 0.0..=1.0).max_decimals(2).text("strength");
                if ui.add(slider).on_hover_text("How far it leaves the point").changed() {
                    acts.push(Act::Strength(group, strength));
                }
            }
        }
    });
}

/// The space: polygon or solid, weights, numbers.
pub fn window(
    ui: &mut Ui,
    desk: &mut Desk,
    character: &Character,
    pictures: &[Option<egui::TextureId>],
    turn: &mut Quat,
) -> Vec<Act> {
    let mut acts = Vec::new();
    let setup = desk.setup.clone();
    let (corners, points) = (corners(desk, pictures), points(desk));
    let view = ShapeView {
        shape: setup.space.coordinates(),
        outside: setup.space.outside(),
        corners: &corners,
        points: &points.iter().map(|p| &p.1).cloned().collect::<Vec<_>>(),
        editing: desk.editing,
    };
    let (rename, wish, from_clip) = (&mut desk.rename, &mut desk.wish, &mut desk.from_clip);
    let mut menu = |ui: &mut Ui, corner: usize| {
        super::menu::corner(ui, &setup, character, corner, rename, (wish, from_clip), &mut acts);
    };
    let size = Vec2::new(ui.available_width(), ui.available_width().min(360.0));
    let done = if view.shape.dimensions() == 2 {
        plane::show(ui, size, &view, &mut menu)
    } else {
        solid::show(ui, size, &view, turn, &mut menu)
    };
    for d in done {
        acts.push(match d {
            Done::Corner(corner, to) => Act::Corner(corner, to),
            Done::Point(i, to) => match points.get(i).and_then(|p| p.0) {
                Some(group) => Act::Own(group, to),
                None => Act::Point(to),
            },
        });
    }
    bar(ui, &corners);
    ui.horizontal(|ui| numbers(ui, desk, &mut acts));
    acts
}

fn corners(desk: &Desk, pictures: &[Option<egui::TextureId>]) -> Vec<CornerView> {
    let space = &desk.setup.space;
    let of = |(i, corner): (usize, &dermis::pose::Corner)| {
        let selected = corner.samples[desk.setup.state.selected(i).unwrap_or(0)];
        CornerView {
            name: space.samples()[selected].name.clone(),
            weight: desk.blended.corners.get(i).copied().unwrap_or(0.0),
            color: colors::corner(i),
            picture: pictures.get(i).copied().flatten(),
            alternatives: corner.samples.len(),
        }
    };
    space.corners().iter().enumerate().map(of).collect()
}

/// The space's point first, then own points with their groups, then where hands were left.
fn points(desk: &Desk) -> Vec<(Option<usize>, PointView)> {
    let setup = &desk.setup;
    let point = |name: &str, at, color, movable| PointView { name: name.into(), at, color, movable };
    let mut out = vec![(None, point("point", setup.state.point(), Color32::WHITE, true))];
    for (group, at) in setup.own_points() {
        let name = &setup.space.groups()[group].name;
        out.push((Some(group), point(name, at, Color32::from_rgb(255, 214, 90), true)));
    }
    for side in [Side::Left, Side::Right] {
        if let Some(at) = setup.parked(side) {
            out.push((None, point(&format!("{} hand", side.name()), at, Color32::GRAY, false)));
        }
    }
    out
}

/// All weights in one bar.
fn bar(ui: &mut Ui, corners: &[CornerView]) {
    let (rect, _) = ui.allocate_exact_size(Vec2::new(ui.available_width(), 10.0), egui::Sense::hover());
    let total: f32 = corners.iter().map(|c| c.weight.max(0.0)).sum::<f32>().max(1e-6);
    let mut x = rect.left();
    for corner in corners {
        let width = rect.width() * corner.weight.max(0.0) / total;
        let part = egui::Rect::from_min_size(egui::pos2(x, rect.top()), Vec2::new(width, rect.height()));
        ui.painter().rect_filled(part, 0, corner.color);
        x += width;
    }
}

/// The point as numbers to type.
fn numbers(ui: &mut Ui, desk: &Desk, acts: &mut Vec<Act>) {
    let mut at = desk.setup.state.point();
    let dimensions = desk.setup.space.coordinates().dimensions();
    let speed = 0.005 * desk.setup.space.coordinates().diameter();
    let mut changed = false;
    for (axis, x) in at.iter_mut().enumerate().take(dimensions) {
        let prefix = ["x ", "y ", "z "][axis];
        changed |= ui.add(egui::DragValue::new(x).speed(speed).max_decimals(3).prefix(prefix)).changed();
    }
    if changed {
        acts.push(Act::Point(at));
    }
    if ui.button("Centre").clicked() {
        let corners = desk.setup.space.coordinates().corners();
        let n = corners.len() as f32;
        acts.push(Act::Point(std::array::from_fn(|a| corners.iter().map(|c| c[a]).sum::<f32>() / n)));
    }
}
