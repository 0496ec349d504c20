//! Fixed-width joint and weight words, as the GPU reads them.
//!
//! Weights use *simplex packing*: the heaviest is implicit, 1 − Σ of the others, and the k-th smaller one (k = 1, 2, …)
//! cannot exceed 1/(k+1), so `round(w · (k+1) · (2^b − 1))` in b bits spends no code on impossible values. The sum is
//! 1 by construction and ½ + ½ is exact, which 255 and 65535, being odd, cannot offer.
//!
//! Largest error of a stored weight, `max_k 1 / (2 (k+1) (2^b_k − 1))`, and of the implicit one, the sum of them all:
//!
//! | width | compact | fine |
//! | --- | --- | --- |
//! | 2 | 3.9e-6 / 3.9e-6 | 5.9e-11 / 5.9e-11 |
//! | 4 | 2.5e-4 / 3.9e-4 | 1.2e-7 / 3e-7 |
//! | 8 | 2.5e-4 / 1.4e-3 | 1e-6 / 3.3e-6 |
//!
//! Decoding to f32 adds half an f32 step of the weight (at most 3e-8).

use super::{Influence, Influences, snap};
use crate::{Error, Result};

/// Bits of one joint index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JointFormat {
    /// 8 bits: at most 256 joints.
    U8,
    /// 16 bits: at most 65536 joints.
    U16,
}

impl JointFormat {
    /// Bits per joint.
    pub fn bits(self) -> u32 {
        match self {
            Self::U8 => 8,
            Self::U16 => 16,
        }
    }
}

/// Bits spent on weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// The engine's default: 16, 32 or 64 bits per vertex for 2, 4 or 8 influences.
    #[default]
    Compact,
    /// Twice that: close to what f32 weights say.
    Fine,
}

/// How the influences of one mesh are packed.
///
/// A vertex is [`words_per_vertex`](Self::words_per_vertex) little-endian words: first the joints, slot 0 (the heaviest)
/// in the lowest bits, padded to whole words; then the weights of slots 1, 2, … as one bit stream, lowest bits first;
/// fields may straddle words. One exception: width 2 with [`JointFormat::U8`] and [`Precision::Compact`] is a single
/// word, joints in its low half and the weight in its high half.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InfluenceLayout {
    /// Influences per vertex: 1, 2, 4 or 8.
    pub width: u32,
    /// Joint index format.
    pub joints: JointFormat,
    /// Weight precision.
    pub precision: Precision,
}

impl InfluenceLayout {
    /// The narrowest layout for at most `max_influences` per vertex over a skin of `joint_count` joints.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for more than 8 influences (prune first) or more than 65536 joints.
    pub fn for_mesh(max_influences: usize, joint_count: usize, precision: Precision) -> Result<Self> {
        let width = match max_influences {
            0..=1 => 1,
            2 => 2,
            3..=4 => 4,
            5..=8 => 8,
            _ => {
                return Err(Error::InvalidParameter {
                    what: "the number of influences per vertex",
                    value: max_influences.to_string(),
                    expected: "at most 8 (prune first)",
                });
            }
        };
        let joints = match joint_count {
            0..=256 => JointFormat::U8,
            257..=65536 => JointFormat::U16,
            _ => {
                return Err(Error::InvalidParameter {
                    what: "the number of joints in a skin",
                    value: joint_count.to_string(),
                    expected: "at most 65536",
                });
            }
        };
        Ok(Self { width, joints, precision })
    }

    /// Bits of the weights of slots 1, 2, …; `width − 1` numbers.
    pub fn weight_bits(&self) -> &'static [u32] {
        match (self.width, self.precision) {
            (2, Precision::Compact) => &[16],
            (2, Precision::Fine) => &[32],
            (4, Precision::Compact) => &[10, 11, 11],
            (4, Precision::Fine) => &[21; 3],
            (8, Precision::Compact) => &[10, 10, 9, 9, 9, 9, 8],
            (8, Precision::Fine) => &[18; 7],
            _ => &[],
        }
    }

    /// Words the joints take, the shared word of the 2-wide compact U8 layout included.
    pub fn joint_words(&self) -> u32 {
        (self.width * self.joints.bits()).div_ceil(32)
    }

    /// Where the weight stream starts, in bits from the vertex's first word.
    pub fn weight_offset(&self) -> u32 {
        let shares = self.width == 2 && self.joints == JointFormat::U8 && self.precision == Precision::Compact;
        if shares { 16 } else { 32 * self.joint_words() }
    }

    /// Words per vertex, joints and weights.
    pub fn words_per_vertex(&self) -> u32 {
        (self.weight_offset() + self.weight_bits().iter().sum::<u32>()).div_ceil(32)
    }

    fn check(&self) -> Result<()> {
        match self.width {
            1 | 2 | 4 | 8 => Ok(()),
            _ => Err(Error::InvalidParameter {
                what: "the width of an influence layout",
                value: self.width.to_string(),
                expected: "1, 2, 4 or 8",
            }),
        }
    }
}

/// Influences as words, vertex after vertex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedInfluences {
    /// How to read `words`.
    pub layout: InfluenceLayout,
    /// [`InfluenceLayout::words_per_vertex`] words per vertex.
    pub words: Vec<u32>,
}

impl PackedInfluences {
    /// Number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.words.len() / self.layout.words_per_vertex() as usize
    }

    /// The words of one vertex.
    pub fn of(&self, vertex: usize) -> &[u32] {
        let n = self.layout.words_per_vertex() as usize;
        &self.words[vertex * n..(vertex + 1) * n]
    }
}

/// Packs clean influences, at most `layout.width` per vertex, heaviest first; equal weights by joint index, so the words do
/// not depend on the order of a vertex's slots.
///
/// # Errors
/// [`Error::OutOfRange`] for more influences than the layout's width or a joint past its format;
/// [`Error::InvalidWeight`] for a weight that is not finite or negative, or a vertex without weight;
/// [`Error::InvalidParameter`] for a width other than 1, 2, 4 or 8.
pub fn pack(influences: &Influences, layout: InfluenceLayout) -> Result<PackedInfluences> {
    pack_by(influences, layout, |slots| {
        slots.sort_unstable_by(|a, b| b.weight.total_cmp(&a.weight).then(a.joint.cmp(&b.joint)));
    })
}

/// Like [`pack`], but keeps the order of slots whose weights agree within 2⁻²⁰: what [`prune`](super::prune()) settled by
/// its tie rules stays settled. Such slots may add 2⁻²⁰ to the error bounds.
///
/// # Errors
/// Those of [`pack`].
pub fn pack_ordered(influences: &Influences, layout: InfluenceLayout) -> Result<PackedInfluences> {
    pack_by(influences, layout, |slots| slots.sort_by_key(|i| std::cmp::Reverse(snap(i.weight))))
}

fn pack_by(
    influences: &Influences,
    layout: InfluenceLayout,
    order: impl Fn(&mut [Influence]),
) -> Result<PackedInfluences> {
    layout.check()?;
    influences.validate()?;
    let (width, joint_bits) = (layout.width as usize, layout.joints.bits());
    let per_vertex = layout.words_per_vertex() as usize;
    let mut words = Vec::with_capacity(influences.vertex_count() * per_vertex);
    for vertex in 0..influences.vertex_count() {
        let given = influences.of(vertex);
        if given.len() > width {
            return Err(Error::OutOfRange { what: "influence", index: given.len() - 1, count: width });
        }
        let mut slots = [Influence::default(); 8];
        let slots = &mut slots[..given.len()];
        slots.copy_from_slice(given);
        let mut sum = 0.0;
        for i in slots.iter() {
            if !i.weight.is_finite() || i.weight < 0.0 {
                return Err(Error::InvalidWeight { vertex, joint: i.joint as usize, weight: i.weight });
            }
            if i.joint >> joint_bits != 0 && i.weight > 0.0 {
                let count = 1 << joint_bits;
                return Err(Error::OutOfRange { what: "joint", index: i.joint as usize, count });
            }
            sum += f64::from(i.weight);
        }
        if sum <= 0.0 {
            let joint = slots.first().map_or(0, |i| i.joint as usize);
            return Err(Error::InvalidWeight { vertex, joint, weight: 0.0 });
        }
        order(slots);
        let mut joints = u128::from(slots[0].joint);
        let mut weights = 0u128;
        let mut at = 0;
        for (k, &bits) in (1..).zip(layout.weight_bits()) {
            if let Some(slot) = slots.get(k) {
                let stored = encode(f64::from(slot.weight) / sum, k, bits);
                if stored != 0 {
                    joints |= u128::from(slot.joint) << (k as u32 * joint_bits);
                    weights |= u128::from(stored) << at;
                }
            }
            at += bits;
        }
        let first = words.len();
        words.extend((0..layout.joint_words()).map(|w| (joints >> (32 * w)) as u32));
        match layout.weight_offset() {
            16 => words[first] |= (weights << 16) as u32,
            _ => words.extend((0..at.div_ceil(32)).map(|w| (weights >> (32 * w)) as u32)),
        }
    }
    Ok(PackedInfluences { layout, words })
}

/// The code of the k-th smaller weight in `bits` bits.
fn encode(weight: f64, k: usize, bits: u32) -> u32 {
    let top = ((1u64 << bits) - 1) as f64;
    (weight * (k + 1) as f64 * top).round().min(top) as u32
}

/// What the words say, decoded in f64; weights that were stored as 0 are left out.
pub fn unpack(packed: &PackedInfluences) -> Influences {
    let layout = packed.layout;
    let mut out = Influences { offsets: vec![0], entries: Vec::new() };
    let joint_bits = layout.joints.bits();
    let field = |words: &[u32], at: u32, bits: u32| {
        let low = u64::from(words[(at / 32) as usize]);
        let high = words.get((at / 32 + 1) as usize).map_or(0, |&w| u64::from(w));
        ((high << 32 | low) >> (at % 32)) & ((1 << bits) - 1)
    };
    for vertex in 0..packed.vertex_count() {
        let words = packed.of(vertex);
        let first = out.entries.len();
        out.entries.push(Influence { joint: field(words, 0, joint_bits) as u32, weight: 0.0 });
        let mut rest = 1.0;
        let mut at = layout.weight_offset();
        for (k, &bits) in (1u32..).zip(layout.weight_bits()) {
            let stored = field(words, at, bits);
            let weight = stored as f64 / (f64::from(k + 1) * ((1u64 << bits) - 1) as f64);
            if stored != 0 {
                let joint = field(words, k * joint_bits, joint_bits) as u32;
                out.entries.push(Influence { joint, weight: weight as f32 });
            }
            rest -= weight;
            at += bits;
        }
        out.entries[first].weight = rest as f32;
        out.offsets.push(out.entries.len() as u32);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::influence::test_random::Pcg32;

    const PRECISIONS: [Precision; 2] = [Precision::Compact, Precision::Fine];

    fn all_layouts() -> impl Iterator<Item = InfluenceLayout> {
        [1, 2, 4, 8].into_iter().flat_map(|width| {
            [JointFormat::U8, JointFormat::U16]
                .into_iter()
                .flat_map(move |joints| PRECISIONS.map(|precision| InfluenceLayout { width, joints, precision }))
        })
    }

    fn one(slots: &[(u32, f32)]) -> Influences {
        let v: Vec<_> = slots.iter().map(|&(joint, weight)| Influence { joint, weight }).collect();
        Influences::from_vertices([v.as_slice()])
    }

    #[test]
    fn words_per_vertex() {
        let sizes: Vec<u32> = all_layouts().map(|l| l.words_per_vertex()).collect();
        assert_eq!(sizes, [1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 4, 6, 6, 8]);
        for l in all_layouts() {
            assert_eq!(l.weight_bits().len() as u32, l.width - 1);
        }
    }

    #[test]
    fn exact_bits() {
        let layout = |width, joints, precision| InfluenceLayout { width, joints, precision };
        let words = |i: &Influences, l| pack(i, l).unwrap().words;
        use JointFormat::*;
        use Precision::*;
        let half = one(&[(7, 0.5), (3, 0.5)]);
        assert_eq!(words(&half, layout(2, U8, Compact)), [0xffff_0703]);
        assert_eq!(words(&half, layout(2, U8, Fine)), [0x0703, 0xffff_ffff]);
        assert_eq!(words(&half, layout(2, U16, Compact)), [0x0007_0003, 0xffff]);
        assert_eq!(words(&half, layout(4, U8, Compact)), [0x0703, 0x3ff]);
        let quarters = one(&[(4, 0.25), (2, 0.25), (3, 0.25), (1, 0.25)]);
        // .25 · 2 · 1023 = 511.5 → 512, .25 · 3 · 2047 = 1535.25, .25 · 4 · 2047 = 2047.
        assert_eq!(words(&quarters, layout(4, U8, Compact)), [0x0403_0201, 512 | 1535 << 10 | 2047 << 21]);
        // 1048575.5 → 1048576, 1572863.25, 2097151: fields of 21 bits straddle the two words.
        let fine = 1_048_576u64 | 1_572_863 << 21 | 2_097_151 << 42;
        let expected = [0x0002_0001, 0x0004_0003, fine as u32, (fine >> 32) as u32];
        assert_eq!(words(&quarters, layout(4, U16, Fine)), expected);
        assert_eq!(words(&one(&[(300, 1.0)]), layout(1, U16, Compact)), [300]);
        // A weight that becomes 0 takes its joint with it.
        assert_eq!(words(&one(&[(1, 0.9999), (9, 0.0001)]), layout(4, U8, Compact)), [1, 0]);
    }

    #[test]
    fn error_bounds() {
        // (width, precision, stored, implicit): the table at the top of this file.
        let bounds = [
            (2, Precision::Compact, 3.9e-6, 3.9e-6),
            (2, Precision::Fine, 5.9e-11, 5.9e-11),
            (4, Precision::Compact, 2.5e-4, 3.9e-4),
            (4, Precision::Fine, 1.2e-7, 3e-7),
            (8, Precision::Compact, 2.5e-4, 1.4e-3),
            (8, Precision::Fine, 1e-6, 3.3e-6),
        ];
        let mut random = Pcg32::new(7);
        for (width, precision, stored, implicit) in bounds {
            let layout = InfluenceLayout { width, joints: JointFormat::U8, precision };
            let mut worst = [0.0f64; 2];
            for _ in 0..20_000 {
                let n = 1 + random.below(width);
                let raw: Vec<f64> = (0..n).map(|_| random.unit().powi(1 + random.below(4) as i32) + 1e-9).collect();
                let sum: f64 = raw.iter().sum();
                let i = one(&raw.iter().enumerate().map(|(j, w)| (j as u32, (w / sum) as f32)).collect::<Vec<_>>());
                let back = unpack(&pack(&i, layout).unwrap());
                let total: f64 = i.entries.iter().map(|e| f64::from(e.weight)).sum();
                let heaviest = back.entries[0].joint;
                assert!((back.entries.iter().map(|e| f64::from(e.weight)).sum::<f64>() - 1.0).abs() < 3e-7);
                for e in &i.entries {
                    let w = back.entries.iter().find(|b| b.joint == e.joint).map_or(0.0, |b| f64::from(b.weight));
                    let error = (w - f64::from(e.weight) / total).abs();
                    let kind = usize::from(e.joint == heaviest);
                    worst[kind] = worst[kind].max(error);
                }
            }
            println!("width {width} {precision:?}: stored {:.2e}, implicit {:.2e}", worst[0], worst[1]);
            // + 3e-8: half an f32 step, see the module docs; a vertex of one influence is implicit alone.
            assert!(worst[0] <= stored + 3e-8 && worst[1] <= implicit + 3e-8, "{width} {precision:?} {worst:?}");
        }
    }

    #[test]
    fn halves_are_exact_and_order_is_nothing() {
        for layout in all_layouts().filter(|l| l.width >= 2) {
            let back = unpack(&pack(&one(&[(9, 0.5), (4, 0.5)]), layout).unwrap());
            let expected = one(&[(4, 0.5), (9, 0.5)]);
            assert_eq!(back, expected);
        }
        let mut random = Pcg32::new(11);
        for layout in all_layouts() {
            for _ in 0..50 {
                let mut slots: Vec<(u32, f32)> =
                    (0..layout.width).map(|j| (j, (1 + random.below(3)) as f32 / 8.0)).collect();
                let first = pack(&one(&slots), layout).unwrap();
                random.shuffle(&mut slots);
                assert_eq!(pack(&one(&slots), layout).unwrap(), first);
            }
        }
    }

    #[test]
    fn refusals() {
        let u8x4 = InfluenceLayout { width: 4, joints: JointFormat::U8, precision: Precision::Compact };
        assert!(pack(&one(&[(256, 1.0)]), u8x4).is_err());
        assert!(pack(&one(&[(0, 0.0)]), u8x4).is_err());
        assert!(pack(&one(&[(0, f32::NAN)]), u8x4).is_err());
        assert!(pack(&one(&[]), u8x4).is_err());
        assert!(pack(&one(&[(0, 0.2), (1, 0.2), (2, 0.2), (3, 0.2), (4, 0.2)]), u8x4).is_err());
        assert!(pack(&one(&[(0, 1.0)]), InfluenceLayout { width: 3, ..u8x4 }).is_err());
        assert!(InfluenceLayout::for_mesh(9, 10, Precision::Compact).is_err());
        assert!(InfluenceLayout::for_mesh(4, 65537, Precision::Compact).is_err());
        let l = InfluenceLayout::for_mesh(3, 257, Precision::Fine).unwrap();
        assert_eq!((l.width, l.joints), (4, JointFormat::U16));
    }
}
