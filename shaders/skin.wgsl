// Skinning of every dirty instance in one dispatch. A thread takes a quad, four vertices in a row, and a chunk of the mesh's
// instances: it reads the rest vertices and their influences once, and per instance every palette entry that any of the
// four needs, once for them all. Needs the functions of quad.wgsl, frame.wgsl and bounds.wgsl.

// Influences kept per vertex: 1, 2, 4 or 8.
override WIDTH: u32 = 4u;
// Bits of a joint index: 8 or 16.
override JOINT_BITS: u32 = 8u;
// Weights in the fine precision, else compact.
override FINE: bool = false;
// Words of a vertex's packed influences.
override WORDS: u32 = 2u;
// The mesh has morph targets.
override MORPHS: bool = false;
// Frames as seven f32 per vertex (normal, tangent, sign) instead of two octahedral words.
override FULL: bool = false;
// Keeps the positions that are overwritten.
override PREVIOUS: bool = false;
// Boxes every instance in.
override BOUNDS: bool = false;
// Blends dual quaternions, else matrices.
override DUAL: bool = false;
// Instances per workgroup.
override CHUNK: u32 = 8u;

// Quads of a workgroup.
const GROUP_SIZE: u32 = 64u;
// Rows of a quad before its influences: x, y, z, normals, tangents.
const REST_ROWS: u32 = 5u;
// Rows of a joint in a dual palette.
const DUAL_ROWS: u32 = 5u;
// Rows of a morph delta: target, then x, y, z of the positions, normals and tangents.
const DELTA_ROWS: u32 = 10u;
// Bits of an instance's last word; its box is in the bits above them. Nothing changed: the positions become the previous
// ones and stay.
const SETTLE: u32 = 1u;
// Skinned for the first time: the positions are the previous ones too.
const FRESH: u32 = 2u;
// Keys of a workgroup's quads, and one that keeps the rows in different banks of the memory.
const KEY_STRIDE: u32 = 65u;

// What one dispatch works on.
struct Batch {
    // Where its jobs start in `tables`.
    jobs: u32,
    job_count: u32,
    group_count: u32,
    // Workgroups in a row of the 2-D grid.
    grid_width: u32,
}

// One mesh of a batch with its instances; two elements of `tables`.
struct Job {
    // First workgroup of the batch that works on it.
    first_group: u32,
    // Blocks of 64 quads.
    block_count: u32,
    quad_count: u32,
    // Where its quads start in `assets`.
    quads: u32,
    // Rows of a quad.
    stride: u32,
    // Where its instances start in `tables`.
    instances: u32,
    instance_count: u32,
    unused: u32,
}

@group(0) @binding(0) var<uniform> batch: Batch;
// Rows of four words, one for each vertex of a quad: REST_ROWS, then the packed influences, then the list of the joints that
// any of the four has (in ascending order, in fields of JOINT_BITS; the first is their number), and for a mesh with morph
// targets the range of its deltas in `assets`. The vertices that the last quad lacks are copies of its last one.
@group(0) @binding(1) var<storage, read> assets: array<vec4<u32>>;
// Jobs, two elements each, and instances, one each: (first output quad in the page, first joint in `palettes` or
// first row of a dual palette, first weight in `morph_weights`, box and flags), and boxes to empty, four each.
@group(0) @binding(2) var<storage, read> tables: array<vec4<u32>>;
// Three rows per joint, the map; in a dual palette five (src/gpu/dual.rs).
@group(0) @binding(3) var<storage, read> palettes: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> morph_weights: array<f32>;
// Three f32 per vertex: three elements per quad.
@group(0) @binding(5) var<storage, read_write> positions: array<vec4<f32>>;
// Two words per vertex, or seven with FULL: two or seven elements per quad.
@group(0) @binding(6) var<storage, read_write> frames: array<vec4<u32>>;
// As `positions`; not touched unless PREVIOUS.
@group(0) @binding(7) var<storage, read_write> previous: array<vec4<f32>>;
// Eight words per box, see bounds.wgsl; not touched unless BOUNDS.
@group(0) @binding(8) var<storage, read_write> bounds: array<atomic<u32>>;

// Rows of keys, six per instance of the chunk: the least and the greatest x, y, z of each quad.
var<workgroup> keys: array<u32, 3120>;

struct Vertices {
    positions: Vectors,
    normals: Vectors,
    tangents: Vectors,
}

// The last job whose first group is not past `group`.
fn find_job(group: u32) -> Job {
    var low = 0u;
    var high = batch.job_count - 1u;
    while (low < high) {
        let middle = (low + high + 1u) / 2u;
        if (tables[batch.jobs + 2u * middle].x <= group) {
            low = middle;
        } else {
            high = middle - 1u;
        }
    }
    let a = tables[batch.jobs + 2u * low];
    let b = tables[batch.jobs + 2u * low + 1u];
    return Job(a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w);
}

// The words of four vertices' influences; constant indices everywhere, so that they live in registers.
alias Packed = array<vec4<u32>, 8>;

fn packed_at(row: u32) -> Packed {
    var words: Packed;
    words[0] = assets[row];
    if (WORDS > 1u) {
        words[1] = assets[row + 1u];
    }
    if (WORDS > 2u) {
        words[2] = assets[row + 2u];
    }
    if (WORDS > 3u) {
        words[3] = assets[row + 3u];
    }
    if (WORDS > 4u) {
        words[4] = assets[row + 4u];
        words[5] = assets[row + 5u];
    }
    if (WORDS > 6u) {
        words[6] = assets[row + 6u];
        words[7] = assets[row + 7u];
    }
    return words;
}

// `bits` bits of four little-endian bit streams.
fn field(words: ptr<function, Packed>, bit: u32, bits: u32) -> vec4<u32> {
    let word = bit / 32u;
    let shift = bit % 32u;
    var value = (*words)[word] >> vec4<u32>(shift);
    if (shift + bits > 32u) {
        value |= (*words)[word + 1u] << vec4<u32>(32u - shift);
    }
    return value & vec4<u32>(0xffffffffu >> (32u - bits));
}

fn joints_of(words: ptr<function, Packed>, slot: u32) -> vec4<u32> {
    return field(words, slot * JOINT_BITS, JOINT_BITS);
}

// Weights of slot 1 or later: the k-th smaller one is at most 1/(k+1) and is stored as a fraction of that.
fn weights_of(words: ptr<function, Packed>, slot: u32) -> vec4<f32> {
    var bits = 16u;
    var bit = 0u;
    if (WIDTH == 2u) {
        bits = select(16u, 32u, FINE);
    } else if (WIDTH == 4u) {
        bits = select(select(11u, 10u, slot == 1u), 21u, FINE);
        bit = select(select(11u * slot - 12u, 0u, slot == 1u), 21u * (slot - 1u), FINE);
    } else {
        bits = select(select(select(9u, 8u, slot == 7u), 10u, slot <= 2u), 18u, FINE);
        bit = select(select(9u * slot - 7u, 10u * (slot - 1u), slot <= 3u), 18u * (slot - 1u), FINE);
    }
    // Joints fill whole words, except two bytes that leave room for one 16-bit weight.
    let joint_bits = WIDTH * JOINT_BITS;
    let shares_word = joint_bits == 16u && WIDTH == 2u && !FINE;
    let start = select((joint_bits + 31u) / 32u * 32u, 16u, shares_word);
    let largest = f32(0xffffffffu >> (32u - bits));
    return vec4<f32>(field(words, start + bit, bits)) / (largest * f32(slot + 1u));
}

fn asset_vectors(row: u32) -> Vectors {
    return Vectors(
        bitcast<vec4<f32>>(assets[row]), bitcast<vec4<f32>>(assets[row + 1u]), bitcast<vec4<f32>>(assets[row + 2u]),
    );
}

// With the deltas in the rows `first`…`end` of `assets`.
fn morphed(rest: Vertices, first: u32, end: u32, first_weight: u32) -> Vertices {
    var v = rest;
    for (var at = first; at < end; at += DELTA_ROWS) {
        let weight = morph_weights[first_weight + assets[at].x];
        v.positions += weight * asset_vectors(at + 1u);
        v.normals += weight * asset_vectors(at + 4u);
        v.tangents += weight * asset_vectors(at + 7u);
    }
    return v;
}

// Each row of four matrices from one row and their weights.
fn outer(weights: vec4<f32>, row: vec4<f32>) -> mat4x4<f32> {
    return mat4x4<f32>(weights * row.x, weights * row.y, weights * row.z, weights * row.w);
}

fn scaled4(rows: mat4x4<f32>, factors: vec4<f32>) -> mat4x4<f32> {
    return mat4x4<f32>(rows[0] * factors, rows[1] * factors, rows[2] * factors, rows[3] * factors);
}

// Makes the positions of an output quad the previous ones; those of a fresh instance are the new ones, `rows`.
fn keep(quad: u32, fresh: bool, rows: mat3x4<f32>) {
    let r0 = positions[3u * quad];
    let r1 = positions[3u * quad + 1u];
    let r2 = positions[3u * quad + 2u];
    previous[3u * quad] = select(r0, rows[0], fresh);
    previous[3u * quad + 1u] = select(r1, rows[1], fresh);
    previous[3u * quad + 2u] = select(r2, rows[2], fresh);
}

// Frames of an output quad. Vertex i goes through the matrix with the rows (r0[0][i], r0[1][i], r0[2][i]), the same of r1, r2.
fn write_frames(quad: u32, v: Vertices, signs: vec4<f32>, r0: mat4x4<f32>, r1: mat4x4<f32>, r2: mat4x4<f32>) {
    // Normals go through the cofactor matrix, here of the matrix times a power of two, so that nothing under- or overflows.
    let size0 = max(max(abs(r0[0]), abs(r0[1])), abs(r0[2]));
    let size1 = max(max(abs(r1[0]), abs(r1[1])), abs(r1[2]));
    let size2 = max(max(abs(r2[0]), abs(r2[1])), abs(r2[2]));
    let size = max(max(size0, size1), size2);
    let exponent = min(bitcast<vec4<u32>>(size) & vec4<u32>(0x7f800000u), vec4<u32>(0x7e800000u));
    let unit = select(vec4<f32>(0.0), bitcast<vec4<f32>>(0x7f000000u - exponent), size > vec4<f32>(1e-30));
    let a0 = scaled(Vectors(r0[0], r0[1], r0[2]), unit);
    let a1 = scaled(Vectors(r1[0], r1[1], r1[2]), unit);
    let a2 = scaled(Vectors(r2[0], r2[1], r2[2]), unit);
    let c0 = crosses(a1, a2);
    let c1 = crosses(a2, a0);
    let c2 = crosses(a0, a1);
    // A mirroring joint must leave normals outward and flip the handedness of the frame.
    let mirror = select(vec4<f32>(1.0), vec4<f32>(-1.0), dots(a0, c0) < vec4<f32>(0.0));
    let cofactors = Vectors(dots(c0, v.normals), dots(c1, v.normals), dots(c2, v.normals));
    let normals = directions(scaled(cofactors, mirror), v.normals);
    let along = Vectors(dots(a0, v.tangents), dots(a1, v.tangents), dots(a2, v.tangents));
    let sideways = along - scaled(normals, dots(normals, along));
    let tangents = chosen(across(normals), sideways, dots(sideways, sideways) > vec4<f32>(1e-24));

    let n = transpose(normals);
    let s = signs * mirror;
    if (FULL) {
        let t = transpose(scaled(tangents, inverseSqrt(dots(tangents, tangents))));
        frames[7u * quad] = bitcast<vec4<u32>>(vec4<f32>(n[0], t[0].x));
        frames[7u * quad + 1u] = bitcast<vec4<u32>>(vec4<f32>(t[0].yz, s.x, n[1].x));
        frames[7u * quad + 2u] = bitcast<vec4<u32>>(vec4<f32>(n[1].yz, t[1].xy));
        frames[7u * quad + 3u] = bitcast<vec4<u32>>(vec4<f32>(t[1].z, s.y, n[2].xy));
        frames[7u * quad + 4u] = bitcast<vec4<u32>>(vec4<f32>(n[2].z, t[2]));
        frames[7u * quad + 5u] = bitcast<vec4<u32>>(vec4<f32>(s.z, n[3]));
        frames[7u * quad + 6u] = bitcast<vec4<u32>>(vec4<f32>(t[3], s.w));
    } else {
        // Packing needs no unit length.
        let t = transpose(tangents);
        frames[2u * quad] = vec4<u32>(frame_encode(n[0], t[0], s.x), frame_encode(n[1], t[1], s.y));
        frames[2u * quad + 1u] = vec4<u32>(frame_encode(n[2], t[2], s.z), frame_encode(n[3], t[3], s.w));
    }
}

// Notes the least and greatest of one coordinate of a quad.
fn note_bounds(row: u32, x: vec4<f32>) {
    let key = vec4<u32>(bounds_key(x.x), bounds_key(x.y), bounds_key(x.z), bounds_key(x.w));
    keys[row] = min(min(key.x, key.y), min(key.z, key.w));
    keys[row + KEY_STRIDE] = max(max(key.x, key.y), max(key.z, key.w));
}

@compute @workgroup_size(64)
fn skin(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let group = id.y * batch.grid_width + id.x;
    if (group >= batch.group_count) {
        return;
    }
    let job = find_job(group);
    let block = (group - job.first_group) % job.block_count;
    let chunk = (group - job.first_group) / job.block_count;
    // Lanes past the end do the last quad once more and write nothing.
    let inside = block * GROUP_SIZE + lane < job.quad_count;
    let quad = min(block * GROUP_SIZE + lane, job.quad_count - 1u);

    let row = job.quads + quad * job.stride;
    let rest_tangents = frame_tangents(assets[row + 4u]);
    let rest = Vertices(
        asset_vectors(row),
        frame_normals(assets[row + 3u]),
        Vectors(rest_tangents[0], rest_tangents[1], rest_tangents[2]),
    );

    var words = packed_at(row + REST_ROWS);
    var joints: array<vec4<u32>, 8>;
    var weights: array<vec4<f32>, 8>;
    joints[0] = joints_of(&words, 0u);
    weights[0] = vec4<f32>(1.0);
    if (WIDTH >= 2u) {
        joints[1] = joints_of(&words, 1u);
        weights[1] = weights_of(&words, 1u);
        weights[0] -= weights[1];
    }
    if (WIDTH >= 4u) {
        joints[2] = joints_of(&words, 2u);
        joints[3] = joints_of(&words, 3u);
        weights[2] = weights_of(&words, 2u);
        weights[3] = weights_of(&words, 3u);
        weights[0] -= weights[2] + weights[3];
    }
    if (WIDTH >= 8u) {
        joints[4] = joints_of(&words, 4u);
        joints[5] = joints_of(&words, 5u);
        joints[6] = joints_of(&words, 6u);
        joints[7] = joints_of(&words, 7u);
        weights[4] = weights_of(&words, 4u);
        weights[5] = weights_of(&words, 5u);
        weights[6] = weights_of(&words, 6u);
        weights[7] = weights_of(&words, 7u);
        weights[0] -= (weights[4] + weights[5]) + (weights[6] + weights[7]);
    }
    let list_row = row + REST_ROWS + WORDS;
    let list_head = assets[list_row];
    let joint_mask = 0xffffffffu >> (32u - JOINT_BITS);
    let joint_count = list_head.x & joint_mask;
    var deltas = vec2<u32>(0u);
    if (MORPHS) {
        deltas = assets[row + job.stride - 1u].xy;
    }

    let first = chunk * CHUNK;
    let end = min(first + CHUNK, job.instance_count);
    for (var i = first; i < end; i++) {
        let at = job.instances + i;
        let output = tables[at].x + quad;
        var flags = 0u;
        if (PREVIOUS) {
            flags = tables[at].w;
            if ((flags & SETTLE) != 0u) {
                if (inside) {
                    keep(output, false, mat3x4<f32>());
                }
                continue;
            }
        }
        let palette = tables[at].y;
        // Four blended matrices: column c of `r0` is the first rows' element c, and so on. The joints come in ascending order,
        // and one that a vertex does not have adds exactly nothing: the sum does not depend on the other three.
        var r0 = mat4x4<f32>();
        var r1 = mat4x4<f32>();
        var r2 = mat4x4<f32>();
        // Of a dual palette, whose rows are of (map(p) q) as a map of (p, 1), the fourth, and q; and each vertex's heaviest q.
        var r3 = mat4x4<f32>();
        var turns = mat4x4<f32>();
        var heaviest = mat4x4<f32>();
        if (DUAL) {
            let at_turn = vec4<u32>(palette + 4u) + DUAL_ROWS * joints[0];
            heaviest = transpose(mat4x4<f32>(
                palettes[at_turn.x], palettes[at_turn.y], palettes[at_turn.z], palettes[at_turn.w],
            ));
        }
        var list = list_head;
        for (var k = 1u; k <= joint_count; k++) {
            let bit = k * JOINT_BITS;
            if (bit % 128u == 0u) {
                list = assets[list_row + bit / 128u];
            }
            let joint = (list[bit / 32u % 4u] >> (bit % 32u)) & joint_mask;
            // The heaviest last: unused slots say joint 0 and weigh nothing.
            var w = vec4<f32>(0.0);
            if (WIDTH >= 8u) {
                w = select(w, weights[7], joints[7] == vec4<u32>(joint));
                w = select(w, weights[6], joints[6] == vec4<u32>(joint));
                w = select(w, weights[5], joints[5] == vec4<u32>(joint));
                w = select(w, weights[4], joints[4] == vec4<u32>(joint));
            }
            if (WIDTH >= 4u) {
                w = select(w, weights[3], joints[3] == vec4<u32>(joint));
                w = select(w, weights[2], joints[2] == vec4<u32>(joint));
            }
            if (WIDTH >= 2u) {
                w = select(w, weights[1], joints[1] == vec4<u32>(joint));
            }
            w = select(w, weights[0], joints[0] == vec4<u32>(joint));
            let entry = select(3u * (palette + joint), palette + DUAL_ROWS * joint, DUAL);
            if (DUAL) {
                // To the side of the heaviest joint's rotation.
                let turn = palettes[entry + 4u];
                w = select(w, -w, heaviest * turn < vec4<f32>(0.0));
                turns += outer(w, turn);
                r3 += outer(w, palettes[entry + 3u]);
            }
            r0 += outer(w, palettes[entry]);
            r1 += outer(w, palettes[entry + 1u]);
            r2 += outer(w, palettes[entry + 2u]);
        }
        if (DUAL) {
            // The affine map of each sum: vec(sum(p) turn*) / |turn|². A turn is no shorter than the heaviest weight.
            let square = turns[0] * turns[0] + turns[1] * turns[1] + turns[2] * turns[2] + turns[3] * turns[3];
            let x = turns[0] / square;
            let y = turns[1] / square;
            let z = turns[2] / square;
            let w = turns[3] / square;
            let s0 = scaled4(r0, w) - scaled4(r1, z) + (scaled4(r2, y) - scaled4(r3, x));
            let s1 = scaled4(r0, z) + scaled4(r1, w) - (scaled4(r2, x) + scaled4(r3, y));
            r2 = scaled4(r1, x) - scaled4(r0, y) + (scaled4(r2, w) - scaled4(r3, z));
            r0 = s0;
            r1 = s1;
        }
        var v = rest;
        if (MORPHS) {
            v = morphed(rest, deltas.x, deltas.y, tables[at].z);
            v.normals = directions(v.normals, Vectors(vec4<f32>(0.0), vec4<f32>(0.0), vec4<f32>(1.0)));
        }
        let x = r0[0] * v.positions[0] + r0[1] * v.positions[1] + r0[2] * v.positions[2] + r0[3];
        let y = r1[0] * v.positions[0] + r1[1] * v.positions[1] + r1[2] * v.positions[2] + r1[3];
        let z = r2[0] * v.positions[0] + r2[1] * v.positions[1] + r2[2] * v.positions[2] + r2[3];
        if (BOUNDS) {
            let key_row = 6u * (i - first) * KEY_STRIDE + lane;
            note_bounds(key_row, x);
            note_bounds(key_row + 2u * KEY_STRIDE, y);
            note_bounds(key_row + 4u * KEY_STRIDE, z);
        }
        if (inside) {
            let rows = mat3x4<f32>(
                vec4<f32>(x.x, y.x, z.x, x.y), vec4<f32>(y.y, z.y, x.z, y.z), vec4<f32>(z.z, x.w, y.w, z.w),
            );
            if (PREVIOUS) {
                keep(output, (flags & FRESH) != 0u, rows);
            }
            positions[3u * output] = rows[0];
            positions[3u * output + 1u] = rows[1];
            positions[3u * output + 2u] = rows[2];
            write_frames(output, v, rest_tangents[3], r0, r1, r2);
        }
    }

    if (BOUNDS) {
        workgroupBarrier();
        // A lane for an instance, axis and side.
        let i = first + lane / 6u;
        if (lane < 6u * CHUNK && i < end) {
            let instance = tables[job.instances + i];
            if ((instance.w & SETTLE) == 0u) {
                let key_row = lane * KEY_STRIDE;
                var low = keys[key_row];
                var high = low;
                for (var k = 1u; k < GROUP_SIZE; k++) {
                    low = min(low, keys[key_row + k]);
                    high = max(high, keys[key_row + k]);
                }
                let word = 8u * (instance.w >> 2u) + lane % 6u / 2u;
                if (lane % 2u == 0u) {
                    atomicMin(&bounds[word], low);
                } else {
                    atomicMax(&bounds[word + 4u], high);
                }
            }
        }
    }
}

// Empties the boxes of the instances that are skinned next: `batch.job_count` indices from `batch.jobs` on.
@compute @workgroup_size(64)
fn reset(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = (id.y * batch.grid_width + id.x) * GROUP_SIZE + lane;
    if (i < batch.job_count) {
        let word = 8u * tables[batch.jobs + i / 4u][i % 4u];
        for (var axis = 0u; axis < 3u; axis++) {
            // The keys of plus and minus infinity.
            atomicStore(&bounds[word + axis], 0xff800000u);
            atomicStore(&bounds[word + 4u + axis], 0x007fffffu);
        }
    }
}
