//! Mirroring poses from one side of a character to the other.

use glam::{DMat3, DQuat, DVec3};

use super::follow::{Chain, quat32};
use super::hands::{Hands, rest_worlds};
use super::names;
use crate::character::Rig;
use crate::math::{Affine, unit_quat};
use crate::pose::{JointPose, Pose};
use crate::{Error, Result};

/// A mirror plane this near a coordinate plane is taken to be it: hands that are not modelled quite alike must not tilt it.
const UPRIGHT: f64 = 2.0 / 180.0 * std::f64::consts::PI;

/// How the two sides of a rig correspond.
///
/// A pose is mirrored by reflecting *model-space* deltas, `D = G · G_rest⁻¹`, across the plane and applying them to the other
/// side's own rest pose, so neither bone roll nor the way the two sides' axes point matters.
#[derive(Clone, Debug)]
pub struct Mirror {
    partner: Vec<usize>,
    normal: DVec3,
    chain: Chain,
    rest: Vec<JointPose>,
    /// Rotation of each node's base (the identity but for files with shear).
    bases: Vec<DQuat>,
    /// Product of rotations from the root, in the rest pose.
    rest_rotations: Vec<DQuat>,
}

impl Mirror {
    /// Pairs joints by `hands` (if given), then by names that differ only in the side, and finds the plane between the
    /// pairs' rest positions (the plane x = 0 where there are no pairs).
    ///
    /// # Errors
    /// Those of [`Rig::validate`].
    pub fn new(rig: &Rig, hands: Option<&Hands>) -> Result<Self> {
        rig.validate()?;
        let chain = Chain::new(rig, hands.map_or(&[][..], |h| &h.leaders))?;
        let rest = chain.relative(&Pose::rest(rig));
        let bases = (0..rig.nodes.len()).map(|i| base_rotation(rig, &chain, i)).collect();
        let partner = partners(rig, hands);
        let worlds = rest_worlds(rig)?;
        let mut sum = DVec3::ZERO;
        for (i, &p) in partner.iter().enumerate().filter(|&(i, &p)| i < p) {
            // Every pair says where the plane's normal is; which way it points does not matter.
            let d = worlds[i].t - worlds[p].t;
            sum += if sum.dot(d) < 0.0 { -d } else { d };
        }
        let normal = sum.normalize_or(DVec3::X);
        let upright = DVec3::AXES.into_iter().find(|a| a.dot(normal).abs() > UPRIGHT.cos());
        let normal = upright.unwrap_or(normal);
        let mut out = Self { partner, normal, chain, rest, bases, rest_rotations: Vec::new() };
        out.rest_rotations = out.model_rotations(rig, &out.rest);
        Ok(out)
    }

    /// The joint on the other side, or the node itself.
    pub fn partner(&self, node: usize) -> usize {
        self.partner.get(node).copied().unwrap_or(node)
    }

    /// Unit normal of the plane, in character space.
    pub fn normal(&self) -> [f32; 3] {
        self.normal.as_vec3().to_array()
    }

    /// The whole pose seen in the mirror: what the left did, the right does.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] when the pose does not have one record per node.
    pub fn pose(&self, rig: &Rig, pose: &Pose) -> Result<Pose> {
        if pose.joints.len() != self.rest.len() || rig.nodes.len() != self.rest.len() {
            let (found, expected) = (pose.joints.len(), self.rest.len());
            return Err(Error::LengthMismatch { what: "pose to mirror", found, expected });
        }
        let posed = self.chain.relative(pose);
        let rotations = self.model_rotations(rig, &posed);
        let n = self.normal;
        let reflect = |v: DVec3| v - n * (2.0 * n.dot(v));
        let vec = |v: [f32; 3]| DVec3::from(v.map(f64::from));
        let mut mirrored = vec![DQuat::IDENTITY; posed.len()];
        for (to, turned) in mirrored.iter_mut().enumerate() {
            let from = self.partner[to];
            let d = rotations[from] * self.rest_rotations[from].conjugate();
            // A reflected rotation: the axis is a pseudo-vector.
            let v = -reflect(DVec3::new(d.x, d.y, d.z));
            *turned = DQuat::from_xyzw(v.x, v.y, v.z, d.w) * self.rest_rotations[to];
        }
        let mut out = posed.clone();
        for to in 0..posed.len() {
            let from = self.partner[to];
            let parent = |i: usize, r: &[DQuat]| self.chain.before(rig, i).map_or(DQuat::IDENTITY, |p| r[p]);
            let above = parent(to, &mirrored) * self.bases[to];
            out[to].rotation = quat32((above.conjugate() * mirrored[to]).normalize());
            // Translations and scales as changes from the rest pose, in rest directions.
            let moved = vec(posed[from].translation) - vec(self.rest[from].translation);
            let moved = reflect(parent(from, &self.rest_rotations) * self.bases[from] * moved);
            let moved = (parent(to, &self.rest_rotations) * self.bases[to]).conjugate() * moved;
            out[to].translation = (vec(self.rest[to].translation) + moved).as_vec3().to_array();
            out[to].scale = self.mirrored_scale(from, to, &posed[from]);
            (out[to].length, out[to].thickness) = (posed[from].length, posed[from].thickness);
        }
        self.chain.resolve(&mut out);
        Ok(Pose { joints: out })
    }

    /// Scale factors relative to rest, each axis from the partner's axis that points most like its reflection.
    fn mirrored_scale(&self, from: usize, to: usize, posed: &JointPose) -> [f32; 3] {
        let n = self.normal;
        std::array::from_fn(|axis| {
            let mine = self.rest_rotations[to] * DVec3::AXES[axis];
            let seen = mine - n * (2.0 * n.dot(mine));
            let like = |a: usize| (self.rest_rotations[from] * DVec3::AXES[a]).dot(seen).abs();
            let source = (0..3).max_by(|&a, &b| like(a).total_cmp(&like(b))).unwrap_or(axis);
            let (rest, now) = (self.rest[from].scale[source], posed.scale[source]);
            if now == rest || rest == 0.0 {
                self.rest[to].scale[axis]
            } else {
                self.rest[to].scale[axis] * (now / rest)
            }
        })
    }

    fn model_rotations(&self, rig: &Rig, joints: &[JointPose]) -> Vec<DQuat> {
        let mut out = vec![DQuat::IDENTITY; joints.len()];
        for &i in &self.chain.order {
            let above = self.chain.before(rig, i).map_or(DQuat::IDENTITY, |p| out[p]);
            out[i] = above * self.bases[i] * unit_quat(joints[i].rotation);
        }
        out
    }
}

fn base_rotation(rig: &Rig, chain: &Chain, node: usize) -> DQuat {
    let base = &rig.nodes[node].base;
    if *base == Affine::IDENTITY || chain.leader[node].is_some() {
        return DQuat::IDENTITY;
    }
    let m = crate::math::Affine64::from(base).m;
    let x = m.x_axis.normalize_or(DVec3::X);
    let y = (m.y_axis - x * x.dot(m.y_axis)).normalize_or(x.any_orthonormal_vector());
    DQuat::from_mat3(&DMat3::from_cols(x, y, x.cross(y)))
}

fn partners(rig: &Rig, hands: Option<&Hands>) -> Vec<usize> {
    let mut partner: Vec<usize> = (0..rig.nodes.len()).collect();
    let words: Vec<Vec<String>> = rig.nodes.iter().map(|n| names::words(&n.name)).collect();
    for i in 0..words.len() {
        let Some(side) = names::side(&words[i]) else { continue };
        let bare = names::without_side(&words[i]);
        let twin = |&j: &usize| names::side(&words[j]) == Some(side.other()) && names::without_side(&words[j]) == bare;
        if partner[i] == i
            && let Some(j) = (0..words.len()).filter(twin).find(|&j| partner[j] == j)
        {
            (partner[i], partner[j]) = (j, i);
        }
    }
    if let Some([a, b]) = hands.map(|h| h.hands.as_slice()) {
        let mut pair = |i: usize, j: usize| {
            for (i, j) in [(i, j), (j, i)] {
                let old = partner[i];
                if old != j {
                    partner[old] = old;
                }
                partner[i] = j;
            }
        };
        for (f, g) in a.fingers.iter().zip(&b.fingers) {
            let joints = f.joints.iter().map(|j| j.node).zip(g.joints.iter().map(|j| j.node));
            joints.chain(f.metacarpal.zip(g.metacarpal)).chain(f.tip.zip(g.tip)).for_each(|(i, j)| pair(i, j));
        }
        if let Some((i, j)) = a.wrist.zip(b.wrist).filter(|(i, j)| i != j) {
            pair(i, j);
        }
    }
    partner
}
