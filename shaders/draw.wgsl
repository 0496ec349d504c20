// Draws skinned vertices: glTF 2.0 metallic-roughness under one sun and an analytic sky, the sky itself, a ground grid
// and flat shadows on it. Everything is relative to the camera's place, so that distance to the origin costs no precision.

override ENCODE_SRGB: bool = false; // the target stores what it is given, so sRGB encoding is ours
override TONE_MAP: bool = true;

struct Scene {
    clip_from_world: mat4x4<f32>,
    // Directions of the view rays at the middle of the picture, one half width right and one half height up.
    ray_middle: vec4<f32>,
    ray_right: vec4<f32>,
    ray_up: vec4<f32>,
    sun_direction: vec4<f32>, // towards the sun
    sun_color: vec4<f32>,
    zenith: vec4<f32>,
    horizon: vec4<f32>,
    nadir: vec4<f32>,
    // Place of the camera relative to the grid's middle; w: radius.
    grid: vec4<f32>,
    // Linear RGB; w: cell size.
    grid_color: vec4<f32>,
    // x: clip depth of what is infinitely far; y: strength of shadows.
    options: vec4<f32>,
}

struct Material {
    base_color: vec4<f32>,
    emissive: vec3<f32>,
    normal_scale: f32,
    metallic: f32,
    roughness: f32,
    alpha_cutoff: f32,
    flags: u32,
    // Two rows for each of base colour, metallic-roughness, normal, emissive: (m_r0, m_r1, t_r, uv set in row 0).
    uv: array<vec4<f32>, 8>,
}

const UNLIT: u32 = 1u;
const DOUBLE_SIDED: u32 = 2u;
const MASK: u32 = 4u;
const BLEND: u32 = 8u;
const NORMAL_MAP: u32 = 16u;

@group(0) @binding(0) var<uniform> scene: Scene;
@group(1) @binding(0) var<uniform> material: Material;
@group(1) @binding(1) var base_color_texture: texture_2d<f32>;
@group(1) @binding(2) var base_color_sampler: sampler;
@group(1) @binding(3) var metallic_roughness_texture: texture_2d<f32>;
@group(1) @binding(4) var metallic_roughness_sampler: sampler;
@group(1) @binding(5) var normal_texture: texture_2d<f32>;
@group(1) @binding(6) var normal_sampler: sampler;
@group(1) @binding(7) var emissive_texture: texture_2d<f32>;
@group(1) @binding(8) var emissive_sampler: sampler;
// Seven words per vertex: uv set 0, uv set 1, colour as unorm16, sign of the rest tangent.
@group(2) @binding(0) var<storage, read> surfaces: array<u32>;

struct Vertex {
    @builtin(vertex_index) index: u32,
    @location(0) position: vec3<f32>,
    @location(1) frame: vec2<u32>,
    // The instance: rows of its placement, relative to the camera, and the index of the part's first vertex.
    @location(2) row0: vec4<f32>,
    @location(3) row1: vec4<f32>,
    @location(4) row2: vec4<f32>,
    @location(5) first: u32,
}

struct Fragment {
    @builtin(position) clip: vec4<f32>,
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) tangent: vec4<f32>,
    @location(3) uv: vec4<f32>,
    @location(4) color: vec4<f32>,
    @location(5) @interpolate(flat) mirrored: u32,
}

fn placed(vertex: Vertex) -> vec3<f32> {
    let p = vec4<f32>(vertex.position, 1.0);
    return vec3<f32>(dot(vertex.row0, p), dot(vertex.row1, p), dot(vertex.row2, p));
}

@vertex
fn draw_vertex(vertex: Vertex) -> Fragment {
    let word = (vertex.index - vertex.first) * 7u;
    let r0 = vertex.row0.xyz;
    let r1 = vertex.row1.xyz;
    let r2 = vertex.row2.xyz;
    // Normals go through the cofactors; times the determinant's sign they stay outward when the placement mirrors.
    let c0 = cross(r1, r2);
    let side = select(1.0, -1.0, dot(r0, c0) < 0.0);
    let n = frame_normal(vertex.frame);
    let t = frame_tangent(vertex.frame);

    var out: Fragment;
    out.position = placed(vertex);
    out.clip = scene.clip_from_world * vec4<f32>(out.position, 1.0);
    out.normal = side * unit(vec3<f32>(dot(c0, n), dot(cross(r2, r0), n), dot(cross(r0, r1), n)));
    out.tangent = vec4<f32>(unit(vec3<f32>(dot(r0, t.xyz), dot(r1, t.xyz), dot(r2, t.xyz))), t.w * side);
    out.uv = bitcast<vec4<f32>>(vec4<u32>(surfaces[word], surfaces[word + 1u], surfaces[word + 2u], surfaces[word + 3u]));
    out.color = vec4<f32>(unpack2x16unorm(surfaces[word + 4u]), unpack2x16unorm(surfaces[word + 5u]));
    // The skinner turns the tangent's sign where a joint mirrors, and there the winding has turned too.
    let rest_sign = bitcast<f32>(surfaces[word + 6u]);
    out.mirrored = select(0u, 1u, t.w * side * rest_sign < 0.0);
    return out;
}

// A unit vector, or zero for zero.
fn unit(v: vec3<f32>) -> vec3<f32> {
    return v * inverseSqrt(max(dot(v, v), 1e-30));
}

fn texture_uv(slot: u32, uv: vec4<f32>) -> vec2<f32> {
    let a = material.uv[2u * slot];
    let b = material.uv[2u * slot + 1u];
    let p = vec3<f32>(select(uv.xy, uv.zw, a.w > 0.5), 1.0);
    return vec2<f32>(dot(a.xyz, p), dot(b.xyz, p));
}

// Light from a direction; `blur` 0 is sharp, 1 a whole hemisphere's mean.
fn sky(direction: vec3<f32>, blur: f32) -> vec3<f32> {
    let width = mix(0.08, 1.0, blur);
    let ground = smoothstep(-width, width, direction.y);
    let up = pow(clamp((direction.y + width) / (1.0 + width), 0.0, 1.0), mix(0.6, 1.0, blur));
    return mix(scene.nadir.rgb, mix(scene.horizon.rgb, scene.zenith.rgb, up), ground);
}

@fragment
fn draw_fragment(in: Fragment, @builtin(front_facing) winding: bool) -> @location(0) vec4<f32> {
    let front = winding != (in.mirrored == 1u);
    let base_uv = texture_uv(0u, in.uv);
    let base = textureSample(base_color_texture, base_color_sampler, base_uv) * material.base_color * in.color;
    let surface = textureSample(metallic_roughness_texture, metallic_roughness_sampler, texture_uv(1u, in.uv));
    let bump = textureSample(normal_texture, normal_sampler, texture_uv(2u, in.uv));
    let glow = textureSample(emissive_texture, emissive_sampler, texture_uv(3u, in.uv));
    if (!front && (material.flags & DOUBLE_SIDED) == 0u) {
        discard;
    }
    if ((material.flags & MASK) != 0u && base.a < material.alpha_cutoff) {
        discard;
    }
    let alpha = select(1.0, clamp(base.a, 0.0, 1.0), (material.flags & BLEND) != 0u);
    if ((material.flags & UNLIT) != 0u) {
        return shown(base.rgb, alpha, false);
    }

    let n0 = unit(in.normal);
    var n = n0;
    if ((material.flags & NORMAL_MAP) != 0u) {
        let t = unit(in.tangent.xyz - n0 * dot(n0, in.tangent.xyz));
        let b = cross(n0, t) * in.tangent.w;
        let m = (bump.xyz * 2.0 - 1.0) * vec3<f32>(material.normal_scale, material.normal_scale, 1.0);
        n = unit(t * m.x + b * m.y + n0 * m.z);
    }
    n = select(-n, n, front);
    let metallic = clamp(material.metallic * surface.b, 0.0, 1.0);
    let roughness = clamp(material.roughness * surface.g, 0.045, 1.0);
    let light = lit(base.rgb, metallic, roughness, n, -unit(in.position));
    return shown(light + material.emissive * glow.rgb, alpha, true);
}

// Radiance towards the eye `v`: GGX with Smith's joint masking-shadowing and Schlick's Fresnel (glTF 2.0, appendix B) for
// the sun; for the sky Karis' fit of the split sum ("Physically Based Shading on Mobile", 2014), with the energy that
// single scattering loses given back (Fdez-Agüera 2019).
fn lit(base: vec3<f32>, metallic: f32, roughness: f32, n: vec3<f32>, v: vec3<f32>) -> vec3<f32> {
    let l = scene.sun_direction.xyz;
    let h = unit(l + v);
    let nv = max(abs(dot(n, v)), 1e-4);
    let nl = max(dot(n, l), 0.0);
    let nh = clamp(dot(n, h), 0.0, 1.0);
    let vh = clamp(dot(v, h), 0.0, 1.0);
    let f0 = mix(vec3<f32>(0.04), base, metallic);
    let diffuse = base * (1.0 - metallic);

    let fit = roughness * vec4<f32>(-1.0, -0.0275, -0.572, 0.022) + vec4<f32>(1.0, 0.0425, 1.04, -0.04);
    let corner = min(fit.x * fit.x, exp2(-9.28 * nv)) * fit.x + fit.y;
    let scale_bias = vec2<f32>(-1.04, 1.04) * corner + fit.zw;
    let energy = 1.0 + f0 * (1.0 / max(scale_bias.x + scale_bias.y, 1e-3) - 1.0);
    let sky_specular = (f0 * scale_bias.x + scale_bias.y) * energy;

    let a2 = roughness * roughness * roughness * roughness;
    let d0 = nh * nh * (a2 - 1.0) + 1.0;
    // Distribution times π: the sun's colour is what a white matt surface facing it shows.
    let d = a2 / (d0 * d0);
    let visibility = 0.5 / (nl * sqrt(nv * nv * (1.0 - a2) + a2) + nv * sqrt(nl * nl * (1.0 - a2) + a2) + 1e-5);
    let f = f0 + (1.0 - f0) * pow(1.0 - vh, 5.0);
    let sun = (diffuse * (1.0 - f) + d * visibility * f * energy) * nl * scene.sun_color.rgb;

    let ambient = diffuse * (1.0 - sky_specular) * sky(n, 1.0) + sky_specular * sky(reflect(-v, n), roughness);
    return sun + ambient;
}

// Khronos PBR Neutral tone mapper (2024): base colours below 0.8 stay, highlights compress and lose saturation.
fn neutral(light: vec3<f32>) -> vec3<f32> {
    let low = min(light.r, min(light.g, light.b));
    let offset = select(0.04, low - 6.25 * low * low, low < 0.08);
    let color = light - offset;
    let peak = max(color.r, max(color.g, color.b));
    let start = 0.8 - 0.04;
    if (peak < start) {
        return color;
    }
    let d = 1.0 - start;
    let new_peak = 1.0 - d * d / (peak + d - start);
    let g = 1.0 - 1.0 / (0.15 * (peak - new_peak) + 1.0);
    return mix(color * (new_peak / peak), vec3<f32>(new_peak), g);
}

fn encode_srgb(c: vec3<f32>) -> vec3<f32> {
    let x = clamp(c, vec3<f32>(0.0), vec3<f32>(1.0));
    return select(1.055 * pow(x, vec3<f32>(1.0 / 2.4)) - 0.055, 12.92 * x, x <= vec3<f32>(0.0031308));
}

// What the target gets: tone mapped, encoded where the format does not do it, alpha multiplied in.
fn shown(light: vec3<f32>, alpha: f32, tone_map: bool) -> vec4<f32> {
    var color = light;
    if (TONE_MAP && tone_map) {
        color = neutral(color);
    }
    if (ENCODE_SRGB) {
        color = encode_srgb(color);
    }
    return vec4<f32>(color * alpha, alpha);
}

// --- the stage: sky, ground, shadows ---

struct Ray {
    @builtin(position) clip: vec4<f32>,
    @location(0) direction: vec3<f32>,
}

// One triangle that covers the picture, as far away as depth goes.
@vertex
fn sky_vertex(@builtin(vertex_index) index: u32) -> Ray {
    let p = vec2<f32>(f32((index << 1u) & 2u), f32(index & 2u)) * 2.0 - 1.0;
    var out: Ray;
    out.clip = vec4<f32>(p, scene.options.x, 1.0);
    out.direction = scene.ray_middle.xyz + p.x * scene.ray_right.xyz + p.y * scene.ray_up.xyz;
    return out;
}

@fragment
fn sky_fragment(in: Ray) -> @location(0) vec4<f32> {
    return shown(backdrop(in.direction), 1.0, true);
}

// The sky as a background: softer than what surfaces reflect.
fn backdrop(direction: vec3<f32>) -> vec3<f32> {
    return sky(unit(direction), 0.35);
}

struct Ground {
    @builtin(position) clip: vec4<f32>,
    @location(0) position: vec3<f32>,
}

@vertex
fn ground_vertex(@builtin(vertex_index) index: u32) -> Ground {
    let corner = vec2<f32>(f32(index & 1u), f32(index >> 1u)) * 2.0 - 1.0;
    let p = corner * scene.grid.w;
    var out: Ground;
    out.position = vec3<f32>(p.x - scene.grid.x, -scene.grid.y, p.y - scene.grid.z);
    out.clip = scene.clip_from_world * vec4<f32>(out.position, 1.0);
    return out;
}

// Share of a pixel that lines one pixel wide cover at the whole numbers of `p`, for each axis.
fn lines(p: vec2<f32>, width: vec2<f32>) -> f32 {
    let distance = abs(fract(p - 0.5) - 0.5) / width;
    let line = 1.0 - clamp(distance, vec2<f32>(0.0), vec2<f32>(1.0));
    // Where cells are smaller than pixels the lines would shimmer: fade to their mean.
    let share = clamp(1.5 - width * 4.0, vec2<f32>(0.0), vec2<f32>(1.0));
    return max(line.x * share.x, line.y * share.y);
}

// Colour and opacity of the ground; `p` is relative to its middle, `width` the size of a pixel there.
fn ground(p: vec2<f32>, width: vec2<f32>) -> vec4<f32> {
    let cell = scene.grid_color.w;
    let fine = lines(p / cell, width / cell) * 0.35;
    let coarse = lines(p / (5.0 * cell), width / (5.0 * cell)) * 0.6;
    let fade = 1.0 - smoothstep(0.25, 1.0, length(p) / scene.grid.w);
    return vec4<f32>(scene.grid_color.rgb * (1.0 - max(fine, coarse)), fade);
}

fn grounded(position: vec3<f32>) -> vec4<f32> {
    let p = position.xz + scene.grid.xz;
    return ground(p, max(fwidth(p), vec2<f32>(1e-6)));
}

@fragment
fn ground_fragment(in: Ground) -> @location(0) vec4<f32> {
    let color = grounded(in.position);
    return shown(mix(backdrop(in.position), color.rgb, color.a), 1.0, true);
}

// The mesh flattened onto the ground along the sun's rays. Drawn with the `min` blend over a ground that is drawn first,
// overlapping triangles darken it once only.
@vertex
fn shadow_vertex(vertex: Vertex) -> Ground {
    let p = placed(vertex);
    let height = max(p.y + scene.grid.y, 0.0);
    var out: Ground;
    out.position = p - scene.sun_direction.xyz * (height / max(scene.sun_direction.y, 0.1));
    out.position.y = -scene.grid.y;
    out.clip = scene.clip_from_world * vec4<f32>(out.position, 1.0);
    return out;
}

@fragment
fn shadow_fragment(in: Ground) -> @location(0) vec4<f32> {
    let color = grounded(in.position);
    let shade = 1.0 - scene.options.y * color.a;
    return shown(mix(backdrop(in.position), color.rgb, color.a) * shade, 1.0, true);
}

// --- overlays: a number per vertex instead of a material ---

struct Table {
    // sRGB codes, red in the lowest byte.
    colors: array<vec4<u32>, 64>,
    count: u32,
    categories: u32,
    none: u32,
    pad: u32,
}

@group(1) @binding(0) var<storage, read> overlay_values: array<f32>;
@group(1) @binding(1) var<uniform> overlay_table: Table;

struct Numbered {
    @builtin(position) clip: vec4<f32>,
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) value: f32,
    @location(3) color: vec3<f32>,
}

fn table_entry(i: u32) -> vec3<f32> {
    return unpack4x8unorm(overlay_table.colors[i / 4u][i % 4u]).rgb;
}

// sRGB codes, 0…1. Numbers below 0 stand for none.
fn table_color(value: f32) -> vec3<f32> {
    if (value < -1e-3) {
        return unpack4x8unorm(overlay_table.none).rgb;
    }
    let last = overlay_table.count - 1u;
    let at = clamp(value, 0.0, 1.0) * f32(last);
    let low = min(u32(at), last);
    return mix(table_entry(low), table_entry(min(low + 1u, last)), at - f32(low));
}

@vertex
fn overlay_vertex(vertex: Vertex) -> Numbered {
    let r0 = vertex.row0.xyz;
    let r1 = vertex.row1.xyz;
    let r2 = vertex.row2.xyz;
    let n = frame_normal(vertex.frame);
    var out: Numbered;
    out.position = placed(vertex);
    out.clip = scene.clip_from_world * vec4<f32>(out.position, 1.0);
    out.normal = unit(vec3<f32>(dot(cross(r1, r2), n), dot(cross(r2, r0), n), dot(cross(r0, r1), n)));
    out.value = overlay_values[vertex.index - vertex.first];
    out.color = table_color(out.value);
    return out;
}

@fragment
fn overlay_fragment(in: Numbered) -> @location(0) vec4<f32> {
    let code = select(table_color(in.value), in.color, overlay_table.categories == 1u);
    // Which way the surface faces does not matter: both sides have the vertex's number.
    let facing = abs(dot(unit(in.normal), unit(in.position)));
    // A little light where it turns away, so that dark colours show their shape too.
    let turned = 1.0 - smoothstep(0.0, 1.0, facing);
    let color = code * (1.0 - 0.45 * turned) + 0.14 * turned;
    if (ENCODE_SRGB) {
        return vec4<f32>(color, 1.0);
    }
    let linear = select(pow((color + 0.055) / 1.055, vec3<f32>(2.4)), color / 12.92, color <= vec3<f32>(0.04045));
    return vec4<f32>(linear, 1.0);
}
