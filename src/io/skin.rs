//! Skins: joints and inverse binds.

use gltf::json::accessor::{ComponentType, Type};

use super::accessor::Accessor;
use super::document::{Document, named, number};
use super::graph::Placement;
use super::{Outcome, pick, refuse};
use crate::Affine;
use crate::character::Skin;

/// Nodes that any skin of the file names, checked.
pub(super) fn joint_nodes(document: &Document<'_>) -> Outcome<Vec<usize>> {
    let mut out = Vec::new();
    for (i, skin) in document.root.skins.iter().enumerate() {
        let at = format!("skins[{i}].joints");
        if skin.joints.is_empty() {
            return refuse(at, "is empty");
        }
        for &joint in &skin.joints {
            pick(&document.root.nodes, number(joint), "node", &at)?;
            out.push(number(joint));
        }
    }
    Ok(out)
}

/// All skins of the file, in its order.
pub(super) fn skins(document: &Document<'_>, placement: &Placement) -> Outcome<Vec<Skin>> {
    document.root.skins.iter().enumerate().map(|(i, skin)| read(document, placement, i, skin)).collect()
}

fn read(document: &Document<'_>, placement: &Placement, index: usize, skin: &gltf::json::Skin) -> Outcome<Skin> {
    let at = format!("skins[{index}]");
    let joints: Vec<usize> = skin.joints.iter().filter_map(|&j| placement[number(j)]).collect();
    let name = named(&skin.name, "skin", index);
    let Some(accessor) = skin.inverse_bind_matrices else {
        let inverse_binds = vec![Affine::IDENTITY; joints.len()];
        return Ok(Skin { name, joints, inverse_binds });
    };
    let accessor = Accessor::open(document, number(accessor), None)?;
    accessor.expect_kind(Type::Mat4)?;
    if accessor.component != ComponentType::F32 {
        return refuse(at, "inverse binds must be f32");
    }
    if accessor.count < joints.len() {
        return refuse(at, format!("has {} joints, but only {} inverse binds", joints.len(), accessor.count));
    }
    let matrices = accessor.rows::<16>()?;
    let mut inverse_binds = Vec::with_capacity(joints.len());
    let mut bent = 0;
    for (joint, m) in matrices[..joints.len()].iter().enumerate() {
        if m.iter().any(|x| !x.is_finite()) {
            return refuse(at, format!("inverse bind {joint} is not finite"));
        }
        // The last row is 0 0 0 1 (section 3.7.3.1); an affine map has no other.
        let last = [m[3], m[7], m[11], m[15] - 1.0];
        bent += usize::from(last.iter().any(|x| x.abs() > 1e-5));
        let columns = [0, 4, 8, 12].map(|c| [m[c], m[c + 1], m[c + 2], m[c + 3]]);
        inverse_binds.push(Affine::from_columns(&columns));
    }
    if bent > 0 {
        document.warn(format!("{at}: the last row of {bent} inverse binds is not 0 0 0 1: ignored"));
    }
    Ok(Skin { name, joints, inverse_binds })
}
