//! How far two lists of influences are apart.

use super::Influences;
use crate::{Error, Result};

/// Total variation of every vertex, ½ Σ |a_j − b_j| over its joints: the share of its weight that hangs on other joints; 0 for
/// equal influences, 1 when no joint is common.
///
/// Weights are taken as they are, a joint that is listed twice counts with both.
///
/// # Errors
/// [`Error::LengthMismatch`] for different numbers of vertices; those of [`Influences::validate`].
pub fn variation(a: &Influences, b: &Influences) -> Result<Vec<f32>> {
    a.validate()?;
    b.validate()?;
    let (found, expected) = (b.vertex_count(), a.vertex_count());
    if found != expected {
        return Err(Error::LengthMismatch { what: "the other list of influences", found, expected });
    }
    let mut joints: Vec<(u32, f64)> = Vec::new();
    let of = |v: usize| {
        joints.clear();
        joints.extend(a.of(v).iter().map(|i| (i.joint, f64::from(i.weight))));
        joints.extend(b.of(v).iter().map(|i| (i.joint, -f64::from(i.weight))));
        joints.sort_unstable_by(|x, y| x.0.cmp(&y.0).then(x.1.total_cmp(&y.1)));
        let sum: f64 = joints.chunk_by(|x, y| x.0 == y.0).map(|same| same.iter().map(|s| s.1).sum::<f64>().abs()).sum();
        (0.5 * sum) as f32
    };
    Ok((0..expected).map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::influence::Influence;

    #[test]
    fn halves_of_sums_of_differences() {
        let list = |vertices: &[&[(u32, f32)]]| {
            let rows: Vec<Vec<Influence>> = vertices
                .iter()
                .map(|v| v.iter().map(|&(joint, weight)| Influence { joint, weight }).collect())
                .collect();
            Influences::from_vertices(rows.iter().map(Vec::as_slice))
        };
        let a = list(&[&[(0, 0.5), (1, 0.5)], &[(3, 1.0)], &[(0, 0.75), (2, 0.25)], &[(4, 0.5), (4, 0.5)]]);
        let b = list(&[&[(1, 0.5), (0, 0.5)], &[(7, 1.0)], &[(0, 0.5), (9, 0.5)], &[(4, 1.0)]]);
        // Halves and quarters are exact.
        assert_eq!(variation(&a, &b).unwrap(), [0.0, 1.0, 0.5, 0.0]);
        assert_eq!(variation(&b, &a).unwrap(), variation(&a, &b).unwrap());
        assert!(variation(&a, &Influences::default()).is_err());
    }
}
