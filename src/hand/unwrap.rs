//! Flattens a chart as rigidly as possible (Liu et al., "A Local/Global Approach to Mesh Parameterization", 2008).

use faer::linalg::solvers::Solve;
use faer::sparse::{SparseColMat, Triplet};
use faer::{Mat, Side};
use glam::{DVec2, Vec2, Vec3};

/// Rounds of turning triangles and moving vertices.
const ROUNDS: usize = 16;

/// Places in the plane for the vertices of a chart, millimetres, from a first guess; the guess where there is no solution.
pub(super) fn flatten(positions: &[Vec3], triangles: &[[u32; 3]], guess: &[Vec2]) -> Vec<Vec2> {
    let flat: Vec<[DVec2; 3]> = triangles.iter().map(|t| in_its_plane(t.map(|i| positions[i as usize]))).collect();
    let cotangents: Vec<[f64; 3]> = flat.iter().map(cotangents).collect();
    let n = positions.len();
    let mut diagonal = vec![0.0; n];
    let mut entries = Vec::new();
    for (t, cot) in triangles.iter().zip(&cotangents) {
        for k in 0..3 {
            let (a, b) = (t[k] as usize, t[(k + 1) % 3] as usize);
            diagonal[a] += cot[k];
            diagonal[b] += cot[k];
            entries.push(Triplet { row: a.max(b), col: a.min(b), val: -cot[k] });
        }
    }
    // One vertex stays where it is.
    diagonal[0] += 1.0;
    entries.extend(diagonal.iter().enumerate().map(|(i, &val)| Triplet { row: i, col: i, val }));
    let matrix = SparseColMat::<usize, f64>::try_new_from_triplets(n, n, &entries).ok();
    let Some(factor) = matrix.and_then(|m| m.sp_cholesky(Side::Lower).ok()) else { return guess.to_vec() };
    let mut places: Vec<DVec2> = guess.iter().map(|p| p.as_dvec2()).collect();
    for _ in 0..ROUNDS {
        let mut right = Mat::<f64>::zeros(n, 2);
        (right[(0, 0)], right[(0, 1)]) = (places[0].x, places[0].y);
        for ((t, x), cot) in triangles.iter().zip(&flat).zip(&cotangents) {
            // The rotation nearest to what the triangle went through.
            let (mut cos, mut sin) = (0.0, 0.0);
            for k in 0..3 {
                let u = places[t[k] as usize] - places[t[(k + 1) % 3] as usize];
                let x = x[k] - x[(k + 1) % 3];
                cos += cot[k] * u.dot(x);
                sin += cot[k] * x.perp_dot(u);
            }
            let turn = DVec2::new(cos, sin).normalize_or(DVec2::X);
            for k in 0..3 {
                let (a, b) = (t[k] as usize, t[(k + 1) % 3] as usize);
                let edge = turn.rotate(x[k] - x[(k + 1) % 3]) * cot[k];
                right[(a, 0)] += edge.x;
                right[(a, 1)] += edge.y;
                right[(b, 0)] -= edge.x;
                right[(b, 1)] -= edge.y;
            }
        }
        let solution = factor.solve(&right);
        for (i, place) in places.iter_mut().enumerate() {
            *place = DVec2::new(solution[(i, 0)], solution[(i, 1)]);
        }
    }
    if places.iter().all(|p| p.is_finite()) { places.iter().map(|p| p.as_vec2()).collect() } else { guess.to_vec() }
}

/// A triangle laid flat, counter-clockwise.
fn in_its_plane([a, b, c]: [Vec3; 3]) -> [DVec2; 3] {
    let (e, f) = ((b - a).as_dvec3(), (c - a).as_dvec3());
    let length = e.length().max(1e-9);
    [DVec2::ZERO, DVec2::new(length, 0.0), DVec2::new(f.dot(e) / length, e.cross(f).length() / length)]
}

/// Half the cotangent of the angle opposite each edge (k, k + 1), never below a little.
fn cotangents(x: &[DVec2; 3]) -> [f64; 3] {
    std::array::from_fn(|k| {
        let (a, b, c) = (x[k], x[(k + 1) % 3], x[(k + 2) % 3]);
        let (e, f) = (a - c, b - c);
        (0.5 * e.dot(f) / e.perp_dot(f).abs().max(1e-9)).clamp(0.02, 50.0)
    })
}
