//! Vertex data in the rest pose.

use std::ops::Range;

use crate::influence::{CleanReport, Influences};
use crate::{Error, Result};

/// Vertices, influences, morph targets and triangles of one mesh; several primitives share the vertex arrays.
///
/// Every vertex array is as long as `positions`, or empty where its doc says so.
#[derive(Clone, Debug, Default)]
pub struct Mesh {
    /// Name for people.
    pub name: String,
    /// Rest positions, metres.
    pub positions: Vec<[f32; 3]>,
    /// Unit rest normals.
    pub normals: Vec<[f32; 3]>,
    /// Unit rest tangents, w = ±1 the bitangent's sign. Never empty: a vertex without an authored or generated tangent
    /// has any unit vector across its normal.
    pub tangents: Vec<[f32; 4]>,
    /// Texture coordinates, sets 0 and 1; each may be empty.
    pub uvs: [Vec<[f32; 2]>; 2],
    /// Linear vertex colours; may be empty.
    pub colors: Vec<[f32; 4]>,
    /// Joints and weights of every vertex.
    pub influences: Influences,
    /// What reading had to repair in them.
    pub cleaned: CleanReport,
    /// Morph targets, sparse.
    pub morphs: Vec<MorphTarget>,
    /// Triangle list over all primitives.
    pub indices: Vec<u32>,
    /// Runs of triangles with one material; disjoint vertex ranges.
    pub primitives: Vec<Primitive>,
}

/// A run of triangles with one material.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Primitive {
    /// Index of the primitive in its file's mesh.
    pub index: usize,
    /// Its vertices in the mesh's arrays.
    pub vertices: Range<usize>,
    /// Its part of [`Mesh::indices`].
    pub indices: Range<usize>,
    /// Index into [`crate::Character::materials`].
    pub material: usize,
    /// True when the file itself has tangents (not generated, not filled in).
    pub authored_tangents: bool,
    /// For each of the *file's* vertices, the first of the mesh's vertices that came from it, relative to
    /// `vertices.start`. Empty when no vertex was split: then they are the same.
    pub source: Vec<u32>,
}

/// One morph target (glTF) or blend shape: what it adds to the vertices it touches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MorphTarget {
    /// Name for people; may be empty.
    pub name: String,
    /// Touched vertices in ascending order, each at most once.
    pub deltas: Vec<MorphDelta>,
}

/// What a morph target at weight 1 adds to one vertex.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MorphDelta {
    /// The vertex.
    pub vertex: u32,
    /// Metres.
    pub position: [f32; 3],
    /// Added to the unit normal before skinning; keeps its length.
    pub normal: [f32; 3],
    /// Added to the unit tangent before skinning; keeps its length.
    pub tangent: [f32; 3],
}

impl Mesh {
    /// Checks lengths, index ranges and finiteness. Joint ranges are checked where the skin is known.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::OutOfRange`], [`Error::NotFinite`].
    pub fn validate(&self) -> Result<()> {
        let n = self.positions.len();
        let lengths = [
            ("normals", self.normals.len()),
            ("tangents", self.tangents.len()),
            ("influences", self.influences.vertex_count()),
        ];
        let optional = [
            ("texture coordinates 0", self.uvs[0].len()),
            ("texture coordinates 1", self.uvs[1].len()),
            ("colours", self.colors.len()),
        ];
        for (what, found) in lengths.into_iter().chain(optional.into_iter().filter(|o| o.1 != 0)) {
            if found != n {
                return Err(Error::LengthMismatch { what, found, expected: n });
            }
        }
        let finite = |v: &[f32]| v.iter().all(|x| x.is_finite());
        for (what, bad) in [
            ("position of vertex", self.positions.iter().position(|v| !finite(v))),
            ("normal of vertex", self.normals.iter().position(|v| !finite(v))),
            ("tangent of vertex", self.tangents.iter().position(|v| !finite(v))),
        ] {
            if let Some(index) = bad {
                return Err(Error::NotFinite { what, index });
            }
        }
        if let Some(&index) = self.indices.iter().find(|&&i| i as usize >= n) {
            return Err(Error::OutOfRange { what: "vertex", index: index as usize, count: n });
        }
        for target in &self.morphs {
            for d in &target.deltas {
                if d.vertex as usize >= n {
                    return Err(Error::OutOfRange { what: "morphed vertex", index: d.vertex as usize, count: n });
                }
                if !(finite(&d.position) && finite(&d.normal) && finite(&d.tangent)) {
                    return Err(Error::NotFinite { what: "morph delta of vertex", index: d.vertex as usize });
                }
            }
        }
        Ok(())
    }
}
