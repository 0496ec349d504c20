//! Files in and out: glTF 2.0 as `.glb`, `.gltf` and `.vrm` (Khronos, glTF 2.0 specification).
//!
//! Reading goes through the same steps for every file, each of which trusts nothing the one before has not checked:
//! container → JSON → buffers (files beside the model, data URIs, meshopt) → accessors → node graph, skins, meshes,
//! clips, materials. Everything is bounded before it is allocated, and nothing recurses over the node graph.
//!
//! Writing goes three ways: [`FileEdit`] changes a copy of a file and keeps the rest of it, [`write_glb`] writes what a
//! [`Character`] holds, [`bake_glb`] its vertices in one pose.

mod accessor;
mod animation;
mod container;
mod document;
mod edit;
mod file_mesh;
mod geometry;
mod glb;
mod graph;
mod humanoid;
mod import;
mod influence_set;
mod material;
mod meshopt;
mod order;
mod primitive;
mod sidecar;
mod skin;
mod write;

use std::path::Path;

pub use edit::{FileEdit, NewNode};
pub use file_mesh::FileMesh;
pub use influence_set::{InfluenceSet, SetWeights, influence_sets, quantised_sets};
pub use order::{FilePrimitive, file_vertices};
pub use write::{bake_glb, write_glb};

use crate::{Character, Error, Result};

/// Largest file that is read, bytes.
const LARGEST_FILE: u64 = 2 << 30;

/// Reads a character from a `.glb`, `.gltf` or `.vrm` file.
///
/// Files that a `.gltf` names are read only from inside its own folder. What had to be repaired or left out is listed
/// in [`Character::warnings`].
///
/// ```no_run
/// let character = dermis::io::load("hand.glb".as_ref())?;
/// println!("{} joints, {} clips", character.rig.nodes.len(), character.clips.len());
/// # Ok::<(), dermis::Error>(())
/// ```
///
/// # Errors
/// [`Error::File`] when the file cannot be read, [`Error::Format`] naming the place in it that cannot be used.
pub fn load(path: &Path) -> Result<Character> {
    let bytes =
        sidecar::read_regular(path, LARGEST_FILE).map_err(|source| Error::File { path: path.into(), source })?;
    let name = path.file_name().map_or_else(|| "model".into(), |n| n.to_string_lossy().into_owned());
    let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
    load_bytes(&name, &bytes, &mut |uri| sidecar::read_inside(&folder, uri))
}

/// Reads a character from the bytes of a `.glb`, `.gltf` or `.vrm` file, for hosts without a file system.
///
/// `name` is the file's name, for messages and for [`Character::name`]. `fetch` is given the relative URI of each file
/// that the model names (percent-encoded as it stands there) and answers with its bytes, or says why not.
///
/// # Errors
/// [`Error::Format`] naming the place in the file that cannot be used.
pub fn load_bytes(name: &str, bytes: &[u8], fetch: &mut Fetch<'_>) -> Result<Character> {
    import::character(name, bytes, fetch)
        .map_err(|Refusal { at, problem }| Error::Format { at: format!("{name}: {at}"), problem })
}

/// Reads the file that a model names by a relative URI, or says in a few words why it cannot.
pub type Fetch<'a> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'a;

/// Why a file cannot be used: the place in it and what is wrong there.
#[derive(Debug)]
struct Refusal {
    at: String,
    problem: String,
}

impl From<Refusal> for Error {
    fn from(Refusal { at, problem }: Refusal) -> Self {
        Self::Format { at, problem }
    }
}

type Outcome<T> = std::result::Result<T, Refusal>;

fn refuse<T>(at: impl Into<String>, problem: impl Into<String>) -> Outcome<T> {
    Err(Refusal { at: at.into(), problem: problem.into() })
}

/// The element of a list that a file names, or a refusal that gives both numbers.
fn pick<'a, T>(list: &'a [T], index: usize, what: &str, at: &str) -> Outcome<&'a T> {
    match list.get(index) {
        Some(item) => Ok(item),
        None => refuse(at, format!("{what} {index} does not exist: there are {}", list.len())),
    }
}
