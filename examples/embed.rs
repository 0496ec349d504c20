//! A host with its own device, encoder and submission: a ribbon of two bones, bent by 90° and read back.

use dermis::character::{Mesh, Rig, RigNode, Skin};
use dermis::gpu::{Drive, RigDescriptor, Skinner, SkinnerDescriptor, read_vertices};
use dermis::influence::{Influence, Influences};
use dermis::pose::Pose;
use dermis::{Affine, Transform, wgpu};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // What the host has anyway.
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
    let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))?;
    let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor::default()))?;

    // A rig of two joints, one metre apart, and a skin over both.
    let up = Transform { translation: [0.0, 1.0, 0.0], ..Transform::IDENTITY };
    let root = RigNode { name: "lower".into(), ..RigNode::default() };
    let bone = RigNode { name: "upper".into(), parent: Some(0), rest: up, ..RigNode::default() };
    let rig = Rig { nodes: vec![root, bone] };
    let into_upper = Affine { rows: [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, -1.0], [0.0, 0.0, 1.0, 0.0]] };
    let skin = Skin { joints: vec![0, 1], inverse_binds: vec![Affine::IDENTITY, into_upper], ..Skin::default() };

    // A ribbon two metres high: pairs of vertices, the lower ones on the first joint, the upper ones on the second.
    let heights: [f32; 5] = [0.0, 0.5, 1.0, 1.5, 2.0];
    let influences = heights.map(|y| {
        let upper = (y - 0.5).clamp(0.0, 1.0);
        [Influence { joint: 0, weight: 1.0 - upper }, Influence { joint: 1, weight: upper }]
    });
    let mesh = Mesh {
        positions: heights.iter().flat_map(|&y| [[-0.1, y, 0.0], [0.1, y, 0.0]]).collect(),
        normals: vec![[0.0, 0.0, 1.0]; 10],
        tangents: vec![[1.0, 0.0, 0.0, 1.0]; 10],
        influences: Influences::from_vertices(influences.iter().flat_map(|i| [i.as_slice(), i.as_slice()])),
        indices: (0..8).step_by(2).flat_map(|i| [i, i + 1, i + 2, i + 2, i + 1, i + 3]).collect(),
        ..Mesh::default()
    };

    // Once: the engine, the assets, a character.
    let mut skinner = Skinner::new(&device, &SkinnerDescriptor::default())?;
    let ribbon = skinner.add_mesh(&queue, &mesh)?;
    let bones = skinner.add_rig(&RigDescriptor { rig: &rig, skins: &[skin], clips: &[] })?;
    let hero = skinner.spawn(bones, &[ribbon.into()])?;

    // Per frame: say what moves, upload it, record into the host's encoder, submit.
    let mut pose = Pose::rest(&rig);
    let quarter = std::f32::consts::FRAC_PI_4;
    pose.joints[1].rotation = [0.0, 0.0, quarter.sin(), quarter.cos()];
    skinner.drive(hero, Drive::Local(&pose))?;
    skinner.prepare(&device, &queue, 0.0);
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    skinner.record(&mut encoder);
    // Here the host draws `vertices.positions` and `vertices.frames` with `base_vertex = vertices.range.start`.
    queue.submit([encoder.finish()]);

    let vertices = skinner.vertices(hero, 0)?;
    let skinned = read_vertices(&device, &queue, &vertices)?;
    println!("the ribbon's tip bends from {:?} to {:?}", mesh.positions[8], skinned.positions[8]);
    Ok(())
}
