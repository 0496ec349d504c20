//! A pose into a pose-space file, whose other contents stay as they are.

use std::error::Error;
use std::path::Path;

use dermis::Character;
use dermis::pose::{Hands, Pose, PoseSpaceFile};
use serde_json::{Map, Value, json};

use super::Skeleton;
use crate::app::output;

/// Where a corner of a new space is: an equilateral triangle.
const CORNERS: [[f32; 2]; 3] = [[0.0, 0.0], [1.0, 0.0], [0.5, 0.866]];

impl Skeleton {
    /// Adds the pose on show to a pose-space file, as a pose that can be selected at a corner; a file that does not exist yet
    /// begins with the rest pose at the other corners of a triangle. Returns what was done.
    pub fn save_sample(&self, path: &Path) -> Result<String, Box<dyn Error>> {
        let Some(pose) = self.pose() else { return Err("there are no joints to pose".into()) };
        let name = self.ui.sample.trim();
        if name.is_empty() {
            return Err("give the pose a name first".into());
        }
        let old = if path.exists() {
            Some(std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?)
        } else {
            None
        };
        let text = with_sample(&self.character, old.as_deref(), name, pose, self.ui.corner)
            .map_err(|e| format!("{}: {e}", path.display()))?;
        output::write(path, |out| Ok(out.write_all(text.as_bytes())?))?;
        Ok(format!("Pose {name:?} at corner {}", self.ui.corner))
    }
}

/// The file's text with one more pose, checked against the character.
fn with_sample(
    character: &Character,
    old: Option<&[u8]>,
    name: &str,
    pose: &Pose,
    corner: usize,
) -> Result<String, Box<dyn Error>> {
    let mut file: Value = match old {
        Some(text) => serde_json::from_slice(text)?,
        None => {
            let corners = (0..CORNERS.len())
                .map(|c| json!({ "at": CORNERS[c], "poses": if c == corner { json!([]) } else { json!(["rest"]) } }));
            json!({
                "dermis": "pose-space", "version": 1, "name": character.name, "dimensions": 2,
                "corners": corners.collect::<Vec<_>>(), "poses": { "rest": { "joints": {} } }, "default": "rest",
            })
        }
    };
    let count = file.get("corners").and_then(Value::as_array).map_or(0, Vec::len);
    let Some(list) = file.get_mut("corners").and_then(|c| c.get_mut(corner)?.get_mut("poses")?.as_array_mut()) else {
        return Err(format!("has no corner {corner}: there are {count}, counted from 0").into());
    };
    list.push(name.into());
    let Some(poses) = file.get_mut("poses").and_then(Value::as_object_mut) else { return Err("has no poses".into()) };
    if poses.contains_key(name) {
        return Err(format!("has a pose {name:?} already").into());
    }
    poses.insert(name.into(), json!({ "joints": joints(character, pose)? }));
    let text = format!("{file:#}\n");
    // What is written can be read back.
    let parsed = PoseSpaceFile::parse("the pose space", text.as_bytes())?;
    let hints: Vec<&str> = character.parts.iter().map(|p| p.name.as_str()).chain([character.name.as_str()]).collect();
    let hands = Hands::find(&character.rig, &character.humanoid, &hints).ok();
    parsed.space(character, hands.as_ref(), None)?;
    Ok(text)
}

/// The joints that differ from the rest pose, by name.
fn joints(character: &Character, pose: &Pose) -> Result<Map<String, Value>, String> {
    let rest = Pose::rest(&character.rig);
    let mut out = Map::new();
    for (n, (joint, rest)) in pose.joints.iter().zip(&rest.joints).enumerate().filter(|(_, (j, r))| j != r) {
        let name = &character.rig.nodes[n].name;
        if character.find_node(name) != Some(n) {
            return Err(format!("several joints are named {name:?}: a pose cannot say which is meant"));
        }
        let mut entry = Map::new();
        let mut put = |key: &str, now: &[f32], rest: &[f32]| {
            if now != rest {
                entry.insert(key.into(), if let [one] = now { json!(one) } else { json!(now) });
            }
        };
        put("rotation", &joint.rotation, &rest.rotation);
        put("translation", &joint.translation, &rest.translation);
        put("scale", &joint.scale, &rest.scale);
        put("length", &[joint.length], &[rest.length]);
        put("thickness", &[joint.thickness], &[rest.thickness]);
        out.insert(name.clone(), entry.into());
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_added_and_read_back() {
        let character = super::super::tests::arm();
        let mut pose = Pose::rest(&character.rig);
        pose.joints[1].rotation = [0.0, 0.6, 0.0, 0.8];
        pose.joints[2].length = 1.5;
        let first = with_sample(&character, None, "bent", &pose, 2).unwrap();
        let space = PoseSpaceFile::parse("x", first.as_bytes()).unwrap().space(&character, None, None).unwrap();
        assert_eq!(space.corners().len(), 3);
        let sample = &space.samples()[space.corners()[2].samples[0]];
        assert_eq!((sample.name.as_str(), &sample.pose), ("bent", &pose));
        // Into a file that exists: what it has stays.
        let second = with_sample(&character, Some(first.as_bytes()), "more", &Pose::rest(&character.rig), 2).unwrap();
        let space = PoseSpaceFile::parse("x", second.as_bytes()).unwrap().space(&character, None, None).unwrap();
        let names: Vec<&str> = space.corners()[2].samples.iter().map(|&s| space.samples()[s].name.as_str()).collect();
        assert_eq!(names, ["bent", "more"]);
        let refused = |old: &str, name: &str, corner: usize| {
            with_sample(&character, Some(old.as_bytes()), name, &pose, corner).unwrap_err().to_string()
        };
        assert!(refused(&second, "bent", 0).contains("already"));
        assert!(refused(&second, "new", 3).contains("no corner 3"));
        assert!(refused("{}", "new", 0).contains("no corner 0"));
        assert!(with_sample(&character, Some(b"nonsense"), "new", &pose, 0).is_err());
    }
}
