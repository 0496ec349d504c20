//! The whole path — file, import, GPU skinning, read-back — against what an independent program computes in f64.

#![cfg(feature = "gltf")]

#[path = "support/oracle.rs"]
mod oracle;

use dermis::Character;
use dermis::gpu::{
    Drive, MeshOptions, PartId, RigDescriptor, SkinnedVertices, Skinner, SkinnerDescriptor, read_vertices,
};
use dermis::influence::Precision;
use dermis::wgpu;

/// A device with WebGPU's default limits. A machine without an adapter fails the test.
fn device() -> (wgpu::Device, wgpu::Queue) {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
    let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))
        .expect("tests need a graphics adapter; a software one will do (Debian: apt install mesa-vulkan-drivers)");
    println!("adapter: {}", adapter.get_info().name);
    pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor::default())).expect("a device")
}

/// Every part of the character on the GPU, in the case's pose.
fn skin(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    character: &Character,
    case: &oracle::Case,
) -> Vec<SkinnedVertices> {
    let mut skinner = Skinner::new(device, &SkinnerDescriptor::default()).unwrap();
    let descriptor = RigDescriptor { rig: &character.rig, skins: &character.skins, clips: &[] };
    let rig = skinner.add_rig(&descriptor).unwrap();
    let options = MeshOptions { max_influences: 8, precision: Precision::Fine };
    let mut mesh = |mesh| skinner.add_mesh_with(queue, mesh, options).unwrap_or_else(|e| panic!("{}: {e}", case.model));
    let meshes: Vec<_> = character.meshes.iter().map(&mut mesh).collect();
    let parts: Vec<_> = character.parts.iter().map(|p| PartId { mesh: meshes[p.mesh], skin: p.skin }).collect();
    let id = skinner.spawn(rig, &parts).unwrap();
    skinner.drive(id, Drive::Local(&case.pose(character))).unwrap();
    for part in 0..parts.len() {
        skinner.set_morph_weights(id, part, &case.morph_weights(character, part)).unwrap();
    }
    skinner.prepare(device, queue, 0.0);
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    skinner.record(&mut encoder);
    queue.submit([encoder.finish()]);
    let read = |part| read_vertices(device, queue, &skinner.vertices(id, part).unwrap()).unwrap();
    (0..parts.len()).map(read).collect()
}

#[test]
fn every_case_of_the_oracle_on_the_gpu() {
    let Some(shared) = oracle::shared() else { return };
    let (device, queue) = device();
    let mut bad = Vec::new();
    let mut worst = oracle::Worst::default();
    let cases = oracle::cases(&shared);
    for case in &cases {
        let character = case.load(&shared);
        let skinned = skin(&device, &queue, &character, case);
        let mut got = Vec::new();
        for primitive in dermis::io::file_vertices(&character) {
            let part = &skinned[primitive.part];
            let authored = oracle::has_tangents(&character, &primitive);
            got.extend(primitive.vertices.iter().map(|&v| {
                let (p, n, t) = (part.positions[v as usize], part.normals[v as usize], part.tangents[v as usize]);
                let t = if authored { t } else { [f32::NAN; 4] };
                [p[0], p[1], p[2], n[0], n[1], n[2], t[0], t[1], t[2], t[3]].map(f64::from)
            }));
        }
        match oracle::compare(&case.want(&shared), &got) {
            Ok(w) => {
                worst = worst.max(w);
                if w.position > case.position || w.normal > case.normal || w.tangent > case.tangent {
                    bad.push(format!("{}: {w:?}", case.file));
                }
            }
            Err(why) => bad.push(format!("{}: {why}", case.file)),
        }
    }
    println!("{} cases, worst of all: {worst:?}", cases.len());
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
