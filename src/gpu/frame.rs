//! Octahedral packing of normals and tangents on the CPU; the twin of `shaders/frame.wgsl`.

/// WGSL functions that decode a frame, the two words a skinned vertex has in [`super::Vertices::frames`]:
/// `frame_normal(frame: vec2<u32>) -> vec3<f32>` and `frame_tangent(frame: vec2<u32>) -> vec4<f32>` (w = the sign of the
/// bitangent). Append it to a shader; it declares `octahedral_decode`, `octahedral_encode` and `frame_encode` too.
pub const FRAME_WGSL: &str = include_str!("../../shaders/frame.wgsl");

/// Packs a unit normal and a unit tangent with its sign (w) into a frame.
///
/// Of the lattice points around the exact one the nearest is taken: the decoded normal is within 4.5e-5 rad of the input,
/// the tangent within 8e-5 rad (Cigolle et al. 2014, "A survey of efficient representations for independent unit vectors").
pub fn encode_frame(normal: [f32; 3], tangent: [f32; 4]) -> [u32; 2] {
    let [x, y] = nearest(normal, [32767.0, 32767.0]);
    let [s, t] = nearest([tangent[0], tangent[1], tangent[2]], [32767.0, 16383.0]);
    let sign = if tangent[3] < 0.0 { 0x1_0000 } else { 0 };
    [(x as u32 & 0xffff) | ((y as u32) << 16), (s as u32 & 0xffff) | ((t as u32) << 17) | sign]
}

/// The unit normal of a frame.
pub fn decode_normal(frame: [u32; 2]) -> [f32; 3] {
    let x = f64::from((frame[0] << 16) as i32 >> 16) / 32767.0;
    let y = f64::from(frame[0] as i32 >> 16) / 32767.0;
    unit(x, y).map(|c| c as f32)
}

/// The unit tangent of a frame, w = ±1 the sign of the bitangent.
pub fn decode_tangent(frame: [u32; 2]) -> [f32; 4] {
    let x = f64::from((frame[1] << 16) as i32 >> 16) / 32767.0;
    let y = f64::from(frame[1] as i32 >> 17) / 16383.0;
    let [x, y, z] = unit(x, y).map(|c| c as f32);
    [x, y, z, if frame[1] & 0x1_0000 == 0 { 1.0 } else { -1.0 }]
}

/// The unit vector of a point of the octahedral square.
fn unit(x: f64, y: f64) -> [f64; 3] {
    let z = 1.0 - x.abs() - y.abs();
    let fold = (-z).max(0.0);
    let (x, y) = (x - fold.copysign(x), y - fold.copysign(y));
    let length = (x * x + y * y + z * z).sqrt();
    [x / length, y / length, z / length]
}

/// The lattice point whose vector is nearest to `v`, among the four around the exact point.
fn nearest(v: [f32; 3], steps: [f64; 2]) -> [i32; 2] {
    let v = v.map(f64::from);
    let sum = v[0].abs() + v[1].abs() + v[2].abs();
    let v = if sum > 0.0 && sum.is_finite() { v } else { [0.0, 0.0, 1.0] };
    let sum = if sum > 0.0 && sum.is_finite() { sum } else { 1.0 };
    let (mut x, mut y) = (v[0] / sum, v[1] / sum);
    if v[2] < 0.0 {
        (x, y) = ((1.0 - y.abs()).copysign(x), (1.0 - x.abs()).copysign(y));
    }
    let (fx, fy) = ((x * steps[0]).floor(), (y * steps[1]).floor());
    let mut best = ([0, 0], f64::NEG_INFINITY);
    for (dx, dy) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
        let (qx, qy) = ((fx + dx).min(steps[0]), (fy + dy).min(steps[1]));
        let u = unit(qx / steps[0], qy / steps[1]);
        let cos = u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
        if cos > best.1 {
            best = ([qx as i32, qy as i32], cos);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_keep_directions_and_signs() {
        let (mut worst_normal, mut worst_tangent) = (0f64, 0f64);
        // A spiral over the sphere, poles and seams included.
        let n = 20_001;
        for i in 0..n {
            let z = 1.0 - 2.0 * f64::from(i) / f64::from(n - 1);
            let a = f64::from(i) * 2.399_963;
            let r = (1.0 - z * z).max(0.0).sqrt();
            let v = [(r * a.cos()) as f32, (r * a.sin()) as f32, z as f32];
            let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
            let frame = encode_frame(v, [v[0], v[1], v[2], sign]);
            let t = decode_tangent(frame);
            assert_eq!(t[3], sign);
            worst_normal = worst_normal.max(angle(v, decode_normal(frame)));
            worst_tangent = worst_tangent.max(angle(v, [t[0], t[1], t[2]]));
        }
        println!("normal {worst_normal:.2e} rad, tangent {worst_tangent:.2e} rad");
        assert!(worst_normal < 4.5e-5 && worst_tangent < 8e-5);
    }

    fn angle(a: [f32; 3], b: [f32; 3]) -> f64 {
        let (a, b) = (glam::DVec3::from(a.map(f64::from)), glam::DVec3::from(b.map(f64::from)));
        a.cross(b).length().atan2(a.dot(b))
    }
}
