//! The renderer's pipelines: made once per device and target format, shared by every view.

use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use super::scene::InstanceRaw;
use super::texture::srgb_code;
use super::{Depth, Model, View};
use crate::{Character, Error, Result};

/// What a [`Renderer`] draws into.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RendererDescriptor {
    /// Format of the colour views. sRGB formats encode by themselves; into other 8- and 10-bit formats the shader writes
    /// sRGB codes; float formats get linear light.
    pub color_format: wgpu::TextureFormat,
    /// Format of the depth views.
    pub depth_format: wgpu::TextureFormat,
    /// Samples per pixel of both: 1 or 4.
    pub sample_count: u32,
    /// How depth runs.
    pub depth: Depth,
    /// Compresses bright light (Khronos PBR Neutral); unlit materials are never changed.
    pub tone_map: bool,
}

impl Default for RendererDescriptor {
    /// Four samples, `Rgba8UnormSrgb`, reversed `Depth32Float`, tone mapped.
    fn default() -> Self {
        Self {
            color_format: wgpu::TextureFormat::Rgba8UnormSrgb,
            depth_format: wgpu::TextureFormat::Depth32Float,
            sample_count: 4,
            depth: Depth::Reversed,
            tone_map: true,
        }
    }
}

/// Pipelines for one kind of target. Cloning shares them.
#[derive(Clone, Debug)]
pub struct Renderer {
    pub(super) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub descriptor: RendererDescriptor,
    pub scene_layout: wgpu::BindGroupLayout,
    pub material_layout: wgpu::BindGroupLayout,
    pub surface_layout: wgpu::BindGroupLayout,
    /// Opaque and cut-out surfaces.
    pub solid: wgpu::RenderPipeline,
    /// Transparent surfaces.
    pub blend: wgpu::RenderPipeline,
    pub sky: wgpu::RenderPipeline,
    pub ground: wgpu::RenderPipeline,
    pub shadow: wgpu::RenderPipeline,
    /// Numbers instead of surfaces: made when the first overlay is.
    pub overlay: OnceLock<wgpu::RenderPipeline>,
    pub overlay_layout: wgpu::BindGroupLayout,
    /// The number of the next model, so that draws sort the same way in every run.
    pub models: AtomicU32,
}

impl Renderer {
    /// Makes the pipelines. They read a storage buffer in the vertex stage (`DownlevelFlags::VERTEX_STORAGE`), which only
    /// some OpenGL ES drivers lack.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] when the formats or the sample count cannot be used so.
    pub fn new(device: &wgpu::Device, descriptor: &RendererDescriptor) -> Result<Self> {
        if !matches!(descriptor.sample_count, 1 | 4) {
            return Err(Error::InvalidParameter {
                what: "sample_count",
                value: descriptor.sample_count.to_string(),
                expected: "1 or 4",
            });
        }
        if !descriptor.depth_format.has_depth_aspect() {
            return Err(Error::InvalidParameter {
                what: "depth_format",
                value: format!("{:?}", descriptor.depth_format),
                expected: "a depth format",
            });
        }
        let color = descriptor.color_format;
        let features = color.guaranteed_format_features(device.features());
        let attachment = features.allowed_usages.contains(wgpu::TextureUsages::RENDER_ATTACHMENT);
        let blendable = features.flags.contains(wgpu::TextureFormatFeatureFlags::BLENDABLE);
        let sampled = features.flags.sample_count_supported(descriptor.sample_count);
        if !(attachment && blendable && sampled) {
            return Err(Error::InvalidParameter {
                what: "color_format",
                value: format!("{color:?}"),
                expected: "a colour format that every device can blend with that many samples",
            });
        }
        Ok(Self { shared: Arc::new(Shared::new(device, descriptor)) })
    }

    /// Uploads what the renderer needs of a character besides the skinner's vertices.
    ///
    /// # Errors
    /// Those of [`crate::character::Mesh::validate`]; [`Error::OutOfRange`] for a material, picture or mesh that does not
    /// exist; [`Error::LengthMismatch`] for a picture of the wrong size; [`Error::DeviceLimit`].
    pub fn model(&self, device: &wgpu::Device, queue: &wgpu::Queue, character: &Character) -> Result<Model> {
        Model::new(&self.shared, device, queue, character)
    }

    /// What one picture needs; a host with several pictures per submission makes a view for each.
    pub fn view(&self, device: &wgpu::Device) -> View {
        View::new(&self.shared, device)
    }

    /// What it was made with.
    pub fn descriptor(&self) -> &RendererDescriptor {
        &self.shared.descriptor
    }
}

impl Shared {
    pub fn next_model(&self) -> u32 {
        self.models.fetch_add(1, Ordering::Relaxed)
    }

    /// What the target must hold to show a linear colour.
    pub fn stored(&self, linear: [f32; 4]) -> [f32; 4] {
        let [r, g, b, a] = linear;
        let code = if encodes(self.descriptor.color_format) { srgb_code } else { |c| c };
        [code(r), code(g), code(b), a]
    }

    fn new(device: &wgpu::Device, descriptor: &RendererDescriptor) -> Self {
        let module = shader(device);
        let scene_layout = layout(device, "scene", &[uniform(0, wgpu::ShaderStages::VERTEX_FRAGMENT)]);
        let material_layout = layout(device, "material", &material_entries());
        let surface_layout = layout(device, "surface", &[surfaces()]);
        let make = |name: &str, groups: &[Option<&wgpu::BindGroupLayout>], state: State| {
            let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some(name),
                bind_group_layouts: groups,
                immediate_size: 0,
            });
            pipeline(device, descriptor, &module, &layout, name, &state)
        };
        let all = [Some(&scene_layout), Some(&material_layout), Some(&surface_layout)];
        let stage = [Some(&scene_layout)];
        let over = wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING;
        let min = wgpu::BlendComponent {
            operation: wgpu::BlendOperation::Min,
            src_factor: wgpu::BlendFactor::One,
            dst_factor: wgpu::BlendFactor::One,
        };
        let darker = wgpu::BlendState { color: min, alpha: min };
        let surface = State { entry: "draw", vertices: true, ..State::default() };
        Self {
            descriptor: *descriptor,
            solid: make("draw solid", &all, State { write_depth: true, ..surface }),
            blend: make("draw blend", &all, State { blend: Some(over), ..surface }),
            sky: make("draw sky", &stage, State { entry: "sky", ..State::default() }),
            ground: make("draw ground", &stage, State { entry: "ground", strip: true, ..State::default() }),
            shadow: make("draw shadow", &stage, State { entry: "shadow", blend: Some(darker), ..surface }),
            overlay: OnceLock::new(),
            overlay_layout: layout(device, "overlay", &[surfaces(), uniform(1, wgpu::ShaderStages::VERTEX_FRAGMENT)]),
            scene_layout,
            material_layout,
            surface_layout,
            models: AtomicU32::new(0),
        }
    }
}

fn shader(device: &wgpu::Device) -> wgpu::ShaderModule {
    let source = [crate::gpu::FRAME_WGSL, include_str!("../../shaders/draw.wgsl")].concat();
    device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("draw"),
        source: wgpu::ShaderSource::Wgsl(source.into()),
    })
}

/// The pipeline for [`super::Overlay`].
pub(super) fn overlay(device: &wgpu::Device, shared: &Shared) -> wgpu::RenderPipeline {
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some("overlay"),
        bind_group_layouts: &[Some(&shared.scene_layout), Some(&shared.overlay_layout)],
        immediate_size: 0,
    });
    let state = State { entry: "overlay", vertices: true, write_depth: true, ..State::default() };
    pipeline(device, &shared.descriptor, &shader(device), &layout, "draw overlay", &state)
}

/// True for formats that show the numbers they hold as sRGB codes, but do not encode by themselves.
fn encodes(format: wgpu::TextureFormat) -> bool {
    use wgpu::TextureFormat::{Bgra8Unorm, Rgb10a2Unorm, Rgba8Unorm};
    matches!(format, Rgba8Unorm | Bgra8Unorm | Rgb10a2Unorm)
}

/// What tells the pipelines apart.
#[derive(Clone, Copy, Default)]
struct State {
    /// Stem of the entry points.
    entry: &'static str,
    /// Reads skinned vertices and instances.
    vertices: bool,
    strip: bool,
    write_depth: bool,
    blend: Option<wgpu::BlendState>,
}

fn pipeline(
    device: &wgpu::Device,
    descriptor: &RendererDescriptor,
    module: &wgpu::ShaderModule,
    layout: &wgpu::PipelineLayout,
    name: &str,
    state: &State,
) -> wgpu::RenderPipeline {
    let format = descriptor.color_format;
    let constants =
        [("ENCODE_SRGB", f64::from(u8::from(encodes(format)))), ("TONE_MAP", f64::from(u8::from(descriptor.tone_map)))];
    let compilation_options = wgpu::PipelineCompilationOptions { constants: &constants, ..Default::default() };
    let buffers = vertex_buffers();
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some(name),
        layout: Some(layout),
        vertex: wgpu::VertexState {
            module,
            entry_point: Some(&format!("{}_vertex", state.entry)),
            compilation_options: compilation_options.clone(),
            buffers: if state.vertices { &buffers } else { &[] },
        },
        primitive: wgpu::PrimitiveState {
            topology: match state.strip {
                true => wgpu::PrimitiveTopology::TriangleStrip,
                false => wgpu::PrimitiveTopology::TriangleList,
            },
            // Which side is the back depends on mirroring, which only the shader knows.
            cull_mode: None,
            ..Default::default()
        },
        depth_stencil: Some(wgpu::DepthStencilState {
            format: descriptor.depth_format,
            depth_write_enabled: Some(state.write_depth),
            depth_compare: Some(descriptor.depth.compare()),
            stencil: wgpu::StencilState::default(),
            bias: wgpu::DepthBiasState::default(),
        }),
        multisample: wgpu::MultisampleState { count: descriptor.sample_count, ..Default::default() },
        fragment: Some(wgpu::FragmentState {
            module,
            entry_point: Some(&format!("{}_fragment", state.entry)),
            compilation_options,
            targets: &[Some(wgpu::ColorTargetState { format, blend: state.blend, write_mask: wgpu::ColorWrites::ALL })],
        }),
        multiview_mask: None,
        cache: None,
    })
}

/// Positions and frames as the skinner writes them, and one record per instance of a part.
fn vertex_buffers() -> [Option<wgpu::VertexBufferLayout<'static>>; 3] {
    const fn attribute(location: u32, offset: usize, format: wgpu::VertexFormat) -> wgpu::VertexAttribute {
        wgpu::VertexAttribute { format, offset: offset as u64, shader_location: location }
    }
    const POSITION: [wgpu::VertexAttribute; 1] = [attribute(0, 0, wgpu::VertexFormat::Float32x3)];
    const FRAME: [wgpu::VertexAttribute; 1] = [attribute(1, 0, wgpu::VertexFormat::Uint32x2)];
    const INSTANCE: [wgpu::VertexAttribute; 4] = [
        attribute(2, offset_of!(InstanceRaw, rows), wgpu::VertexFormat::Float32x4),
        attribute(3, offset_of!(InstanceRaw, rows) + 16, wgpu::VertexFormat::Float32x4),
        attribute(4, offset_of!(InstanceRaw, rows) + 32, wgpu::VertexFormat::Float32x4),
        attribute(5, offset_of!(InstanceRaw, first), wgpu::VertexFormat::Uint32),
    ];
    let buffer = |array_stride: usize, step_mode, attributes| {
        Some(wgpu::VertexBufferLayout { array_stride: array_stride as u64, step_mode, attributes })
    };
    [
        buffer(12, wgpu::VertexStepMode::Vertex, &POSITION),
        buffer(8, wgpu::VertexStepMode::Vertex, &FRAME),
        buffer(size_of::<InstanceRaw>(), wgpu::VertexStepMode::Instance, &INSTANCE),
    ]
}

fn layout(device: &wgpu::Device, label: &str, entries: &[wgpu::BindGroupLayoutEntry]) -> wgpu::BindGroupLayout {
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some(label), entries })
}

fn uniform(binding: u32, visibility: wgpu::ShaderStages) -> wgpu::BindGroupLayoutEntry {
    let ty = wgpu::BindingType::Buffer {
        ty: wgpu::BufferBindingType::Uniform,
        has_dynamic_offset: false,
        min_binding_size: None,
    };
    wgpu::BindGroupLayoutEntry { binding, visibility, ty, count: None }
}

fn surfaces() -> wgpu::BindGroupLayoutEntry {
    let ty = wgpu::BindingType::Buffer {
        ty: wgpu::BufferBindingType::Storage { read_only: true },
        has_dynamic_offset: false,
        min_binding_size: None,
    };
    wgpu::BindGroupLayoutEntry { binding: 0, visibility: wgpu::ShaderStages::VERTEX, ty, count: None }
}

/// The uniform, then a texture and its sampler for each of base colour, metallic-roughness, normal and emissive.
fn material_entries() -> Vec<wgpu::BindGroupLayoutEntry> {
    let texture = wgpu::BindingType::Texture {
        sample_type: wgpu::TextureSampleType::Float { filterable: true },
        view_dimension: wgpu::TextureViewDimension::D2,
        multisampled: false,
    };
    let sampler = wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering);
    let pictures = (1..=8).map(|binding| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::FRAGMENT,
        ty: if binding % 2 == 1 { texture } else { sampler },
        count: None,
    });
    std::iter::once(uniform(0, wgpu::ShaderStages::FRAGMENT)).chain(pictures).collect()
}
