//! `dermis render`: one frame, headless.

use std::path::PathBuf;

use dermis::render::{Renderer, RendererDescriptor};
use glam::Vec2;

use super::view::camera::Orbit;
use super::view::picture;
use super::view::scene::Stage;
use super::{Outcome, device, model, output};

/// Renders one frame to a PNG, headless.
#[derive(clap::Args)]
pub struct Args {
    /// A .glb, .gltf or .vrm file, or `hand`: the built-in hands.
    model: PathBuf,
    /// The PNG to write.
    #[arg(short, long, value_name = "OUT.png")]
    output: PathBuf,
    /// Clip to show, by index or name; without it the rest pose.
    #[arg(long, value_name = "N|NAME")]
    clip: Option<String>,
    /// Seconds into the clip; clamps to its length.
    #[arg(long, default_value_t = 0.0, value_name = "S", allow_negative_numbers = true)]
    time: f32,
    /// Pixels across and down.
    #[arg(long, default_value = "1024x1024", value_name = "WxH", value_parser = size)]
    size: [u32; 2],
    /// Degrees the camera stands to the right of the character's front.
    #[arg(long, default_value_t = 30.0, value_name = "DEG", allow_negative_numbers = true)]
    yaw: f32,
    /// Degrees the camera stands above the horizon.
    #[arg(long, default_value_t = 12.0, value_name = "DEG", allow_negative_numbers = true)]
    pitch: f32,
    /// Leaves the ground and its grid out.
    #[arg(long)]
    no_grid: bool,
    /// Overwrite the model itself.
    #[arg(long)]
    force: bool,
}

/// Largest width and height: what every GPU that runs this can draw at once.
const LARGEST: u32 = 8192;

fn size(text: &str) -> Result<[u32; 2], String> {
    let sides =
        text.split_once(['x', 'X', '×']).and_then(|(w, h)| Some([w.trim().parse().ok()?, h.trim().parse().ok()?]));
    match sides {
        Some([w, h]) if (1..=LARGEST).contains(&w) && (1..=LARGEST).contains(&h) => Ok([w, h]),
        _ => Err(format!("a size is WIDTHxHEIGHT, each 1 to {LARGEST}, such as 1024x768")),
    }
}

pub fn run(args: Args, adapter: Option<&str>) -> Outcome {
    if args.output.extension().is_none_or(|e| !e.eq_ignore_ascii_case("png")) {
        return Err(format!("{}: the name must end in .png", args.output.display()).into());
    }
    if !(args.yaw.is_finite() && args.pitch.is_finite()) {
        return Err("--yaw and --pitch must be finite".into());
    }
    if args.time.is_nan() {
        return Err("--time is not a number".into());
    }
    output::check(&args.output, &[&args.model], args.force)?;
    let character = model::load(&args.model)?;
    let clip = args.clip.as_deref().map(|wanted| model::clip(&character, wanted)).transpose()?;
    if clip.is_none() && args.time != 0.0 {
        eprintln!("warning: --time has no effect without --clip");
    }
    let time = clip.map_or(0.0, |clip| args.time.clamp(0.0, character.clips[clip].duration.max(0.0)));
    let orbit = Orbit { yaw: args.yaw.to_radians(), pitch: args.pitch.to_radians(), ..Orbit::default() };
    let shot =
        Shot { clip, pose: None, textures: None, focus: Vec::new(), time, size: args.size, grid: !args.no_grid, orbit };
    let name = character.name.clone();
    let (picture, adapter) = shot.take(character, adapter)?;
    picture.save(&args.output)?;
    let [width, height] = args.size;
    output::say(&format!("{name}: {width}x{height}, drawn on {adapter}, to {}", args.output.display()))?;
    Ok(())
}

/// What is smaller than this share of the whole is shown alone.
const CLOSE_UP: f32 = 0.4;

/// Diagonal of the box around some points.
fn size_of(points: &[[f32; 3]]) -> f32 {
    let side = |axis: usize| {
        let of = points.iter().map(|p| p[axis]);
        of.clone().fold(f32::NEG_INFINITY, f32::max) - of.fold(f32::INFINITY, f32::min)
    };
    (0..3).map(|axis| side(axis).powi(2)).sum::<f32>().sqrt()
}

/// One picture or none per sample, and for each material the weights of the samples.
pub type Textures = (Vec<Option<dermis::character::Image>>, Vec<Vec<f32>>);

/// One picture of a character, framed from where `orbit` stands.
pub struct Shot {
    pub clip: Option<usize>,
    /// Instead of a clip.
    pub pose: Option<dermis::pose::Pose>,
    /// Base-colour pictures of a pose space's samples, and the samples' weights for each material.
    pub textures: Option<Textures>,
    /// What the picture must show; all of the character where this is empty or most of it anyway.
    pub focus: Vec<[f32; 3]>,
    pub time: f32,
    pub size: [u32; 2],
    pub grid: bool,
    pub orbit: Orbit,
}

impl Shot {
    /// The picture, and the name of the adapter that drew it.
    pub fn take(
        &self,
        character: dermis::Character,
        adapter: Option<&str>,
    ) -> Result<(picture::Picture, String), Box<dyn std::error::Error>> {
        let gpu = device::open_on(&device::instance(), None, adapter)?;
        gpu.check_drawing()?;
        let largest = gpu.device.limits().max_texture_dimension_2d;
        if self.size.iter().any(|&s| s > largest) {
            let [w, h] = self.size;
            return Err(format!("{w}x{h} is too large: {} draws at most {largest}x{largest}", gpu.info.name).into());
        }
        let renderer = Renderer::new(&gpu.device, &RendererDescriptor::default())?;
        let mut stage = Stage::new(&gpu, &renderer, character)?;
        stage.play(self.clip, false)?;
        if let Some(pose) = &self.pose {
            stage.hold(pose)?;
        }
        if let Some((pictures, weights)) = &self.textures {
            stage.mix(&gpu, &renderer, pictures, weights)?;
        }
        stage.prepare(&gpu, f64::from(self.time));
        let points = stage.measure(&gpu)?;
        if points.is_empty() {
            return Err(format!("{} has nothing to draw", stage.character.name).into());
        }
        let aspect = self.size[0] as f32 / self.size[1] as f32;
        let mut orbit = self.orbit;
        orbit.pitch = orbit.pitch.clamp(-1.55, 1.55);
        // A picture of most of a body is better a picture of all of it: nothing is cut off at its edge.
        let close_up = size_of(&self.focus) < CLOSE_UP * size_of(&points) && !self.focus.is_empty();
        let shown = if close_up { &self.focus } else { &points };
        orbit.frame(shown, aspect, Vec2::ONE);
        let camera = orbit.camera(aspect, Vec2::ZERO);
        let picture = picture::take(&gpu, &renderer, &mut stage, &camera, self.size, self.grid)?;
        Ok((picture, gpu.info.name))
    }
}
