//! The table of human bones of a VRM file: `VRM.humanoid.humanBones` (VRM 0.x, a list) or `VRMC_vrm` (VRM 1.0, an object).

use gltf::json::Value;

use super::document::Document;
use super::graph::Placement;

/// Bone names and the rig nodes they mean; bones whose node is not part of the rig are left out.
pub(super) fn bones(document: &Document<'_>, placement: &Placement) -> Vec<(String, usize)> {
    let Some(extensions) = &document.root.extensions else { return Vec::new() };
    let table = |name: &str| extensions.others.get(name)?.get("humanoid")?.get("humanBones");
    let node = |bone: &Value| placement.get(usize::try_from(bone.get("node")?.as_u64()?).ok()?).copied().flatten();
    match (table("VRMC_vrm"), table("VRM")) {
        (Some(Value::Object(bones)), _) => {
            bones.iter().filter_map(|(name, b)| Some((name.clone(), node(b)?))).collect()
        }
        (_, Some(Value::Array(bones))) => {
            bones.iter().filter_map(|b| Some((b.get("bone")?.as_str()?.to_owned(), node(b)?))).collect()
        }
        _ => Vec::new(),
    }
}
