//! From a mesh to the rows the skin pass reads.

use super::frame::encode_frame;
use super::skin::{DELTA_ROWS, REST_ROWS, Variant};
use crate::Result;
use crate::character::{Mesh, MorphTarget};
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

/// Vertices that one thread of the skin pass takes.
pub(crate) const QUAD: usize = 4;

/// A mesh as rows of four words, as `assets` of the shader describes them: quads (four vertices in a row), then, if it has
/// morph targets, the deltas. The rows of deltas are relative to the first row until `relocate`.
#[derive(Debug)]
pub(crate) struct MeshRows {
    pub rows: Vec<[u32; QUAD]>,
    pub variant: Variant,
    pub vertex_count: u32,
    /// Rows of a quad.
    pub stride: u32,
    /// Joints a skin must have.
    pub joint_count: u32,
    pub morph_count: u32,
}

impl MeshRows {
    pub fn new(mesh: &Mesh, options: MeshOptions) -> Result<Self> {
        mesh.validate()?;
        let influences = kept_influences(mesh, options.max_influences)?;
        let joint_count = influences.entries.iter().map(|e| e.joint + 1).max().unwrap_or(1);
        let most = (0..influences.vertex_count()).map(|v| influences.of(v).len()).max().unwrap_or(1);
        let layout = InfluenceLayout::for_mesh(most, joint_count as usize, options.precision)?;
        let packed = influence::pack_ordered(&influences, layout)?;
        let words = layout.words_per_vertex() as usize;
        let lists = JointLists::new(&influence::unpack(&packed), layout.joints.bits() as usize);

        let n = mesh.positions.len();
        let quad_count = n.div_ceil(QUAD);
        let has_morphs = mesh.morphs.iter().any(|t| !t.deltas.is_empty());
        let stride = REST_ROWS as usize + words + lists.rows + usize::from(has_morphs);
        let mut rows = Vec::with_capacity(quad_count * stride);
        for quad in 0..quad_count {
            let vertices = vertices_of(quad, n);
            let frames = vertices.map(|v| encode_frame(mesh.normals[v], mesh.tangents[v]));
            rows.extend([0, 1, 2].map(|axis| vertices.map(|v| mesh.positions[v][axis].to_bits())));
            rows.extend([0, 1].map(|word| frames.map(|f| f[word])));
            rows.extend((0..words).map(|word| vertices.map(|v| packed.of(v)[word])));
            lists.append(quad, &mut rows);
            rows.extend(has_morphs.then_some([0; QUAD]));
        }
        if has_morphs {
            append_morphs(mesh, stride, &mut rows);
        }
        Ok(Self {
            // Vertices that follow one joint follow it by any method.
            variant: Variant {
                dual: options.method == Method::DualQuaternion && layout.width > 1,
                ..Variant::new(layout, has_morphs)
            },
            vertex_count: n as u32,
            stride: stride as u32,
            joint_count,
            morph_count: mesh.morphs.len() as u32,
            rows,
        })
    }

    /// Turns the ranges of deltas into ranges of the page that the rows go to, `start` the first.
    pub fn relocate(&mut self, start: u32) {
        if self.variant.morphs {
            let quads = self.vertex_count.div_ceil(QUAD as u32) * self.stride;
            for row in self.rows[..quads as usize].chunks_exact_mut(self.stride as usize) {
                let range = &mut row[self.stride as usize - 1];
                range[0] += start;
                range[1] += start;
            }
        }
    }
}

/// The vertices of a quad; what the last one lacks of four are copies of the mesh's last vertex.
fn vertices_of(quad: usize, vertex_count: usize) -> [usize; QUAD] {
    std::array::from_fn(|i| (QUAD * quad + i).min(vertex_count - 1))
}

/// For each quad the joints that any of its vertices has, ascending.
#[derive(Debug)]
struct JointLists {
    bits: usize,
    /// Rows of the longest list, its length included.
    rows: usize,
    offsets: Vec<usize>,
    joints: Vec<u32>,
}

impl JointLists {
    fn new(influences: &Influences, bits: usize) -> Self {
        let mut lists = Self { bits, rows: 0, offsets: vec![0], joints: Vec::new() };
        let mut list = Vec::with_capacity(QUAD * 8);
        let n = influences.vertex_count();
        for first in (0..n).step_by(QUAD) {
            list.clear();
            for v in first..(first + QUAD).min(n) {
                list.extend(influences.of(v).iter().map(|i| i.joint));
            }
            list.sort_unstable();
            list.dedup();
            lists.rows = lists.rows.max(((1 + list.len()) * bits).div_ceil(32 * QUAD));
            lists.joints.extend_from_slice(&list);
            lists.offsets.push(lists.joints.len());
        }
        lists
    }

    /// Number of joints, then the joints, in little-endian fields.
    fn append(&self, quad: usize, rows: &mut Vec<[u32; QUAD]>) {
        let list = &self.joints[self.offsets[quad]..self.offsets[quad + 1]];
        let first = rows.len();
        rows.resize(first + self.rows, [0; QUAD]);
        for (k, field) in std::iter::once(list.len() as u32).chain(list.iter().copied()).enumerate() {
            let word = k * self.bits / 32;
            rows[first + word / QUAD][word % QUAD] |= field << (k * self.bits % 32);
        }
    }
}

/// The mesh's influences, cleaned and pruned with the default rules. Joint ranges are checked where the skin is known.
pub(super) fn kept_influences(mesh: &Mesh, max: usize) -> Result<Influences> {
    let (clean, _) = influence::clean(&mesh.influences, u32::MAX as usize)?;
    let context = PruneContext { positions: &mesh.positions, indices: &mesh.indices, ..PruneContext::default() };
    Ok(influence::prune(&clean, &PruneOptions { max, ..PruneOptions::default() }, &context)?.influences)
}

/// Lists of deltas for each quad, targets in ascending order: the target, then x, y, z of the positions, normals and
/// tangents of its vertices, zero for those that the target leaves alone. Writes each list's range into its quad's last row.
fn append_morphs(mesh: &Mesh, stride: usize, rows: &mut Vec<[u32; QUAD]>) {
    let n = mesh.positions.len();
    let quad_count = n.div_ceil(QUAD);
    let touched = |target: &MorphTarget| {
        let mut quads: Vec<usize> = target.deltas.iter().map(|d| d.vertex as usize / QUAD).collect();
        quads.sort_unstable();
        quads.dedup();
        quads
    };
    let touched: Vec<Vec<usize>> = mesh.morphs.iter().map(touched).collect();
    let mut counts = vec![0; quad_count];
    touched.iter().flatten().for_each(|&quad| counts[quad] += 1);
    // Where the next delta of each quad goes.
    let mut next = Vec::with_capacity(quad_count);
    let mut end = rows.len();
    for (quad, count) in counts.into_iter().enumerate() {
        next.push(end);
        let first = end;
        end += count * DELTA_ROWS as usize;
        rows[(quad + 1) * stride - 1] = [first as u32, end as u32, 0, 0];
    }
    rows.resize(end, [0; QUAD]);
    for (t, (target, quads)) in mesh.morphs.iter().zip(&touched).enumerate() {
        for &quad in quads {
            rows[next[quad]][0] = t as u32;
        }
        for delta in &target.deltas {
            let vertex = delta.vertex as usize;
            let row = next[vertex / QUAD] + 1;
            // The copies of the last vertex move with it.
            let copies = if vertex + 1 == n { vertex % QUAD..QUAD } else { vertex % QUAD..vertex % QUAD + 1 };
            for (i, x) in delta.position.iter().chain(&delta.normal).chain(&delta.tangent).enumerate() {
                // A target may have several deltas for a vertex.
                let sum = f32::from_bits(rows[row + i][vertex % QUAD]) + x;
                rows[row + i][copies.clone()].fill(sum.to_bits());
            }
        }
        quads.iter().for_each(|&quad| next[quad] += DELTA_ROWS as usize);
    }
}
