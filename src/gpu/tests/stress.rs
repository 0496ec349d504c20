//! Large scenes: many characters, many meshes and rigs, more output than one binding holds, and much coming and going.
//! The sizes are such that software adapters take seconds; the ignored one is full size.

use super::scene::{MeshKind, Scene, compare_one, frame, mesh, palette, rig};
use super::{Random, device, device_with};
use crate::character::{Channel, Clip, Interpolation, Target};
use crate::gpu::{CharacterId, Drive, MeshOptions, Method, RigDescriptor, Skinner, SkinnerDescriptor, read_vertices};
use crate::influence::Precision;

const KIND: MeshKind = MeshKind { vertices: 29, joints: 19, width: 4, precision: Precision::Compact, targets: 0 };

fn clip(joints: u32, random: &mut Random) -> Clip {
    let channel = |joint| Channel {
        target: Target::Rotation(joint as usize),
        interpolation: Interpolation::Linear,
        times: vec![0.0, 0.5, 1.3],
        width: 4,
        values: (0..3)
            .flat_map(|_| glam::Quat::from_axis_angle(random.direction(), random.unit()).to_array())
            .collect(),
    };
    Clip { name: "turn".into(), duration: 1.3, channels: (0..joints).map(channel).collect() }
}

/// `count` characters, each at its own time of one clip: one pose dispatch, one skin dispatch per page, and the vertices of
/// each character alone.
fn crowd(vertices: usize, count: usize, frames: usize) {
    let (device, queue) = device();
    let mut random = Random::new(77);
    let test_mesh = mesh(MeshKind { vertices, ..KIND }, &mut random);
    let (nodes, skins) = rig(KIND.joints);
    let clips = [clip(KIND.joints, &mut random)];
    let descriptor = RigDescriptor { rig: &nodes, skins: &skins, clips: &clips };
    let options = MeshOptions { max_influences: 4, ..MeshOptions::default() };
    let start = |i: usize| -0.013 * i as f64;
    let spawn = |skinner: &mut Skinner, which: &[usize]| -> Vec<CharacterId> {
        let rig = skinner.add_rig(&descriptor).unwrap();
        let mesh = skinner.add_mesh_with(&queue, &test_mesh.mesh, options).unwrap();
        let one = |&i: &usize| {
            let character = skinner.spawn(rig, &[mesh.into()]).unwrap();
            skinner.drive(character, Drive::Clip { clip: 0, start: start(i), looping: true }).unwrap();
            character
        };
        which.iter().map(one).collect()
    };
    let mut skinner = Skinner::new(&device, &SkinnerDescriptor::default()).unwrap();
    let everybody: Vec<usize> = (0..count).collect();
    let characters = spawn(&mut skinner, &everybody);
    let pages = characters.iter().map(|&c| skinner.vertices(c, 0).unwrap().page).max().unwrap() + 1;
    for i in 0..frames {
        frame(&device, &queue, &mut skinner, 0.1 * i as f64);
        assert_eq!(skinner.pose_dispatch_count(), 1);
        assert_eq!(skinner.dispatch_count(), pages as usize, "one variant: a dispatch per page");
    }
    let memory = skinner.memory();
    frame(&device, &queue, &mut skinner, 7.77);
    assert_eq!(skinner.memory(), memory);
    let sampled: Vec<usize> = (0..count).step_by(count / 7).chain([count - 1]).collect();
    for &i in &sampled {
        let together = read_vertices(&device, &queue, &skinner.vertices(characters[i], 0).unwrap()).unwrap();
        let mut solo = Skinner::new(&device, &SkinnerDescriptor::default()).unwrap();
        let alone = spawn(&mut solo, &[i])[0];
        frame(&device, &queue, &mut solo, 7.77);
        let alone = read_vertices(&device, &queue, &solo.vertices(alone, 0).unwrap()).unwrap();
        assert!(alone == together, "character {i}, bit for bit");
    }
}

#[test]
fn ten_thousand_characters_are_one_dispatch_each_for_posing_and_skinning() {
    crowd(29, 10_000, 2);
}

#[test]
#[ignore = "takes 700 MB; the gate runs it by itself"]
fn ten_thousand_characters_of_full_size() {
    crowd(3273, 10_000, 1);
}

#[test]
fn two_hundred_meshes_and_rigs_are_right_at_once() {
    let (device, queue) = device();
    let kinds: Vec<MeshKind> = (0..200)
        .map(|i| MeshKind {
            vertices: 3 + 7 * (i % 31),
            joints: 9 + (i as u32 * 13) % 290,
            width: [1, 2, 4, 8][i % 4],
            precision: if i % 3 == 0 { Precision::Fine } else { Precision::Compact },
            targets: if i % 5 == 0 { 3 } else { 0 },
        })
        .collect();
    let scene = Scene::new(&kinds, 401, 5);
    let worst = scene.compare(&scene.skin(&device, &queue, None)).unwrap();
    println!("200 meshes: {:.0} % of the tolerance", 100.0 * worst);
}

#[test]
fn more_output_than_one_binding_holds() {
    let limits =
        wgpu::Limits { max_storage_buffer_binding_size: 1 << 27, max_buffer_size: 1 << 27, ..Default::default() };
    let (device, queue) = device_with(limits);
    let mut random = Random::new(13);
    let test_mesh = mesh(MeshKind { vertices: 250_003, joints: 7, ..KIND }, &mut random);
    let mut skinner = Skinner::new(&device, &SkinnerDescriptor::default()).unwrap();
    let (nodes, skins) = rig(7);
    let rig_id = skinner.add_rig(&RigDescriptor { rig: &nodes, skins: &skins, clips: &[] }).unwrap();
    let mesh_id = skinner.add_mesh(&queue, &test_mesh.mesh).unwrap();
    // 5 MB each.
    let poses: Vec<_> = (0..29).map(|i| palette(7, i % 3 == 0, &mut random)).collect();
    let characters: Vec<_> = poses.iter().map(|_| skinner.spawn(rig_id, &[mesh_id.into()]).unwrap()).collect();
    for (&character, pose) in characters.iter().zip(&poses) {
        skinner.drive(character, Drive::Palette(0, pose)).unwrap();
    }
    assert!(skinner.memory().outputs.used > 1 << 27);
    frame(&device, &queue, &mut skinner, 0.0);
    let pages = characters.iter().map(|&c| skinner.vertices(c, 0).unwrap().page).max().unwrap() as usize + 1;
    assert!(pages > 1 && skinner.dispatch_count() == pages, "{pages} pages");
    for i in [0, 14, 28] {
        let got = read_vertices(&device, &queue, &skinner.vertices(characters[i], 0).unwrap()).unwrap();
        compare_one(&test_mesh, &poses[i], &[], Method::Linear, &got).unwrap();
    }
}

#[test]
fn a_hundred_thousand_come_and_go() {
    let (device, queue) = device();
    let mut random = Random::new(2024);
    let mut skinner = Skinner::new(&device, &SkinnerDescriptor { bounds: true, ..Default::default() }).unwrap();
    let kinds = [KIND, MeshKind { vertices: 131, targets: 2, ..KIND }, MeshKind { vertices: 3, width: 1, ..KIND }];
    let scene = Scene::new(&kinds, 30, 8);
    let (nodes, skins) = rig(KIND.joints);
    let clips = [clip(KIND.joints, &mut random)];
    let rig_id = skinner.add_rig(&RigDescriptor { rig: &nodes, skins: &skins, clips: &clips }).unwrap();
    let meshes: Vec<_> = scene.meshes.iter().map(|m| skinner.add_mesh(&queue, &m.mesh).unwrap()).collect();
    // Never more than this many at once, so that memory has no reason to grow after the first.
    let most = 150;
    let mut live: Vec<(CharacterId, usize)> = Vec::new();
    let mut settled = None;
    let mut spawned = 0;
    while spawned < 100_000 {
        if live.len() == most || (!live.is_empty() && random.below(100) < 48) {
            let (character, _) = live.swap_remove(random.below(live.len() as u32) as usize);
            skinner.despawn(character).unwrap();
            continue;
        }
        let i = random.below(31) as usize;
        let instance = &scene.instances[i];
        let character = skinner.spawn(rig_id, &[meshes[instance.mesh].into()]).unwrap();
        if random.below(3) == 0 {
            // Some never get to what they were spawned for.
            skinner.drive(character, Drive::Clip { clip: 0, start: 0.0, looping: true }).unwrap();
        }
        skinner.drive(character, Drive::Palette(0, &instance.palette)).unwrap();
        skinner.set_morph_weights(character, 0, &instance.weights).unwrap();
        live.push((character, i));
        spawned += 1;
        if spawned % 100 == 0 {
            frame(&device, &queue, &mut skinner, f64::from(spawned));
        }
        if spawned == 20_000 {
            settled = Some(skinner.memory().total().allocated);
        }
        if spawned % 20_000 == 0 {
            for &(character, i) in live.iter().step_by(7) {
                let instance = &scene.instances[i];
                let got = read_vertices(&device, &queue, &skinner.vertices(character, 0).unwrap()).unwrap();
                compare_one(&scene.meshes[instance.mesh], &instance.palette, &instance.weights, Method::Linear, &got)
                    .unwrap();
            }
        }
    }
    assert_eq!(Some(skinner.memory().total().allocated), settled, "{:?}", skinner.memory());
    live.iter().for_each(|&(character, _)| skinner.despawn(character).unwrap());
    let memory = skinner.memory();
    assert_eq!((memory.outputs.used, memory.palettes.used, memory.bounds.used, memory.characters.used), (0, 0, 0, 0));
}
