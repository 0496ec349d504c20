//! The state of one character in a pose space: its point, the alternatives selected, and what its groups do. Every change
//! is a function of time with a start and a duration, so nothing has to be updated per frame.

use std::ops::BitOr;

use super::space::PoseSpace;
use crate::{Error, Result};

/// What a pose is made of; a set of channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channels(u8);

impl Channels {
    /// Every channel.
    pub const ALL: Self = Self(63);
    /// Joint rotations.
    pub const ROTATION: Self = Self(1);
    /// Joint translations.
    pub const TRANSLATION: Self = Self(2);
    /// Joint scale.
    pub const SCALE: Self = Self(4);
    /// Bone length.
    pub const LENGTH: Self = Self(8);
    /// Bone thickness.
    pub const THICKNESS: Self = Self(16);
    /// The samples' textures.
    pub const TEXTURE: Self = Self(32);

    /// True when all of `other` is in this set.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// True when the channel of this number is in the set.
    pub(crate) fn bit(self, channel: usize) -> bool {
        self.0 >> channel & 1 == 1
    }
}

impl BitOr for Channels {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Number of channels; channel c is bit c of [`Channels`].
pub(crate) const CHANNELS: usize = 6;

/// What a group of joints does.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupMode {
    /// Follows the space's point.
    Live,
    /// Keeps the weights it has at this moment, selections included.
    Held,
    /// Takes the space's default pose.
    Default,
    /// Follows its own point.
    Point([f32; 3]),
    /// Keeps these weights, one per sample: a hold taken earlier with [`SpaceState::captured`].
    Weights(Vec<f64>),
}

/// When a change begins and how long it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fade {
    /// Time at which it begins, in seconds of the host's clock.
    pub now: f64,
    /// How long it takes; 0 is at once. A change eases in and out.
    pub seconds: f32,
}

impl Fade {
    /// At once.
    pub fn at_once(now: f64) -> Self {
        Self { now, seconds: 0.0 }
    }

    /// How much of the change has happened at `time`: exactly 0 before and exactly 1 after.
    pub(crate) fn progress(&self, time: f64) -> f64 {
        if self.seconds.is_nan() || self.seconds <= 0.0 {
            return 1.0;
        }
        let x = ((time - self.now) / f64::from(self.seconds)).clamp(0.0, 1.0);
        x * x * (3.0 - 2.0 * x)
    }
}

/// Which alternative a corner holds, on its way from whatever it held before: weights of its own alternatives.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Selection {
    pub from: Vec<f64>,
    pub to: usize,
    pub fade: Fade,
}

impl Selection {
    pub fn weight(&self, alternative: usize, time: f64) -> f64 {
        let f = self.fade.progress(time);
        let to = f64::from(u8::from(alternative == self.to));
        if f >= 1.0 { to } else { mix(self.from[alternative], to, f) }
    }
}

/// Where one channel of one cell takes its weights from when it does not follow the point.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    Kept(Vec<f64>),
    Default,
    Point([f32; 3]),
}

/// One channel of one cell: `mix(live, mix(from, source, fade), strength)`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Track {
    pub source: Source,
    /// What the source fades in from; `None`: it is there at once.
    pub from: Option<Vec<f64>>,
    /// 0: follows the point; 1: the source alone. At the fade's start and end.
    pub strength: [f64; 2],
    pub fade: Fade,
}

impl Track {
    pub const LIVE: Self =
        Self { source: Source::Default, from: None, strength: [0.0; 2], fade: Fade { now: 0.0, seconds: 0.0 } };

    pub fn strength(&self, time: f64) -> f64 {
        let f = self.fade.progress(time);
        if f >= 1.0 { self.strength[1] } else { mix(self.strength[0], self.strength[1], f) }
    }
}

pub(crate) fn mix(a: f64, b: f64, t: f64) -> f64 {
    a * (1.0 - t) + b * t
}

/// One character's state in a pose space.
#[derive(Clone, Debug, PartialEq)]
pub struct SpaceState {
    pub(crate) point: [f32; 3],
    pub(crate) selections: Vec<Selection>,
    /// Per cell, per channel.
    pub(crate) cells: Vec<[Track; CHANNELS]>,
}

impl SpaceState {
    /// At the mean corner, the first alternative everywhere, all groups live.
    pub fn new(space: &PoseSpace) -> Self {
        let selection =
            |c: &super::Corner| Selection { from: vec![0.0; c.samples.len()], to: 0, fade: Fade::default() };
        Self {
            point: space.coordinates.center.as_vec3().to_array(),
            selections: space.corners.iter().map(selection).collect(),
            cells: vec![[Track::LIVE; CHANNELS]; space.cell_count],
        }
    }

    /// The point in the space.
    pub fn point(&self) -> [f32; 3] {
        self.point
    }

    /// Moves the point.
    ///
    /// # Errors
    /// [`Error::NotFinite`].
    pub fn set_point(&mut self, point: [f32; 3]) -> Result<()> {
        self.point = finite(point)?;
        Ok(())
    }

    /// The alternative a corner holds or is changing to.
    pub fn selected(&self, corner: usize) -> Option<usize> {
        self.selections.get(corner).map(|s| s.to)
    }

    /// Changes a corner to another of its poses over `fade`. A change during a change starts from what is seen then.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    pub fn select(&mut self, space: &PoseSpace, corner: usize, alternative: usize, fade: Fade) -> Result<()> {
        self.check(space)?;
        let count = self.selections.len();
        let s = self.selections.get_mut(corner).ok_or(Error::OutOfRange { what: "corner", index: corner, count })?;
        let count = s.from.len();
        if alternative >= count {
            return Err(Error::OutOfRange { what: "pose of the corner", index: alternative, count });
        }
        if alternative != s.to {
            s.from = (0..count).map(|a| s.weight(a, fade.now)).collect();
            (s.to, s.fade) = (alternative, fade);
        }
        Ok(())
    }

    /// Gives the chosen channels of a group's joints something else to do, at full strength, over `fade`. Nothing jumps:
    /// a hold keeps what is there at this moment, everything else fades in from it.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for the group, [`Error::NotFinite`] for a point, [`Error::LengthMismatch`] for weights that
    /// are not one per sample.
    pub fn set_group(
        &mut self,
        space: &PoseSpace,
        group: usize,
        channels: Channels,
        mode: &GroupMode,
        fade: Fade,
    ) -> Result<()> {
        self.check(space)?;
        match mode {
            GroupMode::Point(p) => drop(finite(*p)?),
            GroupMode::Weights(w) if w.len() != space.samples.len() => {
                let (found, expected) = (w.len(), space.samples.len());
                return Err(Error::LengthMismatch { what: "weights of a hold", found, expected });
            }
            GroupMode::Weights(w) if !w.iter().all(|x| x.is_finite()) => {
                return Err(Error::NotFinite { what: "weights of a hold for group", index: group });
            }
            _ => {}
        }
        let live = self.live(space, fade.now);
        for &cell in group_cells(space, group)? {
            for channel in (0..CHANNELS).filter(|c| channels.bit(*c)) {
                let old = &self.cells[cell][channel];
                let strength = old.strength(fade.now);
                let kept = || self.track_weights(space, old, &live, fade.now);
                let from = || (strength > 0.0 && fade.seconds > 0.0).then(kept);
                let new = |source, from| Track { source, from, strength: [strength, 1.0], fade };
                let track = match mode {
                    GroupMode::Live if strength == 0.0 => Track::LIVE,
                    GroupMode::Live => Track { strength: [strength, 0.0], ..new(Source::Kept(kept()), None) },
                    GroupMode::Held => {
                        let seen = self.effective(space, old, &live, fade.now);
                        Track { strength: [1.0; 2], ..new(Source::Kept(seen), None) }
                    }
                    GroupMode::Default => new(Source::Default, from()),
                    GroupMode::Point(p) => new(Source::Point(*p), from()),
                    GroupMode::Weights(w) => new(Source::Kept(w.clone()), from()),
                };
                self.cells[cell][channel] = track;
            }
        }
        Ok(())
    }

    /// Moves the own point of a group's joints that have one, without starting a fade.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for the group, [`Error::NotFinite`].
    pub fn move_group_point(&mut self, space: &PoseSpace, group: usize, point: [f32; 3]) -> Result<()> {
        self.check(space)?;
        let point = finite(point)?;
        for &cell in group_cells(space, group)? {
            for track in &mut self.cells[cell] {
                if let Source::Point(p) = &mut track.source {
                    *p = point;
                }
            }
        }
        Ok(())
    }

    /// Changes how far a group leaves the space's point: 0 follows it, 1 not at all.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for the group, [`Error::InvalidParameter`] for a strength outside 0…1.
    pub fn set_strength(
        &mut self,
        space: &PoseSpace,
        group: usize,
        channels: Channels,
        strength: f32,
        fade: Fade,
    ) -> Result<()> {
        self.check(space)?;
        if !(0.0..=1.0).contains(&strength) {
            let value = strength.to_string();
            return Err(Error::InvalidParameter { what: "strength of a group", value, expected: "0 to 1" });
        }
        for &cell in group_cells(space, group)? {
            for channel in (0..CHANNELS).filter(|c| channels.bit(*c)) {
                let track = &self.cells[cell][channel];
                let from = track.strength(fade.now);
                // A source that is still fading in goes on from where it is, at the new fade's pace.
                let settled = match (&track.from, track.fade.progress(fade.now) < 1.0) {
                    (Some(_), true) => {
                        let live = self.live(space, fade.now);
                        Some(self.track_weights(space, track, &live, fade.now))
                    }
                    _ => None,
                };
                let track = &mut self.cells[cell][channel];
                track.from = settled;
                track.strength = [from, f64::from(strength)];
                track.fade = fade;
            }
        }
        Ok(())
    }

    /// The weights of every sample that a group's joints have at `time` (in its rotation channel): a hold to keep and to
    /// give back with [`GroupMode::Weights`].
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for the group.
    pub fn captured(&self, space: &PoseSpace, group: usize, time: f64) -> Result<Vec<f64>> {
        self.check(space)?;
        let live = self.live(space, time);
        let cell = group_cells(space, group)?.first().copied().unwrap_or(0);
        Ok(self.effective(space, &self.cells[cell][0], &live, time))
    }

    /// True when no fade is under way at `time` and later.
    pub fn is_settled(&self, time: f64) -> bool {
        self.selections
            .iter()
            .map(|s| &s.fade)
            .chain(self.cells.iter().flatten().map(|t| &t.fade))
            .all(|f| f.progress(time) >= 1.0)
    }

    pub(crate) fn check(&self, space: &PoseSpace) -> Result<()> {
        let fits = self.cells.len() == space.cell_count
            && self.selections.len() == space.corners.len()
            && self.selections.iter().zip(&space.corners).all(|(s, c)| s.from.len() == c.samples.len());
        let (found, expected) = (self.selections.len(), space.corners.len());
        if fits { Ok(()) } else { Err(Error::LengthMismatch { what: "state of another pose space", found, expected }) }
    }

    /// Weights of every sample at the space's own point.
    pub(crate) fn live(&self, space: &PoseSpace, time: f64) -> Vec<f64> {
        self.sample_weights(space, self.point, time)
    }

    fn sample_weights(&self, space: &PoseSpace, point: [f32; 3], time: f64) -> Vec<f64> {
        let mut corners = vec![0.0; space.corners.len()];
        space.coordinates.weights_into(point, space.outside, &mut corners);
        let mut out = vec![0.0; space.samples.len()];
        for ((corner, &b), selection) in space.corners.iter().zip(&corners).zip(&self.selections) {
            for (alternative, &sample) in corner.samples.iter().enumerate() {
                out[sample] += b * selection.weight(alternative, time);
            }
        }
        out
    }

    /// Weights of a track's source, faded in.
    fn track_weights(&self, space: &PoseSpace, track: &Track, live: &[f64], time: f64) -> Vec<f64> {
        let mut to = match &track.source {
            Source::Kept(w) => w.clone(),
            Source::Point(p) => self.sample_weights(space, *p, time),
            Source::Default => vec![0.0; live.len()],
        };
        if track.source == Source::Default {
            to[space.default] = 1.0;
        }
        let f = track.fade.progress(time);
        match &track.from {
            Some(from) if f < 1.0 => from.iter().zip(&to).map(|(&a, &b)| mix(a, b, f)).collect(),
            _ => to,
        }
    }

    /// What a track's joints really get.
    pub(crate) fn effective(&self, space: &PoseSpace, track: &Track, live: &[f64], time: f64) -> Vec<f64> {
        let strength = track.strength(time);
        if strength <= 0.0 {
            return live.to_vec();
        }
        let own = self.track_weights(space, track, live, time);
        if strength >= 1.0 {
            return own;
        }
        live.iter().zip(&own).map(|(&a, &b)| mix(a, b, strength)).collect()
    }
}

fn group_cells(space: &PoseSpace, group: usize) -> Result<&[usize]> {
    let count = space.groups.len();
    let cells = space.group_cells.get(group).ok_or(Error::OutOfRange { what: "group", index: group, count })?;
    Ok(cells)
}

fn finite(point: [f32; 3]) -> Result<[f32; 3]> {
    match point.iter().position(|x| !x.is_finite()) {
        Some(index) => Err(Error::NotFinite { what: "coordinate of a point", index }),
        None => Ok(point),
    }
}
