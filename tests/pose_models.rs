//! Pose spaces on real models. The models are not part of this crate: where the folder is missing, the tests say so and pass.
#![cfg(feature = "gltf")]

use std::path::PathBuf;

use dermis::Character;
use dermis::pose::{
    BuiltIn, Channels, Fade, Finger, GroupMode, HandChoice, Hands, JointPose, Mirror, Outside, Pose, PoseSpace,
    PoseSpaceFile, Side, SpaceState, joint_worlds,
};

const MODELS: [&str; 4] =
    ["ozz_pab_hand.glb", "generic-hand-left.glb", "generic-hand-right.glb", "rest_a_pose_t_position_pose.vrm"];

fn load(name: &str) -> Option<Character> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/models").join(name);
    if !path.exists() {
        println!("{}: not there, nothing is tested with it", path.display());
        return None;
    }
    Some(dermis::io::load(&path).unwrap())
}

fn hands(character: &Character) -> Hands {
    let hints: Vec<&str> = character.parts.iter().map(|p| p.name.as_str()).collect();
    Hands::find(&character.rig, &character.humanoid, &hints).unwrap()
}

fn example(name: &str) -> PoseSpaceFile {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples").join(name);
    PoseSpaceFile::parse(name, &std::fs::read(path).unwrap()).unwrap()
}

/// Largest difference of two poses; quaternions up to sign.
fn difference(a: &Pose, b: &Pose) -> f32 {
    let mut worst = 0_f32;
    for (a, b) in a.joints.iter().zip(&b.joints) {
        let dot: f32 = (0..4).map(|i| a.rotation[i] * b.rotation[i]).sum();
        let sign = if dot < 0.0 { -1.0 } else { 1.0 };
        let length = (0..4).map(|i| b.rotation[i] * b.rotation[i]).sum::<f32>().sqrt();
        (0..4).for_each(|i| worst = worst.max((a.rotation[i] - sign * b.rotation[i] / length).abs()));
        for i in 0..3 {
            let size = b.translation[i].abs().max(1.0);
            worst = worst.max((a.translation[i] - b.translation[i]).abs() / size);
            worst = worst.max((a.scale[i] - b.scale[i]).abs());
        }
        worst = worst.max((a.length - b.length).abs()).max((a.thickness - b.thickness).abs());
    }
    worst
}

fn spaces(character: &Character, name: &str) -> Vec<PoseSpace> {
    let hands = hands(character);
    let built_in = [BuiltIn::Triangle, BuiltIn::Square, BuiltIn::Tetrahedron];
    let mut out: Vec<PoseSpace> = built_in.iter().map(|b| b.space(&character.rig, &hands).unwrap()).collect();
    for file in ["triangle", "polygon", "tetrahedron", "polyhedron"] {
        let file = example(&format!("pose-space-{file}.json"));
        out.push(file.space(character, Some(&hands), None).unwrap());
    }
    if name == "ozz_pab_hand.glb" {
        out.push(example("pose-space-clips.json").space(character, Some(&hands), None).unwrap());
    }
    out
}

#[test]
fn every_corner_is_its_sample() {
    for name in MODELS {
        let Some(character) = load(name) else { continue };
        for space in spaces(&character, name) {
            for (i, corner) in space.corners().iter().enumerate() {
                for (k, &sample) in corner.samples.iter().enumerate() {
                    let mut state = SpaceState::new(&space);
                    state.set_point(corner.at).unwrap();
                    state.select(&space, i, k, Fade::default()).unwrap();
                    let blended = space.evaluate(&state, 0.0).unwrap();
                    let off = difference(&blended.pose, &space.samples()[sample].pose);
                    assert!(off <= 1e-5, "{name}, {}, corner {i}, pose {k}: {off}", space.name());
                    assert!(!blended.clamped.contains(&true), "{name}, {}, corner {i}", space.name());
                }
            }
        }
    }
}

#[test]
fn a_held_thumb_stays_to_the_bit_while_the_fingers_move() {
    for name in MODELS {
        let Some(character) = load(name) else { continue };
        let hands = hands(&character);
        let space = BuiltIn::Triangle.space(&character.rig, &hands).unwrap();
        let mut state = SpaceState::new(&space);
        state.set_point([0.4, 0.3, 0.0]).unwrap();
        let before = space.evaluate(&state, 0.0).unwrap().pose;
        let thumb = space.find_group("thumb").unwrap();
        state.set_group(&space, thumb, Channels::ALL, &GroupMode::Held, Fade::default()).unwrap();
        for point in [[0.4, 0.3, 0.0], [0.9, 0.1, 0.0], [0.1, 0.1, 0.0], [2.0, -1.0, 0.0]] {
            state.set_point(point).unwrap();
            let after = space.evaluate(&state, 0.0).unwrap().pose;
            for &node in &space.groups()[thumb].nodes {
                assert_eq!(before.joints[node], after.joints[node], "{name}");
            }
        }
        let index = space.find_group("index").unwrap();
        let moved = space.evaluate(&state, 0.0).unwrap().pose;
        assert!(space.groups()[index].nodes.iter().any(|&n| before.joints[n] != moved.joints[n]));
    }
}

type Q = [f64; 4];

fn mul(a: Q, b: Q) -> Q {
    [
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
        a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
        a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    ]
}

fn conjugate(q: Q) -> Q {
    [-q[0], -q[1], -q[2], q[3]]
}

/// Model-space rotation of every node, as a product of local ones.
fn model_rotations(character: &Character, pose: &Pose) -> Vec<Q> {
    let mut out: Vec<Q> = Vec::new();
    for (node, joint) in character.rig.nodes.iter().zip(&pose.joints) {
        let q = joint.rotation.map(f64::from);
        let length = q.iter().map(|x| x * x).sum::<f64>().sqrt();
        let above = node.parent.map_or([0.0, 0.0, 0.0, 1.0], |p| out[p]);
        out.push(mul(above, q.map(|x| x / length)));
    }
    out
}

#[test]
fn the_right_hand_mirrors_the_left_in_model_space() {
    let mut worst = 0_f64;
    for name in ["ozz_pab_hand.glb", "rest_a_pose_t_position_pose.vrm"] {
        let Some(character) = load(name) else { continue };
        let hands = hands(&character);
        let mirror = Mirror::new(&character.rig, Some(&hands)).unwrap();
        assert_eq!(mirror.normal().map(f32::abs), [1.0, 0.0, 0.0], "{name}");
        let space = BuiltIn::Triangle.space(&character.rig, &hands).unwrap();
        let rest = model_rotations(&character, &Pose::rest(&character.rig));
        for corner in space.corners() {
            for &sample in &corner.samples {
                let posed = model_rotations(&character, &space.samples()[sample].pose);
                let delta = |n: usize| mul(posed[n], conjugate(rest[n]));
                let left = hands.get(Side::Left).unwrap();
                for node in left.nodes() {
                    let other = mirror.partner(node);
                    assert_ne!(node, other, "{name}: {}", character.rig.nodes[node].name);
                    let (l, r) = (delta(node), delta(other));
                    // Across x = 0: (x, y, z, w) becomes (x, −y, −z, w).
                    let d = mul(conjugate([l[0], -l[1], -l[2], l[3]]), r);
                    let angle = 2.0 * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt().atan2(d[3].abs());
                    worst = worst.max(angle);
                }
            }
        }
        // Mirrored twice is the same pose.
        let pose = &space.samples()[1].pose;
        let twice = mirror.pose(&character.rig, &mirror.pose(&character.rig, pose).unwrap()).unwrap();
        assert!(difference(&twice, pose) < 1e-5, "{name}");
    }
    println!("largest difference {worst:e} rad");
    // Local rotations are rounded to f32 four deep: 4 · 1.2e-7, twice.
    assert!(worst <= 1e-5);
}

#[test]
fn extrapolating_far_keeps_fingers_within_what_fingers_can_do() {
    for name in MODELS {
        let Some(character) = load(name) else { continue };
        let hands = hands(&character);
        for mut space in spaces(&character, name).into_iter().filter(|s| s.name() != "") {
            space.set_outside(Outside::Extrapolate);
            let dimensions = space.coordinates().dimensions();
            let rest = Pose::rest(&character.rig);
            let steps = 24;
            for i in 0..steps * steps {
                let (a, b) = ((i % steps) as f32 / steps as f32, (i / steps) as f32 / steps as f32);
                let mut point = [7.0 * a - 3.0, 7.0 * b - 3.0, 3.0 * (a * 31.0).sin()];
                point[2] *= (dimensions - 2) as f32;
                let blended = space.evaluate_at(point).unwrap();
                for joint in &blended.pose.joints {
                    let all = joint.rotation.iter().chain(&joint.translation).chain(&joint.scale);
                    assert!(all.chain([&joint.length, &joint.thickness]).all(|x| x.is_finite()), "{name} {point:?}");
                }
                if hands.leaders.iter().any(Option::is_some) {
                    continue;
                }
                for hand in &hands.hands {
                    for joint in Finger::ALL[1..].iter().flat_map(|&f| &hand.fingers[f as usize].joints) {
                        let turn = turn(&rest.joints[joint.node], &blended.pose.joints[joint.node]);
                        let h = joint.hinge.map(f64::from);
                        let about = turn[0] * h[0] + turn[1] * h[1] + turn[2] * h[2];
                        let degrees =
                            (2.0 * about.atan2(turn[3])).to_degrees() + f64::from(joint.rest_flexion.to_degrees());
                        // The widest limits of any joint, and what limits are widened by a sample that is spread too.
                        assert!((-45.0..=130.0).contains(&degrees), "{name}, {}, {point:?}: {degrees}", space.name());
                    }
                }
            }
        }
    }
}

/// `rest⁻¹ · posed`, w ≥ 0.
fn turn(rest: &JointPose, posed: &JointPose) -> Q {
    let d = mul(conjugate(rest.rotation.map(f64::from)), posed.rotation.map(f64::from));
    if d[3] < 0.0 { d.map(|x| -x) } else { d }
}

#[test]
fn drags_outside_do_not_jump() {
    let Some(character) = load("ozz_pab_hand.glb") else { return };
    let hands = hands(&character);
    let mut space = BuiltIn::Triangle.space(&character.rig, &hands).unwrap();
    space.set_outside(Outside::Extrapolate);
    let mut worst = 0_f64;
    for (from, to) in [([-2.0, -2.0], [3.0, 2.5]), ([3.0, -2.0], [-2.0, 2.5]), ([0.5, -3.0], [0.5, 3.0])] {
        let at = |i: i32| {
            let t = i as f32 / 5000.0;
            let point = [from[0] + (to[0] - from[0]) * t, from[1] + (to[1] - from[1]) * t, 0.0];
            space.evaluate_at(point).unwrap().pose
        };
        let mut last = at(0);
        for i in 1..=5000 {
            let now = at(i);
            for (a, b) in last.joints.iter().zip(&now.joints) {
                let d = turn(a, b);
                let angle = 2.0 * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt().atan2(d[3]);
                worst = worst.max(angle.to_degrees());
            }
            last = now;
        }
    }
    println!("largest step {worst} degrees");
    // A thousandth of the space's size per step, weights of up to 4 and samples up to 100 degrees apart.
    assert!(worst < 3.0);
}

#[test]
fn flat_hands_keep_their_bones_lengths() {
    for name in ["generic-hand-left.glb", "generic-hand-right.glb"] {
        let Some(character) = load(name) else { continue };
        let hands = hands(&character);
        assert_eq!(hands.hands[0].side, if name.contains("left") { Side::Left } else { Side::Right });
        // The shape alone tells the side too.
        assert_eq!(Hands::find(&character.rig, &[], &[]).unwrap().hands[0].side, hands.hands[0].side);
        let space = BuiltIn::Triangle.space(&character.rig, &hands).unwrap();
        let place = |pose: &Pose, n: usize| joint_worlds(&character.rig, pose).unwrap()[n].rows.map(|r| r[3]);
        let distance = |pose: &Pose, a: usize, b: usize| {
            let (p, q) = (place(pose, a), place(pose, b));
            (0..3).map(|i| (p[i] - q[i]).powi(2)).sum::<f32>().sqrt()
        };
        let rest = Pose::rest(&character.rig);
        let posed = space.evaluate_at([0.5, 0.3, 0.0]).unwrap().pose;
        for finger in &hands.hands[0].fingers {
            let nodes: Vec<usize> = finger.nodes().collect();
            assert!(nodes.len() >= 4);
            for pair in nodes.windows(2) {
                let (a, b) = (distance(&rest, pair[0], pair[1]), distance(&posed, pair[0], pair[1]));
                assert!((a - b).abs() < 1e-6, "{name}: {a} {b}");
            }
        }
    }
}

#[test]
fn hands_are_routed() {
    let Some(character) = load("ozz_pab_hand.glb") else { return };
    let hands = hands(&character);
    let rig = &character.rig;
    let rest = Pose::rest(rig);
    let touches = |space: &PoseSpace, side: Side| {
        let hand = hands.get(side).unwrap();
        hand.nodes().any(|n| space.samples().iter().any(|s| s.pose.joints[n] != rest.joints[n]))
    };
    // A file that poses the left hand only.
    let text = br#"{ "dermis": "pose-space", "version": 1, "dimensions": 2,
        "corners": [{ "at": [0, 0], "poses": ["a"] }, { "at": [1, 0], "poses": ["b"] }, { "at": [0, 1], "poses": ["a"] }],
        "poses": { "a": { "joints": {} }, "b": { "joints": { "LeftHandIndex1": { "rotation": [0, 0, -0.5, 0.866] } } } } }"#;
    let file = PoseSpaceFile::parse("left.json", text).unwrap();
    for (sides, left, right) in [
        (None, true, false),
        (Some(vec![Side::Left]), true, false),
        (Some(vec![Side::Right]), false, true),
        (Some(vec![Side::Left, Side::Right]), true, true),
    ] {
        let space = file.space(&character, Some(&hands), sides.as_deref()).unwrap();
        assert_eq!((touches(&space, Side::Left), touches(&space, Side::Right)), (left, right), "{sides:?}");
    }
    let auto = |touched, camera| hands.sides(rig, HandChoice::Auto, touched, camera).unwrap();
    assert_eq!(auto(Some(Side::Left), [-500.0, 100.0, 0.0]), [Side::Left]);
    assert_ne!(auto(None, [-500.0, 100.0, 0.0]), auto(None, [500.0, 100.0, 0.0]));
    let left_only = load("generic-hand-left.glb").unwrap();
    let error = self::hands(&left_only).sides(&left_only.rig, HandChoice::Right, None, [0.0; 3]).unwrap_err();
    assert!(error.to_string().contains("found: left"), "{error}");
    let sphere = load("three_vrm_sphere.vrm").unwrap();
    let error = Hands::find(&sphere.rig, &sphere.humanoid, &[]).unwrap_err().to_string();
    assert!(error.contains("LowerArm.L"), "{error}");
}

#[test]
fn a_posed_file_is_the_pose() {
    for name in MODELS {
        let Some(character) = load(name) else { continue };
        let space = BuiltIn::Triangle.space(&character.rig, &hands(&character)).unwrap();
        let pose = space.evaluate_at([0.6, 0.2, 0.0]).unwrap().pose;
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/models").join(name);
        let mut edit = dermis::io::FileEdit::open(&path).unwrap();
        edit.set_pose(&character.rig, &pose, "pose").unwrap();
        assert!(edit.warnings().is_empty());
        let bytes = edit.to_glb().unwrap();
        let again = dermis::io::load_bytes("posed.glb", &bytes, &mut |_| Err("no".into())).unwrap();
        assert!(difference(&Pose::rest(&again.rig), &pose) < 1e-6, "{name}");
        let clip = again.clips.iter().find(|c| c.name == "pose").unwrap();
        let mut keyed = Pose::rest(&character.rig);
        clip.sample(0.0, &mut keyed);
        assert!(difference(&keyed, &pose) < 1e-6, "{name}");
        assert_eq!(again.skins, character.skins);
        assert_eq!(again.meshes[0].positions, character.meshes[0].positions);
    }
}
