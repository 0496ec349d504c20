//! Pose spaces: corner weights, blend, limits, hierarchy and palettes.

use crate::character::{Rig, Skin};
use crate::pose::groups::{Fade, Source, Track};
use crate::pose::{JointPose, Outside, Pose, PoseSpace, SpaceState};

type V3 = [f64; 3];
/// `(x, y, z, w)`.
type Q = [f64; 4];
/// Three rows.
pub(super) type Map = [[f64; 4]; 3];

fn dot(a: V3, b: V3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: V3, b: V3) -> V3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn combine(a: V3, s: f64, b: V3) -> V3 {
    [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]]
}

fn sub(a: V3, b: V3) -> V3 {
    combine(a, -1.0, b)
}

fn norm(a: V3) -> f64 {
    dot(a, a).sqrt()
}

/// Weights of the corners of a convex polygon (z = 0) or polyhedron at a point.
///
/// Outside, the nearest point of the hull is the nearest of all segments (2-D) or triangles (3-D) between corners; the inner
/// formula is evaluated a hair's breadth (1e-9 of the way to the mean corner) inside of it.
pub fn corner_weights(dimensions: usize, corners: &[V3], point: V3, extrapolate: bool) -> Vec<f64> {
    let n = corners.len();
    let mean = corners.iter().fold([0.0; 3], |m, c| combine(m, 1.0 / n as f64, *c));
    let mut size = 0.0_f64;
    for a in corners {
        for b in corners {
            size = size.max(norm(sub(*a, *b)));
        }
    }
    let at = |x: V3| {
        if dimensions == 2 { polygon_weights(corners, mean, x) } else { solid_weights(corners, mean, x) }
    };
    let hull = if is_inside(dimensions, corners, point, size) {
        return at(point);
    } else if dimensions == 2 {
        nearest_on_segments(corners, point)
    } else {
        nearest_on_triangles(corners, point)
    };
    let mut weights = at(combine(hull, 1e-9, sub(mean, hull)));
    if extrapolate {
        let mut away = sub(point, hull);
        let farthest = 4.0 * size;
        if norm(away) > farthest {
            away = combine([0.0; 3], farthest / norm(away), away);
        }
        // gᵢ = M⁻¹ (vᵢ − mean), M = Σ (v − mean)(v − mean)ᵀ.
        let mut m = [[0.0; 3]; 3];
        for c in corners {
            let d = sub(*c, mean);
            (0..3).for_each(|r| (0..3).for_each(|k| m[r][k] += d[r] * d[k]));
        }
        if dimensions == 2 {
            m[2][2] = 1.0;
        }
        for (w, c) in weights.iter_mut().zip(corners) {
            *w += dot(solve(m, sub(*c, mean)), away);
        }
    }
    weights
}

/// Cramer's rule.
fn solve(m: [[f64; 3]; 3], b: V3) -> V3 {
    let det = |m: [[f64; 3]; 3]| dot(m[0], cross(m[1], m[2]));
    let mut x = [0.0; 3];
    for (k, x) in x.iter_mut().enumerate() {
        let mut with = m;
        (0..3).for_each(|r| with[r][k] = b[r]);
        *x = det(with) / det(m);
    }
    x
}

/// Corners of a polygon by their angle about the mean.
fn around(corners: &[V3], mean: V3) -> Vec<usize> {
    let mut order: Vec<usize> = (0..corners.len()).collect();
    let angle = |i: &usize| (corners[*i][1] - mean[1]).atan2(corners[*i][0] - mean[0]);
    order.sort_by(|a, b| angle(a).total_cmp(&angle(b)));
    order
}

/// `wᵢ = C / (A₋ A₊)` (Wachspress 1975).
fn polygon_weights(corners: &[V3], mean: V3, x: V3) -> Vec<f64> {
    let order = around(corners, mean);
    let n = order.len();
    let v = |i: usize| corners[order[i % n]];
    let area = |a: V3, b: V3, c: V3| cross(sub(b, a), sub(c, a))[2];
    let mut out = vec![0.0; n];
    for i in 0..n {
        let ear = area(v(i + n - 1), v(i), v(i + 1));
        out[order[i]] = ear / (area(x, v(i + n - 1), v(i)) * area(x, v(i), v(i + 1)));
    }
    let sum: f64 = out.iter().sum();
    out.into_iter().map(|w| w / sum).collect()
}

/// Outward planes `(n, d)`, `n·x ≤ d`, through three corners with all others behind; each once.
fn planes(corners: &[V3]) -> Vec<(V3, f64)> {
    let mut out: Vec<(V3, f64)> = Vec::new();
    let count = corners.len();
    for i in 0..count {
        for j in 0..count {
            for k in 0..count {
                let normal = cross(sub(corners[j], corners[i]), sub(corners[k], corners[i]));
                let length = norm(normal);
                if length < 1e-9 {
                    continue;
                }
                let normal = normal.map(|x| x / length);
                let d = dot(normal, corners[i]);
                let outward = corners.iter().all(|c| dot(normal, *c) <= d + 1e-6);
                let known = out.iter().any(|(n, e)| dot(*n, normal) > 1.0 - 1e-9 && (e - d).abs() < 1e-6);
                if outward && !known {
                    out.push((normal, d));
                }
            }
        }
    }
    out
}

/// `w = Σ det(p₀, pᵢ, pᵢ₊₁)` with `p = n / height` (Warren 1996; Ju et al. 2005), faces in order of angle about the corner.
fn solid_weights(corners: &[V3], mean: V3, x: V3) -> Vec<f64> {
    let planes = planes(corners);
    let mut out = Vec::with_capacity(corners.len());
    for &v in corners {
        let axis = sub(v, mean);
        let axis = axis.map(|a| a / norm(sub(v, mean)));
        let helper = if axis[0].abs() < 0.6 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
        let side = cross(axis, helper);
        let up = cross(axis, side);
        let mut faces: Vec<&(V3, f64)> = planes.iter().filter(|(n, d)| (dot(*n, v) - d).abs() < 1e-6).collect();
        let angle = |f: &(V3, f64)| dot(f.0, up).atan2(dot(f.0, side));
        faces.sort_by(|a, b| angle(a).total_cmp(&angle(b)));
        let polar: Vec<V3> = faces.iter().map(|(n, d)| n.map(|c| c / (d - dot(*n, x)))).collect();
        let fan = |i: usize| dot(polar[0], cross(polar[i], polar[i + 1]));
        out.push((1..polar.len() - 1).map(fan).sum::<f64>().abs());
    }
    let sum: f64 = out.iter().sum();
    out.into_iter().map(|w| w / sum).collect()
}

fn is_inside(dimensions: usize, corners: &[V3], x: V3, size: f64) -> bool {
    if dimensions == 3 {
        return planes(corners).iter().all(|(n, d)| dot(*n, x) < d - 1e-9 * size);
    }
    let mean = corners.iter().fold([0.0; 3], |m, c| combine(m, 1.0 / corners.len() as f64, *c));
    let order = around(corners, mean);
    let edges = order.iter().zip(order.iter().cycle().skip(1));
    edges.into_iter().all(|(&a, &b)| cross(sub(corners[b], corners[a]), sub(x, corners[a]))[2] > 1e-9 * size * size)
}

fn nearest_on_segment(a: V3, b: V3, x: V3) -> V3 {
    let d = sub(b, a);
    combine(a, (dot(sub(x, a), d) / dot(d, d)).clamp(0.0, 1.0), d)
}

fn nearest_on_segments(corners: &[V3], x: V3) -> V3 {
    let mut best = corners[0];
    for (i, &a) in corners.iter().enumerate() {
        for &b in &corners[..i] {
            let p = nearest_on_segment(a, b, x);
            if norm(sub(p, x)) < norm(sub(best, x)) {
                best = p;
            }
        }
    }
    best
}

fn nearest_on_triangles(corners: &[V3], x: V3) -> V3 {
    let mut best = nearest_on_segments(corners, x);
    for (i, &a) in corners.iter().enumerate() {
        for (j, &b) in corners[..i].iter().enumerate() {
            for &c in &corners[..j] {
                let n = cross(sub(b, a), sub(c, a));
                if norm(n) < 1e-9 {
                    continue;
                }
                let p = combine(x, -dot(sub(x, a), n) / dot(n, n), n);
                let on = [(a, b), (b, c), (c, a)].iter().all(|(u, v)| dot(cross(sub(*v, *u), sub(p, *u)), n) >= 0.0);
                if on && norm(sub(p, x)) < norm(sub(best, x)) {
                    best = p;
                }
            }
        }
    }
    best
}

fn mul(a: Q, b: Q) -> Q {
    let (u, v) = ([a[0], a[1], a[2]], [b[0], b[1], b[2]]);
    let c = cross(u, v);
    let at = |i: usize| a[3] * v[i] + b[3] * u[i] + c[i];
    [at(0), at(1), at(2), a[3] * b[3] - dot(u, v)]
}

fn conj(q: Q) -> Q {
    [-q[0], -q[1], -q[2], q[3]]
}

fn dot4(a: Q, b: Q) -> f64 {
    (0..4).map(|i| a[i] * b[i]).sum()
}

fn unit(q: Q) -> Q {
    let n = dot4(q, q).sqrt();
    q.map(|x| x / n)
}

/// Dominant eigenvector of `Σ qqᵀ` by squaring the matrix; `None` unless it leads by 1e-4 of the trace.
fn dominant(samples: &[Q]) -> Option<Q> {
    let mut m = [[0.0; 4]; 4];
    for q in samples {
        (0..4).for_each(|r| (0..4).for_each(|c| m[r][c] += q[r] * q[c] / samples.len() as f64));
    }
    let original = m;
    for _ in 0..40 {
        let mut square = [[0.0; 4]; 4];
        for (r, row) in square.iter_mut().enumerate() {
            for (c, cell) in row.iter_mut().enumerate() {
                *cell = (0..4).map(|k| m[r][k] * m[k][c]).sum();
            }
        }
        let trace: f64 = (0..4).map(|i| square[i][i]).sum();
        m = square.map(|row| row.map(|x| x / trace));
    }
    let column = (0..4).max_by(|&a, &b| m[a][a].total_cmp(&m[b][b]))?;
    let q = unit([0, 1, 2, 3].map(|r| m[r][column]));
    let apply = |v: Q| [0, 1, 2, 3].map(|r| dot4(original[r], v));
    let largest = dot4(q, apply(q));
    // The second eigenvalue by iterating on what the first leaves.
    let mut v: Q = [0.3, -0.5, 0.7, 0.4];
    let mut second = 0.0;
    for _ in 0..60 {
        let along = dot4(v, q);
        v = apply([0, 1, 2, 3].map(|i| v[i] - along * q[i]));
        second = dot4(v, v).sqrt();
        if second < 1e-300 {
            break;
        }
        v = v.map(|x| x / second);
    }
    (largest - second > 1e-4).then_some(q)
}

/// Fixed signs, sum, reference where it collapses, one Karcher step; see the design's section on blending.
pub fn blend_rotation(samples: &[Q], rest: Q, weights: &[f64]) -> Q {
    let mut reference = dominant(samples).unwrap_or(rest);
    if dot4(reference, rest) < 0.0 {
        reference = reference.map(|x| -x);
    }
    let signed = |q: Q| {
        let (d, e) = (dot4(q, reference), dot4(q, rest));
        let first = q.into_iter().find(|x| x.abs() > 1e-7).unwrap_or(1.0);
        let side = if d.abs() > 1e-7 {
            d
        } else if e.abs() > 1e-7 {
            e
        } else {
            first
        };
        if side < 0.0 { q.map(|x| -x) } else { q }
    };
    let samples: Vec<Q> = samples.iter().map(|q| signed(*q)).collect();
    let mut sum = [0.0; 4];
    for (q, w) in samples.iter().zip(weights) {
        (0..4).for_each(|i| sum[i] += w * q[i]);
    }
    let x = (dot4(sum, sum).sqrt() / 0.1).clamp(0.0, 1.0);
    let smooth = x * x * (3.0 - 2.0 * x);
    let q0 = unit([0, 1, 2, 3].map(|i| sum[i] + 0.1 * (1.0 - smooth) * reference[i]));
    let mut step = [0.0; 3];
    for (q, w) in samples.iter().zip(weights) {
        let d = mul(conj(q0), *q);
        let v = [d[0], d[1], d[2]];
        if norm(v) > 0.0 {
            step = combine(step, w * norm(v).atan2(d[3]) / norm(v), v);
        }
    }
    let angle = norm(step);
    if angle == 0.0 {
        return q0;
    }
    // Cut to an eighth of a turn, half-angle: only far outside the corners is it longer.
    let kept = angle.min(std::f64::consts::FRAC_PI_4);
    let s = kept.sin() / angle;
    mul(q0, [step[0] * s, step[1] * s, step[2] * s, kept.cos()])
}

/// Swing and twist of `frame⁻¹ rest⁻¹ q frame`, each clamped between half-angles.
pub fn limit(q: Q, before: Q, frame: Q, half: &[[f64; 2]; 3], signed: bool) -> Q {
    let most = (170.0_f64 / 2.0).to_radians();
    let mut r = mul(mul(before, q), frame);
    let mut cut = false;
    if signed && r[3] < most.cos() {
        let length = norm([r[0], r[1], r[2]]);
        r = [r[0] / length * most.sin(), r[1] / length * most.sin(), r[2] / length * most.sin(), most.cos()];
        cut = true;
    } else if r[3] < 0.0 {
        r = r.map(|x| -x);
    }
    let twist = unit([r[0], 0.0, 0.0, r[3]]);
    let swing = mul(r, conj(twist));
    let angles = [twist[0].atan2(twist[3]), swing[1].atan2(swing[3]), swing[2].atan2(swing[3])];
    let kept = [0, 1, 2].map(|i| angles[i].clamp(half[i][0], half[i][1]));
    if kept == angles && !cut {
        return q;
    }
    // (1, tan y, tan z), normalised.
    let swing = unit([0.0, kept[1].tan(), kept[2].tan(), 1.0]);
    let r = mul(swing, [kept[0].sin(), 0.0, 0.0, kept[0].cos()]);
    mul(mul(conj(before), r), conj(frame))
}

/// A local transform in f64.
#[derive(Clone, Copy, Debug)]
pub struct Joint {
    /// Unit quaternion.
    pub rotation: Q,
    /// Metres.
    pub translation: V3,
    /// Factor per axis.
    pub scale: V3,
    /// Bone length factor.
    pub length: f64,
    /// Bone thickness factor.
    pub thickness: f64,
}

fn progress(fade: &Fade, time: f64) -> f64 {
    let x = if fade.seconds > 0.0 { ((time - fade.now) / f64::from(fade.seconds)).clamp(0.0, 1.0) } else { 1.0 };
    x * x * (3.0 - 2.0 * x)
}

/// Weights of every sample at a point of the space.
fn sample_weights(space: &PoseSpace, state: &SpaceState, point: [f32; 3], time: f64) -> Vec<f64> {
    let corners: Vec<V3> = space.corners.iter().map(|c| c.at.map(f64::from)).collect();
    let mut point = point.map(f64::from);
    if space.coordinates.dimensions() == 2 {
        point[2] = 0.0;
    }
    let extrapolate = space.outside == Outside::Extrapolate;
    let weights = corner_weights(space.coordinates.dimensions(), &corners, point, extrapolate);
    let mut out = vec![0.0; space.samples.len()];
    for ((corner, b), selection) in space.corners.iter().zip(weights).zip(&state.selections) {
        let f = progress(&selection.fade, time);
        for (k, &sample) in corner.samples.iter().enumerate() {
            let to = if k == selection.to { 1.0 } else { 0.0 };
            out[sample] += b * (selection.from[k] * (1.0 - f) + to * f);
        }
    }
    out
}

fn track_weights(space: &PoseSpace, state: &SpaceState, track: &Track, live: &[f64], time: f64) -> Vec<f64> {
    let f = progress(&track.fade, time);
    let strength = track.strength[0] * (1.0 - f) + track.strength[1] * f;
    let mut own = match &track.source {
        Source::Kept(w) => w.clone(),
        Source::Point(p) => sample_weights(space, state, *p, time),
        Source::Default => (0..live.len()).map(|s| if s == space.default { 1.0 } else { 0.0 }).collect(),
    };
    if let Some(from) = &track.from {
        own = own.iter().zip(from).map(|(o, a)| a * (1.0 - f) + o * f).collect();
    }
    live.iter().zip(own).map(|(l, o)| l * (1.0 - strength) + o * strength).collect()
}

/// Local transforms of every node (relative to the node it moves with).
pub fn blend(rig: &Rig, space: &PoseSpace, state: &SpaceState, time: f64) -> Vec<Joint> {
    let live = sample_weights(space, state, state.point, time);
    let samples: Vec<Vec<JointPose>> = space.samples.iter().map(|s| space.chain.relative(&s.pose)).collect();
    let rest = space.chain.relative(&Pose::rest(rig));
    let cells: Vec<Vec<Vec<f64>>> = state
        .cells
        .iter()
        .map(|tracks| tracks.iter().map(|t| track_weights(space, state, t, &live, time)).collect())
        .collect();
    (0..rest.len())
        .map(|node| {
            let rows = &cells[space.cell_of[node]];
            let of: Vec<&JointPose> = samples.iter().map(|s| &s[node]).collect();
            let rotations: Vec<Q> = of.iter().map(|j| unit(j.rotation.map(f64::from))).collect();
            let mut rotation = blend_rotation(&rotations, unit(rest[node].rotation.map(f64::from)), &rows[0]);
            if let Some(l) = &space.limits[node] {
                rotation = limit(rotation, l.before.to_array(), l.frame.to_array(), &l.half, l.signed);
            }
            let mean = |row: usize, value: &dyn Fn(&JointPose) -> f64| -> f64 {
                of.iter().zip(&rows[row]).map(|(j, w)| w * value(j)).sum()
            };
            let power = |row: usize, value: &dyn Fn(&JointPose) -> f64| {
                mean(row, &|j| value(j).abs().max(1e-6).ln()).clamp(-60.0, 60.0).exp()
            };
            let scale = [0, 1, 2].map(|a| {
                let value = |j: &JointPose| f64::from(j.scale[a]);
                if of.iter().all(|j| j.scale[a] >= 0.0) {
                    power(2, &value)
                } else if of.iter().all(|j| j.scale[a] < 0.0) {
                    -power(2, &value)
                } else {
                    mean(2, &value)
                }
            });
            Joint {
                rotation,
                translation: [0, 1, 2].map(|a| mean(1, &|j| f64::from(j.translation[a]))),
                scale,
                length: power(3, &|j| f64::from(j.length)),
                thickness: power(4, &|j| f64::from(j.thickness)),
            }
        })
        .collect()
}

pub(super) fn product(a: &Map, b: &Map) -> Map {
    let mut out = [[0.0; 4]; 3];
    for r in 0..3 {
        for c in 0..4 {
            out[r][c] = (0..3).map(|k| a[r][k] * b[k][c]).sum::<f64>() + if c == 3 { a[r][3] } else { 0.0 };
        }
    }
    out
}

pub(super) fn local(j: &Joint) -> Map {
    let [x, y, z, w] = unit(j.rotation);
    let r = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ];
    let (s, t) = (j.scale, j.translation);
    [0, 1, 2].map(|i| [r[i][0] * s[0], r[i][1] * s[1], r[i][2] * s[2], t[i]])
}

/// Rotation of every node relative to its parent, for what [`blend`] gives: through the siblings it moves with.
pub fn local_rotations(space: &PoseSpace, joints: &[Joint]) -> Vec<Q> {
    let all = (0..joints.len()).map(|i| {
        let (mut q, mut leader) = (unit(joints[i].rotation), space.chain.leader[i]);
        while let Some(l) = leader {
            q = mul(unit(joints[l].rotation), q);
            leader = space.chain.leader[l];
        }
        q
    });
    all.collect()
}

/// Palette of a skin for the state of a character: hierarchy, bone length along the parent's axis, shape.
pub fn palette(rig: &Rig, skin: &Skin, space: &PoseSpace, state: &SpaceState, time: f64) -> Vec<Map> {
    let joints = blend(rig, space, state, time);
    let axes: Vec<V3> = rig.bone_axes().into_iter().map(|a| a.map(f64::from)).collect();
    let mut worlds: Vec<Map> = Vec::new();
    for (i, node) in rig.nodes.iter().enumerate() {
        // Through the siblings a node moves with, up to its parent.
        let mut m = local(&joints[i]);
        let mut leader = space.chain.leader[i];
        while let Some(l) = leader {
            m = product(&local(&joints[l]), &m);
            leader = space.chain.leader[l];
        }
        m = product(&node.base.rows.map(|r| r.map(f64::from)), &m);
        if let Some(p) = node.parent {
            let t = [m[0][3], m[1][3], m[2][3]];
            let stretch = dot(axes[p], t) * (joints[p].length - 1.0);
            (0..3).for_each(|r| m[r][3] += axes[p][r] * stretch);
            m = product(&worlds[p], &m);
        }
        worlds.push(m);
    }
    let mut out = Vec::new();
    for (&n, inverse_bind) in skin.joints.iter().zip(&skin.inverse_binds) {
        let (a, l, t) = (axes[n], joints[n].length, joints[n].thickness);
        let shape = [0, 1, 2].map(|r| {
            let at = |c: usize| (l - t) * a[r] * a[c] + if r == c { t } else { 0.0 };
            [at(0), at(1), at(2), 0.0]
        });
        out.push(product(&product(&worlds[n], &shape), &inverse_bind.rows.map(|r| r.map(f64::from))));
    }
    out
}
