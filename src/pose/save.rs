//! Writes a pose space as its file states it.

use serde_json::{Map, Value, json};

use super::barycentric::Outside;
use super::space::{PoseSpaceDescriptor, Sample};
use crate::character::Character;
use crate::pose::Pose;
use crate::{Error, Result};

impl PoseSpaceDescriptor {
    /// The space as the text of a pose-space file, which [`super::PoseSpaceFile`] reads back: every pose by its joints'
    /// channels that differ from the rest pose, whatever it was made from; the author's limits (built-in ones come by
    /// themselves); angles in degrees.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for two poses or groups of one name, a pose, group or joint without a name that finds it
    /// again; [`Error::OutOfRange`], [`Error::LengthMismatch`] for a descriptor that does not fit the character.
    pub fn to_json(&self, character: &Character) -> Result<String> {
        let rest = Pose::rest(&character.rig);
        unique("name of a pose", self.samples.iter().map(|s| s.name.as_str()))?;
        unique("name of a group", self.groups.iter().map(|g| g.name.as_str()))?;
        let sample = |index: usize| {
            let count = self.samples.len();
            self.samples.get(index).ok_or(Error::OutOfRange { what: "sample pose", index, count })
        };
        let mut corners = Vec::new();
        for corner in &self.corners {
            let at: Vec<Value> = corner.at.iter().take(self.dimensions).map(|&x| number(x)).collect();
            let poses: Result<Vec<&str>> = corner.samples.iter().map(|&s| Ok(sample(s)?.name.as_str())).collect();
            corners.push(json!({ "at": at, "poses": poses? }));
        }
        let mut poses = Map::new();
        for sample in &self.samples {
            poses.insert(sample.name.clone(), pose(character, &rest, sample)?);
        }
        let mut groups = Map::new();
        for group in &self.groups {
            let names: Result<Vec<&str>> = group.nodes.iter().map(|&n| name_of(character, n)).collect();
            groups.insert(group.name.clone(), json!(names?));
        }
        let mut limits = Map::new();
        for l in self.limits.iter().filter(|l| !l.built_in) {
            let range = |r: [f32; 2]| json!(r.map(degrees));
            let entry = json!({
                "twist": range(l.limit.twist), "swing_y": range(l.limit.swing_y), "swing_z": range(l.limit.swing_z),
            });
            limits.insert(name_of(character, l.node)?.into(), entry);
        }
        let outside = match self.outside {
            Outside::Clamp => "clamp",
            Outside::Extrapolate => "extrapolate",
        };
        let file = json!({
            "dermis": "pose-space", "version": 1, "name": self.name, "dimensions": self.dimensions, "corners": corners,
            "poses": poses, "default": sample(self.default)?.name, "groups": groups, "limits": limits,
            "outside": outside,
        });
        Ok(format!("{file:#}\n"))
    }
}

fn pose(character: &Character, rest: &Pose, sample: &Sample) -> Result<Value> {
    let (found, expected) = (sample.pose.joints.len(), rest.joints.len());
    if found != expected {
        return Err(Error::LengthMismatch { what: "sample pose", found, expected });
    }
    let mut joints = Map::new();
    for (node, (joint, rest)) in sample.pose.joints.iter().zip(&rest.joints).enumerate() {
        let mut entry = Map::new();
        let list = |v: &[f32]| v.iter().map(|&x| number(x)).collect::<Vec<_>>();
        if joint.rotation != rest.rotation {
            entry.insert("rotation".into(), json!(list(&joint.rotation)));
        }
        for (key, value, rest) in
            [("translation", joint.translation, rest.translation), ("scale", joint.scale, rest.scale)]
        {
            if value != rest {
                entry.insert(key.into(), json!(list(&value)));
            }
        }
        for (key, value) in [("length", joint.length), ("thickness", joint.thickness)] {
            if value != 1.0 {
                entry.insert(key.into(), number(value));
            }
        }
        if !entry.is_empty() {
            joints.insert(name_of(character, node)?.into(), entry.into());
        }
    }
    let mut out = Map::new();
    out.insert("joints".into(), joints.into());
    if let Some(texture) = &sample.texture {
        out.insert("texture".into(), json!(texture));
    }
    Ok(out.into())
}

/// A name that finds this node and no other.
fn name_of(character: &Character, node: usize) -> Result<&str> {
    let count = character.rig.nodes.len();
    let own = &character.rig.nodes.get(node).ok_or(Error::OutOfRange { what: "rig node", index: node, count })?.name;
    let human = character.humanoid.iter().find(|h| h.1 == node).map(|h| h.0.as_str());
    let unnamed = || Error::InvalidParameter {
        what: "name of a joint in a pose-space file",
        value: format!("{own:?} (rig node {node})"),
        expected: "the joint's alone",
    };
    [Some(own.as_str()), human]
        .into_iter()
        .flatten()
        .find(|name| character.find_node(name) == Some(node))
        .ok_or_else(unnamed)
}

fn unique<'a>(what: &'static str, names: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        if name.is_empty() || seen.contains(&name) {
            return Err(Error::InvalidParameter {
                what,
                value: format!("{name:?}"),
                expected: "not empty and not repeated",
            });
        }
        seen.push(name);
    }
    Ok(())
}

/// The shortest number that reads back as the same f32.
fn number(x: f32) -> Value {
    x.to_string().parse::<f64>().map_or(Value::Null, |x| json!(x))
}

/// To a ten-thousandth, which radians in f32 just hold.
fn degrees(radians: f32) -> f64 {
    (f64::from(radians).to_degrees() * 1e4).round() / 1e4
}
