//! Binding a file's meshes to a skeleton, for the command line and for the viewer.

use std::collections::BTreeMap;

use dermis::character::{Rig, RigNode, Skin};
use dermis::influence::bind::{self, Bound, DistanceOptions, HeatOptions, distance, heat, skin_at_rest};
use dermis::influence::{PruneContext, PruneOptions, Symmetry, clean, prune};
use dermis::io::{FileEdit, FileMesh, NewNode};
use dermis::pose::{Pose, joint_worlds};
use dermis::{Affine, Character, Result};

use super::weights::Weights;

/// How influences are found.
#[derive(Clone, Copy, Debug)]
pub enum Method {
    Distance(DistanceOptions),
    Heat(HeatOptions),
}

/// A mesh to bind.
pub struct Target {
    pub file_mesh: usize,
    pub file: FileMesh,
    rig: Rig,
    /// With inverse binds for the mesh's own space.
    pub skin: Skin,
}

impl Target {
    /// Finds influences, prunes them to `most` per vertex and puts them into the file; returns warnings.
    pub fn bind(
        &self,
        edit: &mut FileEdit,
        method: &Method,
        most: u8,
        weights: Weights,
    ) -> Result<Vec<String>, Box<dyn std::error::Error>> {
        let Self { file, rig, skin, .. } = self;
        let skeleton = bind::skeleton(rig, skin)?;
        let Bound { influences, warnings, .. } = match method {
            Method::Heat(options) => heat(&file.positions, &file.indices, &skeleton, options)?,
            Method::Distance(options) => distance(&file.positions, &skeleton.bones, options)?,
        };
        let (influences, _) = clean(&influences, skin.joints.len())?;
        let symmetry = Symmetry::of_skin(rig, skin);
        let context = PruneContext {
            positions: &file.positions,
            indices: &file.indices,
            priority: &[],
            symmetry: symmetry.as_ref(),
        };
        let options = PruneOptions { max: most.into(), ..PruneOptions::default() };
        let pruned = prune(&influences, &options, &context)?;
        weights.store(edit, self.file_mesh, file, &pruned, options.ties, &context)?;
        Ok(warnings)
    }
}

/// What each node of the file shows, in the file's own terms: primitives with and without influences are two parts.
pub fn meshes(character: &Character) -> BTreeMap<usize, FileMesh> {
    let mut nodes: BTreeMap<usize, FileMesh> = BTreeMap::new();
    for part in &character.parts {
        let own = FileMesh::new(&character.meshes[part.mesh]);
        nodes.entry(part.node).and_modify(|f| f.append(&own)).or_insert(own);
    }
    nodes
}

/// Adds the mesh that a node shows, unless another node shows it too.
pub fn add(out: &mut Vec<Target>, node: usize, file: &FileMesh, rig: &Rig, skin: Skin, edit: &FileEdit) {
    let Some(file_mesh) = edit.mesh_of(node) else { return };
    if out.iter().all(|t| t.file_mesh != file_mesh) {
        out.push(Target { file_mesh, file: file.clone(), rig: rig.clone(), skin });
    }
}

/// Puts every mesh under a skin over joints that the file has: nodes `joints` of `rig`, nodes `files` of the file.
pub fn put_under(
    character: &Character,
    edit: &mut FileEdit,
    rig: &Rig,
    joints: &[usize],
    files: &[usize],
) -> Result<Vec<Target>> {
    let places = joint_worlds(&character.rig, &Pose::rest(&character.rig))?;
    let mut out = Vec::new();
    for (&node, file) in &meshes(character) {
        let place = character.rig.nodes.iter().position(|n| n.source == node).map_or(Affine::IDENTITY, |r| places[r]);
        // A node under a skin is not where its own transform says, but where its mesh's space is: at the scene's origin.
        let place = if edit.skin_of(node).is_some() { Affine::IDENTITY } else { place };
        let skin = skin_at_rest("bound", rig, joints, &place)?;
        let index = edit.add_skin(&skin.name, files, &skin.inverse_binds)?;
        edit.set_skin(node, index)?;
        add(&mut out, node, file, rig, skin, edit);
    }
    Ok(out)
}

/// Adds the nodes of a rig to the file and puts every mesh under them.
pub fn put_under_new(character: &Character, edit: &mut FileEdit, rig: &Rig, joints: &[usize]) -> Result<Vec<Target>> {
    let new = |n: &RigNode| NewNode { name: n.name.clone(), parent: n.parent, local: n.rest, base: n.base };
    let first = edit.add_nodes(&rig.nodes.iter().map(new).collect::<Vec<_>>())?;
    let files: Vec<usize> = joints.iter().map(|j| first + j).collect();
    put_under(character, edit, rig, joints, &files)
}
