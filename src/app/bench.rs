//! `dermis bench`: the engine against a dispatch per character and against a bare copy of the same bytes.

mod kernels;
mod scene;

use std::path::PathBuf;
use std::time::Instant;

use dermis::gpu::Layout;
use dermis::wgpu;
use serde::Serialize;

use super::{Outcome, device, output};
use kernels::{Copy, PerCharacter};
use scene::{Crowd, Ours};

/// Measures the engine, headless, against what else one could do with the same characters.
///
/// Every contestant is given the same meshes, clips and times, and makes skinned vertices in GPU buffers. per-character is
/// what most engines do: poses sampled and concatenated on the CPU, one upload, then one dispatch per character.
/// per-character-posed is the same with poses that were made and uploaded before the clock started: nothing but its
/// dispatches. Cases with a + ask more of the engine, of nobody else: the positions of the frame before, boxes around the
/// characters, or normals and tangents in f32. copy only moves as many bytes as a vertex alone takes. Answers are checked before anything is timed.
#[derive(clap::Args)]
pub struct Args {
    /// Fewer rounds and the smaller cases: seconds instead of minutes.
    #[arg(long)]
    quick: bool,
    /// Write the results as JSON too.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// One contestant: makes frame `i`, submitted but not waited for.
trait Contestant {
    fn frame(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, i: u32) -> dermis::Result<()>;
    /// Bytes a vertex reads and writes, by the kernel's own layout; palettes and tables are not counted.
    fn bytes_per_vertex(&self) -> f64;
}

#[derive(Serialize)]
struct Report {
    adapter: String,
    backend: String,
    driver: String,
    version: &'static str,
    /// What `median_ms` and its neighbours are: wall-clock time of a frame, averaged over a batch of frames in flight.
    clock: &'static str,
    cases: Vec<CaseReport>,
}

#[derive(Serialize)]
struct CaseReport {
    name: String,
    characters: u32,
    vertices: u64,
    joints: u32,
    median_ms: f64,
    p10_ms: f64,
    p90_ms: f64,
    mvertices_per_s: f64,
    bytes_per_vertex: f64,
    gbytes_per_s: f64,
    /// Largest error of the checked vertices, in parts of the character's size.
    worst_error: f64,
    /// Median of the other divided by ours: above 1, ours is faster.
    ratios: std::collections::BTreeMap<&'static str, f64>,
    others: Vec<Other>,
}

#[derive(Serialize)]
struct Other {
    name: &'static str,
    median_ms: f64,
    p10_ms: f64,
    p90_ms: f64,
    bytes_per_vertex: f64,
}

pub fn run(args: Args, adapter: Option<&str>) -> Outcome {
    if let Some(path) = &args.json {
        // Before the measurement, not after it.
        output::check(path, &[], true)?;
    }
    let (device, queue, info) = device::open(adapter)?;
    output::say(&format!("{} ({}), {}", info.name, info.backend, info.driver_info))?;
    output::say(&format!(
        "dermis {VERSION}; wall-clock time of a frame, posing included; ratios above 1: ours is faster"
    ))?;
    output::say("")?;
    output::say(&format!(
        "{:<19} {:>11} {:>9} {:>9} {:>9} {:>12} {:>8} {:>8}   ratios",
        "case", "vertices", "median", "p10", "p90", "Mvertices/s", "B/vertex", "GB/s"
    ))?;
    let rounds = if args.quick { 7 } else { 31 };
    let crowd = Crowd::new("crowd-1000", 1000, 1728, 24);
    let mut cases = vec![crowd];
    if args.quick {
        cases.push(Crowd::new("single-100k", 1, 100_000, 24));
    } else {
        cases.push(Crowd::new("single-1M", 1, 1_000_000, 64));
        cases.push(Crowd::new("crowd-100", 100, 10_000, 64));
        cases.push(Crowd { name: "crowd-1000+previous", previous: true, ..crowd });
        cases.push(Crowd { name: "crowd-1000+bounds", bounds: true, ..crowd });
        cases.push(Crowd { name: "crowd-1000+full", layout: Layout::Full, ..crowd });
    }
    let mut report = Report {
        adapter: info.name,
        backend: info.backend.to_string(),
        driver: info.driver_info,
        version: VERSION,
        clock: "wall",
        cases: Vec::new(),
    };
    for crowd in cases {
        let case = measure(&device, &queue, crowd, rounds)?;
        let ratios: Vec<String> = case.ratios.iter().map(|(name, ratio)| format!("{name} {ratio:.2}")).collect();
        output::say(&format!(
            "{:<19} {:>11} {:>6.3} ms {:>6.3} ms {:>6.3} ms {:>12.1} {:>8.1} {:>8.2}   {}",
            case.name,
            case.vertices,
            case.median_ms,
            case.p10_ms,
            case.p90_ms,
            case.mvertices_per_s,
            case.bytes_per_vertex,
            case.gbytes_per_s,
            ratios.join(", ")
        ))?;
        report.cases.push(case);
    }
    if let Some(path) = args.json {
        let text = serde_json::to_string_pretty(&report)?;
        output::write(&path, |to| Ok(writeln!(to, "{text}")?))?;
    }
    Ok(())
}

/// Checks the answers, then times the contestants in turn: whatever disturbs the machine disturbs them all.
fn measure(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    crowd: Crowd,
    rounds: usize,
) -> Result<CaseReport, Box<dyn std::error::Error>> {
    let assets = crowd.assets();
    let mut ours = Ours::new(device, queue, &crowd, &assets)?;
    ours.frame(device, queue, 0)?;
    let worst_error = ours.check(device, queue, &crowd, &assets)?;
    let mut per_character = PerCharacter::new(device, queue, &crowd, &assets, true)?;
    let mut posed = PerCharacter::new(device, queue, &crowd, &assets, false)?;
    for baseline in [&mut per_character, &mut posed] {
        baseline.frame(device, queue, 0)?;
        baseline.check(device, queue)?;
    }
    let mut copy = Copy::new(device, queue, &crowd);

    let mut contestants: [(&'static str, &mut dyn Contestant); 4] = [
        ("dermis", &mut ours),
        ("per-character", &mut per_character),
        ("per-character-posed", &mut posed),
        ("copy", &mut copy),
    ];
    // Frames in flight per sample: enough that a sample takes 20 ms, so that submitting and waiting do not count.
    let mut next = 1;
    let mut batches = [0u32; 4];
    for (batch, (_, contestant)) in batches.iter_mut().zip(&mut contestants) {
        let mut once = || sample(device, queue, &mut **contestant, 1, &mut next);
        once()?;
        let frame_ms = once()?.min(once()?);
        *batch = (20.0 / frame_ms.max(0.05)).ceil().clamp(1.0, 400.0) as u32;
    }
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..rounds {
        for ((times, (_, contestant)), &batch) in times.iter_mut().zip(&mut contestants).zip(&batches) {
            times.push(sample(device, queue, &mut **contestant, batch, &mut next)?);
        }
    }
    times.iter_mut().for_each(|t| t.sort_by(f64::total_cmp));
    let at = |times: &[f64], part: f64| times[((times.len() - 1) as f64 * part).round() as usize];
    let vertices = u64::from(crowd.characters) * u64::from(crowd.vertices);
    let median_ms = at(&times[0], 0.5);
    let bytes_per_vertex = contestants[0].1.bytes_per_vertex();
    let others: Vec<Other> = contestants[1..]
        .iter()
        .zip(&times[1..])
        .map(|((name, contestant), times)| Other {
            name,
            median_ms: at(times, 0.5),
            p10_ms: at(times, 0.1),
            p90_ms: at(times, 0.9),
            bytes_per_vertex: contestant.bytes_per_vertex(),
        })
        .collect();
    Ok(CaseReport {
        name: crowd.name.into(),
        characters: crowd.characters,
        vertices,
        joints: crowd.joints,
        median_ms,
        p10_ms: at(&times[0], 0.1),
        p90_ms: at(&times[0], 0.9),
        mvertices_per_s: vertices as f64 / median_ms / 1e3,
        bytes_per_vertex,
        gbytes_per_s: vertices as f64 * bytes_per_vertex / median_ms / 1e6,
        worst_error,
        ratios: others.iter().map(|o| (o.name, o.median_ms / median_ms)).collect(),
        others,
    })
}

/// Milliseconds a frame takes when `batch` of them are submitted one after the other and then waited for.
fn sample(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    contestant: &mut dyn Contestant,
    batch: u32,
    next: &mut u32,
) -> Result<f64, Box<dyn std::error::Error>> {
    let start = Instant::now();
    for _ in 0..batch {
        contestant.frame(device, queue, *next)?;
        *next += 1;
    }
    device.poll(wgpu::PollType::wait_indefinitely())?;
    Ok(start.elapsed().as_secs_f64() * 1e3 / f64::from(batch))
}
