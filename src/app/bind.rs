//! `dermis bind`: generates influences.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use dermis::character::{Rig, Skin};
use dermis::influence::bind;
use dermis::influence::bind::{Bound, DistanceOptions, HeatOptions, distance, heat, skin_at_rest};
use dermis::influence::{PruneContext, PruneOptions, Symmetry, clean, prune};
use dermis::io::{FileEdit, FileMesh, NewNode};
use dermis::pose::{Pose, joint_worlds};
use dermis::{Affine, Character};

use super::weights::Weights;
use super::{Outcome, model, output};

/// Generates influences for a mesh from a skeleton; everything else in the file stays as it is.
///
/// Meshes under a skin get new influences for it. Where no mesh has a skin, all meshes are put under the file's first skin,
/// in its rest pose; with --skeleton, under the other file's, in its rest pose.
#[derive(clap::Args)]
pub struct Args {
    /// A .glb, .gltf or .vrm file.
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// A .glb or .vrm file.
    #[arg(short, long, value_name = "OUT.glb")]
    output: PathBuf,
    /// How influences are found.
    #[arg(long, value_enum, default_value_t)]
    method: Method,
    /// A file whose first skin (or, without one, whose nodes) all meshes are put under.
    #[arg(long, value_name = "FILE")]
    skeleton: Option<PathBuf>,
    /// Influences kept per vertex.
    #[arg(long, value_name = "W", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=8))]
    max_influences: u8,
    /// How the weights are stored.
    #[arg(long, value_enum, default_value_t)]
    weights: Weights,
    /// distance: weights fall with distance^-F [default: 4].
    #[arg(long, value_name = "F")]
    falloff: Option<f32>,
    /// distance: no bone pulls from farther than this, in the mesh's units [default: no limit].
    #[arg(long, value_name = "R")]
    radius: Option<f32>,
    /// distance: bones per vertex before pruning [default: 4].
    #[arg(long, value_name = "N")]
    bones: Option<usize>,
    /// heat: the larger, the narrower the bands in which weights change [default: 4].
    #[arg(long, value_name = "C")]
    heat: Option<f32>,
    /// heat: how much limbs are kept from pulling at each other; 1: not at all [default: 3].
    #[arg(long, value_name = "S")]
    separation: Option<f32>,
    /// Overwrite the input.
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Method {
    /// By distance to the bones, whatever the surface.
    Distance,
    /// Heat that spreads over the surface from the bones each vertex sees.
    #[default]
    Heat,
}

impl Args {
    fn check(&self) -> Result<(), Box<dyn Error>> {
        let stray = match self.method {
            Method::Heat => [
                ("--falloff", self.falloff.is_some()),
                ("--radius", self.radius.is_some()),
                ("--bones", self.bones.is_some()),
            ]
            .into_iter()
            .find(|o| o.1),
            Method::Distance => {
                [("--heat", self.heat.is_some()), ("--separation", self.separation.is_some())].into_iter().find(|o| o.1)
            }
        };
        match (stray, self.method) {
            (Some((option, _)), Method::Heat) => Err(format!("{option} is for --method distance").into()),
            (Some((option, _)), Method::Distance) => Err(format!("{option} is for --method heat").into()),
            (None, _) => Ok(()),
        }
    }

    fn find(&self, file: &FileMesh, bones: &bind::Skeleton) -> Result<Bound, dermis::Error> {
        match self.method {
            Method::Heat => {
                let default = HeatOptions::default();
                let options = HeatOptions {
                    heat: self.heat.unwrap_or(default.heat),
                    separation: self.separation.unwrap_or(default.separation),
                    ..default
                };
                heat(&file.positions, &file.indices, bones, &options)
            }
            Method::Distance => {
                let default = DistanceOptions::default();
                let options = DistanceOptions {
                    falloff: self.falloff.unwrap_or(default.falloff),
                    radius: self.radius,
                    bones: self.bones.unwrap_or(default.bones),
                };
                distance(&file.positions, &bones.bones, &options)
            }
        }
    }
}

pub fn run(args: Args) -> Outcome {
    args.check()?;
    let kind = args.output.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    if !matches!(kind.as_deref(), Some("glb" | "vrm")) {
        return Err(format!("{}: the name must end in .glb or .vrm", args.output.display()).into());
    }
    let inputs: Vec<&Path> =
        [Some(&args.input), args.skeleton.as_ref()].into_iter().flatten().map(|p| p.as_path()).collect();
    output::check(&args.output, &inputs, args.force)?;
    for input in inputs {
        model::needs_file(input)?;
    }
    // Not printed: what is wrong with the old influences does not matter any more.
    let character = model::open(&args.input)?;
    let mut edit = FileEdit::open(&args.input)?;
    for target in targets(&args, &character, &mut edit)? {
        let Target { file_mesh, file, skeleton } = target;
        let found = bind::skeleton(&skeleton.rig, &skeleton.skin)?;
        let bound = args.find(&file, &found)?;
        let joints = skeleton.skin.joints.len();
        let (influences, _) = clean(&bound.influences, joints)?;
        let symmetry = Symmetry::of_skin(&skeleton.rig, &skeleton.skin);
        let context = PruneContext {
            positions: &file.positions,
            indices: &file.indices,
            priority: &[],
            symmetry: symmetry.as_ref(),
        };
        let options = PruneOptions { max: args.max_influences.into(), ..PruneOptions::default() };
        let pruned = prune(&influences, &options, &context)?;
        args.weights.store(&mut edit, file_mesh, &file, &pruned, options.ties, &context)?;
        let method = if args.method == Method::Heat { "heat" } else { "distance" };
        output::say(&format!(
            "mesh {file_mesh}: {} vertices bound to {joints} joints by {method}",
            file.positions.len()
        ))?;
        bound.warnings.iter().for_each(|w| eprintln!("warning: mesh {file_mesh}: {w}"));
    }
    edit.warnings().iter().for_each(|w| eprintln!("warning: {w}"));
    let glb = edit.to_glb()?;
    output::write(&args.output, |out| Ok(out.write_all(&glb)?))
}

/// A rig and the skin on it.
struct Skeleton {
    rig: Rig,
    skin: Skin,
}

/// A mesh to bind.
struct Target {
    file_mesh: usize,
    file: FileMesh,
    /// With inverse binds for the mesh's own space.
    skeleton: Skeleton,
}

/// The meshes to bind, with their skins; those that are new are in the file already.
fn targets(args: &Args, character: &Character, edit: &mut FileEdit) -> Result<Vec<Target>, Box<dyn Error>> {
    let input = args.input.display();
    // The parts of each node: primitives with and without influences are two.
    let mut nodes: BTreeMap<usize, FileMesh> = BTreeMap::new();
    for part in &character.parts {
        let own = FileMesh::new(&character.meshes[part.mesh]);
        nodes.entry(part.node).and_modify(|f| f.append(&own)).or_insert(own);
    }
    if nodes.is_empty() {
        return Err(format!("{input}: has no mesh in its scene").into());
    }
    let placed: Vec<usize> = nodes.keys().copied().filter(|&n| edit.skin_of(n).is_some()).collect();
    let mut out: Vec<Target> = Vec::new();
    let mut add = |node: usize, file: &FileMesh, skeleton: Skeleton, edit: &FileEdit| {
        let Some(file_mesh) = edit.mesh_of(node) else { return };
        if out.iter().all(|t| t.file_mesh != file_mesh) {
            out.push(Target { file_mesh, file: file.clone(), skeleton });
        }
    };
    if args.skeleton.is_none() && !placed.is_empty() {
        for node in placed {
            let skin = edit.skin_of(node).and_then(|s| character.skins.get(s)).cloned().unwrap_or_default();
            add(node, &nodes[&node], Skeleton { rig: character.rig.clone(), skin }, edit);
        }
        return Ok(out);
    }
    let (rig, joints, files) = match &args.skeleton {
        None if edit.skin_count() == 0 => {
            return Err(format!("{input}: has no skin; name a file that has one with --skeleton").into());
        }
        None => {
            let joints = character.skins[0].joints.clone();
            let files = joints.iter().map(|&j| character.rig.nodes[j].source).collect();
            (character.rig.clone(), joints, files)
        }
        Some(path) => {
            let (rig, joints) = read_skeleton(path)?;
            let new = |n: &dermis::character::RigNode| NewNode {
                name: n.name.clone(),
                parent: n.parent,
                local: n.rest,
                base: n.base,
            };
            let first = edit.add_nodes(&rig.nodes.iter().map(new).collect::<Vec<_>>())?;
            let files: Vec<usize> = joints.iter().map(|j| first + j).collect();
            (rig, joints, files)
        }
    };
    let places = joint_worlds(&character.rig, &Pose::rest(&character.rig))?;
    for (&node, file) in &nodes {
        let place = character.rig.nodes.iter().position(|n| n.source == node).map_or(Affine::IDENTITY, |r| places[r]);
        // A node under a skin is not where its own transform says, but where its mesh's space is: at the scene's origin.
        let place = if edit.skin_of(node).is_some() { Affine::IDENTITY } else { place };
        let skin = skin_at_rest("bound", &rig, &joints, &place)?;
        let index = edit.add_skin(&skin.name, &files, &skin.inverse_binds)?;
        edit.set_skin(node, index)?;
        add(node, file, Skeleton { rig: rig.clone(), skin }, edit);
    }
    Ok(out)
}

/// The joints of a file and the nodes above them, parents first.
fn read_skeleton(path: &Path) -> Result<(Rig, Vec<usize>), Box<dyn Error>> {
    let character = model::open(path)?;
    let skins = FileEdit::open(path)?.skin_count();
    let joints: Vec<usize> = match character.skins.first().filter(|_| skins > 0) {
        Some(skin) => skin.joints.clone(),
        None => {
            let shown: Vec<usize> = character.parts.iter().map(|p| p.node).collect();
            let nodes = &character.rig.nodes;
            (0..nodes.len()).filter(|&n| !shown.contains(&nodes[n].source)).collect()
        }
    };
    if joints.is_empty() {
        return Err(format!("{}: has no joints", path.display()).into());
    }
    let nodes = &character.rig.nodes;
    let mut wanted = vec![false; nodes.len()];
    for &joint in &joints {
        let mut node = Some(joint);
        while let Some(n) = node.filter(|&n| !wanted[n]) {
            wanted[n] = true;
            node = nodes[n].parent;
        }
    }
    let mut place = vec![0; nodes.len()];
    let mut rig = Rig::default();
    for (i, node) in nodes.iter().enumerate().filter(|(i, _)| wanted[*i]) {
        place[i] = rig.nodes.len();
        rig.nodes.push(dermis::character::RigNode { parent: node.parent.map(|p| place[p]), ..node.clone() });
    }
    Ok((rig, joints.into_iter().map(|j| place[j]).collect()))
}
