//! Surfaces and pictures, as glTF 2.0 metallic-roughness states them.

/// A surface.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// Name for people.
    pub name: String,
    /// Linear RGBA factor.
    pub base_color: [f32; 4],
    /// sRGB picture times `base_color`.
    pub base_color_texture: Option<TextureRef>,
    /// 0 dielectric … 1 metal.
    pub metallic: f32,
    /// 0 mirror … 1 matt.
    pub roughness: f32,
    /// Linear picture: green roughness, blue metallic.
    pub metallic_roughness_texture: Option<TextureRef>,
    /// Linear picture of tangent-space normals.
    pub normal_texture: Option<TextureRef>,
    /// Factor on the normal map's x and y.
    pub normal_scale: f32,
    /// Linear RGB light given off.
    pub emissive: [f32; 3],
    /// sRGB picture times `emissive`.
    pub emissive_texture: Option<TextureRef>,
    /// How alpha is used.
    pub alpha_mode: AlphaMode,
    /// Threshold of [`AlphaMode::Mask`].
    pub alpha_cutoff: f32,
    /// Draw back faces too, lit from behind.
    pub double_sided: bool,
    /// Base colour only, no light (KHR_materials_unlit).
    pub unlit: bool,
}

impl Default for Material {
    fn default() -> Self {
        Self {
            name: String::new(),
            base_color: [1.0; 4],
            base_color_texture: None,
            metallic: 1.0,
            roughness: 1.0,
            metallic_roughness_texture: None,
            normal_texture: None,
            normal_scale: 1.0,
            emissive: [0.0; 3],
            emissive_texture: None,
            alpha_mode: AlphaMode::Opaque,
            alpha_cutoff: 0.5,
            double_sided: false,
            unlit: false,
        }
    }
}

/// How a material's alpha is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AlphaMode {
    /// Ignored.
    #[default]
    Opaque,
    /// Cut out below [`Material::alpha_cutoff`].
    Mask,
    /// Mixed with what is behind.
    Blend,
}

/// One use of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TextureRef {
    /// Index into [`crate::Character::images`].
    pub image: usize,
    /// Which of [`crate::character::Mesh::uvs`].
    pub uv_set: usize,
    /// How it is read.
    pub sampler: Sampler,
    /// KHR_texture_transform.
    pub transform: UvTransform,
}

/// `uv' = translate(offset) · rotate(rotation) · scale(scale) · uv` (KHR_texture_transform).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UvTransform {
    /// Added last.
    pub offset: [f32; 2],
    /// Radians, counter-clockwise seen with v pointing down.
    pub rotation: f32,
    /// Multiplied first.
    pub scale: [f32; 2],
}

impl Default for UvTransform {
    fn default() -> Self {
        Self { offset: [0.0; 2], rotation: 0.0, scale: [1.0; 2] }
    }
}

/// How a picture is read between and beyond its pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sampler {
    /// Beyond 0…1 in u.
    pub wrap_u: Wrap,
    /// Beyond 0…1 in v.
    pub wrap_v: Wrap,
    /// When magnified.
    pub mag: Filter,
    /// When minified.
    pub min: Filter,
    /// Between mip levels; `None` reads the largest only.
    pub mip: Option<Filter>,
}

impl Default for Sampler {
    fn default() -> Self {
        Self {
            wrap_u: Wrap::Repeat,
            wrap_v: Wrap::Repeat,
            mag: Filter::Linear,
            min: Filter::Linear,
            mip: Some(Filter::Linear),
        }
    }
}

/// What lies beyond a picture's edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wrap {
    /// The picture again.
    #[default]
    Repeat,
    /// The picture mirrored.
    Mirror,
    /// The edge's colour.
    Clamp,
}

/// How pixels are mixed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Filter {
    /// Nearest pixel.
    Nearest,
    /// Weighted mean.
    #[default]
    Linear,
}

/// A decoded picture: 8-bit RGBA, row by row from the top.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// Name for people.
    pub name: String,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// `width · height · 4` bytes.
    pub rgba: Vec<u8>,
}
