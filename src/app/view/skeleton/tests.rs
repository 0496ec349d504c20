use dermis::render::{Camera, Depth, perspective};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

use super::*;
use crate::app::view::pick::{Surface, middle};

fn look() -> Projection {
    let camera = Camera::look_at([0.0, 0.0, 6.0], [0.0; 3], perspective(0.7, 1.0, 0.01, Depth::Reversed));
    Projection::new(
        camera,
        egui::Rect::from_min_size(egui::pos2(0.0, 0.0), vec2(600.0, 600.0)),
        egui::Rect::from_min_size(egui::pos2(0.0, 0.0), vec2(600.0, 600.0)),
    )
}

/// A box without a skin, 2 × 1 × 0.6.
fn body() -> Character {
    use dermis::character::{Mesh, Part, Primitive, Rig, RigNode, Skin};
    let corner = |i: u32| [(i & 1) as f32 * 2.0 - 1.0, (i >> 1 & 1) as f32 - 0.5, (i >> 2) as f32 * 0.6 - 0.3];
    let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    Character {
        name: "box".into(),
        rig: Rig { nodes: vec![RigNode::default()] },
        skins: vec![Skin { name: String::new(), joints: vec![0], inverse_binds: vec![dermis::Affine::IDENTITY] }],
        meshes: vec![Mesh {
            positions: (0..8).map(corner).collect(),
            normals: vec![[0.0, 0.0, 1.0]; 8],
            tangents: vec![[1.0, 0.0, 0.0, 1.0]; 8],
            influences: dermis::influence::Influences::rigid(8, 0),
            indices: quads.iter().flat_map(|q| [q[0], q[1], q[2], q[0], q[2], q[3]]).collect(),
            primitives: vec![Primitive { vertices: 0..8, indices: 0..36, ..Primitive::default() }],
            ..Mesh::default()
        }],
        parts: vec![Part { rigid: true, ..Part::default() }],
        ..Character::default()
    }
}

/// Of a character that is in no file.
fn skeleton(character: Character) -> Skeleton {
    let character = Arc::new(character);
    Skeleton::new(character.clone(), Source::Program(character))
}

struct Picture {
    skeleton: Skeleton,
    view: Projection,
}

fn harness(skeleton: Skeleton) -> Harness<'static, Picture> {
    Harness::builder().with_size([600.0, 600.0]).build_ui_state(
        |ui, p: &mut Picture| {
            let mesh = p.skeleton.character.meshes[0].clone();
            // As the viewer does it: a click on the picture that nothing else took.
            let area = ui.interact(ui.max_rect(), ui.scope_id().with("picture"), Sense::click_and_drag());
            let clicked = area.clicked().then(|| area.interact_pointer_pos()).flatten();
            let surface = [Surface { positions: &mesh.positions, indices: &mesh.indices }];
            p.skeleton.paint(ui, &p.view, clicked, &mut |ray| middle(ray, &surface));
        },
        Picture { skeleton, view: look() },
    )
}

fn click(harness: &mut Harness<'static, Picture>, at: egui::Pos2) {
    harness.hover_at(at);
    harness.run_steps(2);
    harness.drag_at(at);
    harness.run_steps(1);
    harness.drop_at(at);
    harness.run_steps(2);
}

#[test]
fn clicks_place_joints_in_the_middle_and_drags_move_them() {
    let mut h = harness(skeleton(body()));
    let view = look();
    let at = |x: f32, y: f32| view.screen(Vec3::new(x, y, 0.0)).unwrap();
    click(&mut h, at(-0.6, 0.0));
    click(&mut h, at(0.1, 0.1));
    click(&mut h, at(0.7, 0.0));
    let joints = h.state().skeleton.draft.now().joints.clone();
    assert_eq!(joints.iter().map(|j| j.parent).collect::<Vec<_>>(), [None, Some(0), Some(1)]);
    for (joint, x) in joints.iter().zip([-0.6, 0.1, 0.7]) {
        // Halfway through the box along the ray: at its middle plane.
        assert!((joint.at[0] - x).abs() < 1e-3 && joint.at[2].abs() < 1e-3, "{joint:?}");
    }
    // Beside the body: nothing is chosen, and the next one is a root.
    click(&mut h, egui::pos2(20.0, 20.0));
    assert_eq!(h.state().skeleton.chosen, None);
    // A click on a joint chooses it.
    click(&mut h, at(0.1, 0.1));
    assert_eq!(h.state().skeleton.chosen, Some(1));
    assert_eq!(h.state().skeleton.draft.now().joints.len(), 3);
    // Dragging it takes along what hangs on it; one step of undo.
    h.hover_at(at(0.1, 0.1));
    h.run_steps(2);
    h.drag_at(at(0.1, 0.1));
    h.run_steps(2);
    for k in 1..=8 {
        h.hover_at(at(0.1, 0.1 + 0.03 * k as f32));
        h.run_steps(1);
    }
    h.drop_at(at(0.1, 0.34));
    h.run_steps(2);
    let moved = h.state().skeleton.draft.now().joints.clone();
    assert!((moved[1].at[1] - 0.34).abs() < 0.02, "{:?}", moved[1]);
    assert!((moved[2].at[1] - joints[2].at[1] - (moved[1].at[1] - joints[1].at[1])).abs() < 1e-4);
    assert!(h.state_mut().skeleton.undo());
    assert_eq!(h.state().skeleton.draft.now().joints, joints);
}

#[test]
fn the_drawing_panel_renames_hangs_and_deletes() {
    let mut s = skeleton(body());
    let mut draft = Draft::default();
    draft.place([0.0; 3], None);
    draft.place([0.5, 0.0, 0.0], Some(0));
    draft.place([0.8, 0.0, 0.0], Some(1));
    s.draft.set(draft);
    s.chosen = Some(1);
    let mut h = Harness::builder().with_size([280.0, 800.0]).build_ui_state(
        |ui, s: &mut Skeleton| {
            panel::panel(ui, s);
        },
        s,
    );
    h.run_steps(2);
    let field = h.get_by_role_and_label(egui::accesskit::Role::TextInput, "Name");
    field.focus();
    h.run_steps(2);
    h.get_by_role_and_label(egui::accesskit::Role::TextInput, "Name").type_text("_elbow");
    h.run_steps(2);
    h.key_press(egui::Key::Enter);
    h.run_steps(2);
    assert!(h.state().draft.now().joints[1].name.contains("_elbow"));
    h.get_by_label("Delete").click();
    h.run_steps(2);
    let joints = &h.state().draft.now().joints;
    assert_eq!(joints.iter().map(|j| j.parent).collect::<Vec<_>>(), [None, Some(0)]);
    h.get_by_label("Undo").click();
    h.run_steps(2);
    assert_eq!(h.state().draft.now().joints.len(), 3);
}

/// Two joints of a skinned strip.
pub(super) fn arm() -> Character {
    use dermis::Transform;
    use dermis::character::{Part, Rig, RigNode, Skin};
    let mut c = body();
    let node = |name: &str, parent, y: f32| RigNode {
        name: name.into(),
        parent,
        rest: Transform { translation: [0.0, y, 0.0], ..Transform::IDENTITY },
        ..RigNode::default()
    };
    c.rig = Rig { nodes: vec![node("root", None, -0.5), node("lower", Some(0), 0.5), node("tip", Some(1), 0.5)] };
    let skin = dermis::influence::bind::skin_at_rest("", &c.rig, &[0, 1, 2], &dermis::Affine::IDENTITY).unwrap();
    c.skins = vec![Skin { ..skin }];
    c.parts = vec![Part::default()];
    c
}

#[test]
fn a_bone_is_chosen_and_turned_with_undo() {
    let mut h = harness(skeleton(arm()));
    let view = look();
    // The bone of "lower" goes from the origin up.
    click(&mut h, view.screen(Vec3::new(0.0, 0.3, 0.0)).unwrap());
    let poser = h.state().skeleton.poser.as_ref().unwrap();
    assert_eq!(poser.chosen.map(|j| poser.name(j)), Some("lower"));
    // The ring about z lies in the picture's plane: from its right a quarter of a turn up.
    let from = view.screen(Vec3::ZERO).unwrap();
    h.hover_at(from + vec2(72.0 * 0.985, 72.0 * 0.17));
    h.run_steps(2);
    h.drag_at(from + vec2(72.0 * 0.985, 72.0 * 0.17));
    h.run_steps(2);
    for k in 0..=10 {
        let a = -0.17 + 0.1 * k as f32;
        h.hover_at(from + vec2(72.0 * a.cos(), -72.0 * a.sin()));
        h.run_steps(1);
    }
    h.drop_at(from + vec2(72.0 * 0.83f32.cos(), -72.0 * 0.83f32.sin()));
    h.run_steps(2);
    let poser = h.state().skeleton.poser.as_ref().unwrap();
    let degrees = poser.degrees(1);
    assert!((degrees[2] - 57.3).abs() < 2.0 && degrees[0].abs() < 0.1, "{degrees:?}");
    let tip = poser.places()[2];
    assert!(tip.x < -0.3 && tip.y > 0.2, "{tip}");
    let s = &mut h.state_mut().skeleton;
    assert!(s.undo());
    assert_eq!(s.poser.as_ref().unwrap().degrees(1), [0.0; 3]);
    assert!(!s.undo());
    // A click beside everything chooses nothing.
    click(&mut h, egui::pos2(30.0, 30.0));
    assert_eq!(h.state().skeleton.poser.as_ref().unwrap().chosen, None);
}

#[test]
fn length_and_thickness_move_what_hangs_on_a_bone() {
    let mut s = skeleton(arm());
    let poser = s.poser.as_mut().unwrap();
    poser.set_shape(1, 2.0, 0.5, true);
    poser.set_shape(1, 1.5, 9.0, true);
    poser.release();
    assert_eq!((poser.local(1).length, poser.local(1).thickness), (1.5, 3.0));
    assert!((poser.places()[2].y - 0.75).abs() < 1e-6);
    assert!(poser.undo());
    assert_eq!(poser.local(1).length, 1.0);
    poser.redo();
    poser.reset(1);
    assert_eq!(*poser.pose(), Pose::rest(&poser.character.rig));
}

#[test]
fn a_drawn_skeleton_binds_poses_and_saves() {
    let path = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/models/MorphStressTest.gltf");
    if !path.exists() {
        eprintln!("NOT RUN: {} does not exist", path.display());
        return;
    }
    let character = Arc::new(dermis::io::load(&path).unwrap());
    let source = Source::File(path.clone());
    let mut s = Skeleton::new(character.clone(), source);
    assert!(s.poser.is_none());
    let places = character.meshes[0].positions.iter().map(|&p| Vec3::from(p));
    let (low, high) = places.fold((Vec3::INFINITY, Vec3::NEG_INFINITY), |(l, h), p| (l.min(p), h.max(p)));
    let mut draft = Draft::default();
    let middle = 0.5 * (low + high);
    draft.place([low.x, middle.y, middle.z], None);
    draft.place(middle.to_array(), Some(0));
    draft.place([high.x, middle.y, middle.z], Some(1));
    s.draft.set(draft);
    assert!(s.unsaved());
    s.options.heat = false;
    s.bind();
    let start = std::time::Instant::now();
    let bound = loop {
        assert!(start.elapsed().as_secs() < 60 && s.problem.is_none(), "{:?}", s.problem);
        match s.poll() {
            Some(bound) => break bound,
            None => std::thread::sleep(std::time::Duration::from_millis(5)),
        }
    };
    let none = &mut |uri: &str| Err(format!("{uri} is outside"));
    let model = Arc::new(dermis::io::load_bytes("bound.glb", &bound.glb, none).unwrap());
    let mut posed = Skeleton::new(model.clone(), Source::Made(bound.glb.clone(), Some(path.clone())));
    let poser = posed.poser.as_mut().unwrap();
    assert_eq!((0..3).map(|j| poser.name(j).to_owned()).collect::<Vec<_>>(), ["root", "joint", "joint_01"]);
    assert!((poser.places()[1] - middle).length() < 1e-4);
    poser.set_degrees(1, [0.0, 0.0, 30.0], false);
    let folder = std::env::temp_dir().join(format!("dermis-skeleton-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let target = folder.join("posed.glb");
    posed.save(&target).unwrap();
    let saved = dermis::io::load(&target).unwrap();
    assert!(saved.parts.iter().any(|p| !p.rigid));
    let node = posed.poser.as_ref().unwrap().joints[1];
    let wanted = posed.pose().unwrap().joints[node].rotation;
    let name = &model.rig.nodes[node].name;
    let rest = saved.rig.nodes[saved.rig.find(name).unwrap()].rest.rotation;
    assert!((0..4).all(|k| (rest[k] - wanted[k]).abs() < 1e-6), "{rest:?} {wanted:?}");
    assert!(posed.save(&path).is_err());
    std::fs::remove_dir_all(&folder).unwrap();
}
