//! Every variant of the kernel against the reference.

use std::sync::Arc;

use super::device;
use super::history::around;
use super::scene::{MeshKind, Scene, frame};
use crate::gpu::readback::read_range;
use crate::gpu::skin::Pipelines;
use crate::gpu::{Bounds, Drive, Layout, SkinnedVertices, Skinner, SkinnerDescriptor, read_vertices};
use crate::influence::{Influences, Precision};

/// Width, joints, precision and morphs in every combination, each with two of the eight of previous positions, boxes and
/// layout: chosen so that any three of the seven meet in all ways, and the widths and morphs with all eight.
#[test]
fn every_variant_agrees_with_the_reference() {
    let (device, queue) = device();
    let pipelines = Arc::new(Pipelines::new(&device));
    for run in 0..64 {
        let bit = |i: usize| (run >> i) & 1;
        let kind = MeshKind {
            // No multiple of the workgroup's vertices, nor of a quad's.
            vertices: 1003,
            joints: [19, 300][bit(0)],
            width: 1 << (run >> 1 & 3),
            precision: [Precision::Compact, Precision::Fine][bit(3)],
            targets: [0, 3][bit(4)],
        };
        let descriptor = SkinnerDescriptor {
            pipelines: Some(pipelines.clone()),
            previous_positions: bit(5) == 1,
            bounds: (bit(3) + bit(1) + bit(4)) % 2 == 1,
            layout: [Layout::Packed, Layout::Full][(bit(0) + bit(2) + bit(4)) % 2],
            ..SkinnerDescriptor::default()
        };
        // 37 instances are no multiple of the chunk.
        let mut scene = Scene::new(&[kind], 37, 7 + kind.width as u64);
        let said = (descriptor.previous_positions, descriptor.bounds, descriptor.layout);
        match variant(&device, &queue, &mut scene, &descriptor) {
            Ok(worst) => println!("{kind:?} {said:?}: {:.0} % of the tolerance", 100.0 * worst),
            Err(e) => panic!("{kind:?} {said:?}: {e}"),
        }
    }
}

/// Two frames with different palettes; all that the skinner writes is compared.
fn variant(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    scene: &mut Scene,
    descriptor: &SkinnerDescriptor,
) -> Result<f64, String> {
    let mut skinner = Skinner::new(device, descriptor).unwrap();
    let characters = scene.spawn(&mut skinner, queue);
    let directions = if descriptor.layout == Layout::Full { 1e-5 } else { 2e-4 };
    let mut worst = 0f64;
    let mut last: Option<Vec<SkinnedVertices>> = None;
    for f in 0..2 {
        if f == 1 {
            let first = scene.instances[0].palette.clone();
            for i in 0..scene.instances.len() {
                let next = scene.instances.get(i + 1).map_or(&first, |n| &n.palette).clone();
                skinner.drive(characters[i], Drive::Palette(0, &next)).unwrap();
                scene.instances[i].palette = next;
            }
        }
        frame(device, queue, &mut skinner, f64::from(f));
        let vertices: Vec<_> = characters.iter().map(|&c| skinner.vertices(c, 0).unwrap()).collect();
        let got: Vec<_> = vertices.iter().map(|v| read_vertices(device, queue, v).unwrap()).collect();
        worst = worst.max(scene.compare_directions(&got, directions)?);
        for (i, v) in vertices.iter().enumerate() {
            let bytes = |range: std::ops::Range<u32>, stride: u64| {
                u64::from(range.start) * stride..u64::from(range.end) * stride
            };
            let spare = i == scene.spare;
            if let Some(previous) = v.previous {
                let found = read_range(device, queue, previous, bytes(v.range.clone(), 12)).unwrap();
                let expected = if spare { &got[i] } else { &last.as_ref().unwrap_or(&got)[i] };
                if found != bytemuck::cast_slice::<_, u8>(&expected.positions) {
                    return Err(format!("instance {i} has other previous positions in frame {f}"));
                }
            }
            if let Some((buffer, index)) = v.bounds {
                let found = read_range(device, queue, buffer, bytes(index..index + 1, 32)).unwrap();
                let found = Bounds::from_words(bytemuck::pod_read_unaligned(&found));
                let expected = match spare {
                    true => Bounds { min: [f32::INFINITY; 3], max: [f32::NEG_INFINITY; 3] },
                    false => around(&got[i].positions),
                };
                if found != expected {
                    return Err(format!("instance {i} has the box {found:?} instead of {expected:?}"));
                }
            }
        }
        last = Some(got);
    }
    Ok(worst)
}

#[test]
fn a_scene_of_many_meshes_is_one_dispatch_per_variant() {
    let (device, queue) = device();
    let scene = mixed_scene();
    let got = scene.skin(&device, &queue, None);
    let worst = scene.compare(&got).unwrap();
    println!("{:.0} % of the tolerance", 100.0 * worst);
}

/// Meshes of all widths, joint formats and precisions, small and large, with and without morph targets.
pub(crate) fn mixed_scene() -> Scene {
    let kind = |vertices, joints, width, precision, targets| MeshKind { vertices, joints, width, precision, targets };
    let kinds = [
        kind(1003, 19, 4, Precision::Compact, 0),
        kind(65, 19, 4, Precision::Compact, 0),
        kind(1, 5, 1, Precision::Compact, 0),
        kind(130, 300, 8, Precision::Fine, 2),
        kind(67, 40, 8, Precision::Compact, 0),
        kind(200, 33, 2, Precision::Compact, 1),
        kind(199, 270, 2, Precision::Compact, 0),
        kind(77, 19, 2, Precision::Fine, 0),
        kind(301, 280, 4, Precision::Fine, 0),
    ];
    Scene::new(&kinds, 100, 11)
}

/// A vertex is summed in an order of its own, whoever shares its quad: seams cannot crack.
#[test]
fn copies_of_a_vertex_get_the_same_bits_in_any_quad() {
    let (device, queue) = device();
    for width in [2, 4, 8] {
        let kind = MeshKind { vertices: 203, joints: 19, width, precision: Precision::Compact, targets: 0 };
        let mut scene = Scene::new(&[kind], 5, 77 + width as u64);
        let mesh = &mut scene.meshes[0].mesh;
        let mut lists: Vec<Vec<_>> = (0..kind.vertices).map(|v| mesh.influences.of(v).to_vec()).collect();
        // The second half copies the first, one to three places off the quads.
        let half = kind.vertices / 2;
        for v in 0..half {
            mesh.positions[half + v] = mesh.positions[v];
            lists[half + v] = lists[v].clone();
        }
        mesh.influences = Influences::from_vertices(lists.iter().map(Vec::as_slice));
        for (i, got) in scene.skin(&device, &queue, None).iter().enumerate().filter(|(i, _)| *i != scene.spare) {
            for v in 0..half {
                let [a, b] = [v, half + v].map(|v| got.positions[v].map(f32::to_bits));
                assert_eq!(a, b, "width {width}, instance {i}, vertex {v} and its copy");
            }
        }
    }
}
