//! Materials, textures and pictures.

use std::io::Cursor;

use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder};
use serde_json::{Map, Value, json};

use crate::character::{AlphaMode, Filter, Image, Material, Sampler, TextureRef, UvTransform, Wrap};
use crate::io::glb::Glb;
use crate::{Character, Error, Result};

/// Writes all materials and pictures of a character, in their order.
pub(super) fn put(glb: &mut Glb, character: &Character) -> Result<()> {
    let mut surfaces = Surfaces::default();
    for (index, material) in character.materials.iter().enumerate() {
        check(character, index, material)?;
        glb.push("materials", surfaces.material(material))?;
    }
    for texture in surfaces.textures() {
        glb.push("textures", texture)?;
    }
    for s in &surfaces.samplers {
        glb.push("samplers", sampler(s))?;
    }
    for image in &character.images {
        let view = glb.append(&png(image)?, None)?;
        glb.push("images", json!({ "name": image.name, "mimeType": "image/png", "bufferView": view }))?;
    }
    for &extension in &surfaces.extensions {
        glb.push("extensionsUsed", extension.into())?;
    }
    Ok(())
}

/// Checks that JSON can state the material's numbers, and that its pictures exist.
fn check(character: &Character, index: usize, m: &Material) -> Result<()> {
    let textures = [m.base_color_texture, m.metallic_roughness_texture, m.normal_texture, m.emissive_texture];
    for texture in textures.iter().flatten() {
        super::element(&character.images, "image", texture.image)?;
    }
    let transforms = textures.iter().flatten().map(|t| t.transform);
    let transforms = transforms.flat_map(|t| [t.offset[0], t.offset[1], t.rotation, t.scale[0], t.scale[1]]);
    let own = [m.metallic, m.roughness, m.normal_scale, m.alpha_cutoff];
    if own.into_iter().chain(m.base_color).chain(m.emissive).chain(transforms).all(f32::is_finite) {
        return Ok(());
    }
    Err(Error::NotFinite { what: "number of material", index })
}

fn png(image: &Image) -> Result<Vec<u8>> {
    let (found, expected) = (image.rgba.len(), image.width as usize * image.height as usize * 4);
    if found != expected {
        return Err(Error::LengthMismatch { what: "the bytes of an image", found, expected });
    }
    let mut out = Cursor::new(Vec::new());
    let written =
        PngEncoder::new(&mut out).write_image(&image.rgba, image.width, image.height, ExtendedColorType::Rgba8);
    match written {
        Ok(()) => Ok(out.into_inner()),
        Err(error) => Err(Error::Format { at: format!("image {:?}", image.name), problem: error.to_string() }),
    }
}

/// Textures, samplers and extensions met while the materials are written.
#[derive(Default)]
struct Surfaces {
    /// (image, sampler)
    uses: Vec<(usize, usize)>,
    samplers: Vec<Sampler>,
    extensions: Vec<&'static str>,
}

fn slot<T: PartialEq + Copy>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|&known| known == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

impl Surfaces {
    fn textures(&self) -> Vec<Value> {
        self.uses.iter().map(|(image, sampler)| json!({ "source": image, "sampler": sampler })).collect()
    }

    fn texture(&mut self, texture: &TextureRef) -> Value {
        let sampler = slot(&mut self.samplers, texture.sampler);
        let index = slot(&mut self.uses, (texture.image, sampler));
        let mut out = json!({ "index": index, "texCoord": texture.uv_set });
        let UvTransform { offset, rotation, scale } = texture.transform;
        if texture.transform != UvTransform::default() {
            slot(&mut self.extensions, "KHR_texture_transform");
            let transform = json!({ "offset": offset, "rotation": rotation, "scale": scale });
            out["extensions"] = json!({ "KHR_texture_transform": transform });
        }
        out
    }

    fn material(&mut self, m: &Material) -> Value {
        let mut pbr = json!({
            "baseColorFactor": m.base_color, "metallicFactor": m.metallic, "roughnessFactor": m.roughness,
        });
        if let Some(texture) = &m.base_color_texture {
            pbr["baseColorTexture"] = self.texture(texture);
        }
        if let Some(texture) = &m.metallic_roughness_texture {
            pbr["metallicRoughnessTexture"] = self.texture(texture);
        }
        let mut out = json!({ "name": m.name, "pbrMetallicRoughness": pbr, "doubleSided": m.double_sided });
        if let Some(texture) = &m.normal_texture {
            out["normalTexture"] = self.texture(texture);
            out["normalTexture"]["scale"] = m.normal_scale.into();
        }
        if let Some(texture) = &m.emissive_texture {
            out["emissiveTexture"] = self.texture(texture);
        }
        match m.alpha_mode {
            AlphaMode::Opaque => {}
            AlphaMode::Mask => (out["alphaMode"], out["alphaCutoff"]) = ("MASK".into(), m.alpha_cutoff.into()),
            AlphaMode::Blend => out["alphaMode"] = "BLEND".into(),
        }
        let mut extensions = Map::new();
        // A factor above 1 needs the extension that multiplies it; a power of two loses no bit.
        let largest = m.emissive.iter().fold(1.0_f32, |a, &b| a.max(b));
        let strength = largest.log2().ceil().exp2();
        out["emissiveFactor"] = json!(m.emissive.map(|e| e / strength));
        if strength > 1.0 {
            slot(&mut self.extensions, "KHR_materials_emissive_strength");
            extensions.insert("KHR_materials_emissive_strength".into(), json!({ "emissiveStrength": strength }));
        }
        if m.unlit {
            slot(&mut self.extensions, "KHR_materials_unlit");
            extensions.insert("KHR_materials_unlit".into(), json!({}));
        }
        if !extensions.is_empty() {
            out["extensions"] = extensions.into();
        }
        out
    }
}

fn sampler(s: &Sampler) -> Value {
    let wrap = |w| match w {
        Wrap::Repeat => 10_497,
        Wrap::Mirror => 33_648,
        Wrap::Clamp => 33_071,
    };
    let mag = if s.mag == Filter::Nearest { 9728 } else { 9729 };
    let min = match (s.min, s.mip) {
        (Filter::Nearest, None) => 9728,
        (Filter::Linear, None) => 9729,
        (Filter::Nearest, Some(Filter::Nearest)) => 9984,
        (Filter::Linear, Some(Filter::Nearest)) => 9985,
        (Filter::Nearest, Some(Filter::Linear)) => 9986,
        (Filter::Linear, Some(Filter::Linear)) => 9987,
    };
    json!({ "magFilter": mag, "minFilter": min, "wrapS": wrap(s.wrap_u), "wrapT": wrap(s.wrap_v) })
}
