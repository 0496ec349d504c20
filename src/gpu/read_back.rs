//! Skinned vertices on their way to the CPU, without waiting: [`Skinner::read_back`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::character::{CharacterId, Layout};
use super::memory::Usage;
use super::readback::{SkinnedVertices, decode};
use super::skinner::Skinner;
use crate::{Error, Result};

const WAITING: u32 = 0;
const MAPPED: u32 = 1;
const FAILED: u32 = 2;
/// The character was removed before its vertices were copied.
const GONE: u32 = 3;
const TAKEN: u32 = 4;

/// A copy of a part's vertices. The skinner, the host's handle, and the GPU (or the list of requests) while it has it each
/// hold a reference: who holds the last one can tell.
#[derive(Debug)]
struct Flight {
    /// Positions, then frames.
    buffer: wgpu::Buffer,
    state: AtomicU32,
}

/// Vertices that [`Skinner::read_back`] asked for.
#[derive(Debug)]
pub struct ReadBack {
    flight: Arc<Flight>,
    vertex_count: usize,
    layout: Layout,
}

impl ReadBack {
    /// The vertices, once they have arrived; `None` before, and when they were taken. Waits for nothing: they arrive when the
    /// encoder given to [`Skinner::record`] was submitted and the device was polled, or submitted to, after the GPU was done.
    ///
    /// # Errors
    /// [`Error::StaleId`] when the character was removed before it was recorded, [`Error::Gpu`] when the encoder was dropped
    /// or the device was lost.
    pub fn try_take(&mut self) -> Result<Option<SkinnedVertices>> {
        let Flight { buffer, state } = &*self.flight;
        match state.load(Ordering::Acquire) {
            MAPPED => {}
            GONE => return Err(Error::StaleId { what: "character" }),
            FAILED => return Err(Error::Gpu("the device was lost during a read-back".into())),
            WAITING if Arc::strong_count(&self.flight) == 2 => {
                return Err(Error::Gpu("the encoder with a read-back was dropped".into()));
            }
            _ => return Ok(None),
        }
        let size = bytes_per_vertex(self.layout) * self.vertex_count as u64;
        let view = buffer.get_mapped_range(..size).map_err(|e| Error::Gpu(e.to_string()))?;
        let (positions, frames) = view.split_at(12 * self.vertex_count);
        let vertices = decode(positions, frames, self.layout);
        drop(view);
        buffer.unmap();
        state.store(TAKEN, Ordering::Release);
        Ok(Some(vertices))
    }
}

fn bytes_per_vertex(layout: Layout) -> u64 {
    12 + layout.stride()
}

/// Requests for the next `record`, and buffers to serve them with.
#[derive(Debug, Default)]
pub(super) struct ReadBacks {
    requests: Vec<(CharacterId, usize, Arc<Flight>)>,
    flights: Vec<Arc<Flight>>,
}

impl ReadBacks {
    pub fn usage(&self) -> Usage {
        let sum = |used: bool| {
            let size = |f: &Arc<Flight>| if used && Arc::strong_count(f) == 1 { 0 } else { f.buffer.size() };
            self.flights.iter().map(size).sum()
        };
        Usage { allocated: sum(false), used: sum(true) }
    }

    /// A buffer that nobody uses, or a new one.
    fn flight(&mut self, device: &wgpu::Device, size: u64) -> Arc<Flight> {
        let free = |f: &&Arc<Flight>| Arc::strong_count(f) == 1 && f.buffer.size() >= size;
        if let Some(flight) = self.flights.iter().find(free) {
            if flight.state.swap(WAITING, Ordering::AcqRel) == MAPPED {
                flight.buffer.unmap();
            }
            return flight.clone();
        }
        // Those too small for what is asked for now make room.
        self.flights.retain(|f| Arc::strong_count(f) > 1);
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("dermis read-back"),
            size,
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        let flight = Arc::new(Flight { buffer, state: AtomicU32::new(WAITING) });
        self.flights.push(flight.clone());
        flight
    }
}

impl Skinner {
    /// Asks for a part's skinned vertices on the CPU: the next [`Skinner::record`] copies them after its passes, whether or
    /// not it skins that part. Several may be on their way; their buffers are reused.
    ///
    /// # Errors
    /// [`Error::StaleId`], [`Error::OutOfRange`].
    pub fn read_back(&mut self, character: CharacterId, part: usize) -> Result<ReadBack> {
        let vertices = self.vertices(character, part)?;
        let (vertex_count, layout) = (vertices.range.len(), vertices.layout);
        let device = self.device.clone();
        // A buffer cannot be empty.
        let flight = self.read_backs.flight(&device, (bytes_per_vertex(layout) * vertex_count as u64).max(4));
        self.read_backs.requests.push((character, part, flight.clone()));
        Ok(ReadBack { flight, vertex_count, layout })
    }

    /// After the passes: the copies that were asked for.
    pub(super) fn record_read_backs(&mut self, encoder: &mut wgpu::CommandEncoder) {
        let mut requests = std::mem::take(&mut self.read_backs.requests);
        for (character, part, flight) in requests.drain(..) {
            let Ok(vertices) = self.vertices(character, part) else {
                flight.state.store(GONE, Ordering::Release);
                continue;
            };
            let (first, count) = (u64::from(vertices.range.start), vertices.range.len() as u64);
            if count > 0 {
                encoder.copy_buffer_to_buffer(vertices.positions, 12 * first, &flight.buffer, 0, 12 * count);
                let stride = vertices.layout.stride();
                let (source, target) = (vertices.frames, &flight.buffer);
                encoder.copy_buffer_to_buffer(source, stride * first, target, 12 * count, stride * count);
            }
            let state = flight.clone();
            encoder.map_buffer_on_submit(&flight.buffer, wgpu::MapMode::Read, .., move |result| {
                state.state.store(if result.is_ok() { MAPPED } else { FAILED }, Ordering::Release);
            });
        }
        self.read_backs.requests = requests;
    }
}
