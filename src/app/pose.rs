//! `dermis pose`: a blended pose from a pose space.

use super::Outcome;

/// Blends the poses of a pose space at a point.
#[derive(clap::Args, Default)]
pub struct Args {}

pub fn run(_args: Args, _adapter: Option<&str>) -> Outcome {
    Err("not built yet".into())
}
