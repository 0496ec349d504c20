//! The oracle's cases: models of others, and what an independent program computes for them in f64.

#![allow(dead_code, reason = "each test uses its own share")]

use std::path::PathBuf;

use dermis::Character;
use dermis::io::FilePrimitive;
use dermis::pose::Pose;

/// One model at one time, and how close an answer must come.
#[derive(serde::Deserialize)]
pub struct Case {
    pub model: String,
    /// An index, or `"none"`.
    clip: serde_json::Value,
    pub time: f32,
    pub file: String,
    /// Position error allowed, as a fraction of the extent.
    pub position: f64,
    /// Angles allowed, radians.
    pub normal: f64,
    pub tangent: f64,
}

/// The folder of models and cases beside the project; `None`, said aloud, where there is none.
pub fn shared() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared");
    if folder.join("oracle/cases.json").exists() {
        return Some(folder);
    }
    eprintln!("NOT RUN: {} does not exist", folder.display());
    None
}

pub fn cases(shared: &std::path::Path) -> Vec<Case> {
    let text = std::fs::read(shared.join("oracle/cases.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

impl Case {
    pub fn load(&self, shared: &std::path::Path) -> Character {
        let path = shared.join("models").join(&self.model);
        dermis::io::load(&path).unwrap_or_else(|e| panic!("{e}"))
    }

    /// Ten numbers per vertex: position, normal, tangent with sign; NaN where there is no answer.
    pub fn want(&self, shared: &std::path::Path) -> Vec<[f32; 10]> {
        let bytes = std::fs::read(shared.join("oracle").join(&self.file)).unwrap();
        let numbers: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|&b| f32::from_le_bytes(b)).collect();
        numbers.as_chunks::<10>().0.to_vec()
    }

    pub fn clip(&self) -> Option<usize> {
        self.clip.as_u64().map(|c| c as usize)
    }

    /// The pose, and the morph weights of a part, at the case's time.
    pub fn pose(&self, character: &Character) -> Pose {
        let mut pose = Pose::rest(&character.rig);
        if let Some(clip) = self.clip() {
            character.clips[clip].sample(self.time, &mut pose);
        }
        pose
    }

    pub fn morph_weights(&self, character: &Character, part: usize) -> Vec<f32> {
        let mut weights = character.parts[part].morph_weights.clone();
        if let Some(clip) = self.clip() {
            character.clips[clip].sample_morphs(part, self.time, &mut weights);
        }
        weights
    }
}

/// Worst position error as a fraction of the extent, worst angles of normals and tangents in radians.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worst {
    pub position: f64,
    pub normal: f64,
    pub tangent: f64,
}

impl Worst {
    pub fn max(self, o: Self) -> Self {
        Self {
            position: self.position.max(o.position),
            normal: self.normal.max(o.normal),
            tangent: self.tangent.max(o.tangent),
        }
    }
}

/// What the oracle's own `compare` measures. `got` has NaN tangents where the file has none.
pub fn compare(want: &[[f32; 10]], got: &[[f64; 10]]) -> Result<Worst, String> {
    if want.len() != got.len() {
        return Err(format!("{} vertices, expected {}", got.len(), want.len()));
    }
    let mut extent = 0.0_f64;
    for axis in 0..3 {
        let values = || want.iter().map(|w| f64::from(w[axis]));
        extent = extent.max(values().fold(f64::MIN, f64::max) - values().fold(f64::MAX, f64::min));
    }
    let extent = if extent > 0.0 { extent } else { 1.0 };
    let mut worst = Worst::default();
    for (i, (want, got)) in want.iter().zip(got).enumerate() {
        let want = want.map(f64::from);
        if got[..3].iter().any(|x| !x.is_finite()) {
            return Err(format!("position of vertex {i} is not finite"));
        }
        let d: Vec<f64> = (0..3).map(|k| want[k] - got[k]).collect();
        worst.position = worst.position.max(length(&d) / extent);
        for (first, slot) in [(3, &mut worst.normal), (6, &mut worst.tangent)] {
            if want[first..first + 3].iter().all(|x| x.is_finite()) {
                let angle = angle(&want[first..first + 3], &got[first..first + 3]);
                if angle.is_nan() {
                    return Err(format!("vertex {i} has no answer from {first} on: {got:?}"));
                }
                *slot = slot.max(angle);
            }
        }
        if want[9].is_finite() && want[9].signum() != got[9].signum() {
            return Err(format!("tangent sign of vertex {i} differs"));
        }
    }
    Ok(worst)
}

fn length(v: &[f64]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn angle(a: &[f64], b: &[f64]) -> f64 {
    let cross = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    let dot: f64 = a.iter().zip(b).map(|(x, y)| x * y).sum();
    length(&cross).atan2(dot)
}

/// True when the file itself has tangents for a primitive.
pub fn has_tangents(character: &Character, primitive: &FilePrimitive) -> bool {
    let mesh = character.parts[primitive.part].mesh;
    character.meshes[mesh].primitives[primitive.primitive].authored_tangents
}
