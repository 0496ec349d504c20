//! Joints that hosts ask for, on the CPU and in the GPU's buffer, however their character is driven.

use super::scene::frame;
use super::space::{case, state};
use super::{Random, device};
use crate::gpu::readback::read_range;
use crate::gpu::{CharacterId, Drive, RigDescriptor, Skinner, SkinnerDescriptor};
use crate::math::Affine;
use crate::pose::{Pose, joint_worlds};

#[test]
fn joints_of_poses_and_pose_spaces_are_those_of_the_cpu() {
    let (device, queue) = device();
    let mut random = Random::new(21);
    let case = case(65, 2, false, &mut random);
    let descriptor = SkinnerDescriptor { joints: true, ..SkinnerDescriptor::default() };
    let mut skinner = Skinner::new(&device, &descriptor).unwrap();
    let rig = skinner.add_rig(&RigDescriptor { rig: &case.rig, skins: &case.skins, clips: &[] }).unwrap();
    let space = skinner.add_space(rig, &case.space).unwrap();
    let spare = skinner.spawn(rig, &[]).unwrap();
    skinner.set_visible(spare, false).unwrap();
    let mut poses: Vec<(CharacterId, Pose)> = Vec::new();
    for i in 0..9 {
        let id = skinner.spawn(rig, &[]).unwrap();
        let state = state(&case.space, i, 5.0, &mut random);
        let pose = case.space.evaluate(&state, 5.2).unwrap().pose;
        match i % 3 {
            0 => skinner.drive(id, Drive::Local(&pose)).unwrap(),
            _ => skinner.drive(id, Drive::Space { space, state: &state }).unwrap(),
        }
        poses.push((id, pose));
    }
    frame(&device, &queue, &mut skinner, 5.2);
    let read = |skinner: &Skinner, id: CharacterId| -> Vec<Affine> {
        let range = skinner.joints(id).unwrap();
        bytemuck::pod_collect_to_vec(&read_range(&device, &queue, range.buffer, range.bytes).unwrap())
    };
    for (i, (id, pose)) in poses.iter().enumerate() {
        // Bone lengths and thicknesses are no part of a joint's transform; lengths move the joints behind them.
        let expected = joint_worlds(&case.rig, pose).unwrap();
        let size = expected.iter().flat_map(|m| m.rows).flatten().fold(1f32, |a, x| a.max(x.abs()));
        let got = read(&skinner, *id);
        assert_eq!(got.len(), expected.len());
        for (node, (e, g)) in expected.iter().zip(&got).enumerate() {
            let own = skinner.joint_world(*id, node).unwrap();
            for ((e, g), own) in e.rows.iter().flatten().zip(g.rows.iter().flatten()).zip(own.rows.iter().flatten()) {
                assert!((e - g).abs() < 2e-6 * size, "character {i}, node {node}: {g} instead of {e}");
                assert!((e - own).abs() < 2e-6 * size, "character {i}, node {node}: {own} on the CPU, not {e}");
            }
        }
    }
    assert!(read(&skinner, spare).iter().all(|m| m.rows == [[0.0; 4]; 3]), "the spare one was not posed");
}
