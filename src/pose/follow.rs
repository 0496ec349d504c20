//! Which joint a joint moves with. Usually its parent; in a *flat* hand (WebXR's: 25 siblings) the joint before it in the
//! finger, so that bending a knuckle takes the finger along and a blend keeps the bones' lengths.

use glam::{DQuat, DVec3};

use crate::character::Rig;
use crate::math::{Affine, Affine64, unit_quat};
use crate::pose::{JointPose, Pose};
use crate::{Error, Result};

/// The hierarchy that poses of a space are blended in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chain {
    /// The sibling that a node moves with, where that is not its parent.
    pub leader: Vec<Option<usize>>,
    /// Nodes, leaders and parents before those that move with them.
    pub order: Vec<usize>,
    /// Unit bone axis of each node in its own frame; [`Rig::bone_axes`] with leaders taken for parents.
    pub axes: Vec<DVec3>,
}

impl Chain {
    /// `leader[i]`, if any, must be a sibling of i and neither may have a sheared base.
    pub fn new(rig: &Rig, leader: &[Option<usize>]) -> Result<Self> {
        let n = rig.nodes.len();
        let mut own = vec![None; n];
        for (node, &l) in leader.iter().enumerate().take(n) {
            let Some(l) = l else { continue };
            let Some(other) = rig.nodes.get(l) else {
                return Err(Error::OutOfRange { what: "leading rig node", index: l, count: n });
            };
            let plain = rig.nodes[node].base == Affine::IDENTITY && other.base == Affine::IDENTITY;
            if l != node && other.parent == rig.nodes[node].parent && plain {
                own[node] = Some(l);
            }
        }
        let before = |i: usize| own[i].or(rig.nodes[i].parent);
        let mut order = Vec::with_capacity(n);
        let mut placed = vec![false; n];
        while order.len() < n {
            let count = order.len();
            for i in 0..n {
                if !placed[i] && before(i).is_none_or(|b| placed[b]) {
                    placed[i] = true;
                    order.push(i);
                }
            }
            if order.len() == count {
                let index = placed.iter().position(|p| !p).unwrap_or(0);
                return Err(Error::OutOfRange { what: "a ring of leading rig nodes at", index, count: n });
            }
        }
        let mut out = Self { leader: own, order, axes: Vec::new() };
        if out.leader.iter().all(Option::is_none) {
            out.axes = rig.bone_axes().into_iter().map(|a| DVec3::from(a.map(f64::from))).collect();
        } else {
            out.axes = out.flat_axes(rig);
        }
        Ok(out)
    }

    /// The node a node moves with, if any.
    pub fn before(&self, rig: &Rig, node: usize) -> Option<usize> {
        self.leader[node].or(rig.nodes[node].parent)
    }

    fn flat_axes(&self, rig: &Rig) -> Vec<DVec3> {
        let rest = self.relative(&Pose::rest(rig));
        let mut axes = vec![DVec3::ZERO; rest.len()];
        for i in 0..rest.len() {
            if let Some(before) = self.before(rig, i) {
                let t = DVec3::from(rest[i].translation.map(f64::from));
                let t = if self.leader[i].is_some() { t } else { Affine64::from(&rig.nodes[i].base).point(t) };
                axes[before] += t.normalize_or_zero();
            }
        }
        for &i in &self.order {
            let inherited = || match self.before(rig, i) {
                Some(b) => (unit_quat(rest[i].rotation).inverse() * axes[b]).normalize_or(DVec3::Y),
                None => DVec3::Y,
            };
            axes[i] = axes[i].try_normalize().unwrap_or_else(inherited);
        }
        axes
    }

    /// Local transforms relative to the node each node moves with.
    pub fn relative(&self, pose: &Pose) -> Vec<JointPose> {
        let mut out = pose.joints.clone();
        for (i, leader) in self.leader.iter().enumerate() {
            let Some(l) = *leader else { continue };
            let (a, b) = (&pose.joints[l], &pose.joints[i]);
            let q = unit_quat(a.rotation).inverse();
            let vec = |v: [f32; 3]| DVec3::from(v.map(f64::from));
            let scale = vec(a.scale).map(|s| if s == 0.0 { 1.0 } else { s });
            out[i].rotation = quat32(q * unit_quat(b.rotation));
            out[i].translation = (q * (vec(b.translation) - vec(a.translation)) / scale).as_vec3().to_array();
            out[i].scale = (vec(b.scale) / scale).as_vec3().to_array();
        }
        out
    }

    /// The inverse of [`Chain::relative`]: local transforms relative to each node's parent, in place.
    pub fn resolve(&self, joints: &mut [JointPose]) {
        for &i in &self.order {
            let Some(l) = self.leader[i] else { continue };
            let (a, b) = (joints[l], joints[i]);
            let q = unit_quat(a.rotation);
            let vec = |v: [f32; 3]| DVec3::from(v.map(f64::from));
            joints[i].rotation = quat32(q * unit_quat(b.rotation));
            joints[i].translation = (vec(a.translation) + q * (vec(a.scale) * vec(b.translation))).as_vec3().to_array();
            joints[i].scale = (vec(a.scale) * vec(b.scale)).as_vec3().to_array();
        }
    }
}

pub(crate) fn quat32(q: DQuat) -> [f32; 4] {
    q.to_array().map(|x| x as f32)
}
