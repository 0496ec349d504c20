//! Paints the hand: every texel's place on the hand is found, then its colour and a small height (creases, pores) follow from
//! where it is. Being painted in space, charts match at their seams.

use glam::{Vec2, Vec3};

use super::anatomy::Anatomy;
use super::atlas::Skin;
use super::charts::{finger_of, on_finger};
use super::surface::Surface;
use crate::character::Image;

/// Colour, surface detail and roughness of the atlas.
#[derive(Clone, Debug, Default)]
pub(super) struct Pictures {
    pub color: Image,
    pub normal: Image,
    /// Green: roughness.
    pub roughness: Image,
}

/// What one texel shows.
#[derive(Clone, Copy, Debug, Default)]
struct Texel {
    /// sRGB.
    color: Vec3,
    /// Millimetres.
    height: f32,
    roughness: f32,
}

/// Triangles of the atlas: texture coordinates, places, normals, chart.
pub(super) fn paint(anatomy: &Anatomy, surface: &Surface, skin: &Skin, size: u32) -> Pictures {
    let lines = Lines::new();
    let n = size as usize;
    let mut texels = vec![Texel::default(); n * n];
    let mut set = vec![false; n * n];
    for t in &skin.triangles {
        let uv = t.map(|i| skin.uvs[i as usize] * size as f32);
        let source = t.map(|i| skin.source[i as usize] as usize);
        let chart = skin.chart[t[0] as usize];
        cover(uv, n, |texel, w| {
            let mix = |v: &[Vec3]| v[source[0]] * w[0] + v[source[1]] * w[1] + v[source[2]] * w[2];
            let normal = mix(&surface.normals).normalize_or(Vec3::Z);
            texels[texel] = skin_at(anatomy, &lines, mix(&surface.positions), normal, chart);
            set[texel] = true;
        });
    }
    for [corner, extent] in skin.nails {
        let (from, to) = (corner * size as f32, (corner + extent) * size as f32);
        for y in from.y as usize..(to.y as usize).min(n) {
            for x in from.x as usize..(to.x as usize).min(n) {
                let at = (Vec2::new(x as f32 + 0.5, y as f32 + 0.5) - from) / (to - from);
                texels[y * n + x] = nail_at(at);
                set[y * n + x] = true;
            }
        }
    }
    bleed(&mut texels, &mut set, n);
    pictures(&texels, n, skin.width / size as f32)
}

/// Calls `f` with the index of every texel whose middle a triangle covers (or nearly), and its weights.
fn cover(uv: [Vec2; 3], n: usize, mut f: impl FnMut(usize, [f32; 3])) {
    let [a, b, c] = uv;
    let area = (b - a).perp_dot(c - a);
    if area.abs() < 1e-12 {
        return;
    }
    let low = a.min(b).min(c).floor().max(Vec2::ZERO);
    let high = a.max(b).max(c).ceil().min(Vec2::splat(n as f32));
    for y in low.y as usize..high.y as usize {
        for x in low.x as usize..high.x as usize {
            let p = Vec2::new(x as f32 + 0.5, y as f32 + 0.5);
            let w = [(b - p).perp_dot(c - p) / area, (c - p).perp_dot(a - p) / area, (a - p).perp_dot(b - p) / area];
            if w.iter().all(|w| *w >= -1e-4) {
                f(y * n + x, w);
            }
        }
    }
}

/// Fills what is free around the charts from the nearest texels, as far as filtering reaches.
fn bleed(texels: &mut [Texel], set: &mut [bool], n: usize) {
    for _ in 0..6 {
        let old = set.to_vec();
        for y in 0..n {
            for x in 0..n {
                let i = y * n + x;
                if old[i] {
                    continue;
                }
                let around =
                    [(x > 0, i.wrapping_sub(1)), (x + 1 < n, i + 1), (y > 0, i.wrapping_sub(n)), (y + 1 < n, i + n)];
                if let Some(&(_, from)) = around.iter().find(|(inside, j)| *inside && old[*j]) {
                    texels[i] = texels[from];
                    set[i] = true;
                }
            }
        }
    }
}

/// `scale`: millimetres per texel.
fn pictures(texels: &[Texel], n: usize, scale: f32) -> Pictures {
    let [mut color, mut normal, mut roughness] = [(); 3].map(|()| Vec::with_capacity(4 * n * n));
    let byte = |x: f32| (x.clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
    for y in 0..n {
        for x in 0..n {
            let t = &texels[y * n + x];
            let height = |x: usize, y: usize| texels[y.min(n - 1) * n + x.min(n - 1)].height;
            let right = (height(x + 1, y) - height(x.saturating_sub(1), y)) / (2.0 * scale);
            let down = (height(x, y + 1) - height(x, y.saturating_sub(1))) / (2.0 * scale);
            let bump = Vec3::new(-right, down, 1.0).normalize();
            color.extend([byte(t.color.x), byte(t.color.y), byte(t.color.z), 255]);
            normal.extend([byte(0.5 + 0.5 * bump.x), byte(0.5 + 0.5 * bump.y), byte(0.5 + 0.5 * bump.z), 255]);
            roughness.extend([255, byte(t.roughness), 0, 255]);
        }
    }
    let image = |name: &str, rgba| Image { name: name.into(), width: n as u32, height: n as u32, rgba };
    Pictures {
        color: image("skin", color),
        normal: image("skin relief", normal),
        roughness: image("skin roughness", roughness),
    }
}

/// A bell of height 1 at 0.
fn bell(x: f32, width: f32) -> f32 {
    (-(x / width) * (x / width)).exp()
}

fn step(from: f32, to: f32, x: f32) -> f32 {
    let t = ((x - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// −1…1, smooth, one bump per unit.
fn noise(p: Vec3) -> f32 {
    let cell = p.floor();
    let f = p - cell;
    let f = f * f * (3.0 - 2.0 * f);
    let c = cell.as_ivec3();
    let value = |dx: i32, dy: i32, dz: i32| {
        let mut h = (c.x + dx).wrapping_mul(0x27d4_eb2d) as u32;
        h ^= (c.y + dy).wrapping_mul(0x1656_67b1) as u32;
        h = h.rotate_left(13).wrapping_mul(0x85eb_ca6b);
        h ^= ((c.z + dz) as u32).wrapping_mul(0xc2b2_ae35);
        h = (h ^ (h >> 15)).wrapping_mul(0x2c1b_3c6d);
        h = (h ^ (h >> 12)).wrapping_mul(0x297a_2d39);
        (h >> 8) as f32 / 8_388_608.0 - 1.0
    };
    let mix = |a: f32, b: f32, t: f32| a + (b - a) * t;
    let row = |y: i32, z: i32| mix(value(0, y, z), value(1, y, z), f.x);
    let plane = |z: i32| mix(row(0, z), row(1, z), f.y);
    mix(plane(0), plane(1), f.z)
}

/// The palm's lines and the back's veins as polylines in (x, y).
struct Lines {
    palm: Vec<(Vec<Vec2>, f32)>,
    veins: Vec<Vec<Vec2>>,
}

impl Lines {
    fn new() -> Self {
        let palm: [(&[[f32; 2]], f32); 5] = [
            (&[[-44.0, 63.0], [-33.0, 69.0], [-20.0, 72.0], [-6.0, 75.0], [6.0, 82.0], [13.0, 92.0]], 1.0),
            (&[[35.0, 66.0], [25.0, 66.0], [12.0, 62.0], [-3.0, 54.0], [-16.0, 46.0], [-27.0, 42.0]], 0.9),
            (&[[35.0, 68.0], [24.0, 63.0], [13.0, 53.0], [6.0, 40.0], [4.0, 25.0], [9.0, 10.0]], 1.1),
            (&[[2.0, 22.0], [-1.0, 40.0], [0.0, 58.0], [1.0, 74.0]], 0.4),
            (&[[-38.0, 56.0], [-27.0, 60.0], [-18.0, 62.0]], 0.3),
        ];
        let veins: [&[[f32; 2]]; 4] = [
            &[[-5.0, -40.0], [-9.0, 0.0], [-20.0, 30.0], [-25.0, 60.0], [-24.0, 82.0]],
            &[[-20.0, 30.0], [-10.0, 52.0], [-6.0, 72.0], [-6.0, 86.0]],
            &[[12.0, -50.0], [10.0, -10.0], [14.0, 25.0], [12.0, 50.0], [15.0, 70.0], [14.0, 88.0]],
            &[[14.0, 25.0], [28.0, 36.0], [38.0, 44.0]],
        ];
        let smooth = |points: &[[f32; 2]]| curve(&points.iter().map(|&p| Vec2::from(p)).collect::<Vec<_>>());
        Self {
            palm: palm.iter().map(|(points, deep)| (smooth(points), *deep)).collect(),
            veins: veins.iter().map(|points| smooth(points)).collect(),
        }
    }
}

/// A Catmull-Rom curve through points, six pieces each.
fn curve(points: &[Vec2]) -> Vec<Vec2> {
    let at = |i: isize| points[i.clamp(0, points.len() as isize - 1) as usize];
    let mut out = vec![points[0]];
    for i in 0..points.len() as isize - 1 {
        let [a, b, c, d] = [at(i - 1), at(i), at(i + 1), at(i + 2)];
        for k in 1..=6 {
            let t = k as f32 / 6.0;
            let (t2, t3) = (t * t, t * t * t);
            out.push(
                0.5 * (2.0 * b
                    + (c - a) * t
                    + (2.0 * a - 5.0 * b + 4.0 * c - d) * t2
                    + (3.0 * b - a - 3.0 * c + d) * t3),
            );
        }
    }
    out
}

/// Distance to a polyline, and the share of it that lies before the nearest point.
fn to_line(line: &[Vec2], p: Vec2) -> (f32, f32) {
    let mut best = (f32::INFINITY, 0.0);
    for (i, w) in line.windows(2).enumerate() {
        let e = w[1] - w[0];
        let t = ((p - w[0]).dot(e) / e.length_squared().max(1e-9)).clamp(0.0, 1.0);
        let d = p.distance_squared(w[0] + e * t);
        if d < best.0 {
            best = (d, (i as f32 + t) / (line.len() - 1) as f32);
        }
    }
    (best.0.sqrt(), best.1)
}

const DORSAL: Vec3 = Vec3::new(0.835, 0.640, 0.545);
const PALMAR: Vec3 = Vec3::new(0.905, 0.695, 0.605);
const RED: Vec3 = Vec3::new(0.830, 0.500, 0.445);
const SHADE: Vec3 = Vec3::new(0.560, 0.330, 0.270);
const BLUE: Vec3 = Vec3::new(0.620, 0.560, 0.560);

fn skin_at(anatomy: &Anatomy, lines: &Lines, p: Vec3, n: Vec3, chart: usize) -> Texel {
    let wobble = 0.8 * noise(p * 0.16) + 0.35 * noise(p * 0.45 + 7.0);
    let mut at = Marks::default();
    let palmar = match finger_of(chart) {
        Some(finger) => {
            let joints = anatomy.phalanges(finger);
            let on = on_finger(joints, p);
            let back = n.dot(on.dorsal);
            finger_marks(anatomy, finger, p, on.bone, on.along, back, wobble, &mut at);
            step(0.35, -0.45, back)
        }
        None => {
            let palmar = step(-0.4, 0.4, n.z);
            body_marks(anatomy, lines, p, n, wobble, &mut at);
            palmar
        }
    };
    // Mottling: larger on the palm, finer on the back.
    let coarse = noise(p * 0.09 + 3.0);
    let fine = noise(p * 0.33 + 11.0);
    let grain = noise(p * 1.1 + 5.0);
    let mut color = DORSAL.lerp(PALMAR, palmar);
    color *= 1.0 + 0.025 * coarse + 0.02 * fine + 0.012 * grain;
    at.red += palmar * (0.10 + 0.13 * (coarse + 0.6 * fine).max(0.0)) + (1.0 - palmar) * 0.06 * fine.max(0.0);
    color = color.lerp(RED, at.red.clamp(0.0, 0.75));
    color = color.lerp(BLUE, at.blue.clamp(0.0, 0.5));
    color = color.lerp(SHADE, at.dark.clamp(0.0, 0.85));
    // Pores and fine folds.
    let pores = noise(p * 1.3) * 0.5 + noise(p * Vec3::new(2.1, 0.9, 2.1) + 2.0) * 0.5;
    let height = at.height + pores * (0.035 - 0.015 * palmar);
    let roughness = 0.60 - 0.06 * palmar + 0.05 * fine + 0.1 * at.dark.min(1.0);
    Texel { color, height, roughness }
}

/// What lies on the skin at a place.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    red: f32,
    blue: f32,
    dark: f32,
    height: f32,
}

impl Marks {
    /// A fold: `x` millimetres from its middle line.
    fn fold(&mut self, x: f32, width: f32, deep: f32, dark: f32) {
        let line = bell(x, width);
        self.height -= deep * line;
        self.dark += dark * line;
        self.red += 0.5 * dark * bell(x, 3.0 * width);
    }
}

#[expect(clippy::too_many_arguments, reason = "one place on a finger, taken apart")]
fn finger_marks(
    anatomy: &Anatomy,
    finger: usize,
    p: Vec3,
    bone: usize,
    along: f32,
    back: f32,
    wobble: f32,
    at: &mut Marks,
) {
    let joints = anatomy.phalanges(finger);
    let bones = joints.len() - 1;
    let length = joints[bone].at.distance(joints[bone + 1].at);
    let (dorsal, palmar) = (step(0.15, 0.75, back), step(0.1, -0.5, back));
    // Joints at both ends of this bone; the knuckle belongs to the body.
    for (x, inner) in [(along, bone), (along - length, bone + 1)] {
        if inner == 0 || inner >= bones {
            continue;
        }
        let last = inner + 1 == bones;
        let size = if last { 0.75 } else { 1.0 };
        at.red += 0.34 * dorsal * bell(x, 8.0 * size);
        at.red += 0.10 * palmar * bell(x, 4.0);
        // Folds on the back, deepest in the middle of the joint.
        let folds: &[f32] = if last { &[-2.6, -0.9, 0.8, 2.4] } else { &[-5.6, -3.8, -2.0, -0.4, 1.4, 3.0, 4.8] };
        for (i, &fold) in folds.iter().enumerate() {
            let own = noise(p * 0.55 + 31.0 * i as f32);
            let fade = dorsal * (0.6 + 0.4 * own) * bell(fold, 5.5);
            at.fold(x - fold - 0.9 * wobble - 0.5 * own, 0.42, 0.13 * fade * size, 0.17 * fade);
        }
        // Creases on the palm's side: two at the middle joint, one at the last.
        let creases: &[(f32, f32)] =
            if last || finger == 0 { &[(0.3, 1.0), (2.2, 0.35)] } else { &[(-1.3, 0.9), (1.2, 1.0)] };
        for &(crease, deep) in creases {
            at.fold(x - crease - 0.6 * wobble, 0.50, 0.34 * deep * palmar, 0.30 * deep * palmar);
        }
    }
    if bone == 0 {
        let base = [6.0, 18.5, 20.0, 18.5, 14.5][finger];
        at.fold(along - base - 0.7 * wobble, 0.55, 0.30 * palmar, 0.26 * palmar);
    }
    if bone + 1 == bones {
        // Flushed tips, and the skin's ridges on the pads.
        let tip = step(0.25 * length, 1.1 * length, along);
        at.red += tip * (0.22 + 0.22 * palmar);
        let ridges = (along * 5.2 + 1.6 * noise(p * 0.5)).sin();
        at.height += 0.012 * ridges * palmar * tip;
    }
}

fn body_marks(anatomy: &Anatomy, lines: &Lines, p: Vec3, n: Vec3, wobble: f32, at: &mut Marks) {
    let (palmar, dorsal) = (step(0.15, 0.6, n.z), step(0.1, 0.6, -n.z));
    let flat = Vec2::new(p.x, p.y);
    if palmar > 0.0 && p.y > -20.0 {
        let shaken = flat + Vec2::splat(0.7 * wobble);
        for (line, deep) in &lines.palm {
            let (d, share) = to_line(line, shaken);
            let fade = step(0.0, 0.14, share) * step(1.0, 0.82, share) * palmar * deep;
            at.fold(d, 0.75, 0.45 * fade, 0.30 * fade);
        }
        // Where the fingers begin.
        for finger in 1..5 {
            let joint = &anatomy.phalanges(finger)[0];
            let along = (p - joint.at).dot(joint.along);
            let off = (p.x - joint.at.x - joint.along.x * along).abs();
            let base = [0.0, 18.5, 20.0, 18.5, 14.5][finger];
            let fade = palmar * step(13.0, 8.0, off);
            at.fold(along - base - 0.7 * wobble, 0.55, 0.30 * fade, 0.26 * fade);
            at.red += 0.20 * palmar * bell(off, 10.0) * bell(along - 5.0, 9.0);
        }
        // Small folds all over.
        let crossing = noise(Vec3::new(flat.dot(Vec2::new(0.5, 0.5)), flat.dot(Vec2::new(-0.12, 0.12)), 1.0));
        at.fold(crossing * 6.0, 0.5, 0.03 * palmar, 0.02 * palmar);
        // The two balls.
        at.red += 0.16
            * palmar
            * (step(26.0, 8.0, flat.distance(Vec2::new(32.0, 32.0)))
                + step(24.0, 8.0, flat.distance(Vec2::new(-28.0, 40.0))));
    }
    let round = step(-0.2, 0.5, n.z);
    for y in [-1.5, -6.5] {
        at.fold(p.y - y - 1.3 * wobble - 0.0012 * p.x * p.x, 0.6, 0.22 * round, 0.14 * round);
    }
    // Thumb's knuckle.
    let thumb = &anatomy.phalanges(0)[0];
    let off = (p - thumb.at).dot(thumb.along);
    let near = step(24.0, 12.0, p.distance(thumb.at));
    let out = n.dot(thumb.dorsal);
    at.red += 0.24 * near * step(0.2, 0.8, out) * bell(off, 9.0);
    for (i, fold) in [-3.0_f32, -0.5, 2.2].iter().enumerate() {
        let own = noise(p * 0.5 + 17.0 * i as f32);
        let fade = near * step(0.2, 0.8, out) * (0.6 + 0.4 * own);
        at.fold(off - fold - wobble, 0.5, 0.16 * fade, 0.16 * fade);
    }
    at.fold(off - 1.0 - wobble, 0.6, 0.24 * near * step(0.0, -0.5, out), 0.26 * near * step(0.0, -0.5, out));
    if dorsal > 0.0 {
        for finger in 1..5 {
            let joint = &anatomy.phalanges(finger)[0];
            let d = (p - joint.at) * Vec3::new(1.0, 1.0, 0.0);
            at.red += 0.36 * dorsal * bell(d.length(), 10.0);
            for (i, fold) in [-4.5_f32, -2.2, 0.2, 2.6, 5.0].iter().enumerate() {
                let own = noise(p * 0.5 + 23.0 * i as f32);
                let fade = dorsal * bell(d.x, 8.0) * (0.5 + 0.5 * own);
                at.fold(d.y - fold - 1.2 * wobble - 0.03 * d.x * d.x, 0.5, 0.12 * fade, 0.13 * fade);
            }
        }
        for vein in &lines.veins {
            let (d, share) = to_line(vein, flat + Vec2::splat(1.6 * wobble));
            let fade = dorsal * step(0.0, 0.2, share) * step(1.0, 0.8, share);
            at.height += 0.40 * fade * bell(d, 1.9);
            at.blue += 0.22 * fade * bell(d, 2.4);
        }
    }
}

/// `at`: across, and from the root to the free edge (0…14/16; beyond is the edge's thickness).
fn nail_at(at: Vec2) -> Texel {
    let (s, t) = (2.0 * at.x - 1.0, at.y * 16.0 / 14.0);
    let pink = Vec3::new(0.900, 0.655, 0.605);
    let pale = Vec3::new(0.945, 0.810, 0.760);
    let white = Vec3::new(0.925, 0.870, 0.800);
    let mut color = pink.lerp(Vec3::new(0.88, 0.60, 0.55), 0.35 * step(0.4, 0.8, t));
    // The lunula at the root, the free edge beyond the flesh.
    let lunula = 0.25 - 0.42 * s * s;
    color = color.lerp(pale, 0.5 * step(lunula + 0.06, lunula - 0.04, t));
    let free = 0.93 - 0.07 * s * s;
    color = color.lerp(white, step(free - 0.02, free + 0.02, t));
    color *= 1.0 + 0.012 * noise(Vec3::new(14.0 * s, 0.6 * t, 0.5));
    // Where it sinks into the skin.
    let border = (1.0 - step(0.82, 0.98, s.abs())) * step(0.02, 0.10, t);
    color = color.lerp(SHADE, 0.45 * (1.0 - border));
    let height = 0.015 * noise(Vec3::new(9.0 * s, 0.3 * t, 2.0));
    Texel { color, height, roughness: 0.30 }
}
