//! The rest of a frame: job tables, bind groups, passes.

use super::dual::DUAL_ROWS;
use super::memory::Usage;
use super::pose::{NONE, PoseBatch, split_seconds};
use super::schedule::{Dispatch, Work, schedule};
use super::skin::{Batch, FRESH, GROUP_SIZE, SETTLE};
use super::skinner::Skinner;

/// Flag of a character of which some parts are skinned for the first time; the shader does not see it.
pub(super) const PARTLY_FRESH: u32 = 4;

/// What the passes of one frame read besides the assets, and scratch kept for its capacity.
#[derive(Debug)]
pub(super) struct Frame {
    tables: wgpu::Buffer,
    /// One uniform record per dispatch of the skin pass, `batch_stride` bytes apart.
    batches: wgpu::Buffer,
    batch_stride: u32,
    posed_buffer: wgpu::Buffer,
    /// One uniform record per pipeline of the pose pass, `batch_stride` bytes apart.
    pose_batches: wgpu::Buffer,
    /// Workgroups a dispatch may have per dimension; larger grids fold to 2-D.
    pub largest_grid: u32,
    /// (asset page, output page, bind group).
    pub skin_groups: Vec<(u32, u32, wgpu::BindGroup)>,
    pose_group: Option<wgpu::BindGroup>,
    dispatches: Vec<Dispatch>,
    /// The dispatch that empties boxes, after those in the uniforms; and its pipeline.
    reset: Option<Batch>,
    pub reset_pipeline: Option<wgpu::ComputePipeline>,
    /// Stand in for buffers that were not asked for.
    unused: [wgpu::Buffer; 2],
    /// Slots of the characters in the tables, ascending, with their flags.
    scheduled: Vec<(u32, u32)>,
    /// Records of the characters the pose pass works on, by pipeline; and those it has been told of.
    pub posed: [Vec<u32>; 3],
    posed_records: Vec<u32>,
    posed_uploaded: Vec<u32>,
    /// The tables must be rebuilt even if the same slots are to be skinned.
    pub membership_changed: bool,
    /// `record` was called since the last `prepare`.
    pub recorded: bool,
    /// Counts the frames; one that is prepared again before it is recorded counts once.
    pub number: u64,
    pub active: Vec<(u32, u32)>,
    work: Vec<Work>,
    table_rows: Vec<[u32; 4]>,
    batch_bytes: Vec<u8>,
}

impl Frame {
    pub fn new(device: &wgpu::Device) -> Self {
        let limits = device.limits();
        let record = size_of::<Batch>().max(size_of::<PoseBatch>());
        let batch_stride = limits.min_uniform_buffer_offset_alignment.max(record as u32);
        Self {
            tables: buffer(device, "dermis tables", 1 << 12, wgpu::BufferUsages::STORAGE),
            batches: buffer(device, "dermis batches", u64::from(batch_stride), wgpu::BufferUsages::UNIFORM),
            batch_stride,
            posed_buffer: buffer(device, "dermis posed", 1 << 8, wgpu::BufferUsages::STORAGE),
            pose_batches: buffer(
                device,
                "dermis pose batches",
                3 * u64::from(batch_stride),
                wgpu::BufferUsages::UNIFORM,
            ),
            largest_grid: limits.max_compute_workgroups_per_dimension,
            skin_groups: Vec::new(),
            pose_group: None,
            dispatches: Vec::new(),
            reset: None,
            reset_pipeline: None,
            unused: [0, 1].map(|_| buffer(device, "dermis unused", 16, wgpu::BufferUsages::STORAGE)),
            scheduled: Vec::new(),
            posed: [const { Vec::new() }; 3],
            posed_records: Vec::new(),
            posed_uploaded: Vec::new(),
            membership_changed: false,
            recorded: true,
            number: 0,
            active: Vec::new(),
            work: Vec::new(),
            table_rows: Vec::new(),
            batch_bytes: Vec::new(),
        }
    }

    /// Bytes of what a frame reads besides the assets.
    pub fn usage(&self) -> Usage {
        let buffers = [&self.tables, &self.batches, &self.posed_buffer, &self.pose_batches];
        let all = buffers.into_iter().chain(&self.unused).map(wgpu::Buffer::size).sum();
        let rows = 16 * self.table_rows.len() + self.batch_bytes.len() + 4 * self.posed_uploaded.len();
        Usage { allocated: all, used: rows as u64 }
    }

    /// A shared buffer was replaced: the bind groups are made anew by the next `prepare`.
    pub fn forget_bindings(&mut self) {
        self.skin_groups.clear();
        self.pose_group = None;
    }
}

impl Skinner {
    /// Lists what changed or plays at `seconds` (the host's clock) and uploads what the passes need to know of it. Call it
    /// once per frame, before [`Skinner::record`].
    pub fn prepare(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, seconds: f64) {
        self.collect(queue, seconds);
        self.rig_words.flush(queue);
        self.records.flush(queue);
        self.states.flush(queue);
        self.palettes.flush(queue);
        self.morph_weights.flush(queue);
        if let Some(joints) = &mut self.joints {
            joints.flush(queue);
        }
        self.keep_outgrown(device, queue);
        self.upload_posed(device, queue, seconds);
        if self.frame.membership_changed || self.frame.active != self.frame.scheduled {
            self.build_tables(device, queue);
        }
        self.bind(device);
        self.frame.recorded = false;
    }

    /// Tells the pose pass whom to pose and what time it is.
    fn upload_posed(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, seconds: f64) {
        let frame = &mut self.frame;
        frame.posed_records.clear();
        for (posed, i) in frame.posed.iter().zip(0..) {
            let offset = i * u64::from(frame.batch_stride);
            let count = posed.len() as u32;
            if count > 0 {
                let (first, grid_width) = (frame.posed_records.len() as u32, count.min(frame.largest_grid));
                let batch = PoseBatch { first, count, grid_width, unused: 0, now: split_seconds(seconds) };
                queue.write_buffer(&frame.pose_batches, offset, bytemuck::bytes_of(&batch));
                frame.posed_records.extend_from_slice(posed);
            }
        }
        if !frame.posed_records.is_empty() && frame.posed_records != frame.posed_uploaded {
            let bytes: &[u8] = bytemuck::cast_slice(&frame.posed_records);
            if frame.posed_buffer.size() < bytes.len() as u64 {
                let size = (bytes.len() as u64).next_power_of_two();
                frame.posed_buffer = buffer(device, "dermis posed", size, wgpu::BufferUsages::STORAGE);
                frame.pose_group = None;
            }
            queue.write_buffer(&frame.posed_buffer, 0, bytes);
            frame.posed_uploaded.clone_from(&frame.posed_records);
        }
    }

    /// Rebuilds and uploads the job and instance tables for the active characters.
    fn build_tables(&mut self, device: &wgpu::Device, queue: &wgpu::Queue) {
        let frame = &mut self.frame;
        frame.membership_changed = false;
        frame.scheduled.clone_from(&frame.active);
        frame.work.clear();
        for &(index, flags) in &frame.active {
            let Some(character) = self.slots[index as usize].character.as_ref() else { continue };
            for part in character.parts.iter().filter(|p| p.output.count > 0) {
                let mesh = &self.meshes[part.mesh as usize];
                let flags = match (flags, part.first_frame == Some(frame.number)) {
                    (PARTLY_FRESH, true) => FRESH,
                    (PARTLY_FRESH, false) => 0,
                    _ => flags,
                };
                frame.work.push(Work {
                    variant: mesh.variant,
                    asset_page: mesh.place.page,
                    output_page: part.output.page,
                    mesh: part.mesh,
                    output: part.output.start,
                    palette: match mesh.variant.dual {
                        false => character.palette.0 + part.skin_start,
                        true => 3 * character.dual.0 + DUAL_ROWS * part.skin_start,
                    },
                    morph_weights: part.morphs.0,
                    box_and_flags: (part.bounds << 2) | flags,
                });
            }
        }
        let meshes = &self.meshes;
        let place = |mesh: u32| meshes[mesh as usize].gpu;
        schedule(&mut frame.work, place, frame.largest_grid, &mut frame.table_rows, &mut frame.dispatches);
        frame.reset = None;
        if frame.dispatches.is_empty() {
            return;
        }
        if self.boxes.is_some() {
            let jobs = frame.table_rows.len() as u32;
            let mut boxes = frame.work.iter().map(|w| w.box_and_flags).filter(|w| w & SETTLE == 0).map(|w| w >> 2);
            let mut job_count = 0;
            while let Some(first) = boxes.next() {
                let row =
                    [first, boxes.next().unwrap_or(NONE), boxes.next().unwrap_or(NONE), boxes.next().unwrap_or(NONE)];
                job_count += row.iter().filter(|&&b| b != NONE).count() as u32;
                frame.table_rows.push(row);
            }
            let group_count = job_count.div_ceil(GROUP_SIZE);
            if job_count > 0 {
                frame.reset =
                    Some(Batch { jobs, job_count, group_count, grid_width: group_count.min(frame.largest_grid) });
            }
        }
        let rows: &[u8] = bytemuck::cast_slice(&frame.table_rows);
        if frame.tables.size() < rows.len() as u64 {
            let size = (rows.len() as u64).next_power_of_two();
            frame.tables = buffer(device, "dermis tables", size, wgpu::BufferUsages::STORAGE);
            frame.skin_groups.clear();
        }
        queue.write_buffer(&frame.tables, 0, rows);
        let stride = frame.batch_stride as usize;
        let batches = frame.dispatches.iter().map(|d| &d.batch).chain(&frame.reset);
        let needed = stride * (frame.dispatches.len() + usize::from(frame.reset.is_some()));
        if frame.batches.size() < needed as u64 {
            let size = (needed as u64).next_power_of_two();
            frame.batches = buffer(device, "dermis batches", size, wgpu::BufferUsages::UNIFORM);
            frame.skin_groups.clear();
        }
        frame.batch_bytes.clear();
        frame.batch_bytes.resize(needed, 0);
        for (batch, at) in batches.zip(frame.batch_bytes.chunks_exact_mut(stride)) {
            at[..size_of::<Batch>()].copy_from_slice(bytemuck::bytes_of(batch));
        }
        queue.write_buffer(&frame.batches, 0, &frame.batch_bytes);
    }

    /// Makes the bind groups that the passes need and that are not there.
    fn bind(&mut self, device: &wgpu::Device) {
        let frame = &mut self.frame;
        if !frame.posed_records.is_empty() && frame.pose_group.is_none() {
            let batch = wgpu::BufferBinding {
                buffer: &frame.pose_batches,
                offset: 0,
                size: wgpu::BufferSize::new(size_of::<PoseBatch>() as u64),
            };
            let resources = [
                wgpu::BindingResource::Buffer(batch),
                self.rig_words.buffer.as_entire_binding(),
                self.records.buffer.as_entire_binding(),
                frame.posed_buffer.as_entire_binding(),
                self.scratch.buffer.as_entire_binding(),
                self.palettes.buffer.as_entire_binding(),
                self.states.buffer.as_entire_binding(),
                self.morph_weights.buffer.as_entire_binding(),
                self.joints.as_ref().map_or(&frame.unused[0], |j| &j.buffer).as_entire_binding(),
            ];
            frame.pose_group = Some(bind_group(device, "dermis pose", &self.pipelines.pose.layout, resources));
        }
        for dispatch in &frame.dispatches {
            let key = (dispatch.asset_page, dispatch.output_page);
            if frame.skin_groups.iter().any(|g| (g.0, g.1) == key) {
                continue;
            }
            let output = &self.outputs.pages[dispatch.output_page as usize].buffers;
            let batch = wgpu::BufferBinding {
                buffer: &frame.batches,
                offset: 0,
                size: wgpu::BufferSize::new(size_of::<Batch>() as u64),
            };
            let resources = [
                wgpu::BindingResource::Buffer(batch),
                self.assets.pages[dispatch.asset_page as usize].buffers[0].as_entire_binding(),
                frame.tables.as_entire_binding(),
                self.palettes.buffer.as_entire_binding(),
                self.morph_weights.buffer.as_entire_binding(),
                output[0].as_entire_binding(),
                output[1].as_entire_binding(),
                output.get(2).unwrap_or(&frame.unused[0]).as_entire_binding(),
                self.boxes.as_ref().map_or(&frame.unused[1], |b| &b.buffer).as_entire_binding(),
            ];
            let group = bind_group(device, "dermis skin", &self.pipelines.skin.bind_group_layout, resources);
            frame.skin_groups.push((key.0, key.1, group));
        }
    }

    /// Records the frame into the host's encoder: at most three pose dispatches, then one skin dispatch per kernel variant and page;
    /// nothing where nothing changed. With previous positions a second call without a `prepare` records nothing.
    pub fn record(&mut self, encoder: &mut wgpu::CommandEncoder) {
        self.record_timed(encoder, None);
    }

    /// As [`Skinner::record`], and the GPU writes its clock before and after the passes if `timestamps` says where; they are
    /// two then, and are there even if there is nothing to do. The device needs [`wgpu::Features::TIMESTAMP_QUERY`].
    pub fn record_timed(&mut self, encoder: &mut wgpu::CommandEncoder, timestamps: Option<Timestamps<'_>>) {
        let fresh = !(self.previous && self.frame.recorded);
        self.frame.recorded = true;
        if let Some(boxes) = self.boxes.as_mut().filter(|_| fresh) {
            boxes.record_growth(encoder);
        }
        self.record_passes(encoder, fresh, timestamps);
        if let Some(boxes) = self.boxes.as_mut().filter(|_| fresh) {
            boxes.record_copy(&self.device, encoder, self.frame.number);
        }
        self.record_read_backs(encoder);
    }

    fn record_passes(&self, encoder: &mut wgpu::CommandEncoder, fresh: bool, timestamps: Option<Timestamps<'_>>) {
        let frame = &self.frame;
        let work = fresh && !(frame.dispatches.is_empty() && frame.posed_records.is_empty());
        if !work && timestamps.is_none() {
            return;
        }
        let mut pass = begin(encoder, timestamps.map(|t| t.pass(0)));
        if work {
            self.dispatch_poses(&mut pass);
        }
        if let Some(timestamps) = timestamps {
            drop(pass);
            pass = begin(encoder, Some(timestamps.pass(1)));
        }
        if work {
            self.dispatch_skins(&mut pass);
        }
    }

    fn dispatch_poses(&self, pass: &mut wgpu::ComputePass<'_>) {
        let frame = &self.frame;
        let pipelines = self.pipelines.pose.pipelines.iter().zip(&frame.posed);
        for ((pipeline, posed), offset) in pipelines.zip([0, 1, 2].map(|i| i * frame.batch_stride)) {
            if let (Some(group), count @ 1..) = (&frame.pose_group, posed.len() as u32) {
                pass.set_pipeline(pipeline);
                pass.set_bind_group(0, group, &[offset]);
                let width = count.min(frame.largest_grid);
                pass.dispatch_workgroups(width, count.div_ceil(width), 1);
            }
        }
    }

    fn dispatch_skins(&self, pass: &mut wgpu::ComputePass<'_>) {
        let frame = &self.frame;
        if let (Some(batch), Some(pipeline), Some((_, _, group))) =
            (&frame.reset, &frame.reset_pipeline, frame.skin_groups.first())
        {
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, group, &[frame.batch_stride * frame.dispatches.len() as u32]);
            pass.dispatch_workgroups(batch.grid_width, batch.group_count.div_ceil(batch.grid_width), 1);
        }
        let mut offset = 0;
        for dispatch in &frame.dispatches {
            let key = (dispatch.asset_page, dispatch.output_page);
            let group = frame.skin_groups.iter().find(|g| (g.0, g.1) == key);
            let mesh = self.meshes.iter().find(|m| m.variant == dispatch.variant);
            if let (Some((_, _, group)), Some(mesh)) = (group, mesh) {
                pass.set_pipeline(&mesh.pipeline);
                pass.set_bind_group(0, group, &[offset]);
                let (x, y) = dispatch.grid();
                pass.dispatch_workgroups(x, y, 1);
            }
            offset += frame.batch_stride;
        }
    }

    /// Pose dispatches the next [`Skinner::record`] makes: one for all that play clips on rigs of at most 320 nodes, one for
    /// all others that are posed on the GPU.
    pub fn pose_dispatch_count(&self) -> usize {
        self.frame.posed.iter().filter(|posed| !posed.is_empty()).count()
    }

    /// Skin dispatches the next [`Skinner::record`] makes: at most one per kernel variant and page.
    pub fn dispatch_count(&self) -> usize {
        self.frame.dispatches.len()
    }
}

/// Where [`Skinner::record_timed`] has the GPU write its clock, in ticks of [`wgpu::Queue::get_timestamp_period`]
/// nanoseconds: [`Timestamps::COUNT`] queries of a set, namely before and after the poses, before and after skinning, which
/// includes bounds.
#[derive(Clone, Copy, Debug)]
pub struct Timestamps<'a> {
    /// A set of timestamp queries.
    pub set: &'a wgpu::QuerySet,
    /// The first of the queries that are written.
    pub first: u32,
}

impl<'a> Timestamps<'a> {
    /// Queries that are written.
    pub const COUNT: u32 = 4;

    fn pass(self, index: u32) -> wgpu::ComputePassTimestampWrites<'a> {
        let begin = self.first + 2 * index;
        wgpu::ComputePassTimestampWrites {
            query_set: self.set,
            beginning_of_pass_write_index: Some(begin),
            end_of_pass_write_index: Some(begin + 1),
        }
    }
}

fn begin<'a>(
    encoder: &'a mut wgpu::CommandEncoder,
    timestamp_writes: Option<wgpu::ComputePassTimestampWrites<'_>>,
) -> wgpu::ComputePass<'a> {
    encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some("dermis skin"), timestamp_writes })
}

fn buffer(device: &wgpu::Device, label: &str, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
    let usage = usage | wgpu::BufferUsages::COPY_DST;
    device.create_buffer(&wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false })
}

fn bind_group<const N: usize>(
    device: &wgpu::Device,
    label: &str,
    layout: &wgpu::BindGroupLayout,
    resources: [wgpu::BindingResource<'_>; N],
) -> wgpu::BindGroup {
    let mut binding = 0;
    let entries = resources.map(|resource| {
        binding += 1;
        wgpu::BindGroupEntry { binding: binding - 1, resource }
    });
    device.create_bind_group(&wgpu::BindGroupDescriptor { label: Some(label), layout, entries: &entries })
}
