//! The built-in hands, which are in no file, are changed and saved in every tab.

use std::path::PathBuf;

use dermis::Character;
use egui::accesskit::Role;
use egui::{Key, Modifiers, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use glam::Vec3;

use super::shell::Shell;
use super::testing;

const SIZE: egui::Vec2 = vec2(960.0, 900.0);

/// The hands, and a folder that goes away.
struct Bench {
    hands: Character,
    folder: PathBuf,
    h: Harness<'static, Shell>,
}

impl Bench {
    fn new(tab: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("dermis-saving-{tab}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let hands = testing::small_hands();
        let mut h = testing::harness(testing::shell_with(SIZE, hands.clone()), SIZE);
        h.run_steps(2);
        h.get_by_label(tab).click();
        h.run_steps(3);
        Self { hands, folder, h }
    }

    /// Clicks a button that saves, types where, and reads what is there then.
    fn save(&mut self, button: &str, name: &str) -> Character {
        // Panels move while numbers arrive from other threads: a click may miss.
        let mut tries = 0;
        while self.h.query_by_label_contains("Type the path").is_none() {
            tries += 1;
            assert!(tries < 50, "{button} does not ask where");
            self.h.get_by_label(button).click();
            self.h.run_steps(3);
        }
        let path = self.folder.join(name);
        self.h.key_press_modifiers(Modifiers::COMMAND, Key::A);
        self.h.run_steps(1);
        // The question has the keyboard.
        self.h.event(egui::Event::Text(path.to_str().unwrap().into()));
        self.h.run_steps(2);
        self.h.key_press(Key::Enter);
        testing::until(&mut self.h, "saving", |h| {
            h.state().messages.note.is_some() || h.state().messages.problem.is_some()
        });
        assert!(self.h.state().messages.problem.is_none(), "{:?}", self.h.state().messages.problem);
        assert_eq!(self.h.state().messages.note, Some(format!("Saved {}", path.display())));
        dermis::io::load(&path).unwrap()
    }

    /// Where a point is seen.
    fn seen(&self, point: [f32; 3]) -> egui::Pos2 {
        let shell = self.h.state();
        shell.layout.projection(&shell.orbit).screen(Vec3::from(point)).unwrap()
    }

    fn unsaved(&self) -> Option<String> {
        self.h.state().modes[self.h.state().active].unsaved()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).unwrap_or_default();
    }
}

fn click(h: &mut Harness<'static, Shell>, at: egui::Pos2) {
    h.hover_at(at);
    h.run_steps(2);
    h.drag_at(at);
    h.run_steps(1);
    h.drop_at(at);
    h.run_steps(3);
}

#[test]
fn changed_weights_are_saved() {
    let mut bench = Bench::new("Weights");
    let mesh = bench.hands.meshes[0].clone();
    // Somewhere on the right hand's palm, where several bones pull.
    let facing =
        |v: &usize| mesh.positions[*v][0] < -0.05 && mesh.normals[*v][2] > 0.9 && mesh.influences.of(*v).len() == 3;
    let aim = (0..mesh.positions.len()).find(facing).unwrap();
    let at = bench.seen(mesh.positions[aim]);
    click(&mut bench.h, at);
    bench.h.get_all_by_label("×").next().expect("no vertex was picked").click();
    bench.h.run_steps(3);
    assert_eq!(bench.unsaved().as_deref(), Some("edited weights"));
    let saved = bench.save("Save model…", "weights.glb");
    assert_eq!(bench.unsaved(), None);

    let new = &saved.meshes[0];
    assert_eq!((&new.positions, &new.uvs, &saved.images), (&mesh.positions, &mesh.uvs, &bench.hands.images));
    // One place lost a bone; nothing else changed by more than a byte's rounding.
    let far = dermis::influence::variation(&mesh.influences, &new.influences).unwrap();
    let changed: Vec<usize> = (0..far.len()).filter(|&v| far[v] > 0.01).collect();
    assert!(!changed.is_empty());
    for &v in &changed {
        assert_eq!(mesh.positions[v], mesh.positions[changed[0]]);
        assert_eq!(new.influences.of(v).len() + 1, mesh.influences.of(v).len());
    }
}

#[test]
fn a_blended_pose_is_saved_as_a_copy() {
    let mut bench = Bench::new("Pose");
    let saved = bench.save("Posed copy…", "posed.glb");
    assert_eq!(saved.clips.last().unwrap().name, "pose");
    let moved = |name: &str| {
        let rotation = |c: &Character| c.rig.nodes[c.rig.find(name).unwrap()].rest.rotation;
        rotation(&saved).iter().zip(rotation(&bench.hands)).any(|(a, b)| (a - b).abs() > 0.01)
    };
    // The point starts between the corners.
    assert!(moved("index-finger-phalanx-proximal_left") && moved("index-finger-phalanx-proximal_right"));
    assert!(!moved("wrist_left"));
    assert_eq!(saved.meshes[0].influences, bench.hands.meshes[0].influences);
}

#[test]
fn a_pose_made_by_hand_is_saved_as_a_copy() {
    let mut bench = Bench::new("Skeleton");
    let node = bench.hands.rig.find("middle-finger-phalanx-proximal_right").unwrap();
    let world =
        dermis::pose::joint_worlds(&bench.hands.rig, &dermis::pose::Pose::rest(&bench.hands.rig)).unwrap()[node];
    let at = bench.seen(world.rows.map(|r| r[3]));
    click(&mut bench.h, at);
    let numbers: Vec<_> = bench.h.get_all_by_role(Role::SpinButton).map(|n| n.rect().center()).collect();
    click(&mut bench.h, numbers[0]);
    bench.h.key_press_modifiers(Modifiers::COMMAND, Key::A);
    bench.h.run_steps(1);
    bench.h.get_all_by_role(Role::SpinButton).next().unwrap().type_text("40");
    bench.h.key_press(Key::Enter);
    bench.h.run_steps(3);
    assert_eq!(bench.unsaved().as_deref(), Some("a pose"));
    let saved = bench.save("Save model…", "by-hand.glb");
    assert_eq!(bench.unsaved(), None);
    let rest = |c: &Character, name: &str| c.rig.nodes[c.rig.find(name).unwrap()].rest;
    let moved = |n: &&dermis::character::RigNode| rest(&saved, &n.name) != n.rest;
    let names: Vec<&str> = bench.hands.rig.nodes.iter().filter(moved).map(|n| n.name.as_str()).collect();
    assert_eq!(names, ["middle-finger-phalanx-proximal_right"]);
}
