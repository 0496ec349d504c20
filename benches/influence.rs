//! Times what happens once per asset: prune, quantise, pack, heat. Sizes are in the names.
//!
//! `cargo bench --bench influence`; `-- --quick` for a short run.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use dermis::influence::{
    Influence, InfluenceLayout, Influences, Precision, PruneContext, PruneOptions, Redistribute, Ties, clean,
    pack_ordered, prune, quantise,
};

/// PCG32 (O'Neill, 2014).
struct Pcg32(u64);

impl Pcg32 {
    fn word(&mut self) -> u32 {
        let old = self.0;
        self.0 = old.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((((old >> 18) ^ old) >> 27) as u32).rotate_right((old >> 59) as u32)
    }
    fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.word()) * u64::from(n)) >> 32) as u32
    }
}

/// A grid of `side`² vertices with twelve of sixty joints each. `steps`: weights are multiples of 1/steps, so that they tie.
fn grid(side: usize, steps: Option<u32>) -> (Influences, Vec<[f32; 3]>, Vec<u32>) {
    let mut random = Pcg32(1);
    let mut raw = Influences { offsets: vec![0], entries: Vec::with_capacity(12 * side * side) };
    for _ in 0..side * side {
        let first = random.below(60);
        for k in 0..12 {
            let weight = match steps {
                Some(steps) => (1 + random.below(4)) as f32 / steps as f32,
                None => random.word() as f32 / u32::MAX as f32 + 1e-3,
            };
            raw.entries.push(Influence { joint: (first + 5 * k) % 60, weight });
        }
        raw.offsets.push(raw.entries.len() as u32);
    }
    let positions = (0..side * side).map(|v| [(v % side) as f32, (v / side) as f32, 0.0]).collect();
    let mut indices = Vec::with_capacity(6 * side * side);
    for y in 0..side as u32 - 1 {
        for x in 0..side as u32 - 1 {
            let i = y * side as u32 + x;
            let (r, up) = (i + 1, i + side as u32);
            indices.extend([i, r, up, r, up + 1, up]);
        }
    }
    (clean(&raw, 60).expect("valid").0, positions, indices)
}

fn influences(c: &mut Criterion) {
    let mut group = c.benchmark_group("influence");
    group.sample_size(10).measurement_time(Duration::from_secs(8));
    for (name, steps) in [("prune/1M-vertices-12-to-4", None), ("prune/1M-vertices-12-to-4-ties-everywhere", Some(30))]
    {
        let (influences, positions, indices) = grid(1000, steps);
        let context = PruneContext { positions: &positions, indices: &indices, ..Default::default() };
        let options = PruneOptions { max: 4, redistribute: Redistribute::Proportional, ties: Ties::Neighbours };
        group.bench_function(name, |b| {
            b.iter(|| prune(black_box(&influences), &options, &context).expect("valid"));
        });
        let pruned = prune(&influences, &options, &context).expect("valid");
        assert!(pruned.influences.max_per_vertex() <= 4);
        if steps.is_none() {
            let layout = InfluenceLayout::for_mesh(4, 60, Precision::Compact).expect("valid");
            group.bench_function("pack/1M-vertices-4-compact", |b| {
                b.iter(|| pack_ordered(black_box(&pruned.influences), layout).expect("valid"));
            });
            group.bench_function("quantise/1M-vertices-4-u8", |b| {
                b.iter(|| quantise(black_box(&pruned.influences), 255, Ties::Index, &context).expect("valid"));
            });
        }
    }
    group.finish();
}

#[cfg(feature = "bind")]
fn binding(c: &mut Criterion) {
    use dermis::influence::bind::{Bone, HeatOptions, Skeleton, heat};
    let mut group = c.benchmark_group("influence");
    group.sample_size(10).measurement_time(Duration::from_secs(8));
    // A tube of 400 rings of 50 vertices around a chain of 60 bones.
    let (rings, sides) = (400usize, 50usize);
    let at = |r: usize, s: usize| (r * sides + s % sides) as u32;
    let angle = |s: usize| s as f32 / sides as f32 * std::f32::consts::TAU;
    let positions: Vec<[f32; 3]> = (0..rings * sides)
        .map(|v| [0.05 * angle(v % sides).cos(), 0.01 * (v / sides) as f32, 0.05 * angle(v % sides).sin()])
        .collect();
    let mut indices = Vec::new();
    for r in 0..rings - 1 {
        for s in 0..sides {
            indices.extend([at(r, s), at(r + 1, s), at(r, s + 1), at(r, s + 1), at(r + 1, s), at(r + 1, s + 1)]);
        }
    }
    let length = 0.01 * rings as f32 / 60.0;
    let bone = |joint: u32| Bone {
        joint,
        head: [0.0, length * joint as f32, 0.0],
        tail: [0.0, length * (joint + 1) as f32, 0.0],
    };
    let skeleton = Skeleton { bones: (0..60).map(bone).collect(), parents: Vec::new() };
    group.bench_function("heat/20k-vertices-60-bones", |b| {
        b.iter(|| heat(black_box(&positions), &indices, &skeleton, &HeatOptions::default()).expect("valid"));
    });
    group.finish();
}

#[cfg(not(feature = "bind"))]
fn binding(_: &mut Criterion) {}

criterion_group!(benches, influences, binding);
criterion_main!(benches);
