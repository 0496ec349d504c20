//! The start of a frame: who must be posed and skinned, and what the passes are told of them.

use super::character::{CharacterData, DriveState, PartData, Slot, Todo, clip_time};
use super::clips::write_state;
use super::dual::dual_of_pose;
use super::pose::{CharacterRecord, NONE, Scratch, split_seconds};
use super::record::PARTLY_FRESH;
use super::rig::RigData;
use super::skin::{FRESH, SETTLE};
use super::skinner::Skinner;
use super::space::SpaceData;

/// A looping clip's start moves on by whole loops after this many seconds, so that f32 differences stay exact enough.
const REBASE_SECONDS: f64 = 256.0;

impl Skinner {
    /// Finds the visible characters that changed or play: those driven by the CPU get their palettes here, the others go on
    /// the list of the pose pass.
    pub(super) fn collect(&mut self, queue: &wgpu::Queue, seconds: f64) {
        let frame = &mut self.frame;
        if let Some(boxes) = &mut self.boxes {
            boxes.collect();
            frame.reset_pipeline.get_or_insert_with(|| self.pipelines.skin.reset(&self.device));
        }
        frame.number += u64::from(frame.recorded);
        frame.active.clear();
        frame.posed.iter_mut().for_each(Vec::clear);
        for (index, slot) in self.slots.iter_mut().enumerate() {
            let Slot { character: Some(character), .. } = slot else { continue };
            if frame.recorded {
                // A new character has both positions, one that was skinned has a frame to make up for.
                let made_up = !self.previous || character.first_frame == Some(frame.number - 1);
                character.todo = if character.todo == Todo::Skin && !made_up { Todo::Settle } else { Todo::Nothing };
            }
            let rig = &self.rigs[character.rig as usize];
            let due = is_due(character, seconds);
            let playing = due && advance(character, rig, seconds);
            // A clip that ends while nobody looks must still have ended when somebody does.
            character.changed |= playing;
            if character.visible && due && (character.changed || playing) {
                character.due = false;
                character.todo = Todo::Skin;
                character.first_frame.get_or_insert(frame.number);
                character.parts.iter_mut().for_each(|p| _ = p.first_frame.get_or_insert(frame.number));
                let (palette, joints) = character.palette;
                match character.drive {
                    DriveState::Local => {
                        let out = palette as usize..(palette + joints) as usize;
                        // Cannot fail: `drive` checked the pose's length.
                        let _ = rig.palettes(&character.pose, &mut self.worlds, &mut self.palettes.data[out]);
                        let ranges = [character.palette, character.dual];
                        dual_of_pose(rig, &character.pose, &mut self.turns, &mut self.palettes.data, ranges);
                        self.palettes.changed(queue, palette, joints);
                        self.palettes.changed(queue, character.dual.0, character.dual.1);
                        if let (Some(mirror), Some((start, count))) = (&mut self.joints, character.joints) {
                            let out = &mut mirror.data[start as usize..(start + count) as usize];
                            out.iter_mut().zip(&self.worlds).for_each(|(out, world)| *out = (*world).into());
                            mirror.changed(queue, start, count);
                        }
                    }
                    DriveState::External => {}
                    DriveState::Palette => {
                        self.palettes.changed(queue, palette, joints);
                        self.palettes.changed(queue, character.dual.0, character.dual.1);
                    }
                    DriveState::Clip { .. } | DriveState::Clips(_) | DriveState::Space { .. } => {
                        if let DriveState::Clips(layers) = &character.drive {
                            let state = &mut self.states.data[character.state.0 as usize..];
                            character.state_dirty = write_state(character, layers, rig, &self.masks, state);
                        }
                        let dirty = std::mem::take(&mut character.state_dirty);
                        self.states.changed(queue, character.state.0 + dirty.start, dirty.len() as u32);
                        let record = record_of(character, rig, &self.spaces);
                        let at = character.record.0 as usize;
                        if self.records.data[at] != record {
                            self.records.data[at] = record;
                            self.records.changed(queue, at as u32, 1);
                        }
                    }
                }
                if std::mem::take(&mut character.weights_changed) {
                    for part in &character.parts {
                        let (first, count) = part.morphs;
                        if part.own_weights == first {
                            self.morph_weights.changed(queue, first, count);
                        } else if matches!(character.drive, DriveState::Clips(_)) {
                            // The pose pass makes the others.
                            self.morph_weights.changed(queue, part.own_weights, count);
                        } else {
                            let own = part.own_weights as usize..(part.own_weights + count) as usize;
                            self.morph_weights.data.copy_within(own, first as usize);
                            self.morph_weights.changed(queue, first, part.weight_count());
                        }
                    }
                }
                character.posed_at = seconds;
                character.changed = false;
            }
            if let Some(boxes) = &self.boxes {
                for part in character.parts.iter_mut().filter(|p| !p.boxed) {
                    part.boxed = true;
                    boxes.empty(queue, part.bounds);
                }
            }
            if character.todo != Todo::Nothing {
                let mut flags = 0;
                if self.previous {
                    let is_fresh = |part: &PartData| part.first_frame == Some(frame.number);
                    flags = match character.todo {
                        Todo::Settle => SETTLE,
                        _ if character.parts.iter().all(is_fresh) => FRESH,
                        _ if character.parts.iter().any(is_fresh) => PARTLY_FRESH,
                        _ => 0,
                    };
                }
                frame.active.push((index as u32, flags));
                if character.todo == Todo::Skin && character.drive.on_gpu() {
                    let large = Scratch::rows(rig.node_count(), character.is_dual()) > 0;
                    let pipeline = match character.drive {
                        DriveState::Clip { .. } if !large => 0,
                        DriveState::Clips(_) if !large => 1,
                        _ => 2,
                    };
                    frame.posed[pipeline].push(character.record.0);
                }
            }
        }
    }
}

/// Whether it is a character's turn to be posed at `seconds`.
fn is_due(character: &CharacterData, seconds: f64) -> bool {
    let (interval, shift) = character.interval;
    let turn = |seconds: f64| (seconds / interval + shift).floor();
    interval <= 0.0 || character.due || turn(seconds) != turn(character.posed_at)
}

/// Moves a playing clip to `seconds`; true when its pose is not the one last made.
fn advance(character: &mut CharacterData, rig: &RigData, seconds: f64) -> bool {
    if let DriveState::Space { settled, .. } = character.drive {
        // Once more when the last fade is over, so that its end is exact.
        let moved = character.clip_time < settled && seconds != character.clip_time;
        character.clip_time = seconds;
        return moved;
    }
    if let DriveState::Clips(layers) = &mut character.drive {
        let (moved, rebased) = layers.advance(rig, seconds);
        character.changed |= rebased;
        return moved;
    }
    let DriveState::Clip { clip, start, looping, shift } = &mut character.drive else { return false };
    let duration = rig.clips[*clip].duration;
    let elapsed = seconds - *start - *shift;
    if *looping && duration > 0.0 && elapsed.abs() > REBASE_SECONDS {
        *shift += (elapsed / f64::from(duration)).floor() * f64::from(duration);
    }
    let time = clip_time(seconds - *start - *shift, duration, *looping);
    let moved = time != character.clip_time;
    character.clip_time = time;
    moved
}

/// What the pose pass is told of a character.
fn record_of(character: &CharacterData, rig: &RigData, spaces: &[SpaceData]) -> CharacterRecord {
    let mut record = CharacterRecord {
        rig: rig.words,
        palette: character.palette.0,
        scratch: character.scratch.0,
        clip: NONE,
        space: NONE,
        dual: if character.is_dual() { 3 * character.dual.0 } else { NONE },
        joints: character.joints.map_or(NONE, |j| j.0),
        ..CharacterRecord::default()
    };
    if let DriveState::Clip { clip, start, looping, shift } = character.drive {
        record.clip = rig.words + rig.clip_words[clip];
        record.start = split_seconds(start + shift);
        record.duration = rig.clips[clip].duration;
        record.looping = u32::from(looping);
    }
    if let DriveState::Clips(_) = character.drive {
        record.state = character.state.0;
        record.layered = 1;
    }
    if let DriveState::Space { space, .. } = character.drive {
        record.space = spaces[space as usize].words.0;
        record.state = character.state.0;
        record.weights = character.scratch.0 + Scratch::rows(rig.node_count(), character.is_dual());
    }
    record
}
