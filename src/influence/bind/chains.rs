//! Limbs: runs of joints between branchings. Fingers are limbs of a hand, legs and spine are limbs of the hips.

use crate::influence::Influence;

/// The limbs of a skeleton.
pub(super) struct Chains {
    /// Limb of each joint.
    of: Vec<u32>,
    /// Limb that each limb grows from.
    parent: Vec<Option<u32>>,
}

impl Chains {
    /// `parents`: of each joint, in any order. A ring of parents ends where it closes.
    pub fn new(parents: &[Option<u32>]) -> Self {
        let n = parents.len();
        let parent = |j: usize| parents[j].map(|p| p as usize).filter(|&p| p < n);
        let mut children = vec![0; n];
        (0..n).filter_map(parent).for_each(|p| children[p] += 1);
        let mut of = vec![u32::MAX; n];
        let mut chain_parent = Vec::new();
        for joint in 0..n {
            // Up to a joint whose limb is known, or to the root; then down again.
            let mut path = vec![joint];
            let mut visited = 0;
            while let Some(p) = parent(path[path.len() - 1]).filter(|_| of[path[path.len() - 1]] == u32::MAX) {
                visited += 1;
                if visited > n {
                    break;
                }
                path.push(p);
            }
            for &j in path.iter().rev().filter(|&&j| j < n) {
                if of[j] != u32::MAX {
                    continue;
                }
                let above = parent(j).map(|p| (p, of[p])).filter(|a| a.1 != u32::MAX);
                of[j] = match above {
                    Some((p, chain)) if children[p] == 1 => chain,
                    _ => {
                        chain_parent.push(above.map(|a| a.1));
                        chain_parent.len() as u32 - 1
                    }
                };
            }
        }
        Self { of, parent: chain_parent }
    }

    fn above(&self, mut chain: u32, ancestor: u32) -> bool {
        loop {
            if chain == ancestor {
                return true;
            }
            match self.parent[chain as usize] {
                Some(p) => chain = p,
                None => return false,
            }
        }
    }

    fn related(&self, a: u32, b: u32) -> bool {
        self.above(a, b) || self.above(b, a)
    }

    /// Multiplies the weights of each limb by (s/t)^(power − 1), s its sum and t the largest sum of a limb that grows neither from it
    /// nor under it, where t > s. Continuous; weights are not normalised afterwards.
    pub fn separate(&self, row: &mut [Influence], power: f32) {
        let mut sums: Vec<(u32, f32)> = Vec::new();
        for i in row.iter() {
            let Some(&chain) = self.of.get(i.joint as usize) else { return };
            match sums.iter_mut().find(|s| s.0 == chain) {
                Some(s) => s.1 += i.weight,
                None => sums.push((chain, i.weight)),
            }
        }
        if sums.len() < 2 {
            return;
        }
        for i in row {
            let chain = self.of[i.joint as usize];
            let own = sums.iter().find(|s| s.0 == chain).map_or(0.0, |s| s.1);
            let rival = sums.iter().filter(|s| !self.related(s.0, chain)).map(|s| s.1).fold(0.0, f32::max);
            if rival > own {
                i.weight *= (own / rival).powf(power - 1.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limbs() {
        // 0 hips – 1 spine – 2 chest – (3 left arm – 4, 5 right arm); 0 – 6 leg.
        let c = Chains::new(&[None, Some(0), Some(1), Some(2), Some(3), Some(2), Some(0)]);
        let same = |a: usize, b: usize| c.of[a] == c.of[b];
        assert!(same(1, 2) && same(3, 4) && !same(2, 3) && !same(3, 5) && !same(0, 1) && !same(1, 6));
        assert!(c.related(c.of[4], c.of[0]) && c.related(c.of[2], c.of[5]) && !c.related(c.of[3], c.of[5]));
        let mut row = [(0, 0.2), (3, 0.4), (5, 0.2), (4, 0.2)].map(|(joint, weight)| Influence { joint, weight });
        c.separate(&mut row, 2.0);
        // Left arm .6, right arm .2: the right keeps a third.
        assert!((row[2].weight - 0.2 / 3.0).abs() < 1e-7);
        assert_eq!([row[0].weight, row[1].weight, row[3].weight], [0.2, 0.4, 0.2]);
        // A ring, and parents out of range: no hang, no panic.
        Chains::new(&[Some(1), Some(2), Some(0), Some(99)]);
    }
}
