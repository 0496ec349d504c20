//! Several clips at once: layers with weights that fade, masks, cross-fades.

use std::ops::Range;

use super::character::{CharacterData, CharacterId, Drive, DriveState, RigId};
use super::pose::{NONE, split_seconds};
use super::rig::RigData;
use super::skinner::Skinner;
use crate::pose::{JointPose, Pose};
use crate::{Error, Result};

/// Clips a character can play at once.
pub const MAX_LAYERS: usize = 4;

/// Words of a layer in the order of `LAYER_TO` … `LAYER_SPEED` of the shader, then `LAYER_OWN`, and the parts behind.
const OWN: usize = 16;
const OWN_WORDS: usize = 9;
const PARTS: usize = OWN + MAX_LAYERS * OWN_WORDS;
/// A looping layer's start moves on by whole loops after this many seconds of the clip, so that f32 differences stay exact enough.
const REBASE_SECONDS: f64 = 64.0;
/// Largest time and speed a layer may have: some 30,000 years.
const LARGEST: f64 = 1e12;

/// A mask of a [`Skinner`]: how much of a layer each rig node takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MaskId {
    skinner: u32,
    index: u32,
}

/// A weight that goes from one value to another as a straight line in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightFade {
    /// Until `start`; at least 0.
    pub from: f32,
    /// From `start + seconds` on; at least 0.
    pub to: f32,
    /// The host's seconds.
    pub start: f64,
    /// 0: `to` at all times.
    pub seconds: f64,
}

impl WeightFade {
    /// Does not change.
    pub fn constant(weight: f32) -> Self {
        Self { from: weight, to: weight, start: 0.0, seconds: 0.0 }
    }

    /// The weight at the host's `seconds`.
    pub fn at(&self, seconds: f64) -> f64 {
        let t = if self.seconds > 0.0 { ((seconds - self.start) / self.seconds).clamp(0.0, 1.0) } else { 1.0 };
        f64::from(self.from) * (1.0 - t) + f64::from(self.to) * t
    }
}

/// One clip of [`Drive::Clips`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClipLayer {
    /// Index into [`super::RigDescriptor::clips`].
    pub clip: usize,
    /// The host's seconds at which the clip is at `time`.
    pub start: f64,
    /// Seconds of the clip; its duration to play it backwards once.
    pub time: f64,
    /// Seconds of the clip per second; negative: backwards, 0: stands.
    pub speed: f32,
    /// Starts over at its end; else the last pose stays.
    pub looping: bool,
    /// How much of the blend it is.
    pub weight: WeightFade,
    /// How much of it each rig node takes; `None`: all of it.
    pub mask: Option<MaskId>,
}

impl ClipLayer {
    /// Looping, at its time 0 at the host's `start` seconds, with full speed and weight.
    pub fn new(clip: usize, start: f64) -> Self {
        let weight = WeightFade::constant(1.0);
        Self { clip, start, time: 0.0, speed: 1.0, looping: true, weight, mask: None }
    }

    /// The clip's time at the host's `seconds`.
    fn clip_time(&self, seconds: f64, duration: f32) -> f64 {
        let time = self.time + (seconds - self.start) * f64::from(self.speed);
        super::character::clip_time(time, duration, self.looping)
    }

    fn check(&self, index: usize, clips: usize) -> Result<()> {
        if self.clip >= clips {
            return Err(Error::OutOfRange { what: "clip", index: self.clip, count: clips });
        }
        let times = [self.start, self.time, f64::from(self.speed), self.weight.start, self.weight.seconds];
        if !times.iter().all(|x| x.is_finite()) || !self.weight.from.is_finite() || !self.weight.to.is_finite() {
            return Err(Error::NotFinite { what: "time, speed or weight of clip layer", index });
        }
        let refused = |what, value: f64, expected| Error::InvalidParameter { what, value: value.to_string(), expected };
        if let Some(&value) = times.iter().find(|x| x.abs() > LARGEST) {
            return Err(refused("a time or speed of a clip layer", value, "between -1e12 and 1e12"));
        }
        if let Some(&value) = [self.weight.from, self.weight.to].iter().find(|w| **w < 0.0 || **w > 1e6) {
            return Err(refused("the weight of a clip layer", f64::from(value), "between 0 and 1e6"));
        }
        if self.weight.seconds < 0.0 {
            return Err(refused("the length of a clip layer's fade", self.weight.seconds, "at least 0"));
        }
        Ok(())
    }
}

/// What a character plays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Layers {
    pub list: [ClipLayer; MAX_LAYERS],
    pub count: usize,
    /// Added to each start: whole loops.
    shifts: [f64; MAX_LAYERS],
    /// Times and weights it was last posed with; of a layer without weight both are 0.
    last: [[f64; 2]; MAX_LAYERS],
}

impl Layers {
    pub fn new(layers: &[ClipLayer]) -> Self {
        let mut list = [ClipLayer::new(0, 0.0); MAX_LAYERS];
        let count = layers.len().min(MAX_LAYERS);
        list[..count].copy_from_slice(&layers[..count]);
        Self { list, count, shifts: [0.0; MAX_LAYERS], last: [[f64::NAN; 2]; MAX_LAYERS] }
    }

    pub fn layers(&self) -> &[ClipLayer] {
        &self.list[..self.count]
    }

    /// Times and weights at the host's `seconds`.
    fn key(&self, rig: &RigData, seconds: f64) -> [[f64; 2]; MAX_LAYERS] {
        let mut key = [[0.0; 2]; MAX_LAYERS];
        for (key, layer) in key.iter_mut().zip(self.layers()) {
            let weight = layer.weight.at(seconds);
            if weight > 0.0 {
                *key = [layer.clip_time(seconds, rig.clips[layer.clip].duration), weight];
            }
        }
        key
    }

    /// Moves on to `seconds`. Whether the pose is not the one last made; and whether the words are not those last made.
    pub fn advance(&mut self, rig: &RigData, seconds: f64) -> (bool, bool) {
        let mut rebased = false;
        for (layer, shift) in self.list[..self.count].iter().zip(&mut self.shifts) {
            let (duration, speed) = (f64::from(rig.clips[layer.clip].duration), f64::from(layer.speed));
            let elapsed = (seconds - layer.start - *shift) * speed;
            if layer.looping && duration > 0.0 && elapsed.abs() > REBASE_SECONDS.max(2.0 * duration) {
                *shift += (elapsed / duration).floor() * duration / speed;
                rebased = true;
            }
        }
        let key = self.key(rig, seconds);
        let moved = key != self.last;
        self.last = key;
        (moved, rebased)
    }

    fn words(&self, rig: &RigData, masks: &[MaskData], out: &mut [u32]) {
        out[..PARTS].fill(0);
        for (i, (layer, shift)) in self.layers().iter().zip(self.shifts).enumerate() {
            let fade = &layer.weight;
            // A weight that does not change is one word, so that a host that sets it every frame uploads little.
            let from = if fade.seconds > 0.0 { fade.from } else { 0.0 };
            let fixed = [fade.to, layer.time as f32, from, layer.speed];
            for (k, value) in fixed.into_iter().enumerate() {
                out[MAX_LAYERS * k + i] = value.to_bits();
            }
            let (start, fade_start) = (split_seconds(layer.start + shift), split_seconds(fade.start));
            let own = &mut out[OWN + OWN_WORDS * i..][..OWN_WORDS];
            own[..2].copy_from_slice(&start.map(f32::to_bits));
            if fade.seconds > 0.0 {
                own[2..4].copy_from_slice(&fade_start.map(f32::to_bits));
                own[4] = (fade.seconds as f32).to_bits();
            }
            own[5] = rig.words + rig.clip_words[layer.clip];
            own[6] = rig.clips[layer.clip].duration.to_bits();
            own[7] = u32::from(layer.looping);
            own[8] = layer.mask.map_or(NONE, |m| masks[m.index as usize].words);
        }
    }
}

#[derive(Debug)]
pub(super) struct MaskData {
    /// Its rig; [`super::space::NO_RIG`] once that was removed.
    pub rig: u32,
    pub words: u32,
    pub weights: Vec<f32>,
}

/// The local pose of layers at the host's `seconds`, in f64, as the shader makes it.
pub(super) fn pose_of(rig: &RigData, masks: &[MaskData], layers: &Layers, seconds: f64) -> Pose {
    let sampled: Vec<(Pose, f64, Option<&MaskData>)> = layers
        .layers()
        .iter()
        .zip(layers.key(rig, seconds))
        .filter(|(_, [_, weight])| *weight > 0.0)
        .map(|(layer, [time, weight])| {
            let mut pose = rig.rest.clone();
            rig.clips[layer.clip].sample(time as f32, &mut pose);
            (pose, weight, layer.mask.map(|m| &masks[m.index as usize]))
        })
        .collect();
    let joint = |node: usize| {
        let mut samples: Vec<(&JointPose, f64)> = sampled
            .iter()
            .map(|(pose, weight, mask)| (&pose.joints[node], weight * mask.map_or(1.0, |m| f64::from(m.weights[node]))))
            .filter(|s| s.1 > 0.0)
            .collect();
        let total: f64 = samples.iter().map(|s| s.1).sum();
        if total < 1.0 {
            samples.push((&rig.rest.joints[node], 1.0 - total));
        }
        blend_joint(&samples, total.max(1.0))
    };
    Pose { joints: (0..rig.node_count()).map(joint).collect() }
}

fn blend_joint(samples: &[(&JointPose, f64)], total: f64) -> JointPose {
    use glam::DVec4;
    let rotation = |j: &JointPose| DVec4::from(crate::math::unit_quat(j.rotation));
    let reference = samples.first().map_or(DVec4::W, |s| rotation(s.0));
    let mut sum = DVec4::ZERO;
    for &(joint, weight) in samples {
        let q = rotation(joint);
        sum += q * if q.dot(reference) < 0.0 { -weight } else { weight } / total;
    }
    // Rotations that cancel leave the first one's.
    let x = (sum.length() / 0.1).min(1.0);
    let q = (sum + reference * (0.1 * (1.0 - x * x * (3.0 - 2.0 * x)))).normalize();
    let mean = |value: &dyn Fn(&JointPose) -> f64| samples.iter().map(|(j, w)| w * value(j)).sum::<f64>() / total;
    let scale = |a: usize| {
        let at = |j: &JointPose| f64::from(j.scale[a]);
        let power = || mean(&|j| at(j).abs().max(1e-6).ln()).exp();
        match samples {
            [(first, _), rest @ ..] if rest.iter().all(|s| s.0.scale[a] == first.scale[a]) => at(first),
            _ if samples.iter().all(|s| at(s.0) >= 0.0) => power(),
            _ if samples.iter().all(|s| at(s.0) < 0.0) => -power(),
            _ => mean(&at),
        }
    };
    JointPose {
        rotation: q.as_vec4().to_array(),
        translation: [0, 1, 2].map(|a| mean(&|j| f64::from(j.translation[a])) as f32),
        scale: [0, 1, 2].map(|a| scale(a) as f32),
        ..JointPose::IDENTITY
    }
}

impl Skinner {
    /// Takes in a mask for clips of a rig: a weight per rig node, 0…1. It is stored once; layers name it.
    ///
    /// # Errors
    /// [`Error::StaleId`], [`Error::LengthMismatch`], [`Error::InvalidParameter`] for a weight outside 0…1,
    /// [`Error::DeviceLimit`].
    pub fn add_mask(&mut self, rig: RigId, weights: &[f32]) -> Result<MaskId> {
        let (found, expected) = (weights.len(), self.rig(rig)?.node_count());
        if found != expected {
            return Err(Error::LengthMismatch { what: "mask", found, expected });
        }
        if let Some(weight) = weights.iter().find(|w| !(0.0..=1.0).contains(*w)) {
            let value = weight.to_string();
            return Err(Error::InvalidParameter { what: "a weight of a mask", value, expected: "between 0 and 1" });
        }
        let count = weights.len() as u32;
        let (words, moved) = self.rig_words.allocate(&self.device, count)?;
        if moved {
            self.frame.forget_bindings();
        }
        for (word, weight) in self.rig_words.data[words as usize..].iter_mut().zip(weights) {
            *word = weight.to_bits();
        }
        self.rig_words.mark(words, count);
        self.masks.push(MaskData { rig: rig.index, words, weights: weights.to_vec() });
        Ok(MaskId { skinner: self.uid, index: self.masks.len() as u32 - 1 })
    }

    /// Fades a clip in and fades out what plays, over `seconds` from the host's `now`. No further call is needed.
    ///
    /// The layer's weight becomes a fade from 0 to its own `to`. Clips that were fading go on from the weight they have at `now`; past
    /// [`MAX_LAYERS`] the lightest is dropped. A character that did not play clips changes to the layer at once.
    ///
    /// # Errors
    /// As [`Skinner::drive`] with [`Drive::Clips`]; [`Error::InvalidParameter`] when `now` or `seconds` is not finite or `seconds`
    /// is negative.
    pub fn cross_fade(&mut self, character: CharacterId, layer: ClipLayer, now: f64, seconds: f64) -> Result<()> {
        if !now.is_finite() || !seconds.is_finite() || seconds < 0.0 {
            let value = format!("{seconds} s at {now} s");
            return Err(Error::InvalidParameter { what: "a cross-fade", value, expected: "finite and not negative" });
        }
        let mut list = [layer; MAX_LAYERS + 1];
        let mut count = 0;
        match &self.character(character)?.drive {
            DriveState::Clip { clip, start, looping, .. } => {
                list[0] = ClipLayer { looping: *looping, ..ClipLayer::new(*clip, *start) };
                count = 1;
            }
            DriveState::Clips(layers) => {
                for playing in layers.layers().iter().filter(|l| l.weight.at(now) > 0.0) {
                    list[count] = *playing;
                    count += 1;
                }
            }
            _ => {}
        }
        if count == 0 || seconds == 0.0 {
            let weight = WeightFade::constant(layer.weight.to);
            return self.drive(character, Drive::Clips(&[ClipLayer { weight, ..layer }]));
        }
        if count == MAX_LAYERS {
            let lightest = (0..count).min_by(|&a, &b| f64::total_cmp(&list[a].weight.at(now), &list[b].weight.at(now)));
            list.copy_within(lightest.unwrap_or(0) + 1..count, lightest.unwrap_or(0));
            count -= 1;
        }
        for playing in &mut list[..count] {
            let from = playing.weight.at(now) as f32;
            playing.weight = WeightFade { from, to: 0.0, start: now, seconds };
        }
        list[count] = ClipLayer { weight: WeightFade { from: 0.0, to: layer.weight.to, start: now, seconds }, ..layer };
        self.drive(character, Drive::Clips(&list[..=count]))
    }

    /// [`Drive::Clips`].
    pub(super) fn drive_clips(&mut self, character: CharacterId, list: &[ClipLayer]) -> Result<()> {
        if list.len() > MAX_LAYERS {
            let (index, count) = (list.len() - 1, MAX_LAYERS);
            return Err(Error::OutOfRange { what: "clip layer", index, count });
        }
        let Some(target) = self.slots[character.index as usize].character.as_mut() else { return Ok(()) };
        let rig = &self.rigs[target.rig as usize];
        for (i, layer) in list.iter().enumerate() {
            layer.check(i, rig.clips.len())?;
            if let Some(mask) = layer.mask {
                let known = self.masks.get(mask.index as usize).filter(|_| mask.skinner == self.uid);
                let known = known.ok_or(Error::StaleId { what: "mask" })?;
                if known.rig != target.rig {
                    let count = self.masks.iter().filter(|m| m.rig == target.rig).count();
                    let index = mask.index as usize;
                    return Err(Error::OutOfRange { what: "mask of the character's rig", index, count });
                }
            }
        }
        let layers = Layers::new(list);
        if matches!(&target.drive, DriveState::Clips(old) if old.layers() == layers.layers()) {
            return Ok(());
        }
        let needed = state_words(target.parts.len());
        if target.state.1 < needed {
            let (start, moved) = self.states.allocate(&self.device, needed)?;
            self.states.release(target.state.0, target.state.1);
            target.state = (start, needed);
            // Whatever was there before, it is not these words.
            target.state_dirty = 0..needed;
            if moved {
                self.frame.forget_bindings();
            }
        } else if !matches!(target.drive, DriveState::Clips(_)) {
            target.state_dirty = 0..needed;
        }
        target.pose.clone_from(&rig.rest);
        target.weights_changed |= !matches!(target.drive, DriveState::Clips(_));
        match &mut target.drive {
            DriveState::Clips(old) => **old = layers,
            other => *other = DriveState::Clips(Box::new(layers)),
        }
        target.changed = true;
        Ok(())
    }
}

/// Words of state of a character with layers of clips.
pub(super) fn state_words(parts: usize) -> u32 {
    (PARTS + 1 + 3 * parts) as u32
}

/// Writes a character's layers and parts into its state; the range that changed, relative to its start.
pub(super) fn write_state(
    character: &CharacterData,
    layers: &Layers,
    rig: &RigData,
    masks: &[MaskData],
    state: &mut [u32],
) -> Range<u32> {
    let mut words = [0; PARTS];
    layers.words(rig, masks, &mut words);
    let mut dirty = character.state_dirty.clone();
    let mut put = |at: usize, word: u32| {
        if state[at] != word {
            state[at] = word;
            let at = at as u32;
            dirty = if dirty.is_empty() { at..at + 1 } else { dirty.start.min(at)..dirty.end.max(at + 1) };
        }
    };
    words.iter().enumerate().for_each(|(at, &word)| put(at, word));
    // As many parts as were there when it was driven; none where clips drive no morph weights.
    let room = (character.state.1 as usize - PARTS - 1) / 3;
    let count = if rig.drives_morphs { character.parts.len().min(room) } else { 0 };
    put(PARTS, count as u32);
    for (i, part) in character.parts[..count].iter().enumerate() {
        let record = [part.morphs.0, part.morphs.1, part.own_weights];
        record.into_iter().enumerate().for_each(|(k, word)| put(PARTS + 1 + 3 * i + k, word));
    }
    dirty
}
