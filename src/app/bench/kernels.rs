//! What the engine is measured against: a dispatch per character, and a copy.

use dermis::pose::{Pose, SkinPoser};
use dermis::{Affine, wgpu};

use super::Contestant;
use super::scene::{Assets, Crowd};

/// f32 streams and one dispatch per character. Its poses come from the CPU, as they do in engines of this kind, or, without
/// `poser`, were made once, outside the measurement.
pub struct PerCharacter<'a> {
    crowd: Crowd,
    assets: &'a Assets,
    poser: Option<SkinPoser<'a>>,
    pose: Pose,
    palettes: Vec<Affine>,
    palette_buffer: wgpu::Buffer,
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
    skinned: wgpu::Buffer,
    stride: u32,
}

impl<'a> PerCharacter<'a> {
    /// `posing`: whether a frame poses its characters.
    pub fn new(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        crowd: &Crowd,
        assets: &'a Assets,
        posing: bool,
    ) -> dermis::Result<Self> {
        let stride = device.limits().min_uniform_buffer_offset_alignment.max(16);
        let mut characters = Vec::new();
        let mut palettes: Vec<Affine> = Vec::new();
        for c in 0..crowd.characters {
            let record = [crowd.vertices, palettes.len() as u32, c * crowd.vertices, 0];
            characters.extend_from_slice(bytemuck::cast_slice(&record));
            characters.resize((c as usize + 1) * stride as usize, 0);
            palettes.extend(crowd.palette(assets, c, 0)?);
        }
        let mesh = &assets.mesh;
        let rest: Vec<f32> = (0..mesh.positions.len())
            .flat_map(|v| {
                let [p, n, t] = [&mesh.positions[v][..], &mesh.normals[v], &mesh.tangents[v]];
                [p, n, t].concat()
            })
            .collect();
        let influences = (0..mesh.positions.len()).map(|v| mesh.influences.of(v));
        let slot = |i: usize, v: &[dermis::influence::Influence]| v.get(i).copied().unwrap_or_default();
        let joints: Vec<[u32; 4]> = influences.clone().map(|v| [0, 1, 2, 3].map(|i| slot(i, v).joint)).collect();
        let weights: Vec<[f32; 4]> = influences.map(|v| [0, 1, 2, 3].map(|i| slot(i, v).weight)).collect();
        let storage = wgpu::BufferUsages::STORAGE;
        let palette_buffer = filled(device, queue, bytemuck::cast_slice(&palettes), storage);
        let skinned = buffer(device, 40 * u64::from(crowd.characters * crowd.vertices), storage);
        let buffers = [
            filled(device, queue, &characters, wgpu::BufferUsages::UNIFORM),
            filled(device, queue, bytemuck::cast_slice(&rest), storage),
            filled(device, queue, bytemuck::cast_slice(&joints), storage),
            filled(device, queue, bytemuck::cast_slice(&weights), storage),
            palette_buffer.clone(),
            skinned.clone(),
        ];
        let (pipeline, group) =
            pipeline(device, include_str!("../../../shaders/per_character.wgsl"), "per_character", &buffers);
        let poser = match posing {
            true => Some(SkinPoser::new(&assets.rig, &assets.skin)?),
            false => None,
        };
        Ok(Self {
            crowd: *crowd,
            assets,
            poser,
            pose: Pose::rest(&assets.rig),
            palettes,
            palette_buffer,
            pipeline,
            group,
            skinned,
            stride,
        })
    }

    pub fn check(&self, device: &wgpu::Device, queue: &wgpu::Queue) -> Result<f64, Box<dyn std::error::Error>> {
        self.crowd.worst_error(self.assets, 1e-5, |c| {
            let bytes = 40 * u64::from(self.crowd.vertices);
            let words = read(device, queue, &self.skinned, u64::from(c) * bytes, bytes)?;
            Ok(words.chunks_exact(10).map(|v| [v[0], v[1], v[2]]).collect())
        })
    }
}

impl Contestant for PerCharacter<'_> {
    fn frame(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, i: u32) -> dermis::Result<()> {
        if let Some(poser) = &mut self.poser {
            let joints = self.assets.skin.joints.len();
            for (c, palette) in (0..).zip(self.palettes.chunks_exact_mut(joints)) {
                self.assets.clip.sample(self.crowd.time(self.assets, c, i), &mut self.pose);
                poser.palette(&self.pose, palette)?;
            }
            queue.write_buffer(&self.palette_buffer, 0, bytemuck::cast_slice(&self.palettes));
        }
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(&self.pipeline);
            for c in 0..self.crowd.characters {
                pass.set_bind_group(0, &self.group, &[c * self.stride]);
                pass.dispatch_workgroups(self.crowd.vertices.div_ceil(64), 1, 1);
            }
        }
        queue.submit([encoder.finish()]);
        Ok(())
    }

    fn bytes_per_vertex(&self) -> f64 {
        40.0 + 32.0 + 40.0
    }
}

/// Reads 28 bytes and writes 20 per vertex: what the skin pass moves for a character alone.
pub struct Copy {
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
    grid: (u32, u32),
}

impl Copy {
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue, crowd: &Crowd) -> Self {
        let vertices = crowd.characters * crowd.vertices;
        let groups = vertices.div_ceil(64);
        let width = groups.min(device.limits().max_compute_workgroups_per_dimension);
        let work = [vertices, width, crowd.vertices, 0];
        let storage = wgpu::BufferUsages::STORAGE;
        let buffers = [
            filled(device, queue, bytemuck::cast_slice(&work), wgpu::BufferUsages::UNIFORM),
            buffer(device, 28 * u64::from(crowd.vertices), storage),
            buffer(device, 20 * u64::from(vertices), storage),
        ];
        let (pipeline, group) = pipeline(device, include_str!("../../../shaders/copy.wgsl"), "copy", &buffers);
        Self { pipeline, group, grid: (width, groups.div_ceil(width)) }
    }
}

impl Contestant for Copy {
    fn frame(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, _: u32) -> dermis::Result<()> {
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(&self.pipeline);
            pass.set_bind_group(0, &self.group, &[0]);
            pass.dispatch_workgroups(self.grid.0, self.grid.1, 1);
        }
        queue.submit([encoder.finish()]);
        Ok(())
    }

    fn bytes_per_vertex(&self) -> f64 {
        48.0
    }
}

fn buffer(device: &wgpu::Device, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
    let usage = usage | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
    device.create_buffer(&wgpu::BufferDescriptor { label: Some("bench"), size, usage, mapped_at_creation: false })
}

fn filled(device: &wgpu::Device, queue: &wgpu::Queue, bytes: &[u8], usage: wgpu::BufferUsages) -> wgpu::Buffer {
    let made = buffer(device, bytes.len() as u64, usage);
    queue.write_buffer(&made, 0, bytes);
    made
}

/// The pipeline of one kernel: binding 0 a uniform of 16 bytes with a dynamic offset, the last one written, the rest read.
fn pipeline(
    device: &wgpu::Device,
    source: &str,
    entry_point: &str,
    buffers: &[wgpu::Buffer],
) -> (wgpu::ComputePipeline, wgpu::BindGroup) {
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(entry_point),
        source: wgpu::ShaderSource::Wgsl(source.into()),
    });
    let last = buffers.len() - 1;
    let mut layout = Vec::new();
    let mut entries = Vec::new();
    for (i, buffer) in buffers.iter().enumerate() {
        let uniform = i == 0;
        layout.push(wgpu::BindGroupLayoutEntry {
            binding: i as u32,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: match uniform {
                    true => wgpu::BufferBindingType::Uniform,
                    false => wgpu::BufferBindingType::Storage { read_only: i < last },
                },
                has_dynamic_offset: uniform,
                min_binding_size: None,
            },
            count: None,
        });
        let size = if uniform { wgpu::BufferSize::new(16) } else { None };
        let resource = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset: 0, size });
        entries.push(wgpu::BindGroupEntry { binding: i as u32, resource });
    }
    let label = Some(entry_point);
    let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label, entries: &layout });
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor { label, layout: &layout, entries: &entries });
    let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label,
        bind_group_layouts: &[Some(&layout)],
        immediate_size: 0,
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label,
        layout: Some(&pipeline_layout),
        module: &module,
        entry_point: Some(entry_point),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    (pipeline, group)
}

fn read(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    source: &wgpu::Buffer,
    offset: u64,
    size: u64,
) -> dermis::Result<Vec<f32>> {
    let usage = wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ;
    let staging =
        device.create_buffer(&wgpu::BufferDescriptor { label: Some("bench"), size, usage, mapped_at_creation: false });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    encoder.copy_buffer_to_buffer(source, offset, &staging, 0, size);
    queue.submit([encoder.finish()]);
    staging.slice(..).map_async(wgpu::MapMode::Read, |_| {});
    let gpu = |e: String| dermis::Error::Gpu(e);
    device.poll(wgpu::PollType::wait_indefinitely()).map_err(|e| gpu(e.to_string()))?;
    let view = staging.get_mapped_range(..).map_err(|e| gpu(e.to_string()))?;
    Ok(bytemuck::pod_collect_to_vec(&view))
}
