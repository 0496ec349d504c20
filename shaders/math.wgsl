// Elementary functions that do not depend on the driver: WGSL lets sin and cos be off by 2⁻¹¹ and acos by more.
// Minimax polynomials of the Cephes library (Moshier 1992, single precision); absolute error at most 3e-7 over the ranges
// stated, relative error for exponential.

// |x| ≤ 8000; (sin x, cos x).
fn sin_cos(x: f32) -> vec2<f32> {
    let quarter = round(x * 0.636619772);
    // π/2 in three parts, so that the difference is exact for large x.
    let r = ((x - quarter * 1.5703125) - quarter * 4.837512969970703e-4) - quarter * 7.549789948768648e-8;
    let z = r * r;
    let s = ((-1.9515295891e-4 * z + 8.3321608736e-3) * z - 1.6666654611e-1) * z * r + r;
    let c = ((2.443315711809948e-5 * z - 1.388731625493765e-3) * z + 4.166664568298827e-2) * z * z - 0.5 * z + 1.0;
    let turn = bitcast<u32>(i32(quarter)) & 3u;
    let swapped = select(vec2<f32>(s, c), vec2<f32>(c, s), (turn & 1u) == 1u);
    let sin_sign = select(1.0, -1.0, turn >= 2u);
    let cos_sign = select(1.0, -1.0, turn == 1u || turn == 2u);
    return swapped * vec2<f32>(sin_sign, cos_sign);
}

// Angle of the vector (x, y), -π…π; 0 for the zero vector.
fn arc_tangent(y: f32, x: f32) -> f32 {
    let large = max(abs(x), abs(y));
    let small = min(abs(x), abs(y));
    let ratio = select(0.0, small / large, large > 0.0);
    // tan(π/8) parts the two halves of the octant.
    let far = ratio > 0.414213562;
    let t = select(ratio, (ratio - 1.0) / (ratio + 1.0), far);
    let z = t * t;
    var angle = (((8.05374449538e-2 * z - 1.38776856032e-1) * z + 1.99777106478e-1) * z - 3.33329491539e-1) * z * t + t;
    angle += select(0.0, 0.785398163, far);
    angle = select(angle, 1.570796327 - angle, abs(y) > abs(x));
    angle = select(angle, 3.141592654 - angle, x < 0.0);
    return select(angle, -angle, y < 0.0);
}

// -1 ≤ x ≤ 1, clamped; 0…π.
fn arc_cosine(x: f32) -> f32 {
    let c = clamp(x, -1.0, 1.0);
    return arc_tangent(sqrt((1.0 - c) * (1.0 + c)), c);
}

// -87 ≤ x ≤ 88, clamped.
fn exponential(x: f32) -> f32 {
    let clamped = clamp(x, -87.0, 88.0);
    let n = round(clamped * 1.442695041);
    let r = (clamped - n * 0.693359375) + n * 2.12194440e-4;
    var p = 1.9875691500e-4 * r + 1.3981999507e-3;
    p = p * r + 8.3334519073e-3;
    p = p * r + 4.1665795894e-2;
    p = p * r + 1.6666665459e-1;
    p = p * r + 5.0000001201e-1;
    let power = bitcast<f32>(u32(i32(n) + 127) << 23u);
    return (p * r * r + r + 1.0) * power;
}

// Natural logarithm of a normal positive x.
fn logarithm(x: f32) -> f32 {
    let bits = bitcast<u32>(x);
    var exponent = f32(i32(bits >> 23u) - 126);
    var m = bitcast<f32>((bits & 0x7fffffu) | 0x3f000000u);
    if (m < 0.707106781) {
        exponent -= 1.0;
        m += m;
    }
    m -= 1.0;
    let z = m * m;
    var p = 7.0376836292e-2 * m - 1.1514610310e-1;
    p = p * m + 1.1676998740e-1;
    p = p * m - 1.2420140846e-1;
    p = p * m + 1.4249322787e-1;
    p = p * m - 1.6668057665e-1;
    p = p * m + 2.0000714765e-1;
    p = p * m - 2.4999993993e-1;
    p = p * m + 3.3333331174e-1;
    let low = p * m * z - 2.12194440e-4 * exponent - 0.5 * z;
    return m + low + 0.693359375 * exponent;
}
