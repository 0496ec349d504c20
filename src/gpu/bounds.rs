//! Boxes around the skinned parts: the buffer the skin pass writes them to, and its read-back that waits for nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::character::CharacterId;
use super::memory::{Budget, Usage};
use super::pages::largest_binding;
use super::ranges::Ranges;
use super::skinner::Skinner;
use crate::{Error, Result};

/// WGSL functions that read a box of [`super::Vertices::bounds`]: `bounds_value(key: u32) -> f32`, and
/// `bounds_corner(keys: vec3<u32>) -> vec3<f32>` for the words 0…2 (least) and 4…6 (greatest). Append it to a shader; it
/// declares `bounds_key` too.
pub const BOUNDS_WGSL: &str = include_str!("../../shaders/bounds.wgsl");

/// Bytes of a box: words 0…2 the keys of the least x, y, z, words 4…6 of the greatest; the others are unused.
const BOX_BYTES: u64 = 32;
/// Key of +∞, then of -∞: no vertex yet.
const EMPTY: [u32; 2] = [0xff80_0000, 0x007f_ffff];
/// Copies that may be on their way to the CPU at once.
const IN_FLIGHT: usize = 3;

const WAITING: u32 = 0;
const MAPPED: u32 = 1;
const FAILED: u32 = 2;

/// An axis-aligned box in character space, metres; exactly that of the skinned vertices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Least x, y, z.
    pub min: [f32; 3],
    /// Greatest x, y, z.
    pub max: [f32; 3],
}

impl Bounds {
    /// From the eight words of a box; where there is no vertex, `min` is +∞ and `max` is -∞.
    pub fn from_words(words: [u32; 8]) -> Self {
        let value = |key: u32| f32::from_bits(if key & 0x8000_0000 != 0 { key & 0x7fff_ffff } else { !key });
        let [x0, y0, z0, _, x1, y1, z1, _] = words;
        Self { min: [x0, y0, z0].map(value), max: [x1, y1, z1].map(value) }
    }
}

/// A copy of all boxes, from the GPU to the CPU.
#[derive(Debug)]
struct Copy {
    buffer: wgpu::Buffer,
    frame: u64,
    /// What became of it; the callback holds the other reference.
    state: Option<Arc<AtomicU32>>,
}

/// The boxes of all parts.
#[derive(Debug)]
pub(crate) struct Boxes {
    ranges: Ranges,
    pub buffer: wgpu::Buffer,
    /// The buffer it replaced: `record` copies what is in it.
    outgrown: Option<wgpu::Buffer>,
    requested: bool,
    copies: Vec<Copy>,
    /// The newest boxes on the CPU, and the frame they are of.
    arrived: Vec<[u32; 8]>,
    arrived_frame: u64,
    budget: Budget,
}

impl Boxes {
    pub fn new(device: &wgpu::Device, budget: &Budget) -> Self {
        let capacity = 1 << 6;
        budget.take_anyway(u64::from(capacity) * BOX_BYTES);
        Self {
            ranges: Ranges::new(capacity),
            buffer: make(device, u64::from(capacity), wgpu::BufferUsages::STORAGE),
            outgrown: None,
            requested: false,
            copies: Vec::new(),
            arrived: Vec::new(),
            arrived_frame: 0,
            budget: budget.clone(),
        }
    }

    /// Of the boxes, and of their copies for the CPU.
    pub fn usage(&self) -> (Usage, Usage) {
        let bytes = |count: u32| u64::from(count) * BOX_BYTES;
        let copies = self.copies.iter().map(|c| c.buffer.size()).sum();
        let on_their_way = self.copies.iter().filter(|c| c.state.is_some()).map(|c| c.buffer.size()).sum();
        let boxes = Usage { allocated: bytes(self.ranges.capacity()), used: bytes(self.ranges.used()) };
        (boxes, Usage { allocated: copies, used: on_their_way })
    }

    /// A box, and whether the buffer was replaced by a larger one.
    pub fn allocate(&mut self, device: &wgpu::Device) -> Result<(u32, bool)> {
        if let Some(start) = self.ranges.allocate(1) {
            return Ok((start, false));
        }
        let limit = largest_binding(device) / BOX_BYTES;
        let old = u64::from(self.ranges.capacity());
        // The upper two bits of an instance's last word are not the box's.
        let limit = limit.min(1 << 30);
        if old >= limit {
            return Err(Error::DeviceLimit { what: "boxes of parts", needed: old + 1, limit });
        }
        let capacity = self.budget.capacity(old + 1, (2 * old).min(limit), BOX_BYTES);
        self.budget.take(capacity * BOX_BYTES)?;
        self.budget.give(old * BOX_BYTES);
        self.ranges.grow(capacity as u32);
        let larger = make(device, capacity, wgpu::BufferUsages::STORAGE);
        let outgrown = std::mem::replace(&mut self.buffer, larger);
        // Of several in a row only the first one has boxes in it.
        self.outgrown.get_or_insert(outgrown);
        Ok((self.ranges.allocate(1).unwrap_or(0), true))
    }

    pub fn release(&mut self, index: u32) {
        self.ranges.release(index, 1);
    }

    /// Empties a box that may have been another part's.
    pub fn empty(&self, queue: &wgpu::Queue, index: u32) {
        let [low, high] = EMPTY;
        let words = [low, low, low, 0, high, high, high, 0];
        let offset = u64::from(index) * BOX_BYTES;
        for buffer in std::iter::once(&self.buffer).chain(&self.outgrown) {
            if offset < buffer.size() {
                queue.write_buffer(buffer, offset, bytemuck::cast_slice(&words));
            }
        }
    }

    /// Before the passes: moves the boxes into the larger buffer.
    pub fn record_growth(&mut self, encoder: &mut wgpu::CommandEncoder) {
        if let Some(old) = self.outgrown.take() {
            encoder.copy_buffer_to_buffer(&old, 0, &self.buffer, 0, old.size());
        }
    }

    /// After the passes: copies the boxes for the CPU, if asked for and if fewer than three copies are on their way.
    pub fn record_copy(&mut self, device: &wgpu::Device, encoder: &mut wgpu::CommandEncoder, frame: u64) {
        if !self.requested {
            return;
        }
        let size = self.buffer.size();
        let free = match self.copies.iter().position(|c| c.state.is_none()) {
            Some(free) => free,
            None if self.copies.len() < IN_FLIGHT => {
                let buffer = make(device, size / BOX_BYTES, wgpu::BufferUsages::MAP_READ);
                self.copies.push(Copy { buffer, frame, state: None });
                self.copies.len() - 1
            }
            None => return,
        };
        let copy = &mut self.copies[free];
        if copy.buffer.size() != size {
            copy.buffer = make(device, size / BOX_BYTES, wgpu::BufferUsages::MAP_READ);
        }
        encoder.copy_buffer_to_buffer(&self.buffer, 0, &copy.buffer, 0, size);
        let state = Arc::new(AtomicU32::new(WAITING));
        copy.frame = frame;
        copy.state = Some(state.clone());
        encoder.map_buffer_on_submit(&copy.buffer, wgpu::MapMode::Read, .., move |result| {
            state.store(if result.is_ok() { MAPPED } else { FAILED }, Ordering::Release);
        });
        self.requested = false;
    }

    /// Takes in what has arrived.
    pub fn collect(&mut self) {
        for copy in &mut self.copies {
            let Some(state) = &copy.state else { continue };
            match state.load(Ordering::Acquire) {
                MAPPED => {
                    if let (true, Ok(view)) = (copy.frame >= self.arrived_frame, copy.buffer.get_mapped_range(..)) {
                        self.arrived.clear();
                        let words = |b: &[u8]| bytemuck::pod_read_unaligned::<[u32; 8]>(b);
                        self.arrived.extend(view.chunks_exact(BOX_BYTES as usize).map(words));
                        self.arrived_frame = copy.frame;
                    }
                    copy.buffer.unmap();
                    copy.state = None;
                }
                FAILED => copy.state = None,
                // The encoder was dropped and the callback with it.
                _ if Arc::strong_count(state) == 1 => copy.state = None,
                _ => {}
            }
        }
    }
}

impl Skinner {
    /// Asks for all boxes on the CPU: the next [`Skinner::record`] copies them. Nothing waits: they are there some frames
    /// later, when the device was polled or submitted to and [`Skinner::prepare`] was called.
    pub fn request_bounds(&mut self) {
        if let Some(boxes) = &mut self.boxes {
            boxes.requested = true;
        }
    }

    /// The newest box of a part that [`Skinner::request_bounds`] has brought to the CPU; `None` before one has arrived and
    /// where [`super::SkinnerDescriptor::bounds`] is off.
    ///
    /// # Errors
    /// [`Error::StaleId`], [`Error::OutOfRange`].
    pub fn bounds(&self, character: CharacterId, part: usize) -> Result<Option<Bounds>> {
        let data = self.character(character)?;
        let Some(found) = data.parts.get(part) else {
            return Err(Error::OutOfRange { what: "part", index: part, count: data.parts.len() });
        };
        let Some(boxes) = &self.boxes else { return Ok(None) };
        // What arrived earlier is of another part in the same place.
        if found.first_frame.is_none_or(|first| first > boxes.arrived_frame) {
            return Ok(None);
        }
        Ok(boxes.arrived.get(found.bounds as usize).map(|&words| Bounds::from_words(words)))
    }
}

fn make(device: &wgpu::Device, capacity: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
    let copies = if usage == wgpu::BufferUsages::STORAGE {
        wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST
    } else {
        wgpu::BufferUsages::COPY_DST
    };
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("dermis bounds"),
        size: capacity * BOX_BYTES,
        usage: usage | copies,
        mapped_at_creation: false,
    })
}
