//! What grows on the field.

use std::f32::consts::TAU;

use dermis::character::{Channel, Clip, Interpolation, Mesh, Rig, RigNode, Skin, Target};
use dermis::influence::{Influence, Influences};
use dermis::{Affine, Transform};

/// Metres between two neighbours.
const STEP: f32 = 1.3;

/// From 0 to 1, scattered over `i`; another sequence per `salt`.
pub fn scatter(i: usize, salt: u32) -> f32 {
    let mixed = (i as u32 ^ salt.wrapping_mul(0x9e37_79b9)).wrapping_mul(0x85eb_ca6b);
    let mixed = (mixed ^ mixed >> 15).wrapping_mul(0xc2b2_ae35);
    ((mixed ^ mixed >> 16) >> 8) as f32 / (1 << 24) as f32
}

/// In the world: a square grid, each stalk turned and sized by chance.
pub fn place(i: usize, columns: usize) -> Affine {
    let along = |k: usize| (k as f32 - 0.5 * (columns as f32 - 1.0)) * STEP;
    let (sin, cos) = (TAU * scatter(i, 2)).sin_cos();
    let size = 0.8 + 0.7 * scatter(i, 3);
    let [x, z] = [along(i % columns), along(i / columns)];
    Affine { rows: [[size * cos, 0.0, size * sin, x], [0.0, size, 0.0, 0.0], [-size * sin, 0.0, size * cos, z]] }
}

const JOINTS: usize = 6;
const BONE: f32 = 0.22;

/// A chain upwards, and four seconds in which it bows far beyond the box of its rest pose.
pub fn skeleton() -> (Rig, Skin, Clip) {
    let node = |i: usize| RigNode {
        parent: i.checked_sub(1),
        rest: Transform { translation: [0.0, if i == 0 { 0.0 } else { BONE }, 0.0], ..Transform::IDENTITY },
        ..RigNode::default()
    };
    let inverse_bind =
        |i: usize| Affine { rows: [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, -(i as f32) * BONE], [0.0, 0.0, 1.0, 0.0]] };
    let channel = |joint: usize| {
        let rotation = |key: u32| {
            let turn = TAU * key as f32 / 16.0;
            let bow = 0.17 + 0.17 * (turn - 0.4 * joint as f32).sin();
            [bow.sin(), 0.0, 0.0, bow.cos()]
        };
        Channel {
            target: Target::Rotation(joint),
            interpolation: Interpolation::Linear,
            times: (0..=16).map(|key| 0.25 * key as f32).collect(),
            width: 4,
            values: (0..=16).flat_map(rotation).collect(),
        }
    };
    let inverse_binds = (0..JOINTS).map(inverse_bind).collect();
    (
        Rig { nodes: (0..JOINTS).map(node).collect() },
        Skin { joints: (0..JOINTS).collect(), inverse_binds, ..Skin::default() },
        Clip { name: "bow".into(), duration: 4.0, channels: (0..JOINTS).map(channel).collect() },
    )
}

/// A tapering tube around the chain.
pub fn stalk(around: u32) -> Mesh {
    const RINGS: u32 = 15;
    let mut mesh = Mesh::default();
    let mut influences = Vec::new();
    for ring in 0..RINGS {
        let t = ring as f32 / (RINGS - 1) as f32;
        let (radius, x) = (0.015 + 0.1 * (1.0 - t * t), t * JOINTS as f32 - 0.5);
        let joint = (x.max(0.0) as u32).min(JOINTS as u32 - 2);
        let upper = (x - joint as f32).clamp(0.0, 1.0);
        for side in 0..around {
            let (sin, cos) = (TAU * side as f32 / around as f32).sin_cos();
            mesh.positions.push([radius * cos, t * BONE * JOINTS as f32, -radius * sin]);
            mesh.normals.push([cos, 0.0, -sin]);
            mesh.tangents.push([-sin, 0.0, -cos, 1.0]);
            influences
                .push([(joint, 1.0 - upper), (joint + 1, upper)].map(|(joint, weight)| Influence { joint, weight }));
            if ring + 1 < RINGS {
                let (i, next) = (ring * around + side, ring * around + (side + 1) % around);
                mesh.indices.extend([i, next, next + around, i, next + around, i + around]);
            }
        }
    }
    mesh.influences = Influences::from_vertices(influences.iter().map(|i| i.as_slice()));
    mesh
}
