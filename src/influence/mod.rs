//! Bone influences of vertices: any number per vertex on the way in, fixed-width words on the way out.
//!
//! [`clean`] what a file says, [`prune`](prune()) it to a few per vertex, [`pack`](pack()) it into words.

pub mod bind;
mod clean;
mod compare;
mod edges;
mod edit;
mod measure;
mod neighbours;
mod pack;
mod pair_search;
mod prune;
mod quantise;
mod report;
mod symmetry;
#[cfg(test)]
pub(crate) mod test_random;
mod ties;
mod twins;

pub use clean::{CleanReport, clean};
pub use compare::variation;
pub use edit::Editor;
pub use measure::{Displacement, Moving, displacement, displacements, displacements_in};
pub use pack::{InfluenceLayout, JointFormat, PackedInfluences, Precision, pack, pack_ordered, unpack};
pub use prune::{PruneContext, PruneOptions, PruneReport, Pruned, Redistribute, Ties, prune};
pub use quantise::{Quantised, Share, quantise};
pub use report::Report;
pub use symmetry::Symmetry;
pub use ties::TieCounts;

use crate::{Error, Result};

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

    /// Checks that the offsets ascend and end with the entries.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::OutOfRange`].
    pub fn validate(&self) -> Result<()> {
        let (found, expected) = (self.entries.len(), self.offsets.last().map_or(0, |&o| o as usize));
        if found != expected || self.offsets.first().is_some_and(|&o| o != 0) {
            return Err(Error::LengthMismatch { what: "the list of influences", found, expected });
        }
        match self.offsets.windows(2).find(|w| w[0] > w[1]) {
            Some(w) => Err(Error::OutOfRange { what: "influence offset", index: w[0] as usize, count: w[1] as usize }),
            None => Ok(()),
        }
    }

    /// The largest number of influences of any vertex.
    pub fn max_per_vertex(&self) -> usize {
        self.offsets.windows(2).map(|w| (w[1] - w[0]) as usize).max().unwrap_or(0)
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

impl Influences {
    pub(crate) fn of_mut(&mut self, vertex: usize) -> &mut [Influence] {
        &mut self.entries[self.offsets[vertex] as usize..self.offsets[vertex + 1] as usize]
    }
}

/// The weight in units of 2⁻²⁰: weights that agree in these are a tie.
pub(crate) fn snap(weight: f32) -> i64 {
    // Weights are not negative: cutting off after adding a half rounds.
    (f64::from(weight) * f64::from(1 << 20) + 0.5) as i64
}
