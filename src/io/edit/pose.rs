//! Puts a pose into a file: node transforms and a clip of one key.

use serde_json::{Value, json};

use super::FileEdit;
use crate::character::Rig;
use crate::io::{Outcome, refuse};
use crate::math::{Affine, Affine64};
use crate::pose::Pose;
use crate::{Error, Result};

impl FileEdit {
    /// Poses the file's nodes as `pose` has the rig that was read from it, and appends a clip of that name with one key at
    /// time 0. Nodes whose transform does not change are left as they stand.
    ///
    /// A longer bone moves its children, as in the engine; that flesh stretches along it or swells with its thickness has
    /// no place in glTF and is left out, with a line in [`FileEdit::warnings`]. A node with shear gets a matrix and no
    /// key.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] when the pose is another rig's, [`Error::Format`] when the file is.
    pub fn set_pose(&mut self, rig: &Rig, pose: &Pose, clip: &str) -> Result<()> {
        let (found, expected) = (pose.joints.len(), rig.nodes.len());
        if found != expected {
            return Err(Error::LengthMismatch { what: "pose", found, expected });
        }
        let put: Outcome<()> = self.put_pose(rig, pose, clip);
        put.map_err(|r| super::named(&self.name, r))
    }

    fn put_pose(&mut self, rig: &Rig, pose: &Pose, clip: &str) -> Outcome<()> {
        let axes = rig.bone_axes();
        let (mut keys, mut stretched) = (Vec::new(), 0);
        for (i, (node, joint)) in rig.nodes.iter().zip(&pose.joints).enumerate() {
            stretched += usize::from(joint.length != 1.0 || joint.thickness != 1.0);
            let mut translation = joint.translation;
            let parent = node.parent.map(|p| (axes[p], f64::from(pose.joints[p].length)));
            if let Some((a, length)) = parent.filter(|p| p.1 != 1.0) {
                // In the parent's frame, where the axis is: after the base.
                let base = Affine64::from(&node.base);
                let a = glam::DVec3::from(a.map(f64::from));
                let t = base.point(glam::DVec3::from(translation.map(f64::from)));
                let moved = t + a * (a.dot(t) * (length - 1.0)) - base.t;
                translation = (base.m.inverse() * moved).as_vec3().to_array();
            }
            let rest = &node.rest;
            let same = (joint.rotation, translation, joint.scale) == (rest.rotation, rest.translation, rest.scale);
            if same {
                continue;
            }
            let at = format!("nodes[{}]", node.source);
            let Some(json) = self.glb.list("nodes")?.get_mut(node.source).and_then(Value::as_object_mut) else {
                return refuse(at, format!("does not exist, but the rig's node {i} was read from it"));
            };
            for key in ["matrix", "rotation", "translation", "scale"] {
                json.shift_remove(key);
            }
            if node.base != Affine::IDENTITY {
                let local = Affine64::from_trs(joint.rotation, translation, joint.scale);
                let matrix = Affine::from(Affine64::from(&node.base).mul(&local)).to_columns();
                json.insert("matrix".into(), json!(matrix.as_flattened()));
                self.warnings.push(format!("{at}: has shear: posed by its matrix, without a key in the clip"));
                continue;
            }
            json.insert("rotation".into(), json!(joint.rotation));
            json.insert("translation".into(), json!(translation));
            json.insert("scale".into(), json!(joint.scale));
            keys.push((node.source, "rotation", joint.rotation.to_vec()));
            keys.push((node.source, "translation", translation.to_vec()));
            keys.push((node.source, "scale", joint.scale.to_vec()));
        }
        if stretched > 0 {
            self.warnings.push(format!(
                "{stretched} joints have a bone length or thickness other than 1: their children are moved, but glTF cannot \
                 state how their flesh stretches or swells"
            ));
        }
        if keys.is_empty() {
            return Ok(());
        }
        let time = json!({ "componentType": 5126, "count": 1, "type": "SCALAR", "min": [0.0], "max": [0.0] });
        let input = self.accessor(&[0.0], time)?;
        let (mut samplers, mut channels) = (Vec::new(), Vec::new());
        for (node, path, value) in keys {
            let kind = if path == "rotation" { "VEC4" } else { "VEC3" };
            let output = self.accessor(&value, json!({ "componentType": 5126, "count": 1, "type": kind }))?;
            channels.push(json!({ "sampler": samplers.len(), "target": { "node": node, "path": path } }));
            samplers.push(json!({ "input": input, "output": output }));
        }
        self.glb.push("animations", json!({ "name": clip, "samplers": samplers, "channels": channels }))?;
        Ok(())
    }

    fn accessor(&mut self, numbers: &[f32], mut accessor: Value) -> Outcome<usize> {
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        accessor["bufferView"] = self.glb.append(&bytes, None)?.into();
        self.glb.push("accessors", accessor)
    }
}
