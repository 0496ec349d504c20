//! The tab's widgets, driven as a user does; no window.

use dermis::Character;
use dermis::character::{Rig, RigNode};
use dermis::pose::{BuiltIn, Finger, HandChoice, Outside, Side};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use glam::Quat;

use super::desk::{Act, Desk};
use super::setup::Lock;
use super::{desk_ui, solid};

/// Two hands of three joints per finger.
fn hands() -> Character {
    let mut nodes = vec![RigNode { name: "root".into(), ..RigNode::default() }];
    for (side, sign) in [("l", 1.0_f32), ("r", -1.0)] {
        let wrist = nodes.len();
        let mut add = |name: String, parent: usize, translation: [f32; 3]| {
            let rest = dermis::Transform { translation, ..dermis::Transform::IDENTITY };
            nodes.push(RigNode { name, parent: Some(parent), rest, ..RigNode::default() });
            nodes.len() - 1
        };
        add(format!("hand_{side}"), 0, [sign * 0.3, 1.0, 0.0]);
        for (f, finger) in ["thumb", "index", "middle", "ring", "pinky"].into_iter().enumerate() {
            let across = 0.04 - 0.02 * f as f32;
            let first = if f == 0 { [sign * 0.03, -0.02, 0.05] } else { [sign * 0.09, 0.0, across] };
            let mut parent = wrist;
            for i in 1..=3 {
                let step = if i == 1 { first } else { [sign * 0.03, 0.0, 0.0] };
                parent = add(format!("{finger}_0{i}_{side}"), parent, step);
            }
        }
    }
    Character { name: "hands".into(), rig: Rig { nodes }, ..Character::default() }
}

struct Bench {
    character: Character,
    desk: Desk,
    turn: Quat,
    refused: Option<String>,
}

impl Bench {
    fn new(kind: BuiltIn) -> Self {
        let character = hands();
        let mut desk = Desk::new(&character).unwrap();
        desk.fade = 0.0;
        desk.act(&character, [0.0, 1.0, 3.0], &Act::BuiltIn(kind)).unwrap();
        desk.act(&character, [0.0; 3], &Act::Point([0.2, 0.1, 0.0])).unwrap();
        Self { character, desk, turn: solid::first_turn(), refused: None }
    }

    fn ui(&mut self, ui: &mut egui::Ui) {
        // Every frame a step of its own.
        self.desk.tick(1.0);
        egui::Panel::left("left").exact_size(270.0).show(ui, |ui| {
            let mut acts = super::clip::panel(ui, &mut self.desk, &self.character);
            acts.extend(desk_ui::panel(ui, &mut self.desk).0);
            self.act(&acts);
        });
        egui::CentralPanel::default().show(ui, |ui| {
            ui.set_max_width(360.0);
            let acts = desk_ui::window(ui, &mut self.desk, &self.character, &[], &mut self.turn);
            self.act(&acts);
        });
    }

    fn act(&mut self, acts: &[Act]) {
        for act in acts {
            if let Err(refusal) = self.desk.act(&self.character, [0.0, 1.0, 3.0], act) {
                self.refused = Some(refusal);
            }
        }
    }

    fn harness(self) -> Harness<'static, Self> {
        Harness::builder().with_size([640.0, 570.0]).build_ui_state(|ui, bench: &mut Self| bench.ui(ui), self)
    }

    fn weights(&self) -> Vec<f32> {
        self.desk.blended.corners.clone()
    }

    fn finger(&self, side: Side, finger: Finger) -> usize {
        self.desk.setup.finger_group(self.desk.hands.as_ref().unwrap(), side, finger).unwrap()
    }

    fn shown_by(&self, group: usize) -> Vec<f64> {
        self.desk.setup.state.captured(&self.desk.setup.space, group, self.desk.clock).unwrap()
    }
}

fn drag(harness: &mut Harness<'_, Bench>, from: egui::Pos2, to: egui::Pos2) {
    harness.drag_at(from);
    harness.step();
    for i in 1..=4 {
        harness.hover_at(from + (to - from) * (i as f32 / 4.0));
        harness.step();
    }
    harness.drop_at(to);
    harness.run_steps(2);
}

fn centre(harness: &Harness<'_, Bench>, label: &str) -> egui::Pos2 {
    harness.get_by_label(label).rect().center()
}

#[test]
fn dragging_the_point_moves_the_weights() {
    let mut harness = Bench::new(BuiltIn::Triangle).harness();
    harness.run_steps(2);
    let before = harness.state().weights();
    let from = centre(&harness, "point");
    // Towards the fist, which is at the lower right.
    drag(&mut harness, from, from + egui::vec2(60.0, 0.0));
    let after = harness.state().weights();
    assert!(after[1] > before[1] + 0.2, "{before:?} {after:?}");
    assert!((after.iter().sum::<f32>() - 1.0).abs() < 1e-5);
    // One drag, one step back.
    assert!(harness.state_mut().desk.step(true));
    harness.run_steps(2);
    // Drags closer together than a pause are one step; here every frame is one.
    while (harness.state().weights()[1] - before[1]).abs() > 1e-6 {
        assert!(harness.state_mut().desk.step(true));
    }
    // By keys.
    harness.get_by_label("point").focus();
    harness.run_steps(2);
    for _ in 0..5 {
        harness.key_press(egui::Key::ArrowUp);
    }
    harness.run_steps(3);
    let lifted = harness.state().weights();
    assert!(lifted[2] > before[2] + 0.05, "{before:?} {lifted:?}");
}

#[test]
fn a_locked_finger_keeps_its_weights() {
    let mut harness = Bench::new(BuiltIn::Triangle).harness();
    harness.run_steps(2);
    let (index, middle) =
        (harness.state().finger(Side::Left, Finger::Index), harness.state().finger(Side::Left, Finger::Middle));
    let held = harness.state().shown_by(index);
    harness.get_by_label("left index").click();
    harness.run_steps(3);
    assert_eq!(harness.state().desk.setup.lock(index, [true; 4]), Some(Lock::Held));
    assert_eq!(harness.state().shown_by(index), held, "a lock does not move the finger");
    let from = centre(&harness, "point");
    drag(&mut harness, from, from + egui::vec2(70.0, -20.0));
    assert_eq!(harness.state().shown_by(index), held, "nor does the point");
    assert_ne!(harness.state().shown_by(middle), held);
    harness.get_by_label("left index").click();
    harness.run_steps(3);
    assert_eq!(harness.state().shown_by(index), harness.state().shown_by(middle), "let go, it follows again");
}

#[test]
fn a_hold_s_strength_lies_between_following_and_holding() {
    let mut bench = Bench::new(BuiltIn::Triangle);
    let index = bench.finger(Side::Left, Finger::Index);
    let held = bench.shown_by(index);
    bench.act(&[Act::Lock(index, Lock::Held), Act::Point([0.8, 0.1, 0.0])]);
    bench.act(&[Act::Strength(index, 0.25)]);
    let live = bench.shown_by(bench.finger(Side::Left, Finger::Ring));
    let mixed = bench.shown_by(index);
    for ((mixed, live), held) in mixed.iter().zip(&live).zip(&held) {
        assert!((mixed - (0.75 * live + 0.25 * held)).abs() < 1e-9);
    }
    let mut harness = bench.harness();
    harness.get_by_label("All groups").click();
    harness.run_steps(12);
    let slider = harness.get_by_role_and_label(egui::accesskit::Role::Slider, "strength");
    assert_eq!(slider.accesskit_node().numeric_value(), Some(0.25));
    slider.focus();
    harness.run_steps(2);
    harness.key_press(egui::Key::ArrowRight);
    harness.run_steps(3);
    assert!(harness.state().desk.setup.strength(index, [true; 4], 9.0) > 0.25);
    // One slide, one step back.
    assert!(harness.state_mut().desk.step(true));
    assert_eq!(harness.state().shown_by(index), mixed);
}

#[test]
fn hands_take_turns_and_stay_where_they_were_left() {
    let mut harness = Bench::new(BuiltIn::Triangle).harness();
    let (left, right) =
        (harness.state().finger(Side::Left, Finger::Ring), harness.state().finger(Side::Right, Finger::Ring));
    harness.get_by_label("Left").click();
    harness.run_steps(3);
    let parked = harness.state().shown_by(right);
    let from = centre(&harness, "point");
    drag(&mut harness, from, from + egui::vec2(60.0, 0.0));
    let moved = harness.state().shown_by(left);
    assert_eq!(harness.state().shown_by(right), parked);
    assert_ne!(moved, parked);
    // The other hand takes over: the point goes to where it is, neither hand moves.
    harness.get_by_label("Right").click();
    harness.run_steps(3);
    assert_eq!(harness.state().shown_by(left), moved);
    assert_eq!(harness.state().shown_by(right), parked);
    harness.get_by_label("Both").click();
    harness.run_steps(3);
    assert_eq!(harness.state().shown_by(left), harness.state().shown_by(right));
    assert_eq!(harness.state().desk.setup.choice, HandChoice::Both);
}

#[test]
fn a_corner_s_menu_changes_its_pose() {
    let mut harness = Bench::new(BuiltIn::Triangle).harness();
    harness.run_steps(2);
    harness.get_by_label_contains("corner fist").click();
    harness.run_steps(3);
    harness.get_by_label("fist thumb up").click();
    harness.run_steps(3);
    assert_eq!(harness.state().desk.setup.state.selected(1), Some(2));
    harness.get_by_label_contains("corner fist thumb up");
}

#[test]
fn a_solid_is_turned_and_its_point_dragged_across_the_screen() {
    let mut harness = Bench::new(BuiltIn::Tetrahedron).harness();
    harness.run_steps(2);
    let (turn, point) = (harness.state().turn, harness.state().desk.setup.state.point());
    let at = centre(&harness, "point");
    drag(&mut harness, at, at + egui::vec2(24.0, -18.0));
    let moved = harness.state().desk.setup.state.point();
    assert_ne!(moved, point);
    assert_eq!(harness.state().turn, turn);
    // In the plane through it that is parallel to the screen: no nearer, no farther.
    let depth = |p: [f32; 3]| (turn * glam::Vec3::from(p)).z;
    // Sums and products of numbers below 2 in f32.
    assert!((depth(moved) - depth(point)).abs() < 1e-5);
    let rect = harness.get_by_label("solid: drag to turn it").rect();
    let free = rect.center_bottom() + egui::vec2(-20.0, -14.0);
    drag(&mut harness, free, free + egui::vec2(50.0, 0.0));
    assert!(harness.state().turn.angle_between(turn) > 0.2);
    assert_eq!(harness.state().desk.setup.state.point(), moved);
}

#[test]
fn corners_stay_convex_and_poses_come_and_go() {
    let mut bench = Bench::new(BuiltIn::Triangle);
    let count = |bench: &Bench| bench.desk.setup.space.corners().len();
    bench.act(&[Act::Corner(2, [0.5, 0.0, 0.0])]);
    assert!(bench.refused.take().unwrap().contains("cannot go there"));
    bench.act(&[Act::RemoveCorner(0)]);
    assert!(bench.refused.take().unwrap().contains("needs 3 corners"));
    let before = bench.desk.blended.pose.clone();
    // Up to the most there may be, or until there is no room.
    for _ in 0..20 {
        bench.act(&[Act::AddCorner]);
    }
    assert!(bench.refused.take().is_some());
    assert!((8..=16).contains(&count(&bench)), "{}", count(&bench));
    let n = count(&bench);
    bench.act(&[Act::AddPose(0), Act::RemoveCorner(n - 1), Act::Point([0.0; 3])]);
    assert_eq!(bench.refused.take(), None);
    // The pose that was added is what was seen: in the corner alone it is the same pose.
    assert_eq!(count(&bench), n - 1);
    let shown = &bench.desk.blended.pose;
    assert_eq!(shown.joints.len(), before.joints.len());
    bench.act(&[Act::RemovePose(0, 1), Act::RemovePose(0, 0)]);
    assert!(bench.refused.take().unwrap().contains("only pose"));
    bench.act(&[Act::Rename(0, "fist".into())]);
    assert!(bench.refused.take().unwrap().contains("another pose"));
    bench.act(&[Act::Rename(0, "flat".into()), Act::Outside(Outside::Extrapolate)]);
    assert_eq!(bench.desk.setup.space.samples()[0].name, "flat");
    assert!(bench.desk.edited());
    while bench.desk.step(true) {}
    assert!((count(&bench), bench.desk.edited()) == (3, false));
}

#[test]
fn a_saved_space_opens_as_the_same() {
    let mut bench = Bench::new(BuiltIn::Square);
    let path = std::env::temp_dir().join(format!("dermis-pose-mode-{}.json", std::process::id()));
    super::files::save(&mut bench.desk, &bench.character, &path).unwrap();
    let before = bench.desk.setup.space.evaluate(&bench.desk.setup.state, 0.0).unwrap();
    let mut other = Bench::new(BuiltIn::Triangle);
    super::files::open(&mut other.desk, &other.character, &path).unwrap();
    other.act(&[Act::Point([0.2, 0.1, 0.0])]);
    let after = other.desk.setup.space.evaluate(&other.desk.setup.state, 0.0).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(after.corners, before.corners);
    for (a, b) in after.pose.joints.iter().zip(&before.pose.joints) {
        // Quaternions are made unit on reading: an ulp, spread by the blend's sums.
        (0..4).for_each(|i| assert!((a.rotation[i] - b.rotation[i]).abs() < 1e-6));
    }
    assert!(super::files::open(&mut other.desk, &other.character, std::path::Path::new("nowhere.json")).is_err());
}

/// A clip that turns the left index finger's first joint.
fn with_clip(mut character: Character) -> Character {
    use dermis::character::{Channel, Clip, Interpolation, Target};
    let node = character.find_node("index_01_l").unwrap();
    character.clips = vec![Clip {
        name: "turn".into(),
        duration: 2.0,
        channels: vec![Channel {
            target: Target::Rotation(node),
            interpolation: Interpolation::Linear,
            times: vec![0.0, 2.0],
            width: 4,
            values: vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.6, 0.8],
        }],
    }];
    character
}

#[test]
fn a_pose_is_taken_from_a_clip_by_scrubbing() {
    let mut bench = Bench::new(BuiltIn::Triangle);
    bench.character = with_clip(hands());
    let node = bench.character.find_node("index_01_l").unwrap();
    let mut harness = bench.harness();
    harness.run_steps(2);
    harness.get_by_label_contains("corner fist").click();
    harness.run_steps(3);
    harness.get_by_label("Take fist from a clip").click();
    harness.run_steps(3);
    let pose = |harness: &Harness<'_, Bench>| {
        let space = &harness.state().desk.setup.space;
        space.samples()[space.corners()[1].samples[0]].pose.joints[node].rotation
    };
    assert_eq!(pose(&harness), [0.0, 0.0, 0.0, 1.0]);
    harness.get_by_role_and_label(egui::accesskit::Role::Slider, "time").focus();
    harness.run_steps(2);
    for _ in 0..400 {
        harness.key_press(egui::Key::ArrowRight);
        harness.run_steps(1);
    }
    let turned = pose(&harness);
    assert!(turned[2] > 0.3, "{turned:?}");
    harness.get_by_label("Done").click();
    harness.run_steps(2);
    assert!(harness.state().desk.from_clip.is_none());
    while harness.state_mut().desk.step(true) {}
    assert!(!harness.state().desk.edited());
}

#[test]
fn a_picture_that_was_chosen_is_saved_beside_the_space() {
    let folder = std::env::temp_dir().join(format!("dermis-pose-pictures-{}", std::process::id()));
    let elsewhere = folder.join("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    let picture = elsewhere.join("red.png");
    image::RgbaImage::from_pixel(2, 2, image::Rgba([200, 0, 0, 255])).save(&picture).unwrap();
    std::fs::write(elsewhere.join("text.png"), "no picture").unwrap();
    let mut bench = Bench::new(BuiltIn::Triangle);
    let refused = bench.desk.choose_picture(&elsewhere.join("text.png")).unwrap_err();
    assert!(refused.contains("text.png: "), "{refused}");
    let name = bench.desk.choose_picture(&picture).unwrap();
    bench.act(&[Act::Texture(1, Some(name))]);
    let seen = |bench: &Bench, file: &std::path::Path| {
        let chosen = &bench.desk.chosen_pictures;
        crate::app::textures::of_samples(&bench.desk.setup.space, &bench.character, chosen, file)
    };
    assert_eq!(
        seen(&bench, "nowhere.json".as_ref()).unwrap().unwrap()[1].as_ref().unwrap().rgba[..4],
        [200, 0, 0, 255]
    );
    let file = folder.join("space.json");
    super::files::save(&mut bench.desk, &bench.character, &file).unwrap();
    let mut other = Bench::new(BuiltIn::Square);
    super::files::open(&mut other.desk, &other.character, &file).unwrap();
    let read = seen(&other, &file).unwrap().unwrap();
    assert_eq!(read[1].as_ref().unwrap().rgba[..4], [200, 0, 0, 255]);
    // Another picture of that name is not lost.
    std::fs::write(folder.join("red.png"), "mine").unwrap();
    let refused = super::files::save(&mut bench.desk, &bench.character, &file).unwrap_err();
    let mine = std::fs::read(folder.join("red.png")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(refused.contains("another picture"), "{refused}");
    assert_eq!(mine, b"mine");
}

fn looks(kind: BuiltIn, name: &str) {
    let mut bench = Bench::new(kind);
    bench.act(&[Act::Outside(Outside::Extrapolate)]);
    let index = bench.finger(Side::Left, Finger::Index);
    let thumb = bench.finger(Side::Right, Finger::Thumb);
    bench.act(&[Act::Lock(index, Lock::Held), Act::Lock(thumb, Lock::Own), Act::Point([0.55, 0.3, 0.1])]);
    let mut harness = bench.harness();
    harness.run_steps(3);
    // Antialiasing differs a little from one rasteriser to the next.
    let options = egui_kittest::SnapshotOptions::new().threshold(1.5).max_failed_pixels(800);
    harness.snapshot_options(name, &options);
}

#[test]
fn the_triangle_looks_as_it_did() {
    looks(BuiltIn::Triangle, "pose_triangle");
}

#[test]
fn the_tetrahedron_looks_as_it_did() {
    looks(BuiltIn::Tetrahedron, "pose_tetrahedron");
}
