//! Dual quaternion skinning: the rotation of each joint, and one vertex.

use super::skin::{Vertex, through};
use crate::character::{Rig, Skin};

type M3 = [[f64; 3]; 3];
/// `(x, y, z, w)`.
type Q = [f64; 4];
/// Three rows.
type Map = [[f64; 4]; 3];

const MIRROR: M3 = [[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
const IDENTITY: M3 = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

fn mul(a: &M3, b: &M3) -> M3 {
    [0, 1, 2].map(|r| [0, 1, 2].map(|c| (0..3).map(|k| a[r][k] * b[k][c]).sum()))
}

fn det(m: &M3) -> f64 {
    m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
        + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
}

fn linear(map: &Map) -> M3 {
    map.map(|r| [r[0], r[1], r[2]])
}

/// The orthogonal factor of a regular matrix's polar decomposition, by Newton's iteration X ← (X + X⁻ᵀ)/2 (Higham 1986).
fn orthogonal(m: &M3) -> M3 {
    let mut x = *m;
    for _ in 0..200 {
        let d = det(&x);
        // The cofactor matrix over the determinant.
        let cofactor = |r: usize, c: usize| {
            let (a, b, e, f) = ((r + 1) % 3, (r + 2) % 3, (c + 1) % 3, (c + 2) % 3);
            x[a][e] * x[b][f] - x[a][f] * x[b][e]
        };
        x = [0, 1, 2].map(|r| [0, 1, 2].map(|c| 0.5 * (x[r][c] + cofactor(r, c) / d)));
    }
    x
}

/// The rotation in an orthogonal matrix O: O itself, or O · diag(-1, 1, 1) where O mirrors.
fn proper(m: &M3) -> M3 {
    if det(m) < 0.0 { mul(m, &MIRROR) } else { *m }
}

/// Of a rotation matrix: 4qqᵀ, written out, has q times the largest component of q in the column of that component.
fn quaternion(m: &M3) -> Q {
    let (sxy, szx, syz) = (m[1][0] + m[0][1], m[0][2] + m[2][0], m[2][1] + m[1][2]);
    let (x, y, z) = (m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]);
    let [a, b, c] = [m[0][0], m[1][1], m[2][2]];
    let columns = [
        [1.0 + a - b - c, sxy, szx, x],
        [sxy, 1.0 - a + b - c, syz, y],
        [szx, syz, 1.0 - a - b + c, z],
        [x, y, z, 1.0 + a + b + c],
    ];
    let largest = (0..4).max_by(|&i, &j| columns[i][i].total_cmp(&columns[j][j])).unwrap_or(3);
    let q = columns[largest];
    let length = q.iter().map(|x| x * x).sum::<f64>().sqrt();
    q.map(|x| x / length)
}

/// The rotation of a host's palette entry, which must be regular.
pub fn turn(entry: &Map) -> [f64; 4] {
    quaternion(&proper(&orthogonal(&linear(entry))))
}

/// The rotation of each joint of a skin for local rotations of all nodes: the orthogonal parts of everything down the
/// hierarchy to the inverse bind, multiplied; scales enter with the signs of the rest pose.
pub fn turns(rig: &Rig, skin: &Skin, rotations: &[[f64; 4]]) -> Vec<[f64; 4]> {
    let mut worlds: Vec<M3> = Vec::new();
    for (node, q) in rig.nodes.iter().zip(rotations) {
        let [x, y, z, w] = *q;
        let r = [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
            [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
            [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
        ];
        let mut signs = IDENTITY;
        (0..3).for_each(|a| signs[a][a] = if node.rest.scale[a] < 0.0 { -1.0 } else { 1.0 });
        let base = orthogonal(&linear(&node.base.rows.map(|r| r.map(f64::from))));
        let parent = node.parent.map_or(IDENTITY, |p| worlds[p]);
        worlds.push(mul(&mul(&mul(&parent, &base), &r), &signs));
    }
    let joints = skin.joints.iter().zip(&skin.inverse_binds);
    let of = |(&node, inverse_bind): (&usize, &crate::math::Affine)| {
        let bind = orthogonal(&linear(&inverse_bind.rows.map(|r| r.map(f64::from))));
        quaternion(&proper(&mul(&worlds[node], &bind)))
    };
    joints.map(of).collect()
}

fn quaternion_product(a: Q, b: Q) -> Q {
    let ([ax, ay, az, aw], [bx, by, bz, bw]) = (a, b);
    [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ]
}

fn dot(a: Q, b: Q) -> f64 {
    (0..4).map(|i| a[i] * b[i]).sum()
}

/// Dual quaternion skinning (Kavan, Collins, Žára, O'Sullivan 2007) of joints that need not be rigid.
///
/// With `x_j = palette[j] · p`, `q_j` the joint's rotation and `s_j` = ±1 its side of the first joint's, the position is
/// `vec((Σ w_j s_j x_j q_j) (Σ w_j s_j q_j)*) / |Σ w_j s_j q_j|²`. For rigid joints `x_j q_j = q_j p + 2 d_j` with `d_j` the dual part, and
/// this is the paper's result. Normal and tangent go through its derivative by p. False as for [`super::skin`].
pub fn skin_dual(
    vertex: &Vertex,
    influences: &[(usize, f64)],
    palette: &[[[f64; 4]; 3]],
    turns: &[[f64; 4]],
) -> (Vertex, bool) {
    let signed = |&(joint, weight): &(usize, f64)| {
        let opposite = dot(turns[joint], turns[influences[0].0]) < 0.0;
        if opposite { -weight } else { weight }
    };
    let mut sum = [0.0; 4];
    for influence in influences {
        (0..4).for_each(|i| sum[i] += signed(influence) * turns[influence.0][i]);
    }
    let conjugate = [-sum[0], -sum[1], -sum[2], sum[3]];
    // The images of the origin's offset and of the three axes.
    let image = |column: usize| {
        let mut total = [0.0; 4];
        for influence in influences {
            let x = palette[influence.0].map(|r| r[column]);
            let turned = quaternion_product([x[0], x[1], x[2], 0.0], turns[influence.0]);
            (0..4).for_each(|i| total[i] += signed(influence) * turned[i]);
        }
        quaternion_product(total, conjugate).map(|x| x / dot(sum, sum))
    };
    let columns = [0, 1, 2, 3].map(image);
    through(vertex, &[0, 1, 2].map(|r| [0, 1, 2, 3].map(|c| columns[c][r])))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: Vertex = Vertex { position: [1.0, 0.5, 0.25], normal: [1.0, 0.0, 0.0], tangent: [0.0, 1.0, 0.0, 1.0] };

    /// About z through a point.
    fn about(centre: [f64; 3], angle: f64, scale: f64) -> (Map, Q) {
        let (s, c) = angle.sin_cos();
        let m = [[scale * c, -scale * s, 0.0], [scale * s, scale * c, 0.0], [0.0, 0.0, scale]];
        let map = [0, 1, 2].map(|r| {
            let moved: f64 = (0..3).map(|k| m[r][k] * centre[k]).sum();
            [m[r][0], m[r][1], m[r][2], centre[r] - moved]
        });
        (map, [0.0, 0.0, (angle / 2.0).sin(), (angle / 2.0).cos()])
    }

    #[test]
    fn half_of_a_turn_is_the_turn_by_half_the_angle() {
        let centre = [0.3, -0.2, 0.9];
        let (a, b) = (about(centre, 0.4, 1.0), about(centre, 2.4, 1.0));
        let (got, regular) = skin_dual(&REST, &[(0, 0.5), (1, 0.5)], &[a.0, b.0], &[a.1, b.1.map(|x| -x)]);
        let half = about(centre, 1.4, 1.0);
        let (expected, _) = super::super::skin(&REST, &[(0, 1.0)], &[half.0]);
        assert!(regular);
        let both = |v: &Vertex| [v.position, v.normal, [v.tangent[0], v.tangent[1], v.tangent[2]]].concat();
        for (g, e) in both(&got).into_iter().zip(both(&expected)) {
            assert!((g - e).abs() < 1e-15, "{got:?} {expected:?}");
        }
    }

    /// Scaled joints meet at their common joint: the position there does not depend on weights.
    #[test]
    fn where_all_joints_agree_the_vertex_stays() {
        let elbow = [0.0, 1.4, 0.0];
        let (a, b) = (about(elbow, 0.0, 1.0), about(elbow, 1.6, 1.5));
        let at = Vertex { position: elbow, ..REST };
        let (got, _) = skin_dual(&at, &[(0, 0.6), (1, 0.4)], &[a.0, b.0], &[a.1, b.1]);
        for (g, e) in got.position.into_iter().zip(elbow) {
            assert!((g - e).abs() < 1e-15, "{got:?}");
        }
    }

    #[test]
    fn newton_finds_the_rotation_under_shear() {
        // A rotation by 120° about (1, 1, 1), and a symmetric positive matrix.
        let r = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let s = [[2.0, 0.3, 0.1], [0.3, 0.8, -0.2], [0.1, -0.2, 0.5]];
        let m = mul(&r, &s).map(|r| [r[0], r[1], r[2], 7.0]);
        let q = turn(&m);
        let expected = [0.5; 4];
        assert!((dot(q, expected).abs() - 1.0).abs() < 1e-15, "{q:?}");
        // Mirrored in bind space, the rotation is the same.
        let q = turn(&m.map(|r| [-r[0], r[1], r[2], r[3]]));
        assert!((dot(q, expected).abs() - 1.0).abs() < 1e-15, "{q:?}");
    }
}
