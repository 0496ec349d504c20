//! Pose spaces on the GPU against the f64 reference, and proof that the comparison notices broken kernels.

use std::sync::Arc;

use super::scene::frame;
use super::{Random, device};
use crate::character::{Rig, RigNode, Skin};
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

struct Case {
    rig: Rig,
    skins: Vec<Skin>,
    space: PoseSpace,
    depth: usize,
}

/// A random tree; `flat`: its last nodes are siblings that lead each other, as in a WebXR hand.
fn case(nodes: usize, shape: usize, flat: bool, random: &mut Random) -> Case {
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
            for joint in &mut pose.joints {
                joint.rotation = rotation(1.6, random);
                joint.translation = joint.translation.map(|t| t + 0.05 * random.signed());
                if !flat {
                    joint.scale = [0.95 + 0.1 * random.unit(), 1.0 - 0.1 * random.unit(), 1.0];
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
                [300.0 * a.cos() + 500.0, 200.0 * a.sin(), 0.0]
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
fn state(space: &PoseSpace, i: usize, now: f64, random: &mut Random) -> SpaceState {
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

/// Worst difference of the palettes of 37 characters, in units of 2e-6 · max(1, depth/200) of the largest entry.
fn compare(source: &str, cases: &[Case], device: &wgpu::Device, queue: &wgpu::Queue) -> Result<f64, String> {
    let pipelines = Pipelines { pose: PosePipeline::with_source(device, source), skin: SkinPipelines::new(device) };
    let mut skinner = Skinner::new(
        device,
        &SkinnerDescriptor { pipelines: Some(Arc::new(pipelines)), ..SkinnerDescriptor::default() },
    )
    .unwrap();
    skinner.frame.largest_grid = 5;
    let ids: Vec<_> = cases
        .iter()
        .map(|c| {
            let rig = skinner.add_rig(&RigDescriptor { rig: &c.rig, skins: &c.skins, clips: &[] }).unwrap();
            (rig, skinner.add_space(rig, &c.space).unwrap())
        })
        .collect();
    let now = 1000.0;
    let mut random = Random::new(77);
    let mut states = Vec::new();
    let mut characters = Vec::new();
    for i in 0..=CHARACTERS {
        let (rig, space) = ids[i % ids.len()];
        let character = skinner.spawn(rig, &[]).unwrap();
        let state = state(&cases[i % ids.len()].space, i, now, &mut random);
        skinner.drive(character, Drive::Space { space, state: &state }).unwrap();
        // The spare one is hidden: its palettes stay zero.
        skinner.set_visible(character, i != CHARACTERS / 2).unwrap();
        states.push(state);
        characters.push(character);
    }
    // Half of them move on before the first frame is over, so that partial uploads are tried too.
    frame(device, queue, &mut skinner, now);
    for i in (0..CHARACTERS).step_by(2) {
        let case = &cases[i % ids.len()];
        let inside = SpaceState::new(&case.space).point();
        let point = [0, 1, 2].map(|a| 0.5 * (states[i].point()[a] + inside[a]));
        states[i].set_point(point).unwrap();
        skinner.drive(characters[i], Drive::Space { space: ids[i % ids.len()].1, state: &states[i] }).unwrap();
    }
    let now = now + 0.1;
    frame(device, queue, &mut skinner, now);
    let buffer = skinner.palettes.buffer.clone();
    let size = buffer.size();
    let got: Vec<Affine> = bytemuck::pod_collect_to_vec(&read_range(device, queue, &buffer, 0..size).unwrap());

    let mut worst = 0_f64;
    for (i, state) in states.iter().enumerate() {
        let case = &cases[i % cases.len()];
        let (first, count) = skinner.slots[i].character.as_ref().unwrap().palette;
        let got = &got[first as usize..(first + count) as usize];
        if i == CHARACTERS / 2 {
            if got.iter().any(|m| m.rows != [[0.0; 4]; 3]) {
                return Err("the spare character's palettes were written".into());
            }
            continue;
        }
        let palette = |s: &Skin| reference::palette(&case.rig, s, &case.space, state, now);
        let expected: Vec<[[f64; 4]; 3]> = case.skins.iter().flat_map(palette).collect();
        let size = expected.iter().flatten().flatten().fold(1_f64, |a, x| a.max(x.abs()));
        let tolerance = size * 2e-6 * (case.depth as f64 / 200.0).max(1.0);
        for (joint, (e, g)) in expected.iter().zip(got).enumerate() {
            for (e, g) in e.iter().flatten().zip(g.rows.iter().flatten()) {
                let error = (e - f64::from(*g)).abs() / tolerance;
                if error.is_nan() || error > 1.0 {
                    return Err(format!(
                        "character {i}, joint {joint} of {count}: {g} instead of {e} ({error:.2} of the tolerance)"
                    ));
                }
                worst = worst.max(error);
            }
        }
    }
    Ok(worst)
}

#[test]
fn pose_spaces_agree_with_the_reference() {
    let (device, queue) = device();
    for (k, nodes) in [1, 25, 65, 320, 321, 1200].into_iter().enumerate() {
        let mut random = Random::new(nodes as u64);
        let cases = [case(nodes, k % 5, false, &mut random), case(nodes.max(25), (k + 2) % 5, true, &mut random)];
        let worst = compare(SOURCE, &cases, &device, &queue).unwrap_or_else(|e| panic!("{nodes} nodes: {e}"));
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
