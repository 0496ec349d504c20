//! Replaces the joints and weights of primitives.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{FileEdit, number};
use crate::influence::{Influences, Quantised};
use crate::io::{Outcome, refuse};
use crate::{Error, Result};

const U8: u32 = 5121;
const U16: u32 = 5123;
const F32: u32 = 5126;
/// `bufferView.target` of vertex data.
const ARRAY_BUFFER: u32 = 34962;

/// One JOINTS_n/WEIGHTS_n pair: four influences per vertex; unused ones are joint 0, weight 0.
#[derive(Clone, Debug, PartialEq)]
pub struct InfluenceSet {
    /// Indices into the skin's joints.
    pub joints: Vec<[u16; 4]>,
    /// Their weights; as many as `joints`.
    pub weights: SetWeights,
}

/// The weights of an [`InfluenceSet`].
#[derive(Clone, Debug, PartialEq)]
pub enum SetWeights {
    /// Units of 1/255.
    U8(Vec<[u8; 4]>),
    /// Units of 1/65535.
    U16(Vec<[u16; 4]>),
    /// Fractions.
    F32(Vec<[f32; 4]>),
}

impl InfluenceSet {
    /// A set of the same size and format in which every slot is unused.
    pub fn zeroed(&self) -> Self {
        let weights = match &self.weights {
            SetWeights::U8(w) => SetWeights::U8(vec![[0; 4]; w.len()]),
            SetWeights::U16(w) => SetWeights::U16(vec![[0; 4]; w.len()]),
            SetWeights::F32(w) => SetWeights::F32(vec![[0.0; 4]; w.len()]),
        };
        Self { joints: vec![[0; 4]; self.joints.len()], weights }
    }
}

/// Sets for the given vertices of integer weights, as few as their widest vertex needs but at least one. Totals of up to
/// 255 are stored as u8, others as u16.
///
/// # Errors
/// [`Error::OutOfRange`] for a vertex or joint that does not fit.
pub fn quantised_sets(weights: &Quantised, vertices: std::ops::Range<usize>) -> Result<Vec<InfluenceSet>> {
    let row = |v: usize| weights.of(v).iter().map(|s| (s.joint, s.units as u16));
    let sets = sets(weights.vertex_count(), vertices, row)?;
    let narrow = |w: Vec<[u16; 4]>| match weights.total {
        0..=255 => SetWeights::U8(w.into_iter().map(|w| w.map(|x| x as u8)).collect()),
        _ => SetWeights::U16(w),
    };
    Ok(sets.into_iter().map(|(joints, w)| InfluenceSet { joints, weights: narrow(w) }).collect())
}

/// Sets of f32 weights for the given vertices, as few as their widest vertex needs but at least one.
///
/// # Errors
/// [`Error::OutOfRange`] for a vertex or joint that does not fit.
pub fn influence_sets(influences: &Influences, vertices: std::ops::Range<usize>) -> Result<Vec<InfluenceSet>> {
    let row = |v: usize| influences.of(v).iter().map(|i| (i.joint, i.weight));
    let sets = sets(influences.vertex_count(), vertices, row)?;
    Ok(sets.into_iter().map(|(joints, w)| InfluenceSet { joints, weights: SetWeights::F32(w) }).collect())
}

type Rows<T> = (Vec<[u16; 4]>, Vec<[T; 4]>);

fn sets<T: Copy + Default, R: Iterator<Item = (u32, T)>>(
    count: usize,
    vertices: std::ops::Range<usize>,
    row: impl Fn(usize) -> R,
) -> Result<Vec<Rows<T>>> {
    if vertices.end > count {
        return Err(Error::OutOfRange { what: "vertex", index: vertices.end - 1, count });
    }
    let n = vertices.len();
    let empty = || (vec![[0; 4]; n], vec![[T::default(); 4]; n]);
    let mut out = vec![empty()];
    for (at, v) in vertices.enumerate() {
        for (slot, (joint, weight)) in row(v).enumerate() {
            let Ok(joint) = u16::try_from(joint) else {
                return Err(Error::OutOfRange { what: "joint", index: joint as usize, count: 1 << 16 });
            };
            if slot / 4 == out.len() {
                out.push(empty());
            }
            let (joints, weights) = &mut out[slot / 4];
            joints[at][slot % 4] = joint;
            weights[at][slot % 4] = weight;
        }
    }
    Ok(out)
}

/// New influences for one primitive.
#[derive(Clone, Debug)]
pub(super) struct Request {
    mesh: usize,
    primitive: usize,
    attributes: Vec<(String, Payload)>,
}

/// The contents of one accessor.
#[derive(Clone, Debug, PartialEq)]
struct Payload {
    component: u32,
    normalized: bool,
    count: usize,
    bytes: Vec<u8>,
}

impl Payload {
    fn joints(rows: &[[u16; 4]]) -> Self {
        let flat = rows.as_flattened();
        let narrow = flat.iter().all(|&j| j < 256);
        let bytes = if narrow {
            flat.iter().map(|&j| j as u8).collect()
        } else {
            flat.iter().flat_map(|j| j.to_le_bytes()).collect()
        };
        Self { component: if narrow { U8 } else { U16 }, normalized: false, count: rows.len(), bytes }
    }

    fn weights(weights: &SetWeights) -> Self {
        let (component, count, bytes) = match weights {
            SetWeights::U8(w) => (U8, w.len(), w.as_flattened().to_vec()),
            SetWeights::U16(w) => (U16, w.len(), w.as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect()),
            SetWeights::F32(w) => (F32, w.len(), w.as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect()),
        };
        Self { component, normalized: component != F32, count, bytes }
    }
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
        let mut attributes = Vec::new();
        for (i, set) in sets.iter().enumerate() {
            attributes.push((format!("JOINTS_{i}"), Payload::joints(&set.joints)));
            attributes.push((format!("WEIGHTS_{i}"), Payload::weights(&set.weights)));
        }
        if let Some((name, p)) = attributes.iter().find(|a| a.1.count != count) {
            return refuse(format!("{name} has {} rows, but there are {count} vertices", p.count));
        }
        self.requests.retain(|r| (r.mesh, r.primitive) != (mesh, primitive));
        self.requests.push(Request { mesh, primitive, attributes });
        Ok(())
    }

    fn primitive(&self, mesh: usize, primitive: usize) -> Option<&Value> {
        self.tree.get("meshes")?.get(mesh)?.get("primitives")?.get(primitive)
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
            None => self.append(&payload.bytes, Some(ARRAY_BUFFER))?,
            Some(view) => {
                let offset = self.append_bytes(&payload.bytes);
                let Some(json) = self.list("bufferViews")?.get_mut(view).and_then(Value::as_object_mut) else {
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
            let mut json = json!({ "bufferView": view, "componentType": payload.component });
            if payload.normalized {
                json["normalized"] = true.into();
            }
            json["count"] = payload.count.into();
            json["type"] = "VEC4".into();
            return self.push("accessors", json);
        };
        let Some(json) = self.list("accessors")?.get_mut(place).and_then(Value::as_object_mut) else {
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
