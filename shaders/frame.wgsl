// A frame is two words: a unit normal and a unit tangent with its sign, both octahedral
// (Meyer, Süßmuth, Sußner, Stamminger, Greiner 2010; Cigolle et al. 2014).
// Normal word: x and y as snorm16. Tangent word: x as snorm16 below, y as snorm15 in the top 15 bits, bit 16 set where
// the bitangent is -cross(normal, tangent).

fn octahedral_decode(p: vec2<f32>) -> vec3<f32> {
    let z = 1.0 - abs(p.x) - abs(p.y);
    let fold = max(-z, 0.0);
    let x = select(p.x + fold, p.x - fold, p.x >= 0.0);
    let y = select(p.y + fold, p.y - fold, p.y >= 0.0);
    return normalize(vec3<f32>(x, y, z));
}

fn octahedral_encode(v: vec3<f32>) -> vec2<f32> {
    let p = v.xy / (abs(v.x) + abs(v.y) + abs(v.z));
    let folded = (1.0 - abs(p.yx)) * select(vec2<f32>(-1.0), vec2<f32>(1.0), p >= vec2<f32>(0.0));
    return select(p, folded, v.z < 0.0);
}

fn frame_normal(frame: vec2<u32>) -> vec3<f32> {
    let x = f32(bitcast<i32>(frame.x << 16u) >> 16u) / 32767.0;
    let y = f32(bitcast<i32>(frame.x) >> 16u) / 32767.0;
    return octahedral_decode(vec2<f32>(x, y));
}

fn frame_tangent(frame: vec2<u32>) -> vec4<f32> {
    let x = f32(bitcast<i32>(frame.y << 16u) >> 16u) / 32767.0;
    let y = f32(bitcast<i32>(frame.y) >> 17u) / 16383.0;
    let sign = select(1.0, -1.0, (frame.y & 0x10000u) != 0u);
    return vec4<f32>(octahedral_decode(vec2<f32>(x, y)), sign);
}

fn frame_encode(normal: vec3<f32>, tangent: vec3<f32>, sign: f32) -> vec2<u32> {
    let n = vec2<i32>(round(octahedral_encode(normal) * 32767.0));
    let t = vec2<i32>(round(octahedral_encode(tangent) * vec2<f32>(32767.0, 16383.0)));
    let normal_word = (bitcast<u32>(n.x) & 0xffffu) | (bitcast<u32>(n.y) << 16u);
    let tangent_word = (bitcast<u32>(t.x) & 0xffffu) | (bitcast<u32>(t.y) << 17u) | select(0u, 0x10000u, sign < 0.0);
    return vec2<u32>(normal_word, tangent_word);
}
