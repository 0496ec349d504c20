//! Characters drawn by a number per vertex instead of their materials.

use bytemuck::{Pod, Zeroable};

use super::pipeline::Shared;
use super::{ColorMap, Model, Renderer};
use crate::{Error, Result};

/// Entries of the shader's table of colours.
const TABLE: usize = 256;
/// What stands for NaN on the GPU: drivers may take NaN for impossible.
const NONE: f32 = -1.0;

/// One number per vertex of a character, shown as colours; see [`Renderer::overlay`].
///
/// Colours are shaded a little towards the silhouette, so that the shape stays readable; where the surface faces the camera
/// they are exactly those of the [`ColorMap`].
#[derive(Debug)]
pub struct Overlay {
    pub(super) number: u32,
    /// Per part.
    pub(super) groups: Vec<wgpu::BindGroup>,
    values: Vec<(wgpu::Buffer, usize)>,
    table: wgpu::Buffer,
}

/// The table as `draw.wgsl` reads it: sRGB codes, red in the lowest byte.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(super) struct TableRaw {
    pub colors: [[u32; 4]; TABLE / 4],
    /// Number of colours.
    pub count: u32,
    pub categories: u32,
    pub none: u32,
    pub pad: u32,
}

impl TableRaw {
    fn new(map: &ColorMap) -> Result<Self> {
        let count = map.colors.len();
        if !(1..=TABLE).contains(&count) {
            return Err(Error::InvalidParameter {
                what: "the number of colours in a map",
                value: count.to_string(),
                expected: "1…256",
            });
        }
        let word = |[r, g, b]: [u8; 3]| u32::from_le_bytes([r, g, b, 255]);
        let mut raw = Self::zeroed();
        for (i, &color) in map.colors.iter().enumerate() {
            raw.colors[i / 4][i % 4] = word(color);
        }
        (raw.count, raw.categories, raw.none) = (count as u32, u32::from(map.categories), word(map.none));
        Ok(raw)
    }
}

impl Renderer {
    /// Numbers for every vertex of a model's parts, none at first. Given as [`super::Instance::overlay`], they are shown instead
    /// of the materials. The pipeline for it is made with the first overlay; who makes none pays nothing.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a map without colours or with more than 256; [`Error::DeviceLimit`] for a part with more
    /// vertices than a storage binding holds.
    pub fn overlay(&self, device: &wgpu::Device, model: &Model, map: &ColorMap) -> Result<Overlay> {
        let raw = TableRaw::new(map)?;
        self.shared.overlay(device);
        let counts = model.parts.iter().map(|p| model.meshes[p.mesh].vertex_count);
        let buffer = |label, size: u64, usage: wgpu::BufferUsages, mapped_at_creation| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size,
                usage: usage | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation,
            })
        };
        let table = buffer("overlay table", size_of::<TableRaw>() as u64, wgpu::BufferUsages::UNIFORM, true);
        fill(&table, bytemuck::bytes_of(&raw))?;
        let (mut values, mut groups) = (Vec::new(), Vec::new());
        let limit = device.limits().max_storage_buffer_binding_size;
        for count in counts {
            let needed = 4 * count.max(1) as u64;
            if needed > limit {
                return Err(Error::DeviceLimit { what: "the overlay of a part", needed, limit });
            }
            let part = buffer("overlay", needed, wgpu::BufferUsages::STORAGE, true);
            fill(&part, bytemuck::cast_slice(&vec![NONE; count.max(1)]))?;
            groups.push(device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("overlay"),
                layout: &self.shared.overlay_layout,
                entries: &[
                    wgpu::BindGroupEntry { binding: 0, resource: part.as_entire_binding() },
                    wgpu::BindGroupEntry { binding: 1, resource: table.as_entire_binding() },
                ],
            }));
            values.push((part, count));
        }
        Ok(Overlay { number: self.shared.next_model(), groups, values, table })
    }
}

/// Fills a buffer that is mapped since it was made.
fn fill(buffer: &wgpu::Buffer, bytes: &[u8]) -> Result<()> {
    let mapped = buffer.slice(..).get_mapped_range_mut().map_err(|e| Error::Gpu(e.to_string()))?;
    let mut mapped = mapped;
    mapped.copy_from_slice(bytes);
    drop(mapped);
    buffer.unmap();
    Ok(())
}

impl Overlay {
    /// Sets the numbers of a part, one per vertex of its mesh: 0…1, what is outside counts as the nearer end; NaN: none. They
    /// are there from the next submission on.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for the part, [`Error::LengthMismatch`].
    pub fn write(&self, queue: &wgpu::Queue, part: usize, values: &[f32]) -> Result<()> {
        let count = self.values.len();
        let (buffer, expected) = self.values.get(part).ok_or(Error::OutOfRange { what: "part", index: part, count })?;
        if values.len() != *expected {
            let (found, expected) = (values.len(), *expected);
            return Err(Error::LengthMismatch { what: "the overlay of a part", found, expected });
        }
        let values: Vec<f32> = values.iter().map(|v| if v.is_nan() { NONE } else { v.clamp(0.0, 1.0) }).collect();
        queue.write_buffer(buffer, 0, bytemuck::cast_slice(&values));
        Ok(())
    }

    /// Changes the colours.
    ///
    /// # Errors
    /// Those of [`Renderer::overlay`] for the map.
    pub fn set_map(&self, queue: &wgpu::Queue, map: &ColorMap) -> Result<()> {
        queue.write_buffer(&self.table, 0, bytemuck::bytes_of(&TableRaw::new(map)?));
        Ok(())
    }
}

impl Shared {
    /// The pipeline for overlays, made when it is first asked for.
    pub(super) fn overlay(&self, device: &wgpu::Device) -> &wgpu::RenderPipeline {
        self.overlay.get_or_init(|| super::pipeline::overlay(device, self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_checked() {
        assert!(TableRaw::new(&ColorMap::of_categories(vec![])).is_err());
        assert!(TableRaw::new(&ColorMap::of_categories(vec![[0; 3]; 257])).is_err());
        let raw = TableRaw::new(&ColorMap::of_categories(vec![[1, 2, 3], [4, 5, 6]])).unwrap();
        assert_eq!((raw.count, raw.categories, raw.colors[0][1]), (2, 1, 0xff06_0504));
    }
}
