//! `dermis view`: the viewer.
//!
//! ```text
//! app      winit's event loop, and scripts (--screenshot, --frames)
//! session    the window's frame: step, ui, prepare, show; does what is requested
//! window       surface, targets, egui's painter
//! shell        everything that is not the window: panel, tabs, modes, camera; tests drive it without a window
//! layout         window, picture, and the part of it that nothing covers
//! mode           what a tab is (trait Mode) and what it works with (Context)
//! play …         the tabs, one module each, listed in `modes` below
//! scene        the Stage: a character on the GPU, more of its kind (`spawn`), and which are shown where (`shown`)
//! ```
//! A frame of the shell is, in this order: `Mode::tick`; keys (`undo`, `redo`, `keys`); the panel (`panel`); the picture's
//! clicks and drags (`pointer`, else the camera); what is painted over the picture (`overlay`, with this frame's
//! [`projection::Projection`]). Then the stage is posed for `Stage::seconds`, skinned in one go, and drawn: thumbnails first,
//! then `Stage::shown`. Only what changed is skinned; frames come only while `tick` says so, egui asks, or a job wakes the loop.
//!
//! A new tab: a module with a type that implements [`mode::Mode`], a `mod` line and a line in [`modes`].
//! - Drive `stage.hero` in `enter` with `stage.skinner.drive`; let time pass with `stage.seconds`.
//! - More characters: `stage.spawn()`, then `stage.shown.push(Placed {..})`, or draw them into a [`thumbnail::Thumbnail`] that
//!   egui shows. `leave` despawns them; what is shown and the pose are put back by the shell.
//! - Another look: `Placed::model`, made with `renderer.model` from a changed copy of the character.
//! - Long work: `context.jobs.start`, keep the [`jobs::Job`], look with `take` in `tick` or `panel`. File dialogs are jobs.
//! - Undo: keep an [`undo::Undo`] of your own steps; say in `unsaved` what would be lost.

mod app;
mod asking;
pub mod camera;
mod company;
mod input;
mod jobs;
mod layout;
mod manners;
mod mode;
mod panel;
mod pick;
pub mod picture;
mod play;
mod pose_mode;
mod projection;
#[cfg(test)]
mod saving_tests;
pub mod scene;
mod session;
mod settings;
mod shell;
mod skeleton;
mod source;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod thumbnail;
mod undo;
mod weights;
mod window;

use std::path::{Path, PathBuf};

use winit::event_loop::EventLoop;

use super::render::Shot;
use super::{Outcome, model, output};

/// The tabs, from left to right.
fn modes() -> Vec<Box<dyn mode::Mode>> {
    vec![
        Box::new(play::Play::default()),
        Box::new(pose_mode::PoseMode::default()),
        Box::new(weights::WeightsMode::default()),
        Box::new(skeleton::SkeletonMode::default()),
    ]
}

/// Opens the viewer.
///
/// Without a display it says so, renders the same scene to dermis.png (or the --screenshot FILE), and exits 0.
#[derive(clap::Args, Default)]
pub struct Args {
    /// A .glb, .gltf or .vrm file; without it (or as `hand`) the built-in hands.
    model: Option<PathBuf>,
    /// Saves a picture of the scene to FILE, then closes.
    #[arg(long, value_name = "FILE")]
    screenshot: Option<PathBuf>,
    /// Closes after N frames.
    #[arg(long, value_name = "N")]
    frames: Option<u32>,
    /// Opens with this tab: play, pose, weights or skeleton.
    #[arg(long, value_name = "NAME")]
    tab: Option<String>,
    /// Neither reads nor writes what is remembered: window, theme, recent files. So it is with --screenshot and --frames.
    #[arg(long)]
    no_settings: bool,
}

pub fn run(args: Args, adapter: Option<&str>) -> Outcome {
    if let Some(screenshot) = &args.screenshot {
        if screenshot.extension().is_none_or(|e| !e.eq_ignore_ascii_case("png")) {
            return Err(format!("{}: the name must end in .png", screenshot.display()).into());
        }
        let inputs: Vec<&Path> = args.model.as_deref().into_iter().collect();
        output::check(screenshot, &inputs, false)?;
    }
    let names: Vec<String> = modes().iter().map(|mode| mode.name().to_lowercase()).collect();
    let wanted = args.tab.as_deref().unwrap_or(&names[0]);
    let Some(tab) = names.iter().position(|name| *name == wanted.to_lowercase()) else {
        return Err(format!("there is no tab named {wanted:?}; found: {}", names.join(", ")).into());
    };
    let event_loop = match EventLoop::<app::Wake>::with_user_event().build() {
        Ok(event_loop) => event_loop,
        Err(error) => return without_display(&args, adapter, &error.to_string()),
    };
    let script = app::Script { screenshot: args.screenshot.clone(), tab, frames: args.frames };
    let forgetful = args.no_settings || script.is_any();
    let (memory, note) = if forgetful { Default::default() } else { settings::Memory::open() };
    let model = args.model.clone().filter(|model| !model::is_hand(model));
    let mut viewer = app::App::new(event_loop.create_proxy(), adapter, model, script, (memory, note));
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
    let character = match args.model.as_deref().filter(|model| !model::is_hand(model)) {
        Some(path) => model::load(path)?,
        None => model::start()?,
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
