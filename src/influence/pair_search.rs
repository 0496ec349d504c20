//! Step 2 of the neighbour rule: one search per pair of joints, from everywhere the two differ.

use std::rc::Rc;

use super::neighbours::Field;

/// Elements the sets of one layer of a pair's search may hold.
const SET_BUDGET: usize = 32 << 20;
const NONE: u32 = u32::MAX;
const CLAIMED: u32 = u32::MAX - 1;
const SOURCE: u32 = u32::MAX - 2;

/// The nearest groups at which two joints differ, and the sum of the differences.
struct NearestSet {
    groups: Rc<[u32]>,
    sum: i64,
}

/// One search from every group where two joints differ.
pub(super) struct PairSearch<'a> {
    field: &'a Field<'a>,
    /// Weight of a minus weight of b.
    difference: Vec<i64>,
    /// Index into `sets` for groups reached.
    set: Vec<u32>,
    sets: Vec<NearestSet>,
    /// Groups to clean up after.
    touched: Vec<u32>,
    target: Vec<bool>,
}

impl<'a> PairSearch<'a> {
    pub fn new(field: &'a Field<'a>) -> Self {
        let n = field.influences.vertex_count();
        Self {
            field,
            difference: vec![0; n],
            set: vec![NONE; n],
            sets: Vec::new(),
            touched: Vec::new(),
            target: vec![false; n],
        }
    }

    /// The sum over the nearest ring that can tell the pair of the last run apart; `None` where there is no such ring.
    pub fn sum(&self, group: u32) -> Option<i64> {
        self.sets.get(self.set[group as usize] as usize).map(|s| s.sum)
    }

    pub fn run(&mut self, a: u32, b: u32, targets: impl Iterator<Item = u32>) {
        for &g in &self.touched {
            self.difference[g as usize] = 0;
            self.set[g as usize] = NONE;
            self.target[g as usize] = false;
        }
        self.touched.clear();
        self.sets.clear();
        let mut missing = 0usize;
        for g in targets {
            missing += usize::from(!std::mem::replace(&mut self.target[g as usize], true));
            self.touched.push(g);
        }
        let by_joint = self.field.by_joint();
        let mut sources = Vec::new();
        for (joint, sign) in [(a, 1), (b, -1)] {
            let list = by_joint.offsets[joint as usize] as usize..by_joint.offsets[joint as usize + 1] as usize;
            for &(g, weight) in &by_joint.entries[list] {
                self.difference[g as usize] += sign * weight;
                sources.push(g);
            }
        }
        self.touched.extend_from_slice(&sources);
        sources.retain(|&g| self.difference[g as usize] != 0);
        sources.sort_unstable();
        sources.dedup();
        // Layer 0: each source is its own set; none is kept, because none is asked for: the two differ there.
        sources.iter().for_each(|&g| self.set[g as usize] = SOURCE);
        let mut layer = sources;
        let mut first_set = 0;
        let mut parents: Vec<u32> = Vec::new();
        while missing > 0 && !layer.is_empty() {
            let last_set = self.sets.len();
            let mut next = Vec::new();
            for &g in &layer {
                for &h in self.field.edges.of(g) {
                    if self.set[h as usize] == NONE {
                        // Claimed for the next layer; its set follows below.
                        self.set[h as usize] = CLAIMED;
                        next.push(h);
                    }
                }
            }
            let mut size = 0;
            for &h in &next {
                if first_set == last_set {
                    let near = self.field.edges.of(h).iter().copied().filter(|&g| self.set[g as usize] == SOURCE);
                    let groups: Rc<[u32]> = near.collect();
                    let sum = groups.iter().map(|&g| self.difference[g as usize]).sum();
                    size += groups.len();
                    self.sets.push(NearestSet { groups, sum });
                    continue;
                }
                parents.clear();
                let of_layer = |s: &u32| (first_set..last_set).contains(&(*s as usize));
                parents.extend(self.field.edges.of(h).iter().map(|&g| self.set[g as usize]).filter(of_layer));
                parents.sort_unstable();
                parents.dedup();
                let set = self.union(&parents);
                if parents.len() > 1 {
                    size += set.groups.len();
                }
                self.sets.push(set);
                if size > SET_BUDGET {
                    break;
                }
            }
            self.touched.extend_from_slice(&next);
            if size > SET_BUDGET {
                next.iter().for_each(|&h| self.set[h as usize] = NONE);
                return;
            }
            for (i, &h) in next.iter().enumerate() {
                self.set[h as usize] = (last_set + i) as u32;
                missing -= usize::from(self.target[h as usize]);
            }
            first_set = last_set;
            layer = next;
        }
        // What a layer claimed has its set by now: nothing is left half done.
    }

    fn union(&self, parents: &[u32]) -> NearestSet {
        let of = |&p: &u32| &self.sets[p as usize];
        if let Some(first) = parents.first().map(of)
            && parents.iter().map(of).all(|s| Rc::ptr_eq(&s.groups, &first.groups))
        {
            return NearestSet { groups: Rc::clone(&first.groups), sum: first.sum };
        }
        let mut groups: Vec<u32> = parents.iter().map(of).flat_map(|s| s.groups.iter().copied()).collect();
        groups.sort_unstable();
        groups.dedup();
        let sum = groups.iter().map(|&g| self.difference[g as usize]).sum();
        NearestSet { groups: groups.into(), sum }
    }
}
