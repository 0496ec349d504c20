//! `dermis info`: what is in a file.

use super::Outcome;

/// Says what is in a model: meshes, joints, influences, clips, warnings.
#[derive(clap::Args, Default)]
pub struct Args {}

pub fn run(_args: Args) -> Outcome {
    Err("not built yet".into())
}
