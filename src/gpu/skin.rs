//! The skin pass: its pipelines, its variants and the records its shader reads.

use std::sync::{Mutex, PoisonError};

use bytemuck::{Pod, Zeroable};

use super::pose::PosePipeline;
use crate::influence::{InfluenceLayout, JointFormat, Precision};

/// Quads per workgroup; `GROUP_SIZE` of the shader.
pub(crate) const GROUP_SIZE: u32 = 64;
/// Instances a workgroup serves with one read of its rest vertices; `CHUNK` of the shader.
pub const CHUNK: u32 = 8;
/// Rows of a quad before its influences; `REST_ROWS` of the shader.
pub(crate) const REST_ROWS: u32 = 5;
/// Rows of a morph delta; `DELTA_ROWS` of the shader.
pub(crate) const DELTA_ROWS: u32 = 10;

pub(crate) const SOURCE: &str = concat!(
    include_str!("../../shaders/skin.wgsl"),
    include_str!("../../shaders/quad.wgsl"),
    include_str!("../../shaders/frame.wgsl"),
    include_str!("../../shaders/bounds.wgsl")
);
/// Bits of an instance's last word; of the shader.
pub(crate) const SETTLE: u32 = 1;
/// As [`SETTLE`].
pub(crate) const FRESH: u32 = 2;

/// What one dispatch works on; `Batch` of the shader.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub(crate) struct Batch {
    pub jobs: u32,
    pub job_count: u32,
    pub group_count: u32,
    pub grid_width: u32,
}

/// One mesh of a batch with its instances; `Job` of the shader.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct Job {
    pub first_group: u32,
    pub block_count: u32,
    pub quad_count: u32,
    pub quads: u32,
    pub stride: u32,
    pub instances: u32,
    pub instance_count: u32,
    pub unused: u32,
}

/// The shape of the kernel a mesh needs; each becomes one pipeline, made once and shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Variant {
    pub width: u32,
    pub joint_bits: u32,
    pub fine: bool,
    /// Words of a vertex's packed influences.
    pub words: u32,
    pub morphs: bool,
    pub full: bool,
    pub previous: bool,
    pub bounds: bool,
    pub dual: bool,
}

impl Variant {
    pub fn new(layout: InfluenceLayout, morphs: bool) -> Self {
        let joint_bits = match layout.joints {
            JointFormat::U8 => 8,
            JointFormat::U16 => 16,
        };
        Self {
            width: layout.width,
            joint_bits,
            fine: layout.precision == Precision::Fine,
            words: layout.words_per_vertex(),
            morphs,
            full: false,
            previous: false,
            bounds: false,
            dual: false,
        }
    }
}

/// The immutable half of a [`super::Skinner`]: shaders, layouts and pipelines. Several skinners of one device may share it.
#[derive(Debug)]
pub struct Pipelines {
    pub(super) pose: PosePipeline,
    pub(super) skin: SkinPipelines,
}

impl Pipelines {
    /// Compiles the shaders; a pipeline of the skin pass is made when a mesh first needs its variant.
    pub fn new(device: &wgpu::Device) -> Self {
        Self { pose: PosePipeline::new(device), skin: SkinPipelines::new(device) }
    }
}

/// The skin pass's part of [`Pipelines`].
#[derive(Debug)]
pub(crate) struct SkinPipelines {
    shader: wgpu::ShaderModule,
    pub(crate) bind_group_layout: wgpu::BindGroupLayout,
    layout: wgpu::PipelineLayout,
    /// Empties boxes.
    reset: Mutex<Option<wgpu::ComputePipeline>>,
    variants: Mutex<Vec<(Variant, wgpu::ComputePipeline)>>,
}

impl SkinPipelines {
    pub fn new(device: &wgpu::Device) -> Self {
        Self::with_source(device, SOURCE)
    }

    /// From another source: how the tests prove that a broken kernel is noticed.
    pub(crate) fn with_source(device: &wgpu::Device, source: &str) -> Self {
        let shader = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("dermis skin"),
            source: wgpu::ShaderSource::Wgsl(source.into()),
        });
        let storage = |binding: u32, read_only: bool| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Storage { read_only },
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        };
        let batch = wgpu::BindGroupLayoutEntry {
            binding: 0,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Uniform,
                has_dynamic_offset: true,
                min_binding_size: wgpu::BufferSize::new(size_of::<Batch>() as u64),
            },
            count: None,
        };
        let entries = [
            batch,
            storage(1, true),
            storage(2, true),
            storage(3, true),
            storage(4, true),
            storage(5, false),
            storage(6, false),
            storage(7, false),
            storage(8, false),
        ];
        let bind_group_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("dermis skin"),
            entries: &entries,
        });
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("dermis skin"),
            bind_group_layouts: &[Some(&bind_group_layout)],
            immediate_size: 0,
        });
        Self { shader, bind_group_layout, layout, reset: Mutex::default(), variants: Mutex::default() }
    }

    /// The pipeline of a variant, made on first use.
    pub(crate) fn variant(&self, device: &wgpu::Device, variant: Variant) -> wgpu::ComputePipeline {
        // A panic while the lock was held cannot leave the list half written.
        let mut variants = self.variants.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, pipeline)) = variants.iter().find(|(v, _)| *v == variant) {
            return pipeline.clone();
        }
        let constants = [
            ("WIDTH", f64::from(variant.width)),
            ("JOINT_BITS", f64::from(variant.joint_bits)),
            ("FINE", f64::from(u8::from(variant.fine))),
            ("WORDS", f64::from(variant.words)),
            ("MORPHS", f64::from(u8::from(variant.morphs))),
            ("FULL", f64::from(u8::from(variant.full))),
            ("PREVIOUS", f64::from(u8::from(variant.previous))),
            ("BOUNDS", f64::from(u8::from(variant.bounds))),
            ("DUAL", f64::from(u8::from(variant.dual))),
            ("CHUNK", f64::from(CHUNK)),
        ];
        let pipeline = self.pipeline(device, "skin", &constants);
        variants.push((variant, pipeline.clone()));
        pipeline
    }

    /// The pipeline that empties boxes, made on first use.
    pub(crate) fn reset(&self, device: &wgpu::Device) -> wgpu::ComputePipeline {
        let mut reset = self.reset.lock().unwrap_or_else(PoisonError::into_inner);
        reset.get_or_insert_with(|| self.pipeline(device, "reset", &[])).clone()
    }

    fn pipeline(&self, device: &wgpu::Device, entry: &str, constants: &[(&str, f64)]) -> wgpu::ComputePipeline {
        device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("dermis skin"),
            layout: Some(&self.layout),
            module: &self.shader,
            entry_point: Some(entry),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants,
                zero_initialize_workgroup_memory: false,
            },
            cache: None,
        })
    }
}
