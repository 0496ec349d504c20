//! `dermis render`: one frame, headless.

use super::Outcome;

/// Renders one frame to a PNG, headless.
#[derive(clap::Args, Default)]
pub struct Args {}

pub fn run(_args: Args, _adapter: Option<&str>) -> Outcome {
    Err("not built yet".into())
}
