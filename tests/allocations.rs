//! In steady state a frame allocates nothing of ours: what is counted is what the same bare wgpu calls allocate.

use dermis::character::{Channel, Clip, Interpolation, Mesh, Rig, RigNode, Skin, Target};
use dermis::gpu::{Drive, MeshOptions, Method, RigDescriptor, Skinner, SkinnerDescriptor};
use dermis::influence::{Influence, Influences};
use dermis::{Affine, wgpu};

const JOINTS: usize = 5;
/// So few that all characters share a page.
const VERTICES: usize = 3;

#[test]
fn a_frame_allocates_no_more_than_bare_wgpu_calls() {
    frames_of(37);
}

#[test]
fn nor_does_a_frame_of_ten_thousand_characters() {
    frames_of(10_000);
}

fn frames_of(count: usize) {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
    let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))
        .expect("tests need a graphics adapter; a software one will do (Debian: apt install mesa-vulkan-drivers)");
    let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor::default())).unwrap();

    for method in [Method::Linear, Method::DualQuaternion] {
        measure(&device, &queue, method, count);
    }
}

fn measure(device: &wgpu::Device, queue: &wgpu::Queue, method: Method, count: usize) {
    let mut skinner = Skinner::new(device, &SkinnerDescriptor::default()).unwrap();
    let characters = crowd(&mut skinner, queue, method, count);
    let poses: Vec<Vec<Affine>> = (0..2).map(|i| vec![moved(i as f32); JOINTS]).collect();

    let counted = |seconds: f64, skin: &mut dyn FnMut(&mut wgpu::CommandEncoder, f64)| {
        let found = allocation_counter::measure(|| {
            let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: None });
            skin(&mut encoder, seconds);
            queue.submit([encoder.finish()]);
            device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        });
        found.count_total
    };

    let mut ours = |encoder: &mut wgpu::CommandEncoder, seconds: f64| {
        // Half of the characters get a palette every frame, half play a clip.
        for &c in &characters[..count / 2] {
            skinner.drive(c, Drive::Palette(0, &poses[seconds as usize % 2])).unwrap();
        }
        skinner.prepare(device, queue, seconds);
        assert_eq!(skinner.dispatch_count(), 1);
        skinner.record(encoder);
    };
    let bare = Bare::new(device, count);
    let mut theirs = |encoder: &mut wgpu::CommandEncoder, _: f64| bare.frame(queue, encoder);

    for warm_up in 0..8 {
        counted(f64::from(warm_up), &mut ours);
        counted(f64::from(warm_up), &mut theirs);
    }
    // The least of several frames: wgpu itself now and then grows a list.
    let least = |f: &mut dyn FnMut(f64) -> u64| (8..24).map(|i| f(f64::from(i))).min().unwrap();
    let with_us = least(&mut |s| counted(s, &mut ours));
    let without = least(&mut |s| counted(s, &mut theirs));
    println!("{method:?}: allocations per frame: {with_us} with the skinner, {without} with the same wgpu calls alone");
    assert!(with_us <= without, "the skinner allocates: {with_us} against {without}");
}

fn moved(x: f32) -> Affine {
    Affine { rows: [[1.0, 0.0, 0.0, x], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]] }
}

fn crowd(skinner: &mut Skinner, queue: &wgpu::Queue, method: Method, count: usize) -> Vec<dermis::gpu::CharacterId> {
    let rig = Rig { nodes: (0..JOINTS).map(|_| RigNode::default()).collect() };
    let skin = Skin { joints: (0..JOINTS).collect(), inverse_binds: vec![Affine::IDENTITY; JOINTS], ..Skin::default() };
    let clip = Clip {
        name: "turn".into(),
        duration: 60.0,
        channels: vec![Channel {
            target: Target::Rotation(2),
            interpolation: Interpolation::Linear,
            times: vec![0.0, 60.0],
            width: 4,
            values: vec![0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0],
        }],
    };
    let rig = skinner.add_rig(&RigDescriptor { rig: &rig, skins: &[skin], clips: &[clip] }).unwrap();
    let pair = [Influence { joint: 2, weight: 0.6 }, Influence { joint: 1, weight: 0.4 }];
    let mesh = Mesh {
        positions: vec![[1.0, 0.0, 0.0]; VERTICES],
        normals: vec![[0.0, 0.0, 1.0]; VERTICES],
        tangents: vec![[1.0, 0.0, 0.0, 1.0]; VERTICES],
        influences: Influences::from_vertices((0..VERTICES).map(|_| pair.as_slice())),
        ..Mesh::default()
    };
    let options = MeshOptions { method, ..MeshOptions::default() };
    let mesh = skinner.add_mesh_with(queue, &mesh, options).unwrap();
    let characters: Vec<_> = (0..count).map(|_| skinner.spawn(rig, &[mesh.into()]).unwrap()).collect();
    for &c in &characters {
        skinner.drive(c, Drive::Clip { clip: 0, start: 0.0, looping: true }).unwrap();
    }
    characters
}

/// Two uploads and two dispatches with as many bindings as the pose pass has, each with a bind group of its own and a
/// dynamic offset, and nothing else.
struct Bare {
    pipeline: wgpu::ComputePipeline,
    groups: [wgpu::BindGroup; 2],
    second: wgpu::ComputePipeline,
    upload: wgpu::Buffer,
    uniform: wgpu::Buffer,
    /// As many bytes as half of the characters have in their palettes.
    bytes: Vec<u8>,
}

impl Bare {
    fn new(device: &wgpu::Device, count: usize) -> Self {
        let buffer = |usage| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: 1 << 21,
                usage,
                mapped_at_creation: false,
            })
        };
        let storage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
        let buffers: Vec<_> = (0..9)
            .map(|i| buffer(if i == 0 { wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST } else { storage }))
            .collect();
        let declared: String = (1..5)
            .map(|i| format!("@group(0) @binding({i}) var<storage, read> b{i}: array<u32>;\n"))
            .chain((5..9).map(|i| format!("@group(0) @binding({i}) var<storage, read_write> b{i}: array<u32>;\n")))
            .collect();
        let source = format!(
            "@group(0) @binding(0) var<uniform> b0: vec4<u32>;\n{declared}
            @compute @workgroup_size(64) fn touch(@builtin(global_invocation_id) id: vec3<u32>) {{
                b5[id.x] = b0.x + b1[id.x] + b2[id.x] + b3[id.x] + b4[id.x];
                b6[id.x] = id.x;
                b7[id.x] = id.x;
                b8[id.x] = id.x;
            }}"
        );
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(source.into()),
        });
        let entry = |binding: u32| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: match binding {
                    0 => wgpu::BufferBindingType::Uniform,
                    _ => wgpu::BufferBindingType::Storage { read_only: binding < 5 },
                },
                has_dynamic_offset: binding == 0,
                min_binding_size: None,
            },
            count: None,
        };
        let entries: Vec<_> = (0..9).map(entry).collect();
        let layout =
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = || {
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: None,
                layout: Some(&pipeline_layout),
                module: &module,
                entry_point: Some("touch"),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            })
        };
        let mut entries: Vec<wgpu::BindGroupEntry<'_>> = Vec::new();
        for (i, buffer) in buffers.iter().enumerate() {
            let size = if i == 0 { wgpu::BufferSize::new(16) } else { None };
            let resource = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset: 0, size });
            entries.push(wgpu::BindGroupEntry { binding: i as u32, resource });
        }
        let groups = [0; 2].map(|_| {
            device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout: &layout, entries: &entries })
        });
        Self {
            pipeline: pipeline(),
            second: pipeline(),
            groups,
            upload: buffers[3].clone(),
            uniform: buffers[0].clone(),
            bytes: vec![7; JOINTS * 48 * (count / 2)],
        }
    }

    fn frame(&self, queue: &wgpu::Queue, encoder: &mut wgpu::CommandEncoder) {
        queue.write_buffer(&self.upload, 0, &self.bytes);
        queue.write_buffer(&self.uniform, 0, &[7; 16]);
        // wgpu copies the label: a bare pass with one is the fair comparison.
        let label = Some("bare");
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label, timestamp_writes: None });
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.groups[0], &[0]);
        pass.dispatch_workgroups(3, 1, 1);
        pass.set_pipeline(&self.second);
        pass.set_bind_group(0, &self.groups[1], &[256]);
        pass.dispatch_workgroups(3, 1, 1);
    }
}
