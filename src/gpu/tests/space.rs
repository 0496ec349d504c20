//! Pose spaces on the GPU against the f64 reference, and proof that the comparison notices broken kernels.

use std::sync::Arc;

use super::scene::frame;
use super::{Random, device};
use crate::character::{Rig, RigNode, Skin};
use crate::gpu::character::Todo;
use crate::gpu::pose::{PosePipeline, SOURCE};
use crate::gpu::readback::read_range;
use crate::gpu::skin::{Pipelines, SkinPipelines};
use crate::gpu::{Drive, RigDescriptor, Skinner, SkinnerDescriptor};
use crate::math::{Affine, Transform};
use crate::pose::{
    Channels, Corner, Fade, Group, GroupMode, Limit, NodeLimit, Outside, Pose, PoseSpace, PoseSpaceDescriptor, Sample,
    SpaceState,
};
use crate::reference;

const CHARACTERS: usize = 37;

fn rotation(angle: f32, random: &mut Random) -> [f32; 4] {
    let mut q = glam::Quat::from_axis_angle(random.direction(), angle * random.unit()).to_array();
    if random.below(2) == 0 {
        q = q.map(|x| -x);
    }
    q
}

pub(super) struct Case {
    pub rig: Rig,
    pub skins: Vec<Skin>,
    pub space: PoseSpace,
    pub depth: usize,
}

/// A random tree; `flat`: its last nodes are siblings that lead each other, as in a WebXR hand.
pub(super) fn case(nodes: usize, shape: usize, flat: bool, random: &mut Random) -> Case {
    let mut rig = Rig::default();
    let mut depth = vec![1_usize; nodes];
    let siblings = if flat { nodes / 2 } else { nodes };
    for i in 0..nodes {
        let parent = match i {
            0 => None,
            _ if i >= siblings => Some(0),
            _ => Some(random.below(i as u32) as usize),
        };
        depth[i] = parent.map_or(1, |p| depth[p] + 1);
        let rest = Transform {
            rotation: rotation(1.0, random),
            translation: [random.signed(), random.signed(), random.signed()].map(|x| 0.2 * x),
            scale: [1.0; 3],
        };
        let mut base = Affine::IDENTITY;
        if i % 11 == 5 && !flat {
            base.rows[0][1] = 0.2;
        }
        rig.nodes.push(RigNode { name: format!("{i}"), parent, rest, base, source: i });
    }
    let mut leaders = vec![None; nodes];
    for (i, leader) in leaders.iter_mut().enumerate().skip(siblings + 1) {
        // Backwards in runs of five, so that leaders come after what they lead.
        *leader = (i % 5 != 4 && i + 1 < nodes).then_some(i + 1);
    }
    let at = shapes(shape);
    let count = at.len() + 4;
    let samples: Vec<Sample> = (0..count)
        .map(|s| {
            let mut pose = Pose::rest(&rig);
            for (n, joint) in pose.joints.iter_mut().enumerate() {
                joint.rotation = rotation(1.6, random);
                if n % 9 == 0 && nodes == 33 {
                    // About half a turn from rest, beyond it when extrapolated: twist and swing are ten times as sensitive there, so
                    // only nodes of the mutants' scene go so far.
                    let turn = glam::Quat::from_axis_angle(glam::Vec3::new(0.6, 0.0, 0.8), 2.5 + 0.3 * (s % 4) as f32);
                    joint.rotation = (glam::Quat::from_array(rig.nodes[n].rest.rotation) * turn).to_array();
                }
                joint.translation = joint.translation.map(|t| t + 0.05 * random.signed());
                if !flat {
                    joint.scale = [0.95 + 0.1 * random.unit(), 1.0 - 0.1 * random.unit(), 1.0];
                    if n % 6 == 2 {
                        // One axis that mirrors in every sample, one whose sign changes between them.
                        joint.scale[0] = -joint.scale[0];
                        joint.scale[2] = if s % 2 == 0 { 1.0 } else { -0.9 };
                    }
                    joint.length = 0.9 + 0.2 * random.unit();
                    joint.thickness = 0.8 + 0.4 * random.unit();
                }
            }
            Sample { name: format!("{s}"), pose, texture: None }
        })
        .collect();
    let mut corners: Vec<Corner> = at.iter().enumerate().map(|(i, &at)| Corner { at, samples: vec![i] }).collect();
    corners[1].samples.extend([count - 1, count - 2, count - 3]);
    let group = |name: &str, step: usize, offset: usize| Group {
        name: name.into(),
        nodes: (offset..nodes).step_by(step).collect(),
    };
    let limits = (0..nodes).step_by(3).map(|node| NodeLimit {
        node,
        limit: Limit::degrees([-20.0, 15.0], [-25.0, 30.0], [-10.0, 40.0]),
        hinge: (node % 2 == 0).then_some([0.3, 0.9, 0.1]),
        built_in: node % 4 == 0,
    });
    let descriptor = PoseSpaceDescriptor {
        name: String::new(),
        dimensions: if at.iter().any(|a| a[2] != 0.0) { 3 } else { 2 },
        corners,
        samples,
        default: count - 4,
        groups: vec![group("a", 2, 0), group("b", 3, 1), group("c", 7, 2)],
        limits: limits.collect(),
        outside: Outside::Extrapolate,
        leaders,
    };
    let space = PoseSpace::new(&rig, descriptor).unwrap();
    let skin = |step: usize, random: &mut Random| {
        let joints: Vec<usize> = (0..nodes).step_by(step).collect();
        let bind = |_: &usize| {
            let q = glam::Mat3::from_quat(glam::Quat::from_array(rotation(3.0, random)));
            let row = |r: usize| [q.x_axis[r], q.y_axis[r], q.z_axis[r], 0.1 * r as f32 - 0.1];
            Affine { rows: [row(0), row(1), row(2)] }
        };
        let inverse_binds = joints.iter().map(bind).collect();
        Skin { name: String::new(), joints, inverse_binds }
    };
    let skins = vec![skin(1, random), skin(3, random)];
    Case { rig, skins, space, depth: depth.into_iter().max().unwrap_or(1) + if flat { 5 } else { 0 } }
}

/// Triangle, octagon, tetrahedron, cube, octahedron.
fn shapes(which: usize) -> Vec<[f32; 3]> {
    match which {
        0 => vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.87, 0.0]],
        1 => (0..8)
            .map(|i| {
                let a = i as f32 / 8.0 * std::f32::consts::TAU;
                // Not regular, so that every corner's ear counts.
                let far = if i == 3 { 1.3 } else { 1.0 };
                [far * 300.0 * a.cos() + 500.0, far * 200.0 * a.sin(), 0.0]
            })
            .collect(),
        2 => vec![[0.0; 3], [1.0, 0.0, 0.0], [0.5, 0.9, 0.0], [0.4, 0.3, 0.8]],
        3 => (0..8).map(|i| [0, 1, 2].map(|a| (i >> a & 1) as f32)).collect(),
        _ => vec![
            [1.0, 0.0, 0.0],
            [-1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0],
            [0.0, -1.0, 0.0],
            [0.0, 0.0, 1.0],
            [0.0, 0.0, -1.0],
        ],
    }
}

/// A state with holds, fades and selections under way, at a corner, on an edge, inside or outside.
pub(super) fn state(space: &PoseSpace, i: usize, now: f64, random: &mut Random) -> SpaceState {
    let mut state = SpaceState::new(space);
    let corners = space.coordinates().corners();
    let mut weights: Vec<f32> = corners.iter().map(|_| random.unit()).collect();
    match i % 5 {
        0 => weights = weights.iter().enumerate().map(|(k, _)| f32::from(u8::from(k == i % corners.len()))).collect(),
        // Outside by about half the space's size; farther out errors grow with the weights.
        1 => weights[0] = -0.3 * weights[1..].iter().sum::<f32>(),
        _ => {}
    }
    let total: f32 = weights.iter().sum();
    let at = |a: usize| corners.iter().zip(&weights).map(|(c, w)| c[a] * w / total).sum();
    state.set_point([at(0), at(1), at(2)]).unwrap();
    let fade = |ago: f64| Fade { now: now - ago, seconds: 1.0 };
    if i % 2 == 1 {
        state.select(space, 1, 1 + i % 3, fade(0.4)).unwrap();
    }
    let inside = [0, 1, 2].map(|a| corners.iter().map(|c| c[a]).sum::<f32>() / corners.len() as f32);
    if i % 3 == 1 {
        let channels = [Channels::ALL, Channels::ROTATION, Channels::SCALE | Channels::THICKNESS];
        state.set_group(space, 0, channels[i / 3 % 3], &GroupMode::Held, fade(3.0)).unwrap();
        state.set_group(space, 1, Channels::ALL, &GroupMode::Default, fade(0.3)).unwrap();
        state.set_group(space, 2, Channels::ALL, &GroupMode::Point(inside), fade(0.6)).unwrap();
    }
    if i % 3 == 2 {
        state.set_group(space, 1, Channels::ALL, &GroupMode::Point(inside), fade(5.0)).unwrap();
        state.set_group(space, 1, Channels::ALL, &GroupMode::Live, fade(0.2)).unwrap();
        state.set_group(space, 0, Channels::TRANSLATION | Channels::LENGTH, &GroupMode::Default, fade(0.7)).unwrap();
        state.set_strength(space, 0, Channels::TRANSLATION, 0.6, fade(0.5)).unwrap();
    }
    state
}

const NOW: f64 = 1000.0;

/// 37 characters and a spare one, where they go after the first frame, and what the reference makes of that.
struct Scene {
    cases: Vec<Case>,
    states: Vec<(SpaceState, SpaceState)>,
    expected: Vec<Vec<[[f64; 4]; 3]>>,
}

impl Scene {
    fn new(cases: Vec<Case>) -> Self {
        let mut random = Random::new(77);
        let (mut states, mut expected) = (Vec::new(), Vec::new());
        for i in 0..=CHARACTERS {
            let case = &cases[i % cases.len()];
            let first = state(&case.space, i, NOW, &mut random);
            let mut then = first.clone();
            if i % 2 == 0 {
                let inside = SpaceState::new(&case.space).point();
                then.set_point([0, 1, 2].map(|a| 0.5 * (first.point()[a] + inside[a]))).unwrap();
            }
            let palette = |s: &Skin| reference::palette(&case.rig, s, &case.space, &then, NOW + 0.1);
            expected.push(case.skins.iter().flat_map(palette).collect());
            states.push((first, then));
        }
        Self { cases, states, expected }
    }

    /// Worst difference of the palettes, in units of 2e-6 · max(1, depth/200) of the largest entry.
    fn compare(&self, source: &str, device: &wgpu::Device, queue: &wgpu::Queue) -> Result<f64, String> {
        let pipelines = Pipelines { pose: PosePipeline::with_source(device, source), skin: SkinPipelines::new(device) };
        let mut skinner =
            Skinner::new(device, &SkinnerDescriptor { pipelines: Some(Arc::new(pipelines)), ..Default::default() })
                .unwrap();
        skinner.frame.largest_grid = 5;
        let mut ids = Vec::new();
        for c in &self.cases {
            let rig = skinner.add_rig(&RigDescriptor { rig: &c.rig, skins: &c.skins, clips: &[] }).unwrap();
            ids.push((rig, skinner.add_space(rig, &c.space).unwrap()));
        }
        let mut characters = Vec::new();
        for (i, (state, _)) in self.states.iter().enumerate() {
            let (rig, space) = ids[i % ids.len()];
            let character = skinner.spawn(rig, &[]).unwrap();
            skinner.drive(character, Drive::Space { space, state }).unwrap();
            // The spare one is hidden: its palettes stay zero.
            skinner.set_visible(character, i != CHARACTERS / 2).unwrap();
            characters.push(character);
        }
        frame(device, queue, &mut skinner, NOW);
        // Half of them move on, so that partial uploads are tried too.
        for (i, (_, state)) in self.states.iter().enumerate().step_by(2) {
            skinner.drive(characters[i], Drive::Space { space: ids[i % ids.len()].1, state }).unwrap();
        }
        frame(device, queue, &mut skinner, NOW + 0.1);
        let buffer = skinner.palettes.buffer.clone();
        let size = buffer.size();
        let got: Vec<Affine> = bytemuck::pod_collect_to_vec(&read_range(device, queue, &buffer, 0..size).unwrap());
        let mut worst = 0_f64;
        for (i, expected) in self.expected.iter().enumerate() {
            let (first, count) = skinner.slots[i].character.as_ref().unwrap().palette;
            let got = &got[first as usize..(first + count) as usize];
            if i == CHARACTERS / 2 {
                if got.iter().any(|m| m.rows != [[0.0; 4]; 3]) {
                    return Err("the spare character's palettes were written".into());
                }
                continue;
            }
            let depth = self.cases[i % self.cases.len()].depth;
            let size = expected.iter().flatten().flatten().fold(1_f64, |a, x| a.max(x.abs()));
            let tolerance = size * 2e-6 * (depth as f64 / 200.0).max(1.0);
            for (joint, (e, g)) in expected.iter().zip(got).enumerate() {
                for (e, g) in e.iter().flatten().zip(g.rows.iter().flatten()) {
                    let error = (e - f64::from(*g)).abs() / tolerance;
                    if error.is_nan() || error > 1.0 {
                        return Err(format!(
                            "character {i}, joint {joint}: {g} instead of {e}, {error:.2} tolerances off"
                        ));
                    }
                    worst = worst.max(error);
                }
            }
        }
        Ok(worst)
    }
}

#[test]
fn pose_spaces_agree_with_the_reference() {
    let (device, queue) = device();
    for (k, nodes) in [1, 25, 65, 320, 321, 1200].into_iter().enumerate() {
        let mut random = Random::new(nodes as u64);
        let cases = vec![case(nodes, k % 5, false, &mut random), case(nodes.max(25), (k + 2) % 5, true, &mut random)];
        let worst = Scene::new(cases).compare(SOURCE, &device, &queue).unwrap_or_else(|e| panic!("{nodes} nodes: {e}"));
        println!("{nodes} nodes: {:.0} % of the tolerance", 100.0 * worst);
    }
}

#[test]
fn the_cpu_evaluation_agrees_with_the_reference() {
    let mut random = Random::new(3);
    for shape in 0..5 {
        for flat in [false, true] {
            let case = case(65, shape, flat, &mut random);
            for i in 0..CHARACTERS {
                let state = state(&case.space, i, 5.0, &mut random);
                let blended = case.space.evaluate(&state, 5.2).unwrap();
                let got = crate::pose::skin_palette(&case.rig, &case.skins[0], &blended.pose).unwrap();
                let expected = reference::palette(&case.rig, &case.skins[0], &case.space, &state, 5.2);
                for (e, g) in expected.iter().flatten().flatten().zip(got.iter().flat_map(|m| m.rows).flatten()) {
                    // Locals are rounded to f32 once: a few ulps down the tree.
                    assert!((e - f64::from(g)).abs() < 2e-6 * e.abs().max(1.0), "{shape} {flat} {i}: {g} {e}");
                }
            }
        }
    }
}

/// (what the shader says, what the mutant says)
const MUTANTS: &[(&str, &str)] = &[
    ("max(dot(normal, cross(a, b)) * factor, 0.0)", "max(dot(normal, cross(a, b)) * factor, 0.3)"),
    ("if (j != i && j != before) {", "if (j != i) {"),
    ("var w = rig_float(ring + 2u * i + 1u);", "var w = 1.0;"),
    ("let w = rig_float(fan + 4u) * a * b * c;", "let w = a * b * c;"),
    ("let b = least / max(height(space, rigs[fan + 2u], x), 1e-10);", "let b = 1.0;"),
    ("if (above < -SNAP) {", "if (above > -SNAP) {"),
    ("if (distance < nearest) {", "if (true) {"),
    ("extrapolate && place != 0u && distance > SNAP", "false"),
    ("corner_weights[on.x] = 1.0 - along;", "corner_weights[on.x] = along;"),
    ("(batch.now.x - state_float(word)) + (batch.now.y - state_float(word + 1u))", "batch.now.x - state_float(word)"),
    ("return x * x * (3.0 - 2.0 * x);", "return x;"),
    ("corner_weights[corner] * chosen;", "corner_weights[corner];"),
    ("(ROW_WORDS + 2u * rigs[space + SAMPLE_COUNT])", "ROW_WORDS"),
    ("sample_weights[rigs[space + DEFAULT]] = 1.0;", "sample_weights[0] = 1.0;"),
    ("state_float(own + samples + s);", "state_float(own + s);"),
    ("between(state_float(own + s), sample_weights[s], t)", "sample_weights[s]"),
    ("live * (1.0 - strength) + own * strength", "own"),
    ("(word >> (8u * (channel & 3u))) & 255u", "word & 255u"),
    ("2u * rigs[record] + channel / 4u", "2u * rigs[record]"),
    ("step += w * quaternion_logarithm(", "step -= w * quaternion_logarithm("),
    ("let start = select(reference, filled / size, size > 1e-9);", "let start = reference;"),
    ("if (rigs[record + 3u] != NONE) {", "if (rigs[record + 3u] == 0u) {"),
    ("if (!signed_limit && r.w < 0.0) {", "if (r.w < 0.0) {"),
    ("arc_tangent((r.w * r.z + r.x * r.y) / s, s)", "arc_tangent((r.w * r.z - r.x * r.y) / s, s)"),
    ("rig_float(limit + 9u), rig_float(limit + 11u)", "rig_float(limit + 11u), rig_float(limit + 9u)"),
    ("y.y * z.x, y.y * z.y)", "y.y * z.x, z.y)"),
    ("select(power, -power, rule == vec3<u32>(1u))", "power"),
    ("let scales = channel_weights(character, record, 2u);", "let scales = moves;"),
    (
        "above.translation + turned(above.rotation, above.scale * local.translation)",
        "above.translation + local.translation",
    ),
    ("leader = rigs[node_record(character, leader) + 1u];", "leader = NONE;"),
    (
        "samples + SAMPLE_WORDS * s);\n    }\n    return bounded(sum);",
        "samples + SAMPLE_WORDS * s);\n    }\n    return 1.0;",
    ),
    ("+ 7u + 4u * which;", "+ 7u;"),
    ("m = along_bone(character, rigs[word], m);", ""),
    ("world = product(world, bone_shape(character, rigs[word]));", ""),
    ("space_rows(character, lane);\n    }", "if (lane == 0u) { space_rows(character, lane); }\n    }"),
];

#[test]
fn every_mutant_is_caught() {
    let (device, queue) = device();
    let mut random = Random::new(5);
    let scene = Scene::new((0..5).map(|shape| case(33, shape, shape % 2 == 1, &mut random)).collect());
    scene.compare(SOURCE, &device, &queue).expect("the shader itself is right");
    let mut missed = Vec::new();
    for (old, new) in MUTANTS {
        assert_eq!(SOURCE.matches(old).count(), 1, "the shader does not say {old:?} once");
        match scene.compare(&SOURCE.replace(old, new), &device, &queue) {
            Err(why) => println!("caught: {new:?}: {why}"),
            Ok(_) => missed.push(format!("{old:?} -> {new:?}")),
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:#?}");
}

#[test]
fn constants_are_the_shader_s() {
    use crate::pose::flatten::{FACET_WORDS, SPACE_NODE_WORDS};
    for (name, value) in [("FACET_WORDS", FACET_WORDS), ("SPACE_NODE_WORDS", SPACE_NODE_WORDS)] {
        assert!(SOURCE.contains(&format!("const {name}: u32 = {value}u;")), "{name}");
    }
}

#[test]
fn a_settled_character_costs_nothing() {
    let (device, queue) = device();
    let mut random = Random::new(9);
    let case = case(25, 0, false, &mut random);
    let mut skinner = Skinner::new(&device, &SkinnerDescriptor::default()).unwrap();
    let rig = skinner.add_rig(&RigDescriptor { rig: &case.rig, skins: &case.skins, clips: &[] }).unwrap();
    let space = skinner.add_space(rig, &case.space).unwrap();
    let character = skinner.spawn(rig, &[]).unwrap();
    let mut state = SpaceState::new(&case.space);
    state.select(&case.space, 1, 1, Fade { now: 5.0, seconds: 1.0 }).unwrap();
    skinner.drive(character, Drive::Space { space, state: &state }).unwrap();
    let mut pending = Vec::new();
    for seconds in [4.0, 5.5, 6.5, 7.0, 8.0] {
        frame(&device, &queue, &mut skinner, seconds);
        pending.push(skinner.slots[0].character.as_ref().unwrap().todo == Todo::Skin);
    }
    // Posed while the change lasts and once after it, then left alone.
    assert_eq!(pending, [true, true, true, false, false]);
}
