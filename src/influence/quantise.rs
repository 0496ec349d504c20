//! Weights as integers that sum to 255 or 65535 exactly, as glTF stores them.

use super::edges::Edges;
use super::neighbours::Field;
use super::prune::checked;
use super::ties::{Rules, Tie, settle};
use super::twins::Twins;
use super::{Influences, PruneContext, Pruned, Ties};
use crate::{Error, Result};

/// Bits behind the point while shares are computed.
const POINT: u32 = 40;

/// One joint's share of a vertex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Index into [`crate::character::Skin::joints`].
    pub joint: u32,
    /// Units, at least 1.
    pub units: u32,
}

/// Integer weights of every vertex (a CSR list).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quantised {
    /// What the units of each vertex sum to.
    pub total: u32,
    /// `vertex_count + 1` offsets into `shares`.
    pub offsets: Vec<u32>,
    /// All shares, vertex after vertex, largest first.
    pub shares: Vec<Share>,
}

impl Quantised {
    /// Number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The shares of one vertex.
    pub fn of(&self, vertex: usize) -> &[Share] {
        &self.shares[self.offsets[vertex] as usize..self.offsets[vertex + 1] as usize]
    }

    /// The weights the units stand for.
    pub fn to_influences(&self) -> Influences {
        let weight = |s: &Share| (f64::from(s.units) / f64::from(self.total)) as f32;
        Influences {
            offsets: self.offsets.clone(),
            entries: self.shares.iter().map(|s| super::Influence { joint: s.joint, weight: weight(s) }).collect(),
        }
    }
}

/// Splits `total` units among each vertex's joints by largest remainder (Hamilton): every share is rounded down, and the units
/// left over go to the largest fractions. No weight is off by a unit, for any number of influences.
///
/// Fractions that agree within 2⁻²⁰ of weight are a tie, settled by the rules of `ties`: the order of slots and vertices does
/// not matter, and twins get the same shares. A joint whose share is 0 is left out.
///
/// # Errors
/// [`Error::InvalidParameter`] for a total outside 1…65535; [`Error::InvalidWeight`] for weights that are not clean;
/// [`Error::LengthMismatch`] and [`Error::OutOfRange`] for a context that does not fit.
pub fn quantise(influences: &Influences, total: u32, ties: Ties, context: &PruneContext<'_>) -> Result<Quantised> {
    let mut influences = checked(influences)?;
    // Sums in one order, whatever the order of the slots.
    for v in 0..influences.vertex_count() {
        influences.of_mut(v).sort_unstable_by(|a, b| a.joint.cmp(&b.joint).then(b.weight.total_cmp(&a.weight)));
    }
    let positions = context.check(influences.vertex_count())?;
    let twins = Twins::find(influences, positions);
    quantise_twins(&twins, total, ties, context)
}

impl Pruned {
    /// [`quantise`] of the pruned influences, with the twins that pruning found: vertices that only pruning made alike stay
    /// apart. `context` is the one given to [`prune`](super::prune()).
    ///
    /// # Errors
    /// Those of [`quantise`].
    pub fn quantise(&self, total: u32, ties: Ties, context: &PruneContext<'_>) -> Result<Quantised> {
        context.check(self.twins.of.len())?;
        quantise_twins(&self.twins, total, ties, context)
    }
}

fn quantise_twins(twins: &Twins, total: u32, ties: Ties, context: &PruneContext<'_>) -> Result<Quantised> {
    if !(1..=65535).contains(&total) {
        return Err(Error::InvalidParameter {
            what: "the sum of weights",
            value: total.to_string(),
            expected: "1…65535",
        });
    }
    let rules = Rules::new(ties, context);
    let side = |group: u32| context.side(twins.first[group as usize]);
    let mut shares: Vec<Share> = Vec::with_capacity(twins.influences.entries.len());
    let (mut tie_list, mut tied) = (Vec::new(), Vec::new());
    let mut fractions: Vec<(u64, usize)> = Vec::new();
    for g in 0..twins.count() {
        let slots = twins.influences.of(g);
        let sum: f64 = slots.iter().map(|s| f64::from(s.weight)).sum();
        let first = shares.len();
        fractions.clear();
        for s in slots {
            let fixed = (f64::from(s.weight) / sum * (1u64 << POINT) as f64).round() as u64 * u64::from(total);
            // The fraction in units of 2⁻²⁰ of weight.
            let (fraction, step) = (fixed & ((1 << POINT) - 1), u64::from(total) << (POINT - 20));
            fractions.push(((fraction + step / 2) / step, shares.len()));
            shares.push(Share { joint: s.joint, units: (fixed >> POINT) as u32 });
        }
        let given: u32 = shares[first..].iter().map(|s| s.units).sum();
        let left = (total.saturating_sub(given) as usize).min(slots.len());
        fractions.sort_unstable_by_key(|&(f, at)| (std::cmp::Reverse(f), at));
        let level = match left.checked_sub(1) {
            Some(last) if left < slots.len() && fractions[last].0 == fractions[left].0 => fractions[last].0,
            // No tie at the cut.
            _ => {
                fractions[..left].iter().for_each(|&(_, at)| shares[at].units += 1);
                continue;
            }
        };
        let above = fractions.partition_point(|f| f.0 > level);
        fractions[..above].iter().for_each(|&(_, at)| shares[at].units += 1);
        let start = tied.len() as u32;
        tied.extend(fractions[above..].iter().take_while(|f| f.0 == level).map(|&(_, at)| shares[at].joint));
        let (len, keep) = (tied.len() as u32 - start, (left - above) as u32);
        tie_list.push(Tie { group: g as u32, start, len, keep });
    }
    let edges: Option<Edges> = context.edges(twins, ties, tie_list.is_empty());
    let field = edges.as_ref().map(|e| Field::new(&twins.influences, e));
    settle(&tie_list, &mut tied, &rules, side, field.as_ref(), |_| false);
    for tie in &tie_list {
        let range = twins.influences.offsets[tie.group as usize] as usize..;
        for &joint in &tied[tie.range()][..tie.keep as usize] {
            // The joint is among this group's shares.
            if let Some(s) = shares[range.clone()].iter_mut().find(|s| s.joint == joint) {
                s.units += 1;
            }
        }
    }
    let mut out = Quantised { total, offsets: vec![0], shares: Vec::with_capacity(shares.len()) };
    let group = |g: u32| {
        let o = &twins.influences.offsets;
        &shares[o[g as usize] as usize..o[g as usize + 1] as usize]
    };
    for &g in &twins.of {
        let first = out.shares.len();
        out.shares.extend(group(g).iter().filter(|s| s.units > 0));
        let own = side(g);
        out.shares[first..].sort_by(|a, b| b.units.cmp(&a.units).then_with(|| rules.compare(a.joint, b.joint, own).0));
        out.offsets.push(out.shares.len() as u32);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::influence::{Influence, clean, test_random::Pcg32};

    fn one(slots: &[(u32, f32)]) -> Influences {
        let v: Vec<_> = slots.iter().map(|&(joint, weight)| Influence { joint, weight }).collect();
        clean(&Influences::from_vertices([v.as_slice()]), 100).unwrap().0
    }

    fn units(slots: &[(u32, f32)], total: u32) -> Vec<(u32, u32)> {
        let q = quantise(&one(slots), total, Ties::Neighbours, &PruneContext::default()).unwrap();
        q.shares.iter().map(|s| (s.joint, s.units)).collect()
    }

    #[test]
    fn eight_bytes_sum_to_255() {
        let weights = [0.2260, 0.1960, 0.1550, 0.1510, 0.1100, 0.0980, 0.0610, 0.0030];
        let slots: Vec<(u32, f32)> = (0..).zip(weights).collect();
        let q = units(&slots, 255);
        assert_eq!(q.len(), 8);
        assert_eq!(q.iter().map(|s| s.1).sum::<u32>(), 255);
        // 57.63 49.98 39.525 38.505 28.05 24.99 15.555 .765: the six fractions over .5 win… of 250 + 5 units.
        assert_eq!(q.iter().map(|s| s.1).collect::<Vec<_>>(), [58, 50, 39, 38, 28, 25, 16, 1]);
    }

    #[test]
    fn quarters_do_not_depend_on_slots() {
        let slots = [(3, 0.25), (5, 0.25), (8, 0.25), (9, 0.25)];
        let expected = [(3, 64), (5, 64), (8, 64), (9, 63)];
        let mut random = Pcg32::new(3);
        for _ in 0..24 {
            let mut s = slots;
            random.shuffle(&mut s);
            assert_eq!(units(&s, 255), expected);
        }
        let context = PruneContext { priority: &[0.0, 0.0, 0.0, -1.0], ..Default::default() };
        let q = quantise(&one(&slots), 255, Ties::Priority, &context).unwrap();
        assert_eq!(q.of(0)[3], Share { joint: 3, units: 63 });
    }

    #[test]
    fn never_off_by_a_unit() {
        let mut random = Pcg32::new(5);
        for total in [255, 65535] {
            for _ in 0..5000 {
                let n = 1 + random.below(12);
                let slots: Vec<(u32, f32)> = (0..n).map(|j| (j, random.unit() as f32 + 1e-6)).collect();
                let clean = one(&slots);
                let q = quantise(&clean, total, Ties::Index, &PruneContext::default()).unwrap();
                assert_eq!(q.shares.iter().map(|s| s.units).sum::<u32>(), total);
                for i in &clean.entries {
                    let u = q.shares.iter().find(|s| s.joint == i.joint).map_or(0, |s| s.units);
                    let off = f64::from(u) - f64::from(i.weight) * f64::from(total);
                    // A unit, and what f32 weights may miss the sum 1 by.
                    assert!(off.abs() < 1.0 + 1e-6 * f64::from(total), "{off}");
                }
            }
        }
    }
}
