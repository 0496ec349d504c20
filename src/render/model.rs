//! What never changes of a character in a picture: triangles, texture coordinates, colours, surfaces, pictures.

use std::collections::HashMap;
use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use glam::Vec3;
use wgpu::util::DeviceExt;

use super::pipeline::Shared;
use super::texture;
use crate::character::{AlphaMode, Character, Image, Material, Mesh, Part, Sampler, TextureRef};
use crate::pose::{Pose, skin_palette};
use crate::{Affine, Error, Result};

/// A character's triangles and surfaces on the GPU; see [`super::Renderer::model`].
#[derive(Debug)]
pub struct Model {
    pub(super) number: u32,
    pub(super) parts: Vec<ModelPart>,
    pub(super) meshes: Vec<ModelMesh>,
    pub(super) materials: Vec<ModelMaterial>,
}

#[derive(Debug)]
pub(super) struct ModelPart {
    pub mesh: usize,
    /// Middle of each primitive in character space, in the rest pose.
    pub centers: Vec<Vec3>,
}

#[derive(Debug)]
pub(super) struct ModelMesh {
    pub vertex_count: usize,
    pub surfaces: wgpu::BindGroup,
    pub indices: wgpu::Buffer,
    pub primitives: Vec<ModelPrimitive>,
}

#[derive(Debug)]
pub(super) struct ModelPrimitive {
    pub indices: Range<u32>,
    pub material: usize,
}

#[derive(Debug)]
pub(super) struct ModelMaterial {
    pub group: wgpu::BindGroup,
    pub blend: bool,
}

impl Model {
    pub(super) fn new(
        shared: &Shared,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        character: &Character,
    ) -> Result<Self> {
        let fallback = [Material { name: "default".into(), ..Material::default() }];
        let materials = if character.materials.is_empty() { &fallback[..] } else { &character.materials[..] };
        let meshes = character.meshes.iter().map(|m| ModelMesh::new(shared, device, m, materials.len()));
        let meshes = meshes.collect::<Result<_>>()?;
        let pose = Pose::rest(&character.rig);
        let parts = character.parts.iter().map(|p| ModelPart::new(character, &pose, p)).collect::<Result<_>>()?;
        let mut pictures = Pictures::new(device, queue, &character.images)?;
        let materials = materials.iter().map(|m| material(shared, &mut pictures, m, None)).collect::<Result<_>>()?;
        Ok(Self { number: shared.next_model(), parts, meshes, materials })
    }

    /// How many parts it has: as many as the characters that are drawn with it.
    pub fn part_count(&self) -> usize {
        self.parts.len()
    }
}

impl ModelPart {
    fn new(character: &Character, pose: &Pose, part: &Part) -> Result<Self> {
        let range = |what, index, count| Error::OutOfRange { what, index, count };
        let mesh = character.meshes.get(part.mesh).ok_or(range("mesh", part.mesh, character.meshes.len()))?;
        let skin = character.skins.get(part.skin).ok_or(range("skin", part.skin, character.skins.len()))?;
        let palette = skin_palette(&character.rig, skin, pose)?;
        let centers = mesh.primitives.iter().map(|p| center(mesh, p.vertices.clone(), &palette)).collect();
        Ok(Self { mesh: part.mesh, centers })
    }
}

/// Middle of the bounds of some vertices, each moved by its heaviest joint.
fn center(mesh: &Mesh, vertices: Range<usize>, palette: &[Affine]) -> Vec3 {
    let (mut low, mut high) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    for vertex in vertices.filter(|&v| v < mesh.positions.len()) {
        let heaviest = mesh.influences.of(vertex).iter().max_by(|a, b| a.weight.total_cmp(&b.weight));
        let joint = heaviest.and_then(|i| palette.get(i.joint as usize)).unwrap_or(&Affine::IDENTITY);
        let p = Vec3::from(joint.transform_point(mesh.positions[vertex]));
        (low, high) = (low.min(p), high.max(p));
    }
    if low.x <= high.x { 0.5 * (low + high) } else { Vec3::ZERO }
}

/// What `draw.wgsl` reads per vertex besides the skinned streams.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct SurfaceRaw {
    uvs: [[f32; 2]; 2],
    color: [u16; 4],
    tangent_sign: f32,
}

impl ModelMesh {
    fn new(shared: &Shared, device: &wgpu::Device, mesh: &Mesh, materials: usize) -> Result<Self> {
        mesh.validate()?;
        let unorm = |c: f32| (c.clamp(0.0, 1.0) * 65535.0 + 0.5) as u16;
        let surface = |v: usize| SurfaceRaw {
            uvs: [0, 1].map(|set: usize| mesh.uvs[set].get(v).copied().unwrap_or_default()),
            color: mesh.colors.get(v).map_or([u16::MAX; 4], |c| c.map(unorm)),
            tangent_sign: if mesh.tangents[v][3] < 0.0 { -1.0 } else { 1.0 },
        };
        let mut surfaces: Vec<SurfaceRaw> = (0..mesh.positions.len()).map(surface).collect();
        if surfaces.is_empty() {
            surfaces.push(SurfaceRaw::zeroed());
        }
        let limits = device.limits();
        let bytes = size_of_val(&surfaces[..]) as u64;
        if bytes > limits.max_storage_buffer_binding_size {
            let limit = limits.max_storage_buffer_binding_size;
            return Err(Error::DeviceLimit { what: "a mesh's texture coordinates", needed: bytes, limit });
        }
        let needed = size_of_val(&mesh.indices[..]) as u64;
        if needed > limits.max_buffer_size {
            return Err(Error::DeviceLimit { what: "a mesh's triangles", needed, limit: limits.max_buffer_size });
        }
        let mut primitives = Vec::with_capacity(mesh.primitives.len());
        for p in &mesh.primitives {
            if p.material >= materials {
                return Err(Error::OutOfRange { what: "material", index: p.material, count: materials });
            }
            if p.indices.end > mesh.indices.len() {
                return Err(Error::OutOfRange { what: "index", index: p.indices.end, count: mesh.indices.len() });
            }
            primitives
                .push(ModelPrimitive { indices: p.indices.start as u32..p.indices.end as u32, material: p.material });
        }
        let buffer = |label, contents: &[u8], usage| {
            device.create_buffer_init(&wgpu::util::BufferInitDescriptor { label: Some(label), contents, usage })
        };
        let surfaces = buffer("surfaces", bytemuck::cast_slice(&surfaces), wgpu::BufferUsages::STORAGE);
        Ok(Self {
            vertex_count: mesh.positions.len(),
            surfaces: device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("surfaces"),
                layout: &shared.surface_layout,
                entries: &[wgpu::BindGroupEntry { binding: 0, resource: surfaces.as_entire_binding() }],
            }),
            indices: buffer("indices", bytemuck::cast_slice(&mesh.indices), wgpu::BufferUsages::INDEX),
            primitives,
        })
    }
}

/// Pictures and samplers that are on the GPU already, so that materials share them.
pub(super) struct Pictures<'a> {
    device: &'a wgpu::Device,
    queue: &'a wgpu::Queue,
    images: &'a [Image],
    white: wgpu::TextureView,
    views: HashMap<(usize, bool), wgpu::TextureView>,
    samplers: HashMap<Sampler, wgpu::Sampler>,
}

impl<'a> Pictures<'a> {
    pub fn new(device: &'a wgpu::Device, queue: &'a wgpu::Queue, images: &'a [Image]) -> Result<Self> {
        let pixel = Image { name: "white".into(), width: 1, height: 1, rgba: vec![255; 4] };
        let white = texture::upload(device, queue, &pixel, false)?;
        Ok(Self { device, queue, images, white, views: HashMap::new(), samplers: HashMap::new() })
    }

    pub fn view(&mut self, picture: Option<&TextureRef>, srgb: bool) -> Result<wgpu::TextureView> {
        let Some(picture) = picture else { return Ok(self.white.clone()) };
        if let Some(view) = self.views.get(&(picture.image, srgb)) {
            return Ok(view.clone());
        }
        let range = Error::OutOfRange { what: "picture", index: picture.image, count: self.images.len() };
        let image = self.images.get(picture.image).ok_or(range)?;
        let view = texture::upload(self.device, self.queue, image, srgb)?;
        self.views.insert((picture.image, srgb), view.clone());
        Ok(view)
    }

    fn sampler(&mut self, picture: Option<&TextureRef>) -> wgpu::Sampler {
        let key = picture.map(|p| p.sampler).unwrap_or_default();
        self.samplers.entry(key).or_insert_with(|| texture::sampler(self.device, &key)).clone()
    }
}

/// A material as `draw.wgsl` reads it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(super) struct MaterialRaw {
    base_color: [f32; 4],
    emissive: [f32; 3],
    normal_scale: f32,
    metallic: f32,
    roughness: f32,
    alpha_cutoff: f32,
    flags: u32,
    uv: [[f32; 4]; 8],
}

const UNLIT: u32 = 1;
const DOUBLE_SIDED: u32 = 2;
const MASK: u32 = 4;
const BLEND: u32 = 8;
const NORMAL_MAP: u32 = 16;

/// The four pictures in `draw.wgsl`'s order, and which hold sRGB codes.
fn slots(m: &Material) -> [(Option<&TextureRef>, bool); 4] {
    [
        (m.base_color_texture.as_ref(), true),
        (m.metallic_roughness_texture.as_ref(), false),
        (m.normal_texture.as_ref(), false),
        (m.emissive_texture.as_ref(), true),
    ]
}

impl MaterialRaw {
    fn new(m: &Material) -> Self {
        let flag = |on: bool, bit: u32| if on { bit } else { 0 };
        let mut uv = [[0.0; 4]; 8];
        for (i, (picture, _)) in slots(m).into_iter().enumerate() {
            let t = picture.map(|p| p.transform).unwrap_or_default();
            let set = picture.map_or(0, |p| p.uv_set.min(1)) as f32;
            // KHR_texture_transform: translate · rotate · scale, with the rotation's sine on the upper right.
            let (sin, cos) = t.rotation.sin_cos();
            uv[2 * i] = [cos * t.scale[0], sin * t.scale[1], t.offset[0], set];
            uv[2 * i + 1] = [-sin * t.scale[0], cos * t.scale[1], t.offset[1], 0.0];
        }
        Self {
            base_color: m.base_color,
            emissive: m.emissive,
            normal_scale: m.normal_scale,
            metallic: m.metallic,
            roughness: m.roughness,
            alpha_cutoff: m.alpha_cutoff,
            flags: flag(m.unlit, UNLIT)
                | flag(m.double_sided, DOUBLE_SIDED)
                | flag(m.alpha_mode == AlphaMode::Mask, MASK)
                | flag(m.alpha_mode == AlphaMode::Blend, BLEND)
                | flag(m.normal_texture.is_some(), NORMAL_MAP),
            uv,
        }
    }
}

#[cfg(test)]
impl MaterialRaw {
    /// Names and offsets of the members, and the size.
    pub(super) fn layout() -> (Vec<(String, usize)>, usize) {
        use std::mem::offset_of;
        let members = [
            ("base_color", offset_of!(Self, base_color)),
            ("emissive", offset_of!(Self, emissive)),
            ("normal_scale", offset_of!(Self, normal_scale)),
            ("metallic", offset_of!(Self, metallic)),
            ("roughness", offset_of!(Self, roughness)),
            ("alpha_cutoff", offset_of!(Self, alpha_cutoff)),
            ("flags", offset_of!(Self, flags)),
            ("uv", offset_of!(Self, uv)),
        ];
        (members.map(|(name, offset)| (name.to_owned(), offset)).to_vec(), size_of::<Self>())
    }
}

/// A material's bindings; `base_color` stands in for its own base-colour picture.
pub(super) fn material(
    shared: &Shared,
    pictures: &mut Pictures<'_>,
    m: &Material,
    base_color: Option<wgpu::TextureView>,
) -> Result<ModelMaterial> {
    let mut bound = Vec::with_capacity(4);
    for (picture, srgb) in slots(m) {
        bound.push((pictures.view(picture, srgb)?, pictures.sampler(picture)));
    }
    if let Some(view) = base_color {
        bound[0].0 = view;
    }
    let uniform = pictures.device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
        label: Some("material"),
        contents: bytemuck::bytes_of(&MaterialRaw::new(m)),
        usage: wgpu::BufferUsages::UNIFORM,
    });
    let mut entries = vec![wgpu::BindGroupEntry { binding: 0, resource: uniform.as_entire_binding() }];
    for (i, (view, sampler)) in bound.iter().enumerate() {
        let binding = 2 * i as u32 + 1;
        entries.push(wgpu::BindGroupEntry { binding, resource: wgpu::BindingResource::TextureView(view) });
        entries.push(wgpu::BindGroupEntry { binding: binding + 1, resource: wgpu::BindingResource::Sampler(sampler) });
    }
    let group = pictures.device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("material"),
        layout: &shared.material_layout,
        entries: &entries,
    });
    Ok(ModelMaterial { group, blend: m.alpha_mode == AlphaMode::Blend })
}
