// The benchmark's baseline: the usual layout (f32 streams, u32 joints, f32 weights) with one dispatch per character.

struct Character {
    vertex_count: u32,
    // First joint in `palettes`.
    palette: u32,
    // First output vertex.
    output: u32,
    reserved: u32,
}

@group(0) @binding(0) var<uniform> character: Character;
// Three f32 position, three normal, four tangent per vertex.
@group(0) @binding(1) var<storage, read> rest: array<f32>;
@group(0) @binding(2) var<storage, read> joints: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> weights: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> palettes: array<vec4<f32>>;
// As `rest`.
@group(0) @binding(5) var<storage, read_write> skinned: array<f32>;

@compute @workgroup_size(64)
fn per_character(@builtin(global_invocation_id) id: vec3<u32>) {
    let vertex = id.x;
    if (vertex >= character.vertex_count) {
        return;
    }
    var r0 = vec4<f32>(0.0);
    var r1 = vec4<f32>(0.0);
    var r2 = vec4<f32>(0.0);
    for (var i = 0u; i < 4u; i++) {
        let weight = weights[vertex][i];
        let at = 3u * (character.palette + joints[vertex][i]);
        r0 += weight * palettes[at];
        r1 += weight * palettes[at + 1u];
        r2 += weight * palettes[at + 2u];
    }
    let first = 10u * vertex;
    let p = vec4<f32>(rest[first], rest[first + 1u], rest[first + 2u], 1.0);
    let n = vec3<f32>(rest[first + 3u], rest[first + 4u], rest[first + 5u]);
    let t = vec3<f32>(rest[first + 6u], rest[first + 7u], rest[first + 8u]);
    let normal = normalize(vec3<f32>(dot(r0.xyz, n), dot(r1.xyz, n), dot(r2.xyz, n)));
    let tangent = normalize(vec3<f32>(dot(r0.xyz, t), dot(r1.xyz, t), dot(r2.xyz, t)));
    let out = 10u * (character.output + vertex);
    skinned[out] = dot(r0, p);
    skinned[out + 1u] = dot(r1, p);
    skinned[out + 2u] = dot(r2, p);
    skinned[out + 3u] = normal.x;
    skinned[out + 4u] = normal.y;
    skinned[out + 5u] = normal.z;
    skinned[out + 6u] = tangent.x;
    skinned[out + 7u] = tangent.y;
    skinned[out + 8u] = tangent.z;
    skinned[out + 9u] = rest[first + 9u];
}
