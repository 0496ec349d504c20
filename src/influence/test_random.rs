//! PCG32 (O'Neill, 2014) for tests: literal seeds, the same numbers everywhere.

pub struct Pcg32(u64);

impl Pcg32 {
    pub fn new(seed: u64) -> Self {
        let mut r = Self(seed.wrapping_add(1_442_695_040_888_963_407));
        r.word();
        r
    }

    pub fn word(&mut self) -> u32 {
        let old = self.0;
        self.0 = old.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((((old >> 18) ^ old) >> 27) as u32).rotate_right((old >> 59) as u32)
    }

    /// 0 … n − 1.
    pub fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.word()) * u64::from(n)) >> 32) as u32
    }

    /// 0 … 1.
    pub fn unit(&mut self) -> f64 {
        f64::from(self.word()) / f64::from(u32::MAX)
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u32 + 1) as usize);
        }
    }
}
