//! Influences made from a skeleton: by distance to its bones, or by bone heat (feature `bind`).
//!
//! *Distance* knows nothing of the surface: it is quick, takes any soup of points, and suits separate hard parts; but a finger
//! follows its neighbour wherever that is near. *Heat* spreads along the surface from the bones that each vertex sees, so
//! fingers stay apart and joints bend softly; it wants a surface.

#[cfg(feature = "bind")]
mod chains;
mod distance;
#[cfg(feature = "bind")]
mod heat;
#[cfg(feature = "bind")]
mod laplacian;
#[cfg(feature = "bind")]
mod sight;

pub use distance::{DistanceOptions, distance};
#[cfg(feature = "bind")]
pub use heat::{HeatOptions, heat};

use glam::DVec3;

use super::Influences;
use crate::character::{Rig, Skin};
use crate::math::{Affine, Affine64};
use crate::pose::{Pose, joint_worlds};
use crate::{Error, Result};

/// Length of a leaf's bone relative to its parent's.
const LEAF: f64 = 0.5;

/// A line from which vertices take their influence, in the mesh's space.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bone {
    /// The joint it belongs to; a joint with several children has several bones.
    pub joint: u32,
    /// Where the joint is.
    pub head: [f32; 3],
    /// Where its child is.
    pub tail: [f32; 3],
}

/// The bones of a skeleton, and how its joints hang together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Skeleton {
    /// Any number per joint.
    pub bones: Vec<Bone>,
    /// Parent of each joint; empty where it is not known.
    pub parents: Vec<Option<u32>>,
}

/// Influences that were made, and what a person should know about them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bound {
    /// Any number per vertex, clean; prune them to what you need.
    pub influences: Influences,
    /// One line each.
    pub warnings: Vec<String>,
}

/// The skeleton of a skin as it was bound: from every joint to each joint below it, and from a leaf half its parent's length
/// onwards. WebXR hands often list their joints side by side: those are chained by their names.
///
/// # Errors
/// Those of [`Rig::validate`] and [`Skin::validate`].
pub fn skeleton(rig: &Rig, skin: &Skin) -> Result<Skeleton> {
    rig.validate()?;
    skin.validate(rig)?;
    let heads: Vec<DVec3> = skin.inverse_binds.iter().map(|m| origin(&Affine64::from(m))).collect();
    let mut joint_of = vec![None; rig.nodes.len()];
    for (joint, &node) in skin.joints.iter().enumerate() {
        joint_of[node] = Some(joint);
    }
    // The nearest joint above each joint; nodes between them do not matter.
    let above = |joint: usize| {
        let mut node = rig.nodes[skin.joints[joint]].parent;
        while let Some(n) = node {
            if joint_of[n].is_some() {
                return joint_of[n];
            }
            node = rig.nodes[n].parent;
        }
        None
    };
    let names: Vec<&str> = skin.joints.iter().map(|&j| rig.nodes[j].name.as_str()).collect();
    let parents: Vec<Option<usize>> = (0..heads.len()).map(|j| above(j).or_else(|| hand_parent(&names, j))).collect();
    let mut leaf = vec![true; heads.len()];
    parents.iter().flatten().for_each(|&p| leaf[p] = false);
    let mut bones = Vec::new();
    let mut add = |joint: usize, tail: DVec3| {
        let array = |v: DVec3| v.as_vec3().to_array();
        bones.push(Bone { joint: joint as u32, head: array(heads[joint]), tail: array(tail) });
    };
    for (joint, &parent) in parents.iter().enumerate() {
        if let Some(p) = parent {
            add(p, heads[joint]);
        }
        if leaf[joint] {
            let onwards = parent.map_or(DVec3::ZERO, |p| heads[joint] - heads[p]);
            add(joint, heads[joint] + onwards * LEAF);
        }
    }
    Ok(Skeleton { bones, parents: parents.into_iter().map(|p| p.map(|p| p as u32)).collect() })
}

/// The joint before this one in a WebXR hand (W3C, WebXR Hand Input, section 3.2): wrist, metacarpal, phalanges, tip.
fn hand_parent(names: &[&str], joint: usize) -> Option<usize> {
    const CHAIN: [&str; 5] = ["metacarpal", "phalanx-proximal", "phalanx-intermediate", "phalanx-distal", "tip"];
    let named = |name: &str| names.iter().position(|n| *n == name);
    let (level, finger) = CHAIN.iter().enumerate().find_map(|(i, part)| Some((i, names[joint].strip_suffix(part)?)))?;
    let before = CHAIN[..level].iter().rev().find_map(|part| named(&format!("{finger}{part}")));
    // The metacarpal hangs on the wrist; anything that merely ends like a part of a finger has neither.
    before.or_else(|| (level == 0).then(|| names.iter().position(|n| n.ends_with("wrist")))?)
}

/// A skin over `joints` (nodes of `rig`) that holds a mesh as it stands in the rig's rest pose; `mesh` maps the mesh's space to
/// character space.
///
/// # Errors
/// Those of [`Rig::validate`] and [`Skin::validate`]; [`Error::InvalidParameter`] for a joint whose rest transform has no
/// inverse.
pub fn skin_at_rest(name: &str, rig: &Rig, joints: &[usize], mesh: &Affine) -> Result<Skin> {
    rig.validate()?;
    let worlds = joint_worlds(rig, &Pose::rest(rig))?;
    let mesh = Affine64::from(mesh);
    let mut inverse_binds = Vec::with_capacity(joints.len());
    for &joint in joints {
        let Some(world) = worlds.get(joint).map(Affine64::from) else {
            return Err(Error::OutOfRange { what: "rig node", index: joint, count: worlds.len() });
        };
        let inverse = world.m.inverse();
        if !inverse.is_finite() {
            let value = format!("{:?}", rig.nodes[joint].name);
            return Err(Error::InvalidParameter { what: "a joint", value, expected: "not scaled to nothing" });
        }
        inverse_binds.push(Affine64 { m: inverse, t: -(inverse * world.t) }.mul(&mesh).into());
    }
    let skin = Skin { name: name.into(), joints: joints.to_vec(), inverse_binds };
    skin.validate(rig)?;
    Ok(skin)
}

/// What an affine map takes to the origin; the origin where it has no inverse.
fn origin(map: &Affine64) -> DVec3 {
    let p = -(map.m.inverse() * map.t);
    if p.is_finite() { p } else { DVec3::ZERO }
}

/// Checks what both methods are given; returns positions and bones in f64.
fn check(positions: &[[f32; 3]], bones: &[Bone]) -> Result<(Vec<DVec3>, Vec<Segment>)> {
    let finite = |p: &[f32; 3]| p.iter().all(|x| x.is_finite());
    if let Some(index) = positions.iter().position(|p| !finite(p)) {
        return Err(Error::NotFinite { what: "position of vertex", index });
    }
    if let Some(index) = bones.iter().position(|b| !finite(&b.head) || !finite(&b.tail)) {
        return Err(Error::NotFinite { what: "bone", index });
    }
    if bones.is_empty() {
        return Err(Error::LengthMismatch { what: "the list of bones", found: 0, expected: 1 });
    }
    let point = |p: [f32; 3]| DVec3::from(p.map(f64::from));
    let segment = |b: &Bone| Segment { joint: b.joint, head: point(b.head), tail: point(b.tail) };
    Ok((positions.iter().map(|&p| point(p)).collect(), bones.iter().map(segment).collect()))
}

/// A bone in f64.
#[derive(Clone, Copy, Debug)]
struct Segment {
    joint: u32,
    head: DVec3,
    tail: DVec3,
}

impl Segment {
    fn nearest_point(&self, p: DVec3) -> DVec3 {
        let along = self.tail - self.head;
        let length = along.length_squared();
        let t = if length > 0.0 { ((p - self.head).dot(along) / length).clamp(0.0, 1.0) } else { 0.0 };
        self.head + along * t
    }
}

/// Distance of a point to every joint (that of its nearest bone) with the point there, nearest first, equal ones by joint.
fn nearest_joints(p: DVec3, segments: &[Segment], out: &mut Vec<(f64, u32, DVec3)>) {
    out.clear();
    for s in segments {
        let q = s.nearest_point(p);
        out.push((p.distance(q), s.joint, q));
    }
    out.sort_by(|a, b| a.1.cmp(&b.1).then(a.0.total_cmp(&b.0)));
    out.dedup_by_key(|o| o.1);
    out.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
}

/// Diagonal of the bounding box of some points.
#[cfg(feature = "bind")]
fn diagonal(points: &[DVec3]) -> f64 {
    let corner = |f: fn(DVec3, DVec3) -> DVec3| points.iter().copied().reduce(f).unwrap_or_default();
    (corner(DVec3::max) - corner(DVec3::min)).length()
}
