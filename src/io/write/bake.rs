//! A GLB of skinned vertices: the mesh as it stands in one pose, without joints, for any viewer.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::attributes::{Painted, Streams, check_painted};
use super::{begin, element, scene, surfaces};
use crate::character::{Mesh, Primitive};
use crate::gpu::SkinnedVertices;
use crate::io::Outcome;
use crate::io::glb::Glb;
use crate::{Character, Error, Result};

/// A GLB with every part of `character` at its skinned vertices (one per part, as [`crate::gpu::read_vertices`] gives
/// them): positions, normals, tangents where the surface needs them, texture coordinates, colours, materials and
/// pictures (as PNG).
///
/// Triangles whose vertices a joint mirrored are turned round, so that their front stays outside.
///
/// # Errors
/// [`Error::LengthMismatch`] when the vertices do not fit the parts, [`Error::NotFinite`] for a position that no file
/// can hold, [`Error::Format`] when the file would pass 4 GiB.
pub fn bake_glb(character: &Character, skinned: &[SkinnedVertices]) -> Result<Vec<u8>> {
    let (found, expected) = (skinned.len(), character.parts.len());
    if found != expected {
        return Err(Error::LengthMismatch { what: "the list of skinned parts", found, expected });
    }
    let mut glb = begin();
    let mut shared = HashMap::new();
    let mut nodes = Vec::with_capacity(skinned.len());
    for (part, vertices) in character.parts.iter().zip(skinned) {
        let mesh = element(&character.meshes, "mesh", part.mesh)?;
        let primitives = primitives(&mut glb, character, mesh, vertices, shared.entry(part.mesh).or_default())?;
        if primitives.is_empty() {
            continue;
        }
        let index = glb.push("meshes", json!({ "name": mesh.name, "primitives": primitives }))?;
        nodes.push(glb.push("nodes", json!({ "name": part.name, "mesh": index }))?);
    }
    scene(&mut glb, &character.name, &nodes);
    surfaces::put(&mut glb, character)?;
    Ok(glb.into_bytes()?)
}

/// What is written once for a mesh that several parts show.
#[derive(Default)]
struct Shared {
    painted: Painted,
    /// Index accessor of each primitive, where no triangle had to be turned.
    indices: HashMap<usize, usize>,
}

/// The primitives of one part.
fn primitives(
    glb: &mut Glb,
    character: &Character,
    mesh: &Mesh,
    vertices: &SkinnedVertices,
    shared: &mut Shared,
) -> Result<Vec<Value>> {
    let expected = mesh.positions.len();
    for (what, found) in [
        ("skinned positions", vertices.positions.len()),
        ("skinned normals", vertices.normals.len()),
        ("skinned tangents", vertices.tangents.len()),
    ] {
        if found != expected {
            return Err(Error::LengthMismatch { what, found, expected });
        }
    }
    if let Some(index) = vertices.positions.iter().position(|p| p.iter().any(|x| !x.is_finite())) {
        return Err(Error::NotFinite { what: "skinned position of vertex", index });
    }
    let drawn: Vec<_> = mesh.primitives.iter().filter(|p| !p.indices.is_empty()).collect();
    if drawn.is_empty() {
        return Ok(Vec::new());
    }
    check_painted(mesh)?;
    let mut streams = Streams::new(&vertices.positions, &vertices.normals, &vertices.tangents);
    let mut out = Vec::with_capacity(drawn.len());
    for primitive in drawn {
        let material = element(&character.materials, "material", primitive.material)?;
        let tangents = primitive.authored_tangents || material.normal_texture.is_some();
        let attributes = streams.put(glb, mesh, &mut shared.painted, &primitive.vertices, tangents)?;
        let indices = indices(glb, mesh, primitive, vertices, shared)?;
        out.push(json!({ "attributes": attributes, "indices": indices, "material": primitive.material }));
    }
    Ok(out)
}

/// The index accessor of a primitive.
fn indices(
    glb: &mut Glb,
    mesh: &Mesh,
    primitive: &Primitive,
    vertices: &SkinnedVertices,
    shared: &mut Shared,
) -> Outcome<usize> {
    // The tangent's sign carries the sign of the blended matrix's determinant.
    let mirrored = |v: u32| vertices.tangents[v as usize][3] * mesh.tangents[v as usize][3] < 0.0;
    let mut turned = false;
    let start = primitive.vertices.start as u32;
    let mut indices = Vec::with_capacity(primitive.indices.len());
    for corners in mesh.indices[primitive.indices.clone()].chunks_exact(3) {
        let [a, b, c] = [corners[0] - start, corners[1] - start, corners[2] - start];
        let turn = corners.iter().filter(|&&v| mirrored(v)).count() > 1;
        turned |= turn;
        indices.extend(if turn { [a, c, b] } else { [a, b, c] });
    }
    if !turned && let Some(&known) = shared.indices.get(&primitive.index) {
        return Ok(known);
    }
    let accessor = glb.indices(&indices, primitive.vertices.len())?;
    if !turned {
        shared.indices.insert(primitive.index, accessor);
    }
    Ok(accessor)
}
