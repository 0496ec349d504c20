//! Pose spaces on the GPU: their words beside the rig's, and each character's state.

use super::character::{CharacterId, DriveState, RigId, SpaceId};
use super::pose::Scratch;
use super::skinner::Skinner;
use crate::pose::{PoseSpace, SpaceState};
use crate::{Error, Result};

/// The rig of a space that was removed.
pub(super) const NO_RIG: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct SpaceData {
    /// Of the identifiers that name it; goes up when it is removed.
    pub generation: u32,
    /// Its rig; [`NO_RIG`] once that was removed.
    pub rig: u32,
    /// Start and number of its words among those of the rigs.
    pub words: (u32, u32),
    pub space: PoseSpace,
}

impl Skinner {
    /// Takes in a pose space for characters of a rig; it is copied.
    ///
    /// # Errors
    /// [`Error::StaleId`] for a rig of another skinner, [`Error::LengthMismatch`] for a space fitted to another rig,
    /// [`Error::DeviceLimit`].
    pub fn add_space(&mut self, rig: RigId, space: &PoseSpace) -> Result<SpaceId> {
        self.rig(rig)?;
        let words = self.upload_space(rig.index, space)?;
        let free = self.spaces.iter().position(|s| s.rig == NO_RIG);
        let index = free.unwrap_or(self.spaces.len());
        let generation = self.spaces.get(index).map_or(0, |s| s.generation);
        let data = SpaceData { generation, rig: rig.index, words, space: space.clone() };
        match self.spaces.get_mut(index) {
            Some(removed) => *removed = data,
            None => self.spaces.push(data),
        }
        Ok(SpaceId { skinner: self.uid, index: index as u32, generation })
    }

    /// Puts a changed space in the place of another: a corner was dragged, say. Characters in it must be driven again when
    /// its samples, corners or groups are not the same in number.
    ///
    /// # Errors
    /// As [`Skinner::add_space`]; after an error the old space is still there.
    pub fn replace_space(&mut self, id: SpaceId, space: &PoseSpace) -> Result<()> {
        self.check_space(id)?;
        let index = id.index as usize;
        let words = self.upload_space(self.spaces[index].rig, space)?;
        let old = &mut self.spaces[index];
        let same = old.space.shape() == space.shape();
        self.rig_words.release(old.words.0, old.words.1);
        (old.words, old.space) = (words, space.clone());
        for character in self.slots.iter_mut().filter_map(|s| s.character.as_mut()) {
            match character.drive {
                DriveState::Space { space, .. } if space == id.index => {
                    character.changed = true;
                    if !same {
                        // Its state names what is no longer there: the pose it was spawned with, until it is driven again.
                        character.drive = DriveState::Local;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_space(&self, id: SpaceId) -> Result<()> {
        self.check(id.skinner, "pose space")?;
        let found = self.spaces.get(id.index as usize).filter(|s| s.generation == id.generation);
        found.map(|_| ()).ok_or(Error::StaleId { what: "pose space" })
    }

    fn upload_space(&mut self, rig: u32, space: &PoseSpace) -> Result<(u32, u32)> {
        let data = &self.rigs[rig as usize];
        let (found, expected) = (space.node_count(), data.node_count());
        if found != expected {
            return Err(Error::LengthMismatch { what: "rig nodes of a pose space", found, expected });
        }
        let words = space.words(data.rig());
        let count = words.len() as u32;
        let (start, moved) = self.rig_words.allocate(&self.device, count)?;
        if moved {
            self.frame.forget_bindings();
        }
        self.rig_words.data[start as usize..][..words.len()].copy_from_slice(&words);
        self.rig_words.mark(start, count);
        Ok((start, count))
    }

    /// [`super::Drive::Space`].
    pub(super) fn drive_space(&mut self, character: CharacterId, id: SpaceId, state: &SpaceState) -> Result<()> {
        self.check_space(id)?;
        let data = &self.spaces[id.index as usize];
        let Some(target) = self.slots[character.index as usize].character.as_mut() else { return Ok(()) };
        if target.rig != data.rig {
            let (index, count) = (id.index as usize, self.spaces.iter().filter(|s| s.rig == target.rig).count());
            return Err(Error::OutOfRange { what: "pose space of the character's rig", index, count });
        }
        let rows = state.words(&data.space, &mut self.state_words)?;
        let rig = &self.rigs[target.rig as usize];
        let needed = Scratch::rows(rig.node_count(), target.is_dual()) + data.space.shape().weight_rows(rows);
        let count = self.state_words.len() as u32;
        let mut moved = false;
        if target.scratch.1 < needed {
            let (start, grown) = self.scratch.allocate(&self.device, needed)?;
            self.scratch.release(target.scratch.0, target.scratch.1);
            target.scratch = (start, needed);
            moved |= grown;
        }
        let mut dirty = 0..count;
        if target.state.1 < count {
            let (start, grown) = self.states.allocate(&self.device, count)?;
            self.states.release(target.state.0, target.state.1);
            target.state = (start, count);
            moved |= grown;
        } else if matches!(target.drive, DriveState::Space { space, .. } if space == id.index) {
            // Only what changed: three words when the point moves.
            let old = &self.states.data[target.state.0 as usize..][..count as usize];
            let differs = |i: &u32| old[*i as usize] != self.state_words[*i as usize];
            let first = (0..count).find(differs).unwrap_or(count);
            dirty = first..(first..count).rev().find(differs).map_or(first, |last| last + 1);
        }
        if dirty.is_empty() && matches!(target.drive, DriveState::Space { space, .. } if space == id.index) {
            return Ok(());
        }
        self.states.data[target.state.0 as usize..][..count as usize].copy_from_slice(&self.state_words);
        let waiting = &target.state_dirty;
        target.state_dirty = if waiting.is_empty() || dirty.is_empty() {
            if dirty.is_empty() { waiting.clone() } else { dirty }
        } else {
            waiting.start.min(dirty.start)..waiting.end.max(dirty.end)
        };
        match &mut target.space_state {
            Some(kept) => {
                kept.point = state.point;
                kept.selections.clone_from(&state.selections);
                kept.cells.clone_from(&state.cells);
            }
            None => target.space_state = Some(Box::new(state.clone())),
        }
        target.weights_changed |= matches!(target.drive, DriveState::Clips(_));
        target.drive = DriveState::Space { space: id.index, settled: state.settled_at() };
        target.changed = true;
        if moved {
            self.frame.forget_bindings();
        }
        Ok(())
    }
}
