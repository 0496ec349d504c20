//! The node hierarchy of a character.

use crate::math::{Affine, Transform};
use crate::{Error, Result};

/// One node of a rig: a joint, or any node on the way from a joint to the scene's root.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RigNode {
    /// The file's name for it, or `node N`.
    pub name: String,
    /// Index of the parent in the rig, always smaller than the node's own; `None` for a root.
    pub parent: Option<usize>,
    /// Rest transform relative to the parent.
    pub rest: Transform,
    /// A constant map applied after the posed transform: `local = base · TRS`. The identity, unless the file gives the
    /// node a matrix with shear that no TRS can state.
    pub base: Affine,
    /// Index of the node in its file (or in whatever made it), for tools that answer in the file's terms.
    pub source: usize,
}

/// Nodes in parents-first order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rig {
    /// The nodes; `nodes[i].parent < i`.
    pub nodes: Vec<RigNode>,
}

impl Rig {
    /// Checks that parents come first and that every number is finite.
    ///
    /// # Errors
    /// [`Error::ParentAfterChild`], [`Error::NotFinite`].
    pub fn validate(&self) -> Result<()> {
        for (i, node) in self.nodes.iter().enumerate() {
            if let Some(parent) = node.parent
                && parent >= i
            {
                return Err(Error::ParentAfterChild { node: i, parent });
            }
            let rest = bytemuck::cast_ref::<Transform, [f32; 10]>(&node.rest);
            if !rest.iter().all(|x| x.is_finite()) || !node.base.is_finite() {
                return Err(Error::NotFinite { what: "rest transform of rig node", index: i });
            }
        }
        Ok(())
    }

    /// Index of the first node with this name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|n| n.name == name)
    }

    /// Unit mean direction from each node to its children in the rest pose, in the node's own frame.
    ///
    /// A leaf takes its parent's, expressed in its own frame; without a parent, +Y. Bone length and thickness act along
    /// and across this axis (see [`crate::pose`]).
    pub fn bone_axes(&self) -> Vec<[f32; 3]> {
        use glam::DVec3;
        let mut sums = vec![DVec3::ZERO; self.nodes.len()];
        for node in &self.nodes {
            if let Some(parent) = node.parent {
                let base = crate::math::Affine64::from(&node.base);
                let t = base.point(DVec3::from(node.rest.translation.map(f64::from)));
                sums[parent] += t.normalize_or_zero();
            }
        }
        let mut axes: Vec<DVec3> = Vec::with_capacity(self.nodes.len());
        for (i, node) in self.nodes.iter().enumerate() {
            let own = sums[i].normalize_or_zero();
            let axis = match (own == DVec3::ZERO, node.parent) {
                (false, _) => own,
                (true, Some(parent)) => {
                    let r = crate::math::unit_quat(node.rest.rotation);
                    (r.inverse() * axes[parent]).normalize_or(DVec3::Y)
                }
                (true, None) => DVec3::Y,
            };
            axes.push(axis);
        }
        axes.into_iter().map(|a| a.as_vec3().to_array()).collect()
    }
}
