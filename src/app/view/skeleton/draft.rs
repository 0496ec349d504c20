//! A skeleton that is being drawn: joints that can be placed, moved, renamed, hung elsewhere and deleted.

use dermis::Transform;
use dermis::character::{Rig, RigNode};
use glam::{Quat, Vec3};

/// A joint to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    pub name: String,
    pub parent: Option<usize>,
    /// In character space, metres.
    pub at: [f32; 3],
}

/// Joints in the order in which they were placed; parents may come later.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    pub joints: Vec<Joint>,
}

impl Draft {
    /// Adds a joint and returns its index.
    pub fn place(&mut self, at: [f32; 3], parent: Option<usize>) -> usize {
        let parent = parent.filter(|&p| p < self.joints.len());
        let stem = match parent {
            None => "root".to_owned(),
            Some(p) => {
                let name =
                    self.joints[p].name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(['.', '_']);
                if name.is_empty() || name == "root" { "joint".into() } else { name.to_owned() }
            }
        };
        let name = self.free_name(&stem, None);
        self.joints.push(Joint { name, parent, at });
        self.joints.len() - 1
    }

    /// A name that no other joint than `own` has.
    fn free_name(&self, stem: &str, own: Option<usize>) -> String {
        let taken = |name: &str| self.joints.iter().enumerate().any(|(i, j)| Some(i) != own && j.name == name);
        if !taken(stem) {
            return stem.to_owned();
        }
        (1..).map(|n| format!("{stem}_{n:02}")).find(|name| !taken(name)).unwrap_or_default()
    }

    /// Renames a joint; an empty name is refused, one that is taken gets a number.
    pub fn rename(&mut self, joint: usize, name: &str) -> bool {
        let name = name.trim();
        if name.is_empty() || joint >= self.joints.len() {
            return false;
        }
        self.joints[joint].name = self.free_name(name, Some(joint));
        true
    }

    /// True when `joint` is `above` or hangs below it.
    pub fn hangs_on(&self, joint: usize, above: usize) -> bool {
        let mut at = Some(joint);
        for _ in 0..=self.joints.len() {
            match at {
                Some(j) if j == above => return true,
                Some(j) => at = self.joints.get(j).and_then(|j| j.parent),
                None => return false,
            }
        }
        true
    }

    /// Hangs a joint on another; refused where that would be a ring.
    pub fn hang(&mut self, joint: usize, parent: Option<usize>) -> bool {
        let ring = parent.is_some_and(|p| p >= self.joints.len() || self.hangs_on(p, joint));
        if joint >= self.joints.len() || ring {
            return false;
        }
        self.joints[joint].parent = parent;
        true
    }

    /// Moves a joint, with all that hang below it if wanted.
    pub fn shift(&mut self, joint: usize, to: [f32; 3], with_children: bool) {
        let Some(old) = self.joints.get(joint) else { return };
        let by = Vec3::from(to) - Vec3::from(old.at);
        for j in 0..self.joints.len() {
            if j == joint || with_children && self.hangs_on(j, joint) {
                self.joints[j].at = (Vec3::from(self.joints[j].at) + by).to_array();
            }
        }
    }

    /// Deletes a joint; what hung on it hangs on its parent.
    pub fn delete(&mut self, joint: usize) {
        if joint >= self.joints.len() {
            return;
        }
        let up = self.joints.remove(joint).parent;
        let down = |p: usize| if p > joint { p - 1 } else { p };
        for j in &mut self.joints {
            j.parent = if j.parent == Some(joint) { up } else { j.parent }.map(down);
        }
    }

    /// Copies the joints below and at `joint` to the other side of the plane x = `plane`, `l` and `r` in their names swapped;
    /// joints on the plane hang as they do.
    pub fn mirror(&mut self, joint: usize, plane: f32) {
        let below: Vec<usize> = (0..self.joints.len()).filter(|&j| self.hangs_on(j, joint)).collect();
        let first = self.joints.len();
        for &j in &below {
            let Joint { name, parent, at } = self.joints[j].clone();
            let parent = parent.map(|p| below.iter().position(|&b| b == p).map_or(p, |i| first + i));
            let name = self.free_name(&swapped(&name), None);
            self.joints.push(Joint { name, parent, at: [2.0 * plane - at[0], at[1], at[2]] });
        }
    }

    /// The joints as a rig, parents first, with +Y along the bones and no scale; and the rig node of each joint.
    pub fn rig(&self) -> (Rig, Vec<usize>) {
        let n = self.joints.len();
        let mut order: Vec<usize> = Vec::with_capacity(n);
        let mut node = vec![usize::MAX; n];
        // Depth first from the roots, so that chains stay together.
        let mut open: Vec<usize> = (0..n).rev().filter(|&j| self.joints[j].parent.is_none()).collect();
        while let Some(j) = open.pop() {
            node[j] = order.len();
            order.push(j);
            open.extend((0..n).rev().filter(|&c| self.joints[c].parent == Some(j)));
        }
        let mut turned: Vec<Quat> = Vec::with_capacity(n);
        let mut rig = Rig::default();
        for &j in &order {
            let joint = &self.joints[j];
            let at = Vec3::from(joint.at);
            let children = self.joints.iter().filter(|c| c.parent == Some(j));
            let along: Vec3 = children.map(|c| (Vec3::from(c.at) - at).normalize_or_zero()).sum();
            let parent = joint.parent.map(|p| node[p]);
            let up = parent.map_or(Quat::IDENTITY, |p| turned[p]);
            // The shortest turn from the parent's bone: rolls stay as even as they can.
            let own = match along.try_normalize() {
                Some(along) => Quat::from_rotation_arc(up * Vec3::Y, along) * up,
                None => up,
            };
            let from = joint.parent.map_or(Vec3::ZERO, |p| Vec3::from(self.joints[p].at));
            let rest = Transform {
                rotation: (up.inverse() * own).normalize().to_array(),
                translation: (up.inverse() * (at - from)).to_array(),
                ..Transform::IDENTITY
            };
            turned.push(own.normalize());
            rig.nodes.push(RigNode { name: joint.name.clone(), parent, rest, source: j, ..RigNode::default() });
        }
        (rig, node)
    }
}

/// A name with its word for a side swapped: `arm_l`, `Arm.R`, `LeftArm`.
fn swapped(name: &str) -> String {
    let pairs = [("left", "right"), ("Left", "Right"), ("LEFT", "RIGHT")];
    for (l, r) in pairs {
        if name.contains(l) {
            return name.replacen(l, r, 1);
        }
        if name.contains(r) {
            return name.replacen(r, l, 1);
        }
    }
    let other = |c: char| match c {
        'l' => 'r',
        'r' => 'l',
        'L' => 'R',
        'R' => 'L',
        c => c,
    };
    let chars: Vec<char> = name.chars().collect();
    let alone = |i: usize| {
        let apart = |c: Option<&char>| c.is_none_or(|c| !c.is_alphanumeric());
        "lrLR".contains(chars[i]) && apart(i.checked_sub(1).and_then(|i| chars.get(i))) && apart(chars.get(i + 1))
    };
    (0..chars.len()).map(|i| if alone(i) { other(chars[i]) } else { chars[i] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis::pose::{Pose, joint_worlds};

    fn arm() -> Draft {
        let mut d = Draft::default();
        let root = d.place([0.0, 1.0, 0.0], None);
        let upper = d.place([0.2, 1.4, 0.0], Some(root));
        d.rename(upper, "arm_l");
        let lower = d.place([0.5, 1.4, 0.1], Some(upper));
        d.place([0.8, 1.3, 0.0], Some(lower));
        d
    }

    #[test]
    fn names_stay_apart() {
        let mut d = arm();
        let names: Vec<&str> = d.joints.iter().map(|j| j.name.as_str()).collect();
        assert_eq!(names, ["root", "arm_l", "arm_l_01", "arm_l_02"]);
        assert!(!d.rename(1, "  "));
        assert!(d.rename(3, "root") && d.joints[3].name == "root_01");
        assert!(d.rename(3, "root_01") && d.joints[3].name == "root_01");
    }

    #[test]
    fn the_rig_stands_where_the_joints_are() {
        let mut d = arm();
        // A parent that comes later.
        let late = d.place([0.0, 0.5, 0.0], None);
        assert!(d.hang(0, Some(late)));
        assert!(!d.hang(late, Some(3)), "a ring");
        assert!(!d.hang(2, Some(2)));
        let (rig, node) = d.rig();
        rig.validate().unwrap();
        let worlds = joint_worlds(&rig, &Pose::rest(&rig)).unwrap();
        for (j, joint) in d.joints.iter().enumerate() {
            let at = worlds[node[j]].rows.map(|r| r[3]);
            assert!((Vec3::from(at) - Vec3::from(joint.at)).length() < 1e-6, "{}", joint.name);
            assert_eq!(rig.nodes[node[j]].parent, joint.parent.map(|p| node[p]));
        }
        // +Y of a joint with one child points at it.
        let y = Vec3::from(worlds[node[1]].rows.map(|r| r[1]));
        let along = (Vec3::from(d.joints[2].at) - Vec3::from(d.joints[1].at)).normalize();
        assert!((y - along).length() < 1e-6);
        // Bones are along +Y of their own joints for the engine too.
        let axis = rig.bone_axes()[node[1]];
        assert!((Vec3::from(axis) - Vec3::Y).length() < 1e-6);
    }

    #[test]
    fn moving_and_deleting() {
        let mut d = arm();
        d.joints[3].at = [0.75, 1.5, 0.0];
        d.joints[2].at = [0.5, 1.25, 0.125];
        d.shift(2, [0.5, 2.25, 0.125], true);
        assert_eq!(d.joints[3].at, [0.75, 2.5, 0.0]);
        d.shift(2, [0.5, 1.25, 0.125], false);
        assert_eq!(d.joints[3].at, [0.75, 2.5, 0.0]);
        d.delete(1);
        assert_eq!(d.joints.iter().map(|j| j.parent).collect::<Vec<_>>(), [None, Some(0), Some(1)]);
        d.delete(0);
        assert_eq!(d.joints.iter().map(|j| j.parent).collect::<Vec<_>>(), [None, Some(0)]);
        d.delete(9);
        assert_eq!(d.joints.len(), 2);
    }

    #[test]
    fn mirrored_chains_hang_on_the_same_root() {
        let mut d = arm();
        d.mirror(1, 0.0);
        let new: Vec<(&str, Option<usize>, f32)> =
            d.joints[4..].iter().map(|j| (j.name.as_str(), j.parent, j.at[0])).collect();
        assert_eq!(new, [("arm_r", Some(0), -0.2), ("arm_r_01", Some(4), -0.5), ("arm_r_02", Some(5), -0.8)]);
        for (name, other) in [("hand.L", "hand.R"), ("LeftHand", "RightHand"), ("roll", "roll"), ("r", "l")] {
            assert_eq!(swapped(name), other);
        }
    }
}
