//! Colour maps: numbers as colours.

/// How [`super::Overlay`] turns a vertex's number, 0…1, into a colour.
#[derive(Clone, Debug, PartialEq)]
pub struct ColorMap {
    /// sRGB codes at evenly spaced numbers from 0 to 1; between them colours are mixed. At least one, at most 256.
    pub colors: Vec<[u8; 3]>,
    /// Shown where a vertex has no number (NaN).
    pub none: [u8; 3],
    /// False: a pixel looks up its own number, which lies between those of the triangle's corners. True: the corners' colours
    /// are looked up and mixed, so that a triangle between the first and the third colour does not show the second.
    pub categories: bool,
}

/// Coefficients of `Σ c_k · t^k` per channel.
type Polynomial = [[f64; 3]; 7];

/// Matt Zucker's fit (2019, public domain, shadertoy WlfXRN) of matplotlib's viridis (Smith, van der Walt and Firing, 2015).
const VIRIDIS: Polynomial = [
    [0.277_727_327, 0.005_407_345, 0.334_099_805],
    [0.105_093_043, 1.404_613_530, 1.384_590_163],
    [-0.330_861_829, 0.214_847_559, 0.095_095_163],
    [-4.634_230_499, -5.799_100_973, -19.332_440_956],
    [6.228_269_936, 14.179_933_367, 56.690_552_601],
    [4.776_384_998, -13.745_145_378, -65.353_032_633],
    [-5.435_455_856, 4.645_852_612, 26.312_435_250],
];

/// The same of inferno, by the same authors.
const INFERNO: Polynomial = [
    [0.000_218_940, 0.001_651_005, -0.019_480_898],
    [0.106_513_419, 0.563_956_437, 3.932_712_388],
    [11.602_493_082, -3.972_853_966, -15.942_394_106],
    [-41.703_996_131, 17.436_398_882, 44.354_145_199],
    [77.162_935_699, -33.402_358_942, -81.807_309_257],
    [-71.319_428_245, 32.626_064_264, 73.209_519_858],
    [25.131_126_225, -12.242_668_952, -23.070_325_003],
];

impl ColorMap {
    /// Violet through green to yellow: equal steps of the number look equally large, also without colour vision and in grey
    /// (a polynomial fit of matplotlib's viridis).
    pub fn viridis() -> Self {
        Self::polynomial(&VIRIDIS)
    }

    /// Black through red to pale yellow, as even as [`ColorMap::viridis`] (a polynomial fit of matplotlib's inferno).
    pub fn inferno() -> Self {
        Self::polynomial(&INFERNO)
    }

    /// One colour per category; category k of n is the number k / (n − 1).
    pub fn of_categories(colors: Vec<[u8; 3]>) -> Self {
        Self { colors, none: NONE, categories: true }
    }

    fn polynomial(p: &Polynomial) -> Self {
        let color = |i: usize| {
            let t = i as f64 / 255.0;
            [0, 1, 2].map(|c| {
                let x = p.iter().rev().fold(0.0, |sum, k| sum * t + k[c]);
                (x.clamp(0.0, 1.0) * 255.0).round() as u8
            })
        };
        Self { colors: (0..256).map(color).collect(), none: NONE, categories: false }
    }

    /// The colour of a number, sRGB codes; what is outside 0…1 counts as the nearer end.
    pub fn color(&self, value: f32) -> [u8; 3] {
        let Some(last) = self.colors.len().checked_sub(1).filter(|_| !value.is_nan()) else { return self.none };
        let at = value.clamp(0.0, 1.0) * last as f32;
        let low = at as usize;
        let (a, b, t) = (self.colors[low], self.colors[(low + 1).min(last)], at.fract());
        [0, 1, 2].map(|c| (f32::from(a[c]) + (f32::from(b[c]) - f32::from(a[c])) * t).round() as u8)
    }
}

/// A grey that is in none of the maps.
const NONE: [u8; 3] = [118, 118, 122];

#[cfg(test)]
mod tests {
    use super::*;

    /// CIE 1976 lightness, 0…100, of sRGB codes.
    fn lightness(c: [u8; 3]) -> f64 {
        let linear = |x: u8| {
            let x = f64::from(x) / 255.0;
            if x <= 0.040_45 { x / 12.92 } else { ((x + 0.055) / 1.055).powf(2.4) }
        };
        let y = 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
        if y > 216.0 / 24389.0 { 116.0 * y.cbrt() - 16.0 } else { y * 24389.0 / 27.0 }
    }

    #[test]
    fn lightness_rises_evenly() {
        // The maps are straight in CAM02-UCS; in CIE lightness matplotlib's tables leave the line by 1.7 and 5.3, and the fits are
        // off by up to 0.013 and 0.034 of a channel.
        for (name, map, bend) in [("viridis", ColorMap::viridis(), 2.0), ("inferno", ColorMap::inferno(), 6.5)] {
            let l: Vec<f64> = map.colors.iter().map(|&c| lightness(c)).collect();
            let (first, last) = (l[0], l[255]);
            let worst =
                (0..256).map(|i| (l[i] - (first + (last - first) * i as f64 / 255.0)).abs()).fold(0.0, f64::max);
            println!("{name}: lightness {first:.1}…{last:.1}, {worst:.2} from a straight line");
            assert!(last - first > 70.0);
            assert!(worst < bend, "{name}: {worst}");
            // A step of 1/16 is never darker than the one before.
            assert!((16..256).all(|i| l[i] > l[i - 16]), "{name}");
        }
    }

    #[test]
    fn ends_middles_and_what_is_no_number() {
        let map = ColorMap { colors: vec![[0, 0, 0], [100, 200, 50], [255; 3]], none: [1, 2, 3], categories: false };
        assert_eq!(map.color(-1.0), [0, 0, 0]);
        assert_eq!(map.color(0.5), [100, 200, 50]);
        assert_eq!(map.color(0.25), [50, 100, 25]);
        assert_eq!(map.color(9.0), [255; 3]);
        assert_eq!(map.color(f32::NAN), [1, 2, 3]);
        assert_eq!(ColorMap::of_categories(vec![]).color(0.5), NONE);
    }
}
