//! The built-in hand spaces, for any rig whose fingers are found.

use super::fingers::{FingerAngles, FingerPose};
use super::hands::{HandChoice, Hands};
use super::limits::Limit;
use super::mirror::Mirror;
use super::names::{self, Side};
use super::space::{Corner, NodeLimit, PoseSpace, PoseSpaceDescriptor, Sample};
use crate::Result;
use crate::character::Rig;
use crate::pose::Pose;

use glam::DVec3;

/// A built-in space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BuiltIn {
    /// Open hand (0, 0), fist (1, 0) in four ways, sword (0.5, 0.87).
    #[default]
    Triangle,
    /// Open hand (0, 0), fist (1, 0) in four ways, sword (1, 1), pointing finger (0, 1).
    Square,
    /// Open hand (0, 0, 0), fist (1, 0, 0) in four ways, sword (0.5, 0.87, 0), pinch (0.5, 0.29, 0.82).
    Tetrahedron,
}

/// Name; flexion, spread and twist of thumb, index, middle, ring and little finger, degrees from a straight finger.
type Recipe = (&'static str, [Bends; 5]);

const OPEN: Recipe = (
    "open",
    [
        ([-7.0, -4.0, -2.0], 9.0, 0.0),
        ([0.0, 3.0, 3.0], 4.0, 0.0),
        ([1.0, 4.0, 3.0], 0.0, 0.0),
        ([1.0, 4.0, 3.0], 4.0, 0.0),
        ([0.0, 4.0, 3.0], 8.0, 0.0),
    ],
);
/// One finger's part of a recipe.
type Bends = ([f32; 3], f32, f32);
/// A tight fist's fingers.
const INDEX: Bends = ([86.0, 104.0, 66.0], -4.0, 0.0);
const MIDDLE: Bends = ([88.0, 106.0, 67.0], 0.0, 0.0);
const RING: Bends = ([87.0, 105.0, 66.0], -3.0, 0.0);
const LITTLE: Bends = ([79.0, 97.0, 52.0], -7.0, 0.0);
const FISTS: [Recipe; 4] = [
    ("fist", [([22.0, 42.0, 58.0], -2.0, -20.0), INDEX, MIDDLE, RING, LITTLE]),
    ("fist thumb in", [([14.0, 60.0, 64.0], -18.0, -26.0), LOOSE, LOOSE, LOOSE, ([64.0, 82.0, 50.0], -5.0, 0.0)]),
    ("fist thumb up", [([-22.0, -8.0, -14.0], 18.0, 0.0), INDEX, MIDDLE, RING, LITTLE]),
    (
        "fist loose",
        [
            ([12.0, 22.0, 26.0], -4.0, -10.0),
            ([46.0, 62.0, 34.0], 0.0, 0.0),
            ([52.0, 66.0, 36.0], 0.0, 0.0),
            ([56.0, 68.0, 38.0], 0.0, 0.0),
            ([58.0, 66.0, 38.0], -2.0, 0.0),
        ],
    ),
];
const LOOSE: Bends = ([66.0, 84.0, 50.0], 0.0, 0.0);
const SWORD: Recipe =
    ("sword", [([19.0, 60.0, 48.0], 3.0, -24.0), ([0.0; 3], -4.0, 0.0), ([0.0; 3], 0.0, 0.0), RING, LITTLE]);
const POINT: Recipe = ("point", [([22.0, 42.0, 56.0], -2.0, -20.0), ([0.0; 3], 0.0, 0.0), MIDDLE, RING, LITTLE]);
const PINCH: Recipe = (
    "pinch",
    [
        ([26.0, 11.0, 35.0], -6.0, -30.0),
        ([58.0, 60.0, 26.0], 0.0, 0.0),
        ([26.0, 32.0, 16.0], 0.0, 0.0),
        ([18.0, 26.0, 12.0], 2.0, 0.0),
        ([12.0, 22.0, 10.0], 4.0, 0.0),
    ],
);

impl BuiltIn {
    /// The space's descriptor for the chosen sides of `hands`. The left hand's poses are made first (where there is one)
    /// and mirrored to the right.
    ///
    /// # Errors
    /// Those of [`Hands::apply`] and [`Mirror::new`].
    pub fn descriptor(self, rig: &Rig, hands: &Hands, sides: &[Side]) -> Result<PoseSpaceDescriptor> {
        let fists = || vec![1, 2, 3, 4];
        let (name, dimensions, corners, last): (_, _, Vec<([f32; 3], Vec<usize>)>, _) = match self {
            Self::Triangle => (
                "hand triangle",
                2,
                vec![([0.0; 3], vec![0]), ([1.0, 0.0, 0.0], fists()), ([0.5, 0.87, 0.0], vec![5])],
                None,
            ),
            Self::Square => (
                "hand square",
                2,
                vec![
                    ([0.0; 3], vec![0]),
                    ([1.0, 0.0, 0.0], fists()),
                    ([1.0, 1.0, 0.0], vec![5]),
                    ([0.0, 1.0, 0.0], vec![6]),
                ],
                Some(POINT),
            ),
            Self::Tetrahedron => (
                "hand tetrahedron",
                3,
                vec![
                    ([0.0; 3], vec![0]),
                    ([1.0, 0.0, 0.0], fists()),
                    ([0.5, 0.87, 0.0], vec![5]),
                    ([0.5, 0.29, 0.82], vec![6]),
                ],
                Some(PINCH),
            ),
        };
        let mirror = Mirror::new(rig, Some(hands))?;
        let recipes = [OPEN].into_iter().chain(FISTS).chain([SWORD]).chain(last);
        let samples: Result<Vec<Sample>> = recipes.map(|r| sample(rig, hands, &mirror, sides, &r)).collect();
        Ok(PoseSpaceDescriptor {
            name: name.into(),
            dimensions,
            corners: corners.into_iter().map(|(at, samples)| Corner { at, samples }).collect(),
            samples: samples?,
            default: 0,
            groups: hands.groups(),
            limits: built_in_limits(rig, Some(hands))?,
            leaders: hands.leaders.clone(),
            ..Default::default()
        })
    }

    /// The space itself, with both hands.
    ///
    /// # Errors
    /// Those of [`BuiltIn::descriptor`] and [`PoseSpace::new`].
    pub fn space(self, rig: &Rig, hands: &Hands) -> Result<PoseSpace> {
        let sides = hands.sides(rig, HandChoice::Both, None, [0.0; 3])?;
        PoseSpace::new(rig, self.descriptor(rig, hands, &sides)?)
    }
}

fn sample(rig: &Rig, hands: &Hands, mirror: &Mirror, sides: &[Side], recipe: &Recipe) -> Result<Sample> {
    let fingers = recipe.1.map(|(flexion, spread, twist)| {
        let flexion = flexion.map(f32::to_radians);
        Some(FingerAngles { flexion, spread: spread.to_radians(), twist: twist.to_radians() })
    });
    let pose = hands.pose(rig, mirror, sides, &FingerPose { fingers, from_straight: true })?;
    Ok(Sample { name: recipe.0.into(), pose, texture: None })
}

impl Hands {
    /// The rest pose with a finger pose on the chosen sides: stated for the left hand where there is one, and mirrored to
    /// the right.
    ///
    /// # Errors
    /// Those of [`Hands::apply`] and [`Mirror::pose`].
    pub fn pose(&self, rig: &Rig, mirror: &Mirror, sides: &[Side], fingers: &FingerPose) -> Result<Pose> {
        let mut first = Pose::rest(rig);
        let Some(made) = self.hands.first().map(|h| h.side) else { return Ok(first) };
        self.apply(rig, made, fingers, &mut first)?;
        let mut out = Pose::rest(rig);
        for &side in sides {
            let from = if side == made { first.clone() } else { mirror.pose(rig, &first)? };
            self.take(side, &from, &mut out);
        }
        Ok(out)
    }

    /// Copies the joints of one hand.
    pub fn take(&self, side: Side, from: &Pose, to: &mut Pose) {
        for node in self.get(side).into_iter().flat_map(super::hands::Hand::nodes) {
            if let (Some(from), Some(to)) = (from.joints.get(node), to.joints.get_mut(node)) {
                *to = *from;
            }
        }
    }
}

/// Limits for what is recognised in a rig: fingers, elbows and knees (by their names). They never cut a sample pose.
///
/// # Errors
/// Those of [`Rig::validate`].
pub fn built_in_limits(rig: &Rig, hands: Option<&Hands>) -> Result<Vec<NodeLimit>> {
    let worlds = super::hands::rest_worlds(rig)?;
    let axes = rig.bone_axes();
    let words: Vec<Vec<String>> = rig.nodes.iter().map(|n| names::words(&n.name)).collect();
    let mut out = Vec::new();
    // Where the character faces: its left, crossed with up.
    let mut left = DVec3::ZERO;
    for (i, w) in words.iter().enumerate() {
        match names::side(w) {
            Some(Side::Left) => left += worlds[i].t,
            Some(Side::Right) => left -= worlds[i].t,
            None => {}
        }
    }
    let facing = DVec3::new(left.x, 0.0, left.z).cross(DVec3::Y).normalize_or(DVec3::Z);
    for (node, w) in words.iter().enumerate() {
        let elbow = names::is_lower_arm(w);
        if !elbow && !names::is_lower_leg(w) {
            continue;
        }
        let Some(parent) = rig.nodes[node].parent else { continue };
        let bone = (worlds[node].m * DVec3::from(axes[node].map(f64::from))).normalize_or(DVec3::Y);
        let upper = (worlds[node].t - worlds[parent].t).normalize_or(bone);
        // An elbow bends forwards, a knee backwards.
        let to = if elbow { facing } else { -facing };
        let hinge = bone.cross(to).normalize_or(DVec3::X);
        let rest = upper.cross(bone).dot(hinge).atan2(upper.dot(bone)).to_degrees() as f32;
        let z = [-5.0, 155.0].map(|f: f32| (f - rest).clamp(-165.0, 165.0));
        let z = [z[0].min(0.0), z[1].max(0.0)];
        let twist = if elbow { 95.0 } else { 35.0 };
        let m = worlds[node].m;
        let own = ((m.transpose() * hinge) * m.determinant().signum()).normalize_or(DVec3::X);
        let limit = Limit::degrees([-twist, twist], [-8.0, 8.0], z);
        out.push(NodeLimit { node, limit, hinge: Some(own.as_vec3().to_array()), built_in: true });
    }
    out.extend(hands.into_iter().flat_map(Hands::limits));
    Ok(out)
}

impl BuiltIn {
    /// The space of a name: `triangle`, `square` or `tetrahedron`.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "triangle" => Self::Triangle,
            "square" => Self::Square,
            "tetrahedron" => Self::Tetrahedron,
            _ => return None,
        })
    }
}
