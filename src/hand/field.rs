//! The implicit right hand: solids for bones, muscles and skin, joined so that fingers never melt into each other.

use glam::Vec3;

use super::anatomy::{Anatomy, FIRST, Joint, STUMP};
use super::sdf::{Group, Solid, cut, join};

/// The hand as a signed distance, millimetres.
#[derive(Clone, Debug)]
pub(super) struct Field {
    /// Palm, back, thumb's ball, webs, wrist.
    body: Group,
    fingers: [Group; 5],
    hollow: Solid,
}

/// Radii of fingers at knuckle, middle joint, last joint and near the tip.
const RADII: [[f32; 4]; 5] =
    [[11.4, 9.9, 8.1, 8.1], [10.0, 8.6, 7.4, 6.5], [10.2, 8.9, 7.7, 6.7], [9.6, 8.4, 7.2, 6.3], [8.5, 7.3, 6.3, 5.5]];

/// How far the flesh lies on the palm's side of the bones.
const FLESH: f32 = 1.0;

/// Between the palm and a finger.
const FILLET: f32 = 7.0;

impl Field {
    pub fn new(anatomy: &Anatomy) -> Self {
        let mut fingers: [Group; 5] = Default::default();
        for (finger, group) in fingers.iter_mut().enumerate() {
            *group = digit(anatomy, finger);
        }
        let hollow = Solid::ellipsoid(
            Vec3::new(3.0, 58.0, 22.5),
            Vec3::new(0.25, 1.0, 0.0),
            Vec3::Z,
            Vec3::new(19.0, 34.0, 12.0),
        );
        Self { body: body(anatomy), fingers, hollow }
    }

    pub fn distance(&self, p: Vec3) -> f32 {
        let body = cut(self.body.join(f32::INFINITY, p), self.hollow.distance(p), 14.0);
        // What the fingers add to the body, each with a wide fillet; between two of them the fillet is hardly there.
        let mut added = 0.0_f32;
        for finger in &self.fingers {
            let own = finger.join(f32::INFINITY, p);
            if own < body + FILLET {
                let more = body - join(body, own, FILLET);
                added = -join(-added, -more, more.min(added).min(1.5));
            }
        }
        let all = body - added;
        // The forearm ends in a plane with a rounded rim.
        -join(-all, p.y - STUMP, 6.0)
    }

    /// Not normalised: about 1 near the surface.
    pub fn gradient(&self, p: Vec3, step: f32) -> Vec3 {
        // Corners of a tetrahedron: four values instead of six.
        const E: [Vec3; 4] = [
            Vec3::new(1.0, -1.0, -1.0),
            Vec3::new(-1.0, -1.0, 1.0),
            Vec3::new(-1.0, 1.0, -1.0),
            Vec3::new(1.0, 1.0, 1.0),
        ];
        E.iter().map(|&e| e * self.distance(p + e * step)).sum::<Vec3>() / (4.0 * step)
    }

    /// Corners of a box around the surface.
    pub fn bounds(&self) -> (Vec3, Vec3) {
        let (mut low, mut high) = self.body.bounds();
        for finger in &self.fingers {
            let (l, h) = finger.bounds();
            (low, high) = (low.min(l), high.max(h));
        }
        (low.max(Vec3::new(f32::MIN, STUMP, f32::MIN)), high)
    }

    /// Distance to what is no finger.
    #[cfg(test)]
    pub fn palm(&self, p: Vec3) -> f32 {
        cut(self.body.join(f32::INFINITY, p), self.hollow.distance(p), 14.0)
    }

    /// Distance to one finger alone.
    pub fn finger(&self, finger: usize, p: Vec3) -> f32 {
        self.fingers[finger].join(f32::INFINITY, p)
    }
}

/// A finger beyond its knuckle; a thumb beyond its metacarpal.
fn digit(anatomy: &Anatomy, finger: usize) -> Group {
    let joints = anatomy.phalanges(finger);
    let thumb = finger == 0;
    let radii = RADII[finger];
    let radii = if thumb { &radii[..3] } else { &radii[..] };
    let mut group = Group::default();
    let bones = joints.len() - 1;
    let flesh = |j: &Joint, by: f32| j.at - j.dorsal * by;
    for bone in 0..bones {
        let (j, next) = (&joints[bone], &joints[bone + 1]);
        let last = bone + 1 == bones;
        let length = j.at.distance(next.at);
        let r = [radii[bone], radii[bone + 1]];
        let a = flesh(j, FLESH);
        let b = if last {
            // Ends where the fingertip's sphere touches the end of the flesh.
            anatomy.ends[finger] - j.along * r[1] - j.dorsal * 1.2
        } else {
            flesh(&Joint { dorsal: next.dorsal, ..*next }, FLESH)
        };
        let slim = 0.985;
        group.add(Solid::limb(a, b, [r[0] * slim, r[1] * slim], j.dorsal, 1.04), 2.5);
        // The pad on the palm's side, between the creases.
        let mean = 0.5 * (r[0] + r[1]);
        let (at, reach, low) = if last { (0.58, 0.58, 0.20) } else { (0.50, 0.46, 0.21) };
        let middle = j.at + j.along * (length * at) - j.dorsal * (FLESH + low * mean);
        group
            .add(Solid::ellipsoid(middle, j.along, j.dorsal, Vec3::new(0.90 * mean, length * reach, 0.80 * mean)), 4.0);
        // The joint itself: wider than thick, a little knob on the back.
        if !last {
            let knob = next.at - next.dorsal * (0.2 * FLESH);
            let along = (j.along + next.along).normalize();
            group
                .add(Solid::ellipsoid(knob, along, next.dorsal, Vec3::new(0.93 * r[1], 1.35 * r[1], 0.80 * r[1])), 5.0);
        }
    }
    group
}

fn body(anatomy: &Anatomy) -> Group {
    let mut group = Group::default();
    let at = |joint: usize| anatomy.joints[joint].at;
    // Forearm and wrist.
    group.add(
        Solid::limb(Vec3::new(0.0, STUMP - 30.0, 0.0), Vec3::new(-0.5, -6.0, 1.0), [32.0, 25.5], Vec3::Z, 1.36),
        8.0,
    );
    group.add(Solid::limb(Vec3::new(-0.5, -4.0, 1.0), Vec3::new(-1.0, 34.0, 3.0), [25.0, 24.0], Vec3::Z, 1.40), 14.0);
    // Metacarpals with the flesh on them.
    for (finger, radii) in [(1, [14.0, 10.4]), (2, [14.5, 10.9]), (3, [14.0, 10.4]), (4, [13.0, 9.3])] {
        let j = FIRST[finger];
        let (base, head) = (at(j), at(j + 1));
        group.add(
            Solid::limb(
                base + Vec3::Z * 4.0,
                head + anatomy.joints[j + 1].along * 6.0 + Vec3::Z * 2.2,
                radii,
                Vec3::Z,
                1.0,
            ),
            11.0,
        );
        // The knuckle's head under the skin of the back.
        let knob = head + Vec3::new(0.0, -1.5, -4.2);
        group.add(Solid::ellipsoid(knob, Vec3::Y, Vec3::Z, Vec3::new(6.6, 10.5, 6.4)), 6.0);
    }
    // Pads of the palm below the fingers.
    for finger in 1..4 {
        let (a, b) = (at(FIRST[finger] + 1), at(FIRST[finger + 1] + 1));
        let middle = 0.5 * (a + b) + Vec3::new(0.0, 2.0, 8.5);
        group.add(Solid::ellipsoid(middle, b - a, Vec3::Z, Vec3::new(11.0, 13.0, 7.0)), 8.0);
    }
    // The thumb's metacarpal and ball.
    let (base, head) = (at(1), at(2));
    let along = (head - base).normalize();
    let dorsal = anatomy.joints[1].dorsal;
    group.add(Solid::limb(base, head - dorsal * 1.0, [13.0, 11.4], dorsal, 1.0), 10.0);
    let ball = base + along * 20.0 - dorsal * 8.0 + Vec3::new(-3.0, 0.0, 1.0);
    group.add(Solid::ellipsoid(ball, along, dorsal, Vec3::new(15.0, 31.0, 12.0)), 16.0);
    // The ball of the little finger.
    group.add(
        Solid::ellipsoid(Vec3::new(-25.5, 42.0, 8.0), Vec3::new(-0.2, 1.0, 0.0), Vec3::Z, Vec3::new(13.0, 33.0, 12.5)),
        12.0,
    );
    // The web between thumb and index finger.
    let index = at(FIRST[1] + 1);
    let corners =
        [at(1) + Vec3::new(2.0, 4.0, 0.0), base + along * 34.0, base.lerp(index, 0.66) + Vec3::new(5.0, 0.0, 1.0)];
    group.add(Solid::Sheet { corners, radius: 5.5 }, 12.0);
    // The webs between the fingers.
    for finger in 1..4 {
        let (a, b) = (&anatomy.joints[FIRST[finger] + 1], &anatomy.joints[FIRST[finger + 1] + 1]);
        let out = |j: &Joint, by: f32| j.at + j.along * by + Vec3::Z * 2.0;
        let by = if finger == 3 { 7.0 } else { 8.5 };
        group.add(Solid::limb(out(a, by), out(b, by + 2.0), [6.6, 6.2], Vec3::Z, 1.0), 5.0);
    }
    // The end of the ulna, and the tendons on the back.
    group.add(Solid::ellipsoid(Vec3::new(-17.5, -17.0, -8.5), Vec3::Y, Vec3::Z, Vec3::new(9.0, 11.0, 8.5)), 9.0);
    for finger in 1..5 {
        let head = at(FIRST[finger] + 1) + Vec3::new(0.0, -6.0, -8.0);
        let root = Vec3::new(0.28 * head.x - 3.0, 14.0, -13.0);
        group.add(Solid::limb(root, head, [1.6, 2.4], Vec3::Z, 1.0), 6.0);
    }
    group
}
