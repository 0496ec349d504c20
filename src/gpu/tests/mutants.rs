//! Each listed break of the shader must make the comparison with the reference fail.

use super::device;
use super::matrix::mixed_scene;
use crate::gpu::skin::SOURCE;

/// (what the shader says, what the mutant says)
const MUTANTS: &[(&str, &str)] = &[
    (
        "lane < job.vertex_count;
    let vertex = min(block * GROUP_SIZE + lane, job.vertex_count - 1u);",
        "lane < 0xffffffu;
    let vertex = block * GROUP_SIZE + lane;",
    ),
    ("let group = id.y * batch.grid_width + id.x;", "let group = id.x;"),
    ("tables[batch.jobs + 2u * middle].x <= group", "tables[batch.jobs + 2u * middle].x < group"),
    ("chunk * CHUNK;", "chunk * (CHUNK + 1u);"),
    ("min(first + CHUNK, job.instance_count);", "min(first + CHUNK, job.instance_count - 1u);"),
    ("let vertex = min(block * GROUP_SIZE + lane, job", "let vertex = min(block * GROUP_SIZE + (lane | 1u), job"),
    ("weights[0] -= weights[1];", ""),
    ("weights[0] -= weights[2] + weights[3];", "weights[0] -= weights[2];"),
    ("r2 += weights[7] * palettes[at + 2u];", "r2 += weights[7] * palettes[at + 1u];"),
    ("joints[3] = 3u * joint_of(base, 3u);", "joints[3] = 3u * joint_of(base, 2u);"),
    ("if (shift + bits > 32u) {", "if (shift + bits > 64u) {"),
    ("9u * slot - 7u", "9u * slot - 6u"),
    ("select(11u, 10u, slot == 1u)", "11u"),
    ("select((joint_bits + 31u) / 32u * 32u, 16u, shares_word)", "(joint_bits + 31u) / 32u * 32u"),
    ("(largest * f32(slot + 1u))", "(largest * f32(slot))"),
    ("let p = vec4<f32>(v.position, 1.0);", "let p = vec4<f32>(v.position, 0.0);"),
    ("let c1 = cross(a2, a0);", "let c1 = cross(a0, a2);"),
    ("dot(c0, rest_normal), dot(c1, rest_normal)", "dot(a0, rest_normal), dot(c1, rest_normal)"),
    ("select(1.0, -1.0, dot(a0, c0) < 0.0)", "1.0"),
    ("frame_encode(normal, tangent, sign * mirror)", "frame_encode(normal, tangent, sign)"),
    ("along - normal * dot(normal, along)", "along"),
    ("v.normal += weight * asset_vec3(at + 4u);", "v.normal += weight * asset_vec3(at + 1u);"),
    ("morph_weights[first_weight + assets[at]]", "morph_weights[first_weight]"),
    ("morphed(rest, job, vertex, instance.z)", "morphed(rest, job, vertex, 0u)"),
    ("let palette = 3u * instance.y;", "let palette = 0u;"),
    ("bitcast<i32>(frame.y) >> 17u) / 16383.0", "bitcast<i32>(frame.y) >> 17u) / 16384.5"),
    ("select(p, folded, v.z < 0.0)", "p"),
];

#[test]
fn every_mutant_is_caught() {
    let (device, queue) = device();
    let scene = mixed_scene();
    scene.compare(&scene.skin(&device, &queue, Some(SOURCE))).expect("the shader itself is right");
    let mut missed = Vec::new();
    for (old, new) in MUTANTS {
        assert_eq!(SOURCE.matches(old).count(), 1, "the shader does not say {old:?} once");
        let mutant = SOURCE.replace(old, new);
        match scene.compare(&scene.skin(&device, &queue, Some(&mutant))) {
            Err(why) => println!("caught: {new:?}: {why}"),
            Ok(_) => missed.push(format!("{old:?} -> {new:?}")),
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:#?}");
}
