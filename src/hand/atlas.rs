//! Texture coordinates of a hand: charts flattened and packed into a square, vertices doubled where charts meet.

use glam::{Vec2, Vec3};

use super::anatomy::Anatomy;
use super::charts::{BACK, CHARTS, END, PALM, finger_of, on_finger};
use super::surface::Surface;
use super::unwrap::flatten;

/// The hand's skin with one vertex for every chart it is in.
#[derive(Clone, Debug, Default)]
pub(super) struct Skin {
    /// The surface's vertex.
    pub source: Vec<u32>,
    /// Chart of each vertex.
    pub chart: Vec<usize>,
    /// 0…1.
    pub uvs: Vec<Vec2>,
    pub triangles: Vec<[u32; 3]>,
    /// Millimetres that the square is wide.
    pub width: f32,
    /// Lower corner and size of the rectangle kept free for each nail, 0…1.
    pub nails: [[Vec2; 2]; 5],
}

/// Pixels between charts, at 1024 pixels.
const GAP: f32 = 8.0 / 1024.0;
/// Sizes of the rectangles for nails, millimetres.
const NAIL: Vec2 = Vec2::new(17.0, 17.0);

pub(super) fn unfold(anatomy: &Anatomy, surface: &Surface, labels: &[usize]) -> Skin {
    let mut skin = Skin::default();
    // Millimetres, until the square's width is known.
    let mut boxes: Vec<Vec2> = Vec::new();
    for chart in 0..CHARTS {
        let first = skin.source.len();
        let mut place = vec![u32::MAX; surface.positions.len()];
        let mut triangles = Vec::new();
        for (t, _) in surface.triangles.iter().zip(labels).filter(|(_, l)| **l == chart) {
            triangles.push(t.map(|i| {
                let slot = &mut place[i as usize];
                if *slot == u32::MAX {
                    *slot = (skin.source.len() - first) as u32;
                    skin.source.push(i);
                }
                *slot
            }));
        }
        let points: Vec<Vec3> = skin.source[first..].iter().map(|&i| surface.positions[i as usize]).collect();
        let guess = guess(anatomy, chart, &points);
        let mut flat = if points.is_empty() { guess } else { flatten(&points, &triangles, &guess) };
        let (low, high) = flat.iter().fold((Vec2::INFINITY, Vec2::NEG_INFINITY), |b, &p| (b.0.min(p), b.1.max(p)));
        flat.iter_mut().for_each(|p| *p -= low);
        boxes.push(if points.is_empty() { Vec2::ZERO } else { high - low });
        skin.chart.resize(skin.source.len(), chart);
        skin.uvs.extend(flat);
        skin.triangles.extend(triangles.iter().map(|t| t.map(|i| i + first as u32)));
    }
    boxes.extend([NAIL; 5]);
    let (corners, width) = pack(&boxes);
    skin.width = width;
    for (uv, &chart) in skin.uvs.iter_mut().zip(&skin.chart) {
        let p = corners[chart] + *uv;
        // v points down.
        *uv = Vec2::new(p.x / width, 1.0 - p.y / width);
    }
    for (nail, corner) in skin.nails.iter_mut().zip(&corners[CHARTS..]) {
        *nail = [Vec2::new(corner.x / width, 1.0 - (corner.y + NAIL.y) / width), NAIL / width];
    }
    skin
}

/// A view of the chart from outside, right way round.
fn guess(anatomy: &Anatomy, chart: usize, points: &[Vec3]) -> Vec<Vec2> {
    match chart {
        PALM => points.iter().map(|p| Vec2::new(p.x, p.y)).collect(),
        BACK => points.iter().map(|p| Vec2::new(-p.x, p.y)).collect(),
        END => points.iter().map(|p| Vec2::new(p.x, p.z)).collect(),
        _ => {
            let joints = anatomy.phalanges(finger_of(chart).unwrap_or(0));
            let starts: Vec<f32> = joints
                .windows(2)
                .scan(0.0, |sum, w| Some(std::mem::replace(sum, *sum + w[0].at.distance(w[1].at))))
                .collect();
            let dorsal = chart.is_multiple_of(2);
            let unroll = |&p: &Vec3| {
                let on = on_finger(joints, p);
                let joint = &joints[on.bone];
                let off = p - joint.at - joint.along * on.along;
                let side = off.dot(on.side);
                Vec2::new(if dorsal { -side } else { side }, starts[on.bone] + on.along)
            };
            points.iter().map(unroll).collect()
        }
    }
}

/// Rows of boxes, the highest first, in the smallest square; their lower corners, and the square's width.
fn pack(boxes: &[Vec2]) -> (Vec<Vec2>, f32) {
    let mut order: Vec<usize> = (0..boxes.len()).collect();
    order.sort_by(|&a, &b| boxes[b].y.total_cmp(&boxes[a].y).then(a.cmp(&b)));
    let area: f32 = boxes.iter().map(|b| b.x * b.y).sum();
    let mut width = area.sqrt().max(1.0);
    loop {
        let gap = GAP * width;
        let mut corners = vec![Vec2::ZERO; boxes.len()];
        let (mut x, mut y, mut row) = (gap, gap, 0.0_f32);
        let mut fits = true;
        for &i in &order {
            if x + boxes[i].x + gap > width {
                (x, y, row) = (gap, y + row + gap, 0.0);
            }
            corners[i] = Vec2::new(x, y);
            fits &= x + boxes[i].x + gap <= width && y + boxes[i].y + gap <= width;
            x += boxes[i].x + gap;
            row = row.max(boxes[i].y);
        }
        if fits || width > 1e6 {
            return (corners, width);
        }
        width *= 1.01;
    }
}
