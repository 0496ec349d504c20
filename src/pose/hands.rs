//! Finds the hands of a rig by its joints' names and measures them in the rest pose.

use glam::DVec3;

use super::follow::Chain;
use super::limits::Limit;
use super::names::{self, Finger, Rank, Side};
use super::space::{Group, NodeLimit, join};
use crate::character::Rig;
use crate::math::Affine64;
use crate::pose::{Pose, hierarchy};
use crate::{Error, Result};

/// Which hands a pose is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HandChoice {
    /// The character's left.
    Left,
    /// The character's right.
    Right,
    /// Both that there are.
    #[default]
    Both,
    /// The one last touched, else the one nearer the camera.
    Auto,
}

/// A bending joint of a finger.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FingerJoint {
    /// Rig node.
    pub node: usize,
    /// Unit axis in the joint's own frame; a positive turn about it flexes (towards the palm).
    pub hinge: [f32; 3],
    /// Unit axis in the joint's own frame; a positive turn about it spreads: away from the middle finger, the middle finger
    /// itself towards the thumb, the thumb away from the palm.
    pub spread: [f32; 3],
    /// Unit axis in the joint's own frame along the bone; out of the fingertip on a right hand, into it on a left one, so
    /// that equal twists mirror each other.
    pub twist: [f32; 3],
    /// How far it is flexed in the rest pose already, radians; 0 is a straight finger in the plane of the palm.
    pub rest_flexion: f32,
}

/// The joints of one finger, from the wrist outwards.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FingerJoints {
    /// The bone inside the palm, if the rig has one (never for a thumb: its metacarpal bends).
    pub metacarpal: Option<usize>,
    /// One to three bending joints.
    pub joints: Vec<FingerJoint>,
    /// A joint at the fingertip that moves nothing.
    pub tip: Option<usize>,
}

/// One hand of a rig.
#[derive(Clone, Debug, PartialEq)]
pub struct Hand {
    /// Which it is.
    pub side: Side,
    /// The joint the fingers hang on.
    pub wrist: Option<usize>,
    /// By [`Finger`]; a finger the rig lacks has no joints.
    pub fingers: [FingerJoints; 5],
}

/// The hands of a rig.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hands {
    /// Left, then right; at least one.
    pub hands: Vec<Hand>,
    /// For each rig node the sibling it moves with, in rigs whose fingers are flat lists of siblings (WebXR).
    pub leaders: Vec<Option<usize>>,
}

impl Hands {
    /// Finds hands by VRM humanoid, WebXR, Mixamo, Unreal, biped and `_l/_r`, `.L/.R` names. `humanoid` names rig nodes by
    /// a file's own table (VRM's `humanBones`) and goes first; `hints` are other names of the file that may tell the side of
    /// a hand whose joints do not (else its shape does).
    ///
    /// # Errors
    /// [`Error::UnknownName`] listing the rig's nodes when there are no fingers.
    pub fn find(rig: &Rig, humanoid: &[(String, usize)], hints: &[&str]) -> Result<Self> {
        let names = Names::new(rig, humanoid);
        let mut hands = Vec::new();
        for side in [Some(Side::Left), Some(Side::Right)] {
            hands.extend(names.hand(rig, side));
        }
        if hands.is_empty() {
            hands.extend(names.hand(rig, None));
        }
        if hands.is_empty() {
            let found = join(rig.nodes.iter().map(|n| n.name.as_str()));
            return Err(Error::UnknownName { what: "hand with fingers", name: "index finger".into(), found });
        }
        let mut leaders = vec![None; rig.nodes.len()];
        for found in &hands {
            found.lead(rig, &mut leaders);
        }
        let axes = Chain::new(rig, &leaders)?.axes;
        let worlds = rest_worlds(rig)?;
        let hint = hints.iter().find_map(|h| names::side(&names::words(h)));
        let hands = hands.into_iter().map(|found| found.measure(&worlds, &axes, hint)).collect();
        Ok(Self { hands, leaders })
    }

    /// The hand of one side.
    pub fn get(&self, side: Side) -> Option<&Hand> {
        self.hands.iter().find(|h| h.side == side)
    }

    /// The sides a choice means. `touched` is the hand the user last touched, `camera` where the viewer is in character
    /// space; both only matter to [`HandChoice::Auto`].
    ///
    /// # Errors
    /// [`Error::UnknownName`] when the rig lacks the hand chosen.
    pub fn sides(&self, rig: &Rig, choice: HandChoice, touched: Option<Side>, camera: [f32; 3]) -> Result<Vec<Side>> {
        let one = |side: Side| match self.get(side) {
            Some(_) => Ok(vec![side]),
            None => Err(Error::UnknownName {
                what: "hand",
                name: side.name().into(),
                found: join(self.hands.iter().map(|h| h.side.name())),
            }),
        };
        match choice {
            HandChoice::Left => one(Side::Left),
            HandChoice::Right => one(Side::Right),
            HandChoice::Both => Ok(self.hands.iter().map(|h| h.side).collect()),
            HandChoice::Auto => {
                if let Some(side) = touched.filter(|s| self.get(*s).is_some()) {
                    return Ok(vec![side]);
                }
                let worlds = rest_worlds(rig)?;
                let eye = DVec3::from(camera.map(f64::from));
                let away = |h: &Hand| h.nodes().next().map_or(f64::INFINITY, |n| worlds[n].t.distance(eye));
                let nearest = self.hands.iter().min_by(|a, b| away(a).total_cmp(&away(b)));
                Ok(nearest.map(|h| h.side).into_iter().collect())
            }
        }
    }

    /// A group for every finger and hand: `thumb`… (of both hands), and where there are two hands `left`, `right`,
    /// `left thumb`…
    pub fn groups(&self) -> Vec<Group> {
        let mut out = Vec::new();
        for finger in Finger::ALL {
            let nodes: Vec<usize> = self.hands.iter().flat_map(|h| h.fingers[finger as usize].nodes()).collect();
            if !nodes.is_empty() {
                out.push(Group { name: finger.name().into(), nodes });
            }
        }
        for hand in self.hands.iter().filter(|_| self.hands.len() > 1) {
            out.push(Group { name: hand.side.name().into(), nodes: hand.nodes().collect() });
            for finger in Finger::ALL {
                let nodes: Vec<usize> = hand.fingers[finger as usize].nodes().collect();
                if !nodes.is_empty() {
                    out.push(Group { name: format!("{} {}", hand.side.name(), finger.name()), nodes });
                }
            }
        }
        out
    }

    /// What fingers can do, from a straight finger, fitted to each joint's rest flexion. Degrees of flexion after the
    /// active ranges of common goniometry tables (Norkin & White, Measurement of Joint Motion), with a little slack.
    pub fn limits(&self) -> Vec<NodeLimit> {
        let mut out = Vec::new();
        for hand in &self.hands {
            for finger in Finger::ALL {
                for (i, joint) in hand.fingers[finger as usize].joints.iter().enumerate() {
                    let (twist, side, flexion) = match (finger, i) {
                        (Finger::Thumb, 0) => (35.0, 45.0, [-35.0, 55.0]),
                        (Finger::Thumb, 1) => (15.0, 20.0, [-15.0, 70.0]),
                        (Finger::Thumb, _) => (6.0, 6.0, [-20.0, 90.0]),
                        (_, 0) => (15.0, 25.0, [-30.0, 95.0]),
                        (_, 1) => (6.0, 6.0, [-5.0, 115.0]),
                        (_, _) => (6.0, 6.0, [-10.0, 90.0]),
                    };
                    let rest = joint.rest_flexion.to_degrees();
                    let z = flexion.map(|f: f32| (f - rest).clamp(-165.0, 165.0));
                    let limit = Limit::degrees([-twist, twist], [-side, side], z);
                    out.push(NodeLimit { node: joint.node, limit, hinge: Some(joint.hinge), built_in: true });
                }
            }
        }
        out
    }
}

impl FingerJoints {
    /// All its nodes, from the palm outwards.
    pub fn nodes(&self) -> impl Iterator<Item = usize> + '_ {
        self.metacarpal.into_iter().chain(self.joints.iter().map(|j| j.node)).chain(self.tip)
    }
}

impl Hand {
    /// All finger joints, thumb first (not the wrist).
    pub fn nodes(&self) -> impl Iterator<Item = usize> + '_ {
        self.fingers.iter().flat_map(FingerJoints::nodes)
    }
}

pub(super) fn rest_worlds(rig: &Rig) -> Result<Vec<Affine64>> {
    let mut worlds = Vec::new();
    hierarchy::worlds64(rig, &rig.bone_axes(), &Pose::rest(rig), &mut worlds)?;
    Ok(worlds)
}

/// Every node's words, side and place in a finger.
struct Names {
    of: Vec<Read>,
}

/// Side, place in a finger, and whether it is the joint the fingers hang on.
type Read = (Option<Side>, Option<(Finger, Rank)>, bool);

/// A hand before it is measured: nodes only.
struct Found {
    side: Option<Side>,
    wrist: Option<usize>,
    fingers: [FoundFinger; 5],
}

#[derive(Default)]
struct FoundFinger {
    metacarpal: Option<usize>,
    joints: Vec<usize>,
    tip: Option<usize>,
}

impl Names {
    fn new(rig: &Rig, humanoid: &[(String, usize)]) -> Self {
        let mut of: Vec<Read> = Vec::with_capacity(rig.nodes.len());
        for (i, node) in rig.nodes.iter().enumerate() {
            let name = humanoid.iter().find(|h| h.1 == i).map_or(node.name.as_str(), |h| h.0.as_str());
            let w = names::words(name);
            // A finger without a side of its own takes its parent's.
            let side = names::side(&w).or_else(|| node.parent.and_then(|p| of[p].0));
            of.push((side, names::finger(&w), names::is_hand(&w)));
        }
        Self { of }
    }

    fn hand(&self, rig: &Rig, side: Option<Side>) -> Option<Found> {
        let mut fingers: [FoundFinger; 5] = Default::default();
        for finger in Finger::ALL {
            let mut nodes: Vec<(u32, usize)> = Vec::new();
            for (i, of) in self.of.iter().enumerate() {
                let Some((f, rank)) = of.1 else { continue };
                if f == finger && of.0 == side {
                    nodes.push((order(rank), i));
                }
            }
            fingers[finger as usize] = FoundFinger::new(rig, finger, nodes);
        }
        if fingers[1..].iter().all(|f| f.joints.is_empty()) {
            return None;
        }
        let base = fingers[1..].iter().find_map(|f| f.metacarpal.or(f.joints.first().copied()))?;
        let named = || (0..rig.nodes.len()).filter(|&i| self.of[i].2 && self.of[i].0 == side);
        let above = std::iter::successors(rig.nodes[base].parent, |&p| rig.nodes[p].parent);
        let wrist = above
            .into_iter()
            .find(|&p| self.of[p].2)
            .or_else(|| named().find(|&i| rig.nodes[i].parent == rig.nodes[base].parent))
            .or(rig.nodes[base].parent);
        Some(Found { side, wrist, fingers })
    }
}

/// Sorts a finger's joints from the wrist outwards.
fn order(rank: Rank) -> u32 {
    match rank {
        Rank::Metacarpal => 0,
        Rank::Proximal => 1,
        Rank::Intermediate => 2,
        Rank::Distal => 3,
        Rank::Number(n) => 10 + n.min(1000),
        Rank::Tip => 2000,
    }
}

impl FoundFinger {
    fn new(rig: &Rig, finger: Finger, mut nodes: Vec<(u32, usize)>) -> Self {
        nodes.sort();
        // Of several joints with one name (control rigs), the one that hangs on the joint before.
        let mut kept: Vec<(u32, usize)> = Vec::new();
        for group in nodes.chunk_by(|a, b| a.0 == b.0) {
            let before = kept.last().map(|k| k.1);
            let hangs = group.iter().find(|(_, n)| before.is_some() && rig.nodes[*n].parent == before);
            kept.extend(hangs.or(group.first()));
        }
        let mut tip = (kept.last().is_some_and(|k| k.0 == 2000)).then(|| kept.pop()).flatten().map(|k| k.1);
        let thumb = finger == Finger::Thumb;
        let mut metacarpal = None;
        if let Some(&(rank, node)) = kept.first()
            && !thumb
            && (rank == 0 || (rank == 10 && kept.len() >= 4))
        {
            metacarpal = Some(node);
            kept.remove(0);
        }
        if kept.len() > 3 {
            tip = tip.or(Some(kept[3].1));
            kept.truncate(3);
        }
        let joints: Vec<usize> = kept.into_iter().map(|k| k.1).collect();
        if tip.is_none()
            && let Some(&last) = joints.last()
        {
            let mut children = (0..rig.nodes.len()).filter(|&i| rig.nodes[i].parent == Some(last));
            tip = children.next().filter(|_| children.next().is_none());
        }
        Self { metacarpal, joints, tip }
    }

    fn nodes(&self) -> impl Iterator<Item = usize> + '_ {
        self.metacarpal.into_iter().chain(self.joints.iter().copied()).chain(self.tip)
    }
}

impl Found {
    /// In a flat hand every joint moves with the one before it.
    fn lead(&self, rig: &Rig, leaders: &mut [Option<usize>]) {
        for finger in &self.fingers {
            let mut before = self.wrist;
            for node in finger.nodes() {
                if let Some(b) = before.filter(|&b| b != node && rig.nodes[b].parent == rig.nodes[node].parent) {
                    leaders[node] = Some(b);
                }
                before = Some(node);
            }
        }
    }

    /// Finds the palm's plane and every joint's axes in the rest pose.
    fn measure(self, worlds: &[Affine64], axes: &[DVec3], hint: Option<Side>) -> Hand {
        let at = |n: usize| worlds[n].t;
        let bases: Vec<usize> = self.fingers[1..].iter().filter_map(|f| f.joints.first().copied()).collect();
        let middle = bases.iter().map(|&b| at(b)).sum::<DVec3>() / bases.len() as f64;
        let bone = |n: usize| (worlds[n].m * axes[n]).normalize_or_zero();
        let along = bases.iter().map(|&b| bone(b)).sum::<DVec3>().normalize_or(DVec3::Y);
        let forward = self.wrist.map_or(along, |w| (middle - at(w)).normalize_or(along));
        // From the index finger's side to the little finger's.
        let across = match (bases.as_slice(), self.fingers[0].joints.first()) {
            ([first, .., last], _) => at(*last) - at(*first),
            ([only], Some(&thumb)) => at(*only) - at(thumb),
            _ => forward.any_orthonormal_vector(),
        };
        let across = (across - forward * forward.dot(across)).normalize_or(forward.any_orthonormal_vector());
        let up = forward.cross(across);
        let side = self.side.or(hint).unwrap_or_else(|| {
            // Fingers curl, and the thumb lies, towards the palm.
            let curl: f64 = self.fingers.iter().flat_map(|f| f.joints.iter().skip(1)).map(|&j| bone(j).dot(up)).sum();
            if curl >= 0.0 { Side::Right } else { Side::Left }
        });
        let palm = if side == Side::Right { up } else { -up };
        let frame = Palm { palm, across, handed: if side == Side::Right { 1.0 } else { -1.0 } };
        let index = bases.first().map_or(middle, |&b| at(b));
        let fingers = std::array::from_fn(|i| {
            let f = &self.fingers[i];
            let bones: Vec<DVec3> = f.joints.iter().map(|&j| bone(j)).collect();
            let joints = frame.joints(Finger::ALL[i], &f.joints, &bones, worlds, index);
            FingerJoints { metacarpal: f.metacarpal, joints, tip: f.tip }
        });
        Hand { side, wrist: self.wrist, fingers }
    }
}

/// Directions of a palm in the rest pose, in character space.
struct Palm {
    /// Out of the palm.
    palm: DVec3,
    /// From the index finger to the little finger.
    across: DVec3,
    handed: f64,
}

impl Palm {
    fn joints(
        &self,
        finger: Finger,
        nodes: &[usize],
        bones: &[DVec3],
        worlds: &[Affine64],
        index: DVec3,
    ) -> Vec<FingerJoint> {
        let (Some(&first), Some(&base)) = (bones.first(), nodes.first()) else { return Vec::new() };
        let whole = bones.iter().sum::<DVec3>().normalize_or(first);
        // Where the fingertip goes when it flexes, and when it spreads.
        let (flex_to, spread_to) = match finger {
            Finger::Thumb => {
                // A thumb flexes across the palm, about 40° out of its plane, and spreads away from the index finger.
                let flex = (self.across * 0.8 + self.palm * 0.6).normalize();
                let off = |v: DVec3| v - whole * whole.dot(v);
                let away = off(worlds[base].t - index);
                let flat = off(flex).normalize_or(self.palm);
                (flex, (away - flat * flat.dot(away)).normalize_or(self.palm))
            }
            Finger::Index | Finger::Middle => (self.palm, -self.across),
            Finger::Ring | Finger::Little => (self.palm, self.across),
        };
        let hinge = whole.cross(flex_to).normalize_or(self.across);
        let mut out = Vec::with_capacity(nodes.len());
        for (i, (&node, &bone)) in nodes.iter().zip(bones).enumerate() {
            let square = |v: DVec3, or: DVec3| (v - bone * bone.dot(v)).normalize_or(or);
            let hinge = square(hinge, bone.any_orthonormal_vector());
            let spread = bone.cross(spread_to);
            let spread = (spread - hinge * hinge.dot(spread)).normalize_or(hinge.cross(bone));
            let rest_flexion = match (i, finger) {
                (0, Finger::Thumb) => 0.0,
                (0, _) => bone.dot(self.palm).clamp(-1.0, 1.0).asin(),
                _ => bones[i - 1].cross(bone).dot(hinge).atan2(bones[i - 1].dot(bone)),
            };
            // Into the joint's own frame: the transpose turns the axis back, the determinant keeps the sense of rotation.
            let m = worlds[node].m;
            let own = |axis: DVec3| ((m.transpose() * axis) * m.determinant().signum()).normalize_or(DVec3::X);
            out.push(FingerJoint {
                node,
                hinge: own(hinge).as_vec3().to_array(),
                spread: own(spread).as_vec3().to_array(),
                twist: own(bone * self.handed).as_vec3().to_array(),
                rest_flexion: rest_flexion as f32,
            });
        }
        out
    }
}
