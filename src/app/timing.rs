//! What the GPU needs for each pass of a frame, known a frame or two later and without waiting for it.

use std::sync::mpsc::{Receiver, Sender, channel};

use dermis::gpu::Timestamps;
use dermis::wgpu;

use super::device::Opened;

/// The passes of a frame, in order. Skinning includes bounds.
pub const PASSES: [&str; 4] = ["pose", "skin", "draw", "panels"];

/// Milliseconds of each of [`PASSES`].
pub type Times = [f32; PASSES.len()];

const QUERIES: u32 = 2 * PASSES.len() as u32;
const BYTES: u64 = 8 * QUERIES as u64;
/// Frames that may be under way on the GPU; while all are, a frame is not timed.
const SLOTS: usize = 3;

/// Times the passes of frames.
pub struct Stopwatch {
    set: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    slots: [wgpu::Buffer; SLOTS],
    free: Vec<usize>,
    current: Option<usize>,
    sender: Sender<(usize, bool)>,
    answers: Receiver<(usize, bool)>,
    /// Milliseconds per tick.
    period: f64,
    times: Option<Times>,
}

impl Stopwatch {
    /// `None` where the adapter has no timestamp queries.
    pub fn new(gpu: &Opened) -> Option<Self> {
        if !gpu.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            return None;
        }
        let buffer = |label, usage| {
            let usage = usage | wgpu::BufferUsages::COPY_DST;
            let (label, mapped_at_creation) = (Some(label), false);
            gpu.device.create_buffer(&wgpu::BufferDescriptor { label, size: BYTES, usage, mapped_at_creation })
        };
        let (sender, answers) = channel();
        Some(Self {
            set: gpu.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("passes"),
                ty: wgpu::QueryType::Timestamp,
                count: QUERIES,
            }),
            resolved: buffer("timestamps", wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC),
            slots: [(); SLOTS].map(|()| buffer("times", wgpu::BufferUsages::MAP_READ)),
            free: (0..SLOTS).collect(),
            current: None,
            sender,
            answers,
            period: f64::from(gpu.queue.get_timestamp_period()) * 1e-6,
            times: None,
        })
    }

    /// Begins a frame. Every pass of it is recorded, or none: a query that was never written must not be read.
    pub fn begin(&mut self) {
        while let Ok((slot, mapped)) = self.answers.try_recv() {
            let buffer = &self.slots[slot];
            if let (true, Ok(view)) = (mapped, buffer.get_mapped_range(..)) {
                let ticks: Vec<u64> = bytemuck::pod_collect_to_vec(&view);
                drop(view);
                self.times = Some(smooth(self.times, milliseconds(&ticks, self.period)));
            }
            if mapped {
                buffer.unmap();
            }
            self.free.push(slot);
        }
        self.current = self.free.pop();
    }

    /// Where the skinner writes.
    pub fn skinner(&self) -> Option<Timestamps<'_>> {
        self.current.map(|_| Timestamps { set: &self.set, first: 0 })
    }

    /// Where the pass writes that draws the picture.
    pub fn draw(&self) -> Option<wgpu::RenderPassTimestampWrites<'_>> {
        self.pass(2)
    }

    /// Where the pass writes that draws the panels.
    pub fn panels(&self) -> Option<wgpu::RenderPassTimestampWrites<'_>> {
        self.pass(3)
    }

    fn pass(&self, index: u32) -> Option<wgpu::RenderPassTimestampWrites<'_>> {
        self.current.map(|_| wgpu::RenderPassTimestampWrites {
            query_set: &self.set,
            beginning_of_pass_write_index: Some(2 * index),
            end_of_pass_write_index: Some(2 * index + 1),
        })
    }

    /// Ends a frame, after its passes, in the encoder of the last one.
    pub fn end(&mut self, encoder: &mut wgpu::CommandEncoder) {
        let Some(slot) = self.current.take() else { return };
        encoder.resolve_query_set(&self.set, 0..QUERIES, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.slots[slot], 0, BYTES);
        let sender = self.sender.clone();
        encoder.map_buffer_on_submit(&self.slots[slot], wgpu::MapMode::Read, .., move |result| {
            // Nobody waits for the last frames of a window.
            let _ = sender.send((slot, result.is_ok()));
        });
    }

    /// On average over the last frames.
    pub fn times(&self) -> Option<Times> {
        self.times
    }
}

fn milliseconds(ticks: &[u64], period: f64) -> Times {
    // A clock that ran backwards, as it may between cores, says nothing.
    std::array::from_fn(|i| (ticks[2 * i + 1].saturating_sub(ticks[2 * i]) as f64 * period) as f32)
}

fn smooth(before: Option<Times>, now: Times) -> Times {
    let Some(before) = before else { return now };
    std::array::from_fn(|i| 0.8 * before[i] + 0.2 * now[i])
}

#[cfg(test)]
mod tests {
    use dermis::gpu::{Skinner, SkinnerDescriptor};

    use super::*;
    use crate::app::device;

    #[test]
    fn times_arrive_without_waiting_and_frames_under_way_are_left_alone() {
        let gpu = device::open_on(&device::instance(), None, None).expect("a graphics adapter");
        let Some(mut watch) = Stopwatch::new(&gpu) else { return };
        let (device, queue) = (&gpu.device, &gpu.queue);
        let mut skinner = Skinner::new(device, &SkinnerDescriptor::default()).unwrap();
        let texture = device.create_texture(&wgpu::TextureDescriptor {
            label: None,
            size: wgpu::Extent3d { width: 8, height: 8, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: wgpu::TextureFormat::Rgba8Unorm,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT,
            view_formats: &[],
        });
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let ops = wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color::BLACK), store: wgpu::StoreOp::Store };
        // More frames than there are slots, recorded before any is submitted.
        let mut frames: Vec<wgpu::CommandBuffer> = Vec::new();
        for i in 0..SLOTS + 2 {
            let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            watch.begin();
            assert_eq!(watch.skinner().is_some(), i < SLOTS, "frame {i}");
            skinner.prepare(device, queue, i as f64);
            skinner.record_timed(&mut encoder, watch.skinner());
            for timestamp_writes in [watch.draw(), watch.panels()] {
                let attachment =
                    wgpu::RenderPassColorAttachment { view: &view, depth_slice: None, resolve_target: None, ops };
                encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                    color_attachments: &[Some(attachment)],
                    timestamp_writes,
                    ..Default::default()
                });
            }
            watch.end(&mut encoder);
            frames.push(encoder.finish());
        }
        assert_eq!(watch.times(), None);
        queue.submit(frames);
        device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        watch.begin();
        let times = watch.times().expect("all frames are done");
        assert!(times.iter().all(|t| (0.0..10_000.0).contains(t)), "{times:?}");
        assert!(watch.skinner().is_some(), "slots are free again");
    }

    #[test]
    fn ticks_become_milliseconds_and_a_clock_that_ran_backwards_is_no_time() {
        let ticks = [5, 1_000_005, 20, 20, 7, 3, 0, 2_000_000];
        assert_eq!(milliseconds(&ticks, 1e-6), [1.0, 0.0, 0.0, 2.0]);
        assert_eq!(smooth(Some([1.0; 4]), [2.0; 4]), [1.2; 4]);
    }
}
