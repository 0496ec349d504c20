//! `dermis view`: the viewer.

pub mod camera;
pub mod picture;
pub mod scene;

use super::Outcome;

/// Opens the viewer.
#[derive(clap::Args, Default)]
pub struct Args {}

pub fn run(_args: Args, adapter: Option<&str>) -> Outcome {
    let shot =
        super::render::Shot { clip: Some(0), time: 1.0, size: [1024, 1024], grid: true, orbit: Default::default() };
    shot.take(super::tube::tube(), adapter)?.save("dermis.png".as_ref())
}
