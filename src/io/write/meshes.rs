//! Meshes: attributes, influences, morph targets.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use serde_json::{Value, json};

use super::attributes::{Painted, Streams, check_painted};
use super::element;
use super::nodes::{Layout, default_weights};
use crate::character::{Mesh, Primitive};
use crate::influence::clean;
use crate::io::glb::{ARRAY_BUFFER, Glb};
use crate::io::influence_set::{Payload, influence_sets};
use crate::{Character, Error, Result};

/// Primitive mode for vertices that no triangle uses.
const POINTS: u32 = 0;

/// Writes all meshes; returns the file's mesh of each part. One that is shown with and without joints is written twice,
/// over the same vertices.
pub(super) fn put(glb: &mut Glb, character: &Character, layout: &Layout) -> Result<Vec<usize>> {
    let mut written: HashMap<(usize, bool), usize> = HashMap::new();
    for (index, mesh) in character.meshes.iter().enumerate() {
        let primitives = primitives(mesh)?;
        let mut shapes = Vec::with_capacity(primitives.len());
        let mut streams = Streams::new(&mesh.positions, &mesh.normals, &mesh.tangents);
        let mut painted = Painted::default();
        for primitive in primitives.iter() {
            shapes.push(shape(glb, character, mesh, &mut streams, &mut painted, primitive)?);
        }
        let shown = |skinned: bool| {
            let mut parts = character.parts.iter().zip(&layout.skinned);
            parts.any(|(part, &s)| part.mesh == index && s == skinned)
        };
        // What no part shows yet may be shown later.
        let idle = !shown(true) && !shown(false);
        for skinned in [true, false] {
            if !(shown(skinned) || idle && skinned != character.skins.is_empty()) {
                continue;
            }
            let mut shapes = shapes.clone();
            if skinned {
                let vertices: Vec<_> = primitives.iter().map(|p| p.vertices.clone()).collect();
                follow(glb, mesh, joint_count(character, layout, index), &vertices, &mut shapes)?;
            }
            let mut json = json!({ "name": mesh.name, "primitives": shapes });
            if let Some(weights) = default_weights(character, index) {
                json["weights"] = json!(weights);
            }
            if mesh.morphs.iter().any(|m| !m.name.is_empty()) {
                let names: Vec<&str> = mesh.morphs.iter().map(|m| m.name.as_str()).collect();
                json["extras"] = json!({ "targetNames": names });
            }
            written.insert((index, skinned), glb.push("meshes", json)?);
        }
    }
    let of = |(part, &skinned): (&crate::character::Part, &bool)| written.get(&(part.mesh, skinned)).copied();
    Ok(character.parts.iter().zip(&layout.skinned).filter_map(of).collect())
}

/// The primitives with vertices, checked; a mesh that lists none is one.
fn primitives(mesh: &Mesh) -> Result<Cow<'_, [Primitive]>> {
    mesh.validate()?;
    check_painted(mesh)?;
    for m in &mesh.morphs {
        if let Some(pair) = m.deltas.windows(2).find(|d| d[0].vertex >= d[1].vertex) {
            let value = format!("{} after {}", pair[1].vertex, pair[0].vertex);
            let expected = "ascending vertices, each once";
            return Err(Error::InvalidParameter { what: "morphed vertex", value, expected });
        }
    }
    let (vertices, indices) = (mesh.positions.len(), mesh.indices.len());
    if mesh.primitives.is_empty() && vertices > 0 {
        let whole = Primitive { vertices: 0..vertices, indices: 0..indices, ..Primitive::default() };
        return Ok(Cow::Owned(vec![whole]));
    }
    for p in &mesh.primitives {
        for (what, range, count) in [
            ("end of a primitive's vertices", &p.vertices, vertices),
            ("end of a primitive's indices", &p.indices, indices),
        ] {
            if range.start > range.end || range.end > count {
                return Err(Error::OutOfRange { what, index: range.end.max(range.start), count: count + 1 });
            }
        }
        let own = &mesh.indices[p.indices.clone()];
        if let Some(&v) = own.iter().find(|&&v| !p.vertices.contains(&(v as usize))) {
            let (index, count) = (v as usize, p.vertices.end);
            return Err(Error::OutOfRange { what: "vertex of a primitive", index, count });
        }
    }
    Ok(Cow::Owned(mesh.primitives.iter().filter(|p| !p.vertices.is_empty()).cloned().collect()))
}

/// A primitive without joints.
fn shape(
    glb: &mut Glb,
    character: &Character,
    mesh: &Mesh,
    streams: &mut Streams<'_>,
    painted: &mut Painted,
    primitive: &Primitive,
) -> Result<Value> {
    let vertices = &primitive.vertices;
    let material = match mesh.primitives.is_empty() {
        true => None,
        false => Some(element(&character.materials, "material", primitive.material)?),
    };
    let bent = |d: &crate::character::MorphDelta| d.tangent != [0.0; 3] && vertices.contains(&(d.vertex as usize));
    let triangles = primitive.indices.len() / 3;
    let tangents = triangles > 0
        && (primitive.authored_tangents
            || material.is_some_and(|m| m.normal_texture.is_some())
            || mesh.morphs.iter().flat_map(|m| &m.deltas).any(bent));
    let mut json = json!({ "attributes": streams.put(glb, mesh, painted, vertices, tangents)? });
    if triangles > 0 {
        let start = vertices.start as u32;
        let corners = &mesh.indices[primitive.indices.start..][..3 * triangles];
        let indices: Vec<u32> = corners.iter().map(|v| v - start).collect();
        json["indices"] = glb.indices(&indices, vertices.len())?.into();
    } else {
        json["mode"] = POINTS.into();
    }
    if material.is_some() {
        json["material"] = primitive.material.into();
    }
    let targets = glb.morph_targets(mesh, vertices, tangents)?;
    if !targets.is_empty() {
        json["targets"] = targets.into();
    }
    Ok(json)
}

/// Joints of the smallest skin that shows a mesh; of the largest of all where none does.
fn joint_count(character: &Character, layout: &Layout, mesh: usize) -> usize {
    let users = character.parts.iter().zip(&layout.skinned).filter(|(part, skinned)| part.mesh == mesh && **skinned);
    let least = users.map(|(part, _)| character.skins[part.skin].joints.len()).min();
    least.or_else(|| character.skins.iter().map(|s| s.joints.len()).max()).unwrap_or(0)
}

/// Gives primitives their joints and weights.
fn follow(
    glb: &mut Glb,
    mesh: &Mesh,
    joint_count: usize,
    vertices: &[Range<usize>],
    shapes: &mut [Value],
) -> Result<()> {
    let (influences, _) = clean(&mesh.influences, joint_count)?;
    let mut sets = vertices.iter().map(|v| influence_sets(&influences, v.clone())).collect::<Result<Vec<_>>>()?;
    // All primitives of a mesh have as many sets as the widest.
    let most = sets.iter().map(Vec::len).max().unwrap_or(0);
    for (sets, shape) in sets.iter_mut().zip(shapes) {
        while let Some(last) = sets.last().filter(|_| sets.len() < most) {
            sets.push(last.zeroed());
        }
        for (name, payload) in Payload::of_sets(sets) {
            let view = glb.append(&payload.bytes, Some(ARRAY_BUFFER))?;
            shape["attributes"][name] = glb.push("accessors", payload.accessor(view))?.into();
        }
    }
    Ok(())
}
