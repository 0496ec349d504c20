//! Puts influences as authored into the form everything else relies on.

use std::fmt;

use super::{Influence, Influences};
use crate::{Error, Result};

/// How far the sum of n weights may lie from 1 before it counts as wrong: 2e-7 · n, the glTF validator's own bound.
const SUM_TOLERANCE: f64 = 2e-7;

/// What [`clean`] changed. `Display` writes one line per kind that occurred, separated by newlines; nothing if all is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CleanReport {
    /// Vertices looked at.
    pub vertices: usize,
    /// Vertices whose weights did not sum to 1 and were divided by their sum.
    pub normalised: usize,
    /// Vertices without any weight: they follow the joint in their first slot.
    pub unweighted: usize,
    /// Vertices that named one joint several times; its weights were added.
    pub merged: usize,
    /// Slots of weight 0 that were dropped.
    pub zeros: usize,
    /// Unweighted vertices whose first slot named a joint the skin does not have: they follow joint 0.
    pub bad_padding: usize,
}

impl CleanReport {
    /// True when a person should hear about it: something was repaired (dropped zeros are ordinary padding).
    pub fn repaired(&self) -> bool {
        self.normalised + self.unweighted + self.merged + self.bad_padding > 0
    }

    /// Adds another mesh's report.
    pub fn add(&mut self, other: &Self) {
        self.vertices += other.vertices;
        self.normalised += other.normalised;
        self.unweighted += other.unweighted;
        self.merged += other.merged;
        self.zeros += other.zeros;
        self.bad_padding += other.bad_padding;
    }

    /// The lines of `Display`, one per kind of repair.
    pub fn lines(&self) -> Vec<String> {
        let n = self.vertices;
        let line = |count: usize, what: &str| (count > 0).then(|| format!("{count} of {n} vertices {what}"));
        [
            line(self.normalised, "had weights that do not sum to 1 (normalised)"),
            line(self.merged, "named a joint more than once (weights added)"),
            line(self.unweighted, "had no weight (they follow the joint in their first slot)"),
            line(self.bad_padding, "had no weight and a first joint out of range (they follow joint 0)"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl fmt::Display for CleanReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("\n"))
    }
}

/// Drops weights of 0, checks joints and weights, adds up duplicate joints, and makes every vertex sum to 1.
///
/// Zeros go first, so that garbage joints beside padding weights do no harm. The result has at least one influence per
/// vertex, no zeros, no joint twice, heaviest first and equal weights by joint index: it does not depend on the order
/// of a vertex's slots. Weights whose sum lies within 2e-7 per influence of 1 keep their bits.
///
/// # Errors
/// [`Error::InvalidWeight`] for a negative, NaN or infinite weight, [`Error::JointOutOfRange`] for a joint of non-zero weight
/// past `joint_count`, those of [`Influences::validate`], and [`Error::LengthMismatch`] for vertices under a skin
/// without joints.
pub fn clean(raw: &Influences, joint_count: usize) -> Result<(Influences, CleanReport)> {
    raw.validate()?;
    let n = raw.vertex_count();
    if joint_count == 0 && n > 0 {
        return Err(Error::LengthMismatch { what: "a skin's joint list", found: 0, expected: 1 });
    }
    let mut report = CleanReport { vertices: n, ..Default::default() };
    let mut out = Influences { offsets: Vec::with_capacity(n + 1), entries: Vec::with_capacity(raw.entries.len()) };
    out.offsets.push(0);
    let mut slots: Vec<(u32, f64)> = Vec::new();
    for vertex in 0..n {
        let raw = raw.of(vertex);
        slots.clear();
        for &Influence { joint, weight } in raw {
            if !weight.is_finite() || weight < 0.0 {
                return Err(Error::InvalidWeight { vertex, joint: joint as usize, weight });
            }
            if weight == 0.0 {
                report.zeros += 1;
                continue;
            }
            if joint as usize >= joint_count {
                return Err(Error::JointOutOfRange { vertex, joint: joint as usize, joint_count });
            }
            slots.push((joint, f64::from(weight)));
        }
        if slots.is_empty() {
            report.unweighted += 1;
            let mut joint = raw.first().map_or(0, |i| i.joint);
            if joint as usize >= joint_count {
                report.bad_padding += 1;
                joint = 0;
            }
            slots.push((joint, 1.0));
        }
        // Sums run in one order, whatever the order of the slots: by joint, then by weight.
        slots.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let before = slots.len();
        slots.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        report.merged += usize::from(slots.len() < before);
        let sum: f64 = slots.iter().map(|s| s.1).sum();
        let off = (sum - 1.0).abs() > SUM_TOLERANCE * before as f64;
        if off {
            report.normalised += 1;
            slots.iter_mut().for_each(|s| s.1 /= sum);
        }
        let first = out.entries.len();
        // A share below the smallest f32 is no share.
        out.entries
            .extend(slots.iter().map(|s| Influence { joint: s.0, weight: s.1 as f32 }).filter(|i| i.weight > 0.0));
        out.entries[first..].sort_unstable_by(|a, b| b.weight.total_cmp(&a.weight).then(a.joint.cmp(&b.joint)));
        out.offsets.push(out.entries.len() as u32);
    }
    Ok((out, report))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(vertices: &[&[(u32, f32)]]) -> Influences {
        let v: Vec<Vec<Influence>> =
            vertices.iter().map(|v| v.iter().map(|&(joint, weight)| Influence { joint, weight }).collect()).collect();
        Influences::from_vertices(v.iter().map(Vec::as_slice))
    }

    fn cleaned(vertex: &[(u32, f32)]) -> Vec<(u32, f32)> {
        let (out, _) = clean(&list(&[vertex]), 10).unwrap();
        out.entries.iter().map(|i| (i.joint, i.weight)).collect()
    }

    #[test]
    fn zeros_go_before_the_range_check() {
        assert_eq!(cleaned(&[(3, 1.0), (9999, 0.0), (u32::MAX, -0.0)]), [(3, 1.0)]);
        let error = clean(&list(&[&[(0, 1.0)], &[(10, 1e-30)]]), 10).unwrap_err();
        assert_eq!(error.to_string(), "vertex 1 names joint 10, but the skin has 10");
    }

    #[test]
    fn duplicates_are_added_and_counted() {
        assert_eq!(cleaned(&[(2, 0.25), (1, 0.5), (2, 0.25)]), [(1, 0.5), (2, 0.5)]);
        let (_, report) = clean(&list(&[&[(2, 0.25), (1, 0.5), (2, 0.25)], &[(0, 1.0)]]), 3).unwrap();
        assert_eq!((report.merged, report.normalised), (1, 0));
        assert_eq!(report.to_string(), "1 of 2 vertices named a joint more than once (weights added)");
    }

    #[test]
    fn sums_become_one() {
        for bad in [&[(0, 3.0), (1, 1.0)][..], &[(0, 1.5e38), (1, 0.5e38)], &[(0, 3e-45), (1, 1.4e-45)]] {
            let c = cleaned(bad);
            let sum: f64 = c.iter().map(|i| f64::from(i.1)).sum();
            assert!((sum - 1.0).abs() < 1e-7, "{c:?}");
        }
        assert_eq!(cleaned(&[(0, 3.0), (1, 1.0)]), [(0, 0.75), (1, 0.25)]);
        // Nothing to repair: the bits stay.
        assert_eq!(cleaned(&[(0, 0.7), (1, 0.3)]), [(0, 0.7), (1, 0.3)]);
    }

    #[test]
    fn unweighted_vertices_follow_their_first_slot() {
        let raw = list(&[&[(4, 0.0), (5, 0.0)], &[], &[(77, 0.0)]]);
        let (out, report) = clean(&raw, 10).unwrap();
        assert_eq!(out.entries.iter().map(|i| (i.joint, i.weight)).collect::<Vec<_>>(), [(4, 1.0), (0, 1.0), (0, 1.0)]);
        assert_eq!((report.unweighted, report.bad_padding, report.normalised), (3, 1, 0));
    }

    #[test]
    fn bad_weights_name_the_vertex() {
        for bad in [-0.1, f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let error = clean(&list(&[&[(0, 1.0)], &[(0, 1.0), (3, bad)]]), 10).unwrap_err();
            assert!(error.to_string().starts_with("vertex 1 has weight"), "{error}");
        }
        assert!(clean(&list(&[&[(0, 1.0)]]), 0).is_err());
        assert!(clean(&Influences::default(), 0).is_ok());
        let broken = Influences { offsets: vec![0, 5], entries: vec![Influence::default()] };
        assert!(clean(&broken, 1).is_err());
    }

    #[test]
    fn slot_order_does_not_matter() {
        let slots = [(3, 0.1), (1, 0.2), (3, 0.3), (0, 0.2), (7, 0.17)];
        let first = cleaned(&slots);
        for turn in 1..slots.len() {
            let mut turned = slots;
            turned.rotate_left(turn);
            assert_eq!(cleaned(&turned), first);
            turned.reverse();
            assert_eq!(cleaned(&turned), first);
        }
    }
}
