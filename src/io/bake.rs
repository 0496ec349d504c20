//! A GLB of skinned vertices: the mesh as it stands in one pose, without joints, for any viewer.

use std::collections::HashMap;
use std::io::Cursor;

use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder};
use serde_json::{Map, Value, json};

use crate::character::{AlphaMode, Filter, Image, Material, Mesh, Primitive, Sampler, TextureRef, UvTransform, Wrap};
use crate::gpu::SkinnedVertices;
use crate::{Character, Error, Result};

/// A GLB with every part of `character` at its skinned vertices (one per part, as [`crate::gpu::read_vertices`] gives
/// them): positions, normals, tangents where the surface needs them, texture coordinates, colours, materials and
/// pictures (as PNG).
///
/// Triangles whose vertices a joint mirrored are turned round, so that their front stays outside.
///
/// # Errors
/// [`Error::LengthMismatch`] when the vertices do not fit the parts, [`Error::NotFinite`] for a position that no file
/// can hold, [`Error::Format`] when the file would pass 4 GiB.
pub fn bake_glb(character: &Character, skinned: &[SkinnedVertices]) -> Result<Vec<u8>> {
    let (found, expected) = (skinned.len(), character.parts.len());
    if found != expected {
        return Err(Error::LengthMismatch { what: "the list of skinned parts", found, expected });
    }
    let mut glb = Writer::default();
    let mut shared = HashMap::new();
    let (mut nodes, mut meshes) = (Vec::new(), Vec::new());
    for (part, vertices) in character.parts.iter().zip(skinned) {
        let mesh = element(&character.meshes, "mesh", part.mesh)?;
        let primitives = glb.part(character, mesh, vertices, shared.entry(part.mesh).or_default())?;
        if primitives.is_empty() {
            continue;
        }
        nodes.push(json!({ "name": part.name, "mesh": meshes.len() }));
        meshes.push(json!({ "name": mesh.name, "primitives": primitives }));
    }
    let mut surfaces = Surfaces::default();
    let materials: Vec<Value> = character.materials.iter().map(|m| surfaces.material(m)).collect();
    let mut images = Vec::new();
    for image in &character.images {
        let view = glb.view(&png(image)?);
        images.push(json!({ "name": image.name, "mimeType": "image/png", "bufferView": view }));
    }
    let generator = concat!("dermis ", env!("CARGO_PKG_VERSION"));
    let mut root = json!({
        "asset": { "version": "2.0", "generator": generator },
        "scene": 0,
        "scenes": [{ "nodes": (0..nodes.len()).collect::<Vec<_>>() }],
    });
    // glTF has no empty lists.
    for (key, list) in [
        ("nodes", nodes),
        ("meshes", meshes),
        ("materials", materials),
        ("textures", surfaces.textures()),
        ("samplers", surfaces.samplers.iter().map(sampler).collect()),
        ("images", images),
        ("accessors", std::mem::take(&mut glb.accessors)),
        ("bufferViews", std::mem::take(&mut glb.views)),
        ("extensionsUsed", surfaces.extensions.iter().map(|&e| e.into()).collect()),
    ] {
        if !list.is_empty() {
            root[key] = list.into();
        }
    }
    if !glb.bin.is_empty() {
        root["buffers"] = json!([{ "byteLength": glb.bin.len() }]);
    }
    container(root.to_string().into_bytes(), glb.bin)
}

fn element<'a, T>(list: &'a [T], what: &'static str, index: usize) -> Result<&'a T> {
    list.get(index).ok_or(Error::OutOfRange { what, index, count: list.len() })
}

/// Header and chunks (glTF 2.0, section 4.4).
fn container(mut json: Vec<u8>, mut bin: Vec<u8>) -> Result<Vec<u8>> {
    json.resize(json.len().next_multiple_of(4), b' ');
    bin.resize(bin.len().next_multiple_of(4), 0);
    let total = 12 + 8 + json.len() + if bin.is_empty() { 0 } else { 8 + bin.len() };
    let word = |n: usize| match u32::try_from(n) {
        Ok(n) => Ok(n.to_le_bytes()),
        Err(_) => Err(Error::Format { at: "glb".into(), problem: format!("{n} bytes are more than the format holds") }),
    };
    let mut out = Vec::with_capacity(total);
    out.extend(b"glTF");
    out.extend(2_u32.to_le_bytes());
    out.extend(word(total)?);
    for (kind, chunk) in [(b"JSON", json), (b"BIN\0", bin)] {
        if !chunk.is_empty() {
            out.extend(word(chunk.len())?);
            out.extend(kind);
            out.extend(chunk);
        }
    }
    Ok(out)
}

fn png(image: &Image) -> Result<Vec<u8>> {
    let mut out = Cursor::new(Vec::new());
    let written =
        PngEncoder::new(&mut out).write_image(&image.rgba, image.width, image.height, ExtendedColorType::Rgba8);
    match written {
        Ok(()) => Ok(out.into_inner()),
        Err(error) => Err(Error::Format { at: format!("image {:?}", image.name), problem: error.to_string() }),
    }
}

#[derive(Default)]
struct Writer {
    bin: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
}

/// Views of a mesh that all its parts use.
#[derive(Default)]
struct Shared {
    uvs: [Option<usize>; 2],
    colors: Option<usize>,
    /// Index accessor of each primitive, where no triangle had to be turned.
    indices: HashMap<usize, usize>,
}

impl Writer {
    fn view(&mut self, bytes: &[u8]) -> usize {
        self.bin.resize(self.bin.len().next_multiple_of(4), 0);
        self.views.push(json!({ "buffer": 0, "byteOffset": self.bin.len(), "byteLength": bytes.len() }));
        self.bin.extend_from_slice(bytes);
        self.views.len() - 1
    }

    /// A view of vertex attributes; several accessors may read it, so it states its stride.
    fn vertices<const N: usize>(&mut self, rows: &[[f32; N]]) -> usize {
        let view = self.view(bytemuck::cast_slice(rows));
        (self.views[view]["target"], self.views[view]["byteStride"]) = (34_962.into(), (4 * N).into());
        view
    }

    fn accessor(&mut self, value: Value) -> usize {
        self.accessors.push(value);
        self.accessors.len() - 1
    }

    /// `N` floats for each of a primitive's vertices, from a view of the whole mesh's.
    fn floats<const N: usize>(&mut self, view: usize, primitive: &Primitive) -> usize {
        let kind = format!("VEC{N}");
        let (first, count) = (primitive.vertices.start, primitive.vertices.len());
        self.accessor(json!({
            "bufferView": view, "byteOffset": first * N * 4, "componentType": 5126, "count": count, "type": kind,
        }))
    }

    /// The primitives of one part.
    fn part(
        &mut self,
        character: &Character,
        mesh: &Mesh,
        vertices: &SkinnedVertices,
        shared: &mut Shared,
    ) -> Result<Vec<Value>> {
        let expected = mesh.positions.len();
        for (what, found) in [
            ("skinned positions", vertices.positions.len()),
            ("skinned normals", vertices.normals.len()),
            ("skinned tangents", vertices.tangents.len()),
        ] {
            if found != expected {
                return Err(Error::LengthMismatch { what, found, expected });
            }
        }
        if let Some(index) = vertices.positions.iter().position(|p| p.iter().any(|x| !x.is_finite())) {
            return Err(Error::NotFinite { what: "skinned position of vertex", index });
        }
        let drawn: Vec<_> = mesh.primitives.iter().filter(|p| !p.indices.is_empty()).collect();
        if drawn.is_empty() {
            return Ok(Vec::new());
        }
        let positions = self.vertices(&vertices.positions);
        let normals = self.vertices(&vertices.normals);
        let mut tangents = None;
        let mut out = Vec::with_capacity(drawn.len());
        for primitive in drawn {
            let material = element(&character.materials, "material", primitive.material)?;
            let mut attributes = Map::new();
            let position = self.floats::<3>(positions, primitive);
            let (min, max) = bounds(&vertices.positions[primitive.vertices.clone()]);
            (self.accessors[position]["min"], self.accessors[position]["max"]) = (json!(min), json!(max));
            attributes.insert("POSITION".into(), position.into());
            attributes.insert("NORMAL".into(), self.floats::<3>(normals, primitive).into());
            if primitive.authored_tangents || material.normal_texture.is_some() {
                let view = *tangents.get_or_insert_with(|| self.vertices(&vertices.tangents));
                attributes.insert("TANGENT".into(), self.floats::<4>(view, primitive).into());
            }
            for (set, uvs) in mesh.uvs.iter().enumerate().filter(|(_, uvs)| !uvs.is_empty()) {
                let view = *shared.uvs[set].get_or_insert_with(|| self.vertices(uvs));
                attributes.insert(format!("TEXCOORD_{set}"), self.floats::<2>(view, primitive).into());
            }
            if !mesh.colors.is_empty() {
                let view = *shared.colors.get_or_insert_with(|| self.vertices(&mesh.colors));
                attributes.insert("COLOR_0".into(), self.floats::<4>(view, primitive).into());
            }
            let indices = self.indices(mesh, primitive, vertices, shared);
            out.push(json!({ "attributes": attributes, "indices": indices, "material": primitive.material }));
        }
        Ok(out)
    }

    /// The index accessor of a primitive.
    fn indices(
        &mut self,
        mesh: &Mesh,
        primitive: &Primitive,
        vertices: &SkinnedVertices,
        shared: &mut Shared,
    ) -> usize {
        // The tangent's sign carries the sign of the blended matrix's determinant.
        let mirrored = |v: u32| vertices.tangents[v as usize][3] * mesh.tangents[v as usize][3] < 0.0;
        let mut turned = false;
        let start = primitive.vertices.start as u32;
        let mut indices = Vec::with_capacity(primitive.indices.len());
        for corners in mesh.indices[primitive.indices.clone()].chunks_exact(3) {
            let [a, b, c] = [corners[0] - start, corners[1] - start, corners[2] - start];
            let turn = corners.iter().filter(|&&v| mirrored(v)).count() > 1;
            turned |= turn;
            indices.extend(if turn { [a, c, b] } else { [a, b, c] });
        }
        if !turned && let Some(&known) = shared.indices.get(&primitive.index) {
            return known;
        }
        // 65535 would mean "restart" in 16 bits.
        let (view, component) = if primitive.vertices.len() < 65_535 {
            let short: Vec<u16> = indices.iter().map(|&i| i as u16).collect();
            (self.view(bytemuck::cast_slice(&short)), 5123)
        } else {
            (self.view(bytemuck::cast_slice(&indices)), 5125)
        };
        self.views[view]["target"] = 34_963.into();
        let count = indices.len();
        let accessor =
            self.accessor(json!({ "bufferView": view, "componentType": component, "count": count, "type": "SCALAR" }));
        if !turned {
            shared.indices.insert(primitive.index, accessor);
        }
        accessor
    }
}

fn bounds(positions: &[[f32; 3]]) -> ([f32; 3], [f32; 3]) {
    let (mut min, mut max) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for p in positions {
        for k in 0..3 {
            (min[k], max[k]) = (min[k].min(p[k]), max[k].max(p[k]));
        }
    }
    (min, max)
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
        // A factor above 1 needs the extension that multiplies it.
        let strength = m.emissive.iter().fold(1.0_f32, |a, &b| a.max(b));
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
