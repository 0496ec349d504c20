//! Vertex attributes, morph targets and indices as buffer views and accessors.

use std::ops::Range;

use serde_json::{Map, Value, json};

use crate::character::Mesh;
use crate::io::Outcome;
use crate::io::glb::{ARRAY_BUFFER, ELEMENT_ARRAY_BUFFER, Glb};
use crate::{Error, Result};

const U16: u32 = 5123;
const U32: u32 = 5125;
const F32: u32 = 5126;

/// The vertices of a mesh, at rest or skinned, and the views they have been written to.
pub(super) struct Streams<'a> {
    positions: (&'a [[f32; 3]], Option<usize>),
    normals: (&'a [[f32; 3]], Option<usize>),
    tangents: (&'a [[f32; 4]], Option<usize>),
}

/// Views of what a pose does not change.
#[derive(Default)]
pub(super) struct Painted {
    uvs: [Option<usize>; 2],
    colors: Option<usize>,
}

impl<'a> Streams<'a> {
    pub fn new(positions: &'a [[f32; 3]], normals: &'a [[f32; 3]], tangents: &'a [[f32; 4]]) -> Self {
        Self { positions: (positions, None), normals: (normals, None), tangents: (tangents, None) }
    }

    /// The attributes of some vertices of `mesh`, all but what makes them follow joints.
    pub fn put(
        &mut self,
        glb: &mut Glb,
        mesh: &Mesh,
        painted: &mut Painted,
        vertices: &Range<usize>,
        tangents: bool,
    ) -> Outcome<Map<String, Value>> {
        let mut out = Map::new();
        let view = glb.once(&mut self.positions.1, self.positions.0)?;
        out.insert("POSITION".into(), glb.positions(view, self.positions.0, vertices)?.into());
        let view = glb.once(&mut self.normals.1, self.normals.0)?;
        out.insert("NORMAL".into(), glb.floats::<3>(view, vertices)?.into());
        if tangents {
            let view = glb.once(&mut self.tangents.1, self.tangents.0)?;
            out.insert("TANGENT".into(), glb.floats::<4>(view, vertices)?.into());
        }
        if mesh.uvs[0].is_empty() && !mesh.uvs[1].is_empty() {
            // Sets count from 0 without a gap; without a view all of it is 0.
            let zeros = json!({ "componentType": F32, "count": vertices.len(), "type": "VEC2" });
            out.insert("TEXCOORD_0".into(), glb.push("accessors", zeros)?.into());
        }
        for (set, uvs) in mesh.uvs.iter().enumerate().filter(|(_, uvs)| !uvs.is_empty()) {
            let view = glb.once(&mut painted.uvs[set], uvs)?;
            out.insert(format!("TEXCOORD_{set}"), glb.floats::<2>(view, vertices)?.into());
        }
        if !mesh.colors.is_empty() {
            let view = glb.once(&mut painted.colors, &mesh.colors)?;
            out.insert("COLOR_0".into(), glb.floats::<4>(view, vertices)?.into());
        }
        Ok(out)
    }
}

/// Checks the numbers that [`Mesh::validate`] leaves alone: no file can hold those that are none.
pub(super) fn check_painted(mesh: &Mesh) -> Result<()> {
    fn bad<const N: usize>(rows: &[[f32; N]]) -> Option<usize> {
        rows.iter().position(|row| row.iter().any(|x| !x.is_finite()))
    }
    let [first, second] = &mesh.uvs;
    match (bad(first).or_else(|| bad(second)), bad(&mesh.colors)) {
        (Some(index), _) => Err(Error::NotFinite { what: "texture coordinates of vertex", index }),
        (_, Some(index)) => Err(Error::NotFinite { what: "colour of vertex", index }),
        _ => Ok(()),
    }
}

impl Glb {
    /// The view of `rows`, written when it is first needed.
    fn once<const N: usize>(&mut self, view: &mut Option<usize>, rows: &[[f32; N]]) -> Outcome<usize> {
        match *view {
            Some(view) => Ok(view),
            None => Ok(*view.insert(self.vertices(rows)?)),
        }
    }

    /// A view of vertex attributes; several accessors may read it, so it states its stride.
    fn vertices<const N: usize>(&mut self, rows: &[[f32; N]]) -> Outcome<usize> {
        let view = self.append(bytemuck::cast_slice(rows), Some(ARRAY_BUFFER))?;
        self.list("bufferViews")?[view]["byteStride"] = (4 * N).into();
        Ok(view)
    }

    /// `N` floats for each of a primitive's vertices, from a view of the whole mesh's.
    fn floats<const N: usize>(&mut self, view: usize, vertices: &Range<usize>) -> Outcome<usize> {
        self.push(
            "accessors",
            json!({
                "bufferView": view, "byteOffset": vertices.start * N * 4, "componentType": F32,
                "count": vertices.len(), "type": format!("VEC{N}"),
            }),
        )
    }

    /// The positions of a primitive, from a view of all `rows`.
    fn positions(&mut self, view: usize, rows: &[[f32; 3]], vertices: &Range<usize>) -> Outcome<usize> {
        let accessor = self.floats::<3>(view, vertices)?;
        let (min, max) = bounds(&rows[vertices.clone()]);
        let json = &mut self.list("accessors")?[accessor];
        (json["min"], json["max"]) = (json!(min), json!(max));
        Ok(accessor)
    }

    /// The index accessor of a triangle list.
    pub(super) fn indices(&mut self, indices: &[u32], vertices: usize) -> Outcome<usize> {
        let (view, component) = self.integers(indices, vertices, Some(ELEMENT_ARRAY_BUFFER))?;
        let count = indices.len();
        let json = json!({ "bufferView": view, "componentType": component, "count": count, "type": "SCALAR" });
        self.push("accessors", json)
    }

    /// A view of numbers below `limit`, and their component type.
    fn integers(&mut self, numbers: &[u32], limit: usize, target: Option<u32>) -> Outcome<(usize, u32)> {
        // 65535 as an index would mean "restart" in 16 bits.
        if limit < 65_535 {
            let short: Vec<u16> = numbers.iter().map(|&i| i as u16).collect();
            Ok((self.append(bytemuck::cast_slice(&short), target)?, U16))
        } else {
            Ok((self.append(bytemuck::cast_slice(numbers), target)?, U32))
        }
    }

    /// The morph targets of a primitive; with `tangents` where it has them itself.
    pub(super) fn morph_targets(
        &mut self,
        mesh: &Mesh,
        vertices: &Range<usize>,
        tangents: bool,
    ) -> Outcome<Vec<Value>> {
        // Loaders expect every target to have the same attributes.
        let normals = mesh.morphs.iter().flat_map(|m| &m.deltas).any(|d| d.normal != [0.0; 3]);
        let mut out = Vec::with_capacity(mesh.morphs.len());
        for target in &mesh.morphs {
            let first = target.deltas.partition_point(|d| (d.vertex as usize) < vertices.start);
            let end = target.deltas.partition_point(|d| (d.vertex as usize) < vertices.end);
            let own = &target.deltas[first..end];
            let touched: Vec<u32> = own.iter().map(|d| d.vertex - vertices.start as u32).collect();
            let mut json = json!({});
            let rows: Vec<[f32; 3]> = own.iter().map(|d| d.position).collect();
            json["POSITION"] = self.deltas(&touched, &rows, vertices.len(), true)?.into();
            if normals {
                let rows: Vec<[f32; 3]> = own.iter().map(|d| d.normal).collect();
                json["NORMAL"] = self.deltas(&touched, &rows, vertices.len(), false)?.into();
            }
            if tangents {
                let rows: Vec<[f32; 3]> = own.iter().map(|d| d.tangent).collect();
                json["TANGENT"] = self.deltas(&touched, &rows, vertices.len(), false)?.into();
            }
            out.push(json);
        }
        Ok(out)
    }

    /// An accessor that is 0 at all but the `touched` of `count` vertices.
    fn deltas(&mut self, touched: &[u32], rows: &[[f32; 3]], count: usize, bounded: bool) -> Outcome<usize> {
        let mut json = json!({ "componentType": F32, "count": count, "type": "VEC3" });
        // A sparse row costs up to 16 bytes, a dense one 12.
        if 16 * touched.len() >= 12 * count {
            let mut dense = vec![[0.0; 3]; count];
            touched.iter().zip(rows).for_each(|(&v, row)| dense[v as usize] = *row);
            json["bufferView"] = self.vertices(&dense)?.into();
        } else if !touched.is_empty() {
            let (indices, component) = self.integers(touched, count, None)?;
            let values = self.append(bytemuck::cast_slice(rows), None)?;
            json["sparse"] = json!({
                "count": touched.len(), "indices": { "bufferView": indices, "componentType": component },
                "values": { "bufferView": values },
            });
        }
        if bounded {
            let zero = [[0.0; 3]];
            let untouched = if touched.len() < count { &zero[..] } else { &[] };
            let (min, max) = bounds(rows.iter().chain(untouched));
            (json["min"], json["max"]) = (json!(min), json!(max));
        }
        self.push("accessors", json)
    }
}

/// The least and the largest number of each column.
fn bounds<'a>(rows: impl IntoIterator<Item = &'a [f32; 3]>) -> ([f32; 3], [f32; 3]) {
    let (mut min, mut max) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for p in rows {
        for k in 0..3 {
            (min[k], max[k]) = (min[k].min(p[k]), max[k].max(p[k]));
        }
    }
    (min, max)
}
