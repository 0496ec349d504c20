//! Characters come and go, and so do their parts, meshes and rigs.

use super::character::{CharacterData, CharacterId, DriveState, MeshId, PartData, PartId, RigId, Slot, Todo};
use super::pose::Scratch;
use super::rig::RigData;
use super::skinner::{MeshData, Skinner};
use super::space::NO_RIG;
use crate::{Error, Result};

impl Skinner {
    /// A new character in the rest pose, visible; reserves its palettes and its output vertices.
    ///
    /// # Errors
    /// [`Error::StaleId`] for identifiers of another skinner or of what was removed, [`Error::OutOfRange`] for a skin the rig
    /// does not have or a mesh that names more joints than its skin has, [`Error::OverBudget`] and [`Error::DeviceLimit`]
    /// past the budget and the device's limits. After an error everything that was there still works.
    pub fn spawn(&mut self, rig: RigId, parts: &[PartId]) -> Result<CharacterId> {
        let data = self.rig(rig)?;
        let (palette_len, pose, scratch_rows) =
            (data.palette_len(), data.rest.clone(), Scratch::rows(data.node_count()));
        self.check_parts(rig.index, parts)?;
        let (palette, palettes_moved) = self.palettes.allocate(&self.device, palette_len)?;
        let mut character = CharacterData {
            rig: rig.index,
            parts: Vec::with_capacity(parts.len()),
            palette: (palette, palette_len),
            record: (0, 0),
            scratch: (0, 0),
            state: (0, 0),
            state_dirty: 0..0,
            drive: DriveState::Local,
            pose,
            visible: true,
            changed: true,
            todo: Todo::Nothing,
            first_frame: None,
            clip_time: f64::NAN,
        };
        let reserved = self.reserve(&mut character, parts, scratch_rows);
        if palettes_moved || !matches!(reserved, Ok(false)) {
            self.frame.forget_bindings();
        }
        if let Err(error) = reserved {
            self.give_back(character);
            return Err(error);
        }
        let index = self.free_slots.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        slot.character = Some(character);
        self.frame.membership_changed = true;
        Ok(CharacterId { skinner: self.uid, index, generation: slot.generation })
    }

    /// Gives a character other parts, such as another outfit or level of detail; it keeps its drive, pose and place in it.
    /// Parts it already has stay as they are, with vertices and morph weights; new ones start with morph weights 0, and are
    /// skinned by the next frame in which the character is visible. Parts are counted anew: those of morph channels, too.
    ///
    /// # Errors
    /// As [`Skinner::spawn`]; after an error the character is as it was.
    pub fn set_meshes(&mut self, character: CharacterId, parts: &[PartId]) -> Result<()> {
        let rig = self.character(character)?.rig;
        self.check_parts(rig, parts)?;
        let index = character.index as usize;
        let Some(data) = self.slots[index].character.as_mut() else { return Ok(()) };
        let mut old: Vec<Option<PartData>> = std::mem::take(&mut data.parts).into_iter().map(Some).collect();
        // Which of the old parts each new one is, if any.
        let mut kept = vec![false; old.len()];
        let sources: Vec<Option<usize>> = parts
            .iter()
            .map(|part| {
                let skin_start = self.rigs[rig as usize].skin_starts[part.skin];
                let is = |o: &Option<PartData>| {
                    o.as_ref().is_some_and(|o| o.mesh == part.mesh.index && o.skin_start == skin_start)
                };
                let found = (0..old.len()).find(|&i| !kept[i] && is(&old[i]))?;
                kept[found] = true;
                Some(found)
            })
            .collect();
        let mut fresh = Vec::new();
        let mut moved = false;
        let added = parts.iter().zip(&sources).filter(|(_, source)| source.is_none()).try_for_each(|(part, _)| {
            let (part, grown) = self.reserve_part(rig, part)?;
            fresh.push(part);
            moved |= grown;
            Ok(())
        });
        if moved || added.is_err() {
            self.frame.forget_bindings();
        }
        let mut fresh = fresh.into_iter();
        let (now, gone): (Vec<PartData>, Vec<PartData>) = match &added {
            Ok(()) => {
                let now = sources.iter().filter_map(|s| s.map_or_else(|| fresh.next(), |i| old[i].take())).collect();
                (now, old.into_iter().flatten().collect())
            }
            Err(_) => (old.into_iter().flatten().collect(), fresh.collect()),
        };
        gone.into_iter().for_each(|part| self.give_back_part(&part));
        let Some(data) = self.slots[index].character.as_mut() else { return Ok(()) };
        data.parts = now;
        added?;
        data.changed = true;
        self.frame.membership_changed = true;
        Ok(())
    }

    /// Removes a character; its ranges are reused.
    ///
    /// # Errors
    /// [`Error::StaleId`].
    pub fn despawn(&mut self, character: CharacterId) -> Result<()> {
        self.character(character)?;
        let slot = &mut self.slots[character.index as usize];
        slot.generation = slot.generation.wrapping_add(1);
        if let Some(data) = slot.character.take() {
            self.give_back(data);
        }
        self.free_slots.push(character.index);
        self.frame.membership_changed = true;
        Ok(())
    }

    /// Removes a mesh that no character has; its memory is reused, so submit what was recorded with it first.
    ///
    /// # Errors
    /// [`Error::StaleId`], [`Error::InUse`].
    pub fn remove_mesh(&mut self, mesh: MeshId) -> Result<()> {
        let place = self.mesh(mesh)?.place;
        let characters = self.slots.iter().filter_map(|s| s.character.as_ref());
        let users = characters.filter(|c| c.parts.iter().any(|p| p.mesh == mesh.index)).count();
        if users > 0 {
            return Err(Error::InUse { what: "mesh", characters: users });
        }
        self.assets.release(place);
        self.meshes[mesh.index as usize].generation += 1;
        self.free_meshes.push(mesh.index);
        Ok(())
    }

    /// Removes a rig that no character has, its clips and its pose spaces; their memory is reused, as above.
    ///
    /// # Errors
    /// [`Error::StaleId`], [`Error::InUse`].
    pub fn remove_rig(&mut self, rig: RigId) -> Result<()> {
        let data = self.rig(rig)?;
        let words = (data.words, data.word_count);
        let characters = self.slots.iter().filter_map(|s| s.character.as_ref());
        let users = characters.filter(|c| c.rig == rig.index).count();
        if users > 0 {
            return Err(Error::InUse { what: "rig", characters: users });
        }
        self.rig_words.release(words.0, words.1);
        for space in self.spaces.iter_mut().filter(|s| s.rig == rig.index) {
            self.rig_words.release(space.words.0, space.words.1);
            (space.rig, space.generation) = (NO_RIG, space.generation + 1);
        }
        self.rigs[rig.index as usize].generation += 1;
        self.free_rigs.push(rig.index);
        Ok(())
    }

    pub(super) fn rig(&self, id: RigId) -> Result<&RigData> {
        self.check(id.skinner, "rig")?;
        let found = self.rigs.get(id.index as usize).filter(|r| r.generation == id.generation);
        found.ok_or(Error::StaleId { what: "rig" })
    }

    pub(super) fn mesh(&self, id: MeshId) -> Result<&MeshData> {
        self.check(id.skinner, "mesh")?;
        let found = self.meshes.get(id.index as usize).filter(|m| m.generation == id.generation);
        found.ok_or(Error::StaleId { what: "mesh" })
    }

    /// Whether a character of this rig can have these parts.
    fn check_parts(&self, rig: u32, parts: &[PartId]) -> Result<()> {
        let data = &self.rigs[rig as usize];
        for part in parts {
            let needed = self.mesh(part.mesh)?.joint_count;
            if part.skin >= data.skin_count() {
                return Err(Error::OutOfRange { what: "skin", index: part.skin, count: data.skin_count() });
            }
            let joints = data.joint_count(part.skin);
            if needed > joints {
                return Err(Error::OutOfRange { what: "joint", index: needed as usize - 1, count: joints as usize });
            }
        }
        Ok(())
    }

    /// What a character needs besides its palettes. True when a shared buffer was replaced; after an error the character
    /// holds what it already got.
    fn reserve(&mut self, character: &mut CharacterData, parts: &[PartId], scratch_rows: u32) -> Result<bool> {
        let (record, mut moved) = self.records.allocate(&self.device, 1)?;
        character.record = (record, 1);
        let (scratch, scratch_moved) = self.scratch.allocate(&self.device, scratch_rows)?;
        character.scratch = (scratch, scratch_rows);
        moved |= scratch_moved;
        for part in parts {
            let (part, part_moved) = self.reserve_part(character.rig, part)?;
            character.parts.push(part);
            moved |= part_moved;
        }
        Ok(moved)
    }

    /// A part with its output, morph weights and box, and whether a shared buffer was replaced; nothing after an error.
    fn reserve_part(&mut self, rig: u32, part: &PartId) -> Result<(PartData, bool)> {
        let mesh = &self.meshes[part.mesh.index as usize];
        let (quad_count, morph_count) = (mesh.gpu.quad_count, mesh.morph_count);
        let skin_start = self.rigs[rig as usize].skin_starts[part.skin];
        let (weights, mut moved) = self.morph_weights.allocate(&self.device, morph_count)?;
        self.morph_weights.data[weights as usize..][..morph_count as usize].fill(0.0);
        let morphs = (weights, morph_count);
        let output = self.outputs.allocate(&self.device, quad_count).inspect_err(|_| {
            self.morph_weights.release(weights, morph_count);
        })?;
        let (first_frame, boxed) = (None, false);
        let mut data = PartData { mesh: part.mesh.index, output, skin_start, morphs, bounds: 0, first_frame, boxed };
        if let Some(boxes) = &mut self.boxes {
            let (index, boxes_moved) = boxes.allocate(&self.device).inspect_err(|_| {
                self.morph_weights.release(weights, morph_count);
                self.outputs.release(output);
            })?;
            data.bounds = index;
            moved |= boxes_moved;
        }
        Ok((data, moved))
    }

    fn give_back(&mut self, character: CharacterData) {
        self.palettes.release(character.palette.0, character.palette.1);
        self.records.release(character.record.0, character.record.1);
        self.scratch.release(character.scratch.0, character.scratch.1);
        self.states.release(character.state.0, character.state.1);
        character.parts.iter().for_each(|part| self.give_back_part(part));
    }

    fn give_back_part(&mut self, part: &PartData) {
        self.outputs.release(part.output);
        if let Some(boxes) = &mut self.boxes {
            boxes.release(part.bounds);
        }
        self.morph_weights.release(part.morphs.0, part.morphs.1);
    }
}
