//! `dermis view`: the viewer.

mod app;
pub mod camera;
mod input;
mod panel;
mod pick;
pub mod picture;
mod projection;
pub mod scene;
mod session;
mod skeleton;
mod source;
mod weights;
mod window;

use std::path::{Path, PathBuf};

use winit::event_loop::EventLoop;

use super::render::Shot;
use super::{Outcome, output, tube};

/// Opens the viewer.
///
/// Without a display it says so, renders the same scene to dermis.png (or the --screenshot FILE), and exits 0.
#[derive(clap::Args, Default)]
pub struct Args {
    /// A .glb, .gltf or .vrm file; without it a built-in tube.
    model: Option<PathBuf>,
    /// Saves a picture of the scene to FILE, then closes.
    #[arg(long, value_name = "FILE")]
    screenshot: Option<PathBuf>,
    /// Closes after N frames.
    #[arg(long, value_name = "N")]
    frames: Option<u32>,
}

pub fn run(args: Args, adapter: Option<&str>) -> Outcome {
    if args.model.as_deref().is_some_and(|m| m == Path::new("hand") && !m.exists()) {
        return Err("the built-in hands are not there yet".into());
    }
    if let Some(screenshot) = &args.screenshot {
        if screenshot.extension().is_none_or(|e| !e.eq_ignore_ascii_case("png")) {
            return Err(format!("{}: the name must end in .png", screenshot.display()).into());
        }
        let inputs: Vec<&Path> = args.model.as_deref().into_iter().collect();
        output::check(screenshot, &inputs, false)?;
    }
    let event_loop = match EventLoop::<app::Event>::with_user_event().build() {
        Ok(event_loop) => event_loop,
        Err(error) => return without_display(&args, adapter, &error.to_string()),
    };
    let script = app::Script { screenshot: args.screenshot.clone(), frames: args.frames };
    let mut viewer = app::App::new(event_loop.create_proxy(), adapter, args.model.clone(), script);
    event_loop.run_app(&mut viewer)?;
    match viewer.failure.take() {
        None => Ok(()),
        Some(failure) if viewer.opened() => Err(failure.into()),
        Some(failure) => without_display(&args, adapter, &failure),
    }
}

/// The same scene as a picture.
fn without_display(args: &Args, adapter: Option<&str>, why: &str) -> Outcome {
    let output = args.screenshot.as_deref().unwrap_or(Path::new("dermis.png"));
    // winit's errors begin with the place in its source that raised them.
    let why = why.lines().next().unwrap_or_default().trim_end_matches('.');
    let why = why.split_once(".rs:").map_or(why, |(_, rest)| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    let why = why.trim_start_matches([':', ' ']);
    eprintln!("no display ({why}): rendering to {} instead", output.display());
    let character = match &args.model {
        Some(path) => super::model::load(path)?,
        None => tube::tube(),
    };
    // A moment after the start, when the first clip is under way.
    let clip = (!character.clips.is_empty()).then_some(0);
    let time = clip.map_or(0.0, |i| character.clips[i].duration.min(1.0));
    let shot = Shot {
        clip,
        pose: None,
        textures: None,
        focus: Vec::new(),
        time,
        size: [1200, 800],
        grid: true,
        orbit: Default::default(),
    };
    shot.take(character, adapter)?.0.save(output)
}
