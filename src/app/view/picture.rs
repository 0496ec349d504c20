//! Pictures of a stage as PNG files.

use std::path::Path;

use dermis::render::{Attachments, Camera, Renderer};
use dermis::wgpu;

use super::scene::{Canvas, Stage};
use crate::app::device::Opened;
use crate::app::output;

type Failure = Box<dyn std::error::Error>;

/// Pixels, row by row from the top, 8-bit RGBA in sRGB.
pub struct Picture {
    pub size: [u32; 2],
    pub rgba: Vec<u8>,
}

/// Draws the stage, as it was last prepared, off screen and reads the picture back.
pub fn take(
    gpu: &Opened,
    renderer: &Renderer,
    stage: &mut Stage,
    camera: &Camera,
    size: [u32; 2],
    grid: bool,
) -> Result<Picture, Failure> {
    let format = renderer.descriptor().color_format;
    let target = gpu.device.create_texture(&wgpu::TextureDescriptor {
        label: Some("picture"),
        size: wgpu::Extent3d { width: size[0], height: size[1], depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
        view_formats: &[],
    });
    let shown = target.create_view(&wgpu::TextureViewDescriptor::default());
    let attachments = Attachments::new(&gpu.device, renderer, size);
    let mut view = renderer.view(&gpu.device);
    let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("picture") });
    let canvas = Canvas { view: &mut view, targets: attachments.targets(&shown), camera, timestamps: None };
    stage.record(gpu, &mut encoder, canvas, grid, None)?;

    let row = (size[0] * 4).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
    let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("picture"),
        size: u64::from(row) * u64::from(size[1]),
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(row), rows_per_image: None };
    let to = wgpu::TexelCopyBufferInfo { buffer: &buffer, layout };
    encoder.copy_texture_to_buffer(target.as_image_copy(), to, target.size());
    gpu.queue.submit([encoder.finish()]);
    let (sender, receiver) = std::sync::mpsc::channel();
    buffer.slice(..).map_async(wgpu::MapMode::Read, move |result| {
        // The receiver only goes away together with this function's error return.
        let _ = sender.send(result);
    });
    gpu.device.poll(wgpu::PollType::wait_indefinitely())?;
    receiver.recv()??;
    let bytes = buffer.slice(..).get_mapped_range()?;
    let mut rgba = Vec::with_capacity(size[0] as usize * size[1] as usize * 4);
    for line in bytes.chunks_exact(row as usize) {
        rgba.extend_from_slice(&line[..size[0] as usize * 4]);
    }
    if matches!(format, wgpu::TextureFormat::Bgra8Unorm | wgpu::TextureFormat::Bgra8UnormSrgb) {
        rgba.chunks_exact_mut(4).for_each(|p| p.swap(0, 2));
    }
    Ok(Picture { size, rgba })
}

impl Picture {
    /// Writes a PNG; an existing file is replaced only once the picture is complete.
    pub fn save(&self, path: &Path) -> Result<(), Failure> {
        let mut png = std::io::Cursor::new(Vec::new());
        let [width, height] = self.size;
        image::write_buffer_with_format(
            &mut png,
            &self.rgba,
            width,
            height,
            image::ExtendedColorType::Rgba8,
            image::ImageFormat::Png,
        )?;
        output::write(path, |out| Ok(out.write_all(&png.into_inner())?))
    }
}
