//! Influences as glTF's vertex attributes: JOINTS_n and WEIGHTS_n.

use serde_json::{Value, json};

use crate::influence::{Influences, Quantised};
use crate::{Error, Result};

const U8: u32 = 5121;
const U16: u32 = 5123;
const F32: u32 = 5126;

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

/// The contents of the accessor of one attribute.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Payload {
    pub component: u32,
    pub normalized: bool,
    pub count: usize,
    pub bytes: Vec<u8>,
}

impl Payload {
    /// The two attributes of each set, by name.
    pub fn of_sets(sets: &[InfluenceSet]) -> Vec<(String, Self)> {
        let both = |(i, set): (usize, &InfluenceSet)| {
            let (joints, weights) = (Self::joints(&set.joints), Self::weights(&set.weights));
            [(format!("JOINTS_{i}"), joints), (format!("WEIGHTS_{i}"), weights)]
        };
        sets.iter().enumerate().flat_map(both).collect()
    }

    /// The accessor of these contents in a buffer view of their own.
    pub fn accessor(&self, view: usize) -> Value {
        let mut json = json!({ "bufferView": view, "componentType": self.component });
        if self.normalized {
            json["normalized"] = true.into();
        }
        json["count"] = self.count.into();
        json["type"] = "VEC4".into();
        json
    }

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
