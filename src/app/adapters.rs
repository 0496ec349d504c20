//! `dermis adapters`: what it can run on, and why not.

use dermis::wgpu;

use super::{Outcome, device, output};

/// Lists the adapters it can run on, and why not.
#[derive(clap::Args, Default)]
pub struct Args {
    /// Writes JSON instead of a table.
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args, _adapter: Option<&str>) -> Outcome {
    let found = device::candidates(&device::instance(), None);
    if args.json {
        output::say(&serde_json::to_string_pretty(&json(&found))?)?;
        return Ok(());
    }
    if found.is_empty() {
        output::say(&device::no_adapter())?;
        return Ok(());
    }
    let mut rows = vec![["", "name", "type", "backend", "driver", "usable"].map(String::from)];
    for (i, candidate) in found.iter().enumerate() {
        let info = &candidate.info;
        let usable = candidate.refusal.as_ref().map_or("yes".into(), |why| format!("no: {why}"));
        let kind = device::kind(info.device_type).1.to_string();
        rows.push([i.to_string(), info.name.clone(), kind, info.backend.to_string(), driver(info), usable]);
    }
    let widths = [0, 1, 2, 3, 4].map(|c| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0));
    for row in &rows {
        let cells: Vec<String> = widths.iter().zip(row).map(|(&w, cell)| format!("{cell:w$}")).collect();
        output::say(&format!("{}  {}", cells.join("  "), row[5]))?;
    }
    Ok(())
}

/// Driver and version in a few words; OpenGL gives both in one string.
fn driver(info: &wgpu::AdapterInfo) -> String {
    let text = format!("{} {}", info.driver, info.driver_info);
    if text.trim().is_empty() { "-".into() } else { text.trim().into() }
}

fn json(found: &[device::Candidate]) -> serde_json::Value {
    let one = |(index, c): (usize, &device::Candidate)| {
        serde_json::json!({
            "index": index,
            "name": c.info.name,
            "type": device::kind(c.info.device_type).1,
            "backend": c.info.backend.to_string(),
            "driver": c.info.driver,
            "driver_info": c.info.driver_info,
            "usable": c.refusal.is_none(),
            "refusal": c.refusal,
        })
    };
    serde_json::json!({ "adapters": found.iter().enumerate().map(one).collect::<Vec<_>>() })
}
