//! Influences by distance to the bones.

use super::{Bone, Bound, check, nearest_joints};
use crate::influence::{Influence, Influences};
use crate::{Error, Result};

/// How weights fall with distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DistanceOptions {
    /// Weights fall with distance^−falloff; > 0. Larger: stiffer parts, narrower joints. Default 4.
    pub falloff: f32,
    /// No bone pulls from farther than this, metres; weights reach 0 there smoothly. A vertex beyond the radius of every bone
    /// follows its nearest one. Default: no limit.
    pub radius: Option<f32>,
    /// Bones per vertex, ≥ 1. What the next one would have is taken off all, so that weights do not jump where it changes.
    /// Default 4.
    pub bones: usize,
}

impl Default for DistanceOptions {
    fn default() -> Self {
        Self { falloff: 4.0, radius: None, bones: 4 }
    }
}

/// Gives each vertex the bones near it.
///
/// The weight of a joint at distance d is (d₀/d)^falloff · (1 − d/radius)², d₀ the distance of the nearest; a vertex that lies on
/// bones follows those alone, shared equally. The result does not depend on the surface.
///
/// # Errors
/// [`Error::InvalidParameter`] for options out of range; [`Error::NotFinite`]; [`Error::LengthMismatch`] without bones.
pub fn distance(positions: &[[f32; 3]], bones: &[Bone], options: &DistanceOptions) -> Result<Bound> {
    let refuse = |what, value: String, expected| Err(Error::InvalidParameter { what, value, expected });
    if !(options.falloff > 0.0 && options.falloff.is_finite()) {
        return refuse("the falloff", options.falloff.to_string(), "a number > 0");
    }
    if let Some(radius) = options.radius.filter(|r| !(*r > 0.0 && r.is_finite())) {
        return refuse("the radius", radius.to_string(), "a number > 0");
    }
    if options.bones == 0 {
        return refuse("the number of bones per vertex", "0".into(), "at least 1");
    }
    let (positions, segments) = check(positions, bones)?;
    let mut out = Influences { offsets: vec![0], entries: Vec::new() };
    let mut near = Vec::new();
    let mut weights: Vec<(u32, f64)> = Vec::new();
    let mut lost = 0;
    for &p in &positions {
        nearest_joints(p, &segments, &mut near);
        let first = near[0].0;
        let weight = |d: f64| {
            let cut = options.radius.map_or(1.0, |r| (1.0 - d / f64::from(r)).max(0.0).powi(2));
            // 0/0 at a vertex on several bones: they share.
            let ratio = if d > first { first / d } else { 1.0 };
            ratio.powf(options.falloff.into()) * cut
        };
        weights.clear();
        weights.extend(near.iter().map(|&(d, joint, _)| (joint, weight(d))));
        weights.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let floor = weights.get(options.bones).map_or(0.0, |w| w.1);
        weights.truncate(options.bones);
        // All alike: nothing can be taken off.
        if weights[0].1 > floor {
            weights.iter_mut().for_each(|w| w.1 -= floor);
        }
        let mut sum: f64 = weights.iter().map(|w| w.1).sum();
        if sum <= 0.0 {
            lost += 1;
            weights.clear();
            weights.push((near[0].1, 1.0));
            sum = 1.0;
        }
        let share = |&(joint, w): &(u32, f64)| Influence { joint, weight: (w / sum) as f32 };
        out.entries.extend(weights.iter().map(share).filter(|i| i.weight > 0.0));
        out.offsets.push(out.entries.len() as u32);
    }
    let mut warnings = Vec::new();
    if lost > 0 {
        let n = positions.len();
        warnings.push(format!("{lost} of {n} vertices are beyond the radius of every bone: they follow the nearest"));
    }
    Ok(Bound { influences: out, warnings })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bone(joint: u32, x: f32) -> Bone {
        Bone { joint, head: [x, 0.0, 0.0], tail: [x, 1.0, 0.0] }
    }

    fn weights(p: [f32; 3], bones: &[Bone], options: &DistanceOptions) -> Vec<(u32, f32)> {
        let b = distance(&[p], bones, options).unwrap();
        b.influences.entries.iter().map(|i| (i.joint, i.weight)).collect()
    }

    #[test]
    fn falls_with_distance() {
        let bones = [bone(0, 0.0), bone(1, 3.0)];
        let options = DistanceOptions { falloff: 2.0, ..Default::default() };
        // Distances 1 and 2: 1 : 1/4. Beside the segment, not beside its ends.
        assert_eq!(weights([1.0, 0.7, 0.0], &bones, &options), [(0, 0.8), (1, 0.2)]);
        assert_eq!(weights([1.5, 0.5, 0.0], &bones, &options), [(0, 0.5), (1, 0.5)]);
        assert_eq!(weights([0.0, 0.5, 0.0], &bones, &options), [(0, 1.0)]);
        let cut = DistanceOptions { radius: Some(2.0), ..options };
        assert_eq!(weights([1.0, 0.5, 0.0], &bones, &cut), [(0, 1.0)]);
        let b = distance(&[[0.0, 9.0, 0.0]], &bones, &cut).unwrap();
        assert_eq!((b.influences.entries[0].joint, b.warnings.len()), (0, 1));
        // Three at one distance, two allowed: by joint.
        let three = [bone(2, 1.0), bone(1, -1.0), Bone { joint: 0, head: [0.0, 0.5, 1.0], tail: [0.0, 0.5, 1.0] }];
        let two = DistanceOptions { bones: 2, ..options };
        assert_eq!(weights([0.0, 0.5, 0.0], &three, &two), [(0, 0.5), (1, 0.5)]);
    }

    #[test]
    fn refusals() {
        let bones = [bone(0, 0.0)];
        let default = DistanceOptions::default();
        for options in [
            DistanceOptions { falloff: 0.0, ..default },
            DistanceOptions { falloff: f32::NAN, ..default },
            DistanceOptions { radius: Some(-1.0), ..default },
            DistanceOptions { bones: 0, ..default },
        ] {
            assert!(distance(&[[0.0; 3]], &bones, &options).is_err());
        }
        assert!(distance(&[[f32::NAN; 3]], &bones, &default).is_err());
        assert!(distance(&[[0.0; 3]], &[], &default).is_err());
    }
}
