//! A mesh in its file's own terms: the vertices that tangents split are one again.

use std::collections::HashMap;
use std::ops::Range;

use crate::character::Mesh;
use crate::influence::Influences;

/// What a file's primitives have, vertex after vertex, in the file's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileMesh {
    /// Rest positions.
    pub positions: Vec<[f32; 3]>,
    /// Influences of every vertex.
    pub influences: Influences,
    /// Triangle list.
    pub indices: Vec<u32>,
    /// Index in the file's mesh and vertices of each primitive.
    pub primitives: Vec<(usize, Range<usize>)>,
    /// For each vertex of the [`Mesh`] (of several, one after the other), the vertex here that it came from.
    pub of_mesh: Vec<u32>,
}

impl FileMesh {
    /// Appends the vertices and primitives of another part of the same mesh of the file.
    pub fn append(&mut self, other: &Self) {
        let (first, entries) = (self.positions.len(), self.influences.entries.len() as u32);
        self.positions.extend_from_slice(&other.positions);
        self.influences.entries.extend_from_slice(&other.influences.entries);
        self.influences.offsets.extend(other.influences.offsets.iter().skip(1).map(|o| o + entries));
        self.indices.extend(other.indices.iter().map(|i| i + first as u32));
        self.of_mesh.extend(other.of_mesh.iter().map(|v| v + first as u32));
        let moved = |(index, r): &(usize, Range<usize>)| (*index, r.start + first..r.end + first);
        self.primitives.extend(other.primitives.iter().map(moved));
    }

    /// Takes back what importing split.
    pub fn new(mesh: &Mesh) -> Self {
        let mut out = Self { influences: Influences { offsets: vec![0], entries: Vec::new() }, ..Self::default() };
        out.of_mesh = vec![0; mesh.positions.len()];
        for primitive in &mesh.primitives {
            let (start, first) = (primitive.vertices.start, out.positions.len());
            let count = if primitive.source.is_empty() { primitive.vertices.len() } else { primitive.source.len() };
            // The file's vertex of each of the mesh's.
            let mut back = vec![u32::MAX; primitive.vertices.len()];
            for i in 0..count {
                let v = primitive.source.get(i).map_or(i, |&s| s as usize);
                back[v] = (first + i) as u32;
                out.positions.push(mesh.positions[start + v]);
                out.influences.entries.extend_from_slice(mesh.influences.of(start + v));
                out.influences.offsets.push(out.influences.entries.len() as u32);
            }
            if back.contains(&u32::MAX) {
                // Copies stand where their original stands and follow what it follows: which of several is all the same.
                let mut at: HashMap<[u32; 3], Vec<u32>> = HashMap::new();
                for v in first..out.positions.len() {
                    at.entry(out.positions[v].map(f32::to_bits)).or_default().push(v as u32);
                }
                for (v, slot) in back.iter_mut().enumerate().filter(|(_, b)| **b == u32::MAX) {
                    let same = at.get(&mesh.positions[start + v].map(f32::to_bits));
                    let own = mesh.influences.of(start + v);
                    let twin = same.and_then(|s| s.iter().find(|&&f| out.influences.of(f as usize) == own));
                    *slot = twin.copied().unwrap_or(first as u32);
                }
            }
            out.of_mesh[primitive.vertices.clone()].copy_from_slice(&back);
            let triangles = mesh.indices.get(primitive.indices.clone()).unwrap_or_default();
            out.indices.extend(triangles.iter().map(|&i| back[i as usize - start]));
            out.primitives.push((primitive.index, first..out.positions.len()));
        }
        out
    }
}
