//! The skinner: rigs, meshes and characters on the GPU, and the frame that skins them.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::mesh::{MeshOptions, MeshWords};
use super::mirror::Mirror;
use super::pages::{PageKind, Pages, Place};
use super::rig::{RigData, RigDescriptor};
use super::schedule::{Dispatch, MeshPlace, Work, schedule};
use super::skin::{Batch, SkinPipelines, Variant};
use crate::character::Mesh;
use crate::math::{Affine, Affine64};
use crate::pose::Pose;
use crate::{Error, Result};

/// What a [`Skinner`] is made with.
#[derive(Clone, Debug, Default)]
pub struct SkinnerDescriptor {
    /// Pipelines to share with other skinners of the same device; `None` makes new ones.
    pub pipelines: Option<Arc<SkinPipelines>>,
}

/// A rig of a [`Skinner`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RigId {
    skinner: u32,
    index: u32,
}

/// A mesh of a [`Skinner`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MeshId {
    skinner: u32,
    index: u32,
}

/// A spawned character; stale after [`Skinner::despawn`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CharacterId {
    skinner: u32,
    index: u32,
    generation: u32,
}

/// A mesh under one of its rig's skins. A [`MeshId`] converts into a part under skin 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PartId {
    /// The mesh.
    pub mesh: MeshId,
    /// Index into [`RigDescriptor::skins`].
    pub skin: usize,
}

impl From<MeshId> for PartId {
    fn from(mesh: MeshId) -> Self {
        Self { mesh, skin: 0 }
    }
}

/// Where a character's pose comes from.
#[derive(Clone, Copy, Debug)]
pub enum Drive<'a> {
    /// A local pose, one record per rig node; it is copied.
    Local(&'a Pose),
    /// The palette of the skin with this index: one map per joint, in character space. Other skins keep what they had.
    Palette(usize, &'a [Affine]),
    /// A clip of the rig over the rest pose, as a function of the time given to [`Skinner::prepare`]: no call is needed
    /// while it plays.
    Clip {
        /// Index into [`RigDescriptor::clips`].
        clip: usize,
        /// The host's seconds at which the clip is at its time 0.
        start: f64,
        /// Starts over at its end; else the last pose stays.
        looping: bool,
    },
}

/// Where the skinned vertices of one part lie.
#[derive(Clone, Debug)]
pub struct Vertices<'a> {
    /// f32×3 per vertex, stride 12; usages `VERTEX | STORAGE | COPY_SRC`.
    pub positions: &'a wgpu::Buffer,
    /// Octahedral normal and tangent, stride 8, to be read with [`super::FRAME_WGSL`]; usages as above.
    pub frames: &'a wgpu::Buffer,
    /// Index of the page both buffers are; parts with equal pages need no new bindings.
    pub page: u32,
    /// The part's vertices in the page; `start` is the `base_vertex` of a draw.
    pub range: Range<u32>,
}

#[derive(Debug)]
struct MeshData {
    place: Place,
    variant: Variant,
    gpu: MeshPlace,
    joint_count: u32,
    morph_count: u32,
    pipeline: wgpu::ComputePipeline,
}

#[derive(Debug)]
struct PartData {
    mesh: u32,
    output: Place,
    /// First joint, relative to the character's palettes.
    skin_start: u32,
    /// First weight and number of weights.
    morphs: (u32, u32),
}

#[derive(Clone, Copy, Debug)]
enum DriveState {
    Local,
    Palette,
    Clip { clip: usize, start: f64, looping: bool },
}

#[derive(Debug)]
struct CharacterData {
    rig: u32,
    parts: Vec<PartData>,
    /// First joint in the palettes.
    palette: u32,
    drive: DriveState,
    pose: Pose,
    visible: bool,
    /// The pose or a morph weight changed since the palettes were computed.
    changed: bool,
    /// To be skinned by the next `record`.
    pending: bool,
    /// Clip time the palettes were computed at.
    clip_time: f32,
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    character: Option<CharacterData>,
}

/// GPU compute skinning of any number of characters, with at most one dispatch per kernel variant and page.
///
/// All errors of assets and limits come from `add_*`, `spawn` and `drive`; `prepare` and `record` cannot fail. In steady
/// state (nothing spawned or removed) neither makes a GPU object nor allocates.
#[derive(Debug)]
pub struct Skinner {
    uid: u32,
    device: wgpu::Device,
    pipelines: Arc<SkinPipelines>,
    rigs: Vec<RigData>,
    meshes: Vec<MeshData>,
    slots: Vec<Slot>,
    free_slots: Vec<u32>,
    assets: Pages,
    pub(super) outputs: Pages,
    palettes: Mirror<Affine>,
    morph_weights: Mirror<f32>,
    tables: wgpu::Buffer,
    batches: wgpu::Buffer,
    batch_stride: u32,
    /// Workgroups a dispatch may have per dimension; larger grids fold to 2-D.
    pub(super) largest_grid: u32,
    /// (asset page, output page, bind group); dropped when a shared buffer is replaced.
    bind_groups: Vec<(u32, u32, wgpu::BindGroup)>,
    dispatches: Vec<Dispatch>,
    /// Characters in the tables, ascending.
    scheduled: Vec<u32>,
    /// The tables must be rebuilt even if the same characters are to be skinned.
    membership_changed: bool,
    /// `record` was called since the last `prepare`.
    recorded: bool,
    // Scratch, kept for its capacity.
    active: Vec<u32>,
    work: Vec<Work>,
    table_rows: Vec<[u32; 4]>,
    batch_bytes: Vec<u8>,
    worlds: Vec<Affine64>,
}

static NEXT_UID: AtomicU32 = AtomicU32::new(0);

impl Skinner {
    /// A skinner on the host's device; buffers come as they are needed.
    ///
    /// # Errors
    /// [`Error::DeviceLimit`] when the device has fewer than 6 storage buffers per compute stage (WebGPU guarantees 8).
    pub fn new(device: &wgpu::Device, descriptor: &SkinnerDescriptor) -> Result<Self> {
        let limits = device.limits();
        if limits.max_storage_buffers_per_shader_stage < 6 {
            return Err(Error::DeviceLimit {
                what: "storage buffers in a compute shader",
                needed: 6,
                limit: u64::from(limits.max_storage_buffers_per_shader_stage),
            });
        }
        let pipelines = descriptor.pipelines.clone().unwrap_or_else(|| Arc::new(SkinPipelines::new(device)));
        let storage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
        let assets = PageKind {
            what: "words of mesh data in one page",
            streams: &[("dermis assets", 4)],
            usage: storage,
            first_capacity: 1 << 18,
        };
        let outputs = PageKind {
            what: "vertices of one part in one page",
            streams: &[("dermis positions", 12), ("dermis frames", 8)],
            usage: wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
            first_capacity: 1 << 16,
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
            palettes: Mirror::new(device, "joints in all palettes", 1 << 10),
            morph_weights: Mirror::new(device, "morph weights", 1 << 8),
            tables: tables_buffer(device, 1 << 8),
            batches: batches_buffer(device, 1, limits.min_uniform_buffer_offset_alignment),
            batch_stride: limits.min_uniform_buffer_offset_alignment.max(size_of::<Batch>() as u32),
            largest_grid: limits.max_compute_workgroups_per_dimension,
            bind_groups: Vec::new(),
            dispatches: Vec::new(),
            scheduled: Vec::new(),
            membership_changed: false,
            recorded: true,
            active: Vec::new(),
            work: Vec::new(),
            table_rows: Vec::new(),
            batch_bytes: Vec::new(),
            worlds: Vec::new(),
            device: device.clone(),
        })
    }

    /// The pipelines, to share with another skinner of the same device.
    pub fn pipelines(&self) -> &Arc<SkinPipelines> {
        &self.pipelines
    }

    /// Takes in a rig with its skins and clips.
    ///
    /// # Errors
    /// Those of [`crate::character::Rig::validate`] and [`crate::character::Skin::validate`].
    pub fn add_rig(&mut self, descriptor: &RigDescriptor<'_>) -> Result<RigId> {
        self.rigs.push(RigData::new(descriptor)?);
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
        let mut words = MeshWords::new(mesh, options)?;
        let place = self.assets.allocate(&self.device, words.words.len() as u32)?;
        words.relocate(place.start);
        let buffer = &self.assets.pages[place.page as usize].buffers[0];
        queue.write_buffer(buffer, 4 * u64::from(place.start), bytemuck::cast_slice(&words.words));
        self.meshes.push(MeshData {
            place,
            variant: words.variant,
            gpu: MeshPlace {
                vertex_count: words.vertex_count,
                vertices: place.start,
                stride: words.stride,
                morphs: place.start + words.morphs,
            },
            joint_count: words.joint_count,
            morph_count: words.morph_count,
            pipeline: self.pipelines.variant(&self.device, words.variant),
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
        let pose = data.rest_pose();
        let skin_starts: Vec<u32> = parts.iter().map(|p| data.skin_starts[p.skin]).collect();

        let (palette, palettes_moved) = self.palettes.allocate(&self.device, palette_len)?;
        if palettes_moved {
            self.bind_groups.clear();
        }
        let mut reserved = Vec::with_capacity(parts.len());
        for (part, skin_start) in parts.iter().zip(skin_starts) {
            match self.reserve(part.mesh.index, skin_start) {
                Ok(part) => reserved.push(part),
                Err(error) => {
                    reserved.into_iter().for_each(|part| self.give_back(part));
                    self.palettes.release(palette, palette_len);
                    return Err(error);
                }
            }
        }
        let character = CharacterData {
            rig: rig.index,
            parts: reserved,
            palette,
            drive: DriveState::Local,
            pose,
            visible: true,
            changed: true,
            pending: false,
            clip_time: f32::NAN,
        };
        let index = self.free_slots.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        slot.character = Some(character);
        self.membership_changed = true;
        Ok(CharacterId { skinner: self.uid, index, generation: slot.generation })
    }

    /// Output vertices and morph weights of one part.
    fn reserve(&mut self, mesh: u32, skin_start: u32) -> Result<PartData> {
        let data = &self.meshes[mesh as usize];
        let morph_count = data.morph_count;
        let output = self.outputs.allocate(&self.device, data.gpu.vertex_count)?;
        match self.morph_weights.allocate(&self.device, morph_count) {
            Ok((start, moved)) => {
                if moved {
                    self.bind_groups.clear();
                }
                self.morph_weights.data[start as usize..(start + morph_count) as usize].fill(0.0);
                Ok(PartData { mesh, output, skin_start, morphs: (start, morph_count) })
            }
            Err(error) => {
                self.outputs.release(output);
                Err(error)
            }
        }
    }

    fn give_back(&mut self, part: PartData) {
        self.outputs.release(part.output);
        self.morph_weights.release(part.morphs.0, part.morphs.1);
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
            let palette_len = self.rigs[data.rig as usize].palette_len();
            self.palettes.release(data.palette, palette_len);
            data.parts.into_iter().for_each(|part| self.give_back(part));
        }
        self.free_slots.push(character.index);
        self.membership_changed = true;
        Ok(())
    }

    /// Says where a character's pose comes from, from the next `prepare` on.
    ///
    /// # Errors
    /// [`Error::StaleId`]; [`Error::LengthMismatch`], [`Error::OutOfRange`] and [`Error::NotFinite`] when the drive does not
    /// fit the rig.
    pub fn drive(&mut self, character: CharacterId, drive: Drive<'_>) -> Result<()> {
        self.character(character)?;
        let Some(data) = self.slots[character.index as usize].character.as_mut() else { return Ok(()) };
        let rig = &self.rigs[data.rig as usize];
        match drive {
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
                let all = data.palette as usize..(data.palette + rig.palette_len()) as usize;
                if !matches!(data.drive, DriveState::Palette) && data.changed {
                    // The other skins keep the pose they last had, which has not been computed yet.
                    rig.palettes(&data.pose, &mut self.worlds, &mut self.palettes.data[all])?;
                }
                let start = (data.palette + rig.skin_starts[skin]) as usize;
                self.palettes.data[start..start + found].copy_from_slice(palette);
                data.drive = DriveState::Palette;
            }
            Drive::Clip { clip, start, looping } => {
                if clip >= rig.clips.len() {
                    return Err(Error::OutOfRange { what: "clip", index: clip, count: rig.clips.len() });
                }
                if !start.is_finite() {
                    return Err(Error::NotFinite { what: "start of clip", index: clip });
                }
                data.pose = rig.rest_pose();
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
        // A mesh without vertices has no page of its own to point into.
        let buffers = &self.outputs.pages[place.page as usize].buffers;
        Ok(Vertices {
            positions: &buffers[0],
            frames: &buffers[1],
            page: place.page,
            range: place.start..place.start + place.count,
        })
    }

    fn check(&self, skinner: u32, what: &'static str) -> Result<()> {
        if skinner == self.uid { Ok(()) } else { Err(Error::StaleId { what }) }
    }

    fn character(&self, id: CharacterId) -> Result<&CharacterData> {
        self.check(id.skinner, "character")?;
        let slot = self.slots.get(id.index as usize).filter(|s| s.generation == id.generation);
        slot.and_then(|s| s.character.as_ref()).ok_or(Error::StaleId { what: "character" })
    }

    /// Poses what changed or plays at `seconds` (the host's clock) and uploads it. Call it once per frame, before `record`.
    pub fn prepare(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, seconds: f64) {
        self.pose(queue, seconds);
        self.palettes.flush(queue);
        self.morph_weights.flush(queue);
        if self.membership_changed || self.active != self.scheduled {
            self.build_tables(device, queue);
        }
        self.bind(device);
        self.recorded = false;
    }

    /// Computes the palettes of every visible character that changed, into the mirrors, and lists it as active.
    fn pose(&mut self, queue: &wgpu::Queue, seconds: f64) {
        self.active.clear();
        for (index, slot) in self.slots.iter_mut().enumerate() {
            let Some(character) = slot.character.as_mut() else { continue };
            if self.recorded {
                character.pending = false;
            }
            let rig = &self.rigs[character.rig as usize];
            let clip = match character.drive {
                DriveState::Clip { clip, start, looping } => {
                    Some((&rig.clips[clip], clip_time(seconds - start, rig.clips[clip].duration, looping)))
                }
                _ => None,
            };
            let playing = clip.is_some_and(|(_, time)| time != character.clip_time);
            if character.visible && (character.changed || playing) {
                let palette_len = rig.palette_len();
                if let Some((clip, time)) = clip {
                    clip.sample(time, &mut character.pose);
                    for (p, part) in character.parts.iter().enumerate() {
                        let weights = part.morphs.0 as usize..(part.morphs.0 + part.morphs.1) as usize;
                        clip.sample_morphs(p, time, &mut self.morph_weights.data[weights]);
                    }
                    character.clip_time = time;
                }
                if !matches!(character.drive, DriveState::Palette) {
                    let out = character.palette as usize..(character.palette + palette_len) as usize;
                    // Cannot fail: `drive` checked the pose's length.
                    let _ = rig.palettes(&character.pose, &mut self.worlds, &mut self.palettes.data[out]);
                }
                self.palettes.changed(queue, character.palette, palette_len);
                for part in &character.parts {
                    self.morph_weights.changed(queue, part.morphs.0, part.morphs.1);
                }
                character.changed = false;
                character.pending = true;
            }
            if character.pending {
                self.active.push(index as u32);
            }
        }
    }

    /// Rebuilds and uploads the job and instance tables for the active characters.
    fn build_tables(&mut self, device: &wgpu::Device, queue: &wgpu::Queue) {
        self.membership_changed = false;
        self.scheduled.clone_from(&self.active);
        self.work.clear();
        for &index in &self.active {
            let Some(character) = self.slots[index as usize].character.as_ref() else { continue };
            for part in character.parts.iter().filter(|p| p.output.count > 0) {
                let mesh = &self.meshes[part.mesh as usize];
                self.work.push(Work {
                    variant: mesh.variant,
                    asset_page: mesh.place.page,
                    output_page: part.output.page,
                    mesh: part.mesh,
                    output: part.output.start,
                    palette: character.palette + part.skin_start,
                    morph_weights: part.morphs.0,
                });
            }
        }
        let meshes = &self.meshes;
        let place = |mesh: u32| meshes[mesh as usize].gpu;
        schedule(&mut self.work, place, self.largest_grid, &mut self.table_rows, &mut self.dispatches);
        if self.dispatches.is_empty() {
            return;
        }
        let bytes = bytemuck::cast_slice(&self.table_rows);
        if (self.tables.size() as usize) < bytes.len() {
            self.tables = tables_buffer(device, self.table_rows.len().next_power_of_two() as u64);
            self.bind_groups.clear();
        }
        queue.write_buffer(&self.tables, 0, bytes);
        let stride = self.batch_stride as usize;
        let needed = stride * self.dispatches.len();
        if (self.batches.size() as usize) < needed {
            self.batches = batches_buffer(device, self.dispatches.len().next_power_of_two() as u64, self.batch_stride);
            self.bind_groups.clear();
        }
        self.batch_bytes.clear();
        self.batch_bytes.resize(needed, 0);
        for (d, at) in self.dispatches.iter().zip(self.batch_bytes.chunks_exact_mut(stride)) {
            at[..size_of::<Batch>()].copy_from_slice(bytemuck::bytes_of(&d.batch));
        }
        queue.write_buffer(&self.batches, 0, &self.batch_bytes);
    }

    /// Makes the bind groups that the dispatches need and that are not there yet.
    fn bind(&mut self, device: &wgpu::Device) {
        for d in &self.dispatches {
            if self.bind_groups.iter().any(|b| (b.0, b.1) == (d.asset_page, d.output_page)) {
                continue;
            }
            let output = &self.outputs.pages[d.output_page as usize].buffers;
            let batch = wgpu::BufferBinding {
                buffer: &self.batches,
                offset: 0,
                size: wgpu::BufferSize::new(size_of::<Batch>() as u64),
            };
            let buffers = [
                self.assets.pages[d.asset_page as usize].buffers[0].as_entire_binding(),
                self.tables.as_entire_binding(),
                self.palettes.buffer.as_entire_binding(),
                self.morph_weights.buffer.as_entire_binding(),
                output[0].as_entire_binding(),
                output[1].as_entire_binding(),
            ];
            let mut entries = vec![wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::Buffer(batch) }];
            entries.extend((1..).zip(buffers).map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource }));
            let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("dermis skin"),
                layout: &self.pipelines.bind_group_layout,
                entries: &entries,
            });
            self.bind_groups.push((d.asset_page, d.output_page, group));
        }
    }

    /// Records the skin pass into the host's encoder: one dispatch per kernel variant and page, none when nothing changed.
    pub fn record(&mut self, encoder: &mut wgpu::CommandEncoder) {
        self.recorded = true;
        if self.dispatches.is_empty() {
            return;
        }
        let mut pass = encoder
            .begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some("dermis skin"), timestamp_writes: None });
        let mut offset = 0;
        for d in &self.dispatches {
            let group = self.bind_groups.iter().find(|b| (b.0, b.1) == (d.asset_page, d.output_page));
            let mesh = self.meshes.iter().find(|m| m.variant == d.variant);
            if let (Some((_, _, group)), Some(mesh)) = (group, mesh) {
                pass.set_pipeline(&mesh.pipeline);
                pass.set_bind_group(0, group, &[offset]);
                let (x, y) = d.grid();
                pass.dispatch_workgroups(x, y, 1);
            }
            offset += self.batch_stride;
        }
    }

    /// Dispatches the next `record` makes: at most one per kernel variant and page.
    pub fn dispatch_count(&self) -> usize {
        self.dispatches.len()
    }
}

/// Time in a clip for seconds since its start.
fn clip_time(elapsed: f64, duration: f32, looping: bool) -> f32 {
    let duration = f64::from(duration);
    if looping && duration > 0.0 { elapsed.rem_euclid(duration) as f32 } else { elapsed.clamp(0.0, duration) as f32 }
}

fn tables_buffer(device: &wgpu::Device, rows: u64) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("dermis tables"),
        size: rows * 16,
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

fn batches_buffer(device: &wgpu::Device, count: u64, stride: u32) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("dermis batches"),
        size: count * u64::from(stride.max(size_of::<Batch>() as u32)),
        usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}
