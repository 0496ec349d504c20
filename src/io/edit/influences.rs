//! Replaces the joints and weights of primitives.

use std::collections::HashMap;

use serde_json::Value;

use super::{FileEdit, number};
use crate::io::glb::ARRAY_BUFFER;
use crate::io::influence_set::{InfluenceSet, Payload};
use crate::io::{Outcome, refuse};
use crate::{Error, Result};

/// New influences for one primitive.
#[derive(Clone, Debug)]
pub(super) struct Request {
    mesh: usize,
    primitive: usize,
    attributes: Vec<(String, Payload)>,
}

fn is_influence(attribute: &str) -> bool {
    attribute.starts_with("JOINTS_") || attribute.starts_with("WEIGHTS_")
}

impl FileEdit {
    /// Replaces all JOINTS_n and WEIGHTS_n of a primitive by `sets`; sets beyond these are removed.
    ///
    /// # Errors
    /// [`Error::Format`] when the file has no such primitive, it is compressed with Draco, or the sets do not have one row
    /// per vertex.
    pub fn set_influences(&mut self, mesh: usize, primitive: usize, sets: &[InfluenceSet]) -> Result<()> {
        let at = || format!("{}: meshes[{mesh}].primitives[{primitive}]", self.name);
        let refuse = |problem: String| Err(Error::Format { at: at(), problem });
        let Some(json) = self.primitive(mesh, primitive) else { return refuse("does not exist".into()) };
        if json.get("extensions").is_some_and(|e| e.get("KHR_draco_mesh_compression").is_some()) {
            return refuse("is compressed with Draco: decompress the file first".into());
        }
        let position = json.get("attributes").and_then(|a| a.get("POSITION")).and_then(number);
        let Some(count) = position.and_then(|p| self.index(&["accessors"], p, "count")) else {
            return refuse("has no POSITION".into());
        };
        let attributes = Payload::of_sets(sets);
        if let Some((name, p)) = attributes.iter().find(|a| a.1.count != count) {
            return refuse(format!("{name} has {} rows, but there are {count} vertices", p.count));
        }
        self.requests.retain(|r| (r.mesh, r.primitive) != (mesh, primitive));
        self.requests.push(Request { mesh, primitive, attributes });
        Ok(())
    }

    fn primitive(&self, mesh: usize, primitive: usize) -> Option<&Value> {
        self.glb.tree.get("meshes")?.get(mesh)?.get("primitives")?.get(primitive)
    }

    /// Writes what [`set_influences`](Self::set_influences) asked for: into the accessors that held it where nothing else
    /// uses them, else into new ones.
    pub(super) fn place_influences(&mut self) -> Outcome<()> {
        let requests = std::mem::take(&mut self.requests);
        if requests.is_empty() {
            return Ok(());
        }
        let before = self.references();
        let covered = self.covered()?;
        // Who wants to write into which accessor.
        let mut wishes: HashMap<usize, Vec<&Payload>> = HashMap::new();
        let old = |edit: &Self, r: &Request, name: &str| {
            edit.primitive(r.mesh, r.primitive)?.get("attributes")?.get(name).and_then(number)
        };
        for r in &requests {
            for (name, payload) in &r.attributes {
                if let Some(accessor) = old(self, r, name) {
                    wishes.entry(accessor).or_default().push(payload);
                }
            }
        }
        let mut written: HashMap<usize, bool> = HashMap::new();
        for r in &requests {
            for (name, payload) in &r.attributes {
                let accessor = old(self, r, name);
                let wanted = accessor.and_then(|a| wishes.get(&a).map(|w| (a, w)));
                let alone = wanted.filter(|(a, w)| {
                    before.accessors.get(a).copied() == Some(w.len()) && w.iter().all(|&p| p == payload)
                });
                let accessor = match alone {
                    Some((a, _)) if written.insert(a, true).is_some() => a,
                    Some((a, _)) => self.write_accessor(Some(a), payload, &before)?,
                    None => self.write_accessor(None, payload, &before)?,
                };
                self.set_attribute(r, name, Some(accessor))?;
            }
            let names: Vec<String> = self
                .primitive(r.mesh, r.primitive)
                .and_then(|p| p.get("attributes")?.as_object())
                .map(|a| a.keys().filter(|k| is_influence(k)).cloned().collect())
                .unwrap_or_default();
            for name in names.iter().filter(|n| r.attributes.iter().all(|a| a.0 != **n)) {
                self.set_attribute(r, name, None)?;
            }
        }
        self.tidy(&before, covered)
    }

    fn set_attribute(&mut self, r: &Request, name: &str, accessor: Option<usize>) -> Outcome<()> {
        let attributes = self
            .glb
            .tree
            .get_mut("meshes")
            .and_then(|m| m.get_mut(r.mesh)?.get_mut("primitives")?.get_mut(r.primitive)?.get_mut("attributes"));
        match (attributes.and_then(Value::as_object_mut), accessor) {
            (Some(attributes), Some(accessor)) => attributes.insert(name.into(), accessor.into()),
            // Not swap_remove: the order of the others is the author's.
            (Some(attributes), None) => attributes.shift_remove(name),
            _ => return refuse(format!("meshes[{}].primitives[{}]", r.mesh, r.primitive), "has no attributes"),
        };
        Ok(())
    }

    /// Writes a payload into accessor `place`, or a new one.
    fn write_accessor(
        &mut self,
        place: Option<usize>,
        payload: &Payload,
        before: &super::tidy::References,
    ) -> Outcome<usize> {
        let view = place
            .and_then(|a| self.index(&["accessors"], a, "bufferView"))
            .filter(|v| before.views.get(v).copied() == Some(1));
        let view = match view {
            None => self.glb.append(&payload.bytes, Some(ARRAY_BUFFER))?,
            Some(view) => {
                let offset = self.glb.append_bytes(&payload.bytes);
                let Some(json) = self.glb.list("bufferViews")?.get_mut(view).and_then(Value::as_object_mut) else {
                    return refuse(format!("bufferViews[{view}]"), "does not exist");
                };
                json.insert("buffer".into(), 0.into());
                json.insert("byteOffset".into(), offset.into());
                json.insert("byteLength".into(), payload.bytes.len().into());
                json.insert("target".into(), ARRAY_BUFFER.into());
                json.shift_remove("byteStride");
                json.shift_remove("extensions");
                view
            }
        };
        let Some(place) = place else {
            return self.glb.push("accessors", payload.accessor(view));
        };
        let Some(json) = self.glb.list("accessors")?.get_mut(place).and_then(Value::as_object_mut) else {
            return refuse(format!("accessors[{place}]"), "does not exist");
        };
        for key in ["byteOffset", "min", "max", "sparse"] {
            json.shift_remove(key);
        }
        json.insert("bufferView".into(), view.into());
        json.insert("componentType".into(), payload.component.into());
        json.insert("count".into(), payload.count.into());
        json.insert("type".into(), "VEC4".into());
        if payload.normalized {
            json.insert("normalized".into(), true.into());
        } else {
            json.shift_remove("normalized");
        }
        Ok(place)
    }
}
