//! A pose space: sample poses at the corners of a convex polygon or polyhedron, fitted to one rig.

use glam::DVec3;

use super::barycentric::{Coordinates, MAX_CORNERS, Outside};
use super::blend::JointSamples;
use super::follow::Chain;
use super::limits::{JointLimit, Limit};
use crate::character::Rig;
use crate::math::unit_quat;
use crate::pose::{JointPose, Pose};
use crate::{Error, Result};

/// Most sample poses of one space, alternatives and the default pose included.
pub const MAX_SAMPLES: usize = 32;
/// Most (corner, alternative) pairs of one space.
pub const MAX_SLOTS: usize = 32;
/// Most sets of joints that groups can tell apart (two groups that overlap make three).
pub const MAX_CELLS: usize = 32;

/// Least and most bone length and thickness. A product of two of the largest is still far from where f32 ends.
pub(crate) const SHAPE: [f32; 2] = [1e-6, 1e4];
/// [`SHAPE`] in words.
pub(crate) const SHAPE_WORDS: &str = "0.000001 to 10000";

/// A pose that a corner can hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Name for people and files.
    pub name: String,
    /// One record per rig node.
    pub pose: Pose,
    /// Name of a texture or material that goes with the pose; the drawing side mixes them by [`Blended::samples`](super::Blended::samples).
    pub texture: Option<String>,
}

/// A corner of a space and the poses it can hold, one of them at a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Corner {
    /// Where it is; the third number is 0 in two dimensions.
    pub at: [f32; 3],
    /// Indices of samples; the first is selected to begin with.
    pub samples: Vec<usize>,
}

/// Joints that can be held together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// Name for people and files.
    pub name: String,
    /// Rig nodes. Groups may overlap.
    pub nodes: Vec<usize>,
}

/// A limit for one rig node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeLimit {
    /// The rig node.
    pub node: usize,
    /// How far it may turn.
    pub limit: Limit,
    /// The flexion axis in the joint's own frame, where it has one (see [`Limit`]).
    pub hinge: Option<[f32; 3]>,
    /// A built-in guess: it is widened until the rest pose and every sample lie inside. Else the limit is the author's and
    /// cuts samples too.
    pub built_in: bool,
}

/// What a [`PoseSpace`] is made from.
#[derive(Clone, Debug, Default)]
pub struct PoseSpaceDescriptor {
    /// Name for people.
    pub name: String,
    /// 2 or 3.
    pub dimensions: usize,
    /// 3 or 4 to 16 corners in convex position, in any order.
    pub corners: Vec<Corner>,
    /// 1 to 32 poses.
    pub samples: Vec<Sample>,
    /// Index of the default pose.
    pub default: usize,
    /// Groups of joints.
    pub groups: Vec<Group>,
    /// Limits; a later one for the same node replaces an earlier one.
    pub limits: Vec<NodeLimit>,
    /// What a point outside the corners means.
    pub outside: Outside,
    /// For each rig node the sibling it moves with, if not its parent: for flat rigs, see [`Hands`](super::Hands). Empty: none.
    pub leaders: Vec<Option<usize>>,
}

/// Sample poses at the corners of a convex shape, fitted to one rig and ready to blend.
#[derive(Clone, Debug)]
pub struct PoseSpace {
    pub(crate) name: String,
    pub(crate) coordinates: Coordinates,
    pub(crate) corners: Vec<Corner>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) default: usize,
    pub(crate) groups: Vec<Group>,
    pub(crate) outside: Outside,
    /// Every (corner, sample) pair, corner by corner.
    pub(crate) slots: Vec<(usize, usize)>,
    /// Cell of each rig node; 0 for nodes in no group.
    pub(crate) cell_of: Vec<usize>,
    /// Cells of each group.
    pub(crate) group_cells: Vec<Vec<usize>>,
    pub(crate) cell_count: usize,
    pub(crate) chain: Chain,
    pub(crate) joints: Vec<JointSamples>,
    pub(crate) limits: Vec<Option<JointLimit>>,
}

impl PoseSpace {
    /// Checks everything and prepares the blend: reference rotations, sign fixing, logarithms (all in f64).
    ///
    /// # Errors
    /// Those of [`Coordinates::new`]; [`Error::InvalidParameter`] for too many samples, slots or groups or a length or
    /// thickness that is not positive; [`Error::OutOfRange`], [`Error::LengthMismatch`], [`Error::NotFinite`].
    pub fn new(rig: &Rig, descriptor: PoseSpaceDescriptor) -> Result<Self> {
        rig.validate()?;
        let d = descriptor;
        let at: Vec<[f32; 3]> = d.corners.iter().map(|c| c.at).collect();
        let coordinates = Coordinates::new(d.dimensions, &at)?;
        check_count("number of sample poses", d.samples.len(), MAX_SAMPLES, "1 to 32")?;
        index("default pose", d.default, d.samples.len())?;
        for sample in &d.samples {
            check_pose(rig, &sample.pose)?;
        }
        let mut slots = Vec::new();
        for (corner, c) in d.corners.iter().enumerate() {
            check_count("number of poses of a corner", c.samples.len(), MAX_SLOTS, "1 to 32")?;
            for &sample in &c.samples {
                index("sample pose", sample, d.samples.len())?;
                slots.push((corner, sample));
            }
        }
        check_count("number of poses of all corners together", slots.len(), MAX_SLOTS, "at most 32")?;
        let (cell_of, group_cells, cell_count) = cells(rig, &d.groups)?;
        let chain = Chain::new(rig, &d.leaders)?;
        let rest = chain.relative(&Pose::rest(rig));
        let relative: Vec<Vec<JointPose>> = d.samples.iter().map(|s| chain.relative(&s.pose)).collect();
        let joints: Vec<JointSamples> = (0..rig.nodes.len())
            .map(|n| JointSamples::new(relative.iter().map(|s| s[n]).collect(), rest[n].rotation))
            .collect();
        let limits = fit_limits(&d.limits, &chain, &rest, &joints)?;
        Ok(Self {
            name: d.name,
            coordinates,
            corners: d.corners,
            samples: d.samples,
            default: d.default,
            groups: d.groups,
            outside: d.outside,
            slots,
            cell_of,
            group_cells,
            cell_count,
            chain,
            joints,
            limits,
        })
    }

    /// Name for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The shape and its weights.
    pub fn coordinates(&self) -> &Coordinates {
        &self.coordinates
    }

    /// The corners, in the order given.
    pub fn corners(&self) -> &[Corner] {
        &self.corners
    }

    /// The sample poses.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// The groups of joints.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Index of the default pose.
    pub fn default_sample(&self) -> usize {
        self.default
    }

    /// Number of rig nodes it was fitted to.
    pub fn node_count(&self) -> usize {
        self.joints.len()
    }

    /// What a point outside the corners means.
    pub fn outside(&self) -> Outside {
        self.outside
    }

    /// Changes what a point outside the corners means.
    pub fn set_outside(&mut self, outside: Outside) {
        self.outside = outside;
    }

    /// Moves a corner; on an error nothing has changed.
    ///
    /// # Errors
    /// Those of [`Coordinates::set_corner`].
    pub fn set_corner(&mut self, corner: usize, at: [f32; 3]) -> Result<()> {
        self.coordinates.set_corner(corner, at)?;
        self.corners[corner].at = at;
        Ok(())
    }

    /// Index of a group.
    ///
    /// # Errors
    /// [`Error::UnknownName`] listing the groups.
    pub fn find_group(&self, name: &str) -> Result<usize> {
        let found = || join(self.groups.iter().map(|g| g.name.as_str()));
        let at = self.groups.iter().position(|g| g.name == name);
        at.ok_or_else(|| Error::UnknownName { what: "group", name: name.into(), found: found() })
    }

    /// Index of an alternative of a corner by its pose's name.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for the corner, [`Error::UnknownName`] listing its poses.
    pub fn find_alternative(&self, corner: usize, name: &str) -> Result<usize> {
        let count = self.corners.len();
        let c = self.corners.get(corner).ok_or(Error::OutOfRange { what: "corner", index: corner, count })?;
        let names = || c.samples.iter().map(|&s| self.samples[s].name.as_str());
        let unknown = || Error::UnknownName { what: "pose at this corner", name: name.into(), found: join(names()) };
        names().position(|n| n == name).ok_or_else(unknown)
    }
}

/// Names joined by commas; long lists are cut.
pub(crate) fn join<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const MOST: usize = 60;
    let names: Vec<&str> = names.collect();
    match names.len() {
        0 => "none".into(),
        n if n <= MOST => names.join(", "),
        n => format!("{} and {} more", names[..MOST].join(", "), n - MOST),
    }
}

fn index(what: &'static str, index: usize, count: usize) -> Result<()> {
    if index < count { Ok(()) } else { Err(Error::OutOfRange { what, index, count }) }
}

fn check_count(what: &'static str, count: usize, most: usize, expected: &'static str) -> Result<()> {
    if count >= 1 && count <= most {
        return Ok(());
    }
    Err(Error::InvalidParameter { what, value: count.to_string(), expected })
}

fn check_pose(rig: &Rig, pose: &Pose) -> Result<()> {
    if pose.joints.len() != rig.nodes.len() {
        let (found, expected) = (pose.joints.len(), rig.nodes.len());
        return Err(Error::LengthMismatch { what: "sample pose", found, expected });
    }
    for (index, joint) in pose.joints.iter().enumerate() {
        if !bytemuck::cast_ref::<JointPose, [f32; 12]>(joint).iter().all(|x| x.is_finite()) {
            return Err(Error::NotFinite { what: "sample pose of rig node", index });
        }
        for (what, value) in [("bone length", joint.length), ("bone thickness", joint.thickness)] {
            if !(SHAPE[0]..=SHAPE[1]).contains(&value) {
                return Err(Error::InvalidParameter { what, value: value.to_string(), expected: SHAPE_WORDS });
            }
        }
    }
    Ok(())
}

/// Splits the rig's nodes by which groups they are in.
fn cells(rig: &Rig, groups: &[Group]) -> Result<(Vec<usize>, Vec<Vec<usize>>, usize)> {
    check_count("number of groups", groups.len().max(1), 64, "at most 64")?;
    let mut member = vec![0_u64; rig.nodes.len()];
    for (g, group) in groups.iter().enumerate() {
        for &node in &group.nodes {
            index("rig node of a group", node, rig.nodes.len())?;
            member[node] |= 1 << g;
        }
    }
    let mut kinds = vec![0_u64];
    let mut cell_of = Vec::with_capacity(member.len());
    for &m in &member {
        let cell = kinds.iter().position(|&k| k == m).unwrap_or_else(|| {
            kinds.push(m);
            kinds.len() - 1
        });
        cell_of.push(cell);
    }
    check_count("number of different overlaps of groups", kinds.len(), MAX_CELLS, "at most 31")?;
    let of_group = |g: usize| (0..kinds.len()).filter(|&k| kinds[k] >> g & 1 == 1).collect();
    Ok((cell_of, (0..groups.len()).map(of_group).collect(), kinds.len()))
}

fn fit_limits(
    limits: &[NodeLimit],
    chain: &Chain,
    rest: &[JointPose],
    joints: &[JointSamples],
) -> Result<Vec<Option<JointLimit>>> {
    let mut out = vec![None; joints.len()];
    for l in limits {
        index("rig node of a limit", l.node, joints.len())?;
        l.limit.validate()?;
        let hinge = l.hinge.map(|h| DVec3::from(h.map(f64::from)));
        let mut limit = JointLimit::new(&l.limit, rest[l.node].rotation, chain.axes[l.node], hinge);
        let samples = &joints[l.node].rotations;
        if l.built_in {
            limit.include(unit_quat(rest[l.node].rotation));
            samples.iter().for_each(|&q| limit.include(q));
        } else if samples.iter().any(|&q| limit.allows(q) && limit.clamp(q).1) {
            limit.signed = false;
        }
        out[l.node] = Some(limit);
    }
    Ok(out)
}

const _: () = assert!(MAX_CORNERS <= MAX_SLOTS);
