//! What a change of influences does to a moving character, measured by skinning both.

use glam::DVec3;

use super::Influences;
use crate::character::{Clip, Rig, Skin};
use crate::math::Affine64;
use crate::pose::{Pose, skin_palette};
use crate::{Error, Result};

/// Times at which a clip is looked at, at most; clips of fewer keys are looked at on every key.
const TIMES: usize = 64;
/// How far each joint is turned where there is no clip, degrees.
const TURN: f64 = 30.0;

/// The largest displacement found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Displacement {
    /// Metres.
    pub metres: f64,
    /// The vertex.
    pub vertex: usize,
    /// Name of the mesh it belongs to, for people; left empty here, for who knows it.
    pub mesh: String,
    /// The pose that showed it, for people: `clip "walk" at 0.25 s`, `"hand.L" turned by 30° about x`.
    pub pose: String,
    /// Poses looked at.
    pub poses: usize,
    /// Diagonal of the bounding box of the vertices in the rest pose, metres.
    pub size: f64,
}

impl Displacement {
    /// The displacement in per cent of the size.
    pub fn percent(&self) -> f64 {
        if self.size > 0.0 { 100.0 * self.metres / self.size } else { 0.0 }
    }
}

/// What is skinned to compare two lists of influences.
#[derive(Clone, Copy, Debug)]
pub struct Moving<'a> {
    /// The nodes.
    pub rig: &'a Rig,
    /// The joints that the influences name.
    pub skin: &'a Skin,
    /// Rest positions of the vertices.
    pub positions: &'a [[f32; 3]],
    /// The poses to look at; without clips, every joint of influence is turned by ±30° about each of its axes.
    pub clips: &'a [Clip],
}

/// Skins every vertex with both lists (linear blend, f64 sums, morph targets at rest) in the rest pose and in the poses of
/// [`Moving::clips`], and returns the largest distance between the two results.
///
/// # Errors
/// [`Error::LengthMismatch`] where the lists or positions do not fit each other; [`Error::OutOfRange`] for a joint past the
/// skin; those of [`Skin::validate`].
pub fn displacement(moving: &Moving<'_>, before: &Influences, after: &Influences) -> Result<Displacement> {
    Ok(displacements(moving, before, after)?.0)
}

/// As [`displacement`], and each vertex's own largest distance over the same poses, metres.
///
/// # Errors
/// Those of [`displacement`].
pub fn displacements(moving: &Moving<'_>, before: &Influences, after: &Influences) -> Result<(Displacement, Vec<f64>)> {
    let Moving { rig, positions, .. } = *moving;
    let changes = checked_changes(moving, before, after)?;
    let mut field = vec![0.0; positions.len()];
    let mut found = Displacement::default();
    let mut look = |label: &dyn Fn() -> String, pose: &Pose| -> Result<Vec<Affine64>> {
        let palette = palette(moving, pose)?;
        found.poses += 1;
        for (vertex, change) in &changes {
            let moved = moved(&palette, positions[*vertex], change);
            field[*vertex] = moved.max(field[*vertex]);
            if moved > found.metres {
                found = Displacement { metres: moved, vertex: *vertex, pose: label(), ..found.clone() };
            }
        }
        Ok(palette)
    };
    let rest = look(&|| "rest pose".into(), &Pose::rest(rig))?;
    poses(moving, &changes, &mut |label, pose| look(label, pose).map(drop))?;
    let skinned = (0..positions.len()).map(|v| {
        let p = DVec3::from(positions[v].map(f64::from));
        before.of(v).iter().map(|i| rest[i.joint as usize].point(p) * f64::from(i.weight)).sum::<DVec3>()
    });
    let (low, high) = skinned.fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(l, h), p| (l.min(p), h.max(p)));
    found.size = if positions.is_empty() { 0.0 } else { (high - low).length() };
    Ok((found, field))
}

/// The distance between the two results for every vertex in one pose, metres; [`Moving::clips`] do not matter.
///
/// # Errors
/// Those of [`displacement`]; [`Error::LengthMismatch`] for a pose of another rig.
pub fn displacements_in(moving: &Moving<'_>, pose: &Pose, before: &Influences, after: &Influences) -> Result<Vec<f64>> {
    let changes = checked_changes(moving, before, after)?;
    let palette = palette(moving, pose)?;
    let mut field = vec![0.0; moving.positions.len()];
    for (vertex, change) in &changes {
        field[*vertex] = moved(&palette, moving.positions[*vertex], change);
    }
    Ok(field)
}

fn palette(moving: &Moving<'_>, pose: &Pose) -> Result<Vec<Affine64>> {
    Ok(skin_palette(moving.rig, moving.skin, pose)?.iter().map(Affine64::from).collect())
}

/// Length of what a change of weights adds to a skinned position.
fn moved(palette: &[Affine64], position: [f32; 3], change: &[(usize, f64)]) -> f64 {
    let p = DVec3::from(position.map(f64::from));
    change.iter().map(|&(joint, w)| palette[joint].point(p) * w).sum::<DVec3>().length()
}

/// [`changes`], after checking that everything fits.
fn checked_changes(moving: &Moving<'_>, before: &Influences, after: &Influences) -> Result<Changes> {
    let Moving { rig, skin, positions, .. } = *moving;
    rig.validate()?;
    skin.validate(rig)?;
    for influences in [before, after] {
        influences.validate()?;
        let (found, expected) = (influences.vertex_count(), positions.len());
        if found != expected {
            return Err(Error::LengthMismatch { what: "the list of influences", found, expected });
        }
        let count = skin.joints.len();
        if let Some(i) = influences.entries.iter().find(|i| i.joint as usize >= count) {
            return Err(Error::OutOfRange { what: "joint", index: i.joint as usize, count });
        }
    }
    Ok(changes(before, after))
}

/// The vertices whose influences differ, with what each joint's weight changed by.
type Changes = Vec<(usize, Vec<(usize, f64)>)>;

fn changes(before: &Influences, after: &Influences) -> Changes {
    let change = |v: usize| {
        let mut out: Vec<(usize, f64)> = Vec::new();
        for (list, sign) in [(after.of(v), 1.0), (before.of(v), -1.0)] {
            for i in list {
                let w = sign * f64::from(i.weight);
                match out.iter_mut().find(|o| o.0 == i.joint as usize) {
                    Some(o) => o.1 += w,
                    None => out.push((i.joint as usize, w)),
                }
            }
        }
        out.retain(|o| o.1 != 0.0);
        (v, out)
    };
    (0..before.vertex_count()).map(change).filter(|c| !c.1.is_empty()).collect()
}

type Look<'a> = dyn FnMut(&dyn Fn() -> String, &Pose) -> Result<()> + 'a;

fn poses(moving: &Moving<'_>, changes: &Changes, look: &mut Look<'_>) -> Result<()> {
    let rig = moving.rig;
    for clip in moving.clips {
        let mut times: Vec<f32> = clip.channels.iter().flat_map(|c| c.times.iter().copied()).collect();
        times.sort_unstable_by(f32::total_cmp);
        times.dedup();
        if times.len() > TIMES {
            times = (0..TIMES).map(|i| clip.duration * i as f32 / (TIMES - 1) as f32).collect();
        }
        for time in times {
            let mut pose = Pose::rest(rig);
            clip.sample(time, &mut pose);
            look(&|| format!("clip {:?} at {time} s", clip.name), &pose)?;
        }
    }
    if !moving.clips.is_empty() {
        return Ok(());
    }
    // Turning a joint moves what differs only if one of the joints that differ hangs on it.
    let mut matters = vec![false; rig.nodes.len()];
    for &(joint, _) in changes.iter().flat_map(|c| &c.1) {
        let mut node = Some(moving.skin.joints[joint]);
        while let Some(n) = node.filter(|&n| !matters[n]) {
            matters[n] = true;
            node = rig.nodes[n].parent;
        }
    }
    let rest = Pose::rest(rig);
    for node in (0..rig.nodes.len()).filter(|&n| matters[n]) {
        for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
            for turn in [TURN, -TURN] {
                let half = (turn / 2.0).to_radians();
                let mut q = [0.0, 0.0, 0.0, half.cos()];
                q[axis] = half.sin();
                let mut pose = rest.clone();
                let rotation = crate::math::unit_quat(rest.joints[node].rotation) * glam::DQuat::from_array(q);
                pose.joints[node].rotation = rotation.to_array().map(|x| x as f32);
                look(&|| format!("{:?} turned by {turn}° about {name}", rig.nodes[node].name), &pose)?;
            }
        }
    }
    Ok(())
}

/// Positions under one palette, in f64: linear blend skinning as plainly as its formula.
#[cfg(test)]
fn skinned(palette: &[crate::Affine], position: [f32; 3], influences: &[super::Influence]) -> DVec3 {
    let p = DVec3::from(position.map(f64::from));
    influences.iter().map(|i| Affine64::from(&palette[i.joint as usize]).point(p) * f64::from(i.weight)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::character::RigNode;
    use crate::influence::Influence;
    use crate::math::{Affine, Transform};

    fn arm() -> (Rig, Skin) {
        let node = |name: &str, parent, y: f32| RigNode {
            name: name.into(),
            parent,
            rest: Transform { translation: [0.0, y, 0.0], ..Transform::IDENTITY },
            ..Default::default()
        };
        let rig = Rig { nodes: vec![node("upper", None, 0.0), node("lower", Some(0), 1.0)] };
        let mut down = Affine::IDENTITY;
        down.rows[1][3] = -1.0;
        (rig, Skin { name: String::new(), joints: vec![0, 1], inverse_binds: vec![Affine::IDENTITY, down] })
    }

    #[test]
    fn measured_where_a_formula_says() {
        let (rig, skin) = arm();
        let half = |w: f32| {
            let slots = [Influence { joint: 0, weight: 1.0 - w }, Influence { joint: 1, weight: w }];
            Influences::from_vertices([&slots[..], &[Influence { joint: 0, weight: 1.0 }]])
        };
        // 1 m beyond the lower joint; 0.25 of weight moved to it. Turning it by 30° moves that point by 2 sin 15° m.
        let positions = [[0.0, 2.0, 0.0], [0.5, 0.0, 0.0]];
        let moving = Moving { rig: &rig, skin: &skin, positions: &positions, clips: &[] };
        let (before, after) = (half(0.5), half(0.75));
        let d = displacement(&moving, &before, &after).unwrap();
        let expected = 0.25 * 2.0 * 15f64.to_radians().sin();
        // The palettes are f32: 1e-7 of the largest coordinate, 2 m.
        assert!((d.metres - expected).abs() < 4e-7, "{d:?}");
        assert_eq!((d.vertex, d.poses), (0, 13));
        assert!(d.pose.starts_with("\"lower\" turned by"), "{}", d.pose);
        assert!((d.size - (4.0f64 + 0.25).sqrt()).abs() < 1e-6);
        let mut pose = Pose::rest(&rig);
        pose.joints[1].rotation = [0.258_819_05, 0.0, 0.0, 0.965_925_8];
        let palette = skin_palette(&rig, &skin, &pose).unwrap();
        let at = |i: &Influences| skinned(&palette, positions[0], i.of(0));
        assert!((at(&before).distance(at(&after)) - d.metres).abs() < 4e-7);
        let (same, field) = displacements(&moving, &before, &after).unwrap();
        assert_eq!(same, d);
        assert_eq!(field.iter().copied().fold(0.0, f64::max), d.metres);
        assert_eq!(field[d.vertex], d.metres);
        let now = displacements_in(&moving, &pose, &before, &after).unwrap();
        assert!((now[0] - at(&before).distance(at(&after))).abs() < 4e-7);
        assert!(now.iter().zip(&field).all(|(now, most)| *now <= most + 4e-7));
        assert!(displacements_in(&moving, &Pose::default(), &before, &after).is_err());
        assert_eq!(displacement(&moving, &before, &before).unwrap().metres, 0.0);
        assert!(displacement(&moving, &before, &Influences::default()).is_err());
    }
}
