//! Adds joints and skins to a file.

use serde_json::{Value, json};

use super::FileEdit;
use crate::io::glb::place;
use crate::io::{Outcome, Refusal};
use crate::math::{Affine, Transform};
use crate::{Error, Result};

/// A node to add to a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewNode {
    /// Its name.
    pub name: String,
    /// Index of its parent among the nodes added with it, smaller than its own.
    pub parent: Option<usize>,
    /// Transform relative to the parent.
    pub local: Transform,
    /// Applied after it: written as a matrix where it is not the identity.
    pub base: Affine,
}

impl FileEdit {
    /// Appends nodes; roots go into the file's scene. Returns the index of the first.
    ///
    /// # Errors
    /// [`Error::ParentAfterChild`]; [`Error::Format`] when the file's lists are broken.
    pub fn add_nodes(&mut self, nodes: &[NewNode]) -> Result<usize> {
        if let Some((node, n)) = nodes.iter().enumerate().find(|(i, n)| n.parent.is_some_and(|p| p >= *i)) {
            return Err(Error::ParentAfterChild { node, parent: n.parent.unwrap_or_default() });
        }
        let added = self.append_nodes(nodes);
        added.map_err(|r| super::named(&self.name, r))
    }

    fn append_nodes(&mut self, nodes: &[NewNode]) -> Outcome<usize> {
        let first = self.glb.list("nodes")?.len();
        for (i, node) in nodes.iter().enumerate() {
            let mut json = json!({ "name": node.name });
            place(&mut json, &node.local, &node.base);
            let children: Vec<usize> =
                (0..nodes.len()).filter(|&c| nodes[c].parent == Some(i)).map(|c| first + c).collect();
            if !children.is_empty() {
                json["children"] = json!(children);
            }
            self.glb.list("nodes")?.push(json);
        }
        let scene = self.glb.tree.get("scene").and_then(super::number).unwrap_or(0);
        let scenes = self.glb.list("scenes")?;
        if scenes.is_empty() {
            scenes.push(json!({}));
        }
        let Some(scene) = scenes.get_mut(scene).and_then(Value::as_object_mut) else {
            return Err(Refusal { at: "scenes".into(), problem: format!("scene {scene} does not exist") });
        };
        if let Value::Array(roots) = scene.entry("nodes").or_insert_with(|| json!([])) {
            roots.extend((0..nodes.len()).filter(|&i| nodes[i].parent.is_none()).map(|i| Value::from(first + i)));
        }
        Ok(first)
    }

    /// Appends a skin over nodes of the file and returns its index.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] when joints and inverse binds differ in number; [`Error::Format`] when the file's lists are
    /// broken.
    pub fn add_skin(&mut self, name: &str, joints: &[usize], inverse_binds: &[Affine]) -> Result<usize> {
        if joints.len() != inverse_binds.len() || joints.is_empty() {
            let (found, expected) = (inverse_binds.len(), joints.len().max(1));
            return Err(Error::LengthMismatch { what: "inverse binds", found, expected });
        }
        let added = self.glb.skin(name, joints, inverse_binds);
        added.map_err(|r| super::named(&self.name, r))
    }

    /// Shows a node's mesh under a skin.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] when there is no such node.
    pub fn set_skin(&mut self, node: usize, skin: usize) -> Result<()> {
        let nodes = self.glb.tree.get_mut("nodes").and_then(Value::as_array_mut);
        let count = nodes.as_ref().map_or(0, |n| n.len());
        match nodes.and_then(|n| n.get_mut(node)?.as_object_mut()) {
            Some(json) => {
                json.insert("skin".into(), skin.into());
                Ok(())
            }
            None => Err(Error::OutOfRange { what: "node", index: node, count }),
        }
    }
}
