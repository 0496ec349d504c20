//! Removes the smallest influences of each vertex and hands their weight to those that stay.

use super::edges::Edges;
use super::neighbours::Field;
use super::symmetry::Symmetry;
use super::ties::{Rules, Tie, TieCounts, settle};
use super::twins::Twins;
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
    /// Rest positions, as many as vertices; empty: no twins, no sides.
    pub positions: &'a [[f32; 3]],
    /// Triangle list over the vertices; empty: no neighbours.
    pub indices: &'a [u32],
    /// Priority per joint, higher is kept; joints past its end have 0.
    pub priority: &'a [f32],
    /// Left/right pairs and the plane between them; `None`: nothing is a pair.
    pub symmetry: Option<&'a Symmetry>,
}

/// What pruning did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PruneReport {
    /// Vertices with k influences before, at index k.
    pub before: Vec<usize>,
    /// Vertices with k influences after, at index k.
    pub after: Vec<usize>,
    /// Weight that dropped joints had, per vertex, 0…1.
    pub removed: Vec<f32>,
    /// Equal weights at the cut, and who settled them.
    pub ties: TieCounts,
    /// Vertices with a twin: same position, same influences within 1/255 (the two sides of a seam).
    pub twins: usize,
    /// Vertices that share their position with one that is no twin; left alone.
    pub colocated: usize,
}

impl PruneReport {
    /// The largest weight removed from a vertex.
    pub fn removed_max(&self) -> f32 {
        self.removed.iter().copied().fold(0.0, f32::max)
    }

    /// The mean weight removed per vertex.
    pub fn removed_mean(&self) -> f32 {
        let sum: f64 = self.removed.iter().map(|&r| f64::from(r)).sum();
        (sum / self.removed.len().max(1) as f64) as f32
    }

    /// The weight that `share` (0…1) of the vertices lost at most.
    pub fn removed_percentile(&self, share: f64) -> f32 {
        let mut sorted = self.removed.clone();
        sorted.sort_unstable_by(f32::total_cmp);
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or(0.0)
    }

    /// Adds another mesh's report.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in [(&mut self.before, &other.before), (&mut self.after, &other.after)] {
            mine.resize(mine.len().max(theirs.len()), 0);
            mine.iter_mut().zip(theirs).for_each(|(m, t)| *m += t);
        }
        self.removed.extend_from_slice(&other.removed);
        self.ties.add(&other.ties);
        self.twins += other.twins;
        self.colocated += other.colocated;
    }
}

/// Pruned influences.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pruned {
    /// At most [`PruneOptions::max`] per vertex, heaviest first (see [`pack_ordered`](super::pack_ordered)), summing to 1.
    pub influences: Influences,
    /// What was done.
    pub report: PruneReport,
    /// The same per group of twins, for [`Pruned::quantise`].
    pub(super) twins: Twins,
}

/// Prunes clean influences (see [`clean`](super::clean())) to at most [`PruneOptions::max`] per vertex.
///
/// Weights are compared snapped to 2⁻²⁰; of equal ones the rules of [`Ties`] say which stays. When a left/right pair ties on
/// the middle and the limit would part it, both go, provided something else remains and no priority tells them apart.
/// Twins (same position, influences within 1/255 of each other) count as one vertex, with the mean of their influences,
/// and end with identical ones. Vertices within the limit keep their weights' bits.
///
/// The result depends neither on the order of a vertex's slots nor on that of the vertices. The work is linear in the number of
/// influences, save for ties that no vertex nearby settles.
///
/// # Errors
/// [`Error::InvalidParameter`] for a limit outside 1…8; [`Error::InvalidWeight`] for weights that are not clean;
/// [`Error::LengthMismatch`] and [`Error::OutOfRange`] for a context that does not fit.
pub fn prune(influences: &Influences, options: &PruneOptions, context: &PruneContext<'_>) -> Result<Pruned> {
    let max = options.max;
    if !(1..=8).contains(&max) {
        return Err(Error::InvalidParameter { what: "the influence limit", value: max.to_string(), expected: "1…8" });
    }
    let twins = Twins::find(checked(influences)?, context.check(influences.vertex_count())?);
    let rules = Rules::new(options.ties, context);
    let members = twins.member_counts();
    let mut report = PruneReport { twins: twins.twinned, colocated: twins.colocated, ..Default::default() };
    report.before = histogram(influences);

    // Where equal weights meet at the cut.
    let (mut ties, mut tied, mut heavier) = (Vec::new(), Vec::new(), Vec::new());
    let mut sorted = twins.influences.clone();
    for g in 0..twins.count() {
        let slots = sorted.of_mut(g);
        // Heaviest first, equal ones by joint: both in one number.
        slots.sort_unstable_by_key(|s| ((1 << 31) - snap(s.weight).min(1 << 31) as u64) << 32 | u64::from(s.joint));
        if slots.len() <= max {
            continue;
        }
        let level = snap(slots[max - 1].weight);
        let above = slots.partition_point(|s| snap(s.weight) > level);
        // Continuous drops the whole tie when something stands above it.
        let whole = options.redistribute == Redistribute::Continuous && above > 0;
        if snap(slots[max].weight) == level && !whole {
            let start = tied.len() as u32;
            tied.extend(slots[above..].iter().take_while(|s| snap(s.weight) == level).map(|s| s.joint));
            let (len, keep) = (tied.len() as u32 - start, (max - above) as u32);
            ties.push(Tie { group: g as u32, start, len, keep });
            heavier.push(above);
        }
    }
    let side = |group: u32| context.side(twins.first[group as usize]);
    let edges = context.edges(&twins, options.ties, ties.is_empty());
    let field = edges.as_ref().map(|e| Field::new(&twins.influences, e));
    let settled = settle(&ties, &mut tied, &rules, side, field.as_ref(), |i| heavier[i] > 0);

    let mut groups = Influences { offsets: vec![0], entries: Vec::with_capacity(twins.count() * max) };
    let mut removed = Vec::with_capacity(twins.count());
    let mut next = 0;
    for g in 0..twins.count() {
        let slots = sorted.of_mut(g);
        let mut keep = max.min(slots.len());
        if let Some(tie) = ties.get(next).filter(|t| t.group as usize == g) {
            let outcome = settled[next];
            keep = heavier[next] + outcome.kept as usize;
            report.ties.count(outcome.rule, members[g] as usize);
            let order = &tied[tie.range()];
            let place = |joint: u32| order.iter().position(|&j| j == joint);
            slots[heavier[next]..heavier[next] + order.len()].sort_by_key(|s| place(s.joint));
            next += 1;
        }
        let own = side(g as u32);
        slots[..keep]
            .sort_by(|a, b| snap(b.weight).cmp(&snap(a.weight)).then_with(|| rules.compare(a.joint, b.joint, own).0));
        removed.push(hand_over(slots, keep, options.redistribute, &mut groups.entries));
        groups.offsets.push(groups.entries.len() as u32);
    }
    report.removed = twins.of.iter().map(|&g| removed[g as usize]).collect();
    let twins = Twins { influences: groups, ..twins };
    let influences = twins.spread();
    report.after = histogram(&influences);
    Ok(Pruned { influences, report, twins })
}

/// Appends the first `keep` of `slots` with the weight of the rest handed over; returns the weight of the joints that went.
/// Removing one at a time or all at once is the same for every rule.
fn hand_over(slots: &[Influence], keep: usize, rule: Redistribute, out: &mut Vec<Influence>) -> f32 {
    let (kept, removed) = slots.split_at(keep);
    if removed.is_empty() {
        out.extend_from_slice(kept);
        return 0.0;
    }
    let weight = |i: &Influence| f64::from(i.weight);
    let r: f64 = removed.iter().map(weight).sum();
    let sum: f64 = kept.iter().map(weight).sum();
    // What ties with the heaviest removed weight goes with it.
    let floor = removed.iter().map(weight).fold(0.0, f64::max);
    let level = removed.iter().map(|i| snap(i.weight)).max().unwrap_or(0);
    let above = |i: &Influence| if snap(i.weight) > level { (weight(i) - floor).max(0.0) } else { 0.0 };
    let left: f64 = kept.iter().map(above).sum();
    let handed = |i: &Influence| match rule {
        Redistribute::Continuous if left > 0.0 => above(i) / left * (sum + r),
        Redistribute::Equal => weight(i) + r / kept.len() as f64,
        _ if sum > 0.0 => weight(i) + r * weight(i) / sum,
        _ => (sum + r) / kept.len() as f64,
    };
    let mut gone = r;
    for i in kept {
        match handed(i) as f32 {
            0.0 => gone += weight(i),
            w => out.push(Influence { joint: i.joint, weight: w }),
        }
    }
    gone as f32
}

/// A copy of clean influences.
pub(super) fn checked(influences: &Influences) -> Result<Influences> {
    influences.validate()?;
    for vertex in 0..influences.vertex_count() {
        let slots = influences.of(vertex);
        let bad = |i: &&Influence| !i.weight.is_finite() || i.weight < 0.0;
        let none = slots.first().filter(|_| slots.iter().all(|i| i.weight == 0.0));
        if let Some(i) = slots.iter().find(bad).or(none) {
            return Err(Error::InvalidWeight { vertex, joint: i.joint as usize, weight: i.weight });
        }
        if slots.is_empty() {
            return Err(Error::InvalidWeight { vertex, joint: 0, weight: 0.0 });
        }
    }
    Ok(influences.clone())
}

fn histogram(influences: &Influences) -> Vec<usize> {
    let mut counts = vec![0; influences.max_per_vertex() + 1];
    (0..influences.vertex_count()).for_each(|v| counts[influences.of(v).len()] += 1);
    counts
}

impl<'a> PruneContext<'a> {
    /// The positions, after checking that the context fits `vertices`.
    pub(super) fn check(&self, vertices: usize) -> Result<&'a [[f32; 3]]> {
        let (found, expected) = (self.positions.len(), vertices);
        if found != 0 && found != expected {
            return Err(Error::LengthMismatch { what: "the list of positions", found, expected });
        }
        if let Some(index) = self.priority.iter().position(|p| p.is_nan()) {
            return Err(Error::NotFinite { what: "priority of joint", index });
        }
        match self.indices.iter().find(|&&i| i as usize >= vertices) {
            Some(&index) => Err(Error::OutOfRange { what: "vertex", index: index as usize, count: vertices }),
            None => Ok(self.positions),
        }
    }

    /// The side of the body a vertex is on; 0 in the middle or unknown.
    pub(super) fn side(&self, vertex: u32) -> i8 {
        self.symmetry.zip(self.positions.get(vertex as usize)).map_or(0, |(s, &p)| s.side_of(p))
    }

    /// The edges, where the neighbour rule is asked for and something ties.
    pub(super) fn edges(&self, twins: &Twins, ties: Ties, nothing_ties: bool) -> Option<Edges> {
        let needed = ties == Ties::Neighbours && !nothing_ties && self.indices.len() >= 3;
        needed.then(|| Edges::new(self.indices, &twins.of, twins.count()))
    }
}
