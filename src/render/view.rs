//! One picture: what changes with every frame, and the recording of its draws.

use std::sync::Arc;

use super::pipeline::Shared;
use super::scene::{InstanceRaw, SceneRaw};
use super::{Background, Instance, Renderer, Scene};
use crate::gpu::Layout;
use crate::{Error, Result};

/// The buffers of one picture, reused from frame to frame; see [`Renderer::view`].
#[derive(Debug)]
pub struct View {
    shared: Arc<Shared>,
    scene: wgpu::Buffer,
    scene_group: wgpu::BindGroup,
    instances: wgpu::Buffer,
    raw: Vec<InstanceRaw>,
    draws: Vec<Draw>,
}

/// A primitive of a part of an instance. Ordered as it must be drawn: solid ones with the fewest changes of state, then
/// transparent ones from far to near.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Draw {
    kind: Kind,
    /// Grows from far to near; 0 for solid ones.
    nearness: u32,
    model: u32,
    /// The model's number, or that of the texture mix or overlay which stands in for its materials.
    look: u32,
    material: u32,
    part: u32,
    page: u32,
    primitive: u32,
    instance: u32,
    first_vertex: i32,
    /// Index into the instance buffer.
    slot: u32,
}

/// In the order in which they are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Solid,
    Overlay,
    Blend,
}

/// What a pipeline binds besides the scene.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    /// Nothing: shadows.
    Nothing,
    /// Materials and what vertices have besides the skinner's streams.
    Surfaces,
    /// The numbers of an overlay.
    Overlay,
}

/// Where a picture goes. All views have the formats and sample count of the renderer.
#[derive(Clone, Copy, Debug)]
pub struct Targets<'a> {
    /// Colour.
    pub color: &'a wgpu::TextureView,
    /// Where several samples per pixel are resolved to; then `color` itself is not kept.
    pub resolve: Option<&'a wgpu::TextureView>,
    /// Depth.
    pub depth: &'a wgpu::TextureView,
}

/// Depth, and colour with several samples, for hosts that have only a view to show.
#[derive(Debug)]
pub struct Attachments {
    color: Option<wgpu::TextureView>,
    depth: wgpu::TextureView,
    size: [u32; 2],
}

impl Attachments {
    /// Textures of `size` pixels (at least 1 by 1), as `renderer` needs them.
    pub fn new(device: &wgpu::Device, renderer: &Renderer, size: [u32; 2]) -> Self {
        let size = size.map(|s| s.max(1));
        let d = renderer.descriptor();
        let make = |label, format| {
            let texture = device.create_texture(&wgpu::TextureDescriptor {
                label: Some(label),
                size: wgpu::Extent3d { width: size[0], height: size[1], depth_or_array_layers: 1 },
                mip_level_count: 1,
                sample_count: d.sample_count,
                dimension: wgpu::TextureDimension::D2,
                format,
                usage: wgpu::TextureUsages::RENDER_ATTACHMENT,
                view_formats: &[],
            });
            texture.create_view(&wgpu::TextureViewDescriptor::default())
        };
        Self {
            color: (d.sample_count > 1).then(|| make("samples", d.color_format)),
            depth: make("depth", d.depth_format),
            size,
        }
    }

    /// Pixels across and down.
    pub fn size(&self) -> [u32; 2] {
        self.size
    }

    /// Targets that end up in `shown`, a view with one sample per pixel of the same size.
    pub fn targets<'a>(&'a self, shown: &'a wgpu::TextureView) -> Targets<'a> {
        match &self.color {
            Some(color) => Targets { color, resolve: Some(shown), depth: &self.depth },
            None => Targets { color: shown, resolve: None, depth: &self.depth },
        }
    }
}

impl View {
    pub(super) fn new(shared: &Arc<Shared>, device: &wgpu::Device) -> Self {
        let scene = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("scene"),
            size: size_of::<SceneRaw>() as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let scene_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("scene"),
            layout: &shared.scene_layout,
            entries: &[wgpu::BindGroupEntry { binding: 0, resource: scene.as_entire_binding() }],
        });
        let instances = instance_buffer(device, 64);
        Self { shared: shared.clone(), scene, scene_group, instances, raw: Vec::new(), draws: Vec::new() }
    }

    /// Sorts the draws and uploads the scene. Call it after the skinner's `prepare`; nothing is allocated or made on the
    /// GPU unless there are more instances than ever before.
    ///
    /// # Errors
    /// Those of [`crate::gpu::Skinner::vertices`]; [`Error::LengthMismatch`] when a character's part has another number of
    /// vertices than the model's; [`Error::InvalidParameter`] for a skinner whose layout is not [`Layout::Packed`].
    pub fn prepare(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, scene: &Scene<'_>) -> Result<()> {
        self.raw.clear();
        self.draws.clear();
        for (index, instance) in scene.instances.iter().enumerate() {
            self.collect(scene, index, instance)?;
        }
        self.draws.sort_unstable();
        let limit = device.limits().max_buffer_size;
        let needed = (self.raw.len() * size_of::<InstanceRaw>()) as u64;
        if needed > limit {
            return Err(Error::DeviceLimit { what: "the instances of a picture", needed, limit });
        }
        if needed > self.instances.size() {
            let most = (limit / size_of::<InstanceRaw>() as u64) as usize;
            self.instances = instance_buffer(device, self.raw.len().next_power_of_two().min(most));
        }
        queue.write_buffer(&self.instances, 0, bytemuck::cast_slice(&self.raw));
        let raw = SceneRaw::new(scene, self.shared.descriptor.depth);
        queue.write_buffer(&self.scene, 0, bytemuck::bytes_of(&raw));
        Ok(())
    }

    fn collect(&mut self, scene: &Scene<'_>, index: usize, instance: &Instance<'_>) -> Result<()> {
        let model = instance.model;
        let mixed = instance.textures.map_or(model.number, |mix| mix.number);
        let look = instance.overlay.map_or(mixed, |overlay| overlay.number);
        if let Some(overlay) = instance.overlay
            && overlay.groups.len() != model.parts.len()
        {
            let (found, expected) = (overlay.groups.len(), model.parts.len());
            return Err(Error::LengthMismatch { what: "an overlay's list of parts", found, expected });
        }
        if let Some(mix) = instance.textures
            && mix.materials.len() != model.materials.len()
        {
            let (found, expected) = (mix.materials.len(), model.materials.len());
            return Err(Error::LengthMismatch { what: "a texture mix's list of materials", found, expected });
        }
        for (part, model_part) in model.parts.iter().enumerate() {
            let vertices = scene.skinner.vertices(instance.character, part)?;
            let mesh = &model.meshes[model_part.mesh];
            if vertices.layout != Layout::Packed {
                return Err(Error::InvalidParameter {
                    what: "the vertex layout of a skinner that is drawn from",
                    value: format!("{:?}", vertices.layout),
                    expected: "Packed",
                });
            }
            if vertices.range.len() != mesh.vertex_count {
                return Err(Error::LengthMismatch {
                    what: "a character's part that is drawn",
                    found: vertices.range.len(),
                    expected: mesh.vertex_count,
                });
            }
            let slot = self.raw.len() as u32;
            let raw = InstanceRaw::new(&instance.transform, scene.camera.position, vertices.range.start);
            self.raw.push(raw);
            for (p, primitive) in mesh.primitives.iter().enumerate().filter(|(_, p)| !p.indices.is_empty()) {
                let kind = match (instance.overlay, model.materials[primitive.material].blend) {
                    (Some(_), _) => Kind::Overlay,
                    (None, true) => Kind::Blend,
                    (None, false) => Kind::Solid,
                };
                let center = raw.rows.map(|r| glam::Vec4::from(r).dot(model_part.centers[p].extend(1.0)));
                let distance = glam::Vec3::from(center).length();
                self.draws.push(Draw {
                    kind,
                    // Bits of floats that are not negative order like the floats.
                    nearness: if kind == Kind::Blend { u32::MAX - distance.max(0.0).to_bits() } else { 0 },
                    model: model.number,
                    look,
                    material: primitive.material as u32,
                    part: part as u32,
                    page: vertices.page,
                    primitive: p as u32,
                    instance: index as u32,
                    first_vertex: vertices.range.start as i32,
                    slot,
                });
            }
        }
        Ok(())
    }

    /// Records the picture as one render pass. `scene` is what [`View::prepare`] was given.
    ///
    /// # Errors
    /// Those of [`crate::gpu::Skinner::vertices`], if the scene has changed since.
    pub fn record(&self, encoder: &mut wgpu::CommandEncoder, targets: &Targets<'_>, scene: &Scene<'_>) -> Result<()> {
        self.record_timed(encoder, targets, scene, None)
    }

    /// As [`View::record`], and the GPU writes its clock before and after the pass if `timestamps` says where.
    ///
    /// # Errors
    /// Those of [`View::record`].
    pub fn record_timed(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        targets: &Targets<'_>,
        scene: &Scene<'_>,
        timestamps: Option<wgpu::RenderPassTimestampWrites<'_>>,
    ) -> Result<()> {
        let clear = match scene.background {
            Background::Keep => None,
            Background::Color([r, g, b, a]) => Some([r, g, b, a]),
            Background::Sky(_) => Some([0.0, 0.0, 0.0, 1.0]),
        };
        let color = |c: [f32; 4]| {
            let [r, g, b, a] = self.shared.stored(c).map(f64::from);
            wgpu::LoadOp::Clear(wgpu::Color { r, g, b, a })
        };
        let depth = match clear {
            Some(_) => wgpu::LoadOp::Clear(self.shared.descriptor.depth.far()),
            None => wgpu::LoadOp::Load,
        };
        let store = if targets.resolve.is_some() { wgpu::StoreOp::Discard } else { wgpu::StoreOp::Store };
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("draw"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: targets.color,
                depth_slice: None,
                resolve_target: targets.resolve,
                ops: wgpu::Operations { load: clear.map_or(wgpu::LoadOp::Load, color), store },
            })],
            depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                view: targets.depth,
                depth_ops: Some(wgpu::Operations { load: depth, store: wgpu::StoreOp::Store }),
                stencil_ops: None,
            }),
            timestamp_writes: timestamps,
            occlusion_query_set: None,
            multiview_mask: None,
        });
        self.record_in(&mut pass, scene)
    }

    /// Records the picture into a pass of the host's with the renderer's formats; the host has cleared or filled both
    /// attachments.
    ///
    /// # Errors
    /// Those of [`View::record`].
    pub fn record_in(&self, pass: &mut wgpu::RenderPass<'_>, scene: &Scene<'_>) -> Result<()> {
        pass.set_bind_group(0, &self.scene_group, &[]);
        let solid = self.draws.partition_point(|d| d.kind < Kind::Overlay);
        let opaque = self.draws.partition_point(|d| d.kind < Kind::Blend);
        self.record_draws(pass, scene, &self.draws[..solid], &self.shared.solid, Bound::Surfaces)?;
        if let Some(overlay) = self.shared.overlay.get() {
            self.record_draws(pass, scene, &self.draws[solid..opaque], overlay, Bound::Overlay)?;
        }
        if let Background::Sky(ground) = scene.background {
            pass.set_pipeline(&self.shared.sky);
            pass.draw(0..3, 0..1);
            if let Some(ground) = ground.filter(|g| g.center[1] < scene.camera.position[1]) {
                pass.set_pipeline(&self.shared.ground);
                pass.draw(0..4, 0..1);
                if ground.shadow > 0.0 {
                    self.record_draws(pass, scene, &self.draws[..opaque], &self.shared.shadow, Bound::Nothing)?;
                }
            }
        }
        self.record_draws(pass, scene, &self.draws[opaque..], &self.shared.blend, Bound::Surfaces)
    }

    fn record_draws(
        &self,
        pass: &mut wgpu::RenderPass<'_>,
        scene: &Scene<'_>,
        draws: &[Draw],
        pipeline: &wgpu::RenderPipeline,
        bound: Bound,
    ) -> Result<()> {
        if draws.is_empty() {
            return Ok(());
        }
        pass.set_pipeline(pipeline);
        pass.set_vertex_buffer(2, self.instances.slice(..));
        let (mut page, mut mesh, mut material) = (None, None, None);
        for draw in draws {
            let Some(instance) = scene.instances.get(draw.instance as usize) else { continue };
            let model = instance.model;
            let Some(part) = model.parts.get(draw.part as usize) else { continue };
            let drawn = &model.meshes[part.mesh];
            if page != Some(draw.page) {
                let vertices = scene.skinner.vertices(instance.character, draw.part as usize)?;
                pass.set_vertex_buffer(0, vertices.positions.slice(..));
                pass.set_vertex_buffer(1, vertices.frames.slice(..));
                page = Some(draw.page);
            }
            if mesh != Some((draw.model, part.mesh)) {
                pass.set_index_buffer(drawn.indices.slice(..), wgpu::IndexFormat::Uint32);
                if bound == Bound::Surfaces {
                    pass.set_bind_group(2, &drawn.surfaces, &[]);
                }
                mesh = Some((draw.model, part.mesh));
            }
            if bound == Bound::Overlay && material != Some((draw.look, draw.part)) {
                if let Some(overlay) = instance.overlay {
                    pass.set_bind_group(1, &overlay.groups[draw.part as usize], &[]);
                }
                material = Some((draw.look, draw.part));
            }
            if bound == Bound::Surfaces && material != Some((draw.look, draw.material)) {
                let materials = instance.textures.map_or(&model.materials, |mix| &mix.materials);
                pass.set_bind_group(1, &materials[draw.material as usize].group, &[]);
                material = Some((draw.look, draw.material));
            }
            let indices = drawn.primitives[draw.primitive as usize].indices.clone();
            pass.draw_indexed(indices, draw.first_vertex, draw.slot..draw.slot + 1);
        }
        Ok(())
    }
}

fn instance_buffer(device: &wgpu::Device, count: usize) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("instances"),
        size: (count * size_of::<InstanceRaw>()) as u64,
        usage: wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}
