//! Where the joints of a right hand are, in millimetres: the wrist at the origin, +Y towards the fingertips, +Z out of the
//! palm, +X towards the thumb.
//!
//! Bone lengths: Buryanov & Kotiuk, "Proportions of hand segments", International Journal of Morphology 28(3), 2010
//! (means of adults, with the soft tissue beyond the last bone).

use glam::{Mat3, Vec3};

/// Joints of one hand, as WebXR lists them (W3C, WebXR Hand Input, section 3.2).
pub(super) const JOINTS: usize = 25;

pub(super) const NAMES: [&str; JOINTS] = [
    "wrist",
    "thumb-metacarpal",
    "thumb-phalanx-proximal",
    "thumb-phalanx-distal",
    "thumb-tip",
    "index-finger-metacarpal",
    "index-finger-phalanx-proximal",
    "index-finger-phalanx-intermediate",
    "index-finger-phalanx-distal",
    "index-finger-tip",
    "middle-finger-metacarpal",
    "middle-finger-phalanx-proximal",
    "middle-finger-phalanx-intermediate",
    "middle-finger-phalanx-distal",
    "middle-finger-tip",
    "ring-finger-metacarpal",
    "ring-finger-phalanx-proximal",
    "ring-finger-phalanx-intermediate",
    "ring-finger-phalanx-distal",
    "ring-finger-tip",
    "pinky-finger-metacarpal",
    "pinky-finger-phalanx-proximal",
    "pinky-finger-phalanx-intermediate",
    "pinky-finger-phalanx-distal",
    "pinky-finger-tip",
];

/// First joint of each finger, thumb to little finger.
pub(super) const FIRST: [usize; 5] = [1, 5, 10, 15, 20];

/// Where the forearm ends.
pub(super) const STUMP: f32 = -58.0;

/// Lengths of the bones beyond the metacarpal, and of the soft tissue beyond the last.
const PHALANGES: [&[f32]; 5] = [
    &[31.57, 21.67, 5.67],
    &[39.78, 22.38, 15.82, 3.84],
    &[44.63, 26.33, 17.40, 3.95],
    &[41.37, 25.65, 17.30, 3.95],
    &[32.74, 18.11, 15.96, 3.73],
];

/// Both ends of the metacarpals; their lengths are those of the paper, 46.22, 68.12, 64.60, 58.00 and 53.69.
const METACARPALS: [[Vec3; 2]; 5] = [
    [Vec3::new(20.0, 14.0, 8.0), Vec3::new(52.4, 43.5, 22.2)],
    [Vec3::new(12.0, 29.0, -2.0), Vec3::new(25.0, 95.8, -4.0)],
    [Vec3::new(2.0, 33.0, -3.0), Vec3::new(4.0, 97.6, -5.0)],
    [Vec3::new(-7.0, 32.0, -2.0), Vec3::new(-16.0, 89.3, -3.5)],
    [Vec3::new(-16.0, 29.0, 0.0), Vec3::new(-34.0, 79.6, 0.5)],
];

/// Degrees that a finger leans towards the thumb, and that each of its bones is bent towards the palm.
const LEAN: [(f32, [f32; 3]); 5] = [
    (0.0, [0.0; 3]),
    (5.0, [7.0, 13.0, 8.0]),
    (0.5, [9.0, 14.0, 9.0]),
    (-4.5, [10.0, 15.0, 9.0]),
    (-11.0, [11.0, 16.0, 10.0]),
];

/// Directions of the thumb's two phalanges.
const THUMB: [Vec3; 2] = [Vec3::new(0.56, 0.79, 0.25), Vec3::new(0.47, 0.86, 0.20)];

/// One joint in the rest pose.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Joint {
    pub at: Vec3,
    /// Unit, along the bone.
    pub along: Vec3,
    /// Unit, across the bone, out of the back of the hand (or of the nail).
    pub dorsal: Vec3,
    pub parent: Option<usize>,
}

impl Joint {
    /// WebXR's axes as columns: +Y dorsal, −Z along the bone, +X square to both.
    pub fn axes(&self) -> Mat3 {
        Mat3::from_cols(self.along.cross(self.dorsal), self.dorsal, -self.along)
    }
}

/// A right hand's joints at rest.
#[derive(Clone, Debug)]
pub(super) struct Anatomy {
    pub joints: [Joint; JOINTS],
    /// The outermost points of the fingertips, soft tissue included.
    pub ends: [Vec3; 5],
}

impl Anatomy {
    pub fn new() -> Self {
        let mut joints = [Joint::default(); JOINTS];
        let mut ends = [Vec3::ZERO; 5];
        joints[0] = Joint { at: Vec3::ZERO, along: Vec3::Y, dorsal: Vec3::NEG_Z, parent: None };
        for finger in 0..5 {
            let first = FIRST[finger];
            let [base, head] = METACARPALS[finger];
            let thumb = finger == 0;
            let back = if thumb { Vec3::new(0.78, -0.2, -0.6) } else { Vec3::NEG_Z };
            let mut place = |joint: usize, at: Vec3, along: Vec3, parent: usize| {
                let along = along.normalize();
                let dorsal = (back - along * along.dot(back)).normalize();
                joints[joint] = Joint { at, along, dorsal, parent: Some(parent) };
            };
            place(first, base, head - base, 0);
            let mut at = head;
            let bones = PHALANGES[finger].len() - 1;
            let mut bent = 0.0;
            for bone in 0..=bones {
                let joint = first + 1 + bone;
                let along = if thumb {
                    THUMB[bone.min(1)].normalize()
                } else {
                    let (lean, bends) = LEAN[finger];
                    bent += bends.get(bone).copied().unwrap_or(0.0).to_radians();
                    let lean = lean.to_radians();
                    Vec3::new(lean.sin(), lean.cos(), 0.0) * bent.cos() + Vec3::Z * bent.sin()
                };
                place(joint, at, along, joint - 1);
                at += along * PHALANGES[finger][bone];
            }
            ends[finger] = at;
        }
        Self { joints, ends }
    }

    /// The bending joints of a finger: knuckle outwards, tip last (a thumb: its two phalanges and the tip).
    pub fn phalanges(&self, finger: usize) -> &[Joint] {
        let count = if finger == 0 { 3 } else { 4 };
        &self.joints[FIRST[finger] + 1..FIRST[finger] + 1 + count]
    }
}
