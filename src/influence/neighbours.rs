//! The neighbour rule: of two joints with equal weight at a vertex, the one heavier around it stays.
//!
//! Ring r of a vertex is every group of twins exactly r edges away. Two joints are compared by the sums of their weights
//! in ring 1; where those are equal (or both nothing), in ring 2, and so on. Sums are integers in units of 2⁻²⁰, so
//! they do not depend on any order.
//!
//! A search per vertex would cost the square of the size of a region where two joints tie everywhere. Instead:
//! 1. a short search around each vertex, at most [`Limits::near`] groups, then [`Limits::middle`] while the time allows, settles nearly all;
//! 2. what is left takes one search per pair of joints, from all groups where the two differ at once. It hands each vertex
//!    the set of the nearest such groups, which is what its first ring that can decide is made of;
//! 3. where that ring cancels out, a longer search of at most [`Limits::far`] groups looks at the rings behind it.
//!
//! All three compute the same sums; the rule gives up (and the next one decides) only where step 3 does, or where the sets
//! of step 2 would pass a budget.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

use super::edges::Edges;
use super::pair_search::PairSearch;
use super::ties::Tie;
use super::{Influences, snap};

/// From this many ties on it pays to find uniform regions first.
const MANY: usize = 4096;
const NONE: u32 = u32::MAX;

/// How far searches go.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Groups the first search of a vertex may visit.
    near: usize,
    /// Groups the second search of a vertex may visit.
    middle: usize,
    /// Groups that all second searches together may visit; the search per pair does what is left. Which of the two settles a
    /// tie makes no difference to how.
    budget: usize,
    /// Groups the last search of a vertex may visit.
    far: usize,
}

/// The first number is rings 1 to 4 of a regular mesh.
const LIMITS: Limits = Limits { near: 64, middle: 1024, budget: 40_000_000, far: 16_384 };

/// Weights over the surface.
pub(super) struct Field<'a> {
    pub(super) influences: &'a Influences,
    pub(super) edges: &'a Edges,
    by_joint: OnceCell<ByJoint>,
    limits: Limits,
}

/// For each joint, the groups it pulls and how strongly (a CSR list).
pub(super) struct ByJoint {
    pub offsets: Vec<u32>,
    pub entries: Vec<(u32, i64)>,
}

/// A tie the near search left open: a run of its joints that no ring so far told apart, with the cut inside.
struct Open {
    tie: usize,
    window: std::ops::Range<usize>,
    /// For each pair i < j of the window: 1 when i is heavier, −1 when j is, 0 when the search could not say.
    signs: Vec<i8>,
    /// A pair's nearest ring cancelled out.
    cancelled: bool,
}

impl<'a> Field<'a> {
    /// `influences`: one list per group of twins.
    pub fn new(influences: &'a Influences, edges: &'a Edges) -> Self {
        Self { influences, edges, by_joint: OnceCell::new(), limits: LIMITS }
    }

    /// Reorders each tie's joints, heavier around the vertex first, as far as its cut needs; joints that nothing tells apart
    /// keep their order. True where the neighbours told the last joint that stays from the first that goes.
    pub fn order(&self, ties: &[Tie], joints: &mut [u32]) -> Vec<bool> {
        let mut told = vec![false; ties.len()];
        let depth = if ties.len() > MANY { self.depth_to_change() } else { Vec::new() };
        let mut rings = Rings::new(self);
        let mut open = Vec::new();
        for (i, tie) in ties.iter().enumerate() {
            // Distance to the nearest group with other weights: nothing nearer can decide.
            let depth = depth.get(tie.group as usize).copied().unwrap_or(0);
            if depth == NONE {
                continue;
            }
            let whole = 0..tie.len as usize;
            let near =
                if depth > 3 { Outcome::Stopped(whole) } else { rings.refine(tie, whole, joints, self.limits.near) };
            match near {
                Outcome::Settled => told[i] = true,
                Outcome::Stopped(window) => open.push((i, window)),
                Outcome::Exhausted => {}
            }
        }
        rings.visited = 0;
        let mut left = Vec::new();
        for (i, window) in open {
            let deep = depth.get(ties[i].group as usize).is_some_and(|&d| d > 16);
            let middle = match deep || rings.visited > self.limits.budget {
                true => Outcome::Stopped(window),
                false => rings.refine(&ties[i], window, joints, self.limits.middle),
            };
            match middle {
                Outcome::Settled => told[i] = true,
                Outcome::Stopped(window) => {
                    let pairs = window.len() * (window.len() - 1) / 2;
                    left.push(Open { tie: i, window, signs: vec![0; pairs], cancelled: false });
                }
                Outcome::Exhausted => {}
            }
        }
        let mut open = left;
        if !open.is_empty() {
            self.search_pairs(ties, joints, &mut open);
        }
        for o in &mut open {
            let tie = &ties[o.tie];
            let before = joints[tie.range()].to_vec();
            let mut window = o.window.clone();
            if o.cancelled {
                match rings.refine(tie, window.clone(), joints, self.limits.far) {
                    Outcome::Settled => {
                        told[o.tie] = true;
                        continue;
                    }
                    Outcome::Stopped(left) => window = left,
                    Outcome::Exhausted => continue,
                }
            }
            let now = &mut joints[tie.range()];
            told[o.tie] = o.rank(&before, &mut now[window.clone()], tie.keep as usize - window.start);
        }
        told
    }

    /// Distance of each group to the nearest one whose weights differ from its own, or one less; `NONE` where there is none.
    fn depth_to_change(&self) -> Vec<u32> {
        let n = self.influences.vertex_count();
        let same = |a: u32, b: u32| {
            let key = |g: u32| self.influences.of(g as usize).iter().map(|i| (i.joint, snap(i.weight)));
            key(a).eq(key(b))
        };
        let mut depth = vec![NONE; n];
        let mut queue: Vec<u32> = (0..n as u32).filter(|&g| self.edges.of(g).iter().any(|&h| !same(g, h))).collect();
        queue.iter().for_each(|&g| depth[g as usize] = 1);
        let mut at = 0;
        while let Some(&g) = queue.get(at) {
            at += 1;
            for &h in self.edges.of(g) {
                if depth[h as usize] == NONE {
                    depth[h as usize] = depth[g as usize] + 1;
                    queue.push(h);
                }
            }
        }
        depth
    }

    pub(super) fn by_joint(&self) -> &ByJoint {
        self.by_joint.get_or_init(|| {
            let joints = self.influences.entries.iter().map(|i| i.joint as usize + 1).max().unwrap_or(0);
            let mut offsets = vec![0u32; joints + 1];
            self.influences.entries.iter().for_each(|i| offsets[i.joint as usize + 1] += 1);
            (0..joints).for_each(|j| offsets[j + 1] += offsets[j]);
            let mut at = offsets.clone();
            let mut entries = vec![(0, 0); self.influences.entries.len()];
            for g in 0..self.influences.vertex_count() {
                for i in self.influences.of(g) {
                    entries[at[i.joint as usize] as usize] = (g as u32, snap(i.weight));
                    at[i.joint as usize] += 1;
                }
            }
            ByJoint { offsets, entries }
        })
    }

    /// One search per pair of joints over all open ties it occurs in.
    fn search_pairs(&self, ties: &[Tie], joints: &[u32], open: &mut [Open]) {
        let window = |o: &Open| &joints[ties[o.tie].range()][o.window.clone()];
        // Ties over the same joints share their pairs.
        let mut sets: BTreeMap<Vec<u32>, Vec<u32>> = BTreeMap::new();
        for (i, o) in open.iter().enumerate() {
            let mut key = window(o).to_vec();
            key.sort_unstable();
            sets.entry(key).or_default().push(i as u32);
        }
        let mut pairs: BTreeMap<(u32, u32), Vec<&[u32]>> = BTreeMap::new();
        for (key, members) in &sets {
            for (i, &a) in key.iter().enumerate() {
                key[i + 1..].iter().for_each(|&b| pairs.entry((a, b)).or_default().push(members));
            }
        }
        let mut search = PairSearch::new(self);
        for ((a, b), members) in pairs {
            let targets = members.iter().flat_map(|m| m.iter().map(|&i| ties[open[i as usize].tie].group));
            search.run(a, b, targets);
            for &i in members.into_iter().flatten() {
                let o = &mut open[i as usize];
                let Some(sum) = search.sum(ties[o.tie].group) else { continue };
                let window = &joints[ties[o.tie].range()][o.window.clone()];
                let place = |joint| window.iter().position(|&w| w == joint);
                let (Some(x), Some(y)) = (place(a), place(b)) else { continue };
                let sign = sum.signum() as i8;
                let at = triangle(x.min(y), x.max(y), window.len());
                o.signs[at] = if x < y { sign } else { -sign };
                o.cancelled |= sum == 0;
            }
        }
    }
}

impl Open {
    /// Sorts what is left of the window by the pairs' signs, joints that no sign tells apart in the order given. `before`: the
    /// tie's joints as the signs were made for. True when a sign told the joints at the cut apart.
    fn rank(&self, before: &[u32], now: &mut [u32], keep: usize) -> bool {
        let original = &before[self.window.clone()];
        let sign = |a: u32, b: u32| {
            let place = |joint| original.iter().position(|&w| w == joint).unwrap_or(0);
            let (x, y) = (place(a), place(b));
            let s = self.signs[triangle(x.min(y), x.max(y), original.len())];
            if x < y { s } else { -s }
        };
        // Wins against each other joint; an order that gaps in the search left incomplete still gives one answer.
        let wins: Vec<(usize, u32)> = now
            .iter()
            .enumerate()
            .map(|(i, &a)| {
                let beats = |(j, &b): (usize, &u32)| {
                    let s = if i == j { 0 } else { sign(a, b) };
                    s > 0 || s == 0 && i < j
                };
                (now.iter().enumerate().filter(|&x| beats(x)).count(), a)
            })
            .collect();
        let mut order: Vec<usize> = (0..now.len()).collect();
        order.sort_by_key(|&i| (std::cmp::Reverse(wins[i].0), i));
        order.iter().zip(now.iter_mut()).for_each(|(&i, slot)| *slot = wins[i].1);
        sign(now[keep - 1], now[keep]) != 0
    }
}

/// Index of pair i < j among the pairs of n.
fn triangle(i: usize, j: usize, n: usize) -> usize {
    i * (2 * n - i - 1) / 2 + j - i - 1
}

/// How a search by rings ended.
enum Outcome {
    /// The cut lies between joints that a ring told apart.
    Settled,
    /// The whole surface was seen: nothing tells the joints at the cut apart.
    Exhausted,
    /// The limit came first; this run of joints is still equal.
    Stopped(std::ops::Range<usize>),
}

/// Breadth-first rings around one group after another.
struct Rings<'a> {
    field: &'a Field<'a>,
    seen: Vec<u32>,
    stamp: u32,
    /// Groups seen by all searches.
    visited: usize,
    /// Place of a joint among those compared, by joint.
    place: HashMap<u32, usize>,
}

impl<'a> Rings<'a> {
    fn new(field: &'a Field<'a>) -> Self {
        Self { field, seen: vec![0; field.influences.vertex_count()], stamp: 0, visited: 0, place: HashMap::new() }
    }

    /// Orders the joints of `window` by ring after ring until the tie's cut is settled or `limit` groups were seen.
    fn refine(&mut self, tie: &Tie, mut window: std::ops::Range<usize>, joints: &mut [u32], limit: usize) -> Outcome {
        self.stamp += 1;
        let joints = &mut joints[tie.range()];
        let keep = tie.keep as usize;
        let mut ring = vec![tie.group];
        let mut next = Vec::new();
        self.seen[tie.group as usize] = self.stamp;
        let mut visited = 1;
        let mut sums: Vec<(i64, u32)> = Vec::new();
        loop {
            next.clear();
            for &h in ring.iter().flat_map(|&g| self.field.edges.of(g)) {
                if std::mem::replace(&mut self.seen[h as usize], self.stamp) != self.stamp {
                    next.push(h);
                    visited += 1;
                    self.visited += 1;
                    if visited > limit {
                        return Outcome::Stopped(window);
                    }
                }
            }
            if next.is_empty() {
                return Outcome::Exhausted;
            }
            sums.clear();
            sums.extend(joints[window.clone()].iter().map(|&j| (0, j)));
            self.add(&next, &mut sums);
            if sums.iter().any(|s| s.0 != sums[0].0) {
                sums.sort_by_key(|s| std::cmp::Reverse(s.0));
                joints[window.clone()].iter_mut().zip(&sums).for_each(|(joint, s)| *joint = s.1);
                let cut = keep - window.start;
                let (last, first) = (sums[cut - 1].0, sums[cut].0);
                if last != first {
                    return Outcome::Settled;
                }
                let start = window.start + sums.partition_point(|s| s.0 > last);
                let end = window.start + sums.partition_point(|s| s.0 >= last);
                window = start..end;
            }
            std::mem::swap(&mut ring, &mut next);
        }
    }

    fn add(&mut self, ring: &[u32], sums: &mut [(i64, u32)]) {
        let few = sums.len() <= 16;
        if !few {
            self.place.clear();
            self.place.extend(sums.iter().enumerate().map(|(i, s)| (s.1, i)));
        }
        for i in ring.iter().flat_map(|&g| self.field.influences.of(g as usize)) {
            let place = if few { sums.iter().position(|s| s.1 == i.joint) } else { self.place.get(&i.joint).copied() };
            if let Some(p) = place {
                sums[p].0 += snap(i.weight);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::influence::Influence;
    use crate::influence::test_random::Pcg32;

    /// A grid in which joints 1, 2 and 5 tie nearly everywhere.
    fn grid(random: &mut Pcg32, side: usize, odd: u32) -> (Influences, Edges, Vec<Tie>, Vec<u32>) {
        let mut indices = Vec::new();
        for y in 0..side - 1 {
            for x in 0..side - 1 {
                let i = (y * side + x) as u32;
                let (r, up) = (i + 1, i + side as u32);
                indices.extend([i, r, up, r, up + 1, up]);
            }
        }
        let flat = [(1, 0.25f32), (2, 0.25), (5, 0.25), (9, 0.25)].map(|(joint, weight)| Influence { joint, weight });
        let mut lists = vec![flat.to_vec(); side * side];
        for _ in 0..odd {
            let joint = [1, 2, 5][random.below(3) as usize];
            lists[random.below((side * side) as u32) as usize] = vec![Influence { joint, weight: 1.0 }];
        }
        let of: Vec<u32> = (0..(side * side) as u32).collect();
        let (mut ties, mut joints) = (Vec::new(), Vec::new());
        for g in (0..side * side).filter(|&g| lists[g].len() == 4) {
            ties.push(Tie { group: g as u32, start: joints.len() as u32, len: 3, keep: 1 + random.below(2) });
            joints.extend([1, 2, 5]);
        }
        let influences = Influences::from_vertices(lists.iter().map(Vec::as_slice));
        (influences, Edges::new(&indices, &of, side * side), ties, joints)
    }

    #[test]
    fn every_route_gives_the_same_answer() {
        let mut random = Pcg32::new(41);
        for odd in [0, 1, 2, 3, 5, 9, 40] {
            let (influences, edges, ties, joints) = grid(&mut random, 33, odd);
            let run = |limits: Limits| {
                let mut joints = joints.clone();
                let field = Field { limits, ..Field::new(&influences, &edges) };
                let told = field.order(&ties, &mut joints);
                let kept: Vec<Vec<u32>> = ties
                    .iter()
                    .map(|t| {
                        let mut kept = joints[t.range()][..t.keep as usize].to_vec();
                        kept.sort_unstable();
                        kept
                    })
                    .collect();
                (told, kept)
            };
            let all = 1 << 20;
            let local = run(Limits { near: all, middle: all, budget: all, far: all });
            let pairs = run(Limits { near: 1, middle: 0, budget: 0, far: all });
            assert_eq!(local.0, pairs.0, "{odd}");
            assert_eq!(local.1, pairs.1, "{odd}");
            assert_eq!(run(LIMITS), local, "{odd}");
        }
    }
}
