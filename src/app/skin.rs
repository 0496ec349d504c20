//! `dermis skin`: skins a model on the GPU and writes the vertices.

use super::Outcome;

/// Skins a model on the GPU and writes the vertices.
#[derive(clap::Args, Default)]
pub struct Args {}

pub fn run(_args: Args, _adapter: Option<&str>) -> Outcome {
    Err("not built yet".into())
}
