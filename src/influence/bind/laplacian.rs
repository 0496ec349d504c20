//! The cotangent Laplacian of a triangle soup (Pinkall & Polthier 1993), and which vertices of it are one.

use std::collections::HashMap;

use glam::DVec3;

/// Cotangents beyond this come from triangles without area: 0.06° corners.
const LARGEST_COTANGENT: f64 = 1e3;

/// A surface whose seams are closed.
pub(super) struct Surface {
    /// Place of each vertex.
    pub of: Vec<u32>,
    pub positions: Vec<DVec3>,
    pub triangles: Vec<[u32; 3]>,
    /// Lumped area of each place: a third of its triangles'.
    pub areas: Vec<f64>,
    /// Connected component of each place.
    pub component: Vec<u32>,
    pub components: usize,
    /// Triangles without area, left out.
    pub degenerate: usize,
    /// Edges with more than two triangles.
    pub non_manifold: usize,
}

impl Surface {
    /// Welds vertices at exactly the same position where all of them lie on an open edge (or on no edge): the two sides of a
    /// UV seam do, lips and touching shells do not.
    pub fn new(positions: &[DVec3], indices: &[u32]) -> Self {
        let edges = |t: [u32; 3]| [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])].map(|(a, b)| (a.min(b), a.max(b)));
        let triples = || indices.as_chunks::<3>().0.iter().copied();
        let count = |of: &dyn Fn(u32) -> u32| {
            let mut count: HashMap<(u32, u32), u32> = HashMap::new();
            for e in
                triples().map(|t| t.map(of)).filter(|t| t[0] != t[1] && t[1] != t[2] && t[2] != t[0]).flat_map(edges)
            {
                *count.entry(e).or_default() += 1;
            }
            count
        };
        let raw = count(&|v| v);
        let mut open = vec![true; positions.len()];
        raw.keys().for_each(|e| [e.0, e.1].into_iter().for_each(|v| open[v as usize] = false));
        for (e, _) in raw.iter().filter(|(_, n)| **n == 1) {
            [e.0, e.1].into_iter().for_each(|v| open[v as usize] = true);
        }
        let mut first: HashMap<[u64; 3], u32> = HashMap::new();
        let mut of = Vec::with_capacity(positions.len());
        let mut places = Vec::new();
        for (v, &p) in positions.iter().enumerate() {
            let mut new = || {
                places.push(p);
                places.len() as u32 - 1
            };
            let key = p.to_array().map(|x| (x + 0.0).to_bits());
            of.push(if open[v] { *first.entry(key).or_insert_with(new) } else { new() });
        }
        let non_manifold = count(&|v| of[v as usize]).values().filter(|&&n| n > 2).count();
        let (mut triangles, mut areas, mut degenerate) = (Vec::new(), vec![0.0; places.len()], 0);
        let mut root: Vec<u32> = (0..places.len() as u32).collect();
        for t in triples().map(|t| t.map(|v| of[v as usize])) {
            let [a, b, c] = t.map(|v| places[v as usize]);
            let area = (b - a).cross(c - a).length() / 2.0;
            // Even a triangle without area connects what it touches.
            for (x, y) in [(t[0], t[1]), (t[1], t[2])] {
                let (x, y) = (find(&mut root, x), find(&mut root, y));
                root[x.max(y) as usize] = x.min(y);
            }
            if area == 0.0 || area.is_nan() {
                degenerate += 1;
                continue;
            }
            t.iter().for_each(|&v| areas[v as usize] += area / 3.0);
            triangles.push(t);
        }
        let mut component = vec![0; places.len()];
        let mut components = 0;
        for v in 0..places.len() as u32 {
            let r = find(&mut root, v);
            if r == v {
                component[v as usize] = components;
                components += 1;
            } else {
                component[v as usize] = component[r as usize];
            }
        }
        let components = components as usize;
        Self { of, positions: places, triangles, areas, component, components, degenerate, non_manifold }
    }

    /// Off-diagonal weights (a, b, ½(cot α + cot β)) of every triangle's edges, to be summed.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32, f64)> + '_ {
        self.triangles.iter().flat_map(|&t| {
            [(0, 1, 2), (1, 2, 0), (2, 0, 1)].map(|(i, j, opposite)| {
                let [a, b, c] = [i, j, opposite].map(|k| self.positions[t[k] as usize]);
                let (u, v) = (a - c, b - c);
                let cotangent = u.dot(v) / u.cross(v).length();
                (t[i], t[j], 0.5 * cotangent.clamp(-LARGEST_COTANGENT, LARGEST_COTANGENT))
            })
        })
    }
}

fn find(root: &mut [u32], mut v: u32) -> u32 {
    while root[v as usize] != v {
        root[v as usize] = root[root[v as usize] as usize];
        v = root[v as usize];
    }
    v
}
