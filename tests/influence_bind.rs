//! Binding by heat and by distance: tubes, shells, holes, duplicates, bones outside, and hands.

#![cfg(feature = "bind")]

use dermis::influence::bind::{Bone, DistanceOptions, HeatOptions, Skeleton, distance, heat};
use dermis::influence::{Influences, clean};

/// A closed tube of `rings` rings of `sides` vertices along +Y from y0, of length 1 each ring apart by `step`.
fn tube(x: f32, y0: f32, rings: usize, sides: usize, step: f32) -> (Vec<[f32; 3]>, Vec<u32>) {
    let mut positions = Vec::new();
    for r in 0..rings {
        for s in 0..sides {
            let a = s as f32 / sides as f32 * std::f32::consts::TAU;
            positions.push([x + 0.2 * a.cos(), y0 + r as f32 * step, 0.2 * a.sin()]);
        }
    }
    let mut indices = Vec::new();
    let at = |r: usize, s: usize| (r * sides + s % sides) as u32;
    for r in 0..rings - 1 {
        for s in 0..sides {
            indices.extend([at(r, s), at(r + 1, s), at(r, s + 1), at(r, s + 1), at(r + 1, s), at(r + 1, s + 1)]);
        }
    }
    for (ring, flip) in [(0, false), (rings - 1, true)] {
        let centre = positions.len() as u32;
        positions.push([x, y0 + ring as f32 * step, 0.0]);
        for s in 0..sides {
            let (a, b) = if flip { (s + 1, s) } else { (s, s + 1) };
            indices.extend([centre, at(ring, a), at(ring, b)]);
        }
    }
    (positions, indices)
}

/// Two bones in a row along +Y through x, from y to y + 1 and on to y + 2.
fn arm(first: u32, x: f32, y: f32) -> Vec<Bone> {
    (0..2)
        .map(|i| Bone { joint: first + i, head: [x, y + i as f32, 0.0], tail: [x, y + i as f32 + 1.0, 0.0] })
        .collect()
}

fn skeleton(bones: Vec<Bone>) -> Skeleton {
    Skeleton { bones, parents: Vec::new() }
}

fn weight(i: &Influences, vertex: usize, joint: u32) -> f32 {
    i.of(vertex).iter().find(|x| x.joint == joint).map_or(0.0, |x| x.weight)
}

/// Clean already: sums 1, no zeros, no duplicates, joints in range.
fn check(i: &Influences, vertices: usize, joints: usize) {
    assert_eq!(i.vertex_count(), vertices);
    let (cleaned, report) = clean(i, joints).unwrap();
    assert_eq!((report.unweighted, report.normalised, report.merged), (0, 0, 0), "{report}");
    assert_eq!(cleaned.entries.len(), i.entries.len());
}

#[test]
fn a_tube_bends_in_the_middle() {
    let (positions, indices) = tube(0.0, 0.0, 21, 13, 0.1);
    let bound = heat(&positions, &indices, &skeleton(arm(0, 0.0, 0.0)), &HeatOptions::default()).unwrap();
    assert!(bound.warnings.is_empty(), "{:?}", bound.warnings);
    check(&bound.influences, positions.len(), 2);
    for (v, p) in positions.iter().enumerate() {
        let w = weight(&bound.influences, v, 1);
        match p[1] {
            y if y < 0.55 => assert!(w < 0.05, "{p:?} {w}"),
            y if y > 1.45 => assert!(w > 0.95, "{p:?} {w}"),
            // Half way both bones are as near: symmetric, so exactly shared (1e-4: the pixels of f32 positions).
            y if (y - 1.0).abs() < 1e-4 => assert!((w - 0.5).abs() < 1e-3, "{p:?} {w}"),
            _ => {}
        }
    }
    // Monotonous along the tube.
    let along: Vec<f32> = (0..21).map(|r| weight(&bound.influences, r * 13, 1)).collect();
    assert!(along.windows(2).all(|w| w[1] >= w[0] - 1e-6), "{along:?}");
    // Inside out: the same.
    let flipped: Vec<u32> = indices.chunks(3).flat_map(|t| [t[0], t[2], t[1]]).collect();
    let again = heat(&positions, &flipped, &skeleton(arm(0, 0.0, 0.0)), &HeatOptions::default()).unwrap();
    for v in 0..positions.len() {
        assert!((weight(&again.influences, v, 1) - weight(&bound.influences, v, 1)).abs() < 1e-4);
    }
}

#[test]
fn fingers_do_not_pull_at_each_other() {
    // Two tubes 0.45 apart: the gap (0.05) is far less than the distance to the own bone (0.2).
    let (mut positions, mut indices) = tube(0.0, 0.0, 21, 12, 0.1);
    let (other, triangles) = tube(0.45, 0.0, 21, 12, 0.1);
    indices.extend(triangles.iter().map(|i| i + positions.len() as u32));
    let first = positions.len();
    positions.extend(other);
    let mut bones = arm(0, 0.0, 0.0);
    bones.extend(arm(2, 0.45, 0.0));
    let by_heat = heat(&positions, &indices, &skeleton(bones.clone()), &HeatOptions::default()).unwrap();
    let by_distance = distance(&positions, &bones, &DistanceOptions::default()).unwrap();
    let leak = |i: &Influences| {
        (0..positions.len())
            .map(|v| if v < first { weight(i, v, 2) + weight(i, v, 3) } else { weight(i, v, 0) + weight(i, v, 1) })
            .fold(0.0, f32::max)
    };
    println!("heat {} distance {}", leak(&by_heat.influences), leak(&by_distance.influences));
    assert_eq!(leak(&by_heat.influences), 0.0);
    // Where distance is worse, and why it is not the default.
    assert!(leak(&by_distance.influences) > 0.05);
}

#[test]
fn bad_surfaces_give_usable_results() {
    let (positions, indices) = tube(0.0, 0.0, 21, 12, 0.1);
    let bones = skeleton(arm(0, 0.0, 0.0));
    let run = |p: &[[f32; 3]], t: &[u32]| heat(p, t, &bones, &HeatOptions::default()).unwrap();
    let reference = run(&positions, &indices).influences;
    let like_reference = |i: &Influences, v: usize, r: usize, tolerance: f32| {
        let (a, b) = (weight(i, v, 1), weight(&reference, r, 1));
        assert!((a - b).abs() < tolerance, "vertex {v}: {a}, but {b} on the whole tube");
    };

    // Holes: every seventh triangle is missing.
    let holes: Vec<u32> =
        indices.chunks(3).enumerate().filter(|(i, _)| i % 7 != 3).flat_map(|(_, t)| t.to_vec()).collect();
    let b = run(&positions, &holes);
    check(&b.influences, positions.len(), 2);
    (0..positions.len()).for_each(|v| like_reference(&b.influences, v, v, 0.2));

    // Duplicate vertices: every triangle has its own three. Exactly what the welded surface has.
    let soup: Vec<[f32; 3]> = indices.iter().map(|&i| positions[i as usize]).collect();
    let b = run(&soup, &(0..soup.len() as u32).collect::<Vec<_>>());
    check(&b.influences, soup.len(), 2);
    indices.iter().enumerate().for_each(|(v, &r)| like_reference(&b.influences, v, r as usize, 1e-5));

    // A non-manifold fin, a triangle without area, a lone vertex, a shell far from every bone's sight.
    let (mut p, mut t) = (positions.clone(), indices.clone());
    let n = p.len() as u32;
    p.extend([[0.9, 1.0, 0.0], [0.0, 5.0, 0.0], [0.3, 0.1, 0.0]]);
    t.extend([120, 132, n, 120, 121, 121]);
    t.extend([n + 2, n + 2, n + 2]);
    let b = run(&p, &t);
    check(&b.influences, p.len(), 2);
    assert!(b.warnings.iter().any(|w| w.contains("no area")), "{:?}", b.warnings);
    assert!(b.warnings.iter().any(|w| w.contains("more than two triangles")), "{:?}", b.warnings);
    assert!(b.warnings.iter().any(|w| w.contains("no triangle")), "{:?}", b.warnings);
    assert_eq!(weight(&b.influences, n as usize + 1, 1), 1.0);
    assert_eq!(weight(&b.influences, n as usize + 2, 0), 1.0);

    // No triangles at all.
    let b = run(&positions, &[]);
    check(&b.influences, positions.len(), 2);
    assert!(!b.warnings.is_empty());
    assert_eq!(run(&[], &[]).influences.vertex_count(), 0);
}

#[test]
fn shells_that_see_no_bone_say_so() {
    // A small ball inside a box that hides the bone from it: seen from outside, every way to the bone enters the box.
    let (positions, indices) = tube(0.0, 0.0, 11, 12, 0.1);
    let (ball, triangles) = tube(2.0, 0.4, 3, 8, 0.1);
    let n = positions.len() as u32;
    let p: Vec<_> = positions.iter().copied().chain(ball).collect();
    let t: Vec<u32> = indices.iter().copied().chain(triangles.iter().map(|i| i + n)).collect();
    let b = heat(&p, &t, &skeleton(arm(0, 0.0, 0.0)), &HeatOptions::default()).unwrap();
    check(&b.influences, p.len(), 2);
    assert!(b.warnings.iter().any(|w| w.contains("1 of 2 shells")), "{:?}", b.warnings);
    assert!((n as usize..p.len()).all(|v| weight(&b.influences, v, 0) > 0.9));
    // Bones outside of the mesh, in the open: seen.
    let outside = skeleton(vec![
        Bone { joint: 0, head: [-1.0, 0.0, 0.0], tail: [-1.0, 0.5, 0.0] },
        Bone { joint: 1, head: [-1.0, 0.5, 0.0], tail: [-1.0, 1.0, 0.0] },
    ]);
    let b = heat(&positions, &indices, &outside, &HeatOptions::default()).unwrap();
    check(&b.influences, positions.len(), 2);
    assert!(b.influences.entries.iter().any(|i| i.joint == 0) && b.influences.entries.iter().any(|i| i.joint == 1));
    // All bones in one point: shared equally.
    let points = skeleton((0..3).map(|joint| Bone { joint, head: [0.0, 0.5, 0.0], tail: [0.0, 0.5, 0.0] }).collect());
    let b = heat(&positions, &indices, &points, &HeatOptions::default()).unwrap();
    assert!(b.influences.entries.iter().all(|i| (i.weight - 1.0 / 3.0).abs() < 1e-5));
}

#[test]
fn refusals() {
    let (positions, indices) = tube(0.0, 0.0, 3, 5, 0.1);
    let bones = skeleton(arm(0, 0.0, 0.0));
    let default = HeatOptions::default();
    for options in [
        HeatOptions { heat: 0.0, ..default },
        HeatOptions { heat: f32::NAN, ..default },
        HeatOptions { separation: 0.5, ..default },
        HeatOptions { threshold: 0.6, ..default },
    ] {
        assert!(heat(&positions, &indices, &bones, &options).is_err());
    }
    assert!(heat(&positions, &[0, 1, 99], &bones, &default).is_err());
    assert!(heat(&positions, &indices, &Skeleton::default(), &default).is_err());
    assert!(heat(&[[f32::INFINITY; 3]], &[], &bones, &default).is_err());
}

/// The generic hands with their influences forgotten: nothing of a finger follows another finger.
#[cfg(feature = "gltf")]
#[test]
fn fingers_of_real_hands_stay_apart() {
    let folder = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/models");
    if !folder.exists() {
        eprintln!("NOT RUN: {} does not exist", folder.display());
        return;
    }
    for side in ["left", "right"] {
        let hand = dermis::io::load(&folder.join(format!("generic-hand-{side}.glb"))).unwrap();
        let part = hand.parts.iter().find(|p| !p.rigid).unwrap();
        let (mesh, skin) = (&hand.meshes[part.mesh], &hand.skins[part.skin]);
        let finger: Vec<Option<usize>> = skin
            .joints
            .iter()
            .map(|&j| {
                let name = &hand.rig.nodes[j].name;
                let bends = name.contains("phalanx") || name.contains("tip") || name.contains("metacarpal");
                ["thumb", "index", "middle", "ring", "pinky"].iter().position(|f| bends && name.contains(f))
            })
            .collect();
        let skeleton = dermis::influence::bind::skeleton(&hand.rig, skin).unwrap();
        let bound = heat(&mesh.positions, &mesh.indices, &skeleton, &HeatOptions::default()).unwrap();
        check(&bound.influences, mesh.positions.len(), skin.joints.len());
        let phalanx = |j: u32| !hand.rig.nodes[skin.joints[j as usize]].name.contains("metacarpal");
        let (mut worst, mut vertices) = (0.0f32, 0);
        for v in 0..mesh.positions.len() {
            // A vertex of a finger: its author gave it nearly whole to the phalanges of one.
            let mut sums = [0.0; 5];
            for i in mesh.influences.of(v).iter().filter(|i| phalanx(i.joint)) {
                if let Some(f) = finger[i.joint as usize] {
                    sums[f] += i.weight;
                }
            }
            let Some(own) = (0..5).find(|&f| sums[f] >= 0.9) else { continue };
            vertices += 1;
            let others = bound.influences.of(v).iter().filter(|i| finger[i.joint as usize].is_some_and(|f| f != own));
            worst = worst.max(others.map(|i| i.weight).sum());
        }
        println!("{side}: {vertices} vertices of fingers, the most another finger has is {worst}");
        assert!(vertices > 600 && worst <= 0.05, "{worst} at {vertices}");
    }
}
