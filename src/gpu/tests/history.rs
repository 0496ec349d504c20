//! Previous positions and boxes through a random life: driven, idle, hidden, shown, spawned, removed.

use std::sync::Arc;

use super::matrix::mixed_scene;
use super::scene::{frame, palette, rig};
use super::{Random, device};
use crate::gpu::pose::PosePipeline;
use crate::gpu::readback::read_range;
use crate::gpu::skin::{Pipelines, SOURCE, SkinPipelines};
use crate::gpu::{Bounds, CharacterId, Drive, MeshOptions, Method, RigDescriptor, Skinner, SkinnerDescriptor};

type Positions = Vec<[f32; 3]>;

struct Actor {
    id: CharacterId,
    mesh: usize,
    visible: bool,
    /// What its vertices were after the last frame; `None` before it was first skinned.
    last: Option<Positions>,
    idle: u32,
}

/// What went wrong in any of the frames; counts of the cases met.
fn live(device: &wgpu::Device, queue: &wgpu::Queue, source: &str, frames: u32) -> Result<[u32; 6], String> {
    let skin = SkinPipelines::with_source(device, source);
    let pipelines = Some(Arc::new(Pipelines { skin, pose: PosePipeline::new(device) }));
    let descriptor = SkinnerDescriptor { pipelines, previous_positions: true, bounds: true, ..Default::default() };
    let mut skinner = Skinner::new(device, &descriptor).unwrap();
    skinner.frame.largest_grid = 7;
    let scene = mixed_scene();
    let ids: Vec<_> = scene
        .meshes
        .iter()
        .enumerate()
        .map(|(i, m)| {
            let (nodes, skins) = rig(m.kind.joints);
            let rig = skinner.add_rig(&RigDescriptor { rig: &nodes, skins: &skins, clips: &[] }).unwrap();
            let (max_influences, precision) = (m.kind.width, m.kind.precision);
            let method = if i % 2 == 0 { Method::Linear } else { Method::DualQuaternion };
            let options = MeshOptions { max_influences, precision, method };
            (rig, skinner.add_mesh_with(queue, &m.mesh, options).unwrap())
        })
        .collect();
    let mut random = Random::new(23);
    let mut actors: Vec<Actor> = Vec::new();
    let mut met = [0; 6];
    for f in 0..frames {
        // 60 at first, later more than the 64 boxes there is room for at first.
        let wanted = if f == 0 { 60 } else { 75 };
        while actors.len() < wanted {
            let mesh = random.below(ids.len() as u32) as usize;
            let id = skinner.spawn(ids[mesh].0, &[ids[mesh].1.into()]).unwrap();
            let hidden = random.below(4) == 0;
            skinner.set_visible(id, !hidden).unwrap();
            actors.push(Actor { id, mesh, visible: !hidden, last: None, idle: 0 });
        }
        for actor in &mut actors {
            actor.idle += 1;
            let driven = random.below(5) < 2;
            if driven {
                actor.idle = 0;
                let kind = &scene.meshes[actor.mesh].kind;
                skinner.drive(actor.id, Drive::Palette(0, &palette(kind.joints, false, &mut random))).unwrap();
                let weights: Vec<f32> = (0..kind.targets).map(|_| random.signed()).collect();
                skinner.set_morph_weights(actor.id, 0, &weights).unwrap();
            }
            if random.below(4) == 0 {
                actor.visible = !actor.visible;
                skinner.set_visible(actor.id, actor.visible).unwrap();
                met[if actor.visible { 0 } else { 1 }] += 1;
            }
            met[2] += u32::from(driven && !actor.visible);
            met[3] += u32::from(actor.idle == 2);
        }
        if f % 3 == 1 {
            skinner.prepare(device, queue, f64::from(f));
        }
        if f + 1 == frames {
            skinner.request_bounds();
        }
        frame(device, queue, &mut skinner, f64::from(f));
        let pages: Vec<[Positions; 2]> =
            (skinner.outputs.pages.iter()).map(|p| [0, 2].map(|b| pod(device, queue, &p.buffers[b]))).collect();
        let boxes: Vec<[u32; 8]> = pod(device, queue, &skinner.boxes.as_ref().unwrap().buffer);
        for (i, actor) in actors.iter_mut().enumerate() {
            let v = skinner.vertices(actor.id, 0).unwrap();
            let range = v.range.start as usize..v.range.end as usize;
            let [now, previous] = [0, 1].map(|b| &pages[v.page as usize][b][range.clone()]);
            let found = Bounds::from_words(boxes[v.bounds.unwrap().1 as usize]);
            if actor.last.is_none() && !actor.visible {
                let empty = Bounds { min: [f32::INFINITY; 3], max: [f32::NEG_INFINITY; 3] };
                if found != empty {
                    return Err(format!("frame {f}: the hidden actor {i} has the box {found:?}"));
                }
                continue;
            }
            let expected = actor.last.as_deref().unwrap_or(now);
            met[4] += u32::from(actor.last.is_none());
            met[5] += u32::from(expected != now);
            if previous != expected {
                return Err(format!("frame {f}: actor {i} has other previous positions, idle {}", actor.idle));
            }
            if found != around(now) {
                return Err(format!("frame {f}: actor {i} has the box {found:?} instead of {:?}", around(now)));
            }
            actor.last = Some(now.to_vec());
        }
        if f + 1 < frames {
            for _ in 0..5 {
                let actor = actors.swap_remove(random.below(actors.len() as u32) as usize);
                skinner.despawn(actor.id).unwrap();
            }
        }
    }
    // The read-back: nothing has arrived that was not asked for and waited for.
    assert_eq!(skinner.bounds(actors[0].id, 0).unwrap(), None);
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    skinner.prepare(device, queue, 1e3);
    for actor in &actors {
        let got = skinner.bounds(actor.id, 0).unwrap();
        assert_eq!(got, actor.last.as_deref().map(around));
    }
    Ok(met)
}

fn pod<T: bytemuck::Pod>(device: &wgpu::Device, queue: &wgpu::Queue, buffer: &wgpu::Buffer) -> Vec<T> {
    bytemuck::pod_collect_to_vec(&read_range(device, queue, buffer, 0..buffer.size()).unwrap())
}

pub(super) fn around(positions: &[[f32; 3]]) -> Bounds {
    let of = |f: fn(f32, f32) -> f32| {
        let mut corner = positions[0];
        positions.iter().for_each(|p| (0..3).for_each(|a| corner[a] = f(corner[a], p[a])));
        corner
    };
    Bounds { min: of(f32::min), max: of(f32::max) }
}

#[test]
fn previous_positions_are_those_of_the_last_frame_and_boxes_those_of_this_one() {
    let (device, queue) = device();
    let met = live(&device, &queue, SOURCE, 17).unwrap();
    println!(
        "shown {}, hidden {}, driven while hidden {}, idle {}, new {}, moved {}",
        met[0], met[1], met[2], met[3], met[4], met[5]
    );
    assert!(met.iter().all(|&n| n > 20));
}

#[test]
fn previous_positions_and_boxes_change_no_vertex() {
    let (device, queue) = device();
    let scene = mixed_scene();
    let plain = scene.skin(&device, &queue, None);
    for (previous_positions, bounds) in [(true, false), (false, true)] {
        let descriptor = SkinnerDescriptor { previous_positions, bounds, ..SkinnerDescriptor::default() };
        let mut skinner = Skinner::new(&device, &descriptor).unwrap();
        let characters = scene.spawn(&mut skinner, &queue);
        frame(&device, &queue, &mut skinner, 0.0);
        for (i, &c) in characters.iter().enumerate() {
            let vertices = skinner.vertices(c, 0).unwrap();
            assert_eq!((vertices.previous.is_some(), vertices.bounds.is_some()), (previous_positions, bounds));
            assert_eq!(crate::gpu::read_vertices(&device, &queue, &vertices).unwrap(), plain[i]);
        }
        frame(&device, &queue, &mut skinner, 1.0);
        assert_eq!(skinner.dispatch_count(), 0, "nothing changed, and new characters have nothing to make up for");
    }
}

/// (what the shader says, what the mutant says)
const MUTANTS: &[(&str, &str)] = &[
    ("select(r0, rows[0], fresh)", "r0"),
    ("previous[3u * quad + 2u]", "previous[3u * quad + 1u]"),
    ("keep(output, false,", "keep(quad, false,"),
    ("(flags & FRESH) != 0u, rows", "true, rows"),
    ("(flags & FRESH) != 0u, rows", "false, rows"),
    ("flags = tables[at].w;", "flags = 0u;"),
    ("lane < job.quad_count;", "lane < 0xffffffu;"),
    ("lane, job.quad_count - 1u)", "lane, 0xffffffu)"),
    ("note_bounds(key_row + 2u * KEY_STRIDE, y);", "note_bounds(key_row + 2u * KEY_STRIDE, x);"),
    ("min(min(key.x, key.y), min(key.z, key.w))", "min(min(key.x, key.y), key.z)"),
    ("max(max(key.x, key.y), max(key.z, key.w))", "max(key.x, max(key.z, key.w))"),
    ("let key_row = 6u * (i - first) * KEY_STRIDE + lane;", "let key_row = 6u * (i - first) * KEY_STRIDE;"),
    ("k < GROUP_SIZE; k++", "k < 32u; k++"),
    ("let i = first + lane / 6u;", "let i = first + lane / 12u;"),
    ("8u * (instance.w >> 2u)", "8u * instance.w"),
    ("if ((instance.w & SETTLE) == 0u) {", "if (true) {"),
    ("[batch.jobs + i / 4u][i % 4u]", "[batch.jobs + i / 4u][0]"),
    ("select(bits | 0x80000000u, ~bits,", "select(bits | 0x80000000u, bits,"),
    ("atomicMax(&bounds[word + 4u], high)", "atomicMax(&bounds[word + 4u], low)"),
];

#[test]
fn every_mutant_is_caught() {
    let (device, queue) = device();
    let mut missed = Vec::new();
    for (old, new) in MUTANTS {
        assert_eq!(SOURCE.matches(old).count(), 1, "the shader does not say {old:?} once");
        match live(&device, &queue, &SOURCE.replace(old, new), 6) {
            Err(why) => println!("caught: {new:?}: {why}"),
            Ok(_) => missed.push(format!("{old:?} -> {new:?}")),
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:#?}");
}
