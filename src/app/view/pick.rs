//! What a ray through a pixel meets on skinned surfaces.

use glam::Vec3;

/// A half line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ray {
    pub origin: Vec3,
    /// Any length but zero.
    pub direction: Vec3,
}

impl From<(Vec3, Vec3)> for Ray {
    /// Origin and direction.
    fn from((origin, direction): (Vec3, Vec3)) -> Self {
        Self { origin, direction }
    }
}

/// Skinned vertices of a part, and its triangles.
#[derive(Clone, Copy, Debug)]
pub struct Surface<'a> {
    pub positions: &'a [[f32; 3]],
    pub indices: &'a [u32],
}

/// What a ray met first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Picked {
    pub part: usize,
    /// The triangle's corner nearest to where it was met.
    pub vertex: usize,
    /// Where it was met.
    pub point: Vec3,
}

/// The first surface along a ray, from either side.
pub fn pick(ray: &Ray, parts: &[Surface<'_>]) -> Option<Picked> {
    let mut first: Option<(f32, Picked)> = None;
    for (part, surface) in parts.iter().enumerate() {
        for triangle in surface.indices.chunks_exact(3) {
            let Some(corners) = corners(surface, triangle) else { continue };
            let Some((t, _)) = meet(ray, &corners) else { continue };
            if first.as_ref().is_none_or(|f| t < f.0) {
                let point = ray.origin + ray.direction * t;
                let distance = |k: &usize| corners[*k].distance_squared(point);
                let nearest = (0..3).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0);
                first = Some((t, Picked { part, vertex: triangle[nearest] as usize, point }));
            }
        }
    }
    first.map(|f| f.1)
}

/// The middle of the body along a ray: halfway between where it enters and the next place where it leaves; on a sheet without
/// a back, the sheet.
pub fn middle(ray: &Ray, parts: &[Surface<'_>]) -> Option<Vec3> {
    // Winding says which side is which only in closed bodies; so does the order of crossings, also with reversed winding.
    let mut crossings: Vec<(f32, bool)> = Vec::new();
    for surface in parts {
        for triangle in surface.indices.chunks_exact(3) {
            let Some(corners) = corners(surface, triangle) else { continue };
            crossings.extend(meet(ray, &corners));
        }
    }
    crossings.sort_by(|a, b| a.0.total_cmp(&b.0));
    let &(enter, front) = crossings.first()?;
    // An edge shared by two triangles may be met twice: a leaving crossing faces the other way.
    let leave = crossings.iter().find(|c| c.1 != front).map_or(enter, |c| c.0);
    Some(ray.origin + ray.direction * (0.5 * (enter + leave)))
}

fn corners(surface: &Surface<'_>, triangle: &[u32]) -> Option<[Vec3; 3]> {
    let corner = |k: usize| surface.positions.get(triangle[k] as usize).map(|&p| Vec3::from(p));
    Some([corner(0)?, corner(1)?, corner(2)?])
}

/// Distance along the ray to a triangle, and whether its front is met (Möller and Trumbore 1997); touching an edge counts.
fn meet(ray: &Ray, [a, b, c]: &[Vec3; 3]) -> Option<(f32, bool)> {
    let (e1, e2) = (*b - *a, *c - *a);
    let p = ray.direction.cross(e2);
    let det = e1.dot(p);
    if det == 0.0 || !det.is_finite() {
        return None;
    }
    let s = ray.origin - *a;
    let u = s.dot(p) / det;
    let q = s.cross(e1);
    let v = ray.direction.dot(q) / det;
    let t = e2.dot(q) / det;
    (u >= 0.0 && v >= 0.0 && u + v <= 1.0 && t > 0.0).then_some((t, det > 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A box from −1 to 1, scaled and moved; outward winding.
    fn cube(size: Vec3, at: Vec3) -> (Vec<[f32; 3]>, Vec<u32>) {
        let corner = |i: u32| {
            let s = Vec3::new((i & 1) as f32, (i >> 1 & 1) as f32, (i >> 2 & 1) as f32) * 2.0 - 1.0;
            (s * size + at).to_array()
        };
        let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let indices = quads.iter().flat_map(|q| [q[0], q[1], q[2], q[0], q[2], q[3]]).collect();
        ((0..8).map(corner).collect(), indices)
    }

    #[test]
    fn the_nearest_surface_is_picked_and_its_nearest_corner() {
        let near = cube(Vec3::splat(0.5), Vec3::new(0.0, 0.0, 3.0));
        let far = cube(Vec3::splat(2.0), Vec3::ZERO);
        let parts = [&far, &near].map(|(positions, indices)| Surface { positions, indices });
        let ray = |x: f32, y: f32| Ray { origin: Vec3::new(x, y, 10.0), direction: Vec3::new(0.0, 0.0, -2.0) };
        let picked = pick(&ray(0.3, 0.4), &parts).unwrap();
        assert_eq!((picked.part, picked.vertex), (1, 7));
        assert!((picked.point - Vec3::new(0.3, 0.4, 3.5)).length() < 1e-6);
        let picked = pick(&ray(-1.2, 1.5), &parts).unwrap();
        assert_eq!((picked.part, picked.vertex), (0, 6));
        assert_eq!(pick(&ray(2.5, 0.0), &parts), None);
        // Behind the origin nothing is met.
        assert_eq!(pick(&Ray { origin: Vec3::new(0.0, 0.0, 10.0), direction: Vec3::Z }, &parts), None);
    }

    #[test]
    fn the_middle_lies_halfway_through_the_first_body() {
        let first = cube(Vec3::new(1.0, 1.0, 0.25), Vec3::new(0.0, 0.0, 4.0));
        let second = cube(Vec3::ONE, Vec3::ZERO);
        let parts = [&second, &first].map(|(positions, indices)| Surface { positions, indices });
        // Through the diagonal of the faces too: two triangles share the edge there.
        for (x, y) in [(0.3, 0.1), (0.5, 0.5), (0.0, 0.0), (-0.25, 0.25)] {
            let ray = Ray { origin: Vec3::new(x, y, 10.0), direction: Vec3::NEG_Z };
            let found = middle(&ray, &parts).unwrap();
            assert!((found - Vec3::new(x, y, 4.0)).length() < 1e-5, "{found}");
        }
        // A sheet without a back.
        let sheet = (vec![[-1.0, -1.0, 2.0], [1.0, -1.0, 2.0], [0.0, 1.0, 2.0]], vec![0, 1, 2]);
        let sheet = [Surface { positions: &sheet.0, indices: &sheet.1 }];
        let ray = Ray { origin: Vec3::new(0.0, 0.0, 5.0), direction: Vec3::NEG_Z };
        assert_eq!(middle(&ray, &sheet), Some(Vec3::new(0.0, 0.0, 2.0)));
        assert_eq!(middle(&ray, &[]), None);
    }
}
