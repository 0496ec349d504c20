// Culling by the boxes that the skinner leaves on the GPU, and drawing what is left.
// `bounds_corner` and `frame_normal` come from dermis.

struct View {
    // Clip from world, by rows: applied as `v * m`, as places are.
    clip: mat4x4<f32>,
    // World space, the inside is where dot(plane.xyz, p) + plane.w >= 0.
    planes: array<vec4<f32>, 6>,
    // Replaces the colours where w is 1.
    tint: vec4<f32>,
}

struct Part {
    // World from character, three rows.
    place: mat3x4<f32>,
    color: vec3<f32>,
    bounds: u32,
}

struct Arguments {
    index_count: u32,
    instance_count: u32,
    first_index: u32,
    base_vertex: i32,
    first_instance: u32,
}

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<storage, read> parts: array<Part>;
// Two elements per box: the keys of its least corner and of its greatest.
@group(0) @binding(2) var<storage, read> boxes: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> arguments: array<Arguments>;

@compute @workgroup_size(64)
fn cull(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&parts) {
        return;
    }
    let part = parts[id.x];
    let low = bounds_corner(boxes[2u * part.bounds].xyz);
    let high = bounds_corner(boxes[2u * part.bounds + 1u].xyz);
    // A part that was never skinned has an empty box.
    var seen = all(low <= high);
    for (var i = 0; i < 6; i++) {
        // The plane goes to the box, not the box to the world, where its axes would not be the world's.
        let world = view.planes[i];
        let plane =
            part.place[0] * world.x + part.place[1] * world.y + part.place[2] * world.z + vec4<f32>(0.0, 0.0, 0.0, world.w);
        // If the corner farthest along the plane's normal is outside, all are.
        let corner = select(low, high, plane.xyz >= vec3<f32>(0.0));
        seen = seen && dot(plane.xyz, corner) + plane.w >= 0.0;
    }
    arguments[id.x].instance_count = u32(seen);
}

struct Vertex {
    @location(0) position: vec3<f32>,
    @location(1) frame: vec2<u32>,
    // The part's place and colour.
    @location(2) row0: vec4<f32>,
    @location(3) row1: vec4<f32>,
    @location(4) row2: vec4<f32>,
    @location(5) color: vec3<f32>,
}

struct Shaded {
    @invariant @builtin(position) clip: vec4<f32>,
    @location(0) normal: vec3<f32>,
    @location(1) color: vec3<f32>,
}

@vertex
fn draw_vertex(v: Vertex) -> Shaded {
    let place = mat3x4<f32>(v.row0, v.row1, v.row2);
    let world = vec4<f32>(v.position, 1.0) * place;
    let normal = vec4<f32>(frame_normal(v.frame), 0.0) * place;
    return Shaded(vec4<f32>(world, 1.0) * view.clip, normal, mix(v.color, view.tint.rgb, view.tint.w));
}

@fragment
fn draw_fragment(s: Shaded, @builtin(front_facing) front: bool) -> @location(0) vec4<f32> {
    let normal = normalize(s.normal) * select(-1.0, 1.0, front);
    let light = dot(normal, normalize(vec3<f32>(0.4, 0.8, 0.45)));
    return vec4<f32>(s.color * (0.6 + 0.5 * light - 0.1 * light * light), 1.0);
}
