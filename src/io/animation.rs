//! Animation clips.

use gltf::json::accessor::{ComponentType, Type};
use gltf::json::animation::{Interpolation as JsonInterpolation, Property, Sampler};
use gltf::json::validation::Checked;

use super::accessor::Accessor;
use super::document::{Document, named, number};
use super::graph::Placement;
use super::{Outcome, pick, refuse};
use crate::character::{Channel, Clip, Interpolation, Target};

/// What channels may drive.
pub(super) struct Targets<'a> {
    /// Rig index of each node.
    pub placement: &'a Placement,
    /// For each node of the file, its parts and how many morph targets their mesh has.
    pub morphs: &'a dyn Fn(usize) -> Vec<(usize, usize)>,
}

/// All clips of the file, in its order.
pub(super) fn clips(document: &Document<'_>, targets: &Targets<'_>) -> Outcome<Vec<Clip>> {
    let animations = &document.root.animations;
    animations.iter().enumerate().map(|(i, animation)| clip(document, targets, i, animation)).collect()
}

fn clip(
    document: &Document<'_>,
    targets: &Targets<'_>,
    index: usize,
    animation: &gltf::json::Animation,
) -> Outcome<Clip> {
    let name = named(&animation.name, "clip", index);
    let mut channels = Vec::new();
    for (i, channel) in animation.channels.iter().enumerate() {
        let at = format!("animations[{index}].channels[{i}]");
        let sampler = pick(&animation.samplers, number(channel.sampler), "sampler", &at)?;
        let node = number(channel.target.node);
        pick(&document.root.nodes, node, "node", &at)?;
        let driven: Vec<(Target, usize)> = match (channel.target.path, targets.placement[node]) {
            // Extensions may add paths; the rest of the clip is fine without them.
            (Checked::Invalid, _) => continue,
            (Checked::Valid(Property::MorphTargetWeights), _) => {
                let mut parts = (targets.morphs)(node);
                let known = targets.placement[node].is_some() || !parts.is_empty();
                parts.retain(|&(_, width)| width > 0);
                if parts.is_empty() && known {
                    document.warn(format!("{at} drives morph weights, but node {node} has no morph targets: dropped"));
                }
                parts.into_iter().map(|(part, width)| (Target::Morph(part), width)).collect()
            }
            (_, None) => continue,
            (Checked::Valid(Property::Rotation), Some(n)) => vec![(Target::Rotation(n), 4)],
            (Checked::Valid(Property::Translation), Some(n)) => vec![(Target::Translation(n), 3)],
            (Checked::Valid(Property::Scale), Some(n)) => vec![(Target::Scale(n), 3)],
        };
        for (target, width) in driven {
            match keys(document, sampler, target, width, &at)? {
                Ok(channel) => channels.push(channel),
                Err(problem) => document.warn(format!("{at}: {problem}: dropped")),
            }
        }
    }
    let duration = channels.iter().filter_map(|c| c.times.last()).fold(0.0_f32, |a, &t| a.max(t));
    Ok(Clip { name, duration, channels })
}

/// Reads one sampler. The outer refusal is for a file whose numbers do not fit each other, the inner one for values that
/// no time can be looked up in: the channel is dropped.
fn keys(
    document: &Document<'_>,
    sampler: &Sampler,
    target: Target,
    width: usize,
    at: &str,
) -> Outcome<Result<Channel, &'static str>> {
    let interpolation = match sampler.interpolation {
        Checked::Valid(JsonInterpolation::Linear) => Interpolation::Linear,
        Checked::Valid(JsonInterpolation::Step) => Interpolation::Step,
        Checked::Valid(JsonInterpolation::CubicSpline) => Interpolation::CubicSpline,
        Checked::Invalid => return refuse(at, "interpolation is not LINEAR, STEP or CUBICSPLINE"),
    };
    let input = Accessor::open(document, number(sampler.input), None)?;
    input.expect_kind(Type::Scalar)?;
    if input.component != ComponentType::F32 {
        return refuse(at, "key times must be f32");
    }
    let (kind, per_key) = match target {
        Target::Rotation(_) => (Type::Vec4, 1),
        Target::Translation(_) | Target::Scale(_) => (Type::Vec3, 1),
        Target::Morph(_) => (Type::Scalar, width),
    };
    let per_key = if interpolation == Interpolation::CubicSpline { 3 * per_key } else { per_key };
    let output = Accessor::open(document, number(sampler.output), None)?;
    output.expect_kind(kind)?;
    let needed = input.count.saturating_mul(per_key);
    if output.count != needed {
        let (keys, found) = (input.count, output.count);
        return refuse(at, format!("{keys} keys need {needed} values ({interpolation:?}), but there are {found}"));
    }
    let (times, values) = (input.floats()?, output.floats()?);
    Ok(if times.is_empty() {
        Err("has no keys")
    } else if times.iter().any(|t| !t.is_finite()) {
        Err("a key time is not finite")
    } else if times.windows(2).any(|w| w[1] < w[0]) {
        Err("key times do not rise")
    } else if values.iter().any(|v| !v.is_finite()) {
        Err("a value is not finite")
    } else {
        Ok(Channel { target, interpolation, times, width, values })
    })
}
