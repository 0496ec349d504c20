// Four vectors at once, those of a quad's vertices: one column per coordinate, one row per vertex.
// Needs the functions of frame.wgsl.
alias Vectors = mat3x4<f32>;

fn dots(a: Vectors, b: Vectors) -> vec4<f32> {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

fn crosses(a: Vectors, b: Vectors) -> Vectors {
    return Vectors(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]);
}

fn scaled(a: Vectors, s: vec4<f32>) -> Vectors {
    return Vectors(a[0] * s, a[1] * s, a[2] * s);
}

fn chosen(a: Vectors, b: Vectors, take_b: vec4<bool>) -> Vectors {
    return Vectors(select(a[0], b[0], take_b), select(a[1], b[1], take_b), select(a[2], b[2], take_b));
}

// Unit vectors along v, or `fallback` where v is too short to have a direction.
fn directions(v: Vectors, fallback: Vectors) -> Vectors {
    let squares = dots(v, v);
    return chosen(fallback, scaled(v, inverseSqrt(squares)), squares > vec4<f32>(1e-24));
}

// Any vectors across unit vectors; not shorter than 0.7.
fn across(n: Vectors) -> Vectors {
    let by_y = abs(n[0]) > vec4<f32>(0.7);
    let d = select(n[0], n[1], by_y);
    let axis_x = select(vec4<f32>(1.0), vec4<f32>(0.0), by_y);
    return Vectors(axis_x - n[0] * d, 1.0 - axis_x - n[1] * d, -n[2] * d);
}

fn frame_normals(normals: vec4<u32>) -> Vectors {
    return transpose(mat4x3<f32>(
        frame_normal(vec2<u32>(normals.x, 0u)),
        frame_normal(vec2<u32>(normals.y, 0u)),
        frame_normal(vec2<u32>(normals.z, 0u)),
        frame_normal(vec2<u32>(normals.w, 0u)),
    ));
}

// The fourth column is the signs.
fn frame_tangents(tangents: vec4<u32>) -> mat4x4<f32> {
    return transpose(mat4x4<f32>(
        frame_tangent(vec2<u32>(0u, tangents.x)),
        frame_tangent(vec2<u32>(0u, tangents.y)),
        frame_tangent(vec2<u32>(0u, tangents.z)),
        frame_tangent(vec2<u32>(0u, tangents.w)),
    ));
}
