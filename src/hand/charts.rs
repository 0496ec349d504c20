//! Cuts the hand's surface into charts that flatten well: two halves for the palm and its back, two for every finger, and the
//! end of the forearm.

use std::collections::HashMap;

use glam::Vec3;

use super::anatomy::{Anatomy, Joint, STUMP};
use super::field::Field;
use super::surface::Surface;

pub(super) const PALM: usize = 0;
pub(super) const BACK: usize = 1;
pub(super) const END: usize = 2;
/// Palm, back, end, then each finger's palmar and dorsal half.
pub(super) const CHARTS: usize = 13;

/// Where a finger's charts begin, beyond the knuckle, millimetres.
const BEGIN: [f32; 5] = [5.0, 16.0, 17.0, 15.5, 12.0];

pub(super) fn of_finger(finger: usize, dorsal: bool) -> usize {
    3 + 2 * finger + usize::from(dorsal)
}

/// The finger a chart belongs to.
pub(super) fn finger_of(chart: usize) -> Option<usize> {
    chart.checked_sub(3).map(|c| c / 2)
}

/// A point's place on a finger: the bone it is nearest to, millimetres along that bone, and the bone's frame, blended a little
/// around the joints.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnFinger {
    pub bone: usize,
    pub along: f32,
    pub dorsal: Vec3,
    pub side: Vec3,
}

pub(super) fn on_finger(joints: &[Joint], p: Vec3) -> OnFinger {
    let mut best = (f32::INFINITY, 0, 0.0);
    for (bone, ends) in joints.windows(2).enumerate() {
        let length = ends[0].at.distance(ends[1].at);
        let along = (p - ends[0].at).dot(ends[0].along);
        let d = p.distance_squared(ends[0].at + ends[0].along * along.clamp(0.0, length));
        if d < best.0 {
            best = (d, bone, along);
        }
    }
    let joint = &joints[best.1];
    OnFinger { bone: best.1, along: best.2, dorsal: joint.dorsal, side: joint.dorsal.cross(joint.along) }
}

/// The chart of every triangle; each chart is one piece.
pub(super) fn charts(anatomy: &Anatomy, field: &Field, surface: &Surface) -> Vec<usize> {
    let mut labels: Vec<usize> = Vec::with_capacity(surface.triangles.len());
    for t in &surface.triangles {
        let [p, n] =
            [&surface.positions, &surface.normals].map(|v| t.iter().map(|&i| v[i as usize]).sum::<Vec3>() / 3.0);
        labels.push(label(anatomy, field, p, n));
    }
    let across = across(&surface.triangles);
    for _ in 0..4 {
        let old = labels.clone();
        for (t, label) in labels.iter_mut().enumerate() {
            let around = across[t].map(|o| old[o as usize]);
            if let Some(&most) =
                around.iter().find(|&&l| l != old[t] && around.iter().filter(|&&m| m == l).count() >= 2)
            {
                *label = most;
            }
        }
    }
    join_islands(&across, &mut labels);
    labels
}

fn label(anatomy: &Anatomy, field: &Field, p: Vec3, n: Vec3) -> usize {
    let mut finger = (3.0, None);
    for f in 0..5 {
        let joints = anatomy.phalanges(f);
        if (p - joints[0].at).dot(joints[0].along) > BEGIN[f] {
            let d = field.finger(f, p);
            if d < finger.0 {
                finger = (d, Some(f));
            }
        }
    }
    match finger.1 {
        Some(f) => of_finger(f, on_finger(anatomy.phalanges(f), p).dorsal.dot(n) > 0.0),
        None if p.y < STUMP + 2.5 && n.y < -0.7 => END,
        None => usize::from(n.z < 0.0),
    }
}

/// The triangles on the other side of each triangle's edges (itself where there is none).
fn across(triangles: &[[u32; 3]]) -> Vec<[u32; 3]> {
    let mut owner = HashMap::with_capacity(3 * triangles.len());
    for (t, corners) in triangles.iter().enumerate() {
        for k in 0..3 {
            owner.insert((corners[k], corners[(k + 1) % 3]), t as u32);
        }
    }
    let other = |(t, c): (usize, &[u32; 3])| {
        std::array::from_fn(|k| owner.get(&(c[(k + 1) % 3], c[k])).copied().unwrap_or(t as u32))
    };
    triangles.iter().enumerate().map(other).collect()
}

/// Gives all pieces of a chart but the largest to the chart they touch most.
fn join_islands(across: &[[u32; 3]], labels: &mut [usize]) {
    for _ in 0..4 {
        let mut piece = vec![usize::MAX; labels.len()];
        let mut pieces: Vec<Vec<usize>> = Vec::new();
        for start in 0..labels.len() {
            if piece[start] != usize::MAX {
                continue;
            }
            let mut members = vec![start];
            piece[start] = pieces.len();
            let mut next = 0;
            while let Some(&t) = members.get(next) {
                next += 1;
                for o in across[t].map(|o| o as usize) {
                    if piece[o] == usize::MAX && labels[o] == labels[start] {
                        piece[o] = pieces.len();
                        members.push(o);
                    }
                }
            }
            pieces.push(members);
        }
        let mut largest = [0; CHARTS];
        for members in &pieces {
            let most = &mut largest[labels[members[0]]];
            *most = members.len().max(*most);
        }
        let mut kept = [false; CHARTS];
        let mut done = true;
        for members in &pieces {
            let own = labels[members[0]];
            if members.len() == largest[own] && !std::mem::replace(&mut kept[own], true) {
                continue;
            }
            done = false;
            let mut touched = [0; CHARTS];
            members.iter().flat_map(|&t| across[t]).for_each(|o| touched[labels[o as usize]] += 1);
            touched[own] = 0;
            let most = (0..CHARTS).max_by_key(|&c| (touched[c], CHARTS - c)).unwrap_or(own);
            members.iter().for_each(|&t| labels[t] = most);
        }
        if done {
            break;
        }
    }
}
