//! Pictures and samplers on the GPU: mip levels are means of light, not of sRGB codes.

use crate::character::{Filter, Image, Sampler, Wrap};
use crate::{Error, Result};

/// Uploads a picture with all its mip levels; levels larger than the device allows are left out.
///
/// # Errors
/// [`Error::LengthMismatch`] when the bytes are not width · height · 4.
pub(super) fn upload(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    image: &Image,
    srgb: bool,
) -> Result<wgpu::TextureView> {
    let expected = image.width as usize * image.height as usize * 4;
    if image.rgba.len() != expected || expected == 0 {
        return Err(Error::LengthMismatch { what: "a picture", found: image.rgba.len(), expected: expected.max(4) });
    }
    let largest = device.limits().max_texture_dimension_2d.max(1);
    let curve = srgb.then(Curve::new);
    let mut level = Level { width: image.width, height: image.height, rgba: std::borrow::Cow::Borrowed(&image.rgba) };
    while level.width.max(level.height) > largest {
        level = level.half(curve.as_ref());
    }
    let size = wgpu::Extent3d { width: level.width, height: level.height, depth_or_array_layers: 1 };
    let levels = 32 - level.width.max(level.height).leading_zeros();
    let texture = device.create_texture(&wgpu::TextureDescriptor {
        label: Some("picture"),
        size,
        mip_level_count: levels,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: if srgb { wgpu::TextureFormat::Rgba8UnormSrgb } else { wgpu::TextureFormat::Rgba8Unorm },
        usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
        view_formats: &[],
    });
    for mip_level in 0..levels {
        if mip_level > 0 {
            level = level.half(curve.as_ref());
        }
        queue.write_texture(
            wgpu::TexelCopyTextureInfo {
                texture: &texture,
                mip_level,
                origin: wgpu::Origin3d::ZERO,
                aspect: wgpu::TextureAspect::All,
            },
            &level.rgba,
            wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(level.width * 4), rows_per_image: None },
            wgpu::Extent3d { width: level.width, height: level.height, depth_or_array_layers: 1 },
        );
    }
    Ok(texture.create_view(&wgpu::TextureViewDescriptor::default()))
}

/// A sampler as the file asks for it.
pub(super) fn sampler(device: &wgpu::Device, sampler: &Sampler) -> wgpu::Sampler {
    let wrap = |w| match w {
        Wrap::Repeat => wgpu::AddressMode::Repeat,
        Wrap::Mirror => wgpu::AddressMode::MirrorRepeat,
        Wrap::Clamp => wgpu::AddressMode::ClampToEdge,
    };
    let filter = |f| match f {
        Filter::Nearest => wgpu::FilterMode::Nearest,
        Filter::Linear => wgpu::FilterMode::Linear,
    };
    device.create_sampler(&wgpu::SamplerDescriptor {
        label: Some("picture"),
        address_mode_u: wrap(sampler.wrap_u),
        address_mode_v: wrap(sampler.wrap_v),
        mag_filter: filter(sampler.mag),
        min_filter: filter(sampler.min),
        mipmap_filter: match sampler.mip {
            Some(Filter::Linear) => wgpu::MipmapFilterMode::Linear,
            _ => wgpu::MipmapFilterMode::Nearest,
        },
        lod_max_clamp: if sampler.mip.is_some() { 32.0 } else { 0.0 },
        ..Default::default()
    })
}

/// One mip level.
struct Level<'a> {
    width: u32,
    height: u32,
    rgba: std::borrow::Cow<'a, [u8]>,
}

impl Level<'_> {
    /// The next smaller level: each pixel the mean of the two by two (three where a size is odd) under it, colour weighted
    /// by alpha so that what is invisible does not bleed in.
    fn half(&self, curve: Option<&Curve>) -> Level<'static> {
        let (width, height) = ((self.width / 2).max(1), (self.height / 2).max(1));
        let mut rgba = Vec::with_capacity(width as usize * height as usize * 4);
        for y in 0..height {
            let rows = span(y, height, self.height);
            for x in 0..width {
                rgba.extend_from_slice(&self.mean(span(x, width, self.width), rows.clone(), curve));
            }
        }
        Level { width, height, rgba: rgba.into() }
    }

    fn mean(&self, columns: std::ops::Range<u32>, rows: std::ops::Range<u32>, curve: Option<&Curve>) -> [u8; 4] {
        let count = (columns.len() * rows.len()) as f32;
        let (mut plain, mut weighted, mut alpha) = ([0.0f32; 3], [0.0f32; 3], 0.0f32);
        for y in rows {
            for x in columns.clone() {
                let at = (y as usize * self.width as usize + x as usize) * 4;
                let p = &self.rgba[at..at + 4];
                let a = f32::from(p[3]) / 255.0;
                alpha += a;
                for c in 0..3 {
                    let light = curve.map_or(f32::from(p[c]) / 255.0, |curve| curve.light[p[c] as usize]);
                    plain[c] += light;
                    weighted[c] += light * a;
                }
            }
        }
        let color = if alpha > 0.0 { weighted.map(|c| c / alpha) } else { plain.map(|c| c / count) };
        let byte = |v: f32| (v * 255.0 + 0.5) as u8;
        let [r, g, b] = color.map(|c| curve.map_or_else(|| byte(c), |curve| curve.code(c)));
        [r, g, b, byte(alpha / count)]
    }
}

/// The pixels of the larger level under pixel `i` of `count`.
fn span(i: u32, count: u32, larger: u32) -> std::ops::Range<u32> {
    let end = if i + 1 == count { larger } else { 2 * i + 2 };
    (2 * i).min(larger - 1)..end
}

/// sRGB's transfer curve as tables: code to light exactly, light to code within one code.
struct Curve {
    light: [f32; 256],
    codes: Vec<u8>,
}

impl Curve {
    const STEPS: f32 = 8191.0;

    fn new() -> Self {
        let light = std::array::from_fn(|i| {
            let c = i as f32 / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        });
        // The table runs over the root of light: its slope is nearly even there, so 8192 steps place every code.
        let code = |i: u16| {
            let root = f32::from(i) / Self::STEPS;
            (srgb_code(root * root) * 255.0 + 0.5) as u8
        };
        Self { light, codes: (0..=Self::STEPS as u16).map(code).collect() }
    }

    fn code(&self, light: f32) -> u8 {
        self.codes[(light.clamp(0.0, 1.0).sqrt() * Self::STEPS + 0.5) as usize]
    }
}

/// sRGB code (0…1) of linear light (IEC 61966-2-1).
pub(super) fn srgb_code(light: f32) -> f32 {
    if light <= 0.003_130_8 { 12.92 * light } else { 1.055 * light.powf(1.0 / 2.4) - 0.055 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn srgb_codes_survive_the_curve() {
        let curve = Curve::new();
        for code in 0..=255u8 {
            assert_eq!(curve.code(curve.light[code as usize]), code);
        }
    }

    #[test]
    fn levels_mix_light_and_keep_odd_edges() {
        let black_and_white = |w: u32, h: u32| {
            let rgba =
                (0..w * h).flat_map(|i| if (i % w + i / w).is_multiple_of(2) { [255; 4] } else { [0, 0, 0, 255] });
            Level { width: w, height: h, rgba: rgba.collect::<Vec<u8>>().into() }
        };
        let curve = Curve::new();
        // Half the light is sRGB code 188 (0.5 → 0.7354); linear pictures hold the code itself.
        assert_eq!(black_and_white(2, 2).half(Some(&curve)).rgba[..], [188, 188, 188, 255]);
        assert_eq!(black_and_white(2, 2).half(None).rgba[..], [128, 128, 128, 255]);
        let odd = black_and_white(5, 3).half(None);
        assert_eq!((odd.width, odd.height, odd.rgba.len()), (2, 1, 8));
        // The last pixel takes columns 2…4 of 3 rows: 5 of 9 are white.
        assert_eq!(odd.rgba[4], (5.0 / 9.0 * 255.0 + 0.5) as u8);
        let line = black_and_white(7, 1).half(None);
        assert_eq!((line.width, line.height), (3, 1));
    }

    #[test]
    fn invisible_pixels_do_not_bleed() {
        let level = Level { width: 2, height: 1, rgba: vec![200, 10, 10, 255, 0, 255, 0, 0].into() };
        assert_eq!(level.half(None).rgba[..], [200, 10, 10, 128]);
    }
}
