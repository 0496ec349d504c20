// Up to four clips blended: weights that fade, masks per joint, morph weights. Needs pose.wgsl, space.wgsl and math.wgsl; the
// words it reads are those of src/gpu/clips.rs.

// Offsets in the state of a character that plays layers; four words each, then the layers' own words.
const LAYER_TO: u32 = 0u;
const LAYER_TIME: u32 = 4u;
const LAYER_FROM: u32 = 8u;
const LAYER_SPEED: u32 = 12u;
const LAYER_OWN: u32 = 16u;
const LAYER_WORDS: u32 = 9u;
// Where the parts with morph targets are listed: their number, then three words each.
const LAYER_PARTS: u32 = 52u;

struct Layer {
    weight: f32,
    time: f32,
    // Where its clip's table and its mask start in `rigs`; NONE: no mask.
    table: u32,
    mask: u32,
}

var<workgroup> layers: array<Layer, 4>;

// Number `i` of the layers at the batch's time; of a layer that is not there the weight is 0.
fn layer_at(state: u32, i: u32) -> Layer {
    let own = state + LAYER_OWN + LAYER_WORDS * i;
    var weight = state_float(state + LAYER_TO + i);
    let seconds = state_float(own + 4u);
    if (seconds > 0.0) {
        let elapsed = (batch.now.x - state_float(own + 2u)) + (batch.now.y - state_float(own + 3u));
        weight = between(state_float(state + LAYER_FROM + i), weight, clamp(elapsed / seconds, 0.0, 1.0));
    }
    let speed = state_float(state + LAYER_SPEED + i);
    let high = batch.now.x - state_float(own);
    let low = batch.now.y - state_float(own + 1u);
    // The product in two parts: what it rounds to, and the rest.
    let product = high * speed;
    let rest = fma(high, speed, -product) + low * speed + state_float(state + LAYER_TIME + i);
    let duration = state_float(own + 6u);
    var time = clamp(product + rest, 0.0, duration);
    if (states[own + 7u] == 1u && duration > 0.0) {
        time = fma(-floor((product + rest) / duration), duration, product) + rest;
    }
    return Layer(weight, time, states[own + 5u], states[own + 8u]);
}

struct Mix {
    rotation: vec4<f32>,
    // The first one's rotation: the others' signs are chosen against it.
    reference: vec4<f32>,
    translation: vec3<f32>,
    scale: vec3<f32>,
    // Sum of the logarithms of its absolute values, and its range.
    power: vec3<f32>,
    least: vec3<f32>,
    most: vec3<f32>,
    total: f32,
}

fn mix_in(sum: Mix, local: Local, weight: f32) -> Mix {
    var next = sum;
    if (sum.total == 0.0) {
        next.reference = local.rotation;
        next.least = local.scale;
        next.most = local.scale;
    }
    next.rotation += select(weight, -weight, dot(next.reference, local.rotation) < 0.0) * local.rotation;
    next.translation += weight * local.translation;
    next.scale += weight * local.scale;
    next.least = min(next.least, local.scale);
    next.most = max(next.most, local.scale);
    let size = max(abs(local.scale), vec3<f32>(1e-6));
    if (any(size != vec3<f32>(1.0))) {
        next.power += weight * vec3<f32>(logarithm(size.x), logarithm(size.y), logarithm(size.z));
    }
    next.total += weight;
    return next;
}

// A node's local transform as the layers blend it; what they leave of the weight is the rest pose's.
fn blended_clips(character: Character, rig: Rig, node: u32) -> Local {
    let rest = rest_of(rig, node);
    var sum: Mix;
    for (var i = 0u; i < 4u; i++) {
        let layer = layers[i];
        var weight = layer.weight;
        if (weight > 0.0 && layer.mask != NONE) {
            weight *= rig_float(layer.mask + node);
        }
        if (weight > 0.0) {
            sum = mix_in(sum, clip_local(character.rig, layer.table, rest, node, layer.time), weight);
        }
    }
    if (sum.total < 1.0) {
        sum = mix_in(sum, Local(unit(rest.rotation), rest.translation, rest.scale), 1.0 - sum.total);
    }
    let part = 1.0 / sum.total;
    var local: Local;
    // Rotations that cancel leave the first one's.
    let turned = sum.rotation * part;
    let x = min(length(turned) / COLLAPSE, 1.0);
    local.rotation = unit(turned + sum.reference * (COLLAPSE * (1.0 - x * x * (3.0 - 2.0 * x))));
    local.translation = sum.translation * part;
    local.scale = sum.least;
    if (any(sum.least != sum.most)) {
        let p = sum.power * part;
        let power = vec3<f32>(exponential(p.x), exponential(p.y), exponential(p.z));
        let one_sign = select(select(sum.scale * part, -power, sum.most < vec3<f32>(0.0)), power, sum.least >= vec3<f32>(0.0));
        local.scale = select(one_sign, sum.least, sum.least == sum.most);
    }
    return local;
}

// A clip's channel for the morph weights of a part, or NONE.
fn morph_channel(rig: u32, table: u32, nodes: u32, part: u32) -> u32 {
    let list = table + 3u * nodes;
    for (var i = 0u; i < rigs[list]; i++) {
        if (rigs[list + 1u + 2u * i] == part) {
            return rig + rigs[list + 2u + 2u * i];
        }
    }
    return NONE;
}

// Writes the morph weights of all parts; what the clips do not drive stays as the host set it.
fn blend_morphs(character: Character, rig: Rig, lane: u32) {
    let parts = character.state + LAYER_PARTS;
    for (var p = 0u; p < states[parts]; p++) {
        let record = parts + 1u + 3u * p;
        for (var i = lane; i < states[record + 1u]; i += GROUP_SIZE) {
            let own = morph_weights[states[record + 2u] + i];
            var sum = 0.0;
            var total = 0.0;
            for (var l = 0u; l < 4u; l++) {
                let layer = layers[l];
                if (layer.weight > 0.0) {
                    var value = own;
                    let channel = morph_channel(character.rig, layer.table, rig.node_count, p);
                    if (channel != NONE && rigs[channel + 4u] == states[record + 1u]) {
                        value = sample_number(character.rig, channel, layer.time, i);
                    }
                    sum += layer.weight * value;
                    total += layer.weight;
                }
            }
            morph_weights[states[record] + i] = (sum + max(1.0 - total, 0.0) * own) / max(total, 1.0);
        }
    }
}
