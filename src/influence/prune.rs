//! Removes the smallest influences of each vertex and hands their weight to those that stay.

use super::{Influence, Influences, snap};
use crate::{Error, Result};

/// How removed weight r is handed to the n influences that stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Redistribute {
    /// `w_i += r · w_i / Σw`: ratios stay. Equal shares where the survivors sum to 0.
    #[default]
    Proportional,
    /// `w_i += r / n`.
    Equal,
    /// The heaviest removed weight is subtracted from all before normalising, so that weights do not jump between
    /// neighbouring vertices that keep different joints.
    Continuous,
}

/// Where the rules for ties start; each is followed by those below it, and by the lower joint index in the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ties {
    /// The joint that is heavier around the vertex: rings of edge hops, the nearest that differs decides.
    #[default]
    Neighbours,
    /// The joint of higher priority.
    Priority,
    /// The joint of lower index, where the two of a left/right pair share the lower index of both and the vertex's own
    /// side goes first.
    Index,
}

/// What to keep, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PruneOptions {
    /// Influences per vertex, 1…8.
    pub max: usize,
    /// Who gets the removed weight.
    pub redistribute: Redistribute,
    /// Who stays when weights are equal.
    pub ties: Ties,
}

impl Default for PruneOptions {
    fn default() -> Self {
        Self { max: 4, redistribute: Redistribute::default(), ties: Ties::default() }
    }
}

/// What the rules may look at besides the weights; all of it optional.
#[derive(Clone, Copy, Debug, Default)]
pub struct PruneContext<'a> {
    /// Rest positions, as many as vertices, or empty.
    pub positions: &'a [[f32; 3]],
    /// Triangle list over the vertices, or empty.
    pub indices: &'a [u32],
    /// Priority per joint, higher is kept; joints past its end have 0.
    pub priority: &'a [f32],
}

/// Pruned influences.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pruned {
    /// At most [`PruneOptions::max`] per vertex, heaviest first, summing to 1.
    pub influences: Influences,
}

/// Prunes clean influences (see [`clean`](super::clean())) to at most [`PruneOptions::max`] per vertex.
///
/// Weights are compared snapped to 2⁻²⁰.
///
/// # Errors
/// [`Error::InvalidParameter`] for a limit outside 1…8; [`Error::InvalidWeight`] for weights that are not clean;
/// [`Error::LengthMismatch`] and [`Error::OutOfRange`] for a context that does not fit.
pub fn prune(influences: &Influences, options: &PruneOptions, context: &PruneContext<'_>) -> Result<Pruned> {
    influences.validate()?;
    let max = options.max;
    if !(1..=8).contains(&max) {
        return Err(Error::InvalidParameter { what: "the influence limit", value: max.to_string(), expected: "1…8" });
    }
    let n = influences.vertex_count();
    let mut out = Influences { offsets: Vec::with_capacity(n + 1), entries: Vec::with_capacity(n * max) };
    out.offsets.push(0);
    let priority = |joint: u32| context.priority.get(joint as usize).copied().unwrap_or(0.0);
    let mut slots: Vec<Influence> = Vec::new();
    for vertex in 0..n {
        slots.clear();
        slots.extend_from_slice(influences.of(vertex));
        if let Some(i) = slots.iter().find(|i| !i.weight.is_finite() || i.weight < 0.0) {
            return Err(Error::InvalidWeight { vertex, joint: i.joint as usize, weight: i.weight });
        }
        slots.sort_unstable_by(|a, b| {
            let tie = priority(b.joint).total_cmp(&priority(a.joint)).then(a.joint.cmp(&b.joint));
            snap(b.weight).cmp(&snap(a.weight)).then(tie)
        });
        hand_over(&slots, max, options.redistribute, &mut out.entries);
        out.offsets.push(out.entries.len() as u32);
    }
    Ok(Pruned { influences: out })
}

/// Appends the first `max` of `slots` (heaviest first), with the weight of the rest handed over. Removing one at a time
/// or all at once is the same for every rule.
fn hand_over(slots: &[Influence], max: usize, rule: Redistribute, out: &mut Vec<Influence>) {
    let (kept, removed) = slots.split_at(max.min(slots.len()));
    let weight = |i: &Influence| f64::from(i.weight);
    let r: f64 = removed.iter().map(weight).sum();
    let sum: f64 = kept.iter().map(weight).sum();
    let floor = if rule == Redistribute::Continuous { removed.first().map_or(0.0, weight) } else { 0.0 };
    let above: f64 = kept.iter().map(|i| (weight(i) - floor).max(0.0)).sum();
    let handed = |i: &Influence| {
        let w = weight(i);
        match rule {
            _ if removed.is_empty() => w,
            Redistribute::Continuous if above > 0.0 => (w - floor).max(0.0) / above * (sum + r),
            Redistribute::Equal => w + r / kept.len() as f64,
            _ if sum > 0.0 => w + r * w / sum,
            _ => (sum + r) / kept.len() as f64,
        }
    };
    out.extend(kept.iter().map(|i| Influence { joint: i.joint, weight: handed(i) as f32 }).filter(|i| i.weight > 0.0));
}
