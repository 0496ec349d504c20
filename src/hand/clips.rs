//! Two looping clips of the hands: closing to a fist, and a ripple through the fingers.

use std::f32::consts::TAU;

use crate::Result;
use crate::character::{Channel, Clip, Interpolation, Rig, Target};
use crate::pose::{BuiltIn, FingerAngles, FingerPose, HandChoice, Hands, Mirror, Pose, PoseSpace, SpaceState};

/// Keys of a clip; the last is the first again.
const KEYS: usize = 41;

pub(super) fn clips(rig: &Rig) -> Result<Vec<Clip>> {
    let hands = Hands::find(rig, &[], &[])?;
    let space = BuiltIn::Triangle.space(rig, &hands)?;
    let close = |turn: f32| -> Result<Pose> {
        // Rests a moment open and closed.
        let x = (0.5 - 0.6 * (TAU * turn).cos()).clamp(0.0, 1.0);
        at(&space, [x * x * (3.0 - 2.0 * x), 0.0, 0.0])
    };
    let mirror = Mirror::new(rig, Some(&hands))?;
    let sides = hands.sides(rig, HandChoice::Both, None, [0.0; 3])?;
    let ripple = |turn: f32| {
        let bent = |finger: usize| {
            let x = 0.5 - 0.5 * (TAU * (turn + 0.09 * finger as f32)).cos();
            let [a, b, c] = if finger == 0 { [14.0, 26.0, 30.0] } else { [44.0, 58.0, 34.0] };
            let flexion = [a * x, b * x, c * x].map(f32::to_radians);
            let spread = [4.0, 3.0, 0.0, 3.0, 6.0][finger] * (1.0 - x);
            Some(FingerAngles { flexion, spread: spread.to_radians(), twist: 0.0 })
        };
        let fingers = FingerPose { fingers: std::array::from_fn(bent), from_straight: false };
        hands.pose(rig, &mirror, &sides, &fingers)
    };
    Ok(vec![clip(rig, "open and close", 4.0, close)?, clip(rig, "ripple", 3.0, ripple)?])
}

fn at(space: &PoseSpace, point: [f32; 3]) -> Result<Pose> {
    let mut state = SpaceState::new(space);
    state.set_point(point)?;
    Ok(space.evaluate(&state, 0.0)?.pose)
}

/// Rotations of the joints that move, at turns 0…1.
fn clip(rig: &Rig, name: &str, seconds: f32, pose: impl Fn(f32) -> Result<Pose>) -> Result<Clip> {
    let turns: Vec<f32> = (0..KEYS).map(|k| k as f32 / (KEYS - 1) as f32).collect();
    // The end is exactly the start.
    let poses: Vec<Pose> = turns.iter().map(|t| pose(t.fract())).collect::<Result<_>>()?;
    let moves = |node: &usize| poses.iter().any(|p| p.joints[*node] != poses[0].joints[*node]);
    let channel = |node: usize| {
        let mut last = poses[0].joints[node].rotation;
        let mut values = Vec::with_capacity(4 * KEYS);
        for pose in &poses {
            let mut q = pose.joints[node].rotation;
            if q.iter().zip(&last).map(|(a, b)| a * b).sum::<f32>() < 0.0 {
                q = q.map(|x| -x);
            }
            values.extend(q);
            last = q;
        }
        Channel {
            target: Target::Rotation(node),
            interpolation: Interpolation::Linear,
            times: turns.iter().map(|t| t * seconds).collect(),
            width: 4,
            values,
        }
    };
    Ok(Clip {
        name: name.into(),
        duration: seconds,
        channels: (0..rig.nodes.len()).filter(moves).map(channel).collect(),
    })
}
