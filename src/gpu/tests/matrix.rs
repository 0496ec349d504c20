//! Every variant of the kernel against the reference.

use super::device;
use super::scene::{MeshKind, Scene};
use crate::influence::{Influences, Precision};

#[test]
fn every_variant_agrees_with_the_reference() {
    let (device, queue) = device();
    for precision in [Precision::Compact, Precision::Fine] {
        for joints in [19, 300] {
            for width in [1, 2, 4, 8] {
                for targets in [0, 3] {
                    // 1003 vertices are no multiple of the group size; 37 instances no multiple of the chunk.
                    let kind = MeshKind { vertices: 1003, joints, width, precision, targets };
                    let scene = Scene::new(&[kind], 37, 7 + width as u64);
                    let got = scene.skin(&device, &queue, None);
                    let worst = scene.compare(&got).unwrap_or_else(|e| panic!("{kind:?}: {e}"));
                    println!("{kind:?}: {:.0} % of the tolerance", 100.0 * worst);
                }
            }
        }
    }
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
