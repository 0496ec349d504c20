//! The pose pass: its pipeline, the records its shader reads, and rigs as words.

use bytemuck::{Pod, Zeroable};

use super::memory::{Budget, Usage};
use super::pages::largest_binding;
use super::ranges::Ranges;
use crate::character::{Channel, Clip, Interpolation, Rig, Skin, Target};
use crate::{Error, Result};

/// Nodes above which a rig's world transforms go through storage; `SHARED_NODES` of the shader.
pub(crate) const SHARED_NODES: u32 = 320;
/// Words of a joint; `JOINT_WORDS` of the shader.
pub(crate) const JOINT_WORDS: u32 = 13;
/// No clip, or no channel; `NONE` of the shader.
pub(crate) const NONE: u32 = u32::MAX;
/// Bytes of a row of scratch.
const ROW_BYTES: u64 = 16;
/// Words of a rig's head.
const HEAD_WORDS: usize = 8;
/// The head's word that says where the rig's turns are, once a character needs them.
pub(crate) const TURNS_WORD: u32 = 7;

pub(crate) const SOURCE: &str = concat!(
    include_str!("../../shaders/pose.wgsl"),
    include_str!("../../shaders/clips.wgsl"),
    include_str!("../../shaders/space.wgsl"),
    include_str!("../../shaders/math.wgsl")
);

/// What one dispatch works on; `PoseBatch` of the shader.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub(crate) struct PoseBatch {
    pub first: u32,
    pub count: u32,
    pub grid_width: u32,
    pub unused: u32,
    pub now: [f32; 2],
}

/// One character; `Character` of the shader.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub(crate) struct CharacterRecord {
    pub rig: u32,
    pub palette: u32,
    pub scratch: u32,
    pub clip: u32,
    pub start: [f32; 2],
    pub duration: f32,
    pub looping: u32,
    pub space: u32,
    pub state: u32,
    pub weights: u32,
    pub dual: u32,
    pub layered: u32,
    pub joints: u32,
    pub spare: [u32; 2],
}

/// A time as the sum of two f32, good to a few microseconds for any clock.
pub(crate) fn split_seconds(seconds: f64) -> [f32; 2] {
    let high = seconds as f32;
    [high, (seconds - f64::from(high)) as f32]
}

/// The immutable half: shader, layout and pipelines.
#[derive(Debug)]
pub(crate) struct PosePipeline {
    pub layout: wgpu::BindGroupLayout,
    /// For characters that play a clip on a rig of at most [`SHARED_NODES`] nodes, for those that play several, and for all
    /// others: a crowd must not pay for registers and branches that it does not need.
    pub pipelines: [wgpu::ComputePipeline; 3],
}

impl PosePipeline {
    pub fn new(device: &wgpu::Device) -> Self {
        Self::with_source(device, SOURCE)
    }

    /// From another source: how the tests prove that a broken kernel is noticed.
    pub fn with_source(device: &wgpu::Device, source: &str) -> Self {
        let shader = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("dermis pose"),
            source: wgpu::ShaderSource::Wgsl(source.into()),
        });
        let entry = |binding: u32| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: match binding {
                    0 => wgpu::BufferBindingType::Uniform,
                    _ => wgpu::BufferBindingType::Storage { read_only: binding < 4 || binding == 6 },
                },
                has_dynamic_offset: binding == 0,
                min_binding_size: None,
            },
            count: None,
        };
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("dermis pose"),
            entries: &[0, 1, 2, 3, 4, 5, 6, 7, 8].map(entry),
        });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("dermis pose"),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        // The levels of a hierarchy are narrow: on a GPU one subgroup serves them without a real barrier; on a processor a
        // lane that has nothing to do still takes its time.
        let lanes = if device.adapter_info().device_type == wgpu::DeviceType::Cpu { 8.0 } else { 32.0 };
        let pipelines = [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0)].map(|(general, layered)| {
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some("dermis pose"),
                layout: Some(&pipeline_layout),
                module: &shader,
                entry_point: Some("pose"),
                compilation_options: wgpu::PipelineCompilationOptions {
                    constants: &[("GROUP_SIZE", lanes), ("GENERAL", general), ("LAYERED", layered)],
                    zero_initialize_workgroup_memory: false,
                },
                cache: None,
            })
        });
        Self { layout, pipelines }
    }
}

/// GPU-only rows for the world transforms of rigs that do not fit into workgroup memory.
#[derive(Debug)]
pub(crate) struct Scratch {
    ranges: Ranges,
    pub buffer: wgpu::Buffer,
    budget: Budget,
}

impl Scratch {
    pub fn new(device: &wgpu::Device, budget: &Budget) -> Self {
        budget.take_anyway(ROW_BYTES);
        Self { ranges: Ranges::new(1), buffer: Self::make(device, 1), budget: budget.clone() }
    }

    pub fn usage(&self) -> Usage {
        let bytes = |rows: u32| u64::from(rows) * ROW_BYTES;
        Usage { allocated: bytes(self.ranges.capacity()), used: bytes(self.ranges.used()) }
    }

    fn make(device: &wgpu::Device, rows: u32) -> wgpu::Buffer {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("dermis scratch"),
            size: u64::from(rows) * ROW_BYTES,
            usage: wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        })
    }

    /// Rows a rig of this many nodes needs; `dual`: for a character with a dual palette, whose nodes' rotations follow.
    pub fn rows(node_count: usize, dual: bool) -> u32 {
        let worlds = if node_count > SHARED_NODES as usize { 3 } else { 0 };
        (worlds + u32::from(dual)) * node_count as u32
    }

    /// First of `rows` rows, and whether the buffer was replaced: its contents do not outlive a dispatch anyway.
    pub fn allocate(&mut self, device: &wgpu::Device, rows: u32) -> Result<(u32, bool)> {
        if let Some(start) = self.ranges.allocate(rows) {
            return Ok((start, false));
        }
        let largest = largest_binding(device) / ROW_BYTES;
        let needed = u64::from(self.ranges.capacity()) + u64::from(rows);
        if needed > largest {
            return Err(Error::DeviceLimit { what: "rows of world transforms", needed, limit: largest });
        }
        let old = u64::from(self.ranges.capacity());
        let capacity = self.budget.capacity(needed, (2 * old).max(needed).min(largest), ROW_BYTES) as u32;
        self.budget.take(u64::from(capacity) * ROW_BYTES)?;
        self.budget.give(old * ROW_BYTES);
        self.ranges.grow(capacity);
        self.buffer = Self::make(device, capacity);
        Ok((self.ranges.allocate(rows).unwrap_or(0), true))
    }

    pub fn release(&mut self, start: u32, rows: u32) {
        self.ranges.release(start, rows);
    }
}

/// A rig with its skins and clips as the shader reads it.
#[derive(Debug)]
pub(crate) struct RigWords {
    pub words: Vec<u32>,
    /// Offset of each clip's channel table: three words per node (rotation, translation, scale), [`NONE`] where undriven; then
    /// the number of morph channels, and a part and a channel for each.
    pub clips: Vec<u32>,
}

impl RigWords {
    pub fn new(rig: &Rig, skins: &[Skin], clips: &[Clip]) -> Self {
        let mut words = vec![0; HEAD_WORDS];
        let nodes = words.len();
        for node in &rig.nodes {
            let base = node.base != crate::math::Affine::IDENTITY;
            words.extend([node.parent.map_or(NONE, |p| p as u32), u32::from(base)]);
            let rest = &node.rest;
            let rotation = crate::math::unit_quat(rest.rotation).to_array().map(|x| x as f32);
            words.extend(rotation.iter().chain(&rest.translation).chain(&rest.scale).map(|x| x.to_bits()));
            words.extend(node.base.rows.iter().flatten().map(|x| x.to_bits()));
        }
        let (starts, order) = levels(rig);
        let level_offset = words.len();
        words.extend(&starts);
        let order_offset = words.len();
        words.extend(&order);
        let joints = words.len();
        for (&node, inverse_bind) in skins.iter().flat_map(|s| s.joints.iter().zip(&s.inverse_binds)) {
            words.push(node as u32);
            words.extend(inverse_bind.rows.iter().flatten().map(|x| x.to_bits()));
        }
        let joint_count = (words.len() - joints) / JOINT_WORDS as usize;
        let head = [rig.nodes.len(), nodes, starts.len() - 1, level_offset, order_offset, joint_count, joints];
        for (word, value) in words.iter_mut().zip(head) {
            *word = value as u32;
        }
        let clips = clips.iter().map(|clip| append_clip(rig, clip, &mut words)).collect();
        Self { words, clips }
    }
}

/// Offsets of the levels of the hierarchy into a list of nodes by depth, and that list.
fn levels(rig: &Rig) -> (Vec<u32>, Vec<u32>) {
    let mut depth = vec![0usize; rig.nodes.len()];
    for (i, node) in rig.nodes.iter().enumerate() {
        depth[i] = node.parent.map_or(0, |p| depth[p] + 1);
    }
    let mut order: Vec<u32> = (0..rig.nodes.len() as u32).collect();
    order.sort_by_key(|&node| depth[node as usize]);
    let count = depth.iter().max().map_or(0, |d| d + 1);
    let start = |level: usize| order.partition_point(|&node| depth[node as usize] < level) as u32;
    ((0..=count).map(start).collect(), order)
}

fn append_clip(rig: &Rig, clip: &Clip, words: &mut Vec<u32>) -> u32 {
    let table = words.len();
    words.resize(table + 3 * rig.nodes.len(), NONE);
    let whole = |c: &&Channel| !c.times.is_empty();
    let morphs = clip.channels.iter().filter(whole).filter_map(|c| match c.target {
        Target::Morph(part) => Some((part, c)),
        _ => None,
    });
    let list = words.len();
    words.push(0);
    words.extend(morphs.clone().flat_map(|(part, _)| [part as u32, NONE]));
    words[list] = ((words.len() - list) / 2) as u32;
    for (i, (_, channel)) in morphs.enumerate() {
        words[list + 2 + 2 * i] = append_channel(channel, words);
    }
    for channel in clip.channels.iter().filter(whole) {
        let (node, property, width) = match channel.target {
            Target::Rotation(node) => (node, 0, 4),
            Target::Translation(node) => (node, 1, 3),
            Target::Scale(node) => (node, 2, 3),
            Target::Morph(_) => continue,
        };
        if node < rig.nodes.len() && channel.width == width {
            words[table + 3 * node + property] = append_channel(channel, words);
        }
    }
    table as u32
}

/// A channel's five words, then its times and values; the offset of the first.
fn append_channel(channel: &Channel, words: &mut Vec<u32>) -> u32 {
    let record = words.len();
    let interpolation = match channel.interpolation {
        Interpolation::Step => 0,
        Interpolation::Linear => 1,
        Interpolation::CubicSpline => 2,
    };
    let times = record + 5;
    let values = times + channel.times.len();
    words.extend([interpolation, channel.times.len() as u32, times as u32, values as u32, channel.width as u32]);
    words.extend(channel.times.iter().chain(&channel.values).map(|x| x.to_bits()));
    record as u32
}
