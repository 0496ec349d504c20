//! `dermis bind`: generates influences.

use super::Outcome;

/// Generates influences for a mesh from a skeleton.
#[derive(clap::Args, Default)]
pub struct Args {}

pub fn run(_args: Args) -> Outcome {
    Err("not built yet".into())
}
