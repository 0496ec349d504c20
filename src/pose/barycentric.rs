//! Generalised barycentric coordinates: how much of each corner's pose a point in the space takes.

use glam::DVec3;

use super::hull::{self, Facet, ring};
use crate::{Error, Result};

/// Most corners of a space.
pub const MAX_CORNERS: usize = 16;
/// A point this close to a face or edge (in units of the space's diameter) has the weights of that face or edge.
pub const SNAP: f64 = 1e-7;
/// Extrapolation stops this far from the hull, in units of the space's diameter (its largest distance between corners).
pub const REACH: f64 = 4.0;

/// What a point outside the corners' hull means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outside {
    /// The weights of the hull's nearest point: all between 0 and 1.
    #[default]
    Clamp,
    /// Continues linearly from the hull's nearest point, up to [`REACH`]; weights may be negative or above 1.
    Extrapolate,
}

/// The corners of a convex polygon (2-D, 3…16) or polyhedron (3-D, 4…16), and the weights they give a point.
///
/// Inside, Wachspress' rational coordinates (Wachspress 1975; in 3-D Warren 1996), computed in a space of unit diameter.
/// They are never negative, sum to 1, reproduce the point (`Σ bᵢvᵢ = x`), are exactly the face's own on a face and the
/// edge's own on an edge, and equal area and volume ratios on a triangle and a tetrahedron. Outside, see [`Outside`].
///
/// The corners may be given in any order.
#[derive(Clone, Debug, PartialEq)]
pub struct Coordinates {
    pub(super) dimensions: usize,
    pub(super) corners: Vec<[f32; 3]>,
    /// Mean corner; the origin of the normalised space.
    pub(super) center: DVec3,
    /// 1 / diameter.
    pub(super) scale: f64,
    /// Corners, normalised.
    pub(super) points: Vec<DVec3>,
    /// `gᵢ = M⁻¹ (vᵢ − c)`, normalised.
    pub(super) gradients: Vec<DVec3>,
    /// Polygon: one, in the plane z = 0. Polyhedron: all faces.
    pub(super) facets: Vec<Facet>,
    /// Polyhedron: every corner's faces as a fan of triples.
    pub(super) fans: Vec<Fan>,
}

/// Three faces around a corner; `det` is the determinant of their normals, not negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fan {
    pub corner: usize,
    pub facets: [usize; 3],
    pub det: f64,
}

/// Where a point lies against the hull.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Inside,
    /// The nearest point of the hull is this one, in this facet.
    Facet(usize, DVec3),
    /// The nearest point of the hull is `a + (b − a)·t`.
    Edge(usize, usize, f64),
}

impl Coordinates {
    /// A space of 2 or 3 dimensions; in 2-D the third number of each corner must be 0.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for the number of dimensions or corners, [`Error::NotFinite`],
    /// [`Error::NotConvex`] when a corner is not in strictly convex position.
    pub fn new(dimensions: usize, corners: &[[f32; 3]]) -> Result<Self> {
        let least = match dimensions {
            2 => 3,
            3 => 4,
            _ => {
                let value = dimensions.to_string();
                return Err(Error::InvalidParameter { what: "number of dimensions", value, expected: "2 or 3" });
            }
        };
        let n = corners.len();
        if n < least || n > MAX_CORNERS {
            let expected = if dimensions == 2 { "3 to 16 in two dimensions" } else { "4 to 16 in three dimensions" };
            return Err(Error::InvalidParameter { what: "number of corners", value: n.to_string(), expected });
        }
        if let Some(index) = corners.iter().position(|c| !c.iter().all(|x| x.is_finite())) {
            return Err(Error::NotFinite { what: "position of corner", index });
        }
        let raw: Vec<DVec3> = corners.iter().map(|c| DVec3::from(c.map(f64::from))).collect();
        if dimensions == 2
            && let Some(corner) = raw.iter().position(|c| c.z != 0.0)
        {
            return Err(Error::NotConvex { corner, problem: "has a third number, but the space is two-dimensional" });
        }
        let center = raw.iter().sum::<DVec3>() / n as f64;
        let diameter = raw.iter().flat_map(|a| raw.iter().map(|b| a.distance(*b))).fold(0.0, f64::max);
        if diameter.is_nan() || diameter <= 0.0 {
            return Err(Error::NotConvex { corner: 0, problem: "is at the same place as all others" });
        }
        let scale = 1.0 / diameter;
        let points: Vec<DVec3> = raw.iter().map(|p| (*p - center) * scale).collect();
        let (facets, fans) = if dimensions == 2 {
            (vec![hull::polygon(&points)?], Vec::new())
        } else {
            let facets = hull::polyhedron(&points)?;
            let fans = fans(n, &facets);
            (facets, fans)
        };
        let gradients = gradients(&points, dimensions);
        let corners = corners.to_vec();
        Ok(Self { dimensions, corners, center, scale, points, gradients, facets, fans })
    }

    /// 2 or 3.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Positions of the corners, as given.
    pub fn corners(&self) -> &[[f32; 3]] {
        &self.corners
    }

    /// Largest distance between two corners.
    pub fn diameter(&self) -> f32 {
        (1.0 / self.scale) as f32
    }

    /// The flat sides: of a polygon the one, of a polyhedron all; each a list of corners, counter-clockwise as seen from
    /// outside (a polygon from +z).
    pub fn faces(&self) -> impl ExactSizeIterator<Item = &[usize]> {
        self.facets.iter().map(|f| f.corners.as_slice())
    }

    /// Moves one corner; on an error nothing has changed.
    ///
    /// # Errors
    /// Those of [`Coordinates::new`], and [`Error::OutOfRange`].
    pub fn set_corner(&mut self, corner: usize, at: [f32; 3]) -> Result<()> {
        let mut corners = self.corners.clone();
        let count = corners.len();
        *corners.get_mut(corner).ok_or(Error::OutOfRange { what: "corner", index: corner, count })? = at;
        *self = Self::new(self.dimensions, &corners)?;
        Ok(())
    }

    /// Weight of every corner at `point` (its third number is ignored in 2-D). Never NaN: a number that is not finite
    /// counts as the mean corner's.
    pub fn weights(&self, point: [f32; 3], outside: Outside) -> Vec<f32> {
        let mut out = vec![0.0; self.corners.len()];
        self.weights_into(point, outside, &mut out);
        out.into_iter().map(|w| w as f32).collect()
    }

    /// The hull's nearest point to `point`, or `point` itself when it is inside.
    pub fn clamp(&self, point: [f32; 3]) -> [f32; 3] {
        let x = self.normalised(point);
        let on = match self.locate(x) {
            Place::Inside => return if self.dimensions == 2 { [point[0], point[1], 0.0] } else { point },
            Place::Facet(_, p) => p,
            Place::Edge(a, b, t) => self.points[a].lerp(self.points[b], t),
        };
        (on / self.scale + self.center).as_vec3().to_array()
    }

    pub(super) fn weights_into(&self, point: [f32; 3], outside: Outside, out: &mut [f64]) {
        let x = self.normalised(point);
        out.fill(0.0);
        let hull_point = match self.locate(x) {
            Place::Inside => {
                if self.dimensions == 2 {
                    self.facet_weights(0, x, out);
                } else {
                    self.solid_weights(x, out);
                }
                return;
            }
            Place::Facet(facet, p) => {
                self.facet_weights(facet, p, out);
                p
            }
            Place::Edge(a, b, t) => {
                out[a] = 1.0 - t;
                out[b] = t;
                self.points[a].lerp(self.points[b], t)
            }
        };
        if outside == Outside::Extrapolate {
            let away = x - hull_point;
            let distance = away.length();
            // A point that was only snapped to the boundary keeps the boundary's exact weights.
            if distance > SNAP {
                let away = away * (REACH / distance).min(1.0);
                for (w, g) in out.iter_mut().zip(&self.gradients) {
                    *w += g.dot(away);
                }
            }
        }
    }

    pub(super) fn normalised(&self, point: [f32; 3]) -> DVec3 {
        let flat = if self.dimensions == 2 { [point[0], point[1], 0.0] } else { point };
        let mut x = DVec3::from(flat.map(f64::from));
        for axis in 0..3 {
            if !x[axis].is_finite() {
                x[axis] = self.center[axis];
            }
        }
        (x - self.center) * self.scale
    }

    /// Wachspress in one facet, product form: `wᵢ = Cᵢ Π Aⱼ` over the edges that do not touch corner i.
    fn facet_weights(&self, facet: usize, x: DVec3, out: &mut [f64]) {
        let f = &self.facets[facet];
        let n = f.corners.len();
        let v = |i: usize| self.points[f.corners[i % n]];
        // Areas in units of their mean: a product of up to 14 stays far from underflow, also in f32.
        let mut areas = [0.0; MAX_CORNERS];
        let total: f64 = (1..n - 1).map(|i| f.normal.dot((v(i) - v(0)).cross(v(i + 1) - v(0)))).sum();
        for (i, a) in areas.iter_mut().enumerate().take(n) {
            *a = (f.normal.dot((v(i) - x).cross(v(i + 1) - x)) * n as f64 / total).max(0.0);
        }
        let mut sum = 0.0;
        for i in 0..n {
            let before = (i + n - 1) % n;
            let ear = f.normal.dot((v(i) - v(before)).cross(v(i + 1) - v(i)));
            let product: f64 = (0..n).filter(|&j| j != i && j != before).map(|j| areas[j]).product();
            out[f.corners[i]] = ear * product;
            sum += ear * product;
        }
        for &c in &f.corners {
            out[c] /= sum;
        }
    }

    /// Warren's coordinates inside a polyhedron: `w = Σ det(n_f0, n_fi, n_fi+1) / (h_f0 h_fi h_fi+1)` over the faces around
    /// each corner, with the heights in units of the smallest so that nothing overflows near a face.
    fn solid_weights(&self, x: DVec3, out: &mut [f64]) {
        let height = |f: &Facet| (f.offset - f.normal.dot(x)).max(SNAP * 1e-3);
        let least = self.facets.iter().map(height).fold(f64::INFINITY, f64::min);
        let ratio = |f: usize| least / height(&self.facets[f]);
        for fan in &self.fans {
            out[fan.corner] += fan.det * ratio(fan.facets[0]) * ratio(fan.facets[1]) * ratio(fan.facets[2]);
        }
        let sum: f64 = out.iter().sum();
        out.iter_mut().for_each(|w| *w /= sum);
    }

    fn locate(&self, x: DVec3) -> Place {
        let mut best = (f64::INFINITY, Place::Inside);
        for (index, facet) in self.facets.iter().enumerate() {
            let above = if self.dimensions == 3 { facet.normal.dot(x) - facet.offset } else { 0.0 };
            if self.dimensions == 3 && above < -SNAP {
                continue;
            }
            let p = x - facet.normal * above;
            let mut inside = true;
            for (a, b) in ring(&facet.corners) {
                let (va, edge) = (self.points[a], self.points[b] - self.points[a]);
                // Distance to the edge's line, positive inside the facet.
                let reach = facet.normal.dot(edge.cross(p - va)) / edge.length();
                if reach > SNAP {
                    continue;
                }
                inside = false;
                let t = ((p - va).dot(edge) / edge.length_squared()).clamp(0.0, 1.0);
                let t = if t < SNAP {
                    0.0
                } else if t > 1.0 - SNAP {
                    1.0
                } else {
                    t
                };
                let distance = x.distance(va + edge * t);
                if distance < best.0 {
                    best = (distance, Place::Edge(a, b, t));
                }
            }
            if inside && self.dimensions == 3 && above.abs() < best.0 {
                best = (above.abs(), Place::Facet(index, p));
            }
        }
        best.1
    }
}

/// Each corner's faces in order around it, cut into triples that share the first.
fn fans(corners: usize, facets: &[Facet]) -> Vec<Fan> {
    let mut out = Vec::new();
    for corner in 0..corners {
        // From face to face across the edge that leaves the corner: the neighbour has the same edge arriving.
        let around = |f: &Facet| {
            let i = f.corners.iter().position(|&c| c == corner)?;
            let n = f.corners.len();
            Some((f.corners[(i + n - 1) % n], f.corners[(i + 1) % n]))
        };
        let mine: Vec<usize> = (0..facets.len()).filter(|&f| facets[f].corners.contains(&corner)).collect();
        let mut order = vec![mine[0]];
        while order.len() < mine.len() {
            let leaving = around(&facets[order[order.len() - 1]]).map(|(before, _)| before);
            let next =
                mine.iter().find(|&&f| !order.contains(&f) && around(&facets[f]).map(|(_, next)| next) == leaving);
            match next {
                Some(&f) => order.push(f),
                None => break,
            }
        }
        for i in 1..order.len().saturating_sub(1) {
            let triple = [order[0], order[i], order[i + 1]];
            let [a, b, c] = triple.map(|f| facets[f].normal);
            out.push(Fan { corner, facets: triple, det: a.dot(b.cross(c)).abs() });
        }
    }
    out
}

/// `gᵢ = M⁻¹ vᵢ` with `M = Σ vᵢ vᵢᵀ`, corners relative to their mean: `Σ gᵢ = 0` and `Σ vᵢ gᵢᵀ = I`.
fn gradients(points: &[DVec3], dimensions: usize) -> Vec<DVec3> {
    let mut m = glam::DMat3::ZERO;
    for p in points {
        m += glam::DMat3::from_cols(*p * p.x, *p * p.y, *p * p.z);
    }
    if dimensions == 2 {
        m.z_axis.z = 1.0;
    }
    let inverse = m.inverse();
    points.iter().map(|p| inverse * *p).collect()
}
