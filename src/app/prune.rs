//! `dermis prune`: fixed-width weights into a copy of a file.

use super::Outcome;

/// Prunes influences to a fixed number per vertex.
#[derive(clap::Args, Default)]
pub struct Args {}

pub fn run(_args: Args) -> Outcome {
    Err("not built yet".into())
}
