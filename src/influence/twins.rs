//! Vertices that are one place of the surface: the two sides of a UV seam must move as one.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::{Influence, Influences};

/// Weights of twins may differ by one step of a byte; the rest is rounding.
const AGREE: f32 = 1.0 / 255.0 + 1e-6;
/// Up to this many different influence lists at one place are compared each with each.
const PAIRWISE: usize = 256;
/// Fixed point of the mean: sums of integers do not depend on their order.
const UNIT: f64 = (1u64 << 40) as f64;

/// Vertices gathered into groups of twins.
///
/// Twins stand at exactly the same position and their influences agree within 1/255 per joint (chains of such agreement
/// join too). Everything else that shares a position (lips, touching fingers, stacked copies that move otherwise) stays
/// apart and is only counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Twins {
    /// Group of each vertex; groups are numbered by their first vertex.
    pub of: Vec<u32>,
    /// First vertex of each group.
    pub first: Vec<u32>,
    /// Influences of each group: the mean of its members'; in no particular order.
    pub influences: Influences,
    /// Vertices that have a twin.
    pub twinned: usize,
    /// Vertices that share their position with one that is no twin.
    pub colocated: usize,
}

impl Twins {
    /// Clean influences; without positions nobody has a twin.
    pub fn find(mut given: Influences, positions: &[[f32; 3]]) -> Self {
        let n = given.vertex_count();
        let sites = if positions.is_empty() { Vec::new() } else { shared_sites(positions) };
        // Only where lists are compared must they have one order.
        for &v in sites.iter().flatten() {
            let order = |a: &Influence, b: &Influence| a.joint.cmp(&b.joint).then(b.weight.total_cmp(&a.weight));
            given.of_mut(v as usize).sort_unstable_by(order);
        }
        if sites.is_empty() {
            let first: Vec<u32> = (0..n as u32).collect();
            return Self { of: first.clone(), first, influences: given, twinned: 0, colocated: 0 };
        }
        // The first vertex of each vertex's group.
        let mut leader: Vec<u32> = (0..n as u32).collect();
        let (mut twinned, mut colocated) = (0, 0);
        for members in &sites {
            let leaders = split(members, &given, &mut leader);
            colocated += if leaders > 1 { members.len() } else { 0 };
        }
        let mut of = vec![0; n];
        let mut first = Vec::with_capacity(n);
        for v in 0..n {
            if leader[v] as usize == v {
                of[v] = first.len() as u32;
                first.push(v as u32);
            } else {
                of[v] = of[leader[v] as usize];
            }
        }
        let mut joined: HashMap<u32, Vec<u32>> = HashMap::new();
        for &v in sites.iter().flatten() {
            joined.entry(of[v as usize]).or_default().push(v);
        }
        joined.retain(|_, members| members.len() > 1);
        twinned += joined.values().map(Vec::len).sum::<usize>();
        let mut influences = Influences { offsets: vec![0], entries: Vec::with_capacity(given.entries.len()) };
        for (group, &v) in first.iter().enumerate() {
            match joined.get(&(group as u32)) {
                Some(members) => mean(members, &given, &mut influences.entries),
                None => influences.entries.extend_from_slice(given.of(v as usize)),
            }
            influences.offsets.push(influences.entries.len() as u32);
        }
        Self { of, first, influences, twinned, colocated }
    }

    /// Number of groups.
    pub fn count(&self) -> usize {
        self.first.len()
    }

    /// Number of vertices in each group.
    pub fn member_counts(&self) -> Vec<u32> {
        let mut counts = vec![0; self.count()];
        self.of.iter().for_each(|&g| counts[g as usize] += 1);
        counts
    }

    /// The groups' influences, one list per vertex.
    pub fn spread(&self) -> Influences {
        if self.count() == self.of.len() {
            return self.influences.clone();
        }
        Influences::from_vertices(self.of.iter().map(|&g| self.influences.of(g as usize)))
    }
}

/// The vertices of every position that more than one vertex has.
fn shared_sites(positions: &[[f32; 3]]) -> Vec<Vec<u32>> {
    let mut sites: HashMap<[u32; 3], u32, BuildHasherDefault<PositionHasher>> =
        HashMap::with_capacity_and_hasher(positions.len(), BuildHasherDefault::default());
    let mut shared: HashMap<u32, Vec<u32>> = HashMap::new();
    for (v, p) in positions.iter().enumerate() {
        // + 0.0 turns −0 into 0.
        let first = *sites.entry(p.map(|x| (x + 0.0).to_bits())).or_insert(v as u32);
        if first != v as u32 {
            shared.entry(first).or_insert_with(|| vec![first]).push(v as u32);
        }
    }
    shared.into_values().collect()
}

/// Points `leader` of each member to the first vertex of its group; returns the number of groups.
fn split(members: &[u32], influences: &Influences, leader: &mut [u32]) -> usize {
    // Equal lists first: they are one whatever else holds.
    let mut sorted = members.to_vec();
    sorted.sort_by(|&a, &b| content(influences.of(a as usize), influences.of(b as usize)).then(a.cmp(&b)));
    let mut classes: Vec<Vec<u32>> = Vec::new();
    for v in sorted {
        match classes.last_mut() {
            Some(c) if content(influences.of(c[0] as usize), influences.of(v as usize)).is_eq() => c.push(v),
            _ => classes.push(vec![v]),
        }
    }
    let k = classes.len();
    let mut root: Vec<usize> = (0..k).collect();
    fn find(root: &mut [usize], mut i: usize) -> usize {
        while root[i] != i {
            root[i] = root[root[i]];
            i = root[i];
        }
        i
    }
    for i in 0..k {
        let last = if k <= PAIRWISE { k } else { (i + 2).min(k) };
        for j in i + 1..last {
            if agree(influences.of(classes[i][0] as usize), influences.of(classes[j][0] as usize)) {
                let (a, b) = (find(&mut root, i), find(&mut root, j));
                root[a.max(b)] = a.min(b);
            }
        }
    }
    let mut lead = vec![u32::MAX; k];
    for (i, class) in classes.iter().enumerate() {
        let r = find(&mut root, i);
        lead[r] = class.iter().copied().fold(lead[r], u32::min);
    }
    for (i, class) in classes.iter().enumerate() {
        let r = find(&mut root, i);
        class.iter().for_each(|&v| leader[v as usize] = lead[r]);
    }
    lead.iter().filter(|&&l| l != u32::MAX).count()
}

fn content(a: &[Influence], b: &[Influence]) -> std::cmp::Ordering {
    let key = |i: &Influence| (i.joint, i.weight.to_bits());
    a.iter().map(key).cmp(b.iter().map(key))
}

/// Both sorted by joint: no weight differs by more than a byte's step.
fn agree(a: &[Influence], b: &[Influence]) -> bool {
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let next = |s: &[Influence], at: usize| s.get(at).map_or(u32::MAX, |x| x.joint);
        let joint = next(a, i).min(next(b, j));
        let take = |s: &[Influence], at: &mut usize| match s.get(*at) {
            Some(x) if x.joint == joint => {
                *at += 1;
                x.weight
            }
            _ => 0.0,
        };
        if (take(a, &mut i) - take(b, &mut j)).abs() > AGREE {
            return false;
        }
    }
    true
}

fn mean(members: &[u32], influences: &Influences, out: &mut Vec<Influence>) {
    let first = influences.of(members[0] as usize);
    if members.iter().all(|&v| content(first, influences.of(v as usize)).is_eq()) {
        return out.extend_from_slice(first);
    }
    let mut sums = std::collections::BTreeMap::new();
    for i in members.iter().flat_map(|&v| influences.of(v as usize)) {
        *sums.entry(i.joint).or_insert(0i64) += (f64::from(i.weight) * UNIT).round() as i64;
    }
    let weight = |sum: i64| (sum as f64 / UNIT / members.len() as f64) as f32;
    out.extend(sums.into_iter().map(|(joint, sum)| Influence { joint, weight: weight(sum) }));
}

/// Multiply-and-rotate over the three words of a position; the standard hasher is several times slower.
#[derive(Default)]
struct PositionHasher(u64);

impl Hasher for PositionHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.chunks(4).for_each(|c| self.write_u32(c.iter().rev().fold(0, |w, &b| w << 8 | u32::from(b))));
    }
    fn write_u32(&mut self, word: u32) {
        self.0 = (self.0.rotate_left(21) ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    // The array's length prefix says nothing.
    fn write_usize(&mut self, _: usize) {}
}
