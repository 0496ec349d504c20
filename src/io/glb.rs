//! A GLB that is being put together: its JSON tree and the one buffer it carries.

use serde_json::{Map, Value, json};

use super::{Outcome, Refusal, container, refuse};
use crate::math::{Affine, Affine64, Transform};

/// `bufferView.target` of vertex data.
pub(super) const ARRAY_BUFFER: u32 = 34_962;
/// `bufferView.target` of indices.
pub(super) const ELEMENT_ARRAY_BUFFER: u32 = 34_963;

#[derive(Clone, Debug, Default)]
pub(super) struct Glb {
    pub tree: Map<String, Value>,
    /// Buffer 0.
    pub bin: Vec<u8>,
}

impl Glb {
    /// A top-level list, made where the file has none.
    pub fn list(&mut self, name: &str) -> Outcome<&mut Vec<Value>> {
        match self.tree.entry(name).or_insert_with(|| Value::Array(Vec::new())) {
            Value::Array(list) => Ok(list),
            _ => refuse(name, "is not a list"),
        }
    }

    /// Appends to a top-level list and returns the new element's index.
    pub fn push(&mut self, list: &str, element: Value) -> Outcome<usize> {
        let list = self.list(list)?;
        list.push(element);
        Ok(list.len() - 1)
    }

    /// Appends bytes at a multiple of 4 and returns the index of a new buffer view of them.
    pub fn append(&mut self, bytes: &[u8], target: Option<u32>) -> Outcome<usize> {
        let offset = self.append_bytes(bytes);
        let mut view = json!({ "buffer": 0, "byteOffset": offset, "byteLength": bytes.len() });
        if let Some(target) = target {
            view["target"] = target.into();
        }
        self.push("bufferViews", view)
    }

    /// Appends bytes at a multiple of 4 and returns where.
    pub fn append_bytes(&mut self, bytes: &[u8]) -> usize {
        self.pad();
        self.bin.extend_from_slice(bytes);
        self.bin.len() - bytes.len()
    }

    fn pad(&mut self) {
        self.bin.resize(self.bin.len().next_multiple_of(4), 0);
    }

    /// Appends a skin over nodes of the file; as many inverse binds as joints.
    pub fn skin(&mut self, name: &str, joints: &[usize], inverse_binds: &[Affine]) -> Outcome<usize> {
        let bytes: Vec<u8> =
            inverse_binds.iter().flat_map(|m| m.to_columns()).flatten().flat_map(f32::to_le_bytes).collect();
        let view = self.append(&bytes, None)?;
        let count = joints.len();
        let accessor = json!({ "bufferView": view, "componentType": 5126, "count": count, "type": "MAT4" });
        let accessor = self.push("accessors", accessor)?;
        self.push("skins", json!({ "name": name, "inverseBindMatrices": accessor, "joints": joints }))
    }

    /// The file's bytes.
    pub fn into_bytes(mut self) -> Outcome<Vec<u8>> {
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
        let text = serde_json::to_vec(&self.tree).map_err(fail)?;
        container::join(text, self.bin)
    }
}

/// Gives a node's JSON its transform: parts that can be animated, or a matrix where there is a base.
pub(super) fn place(node: &mut Value, local: &Transform, base: &Affine) {
    if *base == Affine::IDENTITY {
        node["rotation"] = json!(local.rotation);
        node["translation"] = json!(local.translation);
        node["scale"] = json!(local.scale);
    } else {
        let local = Affine64::from_trs(local.rotation, local.translation, local.scale);
        let matrix = Affine::from(Affine64::from(base).mul(&local)).to_columns();
        node["matrix"] = json!(matrix.as_flattened());
    }
}
