//! Layers of clips against the f64 reference: blends, fades, masks, speeds, morph weights.

use std::sync::Arc;

use super::pose::{Case, case};
use super::scene::{MeshKind, frame, mesh};
use super::{Random, device};
use crate::Error;
use crate::character::{Channel, Interpolation, Target};
use crate::gpu::pose::{PosePipeline, SOURCE};
use crate::gpu::readback::read_range;
use crate::gpu::skin::{Pipelines, SkinPipelines};
use crate::gpu::{
    CharacterId, ClipLayer, Drive, MAX_LAYERS, MaskId, PartId, RigDescriptor, Skinner, SkinnerDescriptor, WeightFade,
};
use crate::influence::Precision;
use crate::math::Affine;
use crate::reference::{Playing, clip_morphs, clip_palette, clip_worlds};

const CHARACTERS: usize = 37;
const NOW: f64 = 1000.0;
const TARGETS: usize = 3;
type Map = [[f64; 4]; 3];

/// One rig with clips that drive morph weights of its two parts, and what is known of its masks.
struct Actors {
    case: Case,
    masks: Vec<Vec<f32>>,
}

fn actors(nodes: usize, seed: u64) -> Actors {
    let mut random = Random::new(seed);
    let mut case = case(nodes, false, &mut random);
    for (c, clip) in case.clips.iter_mut().enumerate() {
        // Clip 0 drives part 1 only, clip 1 both, clip 2 none.
        for part in (0..2).filter(|p| c == 1 || (c == 0 && *p == 1)) {
            let interpolation =
                [Interpolation::Linear, Interpolation::CubicSpline, Interpolation::Step][(c + part) % 3];
            let rows = if interpolation == Interpolation::CubicSpline { 3 } else { 1 };
            let times = vec![0.1, 0.6, 1.9];
            let values = (0..3 * rows * TARGETS).map(|_| random.signed()).collect();
            let target = Target::Morph(part);
            clip.channels.push(Channel { target, interpolation, times, width: TARGETS, values });
        }
    }
    let masks = (0..2).map(|_| (0..nodes).map(|n| if n % 4 == 0 { 0.0 } else { random.unit() }).collect()).collect();
    Actors { case, masks }
}

/// Layers of every kind; speeds and times are exact in f32, so that the comparison is about the blend.
fn layers(i: usize, masks: &[MaskId], random: &mut Random) -> Vec<ClipLayer> {
    (0..=i % MAX_LAYERS)
        .map(|l| {
            let from = random.unit();
            let weight = match random.below(4) {
                0 => WeightFade::constant(0.25),
                1 => WeightFade { from, to: 1.0, start: NOW - 1.0, seconds: 0.5 },
                2 => WeightFade { from, to: 0.0, start: NOW - 0.25, seconds: 1.0 },
                _ => WeightFade::constant(random.unit()),
            };
            ClipLayer {
                clip: (i + l) % 3,
                start: NOW - 0.125 * f64::from(random.below(40)),
                time: 0.25 * f64::from(random.below(8)),
                speed: [1.0, 0.5, -1.0, -0.75, 0.0, 2.0][random.below(6) as usize],
                looping: random.below(3) > 0,
                weight,
                mask: (random.below(2) == 0).then(|| masks[random.below(2) as usize]),
            }
        })
        .collect()
}

/// What a layer is at `NOW`, in the plain formula.
fn playing<'a>(layer: &ClipLayer, actors: &'a Actors, masks: &[MaskId]) -> Playing<'a> {
    let clip = &actors.case.clips[layer.clip];
    let (duration, time) = (f64::from(clip.duration), layer.time + (NOW - layer.start) * f64::from(layer.speed));
    let time = if layer.looping { time.rem_euclid(duration) } else { time.clamp(0.0, duration) };
    let fade = &layer.weight;
    let t = if fade.seconds > 0.0 { ((NOW - fade.start) / fade.seconds).clamp(0.0, 1.0) } else { 1.0 };
    let weight = f64::from(fade.from) + t * (f64::from(fade.to) - f64::from(fade.from));
    let mask = layer.mask.map(|m| actors.masks[masks.iter().position(|k| *k == m).unwrap()].as_slice());
    Playing { clip, time, weight, mask }
}

struct Scene {
    skinner: Skinner,
    characters: Vec<(CharacterId, Vec<ClipLayer>, Vec<f32>)>,
    masks: Vec<MaskId>,
}

/// Characters `which` of the crowd, posed once.
fn scene(device: &wgpu::Device, queue: &wgpu::Queue, source: Option<&str>, actors: &Actors, which: &[usize]) -> Scene {
    let pipelines = source.map(|source| {
        Arc::new(Pipelines { pose: PosePipeline::with_source(device, source), skin: SkinPipelines::new(device) })
    });
    let descriptor = SkinnerDescriptor { pipelines, joints: true, ..SkinnerDescriptor::default() };
    let mut skinner = Skinner::new(device, &descriptor).unwrap();
    skinner.frame.largest_grid = 5;
    let case = &actors.case;
    let rig = skinner.add_rig(&RigDescriptor { rig: &case.rig, skins: &case.skins, clips: &case.clips }).unwrap();
    let kind = MeshKind { vertices: 5, joints: 1, width: 1, precision: Precision::Compact, targets: TARGETS };
    let morphed = skinner.add_mesh(queue, &mesh(kind, &mut Random::new(2)).mesh).unwrap();
    let masks: Vec<MaskId> = actors.masks.iter().map(|m| skinner.add_mask(rig, m).unwrap()).collect();
    let mut random = Random::new(77);
    let mut characters = Vec::new();
    for i in 0..=CHARACTERS {
        let list = layers(i, &masks, &mut random);
        let own: Vec<f32> = (0..TARGETS).map(|_| random.signed()).collect();
        if !which.contains(&i) {
            continue;
        }
        let id = skinner.spawn(rig, &[PartId::from(morphed), PartId::from(morphed)]).unwrap();
        (0..2).for_each(|part| skinner.set_morph_weights(id, part, &own).unwrap());
        skinner.drive(id, Drive::Clips(&list)).unwrap();
        skinner.set_visible(id, i != CHARACTERS / 2).unwrap();
        characters.push((id, list, own));
    }
    frame(device, queue, &mut skinner, NOW);
    Scene { skinner, characters, masks }
}

fn read<T: bytemuck::Pod>(device: &wgpu::Device, queue: &wgpu::Queue, range: crate::gpu::BufferRange<'_>) -> Vec<T> {
    bytemuck::pod_collect_to_vec(&read_range(device, queue, range.buffer, range.bytes).unwrap())
}

/// Worst difference in units of the tolerance. Palettes and joints: 2e-6 · max(1, depth/200) of the largest entry, as for one clip.
/// Morph weights: 2e-6 of 1 + their size.
fn compare(device: &wgpu::Device, queue: &wgpu::Queue, source: Option<&str>, actors: &Actors) -> Result<f64, String> {
    let all: Vec<usize> = (0..=CHARACTERS).collect();
    let scene = scene(device, queue, source, actors, &all);
    let case = &actors.case;
    let mut worst = 0f64;
    for (i, (id, list, own)) in scene.characters.iter().enumerate() {
        let joints: Vec<Affine> = read(device, queue, scene.skinner.joints(*id).unwrap());
        let palettes: Vec<Affine> =
            (0..2).flat_map(|skin| read::<Affine>(device, queue, scene.skinner.palette(*id, skin).unwrap())).collect();
        let weights: Vec<Vec<f32>> =
            (0..2).map(|p| read(device, queue, scene.skinner.morph_weights(*id, p).unwrap())).collect();
        if i == CHARACTERS / 2 {
            if palettes.iter().chain(&joints).any(|m| m.rows != [[0.0; 4]; 3])
                || weights.iter().flatten().any(|w| *w != 0.0)
            {
                return Err("the spare character was posed".into());
            }
            continue;
        }
        let playing: Vec<_> = list.iter().map(|l| playing(l, actors, &scene.masks)).collect();
        let mut check = |what: &str, expected: &[Map], got: &[Affine]| -> Result<(), String> {
            let size = expected.iter().flatten().flatten().fold(1f64, |a, x| a.max(x.abs()));
            let tolerance = size * 2e-6 * (case.depth as f64 / 200.0).max(1.0);
            assert_eq!(expected.len(), got.len());
            for (j, (e, g)) in expected.iter().zip(got).enumerate() {
                for (e, g) in e.iter().flatten().zip(g.rows.iter().flatten()) {
                    let error = (e - f64::from(*g)).abs() / tolerance;
                    if error.is_nan() || error > 1.0 {
                        return Err(format!("character {i}, {what} {j}: {g} instead of {e} ({error:.1})"));
                    }
                    worst = worst.max(error);
                }
            }
            Ok(())
        };
        let expected: Vec<Map> = case.skins.iter().flat_map(|s| clip_palette(&case.rig, s, &playing)).collect();
        check("palette", &expected, &palettes)?;
        let worlds = clip_worlds(&case.rig, &playing);
        check("joint", &worlds, &joints)?;
        // The answer on the CPU, at the last node and one in the middle.
        for node in [case.rig.nodes.len() - 1, case.rig.nodes.len() / 2] {
            let world = scene.skinner.joint_world(*id, node).unwrap();
            check("world on the CPU", &worlds[node..=node], &[world])?;
        }
        for (part, got) in weights.iter().enumerate() {
            let own: Vec<f64> = own.iter().map(|&x| f64::from(x)).collect();
            for (e, g) in clip_morphs(part, &own, &playing).iter().zip(got) {
                let error = (e - f64::from(*g)).abs() / (2e-6 * (1.0 + e.abs()));
                if error.is_nan() || error > 1.0 {
                    return Err(format!("character {i}, part {part}: weight {g} instead of {e}"));
                }
                worst = worst.max(error);
            }
        }
    }
    Ok(worst)
}

#[test]
fn layers_agree_with_the_reference() {
    let (device, queue) = device();
    for nodes in [1, 19, 321, 1200] {
        let worst = compare(&device, &queue, None, &actors(nodes, nodes as u64))
            .unwrap_or_else(|e| panic!("{nodes} nodes: {e}"));
        println!("{nodes} nodes: {:.0} % of the tolerance", 100.0 * worst);
    }
}

/// (what the shader says, what the mutant says)
const MUTANTS: &[(&str, &str)] = &[
    ("weight = between(state_float(state + LAYER_FROM + i), weight, clamp", "weight = between(0.0, weight, clamp"),
    ("let speed = state_float(state + LAYER_SPEED + i);", "let speed = 1.0;"),
    ("+ low * speed + state_float(state + LAYER_TIME + i);", "+ low * speed;"),
    ("if (states[own + 7u] == 1u && duration > 0.0) {", "if (duration > 0.0) {"),
    ("var time = clamp(product + rest, 0.0, duration);", "var time = 0.0;"),
    ("weight *= rig_float(layer.mask + node);", ""),
    ("if (sum.total < 1.0) {", "if (sum.total == 0.0) {"),
    ("let part = 1.0 / sum.total;", "let part = 1.0;"),
    ("select(weight, -weight, dot(next.reference, local.rotation) < 0.0)", "weight"),
    ("if (any(sum.least != sum.most)) {", "if (false) {"),
    ("local.scale = select(one_sign, sum.least, sum.least == sum.most);", "local.scale = sum.scale * part;"),
    ("if (rigs[list + 1u + 2u * i] == part) {", "if (i == part) {"),
    ("sum += layer.weight * value;", "sum += value;"),
    ("(sum + max(1.0 - total, 0.0) * own) / max(total, 1.0)", "(sum + (1.0 - total) * own) / max(total, 1.0)"),
    ("max(1.0 - total, 0.0) * own) / max(total, 1.0)", "max(1.0 - total, 0.0) * own)"),
    ("let at = 3u * (character.joints + node);", "let at = 3u * node;"),
    ("u * v * v * dt * out_tangent", "u * v * dt * out_tangent"),
    ("let stride = select(width, 3u * width, cubic);\n    let first = rig", "let stride = width;\n    let first = rig"),
];

#[test]
fn every_mutant_is_caught() {
    let (device, queue) = device();
    let actors = actors(19, 19);
    let mut missed = Vec::new();
    for (old, new) in MUTANTS {
        assert_eq!(SOURCE.matches(old).count(), 1, "the shader does not say {old:?} once");
        match compare(&device, &queue, Some(&SOURCE.replace(old, new)), &actors) {
            Err(why) => println!("caught: {new:?}: {why}"),
            Ok(_) => missed.push(format!("{old:?} -> {new:?}")),
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:#?}");
}

#[test]
fn alone_and_in_a_crowd_the_bits_are_the_same() {
    let (device, queue) = device();
    let actors = actors(19, 4);
    let all: Vec<usize> = (0..=CHARACTERS).collect();
    let crowd = scene(&device, &queue, None, &actors, &all);
    for i in [2, 7, 30] {
        let alone = scene(&device, &queue, None, &actors, &[i]);
        let bits =
            |s: &Scene, id: CharacterId| -> Vec<u32> { read(&device, &queue, s.skinner.palette(id, 0).unwrap()) };
        assert_eq!(bits(&alone, alone.characters[0].0), bits(&crowd, crowd.characters[i].0), "character {i}");
    }
}

#[test]
fn wrong_layers_are_errors() {
    let (device, queue) = device();
    let actors = actors(19, 1);
    let mut scene = scene(&device, &queue, None, &actors, &[0]);
    let id = scene.characters[0].0;
    let good = ClipLayer::new(0, 0.0);
    let mut refused = |layer: ClipLayer| scene.skinner.drive(id, Drive::Clips(&[good, layer])).unwrap_err();
    assert!(matches!(refused(ClipLayer { clip: 3, ..good }), Error::OutOfRange { index: 3, count: 3, .. }));
    assert!(matches!(refused(ClipLayer { start: f64::NAN, ..good }), Error::NotFinite { index: 1, .. }));
    assert!(matches!(refused(ClipLayer { speed: f32::INFINITY, ..good }), Error::NotFinite { index: 1, .. }));
    assert!(matches!(refused(ClipLayer { time: 1e30, ..good }), Error::InvalidParameter { .. }));
    let weight = WeightFade::constant(-0.5);
    assert!(matches!(refused(ClipLayer { weight, ..good }), Error::InvalidParameter { .. }));
    let weight = WeightFade { seconds: -1.0, ..WeightFade::constant(1.0) };
    assert!(matches!(refused(ClipLayer { weight, ..good }), Error::InvalidParameter { .. }));
    assert!(matches!(
        scene.skinner.drive(id, Drive::Clips(&[good; 5])),
        Err(Error::OutOfRange { index: 4, count: 4, .. })
    ));
    assert!(matches!(scene.skinner.cross_fade(id, good, 0.0, -1.0), Err(Error::InvalidParameter { .. })));
    let rig = crate::gpu::RigId { skinner: scene.skinner.uid, index: 0, generation: 0 };
    assert!(matches!(
        scene.skinner.add_mask(rig, &[1.0; 18]),
        Err(Error::LengthMismatch { found: 18, expected: 19, .. })
    ));
    assert!(matches!(scene.skinner.add_mask(rig, &[1.5; 19]), Err(Error::InvalidParameter { .. })));
}
