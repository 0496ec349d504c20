//! Fingernails: thin plates that lie on the last phalanx, their edges sunk into the skin, their free edge over the tip.

use glam::{Quat, Vec2, Vec3};

use super::anatomy::Anatomy;
use super::field::Field;

/// A patch of triangles in the hand's space, millimetres.
#[derive(Clone, Debug, Default)]
pub(super) struct Nail {
    pub positions: Vec<Vec3>,
    pub normals: Vec<Vec3>,
    /// 0…1: across, and from the root to beyond the free edge.
    pub uvs: Vec<Vec2>,
    pub triangles: Vec<[u32; 3]>,
}

/// Columns and rows of quads; the last rows are the edge's thickness.
const ACROSS: usize = 12;
const ALONG: usize = 14;
const LIP: usize = 2;
/// Where the plate leaves the flesh.
const LEAVES: f32 = 0.62;

/// Half the angle that a nail covers, and its length over the last radius.
const SHAPES: [(f32, f32); 5] = [(66.0, 1.62), (62.0, 1.56), (62.0, 1.58), (62.0, 1.56), (62.0, 1.55)];

pub(super) fn nail(anatomy: &Anatomy, field: &Field, finger: usize) -> Nail {
    let joints = anatomy.phalanges(finger);
    let joint = &joints[joints.len() - 2];
    let end = anatomy.ends[finger];
    let side = joint.along.cross(joint.dorsal);
    let (half, longer) = SHAPES[finger];
    // The radius of the finger where the nail is.
    let under = |y: f32, turn: f32| {
        let axis = end - joint.along * y - joint.dorsal * 1.0;
        let way = Quat::from_axis_angle(joint.along, turn) * joint.dorsal;
        let (mut near, mut far) = (0.0, 20.0);
        for _ in 0..24 {
            let middle = 0.5 * (near + far);
            if field.distance(axis + way * middle) < 0.0 { near = middle } else { far = middle }
        }
        (axis + way * near, way, near)
    };
    let radius = under(9.0, 0.0).2;
    let length = longer * radius;
    let mut out = Nail::default();
    let rows = ALONG + LIP;
    let raised = |s: f32, t: f32| {
        // Sunk at the sides and the root.
        let side = (1.0 - s.abs().powi(4)).max(0.0);
        let root = (t / 0.12).min(1.0);
        -0.45 + 0.8 * side.sqrt() * root
    };
    let point = |s: f32, t: f32| {
        // A rounded root and a slightly rounded free edge.
        let bow = 0.16 * length * s * s;
        let t_bowed = t + (1.0 - t).powi(2) * bow / length - 0.10 * s * s * t * t;
        let turn = s * half.to_radians() * (1.0 - 0.10 * (1.0 - t).powi(2));
        let at = |t: f32| {
            let (p, way, _) = under(1.3 + length * (1.0 - t), turn);
            p + way * raised(s, t)
        };
        if t_bowed <= LEAVES {
            at(t_bowed)
        } else {
            // Beyond the flesh that falls away the plate goes on, bending a little.
            let (a, b) = (at(LEAVES - 0.15), at(LEAVES));
            let over = t_bowed - LEAVES;
            let way = ((b - a).normalize() + joint.along).normalize();
            b + way * (length * over)
                - joint.dorsal * (0.25 * length * over * over)
                - side * (0.35 * length * s * over * over)
        }
    };
    for row in 0..=rows {
        for column in 0..=ACROSS {
            let s = 2.0 * column as f32 / ACROSS as f32 - 1.0;
            let t = (row as f32 / ALONG as f32).min(1.0);
            let mut p = point(s, t);
            if row > ALONG {
                let deep = (row - ALONG) as f32;
                p -= joint.dorsal * (0.35 * deep) + joint.along * (0.15 + 1.2 * (deep - 1.0));
            }
            out.positions.push(p);
            out.uvs.push(Vec2::new(column as f32 / ACROSS as f32, row as f32 / rows as f32));
        }
    }
    let columns = ACROSS as u32 + 1;
    for row in 0..rows as u32 {
        for column in 0..ACROSS as u32 {
            let a = row * columns + column;
            let quad = [a, a + 1, a + 1 + columns, a + columns];
            out.triangles.push([quad[0], quad[1], quad[2]]);
            out.triangles.push([quad[0], quad[2], quad[3]]);
        }
    }
    let mut sums = vec![Vec3::ZERO; out.positions.len()];
    let p = |i: u32| out.positions[i as usize];
    for &[a, b, c] in &out.triangles {
        let n = (p(b) - p(a)).cross(p(c) - p(a));
        [a, b, c].iter().for_each(|&i| sums[i as usize] += n);
    }
    // Out of the nail, whichever way the patch was laid.
    if sums.iter().sum::<Vec3>().dot(joint.dorsal) < 0.0 {
        out.triangles.iter_mut().for_each(|t| t.swap(1, 2));
        sums.iter_mut().for_each(|n| *n = -*n);
    }
    out.normals = sums.iter().map(|n| n.normalize_or(joint.dorsal)).collect();
    out
}
