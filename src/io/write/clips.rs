//! Animation clips.

use serde_json::{Value, json};

use super::nodes::Layout;
use crate::character::{Channel, Clip, Interpolation, Target};
use crate::io::glb::Glb;
use crate::{Character, Error, Result};

/// Writes all clips that drive something, in their order.
pub(super) fn put(glb: &mut Glb, character: &Character, layout: &Layout) -> Result<()> {
    for clip in &character.clips {
        // Of several channels for one target the last counts, and a file may have only one.
        let last = |i: usize| clip.channels[i + 1..].iter().all(|c| c.target != clip.channels[i].target);
        let channels: Vec<&Channel> =
            (0..clip.channels.len()).filter(|&i| last(i)).map(|i| &clip.channels[i]).collect();
        if channels.is_empty() {
            continue;
        }
        let mut block = Block::default();
        let mut samplers = Vec::with_capacity(channels.len());
        let mut targets = Vec::with_capacity(channels.len());
        for channel in channels {
            let times = times(clip, channel)?;
            let input = block.times(&times);
            let (node, path, kind) = target(character, layout, channel)?;
            let width = if kind == "SCALAR" { 1 } else { channel.width };
            let output = block.add(&channel.values, channel.values.len() / width, kind);
            let interpolation = match channel.interpolation {
                Interpolation::Step => "STEP",
                Interpolation::Linear => "LINEAR",
                Interpolation::CubicSpline => "CUBICSPLINE",
            };
            targets.push(json!({ "sampler": samplers.len(), "target": { "node": node, "path": path } }));
            samplers.push((input, output, interpolation));
        }
        let first = block.put(glb)?;
        let sampler = |(input, output, how): (usize, usize, &str)| json!({ "input": first + input, "output": first + output, "interpolation": how });
        let samplers: Vec<Value> = samplers.into_iter().map(sampler).collect();
        glb.push("animations", json!({ "name": clip.name, "channels": targets, "samplers": samplers }))?;
    }
    Ok(())
}

/// Node, path and accessor type of what a channel drives.
fn target(character: &Character, layout: &Layout, channel: &Channel) -> Result<(usize, &'static str, &'static str)> {
    Ok(match channel.target {
        Target::Rotation(n) => (layout.rig[n], "rotation", "VEC4"),
        Target::Translation(n) => (layout.rig[n], "translation", "VEC3"),
        Target::Scale(n) => (layout.rig[n], "scale", "VEC3"),
        Target::Morph(part) => {
            let mesh = super::element(&character.parts, "part of an animation channel", part)?.mesh;
            let (found, expected) = (channel.width, character.meshes[mesh].morphs.len());
            if found != expected || found == 0 {
                return Err(Error::LengthMismatch { what: "value of a morph channel", found, expected });
            }
            (layout.parts[part], "weights", "SCALAR")
        }
    })
}

/// Key times as glTF wants them: not negative, and rising. Keys at one time, which make a jump, come as close to each
/// other as numbers can.
fn times(clip: &Clip, channel: &Channel) -> Result<Vec<f32>> {
    let mut out = channel.times.clone();
    if out[0] < 0.0 {
        let at = format!("clip {:?}", clip.name);
        return Err(Error::Format { at, problem: format!("has a key at {} s, but glTF starts at 0", out[0]) });
    }
    for k in 1..out.len() {
        out[k] = out[k].max(out[k - 1].next_up());
    }
    Ok(out)
}

/// The numbers of one clip, in one buffer view.
#[derive(Default)]
struct Block {
    numbers: Vec<f32>,
    accessors: Vec<Value>,
    /// Accessors of key times.
    known: Vec<(usize, Vec<f32>)>,
}

impl Block {
    fn add(&mut self, numbers: &[f32], count: usize, kind: &str) -> usize {
        self.accessors.push(json!({
            "byteOffset": 4 * self.numbers.len(), "componentType": 5126, "count": count, "type": kind,
        }));
        self.numbers.extend_from_slice(numbers);
        self.accessors.len() - 1
    }

    /// Channels with the same times share them.
    fn times(&mut self, times: &[f32]) -> usize {
        if let Some((known, _)) = self.known.iter().find(|(_, k)| k == times) {
            return *known;
        }
        let accessor = self.add(times, times.len(), "SCALAR");
        (self.accessors[accessor]["min"], self.accessors[accessor]["max"]) =
            (json!([times[0]]), json!([times[times.len() - 1]]));
        self.known.push((accessor, times.to_vec()));
        accessor
    }

    /// Writes the block; the index of its first accessor.
    fn put(self, glb: &mut Glb) -> Result<usize> {
        let view = glb.append(bytemuck::cast_slice(&self.numbers), None)?;
        let first = glb.list("accessors")?.len();
        for mut accessor in self.accessors {
            accessor["bufferView"] = view.into();
            glb.push("accessors", accessor)?;
        }
        Ok(first)
    }
}
