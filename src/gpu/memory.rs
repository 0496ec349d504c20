//! GPU memory: what a skinner has, by kind, and the budget it may not pass.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::skinner::Skinner;
use crate::{Error, Result};

/// Counts the bytes of all growing buffers of a skinner against its budget; clones count together.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    limit: u64,
    used: Arc<AtomicU64>,
}

impl Budget {
    pub fn new(limit: Option<u64>) -> Self {
        Self { limit: limit.unwrap_or(u64::MAX), used: Arc::default() }
    }

    fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes that can still be taken.
    fn room(&self) -> u64 {
        self.limit.saturating_sub(self.used())
    }

    /// Counts `bytes` that are about to be allocated.
    pub fn take(&self, bytes: u64) -> Result<()> {
        if bytes > self.room() {
            return Err(Error::OverBudget { needed: bytes, used: self.used(), budget: self.limit });
        }
        self.take_anyway(bytes);
        Ok(())
    }

    /// As `take`, for what every skinner needs to exist.
    pub fn take_anyway(&self, bytes: u64) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts `bytes` that were let go. The GPU may still use them until what was submitted is done.
    pub fn give(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// How many elements of `bytes` each to allocate: `wanted`, or near the budget fewer, but at least the `needed` ones.
    pub fn capacity(&self, needed: u64, wanted: u64, bytes: u64) -> u64 {
        let mut capacity = wanted.max(needed);
        while capacity > needed && capacity.saturating_mul(bytes) > self.room() {
            capacity = (capacity / 2).max(needed);
        }
        capacity
    }
}

/// Bytes of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// In buffers on the GPU.
    pub allocated: u64,
    /// Of those, handed out; the rest is room for more.
    pub used: u64,
}

/// GPU memory of a skinner by kind, from [`Skinner::memory`]. Pipelines, and what the driver adds, are not in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// Rest vertices, influences and morph deltas.
    pub assets: Usage,
    /// Skinned vertices, previous positions included.
    pub outputs: Usage,
    /// Rigs, clips and pose spaces.
    pub rigs: Usage,
    /// What the pose pass reads of each character: its drive, the state of its pose space.
    pub characters: Usage,
    /// Palettes.
    pub palettes: Usage,
    /// Morph weights.
    pub morph_weights: Usage,
    /// World transforms of joints for hosts, with [`super::SkinnerDescriptor::joints`].
    pub joints: Usage,
    /// Intermediate results of the pose pass.
    pub scratch: Usage,
    /// Boxes around parts.
    pub bounds: Usage,
    /// Job tables of a frame: some dozens of bytes per part. Not counted against the budget, since a frame cannot be refused.
    pub tables: Usage,
    /// Copies on their way to the CPU; not counted against the budget either.
    pub read_back: Usage,
}

impl Memory {
    /// All kinds together.
    pub fn total(&self) -> Usage {
        let Self {
            assets,
            outputs,
            rigs,
            characters,
            palettes,
            morph_weights,
            joints,
            scratch,
            bounds,
            tables,
            read_back,
        } = *self;
        let all =
            [assets, outputs, rigs, characters, palettes, morph_weights, joints, scratch, bounds, tables, read_back];
        all.into_iter().fold(Usage::default(), std::ops::Add::add)
    }
}

impl std::ops::Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { allocated: self.allocated + other.allocated, used: self.used + other.used }
    }
}

impl Skinner {
    /// Gives back the pages of assets and outputs that nothing is in any more, as after a level; returns their bytes. Other pages
    /// stay where they are; tables that all characters share keep their size. What the GPU still works on is freed after it.
    pub fn trim(&mut self) -> u64 {
        let groups = &mut self.frame.skin_groups;
        let assets = self.assets.trim(|page| groups.retain(|g| g.0 != page));
        assets + self.outputs.trim(|page| groups.retain(|g| g.1 != page))
    }

    /// Bytes of GPU memory, by kind.
    pub fn memory(&self) -> Memory {
        let (bounds, boxes_on_their_way) = self.boxes.as_ref().map(|b| b.usage()).unwrap_or_default();
        Memory {
            assets: self.assets.usage(),
            outputs: self.outputs.usage(),
            rigs: self.rig_words.memory(),
            characters: self.records.memory() + self.states.memory(),
            palettes: self.palettes.memory(),
            morph_weights: self.morph_weights.memory(),
            joints: self.joints.as_ref().map(|j| j.memory()).unwrap_or_default(),
            scratch: self.scratch.usage(),
            bounds,
            tables: self.frame.usage(),
            read_back: boxes_on_their_way + self.read_backs.usage(),
        }
    }
}
