//! Pruning: the worked example, ties, seams, symmetry, and independence from any order.

use dermis::influence::{
    Influence, Influences, PruneContext, PruneOptions, Pruned, Redistribute, Symmetry, Ties, clean, pack_ordered, prune,
};
use dermis::influence::{InfluenceLayout, Precision};

/// PCG32 (O'Neill, 2014).
struct Pcg32(u64);

impl Pcg32 {
    fn word(&mut self) -> u32 {
        let old = self.0;
        self.0 = old.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((((old >> 18) ^ old) >> 27) as u32).rotate_right((old >> 59) as u32)
    }
    fn below(&mut self, n: usize) -> usize {
        ((u64::from(self.word()) * n as u64) >> 32) as usize
    }
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// Joints and weights of every vertex.
type Painted = Vec<Vec<(u32, f32)>>;

fn list(vertices: &[Vec<(u32, f32)>]) -> Influences {
    let v: Vec<Vec<Influence>> =
        vertices.iter().map(|v| v.iter().map(|&(joint, weight)| Influence { joint, weight }).collect()).collect();
    clean(&Influences::from_vertices(v.iter().map(Vec::as_slice)), 1000).unwrap().0
}

/// Influences of a vertex by joint.
fn of(pruned: &Pruned, vertex: usize) -> Vec<(u32, f32)> {
    let mut v: Vec<_> = pruned.influences.of(vertex).iter().map(|i| (i.joint, i.weight)).collect();
    v.sort_by_key(|i| i.0);
    v
}

fn close(found: &[(u32, f32)], expected: &[(u32, f32)]) {
    // Weights are f32 of values computed in f64 from f32 weights: half a step of 1 each way.
    let near = |(a, b): (&(u32, f32), &(u32, f32))| a.0 == b.0 && (a.1 - b.1).abs() < 1.2e-7;
    assert!(found.len() == expected.len() && found.iter().zip(expected).all(near), "{found:?} is not {expected:?}");
}

/// V102 and V104 stand alone; V109 – V110 – V111 – V112 are a strip: each next to the one before.
fn worked_example() -> (Influences, Vec<u32>) {
    let vertices = [
        vec![(1, 0.2), (2, 0.4), (3, 0.4)],
        vec![(1, 0.1), (2, 0.3), (3, 0.6)],
        vec![(1, 0.3), (2, 0.5), (3, 0.2)],
        vec![(1, 0.2), (2, 0.2), (3, 0.6)],
        vec![(1, 0.2), (2, 0.2), (3, 0.6)],
        vec![(3, 0.5), (4, 0.5)],
    ];
    // Degenerate triangles are edges and nothing else.
    (list(&vertices), vec![2, 3, 3, 3, 4, 4, 4, 5, 5])
}

#[test]
fn the_worked_example() {
    let (influences, indices) = worked_example();
    let third = 1.0 / 3.0;
    let proportional = [
        vec![(2, 0.5), (3, 0.5)],
        vec![(2, third), (3, 2.0 * third)],
        vec![(1, 0.375), (2, 0.625)],
        vec![(2, 0.25), (3, 0.75)],
        vec![(2, 0.25), (3, 0.75)],
        vec![(3, 0.5), (4, 0.5)],
    ];
    let equal = [
        vec![(2, 0.5), (3, 0.5)],
        vec![(2, 0.35), (3, 0.65)],
        vec![(1, 0.4), (2, 0.6)],
        vec![(2, 0.3), (3, 0.7)],
        vec![(2, 0.3), (3, 0.7)],
        vec![(3, 0.5), (4, 0.5)],
    ];
    for (redistribute, expected) in [(Redistribute::Proportional, &proportional), (Redistribute::Equal, &equal)] {
        let options = PruneOptions { max: 2, redistribute, ties: Ties::Neighbours };
        let pruned = prune(&influences, &options, &PruneContext { indices: &indices, ..Default::default() }).unwrap();
        expected.iter().enumerate().for_each(|(v, e)| close(&of(&pruned, v), e));
        assert_eq!((pruned.report.ties.met, pruned.report.ties.neighbours), (2, 2));
        assert_eq!(pruned.report.before, [0, 0, 1, 5]);
        assert_eq!(pruned.report.after, [0, 0, 6]);
        assert!((pruned.report.removed_max() - 0.2).abs() < 1e-7);
    }
}

#[test]
fn priority_and_index() {
    let (influences, indices) = worked_example();
    let kept = |ties, priority: &[f32]| {
        let options = PruneOptions { max: 2, ties, ..Default::default() };
        let context = PruneContext { indices: &indices, priority, ..Default::default() };
        let pruned = prune(&influences, &options, &context).unwrap();
        (of(&pruned, 3), of(&pruned, 4), pruned.report.ties)
    };
    // By index B01 stays, whatever the priorities and the neighbours say.
    let (v110, v111, counts) = kept(Ties::Index, &[0.0, 1.0, 9.0]);
    close(&v110, &[(1, 0.25), (3, 0.75)]);
    close(&v111, &[(1, 0.25), (3, 0.75)]);
    assert_eq!((counts.met, counts.index), (2, 2));
    // By priority the higher stays; without priorities the index decides.
    for (priority, joint) in [(&[0.0, 1.0, 9.0][..], 2), (&[0.0, 9.0, 1.0], 1), (&[], 1), (&[0.0, -1.0], 2)] {
        let (v110, _, counts) = kept(Ties::Priority, priority);
        close(&v110, &[(joint, 0.25), (3, 0.75)]);
        assert_eq!(counts.priority + counts.index, 2);
        assert_eq!(counts.priority == 2, !priority.is_empty());
    }
    // Neighbours come before priority.
    assert_eq!(kept(Ties::Neighbours, &[0.0, 9.0]).0[0].0, 2);
}

/// A grid of w × h vertices, two triangles per cell.
fn grid(w: usize, h: usize) -> Vec<u32> {
    let mut out = Vec::new();
    for y in 0..h - 1 {
        for x in 0..w - 1 {
            let i = (y * w + x) as u32;
            let (w, r) = (w as u32, i + 1);
            out.extend([i, r, i + w, r, r + w, i + w]);
        }
    }
    out
}

fn adjacency(n: usize, indices: &[u32]) -> Vec<Vec<usize>> {
    let mut next = vec![Vec::new(); n];
    for t in indices.chunks(3) {
        for (i, j) in [(0, 1), (1, 2), (2, 0)] {
            next[t[i] as usize].push(t[j] as usize);
            next[t[j] as usize].push(t[i] as usize);
        }
    }
    next
}

/// The neighbour rule one search per vertex, as plainly as can be.
fn oracle(influences: &Influences, next: &[Vec<usize>], v: usize, a: u32, b: u32) -> std::cmp::Ordering {
    let weight = |v: usize, joint| {
        let w = influences.of(v).iter().find(|i| i.joint == joint).map_or(0.0, |i| i.weight);
        (f64::from(w) * f64::from(1 << 20)).round() as i64
    };
    let mut seen = vec![false; next.len()];
    seen[v] = true;
    let mut ring = vec![v];
    loop {
        let mut far = Vec::new();
        for &u in &ring {
            for &w in &next[u] {
                if !seen[w] {
                    seen[w] = true;
                    far.push(w);
                }
            }
        }
        let sum = |joint| far.iter().map(|&u| weight(u, joint)).sum::<i64>();
        match sum(b).cmp(&sum(a)) {
            _ if far.is_empty() => return a.cmp(&b),
            std::cmp::Ordering::Equal => ring = far,
            decided => return decided,
        }
    }
}

#[test]
fn neighbours_agree_with_a_search_per_vertex() {
    let mut random = Pcg32(17);
    for trial in 0..24 {
        let (w, h) = (23, 19 + trial);
        let indices = grid(w, h);
        let next = adjacency(w * h, &indices);
        // Large flat regions where several joints tie, with a few places that differ, some of them cancelling out.
        let few = 1 + random.below(12);
        let mut vertices = vec![vec![(1, 0.2), (2, 0.2), (5, 0.2), (9, 0.4)]; w * h];
        for _ in 0..few {
            let v = random.below(w * h);
            let (a, b) = ([1, 2, 5][random.below(3)], [1, 2, 5][random.below(3)]);
            vertices[v] = if a == b { vec![(a, 1.0)] } else { vec![(a, 0.6), (b, 0.4)] };
        }
        let influences = list(&vertices);
        for max in [2, 3] {
            let options = PruneOptions { max, ..Default::default() };
            let context = PruneContext { indices: &indices, ..Default::default() };
            let pruned = prune(&influences, &options, &context).unwrap();
            for v in (0..w * h).filter(|&v| vertices[v].len() == 4) {
                let mut order = [1, 2, 5];
                order.sort_by(|&a, &b| oracle(&influences, &next, v, a, b));
                let mut expected: Vec<u32> = order[..max - 1].iter().copied().chain([9]).collect();
                expected.sort_unstable();
                let found: Vec<u32> = of(&pruned, v).iter().map(|i| i.0).collect();
                assert_eq!(found, expected, "trial {trial}, limit {max}, vertex {v}");
            }
        }
    }
}

#[test]
fn random_ties_agree_with_a_search_per_vertex() {
    let mut random = Pcg32(23);
    let (w, h) = (31, 29);
    let indices = grid(w, h);
    let next = adjacency(w * h, &indices);
    // Painted in steps of 1/10: ties everywhere.
    let vertices: Vec<Vec<(u32, f32)>> = (0..w * h)
        .map(|_| {
            let mut parts = [0u32; 7];
            (0..10).for_each(|_| parts[random.below(7)] += 1);
            (0..7).filter(|&j| parts[j] > 0).map(|j| (j as u32, parts[j] as f32 / 10.0)).collect()
        })
        .collect();
    let influences = list(&vertices);
    for max in 1..=6 {
        let options = PruneOptions { max, ..Default::default() };
        let pruned = prune(&influences, &options, &PruneContext { indices: &indices, ..Default::default() }).unwrap();
        for v in 0..w * h {
            let mut order = vertices[v].clone();
            order.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| oracle(&influences, &next, v, a.0, b.0)));
            let mut expected: Vec<u32> = order.iter().take(max).map(|i| i.0).collect();
            expected.sort_unstable();
            assert_eq!(of(&pruned, v).iter().map(|i| i.0).collect::<Vec<_>>(), expected, "limit {max}, vertex {v}");
        }
    }
}

#[test]
fn order_of_slots_and_vertices_is_nothing() {
    let mut random = Pcg32(29);
    let (w, h) = (21, 17);
    let indices = grid(w, h);
    let vertices: Vec<Vec<(u32, f32)>> = (0..w * h)
        .map(|_| {
            let n = 1 + random.below(9);
            (0..n).map(|_| (random.below(12) as u32, (1 + random.below(4)) as f32 / 8.0)).collect()
        })
        .collect();
    let positions: Vec<[f32; 3]> = (0..w * h).map(|v| [(v % w) as f32, (v / w % 9) as f32, 0.0]).collect();
    let run = |vertices: &[Vec<(u32, f32)>], positions: &[[f32; 3]], indices: &[u32], redistribute| {
        let options = PruneOptions { max: 3, redistribute, ties: Ties::Neighbours };
        let context = PruneContext { positions, indices, ..Default::default() };
        let pruned = prune(&list(vertices), &options, &context).unwrap();
        let quantised = pruned.quantise(255, Ties::Neighbours, &context).unwrap();
        (pruned, quantised)
    };
    for redistribute in [Redistribute::Proportional, Redistribute::Equal, Redistribute::Continuous] {
        let (first, first_bytes) = run(&vertices, &positions, &indices, redistribute);
        for _ in 0..4 {
            let mut order: Vec<usize> = (0..w * h).collect();
            random.shuffle(&mut order);
            let mut at = vec![0; w * h];
            order.iter().enumerate().for_each(|(new, &old)| at[old] = new);
            let moved: Vec<_> = order
                .iter()
                .map(|&old| {
                    let mut slots = vertices[old].clone();
                    random.shuffle(&mut slots);
                    slots
                })
                .collect();
            let places: Vec<_> = order.iter().map(|&old| positions[old]).collect();
            let mut triangles: Vec<[u32; 3]> =
                indices.chunks(3).map(|t| [0, 1, 2].map(|i| at[t[i] as usize] as u32)).collect();
            random.shuffle(&mut triangles);
            let (again, bytes) = run(&moved, &places, triangles.as_flattened(), redistribute);
            for old in 0..w * h {
                assert_eq!(again.influences.of(at[old]), first.influences.of(old));
                assert_eq!(bytes.of(at[old]), first_bytes.of(old));
            }
            assert_eq!(again.report.ties, first.report.ties);
        }
    }
}

#[test]
fn seams_are_one_vertex_and_lips_are_not() {
    // 0 and 1: two sides of a seam, one byte's step apart. 2 and 3: lips, one follows the head, one the jaw.
    // 4 and 5: a stacked copy under another joint. 6: alone.
    let step = 1.0 / 255.0;
    let vertices = [
        vec![(0, 0.4), (1, 0.3), (2, 0.3)],
        vec![(0, 0.4), (1, 0.3 - step), (2, 0.3 + step)],
        vec![(0, 0.9), (3, 0.1)],
        vec![(0, 0.1), (3, 0.9)],
        vec![(1, 1.0)],
        vec![(2, 1.0)],
        vec![(2, 1.0)],
    ];
    let at = |x: f32| [x, 1.0, 2.0];
    let positions = [at(0.0), at(-0.0), at(1.0), at(1.0), at(2.0), at(2.0), at(3.0)];
    let influences = list(&vertices);
    let context = PruneContext { positions: &positions, ..Default::default() };
    let pruned = prune(&influences, &PruneOptions { max: 2, ..Default::default() }, &context).unwrap();
    assert_eq!(pruned.influences.of(0), pruned.influences.of(1));
    assert_ne!(pruned.influences.of(2), pruned.influences.of(3));
    assert_ne!(pruned.influences.of(4), pruned.influences.of(5));
    assert_eq!((pruned.report.twins, pruned.report.colocated), (2, 4));
    let bytes = pruned.quantise(255, Ties::Neighbours, &context).unwrap();
    assert_eq!(bytes.of(0), bytes.of(1));
    let layout = InfluenceLayout::for_mesh(2, 8, Precision::Compact).unwrap();
    let packed = pack_ordered(&pruned.influences, layout).unwrap();
    assert_eq!(packed.of(0), packed.of(1));
    // Influences that already fit are unified too.
    let wide = prune(&influences, &PruneOptions { max: 8, ..Default::default() }, &context).unwrap();
    assert_eq!(wide.influences.of(0), wide.influences.of(1));
    assert_eq!(wide.influences.of(2), influences.of(2));
}

#[test]
fn seams_do_not_stop_the_neighbour_rule() {
    // A strip cut by a seam: the tied vertex is on one side, what decides on the other.
    let vertices = [vec![(1, 0.5), (2, 0.5)], vec![(3, 1.0)], vec![(3, 1.0)], vec![(2, 1.0)], vec![(0, 1.0)]];
    let positions = [[0.0; 3], [1.0; 3], [1.0; 3], [2.0; 3], [9.0; 3]];
    let context = PruneContext { positions: &positions, indices: &[0, 1, 1, 2, 3, 3], ..Default::default() };
    let pruned = prune(&list(&vertices), &PruneOptions { max: 1, ..Default::default() }, &context).unwrap();
    assert_eq!(of(&pruned, 0), [(2, 1.0)]);
}

/// A symmetric grid under joints 0 centre, 1/2 and 3/4 left/right pairs, 5 centre; weights in tenths.
fn symmetric(random: &mut Pcg32, w: usize, h: usize) -> (Painted, Vec<[f32; 3]>, Symmetry) {
    let mate = |j: u32| [0, 2, 1, 4, 3, 5][j as usize];
    let mut vertices = vec![Vec::new(); w * h];
    for y in 0..h {
        for x in 0..=w / 2 {
            let middle = x == w / 2;
            let mut parts = [0u32; 6];
            for _ in 0..5 {
                let j = random.below(6) as u32;
                parts[j as usize] += 1;
                // On the middle a vertex is its own mirror image.
                parts[if middle { mate(j) } else { j } as usize] += 1;
            }
            let slots: Vec<(u32, f32)> =
                (0..6).filter(|&j| parts[j] > 0).map(|j| (j as u32, parts[j] as f32 / 10.0)).collect();
            vertices[y * w + w - 1 - x] = slots.iter().map(|&(j, w)| (mate(j), w)).collect();
            vertices[y * w + x] = slots;
        }
    }
    let positions = (0..w * h).map(|v| [(v % w) as f32 - (w / 2) as f32, (v / w) as f32, 0.0]).collect();
    let names = ["spine", "arm.L", "arm.R", "leg.L", "leg.R", "head"];
    let joints = [[0.0; 3], [-4.0, 2.0, 0.0], [4.0, 2.0, 0.0], [-2.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 5.0, 0.0]];
    (vertices, positions, Symmetry::find(&names, &joints).unwrap())
}

#[test]
fn symmetric_meshes_stay_symmetric() {
    let mut random = Pcg32(31);
    let (w, h) = (25, 17);
    let mate = |j: u32| [0, 2, 1, 4, 3, 5][j as usize];
    // Diagonals mirrored too, so that edges pair up.
    let mut indices = grid(w / 2 + 1, h).chunks(3).map(|t| t.to_vec()).collect::<Vec<_>>();
    let half = w / 2 + 1;
    let to_full = |i: u32| (i as usize / half * w + i as usize % half) as u32;
    indices.iter_mut().flatten().for_each(|i| *i = to_full(*i));
    let mirror = |i: u32| (i as usize / w * w + (w - 1 - i as usize % w)) as u32;
    let mirrored: Vec<Vec<u32>> = indices.iter().map(|t| t.iter().map(|&i| mirror(i)).collect()).collect();
    indices.extend(mirrored);
    let indices: Vec<u32> = indices.concat();
    for trial in 0..6 {
        let (vertices, positions, symmetry) = symmetric(&mut random, w, h);
        let influences = list(&vertices);
        let context =
            PruneContext { positions: &positions, indices: &indices, symmetry: Some(&symmetry), ..Default::default() };
        for redistribute in [Redistribute::Proportional, Redistribute::Equal, Redistribute::Continuous] {
            for ties in [Ties::Neighbours, Ties::Priority, Ties::Index] {
                for max in 1..=5 {
                    let pruned = prune(&influences, &PruneOptions { max, redistribute, ties }, &context).unwrap();
                    let bytes = pruned.quantise(255, ties, &context).unwrap();
                    let layout = InfluenceLayout::for_mesh(max, 6, Precision::Compact).unwrap();
                    let words = dermis::influence::unpack(&pack_ordered(&pruned.influences, layout).unwrap());
                    for v in 0..w * h {
                        let m = mirror(v as u32) as usize;
                        let place = format!("trial {trial} {redistribute:?} {ties:?} limit {max} vertex {v}");
                        if v % w == w / 2 {
                            // The middle: no pair is parted while anything else remains.
                            let joints: Vec<u32> = pruned.influences.of(v).iter().map(|i| i.joint).collect();
                            let parted = joints.iter().any(|&j| !joints.contains(&mate(j)));
                            assert!(!parted || joints.len() == 1 && max == 1, "{place}: {joints:?}");
                            continue;
                        }
                        let image: Vec<Influence> =
                            pruned.influences.of(v).iter().map(|i| Influence { joint: mate(i.joint), ..*i }).collect();
                        assert_eq!(pruned.influences.of(m), image, "{place}");
                        let shares: Vec<(u32, u32)> = bytes.of(v).iter().map(|s| (mate(s.joint), s.units)).collect();
                        let other: Vec<(u32, u32)> = bytes.of(m).iter().map(|s| (s.joint, s.units)).collect();
                        assert_eq!(other, shares, "{place}");
                        let image: Vec<Influence> =
                            words.of(v).iter().map(|i| Influence { joint: mate(i.joint), ..*i }).collect();
                        assert_eq!(words.of(m), image, "{place}");
                    }
                }
            }
        }
    }
}

#[test]
fn continuous_does_not_jump() {
    // Joints 2 and 3 cross half way along a line of 401 vertices.
    let n = 401;
    let vertices: Vec<Vec<(u32, f32)>> = (0..n)
        .map(|i| {
            let t = i as f32 / (n - 1) as f32;
            vec![(0, 0.3), (1, 0.3), (2, 0.1 + 0.2 * t), (3, 0.3 - 0.2 * t)]
        })
        .collect();
    let step = |redistribute| {
        let options = PruneOptions { max: 3, redistribute, ties: Ties::Index };
        let p = prune(&list(&vertices), &options, &PruneContext::default()).unwrap();
        let weight =
            |v: usize, j| p.influences.of(v).iter().find(|i: &&Influence| i.joint == j).map_or(0.0, |i| i.weight);
        (1..n)
            .flat_map(|v| (0..4).map(move |j| (v, j)))
            .map(|(v, j)| (weight(v, j) - weight(v - 1, j)).abs())
            .fold(0.0, f32::max)
    };
    assert!(step(Redistribute::Proportional) > 0.2);
    // A difference moves by at most 0.4/400 a vertex over a denominator of at least 0.2, itself moving 0.4/400 a vertex.
    assert!(step(Redistribute::Continuous) < 0.01);
}

#[test]
fn refusals_and_odd_input() {
    let one = list(&[vec![(0, 0.5), (1, 0.5)]]);
    let context = PruneContext::default();
    for max in [0, 9] {
        assert!(prune(&one, &PruneOptions { max, ..Default::default() }, &context).is_err());
    }
    let options = PruneOptions { max: 1, ..Default::default() };
    assert!(prune(&one, &options, &PruneContext { indices: &[0, 0, 1], ..context }).is_err());
    assert!(prune(&one, &options, &PruneContext { positions: &[[0.0; 3]; 2], ..context }).is_err());
    assert!(prune(&one, &options, &PruneContext { priority: &[f32::NAN], ..context }).is_err());
    let bad = Influences { offsets: vec![0, 1], entries: vec![Influence { joint: 0, weight: f32::NAN }] };
    assert!(prune(&bad, &options, &context).is_err());
    assert_eq!(prune(&Influences::default(), &options, &context).unwrap().influences.vertex_count(), 0);
    // A single vertex with two equal weights and nothing to ask: the lower index.
    assert_eq!(of(&prune(&one, &options, &context).unwrap(), 0), [(0, 1.0)]);
}
