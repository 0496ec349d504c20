//! The skinner: rigs, meshes and characters on the GPU. The frame itself is in `record.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::bounds::Boxes;
use super::character::{CharacterData, CharacterId, Drive, DriveState, Layout, MeshId, RigId, Slot, Vertices};
use super::clips::{ClipLayer, MaskData, pose_of};
use super::dual::{dual_of_palette, dual_of_pose};
use super::memory::Budget;
use super::mesh::{MeshOptions, MeshRows, QUAD};
use super::mirror::Mirror;
use super::pages::{PageKind, Pages, Place};
use super::pose::{CharacterRecord, Scratch};
use super::read_back::ReadBacks;
use super::record::Frame;
use super::rig::{RigData, RigDescriptor};
use super::schedule::MeshPlace;
use super::skin::{Pipelines, Variant};
use super::space::SpaceData;
use super::spawn::external_dual;
use crate::character::Mesh;
use crate::math::{Affine, Affine64};
use crate::{Error, Result};
use glam::DQuat;

/// What a [`Skinner`] is made with.
#[derive(Clone, Debug, Default)]
pub struct SkinnerDescriptor {
    /// Pipelines to share with other skinners of the same device; `None` makes new ones.
    pub pipelines: Option<Arc<Pipelines>>,
    /// Keeps the positions of the frame before, for motion vectors: [`Vertices::previous`]. 24 more bytes of traffic per
    /// skinned vertex, and 12 of memory. Default off.
    pub previous_positions: bool,
    /// How normals and tangents are stored. Default [`Layout::Packed`].
    pub layout: Layout,
    /// Positions may be the input of acceleration structures: adds the usage `BLAS_INPUT` to [`Vertices::positions`]
    /// (`Float32x3`, stride 12). Default off.
    pub ray_tracing: bool,
    /// Boxes every skinned part in, exactly: [`Vertices::bounds`] and [`Skinner::bounds`]. Default off.
    pub bounds: bool,
    /// Bytes of GPU memory that the skinner's buffers may take, as [`Skinner::memory`] counts them; what would pass it is
    /// refused with [`Error::OverBudget`]. An empty skinner takes less than 100 kB. Default: no limit but the device's.
    pub memory_budget: Option<u64>,
    /// Keeps the world transform of every rig node of every character in a buffer: [`Skinner::joints`]. Default off.
    pub joints: bool,
}

#[derive(Debug)]
pub(super) struct MeshData {
    /// Of the identifiers that name it; goes up when it is removed.
    pub generation: u32,
    pub place: Place,
    pub variant: Variant,
    vertex_count: u32,
    pub gpu: MeshPlace,
    pub joint_count: u32,
    pub morph_count: u32,
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
    pub(super) free_slots: Vec<u32>,
    pub(super) free_meshes: Vec<u32>,
    pub(super) free_rigs: Vec<u32>,
    pub(super) assets: Pages,
    pub(super) outputs: Pages,
    pub(super) previous: bool,
    layout: Layout,
    pub(super) boxes: Option<Boxes>,
    pub(super) rig_words: Mirror<u32>,
    pub(super) spaces: Vec<SpaceData>,
    pub(super) states: Mirror<u32>,
    pub(super) state_words: Vec<u32>,
    pub(super) records: Mirror<CharacterRecord>,
    pub(super) scratch: Scratch,
    pub(super) palettes: Mirror<Affine>,
    pub(super) morph_weights: Mirror<f32>,
    pub(super) joints: Option<Mirror<Affine>>,
    pub(super) masks: Vec<MaskData>,
    pub(super) frame: Frame,
    pub(super) worlds: Vec<Affine64>,
    pub(super) read_backs: ReadBacks,
    pub(super) turns: Vec<DQuat>,
}

static NEXT_UID: AtomicU32 = AtomicU32::new(0);

impl Skinner {
    /// A skinner on the host's device; buffers come as they are needed.
    ///
    /// # Errors
    /// [`Error::DeviceLimit`] when the device has fewer than the 8 storage buffers per compute stage that WebGPU guarantees;
    /// [`Error::MissingFeature`] for [`SkinnerDescriptor::ray_tracing`] on a device without `EXPERIMENTAL_RAY_QUERY`.
    pub fn new(device: &wgpu::Device, descriptor: &SkinnerDescriptor) -> Result<Self> {
        let limits = device.limits();
        if limits.max_storage_buffers_per_shader_stage < 8 {
            return Err(Error::DeviceLimit {
                what: "storage buffers in a compute shader",
                needed: 8,
                limit: u64::from(limits.max_storage_buffers_per_shader_stage),
            });
        }
        if descriptor.ray_tracing && !device.features().contains(wgpu::Features::EXPERIMENTAL_RAY_QUERY) {
            return Err(Error::MissingFeature { what: "positions for ray tracing", feature: "EXPERIMENTAL_RAY_QUERY" });
        }
        let pipelines = descriptor.pipelines.clone().unwrap_or_else(|| Arc::new(Pipelines::new(device)));
        let budget = &Budget::new(descriptor.memory_budget);
        let storage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
        let assets = PageKind {
            what: "rows of 16 bytes of mesh data in one page",
            streams: &[("dermis assets", 16)],
            usage: storage,
            first_usage: wgpu::BufferUsages::empty(),
            first_capacity: 1 << 16,
        };
        let outputs = PageKind {
            what: "groups of four vertices of one part in one page",
            streams: match (descriptor.layout, descriptor.previous_positions) {
                (Layout::Packed, false) => &[("dermis positions", 48), ("dermis frames", 32)],
                (Layout::Packed, true) => &[("dermis positions", 48), ("dermis frames", 32), ("dermis previous", 48)],
                (Layout::Full, false) => &[("dermis positions", 48), ("dermis frames", 112)],
                (Layout::Full, true) => &[("dermis positions", 48), ("dermis frames", 112), ("dermis previous", 48)],
            },
            usage: wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
            first_usage: match descriptor.ray_tracing {
                true => wgpu::BufferUsages::BLAS_INPUT,
                false => wgpu::BufferUsages::empty(),
            },
            first_capacity: 1 << 14,
        };
        Ok(Self {
            uid: NEXT_UID.fetch_add(1, Ordering::Relaxed),
            pipelines,
            rigs: Vec::new(),
            meshes: Vec::new(),
            slots: Vec::new(),
            free_slots: Vec::new(),
            free_meshes: Vec::new(),
            free_rigs: Vec::new(),
            assets: Pages::new(device, budget, assets),
            outputs: Pages::new(device, budget, outputs),
            previous: descriptor.previous_positions,
            layout: descriptor.layout,
            boxes: descriptor.bounds.then(|| Boxes::new(device, budget)),
            rig_words: Mirror::new(device, budget, "words of rigs and clips", 1 << 12),
            spaces: Vec::new(),
            states: Mirror::new(device, budget, "words of pose space states", 1 << 10),
            state_words: Vec::new(),
            records: Mirror::new(device, budget, "characters", 1 << 4),
            scratch: Scratch::new(device, budget),
            palettes: Mirror::new(device, budget, "joints in all palettes", 1 << 10),
            morph_weights: Mirror::new(device, budget, "morph weights", 1 << 8),
            joints: descriptor.joints.then(|| Mirror::for_hosts(device, budget, "world transforms of joints", 1 << 10)),
            masks: Vec::new(),
            frame: Frame::new(device),
            worlds: Vec::new(),
            read_backs: ReadBacks::default(),
            turns: Vec::new(),
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
    /// Those of [`crate::character::Rig::validate`], [`crate::character::Skin::validate`] and
    /// [`crate::character::Clip::validate`]; [`Error::OverBudget`], [`Error::DeviceLimit`].
    pub fn add_rig(&mut self, descriptor: &RigDescriptor<'_>) -> Result<RigId> {
        let (mut rig, words) = RigData::new(descriptor)?;
        let (start, moved) = self.rig_words.allocate(&self.device, words.len() as u32)?;
        if moved {
            self.frame.forget_bindings();
        }
        rig.words = start;
        self.rig_words.data[start as usize..][..words.len()].copy_from_slice(&words);
        self.rig_words.mark(start, words.len() as u32);
        rig.word_count = words.len() as u32;
        let index = self.free_rigs.pop().unwrap_or(self.rigs.len() as u32);
        if let Some(removed) = self.rigs.get_mut(index as usize) {
            rig.generation = removed.generation;
            *removed = rig;
        } else {
            self.rigs.push(rig);
        }
        let generation = self.rigs[index as usize].generation;
        Ok(RigId { skinner: self.uid, index, generation })
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
        rows.variant.full = self.layout == Layout::Full;
        rows.variant.previous = self.previous;
        rows.variant.bounds = self.boxes.is_some();
        let place = self.assets.allocate(&self.device, rows.rows.len() as u32)?;
        rows.relocate(place.start);
        let buffer = &self.assets.pages[place.page as usize].buffers[0];
        queue.write_buffer(buffer, 16 * u64::from(place.start), bytemuck::cast_slice(&rows.rows));
        let index = self.free_meshes.pop().unwrap_or(self.meshes.len() as u32);
        let generation = self.meshes.get(index as usize).map_or(0, |m| m.generation);
        let data = MeshData {
            generation,
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
        };
        match self.meshes.get_mut(index as usize) {
            Some(removed) => *removed = data,
            None => self.meshes.push(data),
        }
        Ok(MeshId { skinner: self.uid, index, generation })
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
        if let Drive::Clips(layers) = drive {
            return self.drive_clips(character, layers);
        }
        if let Drive::Clip { clip, start, looping } = drive
            && self.clip_needs_layers(character, clip)
        {
            return self.drive_clips(character, &[ClipLayer { looping, ..ClipLayer::new(clip, start) }]);
        }
        let Some(data) = self.slots[character.index as usize].character.as_mut() else { return Ok(()) };
        let rig = &self.rigs[data.rig as usize];
        let layered = matches!(data.drive, DriveState::Clips(_));
        match drive {
            Drive::Space { .. } | Drive::Clips(_) => {}
            Drive::External => {
                if data.drive == DriveState::External {
                    return Ok(());
                }
                if data.is_dual() {
                    return Err(external_dual());
                }
                data.drive = DriveState::External;
            }
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
                if data.drive == DriveState::Local && data.pose.joints == pose.joints {
                    return Ok(());
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
                    match &data.drive {
                        DriveState::Clip { clip, .. } => {
                            rig.clips[*clip].sample(data.clip_time as f32, &mut data.pose);
                        }
                        DriveState::Clips(layers) => data.pose = pose_of(rig, &self.masks, layers, data.posed_at),
                        _ => {}
                    }
                    let all = start..start + data.palette.1 as usize;
                    rig.palettes(&data.pose, &mut self.worlds, &mut self.palettes.data[all])?;
                    dual_of_pose(rig, &data.pose, &mut self.turns, &mut self.palettes.data, [data.palette, data.dual]);
                }
                let first = start + rig.skin_starts[skin] as usize;
                if data.drive == DriveState::Palette && self.palettes.data[first..first + found] == *palette {
                    return Ok(());
                }
                self.palettes.data[first..first + found].copy_from_slice(palette);
                dual_of_palette(rig, skin, &mut self.palettes.data, [data.palette, data.dual]);
                data.drive = DriveState::Palette;
            }
            Drive::Clip { clip, start, looping } => {
                if clip >= rig.clips.len() {
                    return Err(Error::OutOfRange { what: "clip", index: clip, count: rig.clips.len() });
                }
                if !start.is_finite() {
                    return Err(Error::NotFinite { what: "start of clip", index: clip });
                }
                if matches!(data.drive, DriveState::Clip { clip: c, start: s, looping: l, .. } if (c, s, l) == (clip, start, looping))
                {
                    return Ok(());
                }
                data.pose.clone_from(&rig.rest);
                data.clip_time = f64::NAN;
                data.drive = DriveState::Clip { clip, start, looping, shift: 0.0 };
            }
        }
        data.weights_changed |= layered;
        data.changed = true;
        Ok(())
    }

    /// Sets the morph weights of a part, one per target; any finite value. A playing clip overrides those it drives, on the GPU: its
    /// morph channels address parts by their index in the list the character was spawned with. What it does not drive, and all of
    /// them when it is over, are those set here.
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
        let (start, expected) = (part.own_weights as usize, part.morphs.1 as usize);
        if weights.len() != expected {
            return Err(Error::LengthMismatch { what: "morph weights", found: weights.len(), expected });
        }
        if let Some(index) = weights.iter().position(|w| !w.is_finite()) {
            return Err(Error::NotFinite { what: "morph weight", index });
        }
        let own = &mut self.morph_weights.data[start..start + expected];
        if own != weights {
            own.copy_from_slice(weights);
            data.weights_changed = true;
            data.changed = true;
        }
        Ok(())
    }

    /// Hidden characters are neither posed nor skinned; their vertices stay as they were.
    ///
    /// # Errors
    /// [`Error::StaleId`].
    pub fn set_visible(&mut self, character: CharacterId, visible: bool) -> Result<()> {
        self.character(character)?;
        if let Some(data) = self.slots[character.index as usize].character.as_mut() {
            data.due |= visible && !data.visible;
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
            layout: self.layout,
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
