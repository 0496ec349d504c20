//! From a mesh to the words the skin pass reads.

use super::frame::encode_frame;
use super::skin::{DELTA_WORDS, REST_WORDS, Variant};
use crate::Result;
use crate::character::Mesh;
use crate::influence::{self, InfluenceLayout, Influences, Precision, PruneContext, PruneOptions};

/// How a mesh's influences are blended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Linear blend skinning: the weighted mean of the joints' maps. The cheapest, what files are authored for, and exact for
    /// any map; but the mean of two rotations is shorter than they are, so that a forearm that twists by 90° loses 3/10 of its radius
    /// half-way and at 180° collapses to a line (the "candy wrapper").
    #[default]
    Linear,
    /// Dual quaternion skinning (Kavan, Collins, Žára, O'Sullivan 2007): rotations are blended as rotations, so that twisted limbs,
    /// shoulders and hips keep their volume. Choose it for joints that twist or bend far. Its weakness is the opposite one: the outside
    /// of a strong bend (elbow, knee, above about 90°) bulges, since its vertices turn about the joint at their full distance; and past
    /// 180° between two joints of a vertex it takes the shorter way round, which shows as a jump. Joints may scale, shear and
    /// mirror: where all joints of a vertex agree, so does the result, whatever the weights, as in linear blending.
    ///
    /// Costs, beside [`Method::Linear`]: 80 bytes more of palette per joint of every character that has such a mesh, and in the kernel
    /// five rows to blend per influence instead of three. With [`super::Drive::Palette`] the rotations are factored out on the CPU: about
    /// 0.1 µs per joint that is rigid or nearly so, 2 µs where it shears; other drives carry them down the hierarchy.
    DualQuaternion,
}

/// How [`super::Skinner::add_mesh_with`] prunes, packs and skins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeshOptions {
    /// Influences kept per vertex, 1…8; a mesh that needs fewer takes a narrower kernel. Default 8.
    pub max_influences: usize,
    /// Precision of the packed weights. Default [`Precision::Compact`].
    pub precision: Precision,
    /// How influences are blended. Meshes of either kind may hang on one character. Default [`Method::Linear`].
    pub method: Method,
}

impl Default for MeshOptions {
    fn default() -> Self {
        Self { max_influences: 8, precision: Precision::Compact, method: Method::Linear }
    }
}

/// A mesh as one run of words: vertices (position, frame, influences), then, if it has morph targets, one offset per
/// vertex and one more, then the deltas. Offsets are relative to the first word until `relocate`.
#[derive(Debug)]
pub(crate) struct MeshWords {
    pub words: Vec<u32>,
    pub variant: Variant,
    pub vertex_count: u32,
    /// Words of a vertex.
    pub stride: u32,
    /// First word of the morph offsets; equal to the length without morph targets.
    pub morphs: u32,
    /// Joints a skin must have.
    pub joint_count: u32,
    pub morph_count: u32,
}

impl MeshWords {
    pub fn new(mesh: &Mesh, options: MeshOptions) -> Result<Self> {
        mesh.validate()?;
        let influences = kept_influences(mesh, options.max_influences)?;
        let joint_count = influences.entries.iter().map(|e| e.joint + 1).max().unwrap_or(1);
        let most = (0..influences.vertex_count()).map(|v| influences.of(v).len()).max().unwrap_or(1);
        let layout = InfluenceLayout::for_mesh(most, joint_count as usize, options.precision)?;
        let packed = influence::pack_ordered(&influences, layout)?;
        let influence_words = layout.words_per_vertex() as usize;

        let n = mesh.positions.len();
        let stride = REST_WORDS as usize + influence_words;
        let mut words = Vec::with_capacity(n * stride);
        for v in 0..n {
            words.extend(mesh.positions[v].map(f32::to_bits));
            words.extend(encode_frame(mesh.normals[v], mesh.tangents[v]));
            words.extend_from_slice(&packed.words[v * influence_words..(v + 1) * influence_words]);
        }
        let morphs = words.len();
        let has_morphs = mesh.morphs.iter().any(|t| !t.deltas.is_empty());
        if has_morphs {
            append_morphs(mesh, &mut words);
        }
        Ok(Self {
            // Vertices that follow one joint follow it by any method.
            variant: Variant {
                dual: options.method == Method::DualQuaternion && layout.width > 1,
                ..Variant::new(layout, has_morphs)
            },
            vertex_count: n as u32,
            stride: stride as u32,
            morphs: morphs as u32,
            joint_count,
            morph_count: mesh.morphs.len() as u32,
            words,
        })
    }

    /// Turns the morph offsets into offsets from the start of the page the words go to.
    pub fn relocate(&mut self, start: u32) {
        if self.variant.morphs {
            let offsets = self.morphs as usize..(self.morphs + self.vertex_count + 1) as usize;
            self.words[offsets].iter_mut().for_each(|word| *word += start);
        }
    }
}

/// The mesh's influences, cleaned and pruned with the default rules. Joint ranges are checked where the skin is known.
pub(super) fn kept_influences(mesh: &Mesh, max: usize) -> Result<Influences> {
    let (clean, _) = influence::clean(&mesh.influences, u32::MAX as usize)?;
    let context = PruneContext { positions: &mesh.positions, indices: &mesh.indices, ..PruneContext::default() };
    Ok(influence::prune(&clean, &PruneOptions { max, ..PruneOptions::default() }, &context)?.influences)
}

/// Per-vertex lists of (target, position, normal, tangent deltas), targets in ascending order.
fn append_morphs(mesh: &Mesh, words: &mut Vec<u32>) {
    let n = mesh.positions.len();
    let mut counts = vec![0u32; n + 1];
    for delta in mesh.morphs.iter().flat_map(|t| &t.deltas) {
        counts[delta.vertex as usize + 1] += 1;
    }
    let first = (words.len() + n + 1) as u32;
    let mut sum = 0;
    let mut next: Vec<u32> = Vec::with_capacity(n + 1);
    for count in counts {
        sum += count;
        next.push(first + sum * DELTA_WORDS);
    }
    words.extend_from_slice(&next);
    words.resize(first as usize + (sum * DELTA_WORDS) as usize, 0);
    for (t, target) in mesh.morphs.iter().enumerate() {
        for delta in &target.deltas {
            let at = next[delta.vertex as usize] as usize;
            words[at] = t as u32;
            for (i, x) in delta.position.iter().chain(&delta.normal).chain(&delta.tangent).enumerate() {
                words[at + 1 + i] = x.to_bits();
            }
            next[delta.vertex as usize] += DELTA_WORDS;
        }
    }
}
