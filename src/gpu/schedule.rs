//! From the parts that must be skinned this frame to the tables and dispatches of the skin pass.

use super::skin::{Batch, CHUNK, GROUP_SIZE, Job, Variant};

/// One part to skin. Ordered so that parts that share a dispatch, then a mesh, are neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Work {
    pub variant: Variant,
    pub asset_page: u32,
    pub output_page: u32,
    pub mesh: u32,
    /// First output quad in its page.
    pub output: u32,
    /// First joint of its skin in the palettes; first row for a dual palette.
    pub palette: u32,
    /// First morph weight.
    pub morph_weights: u32,
    /// Its box in the bits above the flags.
    pub box_and_flags: u32,
}

/// Where a mesh lies; what a job says of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeshPlace {
    pub quad_count: u32,
    /// First row.
    pub quads: u32,
    /// Rows of a quad.
    pub stride: u32,
}

/// One dispatch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dispatch {
    pub variant: Variant,
    pub asset_page: u32,
    pub output_page: u32,
    pub batch: Batch,
}

impl Dispatch {
    /// Workgroups in x and y.
    pub fn grid(&self) -> (u32, u32) {
        (self.batch.grid_width, self.batch.group_count.div_ceil(self.batch.grid_width))
    }
}

/// Rebuilds `tables` and `dispatches` from `work`, which is sorted here. `largest_grid` is the device's limit of
/// workgroups per dimension. Allocates nothing once the vectors have grown.
pub(crate) fn schedule(
    work: &mut [Work],
    mesh: impl Fn(u32) -> MeshPlace,
    largest_grid: u32,
    tables: &mut Vec<[u32; 4]>,
    dispatches: &mut Vec<Dispatch>,
) {
    work.sort_unstable();
    tables.clear();
    dispatches.clear();
    for batch in
        work.chunk_by(|a, b| (a.variant, a.asset_page, a.output_page) == (b.variant, b.asset_page, b.output_page))
    {
        let jobs = tables.len() as u32;
        let job_count = batch.chunk_by(|a, b| a.mesh == b.mesh).count() as u32;
        let mut instances = jobs + 2 * job_count;
        let mut group_count = 0;
        for parts in batch.chunk_by(|a, b| a.mesh == b.mesh) {
            let place = mesh(parts[0].mesh);
            let job = Job {
                first_group: group_count,
                block_count: place.quad_count.div_ceil(GROUP_SIZE),
                quad_count: place.quad_count,
                quads: place.quads,
                stride: place.stride,
                instances,
                instance_count: parts.len() as u32,
                unused: 0,
            };
            tables.extend(bytemuck::cast::<Job, [[u32; 4]; 2]>(job));
            instances += job.instance_count;
            group_count += job.block_count * job.instance_count.div_ceil(CHUNK);
        }
        tables.extend(batch.iter().map(|w| [w.output, w.palette, w.morph_weights, w.box_and_flags]));
        let (variant, asset_page, output_page) = (batch[0].variant, batch[0].asset_page, batch[0].output_page);
        let grid_width = group_count.clamp(1, largest_grid);
        let batch = Batch { jobs, job_count, group_count, grid_width };
        dispatches.push(Dispatch { variant, asset_page, output_page, batch });
    }
}
