//! The file's own vertices, in the file's own order: what tools answer in.

use crate::Character;

/// One primitive of a file as one of its nodes shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePrimitive {
    /// Index into [`Character::parts`].
    pub part: usize,
    /// Index into the primitives of the part's mesh.
    pub primitive: usize,
    /// Index of the node in the file.
    pub node: usize,
    /// Index of the primitive in the file's mesh.
    pub index: usize,
    /// For each of the file's vertices, the (first) vertex of the part's mesh that came from it.
    pub vertices: Vec<u32>,
}

/// The primitives of a character ordered by node, then primitive: the skinned ones, or all where none is skinned.
pub fn file_vertices(character: &Character) -> Vec<FilePrimitive> {
    let skinned = character.parts.iter().any(|part| !part.rigid);
    let mut out = Vec::new();
    for (p, part) in character.parts.iter().enumerate().filter(|(_, part)| !(skinned && part.rigid)) {
        let Some(mesh) = character.meshes.get(part.mesh) else { continue };
        for (i, primitive) in mesh.primitives.iter().enumerate() {
            let start = primitive.vertices.start as u32;
            let vertices = if primitive.source.is_empty() {
                (start..primitive.vertices.end as u32).collect()
            } else {
                primitive.source.iter().map(|v| start + v).collect()
            };
            out.push(FilePrimitive { part: p, primitive: i, node: part.node, index: primitive.index, vertices });
        }
    }
    out.sort_by_key(|p| (p.node, p.index));
    out
}
