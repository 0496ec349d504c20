//! Frames that are timed by the GPU's clock.

use super::device_of;
use super::scene::{MeshKind, Scene, frame};
use crate::gpu::{Skinner, SkinnerDescriptor, Timestamps, read_vertices};
use crate::influence::Precision;

#[test]
fn a_timed_frame_is_the_same_and_its_clock_runs_forward() {
    let feature = wgpu::Features::TIMESTAMP_QUERY;
    let Some((device, queue)) = device_of(wgpu::Limits::default(), feature) else {
        return eprintln!("not tested: this adapter has no timestamp queries");
    };
    let kind = MeshKind { vertices: 1003, joints: 7, width: 4, precision: Precision::Compact, targets: 2 };
    let scene = Scene::new(&[kind], 5, 3);
    let descriptor = SkinnerDescriptor { previous_positions: true, bounds: true, ..Default::default() };
    let mut plain = Skinner::new(&device, &descriptor).unwrap();
    let mut timed = Skinner::new(&device, &descriptor).unwrap();
    let characters = [scene.spawn(&mut plain, &queue), scene.spawn(&mut timed, &queue)];
    frame(&device, &queue, &mut plain, 0.0);
    let set = device.create_query_set(&wgpu::QuerySetDescriptor {
        label: None,
        ty: wgpu::QueryType::Timestamp,
        count: 1 + 2 * Timestamps::COUNT,
    });
    let usage = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
    let bytes = 8 * u64::from(2 * Timestamps::COUNT);
    let resolved =
        device.create_buffer(&wgpu::BufferDescriptor { label: None, size: bytes, usage, mapped_at_creation: false });
    timed.prepare(&device, &queue, 0.0);
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    // The second one has nothing to do.
    for first in [1, 1 + Timestamps::COUNT] {
        timed.record_timed(&mut encoder, Some(Timestamps { set: &set, first }));
    }
    encoder.resolve_query_set(&set, 1..1 + 2 * Timestamps::COUNT, &resolved, 0);
    queue.submit([encoder.finish()]);
    let ticks = crate::gpu::readback::read_range(&device, &queue, &resolved, 0..bytes).unwrap();
    let ticks: Vec<u64> = bytemuck::pod_collect_to_vec(&ticks);
    assert!(ticks[0] > 0 && ticks.is_sorted(), "{ticks:?}");
    assert!(ticks[3] > ticks[2], "skinning takes time: {ticks:?}");
    let read = |s: &Skinner, c| read_vertices(&device, &queue, &s.vertices(c, 0).unwrap()).unwrap();
    for (&a, &b) in characters[0].iter().zip(&characters[1]) {
        assert_eq!(read(&timed, b), read(&plain, a));
    }
}
