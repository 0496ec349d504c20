//! Geometry that files leave out: triangle lists, normals, tangents.

use std::collections::HashMap;

use bevy_mikktspace::{Geometry, TangentSpace, generate_tangents};
use glam::{DVec3, Vec3};

/// How a primitive's indices are to be read (glTF 2.0, section 3.7.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topology {
    List,
    Strip,
    Fan,
}

/// A triangle list from any of the three; whole triangles only.
pub(super) fn triangle_list(topology: Topology, indices: Vec<u32>) -> Vec<u32> {
    match topology {
        Topology::List => {
            let mut list = indices;
            list.truncate(list.len() / 3 * 3);
            list
        }
        // Every other triangle of a strip runs the other way round.
        Topology::Strip => {
            let corners = |(i, w): (usize, &[u32])| if i % 2 == 0 { [w[0], w[1], w[2]] } else { [w[0], w[2], w[1]] };
            indices.windows(3).enumerate().flat_map(corners).collect()
        }
        Topology::Fan => {
            let Some((&first, rest)) = indices.split_first() else { return Vec::new() };
            rest.windows(2).flat_map(|w| [w[0], w[1], first]).collect()
        }
    }
}

/// Smooth unit normals, weighted by area. With `weld`, vertices at the same position share theirs, so that a texture
/// seam does not show. A vertex without area gets +Z.
pub(super) fn smooth_normals(positions: &[[f32; 3]], triangles: &[u32], weld: bool) -> Vec<[f32; 3]> {
    let mut slots: Vec<u32> = (0..positions.len() as u32).collect();
    if weld {
        let mut first = HashMap::with_capacity(positions.len());
        for (i, p) in positions.iter().enumerate() {
            // + 0.0 makes −0 and 0 the same bits.
            slots[i] = *first.entry(p.map(|x| (x + 0.0).to_bits())).or_insert(i as u32);
        }
    }
    let mut sums = vec![DVec3::ZERO; positions.len()];
    for corners in triangles.chunks_exact(3) {
        let [a, b, c] = [0, 1, 2].map(|k| DVec3::from(positions[corners[k] as usize].map(f64::from)));
        // Twice the area, along the normal.
        let normal = (b - a).cross(c - a);
        for &corner in corners {
            sums[slots[corner as usize] as usize] += normal;
        }
    }
    let unit = |&slot: &u32| sums[slot as usize].normalize_or(DVec3::Z).as_vec3().to_array();
    slots.iter().map(unit).collect()
}

/// Some unit tangent across a unit normal.
pub(super) fn any_tangent(normal: [f32; 3]) -> [f32; 4] {
    let t = Vec3::from(normal).try_normalize().unwrap_or(Vec3::Z).any_orthonormal_vector();
    [t.x, t.y, t.z, 1.0]
}

/// MikkTSpace tangents (Mikkelsen 2008) of every triangle corner, w = the bitangent's sign; `None` where there is none,
/// and nothing at all where the algorithm refuses the mesh.
pub(super) fn corner_tangents(
    positions: &[[f32; 3]],
    normals: &[[f32; 3]],
    uvs: &[[f32; 2]],
    triangles: &[u32],
) -> Vec<Option<[f32; 4]>> {
    let tangents = vec![None; triangles.len()];
    let mut corners = Corners { positions, normals, uvs, triangles, tangents };
    match generate_tangents(&mut corners) {
        Ok(()) => corners.tangents,
        Err(_) => vec![None; triangles.len()],
    }
}

struct Corners<'a> {
    positions: &'a [[f32; 3]],
    normals: &'a [[f32; 3]],
    uvs: &'a [[f32; 2]],
    triangles: &'a [u32],
    tangents: Vec<Option<[f32; 4]>>,
}

impl Corners<'_> {
    fn vertex(&self, face: usize, corner: usize) -> usize {
        self.triangles[3 * face + corner] as usize
    }
}

impl Geometry for Corners<'_> {
    fn num_faces(&self) -> usize {
        self.triangles.len() / 3
    }

    fn num_vertices_of_face(&self, _face: usize) -> usize {
        3
    }

    fn position(&self, face: usize, corner: usize) -> [f32; 3] {
        self.positions[self.vertex(face, corner)]
    }

    fn normal(&self, face: usize, corner: usize) -> [f32; 3] {
        self.normals[self.vertex(face, corner)]
    }

    fn tex_coord(&self, face: usize, corner: usize) -> [f32; 2] {
        self.uvs[self.vertex(face, corner)]
    }

    fn set_tangent(&mut self, space: Option<TangentSpace>, face: usize, corner: usize) {
        // glTF's v points down, MikkTSpace's up: the sign turns round (as in three.js and Blender's exporter).
        self.tangents[3 * face + corner] = space.and_then(|space| {
            let [x, y, z, sign] = space.tangent_encoded();
            let unit = Vec3::new(x, y, z).try_normalize()?;
            Some([unit.x, unit.y, unit.z, -sign])
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_and_fans_keep_their_winding() {
        assert_eq!(triangle_list(Topology::Strip, vec![0, 1, 2, 3, 4]), [0, 1, 2, 1, 3, 2, 2, 3, 4]);
        assert_eq!(triangle_list(Topology::Fan, vec![0, 1, 2, 3]), [1, 2, 0, 2, 3, 0]);
        assert_eq!(triangle_list(Topology::List, vec![0, 1, 2, 3]), [0, 1, 2]);
        assert_eq!(triangle_list(Topology::Strip, vec![0, 1]), [0_u32; 0]);
        assert_eq!(triangle_list(Topology::Fan, vec![]), [0_u32; 0]);
    }

    #[test]
    fn normals_are_smooth_across_a_seam_and_flat_without_welding() {
        // Two faces at a right angle along the x axis, their shared edge stored twice; the second has twice the area.
        let positions =
            [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, -2.0, 0.0]];
        let triangles = [0, 1, 2, 3, 5, 4];
        let welded = smooth_normals(&positions, &triangles, true);
        let expected = Vec3::new(0.0, 1.0, 2.0).normalize();
        assert!(Vec3::from(welded[0]).distance(expected) < 1e-6, "{:?}", welded[0]);
        assert_eq!(welded[0], welded[3]);
        let flat = smooth_normals(&positions, &triangles, false);
        assert_eq!(flat[0], [0.0, 1.0, 0.0]);
        assert_eq!(flat[3], [0.0, 0.0, 1.0]);
    }

    #[test]
    fn tangents_follow_u_and_carry_the_bitangents_sign() {
        // u along +x, v down along −y, as glTF has it: bitangent = (0, 1, 0) = n × t · w, so w = +1... of (z × x = y).
        let positions = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let uvs = [[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]];
        let got = corner_tangents(&positions, &[[0.0, 0.0, 1.0]; 3], &uvs, &[0, 1, 2]);
        assert_eq!(got, vec![Some([1.0, 0.0, 0.0, 1.0]); 3]);
    }
}
