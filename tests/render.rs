//! Small pictures, checked by facts: what colour a pixel has and why.

#![cfg(feature = "render")]

use dermis::character::{AlphaMode, Character, Image, Material, Mesh, Part, Primitive, Rig, RigNode, Skin, TextureRef};
use dermis::gpu::{CharacterId, Layout, PartId, RigDescriptor, Skinner, SkinnerDescriptor};
use dermis::influence::Influences;
use dermis::render::{
    Attachments, Background, Camera, ColorMap, Depth, Ground, Instance, Light, Model, Renderer, RendererDescriptor,
    Scene, perspective,
};
use dermis::{Affine, wgpu};

/// Odd on purpose: rows of a read-back are padded.
const SIZE: [u32; 2] = [67, 67];
const PALETTE: [[u8; 3]; 3] = [[200, 0, 0], [0, 220, 0], [0, 0, 200]];
const BLUE: [f32; 4] = [0.0, 0.0, 1.0, 1.0];

struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
}

impl Gpu {
    /// The first adapter there is; without one the test fails.
    fn open() -> Self {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
        let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))
            .expect("these tests need a graphics adapter; a software one will do");
        let required_limits = wgpu::Limits::default().or_worse_values_from(&adapter.limits());
        let descriptor = wgpu::DeviceDescriptor { required_limits, ..Default::default() };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).expect("a device");
        Self { device, queue }
    }
}

/// A square from −1 to 1 at z = 0 that faces +Z, texture coordinates from the top left.
fn square(material: Material, images: Vec<Image>) -> Character {
    let corners = [[-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [1.0, 1.0]];
    let mesh = Mesh {
        name: "square".into(),
        positions: corners.map(|[x, y]| [x, y, 0.0]).to_vec(),
        normals: vec![[0.0, 0.0, 1.0]; 4],
        tangents: vec![[1.0, 0.0, 0.0, 1.0]; 4],
        uvs: [corners.map(|[x, y]| [0.5 + 0.5 * x, 0.5 - 0.5 * y]).to_vec(), vec![]],
        influences: Influences::rigid(4, 0),
        indices: vec![0, 1, 2, 0, 2, 3],
        primitives: vec![Primitive { vertices: 0..4, indices: 0..6, ..Default::default() }],
        ..Default::default()
    };
    Character {
        name: "square".into(),
        rig: Rig { nodes: vec![RigNode { name: "root".into(), ..Default::default() }] },
        skins: vec![Skin { name: String::new(), joints: vec![0], inverse_binds: vec![Affine::IDENTITY] }],
        meshes: vec![mesh],
        parts: vec![Part { name: "square".into(), rigid: true, ..Default::default() }],
        materials: vec![material],
        images,
        ..Default::default()
    }
}

fn unlit(base_color: [f32; 4]) -> Material {
    Material { base_color, unlit: true, ..Default::default() }
}

fn image(width: u32, rgba: &[[u8; 4]]) -> Image {
    Image { name: "test".into(), width, height: rgba.len() as u32 / width, rgba: rgba.concat() }
}

fn at(x: f32, y: f32, z: f32) -> Affine {
    Affine { rows: [[1.0, 0.0, 0.0, x], [0.0, 1.0, 0.0, y], [0.0, 0.0, 1.0, z]] }
}

fn scaled(x: f32, y: f32, z: f32) -> Affine {
    Affine { rows: [[x, 0.0, 0.0, 0.0], [0.0, y, 0.0, 0.0], [0.0, 0.0, z, 0.0]] }
}

/// Half a turn about +Y: shows the square's back.
fn turned() -> Affine {
    scaled(-1.0, 1.0, -1.0)
}

/// Pixels, row by row from the top.
struct Picture(Vec<[u8; 4]>);

impl Picture {
    fn pixel(&self, x: f32, y: f32) -> [u8; 4] {
        let column = ((0.5 + 0.5 * x) * SIZE[0] as f32) as usize;
        let row = ((0.5 - 0.5 * y) * SIZE[1] as f32) as usize;
        self.0[row.min(SIZE[1] as usize - 1) * SIZE[0] as usize + column.min(SIZE[0] as usize - 1)]
    }

    /// Fails unless the pixel at (x, y), both −1…1, is `rgb` within `tolerance` codes.
    #[track_caller]
    fn shows(&self, x: f32, y: f32, rgb: [u8; 3], tolerance: u8) {
        let found = self.pixel(x, y);
        let near = rgb.iter().zip(found).all(|(&want, got)| want.abs_diff(got) <= tolerance);
        assert!(near, "pixel ({x}, {y}) is {found:?}, not {rgb:?} ± {tolerance}");
    }
}

/// The camera all pictures are seen with: the square at z = 0 fills exactly half of the picture's width.
fn camera(depth: Depth, origin: [f32; 3]) -> Camera {
    // At distance 4 the picture is 4 wide: tan(fov / 2) = 2 / 4.
    let projection = perspective(2.0 * 0.5f32.atan(), SIZE[0] as f32 / SIZE[1] as f32, 0.1, depth);
    Camera::look_at([origin[0], origin[1], origin[2] + 4.0], origin, projection)
}

/// How a picture is taken.
#[derive(Clone, Copy)]
struct Shot {
    descriptor: RendererDescriptor,
    background: Background,
    light: Light,
    origin: [f32; 3],
    /// How many characters are drawn first; the others are added by a second view that keeps what is there.
    first: usize,
    /// Numbers shown instead of the first character's material, and by which map.
    overlay: Option<(&'static [f32], bool)>,
}

impl Default for Shot {
    fn default() -> Self {
        Self {
            descriptor: RendererDescriptor { sample_count: 1, ..Default::default() },
            background: Background::Color(BLUE),
            light: Light::default(),
            origin: [0.0; 3],
            first: usize::MAX,
            overlay: None,
        }
    }
}

fn draw(gpu: &Gpu, placed: &[(&Character, Affine)]) -> Picture {
    draw_with(gpu, &Shot::default(), placed)
}

fn draw_with(gpu: &Gpu, shot: &Shot, placed: &[(&Character, Affine)]) -> Picture {
    draw_mixed(gpu, shot, placed, &[], &[])
}

/// As `draw_with`; the first character's base colours are a mix that is given each of `weights` in turn, and recorded.
fn draw_mixed(
    gpu: &Gpu,
    shot: &Shot,
    placed: &[(&Character, Affine)],
    samples: &[Option<&Image>],
    weights: &[&[f32]],
) -> Picture {
    let Shot { descriptor, light, origin, .. } = shot;
    let Gpu { device, queue } = gpu;
    let renderer = Renderer::new(device, descriptor).unwrap();
    let mut skinner = Skinner::new(device, &SkinnerDescriptor::default()).unwrap();
    let mut models: Vec<(Model, CharacterId)> = Vec::new();
    for (character, _) in placed {
        let rig = RigDescriptor { rig: &character.rig, skins: &character.skins, clips: &character.clips };
        let rig = skinner.add_rig(&rig).unwrap();
        let meshes: Vec<_> = character.meshes.iter().map(|m| skinner.add_mesh(queue, m).unwrap()).collect();
        let parts: Vec<PartId> =
            character.parts.iter().map(|p| PartId { mesh: meshes[p.mesh], skin: p.skin }).collect();
        let id = skinner.spawn(rig, &parts).unwrap();
        models.push((renderer.model(device, queue, character).unwrap(), id));
    }
    let mut encoder = device.create_command_encoder(&Default::default());
    let mut mix = (!samples.is_empty()).then(|| renderer.texture_mix(device, queue, placed[0].0, samples).unwrap());
    for weights in weights {
        let mix = mix.as_mut().unwrap();
        mix.set_weights(weights).unwrap();
        mix.record(&mut encoder);
    }
    if let Some(mix) = &mut mix {
        mix.record(&mut encoder);
    }
    let overlay = shot.overlay.map(|(values, categories)| {
        let map = if categories { ColorMap::of_categories(PALETTE.to_vec()) } else { ColorMap::viridis() };
        let overlay = renderer.overlay(device, &models[0].0, &map).unwrap();
        overlay.write(queue, 0, values).unwrap();
        overlay
    });
    let instances: Vec<Instance<'_>> = models
        .iter()
        .zip(placed)
        .enumerate()
        .map(|(i, ((model, character), (_, transform)))| Instance {
            character: *character,
            model,
            textures: mix.as_ref().filter(|_| i == 0),
            overlay: overlay.as_ref().filter(|_| i == 0),
            transform: *transform,
        })
        .collect();

    let target = device.create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d { width: SIZE[0], height: SIZE[1], depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: descriptor.color_format,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
        view_formats: &[],
    });
    let shown = target.create_view(&Default::default());
    let attachments = Attachments::new(device, &renderer, SIZE);
    skinner.prepare(device, queue, 0.0);
    let camera = camera(descriptor.depth, *origin);
    skinner.record(&mut encoder);
    let (first, later) = instances.split_at(shot.first.min(instances.len()));
    let pictures = [(shot.background, first), (Background::Keep, later)];
    for (background, instances) in pictures.into_iter().filter(|p| p.0 != Background::Keep || !p.1.is_empty()) {
        let scene = Scene { camera: &camera, light, background, skinner: &skinner, instances };
        let mut view = renderer.view(device);
        view.prepare(device, queue, &scene).unwrap();
        view.record(&mut encoder, &attachments.targets(&shown), &scene).unwrap();
    }

    let row = (SIZE[0] * 4).next_multiple_of(256);
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: u64::from(row * SIZE[1]),
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    encoder.copy_texture_to_buffer(
        target.as_image_copy(),
        wgpu::TexelCopyBufferInfo {
            buffer: &buffer,
            layout: wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(row), rows_per_image: None },
        },
        target.size(),
    );
    queue.submit([encoder.finish()]);
    buffer.slice(..).map_async(wgpu::MapMode::Read, |r| r.unwrap());
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    let bytes = buffer.slice(..).get_mapped_range().unwrap();
    let rows = bytes.chunks(row as usize).map(|r| &r[..SIZE[0] as usize * 4]);
    Picture(rows.flat_map(|r| r.chunks(4).map(|p| [p[0], p[1], p[2], p[3]])).collect())
}

#[test]
fn unlit_texture_keeps_its_srgb_codes_in_every_format() {
    let gpu = Gpu::open();
    let texture = Some(TextureRef::default());
    let material = Material { base_color_texture: texture, ..unlit([1.0; 4]) };
    let red = square(material, vec![image(1, &[[200, 30, 60, 255]])]);
    for color_format in [wgpu::TextureFormat::Rgba8UnormSrgb, wgpu::TextureFormat::Rgba8Unorm] {
        for sample_count in [1, 4] {
            let descriptor = RendererDescriptor { color_format, sample_count, ..Default::default() };
            let background = Background::Color([0.0, 0.2, 0.0, 1.0]);
            let shot = Shot { descriptor, background, ..Default::default() };
            let picture = draw_with(&gpu, &shot, &[(&red, Affine::IDENTITY)]);
            // Decoding and encoding round once each; drivers may use tables: two codes.
            picture.shows(0.0, 0.0, [200, 30, 60], 2);
            picture.shows(0.45, -0.45, [200, 30, 60], 2);
            // 0.2 is sRGB code 124 (1.055 · 0.2^(1/2.4) − 0.055 = 0.4845).
            picture.shows(0.6, 0.0, [0, 124, 0], 1);
            picture.shows(0.0, 0.6, [0, 124, 0], 1);
        }
    }
}

#[test]
fn textures_of_samples_mix_by_their_weights() {
    let gpu = Gpu::open();
    let material = Material { base_color_texture: Some(TextureRef::default()), ..unlit([1.0; 4]) };
    let green = square(material, vec![image(1, &[[0, 255, 0, 255]])]);
    let red = image(1, &[[255, 0, 0, 255]]);
    // Another size: the mix is as large as the largest.
    let blue = image(2, &[[0, 0, 255, 255]; 8]);
    let samples = [Some(&red), Some(&blue), None];
    let show = |weights: &[&[f32]], rgb: [u8; 3]| {
        let placed = [(&green, at(-0.5, 0.0, 0.0)), (&green, at(1.6, 0.0, 0.0))];
        let picture = draw_mixed(&gpu, &Shot::default(), &placed, &samples, weights);
        picture.shows(-0.3, 0.0, rgb, 2);
        // The other character keeps its own.
        picture.shows(0.8, 0.0, [0, 255, 0], 2);
    };
    show(&[], [255, 0, 0]);
    show(&[&[0.0, 1.0, 0.0]], [0, 0, 255]);
    // Half the light is sRGB code 188.
    show(&[&[0.5, 0.5, 0.0]], [188, 0, 188]);
    // A sample without a picture shows the material's own.
    show(&[&[0.0, 0.0, 2.0]], [0, 255, 0]);
    show(&[&[0.0, 0.5, 0.5]], [0, 188, 188]);
    // Changed weights, and ones beyond a corner.
    show(&[&[1.0, 0.0, 0.0], &[1.0, 0.0, 0.0], &[-0.5, 1.5, 0.0]], [0, 0, 255]);

    let renderer = Renderer::new(&gpu.device, &RendererDescriptor::default()).unwrap();
    let mut mix = renderer.texture_mix(&gpu.device, &gpu.queue, &green, &samples).unwrap();
    assert!(mix.set_weights(&[1.0, 0.0]).is_err());
    assert!(mix.set_weights(&[f32::NAN, 0.0, 0.0]).is_err());
    assert!(mix.set_weights(&[0.0, -1.0, 0.0]).is_err());
    assert!(renderer.texture_mix(&gpu.device, &gpu.queue, &green, &[]).is_err());
}

#[test]
fn an_overlay_shows_numbers_by_the_colour_map() {
    let gpu = Gpu::open();
    let red = square(unlit([1.0, 0.0, 0.0, 1.0]), vec![]);
    // A blended material is drawn solid too: the overlay stands in for it.
    let glass = square(Material { alpha_mode: AlphaMode::Blend, ..unlit([1.0, 0.0, 0.0, 0.2]) }, vec![]);
    let map = ColorMap::viridis();
    for color_format in [wgpu::TextureFormat::Rgba8UnormSrgb, wgpu::TextureFormat::Rgba8Unorm] {
        let descriptor = RendererDescriptor { color_format, sample_count: 1, ..Default::default() };
        // Numbers at the corners: upper left, lower left, lower right, upper right.
        let picture = |values: &'static [f32], categories: bool, character: &Character| {
            let shot = Shot { descriptor, overlay: Some((values, categories)), ..Default::default() };
            draw_with(&gpu, &shot, &[(character, at(-0.4, 0.0, 0.0)), (&red, at(1.7, 0.0, 0.0))])
        };
        for value in [0.0, 0.3, 0.75, 1.0] {
            let values: &'static [f32] = Vec::leak(vec![value; 4]);
            let shown = picture(values, false, &glass);
            // The square faces the camera: no shading. One code for rounding, one for a driver's sRGB table.
            shown.shows(-0.2, 0.0, map.color(value), 2);
            // The other character keeps its material.
            shown.shows(0.85, 0.0, [255, 0, 0], 1);
        }
        // Numbers between vertices are looked up, not their colours mixed: halfway is the map's middle.
        let shown = picture(&[0.0, 0.0, 1.0, 1.0], false, &red);
        // x = −0.2 is 0.4 right of the place of −0.4: in the middle of the square. Half a pixel is 0.03 of its width.
        let near = [0.47, 0.5, 0.53].map(|t| map.color(t));
        let found = shown.pixel(-0.2, 0.0);
        assert!(
            (0..3).all(|c| {
                let (low, high) = (near.iter().map(|n| n[c]).min().unwrap(), near.iter().map(|n| n[c]).max().unwrap());
                (low.saturating_sub(2)..=high.saturating_add(2)).contains(&found[c])
            }),
            "{found:?} is not near {near:?}"
        );
        // Categories: the middle between the first and the third does not show the second.
        let shown = picture(&[0.0, 0.0, 1.0, 1.0], true, &red);
        shown.shows(-0.2, 0.0, [100, 0, 100], 8);
        let shown = picture(&[0.5; 4], true, &red);
        shown.shows(-0.2, 0.0, PALETTE[1], 2);
        // No number.
        let shown = picture(&[f32::NAN; 4], false, &red);
        shown.shows(-0.2, 0.0, map.none, 2);
    }
}

#[test]
fn overlays_are_checked() {
    let gpu = Gpu::open();
    let renderer = Renderer::new(&gpu.device, &RendererDescriptor::default()).unwrap();
    let model = renderer.model(&gpu.device, &gpu.queue, &square(unlit([1.0; 4]), vec![])).unwrap();
    let overlay = renderer.overlay(&gpu.device, &model, &ColorMap::inferno()).unwrap();
    assert!(overlay.write(&gpu.queue, 0, &[0.0; 3]).is_err());
    assert!(overlay.write(&gpu.queue, 1, &[0.0; 4]).is_err());
    assert!(overlay.set_map(&gpu.queue, &ColorMap::of_categories(vec![])).is_err());
    assert!(renderer.overlay(&gpu.device, &model, &ColorMap::of_categories(vec![[0; 3]; 300])).is_err());
}

#[test]
fn nearer_squares_hide_farther_ones_in_both_depths() {
    let gpu = Gpu::open();
    let red = square(unlit([1.0, 0.0, 0.0, 1.0]), vec![]);
    let green = square(unlit([0.0, 1.0, 0.0, 1.0]), vec![]);
    for depth in [Depth::Reversed, Depth::Forward] {
        let descriptor = RendererDescriptor { depth, sample_count: 1, ..Default::default() };
        let shot = Shot { descriptor, ..Default::default() };
        for placed in [
            [(&red, at(0.0, 0.0, 0.5)), (&green, at(0.7, 0.0, 0.0))],
            [(&green, at(0.7, 0.0, 0.0)), (&red, at(0.0, 0.0, 0.5))],
        ] {
            let picture = draw_with(&gpu, &shot, &placed);
            picture.shows(0.3, 0.0, [255, 0, 0], 0);
            picture.shows(0.75, 0.0, [0, 255, 0], 0);
            picture.shows(-0.8, 0.0, [0, 0, 255], 0);
        }
    }
}

#[test]
fn a_second_view_adds_to_what_is_there() {
    let gpu = Gpu::open();
    let red = square(unlit([1.0, 0.0, 0.0, 1.0]), vec![]);
    let green = square(unlit([0.0, 1.0, 0.0, 1.0]), vec![]);
    let placed = [(&red, at(0.0, 0.0, 0.5)), (&green, at(0.7, 0.0, 0.0))];
    let picture = draw_with(&gpu, &Shot { first: 1, ..Default::default() }, &placed);
    picture.shows(0.3, 0.0, [255, 0, 0], 0);
    picture.shows(0.75, 0.0, [0, 255, 0], 0);
    picture.shows(-0.8, 0.0, [0, 0, 255], 0);
}

#[test]
fn mask_cuts_holes_and_blend_mixes_back_to_front() {
    let gpu = Gpu::open();
    // Left half solid, right half below the cutoff.
    let pixels = image(2, &[[255, 0, 0, 255], [255, 0, 0, 100]]);
    let nearest = dermis::character::Sampler {
        mag: dermis::character::Filter::Nearest,
        min: dermis::character::Filter::Nearest,
        mip: None,
        ..Default::default()
    };
    let texture = Some(TextureRef { sampler: nearest, ..Default::default() });
    let material =
        |alpha_mode| Material { base_color_texture: texture, alpha_mode, alpha_cutoff: 0.5, ..unlit([1.0; 4]) };
    let cases = [(AlphaMode::Opaque, [255, 0, 0]), (AlphaMode::Mask, [0, 0, 255])];
    for (mode, right) in cases {
        let character = square(material(mode), vec![pixels.clone()]);
        let picture = draw(&gpu, &[(&character, Affine::IDENTITY)]);
        picture.shows(-0.25, 0.0, [255, 0, 0], 0);
        picture.shows(0.25, 0.0, right, 0);
    }

    let glass = |rgb: [f32; 3]| {
        let material = Material { alpha_mode: AlphaMode::Blend, ..unlit([rgb[0], rgb[1], rgb[2], 0.5]) };
        square(material, vec![])
    };
    let (red, green) = (glass([1.0, 0.0, 0.0]), glass([0.0, 1.0, 0.0]));
    for placed in [
        [(&red, at(0.0, 0.0, 0.4)), (&green, Affine::IDENTITY)],
        [(&green, Affine::IDENTITY), (&red, at(0.0, 0.0, 0.4))],
    ] {
        let picture = draw(&gpu, &placed);
        // Light: half red, a quarter green, a quarter blue; sRGB codes 188, 137, 137. Blending in 8 bits rounds twice.
        picture.shows(0.0, 0.0, [188, 137, 137], 2);
    }
    // Glass behind something solid stays behind it.
    let solid = square(unlit([1.0, 1.0, 1.0, 1.0]), vec![]);
    draw(&gpu, &[(&red, at(0.0, 0.0, -1.0)), (&solid, Affine::IDENTITY)]).shows(0.0, 0.0, [255, 255, 255], 0);
}

/// The square on a root joint that mirrors x.
fn mirrored_rig(mut character: Character) -> Character {
    character.rig.nodes[0].rest.scale = [-1.0, 1.0, 1.0];
    character
}

#[test]
fn backs_are_culled_whatever_mirrors() {
    let gpu = Gpu::open();
    let plain = square(unlit([1.0, 0.0, 0.0, 1.0]), vec![]);
    let both = square(Material { double_sided: true, ..unlit([1.0, 0.0, 0.0, 1.0]) }, vec![]);
    let mirrored = mirrored_rig(plain.clone());
    let (red, blue) = ([255, 0, 0], [0, 0, 255]);
    for (name, character, transform, expected) in [
        ("front", &plain, Affine::IDENTITY, red),
        ("back", &plain, turned(), blue),
        ("back, double-sided", &both, turned(), red),
        ("front, placement mirrors", &plain, scaled(-1.0, 1.0, 1.0), red),
        ("back, placement mirrors", &plain, scaled(1.0, 1.0, -1.0), blue),
        ("front, joint mirrors", &mirrored, Affine::IDENTITY, red),
        ("back, joint mirrors", &mirrored, turned(), blue),
        ("front, both mirror", &mirrored, scaled(-1.0, 1.0, 1.0), red),
        ("back, both mirror", &mirrored, scaled(1.0, 1.0, -1.0), blue),
    ] {
        println!("{name}");
        draw(&gpu, &[(character, transform)]).shows(0.0, 0.0, expected, 0);
    }
}

/// A sun from +Z alone: what a matt white surface shows is the cosine of its slope.
const FRONT_SUN: Light =
    Light { sun_direction: [0.0, 0.0, 1.0], sun_color: [0.5; 3], zenith: [0.0; 3], horizon: [0.0; 3], nadir: [0.0; 3] };

/// The green code in the picture's middle, not tone mapped.
fn lit_code(gpu: &Gpu, light: &Light, character: &Character, transform: Affine) -> u8 {
    let descriptor = RendererDescriptor { tone_map: false, sample_count: 1, ..Default::default() };
    let shot = Shot { descriptor, light: *light, ..Default::default() };
    draw_with(gpu, &shot, &[(character, transform)]).pixel(0.0, 0.0)[1]
}

#[test]
fn light_comes_from_the_sun_and_backs_face_it_too() {
    let gpu = Gpu::open();
    let matt = Material { metallic: 0.0, double_sided: true, ..Material::default() };
    let white = square(matt.clone(), vec![]);
    let lit = |light: &Light, character: &Character, transform| lit_code(&gpu, light, character, transform);
    // 0.5 · (0.96 diffuse + the small rough highlight, 0.04 · 1/4 · energy): 0.48…0.51, codes 184…190.
    for transform in [Affine::IDENTITY, turned(), scaled(-1.0, 1.0, 1.0), scaled(1.0, 1.0, -1.0)] {
        let code = lit(&FRONT_SUN, &white, transform);
        assert!((184..=190).contains(&code), "{transform:?}: {code}");
    }
    let behind = Light { sun_direction: [0.0, 0.0, -1.0], ..FRONT_SUN };
    assert_eq!(lit(&behind, &white, Affine::IDENTITY), 0);

    // A metal shows the sky: never black.
    let metal = square(Material { roughness: 0.2, ..Material::default() }, vec![]);
    let sky = Light { zenith: [0.5; 3], horizon: [0.5; 3], nadir: [0.5; 3], ..behind };
    let code = lit(&sky, &metal, Affine::IDENTITY);
    // A white metal in an even sky of 0.5 shows just that: 188. The fit of the split sum is good to 2 %.
    assert!(code.abs_diff(188) <= 3, "{code}");
}

#[test]
fn normal_maps_tilt_with_the_tangent_frame() {
    let gpu = Gpu::open();
    // A normal that leans 45° towards +x of the tangent frame, and one towards +y.
    for (pixel, sun, opposite) in [
        ([218, 128, 218, 255], [1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]),
        ([128, 218, 218, 255], [0.0, 1.0, 1.0], [0.0, -1.0, 1.0]),
    ] {
        let bumpy = Material {
            metallic: 0.0,
            normal_texture: Some(TextureRef::default()),
            double_sided: true,
            ..Material::default()
        };
        let character = square(bumpy, vec![image(1, &[pixel])]);
        let lit = |character: &Character, transform, sun_direction| {
            lit_code(&gpu, &Light { sun_direction, ..FRONT_SUN }, character, transform)
        };
        let (towards, away) = (lit(&character, Affine::IDENTITY, sun), lit(&character, Affine::IDENTITY, opposite));
        assert!(towards >= 183 && away <= 12, "{towards} {away}");
        // Mirroring x turns the lean in x round and leaves the one in y, both by the placement and by a joint.
        let mirrored_sun = [-sun[0], sun[1], sun[2]];
        for (name, character, transform) in [
            ("placement mirrors", character.clone(), scaled(-1.0, 1.0, 1.0)),
            ("joint mirrors", mirrored_rig(character), Affine::IDENTITY),
        ] {
            let code = lit(&character, transform, mirrored_sun);
            assert!(code >= 183, "{name}: {code}");
        }
    }
}

#[test]
fn four_samples_soften_edges() {
    let gpu = Gpu::open();
    let white = square(unlit([1.0; 4]), vec![]);
    // Slightly turned, so that edges cross pixels.
    let (sin, cos) = 0.2f32.sin_cos();
    let turned = Affine { rows: [[cos, -sin, 0.0, 0.0], [sin, cos, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]] };
    let between = |sample_count| {
        let descriptor = RendererDescriptor { sample_count, ..Default::default() };
        let background = Background::Color([0.0, 0.0, 0.0, 1.0]);
        let picture = draw_with(&gpu, &Shot { descriptor, background, ..Default::default() }, &[(&white, turned)]);
        picture.0.iter().filter(|p| p[0] > 0 && p[0] < 255).count()
    };
    assert_eq!(between(1), 0);
    // Four edges of about 33 pixels each.
    let soft = between(4);
    assert!((60..=200).contains(&soft), "{soft}");
}

#[test]
fn texture_transform_and_second_uv_set_choose_the_pixel() {
    let gpu = Gpu::open();
    let pixels = image(2, &[[255, 0, 0, 255], [0, 255, 0, 255], [255, 255, 255, 255], [0, 0, 0, 255]]);
    let nearest = dermis::character::Sampler {
        mag: dermis::character::Filter::Nearest,
        min: dermis::character::Filter::Nearest,
        mip: None,
        ..Default::default()
    };
    let with = |uv_set, transform| {
        let texture = Some(TextureRef { image: 0, uv_set, sampler: nearest, transform });
        let material = Material { base_color_texture: texture, ..unlit([1.0; 4]) };
        let mut character = square(material, vec![pixels.clone()]);
        character.meshes[0].uvs[1] = vec![[0.25, 0.75]; 4];
        draw(&gpu, &[(&character, Affine::IDENTITY)])
    };
    use dermis::character::UvTransform;
    let plain = with(0, UvTransform::default());
    plain.shows(-0.25, 0.25, [255, 0, 0], 0);
    plain.shows(0.25, 0.25, [0, 255, 0], 0);
    plain.shows(-0.25, -0.25, [255, 255, 255], 0);
    // Half a picture to the right, wrapped.
    with(0, UvTransform { offset: [0.5, 0.0], ..Default::default() }).shows(-0.25, 0.25, [0, 255, 0], 0);
    // A quarter turn counter-clockwise about the top left corner: (u, v) → (v, −u).
    let quarter = UvTransform { rotation: std::f32::consts::FRAC_PI_2, ..Default::default() };
    with(0, quarter).shows(-0.25, 0.25, [255, 255, 255], 0);
    // Set 1 is the same place everywhere: bottom left.
    let second = with(1, UvTransform::default());
    second.shows(-0.25, 0.25, [255, 255, 255], 0);
    second.shows(0.25, -0.25, [255, 255, 255], 0);
}

#[test]
fn vertex_colors_multiply_and_instances_keep_apart() {
    let gpu = Gpu::open();
    let mut gray = square(unlit([1.0; 4]), vec![]);
    gray.meshes[0].colors = vec![[0.2, 1.0, 0.2, 1.0]; 4];
    let small = |x: f32, y: f32| Affine { rows: [[0.3, 0.0, 0.0, x], [0.0, 0.3, 0.0, y], [0.0, 0.0, 0.3, 0.0]] };
    let red = square(unlit([1.0, 0.0, 0.0, 1.0]), vec![]);
    let places = [(-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0), (0.0, 0.0)];
    let placed: Vec<(&Character, Affine)> =
        places.iter().enumerate().map(|(i, &(x, y))| (if i % 2 == 0 { &gray } else { &red }, small(x, y))).collect();
    let picture = draw(&gpu, &placed);
    for (i, (x, y)) in places.into_iter().enumerate() {
        let expected = if i % 2 == 0 { [124, 255, 124] } else { [255, 0, 0] };
        picture.shows(0.5 * x, 0.5 * y, expected, 1);
    }
    picture.shows(0.5, 0.0, [0, 0, 255], 0);
}

#[test]
fn far_from_the_origin_nothing_shakes() {
    let gpu = Gpu::open();
    let white = square(unlit([1.0; 4]), vec![]);
    let shot = |x: f32| {
        let descriptor = RendererDescriptor::default();
        let shot = Shot { descriptor, origin: [x, 0.0, -x], ..Default::default() };
        draw_with(&gpu, &shot, &[(&white, at(x + 0.015_625, 0.0, -x))])
    };
    // At 2^17 m the spacing of f32 is 1/64 m. Only differences of places count, so the picture is the same.
    assert_eq!(shot(0.0).0, shot(131_072.0).0);
}

#[test]
fn sky_and_ground_fill_the_picture_and_catch_a_shadow() {
    let gpu = Gpu::open();
    let white = square(unlit([1.0; 4]), vec![]);
    let light = Light { sun_direction: [0.0, 1.0, -1.0], ..Light::default() };
    let shot = |shadow| {
        let ground = Ground { center: [0.0, -1.0, 0.0], radius: 20.0, cell: 1.0, color: [0.5; 3], shadow };
        let descriptor = RendererDescriptor::default();
        let shot = Shot { descriptor, background: Background::Sky(Some(ground)), light, ..Default::default() };
        draw_with(&gpu, &shot, &[(&white, Affine::IDENTITY)])
    };
    let (plain, shaded) = (shot(0.0), shot(0.5));
    assert!(plain.0.iter().all(|p| p[3] == 255));
    // The sun is behind the square: its shadow falls towards the camera, below it in the picture.
    let (lit, dark) = (plain.pixel(0.0, -0.55), shaded.pixel(0.0, -0.55));
    assert!(u32::from(dark[1]) * 10 < u32::from(lit[1]) * 8, "{lit:?} {dark:?}");
    assert_eq!(plain.pixel(0.0, 0.0), [255; 4]);
    assert_eq!(plain.pixel(0.9, -0.55), shaded.pixel(0.9, -0.55));
    // The sky is bluer above than at the horizon.
    let blueness = |p: [u8; 4]| i32::from(p[2]) - i32::from(p[0]);
    assert!(blueness(plain.pixel(0.9, 0.95)) > blueness(plain.pixel(0.9, 0.1)));
}

#[test]
fn what_cannot_be_drawn_is_an_error() {
    let gpu = Gpu::open();
    let Gpu { device, queue } = &gpu;
    let refuse = |d| Renderer::new(device, &d).unwrap_err().to_string();
    let good = RendererDescriptor::default();
    assert!(refuse(RendererDescriptor { sample_count: 3, ..good }).contains("sample_count is 3"));
    assert!(refuse(RendererDescriptor { depth_format: wgpu::TextureFormat::R8Unorm, ..good }).contains("depth_format"));
    assert!(refuse(RendererDescriptor { color_format: wgpu::TextureFormat::R32Uint, ..good }).contains("color_format"));

    for color_format in
        [wgpu::TextureFormat::Rgba32Float, wgpu::TextureFormat::Rgba8Snorm, wgpu::TextureFormat::Bc7RgbaUnorm]
    {
        assert!(refuse(RendererDescriptor { color_format, ..good }).contains("color_format"), "{color_format:?}");
    }
    // Light as it is, for hosts that tone map themselves.
    Renderer::new(device, &RendererDescriptor { color_format: wgpu::TextureFormat::Rgba16Float, ..good }).unwrap();

    let renderer = Renderer::new(device, &good).unwrap();
    let refuse = |c: &Character| renderer.model(device, queue, c).unwrap_err().to_string();
    let textured = Material { base_color_texture: Some(TextureRef::default()), ..Material::default() };
    assert_eq!(refuse(&square(textured.clone(), vec![])), "picture 0 is out of range: there are 0");
    let short = Image { name: String::new(), width: 2, height: 2, rgba: vec![0; 15] };
    assert_eq!(refuse(&square(textured, vec![short])), "a picture has 15 elements, but 16 are needed");
    let mut character = square(Material::default(), vec![]);
    character.meshes[0].primitives[0].material = 7;
    assert_eq!(refuse(&character), "material 7 is out of range: there are 1");

    let white = square(unlit([1.0; 4]), vec![]);
    let mut skinner =
        Skinner::new(device, &SkinnerDescriptor { layout: Layout::Full, ..SkinnerDescriptor::default() }).unwrap();
    let rig = RigDescriptor { rig: &white.rig, skins: &white.skins, clips: &[] };
    let rig = skinner.add_rig(&rig).unwrap();
    let mesh = skinner.add_mesh(queue, &white.meshes[0]).unwrap();
    let character = skinner.spawn(rig, &[PartId { mesh, skin: 0 }]).unwrap();
    let model = renderer.model(device, queue, &white).unwrap();
    let instances =
        [Instance { character, model: &model, textures: None, overlay: None, transform: at(0.0, 0.0, 0.0) }];
    let (camera, light) = (camera(Depth::Reversed, [0.0; 3]), Light::default());
    let background = Background::Sky(None);
    let scene = Scene { camera: &camera, light: &light, background, skinner: &skinner, instances: &instances };
    let error = renderer.view(device).prepare(device, queue, &scene).unwrap_err().to_string();
    assert_eq!(error, "the vertex layout of a skinner that is drawn from is Full, but must be Packed");
}

#[test]
fn a_steady_view_allocates_no_more_than_two_uploads() {
    let Gpu { device, queue } = &Gpu::open();
    let white = square(unlit([1.0; 4]), vec![]);
    let renderer = Renderer::new(device, &RendererDescriptor::default()).unwrap();
    let model = renderer.model(device, queue, &white).unwrap();
    let mut skinner = Skinner::new(device, &SkinnerDescriptor::default()).unwrap();
    let rig = RigDescriptor { rig: &white.rig, skins: &white.skins, clips: &[] };
    let rig = skinner.add_rig(&rig).unwrap();
    let mesh = skinner.add_mesh(queue, &white.meshes[0]).unwrap();
    let place = |i: u8| Instance {
        character: skinner.spawn(rig, &[PartId { mesh, skin: 0 }]).unwrap(),
        model: &model,
        textures: None,
        overlay: None,
        transform: at(f32::from(i), 0.0, 0.0),
    };
    let instances: Vec<Instance<'_>> = (0..37).map(place).collect();
    skinner.prepare(device, queue, 0.0);
    let (camera, light) = (camera(Depth::Reversed, [0.0; 3]), Light::default());
    let background = Background::Sky(None);
    let scene = Scene { camera: &camera, light: &light, background, skinner: &skinner, instances: &instances };
    let mut view = renderer.view(device);
    // What a view has: the scene's uniform and room for 64 instances.
    let uses = [(240, 240, wgpu::BufferUsages::UNIFORM), (64 * 64, 37 * 64, wgpu::BufferUsages::VERTEX)];
    let [small, large] = uses.map(|(size, written, usage)| {
        let usage = usage | wgpu::BufferUsages::COPY_DST;
        let buffer = wgpu::BufferDescriptor { label: Some("bare"), size, usage, mapped_at_creation: false };
        (device.create_buffer(&buffer), vec![0; written])
    });
    let mut count = |ours: bool| {
        let counted = allocation_counter::measure(|| match ours {
            true => view.prepare(device, queue, &scene).unwrap(),
            false => [&large, &small].into_iter().for_each(|(buffer, bytes)| queue.write_buffer(buffer, 0, bytes)),
        });
        queue.submit([]);
        device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        counted.count_total
    };
    let mut least = [u64::MAX; 2];
    for frame in 0..16 {
        let counts = [count(true), count(false)];
        // The first frames make room; wgpu itself now and then grows a list.
        if frame >= 4 {
            least = [0, 1].map(|i: usize| least[i].min(counts[i]));
        }
    }
    println!("allocations per frame: {} in View::prepare, {} in two bare uploads", least[0], least[1]);
    // Depending on a buffer's history, wgpu makes 7 or 8 allocations for one and the same upload.
    assert!(least[0] <= least[1] + 2, "{least:?}");
}
