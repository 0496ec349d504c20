//! A small forward renderer over the skinner's buffers, for hosts that have none.
//!
//! [`Renderer`] holds pipelines, [`Model`] what never changes of a character (triangles, texture coordinates, pictures),
//! [`View`] what changes with every picture. A frame, after the skinner's own `prepare` and `record`:
//! ```no_run
//! # use dermis::{wgpu, Affine, gpu, render::*};
//! # fn frame(device: &wgpu::Device, queue: &wgpu::Queue, encoder: &mut wgpu::CommandEncoder, view: &mut View,
//! #     attachments: &Attachments, window: &wgpu::TextureView, skinner: &gpu::Skinner, hero: gpu::CharacterId,
//! #     model: &Model, camera: &Camera) -> dermis::Result<()> {
//! let scene = Scene {
//!     camera,
//!     light: &Light::default(),
//!     background: Background::Sky(None),
//!     skinner,
//!     instances: &[Instance { character: hero, model, textures: None, overlay: None, transform: Affine::IDENTITY }],
//! };
//! view.prepare(device, queue, &scene)?;
//! view.record(encoder, &attachments.targets(window), &scene)?;
//! # Ok(())
//! # }
//! ```
//! Vertices are drawn from the skinner's pages with `base_vertex`; a picture binds a page once. Materials are glTF 2.0
//! metallic-roughness; normals stay outward and back faces are told apart also where a joint or a placement mirrors,
//! because the skinner turns the tangent's sign there and the shader compares it with the rest tangent's.
//! Transparent primitives are sorted back to front by their rest centre, not triangle by triangle.
//! Not done: shadows on characters, occlusion maps, image-based light, culling by view.

mod camera;
mod colors;
mod mix;
mod model;
mod overlay;
mod pipeline;
mod scene;
mod texture;
mod view;

pub use camera::{Camera, Depth, perspective};
pub use colors::ColorMap;
pub use mix::TextureMix;
pub use model::Model;
pub use overlay::Overlay;
pub use pipeline::{Renderer, RendererDescriptor};
pub use scene::{Background, Ground, Instance, Light, Scene};
pub use view::{Attachments, Targets, View};
