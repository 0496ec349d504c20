//! The convex hull of a handful of corners: their order around a polygon, the faces of a polyhedron.

use glam::DVec3;

use crate::{Error, Result};

/// Two corners closer than this, or three closer than this to one line (in units of the space's diameter), are refused.
const DEGENERATE: f64 = 1e-4;
/// Corners this close to one plane share a face; tried in order until the faces close up (Euler's formula).
const COPLANAR: [f64; 4] = [1e-5, 1e-6, 1e-7, 1e-4];

/// One flat side: its corners counter-clockwise as seen from outside, and its outward plane `normal · x = offset`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Facet {
    pub normal: DVec3,
    pub offset: f64,
    pub corners: Vec<usize>,
}

/// The one facet (in the plane z = 0, seen from +z) of a convex polygon, whatever order its corners are given in.
pub(super) fn polygon(points: &[DVec3]) -> Result<Facet> {
    distinct(points)?;
    let mut facet = Facet { normal: DVec3::Z, offset: 0.0, corners: (0..points.len()).collect() };
    wind(&mut facet, points);
    strictly_convex(&facet, points)?;
    Ok(facet)
}

/// The faces of a convex polyhedron; coplanar corners share one. Every corner must be a corner of the hull.
pub(super) fn polyhedron(points: &[DVec3]) -> Result<Vec<Facet>> {
    distinct(points)?;
    let mut refused = Err(Error::NotConvex { corner: 0, problem: "does not span a solid with the others" });
    for tolerance in COPLANAR {
        match closed_hull(points, tolerance) {
            Ok(facets) => return Ok(facets),
            Err(error) => refused = Err(error),
        }
    }
    refused
}

fn closed_hull(points: &[DVec3], tolerance: f64) -> Result<Vec<Facet>> {
    let mut facets = supporting_planes(points, tolerance);
    if facets.is_empty() {
        return Err(Error::NotConvex { corner: 0, problem: "does not span a solid with the others" });
    }
    for facet in &mut facets {
        wind(facet, points);
        refit(facet, points);
    }
    for corner in 0..points.len() {
        if facets.iter().filter(|f| f.corners.contains(&corner)).count() < 3 {
            return Err(Error::NotConvex { corner, problem: "is not a corner of the convex hull of all corners" });
        }
    }
    for facet in &facets {
        strictly_convex(facet, points)?;
    }
    // Each directed edge must have exactly one twin; then Euler's formula for a sphere.
    let edges: Vec<_> = facets.iter().flat_map(|f| ring(&f.corners)).collect();
    let open = edges.iter().find(|&&(a, b)| edges.iter().filter(|&&e| e == (b, a)).count() != 1);
    if let Some(&(corner, _)) = open {
        return Err(Error::NotConvex { corner, problem: "lies almost, but not quite, in a plane with its neighbours" });
    }
    if points.len() + facets.len() != edges.len() / 2 + 2 {
        return Err(Error::NotConvex { corner: 0, problem: "does not span a solid with the others" });
    }
    Ok(facets)
}

/// Planes through three or more corners with every other corner behind them, each once.
fn supporting_planes(points: &[DVec3], tolerance: f64) -> Vec<Facet> {
    let n = points.len();
    let mut seen: Vec<u32> = Vec::new();
    let mut facets = Vec::new();
    for i in 0..n {
        for j in i + 1..n {
            for k in j + 1..n {
                let across = (points[j] - points[i]).cross(points[k] - points[i]);
                if across.length() < DEGENERATE * DEGENERATE {
                    continue;
                }
                let normal = across.normalize();
                let heights: Vec<f64> = points.iter().map(|p| normal.dot(*p - points[i])).collect();
                let above = heights.iter().any(|&h| h > tolerance);
                let below = heights.iter().any(|&h| h < -tolerance);
                if above == below {
                    continue;
                }
                let corners: Vec<usize> = (0..n).filter(|&c| heights[c].abs() <= tolerance).collect();
                let mask = corners.iter().fold(0_u32, |m, &c| m | 1 << c);
                // A face found through nearly collinear corners may miss some of its own: keep the largest.
                if seen.iter().any(|&s| s & mask == mask) {
                    continue;
                }
                let normal = if above { -normal } else { normal };
                facets.retain(|f: &Facet| f.corners.iter().fold(0_u32, |m, &c| m | 1 << c) & !mask != 0);
                seen.push(mask);
                facets.push(Facet { normal, offset: normal.dot(points[i]), corners });
            }
        }
    }
    facets
}

/// Sorts a facet's corners counter-clockwise about its normal, starting with the lowest index.
fn wind(facet: &mut Facet, points: &[DVec3]) {
    let middle = facet.corners.iter().map(|&c| points[c]).sum::<DVec3>() / facet.corners.len() as f64;
    let x = facet.normal.any_orthonormal_vector();
    let y = facet.normal.cross(x);
    let angle = |c: usize| (points[c] - middle).dot(y).atan2((points[c] - middle).dot(x));
    facet.corners.sort_by(|&a, &b| angle(a).total_cmp(&angle(b)));
    if let Some(first) = facet.corners.iter().enumerate().min_by_key(|(_, c)| **c).map(|(i, _)| i) {
        facet.corners.rotate_left(first);
    }
}

/// Newell's normal and mean height, so that no three corners of a large face are special.
fn refit(facet: &mut Facet, points: &[DVec3]) {
    let normal = ring(&facet.corners).map(|(a, b)| points[a].cross(points[b])).sum::<DVec3>();
    let normal = normal.normalize_or(facet.normal);
    facet.normal = normal;
    facet.offset = facet.corners.iter().map(|&c| normal.dot(points[c])).sum::<f64>() / facet.corners.len() as f64;
}

fn strictly_convex(facet: &Facet, points: &[DVec3]) -> Result<()> {
    let n = facet.corners.len();
    for i in 0..n {
        let [a, b, c] = [(i + n - 1) % n, i, (i + 1) % n].map(|k| points[facet.corners[k]]);
        let height = facet.normal.dot((b - a).cross(c - b)) / (c - a).length().max(DEGENERATE);
        if height < DEGENERATE {
            let problem = "lies inside the others, or on a line between two of them";
            return Err(Error::NotConvex { corner: facet.corners[i], problem });
        }
    }
    Ok(())
}

fn distinct(points: &[DVec3]) -> Result<()> {
    for (corner, p) in points.iter().enumerate() {
        if points[..corner].iter().any(|q| p.distance(*q) < DEGENERATE) {
            return Err(Error::NotConvex { corner, problem: "is at the same place as an earlier corner" });
        }
    }
    Ok(())
}

/// Consecutive pairs of a closed list.
pub(super) fn ring(corners: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    corners.iter().copied().zip(corners.iter().copied().cycle().skip(1))
}
