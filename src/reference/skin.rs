//! Morph targets and linear blend skinning of one vertex.

/// A vertex with its frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vertex {
    /// Metres.
    pub position: [f64; 3],
    /// Unit normal.
    pub normal: [f64; 3],
    /// Unit tangent; w = ±1, the sign of the bitangent.
    pub tangent: [f64; 4],
}

/// What one morph target adds to a vertex at weight 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delta {
    /// Added to the position.
    pub position: [f64; 3],
    /// Added to the normal.
    pub normal: [f64; 3],
    /// Added to the tangent.
    pub tangent: [f64; 3],
}

/// `v + Σ weight · delta` (glTF 2.0, 3.7.2.2); the normal and tangent are not normalised.
pub fn morph(vertex: &Vertex, deltas: &[(f64, Delta)]) -> Vertex {
    let mut v = *vertex;
    for (weight, delta) in deltas {
        for i in 0..3 {
            v.position[i] += weight * delta.position[i];
            v.normal[i] += weight * delta.normal[i];
            v.tangent[i] += weight * delta.tangent[i];
        }
    }
    v
}

/// Linear blend skinning: `M = Σ weight · palette[joint]`, the position through M, the normal through the inverse transpose
/// of its 3×3, the tangent through the 3×3 and then made orthogonal to the normal; its sign flips where M mirrors.
///
/// `palette[j]` has the three rows of an affine map. False beside the result where the 3×3 has no inverse, so that no normal is
/// right: then only the position is computed.
pub fn skin(vertex: &Vertex, influences: &[(usize, f64)], palette: &[[[f64; 4]; 3]]) -> (Vertex, bool) {
    let mut m = [[0.0; 4]; 3];
    for &(joint, weight) in influences {
        for r in 0..3 {
            for c in 0..4 {
                m[r][c] += weight * palette[joint][r][c];
            }
        }
    }
    through(vertex, &m)
}

/// A vertex through one affine map, as [`skin`] says.
pub(super) fn through(vertex: &Vertex, m: &[[f64; 4]; 3]) -> (Vertex, bool) {
    let p = vertex.position;
    let position = [0, 1, 2].map(|r| m[r][0] * p[0] + m[r][1] * p[1] + m[r][2] * p[2] + m[r][3]);
    let det = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
        + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
    if det == 0.0 {
        return (Vertex { position, ..*vertex }, false);
    }
    // Solve Mᵀ n' = n by Cramer's rule.
    let n = vertex.normal;
    let column = |i: usize, r: usize, c: usize| if c == i { n[r] } else { m[c][r] };
    let solve = |i: usize| {
        let a = |r, c| column(i, r, c);
        (a(0, 0) * (a(1, 1) * a(2, 2) - a(1, 2) * a(2, 1)) - a(0, 1) * (a(1, 0) * a(2, 2) - a(1, 2) * a(2, 0))
            + a(0, 2) * (a(1, 0) * a(2, 1) - a(1, 1) * a(2, 0)))
            / det
    };
    let normal = normalize([solve(0), solve(1), solve(2)]);
    let t = vertex.tangent;
    let along = [0, 1, 2].map(|r| m[r][0] * t[0] + m[r][1] * t[1] + m[r][2] * t[2]);
    let d = along[0] * normal[0] + along[1] * normal[1] + along[2] * normal[2];
    let [x, y, z] = normalize([0, 1, 2].map(|i| along[i] - d * normal[i]));
    (Vertex { position, normal, tangent: [x, y, z, t[3] * det.signum()] }, true)
}

fn normalize(v: [f64; 3]) -> [f64; 3] {
    let length = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
    v.map(|x| x / length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirroring_scale_keeps_the_normal_outward_and_flips_the_sign() {
        let v = Vertex { position: [1.0, 2.0, 3.0], normal: [0.6, 0.8, 0.0], tangent: [-0.8, 0.6, 0.0, 1.0] };
        let palette = [[[-2.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]];
        let (s, regular) = skin(&v, &[(0, 1.0)], &palette);
        assert!(regular);
        assert_eq!(s.position, [-1.0, 2.0, 3.0]);
        // (0.6 / -2, 0.8, 0) normalised.
        assert!((s.normal[0] + 0.3 / 0.73f64.sqrt()).abs() < 1e-15 && s.normal[1] > 0.0);
        assert_eq!(s.tangent[3], -1.0);
    }
}
