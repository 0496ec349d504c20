//! `dermis bind`: generates influences.

use std::error::Error;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use dermis::Character;
use dermis::character::Rig;
use dermis::influence::bind::{DistanceOptions, HeatOptions};
use dermis::io::FileEdit;

use super::binding::{self, Target};
use super::weights::Weights;
use super::{Outcome, model, output};

/// Generates influences for a mesh from a skeleton; everything else in the file stays as it is.
///
/// Meshes under a skin get new influences for it. Where no mesh has a skin, all meshes are put under the file's first skin,
/// in its rest pose; with --skeleton, under the other file's, in its rest pose.
#[derive(clap::Args)]
pub struct Args {
    /// A .glb, .gltf or .vrm file, or `hand`: the built-in hands.
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

    fn method(&self) -> binding::Method {
        match self.method {
            Method::Heat => {
                let default = HeatOptions::default();
                binding::Method::Heat(HeatOptions {
                    heat: self.heat.unwrap_or(default.heat),
                    separation: self.separation.unwrap_or(default.separation),
                    ..default
                })
            }
            Method::Distance => {
                let default = DistanceOptions::default();
                binding::Method::Distance(DistanceOptions {
                    falloff: self.falloff.unwrap_or(default.falloff),
                    radius: self.radius,
                    bones: self.bones.unwrap_or(default.bones),
                })
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
    // Not printed: what is wrong with the old influences does not matter any more.
    let character = model::open(&args.input)?;
    let mut edit = model::edit(&args.input, &character)?;
    for target in targets(&args, &character, &mut edit)? {
        let warnings = target.bind(&mut edit, &args.method(), args.max_influences, args.weights)?;
        let method = if args.method == Method::Heat { "heat" } else { "distance" };
        output::say(&format!(
            "mesh {}: {} vertices bound to {} joints by {method}",
            target.file_mesh,
            target.file.positions.len(),
            target.skin.joints.len()
        ))?;
        warnings.iter().for_each(|w| eprintln!("warning: mesh {}: {w}", target.file_mesh));
    }
    edit.warnings().iter().for_each(|w| eprintln!("warning: {w}"));
    let glb = edit.to_glb()?;
    output::write(&args.output, |out| Ok(out.write_all(&glb)?))
}

/// The meshes to bind, with their skins; those that are new are in the file already.
fn targets(args: &Args, character: &Character, edit: &mut FileEdit) -> Result<Vec<Target>, Box<dyn Error>> {
    let input = args.input.display();
    let nodes = binding::meshes(character);
    if nodes.is_empty() {
        return Err(format!("{input}: has no mesh in its scene").into());
    }
    let placed: Vec<usize> = nodes.keys().copied().filter(|&n| edit.skin_of(n).is_some()).collect();
    if args.skeleton.is_none() && !placed.is_empty() {
        let mut out = Vec::new();
        for node in placed {
            let skin = edit.skin_of(node).and_then(|s| character.skins.get(s)).cloned().unwrap_or_default();
            binding::add(&mut out, node, &nodes[&node], &character.rig, skin, edit);
        }
        return Ok(out);
    }
    match &args.skeleton {
        None if edit.skin_count() == 0 => {
            Err(format!("{input}: has no skin; name a file that has one with --skeleton").into())
        }
        None => {
            let joints = character.skins[0].joints.clone();
            let files: Vec<usize> = joints.iter().map(|&j| character.rig.nodes[j].source).collect();
            Ok(binding::put_under(character, edit, &character.rig, &joints, &files)?)
        }
        Some(path) => {
            let (rig, joints) = read_skeleton(path)?;
            Ok(binding::put_under_new(character, edit, &rig, &joints)?)
        }
    }
}

/// The joints of a file and the nodes above them, parents first.
fn read_skeleton(path: &Path) -> Result<(Rig, Vec<usize>), Box<dyn Error>> {
    let character = model::open(path)?;
    let skins = model::edit(path, &character)?.skin_count();
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
