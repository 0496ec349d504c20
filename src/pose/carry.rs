//! What a state is doing, and how it goes on when its space is edited.

use super::groups::{CHANNELS, Channels, Fade, GroupMode, Selection, Source, SpaceState, Track};
use super::space::PoseSpace;
use crate::{Error, Result};

/// What has become of the corners and samples of a space that was edited; see [`SpaceState::carried`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Carry {
    /// For each corner of the new space the corner it was; `None`: it is new.
    pub corners: Vec<Option<usize>>,
    /// For each sample of the new space the sample it was.
    pub samples: Vec<Option<usize>>,
}

impl Carry {
    /// Nothing was added, removed or reordered.
    pub fn same(space: &PoseSpace) -> Self {
        let all = |n: usize| (0..n).map(Some).collect();
        Self { corners: all(space.corners.len()), samples: all(space.samples.len()) }
    }
}

impl SpaceState {
    /// What the chosen channels of a group's joints are doing, or on their way to: a hold as [`GroupMode::Weights`].
    /// `None` when its joints or channels differ.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for the group; [`Error::LengthMismatch`] for a state of another space.
    pub fn group_mode(&self, space: &PoseSpace, group: usize, channels: Channels) -> Result<Option<GroupMode>> {
        let modes = self.tracks(space, group, channels)?.map(|track| match &track.source {
            _ if track.strength[1] <= 0.0 => GroupMode::Live,
            Source::Kept(weights) => GroupMode::Weights(weights.clone()),
            Source::Default => GroupMode::Default,
            Source::Point(point) => GroupMode::Point(*point),
        });
        let mut seen: Option<GroupMode> = None;
        for mode in modes {
            match &seen {
                Some(first) if *first != mode => return Ok(None),
                Some(_) => {}
                None => seen = Some(mode),
            }
        }
        Ok(Some(seen.unwrap_or(GroupMode::Live)))
    }

    /// How far the chosen channels of a group's joints leave the space's point at `time`: 0 follows it, 1 not at all; the
    /// largest where they differ.
    ///
    /// # Errors
    /// Those of [`SpaceState::group_mode`].
    pub fn group_strength(&self, space: &PoseSpace, group: usize, channels: Channels, time: f64) -> Result<f32> {
        Ok(self.tracks(space, group, channels)?.map(|t| t.strength(time)).fold(0.0, f64::max) as f32)
    }

    fn tracks(&self, space: &PoseSpace, group: usize, channels: Channels) -> Result<impl Iterator<Item = &Track> + '_> {
        self.check(space)?;
        let count = space.groups.len();
        let cells = space.group_cells.get(group).ok_or(Error::OutOfRange { what: "group", index: group, count })?;
        let cells = cells.clone();
        Ok(cells.into_iter().flat_map(move |cell| {
            (0..CHANNELS).filter(move |&c| channels.bit(c)).map(move |channel| &self.cells[cell][channel])
        }))
    }

    /// The state for an edited space: same point, selections and holds, as far as corners, samples and groups still exist.
    /// Fades that are under way at `time` end at once. A held weight of a sample that is gone is shared out among those
    /// that are left, in proportion; when none is left its joints follow the point.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] when the state is not of `old`, the spaces are of different rigs, or `carry` does not have
    /// an entry for every corner and sample of `new`; [`Error::OutOfRange`] for an entry that `old` does not have.
    pub fn carried(&self, old: &PoseSpace, new: &PoseSpace, carry: &Carry, time: f64) -> Result<Self> {
        self.check(old)?;
        for (what, found, expected) in [
            ("rig of an edited pose space", new.node_count(), old.node_count()),
            ("list of carried corners", carry.corners.len(), new.corners.len()),
            ("list of carried samples", carry.samples.len(), new.samples.len()),
        ] {
            if found != expected {
                return Err(Error::LengthMismatch { what, found, expected });
            }
        }
        for (what, list, count) in [
            ("carried corner", &carry.corners, old.corners.len()),
            ("carried sample", &carry.samples, old.samples.len()),
        ] {
            if let Some(&index) = list.iter().flatten().find(|&&i| i >= count) {
                return Err(Error::OutOfRange { what, index, count });
            }
        }
        let mut out = Self::new(new);
        out.point = self.point;
        let sample_now = |sample: usize| carry.samples.iter().position(|s| *s == Some(sample));
        for (corner, from) in carry.corners.iter().enumerate() {
            let Some(from) = *from else { continue };
            let held = old.corners[from].samples[self.selections[from].to];
            let place = sample_now(held).and_then(|s| new.corners[corner].samples.iter().position(|&x| x == s));
            if let Some(to) = place {
                let weights = vec![0.0; new.corners[corner].samples.len()];
                out.selections[corner] = Selection { from: weights, to, fade: Fade::at_once(time) };
            }
        }
        for (node, &cell) in new.cell_of.iter().enumerate() {
            for channel in 0..CHANNELS {
                let track = &self.cells[old.cell_of[node]][channel];
                out.cells[cell][channel] = carried_track(track, carry, time);
            }
        }
        Ok(out)
    }
}

fn carried_track(track: &Track, carry: &Carry, time: f64) -> Track {
    let strength = track.strength[1];
    let source = match &track.source {
        _ if strength <= 0.0 => return Track::LIVE,
        Source::Kept(weights) => {
            let kept: Vec<f64> = carry.samples.iter().map(|s| s.map_or(0.0, |s| weights[s])).collect();
            let (before, after): (f64, f64) = (weights.iter().sum(), kept.iter().sum());
            if kept == *weights {
                Source::Kept(kept)
            } else if after.abs() > 1e-6 {
                Source::Kept(kept.iter().map(|w| w * before / after).collect())
            } else {
                return Track::LIVE;
            }
        }
        other => other.clone(),
    };
    Track { source, from: None, strength: [strength; 2], fade: Fade::at_once(time) }
}
