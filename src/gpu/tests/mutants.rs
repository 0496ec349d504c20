//! Each listed break of the shader must make the comparison with the reference fail.

use super::device;
use super::matrix::mixed_scene;
use super::scene::{MeshKind, Scene};
use crate::gpu::skin::SOURCE;
use crate::influence::Precision;

/// (what the shader says, what the mutant says)
const MUTANTS: &[(&str, &str)] = &[
    ("let quad = min(block * GROUP_SIZE + lane, job.quad_count - 1u);", "let quad = block * GROUP_SIZE + (lane | 1u);"),
    ("let group = id.y * batch.grid_width + id.x;", "let group = id.x;"),
    ("tables[batch.jobs + 2u * middle].x <= group", "tables[batch.jobs + 2u * middle].x < group"),
    ("chunk * CHUNK;", "chunk * (CHUNK + 1u);"),
    ("min(first + CHUNK, job.instance_count);", "min(first + CHUNK, job.instance_count - 1u);"),
    ("weights[0] -= weights[1];", ""),
    ("weights[0] -= weights[2] + weights[3];", "weights[0] -= weights[2];"),
    ("joints[3] = joints_of(&words, 3u);", "joints[3] = joints_of(&words, 2u);"),
    ("words[6] = assets[row + 6u];", "words[6] = assets[row + 5u];"),
    ("if (WORDS > 2u) {", "if (WORDS > 4u) {"),
    ("if (shift + bits > 32u) {", "if (shift + bits > 64u) {"),
    ("9u * slot - 7u", "9u * slot - 6u"),
    ("select(11u, 10u, slot == 1u)", "11u"),
    ("select((joint_bits + 31u) / 32u * 32u, 16u, shares_word)", "(joint_bits + 31u) / 32u * 32u"),
    ("(largest * f32(slot + 1u))", "(largest * f32(slot))"),
    // The list of a quad's joints: where it is, how long it is, its later rows, its words and fields.
    ("let list_row = row + REST_ROWS + WORDS;", "let list_row = row + REST_ROWS + WORDS - 1u;"),
    ("k <= joint_count; k++", "k < joint_count; k++"),
    ("for (var k = 1u; k <= joint_count", "for (var k = 2u; k <= joint_count"),
    ("list = assets[list_row + bit / 128u];", "list = assets[list_row];"),
    ("if (bit % 128u == 0u) {", "if (bit % 256u == 0u) {"),
    ("list[bit / 32u % 4u]", "list[bit / 32u % 2u]"),
    (">> (bit % 32u)) & joint_mask", ">> (bit % 32u)) & 0x7fu"),
    // The weights of one joint: unused slots say joint 0 and must not win.
    ("w = select(w, weights[7], joints[7] == vec4<u32>(joint));", ""),
    ("w = select(w, weights[3], joints[3] == vec4<u32>(joint));", ""),
    ("w = select(w, weights[0], joints[0] == vec4<u32>(joint));", ""),
    ("r2 += outer(w, palettes[entry + 2u]);", "r2 += outer(w, palettes[entry + 1u]);"),
    ("r1 += outer(w, palettes[entry + 1u]);", "r1 += outer(w, palettes[entry + 1u].yxzw);"),
    ("let palette = tables[at].y;", "let palette = 0u;"),
    ("let output = tables[at].x + quad;", "let output = tables[at].x + min(quad, 15u);"),
    ("+ r1[2] * v.positions[2] + r1[3];", "+ r1[2] * v.positions[2];"),
    ("vec4<f32>(x.x, y.x, z.x, x.y)", "vec4<f32>(x.x, y.x, z.x, x.x)"),
    ("vec4<f32>(z.z, x.w, y.w, z.w)", "vec4<f32>(z.z, x.z, y.w, z.w)"),
    ("a[2] * b[0] - a[0] * b[2]", "a[0] * b[2] - a[2] * b[0]"),
    ("dots(c0, v.normals), dots(c1, v.normals)", "dots(a0, v.normals), dots(c1, v.normals)"),
    ("dots(a0, c0) < vec4<f32>(0.0)", "dots(a0, c0) < vec4<f32>(-1e9)"),
    ("let s = signs * mirror;", "let s = signs;"),
    ("along - scaled(normals, dots(normals, along))", "along"),
    ("frame_encode(n[3], t[3], s.w)", "frame_encode(n[2], t[3], s.w)"),
    ("v.normals += weight * asset_vectors(at + 4u);", "v.normals += weight * asset_vectors(at + 1u);"),
    ("morph_weights[first_weight + assets[at].x]", "morph_weights[first_weight]"),
    ("morphed(rest, deltas.x, deltas.y, tables[at].z)", "morphed(rest, deltas.x, deltas.y, 0u)"),
    ("at < end; at += DELTA_ROWS", "at + DELTA_ROWS < end; at += DELTA_ROWS"),
    ("frame_normal(vec2<u32>(normals.w, 0u))", "frame_normal(vec2<u32>(normals.z, 0u))"),
    ("bitcast<i32>(frame.y) >> 17u) / 16383.0", "bitcast<i32>(frame.y) >> 17u) / 16384.5"),
    ("select(p, folded, v.z < 0.0)", "p"),
];

#[test]
fn every_mutant_is_caught() {
    let (device, queue) = device();
    let scene = mixed_scene();
    scene.compare(&scene.skin(&device, &queue, Some(SOURCE))).expect("the shader itself is right");
    // Most are caught by the widest kernel, which is quicker than all of them.
    let kind = |vertices, joints, width, precision, targets| MeshKind { vertices, joints, width, precision, targets };
    let quick = [kind(330, 300, 8, Precision::Fine, 2), kind(67, 19, 4, Precision::Compact, 0)];
    let quick = Scene::new(&quick, 21, 12);
    quick.compare(&quick.skin(&device, &queue, Some(SOURCE))).expect("the shader itself is right");
    let mut missed = Vec::new();
    for (old, new) in MUTANTS {
        assert_eq!(SOURCE.matches(old).count(), 1, "the shader does not say {old:?} once");
        let mutant = SOURCE.replace(old, new);
        let caught = |scene: &Scene| scene.compare(&scene.skin(&device, &queue, Some(&mutant))).err();
        match caught(&quick).or_else(|| caught(&scene)) {
            Some(why) => println!("caught: {new:?}: {why}"),
            None => missed.push(format!("{old:?} -> {new:?}")),
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:#?}");
}
