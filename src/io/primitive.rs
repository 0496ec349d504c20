//! One primitive's vertices, as the file states them and with what it leaves out filled in.

use std::collections::HashMap;

use gltf::json::accessor::{ComponentType, Type};
use gltf::json::mesh::{Mode, Primitive as Json, Semantic};
use gltf::json::validation::Checked;

use super::accessor::Accessor;
use super::document::{Document, number};
use super::geometry::{Topology, any_tangent, corner_tangents, smooth_normals, triangle_list};
use super::graph::{ROUNDING, s_are};
use super::{Outcome, refuse};
use crate::character::MorphDelta;
use crate::influence::{Influence, Influences};

/// Vertices and triangles of one primitive, indices from 0.
#[derive(Default)]
pub(super) struct Vertices {
    pub positions: Vec<[f32; 3]>,
    pub normals: Vec<[f32; 3]>,
    pub tangents: Vec<[f32; 4]>,
    pub authored_tangents: bool,
    pub uvs: [Vec<[f32; 2]>; 2],
    pub colors: Vec<[f32; 4]>,
    /// As the file has them, empty for rigid primitives.
    pub influences: Influences,
    pub morphs: Vec<Vec<MorphDelta>>,
    pub indices: Vec<u32>,
    /// First vertex of each of the file's; empty when none was split.
    pub source: Vec<u32>,
}

/// The accessor of an attribute, if the primitive has it.
fn attribute(json: &Json, semantic: Semantic) -> Option<usize> {
    json.attributes.get(&Checked::Valid(semantic)).map(|&a| number(a))
}

/// True when the primitive says which joints it follows.
pub(super) fn has_influences(json: &Json) -> bool {
    [Semantic::Joints(0), Semantic::Weights(0)].into_iter().all(|s| attribute(json, s).is_some())
}

/// Reads a primitive. `tangents_for`: the texture coordinates that its normal map needs tangents for.
pub(super) fn read(
    document: &Document<'_>,
    json: &Json,
    skinned: bool,
    tangents_for: Option<usize>,
    at: &str,
) -> Outcome<Option<Vertices>> {
    let Some(positions) = attribute(json, Semantic::Positions) else {
        document.warn(format!("{at} has no POSITION: left out"));
        return Ok(None);
    };
    let positions = Accessor::open(document, positions, None)?;
    if positions.component == ComponentType::U32 {
        return refuse(at, "POSITION must be f32 or, quantised, 8- or 16-bit");
    }
    let mut out = Vertices { positions: positions.rows()?, ..Vertices::default() };
    let n = out.positions.len();
    if let Some(vertex) = out.positions.iter().position(|p| p.iter().any(|x| !x.is_finite())) {
        return refuse(at, format!("position of vertex {vertex} is not finite"));
    }
    for (set, uvs) in out.uvs.iter_mut().enumerate() {
        if let Some(accessor) = attribute(json, Semantic::TexCoords(set as u32)) {
            *uvs = Accessor::open(document, accessor, Some(n))?.rows()?;
            make_finite(uvs);
        }
    }
    if let Some(accessor) = attribute(json, Semantic::Colors(0)) {
        out.colors = colors(&Accessor::open(document, accessor, Some(n))?)?;
        make_finite(&mut out.colors);
    }
    if skinned {
        out.influences = influences(document, json, n, at)?;
    }
    triangles(document, json, &mut out, at)?;
    let has_normals = normals(document, json, &mut out, at)?;
    if has_normals && let Some(accessor) = attribute(json, Semantic::Tangents) {
        let mut tangents = Accessor::open(document, accessor, Some(n))?.rows::<4>()?;
        for (t, normal) in tangents.iter_mut().zip(&out.normals) {
            *t = match unit([t[0], t[1], t[2]]) {
                Some([x, y, z]) => [x, y, z, if t[3] < 0.0 { -1.0 } else { 1.0 }],
                None => any_tangent(*normal),
            };
        }
        (out.tangents, out.authored_tangents) = (tangents, true);
    }
    morphs(document, json, &mut out)?;
    if !out.authored_tangents {
        out.tangents = out.normals.iter().map(|&normal| any_tangent(normal)).collect();
        if let Some(set) = tangents_for
            && !out.uvs[set].is_empty()
        {
            generate_tangents(&mut out, set);
        }
    }
    Ok(Some(out))
}

/// Puts 0 in the place of numbers that are none.
fn make_finite<const N: usize>(rows: &mut [[f32; N]]) {
    for x in rows.as_flattened_mut().iter_mut().filter(|x| !x.is_finite()) {
        *x = 0.0;
    }
}

fn unit(v: [f32; 3]) -> Option<[f32; 3]> {
    let length = v.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    if (length - 1.0).abs() < ROUNDING {
        // It is unit already: the bits stay.
        return Some(v);
    }
    (length.is_finite() && length > 1e-30).then(|| v.map(|x| (f64::from(x) / length) as f32))
}

fn colors(accessor: &Accessor<'_>) -> Outcome<Vec<[f32; 4]>> {
    match accessor.kind {
        Type::Vec3 => Ok(accessor.rows::<3>()?.into_iter().map(|[r, g, b]| [r, g, b, 1.0]).collect()),
        _ => accessor.rows(),
    }
}

/// Every JOINTS_n and WEIGHTS_n set, slot after slot.
fn influences(document: &Document<'_>, json: &Json, n: usize, at: &str) -> Outcome<Influences> {
    let mut sets = Vec::new();
    for semantic in json.attributes.keys() {
        let Checked::Valid(Semantic::Joints(set)) = *semantic else { continue };
        let (Some(joints), Some(weights)) =
            (attribute(json, Semantic::Joints(set)), attribute(json, Semantic::Weights(set)))
        else {
            return refuse(at, format!("has JOINTS_{set} without WEIGHTS_{set}"));
        };
        let joints = Accessor::open(document, joints, Some(n))?;
        if !matches!(joints.component, ComponentType::U8 | ComponentType::U16) || joints.kind != Type::Vec4 {
            return refuse(at, format!("JOINTS_{set} must be VEC4 of u8 or u16"));
        }
        let weights = Accessor::open(document, weights, Some(n))?;
        if !matches!(weights.component, ComponentType::F32 | ComponentType::U8 | ComponentType::U16) {
            return refuse(at, format!("WEIGHTS_{set} must be f32, or normalized u8 or u16"));
        }
        sets.push((joints.unsigned()?, weights.rows::<4>()?));
    }
    let width = 4 * sets.len();
    let total = n.saturating_mul(width);
    if u32::try_from(total).is_err() {
        return refuse(at, format!("has {total} influences, more than {}", u32::MAX));
    }
    let mut out = Influences { offsets: Vec::with_capacity(n + 1), entries: Vec::with_capacity(total) };
    out.offsets.push(0);
    for vertex in 0..n {
        for (joints, weights) in &sets {
            for (&joint, &weight) in joints[4 * vertex..4 * vertex + 4].iter().zip(&weights[vertex]) {
                out.entries.push(Influence { joint, weight });
            }
        }
        out.offsets.push(out.entries.len() as u32);
    }
    Ok(out)
}

/// Fills `indices` with a triangle list.
fn triangles(document: &Document<'_>, json: &Json, out: &mut Vertices, at: &str) -> Outcome<()> {
    let n = out.positions.len();
    let topology = match json.mode {
        Checked::Valid(Mode::Triangles) => Topology::List,
        Checked::Valid(Mode::TriangleStrip) => Topology::Strip,
        Checked::Valid(Mode::TriangleFan) => Topology::Fan,
        Checked::Valid(_) => {
            document.warn(format!("{at}: points and lines are not drawn"));
            return Ok(());
        }
        Checked::Invalid => return refuse(at, "mode is not one of 0…6"),
    };
    let Ok(count) = u32::try_from(n) else { return refuse(at, format!("has {n} vertices, more than {}", u32::MAX)) };
    let indices = match json.indices {
        None => (0..count).collect(),
        Some(accessor) => {
            let accessor = Accessor::open(document, number(accessor), None)?;
            accessor.expect_kind(Type::Scalar)?;
            let indices = accessor.unsigned()?;
            if let Some(i) = indices.iter().position(|&v| v >= count) {
                return refuse(at, format!("index {i} is vertex {}, but there are {n}", indices[i]));
            }
            indices
        }
    };
    if topology == Topology::List && indices.len() % 3 != 0 {
        document.warn(format!("{at}: {} indices are not whole triangles: the rest is left out", indices.len()));
    }
    out.indices = triangle_list(topology, indices);
    Ok(())
}

/// Fills `normals`, the file's or smooth ones; true when the file has them.
fn normals(document: &Document<'_>, json: &Json, out: &mut Vertices, at: &str) -> Outcome<bool> {
    let weld = json.indices.is_some();
    let Some(accessor) = attribute(json, Semantic::Normals) else {
        out.normals = smooth_normals(&out.positions, &out.indices, weld);
        return Ok(false);
    };
    let normals = Accessor::open(document, accessor, Some(out.positions.len()))?.rows::<3>()?;
    let units: Vec<_> = normals.into_iter().map(unit).collect();
    let missing = units.iter().filter(|u| u.is_none()).count();
    let smooth = if missing > 0 { smooth_normals(&out.positions, &out.indices, weld) } else { Vec::new() };
    if missing > 0 {
        document.warn(format!("{at}: {missing} normal{} zero or not finite: made smooth", s_are(missing)));
    }
    out.normals = units.into_iter().enumerate().map(|(i, u)| u.unwrap_or_else(|| smooth[i])).collect();
    Ok(true)
}

/// Fills `morphs`, with only the vertices that each target moves.
fn morphs(document: &Document<'_>, json: &Json, out: &mut Vertices) -> Outcome<()> {
    let n = out.positions.len();
    for target in json.targets.iter().flatten() {
        let read = |accessor: Option<gltf::json::Index<gltf::json::Accessor>>| match accessor {
            None => Ok(Vec::new()),
            Some(accessor) => Accessor::open(document, number(accessor), Some(n))?.rows::<3>(),
        };
        let [positions, normals, tangents] = [read(target.positions)?, read(target.normals)?, read(target.tangents)?];
        let at = |rows: &[[f32; 3]], i: usize| rows.get(i).copied().unwrap_or_default();
        let deltas = (0..n).map(|i| MorphDelta {
            vertex: i as u32,
            position: at(&positions, i),
            normal: at(&normals, i),
            tangent: at(&tangents, i),
        });
        let moves = |d: &MorphDelta| [d.position, d.normal, d.tangent].as_flattened().iter().any(|&x| x != 0.0);
        out.morphs.push(deltas.filter(moves).collect());
    }
    Ok(())
}

/// MikkTSpace tangents; corners of one vertex that disagree split it, the copies go to the end.
fn generate_tangents(out: &mut Vertices, set: usize) {
    let corners = corner_tangents(&out.positions, &out.normals, &out.uvs[set], &out.indices);
    let file_vertices = out.positions.len();
    let mut taken = vec![false; file_vertices];
    // Versions of a vertex by their tangent. MikkTSpace gives all corners of a group the same bits.
    let mut versions: HashMap<(u32, [u32; 4]), u32> = HashMap::new();
    let mut copies = Vec::new();
    for (corner, tangent) in corners.into_iter().enumerate() {
        let Some(tangent) = tangent else { continue };
        let v = out.indices[corner];
        let next = (file_vertices + copies.len()) as u32;
        let version = *versions.entry((v, tangent.map(f32::to_bits))).or_insert_with(|| {
            if std::mem::replace(&mut taken[v as usize], true) {
                copies.push(v);
                out.tangents.push(tangent);
                next
            } else {
                out.tangents[v as usize] = tangent;
                v
            }
        });
        out.indices[corner] = version;
    }
    if copies.is_empty() {
        return;
    }
    out.source = (0..file_vertices as u32).collect();
    extend(&mut out.positions, &copies);
    extend(&mut out.normals, &copies);
    extend(&mut out.colors, &copies);
    out.uvs.iter_mut().for_each(|uvs| extend(uvs, &copies));
    if !out.influences.offsets.is_empty() {
        for &v in &copies {
            let range = out.influences.offsets[v as usize] as usize..out.influences.offsets[v as usize + 1] as usize;
            out.influences.entries.extend_from_within(range);
            out.influences.offsets.push(out.influences.entries.len() as u32);
        }
    }
    for target in &mut out.morphs {
        let of = |v: u32| target.binary_search_by_key(&v, |d| d.vertex).ok().map(|i| target[i]);
        let copied = |(i, &v): (usize, &u32)| Some(MorphDelta { vertex: (file_vertices + i) as u32, ..of(v)? });
        let more: Vec<_> = copies.iter().enumerate().filter_map(copied).collect();
        target.extend(more);
    }
}

/// Appends copies of some rows; nothing where the attribute is absent.
fn extend<T: Copy>(rows: &mut Vec<T>, copies: &[u32]) {
    if !rows.is_empty() {
        rows.reserve(copies.len());
        for &v in copies {
            rows.push(rows[v as usize]);
        }
    }
}
