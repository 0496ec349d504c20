//! `dermis info`: what is in a file.

use std::path::PathBuf;

use dermis::Character;
use dermis::character::{AlphaMode, Mesh, Skin};
use serde_json::{Value, json};

use super::{Outcome, model, output};

/// Says what is in a model: meshes, joints, influences, clips, morph targets, textures, warnings.
#[derive(clap::Args)]
pub struct Args {
    /// A .glb, .gltf or .vrm file, or `hand`: the built-in hands.
    model: PathBuf,
    /// Answer in JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Outcome {
    let character = model::open(&args.model)?;
    let summary = Summary::new(&character);
    let text = if args.json { format!("{:#}\n", to_json(&character, &summary)) } else { to_text(&character, &summary) };
    output::say(text.trim_end())
}

/// Counts over the whole character, each mesh once.
struct Summary {
    vertices: usize,
    triangles: usize,
    /// Joints that some skin lists, each once.
    joints: usize,
    /// Number of vertices of skinned meshes by how many joints they follow; index 0 is unused.
    histogram: Vec<usize>,
}

impl Summary {
    fn new(character: &Character) -> Self {
        let mut skinned = vec![false; character.meshes.len()];
        let mut joint = vec![false; character.rig.nodes.len()];
        for part in character.parts.iter().filter(|p| !p.rigid) {
            skinned[part.mesh] = true;
            character.skins[part.skin].joints.iter().for_each(|&j| joint[j] = true);
        }
        let mut histogram = vec![0];
        for (mesh, _) in character.meshes.iter().zip(&skinned).filter(|(_, skinned)| **skinned) {
            for v in 0..mesh.positions.len() {
                let n = mesh.influences.of(v).len();
                if histogram.len() <= n {
                    histogram.resize(n + 1, 0);
                }
                histogram[n] += 1;
            }
        }
        Self {
            vertices: character.meshes.iter().map(file_vertices).sum(),
            triangles: character.meshes.iter().map(|m| m.indices.len() / 3).sum(),
            joints: joint.iter().filter(|&&j| j).count(),
            histogram,
        }
    }

    fn most_influences(&self) -> usize {
        self.histogram.len() - 1
    }
}

/// Vertices of a mesh as its file counts them.
fn file_vertices(mesh: &Mesh) -> usize {
    let count = |p: &dermis::character::Primitive| if p.source.is_empty() { p.vertices.len() } else { p.source.len() };
    mesh.primitives.iter().map(count).sum()
}

fn alpha(mode: AlphaMode) -> &'static str {
    match mode {
        AlphaMode::Opaque => "opaque",
        AlphaMode::Mask => "mask",
        AlphaMode::Blend => "blend",
    }
}

/// Size of a mesh in its own space.
fn extent(mesh: &Mesh) -> [f32; 3] {
    let (mut min, mut max) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for p in &mesh.positions {
        for k in 0..3 {
            (min[k], max[k]) = (min[k].min(p[k]), max[k].max(p[k]));
        }
    }
    [0, 1, 2].map(|k| if mesh.positions.is_empty() { 0.0 } else { max[k] - min[k] })
}

/// The shortest number that is this one again as f32.
fn short(x: f32) -> Value {
    x.to_string().parse::<f64>().map_or(Value::Null, Value::from)
}

fn to_json(character: &Character, summary: &Summary) -> Value {
    let histogram: serde_json::Map<String, Value> = summary
        .histogram
        .iter()
        .enumerate()
        .skip(1)
        .filter(|&(_, &count)| count > 0)
        .map(|(n, &count)| (n.to_string(), count.into()))
        .collect();
    let meshes: Vec<Value> = character
        .meshes
        .iter()
        .map(|mesh| {
            let morphs: Vec<Value> =
                mesh.morphs.iter().map(|m| json!({ "name": m.name, "vertices": m.deltas.len() })).collect();
            json!({
                "name": mesh.name, "vertices": file_vertices(mesh), "triangles": mesh.indices.len() / 3,
                "primitives": mesh.primitives.len(), "size": extent(mesh).map(short), "morphs": morphs,
            })
        })
        .collect();
    let parts: Vec<Value> = character
        .parts
        .iter()
        .map(|part| {
            json!({ "name": part.name, "node": part.node, "mesh": part.mesh,
            "skin": if part.rigid { Value::Null } else { part.skin.into() } })
        })
        .collect();
    let skins: Vec<Value> = real_skins(character)
        .map(|(i, skin)| {
            let names: Vec<&str> = skin.joints.iter().map(|&j| character.rig.nodes[j].name.as_str()).collect();
            json!({ "index": i, "name": skin.name, "joints": names })
        })
        .collect();
    let clips: Vec<Value> = character.clips.iter().enumerate().map(|(i, clip)| {
        json!({ "index": i, "name": clip.name, "duration": short(clip.duration), "channels": clip.channels.len() })
    }).collect();
    let materials: Vec<Value> = character.materials.iter().map(|m| {
        json!({ "name": m.name, "alpha": alpha(m.alpha_mode), "double_sided": m.double_sided, "unlit": m.unlit })
    }).collect();
    let textures: Vec<Value> =
        character.images.iter().map(|i| json!({ "name": i.name, "width": i.width, "height": i.height })).collect();
    json!({
        "name": character.name,
        "vertices": summary.vertices,
        "triangles": summary.triangles,
        "joints": summary.joints,
        "rig_nodes": character.rig.nodes.len(),
        "influences": { "max": summary.most_influences(), "histogram": histogram },
        "meshes": meshes,
        "parts": parts,
        "skins": skins,
        "clips": clips,
        "materials": materials,
        "textures": textures,
        "extensions": character.extensions,
        "warnings": character.warnings,
    })
}

/// Skins of the file: not the ones of one node that rigid parts hang on.
fn real_skins(character: &Character) -> impl Iterator<Item = (usize, &Skin)> {
    let mut rigid = vec![false; character.skins.len()];
    character.parts.iter().filter(|p| p.rigid).for_each(|p| rigid[p.skin] = true);
    character.skins.iter().enumerate().filter(move |&(i, _)| !rigid[i])
}

fn to_text(character: &Character, summary: &Summary) -> String {
    let mut out = String::new();
    let skins: Vec<_> = real_skins(character).collect();
    let morphs: usize = character.meshes.iter().map(|m| m.morphs.len()).sum();
    line(&mut out, &character.name);
    for (what, count) in [
        ("vertices", summary.vertices),
        ("triangles", summary.triangles),
        ("joints", summary.joints),
        ("rig nodes", character.rig.nodes.len()),
        ("skins", skins.len()),
        ("parts", character.parts.len()),
        ("morph targets", morphs),
    ] {
        line(&mut out, format!("  {what:<14}{:>10}", thousands(count)));
    }
    if summary.most_influences() > 0 {
        line(&mut out, format!("\ninfluences, at most {} per vertex", summary.most_influences()));
        let most = summary.histogram.iter().max().copied().unwrap_or(1).max(1);
        for (n, &count) in summary.histogram.iter().enumerate().skip(1) {
            let bar = "#".repeat((40 * count).div_ceil(most));
            line(&mut out, format!("  {n:>3}  {:>10}  {bar}", thousands(count)).trim_end());
        }
    }
    list(&mut out, "meshes", &character.meshes, |m| {
        let [x, y, z] = extent(m);
        let morphs = if m.morphs.is_empty() { String::new() } else { format!(", {} morph targets", m.morphs.len()) };
        let (vertices, triangles) = (thousands(file_vertices(m)), thousands(m.indices.len() / 3));
        let primitives = plural(m.primitives.len(), "primitive");
        let size = format!("{x:.3} x {y:.3} x {z:.3}");
        (&m.name, format!("{vertices} vertices, {triangles} triangles, {primitives}{morphs}, {size}"))
    });
    list(&mut out, "skins", &skins, |(_, s)| (&s.name, plural(s.joints.len(), "joint")));
    list(&mut out, "parts", &character.parts, |p| {
        let under = if p.rigid { "rigid".into() } else { format!("skin {}", p.skin) };
        (&p.name, format!("node {}, mesh {}, {under}", p.node, p.mesh))
    });
    list(&mut out, "clips", &character.clips, |c| {
        (&c.name, format!("{:.3} s, {}", c.duration, plural(c.channels.len(), "channel")))
    });
    let targets: Vec<_> = character.meshes.iter().flat_map(|m| &m.morphs).collect();
    list(&mut out, "morph targets", &targets, |t| (&t.name, plural(t.deltas.len(), "vertex")));
    list(&mut out, "materials", &character.materials, |m| {
        let double = if m.double_sided { ", double sided" } else { "" };
        let unlit = if m.unlit { ", unlit" } else { "" };
        (&m.name, format!("{}{double}{unlit}", alpha(m.alpha_mode)))
    });
    list(&mut out, "textures", &character.images, |i| (&i.name, format!("{} x {}", i.width, i.height)));
    if !character.extensions.is_empty() {
        line(&mut out, format!("\nextensions: {}", character.extensions.join(", ")));
    }
    if !character.warnings.is_empty() {
        line(&mut out, "\nwarnings");
        character.warnings.iter().for_each(|w| line(&mut out, format!("  {w}")));
    }
    out
}

/// Entries of a list that are shown as text; `--json` has all.
const SHOWN: usize = 24;

/// A heading and a numbered line per item; nothing for an empty list.
fn list<'a, T>(out: &mut String, title: &str, items: &'a [T], row: impl Fn(&'a T) -> (&'a str, String)) {
    if items.is_empty() {
        return;
    }
    line(out, format!("\n{title}"));
    let rows: Vec<_> = items.iter().take(SHOWN).map(row).map(|(name, facts)| (printable(name), facts)).collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(32);
    for (i, (name, facts)) in rows.iter().enumerate() {
        line(out, format!("  {i:>3}  {name:<width$}  {facts}"));
    }
    if items.len() > SHOWN {
        line(out, format!("       and {} more", items.len() - SHOWN));
    }
}

/// A name without control characters: files must not write to the terminal's state.
fn printable(name: &str) -> String {
    if name.is_empty() { "-".into() } else { name.chars().map(|c| if c.is_control() { '?' } else { c }).collect() }
}

fn line(out: &mut String, text: impl AsRef<str>) {
    out.push_str(text.as_ref());
    out.push('\n');
}

fn plural(count: usize, what: &str) -> String {
    match (count, what) {
        (1, _) => format!("1 {what}"),
        (_, "vertex") => format!("{} vertices", thousands(count)),
        _ => format!("{} {what}s", thousands(count)),
    }
}

/// `1,234,567`.
fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|g| std::str::from_utf8(g).ok()).collect();
    groups.join(",")
}
