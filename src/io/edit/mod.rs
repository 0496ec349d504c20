//! Changes a glTF file through its JSON tree: what is not touched stays as it is, unknown extensions and extras included.

mod buffers;
mod influences;
mod pose;
mod skeleton;
mod tidy;

use std::path::Path;

use serde_json::{Map, Value};

pub use skeleton::NewNode;

use super::glb::Glb;
use super::{Fetch, LARGEST_FILE, Outcome, Refusal, container, sidecar};
use crate::{Error, Result};

/// A `.glb`, `.gltf` or `.vrm` file as a JSON tree and its bytes.
///
/// It is written as a GLB that stands alone: buffers and pictures that the file keeps beside it are moved in. Names, order,
/// indices, extras and extensions stay; accessors and bytes that only replaced influences used go, unless the file uses
/// an extension that may refer to them in ways unknown here.
#[derive(Clone, Debug)]
pub struct FileEdit {
    name: String,
    glb: Glb,
    requests: Vec<influences::Request>,
    warnings: Vec<String>,
}

impl FileEdit {
    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::File`] when it cannot be read, [`Error::Format`] when it cannot be understood.
    pub fn open(path: &Path) -> Result<Self> {
        let bytes =
            sidecar::read_regular(path, LARGEST_FILE).map_err(|source| Error::File { path: path.into(), source })?;
        let name = path.file_name().map_or_else(|| "model".into(), |n| n.to_string_lossy().into_owned());
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Self::from_bytes(&name, &bytes, &mut |uri| sidecar::read_inside(&folder, uri))
    }

    /// Reads a file's bytes; `fetch` answers with the bytes of files beside it, see [`super::load_bytes`].
    ///
    /// # Errors
    /// [`Error::Format`] when it cannot be understood.
    pub fn from_bytes(name: &str, bytes: &[u8], fetch: &mut Fetch<'_>) -> Result<Self> {
        let mut read = || {
            let parts = container::split(bytes)?;
            let fail = |e: serde_json::Error| Refusal { at: "JSON".into(), problem: e.to_string() };
            let tree: Map<String, Value> = serde_json::from_slice(parts.json).map_err(fail)?;
            let glb = Glb { tree, bin: Vec::new() };
            let mut edit = Self { name: name.into(), glb, requests: Vec::new(), warnings: Vec::new() };
            edit.gather(parts.bin, fetch)?;
            Ok(edit)
        };
        let out: Outcome<Self> = read();
        out.map_err(|r| named(name, r))
    }

    /// What could not be moved into the GLB, one line each.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Index of the mesh that a node shows.
    pub fn mesh_of(&self, node: usize) -> Option<usize> {
        self.index(&["nodes"], node, "mesh")
    }

    /// Index of the skin under which a node shows its mesh.
    pub fn skin_of(&self, node: usize) -> Option<usize> {
        self.index(&["nodes"], node, "skin")
    }

    /// Number of skins.
    pub fn skin_count(&self) -> usize {
        self.glb.tree.get("skins").and_then(Value::as_array).map_or(0, Vec::len)
    }

    /// The changed file as a GLB.
    ///
    /// # Errors
    /// [`Error::Format`] when a change does not fit the file, or the result is past 4 GiB.
    pub fn to_glb(mut self) -> Result<Vec<u8>> {
        let placed = self.place_influences();
        placed.and_then(|()| self.glb.into_bytes()).map_err(|r| named(&self.name, r))
    }

    /// The number `key` of element `index` of a list.
    fn index(&self, path: &[&str], index: usize, key: &str) -> Option<usize> {
        let (first, rest) = path.split_first()?;
        let mut value = self.glb.tree.get(*first)?;
        for step in rest {
            value = value.get(step)?;
        }
        number(value.get(index)?.get(key)?)
    }
}

fn named(name: &str, Refusal { at, problem }: Refusal) -> Error {
    Error::Format { at: format!("{name}: {at}"), problem }
}

fn number(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|n| usize::try_from(n).ok())
}

/// The elements of a list inside a value; none where it is missing.
fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}
