//! Who is next to whom on the surface.

/// Neighbours of each group of twins along triangle edges (a CSR list), ascending, each once.
#[derive(Clone, Debug, Default)]
pub(super) struct Edges {
    offsets: Vec<u32>,
    neighbours: Vec<u32>,
}

impl Edges {
    /// `indices`: triangles over vertices; `of`: the group of each vertex. Indices are in range, whole triangles only.
    pub fn new(indices: &[u32], of: &[u32], groups: usize) -> Self {
        let pairs = |t: &[u32]| {
            let [a, b, c] = [of[t[0] as usize], of[t[1] as usize], of[t[2] as usize]];
            [(a, b), (b, c), (c, a), (b, a), (c, b), (a, c)]
        };
        let mut ends = vec![0u32; groups + 1];
        for (a, b) in indices.chunks_exact(3).flat_map(pairs) {
            ends[a as usize + 1] += u32::from(a != b);
        }
        for g in 0..groups {
            ends[g + 1] += ends[g];
        }
        let mut at = ends.clone();
        let mut all = vec![0; ends[groups] as usize];
        for (a, b) in indices.chunks_exact(3).flat_map(pairs) {
            if a != b {
                all[at[a as usize] as usize] = b;
                at[a as usize] += 1;
            }
        }
        // Most edges came from two triangles.
        let mut offsets = Vec::with_capacity(groups + 1);
        offsets.push(0);
        let mut kept = 0usize;
        for g in 0..groups {
            let row = ends[g] as usize..ends[g + 1] as usize;
            all[row.clone()].sort_unstable();
            let start = kept;
            for i in row {
                if kept == start || all[kept - 1] != all[i] {
                    all[kept] = all[i];
                    kept += 1;
                }
            }
            offsets.push(kept as u32);
        }
        all.truncate(kept);
        Self { offsets, neighbours: all }
    }

    /// The groups one edge away.
    pub fn of(&self, group: u32) -> &[u32] {
        &self.neighbours[self.offsets[group as usize] as usize..self.offsets[group as usize + 1] as usize]
    }
}
