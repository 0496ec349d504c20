//! Storage that grows by adding pages, so that what hosts have bound never moves.

use super::memory::{Budget, Usage};
use super::ranges::Ranges;
use crate::{Error, Result};

/// Bytes that one storage buffer may have and be bound whole.
pub(super) fn largest_binding(device: &wgpu::Device) -> u64 {
    let limits = device.limits();
    limits.max_storage_buffer_binding_size.min(limits.max_buffer_size)
}

/// A place in a [`Pages`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub page: u32,
    pub start: u32,
    pub count: u32,
}

/// What a page is made of: one buffer per stream, all with the same number of elements.
#[derive(Debug)]
pub(crate) struct PageKind {
    /// Name in error messages, plural.
    pub what: &'static str,
    /// Label and bytes per element of each stream.
    pub streams: &'static [(&'static str, u64)],
    pub usage: wgpu::BufferUsages,
    /// What the first stream may be used for besides.
    pub first_usage: wgpu::BufferUsages,
    /// Elements of the first page.
    pub first_capacity: u32,
}

/// One page: as many buffers as the kind has streams.
#[derive(Debug)]
pub(crate) struct Page {
    pub buffers: Vec<wgpu::Buffer>,
    ranges: Ranges,
}

impl Page {
    /// True for the place of a page that was given back.
    fn is_gone(&self) -> bool {
        self.buffers.is_empty()
    }
}

/// Pages of one kind.
#[derive(Debug)]
pub(crate) struct Pages {
    kind: PageKind,
    /// Elements no page may exceed, by the device's limits.
    largest: u32,
    budget: Budget,
    pub pages: Vec<Page>,
}

impl Pages {
    pub fn new(device: &wgpu::Device, budget: &Budget, kind: PageKind) -> Self {
        let bytes = largest_binding(device);
        let widest = kind.streams.iter().map(|s| s.1).max().unwrap_or(4);
        // Indices are u32 words in the shader.
        let largest = (bytes / widest).min(u64::from(u32::MAX) / widest.div_ceil(4)) as u32;
        Self { kind, largest, budget: budget.clone(), pages: Vec::new() }
    }

    /// Room for `count` elements in one page: the first that has it, else a new one.
    pub fn allocate(&mut self, device: &wgpu::Device, count: u32) -> Result<Place> {
        if count > self.largest {
            return Err(Error::DeviceLimit {
                what: self.kind.what,
                needed: u64::from(count),
                limit: u64::from(self.largest),
            });
        }
        for (i, page) in self.pages.iter_mut().enumerate().filter(|(_, p)| !p.is_gone()) {
            if let Some(start) = page.ranges.allocate(count) {
                return Ok(Place { page: i as u32, start, count });
            }
        }
        let largest = self.pages.iter().map(|p| p.ranges.capacity()).max().unwrap_or(0);
        let doubled = largest.saturating_mul(2).max(self.kind.first_capacity);
        let wanted = doubled.max(count).min(self.largest);
        let bytes = self.bytes_per_element();
        let capacity = self.budget.capacity(u64::from(count), u64::from(wanted), bytes) as u32;
        self.budget.take(u64::from(capacity) * bytes)?;
        let buffers = self.kind.streams.iter().enumerate().map(|(i, &(label, bytes))| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size: (u64::from(capacity) * bytes).next_multiple_of(4),
                usage: if i == 0 { self.kind.usage | self.kind.first_usage } else { self.kind.usage },
                mapped_at_creation: false,
            })
        });
        let mut page = Page { buffers: buffers.collect(), ranges: Ranges::new(capacity) };
        let start = page.ranges.allocate(count).unwrap_or(0);
        // Numbers of pages are for ever: one that was given back is filled again.
        let index = self.pages.iter().position(Page::is_gone).unwrap_or(self.pages.len());
        match self.pages.get_mut(index) {
            Some(gone) => *gone = page,
            None => self.pages.push(page),
        }
        Ok(Place { page: index as u32, start, count })
    }

    /// Gives back pages that nothing is in; bytes. `gone` is told their numbers.
    pub fn trim(&mut self, mut gone: impl FnMut(u32)) -> u64 {
        let (bytes, mut freed) = (self.bytes_per_element(), 0);
        for (i, page) in self.pages.iter_mut().enumerate().filter(|(_, p)| !p.is_gone() && p.ranges.used() == 0) {
            freed += u64::from(page.ranges.capacity()) * bytes;
            *page = Page { buffers: Vec::new(), ranges: Ranges::new(0) };
            gone(i as u32);
        }
        self.budget.give(freed);
        freed
    }

    fn bytes_per_element(&self) -> u64 {
        self.kind.streams.iter().map(|s| s.1).sum()
    }

    pub fn usage(&self) -> Usage {
        let sum = |of: fn(&Ranges) -> u32| {
            self.pages.iter().map(|p| u64::from(of(&p.ranges))).sum::<u64>() * self.bytes_per_element()
        };
        Usage { allocated: sum(Ranges::capacity), used: sum(Ranges::used) }
    }

    pub fn release(&mut self, place: Place) {
        self.pages[place.page as usize].ranges.release(place.start, place.count);
    }
}
