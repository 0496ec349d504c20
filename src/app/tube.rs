//! The built-in tube: a character made in code, for when no model is given.

use std::f32::consts::{PI, TAU};

use dermis::character::{
    Channel, Character, Clip, Image, Interpolation, Material, Mesh, Part, Primitive, Rig, RigNode, Skin, Target,
    TextureRef,
};
use dermis::influence::{Influence, Influences};
use dermis::{Affine, Transform};

const AROUND: usize = 48;
const ALONG: usize = 64;
const JOINTS: usize = 10;
/// Metres.
const HEIGHT: f32 = 1.6;
const RADIUS: f32 = 0.17;

/// A textured tube that stands on the ground, with a chain of joints inside and two looping clips.
pub fn tube() -> Character {
    let bone = HEIGHT / JOINTS as f32;
    let node = |i: usize| RigNode {
        name: format!("bend {i}"),
        parent: i.checked_sub(1),
        rest: Transform { translation: [0.0, if i == 0 { 0.0 } else { bone }, 0.0], ..Transform::IDENTITY },
        base: Affine::IDENTITY,
        source: i,
    };
    let inverse_bind = |i: usize| {
        let mut m = Affine::IDENTITY;
        m.rows[1][3] = -(i as f32) * bone;
        m
    };
    Character {
        name: "tube".into(),
        rig: Rig { nodes: (0..JOINTS).map(node).collect() },
        skins: vec![Skin {
            name: "tube".into(),
            joints: (0..JOINTS).collect(),
            inverse_binds: (0..JOINTS).map(inverse_bind).collect(),
        }],
        meshes: vec![mesh()],
        parts: vec![Part { name: "tube".into(), ..Part::default() }],
        clips: vec![
            clip("sway", 4.0, |joint, turn| {
                let swing = |phase: f32| (TAU * (turn - phase) - 0.45 * joint as f32).sin();
                [0.10 * swing(0.25), 0.06 * swing(0.0), 0.22 * swing(0.0)]
            }),
            clip("curl", 5.0, |joint, turn| {
                let reach = 0.5 - 0.5 * (TAU * turn).cos();
                [0.0, 0.12 * reach, -(0.12 + 0.035 * joint as f32) * reach]
            }),
        ],
        materials: vec![Material {
            name: "stripes".into(),
            base_color_texture: Some(TextureRef::default()),
            metallic: 0.0,
            roughness: 0.5,
            ..Material::default()
        }],
        images: vec![stripes(256, 512)],
        ..Character::default()
    }
}

/// Radius and height at `t` 0…1 from the bottom to the top: a cone that is rounded at both ends.
fn profile(t: f32) -> [f32; 2] {
    const CAP: f32 = 0.12;
    let radius = |y: f32| RADIUS * (1.0 - 0.42 * y / HEIGHT);
    if t < CAP {
        let a = 0.5 * PI * t / CAP;
        let squash = 0.35 * RADIUS;
        [radius(squash) * a.sin().sqrt(), squash * (1.0 - a.cos())]
    } else if t > 1.0 - CAP {
        let a = 0.5 * PI * (1.0 - t) / CAP;
        let dome = radius(HEIGHT);
        [radius(HEIGHT - dome) * a.sin(), HEIGHT - dome * (1.0 - a.cos())]
    } else {
        let (low, high) = (0.35 * RADIUS, HEIGHT - radius(HEIGHT));
        let y = low + (high - low) * (t - CAP) / (1.0 - 2.0 * CAP);
        [radius(y), y]
    }
}

fn mesh() -> Mesh {
    let mut mesh = Mesh { name: "tube".into(), ..Mesh::default() };
    let mut influences: Vec<Vec<Influence>> = Vec::new();
    for row in 0..ALONG {
        let t = row as f32 / (ALONG - 1) as f32;
        let [r, y] = profile(t);
        let ([r0, y0], [r1, y1]) = (profile((t - 1e-3).max(0.0)), profile((t + 1e-3).min(1.0)));
        let slope = (r1 - r0).hypot(y1 - y0).max(1e-9);
        let (out, up) = ((y1 - y0) / slope, (r0 - r1) / slope);
        // One column more than faces: the first and the last meet at the texture's seam.
        for column in 0..=AROUND {
            let u = column as f32 / AROUND as f32;
            let (sin, cos) = (TAU * u).sin_cos();
            mesh.positions.push([r * cos, y, -r * sin]);
            mesh.normals.push([out * cos, up, -out * sin]);
            mesh.tangents.push([-sin, 0.0, -cos, 1.0]);
            mesh.uvs[0].push([u, 1.0 - y / HEIGHT]);
            influences.push(weights(y));
        }
    }
    let columns = AROUND as u32 + 1;
    for row in 0..ALONG as u32 - 1 {
        for column in 0..AROUND as u32 {
            let a = row * columns + column;
            mesh.indices.extend([a, a + 1, a + 1 + columns, a, a + 1 + columns, a + columns]);
        }
    }
    mesh.influences = Influences::from_vertices(influences.iter().map(Vec::as_slice));
    mesh.primitives =
        vec![Primitive { vertices: 0..mesh.positions.len(), indices: 0..mesh.indices.len(), ..Primitive::default() }];
    mesh
}

/// Cubic B-spline weights of the four nearest bones; what would go past an end goes to the bone there.
fn weights(y: f32) -> Vec<Influence> {
    let x = y / HEIGHT * JOINTS as f32 - 0.5;
    let first = x.floor();
    let f = x - first;
    let basis = [
        (1.0 - f).powi(3) / 6.0,
        (3.0 * f.powi(3) - 6.0 * f * f + 4.0) / 6.0,
        (-3.0 * f.powi(3) + 3.0 * f * f + 3.0 * f + 1.0) / 6.0,
        f.powi(3) / 6.0,
    ];
    let mut out: Vec<Influence> = Vec::with_capacity(4);
    for (i, weight) in basis.into_iter().enumerate() {
        let joint = (first as i32 - 1 + i as i32).clamp(0, JOINTS as i32 - 1) as u32;
        match out.iter_mut().find(|o| o.joint == joint) {
            Some(same) => same.weight += weight,
            None => out.push(Influence { joint, weight }),
        }
    }
    out
}

/// A looping clip of `seconds`; `angles` gives small turns about x, y and z of a joint at `turn` 0…1.
fn clip(name: &str, seconds: f32, angles: impl Fn(usize, f32) -> [f32; 3]) -> Clip {
    const KEYS: usize = 49;
    let turns: Vec<f32> = (0..KEYS).map(|k| k as f32 / (KEYS - 1) as f32).collect();
    let channel = |joint: usize| Channel {
        target: Target::Rotation(joint),
        interpolation: Interpolation::Linear,
        times: turns.iter().map(|t| t * seconds).collect(),
        width: 4,
        values: turns.iter().flat_map(|&t| rotation(angles(joint, t))).collect(),
    };
    Clip { name: name.into(), duration: seconds, channels: (1..JOINTS).map(channel).collect() }
}

/// The quaternion of a rotation vector.
fn rotation(v: [f32; 3]) -> [f32; 4] {
    let angle = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
    let s = if angle > 1e-6 { (0.5 * angle).sin() / angle } else { 0.5 };
    [v[0] * s, v[1] * s, v[2] * s, (0.5 * angle).cos()]
}

/// Bands that wind upwards, one ring per bone, a little paint grain.
fn stripes(width: u32, height: u32) -> Image {
    let mut rgba = Vec::with_capacity((width * height * 4) as usize);
    for y in 0..height {
        for x in 0..width {
            let (u, v) = ((x as f32 + 0.5) / width as f32, (y as f32 + 0.5) / height as f32);
            let wind = (6.0 * v + 2.0 * u).fract();
            let edge = |at: f32| ((wind - at).abs() * 60.0).min(1.0);
            let band = if wind < 0.5 { [232.0, 122.0, 84.0] } else { [244.0, 232.0, 208.0] };
            let ring = (JOINTS as f32 * v).fract();
            let line = ((ring - 0.5).abs() * 90.0).min(1.0);
            let shade = (0.55 + 0.45 * edge(0.0).min(edge(0.5)).min(edge(1.0))) * (0.72 + 0.28 * line);
            // A hash of the pixel, so that the picture is the same everywhere.
            let grain = (x.wrapping_mul(0x9e37_79b1) ^ y.wrapping_mul(0x85eb_ca77)).wrapping_mul(0xc2b2_ae3d) >> 24;
            let grain = 0.97 + 0.03 * grain as f32 / 255.0;
            rgba.extend(band.map(|c: f32| (c * shade * grain) as u8));
            rgba.push(255);
        }
    }
    Image { name: "stripes".into(), width, height, rgba }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tube_is_sound() {
        let tube = tube();
        tube.rig.validate().unwrap();
        tube.skins[0].validate(&tube.rig).unwrap();
        let mesh = &tube.meshes[0];
        mesh.validate().unwrap();
        for v in 0..mesh.positions.len() {
            let sum: f32 = mesh.influences.of(v).iter().map(|i| i.weight).sum();
            // Four products and sums near 1: a few ulp.
            assert!((sum - 1.0).abs() < 1e-6, "vertex {v}: {sum}");
            let n = mesh.normals[v];
            assert!((n[0] * n[0] + n[1] * n[1] + n[2] * n[2] - 1.0).abs() < 1e-4, "vertex {v}: {n:?}");
        }
        // Faces and normals look the same way.
        let p = |i: u32| mesh.positions[i as usize];
        for t in mesh.indices.chunks(3) {
            let (a, b, c) = (p(t[0]), p(t[1]), p(t[2]));
            let e = |q: [f32; 3]| [q[0] - a[0], q[1] - a[1], q[2] - a[2]];
            let (e, f) = (e(b), e(c));
            let cross = [e[1] * f[2] - e[2] * f[1], e[2] * f[0] - e[0] * f[2], e[0] * f[1] - e[1] * f[0]];
            let n = mesh.normals[t[2] as usize];
            assert!(cross[0] * n[0] + cross[1] * n[1] + cross[2] * n[2] >= -1e-9);
        }
        // The clips loop.
        for channel in tube.clips.iter().flat_map(|c| &c.channels) {
            let last = channel.values.len() - 4;
            for i in 0..4 {
                assert!((channel.values[i] - channel.values[last + i]).abs() < 1e-5);
            }
        }
    }
}
