// Poses characters: local transforms from each one's source, down the hierarchy, to the palettes of all its skins. One
// workgroup per character, one dispatch for all. Needs the functions of clips.wgsl, space.wgsl and math.wgsl.

// Lanes of a workgroup.
override GROUP_SIZE: u32 = 32u;
// Poses characters in pose spaces and those whose rig goes through `scratch`, too.
override GENERAL: bool = true;
// Poses characters that play several clips, or clips that drive morph weights, too.
override LAYERED: bool = true;

// Nodes whose world transforms fit into workgroup memory (48 bytes each); larger rigs go through `scratch`.
const SHARED_NODES: u32 = 320u;
// Words of a node and of a joint in `rigs`.
const NODE_WORDS: u32 = 24u;
const JOINT_WORDS: u32 = 13u;
// Words of a node among the turns of a rig; rows of a joint in a dual palette.
const TURN_WORDS: u32 = 5u;
const DUAL_ROWS: u32 = 5u;
const NONE: u32 = 0xffffffffu;

const STEP: u32 = 0u;
const LINEAR: u32 = 1u;

// What one dispatch works on.
struct PoseBatch {
    // Its first character in `posed`, and how many there are.
    first: u32,
    count: u32,
    // Workgroups in a row of the 2-D grid.
    grid_width: u32,
    unused: u32,
    // The host's seconds, as a sum of two.
    now: vec2<f32>,
}

// One character; changes when it is driven anew, not while it plays.
struct Character {
    // Where its rig starts in `rigs`.
    rig: u32,
    // First joint in `palettes`.
    palette: u32,
    // First row in `scratch`.
    scratch: u32,
    // Where the clip's table starts in `rigs`; NONE holds the rest pose.
    clip: u32,
    // The seconds at which the clip is at its time 0, as a sum of two.
    start: vec2<f32>,
    duration: f32,
    // 1: starts over at its end.
    looping: u32,
    // Where its pose space starts in `rigs`, or NONE; then where its state in it starts in `states`, and the first row of
    // sample weights in `scratch`.
    space: u32,
    state: u32,
    weights: u32,
    // First row of its dual palette in `palettes`, or NONE. With one, a row for each node's rotation follows its worlds in `scratch`.
    dual: u32,
    // 1: its state is that of layers of clips.
    layered: u32,
    // First node in `joints`, or NONE.
    joints: u32,
    spare: vec2<u32>,
}

// The head of a rig; offsets are words of `rigs`.
struct Rig {
    node_count: u32,
    nodes: u32,
    // Levels of the hierarchy: `level_count` + 1 offsets into `order`, which lists the nodes level by level.
    level_count: u32,
    levels: u32,
    order: u32,
    joint_count: u32,
    joints: u32,
    // Where its turns start in `rigs`, see `turn_of`; only for a character with a dual palette.
    turns: u32,
}

struct Local {
    rotation: vec4<f32>,
    translation: vec3<f32>,
    scale: vec3<f32>,
}

struct Rows {
    r0: vec4<f32>,
    r1: vec4<f32>,
    r2: vec4<f32>,
}

@group(0) @binding(0) var<uniform> batch: PoseBatch;
@group(0) @binding(1) var<storage, read> rigs: array<u32>;
@group(0) @binding(2) var<storage, read> characters: array<Character>;
// Characters to pose.
@group(0) @binding(3) var<storage, read> posed: array<u32>;
@group(0) @binding(4) var<storage, read_write> scratch: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> palettes: array<vec4<f32>>;
// What characters do in their pose spaces.
@group(0) @binding(6) var<storage, read> states: array<u32>;
@group(0) @binding(7) var<storage, read_write> morph_weights: array<f32>;
// World transforms of rig nodes, three rows each, for hosts that asked for them.
@group(0) @binding(8) var<storage, read_write> joints: array<vec4<f32>>;

var<workgroup> shared_rows: array<vec4<f32>, 960>;

fn rig_float(word: u32) -> f32 {
    return bitcast<f32>(rigs[word]);
}

fn rig_vec3(word: u32) -> vec3<f32> {
    return vec3<f32>(rig_float(word), rig_float(word + 1u), rig_float(word + 2u));
}

fn rig_vec4(word: u32) -> vec4<f32> {
    return vec4<f32>(rig_vec3(word), rig_float(word + 3u));
}

fn rig_at(base: u32) -> Rig {
    return Rig(
        rigs[base], base + rigs[base + 1u], rigs[base + 2u], base + rigs[base + 3u],
        base + rigs[base + 4u], rigs[base + 5u], base + rigs[base + 6u], rigs[base + 7u],
    );
}

fn store(large: bool, first: u32, node: u32, m: Rows) {
    if (large) {
        scratch[first + 3u * node] = m.r0;
        scratch[first + 3u * node + 1u] = m.r1;
        scratch[first + 3u * node + 2u] = m.r2;
    } else {
        shared_rows[3u * node] = m.r0;
        shared_rows[3u * node + 1u] = m.r1;
        shared_rows[3u * node + 2u] = m.r2;
    }
}

fn load(large: bool, first: u32, node: u32) -> Rows {
    if (large) {
        return Rows(scratch[first + 3u * node], scratch[first + 3u * node + 1u], scratch[first + 3u * node + 2u]);
    }
    return Rows(shared_rows[3u * node], shared_rows[3u * node + 1u], shared_rows[3u * node + 2u]);
}

// a · b of two affine maps.
fn product(a: Rows, b: Rows) -> Rows {
    return Rows(
        a.r0.x * b.r0 + a.r0.y * b.r1 + a.r0.z * b.r2 + vec4<f32>(0.0, 0.0, 0.0, a.r0.w),
        a.r1.x * b.r0 + a.r1.y * b.r1 + a.r1.z * b.r2 + vec4<f32>(0.0, 0.0, 0.0, a.r1.w),
        a.r2.x * b.r0 + a.r2.y * b.r1 + a.r2.z * b.r2 + vec4<f32>(0.0, 0.0, 0.0, a.r2.w),
    );
}

fn affine(local: Local) -> Rows {
    let q = local.rotation;
    let s = local.scale;
    let t = local.translation;
    let x = q.x * q;
    let y = q.y * q;
    let z = q.z * q;
    return Rows(
        vec4<f32>((1.0 - 2.0 * (y.y + z.z)) * s.x, 2.0 * (x.y - z.w) * s.y, 2.0 * (x.z + y.w) * s.z, t.x),
        vec4<f32>(2.0 * (x.y + z.w) * s.x, (1.0 - 2.0 * (x.x + z.z)) * s.y, 2.0 * (y.z - x.w) * s.z, t.y),
        vec4<f32>(2.0 * (x.z - y.w) * s.x, 2.0 * (y.z + x.w) * s.y, (1.0 - 2.0 * (x.x + y.y)) * s.z, t.z),
    );
}

// Divided by its length; the built-in may use an approximate reciprocal, which adds up down a chain.
fn unit(q: vec4<f32>) -> vec4<f32> {
    return q / sqrt(dot(q, q));
}

// Spherical interpolation on the shortest path, of keys as they are stored; the caller divides by the length.
fn slerp(a: vec4<f32>, far: vec4<f32>, u: f32) -> vec4<f32> {
    let b = select(far, -far, dot(a, far) < 0.0);
    let cosine = dot(a, b);
    if (cosine > 0.9999999) {
        return mix(a, b, u);
    }
    // Near 1 the angle is off by as much as the cosine is, but the ratios of sines below are not.
    let angle = arc_cosine(cosine);
    return (sin_cos((1.0 - u) * angle).x * a + sin_cos(u * angle).x * b) / sin_cos(angle).x;
}

// Number `i` of a channel's value at `word`, four at a time; only the first `width` are the value's.
fn value_at(word: u32, width: u32) -> vec4<f32> {
    return vec4<f32>(rig_vec3(word), select(0.0, rig_float(word + 3u), width == 4u));
}

// The first key after `time`, by binary search.
fn next_key(times: u32, count: u32, time: f32) -> u32 {
    var next = 0u;
    var end = count;
    while (next < end) {
        let middle = (next + end) / 2u;
        if (rig_float(times + middle) <= time) {
            next = middle + 1u;
        } else {
            end = middle;
        }
    }
    return next;
}

// A channel at a time (glTF 2.0, appendix C); times clamp to its keys.
fn sample(rig: u32, channel: u32, time: f32, width: u32) -> vec4<f32> {
    let interpolation = rigs[channel];
    let count = rigs[channel + 1u];
    let times = rig + rigs[channel + 2u];
    let values = rig + rigs[channel + 3u];
    let next = next_key(times, count, time);
    let cubic = interpolation > LINEAR;
    let stride = select(width, 3u * width, cubic);
    let first = values + select(0u, width, cubic);
    if (next == 0u || next == count || interpolation == STEP) {
        return value_at(first + (max(next, 1u) - 1u) * stride, width);
    }
    let t0 = rig_float(times + next - 1u);
    let dt = rig_float(times + next) - t0;
    let u = (time - t0) / dt;
    let a = value_at(first + (next - 1u) * stride, width);
    let b = value_at(first + next * stride, width);
    if (cubic) {
        let out_tangent = value_at(first + (next - 1u) * stride + width, width);
        let in_tangent = value_at(first + next * stride - width, width);
        let u2 = u * u;
        let u3 = u2 * u;
        return (2.0 * u3 - 3.0 * u2 + 1.0) * a + (u3 - 2.0 * u2 + u) * dt * out_tangent
            + (3.0 * u2 - 2.0 * u3) * b + (u3 - u2) * dt * in_tangent;
    }
    if (width == 4u) {
        return slerp(a, b, u);
    }
    return mix(a, b, u);
}

// Number `i` of a channel's value at a time; as `sample`, for values of any width.
fn sample_number(rig: u32, channel: u32, time: f32, i: u32) -> f32 {
    let interpolation = rigs[channel];
    let count = rigs[channel + 1u];
    let times = rig + rigs[channel + 2u];
    let width = rigs[channel + 4u];
    let next = next_key(times, count, time);
    let cubic = interpolation > LINEAR;
    let stride = select(width, 3u * width, cubic);
    let first = rig + rigs[channel + 3u] + select(0u, width, cubic) + i;
    let a = rig_float(first + max(next, 1u) * stride - stride);
    if (next == 0u || next == count || interpolation == STEP) {
        return a;
    }
    let t0 = rig_float(times + next - 1u);
    let dt = rig_float(times + next) - t0;
    let u = (time - t0) / dt;
    let b = rig_float(first + next * stride);
    if (!cubic) {
        return mix(a, b, u);
    }
    let out_tangent = rig_float(first + (next - 1u) * stride + width);
    let in_tangent = rig_float(first + next * stride - width);
    let v = 1.0 - u;
    return (1.0 + 2.0 * u) * v * v * a + u * v * v * dt * out_tangent + u * u * (3.0 - 2.0 * u) * b - u * u * v * dt * in_tangent;
}

fn rest_of(rig: Rig, node: u32) -> Local {
    let word = rig.nodes + node * NODE_WORDS;
    return Local(rig_vec4(word + 2u), rig_vec3(word + 6u), rig_vec3(word + 9u));
}

// A node's local transform: the rest pose, overridden by the channels of the clip whose table is at `table`.
fn clip_local(rig: u32, table: u32, rest: Local, node: u32, time: f32) -> Local {
    var local = rest;
    let channels = table + 3u * node;
    if (rigs[channels] != NONE) {
        local.rotation = unit(sample(rig, rig + rigs[channels], time, 4u));
    }
    if (rigs[channels + 1u] != NONE) {
        local.translation = sample(rig, rig + rigs[channels + 1u], time, 3u).xyz;
    }
    if (rigs[channels + 2u] != NONE) {
        local.scale = sample(rig, rig + rigs[channels + 2u], time, 3u).xyz;
    }
    return local;
}

fn clip_time(character: Character) -> f32 {
    let high = batch.now.x - character.start.x;
    let low = batch.now.y - character.start.y;
    if (character.looping == 1u && character.duration > 0.0) {
        let loops = floor((high + low) / character.duration);
        return fma(-loops, character.duration, high) + low;
    }
    return clamp(high + low, 0.0, character.duration);
}

@compute @workgroup_size(GROUP_SIZE)
fn pose(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let group = id.y * batch.grid_width + id.x;
    if (group >= batch.count) {
        return;
    }
    let character = characters[posed[batch.first + group]];
    let rig = rig_at(character.rig);
    let large = GENERAL && rig.node_count > SHARED_NODES;
    let first = character.scratch;
    let dual = GENERAL && character.dual != NONE;
    let turns = first + select(0u, 3u * rig.node_count, large);

    // In a pose space; and one whose poses change the length or thickness of bones.
    let spaced = GENERAL && character.space != NONE;
    var shaped = false;
    if (spaced) {
        shaped = rigs[character.space + SHAPED] == 1u;
        space_rows(character, lane);
    }
    let layered = LAYERED && character.layered == 1u;
    if (layered) {
        if (lane < 4u) {
            layers[lane] = layer_at(character.state, lane);
        }
        workgroupBarrier();
        blend_morphs(character, rig, lane);
    }
    let time = clip_time(character);
    for (var node = lane; node < rig.node_count; node += GROUP_SIZE) {
        let word = rig.nodes + node * NODE_WORDS;
        var local: Local;
        if (spaced) {
            local = space_local(character, node);
        } else if (layered) {
            local = blended_clips(character, rig, node);
        } else {
            local = clip_local(character.rig, character.clip, rest_of(rig, node), node, time);
        }
        if (dual) {
            scratch[turns + node] = turn_of(rig, node, local.rotation);
        }
        var m = affine(local);
        // A base that is not the identity stands after the parent's index.
        if (rigs[word + 1u] == 1u) {
            m = product(Rows(rig_vec4(word + 12u), rig_vec4(word + 16u), rig_vec4(word + 20u)), m);
        }
        if (shaped && rigs[word] != NONE) {
            m = along_bone(character, rigs[word], m);
        }
        store(large, first, node, m);
    }

    // Parents first, level by level; roots are in place already.
    for (var level = 1u; level < rig.level_count; level++) {
        workgroupBarrier();
        storageBarrier();
        let end = rigs[rig.levels + level + 1u];
        for (var i = rigs[rig.levels + level] + lane; i < end; i += GROUP_SIZE) {
            let node = rigs[rig.order + i];
            let parent = rigs[rig.nodes + node * NODE_WORDS];
            store(large, first, node, product(load(large, first, parent), load(large, first, node)));
            if (dual) {
                scratch[turns + node] = quaternion_product(scratch[turns + parent], scratch[turns + node]);
            }
        }
    }
    workgroupBarrier();
    storageBarrier();

    if (character.joints != NONE) {
        for (var node = lane; node < rig.node_count; node += GROUP_SIZE) {
            let m = load(large, first, node);
            let at = 3u * (character.joints + node);
            joints[at] = m.r0;
            joints[at + 1u] = m.r1;
            joints[at + 2u] = m.r2;
        }
    }
    for (var joint = lane; joint < rig.joint_count; joint += GROUP_SIZE) {
        let word = rig.joints + joint * JOINT_WORDS;
        let inverse_bind = Rows(rig_vec4(word + 1u), rig_vec4(word + 5u), rig_vec4(word + 9u));
        var world = load(large, first, rigs[word]);
        if (shaped) {
            world = product(world, bone_shape(character, rigs[word]));
        }
        let m = product(world, inverse_bind);
        let at = 3u * (character.palette + joint);
        palettes[at] = m.r0;
        palettes[at + 1u] = m.r1;
        palettes[at + 2u] = m.r2;
        if (dual) {
            let q = quaternion_product(scratch[turns + rigs[word]], rig_vec4(rig.turns + 4u * joint));
            store_dual(character.dual + DUAL_ROWS * joint, m, unit(q));
        }
    }
}

// A node's rotation relative to its parent's, for dual quaternion skinning (src/pose/turns.rs). A rig's turns are a quaternion per
// joint, then per node one and the factor of y and z that conjugates a rotation below something that mirrors.
fn turn_of(rig: Rig, node: u32, rotation: vec4<f32>) -> vec4<f32> {
    let word = rig.turns + 4u * rig.joint_count + TURN_WORDS * node;
    let side = rig_float(word + 4u);
    return quaternion_product(rig_vec4(word), rotation * vec4<f32>(1.0, side, side, 1.0));
}

// A joint's rows in a dual palette: (m p) q as a map of (p, 1), then q.
fn store_dual(at: u32, m: Rows, q: vec4<f32>) {
    palettes[at] = q.w * m.r0 + (q.z * m.r1 - q.y * m.r2);
    palettes[at + 1u] = q.w * m.r1 + (q.x * m.r2 - q.z * m.r0);
    palettes[at + 2u] = q.w * m.r2 + (q.y * m.r0 - q.x * m.r1);
    palettes[at + 3u] = -(q.x * m.r0 + q.y * m.r1 + q.z * m.r2);
    palettes[at + 4u] = q;
}
