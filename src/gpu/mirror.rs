//! A GPU buffer with a copy on the CPU that only uploads what changed.

use std::ops::Range;

use bytemuck::Pod;

use super::memory::{Budget, Usage};
use super::pages::largest_binding;
use super::ranges::Ranges;
use crate::{Error, Result};

/// Ranges of `T` handed out to characters; written on the CPU, read by shaders.
#[derive(Debug)]
pub(crate) struct Mirror<T> {
    what: &'static str,
    pub data: Vec<T>,
    ranges: Ranges,
    pub buffer: wgpu::Buffer,
    /// The run of changed elements not uploaded yet.
    run: Range<u32>,
    budget: Budget,
    /// More usages than a shader of ours needs.
    usage: wgpu::BufferUsages,
    /// What `buffer` replaced and what a host's shader may have written, until it is copied over.
    outgrown: Option<wgpu::Buffer>,
}

impl<T: Pod> Mirror<T> {
    pub fn new(device: &wgpu::Device, budget: &Budget, what: &'static str, capacity: u32) -> Self {
        Self::with_usage(device, budget, what, capacity, wgpu::BufferUsages::empty())
    }

    /// For a buffer that hosts draw from, too.
    pub fn for_hosts(device: &wgpu::Device, budget: &Budget, what: &'static str, capacity: u32) -> Self {
        Self::with_usage(device, budget, what, capacity, wgpu::BufferUsages::VERTEX)
    }

    fn with_usage(
        device: &wgpu::Device,
        budget: &Budget,
        what: &'static str,
        capacity: u32,
        usage: wgpu::BufferUsages,
    ) -> Self {
        budget.take_anyway(Self::bytes(capacity));
        Self {
            what,
            data: vec![T::zeroed(); capacity as usize],
            ranges: Ranges::new(capacity),
            buffer: Self::make(device, what, capacity, usage),
            run: 0..0,
            budget: budget.clone(),
            usage,
            outgrown: None,
        }
    }

    fn bytes(count: u32) -> u64 {
        u64::from(count) * size_of::<T>() as u64
    }

    pub fn memory(&self) -> Usage {
        Usage { allocated: Self::bytes(self.ranges.capacity()), used: Self::bytes(self.ranges.used()) }
    }

    fn make(device: &wgpu::Device, what: &'static str, capacity: u32, usage: wgpu::BufferUsages) -> wgpu::Buffer {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(what),
            size: Self::bytes(capacity),
            usage: usage | wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        })
    }

    /// Room for `count` elements. Returns its start and whether the buffer was replaced by a larger one, whose contents
    /// then are all uploaded again.
    pub fn allocate(&mut self, device: &wgpu::Device, count: u32) -> Result<(u32, bool)> {
        if let Some(start) = self.ranges.allocate(count) {
            return Ok((start, false));
        }
        let largest = (largest_binding(device) / size_of::<T>() as u64).min(u64::from(u32::MAX / 4)) as u32;
        let old = self.ranges.capacity();
        let needed = old.saturating_add(count);
        if needed > largest {
            let needed = u64::from(needed);
            return Err(Error::DeviceLimit { what: self.what, needed, limit: u64::from(largest) });
        }
        let wanted = old.saturating_mul(2).max(needed).min(largest);
        let capacity = self.budget.capacity(u64::from(needed), u64::from(wanted), Self::bytes(1)) as u32;
        // The smaller buffer lives until the larger one is there.
        self.budget.take(Self::bytes(capacity))?;
        self.budget.give(Self::bytes(old));
        self.ranges.grow(capacity);
        self.data.resize(capacity as usize, T::zeroed());
        let old_buffer = std::mem::replace(&mut self.buffer, Self::make(device, self.what, capacity, self.usage));
        // Grown twice since the last upload: the first one has what shaders wrote.
        self.outgrown.get_or_insert(old_buffer);
        self.run = 0..old;
        let start = self.ranges.allocate(count).unwrap_or(0);
        Ok((start, true))
    }

    pub fn release(&mut self, start: u32, count: u32) {
        self.ranges.release(start, count);
    }

    /// Notes that elements changed; uploads the run before them unless they join it. Elements between two runs are not
    /// uploaded: a shader may have written them.
    pub fn changed(&mut self, queue: &wgpu::Queue, start: u32, count: u32) {
        if count == 0 {
            return;
        }
        let end = start + count;
        if self.run.is_empty() {
            self.run = start..end;
        } else if start <= self.run.end && end >= self.run.start {
            self.run = self.run.start.min(start)..self.run.end.max(end);
        } else {
            self.flush(queue);
            self.run = start..end;
        }
    }

    /// As `changed`, without a queue at hand: what lies between the run and this range is uploaded too.
    pub fn mark(&mut self, start: u32, count: u32) {
        let range = start..start + count;
        self.run =
            if self.run.is_empty() { range } else { self.run.start.min(range.start)..self.run.end.max(range.end) };
    }

    /// After an upload: the buffer that was replaced by a larger one since the last, if any.
    pub fn take_outgrown(&mut self) -> Option<wgpu::Buffer> {
        self.outgrown.take()
    }

    /// Uploads what is left.
    pub fn flush(&mut self, queue: &wgpu::Queue) {
        if !self.run.is_empty() {
            let run = self.run.start as usize..self.run.end as usize;
            let offset = u64::from(self.run.start) * size_of::<T>() as u64;
            queue.write_buffer(&self.buffer, offset, bytemuck::cast_slice(&self.data[run]));
            self.run = 0..0;
        }
    }
}
