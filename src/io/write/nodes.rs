//! Which node of the file is which node of the rig, and which shows which part.

use serde_json::json;

use super::{element, scene};
use crate::character::{Part, Target};
use crate::io::Outcome;
use crate::io::glb::{Glb, place};
use crate::{Affine, Character, Result, Transform};

/// The nodes of the file, before they are written.
pub(super) struct Layout {
    /// Node of each rig node.
    pub rig: Vec<usize>,
    /// Node of each part.
    pub parts: Vec<usize>,
    /// True for each part that is shown under its skin, not by a node of its own transform.
    pub skinned: Vec<bool>,
    /// Skin of the file of each skin; those that only rigid parts use have none.
    pub skins: Vec<Option<usize>>,
    /// Extra node above each rig node that holds a base which must stay apart.
    bases: Vec<Option<usize>>,
    /// Extra node above all roots of the rig, where a skin's joints have no other in common.
    root: Option<usize>,
    count: usize,
}

#[derive(Clone, Copy)]
enum Entry {
    Joint(usize),
    Part(usize),
}

impl Layout {
    /// Nodes keep the order that [`RigNode::source`](crate::character::RigNode::source) and
    /// [`Part::node`](crate::character::Part::node) give them, so that what is read from the file stands in the same
    /// order again.
    pub fn new(character: &Character) -> Result<Self> {
        let rig = &character.rig.nodes;
        // The part that sits on a rig node.
        let mut seats: Vec<Option<usize>> = vec![None; rig.len()];
        let mut skinned = Vec::with_capacity(character.parts.len());
        for (p, part) in character.parts.iter().enumerate() {
            let skin = element(&character.skins, "skin", part.skin)?;
            let mesh = element(&character.meshes, "mesh", part.mesh)?;
            // Only so a node's own transform is all that moves it.
            let rigid = part.rigid
                && skin.inverse_binds[0] == Affine::IDENTITY
                && mesh.influences.entries.iter().all(|i| i.joint == 0);
            skinned.push(!rigid);
            let node = skin.joints[0];
            if rigid && seats[node].is_none() && rig[node].name == part.name {
                seats[node] = Some(p);
            }
        }
        let mut entries: Vec<(usize, bool, Entry)> = Vec::with_capacity(rig.len() + skinned.len());
        entries.extend(rig.iter().enumerate().map(|(i, node)| (node.source, false, Entry::Joint(i))));
        let apart = |p: usize| !seats.contains(&Some(p));
        let parts = character.parts.iter().enumerate().filter(|(p, _)| apart(*p));
        entries.extend(parts.map(|(p, part)| (part.node, true, Entry::Part(p))));
        entries.sort_by_key(|e| (e.0, e.1));
        let mut out = Self {
            rig: vec![0; rig.len()],
            parts: vec![0; skinned.len()],
            skins: Vec::new(),
            bases: vec![None; rig.len()],
            root: None,
            count: entries.len(),
            skinned,
        };
        for (index, (_, _, entry)) in entries.into_iter().enumerate() {
            match entry {
                Entry::Joint(i) => out.rig[i] = index,
                Entry::Part(p) => out.parts[p] = index,
            }
        }
        for (node, part) in seats.iter().enumerate() {
            if let Some(part) = *part {
                out.parts[part] = out.rig[node];
            }
        }
        out.find_skins(character);
        out.find_bases(character);
        if character.skins.iter().zip(&out.skins).any(|(s, file)| file.is_some() && !has_root(character, &s.joints)) {
            out.root = Some(out.count);
            out.count += 1;
        }
        Ok(out)
    }

    fn find_skins(&mut self, character: &Character) {
        let mut next = 0;
        for skin in 0..character.skins.len() {
            let mut users = character.parts.iter().zip(&self.skinned).filter(|(part, _)| part.skin == skin).peekable();
            let wanted = users.peek().is_none() || users.any(|(_, &skinned)| skinned);
            self.skins.push(wanted.then_some(next));
            next += usize::from(wanted);
        }
    }

    /// A matrix cannot be animated, and cannot be told from a transform after it.
    fn find_bases(&mut self, character: &Character) {
        let mut moving = vec![false; self.rig.len()];
        for channel in character.clips.iter().flat_map(|c| &c.channels) {
            if let Target::Rotation(n) | Target::Translation(n) | Target::Scale(n) = channel.target {
                moving[n] = true;
            }
        }
        for (i, node) in character.rig.nodes.iter().enumerate() {
            if node.base != Affine::IDENTITY && (moving[i] || node.rest != Transform::IDENTITY) {
                self.bases[i] = Some(self.count);
                self.count += 1;
            }
        }
    }

    /// Writes nodes, skins and the scene. `meshes`: the file's mesh of each part.
    pub fn put(&self, glb: &mut Glb, character: &Character, meshes: &[usize]) -> Outcome<()> {
        let mut nodes = vec![json!({}); self.count];
        let (mut children, mut roots) = (vec![Vec::new(); self.count], Vec::new());
        // Above a rig node stands its base, if it has a node.
        let top = |i: usize| self.bases[i].unwrap_or(self.rig[i]);
        for (i, node) in character.rig.nodes.iter().enumerate() {
            let at = self.rig[i];
            nodes[at]["name"] = node.name.as_str().into();
            match self.bases[i] {
                None => place(&mut nodes[at], &node.rest, &node.base),
                Some(base) => {
                    nodes[base]["name"] = format!("{} base", node.name).into();
                    place(&mut nodes[base], &Transform::IDENTITY, &node.base);
                    place(&mut nodes[at], &node.rest, &Affine::IDENTITY);
                    children[base].push(at);
                }
            }
            match node.parent {
                Some(parent) => children[self.rig[parent]].push(top(i)),
                None => roots.push(top(i)),
            }
        }
        if let Some(root) = self.root {
            nodes[root]["name"] = character.name.as_str().into();
            children[root] = std::mem::replace(&mut roots, vec![root]);
        }
        for (p, part) in character.parts.iter().enumerate() {
            let at = self.parts[p];
            let node = &mut nodes[at];
            node["mesh"] = meshes[p].into();
            let weights = morph_weights(character, part);
            if default_weights(character, part.mesh).is_some_and(|defaults| defaults != weights) {
                node["weights"] = json!(weights);
            }
            let seat = character.skins[part.skin].joints[0];
            if self.skinned[p] {
                node["skin"] = json!(self.skins[part.skin]);
            } else if self.rig[seat] == at {
                continue;
            } else {
                children[self.rig[seat]].push(at);
            }
            node["name"] = part.name.as_str().into();
            if self.skinned[p] {
                roots.push(at);
            }
        }
        roots.sort_unstable();
        for (mut node, children) in nodes.into_iter().zip(children) {
            if !children.is_empty() {
                node["children"] = json!(children);
            }
            glb.push("nodes", node)?;
        }
        for (skin, _) in character.skins.iter().zip(&self.skins).filter(|(_, file)| file.is_some()) {
            let joints: Vec<usize> = skin.joints.iter().map(|&j| self.rig[j]).collect();
            glb.skin(&skin.name, &joints, &skin.inverse_binds)?;
        }
        scene(glb, &character.name, &roots);
        Ok(())
    }
}

/// The morph weights that a mesh states for the nodes that state none: those of the first part that shows it.
pub(super) fn default_weights(character: &Character, mesh: usize) -> Option<Vec<f32>> {
    let part = character.parts.iter().find(|p| p.mesh == mesh)?;
    Some(morph_weights(character, part)).filter(|w| !w.is_empty())
}

/// The morph weights of a part; those it leaves out are 0.
fn morph_weights(character: &Character, part: &Part) -> Vec<f32> {
    let mut weights = part.morph_weights.clone();
    weights.resize(character.meshes[part.mesh].morphs.len(), 0.0);
    weights
}

/// True when one node stands above all joints, or is one of them (glTF 2.0, section 3.7.3.2).
fn has_root(character: &Character, joints: &[usize]) -> bool {
    let nodes = &character.rig.nodes;
    let mut above: Vec<usize> = (0..nodes.len()).collect();
    for (i, node) in nodes.iter().enumerate() {
        if let Some(parent) = node.parent {
            above[i] = above[parent];
        }
    }
    joints.windows(2).all(|pair| above[pair[0]] == above[pair[1]])
}
