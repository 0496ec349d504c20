// Skinning of every dirty instance in one dispatch. A workgroup takes 64 vertices of one mesh and a chunk of
// that mesh's instances: a thread reads its rest vertex and its influences once and writes it for each instance.
// Needs the functions of frame.wgsl and bounds.wgsl.

// Influences kept per vertex: 1, 2, 4 or 8.
override WIDTH: u32 = 4u;
// Bits of a joint index: 8 or 16.
override JOINT_BITS: u32 = 8u;
// Weights in the fine precision, else compact.
override FINE: bool = false;
// The mesh has morph targets.
override MORPHS: bool = false;
// Keeps the positions that are overwritten.
override PREVIOUS: bool = false;
// Boxes every instance in.
override BOUNDS: bool = false;
// Blends dual quaternions, else matrices.
override DUAL: bool = false;
// Instances per workgroup.
override CHUNK: u32 = 8u;

const GROUP_SIZE: u32 = 64u;
// Words of a rest vertex before its influences: position, normal, tangent.
const REST_WORDS: u32 = 5u;
// Words of a morph delta: target, position, normal, tangent.
const DELTA_WORDS: u32 = 10u;
// Bits of an instance's last word; its box is in the bits above them. Nothing changed: the positions become the previous
// ones and stay.
const SETTLE: u32 = 1u;
// Skinned for the first time: the positions are the previous ones too.
const FRESH: u32 = 2u;
// Rows of a joint in a dual palette.
const DUAL_ROWS: u32 = 5u;
// Keys of a coordinate of a workgroup's vertices, and two that keep the rows in different banks of the memory.
const KEY_STRIDE: u32 = 66u;

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
    // Blocks of 64 vertices.
    block_count: u32,
    vertex_count: u32,
    // Where its vertices start in `assets`, in words.
    vertices: u32,
    // Words of a vertex.
    stride: u32,
    // Where its morph offsets start in `assets`, in words.
    morphs: u32,
    // Where its instances start in `tables`.
    instances: u32,
    instance_count: u32,
}

@group(0) @binding(0) var<uniform> batch: Batch;
@group(0) @binding(1) var<storage, read> assets: array<u32>;
// Jobs, two elements each, and instances, one each: (first output vertex in the page, first joint in `palettes`,
// or first row of a dual palette, first weight in `morph_weights`, box and flags), and boxes to empty, four each.
@group(0) @binding(2) var<storage, read> tables: array<vec4<u32>>;
// Three rows per joint, the map; in a dual palette five (src/gpu/dual.rs).
@group(0) @binding(3) var<storage, read> palettes: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> morph_weights: array<f32>;
@group(0) @binding(5) var<storage, read_write> positions: array<f32>;
@group(0) @binding(6) var<storage, read_write> frames: array<vec2<u32>>;
// As `positions`; not touched unless PREVIOUS.
@group(0) @binding(7) var<storage, read_write> previous: array<f32>;
// Eight words per box, see bounds.wgsl; not touched unless BOUNDS.
@group(0) @binding(8) var<storage, read_write> bounds: array<atomic<u32>>;

// A row of keys per instance of the chunk and axis.
var<workgroup> keys: array<u32, 1584>;

struct Vertex {
    position: vec3<f32>,
    normal: vec3<f32>,
    tangent: vec3<f32>,
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

fn asset_vec3(word: u32) -> vec3<f32> {
    return vec3<f32>(bitcast<f32>(assets[word]), bitcast<f32>(assets[word + 1u]), bitcast<f32>(assets[word + 2u]));
}

// `bits` bits of a little-endian bit stream that starts at word `base`.
fn field(base: u32, bit: u32, bits: u32) -> u32 {
    let word = base + bit / 32u;
    let shift = bit % 32u;
    var value = assets[word] >> shift;
    if (shift + bits > 32u) {
        value |= assets[word + 1u] << (32u - shift);
    }
    return value & (0xffffffffu >> (32u - bits));
}

fn joint_of(base: u32, slot: u32) -> u32 {
    return field(base, slot * JOINT_BITS, JOINT_BITS);
}

// Weight of slot 1 or later: the k-th smaller one is at most 1/(k+1) and is stored as a fraction of that.
fn weight_of(base: u32, slot: u32) -> f32 {
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
    return f32(field(base, start + bit, bits)) / (largest * f32(slot + 1u));
}

fn morphed(rest: Vertex, job: Job, vertex: u32, first_weight: u32) -> Vertex {
    var v = rest;
    let first = assets[job.morphs + vertex];
    let end = assets[job.morphs + vertex + 1u];
    for (var at = first; at < end; at += DELTA_WORDS) {
        let weight = morph_weights[first_weight + assets[at]];
        v.position += weight * asset_vec3(at + 1u);
        v.normal += weight * asset_vec3(at + 4u);
        v.tangent += weight * asset_vec3(at + 7u);
    }
    return v;
}

// Any unit vector across a unit vector.
fn across(n: vec3<f32>) -> vec3<f32> {
    let axis = select(vec3<f32>(1.0, 0.0, 0.0), vec3<f32>(0.0, 1.0, 0.0), abs(n.x) > 0.7);
    return normalize(axis - n * dot(n, axis));
}

// A unit vector along v, or `fallback` where v is too short to have a direction.
fn direction(v: vec3<f32>, fallback: vec3<f32>) -> vec3<f32> {
    let square = dot(v, v);
    return select(fallback, v * inverseSqrt(square), square > 1e-24);
}

struct Rows {
    r0: vec4<f32>,
    r1: vec4<f32>,
    r2: vec4<f32>,
}

// A weighted sum of the rows of joints in a dual palette.
struct Dual {
    x: vec4<f32>,
    y: vec4<f32>,
    z: vec4<f32>,
    w: vec4<f32>,
    turn: vec4<f32>,
}

// Adds a joint's rows, all turned to the side of the heaviest joint's rotation.
fn add_dual(sum: ptr<function, Dual>, at: u32, weight: f32, heaviest: vec4<f32>) {
    let turn = palettes[at + 4u];
    let w = select(weight, -weight, dot(turn, heaviest) < 0.0);
    (*sum).x += w * palettes[at];
    (*sum).y += w * palettes[at + 1u];
    (*sum).z += w * palettes[at + 2u];
    (*sum).w += w * palettes[at + 3u];
    (*sum).turn += w * turn;
}

// The affine map of a sum: vec(sum(p) turn*) / |turn|². The turn is no shorter than the heaviest weight.
fn dual_rows(sum: Dual) -> Rows {
    let q = sum.turn / dot(sum.turn, sum.turn);
    return Rows(
        q.w * sum.x - q.z * sum.y + (q.y * sum.z - q.x * sum.w),
        q.z * sum.x + q.w * sum.y - (q.x * sum.z + q.y * sum.w),
        q.x * sum.y - q.y * sum.x + (q.w * sum.z - q.z * sum.w),
    );
}

// Makes the positions at `output` the previous ones; a fresh instance has none, and takes `position`.
fn keep(output: u32, fresh: bool, position: vec3<f32>) {
    let x = positions[3u * output];
    let y = positions[3u * output + 1u];
    let z = positions[3u * output + 2u];
    previous[3u * output] = select(x, position.x, fresh);
    previous[3u * output + 1u] = select(y, position.y, fresh);
    previous[3u * output + 2u] = select(z, position.z, fresh);
}

fn write(output: u32, position: vec3<f32>, v: Vertex, sign: f32, r0: vec4<f32>, r1: vec4<f32>, r2: vec4<f32>) {
    // Normals go through the cofactor matrix, here of the matrix scaled to unit size so that nothing under- or overflows.
    let size = max(max(length(r0.xyz), length(r1.xyz)), length(r2.xyz));
    let unit = select(0.0, 1.0 / size, size > 1e-30);
    let a0 = r0.xyz * unit;
    let a1 = r1.xyz * unit;
    let a2 = r2.xyz * unit;
    let c0 = cross(a1, a2);
    let c1 = cross(a2, a0);
    let c2 = cross(a0, a1);
    // A mirroring joint must leave normals outward and flip the handedness of the frame.
    let mirror = select(1.0, -1.0, dot(a0, c0) < 0.0);
    let rest_normal = direction(v.normal, vec3<f32>(0.0, 0.0, 1.0));
    let cofactor = vec3<f32>(dot(c0, rest_normal), dot(c1, rest_normal), dot(c2, rest_normal));
    let normal = direction(mirror * cofactor, rest_normal);
    let along = vec3<f32>(dot(a0, v.tangent), dot(a1, v.tangent), dot(a2, v.tangent));
    let tangent = direction(along - normal * dot(normal, along), across(normal));

    positions[3u * output] = position.x;
    positions[3u * output + 1u] = position.y;
    positions[3u * output + 2u] = position.z;
    frames[output] = frame_encode(normal, tangent, sign * mirror);
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
    // Lanes past the end do the last vertex once more and write nothing.
    let inside = block * GROUP_SIZE + lane < job.vertex_count;
    let vertex = min(block * GROUP_SIZE + lane, job.vertex_count - 1u);

    let rest_word = job.vertices + vertex * job.stride;
    let frame = vec2<u32>(assets[rest_word + 3u], assets[rest_word + 4u]);
    let rest_tangent = frame_tangent(frame);
    let rest = Vertex(asset_vec3(rest_word), frame_normal(frame), rest_tangent.xyz);

    // Rows of the palette and weights; constant indices, so that they live in registers.
    let base = rest_word + REST_WORDS;
    var joints: array<u32, 8>;
    var weights: array<f32, 8>;
    joints[0] = 3u * joint_of(base, 0u);
    weights[0] = 1.0;
    if (WIDTH >= 2u) {
        joints[1] = 3u * joint_of(base, 1u);
        weights[1] = weight_of(base, 1u);
        weights[0] -= weights[1];
    }
    if (WIDTH >= 4u) {
        joints[2] = 3u * joint_of(base, 2u);
        joints[3] = 3u * joint_of(base, 3u);
        weights[2] = weight_of(base, 2u);
        weights[3] = weight_of(base, 3u);
        weights[0] -= weights[2] + weights[3];
    }
    if (WIDTH >= 8u) {
        joints[4] = 3u * joint_of(base, 4u);
        joints[5] = 3u * joint_of(base, 5u);
        joints[6] = 3u * joint_of(base, 6u);
        joints[7] = 3u * joint_of(base, 7u);
        weights[4] = weight_of(base, 4u);
        weights[5] = weight_of(base, 5u);
        weights[6] = weight_of(base, 6u);
        weights[7] = weight_of(base, 7u);
        weights[0] -= (weights[4] + weights[5]) + (weights[6] + weights[7]);
    }

    let first = chunk * CHUNK;
    let end = min(first + CHUNK, job.instance_count);
    for (var i = first; i < end; i++) {
        let instance = tables[job.instances + i];
        if (PREVIOUS && (instance.w & SETTLE) != 0u) {
            if (inside) {
                keep(instance.x + vertex, false, vec3<f32>(0.0));
            }
            continue;
        }
        let palette = 3u * instance.y;
        var blended: Rows;
        var at = palette + joints[0];
        if (DUAL) {
            let heaviest = palettes[instance.y + joints[0] / 3u * DUAL_ROWS + 4u];
            var sum: Dual;
            for (var k = 0u; k < WIDTH; k++) {
                add_dual(&sum, instance.y + joints[k] / 3u * DUAL_ROWS, weights[k], heaviest);
            }
            blended = dual_rows(sum);
        } else {
        var r0 = weights[0] * palettes[at];
        var r1 = weights[0] * palettes[at + 1u];
        var r2 = weights[0] * palettes[at + 2u];
        if (WIDTH >= 2u) {
            at = palette + joints[1];
            r0 += weights[1] * palettes[at];
            r1 += weights[1] * palettes[at + 1u];
            r2 += weights[1] * palettes[at + 2u];
        }
        if (WIDTH >= 4u) {
            at = palette + joints[2];
            r0 += weights[2] * palettes[at];
            r1 += weights[2] * palettes[at + 1u];
            r2 += weights[2] * palettes[at + 2u];
            at = palette + joints[3];
            r0 += weights[3] * palettes[at];
            r1 += weights[3] * palettes[at + 1u];
            r2 += weights[3] * palettes[at + 2u];
        }
        if (WIDTH >= 8u) {
            at = palette + joints[4];
            r0 += weights[4] * palettes[at];
            r1 += weights[4] * palettes[at + 1u];
            r2 += weights[4] * palettes[at + 2u];
            at = palette + joints[5];
            r0 += weights[5] * palettes[at];
            r1 += weights[5] * palettes[at + 1u];
            r2 += weights[5] * palettes[at + 2u];
            at = palette + joints[6];
            r0 += weights[6] * palettes[at];
            r1 += weights[6] * palettes[at + 1u];
            r2 += weights[6] * palettes[at + 2u];
            at = palette + joints[7];
            r0 += weights[7] * palettes[at];
            r1 += weights[7] * palettes[at + 1u];
            r2 += weights[7] * palettes[at + 2u];
        }
        blended = Rows(r0, r1, r2);
        }
        let r0 = blended.r0;
        let r1 = blended.r1;
        let r2 = blended.r2;
        var v = rest;
        if (MORPHS) {
            v = morphed(rest, job, vertex, instance.z);
        }
        let p = vec4<f32>(v.position, 1.0);
        let position = vec3<f32>(dot(r0, p), dot(r1, p), dot(r2, p));
        if (BOUNDS) {
            let row = 3u * (i - first) * KEY_STRIDE + lane;
            keys[row] = bounds_key(position.x);
            keys[row + KEY_STRIDE] = bounds_key(position.y);
            keys[row + 2u * KEY_STRIDE] = bounds_key(position.z);
        }
        if (inside) {
            if (PREVIOUS) {
                keep(instance.x + vertex, (instance.w & FRESH) != 0u, position);
            }
            write(instance.x + vertex, position, v, rest_tangent.w, r0, r1, r2);
        }
    }

    if (BOUNDS) {
        workgroupBarrier();
        // Two lanes for an instance and axis, each for every other vertex.
        let i = first + lane / 6u;
        if (lane < 6u * CHUNK && i < end) {
            let instance = tables[job.instances + i];
            if ((instance.w & SETTLE) == 0u) {
                let row = lane / 2u * KEY_STRIDE + lane % 2u;
                var low = keys[row];
                var high = low;
                for (var k = 2u; k < GROUP_SIZE; k += 2u) {
                    low = min(low, keys[row + k]);
                    high = max(high, keys[row + k]);
                }
                let word = 8u * (instance.w >> 2u) + lane % 6u / 2u;
                atomicMin(&bounds[word], low);
                atomicMax(&bounds[word + 4u], high);
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
