//! The pose pass against the f64 evaluation of the same clips on the CPU.

use std::sync::Arc;

use glam::Quat;

use super::scene::frame;
use super::{Random, device};
use crate::character::{Channel, Clip, Interpolation, Rig, RigNode, Skin, Target};
use crate::gpu::pose::{JOINT_WORDS, PosePipeline, SHARED_NODES, SOURCE};
use crate::gpu::readback::read_range;
use crate::gpu::skin::{Pipelines, SkinPipelines};
use crate::gpu::{Drive, RigDescriptor, Skinner, SkinnerDescriptor};
use crate::math::{Affine, Transform};
use crate::pose::{Pose, skin_palette};

const CHARACTERS: usize = 37;

pub(super) struct Case {
    pub rig: Rig,
    pub skins: Vec<Skin>,
    pub clips: Vec<Clip>,
    pub depth: usize,
}

/// A random rig: a chain, or a tree whose nodes have any earlier node as their parent.
pub(super) fn case(nodes: usize, chain: bool, random: &mut Random) -> Case {
    let mut rig = Rig::default();
    let mut depth = vec![1usize; nodes];
    for i in 0..nodes {
        let parent = match i {
            0 => None,
            _ if chain => Some(i - 1),
            // Two roots now and then.
            7 => None,
            _ => Some(random.below(i as u32) as usize),
        };
        depth[i] = parent.map_or(1, |p| depth[p] + 1);
        let rest = Transform {
            rotation: rotation(0.3, random),
            translation: [random.signed(), random.signed(), random.signed()].map(|x| 0.2 * x),
            scale: if chain { [1.0; 3] } else { [0.9 + 0.2 * random.unit(), 1.0, 1.0] },
        };
        let mut base = Affine::IDENTITY;
        if i % 11 == 5 {
            base.rows[0][1] = 0.2;
            base.rows[2][3] = 0.1;
        }
        rig.nodes.push(RigNode { name: format!("{i}"), parent, rest, base, source: i });
    }
    let skin = |step: usize, random: &mut Random| {
        let joints: Vec<usize> = (0..nodes).step_by(step).collect();
        let inverse_binds = joints
            .iter()
            .map(|_| {
                let q = glam::Mat3::from_quat(Quat::from_array(rotation(3.0, random)));
                let row = |r: usize| [q.x_axis[r], q.y_axis[r], q.z_axis[r], random_step(r)];
                Affine { rows: [row(0), row(1), row(2)] }
            })
            .collect();
        Skin { name: String::new(), joints, inverse_binds }
    };
    let skins = vec![skin(1, random), skin(3, random)];
    let clips = (0..3).map(|_| clip(nodes, random)).collect();
    Case { rig, skins, clips, depth: depth.into_iter().max().unwrap_or(0) }
}

fn random_step(r: usize) -> f32 {
    0.1 * r as f32 - 0.1
}

fn rotation(angle: f32, random: &mut Random) -> [f32; 4] {
    Quat::from_axis_angle(random.direction(), angle * random.unit()).to_array()
}

/// Channels of all kinds on most nodes; key times are uneven.
fn clip(nodes: usize, random: &mut Random) -> Clip {
    let mut clip = Clip { name: String::new(), duration: 2.0, channels: Vec::new() };
    for node in (0..nodes).filter(|n| n % 5 != 4) {
        for property in 0..3 {
            if random.below(3) == 0 {
                continue;
            }
            let interpolation = [Interpolation::Step, Interpolation::Linear, Interpolation::CubicSpline];
            let interpolation = interpolation[random.below(3) as usize];
            let keys = 1 + random.below(6) as usize;
            let times: Vec<f32> = (0..keys).map(|k| 2.0 * ((k as f32 + 0.5 * random.unit()) / keys as f32)).collect();
            let cubic = interpolation == Interpolation::CubicSpline;
            let mut values = Vec::new();
            for k in 0..if cubic { 3 * keys } else { keys } {
                let is_value = !cubic || k % 3 == 1;
                match (property, is_value) {
                    // Both signs, so that the shortest path matters; not for splines, which may then pass through zero.
                    (0, true) => {
                        let sign = if cubic || random.below(2) == 0 { 1.0 } else { -1.0 };
                        // Keys as files have them: not quite unit.
                        values.extend(rotation(1.5, random).map(|x| 1.002 * sign * x));
                    }
                    (0, false) => values.extend([0.1; 4].map(|x: f32| x * random.signed())),
                    (1, _) => values.extend([0.2; 3].map(|x: f32| x * random.signed())),
                    (_, true) => values.extend([0.95 + 0.1 * random.unit(), 1.0, 1.0]),
                    (_, false) => values.extend([0.02 * random.signed(), 0.0, 0.0]),
                }
            }
            let (target, width) = match property {
                0 => (Target::Rotation(node), 4),
                1 => (Target::Translation(node), 3),
                _ => (Target::Scale(node), 3),
            };
            clip.channels.push(Channel { target, interpolation, times, width, values });
        }
    }
    clip
}

/// Worst difference of the palettes of 37 characters, in units of 2e-6 · max(1, depth/200) of the largest entry.
fn compare(source: &str, cases: &[Case], device: &wgpu::Device, queue: &wgpu::Queue) -> Result<f64, String> {
    let pipelines = Pipelines { pose: PosePipeline::with_source(device, source), skin: SkinPipelines::new(device) };
    let mut skinner = Skinner::new(
        device,
        &SkinnerDescriptor { pipelines: Some(Arc::new(pipelines)), ..SkinnerDescriptor::default() },
    )
    .unwrap();
    skinner.frame.largest_grid = 5;
    let rigs: Vec<_> = cases
        .iter()
        .map(|c| skinner.add_rig(&RigDescriptor { rig: &c.rig, skins: &c.skins, clips: &c.clips }).unwrap())
        .collect();
    let now = 1000.0;
    let mut characters = Vec::new();
    for i in 0..=CHARACTERS {
        let character = skinner.spawn(rigs[i % rigs.len()], &[]).unwrap();
        let looping = i % 2 == 0;
        let start = now - 0.17 * i as f64 - if looping { 20.0 } else { -0.5 };
        skinner.drive(character, Drive::Clip { clip: i % 3, start, looping }).unwrap();
        // The spare one is hidden: its palettes stay zero.
        skinner.set_visible(character, i != CHARACTERS / 2).unwrap();
        characters.push((start, looping));
    }
    frame(device, queue, &mut skinner, now);
    let buffer = skinner.palettes.buffer.clone();
    let size = buffer.size();
    let got: Vec<Affine> = bytemuck::pod_collect_to_vec(&read_range(device, queue, &buffer, 0..size).unwrap());

    let mut worst = 0f64;
    for (i, (start, looping)) in characters.into_iter().enumerate() {
        let case = &cases[i % cases.len()];
        let slot = skinner.slots[i].character.as_ref().unwrap();
        let (first, count) = slot.palette;
        let got = &got[first as usize..(first + count) as usize];
        if i == CHARACTERS / 2 {
            if got.iter().any(|m| m.rows != [[0.0; 4]; 3]) {
                return Err("the spare character's palettes were written".into());
            }
            continue;
        }
        let elapsed: f64 = now - start;
        let time = if looping { elapsed.rem_euclid(2.0) } else { elapsed.clamp(0.0, 2.0) };
        let mut pose = Pose::rest(&case.rig);
        case.clips[i % 3].sample(time as f32, &mut pose);
        let expected: Vec<Affine> =
            case.skins.iter().flat_map(|s| skin_palette(&case.rig, s, &pose).unwrap()).collect();
        let size = expected.iter().flat_map(|m| m.rows).flatten().fold(1f32, |a, x| a.max(x.abs()));
        let tolerance = f64::from(size) * 2e-6 * (case.depth as f64 / 200.0).max(1.0);
        for (joint, (e, g)) in expected.iter().zip(got).enumerate() {
            for (e, g) in e.rows.iter().flatten().zip(g.rows.iter().flatten()) {
                let error = f64::from((e - g).abs()) / tolerance;
                if error.is_nan() || error > 1.0 {
                    return Err(format!("character {i}, joint {joint} of {count}: {g} instead of {e}"));
                }
                worst = worst.max(error);
            }
        }
    }
    Ok(worst)
}

#[test]
fn palettes_agree_with_the_reference_for_small_and_large_rigs() {
    let (device, queue) = device();
    for nodes in [1, 25, 65, 320, 321, 1200] {
        for chain in [false, true] {
            let cases = [case(nodes, chain, &mut Random::new(nodes as u64))];
            let worst = compare(SOURCE, &cases, &device, &queue)
                .unwrap_or_else(|e| panic!("{nodes} nodes, depth {}: {e}", cases[0].depth));
            println!("{nodes} nodes, depth {}: {:.0} % of the tolerance", cases[0].depth, 100.0 * worst);
        }
    }
}

/// (what the shader says, what the mutant says)
const MUTANTS: &[(&str, &str)] = &[
    ("let group = id.y * batch.grid_width + id.x;", "let group = id.x;"),
    ("let character = characters[posed[batch.first + group]];", "let character = characters[batch.first + group];"),
    ("posed[batch.first + group]", "posed[group]"),
    ("let large = GENERAL && rig.node_count", "let large = !GENERAL && rig.node_count"),
    ("level < rig.level_count; level++", "level < rig.level_count - 1u; level++"),
    (
        "for (var joint = lane; joint < rig.joint_count; joint += GROUP_SIZE)",
        "for (var joint = lane; joint < rig.joint_count; joint += 2u * GROUP_SIZE)",
    ),
    (
        "product(load(large, first, parent), load(large, first, node))",
        "product(load(large, first, node), load(large, first, parent))",
    ),
    ("if (rigs[word + 1u] == 1u) {", "if (rigs[word + 1u] == 2u) {"),
    ("select(far, -far, dot(a, far) < 0.0)", "far"),
    ("if (rig_float(times + middle) <= time) {", "if (rig_float(times + middle) <= 0.9 * time) {"),
    ("max(next, 1u) - 1u", "max(next, 2u) - 2u"),
    ("(u3 - 2.0 * u2 + u) * dt * out_tangent", "(u3 - 2.0 * u2 + u) * out_tangent"),
    ("unit(sample(", "(sample("),
    ("fma(-loops, character.duration, high)", "high"),
    ("clamp(high + low, 0.0, character.duration)", "max(high, 0.0)"),
    ("let at = 3u * (character.palette + joint);", "let at = 3u * joint;"),
    ("(1.0 - 2.0 * (x.x + z.z)) * s.y", "(1.0 - 2.0 * (x.x + z.z)) * s.x"),
    ("(1.0 - u) * angle", "u * angle"),
];

#[test]
fn every_mutant_is_caught() {
    let (device, queue) = device();
    let mut random = Random::new(5);
    let cases = [case(25, false, &mut random), case(65, false, &mut random), case(330, false, &mut random)];
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
fn constants_are_the_shader_s() {
    for (name, value) in [("SHARED_NODES", SHARED_NODES), ("JOINT_WORDS", JOINT_WORDS)] {
        assert!(SOURCE.contains(&format!("const {name}: u32 = {value}u;")), "{name}");
    }
    assert!(SOURCE.contains(&format!("array<vec4<f32>, {}>", 3 * SHARED_NODES)));
}
