//! The skinner: rigs, meshes and characters on the GPU. The frame itself is in `record.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::bounds::Boxes;
use super::character::{
    CharacterData, CharacterId, Drive, DriveState, MeshId, PartData, PartId, RigId, Slot, Todo, Vertices,
};
use super::mesh::{MeshOptions, MeshRows, QUAD};
use super::mirror::Mirror;
use super::pages::{PageKind, Pages, Place};
use super::pose::{CharacterRecord, Scratch};
use super::record::Frame;
use super::rig::{RigData, RigDescriptor};
use super::schedule::MeshPlace;
use super::skin::{Pipelines, Variant};
use super::space::SpaceData;
use crate::character::Mesh;
use crate::math::{Affine, Affine64};
use crate::{Error, Result};

/// What a [`Skinner`] is made with.
#[derive(Clone, Debug, Default)]
pub struct SkinnerDescriptor {
    /// Pipelines to share with other skinners of the same device; `None` makes new ones.
    pub pipelines: Option<Arc<Pipelines>>,
    /// Keeps the positions of the frame before, for motion vectors: [`Vertices::previous`]. 24 more bytes of traffic per
    /// skinned vertex, and 12 of memory. Default off.
    pub previous_positions: bool,
    /// Boxes every skinned part in, exactly: [`Vertices::bounds`] and [`Skinner::bounds`]. Default off.
    pub bounds: bool,
}

#[derive(Debug)]
pub(super) struct MeshData {
    pub place: Place,
    pub variant: Variant,
    vertex_count: u32,
    pub gpu: MeshPlace,
    joint_count: u32,
    morph_count: u32,
    pub pipeline: wgpu::ComputePipeline,
}

/// GPU compute skinning of any number of characters, with at most one dispatch per kernel variant and page.
///
/// All errors of assets and limits come from `add_*`, `spawn` and `drive`; `prepare` and `record` cannot fail. In steady
/// state (nothing spawned or removed) neither makes a GPU object nor allocates.
#[derive(Debug)]
pub struct Skinner {
    pub(super) uid: u32,
    pub(super) device: wgpu::Device,
    pub(super) pipelines: Arc<Pipelines>,
    pub(super) rigs: Vec<RigData>,
    pub(super) meshes: Vec<MeshData>,
    pub(super) slots: Vec<Slot>,
    free_slots: Vec<u32>,
    pub(super) assets: Pages,
    pub(super) outputs: Pages,
    pub(super) previous: bool,
    pub(super) boxes: Option<Boxes>,
    pub(super) rig_words: Mirror<u32>,
    pub(super) spaces: Vec<SpaceData>,
    pub(super) states: Mirror<u32>,
    pub(super) state_words: Vec<u32>,
    pub(super) records: Mirror<CharacterRecord>,
    pub(super) scratch: Scratch,
    pub(super) palettes: Mirror<Affine>,
    pub(super) morph_weights: Mirror<f32>,
    pub(super) frame: Frame,
    pub(super) worlds: Vec<Affine64>,
}

static NEXT_UID: AtomicU32 = AtomicU32::new(0);

impl Skinner {
    /// A skinner on the host's device; buffers come as they are needed.
    ///
    /// # Errors
    /// [`Error::DeviceLimit`] when the device has fewer than the 8 storage buffers per compute stage that WebGPU guarantees.
    pub fn new(device: &wgpu::Device, descriptor: &SkinnerDescriptor) -> Result<Self> {
        let limits = device.limits();
        if limits.max_storage_buffers_per_shader_stage < 8 {
            return Err(Error::DeviceLimit {
                what: "storage buffers in a compute shader",
                needed: 8,
                limit: u64::from(limits.max_storage_buffers_per_shader_stage),
            });
        }
        let pipelines = descriptor.pipelines.clone().unwrap_or_else(|| Arc::new(Pipelines::new(device)));
        let storage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
        let assets = PageKind {
            what: "rows of 16 bytes of mesh data in one page",
            streams: &[("dermis assets", 16)],
            usage: storage,
            first_capacity: 1 << 16,
        };
        let outputs = PageKind {
            what: "groups of four vertices of one part in one page",
            streams: match descriptor.previous_positions {
                false => &[("dermis positions", 48), ("dermis frames", 32)],
                true => &[("dermis positions", 48), ("dermis frames", 32), ("dermis previous", 48)],
            },
            usage: wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
            first_capacity: 1 << 14,
        };
        Ok(Self {
            uid: NEXT_UID.fetch_add(1, Ordering::Relaxed),
            pipelines,
            rigs: Vec::new(),
            meshes: Vec::new(),
            slots: Vec::new(),
            free_slots: Vec::new(),
            assets: Pages::new(device, assets),
            outputs: Pages::new(device, outputs),
            previous: descriptor.previous_positions,
            boxes: descriptor.bounds.then(|| Boxes::new(device)),
            rig_words: Mirror::new(device, "words of rigs and clips", 1 << 12),
            spaces: Vec::new(),
            states: Mirror::new(device, "words of pose space states", 1 << 10),
            state_words: Vec::new(),
            records: Mirror::new(device, "characters", 1 << 4),
            scratch: Scratch::new(device),
            palettes: Mirror::new(device, "joints in all palettes", 1 << 10),
            morph_weights: Mirror::new(device, "morph weights", 1 << 8),
            frame: Frame::new(device),
            worlds: Vec::new(),
            device: device.clone(),
        })
    }

    /// The pipelines, to share with another skinner of the same device.
    pub fn pipelines(&self) -> &Arc<Pipelines> {
        &self.pipelines
    }

    /// Takes in a rig with its skins and clips.
    ///
    /// # Errors
    /// Those of [`crate::character::Rig::validate`] and [`crate::character::Skin::validate`].
    pub fn add_rig(&mut self, descriptor: &RigDescriptor<'_>) -> Result<RigId> {
        let (mut rig, words) = RigData::new(descriptor)?;
        let (start, moved) = self.rig_words.allocate(&self.device, words.len() as u32)?;
        if moved {
            self.frame.forget_bindings();
        }
        rig.words = start;
        self.rig_words.data[start as usize..][..words.len()].copy_from_slice(&words);
        self.rig_words.mark(start, words.len() as u32);
        self.rigs.push(rig);
        Ok(RigId { skinner: self.uid, index: self.rigs.len() as u32 - 1 })
    }

    /// Packs and uploads a mesh with the default [`MeshOptions`].
    ///
    /// # Errors
    /// As [`Skinner::add_mesh_with`].
    pub fn add_mesh(&mut self, queue: &wgpu::Queue, mesh: &Mesh) -> Result<MeshId> {
        self.add_mesh_with(queue, mesh, MeshOptions::default())
    }

    /// Cleans, prunes and packs a mesh's influences, uploads it and makes the pipeline it needs.
    ///
    /// # Errors
    /// Those of [`Mesh::validate`] and [`crate::influence::clean`]; [`Error::DeviceLimit`] when the mesh does not fit into
    /// one storage binding of the device.
    pub fn add_mesh_with(&mut self, queue: &wgpu::Queue, mesh: &Mesh, options: MeshOptions) -> Result<MeshId> {
        let mut rows = MeshRows::new(mesh, options)?;
        rows.variant.previous = self.previous;
        rows.variant.bounds = self.boxes.is_some();
        let place = self.assets.allocate(&self.device, rows.rows.len() as u32)?;
        rows.relocate(place.start);
        let buffer = &self.assets.pages[place.page as usize].buffers[0];
        queue.write_buffer(buffer, 16 * u64::from(place.start), bytemuck::cast_slice(&rows.rows));
        self.meshes.push(MeshData {
            place,
            variant: rows.variant,
            vertex_count: rows.vertex_count,
            gpu: MeshPlace {
                quad_count: rows.vertex_count.div_ceil(QUAD as u32),
                quads: place.start,
                stride: rows.stride,
            },
            joint_count: rows.joint_count,
            morph_count: rows.morph_count,
            pipeline: self.pipelines.skin.variant(&self.device, rows.variant),
        });
        Ok(MeshId { skinner: self.uid, index: self.meshes.len() as u32 - 1 })
    }

    /// A new character in the rest pose, visible; reserves its palettes and its output vertices.
    ///
    /// # Errors
    /// [`Error::StaleId`] for identifiers of another skinner, [`Error::OutOfRange`] for a skin the rig does not have or a
    /// mesh that names more joints than its skin has, [`Error::DeviceLimit`] past the device's limits. After an error
    /// everything that was there still works.
    pub fn spawn(&mut self, rig: RigId, parts: &[PartId]) -> Result<CharacterId> {
        self.check(rig.skinner, "rig")?;
        let data = &self.rigs[rig.index as usize];
        let palette_len = data.palette_len();
        for part in parts {
            self.check(part.mesh.skinner, "mesh")?;
            if part.skin >= data.skin_count() {
                return Err(Error::OutOfRange { what: "skin", index: part.skin, count: data.skin_count() });
            }
            let (joints, needed) = (data.joint_count(part.skin), self.meshes[part.mesh.index as usize].joint_count);
            if needed > joints {
                return Err(Error::OutOfRange { what: "joint", index: needed as usize - 1, count: joints as usize });
            }
        }
        let pose = data.rest.clone();
        let scratch_rows = Scratch::rows(data.node_count());
        let skin_starts: Vec<u32> = parts.iter().map(|p| data.skin_starts[p.skin]).collect();

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
            boxed: false,
            clip_time: f64::NAN,
        };
        let reserved = self.reserve(&mut character, parts, &skin_starts, scratch_rows);
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

    /// What a character needs besides its palettes. True when a shared buffer was replaced; after an error the character
    /// holds what it already got.
    fn reserve(
        &mut self,
        character: &mut CharacterData,
        parts: &[PartId],
        skin_starts: &[u32],
        scratch_rows: u32,
    ) -> Result<bool> {
        let (record, mut moved) = self.records.allocate(&self.device, 1)?;
        character.record = (record, 1);
        let (scratch, scratch_moved) = self.scratch.allocate(&self.device, scratch_rows)?;
        character.scratch = (scratch, scratch_rows);
        moved |= scratch_moved;
        for (part, &skin_start) in parts.iter().zip(skin_starts) {
            let mesh = &self.meshes[part.mesh.index as usize];
            let (quad_count, morph_count) = (mesh.gpu.quad_count, mesh.morph_count);
            let (weights, weights_moved) = self.morph_weights.allocate(&self.device, morph_count)?;
            moved |= weights_moved;
            self.morph_weights.data[weights as usize..][..morph_count as usize].fill(0.0);
            let output = self.outputs.allocate(&self.device, quad_count).inspect_err(|_| {
                self.morph_weights.release(weights, morph_count);
            })?;
            let morphs = (weights, morph_count);
            let mut data = PartData { mesh: part.mesh.index, output, skin_start, morphs, bounds: 0 };
            if let Some(boxes) = &mut self.boxes {
                let (index, boxes_moved) = boxes.allocate(&self.device).inspect_err(|_| {
                    self.morph_weights.release(weights, morph_count);
                    self.outputs.release(output);
                })?;
                data.bounds = index;
                moved |= boxes_moved;
            }
            character.parts.push(data);
        }
        Ok(moved)
    }

    fn give_back(&mut self, character: CharacterData) {
        self.palettes.release(character.palette.0, character.palette.1);
        self.records.release(character.record.0, character.record.1);
        self.scratch.release(character.scratch.0, character.scratch.1);
        self.states.release(character.state.0, character.state.1);
        for part in character.parts {
            self.outputs.release(part.output);
            if let Some(boxes) = &mut self.boxes {
                boxes.release(part.bounds);
            }
            self.morph_weights.release(part.morphs.0, part.morphs.1);
        }
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

    /// Says where a character's pose comes from, from the next `prepare` on.
    ///
    /// # Errors
    /// [`Error::StaleId`]; [`Error::LengthMismatch`], [`Error::OutOfRange`] and [`Error::NotFinite`] when the drive does not
    /// fit the rig.
    pub fn drive(&mut self, character: CharacterId, drive: Drive<'_>) -> Result<()> {
        self.character(character)?;
        if let Drive::Space { space, state } = drive {
            return self.drive_space(character, space, state);
        }
        let Some(data) = self.slots[character.index as usize].character.as_mut() else { return Ok(()) };
        let rig = &self.rigs[data.rig as usize];
        match drive {
            Drive::Space { .. } => {}
            Drive::Local(pose) => {
                let (found, expected) = (pose.joints.len(), rig.node_count());
                if found != expected {
                    return Err(Error::LengthMismatch { what: "pose", found, expected });
                }
                let finite =
                    |j: &crate::pose::JointPose| bytemuck::cast_ref::<_, [f32; 12]>(j).iter().all(|x| x.is_finite());
                if let Some(index) = pose.joints.iter().position(|j| !finite(j)) {
                    return Err(Error::NotFinite { what: "pose of rig node", index });
                }
                data.pose.joints.copy_from_slice(&pose.joints);
                data.drive = DriveState::Local;
            }
            Drive::Palette(skin, palette) => {
                if skin >= rig.skin_count() {
                    return Err(Error::OutOfRange { what: "skin", index: skin, count: rig.skin_count() });
                }
                let (found, expected) = (palette.len(), rig.joint_count(skin) as usize);
                if found != expected {
                    return Err(Error::LengthMismatch { what: "palette", found, expected });
                }
                if let Some(index) = palette.iter().position(|m| !m.is_finite()) {
                    return Err(Error::NotFinite { what: "palette entry", index });
                }
                let start = data.palette.0 as usize;
                if data.drive != DriveState::Palette {
                    // The other skins keep the pose they had: only the CPU's copy of the palettes will be read from now on.
                    if let DriveState::Clip { clip, .. } = data.drive {
                        rig.clips[clip].sample(data.clip_time as f32, &mut data.pose);
                    }
                    let all = start..start + data.palette.1 as usize;
                    rig.palettes(&data.pose, &mut self.worlds, &mut self.palettes.data[all])?;
                }
                let first = start + rig.skin_starts[skin] as usize;
                self.palettes.data[first..first + found].copy_from_slice(palette);
                data.drive = DriveState::Palette;
            }
            Drive::Clip { clip, start, looping } => {
                if clip >= rig.clips.len() {
                    return Err(Error::OutOfRange { what: "clip", index: clip, count: rig.clips.len() });
                }
                if !start.is_finite() {
                    return Err(Error::NotFinite { what: "start of clip", index: clip });
                }
                data.pose.clone_from(&rig.rest);
                data.clip_time = f64::NAN;
                data.drive = DriveState::Clip { clip, start, looping };
            }
        }
        data.changed = true;
        Ok(())
    }

    /// Sets the morph weights of a part, one per target; any finite value. A playing clip overrides those it drives: its
    /// morph channels address parts by their index in the list the character was spawned with.
    ///
    /// # Errors
    /// [`Error::StaleId`], [`Error::OutOfRange`], [`Error::LengthMismatch`], [`Error::NotFinite`].
    pub fn set_morph_weights(&mut self, character: CharacterId, part: usize, weights: &[f32]) -> Result<()> {
        self.character(character)?;
        let Some(data) = self.slots[character.index as usize].character.as_mut() else { return Ok(()) };
        let count = data.parts.len();
        let Some(part) = data.parts.get(part) else {
            return Err(Error::OutOfRange { what: "part", index: part, count });
        };
        let (start, expected) = (part.morphs.0 as usize, part.morphs.1 as usize);
        if weights.len() != expected {
            return Err(Error::LengthMismatch { what: "morph weights", found: weights.len(), expected });
        }
        if let Some(index) = weights.iter().position(|w| !w.is_finite()) {
            return Err(Error::NotFinite { what: "morph weight", index });
        }
        self.morph_weights.data[start..start + expected].copy_from_slice(weights);
        data.changed = true;
        Ok(())
    }

    /// Hidden characters are neither posed nor skinned; their vertices stay as they were.
    ///
    /// # Errors
    /// [`Error::StaleId`].
    pub fn set_visible(&mut self, character: CharacterId, visible: bool) -> Result<()> {
        self.character(character)?;
        if let Some(data) = self.slots[character.index as usize].character.as_mut() {
            data.visible = visible;
        }
        Ok(())
    }

    /// Where the skinned vertices of a part are: `part` is its index in the list the character was spawned with. Valid until
    /// the character is removed; the contents are those of the last submitted [`Skinner::record`].
    ///
    /// # Errors
    /// [`Error::StaleId`], [`Error::OutOfRange`].
    pub fn vertices(&self, character: CharacterId, part: usize) -> Result<Vertices<'_>> {
        let data = self.character(character)?;
        let Some(found) = data.parts.get(part) else {
            return Err(Error::OutOfRange { what: "part", index: part, count: data.parts.len() });
        };
        let place = found.output;
        let start = place.start * QUAD as u32;
        // A mesh without vertices has no page of its own to point into.
        let buffers = &self.outputs.pages[place.page as usize].buffers;
        Ok(Vertices {
            positions: &buffers[0],
            frames: &buffers[1],
            previous: buffers.get(2),
            bounds: self.boxes.as_ref().map(|b| (&b.buffer, found.bounds)),
            page: place.page,
            range: start..start + self.meshes[found.mesh as usize].vertex_count,
        })
    }

    pub(super) fn check(&self, skinner: u32, what: &'static str) -> Result<()> {
        if skinner == self.uid { Ok(()) } else { Err(Error::StaleId { what }) }
    }

    pub(super) fn character(&self, id: CharacterId) -> Result<&CharacterData> {
        self.check(id.skinner, "character")?;
        let slot = self.slots.get(id.index as usize).filter(|s| s.generation == id.generation);
        slot.and_then(|s| s.character.as_ref()).ok_or(Error::StaleId { what: "character" })
    }
}
