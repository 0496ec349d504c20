//! Clips: one channel at a time, several blended, the morph weights they drive.

use super::pose::{Joint, Map, local, product};
use crate::character::{Channel, Clip, Interpolation, Rig, Skin, Target};

/// One clip of a blend at the moment it is evaluated.
#[derive(Clone, Copy, Debug)]
pub struct Playing<'a> {
    /// The clip.
    pub clip: &'a Clip,
    /// Seconds of the clip.
    pub time: f64,
    /// How much of the blend it is.
    pub weight: f64,
    /// Factor of the weight per rig node.
    pub mask: Option<&'a [f32]>,
}

/// Numbers of a channel at a time, not normalised (glTF 2.0, appendix C).
pub fn channel(c: &Channel, time: f64) -> Vec<f64> {
    let cubic = c.interpolation == Interpolation::CubicSpline;
    let row = |k: usize, part: usize| -> Vec<f64> {
        let first = if cubic { (3 * k + part) * c.width } else { k * c.width };
        c.values[first..first + c.width].iter().map(|&x| f64::from(x)).collect()
    };
    let last = c.times.len() - 1;
    if time < f64::from(c.times[0]) {
        return row(0, 1);
    }
    // The last key not after `time`.
    let k = (0..=last).filter(|&k| f64::from(c.times[k]) <= time).max().unwrap_or(0);
    if k == last || c.interpolation == Interpolation::Step {
        return row(k, 1);
    }
    let (t0, t1) = (f64::from(c.times[k]), f64::from(c.times[k + 1]));
    let u = (time - t0) / (t1 - t0);
    let (a, b) = (row(k, 1), row(k + 1, 1));
    if cubic {
        let (out, arrive) = (row(k, 2), row(k + 1, 0));
        let (u2, u3) = (u * u, u * u * u);
        let h =
            [2.0 * u3 - 3.0 * u2 + 1.0, (u3 - 2.0 * u2 + u) * (t1 - t0), 3.0 * u2 - 2.0 * u3, (u3 - u2) * (t1 - t0)];
        return (0..c.width).map(|i| h[0] * a[i] + h[1] * out[i] + h[2] * b[i] + h[3] * arrive[i]).collect();
    }
    let (mut wa, mut wb) = (1.0 - u, u);
    if matches!(c.target, Target::Rotation(_)) {
        let cos: f64 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
        if cos.abs() < 0.999_999_9 {
            let angle = cos.abs().acos();
            (wa, wb) = ((wa * angle).sin() / angle.sin(), (wb * angle).sin() / angle.sin());
        }
        wb *= if cos < 0.0 { -1.0 } else { 1.0 };
    }
    a.iter().zip(&b).map(|(x, y)| wa * x + wb * y).collect()
}

fn find(clip: &Clip, target: Target) -> Option<&Channel> {
    clip.channels.iter().find(|c| c.target == target)
}

/// Local transforms of every node: clips over the rest pose, which takes what they leave of the weight.
pub fn clip_joints(rig: &Rig, playing: &[Playing<'_>]) -> Vec<Joint> {
    let joint = |n: usize| {
        let rest = &rig.nodes[n].rest;
        let at = |clip: &Clip, target: Target, rest: &[f32], time: f64| {
            find(clip, target).map_or(rest.iter().map(|&x| f64::from(x)).collect(), |c| channel(c, time))
        };
        // Rotation, translation, scale and weight of each.
        let mut samples: Vec<([Vec<f64>; 3], f64)> = Vec::new();
        for p in playing {
            let value = [
                at(p.clip, Target::Rotation(n), &rest.rotation, p.time),
                at(p.clip, Target::Translation(n), &rest.translation, p.time),
                at(p.clip, Target::Scale(n), &rest.scale, p.time),
            ];
            samples.push((value, p.weight * p.mask.map_or(1.0, |m| f64::from(m[n]))));
        }
        let total: f64 = samples.iter().map(|s| s.1).sum();
        if total < 1.0 {
            let wide = |x: &[f32]| x.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
            samples.push(([wide(&rest.rotation), wide(&rest.translation), wide(&rest.scale)], 1.0 - total));
        }
        samples.retain(|s| s.1 > 0.0);
        for (value, weight) in &mut samples {
            *weight /= total.max(1.0);
            let length = value[0].iter().map(|x| x * x).sum::<f64>().sqrt();
            value[0].iter_mut().for_each(|x| *x /= length);
        }
        let first = samples[0].0[0].clone();
        let mut q = [0.0; 4];
        for (value, weight) in &samples {
            let dot: f64 = value[0].iter().zip(&first).map(|(a, b)| a * b).sum();
            (0..4).for_each(|i| q[i] += weight * value[0][i] * if dot < 0.0 { -1.0 } else { 1.0 });
        }
        let length = q.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length < 0.1 {
            let x = length / 0.1;
            (0..4).for_each(|i| q[i] += first[i] * 0.1 * (1.0 - x * x * (3.0 - 2.0 * x)));
        }
        let mean = |row: usize, i: usize| samples.iter().map(|(v, w)| w * v[row][i]).sum::<f64>();
        let scale = |i: usize| {
            let power = samples.iter().map(|(v, w)| w * v[2][i].abs().max(1e-6).ln()).sum::<f64>().exp();
            if samples.iter().all(|(v, _)| v[2][i] == samples[0].0[2][i]) {
                samples[0].0[2][i]
            } else if samples.iter().all(|(v, _)| v[2][i] >= 0.0) {
                power
            } else if samples.iter().all(|(v, _)| v[2][i] < 0.0) {
                -power
            } else {
                mean(2, i)
            }
        };
        Joint {
            rotation: q,
            translation: [0, 1, 2].map(|i| mean(1, i)),
            scale: [0, 1, 2].map(scale),
            length: 1.0,
            thickness: 1.0,
        }
    };
    (0..rig.nodes.len()).map(joint).collect()
}

/// World transforms of all nodes.
pub fn clip_worlds(rig: &Rig, playing: &[Playing<'_>]) -> Vec<Map> {
    let mut worlds: Vec<Map> = Vec::new();
    for (node, joint) in rig.nodes.iter().zip(clip_joints(rig, playing)) {
        let own = product(&node.base.rows.map(|r| r.map(f64::from)), &local(&joint));
        worlds.push(node.parent.map_or(own, |p| product(&worlds[p], &own)));
    }
    worlds
}

/// Palette of a skin.
pub fn clip_palette(rig: &Rig, skin: &Skin, playing: &[Playing<'_>]) -> Vec<Map> {
    let worlds = clip_worlds(rig, playing);
    let joints = skin.joints.iter().zip(&skin.inverse_binds);
    joints.map(|(&n, m)| product(&worlds[n], &m.rows.map(|r| r.map(f64::from)))).collect()
}

/// Morph weights of a part; `own`: those the host set.
pub fn clip_morphs(part: usize, own: &[f64], playing: &[Playing<'_>]) -> Vec<f64> {
    let total: f64 = playing.iter().map(|p| p.weight).sum();
    let mut out: Vec<f64> = own.iter().map(|x| x * (1.0 - total).max(0.0)).collect();
    for p in playing {
        let value = find(p.clip, Target::Morph(part)).map_or(own.to_vec(), |c| channel(c, p.time));
        out.iter_mut().zip(value).for_each(|(o, v)| *o += p.weight * v);
    }
    out.into_iter().map(|x| x / total.max(1.0)).collect()
}
