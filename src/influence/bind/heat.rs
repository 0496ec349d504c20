//! Influences by bone heat (Baran & Popović, "Automatic Rigging and Animation of 3D Characters", 2007).

use faer::linalg::solvers::Solve;
use faer::sparse::{SparseColMat, Triplet};
use faer::{Mat, Side};

use super::chains::Chains;
use super::laplacian::Surface;
use super::sight::Sight;
use super::{Bound, DistanceOptions, Skeleton, check, diagonal, distance, nearest_joints};
use crate::influence::{Influence, Influences};
use crate::{Error, Result};

/// Bones within this of the nearest are equally near, relative.
const EQUAL: f64 = 1e-4;
/// Right-hand sides solved at once: memory stays small however many joints there are.
const COLUMNS: usize = 16;
/// Weights below half of [`HeatOptions::threshold`] are 0 and rise linearly to it, as in Blender; this is its default.
const THRESHOLD: f32 = 0.05;

/// How heat spreads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeatOptions {
    /// c in H = c/d²; > 0. Larger: weights change in a narrower band. Baran & Popović use 0.22, Blender 1; the default of 4 is nearer
    /// than both to what artists painted on the models it was tried with.
    pub heat: f32,
    /// How much limbs are kept from pulling at each other (fingers at the web between them): the weights of a limb are
    /// multiplied by (its sum / the sum of an unrelated, heavier limb)^(separation − 1). ≥ 1; 1: not at all. Default 3.
    pub separation: f32,
    /// Weights up to this fade out: 0 below half of it. 0…0.5, default 0.05.
    pub threshold: f32,
}

impl Default for HeatOptions {
    fn default() -> Self {
        Self { heat: 4.0, separation: 3.0, threshold: THRESHOLD }
    }
}

/// Solves (−Δ + H) w = H p for every joint on the surface.
///
/// Δ is the cotangent Laplacian with lumped areas; H = c/d² with d the distance to the nearest bone that the vertex *sees* (the
/// straight way there enters no other part of the surface), p = 1 for that bone's joint, shared equally among joints as
/// near within 1e-4. Vertices that see no bone have H = 0 and take their weights from their neighbours. Seams are closed
/// for the solution; then limbs are separated ([`HeatOptions::separation`]) and small weights faded out. Holes, several shells, non-manifold edges and bones outside of the mesh are allowed.
///
/// A shell of which no vertex sees a bone takes the nearest bones, seen or not; a vertex without triangles follows its nearest
/// bone; and if the factorisation should fail all influences are made by [`distance`]. Each is said in
/// [`Bound::warnings`].
///
/// # Errors
/// [`Error::InvalidParameter`] for options out of range; [`Error::NotFinite`]; [`Error::OutOfRange`] for an index past the
/// positions; [`Error::LengthMismatch`] without bones.
pub fn heat(positions: &[[f32; 3]], indices: &[u32], skeleton: &Skeleton, options: &HeatOptions) -> Result<Bound> {
    let bones = &skeleton.bones;
    if !(options.separation >= 1.0 && options.separation.is_finite()) {
        let value = options.separation.to_string();
        return Err(Error::InvalidParameter { what: "the separation", value, expected: "a number ≥ 1" });
    }
    if !(options.heat > 0.0 && options.heat.is_finite()) {
        let value = options.heat.to_string();
        return Err(Error::InvalidParameter { what: "the heat", value, expected: "a number > 0" });
    }
    if !(0.0..=0.5).contains(&options.threshold) {
        let value = options.threshold.to_string();
        return Err(Error::InvalidParameter { what: "the threshold", value, expected: "0…0.5" });
    }
    let (points, segments) = check(positions, bones)?;
    if let Some(&index) = indices.iter().find(|&&i| i as usize >= positions.len()) {
        return Err(Error::OutOfRange { what: "vertex", index: index as usize, count: positions.len() });
    }
    let surface = Surface::new(&points, indices);
    let mut warnings = surface.warnings();
    let sources = Sources::find(&surface, &segments, options, &mut warnings);
    let chains = Chains::new(&skeleton.parents);
    let Some(weights) = solve(&surface, &sources, &chains, options) else {
        warnings.push("the heat equation could not be solved: influences are made by distance".into());
        let bound = distance(positions, bones, &DistanceOptions::default())?;
        warnings.extend(bound.warnings);
        return Ok(Bound { influences: bound.influences, warnings });
    };
    let influences = Influences::from_vertices(surface.of.iter().map(|&place| weights[place as usize].as_slice()));
    Ok(Bound { influences, warnings })
}

impl Surface {
    fn warnings(&self) -> Vec<String> {
        let line = |n: usize, what: &str| (n > 0).then(|| format!("{n} {what}"));
        let lines = [
            line(self.degenerate, "triangles have no area: left out"),
            line(self.non_manifold, "edges have more than two triangles: heat passes through all of them"),
        ];
        lines.into_iter().flatten().collect()
    }
}

/// What heats each place.
struct Sources {
    /// H; 0 where no bone is seen.
    h: Vec<f64>,
    /// The joints that share it.
    joints: Vec<Vec<u32>>,
}

impl Sources {
    fn find(surface: &Surface, segments: &[super::Segment], options: &HeatOptions, warnings: &mut Vec<String>) -> Self {
        let n = surface.positions.len();
        let sight = Sight::new(surface);
        // On the bone itself heat would be infinite.
        let least = 1e-5 * diagonal(&surface.positions).max(f64::MIN_POSITIVE);
        let h = |d: f64| f64::from(options.heat) / d.max(least).powi(2);
        let mut out = Self { h: vec![0.0; n], joints: vec![Vec::new(); n] };
        let mut near = Vec::new();
        let mut lit = vec![false; surface.components];
        let mut blind = 0;
        for (place, &p) in surface.positions.iter().enumerate() {
            nearest_joints(p, segments, &mut near);
            let alone = surface.areas[place] == 0.0;
            let mut seen = f64::INFINITY;
            for &(d, joint, q) in &near {
                if d > seen {
                    break;
                }
                if alone || sight.sees(place as u32, p, q) {
                    if seen == f64::INFINITY {
                        out.h[place] = h(d);
                        seen = d * (1.0 + EQUAL) + least * EQUAL;
                    }
                    out.joints[place].push(joint);
                }
            }
            lit[surface.component[place] as usize] |= out.h[place] > 0.0;
            blind += usize::from(out.h[place] == 0.0);
        }
        let alone = (0..n).filter(|&p| surface.areas[p] == 0.0).count();
        let dark = lit.iter().filter(|l| !**l).count();
        for place in (0..n).filter(|&p| !lit[surface.component[p] as usize]) {
            nearest_joints(surface.positions[place], segments, &mut near);
            let first = near[0].0;
            out.h[place] = h(first);
            let share = near.iter().take_while(|x| x.0 <= first * (1.0 + EQUAL) + least * EQUAL);
            out.joints[place] = share.map(|x| x.1).collect();
        }
        if blind > 0 {
            warnings.push(format!("{blind} of {n} places see no bone: solved from their neighbours"));
        }
        if dark > 0 {
            let of = surface.components;
            warnings.push(format!("{dark} of {of} shells see no bone at all: they take the nearest, seen or not"));
        }
        if alone > 0 {
            warnings.push(format!("{alone} vertices belong to no triangle with an area: they follow the nearest bone"));
        }
        out
    }
}

/// Weights of every place; `None` when the matrix could not be factorised.
fn solve(surface: &Surface, sources: &Sources, chains: &Chains, options: &HeatOptions) -> Option<Vec<Vec<Influence>>> {
    let n = surface.positions.len();
    // A place without area still needs a row that can be solved.
    let scale = surface.areas.iter().sum::<f64>() / n.max(1) as f64;
    let scale = if scale > 0.0 { scale } else { 1.0 };
    let area = |p: usize| if surface.areas[p] > 0.0 { surface.areas[p] } else { scale };
    let mut diagonal: Vec<f64> = (0..n).map(|p| area(p) * sources.h[p]).collect();
    let mut entries = Vec::with_capacity(7 * n);
    for (a, b, w) in surface.edges() {
        diagonal[a as usize] += w;
        diagonal[b as usize] += w;
        let (row, col) = (a.max(b) as usize, a.min(b) as usize);
        entries.push(Triplet { row, col, val: -w });
    }
    entries.extend(diagonal.iter().enumerate().map(|(i, &val)| Triplet { row: i, col: i, val }));
    let factor = |entries: &[Triplet<usize, usize, f64>]| {
        SparseColMat::<usize, f64>::try_new_from_triplets(n, n, entries).ok()?.sp_cholesky(Side::Lower).ok()
    };
    let llt = factor(&entries).or_else(|| {
        // Rounding made it indefinite: a little more on the diagonal.
        let largest = diagonal.iter().copied().fold(0.0, f64::max);
        entries.extend((0..n).map(|i| Triplet { row: i, col: i, val: 1e-9 * largest }));
        factor(&entries)
    })?;
    let mut joints: Vec<u32> = sources.joints.iter().flatten().copied().collect();
    joints.sort_unstable();
    joints.dedup();
    let mut weights: Vec<Vec<Influence>> = vec![Vec::new(); n];
    let mut column = vec![usize::MAX; joints.last().map_or(0, |&j| j as usize + 1)];
    for chunk in joints.chunks(COLUMNS) {
        column.fill(usize::MAX);
        chunk.iter().enumerate().for_each(|(c, &j)| column[j as usize] = c);
        let mut right = Mat::<f64>::zeros(n, chunk.len());
        for p in 0..n {
            let heat = area(p) * sources.h[p] / sources.joints[p].len().max(1) as f64;
            for &j in &sources.joints[p] {
                if column[j as usize] != usize::MAX {
                    right[(p, column[j as usize])] = heat;
                }
            }
        }
        let solution = llt.solve(&right);
        for (p, row) in weights.iter_mut().enumerate() {
            for (c, &joint) in chunk.iter().enumerate() {
                let weight = solution[(p, c)];
                if !weight.is_finite() {
                    return None;
                }
                // Obtuse triangles let a solution dip below 0 by a little.
                if weight > 1e-6 {
                    row.push(Influence { joint, weight: weight as f32 });
                }
            }
        }
    }
    for row in &mut weights {
        chains.separate(row, options.separation);
        finish(row, options.threshold)?;
    }
    Some(weights)
}

/// Fades small weights out and makes the sum 1, heaviest first. `None` where there is nothing.
fn finish(row: &mut Vec<Influence>, threshold: f32) -> Option<()> {
    let sum: f64 = row.iter().map(|i| f64::from(i.weight)).sum();
    let top = row.iter().map(|i| i.weight).reduce(f32::max)?;
    let faded = |w: f32| {
        let share = (f64::from(w) / sum) as f32;
        // The heaviest stays, whatever the threshold.
        if share >= threshold || w == top { share } else { (2.0 * share - threshold).max(0.0) }
    };
    row.iter_mut().for_each(|i| i.weight = faded(i.weight));
    row.retain(|i| i.weight > 0.0);
    let sum: f64 = row.iter().map(|i| f64::from(i.weight)).sum();
    row.iter_mut().for_each(|i| i.weight = (f64::from(i.weight) / sum) as f32);
    row.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.joint.cmp(&b.joint)));
    Some(())
}
