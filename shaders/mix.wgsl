// One picture of a mix: drawn over the whole target and added with a constant factor, its weight.

@group(0) @binding(0) var picture: texture_2d<f32>;
@group(0) @binding(1) var picture_sampler: sampler;

struct Corner {
    @builtin(position) position: vec4<f32>,
    @location(0) uv: vec2<f32>,
}

// One triangle that covers the target.
@vertex
fn mix_vertex(@builtin(vertex_index) index: u32) -> Corner {
    let uv = vec2<f32>(f32((index << 1u) & 2u), f32(index & 2u));
    return Corner(vec4<f32>(2.0 * uv.x - 1.0, 1.0 - 2.0 * uv.y, 0.0, 1.0), uv);
}

@fragment
fn mix_fragment(in: Corner) -> @location(0) vec4<f32> {
    return textureSample(picture, picture_sampler, in.uv);
}
