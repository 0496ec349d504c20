//! What a host's shader reads from the frames of both layouts, against the read-back.

use std::sync::Arc;

use super::device;
use super::scene::{MeshKind, Scene, frame};
use crate::Error;
use crate::gpu::pose::PosePipeline;
use crate::gpu::readback::read_range;
use crate::gpu::skin::{Pipelines, SOURCE, SkinPipelines};
use crate::gpu::{FRAME_WGSL, Layout, Method, Skinner, SkinnerDescriptor, read_vertices};
use crate::influence::Precision;

/// As the documentation of [`Layout`] says.
const READERS: [(Layout, &str); 2] = [
    (
        Layout::Packed,
        "@group(0) @binding(0) var<storage, read> frames: array<vec2<u32>>;
        fn normal(v: u32) -> vec3<f32> { return frame_normal(frames[v]); }
        fn tangent(v: u32) -> vec4<f32> { return frame_tangent(frames[v]); }",
    ),
    (
        Layout::Full,
        "@group(0) @binding(0) var<storage, read> frames: array<f32>;
        fn at(v: u32, i: u32) -> f32 { return frames[7u * v + i]; }
        fn normal(v: u32) -> vec3<f32> { return vec3<f32>(at(v, 0u), at(v, 1u), at(v, 2u)); }
        fn tangent(v: u32) -> vec4<f32> { return vec4<f32>(at(v, 3u), at(v, 4u), at(v, 5u), at(v, 6u)); }",
    ),
];

const MAIN: &str = "
@group(0) @binding(1) var<storage, read_write> out: array<vec4<f32>>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (2u * id.x < arrayLength(&out)) {
        out[2u * id.x] = vec4<f32>(normal(id.x), 0.0);
        out[2u * id.x + 1u] = tangent(id.x);
    }
}
";

#[test]
fn a_host_reads_the_frames_of_both_layouts() {
    let (device, queue) = device();
    let kind = |vertices, joints, width, precision, targets| MeshKind { vertices, joints, width, precision, targets };
    let kinds = [kind(1003, 19, 4, Precision::Compact, 0), kind(130, 300, 8, Precision::Fine, 2)];
    for method in [Method::Linear, Method::DualQuaternion] {
        let mut scene = Scene::new(&kinds, 11, 3);
        scene.method = method;
        read_frames(&device, &queue, &scene);
    }
}

fn read_frames(device: &wgpu::Device, queue: &wgpu::Queue, scene: &Scene) {
    let mut packed = Vec::new();
    for (layout, reader) in READERS {
        let mut skinner = Skinner::new(device, &SkinnerDescriptor { layout, ..SkinnerDescriptor::default() }).unwrap();
        let characters = scene.spawn(&mut skinner, queue);
        let mut read_back = skinner.read_back(characters[1], 0).unwrap();
        frame(device, queue, &mut skinner, 0.0);
        device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        let expected = read_vertices(device, queue, &skinner.vertices(characters[1], 0).unwrap()).unwrap();
        assert_eq!(read_back.try_take().unwrap(), Some(expected));
        let vertices = skinner.vertices(characters[0], 0).unwrap();
        assert_eq!(vertices.layout, layout);
        let count = vertices.frames.size() / layout.stride();
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl([FRAME_WGSL, reader, MAIN].concat().into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let out = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 32 * count,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[
                wgpu::BindGroupEntry { binding: 0, resource: vertices.frames.as_entire_binding() },
                wgpu::BindGroupEntry { binding: 1, resource: out.as_entire_binding() },
            ],
        });
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups(count.div_ceil(64) as u32, 1, 1);
        }
        queue.submit([encoder.finish()]);
        let bytes = read_range(device, queue, &out, 0..out.size()).unwrap();
        let read: Vec<[[f32; 4]; 2]> = bytemuck::pod_collect_to_vec(&bytes);
        for (i, &c) in characters.iter().enumerate().filter(|(i, _)| *i != scene.spare) {
            let vertices = skinner.vertices(c, 0).unwrap();
            let expected = read_vertices(device, queue, &vertices).unwrap();
            for (v, [n, t]) in (0..).zip(&read[vertices.range.start as usize..vertices.range.end as usize]) {
                let n = [n[0], n[1], n[2]];
                let v: usize = v;
                // The shader's normalize is f32.
                let near = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 2e-6);
                let same = near(&n, &expected.normals[v]) && near(t, &expected.tangents[v]);
                assert!(same, "{layout:?}, instance {i}, vertex {v}: {n:?} {t:?}");
            }
            // Both layouts say the same: half a step of the packing is the largest difference.
            match layout {
                Layout::Packed => packed.push(expected),
                Layout::Full => {
                    let other: &crate::gpu::SkinnedVertices = &packed[if i > scene.spare { i - 1 } else { i }];
                    assert_eq!(expected.positions, other.positions);
                    for v in 0..expected.normals.len() {
                        let [a, b] = [&expected, other].map(|x| glam::Vec3::from(x.normals[v]));
                        assert!(a.distance(b) < 1e-4, "instance {i}, vertex {v}: {a} {b}");
                        let [a, b] = [&expected, other].map(|x| glam::Vec4::from(x.tangents[v]));
                        assert!(a.distance(b) < 2e-4, "instance {i}, vertex {v}: {a} {b}");
                    }
                }
            }
        }
    }
}

/// (what the shader says, what the mutant says), where frames are full.
const MUTANTS: &[(&str, &str)] = &[
    ("frames[7u * quad] =", "frames[2u * quad] ="),
    ("(t[0].yz, s.x, n[1].x)", "(t[0].xz, s.x, n[1].x)"),
    ("(n[1].yz, t[1].xy)", "(n[1].yz, t[0].xy)"),
    ("(t[1].z, s.y, n[2].xy)", "(t[1].z, s.x, n[2].xy)"),
    ("(n[2].z, t[2])", "(n[2].y, t[2])"),
    ("(s.z, n[3])", "(s.z, n[2])"),
    ("(t[3], s.w)", "(t[3], 1.0)"),
    ("scaled(tangents, inverseSqrt(dots(tangents, tangents)))", "tangents"),
];

#[test]
fn every_mutant_of_the_full_layout_is_caught() {
    let (device, queue) = device();
    let kind = MeshKind { vertices: 131, joints: 19, width: 4, precision: Precision::Compact, targets: 2 };
    let scene = Scene::new(&[kind], 9, 5);
    let skin = |source: &str| {
        let skin = SkinPipelines::with_source(&device, source);
        let pipelines = Some(Arc::new(Pipelines { skin, pose: PosePipeline::new(&device) }));
        let descriptor = SkinnerDescriptor { pipelines, layout: Layout::Full, ..SkinnerDescriptor::default() };
        let mut skinner = Skinner::new(&device, &descriptor).unwrap();
        let characters = scene.spawn(&mut skinner, &queue);
        frame(&device, &queue, &mut skinner, 0.0);
        let read = |&c| read_vertices(&device, &queue, &skinner.vertices(c, 0).unwrap()).unwrap();
        scene.compare_directions(&characters.iter().map(read).collect::<Vec<_>>(), 1e-5)
    };
    skin(SOURCE).expect("the shader itself is right");
    let mut missed = Vec::new();
    for (old, new) in MUTANTS {
        assert_eq!(SOURCE.matches(old).count(), 1, "the shader does not say {old:?} once");
        match skin(&SOURCE.replace(old, new)) {
            Err(why) => println!("caught: {new:?}: {why}"),
            Ok(_) => missed.push(format!("{old:?} -> {new:?}")),
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:#?}");
}

#[test]
fn ray_tracing_needs_the_device_s_feature() {
    let (device, _) = device();
    let descriptor = SkinnerDescriptor { ray_tracing: true, ..SkinnerDescriptor::default() };
    match Skinner::new(&device, &descriptor) {
        Err(Error::MissingFeature { feature, .. }) => assert_eq!(feature, "EXPERIMENTAL_RAY_QUERY"),
        other => panic!("{other:?}"),
    }
}
