use std::time::{Duration, Instant};

use dermis::influence::{PruneContext, PruneOptions, displacement, prune};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

use super::*;
use crate::app::preset::{Redistribute, Ties};
use crate::app::view::pick::Picked;
use crate::app::weights::Weights as Format;

/// A grid of 7 × 5 vertices on four bones in a row, each vertex under up to all four.
pub(super) fn character() -> Character {
    use dermis::character::{Mesh, Part, Primitive, Rig, RigNode, Skin};
    use dermis::{Affine, Transform};
    let (nx, ny) = (7usize, 5usize);
    let place = |v: usize| [(v % nx) as f32 * 0.5, (v / nx) as f32 * 0.25 - 0.5, 0.0];
    let row = |v: usize| -> Vec<Influence> {
        let x = place(v)[0];
        let pull: Vec<f32> = (0..4).map(|j| (-(x - j as f32).powi(2)).exp()).collect();
        let sum: f32 = pull.iter().sum();
        (0u32..).zip(pull).map(|(joint, p)| Influence { joint, weight: p / sum }).collect()
    };
    let n = nx * ny;
    let rows: Vec<Vec<Influence>> = (0..n).map(row).collect();
    let mut indices = Vec::new();
    for y in 0..ny - 1 {
        for x in 0..nx - 1 {
            let a = (y * nx + x) as u32;
            let b = a + nx as u32;
            indices.extend([a, a + 1, b + 1, a, b + 1, b]);
        }
    }
    let node = |j: usize| RigNode {
        name: ["root", "arm_l", "arm_r", "tip"][j].into(),
        parent: j.checked_sub(1),
        rest: Transform { translation: [if j == 0 { 0.0 } else { 1.0 }, 0.0, 0.0], ..Transform::IDENTITY },
        source: j,
        ..RigNode::default()
    };
    let bind = |j: usize| Affine { rows: [[1.0, 0.0, 0.0, -(j as f32)], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]] };
    let triangles = indices.len();
    Character {
        name: "grid".into(),
        rig: Rig { nodes: (0..4).map(node).collect() },
        skins: vec![Skin { name: String::new(), joints: (0..4).collect(), inverse_binds: (0..4).map(bind).collect() }],
        meshes: vec![Mesh {
            name: "grid".into(),
            positions: (0..n).map(place).collect(),
            normals: vec![[0.0, 0.0, 1.0]; n],
            tangents: vec![[1.0, 0.0, 0.0, 1.0]; n],
            influences: Influences::from_vertices(rows.iter().map(Vec::as_slice)),
            indices,
            primitives: vec![Primitive { vertices: 0..n, indices: 0..triangles, ..Primitive::default() }],
            ..Mesh::default()
        }],
        parts: vec![Part::default()],
        ..Character::default()
    }
}

fn weights() -> Weights {
    let mut w = Weights::new(&character()).unwrap();
    wait(&mut w);
    w
}

/// Until the worker has said all.
fn wait(w: &mut Weights) {
    let start = Instant::now();
    while w.poll() {
        assert!(start.elapsed() < Duration::from_secs(30), "the worker does not end");
        std::thread::sleep(Duration::from_millis(2));
    }
    w.poll();
}

#[test]
fn the_error_field_is_the_report_s() {
    let mut w = weights();
    w.settings.max_influences = 2;
    w.settings.weights = Format::F32;
    w.changed();
    wait(&mut w);
    let sheet = &w.sheets[0];
    let context = PruneContext {
        positions: &sheet.file.positions,
        indices: &sheet.file.indices,
        symmetry: sheet.symmetry.as_ref(),
        ..PruneContext::default()
    };
    let pruned = prune(&sheet.file.influences, &PruneOptions { max: 2, ..PruneOptions::default() }, &context).unwrap();
    assert_eq!(*w.shown(0), pruned.influences);
    let expected = displacement(&sheet.moving(&w.facts, 0), &sheet.file.influences, &pruned.influences).unwrap();
    let report = w.report().unwrap();
    let found = report.displacement.as_ref().unwrap();
    assert_eq!((found.metres, found.vertex), (expected.metres, expected.vertex));
    assert!(expected.metres > 1e-3);
    w.show = Show::Error;
    let rest = Pose::rest(&w.facts.rig);
    let field = w.field(&rest).unwrap();
    let (at, text) = field.peak.unwrap();
    // The same distance may be reached at several vertices.
    assert_eq!(field.values[0][at.vertex], 1.0);
    assert_eq!(text, format!("{} mm", field::legend_number(expected.metres * 1000.0)));
    assert!(
        matches!(field.legend, Legend::Scale { most, unit: "mm", .. } if (most - 1000.0 * expected.metres).abs() < 1e-9)
    );
    assert!(field.values[0].iter().all(|v| (0.0..=1.0).contains(v)));
    // In the rest pose nothing is off by more than f32 sums are.
    w.show = Show::ErrorNow;
    let now = w.field(&rest).unwrap();
    assert!(matches!(now.legend, Legend::Words(_)) || matches!(now.legend, Legend::Scale { most, .. } if most < 1e-3));
}

#[test]
fn fields_of_bones_and_counts() {
    let mut w = weights();
    w.prune = false;
    w.settings.weights = Format::F32;
    w.changed();
    wait(&mut w);
    w.bone = Some(1);
    let rest = Pose::rest(&w.facts.rig);
    let field = w.field(&rest).unwrap();
    for (v, &x) in field.values[0].iter().enumerate() {
        assert_eq!(x, w.full[0].of(v).iter().find(|i| i.joint == 1).unwrap().weight);
    }
    assert_eq!(field.legend.marks(), ["1.00", "0.750", "0.500", "0.250", "0"]);
    w.show = Show::Count;
    let counts = w.field(&rest).unwrap();
    let Legend::Categories { rows, .. } = &counts.legend else { panic!() };
    assert_eq!(rows[3].2, 35);
    assert!(counts.values[0].iter().all(|v| (v * 8.0).round() == 3.0));
}

#[test]
fn what_is_packed_has_the_mesh_s_own_vertices() {
    let w = weights();
    let packed = w.packed_meshes();
    assert_eq!((packed.len(), packed[0].0), (1, 0));
    assert_eq!(packed[0].1.vertex_count(), w.facts.meshes[0].positions.len());
    assert!(packed[0].1.max_per_vertex() <= 4);
}

#[test]
fn edits_undo_over_drags_and_mirror() {
    let mut w = weights();
    let start = w.full[0].clone();
    let at = Chosen { sheet: 0, vertex: 9 };
    w.drag(at, 3, 0.9, false);
    w.drag(at, 3, 0.0, false);
    // A bone at 0 stays in the list while it is dragged.
    assert_eq!(w.listed(at).len(), 4);
    assert_eq!(w.full[0].of(9).len(), 3);
    w.drag(at, 3, 0.5, false);
    let share = |joint: u32| w.full[0].of(9).iter().find(|i| i.joint == joint).unwrap().weight;
    assert!((share(3) - 0.5).abs() < 1e-6);
    // The others kept their ratios, although 3 once had all but a tenth, and once nothing.
    let old = |joint: u32| start.of(9).iter().find(|i| i.joint == joint).unwrap().weight;
    assert!((share(0) / share(1) - old(0) / old(1)).abs() < 1e-5);
    assert_eq!(w.steps(), (true, false));
    assert!(w.undo());
    assert_eq!(w.full[0], start);
    assert!(!w.undo());
    assert!(w.redo());
    assert!((w.full[0].of(9).iter().find(|i| i.joint == 3).unwrap().weight - 0.5).abs() < 1e-6);
    // The plane between arm_l (x = 1) and arm_r (x = 2) is x = 1.5: column 2 faces column 4.
    let at = Chosen { sheet: 0, vertex: 9 };
    assert_eq!(w.image_of(at), Some(11));
    w.set(at, &[Influence { joint: 1, weight: 0.75 }, Influence { joint: 0, weight: 0.25 }], true);
    let image: Vec<(u32, f32)> = w.full[0].of(11).iter().map(|i| (i.joint, i.weight)).collect();
    assert_eq!(image, [(2, 0.75), (0, 0.25)]);
    w.undo();
    assert_eq!(w.full[0].of(11), start.of(11));
}

#[test]
fn clicks_choose_vertices_of_the_file() {
    let mut w = weights();
    w.choose(Some(Picked { part: 0, vertex: 12, point: glam::Vec3::ZERO }));
    assert_eq!(w.chosen, Some(Chosen { sheet: 0, vertex: 12 }));
    w.choose(None);
    assert_eq!(w.chosen, None);
    w.choose(Some(Picked { part: 7, vertex: 12, point: glam::Vec3::ZERO }));
    assert_eq!(w.chosen, None);
    let (at, normal) = w.place(Chosen { sheet: 0, vertex: 12 }, &Pose::rest(&w.facts.rig)).unwrap();
    assert!((normal[2] - 1.0).abs() < 1e-5);
    let p = w.facts.meshes[0].positions[12];
    assert!((0..3).all(|k| (at[k] - p[k]).abs() < 1e-5));
}

#[test]
fn a_second_file_is_compared_by_names() {
    let mut w = weights();
    w.prune = false;
    w.settings.weights = Format::F32;
    w.changed();
    wait(&mut w);
    // The same weights, with the joints in another order.
    let mut other = character();
    other.name = "turned".into();
    other.skins[0].joints.reverse();
    other.skins[0].inverse_binds.reverse();
    other.meshes[0].influences.entries.iter_mut().for_each(|i| i.joint = 3 - i.joint);
    w.compare(&other).unwrap();
    assert!(w.other.as_ref().unwrap().worst.is_empty());
    // One vertex differs by a quarter.
    let range = other.meshes[0].influences.offsets[17] as usize..other.meshes[0].influences.offsets[18] as usize;
    let tip = other.meshes[0].influences.entries[range.clone()].iter().position(|i| i.joint == 0).unwrap();
    other.meshes[0].influences.entries[range.clone()].iter_mut().for_each(|i| i.weight *= 0.75);
    other.meshes[0].influences.entries[range][tip].weight += 0.25;
    w.compare(&other).unwrap();
    let found = w.other.as_ref().unwrap();
    assert_eq!(found.worst[0].0, Chosen { sheet: 0, vertex: 17 });
    let lost: f32 = w.full[0].of(17).iter().filter(|i| i.joint != 3).map(|i| 0.25 * i.weight).sum();
    assert!((found.worst[0].1 - lost).abs() < 1e-6);
    w.show = Show::Difference;
    assert_eq!(w.field(&Pose::rest(&w.facts.rig)).unwrap().peak.unwrap().0.vertex, 17);
    other.meshes[0].positions.pop();
    other.meshes[0].primitives[0].vertices.end -= 1;
    other.meshes[0].primitives[0].indices = 0..0;
    let refused = w.compare(&other).unwrap_err();
    assert!(refused.contains("34 vertices") && refused.contains("35"), "{refused}");
    other.parts.clear();
    assert!(w.compare(&other).unwrap_err().contains("0 skinned meshes"));
}

#[test]
fn the_panel_prunes_and_edits() {
    let mut harness = Harness::builder().with_size([280.0, 1100.0]).build_ui_state(
        |ui, w: &mut Weights| {
            w.poll();
            panel::panel(ui, w);
        },
        weights(),
    );
    harness.run_steps(3);
    // Bones are found by a part of their names.
    let search = harness.get_all_by_role(egui::accesskit::Role::TextInput).next().unwrap();
    search.focus();
    search.type_text("ARM");
    harness.run_steps(3);
    assert!(harness.query_by_label("tip").is_none());
    harness.get_by_label("arm_r").click();
    harness.run_steps(3);
    assert_eq!(harness.state().bone, Some(2));
    // Pruning off.
    harness.get_by_label("Prune").click();
    harness.run_steps(3);
    assert!(!harness.state().prune);
    harness.get_by_label("Prune").click();
    harness.run_steps(3);
    // Another way to hand over.
    harness.state_mut().settings.ties = Ties::Index;
    harness.get_by_role_and_label(egui::accesskit::Role::ComboBox, "Hand over").click();
    harness.run_steps(3);
    harness.get_by_label("continuous").click();
    harness.run_steps(3);
    assert_eq!(harness.state().settings.redistribute, Redistribute::Continuous);
    // A vertex: remove a bone, take it back.
    harness.state_mut().chosen = Some(Chosen { sheet: 0, vertex: 9 });
    harness.run_steps(3);
    harness.get_by_label("Vertex 9");
    harness.get_all_by_label("×").next().unwrap().click();
    harness.run_steps(3);
    assert_eq!(harness.state().full[0].of(9).len(), 3);
    let sum: f32 = harness.state().full[0].of(9).iter().map(|i| i.weight).sum();
    assert!((sum - 1.0).abs() < 1e-6);
    harness.get_by_label("Undo").click();
    harness.run_steps(3);
    assert_eq!(harness.state().full[0].of(9).len(), 4);
    // Without normalising, changes are collected.
    harness.get_by_label("Normalise").click();
    harness.run_steps(3);
    harness.get_all_by_label("×").next().unwrap().click();
    harness.run_steps(3);
    assert_eq!(harness.state().full[0].of(9).len(), 4);
    harness.get_by_label("Normalise and apply").click();
    harness.run_steps(3);
    assert_eq!(harness.state().full[0].of(9).len(), 3);
    wait(harness.state_mut());
}

/// A model beside the project; `None`, said aloud, where there is none.
fn model(name: &str) -> Option<std::path::PathBuf> {
    let path = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/models").join(name);
    if !path.exists() {
        eprintln!("NOT RUN: {} does not exist", path.display());
        return None;
    }
    Some(path)
}

#[test]
fn a_saved_copy_has_the_weights_on_show() {
    use crate::app::view::source::Source;
    let Some(path) = model("ozz_arnaud_8inf.glb") else { return };
    let folder = std::env::temp_dir().join(format!("dermis-weights-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let target = folder.join("copy.glb");
    let mut w = Weights::new(&dermis::io::load(&path).unwrap()).unwrap();
    w.settings.max_influences = 3;
    w.settings.weights = Format::U16;
    let at = Chosen { sheet: 0, vertex: 100 };
    let (a, b) = (w.bones[3].joints[0].unwrap(), w.bones[4].joints[0].unwrap());
    w.set(at, &[Influence { joint: a, weight: 0.75 }, Influence { joint: b, weight: 0.25 }], false);
    wait(&mut w);
    let source = Source::File(path.clone());
    w.save(&source, &target).unwrap();
    let copy = dermis::io::load(&target).unwrap();
    let saved = pruning::sheets(&copy).remove(0);
    assert!(saved.file.influences.max_per_vertex() <= 3);
    // What is read back is what was on show, and the edit is in it.
    assert!(dermis::influence::variation(w.shown(0), &saved.file.influences).unwrap().iter().all(|&d| d < 1e-6));
    let found: Vec<(u32, f32)> = saved.file.influences.of(100).iter().map(|i| (i.joint, i.weight)).collect();
    assert!(found.len() == 2 && found[0].0 == a && (found[0].1 - 0.75).abs() < 1e-4, "{found:?}");
    assert_eq!(saved.file.positions, w.sheets[0].file.positions);
    assert_eq!(copy.rig, w.facts.rig);
    // The original is not written over, nor is anything that is no GLB.
    assert!(w.save(&source, &path).is_err());
    assert!(w.save(&source, &folder.join("copy.txt")).is_err());
    std::fs::remove_dir_all(&folder).unwrap();
}
