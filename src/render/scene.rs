//! What a picture shows: characters, light and background.

use bytemuck::{Pod, Zeroable};
use glam::{Vec3, Vec4};

use super::{Camera, Depth, Model, Overlay, TextureMix};
use crate::Affine;
use crate::gpu::{CharacterId, Skinner};

/// Everything one picture is made of.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// Where it is seen from.
    pub camera: &'a Camera,
    /// What lights it.
    pub light: &'a Light,
    /// What is behind it.
    pub background: Background,
    /// Whose vertices are drawn.
    pub skinner: &'a Skinner,
    /// The characters in the picture; others stay out.
    pub instances: &'a [Instance<'a>],
}

/// A character in the picture.
#[derive(Clone, Copy)]
pub struct Instance<'a> {
    /// Whose vertices.
    pub character: CharacterId,
    /// Triangles and surfaces. The character must have been spawned with the model's parts, in their order.
    pub model: &'a Model,
    /// Stands in for the model's materials; must be made of the same character.
    pub textures: Option<&'a TextureMix>,
    /// Shows numbers as colours instead of materials; must be made of the same model. Solid, whatever the materials are.
    pub overlay: Option<&'a Overlay>,
    /// From character space to the world; may mirror.
    pub transform: Affine,
}

/// One sun and a sky of three colours. Colours are linear RGB, any brightness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Light {
    /// Towards the sun; any length but zero.
    pub sun_direction: [f32; 3],
    /// What a white matt surface that faces the sun adds to its brightness.
    pub sun_color: [f32; 3],
    /// Sky straight up.
    pub zenith: [f32; 3],
    /// Sky just above the horizon.
    pub horizon: [f32; 3],
    /// Light that comes from below.
    pub nadir: [f32; 3],
}

impl Default for Light {
    fn default() -> Self {
        Self {
            sun_direction: [0.45, 0.9, 0.65],
            sun_color: [0.80, 0.76, 0.70],
            zenith: [0.26, 0.32, 0.42],
            horizon: [0.52, 0.56, 0.60],
            nadir: [0.17, 0.16, 0.15],
        }
    }
}

/// What is behind the characters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Background {
    /// What colour and depth hold already: they are loaded, not cleared.
    #[default]
    Keep,
    /// One colour, linear RGBA, alpha multiplied in.
    Color([f32; 4]),
    /// The sky of [`Light`], and a ground if wanted.
    Sky(Option<Ground>),
}

/// A level disc with a grid, which fades into the sky and catches the sun's shadows. It is not drawn from below.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ground {
    /// Its middle, which two lines cross.
    pub center: [f32; 3],
    /// Metres until it has faded.
    pub radius: f32,
    /// Metres between lines; every fifth is darker.
    pub cell: f32,
    /// Linear RGB.
    pub color: [f32; 3],
    /// How much shadows darken it, 0…1; at 0 none are drawn.
    pub shadow: f32,
}

/// The scene as `draw.wgsl` reads it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(super) struct SceneRaw {
    clip_from_world: [[f32; 4]; 4],
    ray_middle: [f32; 4],
    ray_right: [f32; 4],
    ray_up: [f32; 4],
    sun_direction: [f32; 4],
    sun_color: [f32; 4],
    zenith: [f32; 4],
    horizon: [f32; 4],
    nadir: [f32; 4],
    grid: [f32; 4],
    grid_color: [f32; 4],
    options: [f32; 4],
}

impl SceneRaw {
    pub fn new(scene: &Scene<'_>, depth: Depth) -> Self {
        let wide = |v: Vec3, w: f32| v.extend(w).to_array();
        let color = |c: [f32; 3]| Vec4::from((Vec3::from(c), 0.0)).to_array();
        let [middle, right, up] = scene.camera.rays();
        let light = scene.light;
        let mut raw = Self {
            clip_from_world: scene.camera.clip_from_relative().to_cols_array_2d(),
            ray_middle: wide(middle, 0.0),
            ray_right: wide(right, 0.0),
            ray_up: wide(up, 0.0),
            sun_direction: wide(Vec3::from(light.sun_direction).normalize_or(Vec3::Y), 0.0),
            sun_color: color(light.sun_color),
            zenith: color(light.zenith),
            horizon: color(light.horizon),
            nadir: color(light.nadir),
            options: [depth.far(), 0.0, 0.0, 0.0],
            ..Self::default()
        };
        if let Background::Sky(Some(ground)) = scene.background {
            let place = Vec3::from(scene.camera.position) - Vec3::from(ground.center);
            raw.grid = wide(place, ground.radius);
            raw.grid_color = wide(Vec3::from(ground.color), ground.cell);
            raw.options[1] = ground.shadow;
        }
        raw
    }
}

/// An instance of a part as `draw.wgsl` reads it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(super) struct InstanceRaw {
    pub rows: [[f32; 4]; 3],
    pub first: u32,
    pub pad: [u32; 3],
}

impl InstanceRaw {
    /// Moves the placement into camera-relative space: in f64, so that far from the origin nothing is lost twice.
    pub fn new(transform: &Affine, eye: [f32; 3], first: u32) -> Self {
        let mut rows = transform.rows;
        for (row, eye) in rows.iter_mut().zip(eye) {
            row[3] = (f64::from(row[3]) - f64::from(eye)) as f32;
        }
        Self { rows, first, pad: [0; 3] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::model::MaterialRaw;
    use crate::render::overlay::TableRaw;

    #[test]
    fn records_have_the_shader_s_layout() {
        let source = concat!(include_str!("../../shaders/frame.wgsl"), include_str!("../../shaders/draw.wgsl"));
        let module = naga::front::wgsl::parse_str(source).unwrap();
        let flags = naga::valid::ValidationFlags::all();
        naga::valid::Validator::new(flags, naga::valid::Capabilities::empty()).validate(&module).unwrap();
        let layout = |name: &str| -> (Vec<(String, usize)>, usize) {
            let (_, ty) = module.types.iter().find(|(_, t)| t.name.as_deref() == Some(name)).unwrap();
            let naga::TypeInner::Struct { members, span } = &ty.inner else { panic!("{name} is no struct") };
            (members.iter().map(|m| (m.name.clone().unwrap(), m.offset as usize)).collect(), *span as usize)
        };
        macro_rules! offsets {
            ($ty:ident: $($field:ident)*) => {
                (vec![$((stringify!($field).to_owned(), std::mem::offset_of!($ty, $field))),*], size_of::<$ty>())
            };
        }
        assert_eq!(
            layout("Scene"),
            offsets!(SceneRaw: clip_from_world ray_middle ray_right ray_up sun_direction sun_color zenith horizon nadir
                grid grid_color options)
        );
        assert_eq!(layout("Material"), MaterialRaw::layout());
        assert_eq!(layout("Table"), offsets!(TableRaw: colors count categories none pad));
        // What the vertex buffers hold besides the skinner's streams: 13 words and padding.
        assert_eq!(size_of::<InstanceRaw>(), 64);
    }
}
