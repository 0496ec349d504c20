//! The explicit read-back of skinned vertices: the only calls of the crate that wait for the GPU. `read_back.rs` has the one
//! that does not.

use super::character::{Layout, Vertices};
use super::frame::{decode_normal, decode_tangent};
use crate::{Error, Result};

/// Skinned vertices on the CPU, in character space.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SkinnedVertices {
    /// Metres.
    pub positions: Vec<[f32; 3]>,
    /// Unit.
    pub normals: Vec<[f32; 3]>,
    /// Unit; w = ±1, the sign of the bitangent.
    pub tangents: Vec<[f32; 4]>,
}

/// Copies a part's skinned vertices to the CPU and waits for them. For tools and tests, not for a frame; on the web, where
/// waiting is not possible, it returns an error.
///
/// # Errors
/// [`Error::Gpu`] when the device is lost or cannot be waited for.
pub fn read_vertices(device: &wgpu::Device, queue: &wgpu::Queue, vertices: &Vertices<'_>) -> Result<SkinnedVertices> {
    let (first, end) = (u64::from(vertices.range.start), u64::from(vertices.range.end));
    let positions = read_range(device, queue, vertices.positions, 12 * first..12 * end)?;
    let stride = vertices.layout.stride();
    let frames = read_range(device, queue, vertices.frames, stride * first..stride * end)?;
    Ok(decode(&positions, &frames, vertices.layout))
}

/// Vertices from the bytes of their streams.
pub(super) fn decode(positions: &[u8], frames: &[u8], layout: Layout) -> SkinnedVertices {
    let (normals, tangents) = match layout {
        Layout::Packed => {
            let frames: Vec<[u32; 2]> = bytemuck::pod_collect_to_vec(frames);
            frames.iter().map(|&f| (decode_normal(f), decode_tangent(f))).unzip()
        }
        Layout::Full => {
            let frames: Vec<[f32; 7]> = bytemuck::pod_collect_to_vec(frames);
            frames.iter().map(|&[x, y, z, s, t, u, sign]| ([x, y, z], [s, t, u, sign])).unzip()
        }
    };
    SkinnedVertices { positions: bytemuck::pod_collect_to_vec(positions), normals, tangents }
}

/// Bytes `range` of a buffer with `COPY_SRC` usage; offsets are multiples of 4.
pub(crate) fn read_range(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    buffer: &wgpu::Buffer,
    range: std::ops::Range<u64>,
) -> Result<Vec<u8>> {
    let size = range.end - range.start;
    if size == 0 {
        return Ok(Vec::new());
    }
    let staging = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("dermis read-back"),
        size,
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let mut encoder =
        device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("dermis read-back") });
    encoder.copy_buffer_to_buffer(buffer, range.start, &staging, 0, size);
    queue.submit([encoder.finish()]);
    let (sender, receiver) = std::sync::mpsc::channel();
    staging.slice(..).map_async(wgpu::MapMode::Read, move |result| {
        // The receiver only goes away together with this function's error return.
        let _ = sender.send(result);
    });
    device.poll(wgpu::PollType::wait_indefinitely()).map_err(|e| Error::Gpu(e.to_string()))?;
    match receiver.try_recv() {
        Ok(Ok(())) => {}
        Ok(Err(e)) => return Err(Error::Gpu(e.to_string())),
        Err(_) => return Err(Error::Gpu("this platform cannot wait for a read-back".into())),
    }
    let view = staging.get_mapped_range(..).map_err(|e| Error::Gpu(e.to_string()))?;
    Ok(view.to_vec())
}
