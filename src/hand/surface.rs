//! The implicit hand as triangles: surface nets, then vertices moved along the surface until triangles are well shaped.

use fast_surface_nets::ndshape::RuntimeShape;
use fast_surface_nets::{SurfaceNetsBuffer, surface_nets};
use glam::Vec3;

use super::field::Field;

/// A closed surface, millimetres.
#[derive(Clone, Debug, Default)]
pub(super) struct Surface {
    pub positions: Vec<Vec3>,
    pub normals: Vec<Vec3>,
    /// Counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
}

/// Samples of a side of the blocks that are skipped where they are far from the surface.
const BLOCK: usize = 4;

impl Surface {
    /// `cell`: the grid's spacing, about the length of an edge.
    pub fn new(field: &Field, cell: f32) -> Self {
        let mut out = Self::default();
        // Where the surface passes a cell twice, surface nets make edges of four triangles: another place for the grid helps.
        for shift in 0..8 {
            out = Self::nets(field, cell, cell * (2.5 + 0.11 * shift as f32));
            if out.is_closed() {
                break;
            }
        }
        out.relax(field, 8);
        out
    }

    fn nets(field: &Field, cell: f32, margin: f32) -> Self {
        let (low, high) = field.bounds();
        let low = low - margin;
        let size = ((high + margin - low) / cell).ceil();
        let size = [size.x, size.y, size.z].map(|s| s as usize + 1);
        let samples = sample(field, low, cell, size);
        let shape = RuntimeShape::<u32, 3>::new(size.map(|s| s as u32));
        let mut buffer = SurfaceNetsBuffer::default();
        surface_nets(&samples, &shape, [0; 3], size.map(|s| s as u32 - 1), &mut buffer);
        Self {
            positions: buffer.positions.iter().map(|&p| low + Vec3::from(p) * cell).collect(),
            normals: Vec::new(),
            triangles: buffer.indices.chunks_exact(3).map(|t| [t[0], t[1], t[2]]).collect(),
        }
    }

    /// True when every edge has two triangles that run along it in opposite directions.
    pub fn is_closed(&self) -> bool {
        let edges = self.triangles.iter().flat_map(|t| [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])]);
        let mut edges: Vec<(u32, u32)> = edges.collect();
        edges.sort_unstable();
        let single = edges.windows(2).all(|w| w[0] != w[1]);
        single && edges.iter().all(|&(a, b)| edges.binary_search(&(b, a)).is_ok())
    }

    /// Moves vertices towards the middle of their neighbours along the surface, then onto it.
    fn relax(&mut self, field: &Field, rounds: usize) {
        let neighbours = neighbours(self.positions.len(), &self.triangles);
        for p in &mut self.positions {
            *p = on_surface(field, *p, 2);
        }
        for _ in 0..rounds {
            let old = self.positions.clone();
            for (i, p) in self.positions.iter_mut().enumerate() {
                let around = &neighbours[i];
                let mean = around.iter().map(|&n| old[n as usize]).sum::<Vec3>() / around.len().max(1) as f32;
                let n = field.gradient(*p, 0.3).normalize_or(Vec3::Y);
                let step = mean - *p;
                *p = on_surface(field, *p + 0.6 * (step - n * n.dot(step)), 1);
            }
        }
        for p in &mut self.positions {
            *p = on_surface(field, *p, 2);
        }
        self.normals = self.positions.iter().map(|&p| field.gradient(p, 0.4).normalize_or(Vec3::Y)).collect();
    }
}

/// Newton's steps to the surface.
fn on_surface(field: &Field, mut p: Vec3, steps: usize) -> Vec3 {
    for _ in 0..steps {
        let g = field.gradient(p, 0.1);
        p -= g * (field.distance(p) / g.length_squared().max(0.25));
    }
    p
}

/// Samples the field; where a whole block is far from the surface, its middle stands for it.
fn sample(field: &Field, low: Vec3, cell: f32, size: [usize; 3]) -> Vec<f32> {
    let at = |x: usize, y: usize, z: usize| low + Vec3::new(x as f32, y as f32, z as f32) * cell;
    let mut out = vec![0.0; size[0] * size[1] * size[2]];
    let blocks = size.map(|s| s.div_ceil(BLOCK));
    let reach = cell * BLOCK as f32 * 1.5;
    for block in 0..blocks[0] * blocks[1] * blocks[2] {
        let from =
            [block % blocks[0], block / blocks[0] % blocks[1], block / (blocks[0] * blocks[1])].map(|b| b * BLOCK);
        let to: [usize; 3] = std::array::from_fn(|k| (from[k] + BLOCK).min(size[k]));
        let middle = at(from[0], from[1], from[2]) + Vec3::splat(0.5 * cell * (BLOCK - 1) as f32);
        let d = field.distance(middle);
        let far = d.abs() > reach;
        for z in from[2]..to[2] {
            for y in from[1]..to[1] {
                for x in from[0]..to[0] {
                    let value = if far { d } else { field.distance(at(x, y, z)) };
                    out[x + size[0] * (y + size[1] * z)] = value;
                }
            }
        }
    }
    out
}

/// The vertices that share an edge with each vertex, ascending.
pub(super) fn neighbours(count: usize, triangles: &[[u32; 3]]) -> Vec<Vec<u32>> {
    let mut out = vec![Vec::new(); count];
    for t in triangles {
        for k in 0..3 {
            let (a, b) = (t[k], t[(k + 1) % 3]);
            out[a as usize].push(b);
            out[b as usize].push(a);
        }
    }
    for n in &mut out {
        n.sort_unstable();
        n.dedup();
    }
    out
}
