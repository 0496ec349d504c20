//! What hands must be.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::*;
use crate::pose::{BuiltIn, Finger, HandChoice, Hands, Pose, PoseSpace, Side, SpaceState, joint_worlds, skin_palette};

static BUILT: LazyLock<BuiltHands> = LazyLock::new(|| hands(&HandOptions::default()).unwrap());

fn mesh() -> &'static Mesh {
    &BUILT.character.meshes[0]
}

/// The right hand's surface without seams.
fn surface() -> (Anatomy, Field, Surface) {
    let anatomy = Anatomy::new();
    let field = Field::new(&anatomy);
    let surface = Surface::new(&field, 1e3 * HandOptions::default().edge);
    (anatomy, field, surface)
}

#[test]
fn the_character_is_sound() {
    let c = &BUILT.character;
    c.rig.validate().unwrap();
    c.skins[0].validate(&c.rig).unwrap();
    mesh().validate().unwrap();
    assert!(c.warnings.is_empty(), "{:?}", c.warnings);
    for p in &mesh().primitives {
        assert!(mesh().indices[p.indices.clone()].iter().all(|&i| p.vertices.contains(&(i as usize))));
    }
    let unit = |v: &[f32]| (v.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-4;
    for v in 0..mesh().positions.len() {
        let (n, t) = (mesh().normals[v], mesh().tangents[v]);
        assert!(unit(&n) && unit(&t[..3]) && t[3].abs() == 1.0, "vertex {v}: {n:?} {t:?}");
        let dot: f32 = (0..3).map(|k| n[k] * t[k]).sum();
        assert!(dot.abs() < 1e-4, "vertex {v}: {dot}");
        let uv = mesh().uvs[0][v];
        assert!(uv.iter().all(|x| (0.0..=1.0).contains(x)), "vertex {v}: {uv:?}");
    }
    for image in &c.images {
        assert_eq!(image.rgba.len(), (4 * image.width * image.height) as usize);
    }
    for options in [
        HandOptions { edge: 0.0, ..HandOptions::default() },
        HandOptions { edge: f32::NAN, ..HandOptions::default() },
        HandOptions { texture: 3, ..HandOptions::default() },
        HandOptions { max_influences: 9, ..HandOptions::default() },
        HandOptions { max_influences: 0, ..HandOptions::default() },
    ] {
        assert!(hands(&options).is_err(), "{options:?}");
    }
}

#[test]
fn the_surface_is_closed_and_its_triangles_are_sane() {
    let (_, field, surface) = surface();
    assert!(surface.is_closed());
    let count = surface.positions.len();
    assert!((8_000..15_000).contains(&count), "{count} vertices");
    // A closed surface without handles: a ball.
    let edges = surface.triangles.len() * 3 / 2;
    assert_eq!(count + surface.triangles.len(), edges + 2);
    let mut angles: Vec<f32> = Vec::new();
    for t in &surface.triangles {
        let p = t.map(|i| surface.positions[i as usize]);
        let least = (0..3).map(|k| (p[(k + 1) % 3] - p[k]).angle_between(p[(k + 2) % 3] - p[k]).to_degrees());
        angles.push(least.fold(180.0, f32::min));
        // Faces and normals look the same way.
        let n = (p[1] - p[0]).cross(p[2] - p[0]).normalize();
        assert!(n.dot(surface.normals[t[0] as usize]) > 0.0, "{t:?}");
    }
    angles.sort_by(f32::total_cmp);
    let share = |q: f32| angles[(q * (angles.len() - 1) as f32) as usize];
    println!("least angles: worst {:.1}°, 1 % {:.1}°, half {:.1}°", share(0.0), share(0.01), share(0.5));
    assert!(share(0.0) > 5.0 && share(0.01) > 20.0 && share(0.5) > 38.0);
    // On the surface to 0.05 mm (two Newton steps; grid f32 at 200 mm resolves 2e-5).
    let off = surface.positions.iter().map(|&p| field.distance(p).abs()).fold(0.0, f32::max);
    assert!(off < 0.05, "{off} mm");
}

#[test]
fn weights_are_few_and_keep_to_their_finger() {
    let nodes = &BUILT.character.rig.nodes;
    let finger = |joint: u32| FIRST.iter().rposition(|&f| joint as usize % JOINTS >= f);
    let mut worst = 0.0_f32;
    for v in 0..mesh().positions.len() {
        let row = mesh().influences.of(v);
        assert!((1..=4).contains(&row.len()), "vertex {v}");
        let sum: f32 = row.iter().map(|i| i.weight).sum();
        // Four products and sums near 1: a few ulp.
        assert!((sum - 1.0).abs() < 1e-6, "vertex {v}: {sum}");
        // Every joint of one side only.
        let left = mesh().positions[v][0] > 0.0;
        assert!(row.iter().all(|i| ((i.joint as usize) < JOINTS) == left), "vertex {v}");
        // Where a middle or last phalanx rules, no other finger pulls.
        let part = &nodes[row[0].joint as usize].name;
        if (part.contains("intermediate") || part.contains("distal")) && row[0].weight > 0.5 {
            let own = finger(row[0].joint);
            let others: f32 = row
                .iter()
                .filter(|i| !(i.joint as usize).is_multiple_of(JOINTS) && finger(i.joint) != own)
                .map(|i| i.weight)
                .sum();
            worst = worst.max(others);
        }
        assert!(row.iter().all(|i| !nodes[i.joint as usize].name.contains("tip")), "vertex {v}");
    }
    println!("largest weight of another finger on a finger: {worst}");
    assert!(worst < 0.01);
    assert_eq!(BUILT.report.prune.after.len(), 5);
}

#[test]
fn the_left_hand_is_the_right_one_mirrored() {
    let half = mesh().positions.len() / 2;
    let flip = |v: [f32; 3]| [-v[0], v[1], v[2]];
    for v in 0..half {
        let w = v + half;
        assert_eq!(mesh().positions[v], flip(mesh().positions[w]));
        assert_eq!(mesh().normals[v], flip(mesh().normals[w]));
        assert_eq!(mesh().tangents[v][3], -mesh().tangents[w][3]);
        assert_eq!(mesh().uvs[0][v], mesh().uvs[0][w]);
        let row = |v: usize| {
            mesh().influences.of(v).iter().map(|i| (i.joint as usize % JOINTS, i.weight)).collect::<Vec<_>>()
        };
        assert_eq!(row(v), row(w));
    }
    let half = mesh().indices.len() / 2;
    for t in 0..half / 3 {
        let [a, b, c] = [0, 2, 1].map(|k| mesh().indices[3 * t + k] as usize + mesh().positions.len() / 2);
        assert_eq!([a, b, c], [0, 1, 2].map(|k| mesh().indices[half + 3 * t + k] as usize));
    }
    let rig = &BUILT.character.rig;
    let rest = joint_worlds(rig, &Pose::rest(rig)).unwrap();
    for j in 0..JOINTS {
        let [l, r] = [j, j + JOINTS].map(|j| rest[j].rows);
        for k in 0..3 {
            let sign = if k == 0 { -1.0 } else { 1.0 };
            // Sums down a chain of five transforms of at most 0.3 m: a few ulp.
            assert!((l[k][3] - sign * r[k][3]).abs() < 1e-6, "joint {j}");
            // −Z along the bone and +Y out of the back are mirrored; X is not.
            assert!((l[k][2] - sign * r[k][2]).abs() < 1e-5 && (l[k][1] - sign * r[k][1]).abs() < 1e-5, "joint {j}");
            assert!((l[k][0] + sign * r[k][0]).abs() < 1e-5, "joint {j}");
        }
    }
}

#[test]
fn charts_hardly_stretch() {
    let (anatomy, field, surface) = surface();
    let labels = charts::charts(&anatomy, &field, &surface);
    let atlas = atlas::unfold(&anatomy, &surface, &labels);
    let mut stretched: Vec<f32> = Vec::new();
    let mut flipped = 0;
    for t in &atlas.triangles {
        let p = t.map(|i| surface.positions[atlas.source[i as usize] as usize]);
        let q = t.map(|i| atlas.uvs[i as usize] * atlas.width);
        let area = 0.5 * (p[1] - p[0]).cross(p[2] - p[0]).length();
        // v points down: a face that looks at us runs clockwise.
        let flat = -0.5 * (q[1] - q[0]).perp_dot(q[2] - q[0]);
        flipped += usize::from(flat <= 0.0);
        stretched.push((flat / area).max(1e-3).ln().abs());
    }
    stretched.sort_by(f32::total_cmp);
    let n = stretched.len();
    println!(
        "{flipped} of {n} flipped; area off by {:.3} (half), {:.3} (95 %)",
        stretched[n / 2].exp(),
        stretched[n * 95 / 100].exp()
    );
    assert!(flipped < n / 500, "{flipped}");
    assert!(stretched[n / 2].exp() < 1.1 && stretched[n * 95 / 100].exp() < 1.6);
}

#[test]
fn names_are_found_as_two_webxr_hands() {
    let rig = &BUILT.character.rig;
    assert_eq!(rig.nodes.len(), 2 * JOINTS);
    let found = Hands::find(rig, &[], &[]).unwrap();
    for side in [Side::Left, Side::Right] {
        let hand = found.get(side).unwrap();
        assert_eq!(rig.nodes[hand.wrist.unwrap()].name, format!("wrist_{}", side.name()));
        assert_eq!(hand.nodes().count(), JOINTS - 1);
        for finger in Finger::ALL {
            let f = &hand.fingers[finger as usize];
            assert_eq!(f.joints.len(), 3, "{finger:?}");
            assert_eq!(f.metacarpal.is_some(), finger != Finger::Thumb);
            assert!(f.tip.is_some());
        }
    }
    // Hand length of an adult, wrist to the tip of the middle finger along its bones (0.17…0.20 m from the crease).
    let anatomy = Anatomy::new();
    let chain: f32 = anatomy.phalanges(2).windows(2).map(|w| w[0].at.distance(w[1].at)).sum();
    let length = anatomy.phalanges(2)[0].at.length() + chain;
    assert!((180.0..200.0).contains(&length), "{length} mm");
}

/// Skinned positions of the right hand's half, in its own millimetres.
fn posed(pose: &Pose) -> Vec<Vec3> {
    let c = &BUILT.character;
    let palette = skin_palette(&c.rig, &c.skins[0], pose).unwrap();
    let half = mesh().positions.len() / 2;
    let back = place(Vec3::ZERO);
    (half..2 * half)
        .map(|v| {
            let p = mesh().positions[v];
            let q: Vec3 = mesh()
                .influences
                .of(v)
                .iter()
                .map(|i| Vec3::from(palette[i.joint as usize].transform_point(p)) * i.weight)
                .sum();
            (q - back) * 1e3
        })
        .collect()
}

fn triangle(at: [f32; 3], alternative: usize) -> Pose {
    let rig = &BUILT.character.rig;
    let found = Hands::find(rig, &[], &[]).unwrap();
    let sides = found.sides(rig, HandChoice::Both, None, [0.0; 3]).unwrap();
    let space = PoseSpace::new(rig, BuiltIn::Triangle.descriptor(rig, &found, &sides).unwrap()).unwrap();
    let mut state = SpaceState::new(&space);
    state.set_point(at).unwrap();
    state.select(&space, 1, alternative, crate::pose::Fade::default()).unwrap();
    space.evaluate(&state, 0.0).unwrap().pose
}

#[test]
fn a_fist_closes_on_the_palm_and_not_through_it() {
    let (anatomy, field, _) = surface();
    let pose = triangle([1.0, 0.0, 0.0], 0);
    let points = posed(&pose);
    let half = mesh().positions.len() / 2;
    let rest: Vec<Vec3> =
        (half..2 * half).map(|v| (Vec3::from(mesh().positions[v]) - place(Vec3::ZERO)) * 1e3).collect();
    for finger in 1..5 {
        let tip = anatomy.ends[finger];
        // The flesh of the last phalanx.
        let near = (0..half).filter(|&v| rest[v].distance(tip) < 14.0);
        let least = near.map(|v| field.palm(points[v])).fold(f32::INFINITY, f32::min);
        println!("finger {finger}: {least:.1} mm from the palm");
        // Soft flesh gives by a little; a finger that hangs in the air is no fist.
        assert!((-4.0..12.0).contains(&least), "finger {finger}: {least} mm");
    }
    // The thumb's tip lies over the fingers: on the palm's side of index and middle finger.
    let worlds = joint_worlds(&BUILT.character.rig, &pose).unwrap();
    let at = |name: &str| {
        let rig = &BUILT.character.rig;
        let node = rig.nodes.iter().position(|n| n.name == name).unwrap();
        Vec3::from(worlds[node].rows.map(|r| r[3]))
    };
    let thumb = at("thumb-tip_right");
    assert!(thumb.z > at("middle-finger-phalanx-distal_right").z, "{thumb}");
    assert!(thumb.x < at("index-finger-phalanx-proximal_right").x, "{thumb}");
}

#[test]
fn the_clips_loop() {
    for clip in &BUILT.character.clips {
        assert!(!clip.channels.is_empty());
        for channel in &clip.channels {
            let last = channel.values.len() - 4;
            let dot: f32 = (0..4).map(|i| channel.values[i] * channel.values[last + i]).sum();
            assert!((dot.abs() - 1.0).abs() < 1e-5, "{}", clip.name);
        }
    }
}

#[test]
fn hands_are_made_the_same_twice() {
    let small = HandOptions { edge: 0.005, texture: 128, ..HandOptions::default() };
    let (a, b) = (hands(&small).unwrap().character, hands(&small).unwrap().character);
    assert_eq!(a.meshes[0].positions, b.meshes[0].positions);
    assert_eq!(a.meshes[0].influences, b.meshes[0].influences);
    assert_eq!(a.images, b.images);
    let mut names = HashMap::new();
    a.rig.nodes.iter().for_each(|n| *names.entry(&n.name).or_insert(0) += 1);
    assert!(names.values().all(|n| *n == 1));
}
