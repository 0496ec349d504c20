//! The command line: one file per command, each with its `Args` and `run`.

mod adapters;
mod bench;
mod bind;
mod binding;
mod device;
mod info;
mod model;
mod output;
mod pose;
mod preset;
mod prune;
mod pruning;
mod render;
mod skin;
mod textures;
mod timing;
mod view;
mod weights;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What a command answers with: nothing, or one line for people.
pub type Outcome = Result<(), Box<dyn std::error::Error>>;

/// GPU skinning: look at, skin, prune, bind and pose characters.
#[derive(Parser)]
#[command(name = "dermis", version, about, max_term_width = 100)]
struct Cli {
    /// Adapter to run on: part of its name, or its index in `dermis adapters`.
    #[arg(long, global = true, env = "DERMIS_ADAPTER", value_name = "NAME")]
    adapter: Option<String>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    View(view::Args),
    Info(info::Args),
    Skin(skin::Args),
    Render(render::Args),
    Prune(prune::Args),
    Bind(bind::Args),
    Pose(pose::Args),
    Bench(bench::Args),
    Adapters(adapters::Args),
}

/// Runs the command line: exit code 0, 1 with one `error:` line on stderr, or 2 on wrong usage.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let adapter = cli.adapter.as_deref();
    let outcome = match cli.command.unwrap_or_else(|| Command::View(view::Args::default())) {
        Command::View(args) => view::run(args, adapter),
        Command::Info(args) => info::run(args),
        Command::Skin(args) => skin::run(args, adapter),
        Command::Render(args) => render::run(args, adapter),
        Command::Prune(args) => prune::run(args),
        Command::Bind(args) => bind::run(args),
        Command::Pose(args) => pose::run(args, adapter),
        Command::Bench(args) => bench::run(args, adapter),
        Command::Adapters(args) => adapters::run(args, adapter),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
