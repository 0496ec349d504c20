// Pose spaces: a point among sample poses, and what it makes of every joint. Needs pose.wgsl and math.wgsl; the words it reads
// are those of src/pose/flatten.rs.

// Offsets in a space's head.
const DIMENSIONS: u32 = 0u;
const CORNER_COUNT: u32 = 1u;
const SAMPLE_COUNT: u32 = 2u;
const FACET_COUNT: u32 = 3u;
const FAN_COUNT: u32 = 4u;
const SLOT_COUNT: u32 = 5u;
const CELL_COUNT: u32 = 6u;
const SHAPED: u32 = 7u;
const CORNERS: u32 = 8u;
const GRADIENTS: u32 = 9u;
const FACETS: u32 = 10u;
const FANS: u32 = 11u;
const SLOTS: u32 = 12u;
const NODES: u32 = 13u;
const SAMPLES: u32 = 14u;
const DEFAULT: u32 = 15u;

const FACET_WORDS: u32 = 8u;
const FAN_WORDS: u32 = 5u;
const SPACE_NODE_WORDS: u32 = 12u;
const SAMPLE_WORDS: u32 = 12u;
const STATE_WORDS: u32 = 6u;
const ROW_WORDS: u32 = 10u;
const SIGNED_LIMIT: u32 = 64u;

// Nearer than this to a face or edge is on it (units of the space's diameter); how far extrapolation goes.
const SNAP: f32 = 3e-7;
const REACH: f32 = 4.0;
// Where the sum of quaternions begins to need the reference, and the longest Karcher step (half-angle).
const COLLAPSE: f32 = 0.1;
const LONGEST_STEP: f32 = 0.785398163;
// Sine and cosine of 85°, half of the largest angle that limits take apart.
const MOST_SINE: f32 = 0.996194698;
const MOST_COSINE: f32 = 0.087155743;

var<private> corner_weights: array<f32, 16>;
var<private> areas: array<f32, 16>;
var<private> sample_weights: array<f32, 32>;

fn state_float(word: u32) -> f32 {
    return bitcast<f32>(states[word]);
}

fn corner_at(space: u32, corner: u32) -> vec3<f32> {
    return rig_vec3(space + rigs[space + CORNERS] + 4u * corner);
}

// Wachspress' coordinates in one facet, product form: exact on its edges and corners.
fn facet_weights(space: u32, facet: u32, x: vec3<f32>) {
    let record = space + rigs[space + FACETS] + FACET_WORDS * facet;
    let normal = rig_vec3(record);
    let ring = space + rigs[record + 4u];
    let n = min(rigs[record + 5u], 16u);
    let factor = rig_float(record + 6u);
    for (var i = 0u; i < n; i++) {
        let a = corner_at(space, rigs[ring + 2u * i]) - x;
        let b = corner_at(space, rigs[ring + 2u * ((i + 1u) % n)]) - x;
        areas[i] = max(dot(normal, cross(a, b)) * factor, 0.0);
    }
    var sum = 0.0;
    for (var i = 0u; i < n; i++) {
        let before = (i + n - 1u) % n;
        var w = rig_float(ring + 2u * i + 1u);
        for (var j = 0u; j < n; j++) {
            if (j != i && j != before) {
                w *= areas[j];
            }
        }
        corner_weights[rigs[ring + 2u * i]] = w;
        sum += w;
    }
    for (var i = 0u; i < n; i++) {
        corner_weights[rigs[ring + 2u * i]] /= sum;
    }
}

fn height(space: u32, facet: u32, x: vec3<f32>) -> f32 {
    let record = space + rigs[space + FACETS] + FACET_WORDS * facet;
    return rig_float(record + 3u) - dot(rig_vec3(record), x);
}

// Warren's coordinates inside a polyhedron, heights in units of the smallest.
fn solid_weights(space: u32, x: vec3<f32>) {
    var least = 1e30;
    for (var f = 0u; f < rigs[space + FACET_COUNT]; f++) {
        least = min(least, max(height(space, f, x), 1e-10));
    }
    var sum = 0.0;
    for (var i = 0u; i < rigs[space + FAN_COUNT]; i++) {
        let fan = space + rigs[space + FANS] + FAN_WORDS * i;
        let a = least / max(height(space, rigs[fan + 1u], x), 1e-10);
        let b = least / max(height(space, rigs[fan + 2u], x), 1e-10);
        let c = least / max(height(space, rigs[fan + 3u], x), 1e-10);
        let w = rig_float(fan + 4u) * a * b * c;
        corner_weights[rigs[fan]] += w;
        sum += w;
    }
    for (var i = 0u; i < rigs[space + CORNER_COUNT]; i++) {
        corner_weights[i] /= sum;
    }
}

// The weights of all corners at a point (in units of the space's diameter, about the mean corner), into `corner_weights`.
fn weigh_corners(space: u32, x: vec3<f32>, extrapolate: bool) {
    let solid = rigs[space + DIMENSIONS] == 3u;
    let n = rigs[space + CORNER_COUNT];
    for (var i = 0u; i < n; i++) {
        corner_weights[i] = 0.0;
    }
    // The hull's nearest point: inside (0), on a facet (1) or on an edge (2).
    var place = 0u;
    var nearest = 1e30;
    var hull = x;
    var on = vec2<u32>(0u, 0u);
    var along = 0.0;
    for (var f = 0u; f < rigs[space + FACET_COUNT]; f++) {
        let record = space + rigs[space + FACETS] + FACET_WORDS * f;
        let normal = rig_vec3(record);
        let above = select(0.0, -height(space, f, x), solid);
        if (above < -SNAP) {
            continue;
        }
        let p = x - normal * above;
        let ring = space + rigs[record + 4u];
        let count = rigs[record + 5u];
        var inside = true;
        for (var i = 0u; i < count; i++) {
            let a = rigs[ring + 2u * i];
            let b = rigs[ring + 2u * ((i + 1u) % count)];
            let from_a = corner_at(space, a);
            let edge = corner_at(space, b) - from_a;
            let size = dot(edge, edge);
            if (dot(normal, cross(edge, p - from_a)) > SNAP * sqrt(size)) {
                continue;
            }
            inside = false;
            var t = clamp(dot(p - from_a, edge) / size, 0.0, 1.0);
            t = select(select(t, 1.0, t > 1.0 - SNAP), 0.0, t < SNAP);
            let q = from_a + edge * t;
            let distance = length(x - q);
            if (distance < nearest) {
                nearest = distance;
                place = 2u;
                on = vec2<u32>(a, b);
                along = t;
                hull = q;
            }
        }
        if (inside && solid && abs(above) < nearest) {
            nearest = abs(above);
            place = 1u;
            on = vec2<u32>(f, f);
            hull = p;
        }
    }
    if (place == 0u && solid) {
        solid_weights(space, x);
    } else if (place == 2u) {
        corner_weights[on.x] = 1.0 - along;
        corner_weights[on.y] = along;
    } else {
        facet_weights(space, on.x, hull);
    }
    let away = x - hull;
    let distance = length(away);
    if (extrapolate && place != 0u && distance > SNAP) {
        let step = away * min(REACH / distance, 1.0);
        for (var i = 0u; i < n; i++) {
            corner_weights[i] += dot(rig_vec3(space + rigs[space + GRADIENTS] + 4u * i), step);
        }
    }
}

// How much of a fade has happened: exactly 1 at its end.
fn fade_progress(word: u32) -> f32 {
    let seconds = state_float(word + 2u);
    if (seconds <= 0.0) {
        return 1.0;
    }
    let elapsed = (batch.now.x - state_float(word)) + (batch.now.y - state_float(word + 1u));
    let x = clamp(elapsed / seconds, 0.0, 1.0);
    return x * x * (3.0 - 2.0 * x);
}

// a at t = 0 and b at t = 1, to the bit.
fn between(a: f32, b: f32, t: f32) -> f32 {
    return select(a * (1.0 - t) + b * t, b, t >= 1.0);
}

// The weights of all samples at a point, by the alternatives selected, into `sample_weights`.
fn weigh_samples(space: u32, state: u32, x: vec3<f32>) {
    weigh_corners(space, x, states[state + 3u] == 1u);
    let corners = state + STATE_WORDS;
    let selected = corners + 3u * rigs[space + CORNER_COUNT];
    for (var i = 0u; i < rigs[space + SLOT_COUNT]; i++) {
        let slot = space + rigs[space + SLOTS] + 2u * i;
        let corner = rigs[slot];
        let chosen = between(
            state_float(selected + 2u * i), state_float(selected + 2u * i + 1u), fade_progress(corners + 3u * corner),
        );
        sample_weights[rigs[slot + 1u]] += corner_weights[corner] * chosen;
    }
}

fn row_at(space: u32, state: u32, row: u32) -> u32 {
    let cells = state + STATE_WORDS + 3u * rigs[space + CORNER_COUNT] + 2u * rigs[space + SLOT_COUNT];
    let rows = cells + 2u * rigs[space + CELL_COUNT];
    return rows + (row - 1u) * (ROW_WORDS + 2u * rigs[space + SAMPLE_COUNT]);
}

// Rows of sample weights: row 0 follows the point; every other is its own source, faded in, mixed with row 0 by strength.
fn space_rows(character: Character, lane: u32) {
    let space = character.space;
    let state = character.state;
    let samples = rigs[space + SAMPLE_COUNT];
    let quads = (samples + 3u) / 4u;
    let rows = states[state + 4u];
    for (var row = lane; row < rows; row += GROUP_SIZE) {
        for (var s = 0u; s < 32u; s++) {
            sample_weights[s] = 0.0;
        }
        let at = row_at(space, state, max(row, 1u));
        let own = at + ROW_WORDS;
        if (row == 0u) {
            weigh_samples(space, state, vec3<f32>(state_float(state), state_float(state + 1u), state_float(state + 2u)));
        } else if (states[at] == 2u) {
            weigh_samples(space, state, vec3<f32>(state_float(at + 1u), state_float(at + 2u), state_float(at + 3u)));
        } else if (states[at] == 1u) {
            sample_weights[rigs[space + DEFAULT]] = 1.0;
        } else {
            for (var s = 0u; s < samples; s++) {
                sample_weights[s] = state_float(own + samples + s);
            }
        }
        if (row > 0u && states[at + 9u] == 1u) {
            let t = fade_progress(at + 6u);
            for (var s = 0u; s < samples; s++) {
                sample_weights[s] = between(state_float(own + s), sample_weights[s], t);
            }
        }
        for (var q = 0u; q < quads; q++) {
            let s = 4u * q;
            scratch[character.weights + row * quads + q] = vec4<f32>(
                sample_weights[s], sample_weights[s + 1u], sample_weights[s + 2u], sample_weights[s + 3u],
            );
        }
    }
    storageBarrier();
    workgroupBarrier();
    for (var row = lane; row < rows; row += GROUP_SIZE) {
        if (row > 0u) {
            let at = row_at(space, state, row);
            let strength = between(state_float(at + 4u), state_float(at + 5u), fade_progress(at + 6u));
            for (var q = 0u; q < quads; q++) {
                let live = scratch[character.weights + q];
                let own = scratch[character.weights + row * quads + q];
                let mixed = select(live * (1.0 - strength) + own * strength, own, strength >= 1.0);
                scratch[character.weights + row * quads + q] = select(mixed, live, strength <= 0.0);
            }
        }
    }
    storageBarrier();
    workgroupBarrier();
}

// First row of scratch with a node's weights for a channel: rotation, translation, scale, length, thickness.
fn channel_weights(character: Character, record: u32, channel: u32) -> u32 {
    let space = character.space;
    let cells = character.state + STATE_WORDS + 3u * rigs[space + CORNER_COUNT] + 2u * rigs[space + SLOT_COUNT];
    let word = states[cells + 2u * rigs[record] + channel / 4u];
    let row = (word >> (8u * (channel & 3u))) & 255u;
    return character.weights + row * ((rigs[space + SAMPLE_COUNT] + 3u) / 4u);
}

fn weight(first: u32, sample: u32) -> f32 {
    let four = scratch[first + sample / 4u];
    return four[sample & 3u];
}

fn quaternion_product(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    return vec4<f32>(a.w * b.xyz + b.w * a.xyz + cross(a.xyz, b.xyz), a.w * b.w - dot(a.xyz, b.xyz));
}

fn conjugate(q: vec4<f32>) -> vec4<f32> {
    return vec4<f32>(-q.xyz, q.w);
}

// Half the rotation vector; the sign is not changed first.
fn quaternion_logarithm(q: vec4<f32>) -> vec3<f32> {
    let sine = length(q.xyz);
    return q.xyz * select(1.0, arc_tangent(sine, q.w) / sine, sine > 1e-9);
}

fn quaternion_exponential(half: vec3<f32>) -> vec4<f32> {
    let angle = length(half);
    let sc = sin_cos(angle);
    return vec4<f32>(half * select(1.0, sc.x / angle, angle > 1e-9), sc.y);
}

// Sum with fixed signs, filled in by the reference where it collapses, then one Karcher step.
fn blend_rotation(samples: u32, count: u32, first: u32, reference: vec4<f32>) -> vec4<f32> {
    var sum = vec4<f32>(0.0);
    for (var s = 0u; s < count; s++) {
        sum += weight(first, s) * rig_vec4(samples + SAMPLE_WORDS * s);
    }
    let agreement = length(sum);
    let x = min(agreement / COLLAPSE, 1.0);
    let filled = sum + reference * (COLLAPSE * (1.0 - x * x * (3.0 - 2.0 * x)));
    let size = length(filled);
    let start = select(reference, filled / size, size > 1e-9);
    let back = conjugate(start);
    var step = vec3<f32>(0.0);
    for (var s = 0u; s < count; s++) {
        let w = weight(first, s);
        if (w != 0.0) {
            step += w * quaternion_logarithm(quaternion_product(back, rig_vec4(samples + SAMPLE_WORDS * s)));
        }
    }
    let stride = length(step);
    if (stride > LONGEST_STEP) {
        step *= LONGEST_STEP / stride;
    }
    return unit(quaternion_product(start, quaternion_exponential(step)));
}

// Swing and twist, each clamped by its angle (src/pose/limits.rs).
fn limited(q: vec4<f32>, limit: u32, signed_limit: bool) -> vec4<f32> {
    let before = rig_vec4(limit);
    let frame = rig_vec4(limit + 4u);
    var r = quaternion_product(quaternion_product(before, q), frame);
    var cut = false;
    if (!signed_limit && r.w < 0.0) {
        r = -r;
    }
    if (signed_limit && r.w < MOST_COSINE) {
        let size = length(r.xyz);
        let axis = select(vec3<f32>(0.0, 0.0, 1.0), r.xyz / size, size > 1e-9);
        r = vec4<f32>(axis * MOST_SINE, MOST_COSINE);
        cut = true;
    }
    let s = sqrt(r.w * r.w + r.x * r.x);
    var angles = vec3<f32>(0.0, 1.570796327 * sign(r.y), 1.570796327 * sign(r.z));
    if (s >= 1e-6) {
        angles = vec3<f32>(
            arc_tangent(r.x, r.w), arc_tangent((r.w * r.y - r.x * r.z) / s, s), arc_tangent((r.w * r.z + r.x * r.y) / s, s),
        );
    }
    let low = vec3<f32>(rig_float(limit + 8u), rig_float(limit + 10u), rig_float(limit + 12u));
    let high = vec3<f32>(rig_float(limit + 9u), rig_float(limit + 11u), rig_float(limit + 13u));
    let kept = clamp(angles, low, high);
    if (!cut && all(kept == angles)) {
        return q;
    }
    let twist = sin_cos(kept.x);
    let y = sin_cos(kept.y);
    let z = sin_cos(kept.z);
    var swing = vec4<f32>(0.0, y.x * z.y, y.y * z.x, y.y * z.y);
    if (dot(swing, swing) < 1e-12) {
        swing = vec4<f32>(0.0, y.x, z.x, 0.0);
    }
    r = quaternion_product(unit(swing), vec4<f32>(twist.x, 0.0, 0.0, twist.y));
    return unit(quaternion_product(quaternion_product(conjugate(before), r), conjugate(frame)));
}

fn node_record(character: Character, node: u32) -> u32 {
    return character.space + rigs[character.space + NODES] + SPACE_NODE_WORDS * node;
}

// One node's blended transform, relative to the node it moves with.
fn blended(character: Character, node: u32) -> Local {
    let space = character.space;
    let count = rigs[space + SAMPLE_COUNT];
    let record = node_record(character, node);
    let samples = space + rigs[space + SAMPLES] + SAMPLE_WORDS * count * node;
    let flags = rigs[record + 2u];
    var local: Local;
    local.rotation = blend_rotation(samples, count, channel_weights(character, record, 0u), rig_vec4(record + 4u));
    if (rigs[record + 3u] != NONE) {
        local.rotation = limited(local.rotation, space + rigs[record + 3u], (flags & SIGNED_LIMIT) != 0u);
    }
    let moves = channel_weights(character, record, 1u);
    let scales = channel_weights(character, record, 2u);
    var translation = vec3<f32>(0.0);
    var scale = vec3<f32>(0.0);
    for (var s = 0u; s < count; s++) {
        let at = samples + SAMPLE_WORDS * s;
        translation += weight(moves, s) * rig_vec3(at + 4u);
        scale += weight(scales, s) * rig_vec3(at + 8u);
    }
    local.translation = translation;
    // Two bits per axis: 0 exponential, 1 minus exponential, 2 linear.
    let rule = (vec3<u32>(flags) >> vec3<u32>(0u, 2u, 4u)) & vec3<u32>(3u);
    let power = vec3<f32>(bounded(scale.x), bounded(scale.y), bounded(scale.z));
    local.scale = select(select(power, -power, rule == vec3<u32>(1u)), scale, rule == vec3<u32>(2u));
    return local;
}

fn bounded(x: f32) -> f32 {
    return exponential(clamp(x, -60.0, 60.0));
}

fn turned(q: vec4<f32>, v: vec3<f32>) -> vec3<f32> {
    let t = 2.0 * cross(q.xyz, v);
    return v + q.w * t + cross(q.xyz, t);
}

// A node's local transform relative to its parent: through the siblings it moves with, if any.
fn space_local(character: Character, node: u32) -> Local {
    var local = blended(character, node);
    var leader = rigs[node_record(character, node) + 1u];
    while (leader != NONE) {
        let above = blended(character, leader);
        local = Local(
            unit(quaternion_product(above.rotation, local.rotation)),
            above.translation + turned(above.rotation, above.scale * local.translation),
            above.scale * local.scale,
        );
        leader = rigs[node_record(character, leader) + 1u];
    }
    return local;
}

// Bone length (0) or thickness (1) of a node.
fn space_shape(character: Character, node: u32, which: u32) -> f32 {
    let space = character.space;
    let count = rigs[space + SAMPLE_COUNT];
    let first = channel_weights(character, node_record(character, node), 3u + which);
    let samples = space + rigs[space + SAMPLES] + SAMPLE_WORDS * count * node + 7u + 4u * which;
    var sum = 0.0;
    for (var s = 0u; s < count; s++) {
        sum += weight(first, s) * rig_float(samples + SAMPLE_WORDS * s);
    }
    return bounded(sum);
}

// A child moves along its parent's lengthened bone.
fn along_bone(character: Character, parent: u32, m: Rows) -> Rows {
    let axis = rig_vec3(node_record(character, parent) + 8u);
    let t = vec3<f32>(m.r0.w, m.r1.w, m.r2.w);
    let moved = axis * (dot(axis, t) * (space_shape(character, parent, 0u) - 1.0));
    return Rows(
        m.r0 + vec4<f32>(0.0, 0.0, 0.0, moved.x), m.r1 + vec4<f32>(0.0, 0.0, 0.0, moved.y), m.r2 + vec4<f32>(0.0, 0.0, 0.0, moved.z),
    );
}

// thickness · I + (length − thickness) · a aᵀ, which palettes have between world and inverse bind.
fn bone_shape(character: Character, node: u32) -> Rows {
    let a = rig_vec3(node_record(character, node) + 8u);
    let thickness = space_shape(character, node, 1u);
    let d = a * (space_shape(character, node, 0u) - thickness);
    return Rows(
        vec4<f32>(a.x * d + vec3<f32>(thickness, 0.0, 0.0), 0.0),
        vec4<f32>(a.y * d + vec3<f32>(0.0, thickness, 0.0), 0.0),
        vec4<f32>(a.z * d + vec3<f32>(0.0, 0.0, thickness), 0.0),
    );
}
