//! A thousand characters, each at its own time of a clip: one skin dispatch, drawn from the skinner's pages into a PNG.
//!
//! `cargo run --release --example crowd [-- OUT.png [MODEL.glb]]`

use std::f32::consts::TAU;
use std::path::Path;

use dermis::character::{Channel, Clip, Interpolation, Material, Mesh, Part, Primitive, Rig, RigNode, Skin, Target};
use dermis::gpu::{Drive, PartId, RigDescriptor, Skinner, SkinnerDescriptor, read_vertices};
use dermis::influence::{Influence, Influences};
use dermis::render::{
    Attachments, Background, Camera, Ground, Instance, Light, Renderer, RendererDescriptor, Scene, perspective,
};
use dermis::{Affine, Character, Transform, wgpu};

const ROWS: usize = 40;
const COLUMNS: usize = 25;
const SIZE: [u32; 2] = [1600, 900];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let output = arguments.next().unwrap_or_else(|| "crowd.png".into());
    let models: Vec<Character> = match arguments.next() {
        Some(path) => vec![dermis::io::load(Path::new(&path))?],
        None => [[0.85, 0.22, 0.12], [0.95, 0.62, 0.12], [0.16, 0.45, 0.62], [0.30, 0.55, 0.25]].map(reed).to_vec(),
    };

    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
    let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))?;
    let required_limits = wgpu::Limits::default().or_worse_values_from(&adapter.limits());
    let descriptor = wgpu::DeviceDescriptor { required_limits, ..Default::default() };
    let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))?;

    // Each model once on the GPU: its rig and meshes for the skinner, its triangles and surfaces for the renderer.
    let mut skinner = Skinner::new(&device, &SkinnerDescriptor::default())?;
    let renderer = Renderer::new(&device, &RendererDescriptor::default())?;
    let mut kinds = Vec::new();
    for model in &models {
        let rig = skinner.add_rig(&RigDescriptor { rig: &model.rig, skins: &model.skins, clips: &model.clips })?;
        let mut meshes = Vec::new();
        for mesh in &model.meshes {
            meshes.push(skinner.add_mesh(&queue, mesh)?);
        }
        let parts: Vec<PartId> = model.parts.iter().map(|p| PartId { mesh: meshes[p.mesh], skin: p.skin }).collect();
        kinds.push((rig, parts, renderer.model(&device, &queue, model)?));
    }

    // A thousand characters; those with a clip begin it at different times.
    let mut crowd = Vec::new();
    for i in 0..ROWS * COLUMNS {
        let kind = i * 7 % 11 % kinds.len();
        let (rig, parts, _) = &kinds[kind];
        let character = skinner.spawn(*rig, parts)?;
        if !models[kind].clips.is_empty() {
            let start = -0.37 * (i * 29 % 101) as f64;
            skinner.drive(character, Drive::Clip { clip: 0, start, looping: true })?;
        }
        crowd.push((character, kind));
    }
    skinner.prepare(&device, &queue, 0.0);
    let dispatches = skinner.dispatch_count();
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    skinner.record(&mut encoder);
    queue.submit([encoder.finish()]);

    // How large they are decides how far apart they stand.
    let mut vertices = 0;
    let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for part in 0..models[crowd[0].1].parts.len() {
        let read = read_vertices(&device, &queue, &skinner.vertices(crowd[0].0, part)?)?;
        vertices += read.positions.len();
        for p in read.positions {
            for axis in 0..3 {
                (low[axis], high[axis]) = (low[axis].min(p[axis]), high[axis].max(p[axis]));
            }
        }
    }
    let size = (0..3).map(|a| high[a] - low[a]).fold(1e-6, f32::max);
    let step = 0.6 * size;
    let place = |i: usize| {
        let (row, column) = (i / COLUMNS, i % COLUMNS);
        // Odd rows stand in the gaps.
        let x = (column as f32 + 0.5 * (row % 2) as f32 - 0.5 * COLUMNS as f32 + 0.25) * step;
        Affine { rows: [[1.0, 0.0, 0.0, x], [0.0, 1.0, 0.0, -low[1]], [0.0, 0.0, 1.0, -(row as f32) * step]] }
    };
    let instances: Vec<Instance<'_>> = crowd
        .iter()
        .enumerate()
        .map(|(i, &(character, kind))| Instance {
            character,
            model: &kinds[kind].2,
            textures: None,
            overlay: None,
            transform: place(i),
        })
        .collect();

    let projection = perspective(0.55, SIZE[0] as f32 / SIZE[1] as f32, 0.05 * size, Default::default());
    let camera = Camera::look_at([0.0, 9.0 * size, 12.0 * size], [0.0, 0.0, -6.5 * size], projection);
    let middle = [0.0, 0.0, -0.5 * ROWS as f32 * step];
    let ground = Ground { center: middle, radius: 40.0 * size, cell: step, color: [0.36, 0.37, 0.39], shadow: 0.45 };
    let light = Light::default();
    let background = Background::Sky(Some(ground));
    let scene = Scene { camera: &camera, light: &light, background, skinner: &skinner, instances: &instances };
    let mut view = renderer.view(&device);
    view.prepare(&device, &queue, &scene)?;

    let picture = device.create_texture(&wgpu::TextureDescriptor {
        label: Some("crowd"),
        size: wgpu::Extent3d { width: SIZE[0], height: SIZE[1], depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: renderer.descriptor().color_format,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
        view_formats: &[],
    });
    let shown = picture.create_view(&wgpu::TextureViewDescriptor::default());
    let attachments = Attachments::new(&device, &renderer, SIZE);
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    view.record(&mut encoder, &attachments.targets(&shown), &scene)?;
    save(&device, &queue, encoder, &picture, &output)?;
    println!(
        "{output}: {} characters of {vertices} vertices, {dispatches} skin dispatch(es), on {}",
        crowd.len(),
        adapter.get_info().name
    );
    Ok(())
}

/// Submits what is recorded, reads the picture back and writes a PNG. `SIZE[0] · 4` is a multiple of 256, as copies need.
fn save(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    mut encoder: wgpu::CommandEncoder,
    picture: &wgpu::Texture,
    output: &str,
) -> Result<(), Box<dyn std::error::Error>> {
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("crowd"),
        size: u64::from(SIZE[0] * SIZE[1] * 4),
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(SIZE[0] * 4), rows_per_image: None };
    encoder.copy_texture_to_buffer(
        picture.as_image_copy(),
        wgpu::TexelCopyBufferInfo { buffer: &buffer, layout },
        picture.size(),
    );
    queue.submit([encoder.finish()]);
    let (sender, receiver) = std::sync::mpsc::channel();
    buffer.slice(..).map_async(wgpu::MapMode::Read, move |result| drop(sender.send(result)));
    device.poll(wgpu::PollType::wait_indefinitely())?;
    receiver.recv()??;
    let rgba = buffer.slice(..).get_mapped_range()?;
    image::save_buffer(output, &rgba, SIZE[0], SIZE[1], image::ExtendedColorType::Rgba8)?;
    Ok(())
}

/// A tapering tube one metre high with a chain of six joints, and a clip of four seconds in which it sways.
fn reed(color: [f32; 3]) -> Character {
    const JOINTS: usize = 6;
    const ALONG: u32 = 22;
    const AROUND: u32 = 14;
    let bone = 1.0 / JOINTS as f32;
    let mut mesh = Mesh::default();
    let mut influences = Vec::new();
    for row in 0..=ALONG {
        let t = row as f32 / ALONG as f32;
        // Round at the top: the last fifth of the rows closes a half sphere.
        let radius = 0.11 * (1.0 - 0.35 * t);
        let a = ((t - 0.8) / 0.2).max(0.0) * 0.25 * TAU;
        let (r, y) = if t > 0.8 { (radius * a.cos(), 0.9 + 0.1 * a.sin()) } else { (radius, 0.9 * t / 0.8) };
        let x = (y / bone - 0.5).clamp(0.0, (JOINTS - 1) as f32);
        let (joint, upper) = ((x as u32).min(JOINTS as u32 - 2), x - (x as u32).min(JOINTS as u32 - 2) as f32);
        for column in 0..=AROUND {
            let (sin, cos) = (TAU * column as f32 / AROUND as f32).sin_cos();
            let slope = if t > 0.8 { a.sin() } else { 0.04 };
            let flat = (1.0 - slope * slope).sqrt();
            mesh.positions.push([r * cos, y, -r * sin]);
            mesh.normals.push([flat * cos, slope, -flat * sin]);
            mesh.tangents.push([-sin, 0.0, -cos, 1.0]);
            let stripe = if row % 6 < 3 { 1.0 } else { 0.55 };
            mesh.colors.push([stripe, stripe, stripe, 1.0]);
            influences
                .push([(joint, 1.0 - upper), (joint + 1, upper)].map(|(joint, weight)| Influence { joint, weight }));
            if row < ALONG && column < AROUND {
                let (i, up) = (row * (AROUND + 1) + column, AROUND + 1);
                mesh.indices.extend([i, i + 1, i + 1 + up, i, i + 1 + up, i + up]);
            }
        }
    }
    mesh.influences = Influences::from_vertices(influences.iter().map(|i| i.as_slice()));
    mesh.primitives =
        vec![Primitive { vertices: 0..mesh.positions.len(), indices: 0..mesh.indices.len(), ..Primitive::default() }];

    let node = |i: usize| RigNode {
        parent: i.checked_sub(1),
        rest: Transform { translation: [0.0, if i == 0 { 0.0 } else { bone }, 0.0], ..Transform::IDENTITY },
        ..RigNode::default()
    };
    let inverse_bind =
        |i: usize| Affine { rows: [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, -(i as f32) * bone], [0.0, 0.0, 1.0, 0.0]] };
    const KEYS: usize = 33;
    let turns: Vec<f32> = (0..KEYS).map(|k| k as f32 / (KEYS - 1) as f32).collect();
    let channel = |joint: usize| {
        let angle = |turn: f32| 0.35 * (TAU * turn - 0.6 * joint as f32).sin();
        let rotation = |turn: f32| {
            let (sin, cos) = (0.5 * angle(turn)).sin_cos();
            [0.4 * sin, 0.0, 0.917 * sin, cos]
        };
        Channel {
            target: Target::Rotation(joint),
            interpolation: Interpolation::Linear,
            times: turns.iter().map(|t| 4.0 * t).collect(),
            width: 4,
            values: turns.iter().flat_map(|&t| rotation(t)).collect(),
        }
    };
    let [r, g, b] = color;
    Character {
        name: "reed".into(),
        rig: Rig { nodes: (0..JOINTS).map(node).collect() },
        skins: vec![Skin {
            joints: (0..JOINTS).collect(),
            inverse_binds: (0..JOINTS).map(inverse_bind).collect(),
            ..Skin::default()
        }],
        meshes: vec![mesh],
        parts: vec![Part::default()],
        clips: vec![Clip { name: "sway".into(), duration: 4.0, channels: (1..JOINTS).map(channel).collect() }],
        materials: vec![Material { base_color: [r, g, b, 1.0], metallic: 0.0, roughness: 0.45, ..Material::default() }],
        ..Character::default()
    }
}
