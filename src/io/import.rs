//! From a checked document to a [`Character`]: which nodes are drawn, under which skin, with which mesh.

use std::collections::HashMap;

use super::animation::{self, Targets};
use super::document::{Document, named, number};
use super::graph::Graph;
use super::primitive::Vertices;
use super::{Fetch, Outcome, Refusal, material, pick, primitive, refuse, skin};
use crate::Affine;
use crate::Error;
use crate::character::{Character, Material, Mesh, MorphTarget, Part, Primitive, Skin};
use crate::influence::{CleanReport, Influences, clean};

/// Most vertices all meshes together may have.
const MOST_VERTICES: usize = 1 << 25;

pub(super) fn character(name: &str, bytes: &[u8], fetch: &mut Fetch<'_>) -> Outcome<Character> {
    let document = Document::open(bytes, fetch)?;
    let graph = Graph::new(&document)?;
    let (users, used) = users(&document, &graph)?;

    let mut wanted = skin::joint_nodes(&document)?;
    wanted.extend(users.iter().filter(|u| u.skin.is_none()).map(|u| u.node));
    if wanted.is_empty() {
        // A file of animations: all of it is skeleton.
        wanted.extend((0..graph.live.len()).filter(|&i| graph.live[i]));
    }
    let (rig, placement) = graph.rig(&document, wanted)?;
    let mut skins = skin::skins(&document, &placement)?;

    let pictures = material::pictures(&document, fetch);
    let mut materials = material::materials(&document, &pictures);
    let mut builder = Builder { document: &document, materials: &mut materials, plain: None, left: MOST_VERTICES };
    let mut meshes = Vec::with_capacity(used.len());
    for wanted in &used {
        meshes.push(builder.mesh(wanted)?);
    }

    let mut parts = Vec::with_capacity(users.len());
    for user in &users {
        let mesh = &meshes[user.mesh];
        if mesh.positions.is_empty() {
            document.warn(format!("nodes[{}]: its mesh has no vertices: left out", user.node));
            continue;
        }
        let node = &document.root.nodes[user.node];
        let part_name = named(&node.name, "node", user.node);
        let own_skin = user.skin.unwrap_or(skins.len());
        if user.skin.is_none() {
            let joints = placement[user.node].into_iter().collect();
            skins.push(Skin { name: part_name.clone(), joints, inverse_binds: vec![Affine::IDENTITY] });
        }
        let file_mesh = &document.root.meshes[used[user.mesh].index];
        let mut morph_weights = node.weights.clone().or_else(|| file_mesh.weights.clone()).unwrap_or_default();
        if morph_weights.iter().any(|w| !w.is_finite()) {
            return refuse(format!("nodes[{}]", user.node), "a morph weight is not finite");
        }
        morph_weights.resize(mesh.morphs.len(), 0.0);
        let (mesh, rigid) = (user.mesh, user.skin.is_none());
        parts.push(Part { name: part_name, node: user.node, mesh, skin: own_skin, rigid, morph_weights });
    }

    let mut by_node: HashMap<usize, Vec<(usize, usize)>> = HashMap::new();
    for (i, part) in parts.iter().enumerate() {
        by_node.entry(part.node).or_default().push((i, meshes[part.mesh].morphs.len()));
    }
    let morphs = |node: usize| by_node.get(&node).cloned().unwrap_or_default();
    let clips = animation::clips(&document, &Targets { placement: &placement, morphs: &morphs })?;

    let name = name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned();
    let warnings = document.take_warnings();
    let images = pictures.images;
    let mut extensions = document.root.extensions_used.clone();
    extensions.extend_from_slice(&document.root.extensions_required);
    extensions.sort();
    extensions.dedup();
    let humanoid = super::humanoid::bones(&document, &placement);
    let character =
        Character { humanoid, name, rig, skins, meshes, parts, clips, materials, images, extensions, warnings };
    check(&character)?;
    Ok(character)
}

/// The types' own checks: what comes out keeps their promises, whatever went in.
fn check(character: &Character) -> Outcome<()> {
    let place = |at: String| move |error: Error| Refusal { at, problem: error.to_string() };
    character.rig.validate().map_err(place("nodes".into()))?;
    for (i, skin) in character.skins.iter().enumerate() {
        skin.validate(&character.rig).map_err(place(format!("skins[{i}]")))?;
    }
    for mesh in &character.meshes {
        mesh.validate().map_err(place(format!("mesh {:?}", mesh.name)))?;
    }
    Ok(())
}

/// A node that shows a mesh.
struct User {
    node: usize,
    /// Index into the list of [`Used`].
    mesh: usize,
    /// The file's skin; `None`: the node itself carries the mesh.
    skin: Option<usize>,
}

/// The primitives of a file's mesh that are shown in one way.
struct Used {
    index: usize,
    which: Which,
    /// Joints of the smallest skin it hangs under.
    joint_count: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Which {
    /// Under a skin: those with influences.
    Skinned,
    /// Without a skin: all.
    All,
    /// Under a skin, but without influences.
    Rest,
}

/// Every use of a mesh in the scene, by node, and the meshes that are needed for them, each once.
fn users(document: &Document<'_>, graph: &Graph) -> Outcome<(Vec<User>, Vec<Used>)> {
    let root = &document.root;
    let (mut users, mut used) = (Vec::new(), Vec::<Used>::new());
    let mut known = HashMap::new();
    for (i, node) in root.nodes.iter().enumerate().filter(|&(i, _)| graph.live[i]) {
        let at = format!("nodes[{i}]");
        let skin = match node.skin {
            None => None,
            Some(skin) => Some((number(skin), pick(&root.skins, number(skin), "skin", &at)?.joints.len())),
        };
        let Some(index) = node.mesh.map(number) else { continue };
        let mesh = pick(&root.meshes, index, "mesh", &at)?;
        if mesh.primitives.is_empty() {
            document.warn(format!("meshes[{index}] has no primitives: left out"));
        }
        let with = mesh.primitives.iter().filter(|p| primitive::has_influences(p)).count();
        let without = mesh.primitives.len() - with;
        let mut show = |which: Which, skin: Option<(usize, usize)>| {
            let joints = skin.map_or(1, |(_, joints)| joints);
            let mesh = *known.entry((index, which)).or_insert_with(|| {
                used.push(Used { index, which, joint_count: joints });
                used.len() - 1
            });
            used[mesh].joint_count = used[mesh].joint_count.min(joints);
            users.push(User { node: i, mesh, skin: skin.map(|(index, _)| index) });
        };
        match skin {
            None if mesh.primitives.is_empty() => {}
            None => show(Which::All, None),
            Some(_) => {
                if with > 0 {
                    show(Which::Skinned, skin);
                }
                if without > 0 {
                    document.warn(format!(
                        "{at} has a skin, but {without} of its primitives have no joints and weights: shown rigid"
                    ));
                    show(Which::Rest, None);
                }
            }
        }
    }
    Ok((users, used))
}

struct Builder<'b, 'd> {
    document: &'b Document<'d>,
    materials: &'b mut Vec<Material>,
    /// The material of primitives that name none.
    plain: Option<usize>,
    left: usize,
}

impl Builder<'_, '_> {
    fn mesh(&mut self, used: &Used) -> Outcome<Mesh> {
        let json = &self.document.root.meshes[used.index];
        let mut mesh = Mesh { name: named(&json.name, "mesh", used.index), ..Mesh::default() };
        mesh.influences.offsets.push(0);
        for (i, primitive) in json.primitives.iter().enumerate() {
            let wanted = match used.which {
                Which::All => true,
                Which::Skinned => primitive::has_influences(primitive),
                Which::Rest => !primitive::has_influences(primitive),
            };
            if wanted {
                self.append(&mut mesh, used, i, primitive)?;
            }
        }
        let names = json.extras.as_ref().and_then(|e| serde_json::from_str::<Extras>(e.get()).ok());
        for (i, target) in mesh.morphs.iter_mut().enumerate() {
            target.name = names.as_ref().and_then(|n| n.target_names.get(i).cloned()).unwrap_or_default();
        }
        Ok(mesh)
    }

    fn append(&mut self, mesh: &mut Mesh, used: &Used, i: usize, json: &gltf::json::mesh::Primitive) -> Outcome<()> {
        let at = format!("meshes[{}].primitives[{i}]", used.index);
        let material = match json.material {
            Some(material) => {
                pick(self.materials, number(material), "material", &at)?;
                number(material)
            }
            None => *self.plain.get_or_insert_with(|| {
                self.materials.push(Material { name: "default".into(), ..Material::default() });
                self.materials.len() - 1
            }),
        };
        let tangents_for = self.materials[material].normal_texture.map(|t| t.uv_set);
        let skinned = used.which == Which::Skinned;
        let Some(read) = primitive::read(self.document, json, skinned, tangents_for, &at)? else { return Ok(()) };
        let n = read.positions.len();
        self.left = match self.left.checked_sub(n) {
            Some(left) => left,
            None => return refuse(at, format!("the meshes have more than {MOST_VERTICES} vertices")),
        };
        let influences = if skinned {
            let (influences, report) = self.clean(&read, used.joint_count, &at)?;
            mesh.cleaned.add(&report);
            influences
        } else {
            Influences::rigid(n, 0)
        };

        let start = mesh.positions.len();
        let first_index = mesh.indices.len();
        let offset = start as u32;
        mesh.positions.extend(read.positions);
        mesh.normals.extend(read.normals);
        mesh.tangents.extend(read.tangents);
        for (all, own) in mesh.uvs.iter_mut().zip(read.uvs) {
            join(all, own, start, n, [0.0; 2]);
        }
        join(&mut mesh.colors, read.colors, start, n, [1.0; 4]);
        let entries = mesh.influences.entries.len() as u32;
        mesh.influences.entries.extend(influences.entries);
        mesh.influences.offsets.extend(influences.offsets.iter().skip(1).map(|o| o + entries));
        if mesh.morphs.len() < read.morphs.len() {
            mesh.morphs.resize_with(read.morphs.len(), MorphTarget::default);
        }
        for (target, deltas) in mesh.morphs.iter_mut().zip(read.morphs) {
            target.deltas.extend(deltas.into_iter().map(|mut d| {
                d.vertex += offset;
                d
            }));
        }
        mesh.indices.extend(read.indices.iter().map(|v| v + offset));
        mesh.primitives.push(Primitive {
            index: i,
            vertices: start..start + n,
            indices: first_index..mesh.indices.len(),
            material,
            authored_tangents: read.authored_tangents,
            source: read.source,
        });
        Ok(())
    }

    /// Clean influences, and what was repaired at the file's own vertices (those that tangents did not split off).
    fn clean(&self, read: &Vertices, joint_count: usize, at: &str) -> Outcome<(Influences, CleanReport)> {
        let refused = |e: Error| Refusal { at: at.into(), problem: e.to_string() };
        let (influences, mut report) = clean(&read.influences, joint_count).map_err(refused)?;
        if !read.source.is_empty() {
            let mut own = read.influences.clone();
            own.offsets.truncate(read.source.len() + 1);
            own.entries.truncate(own.offsets.last().map_or(0, |&end| end as usize));
            report = clean(&own, joint_count).map_err(refused)?.1;
        }
        if report.repaired() {
            report.lines().into_iter().for_each(|line| self.document.warn(format!("{at}: {line}")));
        }
        Ok((influences, report))
    }
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Extras {
    target_names: Vec<String>,
}

/// Appends the `n` rows of one primitive to the `start` rows before it, where either may lack the attribute.
fn join<T: Copy>(all: &mut Vec<T>, own: Vec<T>, start: usize, n: usize, missing: T) {
    if all.is_empty() && own.is_empty() {
        return;
    }
    all.resize(start, missing);
    all.extend(own);
    all.resize(start + n, missing);
}
