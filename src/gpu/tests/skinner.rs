//! What a host can do to a skinner: wrong calls, hiding, removing, sharing, playing.

use super::scene::{MeshKind, Scene, frame, mesh, palette, rig};
use super::{Random, device};
use crate::Error;
use crate::character::{Channel, Clip, Interpolation, Target};
use crate::gpu::{Drive, PartId, RigDescriptor, Skinner, SkinnerDescriptor, read_vertices};
use crate::influence::Precision;
use crate::math::Affine;

const KIND: MeshKind = MeshKind { vertices: 131, joints: 7, width: 4, precision: Precision::Compact, targets: 0 };

#[test]
fn wrong_calls_are_errors_and_break_nothing() {
    let (device, queue) = device();
    let mut random = Random::new(3);
    let mut skinner = Skinner::new(&device, &SkinnerDescriptor::default()).unwrap();
    let mut other = Skinner::new(&device, &SkinnerDescriptor::default()).unwrap();
    let (nodes, skins) = rig(7);
    let rig_id = skinner.add_rig(&RigDescriptor { rig: &nodes, skins: &skins, clips: &[] }).unwrap();
    let mesh_id = skinner.add_mesh(&queue, &mesh(KIND, &mut random).mesh).unwrap();
    let big = skinner.add_mesh(&queue, &mesh(MeshKind { joints: 8, ..KIND }, &mut random).mesh).unwrap();

    assert!(matches!(other.spawn(rig_id, &[mesh_id.into()]), Err(Error::StaleId { .. })));
    assert!(matches!(skinner.spawn(rig_id, &[big.into()]), Err(Error::OutOfRange { index: 7, count: 7, .. })));
    let no_skin = PartId { mesh: mesh_id, skin: 1 };
    assert!(matches!(skinner.spawn(rig_id, &[no_skin]), Err(Error::OutOfRange { .. })));

    let hero = skinner.spawn(rig_id, &[mesh_id.into()]).unwrap();
    assert!(matches!(other.vertices(hero, 0), Err(Error::StaleId { .. })));
    assert!(matches!(skinner.vertices(hero, 1), Err(Error::OutOfRange { .. })));
    let short = vec![Affine::IDENTITY; 6];
    assert!(matches!(skinner.drive(hero, Drive::Palette(0, &short)), Err(Error::LengthMismatch { .. })));
    let mut broken = vec![Affine::IDENTITY; 7];
    broken[3].rows[1][2] = f32::NAN;
    assert!(matches!(skinner.drive(hero, Drive::Palette(0, &broken)), Err(Error::NotFinite { index: 3, .. })));
    assert!(matches!(
        skinner.drive(hero, Drive::Clip { clip: 0, start: 0.0, looping: true }),
        Err(Error::OutOfRange { .. })
    ));
    assert!(matches!(skinner.set_morph_weights(hero, 0, &[1.0]), Err(Error::LengthMismatch { .. })));

    skinner.despawn(hero).unwrap();
    assert!(matches!(skinner.despawn(hero), Err(Error::StaleId { .. })));
    let next = skinner.spawn(rig_id, &[mesh_id.into()]).unwrap();
    assert!(matches!(skinner.vertices(hero, 0), Err(Error::StaleId { .. })));
    assert!(skinner.vertices(next, 0).is_ok());
}

#[test]
fn unchanged_characters_cost_no_dispatch_and_hidden_ones_keep_their_vertices() {
    let (device, queue) = device();
    let scene = Scene::new(&[KIND], 5, 21);
    let mut skinner = Skinner::new(&device, &SkinnerDescriptor::default()).unwrap();
    let characters = scene.spawn(&mut skinner, &queue);
    frame(&device, &queue, &mut skinner, 0.0);
    let read = |skinner: &Skinner, c| read_vertices(&device, &queue, &skinner.vertices(c, 0).unwrap()).unwrap();
    let before = read(&skinner, characters[0]);

    frame(&device, &queue, &mut skinner, 1.0);
    assert_eq!(skinner.dispatch_count(), 0, "nothing changed");

    skinner.set_visible(characters[0], false).unwrap();
    let moved = palette(7, false, &mut Random::new(5));
    skinner.drive(characters[0], Drive::Palette(0, &moved)).unwrap();
    frame(&device, &queue, &mut skinner, 2.0);
    assert_eq!(read(&skinner, characters[0]), before);

    skinner.set_visible(characters[0], true).unwrap();
    // Prepared twice before it is recorded: the change must not get lost.
    skinner.prepare(&device, &queue, 3.0);
    frame(&device, &queue, &mut skinner, 3.0);
    assert_ne!(read(&skinner, characters[0]), before);
}

#[test]
fn vertices_do_not_depend_on_what_else_is_in_the_scene() {
    let (device, queue) = device();
    let scene = super::matrix::mixed_scene();
    let together = scene.skin(&device, &queue, None);
    for i in [0, 3, 40] {
        let instance = &scene.instances[i];
        let test_mesh = &scene.meshes[instance.mesh];
        let mut skinner = Skinner::new(&device, &SkinnerDescriptor::default()).unwrap();
        let (nodes, skins) = rig(test_mesh.kind.joints);
        let rig_id = skinner.add_rig(&RigDescriptor { rig: &nodes, skins: &skins, clips: &[] }).unwrap();
        let (max_influences, precision) = (test_mesh.kind.width, test_mesh.kind.precision);
        let options = crate::gpu::MeshOptions { max_influences, precision, method: scene.method };
        let mesh_id = skinner.add_mesh_with(&queue, &test_mesh.mesh, options).unwrap();
        let alone = skinner.spawn(rig_id, &[mesh_id.into()]).unwrap();
        skinner.drive(alone, Drive::Palette(0, &instance.palette)).unwrap();
        skinner.set_morph_weights(alone, 0, &instance.weights).unwrap();
        frame(&device, &queue, &mut skinner, 0.0);
        let got = read_vertices(&device, &queue, &skinner.vertices(alone, 0).unwrap()).unwrap();
        assert_eq!(got, together[i], "instance {i}, bit for bit");
    }
}

#[test]
fn ranges_are_reused_and_nothing_is_written_to_the_wrong_place() {
    let (device, queue) = device();
    let mut random = Random::new(99);
    let mut skinner = Skinner::new(&device, &SkinnerDescriptor::default()).unwrap();
    let (nodes, skins) = rig(7);
    let rig_id = skinner.add_rig(&RigDescriptor { rig: &nodes, skins: &skins, clips: &[] }).unwrap();
    let scene = Scene::new(&[KIND, MeshKind { vertices: 64, targets: 2, ..KIND }], 12, 4);
    let meshes: Vec<_> = scene.meshes.iter().map(|m| skinner.add_mesh(&queue, &m.mesh).unwrap()).collect();
    let mut live = Vec::new();
    for step in 0..3000 {
        if live.len() > 11 || (!live.is_empty() && random.below(5) < 2) {
            let (character, _) = live.swap_remove(random.below(live.len() as u32) as usize);
            skinner.despawn(character).unwrap();
        } else {
            let mut i = random.below(12) as usize;
            if i == scene.spare {
                i += 1;
            }
            let instance = &scene.instances[i];
            let character = skinner.spawn(rig_id, &[meshes[instance.mesh].into()]).unwrap();
            skinner.drive(character, Drive::Palette(0, &instance.palette)).unwrap();
            skinner.set_morph_weights(character, 0, &instance.weights).unwrap();
            live.push((character, i));
        }
        if step % 500 == 499 {
            frame(&device, &queue, &mut skinner, f64::from(step));
            let mut got: Vec<_> = scene.instances.iter().map(|_| None).collect();
            for &(character, i) in &live {
                got[i] = Some(read_vertices(&device, &queue, &skinner.vertices(character, 0).unwrap()).unwrap());
            }
            let fresh = scene.skin(&device, &queue, None);
            for (i, got) in got.into_iter().enumerate() {
                assert!(got.is_none_or(|g| g == fresh[i]), "instance {i} at step {step}");
            }
        }
    }
    assert_eq!(skinner.outputs.pages.len(), 1, "12 characters of 131 vertices need no second page");
}

#[test]
fn a_clip_plays_by_itself_and_stops_costing_at_its_end() {
    let (device, queue) = device();
    let mut skinner = Skinner::new(&device, &SkinnerDescriptor::default()).unwrap();
    let (nodes, skins) = rig(7);
    let clip = Clip {
        name: "slide".into(),
        duration: 2.0,
        channels: vec![Channel {
            target: Target::Translation(0),
            interpolation: Interpolation::Linear,
            times: vec![0.0, 2.0],
            width: 3,
            values: vec![0.0, 0.0, 0.0, 8.0, 0.0, 0.0],
        }],
    };
    let rig_id = skinner.add_rig(&RigDescriptor { rig: &nodes, skins: &skins, clips: &[clip] }).unwrap();
    let mut test_mesh = mesh(KIND, &mut Random::new(1)).mesh;
    test_mesh.influences = crate::influence::Influences::rigid(KIND.vertices, 0);
    let mesh_id = skinner.add_mesh(&queue, &test_mesh).unwrap();
    let hero = skinner.spawn(rig_id, &[mesh_id.into()]).unwrap();
    skinner.drive(hero, Drive::Clip { clip: 0, start: 10.0, looping: false }).unwrap();
    let mut x = |seconds: f64| {
        frame(&device, &queue, &mut skinner, seconds);
        let got = read_vertices(&device, &queue, &skinner.vertices(hero, 0).unwrap()).unwrap();
        (got.positions[0][0] - test_mesh.positions[0][0], skinner.dispatch_count())
    };
    let near = |a: (f32, usize), b: (f32, usize)| assert!((a.0 - b.0).abs() < 1e-5 && a.1 == b.1, "{a:?} {b:?}");
    near(x(9.0), (0.0, 1));
    near(x(10.5), (2.0, 1));
    near(x(12.5), (8.0, 1));
    near(x(13.0), (8.0, 0));

    // It ends while it is hidden.
    let late = skinner.spawn(rig_id, &[mesh_id.into()]).unwrap();
    skinner.drive(late, Drive::Clip { clip: 0, start: 20.0, looping: false }).unwrap();
    for (seconds, visible) in [(20.5, true), (22.5, false), (23.0, false), (24.0, true)] {
        skinner.set_visible(late, visible).unwrap();
        frame(&device, &queue, &mut skinner, seconds);
    }
    let got = read_vertices(&device, &queue, &skinner.vertices(late, 0).unwrap()).unwrap();
    assert!((got.positions[0][0] - test_mesh.positions[0][0] - 8.0).abs() < 1e-5, "{:?}", got.positions[0]);
}

#[test]
fn singular_and_extreme_palettes_give_finite_vertices() {
    let (device, queue) = device();
    let mut scene = Scene::new(&[KIND], 5, 8);
    let scaled = |s: [f32; 3]| Affine { rows: [[s[0], 0.0, 0.0, 1.0], [0.0, s[1], 0.0, 2.0], [0.0, 0.0, s[2], 3.0]] };
    let maps =
        [[0.0; 3], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1e-20, 1e-20, 1e-20], [1e15, 1e-15, 1.0], [-1.0, 1.0, 1.0]];
    for (instance, scale) in scene.instances.iter_mut().zip(maps) {
        instance.palette = vec![scaled(scale); 7];
    }
    scene.spare = usize::MAX;
    for got in scene.skin(&device, &queue, None) {
        assert!(got.positions.iter().flatten().all(|x| x.is_finite()));
        let unit = |v: &[f32]| (v.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-3;
        assert!(got.normals.iter().all(|n| unit(n)) && got.tangents.iter().all(|t| unit(&t[..3])));
    }
}
