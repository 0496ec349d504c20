//! A crowd culled on the GPU: the skinner boxes what it skins, a compute shader of the host tests each box against the
//! camera and writes the arguments of indirect draws. The CPU never learns what is seen.
//!
//! `cargo run --release --example cull [-- OUT.png]`; left what the camera sees, right the field from above, grey what was
//! culled.

mod stalks;

use std::error::Error;
use std::ops::Range;

use dermis::gpu::{BOUNDS_WGSL, CharacterId, Drive, FRAME_WGSL, RigDescriptor, Skinner, SkinnerDescriptor, Vertices};
use dermis::{Affine, wgpu};
use stalks::{place, scatter, skeleton, stalk};
use wgpu::util::{BufferInitDescriptor, DeviceExt, DrawIndexedIndirectArgs};

/// Characters to a side of the field.
const SIDE: usize = 31;
const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;
const DEPTH: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;
const SAMPLES: u32 = 4;
const GREY: [f32; 4] = [0.74, 0.75, 0.77, 1.0];

fn main() -> Result<(), Box<dyn Error>> {
    let output = std::env::args().nth(1).unwrap_or_else(|| "cull.png".into());
    let (adapter, device, queue) = open(wgpu::Features::INDIRECT_FIRST_INSTANCE)?;
    let mut field = Field::new(&device, &queue)?;
    let eye = View::look_at([-1.0, 2.1, 8.0], [4.0, 0.6, -3.0], 0.8, 4.0 / 3.0, [0.1, 20.0]);
    let above = View::look_at([0.0, 38.0, 26.0], [0.0, 0.0, 1.3], 0.8, 4.0 / 3.0, [1.0, 200.0]);

    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    field.frame(&mut encoder, 1.7, &eye);
    let looks = [(eye, Show::Seen, [0, 0]), (above.tinted(GREY), Show::All, [800, 0]), (above, Show::Seen, [800, 0])];
    let rgba = field.picture(encoder, [1600, 600], [800, 600], &looks)?;
    image::save_buffer(&output, &rgba, 1600, 600, image::ExtendedColorType::Rgba8)?;

    let seen = field.seen()?.into_iter().filter(|&s| s).count();
    println!(
        "{output}: {seen} of {} characters drawn, {} pages, {}, on {}",
        field.stalks.len(),
        field.pages.len(),
        if field.multi_draw { "one indirect draw each" } else { "one indirect draw per character" },
        adapter.get_info().name
    );
    Ok(())
}

/// An adapter that can draw indirectly, and those of the `wanted` features that it has.
pub fn open(wanted: wgpu::Features) -> Result<(wgpu::Adapter, wgpu::Device, wgpu::Queue), Box<dyn Error>> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
    let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))?;
    let needed = wgpu::DownlevelFlags::INDIRECT_EXECUTION | wgpu::DownlevelFlags::BASE_VERTEX;
    if !adapter.get_downlevel_capabilities().flags.contains(needed) {
        return Err(format!("{} cannot draw indirectly", adapter.get_info().name).into());
    }
    let required_features = adapter.features() & wanted;
    let descriptor = wgpu::DeviceDescriptor { required_features, ..Default::default() };
    let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))?;
    Ok((adapter, device, queue))
}

/// A camera, as the shader has it.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct View {
    /// Clip from world, rows.
    clip: [[f32; 4]; 4],
    /// Left, right, bottom, top, near, far: inside where `x·p + y·p + z·p + w ≥ 0`.
    pub planes: [[f32; 4]; 6],
    tint: [f32; 4],
}

impl View {
    /// `fov_y` in radians, `aspect` = width / height; `depth` from the near to the far plane, metres.
    pub fn look_at(eye: [f32; 3], target: [f32; 3], fov_y: f32, aspect: f32, depth: [f32; 2]) -> Self {
        let dot = |a: [f32; 3], b: [f32; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        let cross = |a: [f32; 3], b: [f32; 3]| {
            [0, 1, 2].map(|i| a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3])
        };
        let unit = |a: [f32; 3]| a.map(|x| x / dot(a, a).sqrt());
        let back = unit([0, 1, 2].map(|i| eye[i] - target[i]));
        let right = unit(cross([0.0, 1.0, 0.0], back));
        let (up, f, [near, far]) = (cross(back, right), 1.0 / (0.5 * fov_y).tan(), depth);
        let row =
            |a: [f32; 3], scale: f32, add: f32| [scale * a[0], scale * a[1], scale * a[2], add - scale * dot(a, eye)];
        let k = far / (near - far);
        let clip = [row(right, f / aspect, 0.0), row(up, f, 0.0), row(back, k, near * k), row(back, -1.0, 0.0)];
        // -w ≤ x, y ≤ w and 0 ≤ z ≤ w (Gribb and Hartmann 2001).
        let [x, y, z, w] = clip;
        let sum = |a: [f32; 4], s: f32| [0, 1, 2, 3].map(|i| w[i] + s * a[i]);
        Self { clip, planes: [sum(x, 1.0), sum(x, -1.0), sum(y, 1.0), sum(y, -1.0), z, sum(z, -1.0)], tint: [0.0; 4] }
    }

    fn tinted(self, tint: [f32; 4]) -> Self {
        Self { tint, ..self }
    }
}

/// What a look at the field draws.
#[derive(Clone, Copy, PartialEq)]
pub enum Show {
    /// Everybody, by direct draws.
    All,
    /// What the last [`Field::frame`] left, by indirect draws.
    Seen,
}

/// A character's one part, as the shader has it.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Part {
    place: Affine,
    color: [f32; 3],
    bounds: u32,
}

/// A field of swaying stalks of two kinds, and how they are culled and drawn.
pub struct Field {
    device: wgpu::Device,
    queue: wgpu::Queue,
    /// With everybody in it.
    pub skinner: Skinner,
    /// Sorted by page, then by mesh, with their places in the world.
    pub stalks: Vec<(CharacterId, Affine)>,
    /// Those of them in one page.
    pub pages: Vec<Range<usize>>,
    /// Indirect draws name their first instance, so that one call draws a page.
    pub multi_draw: bool,
    draws: Vec<DrawIndexedIndirectArgs>,
    eye: wgpu::Buffer,
    indices: wgpu::Buffer,
    /// A [`Part`] each: storage for the culling, an instance for the draws.
    parts: wgpu::Buffer,
    arguments: wgpu::Buffer,
    cull: wgpu::ComputePipeline,
    cull_group: wgpu::BindGroup,
    draw: wgpu::RenderPipeline,
}

impl Field {
    /// Spawns everybody and makes what culling and drawing need.
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Result<Self, Box<dyn Error>> {
        let mut skinner = Skinner::new(device, &SkinnerDescriptor { bounds: true, ..Default::default() })?;
        let (rig, skin, clip) = skeleton();
        let rig = skinner.add_rig(&RigDescriptor { rig: &rig, skins: &[skin], clips: &[clip] })?;
        let mut kinds = Vec::new();
        let mut indices: Vec<u32> = Vec::new();
        for (around, color) in [(7, [0.30, 0.58, 0.22]), (9, [0.86, 0.55, 0.14])] {
            let mesh = stalk(around);
            let span = indices.len() as u32..(indices.len() + mesh.indices.len()) as u32;
            kinds.push((skinner.add_mesh(queue, &mesh)?, span, color));
            indices.extend(&mesh.indices);
        }
        let mut spawned = Vec::new();
        for i in 0..SIDE * SIDE {
            let kind = &kinds[i * 7 % 11 % 2];
            let id = skinner.spawn(rig, &[kind.0.into()])?;
            let start = -4.0 * f64::from(scatter(i, 1));
            skinner.drive(id, Drive::Clip { clip: 0, start, looping: true })?;
            spawned.push((skinner.vertices(id, 0)?.page, id, place(i, SIDE), kind));
        }

        // Vertices never move, and boxes do not once all are spawned: what follows is made once.
        spawned.sort_by_key(|&(page, _, _, (_, span, _))| (page, span.start));
        let multi_draw = device.features().contains(wgpu::Features::INDIRECT_FIRST_INSTANCE);
        let (mut parts, mut draws, mut pages) = (Vec::new(), Vec::new(), Vec::<Range<usize>>::new());
        let mut boxes = None;
        for (i, &(page, id, place, (_, span, color))) in spawned.iter().enumerate() {
            let Vertices { range, bounds: Some((buffer, bounds)), .. } = skinner.vertices(id, 0)? else {
                return Err("the skinner was asked for boxes".into());
            };
            boxes = Some(buffer);
            parts.push(Part { place, color: *color, bounds });
            draws.push(DrawIndexedIndirectArgs {
                index_count: span.len() as u32,
                instance_count: 0,
                first_index: span.start,
                base_vertex: range.start as i32,
                first_instance: if multi_draw { i as u32 } else { 0 },
            });
            match pages.last_mut() {
                Some(last) if spawned[last.start].0 == page => last.end = i + 1,
                _ => pages.push(i..i + 1),
            }
        }
        let boxes = boxes.ok_or("an empty field")?;

        use wgpu::BufferUsages as Usage;
        let commands: Vec<u8> = draws.iter().flat_map(|d| d.as_bytes()).copied().collect();
        let arguments = buffer(device, &commands, Usage::STORAGE | Usage::INDIRECT | Usage::COPY_SRC);
        let parts = buffer(device, bytemuck::cast_slice(&parts), Usage::STORAGE | Usage::VERTEX);
        let indices = buffer(device, bytemuck::cast_slice(&indices), Usage::INDEX);
        let eye = buffer(device, &[0; size_of::<View>()], Usage::UNIFORM | Usage::COPY_DST);
        let (cull, draw) = pipelines(device);
        let cull_group = group(device, &cull.get_bind_group_layout(0), &[&eye, &parts, boxes, &arguments]);
        Ok(Self {
            stalks: spawned.iter().map(|&(_, id, place, _)| (id, place)).collect(),
            device: device.clone(),
            queue: queue.clone(),
            skinner,
            pages,
            multi_draw,
            draws,
            eye,
            indices,
            parts,
            arguments,
            cull,
            cull_group,
            draw,
        })
    }

    /// Poses and skins everybody, then leaves in the arguments whom `view` sees.
    pub fn frame(&mut self, encoder: &mut wgpu::CommandEncoder, seconds: f64, view: &View) {
        self.skinner.prepare(&self.device, &self.queue, seconds);
        self.skinner.record(encoder);
        self.queue.write_buffer(&self.eye, 0, bytemuck::bytes_of(view));
        let mut pass =
            encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some("cull"), ..Default::default() });
        pass.set_pipeline(&self.cull);
        pass.set_bind_group(0, &self.cull_group, &[]);
        pass.dispatch_workgroups(self.stalks.len().div_ceil(64) as u32, 1, 1);
    }

    /// Two vertex buffer bindings for all characters of a page, and with first instances one call.
    fn draw(&self, pass: &mut wgpu::RenderPass<'_>, show: Show) -> dermis::Result<()> {
        pass.set_index_buffer(self.indices.slice(..), wgpu::IndexFormat::Uint32);
        for page in &self.pages {
            let vertices = self.skinner.vertices(self.stalks[page.start].0, 0)?;
            pass.set_vertex_buffer(0, vertices.positions.slice(..));
            pass.set_vertex_buffer(1, vertices.frames.slice(..));
            let command = |i: usize| (i * size_of::<DrawIndexedIndirectArgs>()) as u64;
            if show == Show::Seen && self.multi_draw {
                pass.set_vertex_buffer(2, self.parts.slice(..));
                pass.multi_draw_indexed_indirect(&self.arguments, command(page.start), page.len() as u32);
                continue;
            }
            for i in page.clone() {
                pass.set_vertex_buffer(2, self.parts.slice((i * size_of::<Part>()) as u64..));
                let d = &self.draws[i];
                match show {
                    Show::Seen => pass.draw_indexed_indirect(&self.arguments, command(i)),
                    Show::All => pass.draw_indexed(d.first_index..d.first_index + d.index_count, d.base_vertex, 0..1),
                }
            }
        }
        Ok(())
    }

    /// Adds looks at the field to what is recorded, each with the offset of its panel, submits, and waits for the pixels
    /// (RGBA, rows from the top). `size[0]` is a multiple of 64, as copies of rows need it.
    pub fn picture(
        &self,
        mut encoder: wgpu::CommandEncoder,
        size: [u32; 2],
        panel: [u32; 2],
        looks: &[(View, Show, [u32; 2])],
    ) -> Result<Vec<u8>, Box<dyn Error>> {
        use wgpu::TextureUsages as Usage;
        let target = |format, sample_count, usage| {
            self.device.create_texture(&wgpu::TextureDescriptor {
                label: Some("cull"),
                size: wgpu::Extent3d { width: size[0], height: size[1], depth_or_array_layers: 1 },
                mip_level_count: 1,
                sample_count,
                dimension: wgpu::TextureDimension::D2,
                format,
                usage: Usage::RENDER_ATTACHMENT | usage,
                view_formats: &[],
            })
        };
        let shown = target(FORMAT, 1, Usage::COPY_SRC);
        let targets = [(FORMAT, SAMPLES), (DEPTH, SAMPLES)].map(|(f, n)| target(f, n, Usage::empty()));
        let [color, depth, resolved] = [&targets[0], &targets[1], &shown].map(|t| t.create_view(&Default::default()));
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("draw"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &color,
                depth_slice: None,
                resolve_target: Some(&resolved),
                ops: wgpu::Operations {
                    load: wgpu::LoadOp::Clear(wgpu::Color { r: 0.95, g: 0.96, b: 0.97, a: 1.0 }),
                    store: wgpu::StoreOp::Discard,
                },
            })],
            depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                view: &depth,
                depth_ops: Some(wgpu::Operations { load: wgpu::LoadOp::Clear(1.0), store: wgpu::StoreOp::Discard }),
                stencil_ops: None,
            }),
            ..Default::default()
        });
        pass.set_pipeline(&self.draw);
        for (view, show, at) in looks {
            let view = buffer(&self.device, bytemuck::bytes_of(view), wgpu::BufferUsages::UNIFORM);
            let [x, y, width, height] = [at[0], at[1], panel[0], panel[1]].map(|n| n as f32);
            pass.set_viewport(x, y, width, height, 0.0, 1.0);
            pass.set_bind_group(0, &group(&self.device, &self.draw.get_bind_group_layout(0), &[&view]), &[]);
            self.draw(&mut pass, *show)?;
        }
        drop(pass);
        let pixels = self.staging(u64::from(size[0] * size[1] * 4));
        let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(size[0] * 4), rows_per_image: None };
        let to = wgpu::TexelCopyBufferInfo { buffer: &pixels, layout };
        encoder.copy_texture_to_buffer(shown.as_image_copy(), to, shown.size());
        self.fetch(encoder, &pixels)
    }

    /// Whom the last frame submitted left to draw. Only to look at it: drawing does not need it.
    pub fn seen(&self) -> Result<Vec<bool>, Box<dyn Error>> {
        let staging = self.staging(self.arguments.size());
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(&self.arguments, 0, &staging, 0, staging.size());
        let words: Vec<u32> = bytemuck::pod_collect_to_vec(&self.fetch(encoder, &staging)?);
        Ok(words.chunks_exact(5).map(|command| command[1] == 1).collect())
    }

    fn staging(&self, size: u64) -> wgpu::Buffer {
        let usage = wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ;
        let descriptor = wgpu::BufferDescriptor { label: Some("cull"), size, usage, mapped_at_creation: false };
        self.device.create_buffer(&descriptor)
    }

    fn fetch(&self, encoder: wgpu::CommandEncoder, staging: &wgpu::Buffer) -> Result<Vec<u8>, Box<dyn Error>> {
        self.queue.submit([encoder.finish()]);
        let (sender, receiver) = std::sync::mpsc::channel();
        staging.slice(..).map_async(wgpu::MapMode::Read, move |result| drop(sender.send(result)));
        self.device.poll(wgpu::PollType::wait_indefinitely())?;
        receiver.recv()??;
        Ok(staging.slice(..).get_mapped_range()?.to_vec())
    }
}

fn buffer(device: &wgpu::Device, contents: &[u8], usage: wgpu::BufferUsages) -> wgpu::Buffer {
    device.create_buffer_init(&BufferInitDescriptor { label: Some("cull"), contents, usage })
}

fn group(device: &wgpu::Device, layout: &wgpu::BindGroupLayout, buffers: &[&wgpu::Buffer]) -> wgpu::BindGroup {
    let entry = |i: usize| wgpu::BindGroupEntry { binding: i as u32, resource: buffers[i].as_entire_binding() };
    let entries: Vec<_> = (0..buffers.len()).map(entry).collect();
    device.create_bind_group(&wgpu::BindGroupDescriptor { label: Some("cull"), layout, entries: &entries })
}

fn pipelines(device: &wgpu::Device) -> (wgpu::ComputePipeline, wgpu::RenderPipeline) {
    let source = [include_str!("cull.wgsl"), BOUNDS_WGSL, FRAME_WGSL].concat();
    let source = wgpu::ShaderSource::Wgsl(source.into());
    let module = &device.create_shader_module(wgpu::ShaderModuleDescriptor { label: Some("cull"), source });
    let cull = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("cull"),
        layout: None,
        module,
        entry_point: Some("cull"),
        compilation_options: Default::default(),
        cache: None,
    });
    let layout =
        |array_stride, step_mode, attributes| Some(wgpu::VertexBufferLayout { array_stride, step_mode, attributes });
    const INSTANCE: [wgpu::VertexAttribute; 4] =
        wgpu::vertex_attr_array![2 => Float32x4, 3 => Float32x4, 4 => Float32x4, 5 => Float32x3];
    let buffers = [
        layout(12, wgpu::VertexStepMode::Vertex, &wgpu::vertex_attr_array![0 => Float32x3]),
        layout(8, wgpu::VertexStepMode::Vertex, &wgpu::vertex_attr_array![1 => Uint32x2]),
        layout(size_of::<Part>() as u64, wgpu::VertexStepMode::Instance, &INSTANCE),
    ];
    let draw = device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("draw"),
        layout: None,
        vertex: wgpu::VertexState {
            module,
            entry_point: Some("draw_vertex"),
            compilation_options: Default::default(),
            buffers: &buffers,
        },
        primitive: wgpu::PrimitiveState::default(),
        depth_stencil: Some(wgpu::DepthStencilState {
            format: DEPTH,
            depth_write_enabled: Some(true),
            // What is drawn in colour over the grey has the same depth.
            depth_compare: Some(wgpu::CompareFunction::LessEqual),
            stencil: wgpu::StencilState::default(),
            bias: wgpu::DepthBiasState::default(),
        }),
        multisample: wgpu::MultisampleState { count: SAMPLES, ..Default::default() },
        fragment: Some(wgpu::FragmentState {
            module,
            entry_point: Some("draw_fragment"),
            compilation_options: Default::default(),
            targets: &[Some(FORMAT.into())],
        }),
        multiview_mask: None,
        cache: None,
    });
    (cull, draw)
}
