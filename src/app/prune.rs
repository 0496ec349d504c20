//! `dermis prune`: fixed-width weights into a copy of a file.

use std::collections::HashMap;
use std::error::Error;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use dermis::influence::Report;
use indicatif::{ProgressBar, ProgressStyle};

use super::preset::{Redistribute, Settings, Ties, read_priorities};
use super::weights::Weights;
use super::{Outcome, model, output, pruning};

/// Prunes influences to at most a fixed number per vertex; everything else in the file stays as it is.
#[derive(clap::Args)]
pub struct Args {
    /// .glb, .gltf or .vrm files, or `hand`: the built-in hands.
    #[arg(required = true, value_name = "IN")]
    inputs: Vec<PathBuf>,
    /// A .glb (or .vrm) file, or for several inputs a folder.
    #[arg(short, long, value_name = "OUT.glb|DIR/")]
    output: PathBuf,
    /// Settings that the viewer saved: JSON of the form {"dermis": "prune-preset", "version": 1, "max_influences": 4,
    /// "redistribute": "proportional", "ties": "neighbours", "weights": "u8", "priority": {"bone name": number}}. Keys that are
    /// left out keep their defaults; the options below go before the preset's.
    #[arg(long, value_name = "FILE")]
    preset: Option<PathBuf>,
    /// Influences kept per vertex, 1…8 [default: 4].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=8))]
    max_influences: Option<u8>,
    /// Who gets the weight of removed influences [default: proportional].
    #[arg(long, value_enum)]
    redistribute: Option<Redistribute>,
    /// Who stays when weights are equal; each rule falls back to those after it [default: neighbours].
    #[arg(long, value_enum)]
    ties: Option<Ties>,
    /// JSON of the form {"bone name": number}; of equal weights, that of the higher number stays.
    #[arg(long, value_name = "FILE")]
    priority: Option<PathBuf>,
    /// How the weights are stored [default: u8].
    #[arg(long, value_enum)]
    weights: Option<Weights>,
    /// Write what was done as JSON.
    #[arg(long, value_name = "R.json")]
    report: Option<PathBuf>,
    /// Overwrite an input.
    #[arg(long)]
    force: bool,
}

impl Args {
    /// The preset's settings, or the defaults, with what the command line says instead.
    fn settings(&self) -> Result<Settings, Box<dyn Error>> {
        let mut settings = self.preset.as_deref().map(Settings::read).transpose()?.unwrap_or_default();
        settings.max_influences = self.max_influences.unwrap_or(settings.max_influences);
        settings.redistribute = self.redistribute.unwrap_or(settings.redistribute);
        settings.ties = self.ties.unwrap_or(settings.ties);
        settings.weights = self.weights.unwrap_or(settings.weights);
        if let Some(path) = &self.priority {
            settings.priorities = read_priorities(path)?;
        }
        Ok(settings)
    }
}

pub fn run(args: Args) -> Outcome {
    let settings = args.settings()?;
    let targets = targets(&args)?;
    if let Some(report) = &args.report {
        let inputs: Vec<&Path> = args.inputs.iter().map(PathBuf::as_path).collect();
        output::check(report, &inputs, args.force)?;
        if let Some(target) = targets.iter().flatten().find(|target| output::same(target, report)) {
            return Err(format!("{}: is where a result goes, not the report", target.display()).into());
        }
    }
    let bar = if args.inputs.len() > 1 { ProgressBar::new(args.inputs.len() as u64) } else { ProgressBar::hidden() };
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    let mut outcomes = Vec::with_capacity(args.inputs.len());
    for (input, target) in args.inputs.iter().zip(&targets) {
        bar.set_message(input.display().to_string());
        let outcome = match target {
            Ok(target) => prune_file(input, target, &settings).map_err(|e| e.to_string()),
            Err(problem) => Err(problem.clone()),
        };
        if let Err(problem) = &outcome
            && args.inputs.len() > 1
        {
            bar.suspend(|| eprintln!("error: {problem}"));
        }
        outcomes.push(outcome);
        bar.inc(1);
    }
    bar.finish_and_clear();
    if let Some(path) = &args.report {
        let json = report_json(&args, &settings, &outcomes);
        output::write(path, |out| Ok(serde_json::to_writer_pretty(out, &json)?))?;
    }
    match <[_; 1]>::try_from(outcomes) {
        Ok([outcome]) => {
            let done = outcome?;
            output::say(done.report.to_string().trim_end())?;
            done.warnings.iter().for_each(|w| eprintln!("warning: {w}"));
            Ok(())
        }
        Err(outcomes) => summary(&args, &outcomes),
    }
}

/// Where each input goes: the file given, or a file of the same name in the folder given. A broken pairing is that
/// input's own error, so that the others are still written.
fn targets(args: &Args) -> Result<Vec<Result<PathBuf, String>>, Box<dyn Error>> {
    let text = args.output.to_string_lossy();
    let folder = args.inputs.len() > 1 || args.output.is_dir() || text.ends_with('/') || text.ends_with('\\');
    if !folder {
        let kind = args.output.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
        if !matches!(kind.as_deref(), Some("glb" | "vrm")) {
            return Err(format!("{}: the name must end in .glb or .vrm", args.output.display()).into());
        }
        output::check(&args.output, &[&args.inputs[0]], args.force)?;
        return Ok(vec![Ok(args.output.clone())]);
    }
    let like_a_file =
        args.output.extension().is_some_and(|e| ["glb", "gltf", "vrm"].iter().any(|k| e.eq_ignore_ascii_case(k)));
    if like_a_file && !args.output.is_dir() {
        return Err(format!("{}: several files go into a folder, not into one file", args.output.display()).into());
    }
    std::fs::create_dir_all(&args.output).map_err(|e| format!("{}: {e}", args.output.display()))?;
    let mut taken: HashMap<PathBuf, &Path> = HashMap::new();
    let mut target = |input: &'_ PathBuf| -> Result<PathBuf, String> {
        let name = input.file_stem().ok_or_else(|| format!("{}: names no file", input.display()))?;
        let vrm = input.extension().is_some_and(|e| e.eq_ignore_ascii_case("vrm"));
        let mut name = name.to_os_string();
        name.push(if vrm { ".vrm" } else { ".glb" });
        let path = args.output.join(name);
        let known = args.inputs.iter().find(|i| *i == input).map_or(Path::new(""), PathBuf::as_path);
        if let Some(other) = taken.insert(path.clone(), known) {
            return Err(format!("{}: would overwrite the result of {}", input.display(), other.display()));
        }
        let inputs: Vec<&Path> = args.inputs.iter().map(PathBuf::as_path).collect();
        output::check(&path, &inputs, args.force).map_err(|e| e.to_string())?;
        Ok(path)
    };
    Ok(args.inputs.iter().map(&mut target).collect())
}

/// A file that was pruned.
struct Done {
    target: PathBuf,
    report: Report,
    warnings: Vec<String>,
}

fn prune_file(input: &Path, target: &Path, settings: &Settings) -> Result<Done, Box<dyn Error>> {
    let priorities = &settings.priorities;
    let character = model::open(input)?;
    let mut edit = model::edit(input, &character)?;
    let mut warnings = character.warnings.clone();
    warnings.extend_from_slice(edit.warnings());
    let mut used = vec![false; priorities.len()];
    let mut report = Report::default();
    let sheets = pruning::sheets(&character);
    if sheets.is_empty() {
        warnings.push("has no skinned mesh: nothing to prune".into());
    }
    for sheet in &sheets {
        let named = |name: &String| sheet.names.contains(name);
        priorities.keys().zip(&mut used).for_each(|(name, used)| *used |= named(name));
        let stored = sheet.store(&sheet.file.influences, settings, true)?;
        sheet.put(&mut edit, &stored).map_err(|e| format!("{}: {e}", input.display()))?;
        let (displacement, _) = sheet.displacements(&character, &sheet.file.influences, &stored.influences)?;
        let cleaned = character.meshes[sheet.mesh].cleaned;
        report.add(&Report { cleaned, prune: stored.report, displacement: Some(displacement) });
    }
    for (name, _) in priorities.keys().zip(&used).filter(|(_, used)| !**used) {
        warnings.push(format!("a priority is for {name:?}, but no joint has that name"));
    }
    let glb = edit.to_glb()?;
    output::write(target, |out| Ok(out.write_all(&glb)?))?;
    Ok(Done { target: target.to_path_buf(), report, warnings })
}

fn report_json(args: &Args, settings: &Settings, outcomes: &[Result<Done, String>]) -> serde_json::Value {
    let files: Vec<serde_json::Value> = args
        .inputs
        .iter()
        .zip(outcomes)
        .map(|(input, outcome)| match outcome {
            Err(problem) => serde_json::json!({ "input": input.display().to_string(), "error": problem }),
            Ok(done) => {
                let mut json = serde_json::json!({
                    "input": input.display().to_string(), "output": done.target.display().to_string(),
                });
                if let (Some(json), serde_json::Value::Object(report)) = (json.as_object_mut(), done.report.to_json()) {
                    json.extend(report);
                    json.insert("warnings".into(), done.warnings.clone().into());
                }
                json
            }
        })
        .collect();
    let name = |value: Option<clap::builder::PossibleValue>| value.map(|v| v.get_name().to_owned());
    serde_json::json!({
        "dermis": "prune-report",
        "version": 1,
        "max_influences": settings.max_influences,
        "redistribute": name(settings.redistribute.to_possible_value()),
        "ties": name(settings.ties.to_possible_value()),
        "weights": name(settings.weights.to_possible_value()),
        "files": files,
    })
}

/// One line per file, and an error if any failed.
fn summary(args: &Args, outcomes: &[Result<Done, String>]) -> Outcome {
    let names: Vec<String> = args.inputs.iter().map(|i| i.display().to_string()).collect();
    let width = names.iter().map(|n| n.chars().count()).max().unwrap_or(0).max(4);
    output::say(&format!(
        "{:width$}  {:>8}  {:>7}  {:>6}  {:>9}  {:>12}",
        "file", "vertices", "most", "ties", "removed", "displaced"
    ))?;
    for (name, outcome) in names.iter().zip(outcomes) {
        match outcome {
            Err(_) => output::say(&format!("{name:width$}  failed"))?,
            Ok(done) => {
                let p = &done.report.prune;
                let most = |counts: &[usize]| counts.iter().rposition(|&n| n > 0).unwrap_or(0);
                let change = format!("{}→{}", most(&p.before), most(&p.after));
                let percent = done.report.displacement.as_ref().map_or(0.0, |d| d.percent());
                let (vertices, ties, removed) = (p.removed.len(), p.ties.met, p.removed_max());
                output::say(&format!(
                    "{name:width$}  {vertices:>8}  {change:>7}  {ties:>6}  {removed:>9.4}  {percent:>10.4} %"
                ))?;
            }
        }
    }
    for (name, done) in names.iter().zip(outcomes).filter_map(|(n, o)| Some((n, o.as_ref().ok()?))) {
        done.warnings.iter().for_each(|w| eprintln!("warning: {name}: {w}"));
    }
    match outcomes.iter().filter(|o| o.is_err()).count() {
        0 => Ok(()),
        failed => Err(format!("{failed} of {} files failed", outcomes.len()).into()),
    }
}
