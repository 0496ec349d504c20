//! What pruning did to a character, for people and for programs.

use std::fmt;

use super::{CleanReport, Displacement, PruneReport};

/// Everything there is to say about one pruned character; the meshes' reports added up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Repairs that reading made.
    pub cleaned: CleanReport,
    /// What pruning did.
    pub prune: PruneReport,
    /// The largest displacement that pruning and packing cause together, if it was measured.
    pub displacement: Option<Displacement>,
}

impl Report {
    /// Adds another mesh's report; the larger displacement stays, with the larger size.
    pub fn add(&mut self, other: &Self) {
        self.cleaned.add(&other.cleaned);
        self.prune.add(&other.prune);
        if let Some(theirs) = &other.displacement {
            let mine = self.displacement.get_or_insert_with(|| theirs.clone());
            let (size, poses) = (mine.size.max(theirs.size), mine.poses.max(theirs.poses));
            if theirs.metres > mine.metres {
                *mine = theirs.clone();
            }
            (mine.size, mine.poses) = (size, poses);
        }
    }
}

/// One line per fact; facts that do not occur are left out.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let p = &self.prune;
        writeln!(f, "influences per vertex: {} → {}", histogram(&p.before), histogram(&p.after))?;
        let [max, mean, p99] = [p.removed_max(), p.removed_mean(), p.removed_percentile(0.99)];
        writeln!(f, "weight removed: largest {max:.4}, mean {mean:.4}, 99 % of vertices at most {p99:.4}")?;
        if p.ties.met > 0 {
            let t = &p.ties;
            let parts = [
                (t.neighbours, "by neighbours"),
                (t.priority, "by priority"),
                (t.side, "by side"),
                (t.index, "by index"),
                (t.both_dropped, "by dropping both of a left/right pair"),
            ];
            let parts: Vec<String> = parts.iter().filter(|x| x.0 > 0).map(|(n, rule)| format!("{n} {rule}")).collect();
            writeln!(f, "ties: {} vertices: {}", t.met, parts.join(", "))?;
        }
        if p.twins > 0 {
            writeln!(f, "seams: {} vertices have a twin and share its influences", p.twins)?;
        }
        if p.colocated > 0 {
            writeln!(f, "co-located: {} vertices share a position but not their influences (left alone)", p.colocated)?;
        }
        for line in self.cleaned.lines() {
            writeln!(f, "repaired: {line}")?;
        }
        if let Some(d) = &self.displacement {
            let (metres, percent) = (d.metres, d.percent());
            write!(f, "largest displacement: {metres:.3e} m ({percent:.4} % of the size)")?;
            if d.metres > 0.0 {
                write!(f, " at vertex {} of {:?}, {}", d.vertex, d.mesh, d.pose)?;
            }
            writeln!(f, "; {} poses", d.poses)?;
        }
        Ok(())
    }
}

/// `3×1 12×4`: three vertices with one influence, twelve with four.
fn histogram(counts: &[usize]) -> String {
    let parts: Vec<String> = counts.iter().enumerate().filter(|c| *c.1 > 0).map(|(k, n)| format!("{n}×{k}")).collect();
    if parts.is_empty() { "none".into() } else { parts.join(" ") }
}

#[cfg(feature = "gltf")]
impl Report {
    /// The report as JSON: `influences.before[k]` is the number of vertices with k influences.
    pub fn to_json(&self) -> serde_json::Value {
        let (p, c) = (&self.prune, &self.cleaned);
        let displacement = self.displacement.as_ref().map(|d| {
            serde_json::json!({
                "metres": d.metres, "percent": d.percent(), "size": d.size, "mesh": d.mesh, "vertex": d.vertex,
                "pose": d.pose,
                "poses": d.poses,
            })
        });
        serde_json::json!({
            "vertices": p.removed.len(),
            "influences": { "before": p.before, "after": p.after },
            "removed": {
                "max": p.removed_max(), "mean": p.removed_mean(), "p99": p.removed_percentile(0.99),
            },
            "ties": {
                "met": p.ties.met, "neighbours": p.ties.neighbours, "priority": p.ties.priority, "side": p.ties.side,
                "index": p.ties.index, "both_dropped": p.ties.both_dropped,
            },
            "twins": p.twins,
            "colocated": p.colocated,
            "unweighted": c.unweighted,
            "repaired": {
                "normalised": c.normalised, "merged": c.merged, "zero_slots": c.zeros, "bad_padding": c.bad_padding,
            },
            "displacement": displacement,
        })
    }
}
