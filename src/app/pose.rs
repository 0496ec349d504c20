//! `dermis pose`: a blended pose from a pose space.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use dermis::Character;
use dermis::pose::{
    Blended, BuiltIn, Channels, Fade, GroupMode, HandChoice, Hands, Outside, PoseSpace, PoseSpaceFile, Side, SpaceState,
};
use serde_json::{Value, json};

use super::render::Shot;
use super::textures;
use super::view::camera::Orbit;
use super::{Outcome, model, output};

/// Blends the poses of a pose space at a point.
#[derive(clap::Args)]
pub struct Args {
    /// A .glb, .gltf or .vrm file, or `hand`: the built-in hands.
    model: PathBuf,
    /// Pose space: a JSON file, or a built-in hand space: triangle, square, tetrahedron.
    #[arg(long, value_name = "FILE|NAME", default_value = "triangle")]
    space: String,
    /// The point: two numbers, or three for a space of three dimensions.
    #[arg(long, value_name = "X,Y[,Z]", allow_hyphen_values = true)]
    at: String,
    /// Hold a group of joints at a point of its own, or (without @) in the space's default pose. May be repeated.
    #[arg(long, value_name = "GROUP[@X,Y[,Z]]")]
    hold: Vec<String>,
    /// Select another pose of a corner: corners count from 0; a pose is its number at the corner, from 0, or its name.
    #[arg(long, value_name = "I=K")]
    corner: Vec<String>,
    /// Which hands. For a built-in space: both without it. For a file: the joints it names without it; else the other
    /// hand keeps the rest pose, and poses stated for one hand only are mirrored.
    #[arg(long, value_enum)]
    hand: Option<HandArg>,
    /// What a point outside the corners means: the nearest point of their hull, or going on in a straight line within
    /// the joints' limits. Without it: what the file says, else clamp.
    #[arg(long, value_enum)]
    outside: Option<OutsideArg>,
    /// Where to write: .json (weights and joints), .glb (the model in this pose, still skinned, and a clip of one key) or
    /// .png (a picture). Without it: JSON on the standard output.
    #[arg(short, long, value_name = "OUT.json|.glb|.png")]
    output: Option<PathBuf>,
    /// For a picture: degrees the camera stands to the right of the character's front.
    #[arg(long, default_value_t = 30.0, value_name = "DEG", allow_negative_numbers = true)]
    yaw: f32,
    /// For a picture: degrees the camera stands above the horizon.
    #[arg(long, default_value_t = 12.0, value_name = "DEG", allow_negative_numbers = true)]
    pitch: f32,
    /// Overwrite the model itself.
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum HandArg {
    /// The character's left hand.
    Left,
    /// The character's right hand.
    Right,
    /// Both hands.
    Both,
    /// The hand nearer the camera, which looks at the character from the front.
    Auto,
}

#[derive(Clone, Copy, ValueEnum)]
enum OutsideArg {
    Clamp,
    Extrapolate,
}

pub fn run(args: Args, adapter: Option<&str>) -> Outcome {
    let kind = args.output.as_deref().map(kind).transpose()?;
    if !(args.yaw.is_finite() && args.pitch.is_finite()) {
        return Err("--yaw and --pitch must be finite".into());
    }
    if let Some(out) = &args.output {
        let space = Path::new(&args.space);
        output::check(out, &[&args.model, space], args.force)?;
    }
    let character = model::load(&args.model)?;
    let mut space = open_space(&args, &character)?;
    if let Some(outside) = args.outside {
        space.set_outside(match outside {
            OutsideArg::Clamp => Outside::Clamp,
            OutsideArg::Extrapolate => Outside::Extrapolate,
        });
    }
    let state = state(&args, &space)?;
    let blended = space.evaluate(&state, 0.0)?;
    let text = || {
        Ok::<_, serde_json::Error>(serde_json::to_string_pretty(&answer(&character, &space, &state, &blended))? + "\n")
    };
    match (&args.output, kind) {
        (Some(out), Some(Kind::Json)) => {
            let text = text()?;
            output::write(out, |to| Ok(to.write_all(text.as_bytes())?))?;
        }
        (Some(out), Some(Kind::Glb)) => {
            let mut edit = model::edit(&args.model, &character)?;
            edit.set_pose(&character.rig, &blended.pose, "pose")?;
            for warning in edit.warnings() {
                eprintln!("warning: {warning}");
            }
            let bytes = edit.to_glb()?;
            output::write(out, |to| Ok(to.write_all(&bytes)?))?;
        }
        (Some(out), Some(Kind::Png)) => {
            let focus = focus(&character, &space, &blended)?;
            let orbit = Orbit { yaw: args.yaw.to_radians(), pitch: args.pitch.to_radians(), ..Orbit::default() };
            let pose = Some(blended.pose.clone());
            let pictures = textures::of_samples(&space, &character, &[], Path::new(&args.space))?;
            let weights = space.surface_weights(&space.surfaces(&character)?, &state, 0.0)?;
            let textures = pictures.map(|pictures| (pictures, weights));
            let shot = Shot { clip: None, pose, textures, focus, time: 0.0, size: [1024, 1024], grid: true, orbit };
            let (picture, _) = shot.take(character, adapter)?;
            picture.save(out)?;
        }
        _ => output::say(text()?.trim_end())?,
    }
    let cut = blended.clamped.iter().filter(|c| **c).count();
    if cut > 0 {
        eprintln!("note: limits clamped {cut} joint{}", if cut == 1 { "" } else { "s" });
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Json,
    Glb,
    Png,
}

fn kind(path: &Path) -> Result<Kind, String> {
    match path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
        Some("json") => Ok(Kind::Json),
        Some("glb") => Ok(Kind::Glb),
        Some("png") => Ok(Kind::Png),
        _ => Err(format!("{}: the name must end in .json, .glb or .png", path.display())),
    }
}

/// Loads the space and fits it to the character.
fn open_space(args: &Args, character: &Character) -> Result<PoseSpace, Box<dyn std::error::Error>> {
    let hints: Vec<&str> = character.parts.iter().map(|p| p.name.as_str()).chain([character.name.as_str()]).collect();
    let hands = Hands::find(&character.rig, &character.humanoid, &hints);
    let choice = args.hand.map(|h| match h {
        HandArg::Left => HandChoice::Left,
        HandArg::Right => HandChoice::Right,
        HandArg::Both => HandChoice::Both,
        HandArg::Auto => HandChoice::Auto,
    });
    let sides = |hands: &Hands, choice| hands.sides(&character.rig, choice, None, camera(character));
    if let Some(built_in) = BuiltIn::from_name(&args.space) {
        let hands = hands?;
        let sides = sides(&hands, choice.unwrap_or_default())?;
        return Ok(PoseSpace::new(&character.rig, built_in.descriptor(&character.rig, &hands, &sides)?)?);
    }
    let path = Path::new(&args.space);
    let bytes = read(path)?;
    let name = path.file_name().map_or_else(|| args.space.clone(), |n| n.to_string_lossy().into_owned());
    let file = PoseSpaceFile::parse(&name, &bytes)?;
    let sides: Option<Vec<Side>> = match (choice, &hands) {
        (None, _) => None,
        (Some(choice), Ok(hands)) => Some(sides(hands, choice)?),
        (Some(_), Err(_)) => return Err(hands.err().map_or_else(|| "no hands".into(), Into::into)),
    };
    Ok(file.space(character, hands.as_ref().ok(), sides.as_deref())?)
}

/// Largest pose space file, bytes.
const LARGEST: u64 = 16 << 20;

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let fail = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::NotFound => {
            format!("{}: {e} (built-in spaces are triangle, square and tetrahedron)", path.display())
        }
        _ => format!("{}: {e}", path.display()),
    };
    let about = std::fs::metadata(path).map_err(fail)?;
    if !about.is_file() || about.len() > LARGEST {
        return Err(format!("{}: is not a file of at most {} MiB", path.display(), LARGEST >> 20));
    }
    std::fs::read(path).map_err(fail)
}

/// Where the default camera stands: in front of the character, far away.
fn camera(character: &Character) -> [f32; 3] {
    let mut far = 1.0_f32;
    for mesh in &character.meshes {
        far = mesh.positions.iter().flatten().fold(far, |far, x| far.max(x.abs()));
    }
    [0.0, 0.0, far * 4.0]
}

fn state(args: &Args, space: &PoseSpace) -> Result<SpaceState, Box<dyn std::error::Error>> {
    let dimensions = space.coordinates().dimensions();
    let mut state = SpaceState::new(space);
    state.set_point(point("--at", &args.at, dimensions)?)?;
    for choice in &args.corner {
        let wrong = || format!("--corner {choice}: give a corner's number and a pose, e.g. 1=2 or 1=fist");
        let (corner, pose) = choice.split_once('=').ok_or_else(wrong)?;
        let corner: usize = corner.trim().parse().map_err(|_| wrong())?;
        let alternative = match pose.trim().parse::<usize>() {
            Ok(number) => number,
            Err(_) => space.find_alternative(corner, pose.trim())?,
        };
        state.select(space, corner, alternative, Fade::default())?;
    }
    for hold in &args.hold {
        let (group, mode) = match hold.rsplit_once('@') {
            Some((group, at)) => (group, GroupMode::Point(point("--hold", at, dimensions)?)),
            None => (hold.as_str(), GroupMode::Default),
        };
        let group = space.find_group(group)?;
        state.set_group(space, group, Channels::ALL, &mode, Fade::default())?;
    }
    Ok(state)
}

/// Corners of a box around the joints that the space moves, for a picture of them.
fn focus(character: &Character, space: &PoseSpace, blended: &Blended) -> dermis::Result<Vec<[f32; 3]>> {
    let samples = space.samples();
    let moves = |n: usize| samples.iter().any(|s| s.pose.joints[n] != samples[0].pose.joints[n]);
    let worlds = dermis::pose::joint_worlds(&character.rig, &blended.pose)?;
    let mut low = [f32::INFINITY; 3];
    let mut high = [f32::NEG_INFINITY; 3];
    for (n, world) in worlds.iter().enumerate().filter(|(n, _)| moves(*n)) {
        for node in [Some(n), character.rig.nodes[n].parent].into_iter().flatten() {
            let p = if node == n { *world } else { worlds[node] }.rows.map(|r| r[3]);
            low = std::array::from_fn(|a| low[a].min(p[a]));
            high = std::array::from_fn(|a| high[a].max(p[a]));
        }
    }
    if low[0] > high[0] {
        return Ok(Vec::new());
    }
    let margin = 0.15 * (0..3).map(|a| high[a] - low[a]).fold(0.0, f32::max);
    let corner = |i: usize| std::array::from_fn(|a| if i >> a & 1 == 0 { low[a] - margin } else { high[a] + margin });
    Ok((0..8).map(corner).collect())
}

/// Two or three numbers with commas between them.
fn point(option: &str, text: &str, dimensions: usize) -> Result<[f32; 3], String> {
    let numbers: Result<Vec<f32>, _> = text.split(',').map(|n| n.trim().parse::<f32>()).collect();
    let numbers = numbers.map_err(|_| format!("{option} {text}: not numbers with commas between them"))?;
    if numbers.len() != dimensions {
        return Err(format!(
            "{option} {text}: has {} numbers, but the space has {dimensions} dimensions",
            numbers.len()
        ));
    }
    if !numbers.iter().all(|n| n.is_finite()) {
        return Err(format!("{option} {text}: is not finite"));
    }
    Ok(std::array::from_fn(|i| numbers.get(i).copied().unwrap_or(0.0)))
}

/// What the JSON says: corners with their weights, joints, quality.
pub fn answer(character: &Character, space: &PoseSpace, state: &SpaceState, blended: &Blended) -> Value {
    let dimensions = space.coordinates().dimensions();
    let corners = space.corners().iter().zip(&blended.corners).enumerate().map(|(i, (corner, weight))| {
        let sample = corner.samples[state.selected(i).unwrap_or(0)];
        json!({ "at": corner.at[..dimensions], "pose": space.samples()[sample].name, "weight": weight })
    });
    let joints = character.rig.nodes.iter().zip(&blended.pose.joints).zip(&blended.clamped);
    let joints = joints.map(|((node, joint), clamped)| {
        json!({
            "node": node.source, "name": node.name, "rotation": joint.rotation, "translation": joint.translation,
            "scale": joint.scale, "length": joint.length, "thickness": joint.thickness, "clamped": clamped,
        })
    });
    json!({
        "corners": corners.collect::<Vec<_>>(),
        "joints": joints.collect::<Vec<_>>(),
        "quality": blended.quality,
    })
}
