//! Dual palettes against the reference, under every drive, and proof that the comparison notices a broken pose pass.

use std::sync::Arc;

use super::scene::{MeshKind, frame, mesh};
use super::{Random, device};
use crate::character::{Clip, Rig, Skin};
use crate::gpu::dual::{DUAL_ROWS, TURN_WORDS};
use crate::gpu::pose::{PosePipeline, SOURCE, TURNS_WORD};
use crate::gpu::readback::read_range;
use crate::gpu::skin::{Pipelines, SkinPipelines};
use crate::gpu::{
    CharacterId, Drive, MeshOptions, Method, PartId, RigDescriptor, Skinner, SkinnerDescriptor, SpaceId, read_vertices,
};
use crate::influence::Precision;
use crate::math::Affine;
use crate::pose::{Pose, PoseSpace, SpaceState, skin_palette};
use crate::reference;

const NOW: f64 = 1000.0;
/// The last is hidden: its palettes stay zero.
const CHARACTERS: usize = 12;

struct Case {
    rig: Rig,
    skins: Vec<Skin>,
    clips: Vec<Clip>,
    space: Option<PoseSpace>,
    depth: usize,
}

/// Rigs of the pose pass's own tests, with mirrors of all sorts.
fn case(nodes: usize, kind: usize, random: &mut Random) -> Case {
    let mut case = match kind {
        0 | 1 => {
            let c = super::pose::case(nodes, kind == 1, random);
            Case { rig: c.rig, skins: c.skins, clips: c.clips, space: None, depth: c.depth }
        }
        _ => {
            let c = super::space::case(nodes.max(25), kind, kind == 3, random);
            Case { rig: c.rig, skins: c.skins, clips: Vec::new(), space: Some(c.space), depth: c.depth }
        }
    };
    for (i, node) in case.rig.nodes.iter_mut().enumerate() {
        for axis in 0..3 {
            if (i + 2 * axis) % 13 < 2 {
                node.rest.scale[axis] = -node.rest.scale[axis];
            }
        }
        if i % 17 == 3 {
            node.base.rows[1] = node.base.rows[1].map(|x| -x);
        }
        if i % 17 == 9 {
            // Turned, mirrored and of another size.
            node.base.rows = [[0.0, 1.1, 0.0, 0.1], [0.9, 0.0, 0.1, 0.0], [0.0, 0.0, 1.0, 0.2]];
        }
    }
    for (i, m) in case.skins[1].inverse_binds.iter_mut().enumerate() {
        let axis = i % 4;
        m.rows.iter_mut().for_each(|row| row[axis.min(2)] *= if axis == 3 { 1.0 } else { -1.0 });
        m.rows[0] = m.rows[0].map(|x| 1.5 * x);
    }
    case
}

/// What the reference makes of a linear palette and its rotations.
fn rows(entry: [[f64; 4]; 3], q: [f64; 4]) -> [[f64; 4]; 5] {
    let [x, y, z, w] = q;
    let mut out = [[0.0; 4]; 5];
    for c in 0..4 {
        let [a, b, d] = entry.map(|row| row[c]);
        let product = [w * a + b * z - d * y, w * b + d * x - a * z, w * d + a * y - b * x, -a * x - b * y - d * z];
        (0..4).for_each(|r| out[r][c] = product[r]);
    }
    out[4] = q;
    out
}

/// A skin's linear palette and rotations.
type SkinPalette = (Vec<[[f64; 4]; 3]>, Vec<[f64; 4]>);

/// What the reference makes of a drive, per skin.
fn palettes(case: &Case, drive: &Driven) -> Vec<SkinPalette> {
    let wide = |m: &Affine| m.rows.map(|r| r.map(f64::from));
    let of_skin = |(s, skin): (usize, &Skin)| match drive {
        Driven::Space(state) => {
            let space = case.space.as_ref().unwrap();
            let joints = reference::blend(&case.rig, space, state, NOW);
            let rotations = reference::local_rotations(space, &joints);
            let palette = reference::palette(&case.rig, skin, space, state, NOW);
            (palette, reference::turns(&case.rig, skin, &rotations))
        }
        Driven::Palette(of, palette, _) if *of == s => {
            let palette: Vec<_> = palette.iter().map(wide).collect();
            let turns = palette.iter().map(reference::turn).collect();
            (palette, turns)
        }
        // The skins that a host's palette is not for keep the pose they had.
        Driven::Pose(pose, _) | Driven::Palette(_, _, pose) => {
            let rotations: Vec<_> = pose.joints.iter().map(|j| unit(j.rotation.map(f64::from))).collect();
            let palette = skin_palette(&case.rig, skin, pose).unwrap().iter().map(wide).collect();
            (palette, reference::turns(&case.rig, skin, &rotations))
        }
    };
    case.skins.iter().enumerate().map(of_skin).collect()
}

fn unit(q: [f64; 4]) -> [f64; 4] {
    let length = q.iter().map(|x| x * x).sum::<f64>().sqrt();
    q.map(|x| x / length)
}

enum Driven {
    Space(SpaceState),
    /// Played from a clip: which, and since when; else given.
    Pose(Pose, Option<(usize, f64)>),
    Palette(usize, Vec<Affine>, Pose),
}

fn driven(case: &Case, i: usize, random: &mut Random) -> Driven {
    let mut pose = Pose::rest(&case.rig);
    if i.is_multiple_of(3) {
        for joint in &mut pose.joints {
            joint.rotation = glam::Quat::from_axis_angle(random.direction(), 3.0 * random.unit()).to_array();
            joint.length = 1.0 + 0.1 * random.signed();
            joint.thickness = 1.0 + 0.1 * random.signed();
        }
        return Driven::Pose(pose, None);
    }
    if i % 3 == 1 {
        let palette = super::scene::palette(case.skins[1].joints.len() as u32, i.is_multiple_of(2), random);
        return Driven::Palette(1, palette, pose);
    }
    if let Some(space) = &case.space {
        return Driven::Space(super::space::state(space, i, NOW, random));
    }
    let start = NOW - 0.17 * i as f64;
    case.clips[i % 3].sample((NOW - start) as f32, &mut pose);
    Driven::Pose(pose, Some((i % 3, start)))
}

fn drive_by(skinner: &mut Skinner, character: CharacterId, space: Option<SpaceId>, drive: &Driven) {
    let drive = match drive {
        Driven::Space(state) => Drive::Space { space: space.unwrap(), state },
        Driven::Pose(_, Some((clip, start))) => Drive::Clip { clip: *clip, start: *start, looping: false },
        Driven::Pose(pose, None) => Drive::Local(pose),
        Driven::Palette(skin, palette, _) => Drive::Palette(*skin, palette),
    };
    skinner.drive(character, drive).unwrap();
}

/// Worst difference of the dual palettes, in units of 2e-6 · max(1, depth/200) of the largest entry, as for linear palettes.
fn compare(source: &str, cases: &[Case], device: &wgpu::Device, queue: &wgpu::Queue) -> Result<f64, String> {
    let pipelines = Pipelines { pose: PosePipeline::with_source(device, source), skin: SkinPipelines::new(device) };
    let descriptor = SkinnerDescriptor { pipelines: Some(Arc::new(pipelines)), ..SkinnerDescriptor::default() };
    let mut skinner = Skinner::new(device, &descriptor).unwrap();
    skinner.frame.largest_grid = 5;
    let mut random = Random::new(31);
    let kind = MeshKind { vertices: 3, joints: 1, width: 1, precision: Precision::Compact, targets: 0 };
    let mut small = mesh(kind, &mut random).mesh;
    // Two slots of one joint would be merged.
    let two = |v: u32| [(0, 0.4), (v % 2, 0.6)].map(|(joint, weight)| crate::influence::Influence { joint, weight });
    let lists: Vec<_> = (0..3).map(two).collect();
    small.influences = crate::influence::Influences::from_vertices(lists.iter().map(<[_; 2]>::as_slice));
    let options = MeshOptions { method: Method::DualQuaternion, ..MeshOptions::default() };
    let dual = skinner.add_mesh_with(queue, &small, options).unwrap();
    let mut ids = Vec::new();
    for case in cases {
        let descriptor = RigDescriptor { rig: &case.rig, skins: &case.skins, clips: &case.clips };
        let rig = skinner.add_rig(&descriptor).unwrap();
        ids.push((rig, case.space.as_ref().map(|space| skinner.add_space(rig, space).unwrap())));
    }
    let mut states = Vec::new();
    for i in 0..=CHARACTERS {
        let (rig, space) = ids[i % ids.len()];
        let case = &cases[i % ids.len()];
        // A skin of one joint has no second one to blend with.
        let parts = [PartId { mesh: dual, skin: 0 }];
        let character = skinner.spawn(rig, &parts[..usize::from(case.skins[0].joints.len() > 1)]).unwrap();
        let drive = driven(case, i / ids.len(), &mut random);
        drive_by(&mut skinner, character, space, &drive);
        skinner.set_visible(character, i != CHARACTERS).unwrap();
        states.push(drive);
    }
    frame(device, queue, &mut skinner, NOW);
    let buffer = skinner.palettes.buffer.clone();
    let bytes = read_range(device, queue, &buffer, 0..buffer.size()).unwrap();
    let all: Vec<[f32; 4]> = bytemuck::pod_collect_to_vec(&bytes);
    let mut worst = 0_f64;
    for (i, drive) in states.iter().enumerate() {
        let case = &cases[i % cases.len()];
        let character = skinner.slots[i].character.as_ref().unwrap();
        let (first, joints) = (3 * character.dual.0 as usize, character.palette.1 as usize);
        if case.skins[0].joints.len() == 1 {
            assert!(!character.is_dual());
            continue;
        }
        let got: Vec<[[f32; 4]; 5]> = all[first..first + 5 * joints].as_chunks::<5>().0.to_vec();
        if i == CHARACTERS {
            // The CPU's part of the palettes is made when it is driven.
            if matches!(drive, Driven::Space(_)) && got.iter().flatten().flatten().any(|x| *x != 0.0) {
                return Err("the spare character's palettes were written".into());
            }
            continue;
        }
        let all = palettes(case, drive).into_iter().flat_map(|(palette, turns)| palette.into_iter().zip(turns));
        let expected: Vec<_> = all.map(|(entry, q)| rows(entry, q)).collect();
        let size = expected.iter().flatten().flatten().fold(1_f64, |a, x| a.max(x.abs()));
        let tolerance = 2e-6 * (case.depth as f64 / 200.0).max(1.0);
        for (joint, (e, g)) in expected.iter().zip(&got).enumerate() {
            let g = g.map(|r| r.map(f64::from));
            let side = if (0..4).map(|k| e[4][k] * g[4][k]).sum::<f64>() < 0.0 { -1.0 } else { 1.0 };
            for (r, (e, g)) in e.iter().zip(&g).enumerate() {
                let tolerance = if r == 4 { tolerance } else { size * tolerance };
                for (e, g) in e.iter().zip(g) {
                    let error = (e - side * g).abs() / tolerance;
                    if error.is_nan() || error > 1.0 {
                        return Err(format!("character {i}, joint {joint} of {joints}, row {r}: {g} instead of {e}"));
                    }
                    worst = worst.max(error);
                }
            }
        }
    }
    Ok(worst)
}

#[test]
fn dual_palettes_agree_with_the_reference_under_every_drive() {
    let (device, queue) = device();
    for nodes in [1, 25, 65, 320, 321, 1200] {
        let mut random = Random::new(nodes as u64);
        let cases: Vec<_> = (0..4).map(|kind| case(nodes, kind, &mut random)).collect();
        let worst = compare(SOURCE, &cases, &device, &queue).unwrap_or_else(|e| panic!("{nodes} nodes: {e}"));
        println!("{nodes} nodes: {:.0} % of the tolerance", 100.0 * worst);
    }
}

/// From drives to vertices: linear and dual meshes on both skins of one character.
#[test]
fn vertices_agree_with_the_reference_under_every_drive() {
    let (device, queue) = device();
    let mut random = Random::new(17);
    let cases: Vec<_> = [(65, 0), (65, 2), (330, 1)].map(|(n, kind)| case(n, kind, &mut random)).into();
    let mut skinner = Skinner::new(&device, &SkinnerDescriptor::default()).unwrap();
    let kind = MeshKind { vertices: 203, joints: 22, width: 4, precision: Precision::Fine, targets: 0 };
    let test_mesh = mesh(kind, &mut random);
    let methods = [Method::DualQuaternion, Method::Linear];
    let meshes = methods.map(|method| {
        let options = MeshOptions { method, precision: Precision::Fine, ..MeshOptions::default() };
        skinner.add_mesh_with(&queue, &test_mesh.mesh, options).unwrap()
    });
    let all = [(0, 0), (1, 0), (0, 1), (1, 1)];
    let parts = all.map(|(method, skin)| PartId { mesh: meshes[method], skin });
    let influences = super::scene::stored_influences(&test_mesh);
    let mut characters = Vec::new();
    for case in &cases {
        let descriptor = RigDescriptor { rig: &case.rig, skins: &case.skins, clips: &case.clips };
        let rig = skinner.add_rig(&descriptor).unwrap();
        let space = case.space.as_ref().map(|space| skinner.add_space(rig, space).unwrap());
        for i in 0..6 {
            let drive = driven(case, i, &mut random);
            let character = skinner.spawn(rig, &parts).unwrap();
            drive_by(&mut skinner, character, space, &drive);
            characters.push((character, case, drive));
        }
    }
    frame(&device, &queue, &mut skinner, NOW);
    let (mut worst, mut compared) = (0_f64, 0);
    for (c, (character, case, drive)) in characters.iter().enumerate() {
        let palettes = palettes(case, drive);
        for (part, (method, skin)) in all.into_iter().enumerate() {
            let (palette, turns) = &palettes[skin];
            let size = palette.iter().flatten().flatten().fold(1_f64, |a, x| a.max(x.abs()));
            let got = read_vertices(&device, &queue, &skinner.vertices(*character, part).unwrap()).unwrap();
            for (v, got) in got.positions.iter().enumerate() {
                let list: Vec<_> = influences.of(v).iter().map(|e| (e.joint as usize, f64::from(e.weight))).collect();
                let rest = reference::Vertex {
                    position: test_mesh.mesh.positions[v].map(f64::from),
                    normal: [0.0, 0.0, 1.0],
                    tangent: [1.0, 0.0, 0.0, 1.0],
                };
                // Where a joint is half a turn from the heaviest, its side is a matter of rounding.
                let dot = |a: [f64; 4], b: [f64; 4]| (0..4).map(|i| a[i] * b[i]).sum::<f64>();
                let sides = list.iter().map(|&(j, _)| dot(turns[j], turns[list[0].0]));
                if methods[method] == Method::DualQuaternion && sides.into_iter().any(|d| d.abs() < 1e-3) {
                    continue;
                }
                let (e, _) = match methods[method] {
                    Method::Linear => reference::skin(&rest, &list, palette),
                    Method::DualQuaternion => reference::skin_dual(&rest, &list, palette, turns),
                };
                // As for palettes; and a sum of rotations that is short by opposing ones has that much larger errors.
                let short = if methods[method] == Method::Linear { 1.0 } else { list[0].1 };
                let tolerance = 2e-6 * size * (case.depth as f64 / 200.0).max(1.0) / short;
                for (e, g) in e.position.into_iter().zip(got) {
                    let error = (e - f64::from(*g)).abs() / tolerance;
                    assert!(error <= 1.0, "character {c}, part {part}, vertex {v}: {g} instead of {e}");
                    worst = worst.max(error);
                }
                compared += 1;
            }
        }
    }
    println!("{compared} vertices: {:.0} % of the tolerance", 100.0 * worst);
    assert!(compared > 14_000);
}

#[test]
fn linear_characters_pay_nothing() {
    let (device, queue) = device();
    let mut random = Random::new(4);
    let case = case(330, 0, &mut random);
    let mut skinner = Skinner::new(&device, &SkinnerDescriptor::default()).unwrap();
    let descriptor = RigDescriptor { rig: &case.rig, skins: &case.skins, clips: &case.clips };
    let rig = skinner.add_rig(&descriptor).unwrap();
    let kind = MeshKind { vertices: 67, joints: 22, width: 4, precision: Precision::Compact, targets: 0 };
    let test_mesh = mesh(kind, &mut random).mesh;
    let linear = skinner.add_mesh(&queue, &test_mesh).unwrap();
    // One joint per vertex: nothing to blend, whatever the method.
    let mut rigid = test_mesh.clone();
    rigid.influences = crate::influence::Influences::rigid(67, 2);
    let options = MeshOptions { method: Method::DualQuaternion, ..MeshOptions::default() };
    let rigid = skinner.add_mesh_with(&queue, &rigid, options).unwrap();
    let dual = skinner.add_mesh_with(&queue, &test_mesh, options).unwrap();
    let characters = [vec![linear.into(), rigid.into()], vec![linear.into(), dual.into()]]
        .map(|parts: Vec<PartId>| skinner.spawn(rig, &parts).unwrap());
    let data = characters.map(|c| {
        let data = skinner.character(c).unwrap();
        (data.dual.1, data.scratch.1)
    });
    let joints = case.skins.iter().map(|s| s.joints.len() as u32).sum::<u32>();
    assert_eq!(data, [(0, 3 * 330), ((5 * joints).div_ceil(3), 4 * 330)]);
    skinner.despawn(characters[1]).unwrap();
    skinner.drive(characters[0], Drive::Clip { clip: 0, start: NOW, looping: true }).unwrap();
    frame(&device, &queue, &mut skinner, NOW);
    assert_eq!(skinner.dispatch_count(), 2, "widths 4 and 1");
    assert_eq!(skinner.records.data[0].dual, crate::gpu::pose::NONE);
    // All that was taken is given back.
    let all = skinner.spawn(rig, &[dual.into()]).unwrap();
    let data = skinner.character(all).unwrap();
    assert_eq!((data.dual.0, data.scratch.0), (2 * joints, 3 * 330));
}

/// (what the shader says, what the mutant says)
const MUTANTS: &[(&str, &str)] = &[
    ("quaternion_product(scratch[turns + parent], scratch[turns + node])", "scratch[turns + node]"),
    ("select(0u, 3u * rig.node_count, large)", "0u"),
    ("rig_vec4(rig.turns + 4u * joint)", "rig_vec4(rig.turns)"),
    ("rig.turns + 4u * rig.joint_count +", "rig.turns +"),
    ("rotation * vec4<f32>(1.0, side, side, 1.0)", "rotation"),
    ("character.dual + DUAL_ROWS * joint", "character.dual + joint"),
    ("(q.z * m.r1 - q.y * m.r2)", "(q.y * m.r2 - q.z * m.r1)"),
    ("palettes[at + 3u] = -(", "palettes[at + 3u] = ("),
];

#[test]
fn every_mutant_is_caught() {
    let (device, queue) = device();
    let mut random = Random::new(5);
    let cases: Vec<_> = [(25, 0), (330, 1), (65, 2)].map(|(nodes, kind)| case(nodes, kind, &mut random)).into();
    compare(SOURCE, &cases, &device, &queue).expect("the shader itself is right");
    let mut missed = Vec::new();
    for (old, new) in MUTANTS {
        assert_eq!(SOURCE.matches(old).count(), 1, "the shader does not say {old:?} once");
        match compare(&SOURCE.replace(old, new), &cases, &device, &queue) {
            Err(why) => println!("caught: {new:?}: {why}"),
            Ok(_) => missed.push(format!("{old:?} -> {new:?}")),
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:#?}");
}

#[test]
fn constants_are_the_shaders() {
    for source in [SOURCE, crate::gpu::skin::SOURCE] {
        assert!(source.contains(&format!("const DUAL_ROWS: u32 = {DUAL_ROWS}u;")));
    }
    assert!(SOURCE.contains(&format!("const TURN_WORDS: u32 = {TURN_WORDS}u;")));
    assert!(SOURCE.contains(&format!("rigs[base + {TURNS_WORD}u],\n    );")));
}
