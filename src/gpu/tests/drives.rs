//! Cross-fades, palettes that the host's shader writes, turns, and what an unchanged drive costs.

use super::scene::{MeshKind, frame, mesh, palette, rig};
use super::{Random, device};
use crate::Error;
use crate::character::{Channel, Clip, Interpolation, Target};
use crate::gpu::{
    CharacterId, ClipLayer, Drive, RigDescriptor, SkinnedVertices, Skinner, SkinnerDescriptor, read_vertices,
};
use crate::influence::{Influences, Precision};
use crate::pose::Pose;

const KIND: MeshKind = MeshKind { vertices: 67, joints: 3, width: 1, precision: Precision::Compact, targets: 0 };

/// A clip that holds joint 0 at `x`, or moves it from 0 to `x` in 64 s.
fn slide(x: f32, moving: bool) -> Clip {
    let channel = Channel {
        target: Target::Translation(0),
        interpolation: Interpolation::Linear,
        times: vec![0.0, 64.0],
        width: 3,
        values: vec![if moving { 0.0 } else { x }, 0.0, 0.0, x, 0.0, 0.0],
    };
    Clip { name: String::new(), duration: 64.0, channels: vec![channel] }
}

struct Stage {
    device: wgpu::Device,
    queue: wgpu::Queue,
    skinner: Skinner,
    characters: Vec<CharacterId>,
    rest_x: f32,
}

fn stage(count: usize, previous_positions: bool) -> Stage {
    let (device, queue) = device();
    let descriptor = SkinnerDescriptor { previous_positions, ..SkinnerDescriptor::default() };
    let mut skinner = Skinner::new(&device, &descriptor).unwrap();
    let (nodes, skins) = rig(3);
    let clips = [slide(4.0, false), slide(8.0, false), slide(64.0, true)];
    let rig = skinner.add_rig(&RigDescriptor { rig: &nodes, skins: &skins, clips: &clips }).unwrap();
    let mut test_mesh = mesh(KIND, &mut Random::new(1)).mesh;
    test_mesh.influences = Influences::rigid(KIND.vertices, 0);
    let mesh = skinner.add_mesh(&queue, &test_mesh).unwrap();
    let characters = (0..count).map(|_| skinner.spawn(rig, &[mesh.into()]).unwrap()).collect();
    Stage { device, queue, skinner, characters, rest_x: test_mesh.positions[0][0] }
}

impl Stage {
    fn frame(&mut self, seconds: f64) {
        frame(&self.device, &self.queue, &mut self.skinner, seconds);
    }

    fn read(&self, i: usize) -> SkinnedVertices {
        read_vertices(&self.device, &self.queue, &self.skinner.vertices(self.characters[i], 0).unwrap()).unwrap()
    }

    /// How far character `i` has slid.
    fn x(&self, i: usize) -> f32 {
        self.read(i).positions[0][0] - self.rest_x
    }
}

#[test]
fn a_cross_fade_runs_by_itself_and_goes_on_from_where_it_is() {
    let mut stage = stage(1, false);
    let hero = stage.characters[0];
    stage.skinner.drive(hero, Drive::Clip { clip: 0, start: 0.0, looping: true }).unwrap();
    stage.frame(1.0);
    stage.skinner.cross_fade(hero, ClipLayer::new(1, 1.0), 1.0, 2.0).unwrap();
    let at = |stage: &mut Stage, seconds: f64, expected: f32| {
        stage.frame(seconds);
        let x = stage.x(0);
        assert!((x - expected).abs() < 1e-5, "{x} instead of {expected} at {seconds}");
        // The CPU's answer is the same.
        let world = stage.skinner.joint_world(hero, 0).unwrap().rows[0][3];
        assert!((world - expected).abs() < 1e-5, "{world} instead of {expected} at {seconds}");
    };
    at(&mut stage, 1.0, 4.0);
    at(&mut stage, 1.5, 5.0);
    at(&mut stage, 2.0, 6.0);
    // Half-way, back to the first: both fade out from one half.
    stage.skinner.cross_fade(hero, ClipLayer::new(0, 2.0), 2.0, 1.0).unwrap();
    at(&mut stage, 2.0, 6.0);
    at(&mut stage, 2.5, 5.0);
    at(&mut stage, 3.5, 4.0);
    // More fades at once than there are layers.
    for i in 0..6 {
        let now = 4.0 + 0.01 * f64::from(i);
        stage.skinner.cross_fade(hero, ClipLayer::new(i as usize % 2, now), now, 1.0).unwrap();
        stage.frame(now);
    }
    at(&mut stage, 6.0, 8.0);
}

#[test]
fn time_stays_exact_after_years() {
    let mut stage = stage(2, false);
    let (year, step) = (31_557_600.0, 0.015_625);
    let slow = ClipLayer { speed: 0.5, ..ClipLayer::new(2, year) };
    // A second layer without weight, so that the first does not become a plain clip.
    stage.skinner.drive(stage.characters[0], Drive::Clips(&[slow])).unwrap();
    stage.skinner.drive(stage.characters[1], Drive::Clip { clip: 2, start: year, looping: true }).unwrap();
    for loops in [0.0, 1000.0] {
        stage.frame(year + loops * 128.0 + 16.0 + step);
        let (slow, plain) = (stage.x(0), stage.x(1));
        assert!((slow - 8.007_812_5).abs() < 1e-4 && (plain - 16.015_625).abs() < 1e-4, "{slow} {plain}");
    }
}

#[test]
fn an_unchanged_drive_costs_nothing() {
    let mut stage = stage(4, false);
    let joints = palette(3, false, &mut Random::new(3));
    let pose = Pose::rest(&rig(3).0);
    let layers = [ClipLayer { speed: 0.0, ..ClipLayer::new(0, 0.0) }];
    let drive = |stage: &mut Stage| {
        let c = stage.characters.clone();
        stage.skinner.drive(c[0], Drive::Local(&pose)).unwrap();
        stage.skinner.drive(c[1], Drive::Palette(0, &joints)).unwrap();
        stage.skinner.drive(c[2], Drive::Clips(&layers)).unwrap();
        stage.skinner.drive(c[3], Drive::Clip { clip: 0, start: 0.0, looping: false }).unwrap();
    };
    drive(&mut stage);
    stage.frame(100.0);
    assert_eq!(stage.skinner.dispatch_count(), 1);
    drive(&mut stage);
    let changed = |s: &Stage| s.skinner.slots.iter().any(|s| s.character.as_ref().unwrap().changed);
    assert!(!changed(&stage));
    stage.frame(101.0);
    assert_eq!(stage.skinner.dispatch_count(), 0);
}

#[test]
fn the_host_s_shader_writes_palettes() {
    let mut stage = stage(2, false);
    let hero = stage.characters[0];
    stage.skinner.drive(hero, Drive::External).unwrap();
    assert!(matches!(stage.skinner.joint_world(hero, 0), Err(Error::UnknownPose)));
    let source = "
        @group(0) @binding(0) var<storage, read_write> palettes: array<vec4<f32>>;
        @group(0) @binding(1) var<storage, read> first: array<u32>;
        @compute @workgroup_size(1) fn slide(@builtin(workgroup_id) joint: vec3<u32>) {
            let at = first[0] + 3u * joint.x;
            palettes[at] = vec4<f32>(1.0, 0.0, 0.0, f32(first[1]));
            palettes[at + 1u] = vec4<f32>(0.0, 1.0, 0.0, 0.0);
            palettes[at + 2u] = vec4<f32>(0.0, 0.0, 1.0, 0.0);
        }";
    let module = stage.device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(source.into()),
    });
    let pipeline = stage.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: None,
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    let uniform = stage.device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 8,
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    // Prepare, the host's pass, ours: one encoder, one submit.
    let with_shader = |stage: &mut Stage, x: u32, seconds: f64| {
        stage.skinner.prepare(&stage.device, &stage.queue, seconds);
        let range = stage.skinner.palette(hero, 0).unwrap();
        let words = [(range.bytes.start / 16) as u32, x];
        stage.queue.write_buffer(&uniform, 0, bytemuck::cast_slice(&words));
        let entry = |binding, buffer: &wgpu::Buffer| (binding, buffer.clone());
        let buffers = [entry(0, range.buffer), entry(1, &uniform)];
        let entries: Vec<_> = buffers
            .iter()
            .map(|(binding, b)| wgpu::BindGroupEntry { binding: *binding, resource: b.as_entire_binding() })
            .collect();
        let group = stage.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &entries,
        });
        let mut encoder = stage.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(3, 1, 1);
        drop(pass);
        stage.skinner.record(&mut encoder);
        stage.queue.submit([encoder.finish()]);
    };
    with_shader(&mut stage, 3, 0.0);
    assert_eq!((stage.x(0).round(), stage.x(1)), (3.0, 0.0));
    // Not touched: not skinned, whatever was written.
    with_shader(&mut stage, 5, 1.0);
    assert_eq!((stage.skinner.dispatch_count(), stage.x(0).round()), (0, 3.0));
    // The buffer grows: what the shader wrote comes along.
    let old = stage.skinner.palettes.buffer.clone();
    let (nodes, skins) = rig(3);
    let other = stage.skinner.add_rig(&RigDescriptor { rig: &nodes, skins: &skins, clips: &[] }).unwrap();
    (0..1000).for_each(|_| assert!(stage.skinner.spawn(other, &[]).is_ok()));
    assert_ne!(stage.skinner.palettes.buffer, old);
    stage.skinner.touch(hero).unwrap();
    stage.frame(2.0);
    assert_eq!(stage.x(0).round(), 5.0);
    // Something of ours again.
    stage.skinner.drive(hero, Drive::Clip { clip: 1, start: 0.0, looping: true }).unwrap();
    stage.frame(3.0);
    assert_eq!(stage.x(0).round(), 8.0);
}

#[test]
fn turns_are_spread_and_previous_positions_are_those_of_the_last_frame() {
    const COUNT: usize = 101;
    let mut stage = stage(COUNT, true);
    let (step, interval) = (1.0 / 64.0, 1.0 / 32.0);
    for &c in &stage.characters {
        stage.skinner.drive(c, Drive::Clip { clip: 2, start: 0.0, looping: true }).unwrap();
        stage.skinner.set_update_interval(c, interval).unwrap();
    }
    stage.frame(0.0);
    let mut last: Vec<f32> = (0..COUNT).map(|i| stage.x(i)).collect();
    let mut turns = [0; COUNT];
    for f in 1..=8 {
        let now = f64::from(f) * step;
        stage.frame(now);
        let mut posed = 0;
        for i in 0..COUNT {
            let x = stage.x(i);
            let v = stage.skinner.vertices(stage.characters[i], 0).unwrap();
            let first = 12 * u64::from(v.range.start);
            let bytes =
                crate::gpu::readback::read_range(&stage.device, &stage.queue, v.previous.unwrap(), first..first + 4);
            let previous = f32::from_ne_bytes(bytes.unwrap()[..4].try_into().unwrap()) - stage.rest_x;
            assert_eq!(previous, last[i], "frame {f}, character {i}");
            if x != last[i] {
                assert!((f64::from(x) - now).abs() < 1e-5);
                (posed, turns[i]) = (posed + 1, turns[i] + 1);
            }
            last[i] = x;
        }
        assert!((COUNT / 2 - 3..=COUNT / 2 + 4).contains(&posed), "{posed} of {COUNT} in frame {f}");
    }
    assert!(turns.iter().all(|&n| n == 4), "{turns:?}");
}
