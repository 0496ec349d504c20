//! The window on the GPU: surface, targets, and egui's painter.

use std::sync::Arc;

use dermis::render::{Attachments, Camera, Renderer, RendererDescriptor, View};
use dermis::wgpu;
use egui::mutex::RwLock;

use super::scene::{Canvas, Stage};
use crate::app::device::{self, Opened};
use crate::app::timing::Stopwatch;

type Failure = Box<dyn std::error::Error>;

/// What egui wants painted in one frame.
pub struct Overlay {
    pub primitives: Vec<egui::ClippedPrimitive>,
    pub textures: egui::TexturesDelta,
    pub pixels_per_point: f32,
}

/// What became of a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// It is on the screen.
    Yes,
    /// Nothing could be shown now; ask again soon.
    Later,
}

/// A window and all that draws into it.
pub struct Screen {
    pub window: Arc<winit::window::Window>,
    pub gpu: Arc<Opened>,
    pub renderer: Renderer,
    instance: wgpu::Instance,
    surface: wgpu::Surface<'static>,
    config: wgpu::SurfaceConfiguration,
    view: View,
    attachments: Attachments,
    /// Times the passes, where the adapter can.
    pub stopwatch: Option<Stopwatch>,
    pub painter: Arc<RwLock<egui_wgpu::Renderer>>,
    /// Texture changes of frames that could not be shown.
    waiting: egui::TexturesDelta,
}

impl Screen {
    /// Opens the best adapter that can draw to the window.
    pub fn new(
        window: Arc<winit::window::Window>,
        display: winit::event_loop::OwnedDisplayHandle,
        adapter: Option<&str>,
    ) -> Result<Self, Failure> {
        let instance = device::instance_with(wgpu::InstanceDescriptor::new_with_display_handle(Box::new(display)));
        let surface = instance.create_surface(window.clone())?;
        let gpu = device::open_on(&instance, Some(&surface), adapter)?;
        gpu.check_drawing()?;
        let size = window.inner_size();
        let mut config = surface
            .get_default_config(&gpu.adapter, size.width.max(1), size.height.max(1))
            .ok_or_else(|| format!("{} cannot draw to this window", gpu.info.name))?;
        // egui mixes colours as sRGB codes and wants a format that does not encode; the renderer serves both kinds.
        let formats = surface.get_capabilities(&gpu.adapter).formats;
        let plain =
            |f: &&wgpu::TextureFormat| matches!(f, wgpu::TextureFormat::Bgra8Unorm | wgpu::TextureFormat::Rgba8Unorm);
        if let Some(&format) = formats.iter().find(plain) {
            config.format = format;
        }
        config.present_mode = wgpu::PresentMode::AutoVsync;
        surface.configure(&gpu.device, &config);
        let mut descriptor = RendererDescriptor { color_format: config.format, ..RendererDescriptor::default() };
        // Without a GPU each sample is a processor's work: moving smoothly matters more than smooth edges.
        if gpu.info.device_type == wgpu::DeviceType::Cpu {
            descriptor.sample_count = 1;
        }
        let renderer = Renderer::new(&gpu.device, &descriptor)?;
        let painter = egui_wgpu::Renderer::new(&gpu.device, config.format, egui_wgpu::RendererOptions::default());
        Ok(Self {
            view: renderer.view(&gpu.device),
            attachments: Attachments::new(&gpu.device, &renderer, [config.width, config.height]),
            stopwatch: Stopwatch::new(&gpu),
            window,
            gpu: Arc::new(gpu),
            renderer,
            instance,
            surface,
            config,
            painter: Arc::new(RwLock::new(painter)),
            waiting: egui::TexturesDelta::default(),
        })
    }

    /// Pixels across and down; never 0.
    pub fn size(&self) -> [u32; 2] {
        [self.config.width, self.config.height]
    }

    /// True while there is something to draw into: a minimised window has no pixels.
    pub fn visible(&self) -> bool {
        let size = self.window.inner_size();
        size.width > 0 && size.height > 0 && self.window.is_minimized() != Some(true)
    }

    /// Follows the window's size.
    pub fn resize(&mut self) {
        let size = self.window.inner_size();
        let largest = self.gpu.device.limits().max_texture_dimension_2d;
        let size = [size.width, size.height].map(|s| s.min(largest));
        if size[0] == 0 || size[1] == 0 || size == self.size() {
            return;
        }
        [self.config.width, self.config.height] = size;
        self.surface.configure(&self.gpu.device, &self.config);
        self.attachments = Attachments::new(&self.gpu.device, &self.renderer, size);
    }

    /// Draws the stage, and egui over it.
    pub fn show(
        &mut self,
        stage: Option<&mut Stage>,
        camera: &Camera,
        grid: bool,
        overlay: Overlay,
    ) -> Result<Shown, Failure> {
        let Overlay { primitives, textures, pixels_per_point } = overlay;
        self.waiting.append(textures);
        let Some((frame, stale)) = self.next_frame()? else { return Ok(Shown::Later) };
        let Opened { device, queue, .. } = &*self.gpu;
        let shown = frame.texture.create_view(&wgpu::TextureViewDescriptor::default());
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("frame") });
        let screen = egui_wgpu::ScreenDescriptor { size_in_pixels: self.size(), pixels_per_point };
        let drawn = stage.is_some();
        let mut stopwatch = self.stopwatch.as_mut().filter(|_| drawn);
        if let Some(stopwatch) = &mut stopwatch {
            stopwatch.begin();
        }
        if let Some(stage) = stage {
            let (targets, watch) = (self.attachments.targets(&shown), stopwatch.as_deref());
            let timestamps = watch.and_then(Stopwatch::draw);
            let canvas = Canvas { view: &mut self.view, targets, camera, timestamps };
            stage.record(&self.gpu, &mut encoder, canvas, grid, watch.and_then(Stopwatch::skinner))?;
        }

        let mut painter = self.painter.write();
        for (id, deltas) in self.waiting.set.drain() {
            for delta in &deltas {
                painter.update_texture(device, queue, id, delta);
            }
        }
        let extra = painter.update_buffers(device, queue, &mut encoder, &primitives, &screen);
        let dusk = wgpu::Color { r: 0.22, g: 0.23, b: 0.25, a: 1.0 };
        let load = if drawn { wgpu::LoadOp::Load } else { wgpu::LoadOp::Clear(dusk) };
        let pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("egui"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &shown,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations { load, store: wgpu::StoreOp::Store },
            })],
            depth_stencil_attachment: None,
            timestamp_writes: stopwatch.as_deref().and_then(Stopwatch::panels),
            occlusion_query_set: None,
            multiview_mask: None,
        });
        painter.render(&mut pass.forget_lifetime(), &primitives, &screen);
        if let Some(stopwatch) = stopwatch {
            stopwatch.end(&mut encoder);
        }
        queue.submit(extra.into_iter().chain([encoder.finish()]));
        self.window.pre_present_notify();
        queue.present(frame);
        for id in self.waiting.free.drain() {
            painter.free_texture(&id);
        }
        drop(painter);
        if stale {
            self.surface.configure(&self.gpu.device, &self.config);
        }
        Ok(Shown::Yes)
    }

    /// The next texture of the surface and whether the surface should be configured anew after it; `None` when there is
    /// none now.
    fn next_frame(&mut self) -> Result<Option<(wgpu::SurfaceTexture, bool)>, Failure> {
        use wgpu::CurrentSurfaceTexture as Current;
        match self.surface.get_current_texture() {
            Current::Success(frame) => return Ok(Some((frame, false))),
            Current::Suboptimal(frame) => return Ok(Some((frame, true))),
            Current::Timeout | Current::Occluded => {}
            Current::Outdated => self.surface.configure(&self.gpu.device, &self.config),
            Current::Lost => {
                self.surface = self.instance.create_surface(self.window.clone())?;
                self.surface.configure(&self.gpu.device, &self.config);
            }
            Current::Validation => return Err("the window's surface was refused".into()),
        }
        Ok(None)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // egui insists that changes are dropped on purpose only.
        self.waiting.clear();
    }
}
