//! What hosts get of a pose besides vertices, and palettes that hosts write themselves.

use std::ops::Range;

use super::character::{CharacterData, CharacterId, DriveState};
use super::clips::pose_of;
use super::skinner::Skinner;
use crate::math::Affine;
use crate::pose::Pose;
use crate::{Error, Result};

/// A range of a shared buffer. The buffer may be replaced by a larger one when a character is spawned or driven: ask again after
/// that, and at the latest after the next `prepare`.
#[derive(Clone, Debug)]
pub struct BufferRange<'a> {
    /// Usages at least `STORAGE | COPY_SRC | COPY_DST`. Bind it whole: starts are not aligned to a device's binding offsets.
    pub buffer: &'a wgpu::Buffer,
    /// Bytes.
    pub bytes: Range<u64>,
}

fn range<'a, T>(buffer: &'a wgpu::Buffer, start: u32, count: u32) -> BufferRange<'a> {
    let size = size_of::<T>() as u64;
    BufferRange { buffer, bytes: size * u64::from(start)..size * u64::from(start + count) }
}

impl Skinner {
    /// The world transform of a rig node in character space at the last `prepare`, without bone length and thickness, evaluated
    /// on the CPU in f64 from what the character is driven by: for sockets, hit boxes, root motion. It is within
    /// 2e-6 · depth, of the largest entry, of the GPU's. A character that waits for its turn ([`Skinner::set_update_interval`])
    /// or is hidden answers with the pose it was last skinned in.
    ///
    /// # Errors
    /// [`Error::StaleId`]; [`Error::OutOfRange`] for the node; [`Error::UnknownPose`] when the host gave palettes or writes them itself.
    pub fn joint_world(&self, character: CharacterId, node: usize) -> Result<Affine> {
        let data = self.character(character)?;
        let rig = &self.rigs[data.rig as usize];
        if node >= rig.node_count() {
            return Err(Error::OutOfRange { what: "rig node", index: node, count: rig.node_count() });
        }
        rig.world(&self.local_pose(data)?, node, &mut Vec::new())
    }

    fn local_pose(&self, data: &CharacterData) -> Result<Pose> {
        let rig = &self.rigs[data.rig as usize];
        match &data.drive {
            DriveState::Local => Ok(data.pose.clone()),
            DriveState::Clip { clip, .. } => {
                let mut pose = rig.rest.clone();
                if data.clip_time.is_finite() {
                    rig.clips[*clip].sample(data.clip_time as f32, &mut pose);
                }
                Ok(pose)
            }
            DriveState::Clips(layers) => Ok(pose_of(rig, &self.masks, layers, data.posed_at)),
            DriveState::Space { space, .. } => {
                let space = &self.spaces[*space as usize].space;
                let state = data.space_state.as_ref().ok_or(Error::UnknownPose)?;
                Ok(space.evaluate(state, data.posed_at)?.pose)
            }
            DriveState::Palette | DriveState::External => Err(Error::UnknownPose),
        }
    }

    /// The world transforms of a character's rig nodes in character space, an [`Affine`] (three rows, 48 bytes) each, as the
    /// last submitted [`Skinner::record`] left them: for physics, attachments and debug drawing on the GPU. Only with
    /// [`super::SkinnerDescriptor::joints`]; the buffer has the usage `VERTEX`, too. Not written for characters driven by `Palette` or
    /// `External`.
    ///
    /// # Errors
    /// [`Error::StaleId`]; [`Error::UnknownPose`] when the skinner keeps none.
    pub fn joints(&self, character: CharacterId) -> Result<BufferRange<'_>> {
        let data = self.character(character)?;
        match (&self.joints, data.joints) {
            (Some(joints), Some((start, count))) => Ok(range::<Affine>(&joints.buffer, start, count)),
            _ => Err(Error::UnknownPose),
        }
    }

    /// The palette of a skin of a character, an [`Affine`] (three rows, 48 bytes) per joint, in character space. With
    /// [`super::Drive::External`] the host's shader writes it, in a pass recorded (or submitted) before [`Skinner::record`], after the
    /// `prepare` of the frame; when the buffer grows the palettes of such characters are copied over by the next `prepare`.
    ///
    /// # Errors
    /// [`Error::StaleId`], [`Error::OutOfRange`].
    pub fn palette(&self, character: CharacterId, skin: usize) -> Result<BufferRange<'_>> {
        let data = self.character(character)?;
        let rig = &self.rigs[data.rig as usize];
        if skin >= rig.skin_count() {
            return Err(Error::OutOfRange { what: "skin", index: skin, count: rig.skin_count() });
        }
        let start = data.palette.0 + rig.skin_starts[skin];
        Ok(range::<Affine>(&self.palettes.buffer, start, rig.joint_count(skin)))
    }

    /// The morph weights of a part, an f32 per target, as [`Skinner::palette`]. With [`super::Drive::External`] they are overwritten
    /// only after [`Skinner::set_morph_weights`] with other values.
    ///
    /// # Errors
    /// [`Error::StaleId`], [`Error::OutOfRange`].
    pub fn morph_weights(&self, character: CharacterId, part: usize) -> Result<BufferRange<'_>> {
        let data = self.character(character)?;
        let count = data.parts.len();
        let found = data.parts.get(part).ok_or(Error::OutOfRange { what: "part", index: part, count })?;
        Ok(range::<f32>(&self.morph_weights.buffer, found.morphs.0, found.morphs.1))
    }

    /// Has a character posed and skinned by the next frame though nothing changed that we know of: its palette was written by
    /// the host's shader.
    ///
    /// # Errors
    /// [`Error::StaleId`].
    pub fn touch(&mut self, character: CharacterId) -> Result<()> {
        self.character(character)?;
        if let Some(data) = self.slots[character.index as usize].character.as_mut() {
            data.changed = true;
        }
        Ok(())
    }

    /// Lets a character be posed and skinned only every `seconds` of the host's clock, however often it is driven or its clip moves
    /// on; 0: every frame, as at first. The turns of characters are spread evenly over the interval. In between, its vertices stay
    /// and their previous positions are the same. A character just shown or never skinned does not wait.
    ///
    /// # Errors
    /// [`Error::StaleId`]; [`Error::InvalidParameter`] when `seconds` is negative or not finite.
    pub fn set_update_interval(&mut self, character: CharacterId, seconds: f64) -> Result<()> {
        self.character(character)?;
        if !seconds.is_finite() || seconds < 0.0 {
            let value = seconds.to_string();
            return Err(Error::InvalidParameter {
                what: "an update interval",
                value,
                expected: "finite and not negative",
            });
        }
        if let Some(data) = self.slots[character.index as usize].character.as_mut() {
            // Multiples of the golden ratio leave no two of n characters nearer than about 1/2n.
            data.interval = (seconds, (f64::from(character.index) * 0.618_033_988_749_894_9).fract());
        }
        Ok(())
    }

    /// Room for a character's world transforms. True when the buffer was replaced.
    pub(super) fn reserve_joints(&mut self, character: &mut CharacterData) -> Result<bool> {
        let Some(joints) = &mut self.joints else { return Ok(false) };
        let count = self.rigs[character.rig as usize].node_count() as u32;
        let (start, moved) = joints.allocate(&self.device, count)?;
        character.joints = Some((start, count));
        Ok(moved)
    }

    /// Copies what only the GPU has from buffers that were outgrown since the last `prepare`, after everything is uploaded.
    pub(super) fn keep_outgrown(&mut self, device: &wgpu::Device, queue: &wgpu::Queue) {
        let old = [self.palettes.take_outgrown(), self.morph_weights.take_outgrown()];
        let joints = self.joints.as_mut().and_then(|j| j.take_outgrown());
        self.rig_words.take_outgrown();
        self.records.take_outgrown();
        self.states.take_outgrown();
        if old.iter().chain([&joints]).all(Option::is_none) {
            return;
        }
        let mut encoder =
            device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("dermis growth") });
        let mut copy = |old: &Option<wgpu::Buffer>, new: BufferRange<'_>| {
            if let Some(old) = old
                && new.bytes.end <= old.size()
                && !new.bytes.is_empty()
            {
                let size = new.bytes.end - new.bytes.start;
                encoder.copy_buffer_to_buffer(old, new.bytes.start, new.buffer, new.bytes.start, size);
            }
        };
        for data in self.slots.iter().filter_map(|s| s.character.as_ref()) {
            if let (Some(new), Some((start, count)), true) = (&self.joints, data.joints, data.drive.on_gpu()) {
                copy(&joints, range::<Affine>(&new.buffer, start, count));
            }
            if data.drive == DriveState::External && data.first_frame.is_some() {
                copy(&old[0], range::<Affine>(&self.palettes.buffer, data.palette.0, data.palette.1));
                for part in &data.parts {
                    copy(&old[1], range::<f32>(&self.morph_weights.buffer, part.morphs.0, part.morphs.1));
                }
            }
        }
        queue.submit([encoder.finish()]);
    }

    /// A playing clip that needs [`super::Drive::Clips`]: its character has morph targets that the rig's clips drive.
    pub(super) fn clip_needs_layers(&self, character: CharacterId, clip: usize) -> bool {
        let Ok(data) = self.character(character) else { return false };
        let rig = &self.rigs[data.rig as usize];
        let drives = |c: &crate::character::Clip| {
            c.channels.iter().any(|c| matches!(c.target, crate::character::Target::Morph(_)))
        };
        data.parts.iter().any(|p| p.morphs.1 > 0) && rig.clips.get(clip).is_some_and(drives)
    }
}
