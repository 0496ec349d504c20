//! Settings of pruning, and the file that keeps them.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use clap::ValueEnum;
use dermis::influence::{self, PruneOptions};
use serde::{Deserialize, Serialize};

use super::output;
use super::weights::Weights;

/// Who gets the weight of removed influences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Redistribute {
    /// In proportion to what they have.
    #[default]
    Proportional,
    /// The same for each.
    Equal,
    /// The heaviest removed weight is taken off all: no jumps between neighbouring vertices.
    Continuous,
}

/// Who stays when weights are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ties {
    /// The bone that is heavier around the vertex.
    #[default]
    Neighbours,
    /// The bone of higher --priority.
    Priority,
    /// The bone (or left/right pair) of lower index.
    Index,
}

/// Priorities by bone name.
pub type Priorities = BTreeMap<String, f32>;

/// How to prune, and how to store what stays.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Influences kept per vertex, 1…8.
    pub max_influences: u8,
    pub redistribute: Redistribute,
    pub ties: Ties,
    pub weights: Weights,
    pub priorities: Priorities,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_influences: 4,
            redistribute: Redistribute::default(),
            ties: Ties::default(),
            weights: Weights::default(),
            priorities: Priorities::new(),
        }
    }
}

/// What the first two keys of a preset are.
const KIND: &str = "prune-preset";
const VERSION: u32 = 1;

/// A preset as it stands in its file; what is left out keeps its default.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Preset {
    dermis: String,
    version: u32,
    #[serde(default = "four")]
    max_influences: u8,
    #[serde(default)]
    redistribute: Redistribute,
    #[serde(default)]
    ties: Ties,
    #[serde(default)]
    weights: Weights,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    priority: Priorities,
}

fn four() -> u8 {
    Settings::default().max_influences
}

impl Settings {
    /// What [`influence::prune`] is told.
    pub fn options(&self) -> PruneOptions {
        PruneOptions {
            max: self.max_influences.into(),
            redistribute: match self.redistribute {
                Redistribute::Proportional => influence::Redistribute::Proportional,
                Redistribute::Equal => influence::Redistribute::Equal,
                Redistribute::Continuous => influence::Redistribute::Continuous,
            },
            ties: match self.ties {
                Ties::Neighbours => influence::Ties::Neighbours,
                Ties::Priority => influence::Ties::Priority,
                Ties::Index => influence::Ties::Index,
            },
        }
    }

    /// Reads a preset.
    pub fn read(path: &Path) -> Result<Self, Box<dyn Error>> {
        let text = read_text(path)?;
        Self::parse(&text).map_err(|problem| format!("{}: {problem}", path.display()).into())
    }

    fn parse(text: &[u8]) -> Result<Self, String> {
        // What it is comes first: the keys of another kind of file are no typing errors.
        let value: serde_json::Value = serde_json::from_slice(text).map_err(|e| e.to_string())?;
        let kind = value.get("dermis").and_then(|k| k.as_str());
        if kind != Some(KIND) {
            return Err(format!("is no preset: \"dermis\" is not {KIND:?}"));
        }
        match value.get("version").and_then(serde_json::Value::as_u64) {
            Some(version) if version == u64::from(VERSION) => {}
            Some(version) => return Err(format!("has version {version}, but only {VERSION} is known here")),
            None => return Err(format!("has no \"version\" ({VERSION} is known here)")),
        }
        let preset: Preset = serde_json::from_slice(text).map_err(|e| e.to_string())?;
        if !(1..=8).contains(&preset.max_influences) {
            return Err(format!("max_influences is {}, but must be 1…8", preset.max_influences));
        }
        Ok(Self {
            max_influences: preset.max_influences,
            redistribute: preset.redistribute,
            ties: preset.ties,
            weights: preset.weights,
            priorities: preset.priority,
        })
    }

    /// Writes a preset that [`Settings::read`] reads back as it is.
    pub fn write(&self, path: &Path) -> Result<(), Box<dyn Error>> {
        let preset = Preset {
            dermis: KIND.into(),
            version: VERSION,
            max_influences: self.max_influences,
            redistribute: self.redistribute,
            ties: self.ties,
            weights: self.weights,
            priority: self.priorities.clone(),
        };
        output::write(path, |out| {
            serde_json::to_writer_pretty(&mut *out, &preset)?;
            Ok(writeln!(out)?)
        })
    }
}

/// Reads a file of priorities.
pub fn read_priorities(path: &Path) -> Result<Priorities, Box<dyn Error>> {
    let text = read_text(path)?;
    Ok(serde_json::from_slice(&text).map_err(|e| format!("{}: {e}", path.display()))?)
}

fn read_text(path: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let fail = |e: std::io::Error| format!("{}: {e}", path.display());
    if !std::fs::metadata(path).map_err(fail)?.is_file() {
        return Err(format!("{}: is not a regular file", path.display()).into());
    }
    Ok(std::fs::read(path).map_err(fail)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let path = std::env::temp_dir().join(format!("dermis-preset-{}.json", std::process::id()));
        let settings = Settings {
            max_influences: 3,
            redistribute: Redistribute::Continuous,
            ties: Ties::Priority,
            weights: Weights::F32,
            priorities: [("thumb \"1\"".to_owned(), -0.1), ("wrist".to_owned(), 7.0)].into(),
        };
        for settings in [settings, Settings::default()] {
            settings.write(&path).unwrap();
            assert_eq!(Settings::read(&path).unwrap(), settings);
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn refusals_say_why() {
        let parse = |text: &str| Settings::parse(text.as_bytes());
        let head = r#"{ "dermis": "prune-preset", "version": 1"#;
        assert_eq!(parse(&format!("{head} }}")), Ok(Settings::default()));
        for (text, part) in [
            ("{}".to_owned(), "is no preset"),
            (r#"{ "dermis": "pose-space", "version": 1 }"#.into(), "is no preset"),
            (r#"{ "dermis": "prune-preset" }"#.into(), "no \"version\""),
            (r#"{ "dermis": "prune-preset", "version": 2, "later": 1 }"#.into(), "version 2"),
            (format!("{head}, \"max_influence\": 3 }}"), "unknown field `max_influence`"),
            (format!("{head}, \"max_influences\": 9 }}"), "1…8"),
            (format!("{head}, \"max_influences\": 0 }}"), "1…8"),
            (format!("{head}, \"ties\": \"luck\" }}"), "luck"),
            (format!("{head}, \"priority\": {{ \"a\": 1e99 }} }}"), "out of range"),
            (format!("{head}, \"weights\": \"u8\", \"weights\": \"u8\" }}"), "duplicate"),
            ("nothing".into(), "line 1"),
        ] {
            let found = parse(&text).unwrap_err();
            assert!(found.contains(part) && !found.contains('\n'), "{text}: {found}");
        }
    }
}
