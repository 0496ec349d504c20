//! What is shown of the weights: a number for every vertex, and what the colours mean.

use dermis::pose::Pose;
use dermis::render::ColorMap;

use super::{Chosen, Legend, Weights};

/// What the surface shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Show {
    /// The model's own materials.
    Material,
    /// Weight of the selected bone.
    #[default]
    Bone,
    /// Influences per vertex.
    Count,
    /// How far pruning moves a vertex at most, over the clips.
    Error,
    /// How far it does in the pose on show.
    ErrorNow,
    /// Total variation against another file.
    Difference,
}

impl Show {
    pub const ALL: [(Self, &'static str, &'static str); 6] = [
        (Self::Material, "Material", "The model's own surface"),
        (Self::Bone, "Bone", "Weight of the selected bone"),
        (Self::Count, "Count", "Number of influences of each vertex"),
        (
            Self::Error,
            "Error",
            "How far pruning moves each vertex at most, over all clips (or with every joint turned by 30°)",
        ),
        (Self::ErrorNow, "Error now", "How far pruning moves each vertex in the pose on show"),
        (Self::Difference, "Other file", "Share of each vertex's weight that hangs on other bones in a second file"),
    ];
}

/// Numbers for a picture.
pub struct Field {
    pub map: ColorMap,
    /// 0…1 for each part of the character and each vertex of its mesh; NaN: none.
    pub values: Vec<Vec<f32>>,
    pub legend: Legend,
    /// The largest number's vertex, and what it says.
    pub peak: Option<(Chosen, String)>,
}

/// Where more influences than this are counted as one category.
const MANY: usize = 8;

impl Weights {
    /// The field on show; `None` for the materials.
    pub fn field(&self, pose: &Pose) -> Option<Field> {
        match self.show {
            Show::Material => None,
            Show::Bone => Some(self.bone_field()),
            Show::Count => Some(self.count_field()),
            Show::Error => {
                let measured = self.outcome.as_ref().and_then(|o| o.measured.as_ref());
                let title =
                    if self.facts.clips.is_empty() { "Displaced, joints turned" } else { "Displaced, all clips" };
                Some(match measured {
                    Some((_, metres)) => self.error_field(metres, title),
                    None => self.nothing("Measuring…"),
                })
            }
            Show::ErrorNow => Some(self.error_field(&self.error_now(pose), "Displaced, this pose")),
            Show::Difference => Some(self.difference_field()),
        }
    }

    fn bone_field(&self) -> Field {
        let bone = self.bone.and_then(|b| self.bones.get(b));
        let Some(bone) = bone else { return self.nothing("No bone selected") };
        let value = |sheet: usize, v: usize| match bone.joints[sheet] {
            None => f32::NAN,
            Some(joint) => self.shown(sheet).of(v).iter().filter(|i| i.joint == joint).map(|i| i.weight).sum(),
        };
        Field {
            map: ColorMap::viridis(),
            values: self.spread(value),
            legend: Legend::Scale { title: bone.name.clone(), most: 1.0, unit: "", map: ColorMap::viridis() },
            peak: None,
        }
    }

    fn count_field(&self) -> Field {
        let limit = if self.prune { usize::from(self.settings.max_influences) } else { MANY };
        let even = ColorMap::viridis();
        let most = (0..self.sheets.len()).map(|s| self.shown(s).max_per_vertex()).max().unwrap_or(1);
        let last = (limit.max(most).clamp(2, MANY) - 1) as f32;
        // Red is in no even map: more than eight.
        let mut colors: Vec<[u8; 3]> = (0..MANY).map(|k| even.color(k as f32 / last)).collect();
        colors.push([232, 72, 60]);
        let count = |sheet: usize, v: usize| self.shown(sheet).of(v).len().clamp(1, MANY + 1) - 1;
        let mut counts = vec![0; colors.len()];
        for (s, sheet) in self.sheets.iter().enumerate() {
            (0..sheet.file.positions.len()).for_each(|v| counts[count(s, v)] += 1);
        }
        let rows = (0..colors.len()).filter(|&k| k < limit.min(MANY) || counts[k] > 0).map(|k| {
            let name = if k == MANY { format!("{MANY}+") } else { (k + 1).to_string() };
            (name, colors[k], counts[k])
        });
        Field {
            legend: Legend::Categories { title: "Influences".into(), rows: rows.collect() },
            values: self.spread(|sheet, v| count(sheet, v) as f32 / MANY as f32),
            map: ColorMap::of_categories(colors),
            peak: None,
        }
    }

    fn error_field(&self, metres: &[Vec<f64>], title: &str) -> Field {
        let worst = (0..metres.len())
            .flat_map(|s| metres[s].iter().enumerate().map(move |(v, &m)| (m, Chosen { sheet: s, vertex: v })))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let most = worst.map_or(0.0, |w| w.0);
        if most <= 0.0 {
            return self.nothing("Nothing is displaced");
        }
        let scale = 1.0 / most;
        Field {
            map: heat(),
            values: self.spread(|sheet, v| (metres[sheet][v] * scale) as f32),
            legend: Legend::Scale { title: title.into(), most: most * 1000.0, unit: "mm", map: heat() },
            peak: worst.map(|(m, at)| (at, format!("{} mm", legend_number(m * 1000.0)))),
        }
    }

    fn difference_field(&self) -> Field {
        let Some(other) = &self.other else { return self.nothing("No other file") };
        let worst = other.worst.first().filter(|w| w.1 > 0.0);
        Field {
            map: heat(),
            values: self.spread(|sheet, v| other.variation[sheet].get(v).copied().unwrap_or(f32::NAN)),
            legend: Legend::Scale {
                title: format!("Weight that differs from {}", other.name),
                most: 1.0,
                unit: "",
                map: heat(),
            },
            peak: worst.map(|&(at, x)| (at, legend_number(f64::from(x)))),
        }
    }

    /// All vertices without a number.
    fn nothing(&self, title: &str) -> Field {
        Field {
            map: ColorMap::viridis(),
            values: self.spread(|_, _| f32::NAN),
            legend: Legend::Words(title.into()),
            peak: None,
        }
    }

    /// From sheets and the file's vertices to parts and the meshes' vertices.
    fn spread(&self, value: impl Fn(usize, usize) -> f32) -> Vec<Vec<f32>> {
        let parts = &self.facts.parts;
        let mut out: Vec<Vec<f32>> =
            parts.iter().map(|p| vec![f32::NAN; self.facts.meshes[p.mesh].positions.len()]).collect();
        for (s, sheet) in self.sheets.iter().enumerate() {
            let values: Vec<f32> = (0..sheet.file.positions.len()).map(|v| value(s, v)).collect();
            for &part in &sheet.parts {
                out[part].iter_mut().zip(&sheet.file.of_mesh).for_each(|(x, &v)| *x = values[v as usize]);
            }
        }
        out
    }
}

/// Inferno without its black end: most of a surface is near 0, and its shape should be seen.
fn heat() -> ColorMap {
    let mut map = ColorMap::inferno();
    map.colors.drain(..36);
    map
}

/// Three digits that matter.
pub fn legend_number(x: f64) -> String {
    let digits = match x.abs() {
        0.0 => 0,
        a if a >= 100.0 => 0,
        a if a >= 10.0 => 1,
        a if a >= 1.0 => 2,
        a if a >= 1e-3 => (2 - a.log10().floor() as i32).max(0) as usize,
        _ => return format!("{x:.1e}"),
    };
    format!("{x:.digits$}")
}
