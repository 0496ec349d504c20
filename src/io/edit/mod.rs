//! Changes a glTF file through its JSON tree: what is not touched stays as it is, unknown extensions and extras included.

mod buffers;
mod influences;
mod pose;
mod skeleton;
mod tidy;

use std::path::Path;

use serde_json::{Map, Value, json};

pub use influences::{InfluenceSet, SetWeights, influence_sets, quantised_sets};
pub use skeleton::NewNode;

use super::{Fetch, LARGEST_FILE, Outcome, Refusal, container, refuse, sidecar};
use crate::{Error, Result};

/// A `.glb`, `.gltf` or `.vrm` file as a JSON tree and its bytes.
///
/// It is written as a GLB that stands alone: buffers and pictures that the file keeps beside it are moved in. Names, order,
/// indices, extras and extensions stay; accessors and bytes that only replaced influences used go, unless the file uses
/// an extension that may refer to them in ways unknown here.
#[derive(Clone, Debug)]
pub struct FileEdit {
    name: String,
    tree: Map<String, Value>,
    bin: Vec<u8>,
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
            let mut edit =
                Self { name: name.into(), tree, bin: Vec::new(), requests: Vec::new(), warnings: Vec::new() };
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
        self.tree.get("skins").and_then(Value::as_array).map_or(0, Vec::len)
    }

    /// The changed file as a GLB.
    ///
    /// # Errors
    /// [`Error::Format`] when a change does not fit the file, or the result is past 4 GiB.
    pub fn to_glb(mut self) -> Result<Vec<u8>> {
        let name = std::mem::take(&mut self.name);
        self.finish().map_err(|r| named(&name, r))
    }

    fn finish(mut self) -> Outcome<Vec<u8>> {
        self.place_influences()?;
        self.pad();
        if !self.bin.is_empty() {
            let length = self.bin.len();
            let buffers = self.list("buffers")?;
            if buffers.is_empty() {
                buffers.push(json!({}));
            }
            match buffers[0].as_object_mut() {
                Some(buffer) => buffer.insert("byteLength".into(), length.into()),
                None => return refuse("buffers[0]", "is not an object"),
            };
        }
        let fail = |e: serde_json::Error| Refusal { at: "JSON".into(), problem: e.to_string() };
        let mut text = serde_json::to_vec(&self.tree).map_err(fail)?;
        text.resize(text.len().next_multiple_of(4), b' ');
        let bin = if self.bin.is_empty() { 0 } else { 8 + self.bin.len() };
        let total = 12 + 8 + text.len() + bin;
        let Ok(total) = u32::try_from(total) else {
            return refuse("file", format!("would have {total} bytes, more than a GLB can"));
        };
        let mut out = Vec::with_capacity(total as usize);
        out.extend(b"glTF");
        out.extend(2u32.to_le_bytes());
        out.extend(total.to_le_bytes());
        out.extend((text.len() as u32).to_le_bytes());
        out.extend(b"JSON");
        out.extend(text);
        if bin > 0 {
            out.extend((self.bin.len() as u32).to_le_bytes());
            out.extend(b"BIN\0");
            out.extend(&self.bin);
        }
        Ok(out)
    }

    /// Appends bytes at a multiple of 4 and returns the index of a new buffer view of them.
    fn append(&mut self, bytes: &[u8], target: Option<u32>) -> Outcome<usize> {
        let offset = self.append_bytes(bytes);
        let mut view = json!({ "buffer": 0, "byteOffset": offset, "byteLength": bytes.len() });
        if let Some(target) = target {
            view["target"] = target.into();
        }
        self.push("bufferViews", view)
    }

    fn append_bytes(&mut self, bytes: &[u8]) -> usize {
        self.pad();
        self.bin.extend_from_slice(bytes);
        self.bin.len() - bytes.len()
    }

    fn pad(&mut self) {
        self.bin.resize(self.bin.len().next_multiple_of(4), 0);
    }

    /// Appends to a top-level list and returns the new element's index.
    fn push(&mut self, list: &str, element: Value) -> Outcome<usize> {
        let list = self.list(list)?;
        list.push(element);
        Ok(list.len() - 1)
    }

    /// A top-level list, made where the file has none.
    fn list(&mut self, name: &str) -> Outcome<&mut Vec<Value>> {
        match self.tree.entry(name).or_insert_with(|| Value::Array(Vec::new())) {
            Value::Array(list) => Ok(list),
            _ => refuse(name, "is not a list"),
        }
    }

    /// The number `key` of element `index` of a list.
    fn index(&self, path: &[&str], index: usize, key: &str) -> Option<usize> {
        let (first, rest) = path.split_first()?;
        let mut value = self.tree.get(*first)?;
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
