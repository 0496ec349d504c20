//! The node graph: a forest, checked, and the rig made from the part of it that moves something.

use gltf::json::scene::Node;

use super::document::{Document, named, number};
use super::{Outcome, pick, refuse};
use crate::character::{Rig, RigNode};
use crate::math::{Affine64, unit_quat};
use crate::{Affine, Transform};
use glam::{DMat3, DQuat, DVec3};

/// How far from 1 the length of a vector may be that f32 arithmetic made unit: a few units in the last place.
pub(super) const ROUNDING: f64 = 4e-7;

/// Parents, order and reach of a file's nodes.
pub(super) struct Graph {
    pub parents: Vec<Option<usize>>,
    /// Every node, parents first, siblings in the file's order.
    pub order: Vec<usize>,
    /// True for nodes of the scene.
    pub live: Vec<bool>,
}

impl Graph {
    pub fn new(document: &Document<'_>) -> Outcome<Self> {
        let nodes = &document.root.nodes;
        let children = |i: usize| nodes[i].children.iter().flatten().map(|&c| number(c));
        let mut parents = vec![None; nodes.len()];
        for parent in 0..nodes.len() {
            let at = format!("nodes[{parent}].children");
            for child in children(parent) {
                match parents.get_mut(child) {
                    None => return refuse(at, format!("node {child} does not exist: there are {}", nodes.len())),
                    Some(Some(other)) => return refuse(at, format!("node {child} is also a child of node {other}")),
                    Some(slot) => *slot = Some(parent),
                }
            }
        }
        // A walk from the roots reaches every node but those of a cycle. An explicit stack: chains may be very deep.
        let walk = |roots: &mut dyn DoubleEndedIterator<Item = usize>| {
            let mut stack: Vec<usize> = roots.rev().collect();
            let mut seen = vec![false; nodes.len()];
            let mut order = Vec::new();
            while let Some(node) = stack.pop() {
                if !std::mem::replace(&mut seen[node], true) {
                    order.push(node);
                    let first = stack.len();
                    stack.extend(children(node));
                    stack[first..].reverse();
                }
            }
            (order, seen)
        };
        let (order, seen) = walk(&mut (0..nodes.len()).filter(|&i| parents[i].is_none()));
        if let Some(node) = seen.iter().position(|&s| !s) {
            return refuse(format!("nodes[{node}]"), "is its own ancestor");
        }
        let live = match scene_roots(document)? {
            Some(roots) => walk(&mut roots.into_iter()).1,
            None => vec![true; nodes.len()],
        };
        Ok(Self { parents, order, live })
    }

    /// The rig over `wanted` nodes and all their ancestors, and the rig index of each of the file's nodes.
    pub fn rig(&self, document: &Document<'_>, wanted: impl IntoIterator<Item = usize>) -> Outcome<(Rig, Placement)> {
        let mut needed = vec![false; self.parents.len()];
        for node in wanted {
            let mut next = Some(node);
            while let Some(i) = next
                && !std::mem::replace(&mut needed[i], true)
            {
                next = self.parents[i];
            }
        }
        let mut placement = vec![None; needed.len()];
        let mut rig = Rig::default();
        let mut not_unit = Vec::new();
        for &i in self.order.iter().filter(|&&i| needed[i]) {
            placement[i] = Some(rig.nodes.len());
            let json = &document.root.nodes[i];
            let (rest, base) = local(json, i, &mut not_unit)?;
            if json.matrix.is_some()
                && [json.translation.is_some(), json.rotation.is_some(), json.scale.is_some()].contains(&true)
            {
                document.warn(format!("nodes[{i}] has a matrix and parts of one: the matrix counts"));
            }
            let name = named(&json.name, "node", i);
            let parent = self.parents[i].and_then(|p| placement[p]);
            rig.nodes.push(RigNode { name, parent, rest, base, source: i });
        }
        if let Some(first) = not_unit.first() {
            let n = not_unit.len();
            document.warn(format!("{n} node rotation{} not of unit length (node {first}): normalised", s_are(n)));
        }
        Ok((rig, placement))
    }
}

/// Rig index of each node of the file.
pub(super) type Placement = Vec<Option<usize>>;

pub(super) fn s_are(n: usize) -> &'static str {
    if n == 1 { " is" } else { "s are" }
}

/// Roots of the default scene, else the first; `None` when the file has no scenes.
fn scene_roots(document: &Document<'_>) -> Outcome<Option<Vec<usize>>> {
    let root = &document.root;
    let index = root.scene.map_or(0, number);
    if root.scenes.is_empty() && root.scene.is_none() {
        return Ok(None);
    }
    let scene = pick(&root.scenes, index, "scene", "scene")?;
    for &node in &scene.nodes {
        pick(&root.nodes, number(node), "node", &format!("scenes[{index}].nodes"))?;
    }
    Ok(Some(scene.nodes.iter().map(|&n| number(n)).collect()))
}

/// Rest transform of a node, and the base that a matrix with shear needs.
fn local(node: &Node, index: usize, not_unit: &mut Vec<usize>) -> Outcome<(Transform, Affine)> {
    let numbers =
        [&node.translation.unwrap_or_default()[..], &node.scale.unwrap_or_default(), &node.matrix.unwrap_or_default()];
    let rotation = node.rotation.map_or([0.0, 0.0, 0.0, 1.0], |q| q.0);
    if numbers.iter().copied().flatten().chain(&rotation).any(|x| !x.is_finite()) {
        return refuse(format!("nodes[{index}]"), "its transform is not finite");
    }
    if let Some(m) = node.matrix {
        let columns = [0, 4, 8, 12].map(|c| [m[c], m[c + 1], m[c + 2], m[c + 3]]);
        let affine = Affine::from_columns(&columns);
        return Ok(match decompose(&affine) {
            Some(rest) => (rest, Affine::IDENTITY),
            None => (Transform::IDENTITY, affine),
        });
    }
    let length = rotation.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    // Six digits in a text file are off by up to 1e-6; three digits by 1e-3.
    if (length - 1.0).abs() > 1e-3 {
        not_unit.push(index);
    }
    let rest = Transform {
        // What is unit already keeps its bits.
        rotation: match (length - 1.0).abs() < ROUNDING {
            true => rotation,
            false => unit_quat(rotation).to_array().map(|x| x as f32),
        },
        translation: node.translation.unwrap_or_default(),
        scale: node.scale.unwrap_or([1.0; 3]),
    };
    Ok((rest, Affine::IDENTITY))
}

/// Rotation, translation and scale of a map that is exactly that: put together again it must be the same within 1e-6 of
/// its largest element. A mirrored map gets a negative x scale.
fn decompose(affine: &Affine) -> Option<Transform> {
    let a = Affine64::from(affine);
    let mut scale = DVec3::new(a.m.x_axis.length(), a.m.y_axis.length(), a.m.z_axis.length());
    if scale.min_element() <= 0.0 {
        return None;
    }
    if a.m.determinant() < 0.0 {
        scale.x = -scale.x;
    }
    let r = DMat3::from_cols(a.m.x_axis / scale.x, a.m.y_axis / scale.y, a.m.z_axis / scale.z);
    let rotation = DQuat::from_mat3(&r).normalize();
    let rest = Transform {
        rotation: rotation.to_array().map(|x| x as f32),
        translation: a.t.to_array().map(|x| x as f32),
        scale: scale.to_array().map(|x| x as f32),
    };
    let again = Affine64::from_trs(rest.rotation, rest.translation, rest.scale);
    let error = (again.m - a.m).to_cols_array().into_iter().fold(0.0, |e: f64, x| e.max(x.abs()));
    let size = a.m.to_cols_array().into_iter().fold(0.0, |e: f64, x| e.max(x.abs()));
    (error <= 1e-6 * size).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_that_is_a_trs_becomes_one() {
        let rest =
            Transform { rotation: [0.5, -0.5, 0.5, 0.5], translation: [1.0, 2.0, 3.0], scale: [-2.0, 0.25, 3.0] };
        let affine = Affine::from(Affine64::from_trs(rest.rotation, rest.translation, rest.scale));
        let got = decompose(&affine).expect("a TRS");
        let again = Affine::from(Affine64::from_trs(got.rotation, got.translation, got.scale));
        for (a, b) in affine.rows.iter().flatten().zip(again.rows.iter().flatten()) {
            // 3 · 1e-6: the largest element is 3.
            assert!((a - b).abs() <= 3e-6, "{a} {b}");
        }
    }

    #[test]
    fn shear_and_flat_matrices_stay_matrices() {
        let sheared = Affine { rows: [[1.0, 0.1, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]] };
        assert_eq!(decompose(&sheared), None);
        let flat = Affine { rows: [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]] };
        assert_eq!(decompose(&flat), None);
    }
}
