//! What a vertex sees: rays against the surface.

use bvh::aabb::{Aabb, Bounded};
use bvh::bounding_hierarchy::BHShape;
use bvh::bvh::Bvh;
use bvh::ray::Ray;
use glam::DVec3;
use nalgebra::{Point3, Vector3};

use super::laplacian::Surface;

/// Part of a ray at either end that is not looked at: the surface the vertex is on, and flesh right at the bone.
const ENDS: f64 = 1e-4;

struct Triangle {
    corners: [DVec3; 3],
    places: [u32; 3],
    node: usize,
}

impl Bounded<f64, 3> for Triangle {
    fn aabb(&self) -> Aabb<f64, 3> {
        let [a, b, c] = self.corners;
        let (low, high) = (a.min(b).min(c), a.max(b).max(c));
        // Flat boxes are missed by rays in their plane.
        let margin = 1e-9 * (high - low).max_element();
        Aabb::with_bounds(point(low - margin), point(high + margin))
    }
}

impl BHShape<f64, 3> for Triangle {
    fn set_bh_node_index(&mut self, index: usize) {
        self.node = index;
    }
    fn bh_node_index(&self) -> usize {
        self.node
    }
}

fn point(p: DVec3) -> Point3<f64> {
    Point3::new(p.x, p.y, p.z)
}

/// The surface as an obstacle.
pub(super) struct Sight {
    triangles: Vec<Triangle>,
    tree: Option<Bvh<f64, 3>>,
    /// −1 where the triangles face inwards.
    outwards: f64,
}

impl Sight {
    pub fn new(surface: &Surface) -> Self {
        let corner = |v: u32| surface.positions[v as usize];
        let mut triangles: Vec<Triangle> =
            surface.triangles.iter().map(|&t| Triangle { corners: t.map(corner), places: t, node: 0 }).collect();
        let centre = surface.positions.iter().sum::<DVec3>() / surface.positions.len().max(1) as f64;
        let volume: f64 =
            triangles.iter().map(|t| t.corners.map(|c| c - centre)).map(|[a, b, c]| a.dot(b.cross(c))).sum();
        let tree = (!triangles.is_empty()).then(|| Bvh::build(&mut triangles));
        Self { triangles, tree, outwards: if volume < 0.0 { -1.0 } else { 1.0 } }
    }

    /// True when nothing is entered on the way from a place to a point. Leaving the surface is no obstacle, so that bones
    /// outside of the mesh are seen; entering it again, into another finger, is.
    pub fn sees(&self, place: u32, from: DVec3, to: DVec3) -> bool {
        let way = to - from;
        let (length, Some(tree)) = (way.length(), &self.tree) else { return true };
        if length == 0.0 {
            return true;
        }
        let way = way / length;
        let ray = Ray::new(point(from), Vector3::new(way.x, way.y, way.z));
        let range = length * ENDS..length * (1.0 - ENDS);
        !tree.traverse_iterator(&ray, &self.triangles).any(|t| {
            !t.places.contains(&place) && enters(t, from, way, self.outwards).is_some_and(|d| range.contains(&d))
        })
    }
}

/// Distance at which a ray goes through a triangle from its outer side (Möller & Trumbore 1997).
fn enters(t: &Triangle, from: DVec3, way: DVec3, outwards: f64) -> Option<f64> {
    let [a, b, c] = t.corners;
    let (u, v) = (b - a, c - a);
    if u.cross(v).dot(way) * outwards >= 0.0 {
        return None;
    }
    let p = way.cross(v);
    let det = u.dot(p);
    if det == 0.0 {
        return None;
    }
    let s = from - a;
    let x = s.dot(p) / det;
    let q = s.cross(u);
    let y = way.dot(q) / det;
    // A ray through an edge must not slip between two triangles.
    let slack = 1e-9;
    (x >= -slack && y >= -slack && x + y <= 1.0 + slack).then(|| v.dot(q) / det)
}
