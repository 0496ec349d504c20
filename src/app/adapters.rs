//! `dermis adapters`: what it can run on, and why not.

use super::Outcome;

/// Lists the adapters it can run on, and why not.
#[derive(clap::Args, Default)]
pub struct Args {}

pub fn run(_args: Args, _adapter: Option<&str>) -> Outcome {
    Err("not built yet".into())
}
