//! Left and right: which joints are a pair, and which side of the body a vertex is on.

use std::collections::{BTreeMap, HashMap};

use glam::DVec3;

use crate::character::{Rig, Skin};
use crate::math::{Affine, Affine64};

/// How far from the plane still counts as on it, relative to the size of the skeleton.
const MIDDLE: f64 = 1e-4;

/// Left/right pairs of a skin's joints and the plane between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Symmetry {
    /// For each joint, the joint on the other side.
    pub mate: Vec<Option<u32>>,
    /// For each joint: 1 left, −1 right, 0 neither.
    pub side: Vec<i8>,
    /// Unit normal of the plane, towards the left.
    pub normal: [f64; 3],
    /// `normal · p` of points on the plane, metres.
    pub offset: f64,
    /// Points this near the plane are in the middle, metres.
    pub tolerance: f64,
}

impl Symmetry {
    /// Finds pairs by name (`hand.L`/`hand.R`, `LeftHand`/`RightHand`, `l_hand`, `thumb_01_l`, …: a word `l`, `r`, `left` or
    /// `right` of its own) and the plane from the paired joints' positions; `None` when no joint has a pair, or all
    /// pairs coincide.
    pub fn find(names: &[&str], positions: &[[f64; 3]]) -> Option<Self> {
        let mut by_key: BTreeMap<String, [Vec<u32>; 2]> = BTreeMap::new();
        for (joint, name) in (0u32..).zip(names.iter().take(positions.len())) {
            for (key, right) in keys(name) {
                by_key.entry(key).or_default()[usize::from(right)].push(joint);
            }
        }
        let mut mate = vec![None; names.len()];
        let mut side = vec![0; names.len()];
        let mut across = DVec3::ZERO;
        let mut middles = Vec::new();
        for [left, right] in by_key.values() {
            let (&[l], &[r]) = (left.as_slice(), right.as_slice()) else { continue };
            if mate[l as usize].is_some() || mate[r as usize].is_some() {
                continue;
            }
            (mate[l as usize], mate[r as usize]) = (Some(r), Some(l));
            (side[l as usize], side[r as usize]) = (1, -1);
            let (l, r) = (DVec3::from(positions[l as usize]), DVec3::from(positions[r as usize]));
            across += l - r;
            middles.push((l + r) / 2.0);
        }
        let corner = |f: fn(DVec3, DVec3) -> DVec3| positions.iter().map(|&p| DVec3::from(p)).reduce(f);
        let size = (corner(DVec3::max)? - corner(DVec3::min)?).length();
        if !across.is_finite() || across.length() <= size * MIDDLE * middles.len() as f64 {
            return None;
        }
        let mut normal = across.normalize();
        // Bodies are modelled along the axes; small asymmetries of the pose must not tilt the plane.
        for axis in [DVec3::X, DVec3::Y, DVec3::Z] {
            if normal.dot(axis).abs() > 0.999 {
                normal = axis * normal.dot(axis).signum();
            }
        }
        let mut offset = middles.iter().map(|m| m.dot(normal)).sum::<f64>() / middles.len() as f64;
        let tolerance = MIDDLE * size;
        if offset.abs() < tolerance {
            offset = 0.0;
        }
        Some(Self { mate, side, normal: normal.to_array(), offset, tolerance })
    }

    /// The same for a skin, with the joints where they were when the skin was bound.
    pub fn of_skin(rig: &Rig, skin: &Skin) -> Option<Self> {
        skin.validate(rig).ok()?;
        let names: Vec<&str> = skin.joints.iter().map(|&j| rig.nodes[j].name.as_str()).collect();
        // Where the inverse bind maps to the joint's own origin.
        let position = |m: &Affine| {
            let bind = Affine64::from(m);
            let origin = -(bind.m.inverse() * bind.t);
            if origin.is_finite() { origin.to_array() } else { [0.0; 3] }
        };
        Self::find(&names, &skin.inverse_binds.iter().map(position).collect::<Vec<_>>())
    }

    /// For each of some points, the one that stands at its mirror image, as near as [`Symmetry::tolerance`]; itself in the middle.
    pub fn mirrored(&self, positions: &[[f32; 3]]) -> Vec<Option<u32>> {
        let normal = DVec3::from(self.normal);
        let cell = self.tolerance.max(1e-9);
        let key = |p: DVec3| (p / cell).floor().to_array().map(|x| x as i64);
        let point = |p: [f32; 3]| DVec3::from(p.map(f64::from));
        let mut cells: HashMap<[i64; 3], Vec<u32>> = HashMap::new();
        (0u32..).zip(positions).for_each(|(v, &p)| cells.entry(key(point(p))).or_default().push(v));
        let image = |(v, &p): (u32, &[f32; 3])| {
            if self.side_of(p) == 0 {
                return Some(v);
            }
            let p = point(p);
            let q = p - normal * (2.0 * (p.dot(normal) - self.offset));
            let [x, y, z] = key(q);
            let around = (0..27).map(|i| [x + i % 3 - 1, y + i / 3 % 3 - 1, z + i / 9 - 1]);
            let near = around.filter_map(|k| cells.get(&k)).flatten();
            let near = near.map(|&m| (q.distance(point(positions[m as usize])), m)).filter(|m| m.0 <= self.tolerance);
            near.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).map(|m| m.1)
        };
        (0u32..).zip(positions).map(image).collect()
    }

    /// 1 on the left, −1 on the right, 0 in the middle.
    pub fn side_of(&self, position: [f32; 3]) -> i8 {
        let d = DVec3::from(position.map(f64::from)).dot(DVec3::from(self.normal)) - self.offset;
        if d.abs() <= self.tolerance { 0 } else { d.signum() as i8 }
    }
}

/// For each word of the name that is a side: the name with that word blanked, in lower case, and whether it is right.
fn keys(name: &str) -> Vec<(String, bool)> {
    let words = words(name);
    let side = |w: &str| match w.to_lowercase().as_str() {
        "l" | "left" => Some(false),
        "r" | "right" => Some(true),
        _ => None,
    };
    let key = |at: usize| {
        let blanked = words.iter().enumerate().map(|(i, w)| if i == at { "*".into() } else { w.to_lowercase() });
        blanked.collect::<Vec<_>>().join(" ")
    };
    (0..words.len()).filter_map(|i| Some((key(i), side(words[i])?))).collect()
}

/// Words of a name: split at anything but letters and digits, between a small and a capital letter, between letters and
/// digits, and before the last capital of a run (`LHand` is `L`, `Hand`).
fn words(name: &str) -> Vec<&str> {
    let chars: Vec<(usize, char)> = name.char_indices().collect();
    let mut out = Vec::new();
    let mut start = 0;
    let mut flush = |from: usize, to: usize| {
        if from < to {
            out.push(&name[from..to]);
        }
    };
    for (i, &(at, c)) in chars.iter().enumerate() {
        if !c.is_alphanumeric() {
            flush(start, at);
            start = at + c.len_utf8();
        } else if let Some(&(_, before)) = i.checked_sub(1).and_then(|p| chars.get(p)) {
            let next_small = chars.get(i + 1).is_some_and(|n| n.1.is_lowercase());
            let cut = before.is_numeric() != c.is_numeric()
                || before.is_lowercase() && c.is_uppercase()
                || before.is_uppercase() && c.is_uppercase() && next_small;
            if cut {
                flush(start, at);
                start = start.max(at);
            }
        }
    }
    flush(start, name.len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_by_name() {
        let pairs = [
            ("hand.L", "hand.R"),
            ("mixamorig:LeftHand", "mixamorig:RightHand"),
            ("thumb_01_l", "thumb_01_r"),
            ("LHand", "RHand"),
            ("Bip01 L Finger0", "Bip01 R Finger0"),
            ("upper_arm.L.001", "upper_arm.R.001"),
            ("leftUpperLeg", "rightUpperLeg"),
            ("finger01L", "finger01R"),
        ];
        for (l, r) in pairs {
            let s = Symmetry::find(&[l, "spine", r], &[[1.0, 2.0, 0.0], [0.0; 3], [-1.0, 2.0, 0.0]]).unwrap();
            assert_eq!(s.mate, [Some(2), None, Some(0)], "{l}");
            assert_eq!(s.side, [1, 0, -1]);
            assert_eq!((s.side_of([0.3, 9.0, 9.0]), s.side_of([-0.3, 0.0, 0.0]), s.side_of([0.0; 3])), (1, -1, 0));
        }
        for (l, r) in [("Lefty", "Righty"), ("hand1", "hand2"), ("hand_l", "foot_r"), ("lower", "rower")] {
            assert_eq!(Symmetry::find(&[l, r], &[[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]), None);
        }
        // Two rights for one left: nobody knows which.
        assert_eq!(Symmetry::find(&["a.l", "a.r", "a_r"], &[[1.0; 3], [-1.0; 3], [-1.0; 3]]), None);
    }

    #[test]
    fn points_find_their_mirror_images() {
        let s = Symmetry::find(&["a_l", "a_r"], &[[0.0, 0.0, 2.0], [0.0, 0.0, 0.0]]).unwrap();
        // The plane is z = 1, the tolerance 2e-4.
        let points = [[3.0, 1.0, 1.5], [3.0, 1.0, 0.5001], [0.0, 0.0, 1.0], [5.0, 0.0, 0.0], [3.0, 1.0, 0.4997]];
        assert_eq!(s.mirrored(&points), [Some(1), Some(0), Some(2), None, None]);
    }

    #[test]
    fn the_plane_follows_the_joints() {
        let s = Symmetry::find(&["a_l", "a_r"], &[[5.0, 0.0, 0.9], [5.0, 0.0, 1.1]]).unwrap();
        assert_eq!(s.normal, [0.0, 0.0, -1.0]);
        assert!((s.offset + 1.0).abs() < 1e-12);
        assert_eq!(Symmetry::find(&["a_l", "a_r"], &[[0.0; 3], [0.0; 3]]), None);
    }
}
