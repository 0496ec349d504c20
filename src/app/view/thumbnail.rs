//! Small pictures of characters inside the user interface.

use std::sync::{Arc, Mutex};

use dermis::render::{Attachments, Background, Camera, Renderer, View};
use dermis::wgpu;
use egui::mutex::RwLock;

use super::scene::{Canvas, Placed, Stage};
use crate::app::device::Opened;

/// Makes textures of ours known to egui. Cheap to clone.
#[derive(Clone)]
pub struct Textures {
    gpu: Arc<Opened>,
    painter: Arc<RwLock<egui_wgpu::Renderer>>,
}

impl Textures {
    pub fn new(gpu: Arc<Opened>, painter: Arc<RwLock<egui_wgpu::Renderer>>) -> Self {
        Self { gpu, painter }
    }

    /// The id by which egui shows a texture, which must not encode sRGB by itself.
    pub fn register(&self, view: &wgpu::TextureView) -> egui::TextureId {
        self.painter.write().register_native_texture(&self.gpu.device, view, wgpu::FilterMode::Linear)
    }

    /// Forgets a texture.
    pub fn free(&self, id: egui::TextureId) {
        self.painter.write().free_texture(&id);
    }
}

/// A texture that characters of a stage are drawn into, shown by egui.
pub struct Thumbnail {
    target: Arc<Target>,
    textures: Textures,
    /// What egui shows: `ui.image((thumbnail.id, size))`.
    pub id: egui::TextureId,
}

struct Target {
    view: wgpu::TextureView,
    attachments: Attachments,
    state: Mutex<View>,
}

/// A picture to be drawn aside once the stage's characters are skinned.
pub struct Aside {
    target: Arc<Target>,
    camera: Camera,
    background: Background,
    shown: Vec<Placed>,
}

impl Thumbnail {
    /// An empty picture of `size` pixels.
    pub fn new(textures: &Textures, renderer: &Renderer, size: [u32; 2]) -> Self {
        let device = &textures.gpu.device;
        let texture = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("thumbnail"),
            size: wgpu::Extent3d { width: size[0].max(1), height: size[1].max(1), depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: renderer.descriptor().color_format,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::TEXTURE_BINDING,
            view_formats: &[],
        });
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let attachments = Attachments::new(device, renderer, size.map(|s| s.max(1)));
        let id = textures.register(&view);
        let target = Arc::new(Target { view, attachments, state: Mutex::new(renderer.view(device)) });
        Self { target, textures: textures.clone(), id }
    }

    /// Draws characters of the stage into it in the coming frame. Call it only when they changed.
    pub fn draw(&self, stage: &mut Stage, camera: Camera, background: Background, shown: Vec<Placed>) {
        stage.asides.push(Aside { target: self.target.clone(), camera, background, shown });
    }
}

impl Drop for Thumbnail {
    fn drop(&mut self) {
        self.textures.free(self.id);
    }
}

impl Aside {
    /// Records the picture, after the skinner's passes.
    pub(super) fn record(&self, gpu: &Opened, encoder: &mut wgpu::CommandEncoder, stage: &Stage) -> dermis::Result<()> {
        // Poisoned only by a panic while drawing; the view is written anew below.
        let mut view = self.target.state.lock().unwrap_or_else(|e| e.into_inner());
        let targets = self.target.attachments.targets(&self.target.view);
        let canvas = Canvas { view: &mut view, targets, camera: &self.camera, timestamps: None };
        stage.draw(gpu, encoder, canvas, self.background, &self.shown)
    }
}
