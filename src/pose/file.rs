//! The pose space file: JSON, UTF-8, angles in degrees. Unknown keys are errors, and every error names its key's path.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::barycentric::Outside;
use super::builtin::built_in_limits;
use super::fingers::{FingerAngles, FingerPose};
use super::hands::Hands;
use super::limits::Limit;
use super::mirror::Mirror;
use super::names::{Finger, Side};
use super::space::{Corner, Group, NodeLimit, PoseSpace, PoseSpaceDescriptor, SHAPE, SHAPE_WORDS, Sample, join};
use crate::character::Character;
use crate::pose::{JointPose, Pose};
use crate::{Error, Result};

/// A pose space as its file states it, not yet fitted to a character.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoseSpaceFile {
    dermis: String,
    version: u32,
    #[serde(default)]
    name: String,
    dimensions: usize,
    corners: Vec<CornerEntry>,
    poses: Entries<PoseEntry>,
    default: Option<String>,
    #[serde(default)]
    groups: Entries<Vec<String>>,
    #[serde(default)]
    limits: Entries<LimitEntry>,
    #[serde(default)]
    outside: OutsideEntry,
    /// The file's name, for messages.
    #[serde(skip)]
    file: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CornerEntry {
    at: Vec<f32>,
    poses: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PoseEntry {
    clip: Option<String>,
    time: Option<f32>,
    joints: Option<Entries<JointEntry>>,
    fingers: Option<Entries<FingerEntry>>,
    texture: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct JointEntry {
    rotation: Option<[f32; 4]>,
    translation: Option<[f32; 3]>,
    scale: Option<[f32; 3]>,
    length: Option<f32>,
    thickness: Option<f32>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FingerEntry {
    #[serde(default)]
    flexion: Vec<f32>,
    #[serde(default)]
    spread: f32,
    #[serde(default)]
    twist: f32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitEntry {
    twist: Option<[f32; 2]>,
    swing_y: Option<[f32; 2]>,
    swing_z: Option<[f32; 2]>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum OutsideEntry {
    #[default]
    Clamp,
    Extrapolate,
}

/// A JSON object with free keys, in the file's order; a key that comes twice is an error.
#[derive(Clone, Debug)]
struct Entries<T>(Vec<(String, T)>);

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Map<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Map<T> {
            type Value = Entries<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<T>, A::Error> {
                let mut out: Vec<(String, T)> = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, T>()? {
                    if out.iter().any(|(k, _)| *k == key) {
                        return Err(A::Error::custom(format!("the key {key:?} comes twice")));
                    }
                    out.push((key, value));
                }
                Ok(Entries(out))
            }
        }
        deserializer.deserialize_map(Map(PhantomData))
    }
}

impl PoseSpaceFile {
    /// Reads the JSON. `file` is the file's name, for messages.
    ///
    /// # Errors
    /// [`Error::Format`] with the path of the key that cannot be used.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self> {
        let mut json = serde_json::Deserializer::from_slice(bytes);
        let parsed: Result<Self, _> = serde_path_to_error::deserialize(&mut json);
        let mut out = parsed.map_err(|e| {
            let path = e.path().to_string();
            let at = if path == "." { file.to_owned() } else { format!("{file}: {path}") };
            Error::Format { at, problem: e.inner().to_string() }
        })?;
        json.end().map_err(|e| Error::Format { at: file.into(), problem: e.to_string() })?;
        out.file = file.into();
        if out.dermis != "pose-space" {
            return Err(out.refuse("dermis", format!("is {:?}, but must be \"pose-space\"", out.dermis)));
        }
        if out.version != 1 {
            return Err(out.refuse("version", format!("is {}, but only version 1 is known", out.version)));
        }
        for (i, corner) in out.corners.iter().enumerate() {
            let (found, d) = (corner.at.len(), out.dimensions);
            if found != d {
                return Err(
                    out.refuse(format!("corners[{i}].at"), format!("has {found} numbers, but dimensions is {d}"))
                );
            }
        }
        Ok(out)
    }

    /// Fits the space to a character: finds its clips, joints and fingers.
    ///
    /// `sides`: the hands it is for. `None`: as the file says. Else the fingers of other hands keep the rest pose, and when
    /// the file's poses move the fingers of one hand only, they are mirrored to the other where that is asked for.
    ///
    /// # Errors
    /// [`Error::Format`] with the path of the key that cannot be used.
    pub fn space(&self, character: &Character, hands: Option<&Hands>, sides: Option<&[Side]>) -> Result<PoseSpace> {
        let descriptor = self.descriptor(character, hands, sides)?;
        PoseSpace::new(&character.rig, descriptor).map_err(|e| match e {
            Error::NotConvex { corner, problem } => self.refuse(format!("corners[{corner}].at"), problem.into()),
            Error::Format { .. } => e,
            other => Error::Format { at: self.file.clone(), problem: other.to_string() },
        })
    }

    /// What [`PoseSpaceFile::space`] makes the space from.
    ///
    /// # Errors
    /// [`Error::Format`] with the path of the key that cannot be used.
    pub fn descriptor(
        &self,
        character: &Character,
        hands: Option<&Hands>,
        sides: Option<&[Side]>,
    ) -> Result<PoseSpaceDescriptor> {
        let rig = &character.rig;
        let mirror = Mirror::new(rig, hands)?;
        let mut samples = Vec::new();
        for (name, entry) in &self.poses.0 {
            let at = format!("poses.{name}");
            let pose = self.pose(&at, entry, character, hands, &mirror, sides)?;
            samples.push(Sample { name: name.clone(), pose, texture: entry.texture.clone() });
        }
        if let (Some(hands), Some(sides)) = (hands, sides) {
            route(character, hands, &mirror, sides, &mut samples)?;
        }
        let find = |at: String, name: &str| {
            samples.iter().position(|s| s.name == name).ok_or_else(|| {
                let found = join(samples.iter().map(|s| s.name.as_str()));
                self.refuse(at, format!("there is no pose named {name:?}; found: {found}"))
            })
        };
        let mut corners = Vec::new();
        for (i, corner) in self.corners.iter().enumerate() {
            if corner.poses.is_empty() {
                return Err(self.refuse(format!("corners[{i}].poses"), "is empty".into()));
            }
            let of = corner.poses.iter().enumerate();
            let samples: Result<Vec<usize>> = of.map(|(k, n)| find(format!("corners[{i}].poses[{k}]"), n)).collect();
            let at = std::array::from_fn(|k| corner.at.get(k).copied().unwrap_or(0.0));
            corners.push(Corner { at, samples: samples? });
        }
        let default = match &self.default {
            Some(name) => find("default".into(), name)?,
            None => corners.first().map_or(0, |c| c.samples[0]),
        };
        let mut groups = Vec::new();
        for (name, nodes) in &self.groups.0 {
            let find = |(i, n): (usize, &String)| self.node(format!("groups.{name}[{i}]"), character, n);
            let nodes: Result<Vec<usize>> = nodes.iter().enumerate().map(find).collect();
            groups.push(Group { name: name.clone(), nodes: nodes? });
        }
        if groups.is_empty() {
            // A file that says nothing about groups still has fingers to hold.
            groups = hands.map(Hands::groups).unwrap_or_default();
        }
        let mut limits = built_in_limits(rig, hands)?;
        for (name, entry) in &self.limits.0 {
            let at = format!("limits.{name}");
            let node = self.node(at.clone(), character, name)?;
            let range = |r: Option<[f32; 2]>| r.unwrap_or([-180.0, 180.0]);
            let limit = Limit::degrees(range(entry.twist), range(entry.swing_y), range(entry.swing_z));
            limit.validate().map_err(|e| self.refuse(at, e.to_string()))?;
            let hinge = limits.iter().find(|l| l.node == node).and_then(|l| l.hinge);
            limits.retain(|l| l.node != node);
            limits.push(NodeLimit { node, limit, hinge, built_in: false });
        }
        let outside = match self.outside {
            OutsideEntry::Clamp => Outside::Clamp,
            OutsideEntry::Extrapolate => Outside::Extrapolate,
        };
        Ok(PoseSpaceDescriptor {
            name: self.name.clone(),
            dimensions: self.dimensions,
            corners,
            samples,
            default,
            groups,
            limits,
            outside,
            leaders: hands.map(|h| h.leaders.clone()).unwrap_or_default(),
        })
    }

    fn pose(
        &self,
        at: &str,
        entry: &PoseEntry,
        character: &Character,
        hands: Option<&Hands>,
        mirror: &Mirror,
        sides: Option<&[Side]>,
    ) -> Result<Pose> {
        let mut pose = Pose::rest(&character.rig);
        let refuse = |key: &str, problem: String| self.refuse(format!("{at}{key}"), problem);
        let time = entry.time.unwrap_or(0.0);
        if !time.is_finite() {
            return Err(refuse(".time", "is not finite".into()));
        }
        if entry.time.is_some() && entry.clip.is_none() {
            return Err(refuse(".time", "needs a clip beside it".into()));
        }
        match (&entry.clip, &entry.joints, &entry.fingers) {
            (Some(clip), None, None) => {
                let clips = &character.clips;
                let by_name = clips.iter().find(|c| c.name == *clip);
                let by_index = || clip.parse::<usize>().ok().and_then(|i| clips.get(i));
                let found = by_name.or_else(by_index).ok_or_else(|| {
                    let found = join(clips.iter().map(|c| c.name.as_str()));
                    refuse(".clip", format!("there is no clip named {clip:?}; found: {found}"))
                })?;
                found.sample(time, &mut pose);
            }
            (None, Some(joints), None) => {
                for (name, joint) in &joints.0 {
                    let at = format!("{at}.joints.{name}");
                    let node = self.node(at.clone(), character, name)?;
                    self.joint(&at, joint, &mut pose.joints[node])?;
                }
            }
            (None, None, Some(fingers)) => {
                let Some(hands) = hands else {
                    let found = join(character.rig.nodes.iter().map(|n| n.name.as_str()));
                    return Err(refuse(".fingers", format!("no fingers are found among the joints: {found}")));
                };
                let all: Vec<Side> = hands.hands.iter().map(|h| h.side).collect();
                let fingers = self.fingers(at, fingers)?;
                pose = hands.pose(&character.rig, mirror, sides.unwrap_or(&all), &fingers)?;
            }
            _ => {
                return Err(refuse("", "needs exactly one of clip, joints and fingers".into()));
            }
        }
        Ok(pose)
    }

    fn joint(&self, at: &str, entry: &JointEntry, joint: &mut JointPose) -> Result<()> {
        let refuse = |key: &str, problem: &str| Err(self.refuse(format!("{at}.{key}"), problem.into()));
        // Far beyond any scene, and far from where products of a few of them pass what f32 holds.
        const FAR: f32 = 1e9;
        if let Some(q) = entry.rotation {
            let length = q.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
            if !(length > 1e-6 && length.is_finite()) {
                return refuse("rotation", "is not a quaternion [x, y, z, w]: its length must not be 0");
            }
            joint.rotation = q.map(|x| (f64::from(x) / length) as f32);
        }
        for (key, value, to) in
            [("translation", entry.translation, &mut joint.translation), ("scale", entry.scale, &mut joint.scale)]
        {
            let Some(value) = value else { continue };
            if !value.iter().all(|x| x.abs() <= FAR) {
                return refuse(key, "has a number outside -1e9 to 1e9");
            }
            *to = value;
        }
        for (key, value, to) in
            [("length", entry.length, &mut joint.length), ("thickness", entry.thickness, &mut joint.thickness)]
        {
            let Some(value) = value else { continue };
            if !(SHAPE[0]..=SHAPE[1]).contains(&value) {
                return refuse(key, &format!("is {value}, but must be {SHAPE_WORDS}"));
            }
            *to = value;
        }
        Ok(())
    }

    fn fingers(&self, at: &str, entries: &Entries<FingerEntry>) -> Result<FingerPose> {
        let mut out = FingerPose::default();
        for (name, entry) in &entries.0 {
            let at = format!("{at}.fingers.{name}");
            let Some(finger) = Finger::from_name(name) else {
                let found = join(Finger::ALL.iter().map(|f| f.name()));
                return Err(self.refuse(at, format!("there is no finger of this name; fingers are: {found}")));
            };
            if out.fingers[finger as usize].is_some() {
                return Err(self.refuse(at, "is the same finger as an earlier key".into()));
            }
            if entry.flexion.len() > 3 {
                let n = entry.flexion.len();
                return Err(
                    self.refuse(format!("{at}.flexion"), format!("has {n} angles, but a finger bends in 3 places"))
                );
            }
            let all = entry.flexion.iter().chain([&entry.spread, &entry.twist]);
            if !all.into_iter().all(|a| a.abs() <= 360.0) {
                return Err(self.refuse(at, "has an angle outside -360 to 360 degrees".into()));
            }
            let flexion = std::array::from_fn(|i| entry.flexion.get(i).copied().unwrap_or(0.0).to_radians());
            let (spread, twist) = (entry.spread.to_radians(), entry.twist.to_radians());
            out.fingers[finger as usize] = Some(FingerAngles { flexion, spread, twist });
        }
        Ok(out)
    }

    fn node(&self, at: String, character: &Character, name: &str) -> Result<usize> {
        character.find_node(name).ok_or_else(|| {
            let found = join(character.rig.nodes.iter().map(|n| n.name.as_str()));
            self.refuse(at, format!("there is no joint named {name:?}; found: {found}"))
        })
    }

    fn refuse(&self, key: impl fmt::Display, problem: String) -> Error {
        Error::Format { at: format!("{}: {key}", self.file), problem }
    }
}

/// Keeps the fingers of the chosen hands; poses that move one hand only are mirrored to the other.
fn route(character: &Character, hands: &Hands, mirror: &Mirror, sides: &[Side], samples: &mut [Sample]) -> Result<()> {
    let rest = Pose::rest(&character.rig);
    let moves = |side: Side, samples: &[Sample]| {
        let hand = hands.get(side);
        hand.is_some_and(|h| h.nodes().any(|n| samples.iter().any(|s| s.pose.joints[n] != rest.joints[n])))
    };
    let authored: Vec<Side> = [Side::Left, Side::Right].into_iter().filter(|&s| moves(s, samples)).collect();
    for sample in samples.iter_mut() {
        let given = sample.pose.clone();
        for hand in &hands.hands {
            let wanted = sides.contains(&hand.side);
            match authored.as_slice() {
                [only] if wanted && *only != hand.side => {
                    hands.take(hand.side, &mirror.pose(&character.rig, &given)?, &mut sample.pose);
                }
                _ if !wanted => hands.take(hand.side, &rest, &mut sample.pose),
                _ => {}
            }
        }
    }
    Ok(())
}
