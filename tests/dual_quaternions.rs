//! What dual quaternion skinning is for, from rig to vertices as a host has it: volume under twist, in every kind of drive,
//! next to linear meshes on the same character.

use std::f32::consts::PI;

use dermis::character::{Channel, Clip, Interpolation, Mesh, Rig, RigNode, Skin, Target};
use dermis::gpu::{
    CharacterId, Drive, MeshOptions, Method, PartId, RigDescriptor, SkinnedVertices, Skinner, SkinnerDescriptor,
    read_vertices,
};
use dermis::influence::{Influence, Influences};
use dermis::pose::{Corner, Outside, Pose, PoseSpace, PoseSpaceDescriptor, Sample, SpaceState, skin_palette};
use dermis::{Affine, Transform, wgpu};

/// A machine without an adapter fails the test.
fn device() -> (wgpu::Device, wgpu::Queue) {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
    let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))
        .expect("tests need a graphics adapter; a software one will do (Debian: apt install mesa-vulkan-drivers)");
    pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor::default())).expect("a device")
}

const RINGS: usize = 31;
const SIDES: usize = 17;
const RADIUS: f32 = 0.5;

/// A cylinder about y from 0 to 2; its weights pass from the first joint to the second along its length.
fn cylinder() -> Mesh {
    let mut mesh = Mesh::default();
    let mut lists = Vec::new();
    for ring in 0..RINGS {
        let along = ring as f32 / (RINGS - 1) as f32;
        for side in 0..SIDES {
            let (s, c) = (2.0 * PI * side as f32 / SIDES as f32).sin_cos();
            mesh.positions.push([RADIUS * c, 2.0 * along, RADIUS * s]);
            mesh.normals.push([c, 0.0, s]);
            mesh.tangents.push([0.0, 1.0, 0.0, 1.0]);
            lists.push([Influence { joint: 0, weight: 1.0 - along }, Influence { joint: 1, weight: along }]);
        }
    }
    mesh.influences = Influences::from_vertices(lists.iter().map(<[_; 2]>::as_slice));
    mesh
}

/// About y.
fn turn(angle: f32) -> [f32; 4] {
    let (s, c) = (0.5 * f64::from(angle)).sin_cos();
    [0.0, s as f32, 0.0, c as f32]
}

fn inverse_bind(height: f32) -> Affine {
    let mut m = Affine::IDENTITY;
    m.rows[1][3] = -height;
    m
}

/// Two joints on the axis, the second in the middle; a clip twists it by `angle` in a second.
fn limb(angle: f32) -> (Rig, Vec<Skin>, Vec<Clip>) {
    let rest = Transform { translation: [0.0, 1.0, 0.0], ..Transform::IDENTITY };
    let nodes = vec![RigNode::default(), RigNode { parent: Some(0), rest, ..RigNode::default() }];
    let skin =
        Skin { joints: vec![0, 1], inverse_binds: vec![inverse_bind(0.0), inverse_bind(1.0)], ..Skin::default() };
    // In three steps, so that the shorter way between two keys is this one.
    let keys = [0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0];
    let channel = Channel {
        target: Target::Rotation(1),
        interpolation: Interpolation::Linear,
        times: keys.to_vec(),
        width: 4,
        values: keys.iter().flat_map(|t| turn(t * angle)).collect(),
    };
    let clip = Clip { name: "twist".into(), duration: 1.0, channels: vec![channel] };
    (Rig { nodes }, vec![skin], vec![clip])
}

fn twisted(rig: &Rig, angle: f32) -> Pose {
    let mut pose = Pose::rest(rig);
    pose.joints[1].rotation = turn(angle);
    pose
}

fn frame(device: &wgpu::Device, queue: &wgpu::Queue, skinner: &mut Skinner, seconds: f64) {
    skinner.prepare(device, queue, seconds);
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    skinner.record(&mut encoder);
    queue.submit([encoder.finish()]);
}

/// Least and greatest distance from the axis, and the greatest angle between normals and the way out.
fn measure(vertices: &SkinnedVertices) -> (f32, f32, f32) {
    let (mut least, mut greatest, mut tilt) = (f32::MAX, 0_f32, 0_f32);
    for (p, n) in vertices.positions.iter().zip(&vertices.normals) {
        let radius = p[0].hypot(p[2]);
        (least, greatest) = (least.min(radius), greatest.max(radius));
        let out = [p[0] / radius, 0.0, p[2] / radius];
        let sine = [n[1] * out[2], n[2] * out[0] - n[0] * out[2], -n[1] * out[0]];
        tilt = tilt.max(sine.iter().map(|x| x * x).sum::<f32>().sqrt());
    }
    (least, greatest, tilt)
}

#[test]
fn a_twisted_cylinder_keeps_its_radius_where_linear_blending_collapses_it() {
    let (device, queue) = device();
    for degrees in [90.0_f32, 179.0, 180.0] {
        let angle = degrees.to_radians();
        let (rig, skins, clips) = limb(angle);
        let mut skinner = Skinner::new(&device, &SkinnerDescriptor::default()).unwrap();
        let id = skinner.add_rig(&RigDescriptor { rig: &rig, skins: &skins, clips: &clips }).unwrap();
        let mesh = cylinder();
        let options = MeshOptions { method: Method::DualQuaternion, ..MeshOptions::default() };
        let dual = skinner.add_mesh_with(&queue, &mesh, options).unwrap();
        let linear = skinner.add_mesh(&queue, &mesh).unwrap();
        let sample = |name: &str, angle| Sample { name: name.into(), pose: twisted(&rig, angle), texture: None };
        let corner = |at, sample| Corner { at, samples: vec![sample] };
        let descriptor = PoseSpaceDescriptor {
            name: String::new(),
            dimensions: 2,
            corners: vec![corner([0.0, 0.0, 0.0], 0), corner([1.0, 0.0, 0.0], 1), corner([0.0, 1.0, 0.0], 2)],
            samples: vec![sample("rest", 0.0), sample("half", 0.5 * angle), sample("twisted", angle)],
            default: 0,
            groups: Vec::new(),
            limits: Vec::new(),
            outside: Outside::Clamp,
            leaders: vec![None; 2],
        };
        let pose_space = PoseSpace::new(&rig, descriptor).unwrap();
        let space = skinner.add_space(id, &pose_space).unwrap();
        let mut state = SpaceState::new(&pose_space);
        state.set_point([0.0, 1.0, 0.0]).unwrap();

        let pose = twisted(&rig, angle);
        let palette = skin_palette(&rig, &skins[0], &pose).unwrap();
        let drives = [
            ("local", Drive::Local(&pose)),
            ("palette", Drive::Palette(0, &palette)),
            ("clip", Drive::Clip { clip: 0, start: -1.0, looping: false }),
            ("space", Drive::Space { space, state: &state }),
        ];
        let spawned: Vec<CharacterId> =
            drives.iter().map(|_| skinner.spawn(id, &[dual.into(), linear.into()]).unwrap()).collect();
        for (&character, (_, drive)) in spawned.iter().zip(drives) {
            skinner.drive(character, drive).unwrap();
        }
        frame(&device, &queue, &mut skinner, 0.0);
        assert_eq!(skinner.dispatch_count(), 2, "one per method");
        for (&character, (name, _)) in spawned.iter().zip(drives) {
            let read = |part| read_vertices(&device, &queue, &skinner.vertices(character, part).unwrap()).unwrap();
            let (least, greatest, tilt) = measure(&read(0));
            println!("{degrees}° {name}: radius {least}…{greatest} of {RADIUS}, normals off by {tilt:.1e} rad");
            assert!((least - RADIUS).abs() < 1e-4 && (greatest - RADIUS).abs() < 1e-4, "{degrees}° {name}");
            // Half a step of the packing.
            assert!(tilt < 1e-4, "{degrees}° {name}: {tilt}");
            let (least, greatest, _) = measure(&read(1));
            println!("  linear: radius {least}…{greatest}");
            // The mean of two unit vectors this far apart.
            let expected = RADIUS * (0.5 * angle).cos();
            assert!((least - expected).abs() < 1e-4 && (greatest - RADIUS).abs() < 1e-4, "{degrees}° {name}: {least}");
        }
    }
}

/// Without scale both methods agree where one joint has all the weight, and a mesh's method is its own affair.
#[test]
fn methods_do_not_disturb_each_other_on_one_character() {
    let (device, queue) = device();
    let (rig, skins, clips) = limb(2.0);
    let skins = [skins[0].clone(), Skin { joints: vec![1, 0], ..skins[0].clone() }];
    let dual = MeshOptions { method: Method::DualQuaternion, ..MeshOptions::default() };
    let mesh = cylinder();
    let all = [(MeshOptions::default(), 0), (dual, 0), (MeshOptions::default(), 1), (dual, 1)];
    let skin = |parts: &[(MeshOptions, usize)]| {
        let mut skinner = Skinner::new(&device, &SkinnerDescriptor::default()).unwrap();
        let id = skinner.add_rig(&RigDescriptor { rig: &rig, skins: &skins, clips: &clips }).unwrap();
        let mut part = |&(options, skin)| PartId { mesh: skinner.add_mesh_with(&queue, &mesh, options).unwrap(), skin };
        let parts: Vec<PartId> = parts.iter().map(&mut part).collect();
        let mut out = Vec::new();
        for local in [false, true] {
            let character = skinner.spawn(id, &parts).unwrap();
            let pose = twisted(&rig, 2.0);
            let drive = if local { Drive::Local(&pose) } else { Drive::Clip { clip: 0, start: 9.0, looping: false } };
            skinner.drive(character, drive).unwrap();
            frame(&device, &queue, &mut skinner, 9.7);
            let read = |part| read_vertices(&device, &queue, &skinner.vertices(character, part).unwrap()).unwrap();
            out.push((0..parts.len()).map(read).collect::<Vec<_>>());
        }
        out
    };
    let together = skin(&all);
    for (i, part) in all.into_iter().enumerate() {
        let alone = skin(&[part]);
        for (t, a) in together.iter().zip(&alone) {
            assert!(t[i] == a[0], "part {i}, bit for bit");
        }
    }
    for vertices in &together {
        assert!(vertices[0] != vertices[1] && vertices[2] != vertices[3], "the methods differ");
        for v in (0..SIDES).chain((RINGS - 1) * SIDES..RINGS * SIDES) {
            let (a, b) = (vertices[0].positions[v], vertices[1].positions[v]);
            assert!((0..3).all(|k| (a[k] - b[k]).abs() < 1e-6), "vertex {v}: {a:?} {b:?}");
        }
    }
}

/// Bones that grow while they bend: the skin stays on the joint between them. Blended apart and applied about the origin, the
/// scale of the forearm would carry the elbow off by a tenth of its height.
#[test]
fn a_bent_elbow_stays_in_place_while_the_forearm_grows() {
    let (device, queue) = device();
    let (rig, skins, _) = limb(0.0);
    let mut mesh = cylinder();
    // The axis itself, lying in the elbow whatever its weights.
    mesh.positions.iter_mut().for_each(|p| *p = [0.0, 1.0, 0.0]);
    let mut pose = Pose::rest(&rig);
    pose.joints[1].rotation = [0.0, 0.0, 0.5_f32.sqrt(), 0.5_f32.sqrt()];
    pose.joints[1].scale = [1.5, 1.2, 1.5];
    pose.joints[1].thickness = 1.3;
    pose.joints[0].rotation = [0.5; 4];
    let mut skinner = Skinner::new(&device, &SkinnerDescriptor::default()).unwrap();
    let id = skinner.add_rig(&RigDescriptor { rig: &rig, skins: &skins, clips: &[] }).unwrap();
    let options = MeshOptions { method: Method::DualQuaternion, ..MeshOptions::default() };
    let part = skinner.add_mesh_with(&queue, &mesh, options).unwrap();
    let character = skinner.spawn(id, &[part.into()]).unwrap();
    skinner.drive(character, Drive::Local(&pose)).unwrap();
    frame(&device, &queue, &mut skinner, 0.0);
    let got = read_vertices(&device, &queue, &skinner.vertices(character, 0).unwrap()).unwrap();
    // The root turns y to z.
    for p in got.positions {
        assert!(p[0].abs() < 1e-6 && p[1].abs() < 1e-6 && (p[2] - 1.0).abs() < 1e-6, "{p:?}");
    }
}

#[test]
fn singular_and_extreme_maps_give_finite_vertices() {
    let (device, queue) = device();
    let (rig, skins, _) = limb(0.0);
    let mut skinner = Skinner::new(&device, &SkinnerDescriptor::default()).unwrap();
    let id = skinner.add_rig(&RigDescriptor { rig: &rig, skins: &skins, clips: &[] }).unwrap();
    let options = MeshOptions { method: Method::DualQuaternion, ..MeshOptions::default() };
    let part = skinner.add_mesh_with(&queue, &cylinder(), options).unwrap();
    let map = |x: [f32; 3], y: [f32; 3], z: [f32; 3]| Affine { rows: [0, 1, 2].map(|r| [x[r], y[r], z[r], r as f32]) };
    let maps = [
        Affine::IDENTITY,
        map([0.0; 3], [0.0; 3], [0.0; 3]),
        map([1.0, 2.0, 3.0], [0.0; 3], [0.0; 3]),
        map([1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0; 3]),
        map([0.6, 0.8, 0.0], [0.6, 0.8, 0.0], [0.6, 0.8, 0.0]),
        map([1e-20, 0.0, 0.0], [0.0, 1e-20, 0.0], [0.0, 0.0, 1e-20]),
        map([1e15, 0.0, 0.0], [0.0, 1e-15, 0.0], [0.0, 0.0, 1.0]),
        map([-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]),
        map([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]),
    ];
    let mut characters = Vec::new();
    for a in maps {
        for b in maps {
            let character = skinner.spawn(id, &[part.into()]).unwrap();
            skinner.drive(character, Drive::Palette(0, &[a, b])).unwrap();
            characters.push(character);
        }
    }
    // A pose whose scales vanish, on the GPU: the rest pose of a rig of its own.
    let mut flat = rig.clone();
    flat.nodes[0].rest.scale = [1.0, 0.0, -1.0];
    flat.nodes[1].rest.scale = [0.0; 3];
    flat.nodes[1].base = map([0.0; 3], [1.0, 0.0, 0.0], [0.0; 3]);
    let mut skin = skins[0].clone();
    skin.inverse_binds[1] = map([0.0; 3], [0.0; 3], [0.0; 3]);
    let clip = Clip { name: String::new(), duration: 1.0, channels: Vec::new() };
    let id = skinner.add_rig(&RigDescriptor { rig: &flat, skins: &[skin], clips: &[clip] }).unwrap();
    let character = skinner.spawn(id, &[part.into()]).unwrap();
    skinner.drive(character, Drive::Clip { clip: 0, start: 0.0, looping: true }).unwrap();
    characters.push(character);
    frame(&device, &queue, &mut skinner, 0.5);
    for (i, &character) in characters.iter().enumerate() {
        let got = read_vertices(&device, &queue, &skinner.vertices(character, 0).unwrap()).unwrap();
        assert!(got.positions.iter().flatten().all(|x| x.is_finite()), "{i}");
        let unit = |v: &[f32]| (v.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-3;
        assert!(got.normals.iter().all(|n| unit(n)) && got.tangents.iter().all(|t| unit(&t[..3])), "{i}");
    }
}
