//! Blending n sample poses of one joint, in f64.

use glam::{DQuat, DVec3, DVec4};

use super::follow::quat32;
use crate::math::unit_quat;
use crate::pose::JointPose;

/// Below this length of the quaternion sum the reference rotation begins to fill in.
pub(super) const COLLAPSE: f64 = 0.1;
/// The Karcher step is cut to this (half-angle, radians): a no-op between poses, it keeps extrapolated joints from winding round.
pub(super) const STEP: f64 = std::f64::consts::FRAC_PI_4;
/// A reference is the dominant eigenvector only if it leads by this much of the sum of all.
const GAP: f64 = 1e-4;
/// Smallest scale factor that log-space blending sees.
pub(super) const LEAST_SCALE: f64 = 1e-6;

/// How one axis of the scale is blended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScaleRule {
    /// All samples are positive (or zero): exp of the mean log.
    Positive,
    /// All are negative: minus exp of the mean log.
    Negative,
    /// Signs differ: linear.
    Linear,
}

/// All samples of one joint, prepared for blending.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JointSamples {
    /// What signs are fixed against, and what fills in where the sum collapses.
    pub reference: DQuat,
    /// One per sample, in the reference's hemisphere.
    pub rotations: Vec<DQuat>,
    pub translations: Vec<DVec3>,
    pub scale_rules: [ScaleRule; 3],
    /// Logarithms of the magnitude where the axis' rule has them, else factors.
    pub scales: Vec<DVec3>,
    /// `ln length`, `ln thickness`.
    pub shapes: Vec<[f64; 2]>,
    /// The samples as given, for weights that pick exactly one.
    pub given: Vec<JointPose>,
}

impl JointSamples {
    /// `samples` are one joint's record in every sample; `rest` is its rest rotation.
    pub fn new(samples: Vec<JointPose>, rest: [f32; 4]) -> Self {
        let unit: Vec<DQuat> = samples.iter().map(|s| unit_quat(s.rotation)).collect();
        let rest = unit_quat(rest);
        let reference = reference_rotation(&unit, rest);
        let rotations = unit.into_iter().map(|q| with_sign_of(q, reference, rest)).collect();
        let vec = |v: [f32; 3]| DVec3::from(v.map(f64::from));
        let scale_rules = [0, 1, 2].map(|axis| {
            if samples.iter().all(|s| s.scale[axis] >= 0.0) {
                ScaleRule::Positive
            } else if samples.iter().all(|s| s.scale[axis] < 0.0) {
                ScaleRule::Negative
            } else {
                ScaleRule::Linear
            }
        });
        let scales = samples.iter().map(|s| {
            let logs = vec(s.scale).map(|x| x.abs().max(LEAST_SCALE).ln());
            let pick = |a: usize| if scale_rules[a] == ScaleRule::Linear { f64::from(s.scale[a]) } else { logs[a] };
            DVec3::new(pick(0), pick(1), pick(2))
        });
        Self {
            reference,
            rotations,
            translations: samples.iter().map(|s| vec(s.translation)).collect(),
            scale_rules,
            scales: scales.collect(),
            shapes: samples.iter().map(|s| [s.length, s.thickness].map(|x| f64::from(x).ln())).collect(),
            given: samples,
        }
    }

    /// The blended rotation, before limits, and the length of the quaternion sum (1: the samples agree; 0: they cancel).
    pub fn rotation(&self, weights: &[f64]) -> (DQuat, f64) {
        let used = || weights.iter().zip(&self.rotations).filter(|(w, _)| **w != 0.0);
        if let Some(only) = single(weights) {
            return (self.rotations[only], 1.0);
        }
        let sum: DVec4 = used().map(|(&w, &q)| DVec4::from(q) * w).sum();
        let length = sum.length();
        let x = (length / COLLAPSE).min(1.0);
        let fill = COLLAPSE * (1.0 - x * x * (3.0 - 2.0 * x));
        let start = sum + DVec4::from(self.reference) * fill;
        let start = start.try_normalize().map_or(self.reference, DQuat::from_vec4);
        let back = start.conjugate();
        let mut step: DVec3 = used().map(|(&w, &q)| logarithm(back * q) * w).sum();
        if step.length() > STEP {
            step *= STEP / step.length();
        }
        ((start * exponential(step)).normalize(), length)
    }

    pub fn translation(&self, weights: &[f64]) -> [f32; 3] {
        if let Some(only) = single(weights) {
            return self.given[only].translation;
        }
        let sum: DVec3 = weights.iter().zip(&self.translations).map(|(&w, &t)| t * w).sum();
        sum.as_vec3().to_array()
    }

    pub fn scale(&self, weights: &[f64]) -> [f32; 3] {
        if let Some(only) = single(weights) {
            return self.given[only].scale;
        }
        let sum: DVec3 = weights.iter().zip(&self.scales).map(|(&w, &s)| s * w).sum();
        [0, 1, 2].map(|axis| match self.scale_rules[axis] {
            ScaleRule::Positive => bounded_exp(sum[axis]),
            ScaleRule::Negative => -bounded_exp(sum[axis]),
            ScaleRule::Linear => sum[axis] as f32,
        })
    }

    /// Index 0: length, 1: thickness.
    pub fn shape(&self, index: usize, weights: &[f64]) -> f32 {
        if let Some(only) = single(weights) {
            return [self.given[only].length, self.given[only].thickness][index];
        }
        bounded_exp(weights.iter().zip(&self.shapes).map(|(&w, s)| w * s[index]).sum())
    }
}

/// `e^x` that stays a normal, positive f32 however far a space is extrapolated.
fn bounded_exp(x: f64) -> f32 {
    x.clamp(-60.0, 60.0).exp() as f32
}

/// The one sample with weight 1 when all others have none.
fn single(weights: &[f64]) -> Option<usize> {
    let only = weights.iter().position(|&w| w != 0.0)?;
    (weights[only] == 1.0 && weights[only + 1..].iter().all(|&w| w == 0.0)).then_some(only)
}

/// Dominant eigenvector of `Σ q qᵀ` (Markley 2007's mean, used as a fixed hemisphere, not as the blend); `rest` where no
/// eigenvector leads clearly. In rest's hemisphere.
fn reference_rotation(rotations: &[DQuat], rest: DQuat) -> DQuat {
    let mut m = [[0.0; 4]; 4];
    for q in rotations {
        let q = q.to_array();
        for (row, a) in m.iter_mut().zip(q) {
            for (cell, b) in row.iter_mut().zip(q) {
                *cell += a * b;
            }
        }
    }
    let (values, vectors) = jacobi(m);
    let best = (0..4).max_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap_or(0);
    let second = (0..4).filter(|&i| i != best).map(|i| values[i]).fold(0.0, f64::max);
    if values[best] - second <= GAP * rotations.len() as f64 {
        return rest;
    }
    let q = DQuat::from_array([0, 1, 2, 3].map(|r| vectors[r][best])).normalize();
    with_sign_of(q, rest, DQuat::IDENTITY)
}

/// `q` or `−q`, whichever is nearer `reference`; a tie goes to `tie_break`, then to a positive first number.
fn with_sign_of(q: DQuat, reference: DQuat, tie_break: DQuat) -> DQuat {
    let first = q.to_array().into_iter().find(|x| x.abs() > 1e-7).unwrap_or(1.0);
    let side = [q.dot(reference), q.dot(tie_break)].into_iter().find(|d| d.abs() > 1e-7).unwrap_or(first);
    if side < 0.0 { -q } else { q }
}

/// Eigenvalues and eigenvectors (columns) of a symmetric 4×4 matrix, by Jacobi rotations.
fn jacobi(mut m: [[f64; 4]; 4]) -> ([f64; 4], [[f64; 4]; 4]) {
    let mut v = [[0.0; 4]; 4];
    (0..4).for_each(|i| v[i][i] = 1.0);
    for _ in 0..32 {
        for p in 0..3 {
            for q in p + 1..4 {
                if m[p][q].abs() < 1e-300 {
                    continue;
                }
                let theta = (m[q][q] - m[p][p]) / (2.0 * m[p][q]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for row in &mut m {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
                for k in 0..4 {
                    (m[p][k], m[q][k]) = (c * m[p][k] - s * m[q][k], s * m[p][k] + c * m[q][k]);
                }
                for row in &mut v {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
            }
        }
    }
    ([0, 1, 2, 3].map(|i| m[i][i]), v)
}

/// Half the rotation vector of a unit quaternion, up to π long: the sign is not changed first.
pub(super) fn logarithm(q: DQuat) -> DVec3 {
    let v = DVec3::new(q.x, q.y, q.z);
    let length = v.length();
    if length < 1e-12 { v } else { v * (length.atan2(q.w) / length) }
}

pub(super) fn exponential(half: DVec3) -> DQuat {
    let angle = half.length();
    let v = if angle < 1e-12 { half } else { half * (angle.sin() / angle) };
    DQuat::from_xyzw(v.x, v.y, v.z, angle.cos())
}

/// f64 quaternion to a record's four numbers.
pub(super) fn store(q: DQuat) -> [f32; 4] {
    quat32(q)
}
