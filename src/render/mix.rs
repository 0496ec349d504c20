//! Base colours of several samples, mixed by the weights of a pose space.

use super::model::{ModelMaterial, Pictures, material};
use super::{Renderer, texture};
use crate::character::{Character, Image, Material, Sampler, Wrap};
use crate::{Error, Result};

/// Linear light, so that pictures mix as light does; every device can draw, blend and filter it.
const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba16Float;

/// What one character's surfaces look like between the samples of its pose space; see [`Renderer::texture_mix`].
///
/// The mixed picture of a material is made anew, by [`TextureMix::record`], only when its weights have changed.
#[derive(Debug)]
pub struct TextureMix {
    pub(super) number: u32,
    pub(super) materials: Vec<ModelMaterial>,
    mixed: Vec<Mixed>,
    pipeline: wgpu::RenderPipeline,
    samples: usize,
}

/// The mixed picture of one material.
#[derive(Debug)]
struct Mixed {
    /// One view per mip level.
    levels: Vec<wgpu::TextureView>,
    /// Of each sample.
    pictures: Vec<wgpu::BindGroup>,
    /// Of each sample; they sum to 1.
    weights: Vec<f64>,
    changed: bool,
}

impl Renderer {
    /// A mix of base-colour pictures for one character: `samples` has one entry per sample of its pose space; `None` counts
    /// with each material's own picture. The other properties of the materials stay. The first sample shows alone until
    /// [`TextureMix::set_weights`].
    ///
    /// # Errors
    /// Those of [`Renderer::model`] that concern pictures; [`Error::LengthMismatch`] without samples.
    pub fn texture_mix(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        character: &Character,
        samples: &[Option<&Image>],
    ) -> Result<TextureMix> {
        if samples.is_empty() {
            return Err(Error::LengthMismatch { what: "samples of a texture mix", found: 0, expected: 1 });
        }
        let fallback = [Material::default()];
        let materials = if character.materials.is_empty() { &fallback[..] } else { &character.materials[..] };
        let mut pictures = Pictures::new(device, queue, &character.images)?;
        let own = samples.iter().map(|s| s.map(|image| texture::upload(device, queue, image, true)).transpose());
        let own: Vec<Option<wgpu::TextureView>> = own.collect::<Result<_>>()?;
        let layout = layout(device);
        let (mut mixed, mut groups) = (Vec::new(), Vec::new());
        for m in materials {
            let base = pictures.view(m.base_color_texture.as_ref(), true)?;
            let views: Vec<&wgpu::TextureView> = own.iter().map(|view| view.as_ref().unwrap_or(&base)).collect();
            let (made, whole) = Mixed::new(device, &layout, &views);
            mixed.push(made);
            groups.push(material(&self.shared, &mut pictures, m, Some(whole))?);
        }
        Ok(TextureMix {
            number: self.shared.next_model(),
            materials: groups,
            mixed,
            pipeline: pipeline(device, &layout),
            samples: samples.len(),
        })
    }
}

impl TextureMix {
    /// Weights of the samples ([`crate::pose::Blended::samples`]) for every material alike. Negative ones, which only
    /// extrapolation gives, count as 0; the rest is divided by its sum.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`]; [`Error::NotFinite`]; [`Error::InvalidParameter`] when no weight is above 0.
    pub fn set_weights(&mut self, weights: &[f32]) -> Result<()> {
        let sum = self.check(weights)?;
        self.mixed.iter_mut().for_each(|mixed| mixed.set(weights, sum));
        Ok(())
    }

    /// Weights of the samples for one material ([`crate::pose::PoseSpace::surface_weights`]): that of a held finger, say.
    ///
    /// # Errors
    /// Those of [`TextureMix::set_weights`]; [`Error::OutOfRange`] for the material.
    pub fn set_material_weights(&mut self, material: usize, weights: &[f32]) -> Result<()> {
        let sum = self.check(weights)?;
        let count = self.mixed.len();
        let mixed = self.mixed.get_mut(material);
        mixed.ok_or(Error::OutOfRange { what: "material", index: material, count })?.set(weights, sum);
        Ok(())
    }

    /// The sum of the weights above 0.
    fn check(&self, weights: &[f32]) -> Result<f64> {
        if weights.len() != self.samples {
            return Err(Error::LengthMismatch {
                what: "texture weights",
                found: weights.len(),
                expected: self.samples,
            });
        }
        if let Some(index) = weights.iter().position(|w| !w.is_finite()) {
            return Err(Error::NotFinite { what: "texture weight", index });
        }
        let sum: f64 = weights.iter().map(|&w| f64::from(w.max(0.0))).sum();
        if sum <= 0.0 {
            let expected = "above 0 for at least one sample";
            return Err(Error::InvalidParameter { what: "texture weights", value: format!("{weights:?}"), expected });
        }
        Ok(sum)
    }

    /// Records the mixing into the host's encoder, before the pictures that show it; nothing when the weights are the same.
    pub fn record(&mut self, encoder: &mut wgpu::CommandEncoder) {
        for (mixed, level) in
            self.mixed.iter().filter(|m| m.changed).flat_map(|m| m.levels.iter().map(move |level| (m, level)))
        {
            let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                label: Some("mix"),
                color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                    view: level,
                    depth_slice: None,
                    resolve_target: None,
                    ops: wgpu::Operations {
                        load: wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT),
                        store: wgpu::StoreOp::Store,
                    },
                })],
                depth_stencil_attachment: None,
                timestamp_writes: None,
                occlusion_query_set: None,
                multiview_mask: None,
            });
            pass.set_pipeline(&self.pipeline);
            for (picture, &weight) in mixed.pictures.iter().zip(&mixed.weights).filter(|(_, w)| **w > 0.0) {
                pass.set_blend_constant(wgpu::Color { r: weight, g: weight, b: weight, a: weight });
                pass.set_bind_group(0, picture, &[]);
                pass.draw(0..3, 0..1);
            }
        }
        self.mixed.iter_mut().for_each(|mixed| mixed.changed = false);
    }
}

impl Mixed {
    fn set(&mut self, weights: &[f32], sum: f64) {
        for (old, &new) in self.weights.iter_mut().zip(weights) {
            let new = f64::from(new.max(0.0)) / sum;
            self.changed |= *old != new;
            *old = new;
        }
    }

    /// A target as large as the largest picture, and the view of it that a material reads.
    fn new(
        device: &wgpu::Device,
        layout: &wgpu::BindGroupLayout,
        views: &[&wgpu::TextureView],
    ) -> (Self, wgpu::TextureView) {
        let sides =
            views.iter().map(|v| v.texture().size()).fold([1, 1], |s, t| [s[0].max(t.width), s[1].max(t.height)]);
        let mip_level_count = 32 - sides[0].max(sides[1]).leading_zeros();
        let target = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("mix"),
            size: wgpu::Extent3d { width: sides[0], height: sides[1], depth_or_array_layers: 1 },
            mip_level_count,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: FORMAT,
            usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::RENDER_ATTACHMENT,
            view_formats: &[],
        });
        let level = |base_mip_level| {
            let one = wgpu::TextureViewDescriptor { base_mip_level, mip_level_count: Some(1), ..Default::default() };
            target.create_view(&one)
        };
        // Clamped: a picture smaller than the target must not bleed over its opposite edge.
        let clamped = Sampler { wrap_u: Wrap::Clamp, wrap_v: Wrap::Clamp, ..Sampler::default() };
        let sampler = texture::sampler(device, &clamped);
        let group = |view: &&wgpu::TextureView| {
            device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("mix"),
                layout,
                entries: &[
                    wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::TextureView(view) },
                    wgpu::BindGroupEntry { binding: 1, resource: wgpu::BindingResource::Sampler(&sampler) },
                ],
            })
        };
        let whole = target.create_view(&wgpu::TextureViewDescriptor::default());
        let pictures = views.iter().map(group).collect();
        let mut weights = vec![0.0; views.len()];
        weights[0] = 1.0;
        (Self { levels: (0..mip_level_count).map(level).collect(), pictures, weights, changed: true }, whole)
    }
}

fn layout(device: &wgpu::Device) -> wgpu::BindGroupLayout {
    let entry =
        |binding, ty| wgpu::BindGroupLayoutEntry { binding, visibility: wgpu::ShaderStages::FRAGMENT, ty, count: None };
    let picture = wgpu::BindingType::Texture {
        sample_type: wgpu::TextureSampleType::Float { filterable: true },
        view_dimension: wgpu::TextureViewDimension::D2,
        multisampled: false,
    };
    let sampler = wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering);
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("mix"),
        entries: &[entry(0, picture), entry(1, sampler)],
    })
}

fn pipeline(device: &wgpu::Device, layout: &wgpu::BindGroupLayout) -> wgpu::RenderPipeline {
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("mix"),
        source: wgpu::ShaderSource::Wgsl(include_str!("../../shaders/mix.wgsl").into()),
    });
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some("mix"),
        bind_group_layouts: &[Some(layout)],
        immediate_size: 0,
    });
    let add = wgpu::BlendComponent {
        src_factor: wgpu::BlendFactor::Constant,
        dst_factor: wgpu::BlendFactor::One,
        operation: wgpu::BlendOperation::Add,
    };
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("mix"),
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some("mix_vertex"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            buffers: &[],
        },
        primitive: wgpu::PrimitiveState::default(),
        depth_stencil: None,
        multisample: wgpu::MultisampleState::default(),
        fragment: Some(wgpu::FragmentState {
            module: &module,
            entry_point: Some("mix_fragment"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            targets: &[Some(wgpu::ColorTargetState {
                format: FORMAT,
                blend: Some(wgpu::BlendState { color: add, alpha: add }),
                write_mask: wgpu::ColorWrites::ALL,
            })],
        }),
        multiview_mask: None,
        cache: None,
    })
}
