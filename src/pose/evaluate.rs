//! A pose space at a point, on the CPU: for tools, captured holds and host-driven characters. The GPU follows the same steps.

use super::blend::store;
use super::groups::{CHANNELS, SpaceState};
use super::space::PoseSpace;
use crate::Result;
use crate::pose::{JointPose, Pose};

/// A blended pose and what is worth knowing about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Blended {
    /// One record per rig node, relative to its parent.
    pub pose: Pose,
    /// Weight of each corner at the space's point.
    pub corners: Vec<f32>,
    /// Weight of each sample at the space's point, by the alternatives selected; textures mix by these.
    pub samples: Vec<f32>,
    /// Smallest length of the quaternion sum over all joints: 1 the samples agree, below 0.5 they are more than 120°
    /// apart, near 0 they cancel and the reference rotation fills in.
    pub quality: f32,
    /// For each rig node: a limit changed its rotation.
    pub clamped: Vec<bool>,
}

impl PoseSpace {
    /// The pose of `state` at `time` (seconds of the clock its changes were made with).
    ///
    /// # Errors
    /// [`crate::Error::LengthMismatch`] when the state was made for another space.
    pub fn evaluate(&self, state: &SpaceState, time: f64) -> Result<Blended> {
        state.check(self)?;
        let live = state.live(self, time);
        let rows: Vec<[Vec<f64>; CHANNELS]> = state
            .cells
            .iter()
            .map(|tracks| std::array::from_fn(|c| state.effective(self, &tracks[c], &live, time)))
            .collect();
        let mut joints = Vec::with_capacity(self.joints.len());
        let mut clamped = vec![false; self.joints.len()];
        let mut quality = 1.0_f64;
        for (node, samples) in self.joints.iter().enumerate() {
            let row = &rows[self.cell_of[node]];
            let (mut rotation, agreement) = samples.rotation(&row[0]);
            quality = quality.min(agreement);
            if let Some(limit) = &self.limits[node] {
                (rotation, clamped[node]) = limit.clamp(rotation);
            }
            joints.push(JointPose {
                rotation: store(rotation),
                translation: samples.translation(&row[1]),
                scale: samples.scale(&row[2]),
                length: samples.shape(0, &row[3]),
                thickness: samples.shape(1, &row[4]),
            });
        }
        self.chain.resolve(&mut joints);
        Ok(Blended {
            pose: Pose { joints },
            corners: self.coordinates.weights(state.point, self.outside),
            samples: live.iter().map(|&w| w as f32).collect(),
            quality: quality as f32,
            clamped,
        })
    }

    /// The pose at a point, with the first alternative of every corner and nothing held.
    ///
    /// # Errors
    /// [`crate::Error::NotFinite`].
    pub fn evaluate_at(&self, point: [f32; 3]) -> Result<Blended> {
        let mut state = SpaceState::new(self);
        state.set_point(point)?;
        self.evaluate(&state, 0.0)
    }

    /// Weights of every sample for the texture of a group's surface (`None`: joints in no group) at `time`.
    ///
    /// # Errors
    /// [`crate::Error::OutOfRange`] for the group; [`crate::Error::LengthMismatch`] when the state was made for another space.
    pub fn texture_weights(&self, state: &SpaceState, group: Option<usize>, time: f64) -> Result<Vec<f32>> {
        state.check(self)?;
        let count = self.groups.len();
        let cell = match group {
            None => 0,
            Some(index) => {
                let cells =
                    self.group_cells.get(index).ok_or(crate::Error::OutOfRange { what: "group", index, count })?;
                cells.first().copied().unwrap_or(0)
            }
        };
        let live = state.live(self, time);
        let weights = state.effective(self, &state.cells[cell][CHANNELS - 1], &live, time);
        Ok(weights.into_iter().map(|w| w as f32).collect())
    }
}
