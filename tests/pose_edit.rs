//! Editing pose spaces: written and read back, states carried over an edit, surfaces that follow their joints.
#![cfg(feature = "json")]

use dermis::Character;
use dermis::character::{Material, Mesh, Part, Primitive, Rig, RigNode, Skin};
use dermis::influence::{Influence, Influences};
use dermis::pose::{
    Carry, Channels, Corner, Fade, Group, GroupMode, JointPose, Limit, NodeLimit, Outside, Pose, PoseSpace,
    PoseSpaceDescriptor, PoseSpaceFile, Sample, SpaceState,
};

/// A root and five arms.
fn rig() -> Rig {
    let root = RigNode { name: "root".into(), ..RigNode::default() };
    let arm = |i: usize| RigNode { name: format!("arm {i}"), parent: Some(0), ..RigNode::default() };
    Rig { nodes: std::iter::once(root).chain((0..5).map(arm)).collect() }
}

/// Sample `index` turns every arm by its own angle.
fn sample(rig: &Rig, index: usize) -> Sample {
    let mut pose = Pose::rest(rig);
    for (n, joint) in pose.joints.iter_mut().enumerate().skip(1) {
        let half = 0.11 * (index as f32 + 1.0) * n as f32 / 5.0;
        joint.rotation = [half.sin(), 0.0, 0.0, half.cos()];
        joint.translation = [0.1 / 3.0 * index as f32, 0.0, 1e-10];
        joint.length = 1.0 + index as f32 / 7.0;
    }
    let texture = (index == 2).then(|| "two.png".to_owned());
    Sample { name: format!("pose {index}"), pose, texture }
}

fn descriptor(rig: &Rig) -> PoseSpaceDescriptor {
    let corner = |at: [f32; 3], samples: &[usize]| Corner { at, samples: samples.to_vec() };
    let group = |name: &str, nodes: &[usize]| Group { name: name.into(), nodes: nodes.to_vec() };
    PoseSpaceDescriptor {
        name: "arms".into(),
        dimensions: 2,
        corners: vec![corner([0.0; 3], &[0]), corner([1.0, 0.0, 0.0], &[1, 2]), corner([0.5, 0.87, 0.0], &[3])],
        samples: (0..4).map(|i| sample(rig, i)).collect(),
        default: 3,
        groups: vec![group("one", &[1]), group("two", &[2]), group("both", &[1, 2]), group("far", &[3, 4])],
        limits: vec![NodeLimit {
            node: 5,
            limit: Limit::degrees([-5.0, 5.0], [-20.0, 20.0], [-10.0, 90.25]),
            hinge: None,
            built_in: false,
        }],
        outside: Outside::Extrapolate,
        leaders: Vec::new(),
    }
}

#[test]
fn a_written_space_is_read_back_bit_for_bit() {
    let character = Character { rig: rig(), ..Character::default() };
    let before = descriptor(&character.rig);
    let text = before.to_json(&character).unwrap();
    println!("{}", &text[..600]);
    let file = PoseSpaceFile::parse("x.json", text.as_bytes()).unwrap();
    let after = file.descriptor(&character, None, None).unwrap();
    assert_eq!(after.name, before.name);
    assert_eq!((after.dimensions, after.default, after.outside), (2, 3, Outside::Extrapolate));
    assert_eq!(after.corners, before.corners);
    assert_eq!(after.groups, before.groups);
    for (a, b) in after.samples.iter().zip(&before.samples) {
        assert_eq!((&a.name, &a.texture), (&b.name, &b.texture));
        for (a, b) in a.pose.joints.iter().zip(&b.pose.joints) {
            // Rotations are made unit when they are read: an ulp.
            (0..4).for_each(|i| assert!((a.rotation[i] - b.rotation[i]).abs() <= 6e-8));
            assert_eq!(JointPose { rotation: b.rotation, ..*a }, *b);
        }
    }
    let limit = after.limits.iter().find(|l| l.node == 5).unwrap();
    for (a, b) in [(limit.limit.twist, 5.0), (limit.limit.swing_y, 20.0), (limit.limit.swing_z, 90.25)] {
        assert_eq!(a[1], f32::to_radians(b));
    }
    // Read and written once more it is the same text.
    assert_eq!(after.to_json(&character).unwrap(), text);
}

#[test]
fn what_a_file_cannot_say_is_refused_in_one_line() {
    let mut character = Character { rig: rig(), ..Character::default() };
    let good = descriptor(&character.rig);
    let mut twice = good.clone();
    twice.samples[1].name = "pose 0".into();
    let mut unnamed = good.clone();
    unnamed.groups[0].name.clear();
    for bad in [twice, unnamed] {
        let error = bad.to_json(&character).unwrap_err().to_string();
        assert!(error.contains("not empty and not repeated") && !error.contains('\n'), "{error}");
    }
    character.rig.nodes[3].name = "arm 0".into();
    let error = good.to_json(&character).unwrap_err().to_string();
    assert!(error.contains("rig node 3"), "{error}");
}

#[test]
fn a_bone_longer_than_the_world_is_refused() {
    let character = Character { rig: rig(), ..Character::default() };
    let text = descriptor(&character.rig).to_json(&character).unwrap();
    for (what, wrong) in [("length", "1e38"), ("length", "1e5"), ("thickness", "1e-9"), ("scale", "[1e38, 1, 1]")] {
        let joints = format!("\"joints\": {{ \"root\": {{ \"{what}\": {wrong} }},");
        let text = text.replacen("\"joints\": {", &joints, 1);
        let file = PoseSpaceFile::parse("x.json", text.as_bytes()).unwrap();
        let error = file.space(&character, None, None).unwrap_err().to_string();
        println!("{error}");
        assert!(error.contains(&format!("root.{what}")), "{error}");
    }
    let mut d = descriptor(&character.rig);
    d.samples[0].pose.joints[1].length = 1e38;
    let error = PoseSpace::new(&character.rig, d).unwrap_err().to_string();
    assert!(error.contains("bone length") && error.contains("10000"), "{error}");
}

#[test]
fn groups_say_what_they_do() {
    let rig = rig();
    let space = PoseSpace::new(&rig, descriptor(&rig)).unwrap();
    let mut state = SpaceState::new(&space);
    let mode = |state: &SpaceState, group, channels| state.group_mode(&space, group, channels).unwrap();
    assert_eq!(mode(&state, 2, Channels::ALL), Some(GroupMode::Live));
    state.set_point([0.9, 0.1, 0.0]).unwrap();
    let fade = Fade { now: 1.0, seconds: 0.5 };
    state.set_group(&space, 0, Channels::ALL, &GroupMode::Default, fade).unwrap();
    assert_eq!(mode(&state, 0, Channels::ALL), Some(GroupMode::Default));
    assert_eq!(mode(&state, 2, Channels::ALL), None, "its two joints differ");
    assert_eq!(state.group_strength(&space, 0, Channels::ALL, 1.0).unwrap(), 0.0);
    assert_eq!(state.group_strength(&space, 0, Channels::ALL, 1.5).unwrap(), 1.0);
    state.set_group(&space, 3, Channels::TEXTURE, &GroupMode::Held, fade).unwrap();
    assert_eq!(mode(&state, 3, Channels::ALL), None, "its channels differ");
    let held = mode(&state, 3, Channels::TEXTURE);
    assert_eq!(held, Some(GroupMode::Weights(state.captured(&space, 3, 1.0).unwrap())));
    assert!(state.group_mode(&space, 4, Channels::ALL).is_err());
}

#[test]
fn holds_outlive_an_edit_of_the_space() {
    let rig = rig();
    let old = descriptor(&rig);
    let before = PoseSpace::new(&rig, old.clone()).unwrap();
    let mut state = SpaceState::new(&before);
    state.set_point([0.7, 0.2, 0.0]).unwrap();
    state.select(&before, 1, 1, Fade::default()).unwrap();
    state.set_group(&before, 0, Channels::ALL, &GroupMode::Held, Fade::default()).unwrap();
    state.set_group(&before, 3, Channels::ROTATION, &GroupMode::Point([0.1, 0.1, 0.0]), Fade::default()).unwrap();
    state.set_point([0.2, 0.2, 0.0]).unwrap();
    let seen = before.evaluate(&state, 2.0).unwrap();

    // A pose in front, a corner more: every number shifts, nothing moves.
    let mut new = old.clone();
    new.samples.insert(0, Sample { name: "new".into(), ..sample(&rig, 8) });
    new.corners.iter_mut().for_each(|c| c.samples.iter_mut().for_each(|s| *s += 1));
    new.corners.insert(0, Corner { at: [-0.5, 0.9, 0.0], samples: vec![0] });
    new.default += 1;
    let after = PoseSpace::new(&rig, new).unwrap();
    let list = |n: usize| std::iter::once(None).chain((0..n).map(Some)).collect();
    let carry = Carry { corners: list(3), samples: list(4) };
    let moved = state.carried(&before, &after, &carry, 2.0).unwrap();
    assert_eq!(moved.selected(2), Some(1));
    let now = after.evaluate(&moved, 2.0).unwrap();
    assert_eq!(now.pose.joints[1], seen.pose.joints[1], "the held joint");
    assert_eq!(moved.point(), [0.2, 0.2, 0.0]);

    // The same space: everything stays, to the bit.
    let same = state.carried(&before, &before, &Carry::same(&before), 2.0).unwrap();
    assert_eq!(before.evaluate(&same, 2.0).unwrap(), seen);

    // A pose that is gone gives its part of a hold to the others.
    let mut fewer = old.clone();
    fewer.corners[1].samples = vec![1];
    fewer.samples.remove(2);
    fewer.default = 2;
    fewer.corners[2].samples = vec![2];
    let fewer = PoseSpace::new(&rig, fewer).unwrap();
    let carry = Carry { corners: (0..3).map(Some).collect(), samples: vec![Some(0), Some(1), Some(3)] };
    let left = state.carried(&before, &fewer, &carry, 2.0).unwrap();
    let sum: f64 = left.captured(&fewer, 0, 2.0).unwrap().iter().sum();
    // Four sums and a division of numbers near 1 in f64.
    assert!((sum - 1.0).abs() < 1e-12, "{sum}");
    assert!(state.carried(&before, &fewer, &Carry::same(&before), 2.0).is_err());
    assert!(state.carried(&fewer, &before, &Carry::same(&before), 2.0).is_err());
}

/// Two squares, each under one arm, each with its own material.
fn squares(rig: Rig) -> Character {
    let influence = |joint: u32, weight: f32| Influence { joint, weight };
    // The first square hangs a little on the root too.
    let rows: Vec<Vec<Influence>> = (0..8)
        .map(|v| if v < 4 { vec![influence(1, 0.75), influence(0, 0.25)] } else { vec![influence(4, 1.0)] })
        .collect();
    let primitive =
        |index: usize| Primitive { index, vertices: 4 * index..4 * index + 4, material: index, ..Primitive::default() };
    let mesh = Mesh {
        positions: vec![[0.0; 3]; 8],
        influences: Influences::from_vertices(rows.iter().map(Vec::as_slice)),
        primitives: vec![primitive(0), primitive(1)],
        ..Mesh::default()
    };
    let skin = Skin { joints: (0..rig.nodes.len()).collect(), ..Skin::default() };
    Character {
        rig,
        skins: vec![skin],
        meshes: vec![mesh],
        parts: vec![Part::default()],
        materials: vec![Material::default(); 3],
        ..Character::default()
    }
}

#[test]
fn a_held_finger_keeps_its_texture_and_the_rest_follows_the_point() {
    let character = squares(rig());
    let space = PoseSpace::new(&character.rig, descriptor(&character.rig)).unwrap();
    let surfaces = space.surfaces(&character).unwrap();
    assert_eq!(surfaces.len(), 3);
    let mut state = SpaceState::new(&space);
    state.set_point([1.0, 0.0, 0.0]).unwrap();
    state.set_group(&space, 0, Channels::ALL, &GroupMode::Held, Fade::default()).unwrap();
    state.set_point([0.0, 0.0, 0.0]).unwrap();
    let weights = space.surface_weights(&surfaces, &state, 0.0).unwrap();
    assert_eq!(weights[0], [0.0, 1.0, 0.0, 0.0]);
    assert_eq!(weights[1], [1.0, 0.0, 0.0, 0.0]);
    // A material that nothing wears follows the point.
    assert_eq!(weights[2], [1.0, 0.0, 0.0, 0.0]);
    let other = Character { rig: Rig::default(), ..character };
    assert!(space.surfaces(&other).is_err());
}
