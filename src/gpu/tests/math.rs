//! The shaders' own elementary functions over their whole range, against f64.

use super::device;
use crate::gpu::readback::read_range;

const N: u32 = 100_003;

#[test]
fn elementary_functions_are_good_to_3e_7() {
    let (device, queue) = device();
    let source = format!(
        "{}
        @group(0) @binding(0) var<storage, read_write> out: array<f32>;
        @compute @workgroup_size(64) fn table(@builtin(global_invocation_id) id: vec3<u32>) {{
            let i = id.x;
            if (i >= {N}u) {{ return; }}
            let u = f32(i) / f32({N}u - 1u);
            let x = 200.0 * (u - 0.5);
            let c = 2.0 * u - 1.0;
            out[8u * i] = x;
            let s = sin_cos(x);
            out[8u * i + 1u] = s.x;
            out[8u * i + 2u] = s.y;
            out[8u * i + 3u] = arc_tangent(s.x, s.y);
            out[8u * i + 4u] = c;
            out[8u * i + 5u] = arc_cosine(c);
            out[8u * i + 6u] = exponential(20.0 * c);
            out[8u * i + 7u] = logarithm(u * u + 1e-6);
        }}",
        include_str!("../../../shaders/math.wgsl")
    );
    let bytes = run(&device, &queue, &source, 8 * 4 * u64::from(N), N.div_ceil(64));
    let rows: Vec<[f32; 8]> = bytemuck::pod_collect_to_vec(&bytes);
    let mut worst = [0f64; 6];
    let mut note = |i: usize, error: f64| worst[i] = if error.is_nan() { f64::NAN } else { worst[i].max(error.abs()) };
    for (i, row) in rows.iter().enumerate() {
        let [x, s, c, angle, cosine, arc, e, l] = row.map(f64::from);
        note(0, s - x.sin());
        note(1, c - x.cos());
        note(2, angle - s.atan2(c));
        note(3, arc - cosine.acos());
        let argument = f64::from(20.0f32 * row[4]);
        note(4, e / argument.exp() - 1.0);
        let u = i as f32 / (N - 1) as f32;
        // The argument as f32 computes it; fused or not, its last bit moves the logarithm by 1e-7.
        note(5, (l - f64::from(u * u + 1e-6).ln()) / (1.0 + f64::from(u * u + 1e-6).ln().abs()));
    }
    println!(
        "sin {:.1e} cos {:.1e} atan2 {:.1e} acos {:.1e} exp {:.1e} log {:.1e}",
        worst[0], worst[1], worst[2], worst[3], worst[4], worst[5]
    );
    // acos near ±1 turns half an ulp of its argument (6e-8) into an angle; there the input itself is exact.
    assert!(worst.iter().all(|w| *w <= 3e-7), "{worst:?}");
}

/// Runs the only entry point of `source` over one storage buffer and returns its bytes.
fn run(device: &wgpu::Device, queue: &wgpu::Queue, source: &str, size: u64, groups: u32) -> Vec<u8> {
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(source.into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: None,
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size,
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: false,
    });
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[wgpu::BindGroupEntry { binding: 0, resource: buffer.as_entire_binding() }],
    });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(groups, 1, 1);
    }
    queue.submit([encoder.finish()]);
    read_range(device, queue, &buffer, 0..size).unwrap()
}
