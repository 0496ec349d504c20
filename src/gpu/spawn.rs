//! Characters come and go, and so do their parts, meshes and rigs.

use super::character::{CharacterData, CharacterId, DriveState, MeshId, PartData, PartId, RigId, Slot, Todo};
use super::clips::state_words;
use super::dual::dual_of_palette;
use super::pose::Scratch;
use super::rig::RigData;
use super::skinner::{MeshData, Skinner};
use super::space::NO_RIG;
use crate::{Error, Result};

/// A dual quaternion mesh cannot be driven by a palette that the host's shader writes.
pub(super) fn external_dual() -> Error {
    let expected = "one that the skinner poses: a dual quaternion mesh takes more than a palette";
    Error::InvalidParameter { what: "the character's drive", value: "External".into(), expected }
}

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
            (data.palette_len(), data.rest.clone(), Scratch::rows(data.node_count(), false));
        self.check_parts(rig.index, parts)?;
        let (palette, palettes_moved) = self.palettes.allocate(&self.device, palette_len)?;
        let mut character = CharacterData {
            rig: rig.index,
            parts: Vec::with_capacity(parts.len()),
            palette: (palette, palette_len),
            dual: (0, 0),
            record: (0, 0),
            joints: None,
            scratch: (0, 0),
            state: (0, 0),
            state_dirty: 0..0,
            drive: DriveState::Local,
            pose,
            visible: true,
            changed: true,
            weights_changed: true,
            todo: Todo::Nothing,
            first_frame: None,
            clip_time: f64::NAN,
            posed_at: 0.0,
            interval: (0.0, 0.0),
            due: true,
            space_state: None,
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
        if self.character(character)?.drive == DriveState::External && self.any_dual(parts) {
            return Err(external_dual());
        }
        let Some(mut data) = self.slots[character.index as usize].character.take() else { return Ok(()) };
        let changed = self.change_parts(&mut data, parts);
        self.slots[character.index as usize].character = Some(data);
        if !matches!(changed, Ok(false)) {
            self.frame.forget_bindings();
        }
        self.frame.membership_changed = true;
        changed.map(|_| ())
    }

    /// `set_meshes` on a character outside of its slot. True when a shared buffer was replaced.
    fn change_parts(&mut self, character: &mut CharacterData, parts: &[PartId]) -> Result<bool> {
        let mut kept = vec![false; character.parts.len()];
        // Which of the old parts each new one is, if any.
        let mut sources = Vec::with_capacity(parts.len());
        for part in parts {
            let skin_start = self.rigs[character.rig as usize].skin_starts[part.skin];
            let is = |old: &PartData| old.mesh == part.mesh.index && old.skin_start == skin_start;
            let source = (0..kept.len()).find(|&i| !kept[i] && is(&character.parts[i]));
            if let Some(i) = source {
                kept[i] = true;
            }
            sources.push(source);
        }
        let mut added = Vec::new();
        let reserved = self.reserve_parts(character, parts, &sources, &mut added);
        let moved = match reserved {
            Ok(moved) => moved,
            Err(error) => {
                added.iter().for_each(|part| self.give_back_part(part));
                return Err(error);
            }
        };
        let mut old: Vec<Option<PartData>> = character.parts.drain(..).map(Some).collect();
        let mut added = added.into_iter();
        let now = sources.iter().filter_map(|source| source.map_or_else(|| added.next(), |i| old[i].take()));
        character.parts.extend(now);
        old.iter().flatten().for_each(|part| self.give_back_part(part));
        if character.is_dual() && !self.any_dual(parts) {
            self.palettes.release(character.dual.0, character.dual.1);
            character.dual = (0, 0);
        }
        character.changed = true;
        character.weights_changed = true;
        Ok(moved)
    }

    /// What the parts without a source need; what there is of them when there is not enough is in `added`.
    fn reserve_parts(
        &mut self,
        character: &mut CharacterData,
        parts: &[PartId],
        sources: &[Option<usize>],
        added: &mut Vec<PartData>,
    ) -> Result<bool> {
        let mut moved = false;
        for (part, _) in parts.iter().zip(sources).filter(|(_, source)| source.is_none()) {
            let (part, part_moved) = self.reserve_part(character.rig, part)?;
            added.push(part);
            moved |= part_moved;
        }
        let needed = state_words(parts.len());
        if matches!(character.drive, DriveState::Clips(_)) && character.state.1 < needed {
            let (start, grown) = self.states.allocate(&self.device, needed)?;
            self.states.release(character.state.0, character.state.1);
            character.state = (start, needed);
            character.state_dirty = 0..needed;
            moved |= grown;
        }
        if self.any_dual(parts) && !character.is_dual() {
            moved |= self.reserve_dual(character)?;
            if character.drive == DriveState::Palette {
                let rig = &self.rigs[character.rig as usize];
                for skin in 0..rig.skin_count() {
                    dual_of_palette(rig, skin, &mut self.palettes.data, [character.palette, character.dual]);
                }
            }
        }
        Ok(moved)
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

    /// Removes a rig that no character has, its clips, masks and pose spaces; their memory is reused, as above.
    ///
    /// # Errors
    /// [`Error::StaleId`], [`Error::InUse`].
    pub fn remove_rig(&mut self, rig: RigId) -> Result<()> {
        let data = self.rig(rig)?;
        let (words, turns) = ((data.words, data.word_count), data.turn_words);
        let characters = self.slots.iter().filter_map(|s| s.character.as_ref());
        let users = characters.filter(|c| c.rig == rig.index).count();
        if users > 0 {
            return Err(Error::InUse { what: "rig", characters: users });
        }
        self.rig_words.release(words.0, words.1);
        self.rig_words.release(turns.0, turns.1);
        for mask in self.masks.iter_mut().filter(|m| m.rig == rig.index) {
            self.rig_words.release(mask.words, mask.weights.len() as u32);
            mask.rig = NO_RIG;
        }
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

    fn any_dual(&self, parts: &[PartId]) -> bool {
        parts.iter().any(|p| self.meshes[p.mesh.index as usize].variant.dual)
    }

    /// What a character needs besides its palettes. True when a shared buffer was replaced; after an error the character
    /// holds what it already got.
    fn reserve(&mut self, character: &mut CharacterData, parts: &[PartId], scratch_rows: u32) -> Result<bool> {
        let (record, mut moved) = self.records.allocate(&self.device, 1)?;
        character.record = (record, 1);
        moved |= self.reserve_joints(character)?;
        if self.any_dual(parts) {
            moved |= self.reserve_dual(character)?;
        } else {
            let (scratch, scratch_moved) = self.scratch.allocate(&self.device, scratch_rows)?;
            character.scratch = (scratch, scratch_rows);
            moved |= scratch_moved;
        }
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
        // Where clips drive them, the host's weights stand behind those that the pose pass makes.
        let own = if self.rigs[rig as usize].drives_morphs { morph_count } else { 0 };
        let weight_count = own + morph_count;
        let (weights, mut moved) = self.morph_weights.allocate(&self.device, weight_count)?;
        self.morph_weights.data[weights as usize..][..weight_count as usize].fill(0.0);
        let (morphs, own_weights) = ((weights, morph_count), weights + own);
        let output = self.outputs.allocate(&self.device, quad_count).inspect_err(|_| {
            self.morph_weights.release(weights, weight_count);
        })?;
        let (first_frame, boxed) = (None, false);
        let mut data =
            PartData { mesh: part.mesh.index, output, skin_start, morphs, own_weights, bounds: 0, first_frame, boxed };
        if let Some(boxes) = &mut self.boxes {
            let (index, boxes_moved) = boxes.allocate(&self.device).inspect_err(|_| {
                self.morph_weights.release(weights, weight_count);
                self.outputs.release(output);
            })?;
            data.bounds = index;
            moved |= boxes_moved;
        }
        Ok((data, moved))
    }

    fn give_back(&mut self, character: CharacterData) {
        self.palettes.release(character.palette.0, character.palette.1);
        self.palettes.release(character.dual.0, character.dual.1);
        self.records.release(character.record.0, character.record.1);
        if let (Some(joints), Some((start, count))) = (&mut self.joints, character.joints) {
            joints.release(start, count);
        }
        self.scratch.release(character.scratch.0, character.scratch.1);
        self.states.release(character.state.0, character.state.1);
        character.parts.iter().for_each(|part| self.give_back_part(part));
    }

    fn give_back_part(&mut self, part: &PartData) {
        self.outputs.release(part.output);
        if let Some(boxes) = &mut self.boxes {
            boxes.release(part.bounds);
        }
        self.morph_weights.release(part.morphs.0, part.weight_count());
    }
}
