//! The rotation in each joint's palette entry, apart from its scale and shear: what dual quaternion skinning blends.
//!
//! Carried down the hierarchy as a product of unit rotations, so that it is smooth in the pose even where a scale passes
//! through zero; scales enter only with the signs they have in the rest pose, bases and inverse binds with the orthogonal
//! factor of their polar decomposition. So a rig that is mirrored as a whole blends as the unmirrored one.

use glam::{DMat3, DQuat};

use crate::character::{Rig, Skin};
use crate::math::{Affine64, unit_quat};
use crate::pose::Pose;

/// What a rig contributes to its joints' rotations, fixed by the rest pose.
///
/// With F = diag(-1, 1, 1), every orthogonal matrix is a rotation times F or 1. The product of the orthogonal parts down to
/// a node is kept without its F, which conjugates what stands to the right of it: (x, y, z, w) becomes (x, -y, -z, w).
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    pub nodes: Vec<NodeTurn>,
    /// Of the joints of all skins, one skin after the other: `joint = node · this`.
    pub joints: Vec<DQuat>,
}

/// `node = parent · before · local`, the local rotation conjugated by F where `mirrored`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeTurn {
    pub before: DQuat,
    pub mirrored: bool,
}

impl Turns {
    pub fn new(rig: &Rig, skins: &[Skin]) -> Self {
        let mut nodes: Vec<NodeTurn> = Vec::with_capacity(rig.nodes.len());
        // Per node: the rotation its own scale's signs leave to what follows, and whether F follows too.
        let mut after: Vec<(DQuat, bool)> = Vec::with_capacity(rig.nodes.len());
        for node in &rig.nodes {
            let (left, above) = node.parent.map_or((DQuat::IDENTITY, false), |p| after[p]);
            let (base, base_mirrors) = rotation_part(Affine64::from(&node.base).m);
            let mirrored = above ^ base_mirrors;
            nodes.push(NodeTurn { before: left * conjugated(base, above), mirrored });
            let (signs, flips) = rotation_of_signs(node.rest.scale);
            after.push((signs, mirrored ^ flips));
        }
        let joints = skins.iter().flat_map(|s| s.joints.iter().zip(&s.inverse_binds)).map(|(&node, inverse_bind)| {
            let (left, mirrored) = after[node];
            left * conjugated(rotation_part(Affine64::from(inverse_bind).m).0, mirrored)
        });
        Self { joints: joints.collect(), nodes }
    }

    /// Rotations of all nodes for a pose, into a reused vector.
    pub fn worlds(&self, rig: &Rig, pose: &Pose, worlds: &mut Vec<DQuat>) {
        worlds.clear();
        for ((node, turn), joint) in rig.nodes.iter().zip(&self.nodes).zip(&pose.joints) {
            let local = turn.before * conjugated(unit_quat(joint.rotation), turn.mirrored);
            worlds.push(node.parent.map_or(local, |p| (worlds[p] * local).normalize()));
        }
    }
}

/// F q F where `mirrored`.
fn conjugated(q: DQuat, mirrored: bool) -> DQuat {
    if mirrored { DQuat::from_xyzw(q.x, -q.y, -q.z, q.w) } else { q }
}

/// diag(signs) = rotation · F or rotation.
fn rotation_of_signs(scale: [f32; 3]) -> (DQuat, bool) {
    let [x, y, z] = scale.map(|s| s < 0.0);
    let mirrors = x ^ y ^ z;
    // An even number of axes is turned over: none, or two, which is half a turn about the third.
    let rotation = match (x ^ mirrors, y, z) {
        (false, true, true) => DQuat::from_xyzw(1.0, 0.0, 0.0, 0.0),
        (true, false, true) => DQuat::from_xyzw(0.0, 1.0, 0.0, 0.0),
        (true, true, false) => DQuat::from_xyzw(0.0, 0.0, 1.0, 0.0),
        _ => DQuat::IDENTITY,
    };
    (rotation, mirrors)
}

/// The rotation R nearest to a matrix, `m = R · S` with S symmetric, and false; of `m · F` and true where m mirrors. A matrix of
/// rank below two, which leaves R open, gives one of the rotations possible.
pub(crate) fn rotation_part(m: DMat3) -> (DQuat, bool) {
    let mirrors = m.determinant() < 0.0;
    let m = if mirrors { DMat3::from_cols(-m.x_axis, m.y_axis, m.z_axis) } else { m };
    (nearly_rigid(m).unwrap_or_else(|| best_turn(m)), mirrors)
}

/// R by the iteration X ← X (3 - XᵀX) / 2 (Björck and Bowie 1971), for a rotation times a factor or little else: what most palettes are.
/// It converges where |1 - XᵀX| < 1, here within five steps.
fn nearly_rigid(m: DMat3) -> Option<DQuat> {
    let size = (m.to_cols_array().iter().map(|x| x * x).sum::<f64>() / 3.0).sqrt();
    if size == 0.0 {
        return None;
    }
    let mut x = m * size.recip();
    for step in 0..6 {
        let square = x.transpose() * x;
        let off = (square - DMat3::IDENTITY).to_cols_array().into_iter().fold(0.0, |a: f64, e| a.max(e.abs()));
        if step == 0 && off > 0.1 {
            return None;
        }
        if off < 1e-15 {
            break;
        }
        x = x * (DMat3::IDENTITY * 3.0 - square) * 0.5;
    }
    Some(DQuat::from_mat3(&x).normalize())
}

/// R maximises tr(Rᵀm), a quadratic form in its quaternion (Davenport 1968; Horn 1987): the dominant eigenvector of a symmetric
/// 4×4 matrix, found by Jacobi rotations, which need no start and cannot fail.
fn best_turn(m: DMat3) -> DQuat {
    let (x, y, z) = (m.x_axis, m.y_axis, m.z_axis);
    let diagonal = [x.x - y.y - z.z, y.y - x.x - z.z, z.z - x.x - y.y, x.x + y.y + z.z];
    let mut k = [[0.0; 4]; 4];
    for (i, d) in diagonal.into_iter().enumerate() {
        k[i][i] = d;
    }
    let pairs = [
        (0, 1, x.y + y.x),
        (0, 2, x.z + z.x),
        (1, 2, y.z + z.y),
        (0, 3, y.z - z.y),
        (1, 3, z.x - x.z),
        (2, 3, x.y - y.x),
    ];
    for (i, j, value) in pairs {
        (k[i][j], k[j][i]) = (value, value);
    }
    DQuat::from_array(dominant_eigenvector(k)).normalize()
}

/// Of a symmetric matrix, by cyclic Jacobi rotations (Jacobi 1846; Golub and Van Loan, Matrix Computations, section 8.5).
fn dominant_eigenvector(mut k: [[f64; 4]; 4]) -> [f64; 4] {
    // Rows are the eigenvectors.
    let mut vectors = [[0.0; 4]; 4];
    (0..4).for_each(|i| vectors[i][i] = 1.0);
    let size: f64 = k.iter().flatten().map(|x| x * x).sum();
    // Quadratic convergence: six sweeps are more than any 4×4 needs.
    for _ in 0..10 {
        let off: f64 = (0..4).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| k[i][j] * k[i][j]).sum();
        if off <= 1e-34 * size {
            break;
        }
        for p in 0..3 {
            for q in p + 1..4 {
                if k[p][q] == 0.0 {
                    continue;
                }
                let theta = (k[q][q] - k[p][p]) / (2.0 * k[p][q]);
                let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
                let c = t.hypot(1.0).recip();
                let s = t * c;
                for row in &mut k {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
                for i in 0..4 {
                    (k[p][i], k[q][i]) = (c * k[p][i] - s * k[q][i], s * k[p][i] + c * k[q][i]);
                    (vectors[p][i], vectors[q][i]) =
                        (c * vectors[p][i] - s * vectors[q][i], s * vectors[p][i] + c * vectors[q][i]);
                }
            }
        }
    }
    // The identity where all are equal.
    let best = (0..3).fold(3, |best, i| if k[i][i] > k[best][best] { i } else { best });
    vectors[best]
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;
    use crate::character::RigNode;
    use crate::gpu::tests::Random;
    use crate::math::{Affine, Transform};

    fn rotation(random: &mut Random) -> DQuat {
        let axis = DVec3::from(random.direction().to_array().map(f64::from)).normalize();
        DQuat::from_axis_angle(axis, std::f64::consts::TAU * f64::from(random.unit()))
    }

    /// Symmetric, with these eigenvalues.
    fn stretch(values: DVec3, random: &mut Random) -> DMat3 {
        let q = DMat3::from_quat(rotation(random));
        q * DMat3::from_diagonal(values) * q.transpose()
    }

    #[test]
    fn the_rotation_is_the_factor_of_the_polar_decomposition() {
        let mut random = Random::new(41);
        let flip = DMat3::from_diagonal(DVec3::new(-1.0, 1.0, 1.0));
        let mut worst = 0_f64;
        for i in 0..1003 {
            let q = rotation(&mut random);
            let mut value = || 10_f64.powf(f64::from(random.signed()) * [0.0, 0.01, 0.1, 3.0][i % 4]);
            let values = DVec3::new(value(), value(), value());
            // The least two eigenvalues say how well the rotation is determined.
            let gap = (values.element_sum() - values.max_element()) / values.max_element();
            let m = DMat3::from_quat(q) * stretch(values, &mut random);
            for mirrors in [false, true] {
                let (got, mirrored) = rotation_part(if mirrors { m * flip } else { m });
                assert_eq!(mirrored, mirrors);
                let error = got.dot(q).abs().min(1.0).acos() * gap.min(1.0);
                worst = worst.max(error);
            }
        }
        println!("{worst:.1e} rad");
        // acos of one rounding below 1 is 1.5e-8 already.
        assert!(worst < 5e-8);
    }

    #[test]
    fn matrices_that_leave_it_open_give_a_unit_rotation() {
        let mut random = Random::new(8);
        let mut maps = vec![DMat3::ZERO, DMat3::from_diagonal(DVec3::X), DMat3::from_diagonal(DVec3::splat(1e-30))];
        maps.extend([0, 1, 2].map(|_| DMat3::from_quat(rotation(&mut random)) * DMat3::from_diagonal(DVec3::X) * 1e30));
        maps.push(DMat3::from_diagonal(DVec3::new(1.0, 1.0, 0.0)) * DMat3::from_quat(rotation(&mut random)));
        for m in maps {
            let (q, _) = rotation_part(m);
            assert!((q.length() - 1.0).abs() < 1e-14, "{m} {q}");
        }
        assert_eq!(rotation_part(DMat3::ZERO), (DQuat::IDENTITY, false));
    }

    /// Rotation of each joint against its palette entry: `palette = rotation · symmetric` where nothing shears.
    #[test]
    fn a_rig_mirrored_as_a_whole_turns_as_the_other_one() {
        let mut random = Random::new(12);
        for signs in 0..8 {
            // A root that mirrors, and a chain below it, bound in its rest pose.
            let scale = [0, 1, 2].map(|a| if signs >> a & 1 == 1 { -1.3_f32 } else { 1.3 });
            let mut rig = Rig::default();
            for i in 0..9_usize {
                let rest = Transform {
                    rotation: rotation(&mut random).as_quat().to_array(),
                    translation: [0.1, 0.2, 0.3],
                    scale: if i == 0 { scale } else { [1.0; 3] },
                };
                let base = match i {
                    3 => Affine { rows: [[0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0], [-2.0, 0.0, 0.0, 0.0]] },
                    _ => Affine::IDENTITY,
                };
                rig.nodes.push(RigNode { parent: i.checked_sub(1), rest, base, ..RigNode::default() });
            }
            let rest = Pose::rest(&rig);
            let worlds = crate::pose::joint_worlds(&rig, &rest).unwrap();
            let inverse = |m: &Affine| {
                let m = Affine64::from(m);
                let inverse = m.m.inverse();
                Affine::from(Affine64 { m: inverse, t: -(inverse * m.t) })
            };
            let skin = Skin {
                name: String::new(),
                joints: (0..9).collect(),
                inverse_binds: worlds.iter().map(inverse).collect(),
            };
            let turns = Turns::new(&rig, std::slice::from_ref(&skin));
            let mut pose = rest.clone();
            for moved in [false, true] {
                if moved {
                    pose.joints.iter_mut().for_each(|j| j.rotation = rotation(&mut random).as_quat().to_array());
                }
                let palette = crate::pose::skin_palette(&rig, &skin, &pose).unwrap();
                let mut nodes = Vec::new();
                turns.worlds(&rig, &pose, &mut nodes);
                for (j, m) in palette.iter().enumerate() {
                    // What is left of a rigid motion is the identity: rounding of the inverse binds to f32, twice.
                    let left = DMat3::from_quat(nodes[j] * turns.joints[j]).transpose() * Affine64::from(m).m;
                    let off =
                        (left - DMat3::IDENTITY).to_cols_array().into_iter().fold(0.0, |a: f64, x| a.max(x.abs()));
                    assert!(off < 1e-6, "signs {signs}, joint {j}, moved {moved}: {left}");
                }
            }
        }
    }
}
