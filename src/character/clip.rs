//! Animation clips and their evaluation at a time.

use glam::{DQuat, DVec4};

use super::Rig;
use crate::math::unit_quat;
use crate::pose::Pose;
use crate::{Error, Result};

/// How values between two keys are made (glTF 2.0, appendix C).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interpolation {
    /// The earlier key's value.
    Step,
    /// Straight line; rotations slerp on the shortest path.
    #[default]
    Linear,
    /// Cubic Hermite with in- and out-tangents; rotations are renormalised.
    CubicSpline,
}

/// What a channel drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Rotation of a rig node; 4 numbers per value.
    Rotation(usize),
    /// Translation of a rig node; 3 numbers per value.
    Translation(usize),
    /// Scale of a rig node; 3 numbers per value.
    Scale(usize),
    /// Morph weights of a part; as many numbers per value as its mesh has targets.
    Morph(usize),
}

/// Keys of one property.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// What it drives.
    pub target: Target,
    /// How to interpolate.
    pub interpolation: Interpolation,
    /// Key times in seconds, not descending, at least one.
    pub times: Vec<f32>,
    /// Numbers per value.
    pub width: usize,
    /// `times.len() · width` numbers, or three times as many (in-tangent, value, out-tangent) for
    /// [`Interpolation::CubicSpline`].
    pub values: Vec<f32>,
}

/// One animation of a character.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clip {
    /// Name for people and `--clip`.
    pub name: String,
    /// Largest key time, seconds.
    pub duration: f32,
    /// Its channels.
    pub channels: Vec<Channel>,
}

impl Clip {
    /// Checks that every channel can be sampled and drives a node the rig has.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a node, [`Error::LengthMismatch`] for the numbers of a channel, [`Error::NotFinite`];
    /// [`Error::InvalidParameter`] for times that descend and for a channel without keys.
    pub fn validate(&self, rig: &Rig) -> Result<()> {
        for (index, channel) in self.channels.iter().enumerate() {
            let width = match channel.target {
                Target::Rotation(_) => 4,
                Target::Translation(_) | Target::Scale(_) => 3,
                Target::Morph(_) => channel.width,
            };
            if channel.width != width {
                let (found, expected) = (channel.width, width);
                return Err(Error::LengthMismatch { what: "value of an animation channel", found, expected });
            }
            let count = rig.nodes.len();
            match channel.target {
                Target::Rotation(node) | Target::Translation(node) | Target::Scale(node) if node >= count => {
                    return Err(Error::OutOfRange { what: "rig node of an animation channel", index: node, count });
                }
                _ => {}
            }
            let values = if channel.interpolation == Interpolation::CubicSpline { 3 } else { 1 };
            let (found, expected) = (channel.values.len(), values * channel.times.len() * width);
            if found != expected {
                return Err(Error::LengthMismatch { what: "numbers of an animation channel", found, expected });
            }
            if !channel.times.iter().chain(&channel.values).all(|x| x.is_finite()) {
                return Err(Error::NotFinite { what: "number in animation channel", index });
            }
            if channel.times.is_empty() || !channel.times.is_sorted() {
                let value = format!("{:?}", &channel.times[..channel.times.len().min(4)]);
                let expected = "at least one and not descending";
                return Err(Error::InvalidParameter { what: "key times of an animation channel", value, expected });
            }
        }
        if !self.duration.is_finite() {
            return Err(Error::NotFinite { what: "duration of clip, seconds,", index: 0 });
        }
        Ok(())
    }

    /// Writes the clip at `time` seconds over `pose`, leaving what it does not drive. Times clamp to each channel's keys.
    pub fn sample(&self, time: f32, pose: &mut Pose) {
        for channel in &self.channels {
            let (node, width) = match channel.target {
                Target::Rotation(n) => (n, 4),
                Target::Translation(n) | Target::Scale(n) => (n, 3),
                Target::Morph(_) => continue,
            };
            let Some(joint) = pose.joints.get_mut(node) else { continue };
            let mut value = [0.0; 4];
            channel.value(time, &mut value[..width]);
            match channel.target {
                Target::Rotation(_) => joint.rotation = value,
                Target::Translation(_) => joint.translation = [value[0], value[1], value[2]],
                _ => joint.scale = [value[0], value[1], value[2]],
            }
        }
    }

    /// Writes the morph weights of `part` at `time`; leaves `weights` where the clip does not drive them.
    pub fn sample_morphs(&self, part: usize, time: f32, weights: &mut [f32]) {
        for channel in self.channels.iter().filter(|c| c.target == Target::Morph(part)) {
            if channel.width == weights.len() {
                channel.value(time, weights);
            }
        }
    }
}

impl Channel {
    /// Evaluates the channel at `time` into `out` (`width` numbers), in f64 until the last step.
    fn value(&self, time: f32, out: &mut [f32]) {
        let w = self.width;
        let cubic = self.interpolation == Interpolation::CubicSpline;
        // Index of the first number of value `k`; tangents stand before and after it.
        let at = |k: usize| if cubic { (3 * k + 1) * w } else { k * w };
        let rotation = matches!(self.target, Target::Rotation(_));
        let last = self.times.len() - 1;
        // partition_point: the first key after `time`.
        let next = self.times.partition_point(|&t| t <= time);
        if next == 0 || next > last || self.interpolation == Interpolation::Step {
            let k = next.saturating_sub(1).min(last);
            out.copy_from_slice(&self.values[at(k)..at(k) + w]);
        } else {
            let k = next - 1;
            let dt = f64::from(self.times[next]) - f64::from(self.times[k]);
            let u = if dt > 0.0 { (f64::from(time) - f64::from(self.times[k])) / dt } else { 0.0 };
            let v = |first: usize, i: usize| f64::from(self.values[first + i]);
            if cubic {
                let (u2, u3) = (u * u, u * u * u);
                for (i, o) in out.iter_mut().enumerate() {
                    *o = ((2.0 * u3 - 3.0 * u2 + 1.0) * v(at(k), i)
                        + (u3 - 2.0 * u2 + u) * dt * v(at(k) + w, i)
                        + (3.0 * u2 - 2.0 * u3) * v(at(next), i)
                        + (u3 - u2) * dt * v(at(next) - w, i)) as f32;
                }
            } else if rotation {
                // The keys as they stand, only the result is made unit (so do the viewers we agree with): a file that
                // keeps three digits would be off by 3e-5 otherwise.
                let q = |first: usize| DQuat::from_array([0, 1, 2, 3].map(|i| v(first, i)));
                out.copy_from_slice(&slerp(q(at(k)), q(at(next)), u).to_array().map(|x| x as f32));
            } else {
                for (i, o) in out.iter_mut().enumerate() {
                    *o = (v(at(k), i) * (1.0 - u) + v(at(next), i) * u) as f32;
                }
            }
        }
        if rotation {
            let q = unit_quat([out[0], out[1], out[2], out[3]]);
            out.copy_from_slice(&q.to_array().map(|x| x as f32));
        }
    }
}

/// Spherical interpolation on the shortest path; straight where the two are nearly equal.
fn slerp(a: DQuat, b: DQuat, u: f64) -> DQuat {
    let (a, mut b) = (DVec4::from(a), DVec4::from(b));
    let mut cos = a.dot(b);
    if cos < 0.0 {
        (b, cos) = (-b, -cos);
    }
    if cos > 0.999_999_9 {
        return DQuat::from_vec4((a + (b - a) * u).normalize());
    }
    let angle = cos.min(1.0).acos();
    DQuat::from_vec4((((1.0 - u) * angle).sin() * a + (u * angle).sin() * b) / angle.sin())
}
