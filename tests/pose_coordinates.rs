//! Barycentric coordinates: linear precision, exact boundaries, the area formula, what is refused.

use dermis::pose::{Coordinates, Outside};

/// PCG32 (O'Neill 2014), fixed seed.
struct Pcg(u64);
impl Pcg {
    fn next(&mut self) -> f32 {
        let old = self.0;
        self.0 = old.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let x = (((old >> 18) ^ old) >> 27) as u32;
        (x.rotate_right((old >> 59) as u32) >> 8) as f32 / 16_777_216.0
    }
}

fn regular(n: usize, radius: f32) -> Vec<[f32; 3]> {
    let angle = |i: usize| i as f32 / n as f32 * std::f32::consts::TAU + 0.3;
    (0..n).map(|i| [radius * angle(i).cos(), radius * angle(i).sin(), 0.0]).collect()
}

fn cube() -> Vec<[f32; 3]> {
    (0..8).map(|i| [0, 1, 2].map(|a| if i >> a & 1 == 1 { 1.0 } else { -1.0 })).collect()
}

fn octahedron() -> Vec<[f32; 3]> {
    vec![[1., 0., 0.], [-1., 0., 0.], [0., 1., 0.], [0., -1., 0.], [0., 0., 1.], [0., 0., -1.]]
}

fn pyramid() -> Vec<[f32; 3]> {
    vec![[-1., 0., -1.], [1., 0., -1.], [0., 1.5, 0.], [1., 0., 1.], [-1., 0., 1.]]
}

fn tetrahedron() -> Vec<[f32; 3]> {
    vec![[0., 0., 0.], [1., 0., 0.], [0.5, 0.9, 0.], [0.5, 0.3, 0.8]]
}

fn dodecahedron_half() -> Vec<[f32; 3]> {
    // A prism over a regular octagon: two 8-gons, eight quads, 16 corners.
    let mut out = regular(8, 1.0);
    out.extend(regular(8, 1.0).iter().map(|p| [p[0], p[1], 0.8]));
    out
}

fn shapes() -> Vec<(usize, Vec<[f32; 3]>)> {
    let mut out: Vec<_> = (3..=8).chain([16]).map(|n| (2, regular(n, 0.7))).collect();
    out.push((2, vec![[0., 0., 0.], [4., 0.1, 0.], [5., 1., 0.], [0.3, 1.2, 0.]]));
    out.extend([cube(), octahedron(), pyramid(), tetrahedron(), dodecahedron_half()].map(|s| (3, s)));
    out
}

fn sum(corners: &[[f32; 3]], b: &[f32]) -> [f32; 3] {
    [0, 1, 2].map(|a| corners.iter().zip(b).map(|(c, &b)| f64::from(c[a]) * f64::from(b)).sum::<f64>() as f32)
}

fn inside(corners: &[[f32; 3]], rng: &mut Pcg) -> [f32; 3] {
    let w: Vec<f32> = corners.iter().map(|_| rng.next().powi(3)).collect();
    let total: f32 = w.iter().sum();
    sum(corners, &w.iter().map(|w| w / total).collect::<Vec<_>>())
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f32>().sqrt()
}

#[test]
fn the_cube_is_trilinear() {
    let space = Coordinates::new(3, &cube()).unwrap();
    let b = space.weights([0.7, 0.5, 0.6], Outside::Clamp);
    let expected = [0.0075, 0.0425, 0.0225, 0.1275, 0.0300, 0.1700, 0.0900, 0.5100];
    for (b, e) in b.iter().zip(expected) {
        assert!((b - e).abs() < 1e-6, "{b} {e}");
    }
}

#[test]
fn linear_precision_and_no_negative_weights_inside() {
    let mut rng = Pcg(0x5eed_0001);
    let mut worst = 0.0_f32;
    for (dimensions, corners) in shapes() {
        let space = Coordinates::new(dimensions, &corners).unwrap();
        for _ in 0..1003 {
            let x = inside(&corners, &mut rng);
            let b = space.weights(x, Outside::Extrapolate);
            assert!(b.iter().all(|&b| b >= 0.0), "{corners:?} {x:?} {b:?}");
            assert!((b.iter().sum::<f32>() - 1.0).abs() < 1e-6);
            worst = worst.max(distance(sum(&corners, &b), x) / space.diameter());
        }
    }
    println!("worst linear precision {worst:e} of the diameter");
    // 16 weights of half an ulp each (6e-8 · 16 ≈ 1e-6 at the very worst); points are f32 too.
    assert!(worst <= 1e-6);
}

#[test]
fn corners_and_edges_are_exact() {
    for (dimensions, corners) in shapes() {
        let space = Coordinates::new(dimensions, &corners).unwrap();
        for outside in [Outside::Clamp, Outside::Extrapolate] {
            for (i, &c) in corners.iter().enumerate() {
                let b = space.weights(c, outside);
                assert!(b.iter().enumerate().all(|(k, &b)| b == f32::from(u8::from(k == i))), "{corners:?} {i} {b:?}");
            }
        }
        if dimensions == 2 {
            for i in 0..corners.len() {
                let j = (i + 1) % corners.len();
                let x = [0, 1, 2].map(|a| corners[i][a] * 0.75 + corners[j][a] * 0.25);
                let b = space.weights(x, Outside::Extrapolate);
                assert!((b[i] - 0.75).abs() < 1e-6 && (b[j] - 0.25).abs() < 1e-6);
                assert!(b.iter().enumerate().all(|(k, &b)| k == i || k == j || b == 0.0), "{b:?}");
            }
        }
    }
}

#[test]
fn faces_use_only_their_own_corners() {
    let space = Coordinates::new(3, &cube()).unwrap();
    for outside in [Outside::Clamp, Outside::Extrapolate] {
        let b = space.weights([1.0, 0.25, -0.5], outside);
        assert!((0..8).all(|i| (i & 1 == 1) == (b[i] > 0.0)), "{b:?}");
    }
    let space = Coordinates::new(3, &octahedron()).unwrap();
    let b = space.weights([0.25, 0.5, 0.25], Outside::Clamp);
    assert_eq!([b[1], b[3], b[5]], [0.0; 3]);
    assert!((b[0] - 0.25).abs() < 1e-6 && (b[2] - 0.5).abs() < 1e-6 && (b[4] - 0.25).abs() < 1e-6);
}

#[test]
fn a_triangle_has_the_area_formula_outside_too() {
    let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.87, 0.0]];
    let space = Coordinates::new(2, &corners).unwrap();
    let area = |a: [f32; 3], b: [f32; 3], c: [f32; 3]| {
        let d = |p: [f32; 3]| [f64::from(p[0]) - f64::from(a[0]), f64::from(p[1]) - f64::from(a[1])];
        (d(b)[0] * d(c)[1] - d(b)[1] * d(c)[0]) / 2.0
    };
    let whole = area(corners[0], corners[1], corners[2]);
    let mut rng = Pcg(0x5eed_0002);
    for _ in 0..1003 {
        let x = [rng.next() * 6.0 - 2.5, rng.next() * 6.0 - 2.5, 0.0];
        let b = space.weights(x, Outside::Extrapolate);
        let expected = [
            area(x, corners[1], corners[2]) / whole,
            area(corners[0], x, corners[2]) / whole,
            area(corners[0], corners[1], x) / whole,
        ];
        for (b, e) in b.iter().zip(expected) {
            // One rounding to f32 of numbers up to about 8; gradients in f64.
            assert!((f64::from(*b) - e).abs() < 1e-6, "{x:?} {b} {e}");
        }
    }
}

#[test]
fn outside_is_continuous_linear_precise_and_bounded() {
    let mut rng = Pcg(0x5eed_0003);
    for (dimensions, corners) in shapes() {
        let space = Coordinates::new(dimensions, &corners).unwrap();
        let d = space.diameter();
        for _ in 0..503 {
            let x = [0, 1, 2].map(|a| if a < dimensions { (rng.next() - 0.5) * 5.0 * d } else { 0.0 });
            let clamped = space.weights(x, Outside::Clamp);
            assert!(clamped.iter().all(|&b| (0.0..=1.0).contains(&b)), "{clamped:?}");
            let h = space.clamp(x);
            assert!(distance(sum(&corners, &clamped), h) < 2e-6 * d);
            let b = space.weights(x, Outside::Extrapolate);
            // Weights of up to about 10, so 16 roundings of 1e-6.
            assert!((b.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            assert!(distance(sum(&corners, &b), x) < 1e-5 * d, "{corners:?} {x:?} {:?}", sum(&corners, &b));
            // A step of 1e-4 moves no weight by more than its gradient allows.
            let y = [0, 1, 2].map(|a| x[a] + if a < dimensions { 1e-4 * d } else { 0.0 });
            let c = space.weights(y, Outside::Extrapolate);
            assert!(b.iter().zip(&c).all(|(b, c)| (b - c).abs() < 0.01), "{b:?} {c:?}");
        }
        for x in [[f32::NAN; 3], [f32::INFINITY; 3], [f32::MAX; 3], [f32::MIN_POSITIVE; 3]] {
            for outside in [Outside::Clamp, Outside::Extrapolate] {
                let b = space.weights(x, outside);
                assert!(b.iter().all(|b| b.is_finite()) && (b.iter().sum::<f32>() - 1.0).abs() < 1e-4, "{b:?}");
            }
        }
    }
}

#[test]
fn the_order_of_corners_does_not_matter() {
    let mut rng = Pcg(0x5eed_0004);
    for (dimensions, corners) in shapes() {
        let space = Coordinates::new(dimensions, &corners).unwrap();
        let mut order: Vec<usize> = (0..corners.len()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, (rng.next() * (i + 1) as f32) as usize);
        }
        let other: Vec<_> = order.iter().map(|&i| corners[i]).collect();
        let other = Coordinates::new(dimensions, &other).unwrap();
        for _ in 0..101 {
            let x = inside(&corners, &mut rng).map(|a| a * 1.5);
            let a = space.weights(x, Outside::Extrapolate);
            let b = other.weights(x, Outside::Extrapolate);
            assert!(order.iter().enumerate().all(|(k, &i)| (b[k] - a[i]).abs() < 1e-6));
        }
    }
}

#[test]
fn refuses_what_is_not_convex() {
    let bad: [(usize, Vec<[f32; 3]>); 9] = [
        (2, vec![[0., 0., 0.], [1., 0., 0.]]),
        (2, regular(17, 1.0)),
        (4, regular(4, 1.0)),
        (2, vec![[0., 0., 0.], [1., 0., 0.], [0.5, 0., 0.]]),
        (2, vec![[0., 0., 0.], [1., 0., 0.], [1., 1., 0.], [0.9, 0.1, 0.], [0.2, 0.8, 0.]]),
        (2, vec![[0., 0., 0.], [1., 0., 0.], [0., 0., 0.]]),
        (2, vec![[0., 0., 0.], [1., 0., f32::NAN], [0., 1., 0.]]),
        (3, vec![[0., 0., 0.], [1., 0., 0.], [1., 1., 0.], [0., 1., 0.]]),
        (3, vec![[0., 0., 0.], [1., 0., 0.], [0., 1., 0.], [0., 0., 1.], [0.2, 0.2, 0.2]]),
    ];
    for (dimensions, corners) in bad {
        let error = Coordinates::new(dimensions, &corners).expect_err("must be refused");
        println!("{error}");
    }
}

#[test]
fn a_corner_can_be_dragged_but_not_inside_out() {
    let mut space = Coordinates::new(2, &regular(5, 1.0)).unwrap();
    let before = space.clone();
    assert!(space.set_corner(2, [0.0, 0.0, 0.0]).is_err());
    assert!(space.set_corner(9, [0.0, 0.0, 0.0]).is_err());
    assert_eq!(space, before);
    // Fine drags move weights finely: no triangulation, no flips.
    let mut last = space.weights([0.1, 0.05, 0.0], Outside::Clamp);
    for step in 1..=100 {
        let c = before.corners()[0].map(|x| x * (1.0 + step as f32 * 0.003));
        space.set_corner(0, c).unwrap();
        let b = space.weights([0.1, 0.05, 0.0], Outside::Clamp);
        assert!(b.iter().zip(&last).all(|(a, b)| (a - b).abs() < 0.005));
        last = b;
    }
}
