//! The whole path — file, import, GPU skinning, read-back — against what an independent program computes in f64.

#![cfg(feature = "gltf")]

#[path = "support/oracle.rs"]
mod oracle;

use std::sync::Arc;

use dermis::Character;
use dermis::gpu::{
    Drive, MeshOptions, Method, PartId, Pipelines, RigDescriptor, SkinnedVertices, Skinner, SkinnerDescriptor,
    read_vertices,
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
    pipelines: &Arc<Pipelines>,
    character: &Character,
    case: &oracle::Case,
    method: Method,
) -> Vec<SkinnedVertices> {
    let mut skinner =
        Skinner::new(device, &SkinnerDescriptor { pipelines: Some(pipelines.clone()), ..Default::default() }).unwrap();
    let descriptor = RigDescriptor { rig: &character.rig, skins: &character.skins, clips: &[] };
    let rig = skinner.add_rig(&descriptor).unwrap();
    let options = MeshOptions { precision: Precision::Fine, method, ..MeshOptions::default() };
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
    let pipelines = Arc::new(Pipelines::new(&device));
    let mut bad = Vec::new();
    let mut worst = oracle::Worst::default();
    let cases = oracle::cases(&shared);
    for case in &cases {
        let character = case.load(&shared);
        let skinned = skin(&device, &queue, &pipelines, &character, case, Method::Linear);
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

/// The same cases by dual quaternions, against the reference from the model's own influences, in f64.
#[test]
fn every_case_by_dual_quaternions() {
    let Some(shared) = oracle::shared() else { return };
    let (device, queue) = device();
    let pipelines = Arc::new(Pipelines::new(&device));
    let (mut worst, mut apart) = (0_f64, 0);
    for case in &oracle::cases(&shared) {
        let character = case.load(&shared);
        let dual = skin(&device, &queue, &pipelines, &character, case, Method::DualQuaternion);
        let linear = skin(&device, &queue, &pipelines, &character, case, Method::Linear);
        let pose = case.pose(&character);
        let unit = |q: [f64; 4]| q.map(|x| x / q.iter().map(|x| x * x).sum::<f64>().sqrt());
        let rotations: Vec<_> = pose.joints.iter().map(|j| unit(j.rotation.map(f64::from))).collect();
        for (p, part) in character.parts.iter().enumerate() {
            let (mesh, skin) = (&character.meshes[part.mesh], &character.skins[part.skin]);
            let palette = dermis::pose::skin_palette(&character.rig, skin, &pose).unwrap();
            let palette: Vec<_> = palette.iter().map(|m| m.rows.map(|r| r.map(f64::from))).collect();
            let turns = dermis::reference::turns(&character.rig, skin, &rotations);
            let (clean, _) = dermis::influence::clean(&mesh.influences, skin.joints.len()).unwrap();
            let weights = case.morph_weights(&character, p);
            let mut positions: Vec<[f64; 3]> = mesh.positions.iter().map(|p| p.map(f64::from)).collect();
            for (target, weight) in mesh.morphs.iter().zip(&weights) {
                for d in &target.deltas {
                    let p = &mut positions[d.vertex as usize];
                    (0..3).for_each(|k| p[k] += f64::from(*weight) * f64::from(d.position[k]));
                }
            }
            let mut size = palette.iter().flatten().fold(0_f64, |a, row| a.max(row[3].abs()));
            size = dual[p].positions.iter().flatten().fold(size, |a, x| a.max(f64::from(x.abs())));
            for (v, &position) in positions.iter().enumerate() {
                let mut list: Vec<_> = clean.of(v).iter().map(|e| (e.joint as usize, f64::from(e.weight))).collect();
                if list.len() > 8 {
                    continue;
                }
                list.sort_by(|a, b| b.1.total_cmp(&a.1));
                let rest = dermis::reference::Vertex {
                    position,
                    normal: mesh.normals[v].map(f64::from),
                    tangent: mesh.tangents[v].map(f64::from),
                };
                let (expected, _) = dermis::reference::skin_dual(&rest, &list, &palette, &turns);
                let (got, flat) = (dual[p].positions[v], linear[p].positions[v]);
                for k in 0..3 {
                    let error = (expected.position[k] - f64::from(got[k])).abs() / size;
                    worst = worst.max(error);
                    // Weights as stored are off by up to 3e-7 each, or 3.3e-6 with eight; f32 rounding is below that.
                    assert!(error < 1e-5, "{} vertex {v}: {got:?} instead of {:?}", case.file, expected.position);
                    apart += usize::from((got[k] - flat[k]).abs() > 1e-3 * size as f32);
                }
            }
        }
    }
    println!("worst {worst:.1e} of the size; {apart} coordinates differ from linear blending by more than 1e-3 of it");
    assert!(apart > 1000);
}

#[test]
fn a_baked_glb_holds_the_same_vertices_and_surfaces() {
    let Some(shared) = oracle::shared() else { return };
    let (device, queue) = device();
    let pipelines = Arc::new(Pipelines::new(&device));
    for case in oracle::cases(&shared).iter().filter(|c| c.time > 0.0) {
        let character = case.load(&shared);
        let skinned = skin(&device, &queue, &pipelines, &character, case, Method::Linear);
        let bytes = dermis::io::bake_glb(&character, &skinned).unwrap();
        let mut none = |uri: &str| Err(format!("{uri} is not needed"));
        let baked = dermis::io::load_bytes("baked.glb", &bytes, &mut none).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(baked.warnings, [""; 0], "{}", case.model);
        assert_eq!(baked.images, character.images);
        assert_eq!(baked.materials, character.materials);
        assert_eq!(baked.parts.len(), character.parts.len());
        for ((part, vertices), old) in baked.parts.iter().zip(&skinned).zip(&character.parts) {
            assert!(part.rigid);
            let (mesh, old) = (&baked.meshes[part.mesh], &character.meshes[old.mesh]);
            assert_eq!(mesh.positions, vertices.positions);
            assert_eq!(mesh.uvs, old.uvs);
            assert_eq!(mesh.colors, old.colors);
            assert_eq!(mesh.indices.len(), old.indices.len());
            // Normals are made unit again, a rounding apart.
            for (a, b) in mesh.normals.as_flattened().iter().zip(vertices.normals.as_flattened()) {
                assert!((a - b).abs() < 1e-6, "{a} {b}");
            }
            // Triangles face the way their normals point, at least nearly everywhere, mirrored joints or not.
            let side = |mesh: &dermis::character::Mesh, corners: &[u32]| {
                let [a, b, c] = [0, 1, 2].map(|k| mesh.positions[corners[k] as usize]);
                let (u, v) = ([0, 1, 2].map(|k| b[k] - a[k]), [0, 1, 2].map(|k| c[k] - a[k]));
                let n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
                corners
                    .iter()
                    .flat_map(|&i| (0..3).map(move |k| (i, k)))
                    .map(|(i, k)| n[k] * mesh.normals[i as usize][k])
                    .sum::<f32>()
                    < 0.0
            };
            let inside = |mesh: &dermis::character::Mesh| mesh.indices.chunks(3).filter(|t| side(mesh, t)).count();
            let (before, after) = (inside(old), inside(mesh));
            assert!(after <= before + mesh.indices.len() / 300, "{}: {after} inside out, before {before}", case.model);
        }
    }
}
