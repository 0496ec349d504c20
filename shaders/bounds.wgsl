// Boxes in integers: a key has the order of the number it stands for, so that atomic minimum and maximum work on it.
// A box is eight words: the keys of the least x, y, z, an unused word, the keys of the greatest x, y, z, an unused word.

fn bounds_key(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    return select(bits | 0x80000000u, ~bits, (bits & 0x80000000u) != 0u);
}

fn bounds_value(key: u32) -> f32 {
    return bitcast<f32>(select(~key, key & 0x7fffffffu, (key & 0x80000000u) != 0u));
}

fn bounds_corner(keys: vec3<u32>) -> vec3<f32> {
    return vec3<f32>(bounds_value(keys.x), bounds_value(keys.y), bounds_value(keys.z));
}
