//! What a host of many assets does: changing parts, removing, reading back, staying inside a budget.

use super::scene::{MeshKind, Scene, compare_one, frame, mesh, palette, rig};
use super::{Random, device};
use crate::Error;
use crate::gpu::{
    Bounds, Drive, MeshOptions, Method, PartId, RigDescriptor, SkinnedVertices, Skinner, SkinnerDescriptor,
    read_vertices,
};
use crate::influence::Precision;

const KIND: MeshKind = MeshKind { vertices: 131, joints: 7, width: 4, precision: Precision::Compact, targets: 2 };

fn add_rig(skinner: &mut Skinner, joints: u32) -> crate::gpu::RigId {
    let (nodes, skins) = rig(joints);
    skinner.add_rig(&RigDescriptor { rig: &nodes, skins: &skins, clips: &[] }).unwrap()
}

#[test]
fn parts_change_and_what_is_kept_stays() {
    let (device, queue) = device();
    let descriptor = SkinnerDescriptor { previous_positions: true, bounds: true, ..Default::default() };
    let mut skinner = Skinner::new(&device, &descriptor).unwrap();
    let scene = Scene::new(&[KIND, MeshKind { vertices: 67, ..KIND }, MeshKind { vertices: 33, ..KIND }], 5, 17);
    let rig_id = add_rig(&mut skinner, 7);
    let meshes: Vec<_> = scene.meshes.iter().map(|m| skinner.add_mesh(&queue, &m.mesh).unwrap()).collect();
    let big = skinner.add_mesh(&queue, &mesh(MeshKind { joints: 8, ..KIND }, &mut Random::new(1)).mesh).unwrap();
    let [body, shirt, coat] = [meshes[0], meshes[1], meshes[2]];
    let hero = skinner.spawn(rig_id, &[body.into(), shirt.into()]).unwrap();
    // A neighbour that nothing may touch.
    let other = skinner.spawn(rig_id, &[shirt.into()]).unwrap();
    let poses: Vec<_> = (0..4).map(|i| palette(7, i == 2, &mut Random::new(40 + i))).collect();
    skinner.drive(hero, Drive::Palette(0, &poses[0])).unwrap();
    skinner.drive(other, Drive::Palette(0, &poses[3])).unwrap();
    let weights = [0.7, -0.4];
    skinner.set_morph_weights(hero, 0, &weights).unwrap();
    frame(&device, &queue, &mut skinner, 0.0);
    let read = |s: &Skinner, c, part| read_vertices(&device, &queue, &s.vertices(c, part).unwrap()).unwrap();
    let previous = |s: &Skinner, part| {
        let mut v = s.vertices(hero, part).unwrap();
        v.positions = v.previous.unwrap();
        read_vertices(&device, &queue, &v).unwrap().positions
    };
    let untouched = read(&skinner, other, 0);
    let body_before = read(&skinner, hero, 0);

    assert!(matches!(skinner.set_meshes(hero, &[big.into()]), Err(Error::OutOfRange { index: 7, .. })));
    assert!(matches!(skinner.set_meshes(hero, &[PartId { mesh: body, skin: 1 }]), Err(Error::OutOfRange { .. })));
    assert_eq!(skinner.vertices(hero, 1).unwrap().range.len(), 67, "nothing changed");

    // The coat comes first, the body stays, the shirt goes.
    skinner.set_meshes(hero, &[coat.into(), body.into()]).unwrap();
    frame(&device, &queue, &mut skinner, 1.0);
    let coat_now = read(&skinner, hero, 0);
    assert_eq!(coat_now.positions.len(), 33);
    compare_one(&scene.meshes[2], &poses[0], &[0.0, 0.0], Method::Linear, &coat_now).unwrap();
    assert_eq!(read(&skinner, hero, 1), body_before, "pose and morph weights are kept");
    assert_eq!(previous(&skinner, 0), coat_now.positions, "a new part was where it is");
    assert_eq!(previous(&skinner, 1), body_before.positions);

    // The frame after, and one in which it moves.
    frame(&device, &queue, &mut skinner, 2.0);
    assert_eq!(previous(&skinner, 0), coat_now.positions);
    skinner.drive(hero, Drive::Palette(0, &poses[1])).unwrap();
    frame(&device, &queue, &mut skinner, 3.0);
    assert_eq!(previous(&skinner, 0), coat_now.positions, "no longer new");
    assert_eq!(previous(&skinner, 1), body_before.positions);
    compare_one(&scene.meshes[0], &poses[1], &weights, Method::Linear, &read(&skinner, hero, 1)).unwrap();
    compare_one(&scene.meshes[2], &poses[1], &[0.0, 0.0], Method::Linear, &read(&skinner, hero, 0)).unwrap();

    // Changed while it moves: the kept part's previous positions are last frame's, the new one's are its own.
    let body_before = read(&skinner, hero, 1).positions;
    skinner.set_meshes(hero, &[body.into(), shirt.into()]).unwrap();
    skinner.drive(hero, Drive::Palette(0, &poses[2])).unwrap();
    frame(&device, &queue, &mut skinner, 4.0);
    assert_eq!(previous(&skinner, 0), body_before);
    assert_eq!(previous(&skinner, 1), read(&skinner, hero, 1).positions);
    compare_one(&scene.meshes[1], &poses[2], &[0.0, 0.0], Method::Linear, &read(&skinner, hero, 1)).unwrap();
    assert_eq!(read(&skinner, other, 0), untouched);

    // The boxes are those of the parts that are there now.
    skinner.request_bounds();
    frame(&device, &queue, &mut skinner, 5.0);
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    skinner.prepare(&device, &queue, 6.0);
    for part in 0..2 {
        assert_eq!(skinner.bounds(hero, part).unwrap(), Some(box_of(&read(&skinner, hero, part))), "part {part}");
    }
    // A part that is skinned another way, under a palette that was set before it came; and back.
    let cape_options = MeshOptions { method: Method::DualQuaternion, ..MeshOptions::default() };
    let cape = skinner.add_mesh_with(&queue, &scene.meshes[2].mesh, cape_options).unwrap();
    let linear = skinner.memory().palettes.used;
    skinner.set_meshes(hero, &[cape.into(), body.into()]).unwrap();
    frame(&device, &queue, &mut skinner, 7.0);
    compare_one(&scene.meshes[2], &poses[2], &[0.0, 0.0], Method::DualQuaternion, &read(&skinner, hero, 0)).unwrap();
    compare_one(&scene.meshes[0], &poses[2], &[0.7, -0.4], Method::Linear, &read(&skinner, hero, 1)).unwrap();
    skinner.set_meshes(hero, &[]).unwrap();
    assert_eq!(skinner.memory().palettes.used, linear);
    frame(&device, &queue, &mut skinner, 7.0);
    assert!(matches!(skinner.vertices(hero, 0), Err(Error::OutOfRange { .. })));
}

fn box_of(vertices: &SkinnedVertices) -> Bounds {
    let mut bounds = Bounds { min: [f32::INFINITY; 3], max: [f32::NEG_INFINITY; 3] };
    for p in &vertices.positions {
        for axis in 0..3 {
            bounds.min[axis] = bounds.min[axis].min(p[axis]);
            bounds.max[axis] = bounds.max[axis].max(p[axis]);
        }
    }
    bounds
}

#[test]
fn what_nobody_uses_can_be_removed() {
    let (device, queue) = device();
    let mut skinner = Skinner::new(&device, &SkinnerDescriptor::default()).unwrap();
    let scene = Scene::new(&[KIND, MeshKind { vertices: 67, ..KIND }], 3, 23);
    let rig_id = add_rig(&mut skinner, 7);
    let body = skinner.add_mesh(&queue, &scene.meshes[0].mesh).unwrap();
    let hero = skinner.spawn(rig_id, &[body.into()]).unwrap();
    let full = skinner.memory();
    let error = skinner.remove_mesh(body).unwrap_err();
    assert!(matches!(error, Error::InUse { what: "mesh", characters: 1 }));
    assert_eq!(error.to_string(), "the mesh is still used by 1 characters: despawn them, or give them others, first");
    assert!(matches!(skinner.remove_rig(rig_id), Err(Error::InUse { what: "rig", characters: 1 })));
    skinner.despawn(hero).unwrap();
    skinner.remove_mesh(body).unwrap();
    skinner.remove_rig(rig_id).unwrap();
    assert!(matches!(skinner.remove_mesh(body), Err(Error::StaleId { what: "mesh" })));
    assert!(matches!(skinner.remove_rig(rig_id), Err(Error::StaleId { what: "rig" })));
    assert!(matches!(skinner.spawn(rig_id, &[]), Err(Error::StaleId { what: "rig" })));
    let empty = skinner.memory();
    assert_eq!((empty.assets.used, empty.rigs.used, empty.outputs.used), (0, 0, 0));

    // Others take the places; the old identifiers stay stale.
    let again = add_rig(&mut skinner, 7);
    let shirt = skinner.add_mesh(&queue, &scene.meshes[1].mesh).unwrap();
    assert!(matches!(skinner.spawn(again, &[body.into()]), Err(Error::StaleId { what: "mesh" })));
    let hero = skinner.spawn(again, &[shirt.into()]).unwrap();
    let pose = palette(7, false, &mut Random::new(2));
    skinner.drive(hero, Drive::Palette(0, &pose)).unwrap();
    frame(&device, &queue, &mut skinner, 0.0);
    let got = read_vertices(&device, &queue, &skinner.vertices(hero, 0).unwrap()).unwrap();
    compare_one(&scene.meshes[1], &pose, &[0.0, 0.0], Method::Linear, &got).unwrap();
    assert_eq!(skinner.memory().assets.allocated, full.assets.allocated);
}

#[test]
fn vertices_come_back_without_waiting() {
    let (device, queue) = device();
    let mut skinner = Skinner::new(&device, &SkinnerDescriptor::default()).unwrap();
    let scene = Scene::new(&[KIND, MeshKind { vertices: 67, ..KIND }], 4, 29);
    let characters = scene.spawn(&mut skinner, &queue);
    frame(&device, &queue, &mut skinner, 0.0);
    let expected: Vec<_> = [0, 1]
        .map(|i: usize| read_vertices(&device, &queue, &skinner.vertices(characters[i], 0).unwrap()).unwrap())
        .into();

    let mut first = skinner.read_back(characters[0], 0).unwrap();
    let mut second = skinner.read_back(characters[1], 0).unwrap();
    assert!(matches!(skinner.read_back(characters[0], 1), Err(Error::OutOfRange { .. })));
    assert_eq!(first.try_take().unwrap(), None, "not recorded yet");
    frame(&device, &queue, &mut skinner, 0.0);
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    assert_eq!(first.try_take().unwrap().as_ref(), Some(&expected[0]));
    assert_eq!(first.try_take().unwrap(), None, "taken");
    drop(first);
    // The second stays where it is while the first one's buffer serves again.
    let allocated = skinner.memory().read_back.allocated;
    let mut third = skinner.read_back(characters[1], 0).unwrap();
    frame(&device, &queue, &mut skinner, 0.0);
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    assert_eq!(skinner.memory().read_back.allocated, allocated);
    assert_eq!(third.try_take().unwrap().as_ref(), Some(&expected[1]));
    assert_eq!(second.try_take().unwrap().as_ref(), Some(&expected[1]));
    drop((second, third));
    // Dropped without being taken: the buffer is free all the same.
    drop(skinner.read_back(characters[1], 0).unwrap());
    frame(&device, &queue, &mut skinner, 0.0);
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    let mut fourth = skinner.read_back(characters[1], 0).unwrap();
    frame(&device, &queue, &mut skinner, 0.0);
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    assert_eq!(fourth.try_take().unwrap().as_ref(), Some(&expected[1]));
    assert_eq!(skinner.memory().read_back.allocated, allocated);

    let mut gone = skinner.read_back(characters[0], 0).unwrap();
    skinner.despawn(characters[0]).unwrap();
    frame(&device, &queue, &mut skinner, 0.0);
    assert!(matches!(gone.try_take(), Err(Error::StaleId { what: "character" })));

    let mut dropped = skinner.read_back(characters[1], 0).unwrap();
    skinner.prepare(&device, &queue, 0.0);
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    skinner.record(&mut encoder);
    drop(encoder);
    assert!(matches!(dropped.try_take(), Err(Error::Gpu(_))));
}

#[test]
fn the_budget_refuses_and_what_is_there_works_on() {
    let (device, queue) = device();
    let budget = 4 << 20;
    let descriptor = SkinnerDescriptor { memory_budget: Some(budget), bounds: true, ..Default::default() };
    let mut skinner = Skinner::new(&device, &descriptor).unwrap();
    let counted = |s: &Skinner| {
        let m = s.memory();
        m.total().allocated - m.tables.allocated - m.read_back.allocated
    };
    assert!(counted(&skinner) < 100_000, "{:?}", skinner.memory());
    let kind = MeshKind { vertices: 4001, ..KIND };
    let scene = Scene::new(&[kind], 1, 31);
    let rig_id = add_rig(&mut skinner, 7);
    let body = skinner.add_mesh(&queue, &scene.meshes[0].mesh).unwrap();
    let pose = palette(7, false, &mut Random::new(3));
    let mut live = Vec::new();
    let (used, error) = loop {
        let used = skinner.memory();
        match skinner.spawn(rig_id, &[body.into()]) {
            Ok(c) => live.push(c),
            Err(e) => break (used, e),
        }
        skinner.drive(live[live.len() - 1], Drive::Palette(0, &pose)).unwrap();
        assert!(counted(&skinner) <= budget);
    };
    assert!(matches!(error, Error::OverBudget { budget: b, .. } if b == budget), "{error}");
    // 80 kB of output each: smaller pages were tried until not one more character fitted.
    assert!(budget - counted(&skinner) < 100_000, "{:?}", skinner.memory());
    assert_eq!(skinner.memory(), used, "nothing is left of the one that was refused");
    let error = skinner.add_mesh(&queue, &mesh(MeshKind { vertices: 90_001, ..KIND }, &mut Random::new(9)).mesh);
    assert!(matches!(error, Err(Error::OverBudget { .. })));
    assert!(matches!(skinner.set_meshes(live[0], &[body.into(), body.into()]), Err(Error::OverBudget { .. })));
    frame(&device, &queue, &mut skinner, 0.0);
    for &c in &live {
        let got = read_vertices(&device, &queue, &skinner.vertices(c, 0).unwrap()).unwrap();
        compare_one(&scene.meshes[0], &pose, &[0.0, 0.0], Method::Linear, &got).unwrap();
    }
    // One goes, another fits.
    skinner.despawn(live[1]).unwrap();
    skinner.spawn(rig_id, &[body.into()]).unwrap();
}

#[test]
fn empty_pages_are_given_back_and_filled_again() {
    let (device, queue) = device();
    let descriptor = SkinnerDescriptor { bounds: true, memory_budget: Some(64 << 20), ..Default::default() };
    let mut skinner = Skinner::new(&device, &descriptor).unwrap();
    assert_eq!(skinner.trim(), 0);
    let kind = MeshKind { vertices: 4001, ..KIND };
    let scene = Scene::new(&[kind], 1, 31);
    let rig_id = add_rig(&mut skinner, 7);
    let body = skinner.add_mesh(&queue, &scene.meshes[0].mesh).unwrap();
    let pose = palette(7, false, &mut Random::new(3));
    let spawn = |skinner: &mut Skinner| {
        let c = skinner.spawn(rig_id, &[body.into()]).unwrap();
        skinner.drive(c, Drive::Palette(0, &pose)).unwrap();
        c
    };
    let read = |s: &Skinner, c| read_vertices(&device, &queue, &s.vertices(c, 0).unwrap()).unwrap();
    let mut crowd: Vec<_> = (0..40).map(|_| spawn(&mut skinner)).collect();
    frame(&device, &queue, &mut skinner, 0.0);
    let expected = read(&skinner, crowd[0]);
    let full = skinner.memory().outputs;
    let pages = |s: &Skinner, crowd: &[_]| crowd.iter().map(|&c| s.vertices(c, 0).unwrap().page).collect::<Vec<u32>>();
    let last = *pages(&skinner, &crowd).iter().max().unwrap();
    assert!(last >= 1, "{last}");
    assert_eq!(skinner.trim(), 0, "somebody is in every page");

    // The last page's characters stay, and move in the frame in which the others' pages go.
    let staying: Vec<bool> = pages(&skinner, &crowd).iter().map(|&p| p == last).collect();
    let moved = palette(7, false, &mut Random::new(4));
    for (&c, _) in crowd.iter().zip(&staying).filter(|(_, stays)| **stays) {
        skinner.drive(c, Drive::Palette(0, &moved)).unwrap();
    }
    skinner.prepare(&device, &queue, 1.0);
    let mut kept = staying.iter();
    crowd.retain(|&c| *kept.next().unwrap() || skinner.despawn(c).is_err());
    let freed = skinner.trim();
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    skinner.record(&mut encoder);
    queue.submit([encoder.finish()]);
    let left = skinner.memory().outputs;
    assert!(freed > 0 && left.allocated == full.allocated - freed, "{freed} {full:?} {left:?}");
    for &c in &crowd {
        compare_one(&scene.meshes[0], &moved, &[0.0, 0.0], Method::Linear, &read(&skinner, c)).unwrap();
    }
    // Room is made anew in the same places, and is as good.
    let newcomers: Vec<_> = (0..20).map(|_| spawn(&mut skinner)).collect();
    assert!(pages(&skinner, &newcomers).iter().any(|&p| p < last));
    frame(&device, &queue, &mut skinner, 2.0);
    assert!(newcomers.iter().all(|&c| read(&skinner, c) == expected));
    for c in crowd.into_iter().chain(newcomers) {
        skinner.despawn(c).unwrap();
    }
    skinner.remove_mesh(body).unwrap();
    assert!(skinner.trim() > 0);
    let memory = skinner.memory();
    assert_eq!((memory.outputs, memory.assets), Default::default());
    // And all of it once more, within the budget.
    let body = skinner.add_mesh(&queue, &scene.meshes[0].mesh).unwrap();
    let again = skinner.spawn(rig_id, &[body.into()]).unwrap();
    skinner.drive(again, Drive::Palette(0, &pose)).unwrap();
    frame(&device, &queue, &mut skinner, 3.0);
    assert_eq!(read(&skinner, again), expected);
}
