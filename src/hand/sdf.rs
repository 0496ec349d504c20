//! Signed distances, millimetres: negative inside.

use glam::{Mat3, Vec2, Vec3};

/// A solid.
#[derive(Clone, Copy, Debug)]
pub(super) enum Solid {
    /// A cone with round ends whose cross-section may be an ellipse.
    Limb { a: Vec3, length: f32, radii: [f32; 2], to_local: Mat3, flat: f32 },
    /// An ellipsoid.
    Ellipsoid { middle: Vec3, radii: Vec3, to_local: Mat3 },
    /// A triangle with a skin of constant thickness.
    Sheet { corners: [Vec3; 3], radius: f32 },
}

/// A frame's transpose: maps to (side, along, up), `up` made square to `along`.
pub(super) fn local(along: Vec3, up: Vec3) -> Mat3 {
    let along = along.normalize_or(Vec3::Y);
    let up = (up - along * along.dot(up)).normalize_or(along.any_orthonormal_vector());
    Mat3::from_cols(along.cross(up), along, up).transpose()
}

impl Solid {
    /// A limb from `a` to `b`; along `up` it is `flat` times thinner than across.
    pub fn limb(a: Vec3, b: Vec3, radii: [f32; 2], up: Vec3, flat: f32) -> Self {
        Self::Limb { a, length: a.distance(b), radii, to_local: local(b - a, up), flat }
    }

    /// Radii are those to the side, along and up.
    pub fn ellipsoid(middle: Vec3, along: Vec3, up: Vec3, radii: Vec3) -> Self {
        Self::Ellipsoid { middle, radii, to_local: local(along, up) }
    }

    /// A sphere around it.
    pub fn bound(&self) -> (Vec3, f32) {
        match *self {
            Self::Limb { a, length, radii, to_local, .. } => {
                let along = to_local.transpose().y_axis;
                (a + along * (0.5 * length), 0.5 * length + radii[0].max(radii[1]))
            }
            Self::Ellipsoid { middle, radii, .. } => (middle, radii.max_element()),
            Self::Sheet { corners, radius } => {
                let middle = (corners[0] + corners[1] + corners[2]) / 3.0;
                (middle, corners.iter().map(|c| c.distance(middle)).fold(0.0, f32::max) + radius)
            }
        }
    }

    /// Distance; exact for round limbs and sheets, to first order where there are ellipses.
    pub fn distance(&self, p: Vec3) -> f32 {
        match *self {
            Self::Limb { a, length, radii, to_local, flat } => {
                let q = to_local * (p - a);
                let (side, up) = (q.x, q.z * flat);
                let across = (side * side + up * up).sqrt();
                let slope = (radii[0] - radii[1]) / length.max(1e-3);
                let rise = (1.0 - slope * slope).max(0.0).sqrt();
                let q = Vec2::new(across, q.y);
                let k = q.dot(Vec2::new(-slope, rise));
                let (d, n) = if k < 0.0 {
                    (q.length() - radii[0], q.normalize_or(Vec2::X))
                } else if k > rise * length {
                    let q = q - Vec2::new(0.0, length);
                    (q.length() - radii[1], q.normalize_or(Vec2::X))
                } else {
                    let n = Vec2::new(rise, slope);
                    (q.dot(n) - radii[0], n)
                };
                // The field was squashed: divide by how much steeper that made it.
                let m = (side * side + flat * flat * up * up) / (across * across).max(1e-12);
                d / (n.y * n.y + n.x * n.x * m).max(1e-6).sqrt()
            }
            Self::Ellipsoid { middle, radii, to_local } => {
                let q = to_local * (p - middle);
                let k0 = (q / radii).length();
                let k1 = (q / (radii * radii)).length();
                if k1 < 1e-9 { -radii.min_element() } else { k0 * (k0 - 1.0) / k1 }
            }
            Self::Sheet { corners: [a, b, c], radius } => nearest_in_triangle(p, a, b, c).distance(p) - radius,
        }
    }
}

/// The nearest point of a triangle (Ericson, Real-Time Collision Detection, section 5.1.5).
pub(super) fn nearest_in_triangle(p: Vec3, a: Vec3, b: Vec3, c: Vec3) -> Vec3 {
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let (d1, d2) = (ab.dot(ap), ac.dot(ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return a;
    }
    let bp = p - b;
    let (d3, d4) = (ab.dot(bp), ac.dot(bp));
    if d3 >= 0.0 && d4 <= d3 {
        return b;
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return a + ab * (d1 / (d1 - d3));
    }
    let cp = p - c;
    let (d5, d6) = (ab.dot(cp), ac.dot(cp));
    if d6 >= 0.0 && d5 <= d6 {
        return c;
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return a + ac * (d2 / (d2 - d6));
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 >= d3 && d5 >= d6 {
        return b + (c - b) * ((d4 - d3) / ((d4 - d3) + (d5 - d6)));
    }
    let sum = va + vb + vc;
    a + ab * (vb / sum) + ac * (vc / sum)
}

/// The union of two solids with a fillet where their distances differ by less than `k` (quadratic; Quilez 2013).
pub(super) fn join(a: f32, b: f32, k: f32) -> f32 {
    let h = (k - (a - b).abs()).max(0.0);
    a.min(b) - if k > 0.0 { h * h * 0.25 / k } else { 0.0 }
}

/// Takes `b` away from `a`, with a rounded edge.
pub(super) fn cut(a: f32, b: f32, k: f32) -> f32 {
    -join(-a, b, k)
}

/// Solids joined one after the other, each with its own fillet.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    solids: Vec<(Solid, f32, Vec3, f32)>,
}

impl Group {
    pub fn add(&mut self, solid: Solid, fillet: f32) {
        let (middle, radius) = solid.bound();
        self.solids.push((solid, fillet, middle, radius));
    }

    /// Joins the group to what is at distance `d` already.
    pub fn join(&self, mut d: f32, p: Vec3) -> f32 {
        for (solid, fillet, middle, radius) in &self.solids {
            // Farther than any fillet reaches nothing would change; distances to ellipses are kept from saying otherwise.
            let least = p.distance(*middle) - radius;
            if least < d + fillet {
                d = join(d, solid.distance(p).max(least), *fillet);
            }
        }
        d
    }

    /// Corners of a box around all of it.
    pub fn bounds(&self) -> (Vec3, Vec3) {
        let all = self.solids.iter();
        all.fold((Vec3::INFINITY, Vec3::NEG_INFINITY), |(low, high), s| (low.min(s.2 - s.3), high.max(s.2 + s.3)))
    }
}
