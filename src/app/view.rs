//! `dermis view`: the viewer.

use super::Outcome;

/// Opens the viewer.
#[derive(clap::Args, Default)]
pub struct Args {}

pub fn run(_args: Args, _adapter: Option<&str>) -> Outcome {
    Err("not built yet".into())
}
