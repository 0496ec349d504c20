//! Blending: no flips, no dependence on order, corners exact, holds to the bit, fades without jumps, limits.

use dermis::character::{Rig, RigNode};
use dermis::pose::{
    Channels, Corner, Fade, Group, GroupMode, JointPose, Limit, NodeLimit, Outside, Pose, PoseSpace,
    PoseSpaceDescriptor, Sample, SpaceState,
};

struct Pcg(u64);
impl Pcg {
    fn next(&mut self) -> f32 {
        let old = self.0;
        self.0 = old.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let x = (((old >> 18) ^ old) >> 27) as u32;
        (x.rotate_right((old >> 59) as u32) >> 8) as f32 / 16_777_216.0
    }
}

fn chain(nodes: usize) -> Rig {
    let mut rig = Rig::default();
    for i in 0..nodes {
        let mut node = RigNode { name: format!("joint {i}"), parent: i.checked_sub(1), ..RigNode::default() };
        node.rest.translation = [0.0, 1.0, 0.0];
        rig.nodes.push(node);
    }
    rig
}

fn turn(axis: [f32; 3], degrees: f32) -> [f32; 4] {
    let half = degrees.to_radians() / 2.0;
    let n = axis.iter().map(|a| a * a).sum::<f32>().sqrt();
    [axis[0] / n * half.sin(), axis[1] / n * half.sin(), axis[2] / n * half.sin(), half.cos()]
}

/// Angle between two rotations in degrees, in f64 so that small ones are not lost.
fn angle(a: [f32; 4], b: [f32; 4]) -> f64 {
    let f = |q: [f32; 4]| q.map(f64::from);
    let (a, b) = (f(a), f(b));
    let w: f64 = (0..4).map(|i| a[i] * b[i]).sum();
    let v = [
        a[3] * b[0] - a[0] * b[3] - a[1] * b[2] + a[2] * b[1],
        a[3] * b[1] - a[1] * b[3] - a[2] * b[0] + a[0] * b[2],
        a[3] * b[2] - a[2] * b[3] - a[0] * b[1] + a[1] * b[0],
    ];
    2.0 * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt().atan2(w.abs()).to_degrees()
}

const TRIANGLE: [[f32; 3]; 3] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.87, 0.0]];

fn descriptor(samples: Vec<Pose>, at: &[[f32; 3]], dimensions: usize) -> PoseSpaceDescriptor {
    let corners = at.iter().enumerate().map(|(i, &at)| Corner { at, samples: vec![i] }).collect();
    let name = |(i, pose)| Sample { name: format!("pose {i}"), pose, texture: None };
    let samples = samples.into_iter().enumerate().map(name).collect();
    PoseSpaceDescriptor { dimensions, corners, samples, ..Default::default() }
}

fn with_rotations(rig: &Rig, rotations: &[[f32; 4]]) -> Pose {
    let mut pose = Pose::rest(rig);
    for (joint, &q) in pose.joints.iter_mut().zip(rotations) {
        joint.rotation = q;
    }
    pose
}

fn random_pose(rig: &Rig, spread: f32, rng: &mut Pcg) -> Pose {
    let mut pose = Pose::rest(rig);
    for joint in &mut pose.joints {
        let axis = [rng.next() - 0.5, rng.next() - 0.5, rng.next() - 0.5];
        joint.rotation = turn(axis, rng.next() * spread);
        if rng.next() < 0.5 {
            joint.rotation = joint.rotation.map(|x| -x);
        }
        joint.translation = [rng.next(), rng.next(), rng.next()];
        joint.scale = [0.5 + rng.next(), 0.5 + rng.next(), -0.5 - rng.next()];
        (joint.length, joint.thickness) = (0.5 + rng.next(), 0.5 + rng.next());
    }
    pose
}

#[test]
fn a_third_of_a_turn_apart_never_jumps() {
    let rig = chain(1);
    for axis in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.2, -0.7, 0.4]] {
        let samples = [0.0, 120.0, 240.0].map(|a| with_rotations(&rig, &[turn(axis, a)])).to_vec();
        let space = PoseSpace::new(&rig, descriptor(samples, &TRIANGLE, 2)).unwrap();
        let mut worst = 0.0_f64;
        let mut rng = Pcg(0x5eed_0011);
        for _ in 0..37 {
            let mut end = || [rng.next(), rng.next() * 0.87, 0.0];
            let (a, b) = (end(), end());
            let mut last = None;
            for step in 0..=8000 {
                let t = step as f32 / 8000.0;
                let blended = space.evaluate_at([0, 1, 2].map(|i| a[i] + (b[i] - a[i]) * t)).unwrap();
                let q = blended.pose.joints[0].rotation;
                if let Some(last) = last {
                    worst = worst.max(angle(last, q));
                }
                last = Some(q);
            }
        }
        println!("largest step {worst} degrees");
        assert!(worst < 0.1);
    }
}

#[test]
fn all_orders_of_corners_give_the_same_pose() {
    let rig = chain(7);
    let mut rng = Pcg(0x5eed_0012);
    let at: Vec<[f32; 3]> = (0..5)
        .map(|i| {
            let a = i as f32 / 5.0 * std::f32::consts::TAU;
            [a.cos(), a.sin(), 0.0]
        })
        .collect();
    let samples: Vec<Pose> = (0..5).map(|_| random_pose(&rig, 170.0, &mut rng)).collect();
    let first = PoseSpace::new(&rig, descriptor(samples.clone(), &at, 2)).unwrap();
    let points: Vec<[f32; 3]> = (0..11).map(|_| [rng.next() * 2.4 - 1.2, rng.next() * 2.4 - 1.2, 0.0]).collect();
    let mut worst = 0.0_f32;
    // Heap's algorithm over all 120 orders.
    let mut order = [0, 1, 2, 3, 4];
    let mut counters = [0; 5];
    let mut i = 0;
    while i < 5 {
        if counters[i] < i {
            order.swap(if i % 2 == 0 { 0 } else { counters[i] }, i);
            counters[i] += 1;
            i = 0;
        } else {
            counters[i] = 0;
            i += 1;
            continue;
        }
        let d = descriptor(order.map(|k| samples[k].clone()).to_vec(), &order.map(|k| at[k]), 2);
        let other = PoseSpace::new(&rig, d).unwrap();
        for &p in &points {
            let (a, b) = (first.evaluate_at(p).unwrap(), other.evaluate_at(p).unwrap());
            for (a, b) in a.pose.joints.iter().zip(&b.pose.joints) {
                let flip = if (0..4).map(|i| a.rotation[i] * b.rotation[i]).sum::<f32>() < 0.0 { -1.0 } else { 1.0 };
                for k in 0..4 {
                    worst = worst.max((a.rotation[k] - flip * b.rotation[k]).abs());
                }
            }
        }
    }
    println!("largest difference {worst:e}");
    assert!(worst <= 1e-6);
}

#[test]
fn corners_equal_their_samples_and_two_poses_slerp() {
    let rig = chain(19);
    let mut rng = Pcg(0x5eed_0013);
    let samples: Vec<Pose> = (0..3).map(|_| random_pose(&rig, 179.0, &mut rng)).collect();
    let space = PoseSpace::new(&rig, descriptor(samples.clone(), &TRIANGLE, 2)).unwrap();
    for (corner, sample) in TRIANGLE.iter().zip(&samples) {
        let got = space.evaluate_at(*corner).unwrap();
        for (a, b) in got.pose.joints.iter().zip(&sample.joints) {
            assert!(angle(a.rotation, b.rotation) < 1e-4, "{a:?} {b:?}");
            assert_eq!((a.translation, a.scale, a.length), (b.translation, b.scale, b.length));
            assert_eq!(a.thickness, b.thickness);
        }
    }
    // Two samples 150 degrees apart: a quarter of the way is 37.5 degrees, within the Karcher step's error.
    let rig = chain(1);
    let two = [0.0, 150.0].map(|a| with_rotations(&rig, &[turn([0., 0., 1.], a)]));
    let samples = vec![two[0].clone(), two[1].clone(), two[0].clone()];
    let space = PoseSpace::new(&rig, descriptor(samples, &TRIANGLE, 2)).unwrap();
    let got = space.evaluate_at([0.25, 0.0, 0.0]).unwrap();
    let degrees = angle(got.pose.joints[0].rotation, [0.0, 0.0, 0.0, 1.0]);
    assert!((degrees - 37.5).abs() < 1e-4, "{degrees}");
}

#[test]
fn scale_length_and_thickness_blend_in_log_space() {
    let rig = chain(1);
    let with = |s: [f32; 3], l: f32, t: f32| Pose {
        joints: vec![JointPose { scale: s, length: l, thickness: t, ..JointPose::IDENTITY }],
    };
    let samples = vec![with([1., -1., 1.], 1., 1.), with([4., -4., -1.], 4., 0.25), with([1., -1., 1.], 1., 1.)];
    let space = PoseSpace::new(&rig, descriptor(samples, &TRIANGLE, 2)).unwrap();
    let j = space.evaluate_at([0.5, 0.0, 0.0]).unwrap().pose.joints[0];
    let expected = [2.0, -2.0, 0.0, 2.0, 0.5];
    let got = [j.scale[0], j.scale[1], j.scale[2], j.length, j.thickness];
    assert!(got.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{got:?}");
}

fn grouped() -> (Rig, PoseSpace) {
    let rig = chain(6);
    let mut rng = Pcg(0x5eed_0014);
    let samples: Vec<Pose> = (0..5).map(|_| random_pose(&rig, 120.0, &mut rng)).collect();
    let mut d = descriptor(samples, &TRIANGLE, 2);
    d.corners = TRIANGLE.iter().enumerate().map(|(i, &at)| Corner { at, samples: vec![i] }).collect();
    d.corners[1].samples = vec![1, 3, 4];
    d.groups = vec![
        Group { name: "tip".into(), nodes: vec![4, 5] },
        Group { name: "end".into(), nodes: vec![3, 4, 5] },
        Group { name: "root".into(), nodes: vec![0] },
    ];
    let space = PoseSpace::new(&rig, d).unwrap();
    (rig, space)
}

fn bits(joint: &JointPose) -> [u32; 12] {
    bytemuck_cast(joint)
}

fn bytemuck_cast(j: &JointPose) -> [u32; 12] {
    let mut out = [0; 12];
    let all = j.rotation.iter().chain(&j.translation).chain([&j.length]).chain(&j.scale).chain([&j.thickness]);
    out.iter_mut().zip(all).for_each(|(o, x)| *o = x.to_bits());
    out
}

#[test]
fn a_hold_keeps_every_bit_and_release_does_not_pop() {
    let (_, space) = grouped();
    let mut state = SpaceState::new(&space);
    state.set_point([0.3, 0.2, 0.0]).unwrap();
    state.select(&space, 1, 1, Fade { now: 0.0, seconds: 1.0 }).unwrap();
    let tip = space.find_group("tip").unwrap();
    let before = space.evaluate(&state, 0.37).unwrap();
    // In the middle of a change of selection: the hold keeps that mixture.
    state.set_group(&space, tip, Channels::ALL, &GroupMode::Held, Fade::at_once(0.37)).unwrap();
    let kept = state.captured(&space, tip, 0.37).unwrap();
    let mut rng = Pcg(0x5eed_0015);
    for step in 0..50 {
        state.set_point([rng.next() * 2.0 - 0.5, rng.next() * 2.0 - 0.5, 0.0]).unwrap();
        let now = space.evaluate(&state, 0.37 + f64::from(step) * 0.1).unwrap();
        for joint in [4, 5] {
            assert_eq!(bits(&now.pose.joints[joint]), bits(&before.pose.joints[joint]));
        }
        assert_ne!(bits(&now.pose.joints[3]), bits(&before.pose.joints[3]));
    }
    // Release over 2 seconds from wherever the point is.
    let fade = Fade { now: 10.0, seconds: 2.0 };
    let held = space.evaluate(&state, 10.0).unwrap();
    state.set_group(&space, tip, Channels::ALL, &GroupMode::Live, fade).unwrap();
    assert_eq!(bits(&space.evaluate(&state, 10.0).unwrap().pose.joints[5]), bits(&held.pose.joints[5]));
    no_jump(&space, &state, 10.0, 12.5, 5);
    let mut free = SpaceState::new(&space);
    free.set_point(state.point()).unwrap();
    free.select(&space, 1, 1, Fade::default()).unwrap();
    assert_eq!(space.evaluate(&state, 12.0).unwrap(), space.evaluate(&free, 12.0).unwrap());
    // And what was captured can be given back.
    state.set_group(&space, tip, Channels::ALL, &GroupMode::Weights(kept), Fade::at_once(13.0)).unwrap();
    assert_eq!(bits(&space.evaluate(&state, 13.0).unwrap().pose.joints[4]), bits(&before.pose.joints[4]));
}

/// A joint's rotation moves by less than 1° (and its translation by 1 % of a metre) per thousandth of the time.
fn no_jump(space: &PoseSpace, state: &SpaceState, from: f64, to: f64, joint: usize) {
    let at = |i: i32| space.evaluate(state, from + (to - from) * f64::from(i) / 1000.0).unwrap().pose.joints[joint];
    for i in 0..1000 {
        let (a, b) = (at(i), at(i + 1));
        assert!(angle(a.rotation, b.rotation) < 1.0, "step {i}: {}", angle(a.rotation, b.rotation));
        assert!((0..3).all(|k| (a.translation[k] - b.translation[k]).abs() < 0.01));
    }
}

#[test]
fn changes_during_changes_do_not_pop() {
    let (_, space) = grouped();
    let mut state = SpaceState::new(&space);
    state.set_point([0.6, 0.1, 0.0]).unwrap();
    let end = space.find_group("end").unwrap();
    let fade = |now| Fade { now, seconds: 1.0 };
    let changes: [(f64, GroupMode); 6] = [
        (0.0, GroupMode::Default),
        (0.5, GroupMode::Point([0.9, 0.05, 0.0])),
        (0.8, GroupMode::Held),
        (1.1, GroupMode::Live),
        (1.6, GroupMode::Held),
        (1.9, GroupMode::Default),
    ];
    for (now, mode) in changes {
        let before = space.evaluate(&state, now).unwrap();
        state.set_group(&space, end, Channels::ALL, &mode, fade(now)).unwrap();
        let after = space.evaluate(&state, now).unwrap();
        for (a, b) in before.pose.joints.iter().zip(&after.pose.joints) {
            assert!(angle(a.rotation, b.rotation) < 1e-4, "{now} {mode:?}");
        }
        no_jump(&space, &state, now, now + 2.0, 4);
    }
    state.select(&space, 1, 2, fade(4.0)).unwrap();
    let before = space.evaluate(&state, 4.4).unwrap();
    state.select(&space, 1, 0, fade(4.4)).unwrap();
    let after = space.evaluate(&state, 4.4).unwrap();
    assert!(angle(before.pose.joints[0].rotation, after.pose.joints[0].rotation) < 1e-4);
    no_jump(&space, &state, 4.4, 6.0, 0);
    state.set_strength(&space, end, Channels::ALL, 0.3, fade(6.0)).unwrap();
    no_jump(&space, &state, 6.0, 8.0, 4);
}

#[test]
fn channels_are_held_apart() {
    let (_, space) = grouped();
    let mut state = SpaceState::new(&space);
    state.set_point([0.3, 0.2, 0.0]).unwrap();
    let before = space.evaluate(&state, 0.0).unwrap().pose.joints[5];
    let channels = Channels::ROTATION | Channels::THICKNESS;
    state.set_group(&space, 0, channels, &GroupMode::Held, Fade::at_once(0.0)).unwrap();
    state.set_point([0.8, 0.1, 0.0]).unwrap();
    let after = space.evaluate(&state, 1.0).unwrap().pose.joints[5];
    assert_eq!(before.rotation.map(f32::to_bits), after.rotation.map(f32::to_bits));
    assert_eq!(before.thickness, after.thickness);
    assert_ne!(before.translation, after.translation);
    assert_ne!(before.length, after.length);
    assert_ne!(before.scale, after.scale);
}

#[test]
fn limits_clamp_by_angles_and_say_so() {
    let rig = chain(2);
    let flexed = |a: f32| with_rotations(&rig, &[[0., 0., 0., 1.], turn([1., 0., 0.], a)]);
    // The bone is along +Y, so y is +Z and z is +X.
    let limit = Limit::degrees([-5., 5.], [-20., 20.], [-10., 90.]);
    let mut d = descriptor(vec![flexed(0.0), flexed(80.0), flexed(40.0)], &TRIANGLE, 2);
    d.limits = vec![NodeLimit { node: 1, limit, hinge: None, built_in: false }];
    d.outside = Outside::Extrapolate;
    let space = PoseSpace::new(&rig, d).unwrap();
    let mut last = 0.0;
    for step in 0..=300 {
        let x = step as f32 * 0.01;
        let got = space.evaluate_at([x, 0.0, 0.0]).unwrap();
        let degrees = angle(got.pose.joints[1].rotation, [0., 0., 0., 1.]);
        assert!(degrees < 90.001 && degrees >= last - 1e-3, "{x}: {degrees} after {last}");
        assert_eq!(got.clamped[1], f64::from(x) * 80.0 > 90.0, "{x} {degrees}");
        last = degrees;
    }
    for step in 0..=300 {
        let got = space.evaluate_at([-step as f32 * 0.01, 0.0, 0.0]).unwrap();
        assert!(angle(got.pose.joints[1].rotation, [0., 0., 0., 1.]) < 10.001);
    }
    assert!(Limit::degrees([5., -5.], [0., 0.], [0., 0.]).validate().is_err());
    assert!(Limit::degrees([-5., 181.], [0., 0.], [0., 0.]).validate().is_err());
}

#[test]
fn refuses_bad_descriptors() {
    let rig = chain(2);
    let rest = || Pose::rest(&rig);
    let good = || descriptor(vec![rest(), rest(), rest()], &TRIANGLE, 2);
    let mut bad = vec![good(), good(), good(), good(), good(), good(), good()];
    bad[0].default = 3;
    bad[1].corners[0].samples.clear();
    bad[2].corners[0].samples.push(9);
    bad[3].samples[1].pose.joints.pop();
    bad[4].samples[1].pose.joints[0].length = 0.0;
    bad[5].samples[1].pose.joints[0].rotation[2] = f32::NAN;
    bad[6].groups.push(Group { name: "x".into(), nodes: vec![2] });
    for d in bad {
        println!("{}", PoseSpace::new(&rig, d).expect_err("must be refused"));
    }
    assert!(PoseSpace::new(&rig, good()).is_ok());
}
