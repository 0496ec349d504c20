//! Posing by hand: one joint after the other, with undo.

use std::sync::Arc;

use dermis::character::Rig;
use dermis::influence::bind;
use dermis::pose::{Hands, JointRange, Mirror, Pose, built_in_limits, joint_worlds};
use dermis::{Affine, Character};
use glam::{EulerRot, Mat3, Quat, Vec3};

use super::bones::Bone;
use super::gizmo::{Turn, turned};
use super::history::History;

/// Least and most bone length and thickness that the sliders offer.
pub const SHAPE: std::ops::RangeInclusive<f32> = 0.25..=3.0;

/// A character's pose under a designer's hands.
pub struct Poser {
    pub character: Arc<Character>,
    /// Rig nodes that are joints of some skin, in the rig's order.
    pub joints: Vec<usize>,
    /// For each of them, which of them it hangs on.
    parents: Vec<Option<usize>>,
    /// Levels below a root.
    pub depths: Vec<usize>,
    pose: History<Pose>,
    worlds: Vec<Affine>,
    /// Per rig node.
    ranges: Vec<Option<JointRange>>,
    mirror: Option<Mirror>,
    /// Index into `joints`.
    pub chosen: Option<usize>,
    /// Turns stop at the limits.
    pub clamp: bool,
    /// The start of the turn that goes on: local rotation.
    start: Option<[f32; 4]>,
    strokes: u64,
}

impl Poser {
    /// `None` when the character has no joints.
    pub fn new(character: Arc<Character>) -> Option<Self> {
        let rig = &character.rig;
        let mut is_joint = vec![false; rig.nodes.len()];
        let mut parent_of = vec![None; rig.nodes.len()];
        for part in character.parts.iter().filter(|p| !p.rigid) {
            let skin = character.skins.get(part.skin)?;
            let skeleton = bind::skeleton(rig, skin).ok()?;
            for (joint, &node) in skin.joints.iter().enumerate() {
                is_joint[node] = true;
                let parent = skeleton.parents.get(joint).copied().flatten();
                parent_of[node] = parent_of[node].or(parent.map(|p| skin.joints[p as usize]));
            }
        }
        let joints: Vec<usize> = (0..rig.nodes.len()).filter(|&n| is_joint[n]).collect();
        if joints.is_empty() {
            return None;
        }
        let parents: Vec<Option<usize>> =
            joints.iter().map(|&n| parent_of[n].and_then(|p| joints.binary_search(&p).ok())).collect();
        let depths = depths(&parents);
        let hints: Vec<&str> =
            character.parts.iter().map(|p| p.name.as_str()).chain([character.name.as_str()]).collect();
        let hands = Hands::find(rig, &character.humanoid, &hints).ok();
        let mut ranges = vec![None; rig.nodes.len()];
        for limit in built_in_limits(rig, hands.as_ref()).unwrap_or_default() {
            if let Ok(range) = limit.range(rig) {
                ranges[limit.node] = Some(range);
            }
        }
        let mirror = Mirror::new(rig, hands.as_ref()).ok();
        let pose = Pose::rest(rig);
        let worlds = joint_worlds(rig, &pose).ok()?;
        Some(Self {
            joints,
            parents,
            depths,
            pose: History::new(pose),
            worlds,
            ranges,
            mirror,
            chosen: None,
            clamp: true,
            start: None,
            strokes: 0,
            character,
        })
    }

    fn rig(&self) -> &Rig {
        &self.character.rig
    }

    pub fn pose(&self) -> &Pose {
        self.pose.now()
    }

    /// Starts from another pose, as one step.
    pub fn set_pose(&mut self, pose: Pose) {
        if pose.joints.len() == self.rig().nodes.len() {
            self.pose.set(pose);
            self.moved();
        }
    }

    fn moved(&mut self) {
        if let Ok(worlds) = joint_worlds(&self.character.rig, self.pose.now()) {
            self.worlds = worlds;
        }
    }

    pub fn name(&self, joint: usize) -> &str {
        &self.rig().nodes[self.joints[joint]].name
    }

    /// Where each joint is.
    pub fn places(&self) -> Vec<Vec3> {
        self.joints.iter().map(|&n| place(&self.worlds[n])).collect()
    }

    /// The bones: from each joint to those that hang on it; a last one goes on half as far as its parent's bone.
    pub fn bones(&self) -> Vec<Bone> {
        let places = self.places();
        let axes = self.rig().bone_axes();
        let mut last = vec![true; self.joints.len()];
        self.parents.iter().flatten().for_each(|&p| last[p] = false);
        let mut out = Vec::new();
        for (joint, &parent) in self.parents.iter().enumerate() {
            if let Some(p) = parent {
                out.push(Bone { joint: p, head: places[p], tail: places[joint] });
            }
            if last[joint] {
                let world = basis(&self.worlds[self.joints[joint]]);
                let own = (world * Vec3::from(axes[self.joints[joint]])).normalize_or(Vec3::Y);
                // Hands whose joints lie side by side have no bones in the rig: theirs goes straight on.
                let before = parent.map(|p| places[joint] - places[p]).filter(|_| !self.hangs(joint));
                let axis = before.and_then(Vec3::try_normalize).unwrap_or(own);
                let length = parent.map_or(0.1, |p| places[p].distance(places[joint]));
                out.push(Bone { joint, head: places[joint], tail: places[joint] + axis * (0.5 * length) });
            }
        }
        out
    }

    /// True where a joint hangs on its parent in the rig too, not by names only.
    fn hangs(&self, joint: usize) -> bool {
        let parent = self.parents[joint].map(|p| self.joints[p]);
        let mut node = self.rig().nodes[self.joints[joint]].parent;
        while let Some(n) = node.filter(|_| node != parent) {
            node = self.rig().nodes[n].parent;
        }
        node.is_some()
    }

    /// World transform of a joint.
    pub fn world(&self, joint: usize) -> &Affine {
        &self.worlds[self.joints[joint]]
    }

    /// World basis of a joint's parent node, unit columns.
    pub fn parent_basis(&self, joint: usize) -> Mat3 {
        let parent = self.rig().nodes[self.joints[joint]].parent;
        let m = parent.map_or(Mat3::IDENTITY, |p| basis(&self.worlds[p]));
        let base = self.rig().nodes[self.joints[joint]].base;
        let m = m * basis(&base);
        Mat3::from_cols(m.x_axis.normalize_or_zero(), m.y_axis.normalize_or_zero(), m.z_axis.normalize_or_zero())
    }

    /// How far a joint may turn. In hands whose joints lie side by side limits are about the joint before, which does not
    /// move with it here: those have none.
    pub fn range(&self, joint: usize) -> Option<&JointRange> {
        self.ranges[self.joints[joint]].as_ref().filter(|_| self.parents[joint].is_none() || self.hangs(joint))
    }

    /// True where some joint has limits.
    pub fn limited(&self) -> bool {
        (0..self.joints.len()).any(|joint| self.range(joint).is_some())
    }

    fn change(&mut self, stroke: Option<u64>, joint: usize, change: impl FnOnce(&mut dermis::pose::JointPose)) {
        let mut pose = self.pose.now().clone();
        let node = self.joints[joint];
        change(&mut pose.joints[node]);
        match stroke {
            Some(stroke) => self.pose.drag(stroke, pose),
            None => self.pose.set(pose),
        }
        self.moved();
    }

    /// Follows a ring that is dragged.
    pub fn turn(&mut self, joint: usize, turn: &Turn) {
        let now = self.local(joint).rotation;
        if self.start.is_none() {
            self.strokes += 1;
        }
        let start = *self.start.get_or_insert(now);
        let rotation = self.limited_rotation(joint, turned(start, turn));
        self.change(Some(self.strokes), joint, |j| j.rotation = rotation);
        if turn.over {
            self.release();
        }
    }

    /// A drag is over.
    pub fn release(&mut self) {
        self.start = None;
        self.strokes += 1;
        self.pose.release();
    }

    fn limited_rotation(&self, joint: usize, rotation: [f32; 4]) -> [f32; 4] {
        match self.range(joint).filter(|_| self.clamp) {
            Some(range) => range.clamp(rotation).0,
            None => rotation,
        }
    }

    pub fn local(&self, joint: usize) -> &dermis::pose::JointPose {
        &self.pose.now().joints[self.joints[joint]]
    }

    /// Degrees about x, y and z in turn from the rest pose.
    pub fn degrees(&self, joint: usize) -> [f32; 3] {
        let rest = Quat::from_array(self.rig().nodes[self.joints[joint]].rest.rotation).normalize();
        let now = Quat::from_array(self.local(joint).rotation).normalize();
        let (x, y, z) = (rest.inverse() * now).to_euler(EulerRot::XYZ);
        // Rounded, so that nothing shows as -0.
        [x, y, z].map(|a| (a.to_degrees() * 1e4).round() / 1e4 + 0.0)
    }

    /// Sets them; part of one step while a number is dragged.
    pub fn set_degrees(&mut self, joint: usize, degrees: [f32; 3], dragged: bool) {
        let rest = Quat::from_array(self.rig().nodes[self.joints[joint]].rest.rotation).normalize();
        let [x, y, z] = degrees.map(f32::to_radians);
        let rotation = (rest * Quat::from_euler(EulerRot::XYZ, x, y, z)).normalize().to_array();
        let rotation = self.limited_rotation(joint, rotation);
        self.change(dragged.then_some(self.strokes), joint, |j| j.rotation = rotation);
    }

    /// Sets bone length and thickness; part of one step while a slider is dragged.
    pub fn set_shape(&mut self, joint: usize, length: f32, thickness: f32, dragged: bool) {
        let within = |x: f32| x.clamp(*SHAPE.start(), *SHAPE.end());
        let stroke = dragged.then_some(self.strokes);
        self.change(stroke, joint, |j| (j.length, j.thickness) = (within(length), within(thickness)));
    }

    /// A joint back to its rest pose.
    pub fn reset(&mut self, joint: usize) {
        let rest = Pose::rest(self.rig()).joints[self.joints[joint]];
        self.change(None, joint, |j| *j = rest);
    }

    /// Everything back to the rest pose.
    pub fn reset_all(&mut self) {
        self.set_pose(Pose::rest(self.rig()));
    }

    pub fn can_mirror(&self) -> bool {
        self.mirror.is_some()
    }

    /// Left and right change places.
    pub fn mirror(&mut self) {
        if let Some(Ok(pose)) = self.mirror.as_ref().map(|m| m.pose(&self.character.rig, self.pose.now())) {
            self.set_pose(pose);
        }
    }

    pub fn undo(&mut self) -> bool {
        self.start = None;
        let done = self.pose.undo();
        self.moved();
        done
    }

    pub fn redo(&mut self) -> bool {
        self.start = None;
        let done = self.pose.redo();
        self.moved();
        done
    }

    /// Whether there is something to take back, and something to do again.
    pub fn steps(&self) -> (bool, bool) {
        self.pose.steps()
    }
}

fn place(world: &Affine) -> Vec3 {
    world.rows.map(|r| r[3]).into()
}

fn basis(world: &Affine) -> Mat3 {
    let column = |c: usize| Vec3::from(world.rows.map(|r| r[c]));
    Mat3::from_cols(column(0), column(1), column(2))
}

fn depths(parents: &[Option<usize>]) -> Vec<usize> {
    let of = |joint: usize| {
        let mut at = parents[joint];
        let mut depth = 0;
        while let Some(p) = at.filter(|_| depth < parents.len()) {
            depth += 1;
            at = parents[p];
        }
        depth
    };
    (0..parents.len()).map(of).collect()
}
