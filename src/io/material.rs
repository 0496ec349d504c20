//! Materials, textures and pictures.

use std::io::Cursor;

use gltf::json::extensions::texture::Info as InfoExtensions;
use gltf::json::material::AlphaMode as JsonAlphaMode;
use gltf::json::texture::{MagFilter, MinFilter, WrappingMode};
use gltf::json::validation::Checked;

use super::document::{Document, named, number};
use super::{Fetch, sidecar};
use crate::character::{AlphaMode, Filter, Image, Material, Sampler, TextureRef, UvTransform, Wrap};

/// Largest side of a picture, pixels; wgpu's default limit is half of it.
const LARGEST_SIDE: u32 = 16_384;
/// Largest sum of all decoded pictures, bytes.
const LARGEST_PICTURES: u64 = 1 << 30;

/// Pictures that could be decoded, and where each of the file's pictures went.
pub(super) struct Pictures {
    pub images: Vec<Image>,
    placement: Vec<Option<usize>>,
}

/// Decodes every picture of the file. One that is missing or broken is left out with a warning: the model is still
/// worth looking at.
pub(super) fn pictures(document: &Document<'_>, fetch: &mut Fetch<'_>) -> Pictures {
    let mut out = Pictures { images: Vec::new(), placement: Vec::new() };
    let mut left = LARGEST_PICTURES;
    for (i, json) in document.root.images.iter().enumerate() {
        let decoded = encoded(document, json, i, fetch).and_then(|bytes| decode(&bytes, left));
        out.placement.push(match decoded {
            Ok((width, height, rgba)) => {
                left -= rgba.len() as u64;
                let name = named(&json.name, "image", i);
                out.images.push(Image { name, width, height, rgba });
                Some(out.images.len() - 1)
            }
            Err(problem) => {
                document.warn(format!("images[{i}]: {problem}: left out"));
                None
            }
        });
    }
    out
}

fn encoded<'d>(
    document: &'d Document<'_>,
    json: &gltf::json::Image,
    index: usize,
    fetch: &mut Fetch<'_>,
) -> Result<std::borrow::Cow<'d, [u8]>, String> {
    match (json.buffer_view, &json.uri) {
        (Some(view), _) => match document.view(number(view), &format!("images[{index}]")) {
            Ok((bytes, _)) => Ok(bytes.into()),
            Err(refusal) => Err(format!("{}: {}", refusal.at, refusal.problem)),
        },
        (None, Some(uri)) => sidecar::resolve(uri, fetch).map(Into::into),
        (None, None) => Err("has neither a buffer view nor a URI".into()),
    }
}

/// Decodes PNG or JPEG to RGBA, at most `left` bytes.
fn decode(bytes: &[u8], left: u64) -> Result<(u32, u32, Vec<u8>), String> {
    let mut reader = image::ImageReader::new(Cursor::new(bytes));
    let format = image::guess_format(bytes).map_err(|_| "is neither PNG nor JPEG")?;
    reader.set_format(format);
    let mut limits = image::Limits::default();
    (limits.max_image_width, limits.max_image_height) = (Some(LARGEST_SIDE), Some(LARGEST_SIDE));
    limits.max_alloc = Some(left);
    reader.limits(limits);
    let rgba = reader.decode().map_err(|e| e.to_string().to_lowercase())?.into_rgba8();
    if rgba.as_raw().len() as u64 > left {
        return Err(format!("the pictures together pass {} MiB", LARGEST_PICTURES >> 20));
    }
    Ok((rgba.width(), rgba.height(), rgba.into_raw()))
}

/// All materials of the file, in its order.
pub(super) fn materials(document: &Document<'_>, pictures: &Pictures) -> Vec<Material> {
    let read = |(i, json): (usize, &gltf::json::Material)| read(document, pictures, i, json);
    document.root.materials.iter().enumerate().map(read).collect()
}

fn read(document: &Document<'_>, pictures: &Pictures, index: usize, json: &gltf::json::Material) -> Material {
    let at = format!("materials[{index}]");
    let texture = |slot: Slot<'_>| texture(document, pictures, slot, &at);
    let info = |info: &gltf::json::texture::Info| {
        texture(Slot { index: number(info.index), uv_set: info.tex_coord, transform: transform_of(&info.extensions) })
    };
    let pbr = &json.pbr_metallic_roughness;
    let extensions = json.extensions.as_ref();
    let strength = extensions.and_then(|e| e.emissive_strength.as_ref()).map_or(1.0, |s| s.emissive_strength.0);
    let normal = json.normal_texture.as_ref();
    let normal_transform = normal.and_then(|n| n.extensions.as_ref()?.others.get("KHR_texture_transform"));
    let normal_transform = normal_transform.and_then(|v| serde_json::from_value(v.clone()).ok());
    Material {
        name: named(&json.name, "material", index),
        base_color: pbr.base_color_factor.0.map(|x| finite(x, 1.0)),
        base_color_texture: pbr.base_color_texture.as_ref().and_then(info),
        metallic: finite(pbr.metallic_factor.0, 1.0),
        roughness: finite(pbr.roughness_factor.0, 1.0),
        metallic_roughness_texture: pbr.metallic_roughness_texture.as_ref().and_then(info),
        normal_texture: normal.and_then(|n| {
            let transform = normal_transform.as_ref();
            texture(Slot { index: number(n.index), uv_set: n.tex_coord, transform })
        }),
        normal_scale: normal.map_or(1.0, |n| finite(n.scale, 1.0)),
        emissive: json.emissive_factor.0.map(|e| finite(e * strength, 0.0)),
        emissive_texture: json.emissive_texture.as_ref().and_then(info),
        alpha_mode: match json.alpha_mode {
            Checked::Valid(JsonAlphaMode::Mask) => AlphaMode::Mask,
            Checked::Valid(JsonAlphaMode::Blend) => AlphaMode::Blend,
            _ => AlphaMode::Opaque,
        },
        alpha_cutoff: json.alpha_cutoff.map_or(0.5, |c| finite(c.0, 0.5)),
        double_sided: json.double_sided,
        unlit: extensions.is_some_and(|e| e.unlit.is_some()),
    }
}

/// JSON can state numbers that no f32 can.
fn finite(x: f32, otherwise: f32) -> f32 {
    if x.is_finite() { x } else { otherwise }
}

type Transform = gltf::json::extensions::texture::TextureTransform;

/// One use of a texture in a material.
struct Slot<'a> {
    index: usize,
    uv_set: u32,
    transform: Option<&'a Transform>,
}

fn transform_of(extensions: &Option<InfoExtensions>) -> Option<&Transform> {
    extensions.as_ref()?.texture_transform.as_ref()
}

/// The texture of a slot; `None`, with a warning unless the picture has one already, when it cannot be used.
fn texture(document: &Document<'_>, pictures: &Pictures, slot: Slot<'_>, at: &str) -> Option<TextureRef> {
    let root = &document.root;
    let Some(json) = root.textures.get(slot.index) else {
        document.warn(format!("{at}: texture {} does not exist: left out", slot.index));
        return None;
    };
    let Some(&image) = pictures.placement.get(number(json.source)) else {
        document.warn(format!("textures[{}]: has no PNG or JPEG picture: left out", slot.index));
        return None;
    };
    let uv_set = slot.transform.and_then(|t| t.tex_coord).unwrap_or(slot.uv_set) as usize;
    if uv_set > 1 {
        document.warn(format!("{at}: reads texture coordinates {uv_set}, but only sets 0 and 1 are kept: left out"));
        return None;
    }
    let transform = slot.transform.map_or_else(UvTransform::default, |t| UvTransform {
        offset: t.offset.0.map(|x| finite(x, 0.0)),
        rotation: finite(t.rotation.0, 0.0),
        scale: t.scale.0.map(|x| finite(x, 1.0)),
    });
    let sampler = json.sampler.and_then(|s| root.samplers.get(number(s))).map_or_else(Sampler::default, sampler);
    Some(TextureRef { image: image?, uv_set, sampler, transform })
}

fn sampler(json: &gltf::json::texture::Sampler) -> Sampler {
    let wrap = |mode: Checked<WrappingMode>| match mode {
        Checked::Valid(WrappingMode::ClampToEdge) => Wrap::Clamp,
        Checked::Valid(WrappingMode::MirroredRepeat) => Wrap::Mirror,
        _ => Wrap::Repeat,
    };
    let (min, mip) = match json.min_filter {
        Some(Checked::Valid(filter)) => match filter {
            MinFilter::Nearest => (Filter::Nearest, None),
            MinFilter::Linear => (Filter::Linear, None),
            MinFilter::NearestMipmapNearest => (Filter::Nearest, Some(Filter::Nearest)),
            MinFilter::LinearMipmapNearest => (Filter::Linear, Some(Filter::Nearest)),
            MinFilter::NearestMipmapLinear => (Filter::Nearest, Some(Filter::Linear)),
            MinFilter::LinearMipmapLinear => (Filter::Linear, Some(Filter::Linear)),
        },
        _ => (Filter::Linear, Some(Filter::Linear)),
    };
    let mag = match json.mag_filter {
        Some(Checked::Valid(MagFilter::Nearest)) => Filter::Nearest,
        _ => Filter::Linear,
    };
    Sampler { wrap_u: wrap(json.wrap_s), wrap_v: wrap(json.wrap_t), mag, min, mip }
}
