//! Which of equal weights stays: never left to chance, never to the order of slots, vertices or threads.

use std::cmp::Ordering;

use super::neighbours::Field;
use super::symmetry::Symmetry;
use super::{PruneContext, Ties};

/// How many ties each rule settled: the rule that told the last joint kept from the first one dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TieCounts {
    /// Vertices at which equal weights met at the cut.
    pub met: usize,
    /// Settled by the weights around the vertex.
    pub neighbours: usize,
    /// Settled by priority.
    pub priority: usize,
    /// Settled by the vertex's side of the body.
    pub side: usize,
    /// Settled by joint (or pair) index.
    pub index: usize,
    /// Settled by dropping both joints of a left/right pair on the middle.
    pub both_dropped: usize,
}

impl TieCounts {
    pub(super) fn count(&mut self, rule: Rule, vertices: usize) {
        self.met += vertices;
        *match rule {
            Rule::Neighbours => &mut self.neighbours,
            Rule::Priority => &mut self.priority,
            Rule::Side => &mut self.side,
            Rule::Index => &mut self.index,
            Rule::Both => &mut self.both_dropped,
        } += vertices;
    }

    /// Adds another mesh's counts.
    pub fn add(&mut self, other: &Self) {
        self.met += other.met;
        self.neighbours += other.neighbours;
        self.priority += other.priority;
        self.side += other.side;
        self.index += other.index;
        self.both_dropped += other.both_dropped;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    Neighbours,
    Priority,
    Side,
    Index,
    Both,
}

/// Joints of equal weight at one group of twins; `joints[start..start + len]` of the list given to [`settle`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Tie {
    /// The group.
    pub group: u32,
    /// First joint in the list.
    pub start: u32,
    /// Number of joints.
    pub len: u32,
    /// How many of them stay; 0 < keep < len.
    pub keep: u32,
}

impl Tie {
    pub fn range(&self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }
}

/// The rules that need no neighbours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules<'a> {
    pub ties: Ties,
    pub priority: &'a [f32],
    pub symmetry: Option<&'a Symmetry>,
}

impl<'a> Rules<'a> {
    pub fn new(ties: Ties, context: &PruneContext<'a>) -> Self {
        Self { ties, priority: context.priority, symmetry: context.symmetry }
    }

    fn priority(&self, joint: u32) -> f32 {
        if self.ties == Ties::Index { 0.0 } else { self.priority.get(joint as usize).copied().unwrap_or(0.0) }
    }

    fn mate(&self, joint: u32) -> Option<u32> {
        self.symmetry.and_then(|s| s.mate.get(joint as usize).copied().flatten())
    }

    /// `Less`: a goes before b at a vertex on `side`. A total order.
    pub fn compare(&self, a: u32, b: u32, side: i8) -> (Ordering, Rule) {
        let by_priority = self.priority(b).total_cmp(&self.priority(a));
        if by_priority.is_ne() {
            return (by_priority, Rule::Priority);
        }
        let rank = |joint: u32| self.mate(joint).map_or(joint, |m| m.min(joint));
        let by_rank = rank(a).cmp(&rank(b));
        if by_rank.is_ne() || a == b {
            return (by_rank, Rule::Index);
        }
        let on_side = |joint: u32| self.symmetry.and_then(|s| s.side.get(joint as usize)).is_some_and(|&s| s == side);
        match side {
            0 => (a.cmp(&b), Rule::Index),
            _ => (on_side(b).cmp(&on_side(a)), Rule::Side),
        }
    }

    /// True when nothing but chance tells a joint from its mate on the middle: the pair stays or goes as one.
    fn inseparable(&self, a: u32, b: u32) -> bool {
        self.mate(a) == Some(b) && self.priority(a).total_cmp(&self.priority(b)).is_eq()
    }
}

/// What settling a tie came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settled {
    /// How many of the tie's joints stay: `keep`, or less where a pair went whole.
    pub kept: u32,
    /// The rule that decided.
    pub rule: Rule,
}

/// Reorders each tie's joints so that those that stay come first.
///
/// `others[i]`: tie i's vertex keeps something besides the tied joints, so that a pair on the middle can go whole.
pub(super) fn settle(
    ties: &[Tie],
    joints: &mut [u32],
    rules: &Rules<'_>,
    side: impl Fn(u32) -> i8,
    field: Option<&Field<'_>>,
    others: impl Fn(usize) -> bool,
) -> Vec<Settled> {
    for tie in ties {
        let side = side(tie.group);
        joints[tie.range()].sort_by(|&a, &b| rules.compare(a, b, side).0);
    }
    let told_apart = match field {
        Some(field) => field.order(ties, joints),
        None => vec![false; ties.len()],
    };
    let settled = |(i, tie): (usize, &Tie)| {
        let side = side(tie.group);
        let joints = &mut joints[tie.range()];
        let keep = tie.keep as usize;
        if side == 0
            && let Some(kept) = keep_pairs_whole(joints, keep, rules, others(i))
        {
            return Settled { kept, rule: Rule::Both };
        }
        let rule = if told_apart[i] { Rule::Neighbours } else { rules.compare(joints[keep - 1], joints[keep], side).1 };
        Settled { kept: tie.keep, rule }
    };
    ties.iter().enumerate().map(settled).collect()
}

/// When the cut would part a pair, drops both and lets the next unpaired joints take the place. `None`: no pair is parted,
/// or nothing else would remain.
fn keep_pairs_whole(joints: &mut [u32], keep: usize, rules: &Rules<'_>, others: bool) -> Option<u32> {
    let mate_in = |range: &[u32], a: u32| range.iter().any(|&b| rules.inseparable(a, b));
    let (kept, dropped) = joints.split_at(keep);
    if !kept.iter().any(|&a| mate_in(dropped, a)) {
        return None;
    }
    let whole = kept.iter().copied().filter(|&a| !mate_in(dropped, a));
    let single = dropped.iter().copied().filter(|&a| !mate_in(joints, a));
    let stay: Vec<u32> = whole.chain(single).take(keep).collect();
    if stay.is_empty() && !others {
        return None;
    }
    let go: Vec<u32> = joints.iter().copied().filter(|j| !stay.contains(j)).collect();
    let count = stay.len() as u32;
    for (slot, joint) in joints.iter_mut().zip(stay.into_iter().chain(go)) {
        *slot = joint;
    }
    Some(count)
}
