//! Bone influences of vertices: any number per vertex on the way in, fixed-width words on the way out.

/// Joints and weights of every vertex, any number each (a CSR list).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Influences {
    /// `vertex_count + 1` offsets into `entries`; empty for no vertices.
    pub offsets: Vec<u32>,
    /// All influences, vertex after vertex.
    pub entries: Vec<Influence>,
}

/// One joint's pull on one vertex.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Influence {
    /// Index into [`crate::character::Skin::joints`].
    pub joint: u32,
    /// Share, 0…1.
    pub weight: f32,
}

impl Influences {
    /// Every one of `vertex_count` vertices follows `joint` alone.
    pub fn rigid(vertex_count: usize, joint: u32) -> Self {
        Self {
            offsets: (0..=vertex_count as u32).collect(),
            entries: vec![Influence { joint, weight: 1.0 }; vertex_count],
        }
    }

    /// Builds the list from one slice of influences per vertex.
    pub fn from_vertices<'a>(vertices: impl IntoIterator<Item = &'a [Influence]>) -> Self {
        let mut out = Self { offsets: vec![0], entries: Vec::new() };
        for v in vertices {
            out.entries.extend_from_slice(v);
            out.offsets.push(out.entries.len() as u32);
        }
        out
    }

    /// Number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The influences of one vertex.
    pub fn of(&self, vertex: usize) -> &[Influence] {
        &self.entries[self.offsets[vertex] as usize..self.offsets[vertex + 1] as usize]
    }
}
