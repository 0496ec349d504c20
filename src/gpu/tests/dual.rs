//! Dual quaternion skinning against the reference: every variant of the kernel, and proof that the comparison notices broken ones.

use std::sync::Arc;

use glam::{Mat3, Quat, Vec3};

use super::scene::{MeshKind, Scene};
use super::{Random, device};
use crate::gpu::skin::SOURCE;
use crate::gpu::{Method, Pipelines, SkinnerDescriptor};
use crate::influence::Precision;
use crate::math::Affine;

/// Joints that turn by up to 30° around one common rotation and each have a shape of their own: uneven, sheared, mirrored.
fn shaped(joints: u32, mirror: bool, random: &mut Random) -> Vec<Affine> {
    let base = Quat::from_axis_angle(random.direction(), 3.0 * random.unit());
    let flip = if mirror { -1.0 } else { 1.0 };
    let joint = |_| {
        let turn = base * Quat::from_axis_angle(random.direction(), 0.5 * random.unit());
        let mut shape =
            Mat3::from_diagonal(Vec3::new(flip * (0.8 + 0.4 * random.unit()), 0.8 + 0.4 * random.unit(), 1.0));
        shape.y_axis.x = 0.3 * random.signed();
        map(Mat3::from_quat(turn) * shape, random)
    };
    (0..joints).map(joint).collect()
}

/// Joints that turn anywhere, so that sides do not agree between three of them, with one shape in common. No two are within
/// 1e-3 of half a turn apart, where the side is a matter of rounding.
fn wide(joints: u32, rigid: bool, random: &mut Random) -> Vec<Affine> {
    let mut common = Mat3::IDENTITY;
    if !rigid {
        common = Mat3::from_diagonal(Vec3::new(0.7 + 0.6 * random.unit(), 0.7 + 0.6 * random.unit(), 1.0));
        common.y_axis.x = 0.5 * random.signed();
    }
    let mut turns: Vec<Quat> = Vec::new();
    while turns.len() < joints as usize {
        let turn = Quat::from_axis_angle(random.direction(), std::f32::consts::TAU * random.unit());
        if turns.iter().all(|t| t.dot(turn).abs() > 1e-3) {
            turns.push(turn);
        }
    }
    turns.into_iter().map(|turn| map(Mat3::from_quat(turn) * common, random)).collect()
}

fn map(m: Mat3, random: &mut Random) -> Affine {
    let t = Vec3::new(random.signed(), random.signed(), random.signed()) * 2.0;
    let row = |r: usize| [m.x_axis[r], m.y_axis[r], m.z_axis[r], t[r]];
    Affine { rows: [row(0), row(1), row(2)] }
}

/// `count` + 1 instances of meshes of these kinds with dual quaternions.
fn dual_scene(kinds: &[MeshKind], count: usize, seed: u64) -> Scene {
    let mut scene = Scene::new(kinds, count, seed);
    scene.method = Method::DualQuaternion;
    let mut random = Random::new(seed + 1000);
    for (i, instance) in scene.instances.iter_mut().enumerate() {
        let joints = instance.palette.len() as u32;
        instance.palette = match i % 5 {
            0 => shaped(joints, false, &mut random),
            1 => shaped(joints, true, &mut random),
            2 => wide(joints, false, &mut random),
            3 => wide(joints, true, &mut random),
            _ => continue,
        };
    }
    scene
}

#[test]
fn every_variant_agrees_with_the_reference() {
    let (device, queue) = device();
    let pipelines = Some(Arc::new(Pipelines::new(&device)));
    for precision in [Precision::Compact, Precision::Fine] {
        for joints in [19, 300] {
            for width in [1, 2, 4, 8] {
                for targets in [0, 3] {
                    // 1003 vertices are no multiple of the group size; 37 instances no multiple of the chunk.
                    let kind = MeshKind { vertices: 1003, joints, width, precision, targets };
                    let scene = dual_scene(&[kind], 37, 7 + width as u64);
                    let plain = SkinnerDescriptor { pipelines: pipelines.clone(), ..SkinnerDescriptor::default() };
                    let got = scene.skin_as(&device, &queue, &plain);
                    let worst = scene.compare(&got).unwrap_or_else(|e| panic!("{kind:?}: {e}"));
                    println!("{kind:?}: {:.0} % of the tolerance", 100.0 * worst);
                    let descriptor = SkinnerDescriptor { previous_positions: true, bounds: true, ..plain };
                    assert!(scene.skin_as(&device, &queue, &descriptor) == got, "{kind:?}: previous positions, bounds");
                }
            }
        }
    }
}

fn mixed_scene() -> Scene {
    let kind = |vertices, joints, width, precision, targets| MeshKind { vertices, joints, width, precision, targets };
    let kinds = [
        kind(501, 19, 4, Precision::Compact, 0),
        kind(130, 300, 8, Precision::Fine, 2),
        kind(67, 40, 8, Precision::Compact, 0),
        kind(200, 33, 2, Precision::Compact, 1),
        kind(301, 280, 4, Precision::Fine, 0),
        kind(65, 9, 1, Precision::Compact, 0),
    ];
    dual_scene(&kinds, 60, 11)
}

/// (what the shader says, what the mutant says)
const MUTANTS: &[(&str, &str)] = &[
    // Not to one side; in part; to the side of another joint, or of none; of the first vertex's joint.
    ("w = select(w, -w, heaviest * turn < vec4<f32>(0.0));", ""),
    ("turns += outer(w, turn);", "turns += outer(abs(w), turn);"),
    ("r3 += outer(w, palettes[entry + 3u]);", "r3 += outer(abs(w), palettes[entry + 3u]);"),
    ("DUAL_ROWS * joints[0];", "DUAL_ROWS * joints[1];"),
    ("heaviest * turn < vec4<f32>(0.0)", "turn.wwww < vec4<f32>(0.0)"),
    ("palettes[at_turn.x], palettes[at_turn.y]", "palettes[at_turn.x], palettes[at_turn.x]"),
    // Not normalised, or not enough.
    ("let square = turns[0] * turns[0] +", "let square = vec4<f32>(1.0) + 0.0 * turns[0] +"),
    ("let w = turns[3] / square;", "let w = turns[3] / sqrt(square);"),
    ("r3 += outer(w, palettes[entry + 3u]);", ""),
    ("(scaled4(r2, y) - scaled4(r3, x))", "(scaled4(r2, y) + scaled4(r3, x))"),
    ("scaled4(r0, z) + scaled4(r1, w)", "scaled4(r1, w) - scaled4(r0, z)"),
    ("(scaled4(r2, w) - scaled4(r3, z))", "scaled4(r2, w)"),
    ("palette + DUAL_ROWS * joint, DUAL)", "palette + 3u * joint, DUAL)"),
];

#[test]
fn every_mutant_is_caught() {
    let (device, queue) = device();
    let scene = mixed_scene();
    scene.compare(&scene.skin(&device, &queue, Some(SOURCE))).expect("the shader itself is right");
    let mut missed = Vec::new();
    for (old, new) in MUTANTS {
        assert_eq!(SOURCE.matches(old).count(), 1, "the shader does not say {old:?} once");
        match scene.compare(&scene.skin(&device, &queue, Some(&SOURCE.replace(old, new)))) {
            Err(why) => println!("caught: {new:?}: {why}"),
            Ok(_) => missed.push(format!("{old:?} -> {new:?}")),
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:#?}");
}
