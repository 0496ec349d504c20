//! A character on a stage: what the viewer and `dermis render` show.

use std::sync::Arc;

use dermis::character::Image;
use dermis::gpu::{
    CharacterId, Drive, PartId, RigDescriptor, RigId, SkinnedVertices, Skinner, SkinnerDescriptor, Timestamps,
    read_vertices,
};
use dermis::pose::Pose;
use dermis::render::{
    Background, Camera, Ground, Instance, Light, Model, Overlay, Renderer, Scene, Targets, TextureMix, View,
};
use dermis::{Affine, Character, Error, Result, wgpu};
use glam::Vec3;

use super::thumbnail::Aside;
use crate::app::device::Opened;

/// One loaded character on the GPU, and how often, where and as what it is shown.
///
/// There is always [`Stage::hero`], the character that modes work on. [`Stage::spawn`] adds more of the same rig and meshes:
/// for crowds, side by side, thumbnails. All are skinned together; [`Stage::shown`] lists those in the picture.
pub struct Stage {
    pub character: Arc<Character>,
    pub skinner: Skinner,
    pub rig: RigId,
    pub parts: Vec<PartId>,
    pub hero: CharacterId,
    /// Triangles and materials of the character.
    pub model: Arc<Model>,
    /// What the picture shows.
    pub shown: Vec<Placed>,
    /// Surfaces that [`Placed::mix`] names.
    pub mixes: Vec<TextureMix>,
    /// Numbers shown as colours instead of surfaces, and of which character.
    pub overlay: Option<(CharacterId, Arc<Overlay>)>,
    /// Pictures to draw in the next frame besides the window's; see [`super::thumbnail::Thumbnail::draw`].
    pub asides: Vec<Aside>,
    /// The time the next frame is prepared for.
    pub seconds: f64,
    pub rest: Pose,
    pub ground: Ground,
    /// Metres across, up and deep of what [`Stage::measure`] saw last.
    pub extent: [f32; 3],
}

/// A character in the picture.
#[derive(Clone)]
pub struct Placed {
    pub character: CharacterId,
    /// [`Stage::model`], or another look of the same character.
    pub model: Arc<Model>,
    /// Index into [`Stage::mixes`].
    pub mix: Option<usize>,
    /// From character space to the world.
    pub transform: Affine,
}

/// A character ready to be shown, and the points to frame it by.
pub struct Loaded {
    pub stage: Stage,
    pub points: Vec<[f32; 3]>,
}

impl Loaded {
    pub fn new(gpu: &Opened, renderer: &Renderer, character: Character) -> dermis::Result<Self> {
        let mut stage = Stage::new(gpu, renderer, character)?;
        let points = if stage.character.clips.is_empty() {
            stage.prepare(gpu, 0.0);
            stage.measure(gpu)?
        } else {
            stage.play(Some(0), false)?;
            stage.measure_clip(gpu, 0)?
        };
        Ok(Self { stage, points })
    }
}

/// How and where a picture is drawn.
pub struct Canvas<'a> {
    pub view: &'a mut View,
    pub targets: Targets<'a>,
    pub camera: &'a Camera,
    /// Where the GPU's clock goes before and after it is drawn.
    pub timestamps: Option<wgpu::RenderPassTimestampWrites<'a>>,
}

impl Stage {
    /// Uploads a character, in its rest pose.
    pub fn new(gpu: &Opened, renderer: &Renderer, character: Character) -> Result<Self> {
        let mut skinner = Skinner::new(&gpu.device, &SkinnerDescriptor::default())?;
        let rig = skinner.add_rig(&RigDescriptor {
            rig: &character.rig,
            skins: &character.skins,
            clips: &character.clips,
        })?;
        let meshes: Vec<_> = character.meshes.iter().map(|m| skinner.add_mesh(&gpu.queue, m)).collect::<Result<_>>()?;
        let mut parts = Vec::with_capacity(character.parts.len());
        for part in &character.parts {
            let range = Error::OutOfRange { what: "mesh", index: part.mesh, count: meshes.len() };
            parts.push(PartId { mesh: *meshes.get(part.mesh).ok_or(range)?, skin: part.skin });
        }
        let hero = skinner.spawn(rig, &parts)?;
        let model = Arc::new(renderer.model(&gpu.device, &gpu.queue, &character)?);
        let rest = Pose::rest(&character.rig);
        let ground = Ground { center: [0.0; 3], radius: 10.0, cell: 0.5, color: [0.36, 0.37, 0.39], shadow: 0.45 };
        let mut stage = Self {
            character: Arc::new(character),
            skinner,
            rig,
            parts,
            hero,
            model,
            shown: Vec::new(),
            mixes: Vec::new(),
            overlay: None,
            asides: Vec::new(),
            seconds: 0.0,
            rest,
            ground,
            extent: [1.0; 3],
        };
        stage.shown.push(stage.place(hero));
        stage.play(None, false)?;
        Ok(stage)
    }

    /// Another character of the same rig and meshes, in its rest pose; not shown until it is in [`Stage::shown`].
    pub fn spawn(&mut self) -> Result<CharacterId> {
        let character = self.skinner.spawn(self.rig, &self.parts)?;
        self.skinner.drive(character, Drive::Local(&self.rest))?;
        Ok(character)
    }

    /// A character as the file has it, where the file has it.
    pub fn place(&self, character: CharacterId) -> Placed {
        Placed { character, model: self.model.clone(), mix: None, transform: Affine::IDENTITY }
    }

    /// Shows the hero alone, in its rest pose, as the file has it.
    pub fn reset(&mut self) -> Result<()> {
        self.shown = vec![self.place(self.hero)];
        self.overlay = None;
        self.asides.clear();
        self.play(None, false)
    }

    /// Plays a clip as a function of the seconds given to [`Stage::prepare`], or shows the rest pose.
    pub fn play(&mut self, clip: Option<usize>, looping: bool) -> Result<()> {
        for part in 0..self.character.parts.len() {
            self.reset_morphs(part)?;
        }
        match clip {
            Some(clip) => self.skinner.drive(self.hero, Drive::Clip { clip, start: 0.0, looping }),
            None => self.skinner.drive(self.hero, Drive::Local(&self.rest)),
        }
    }

    /// Shows a pose.
    pub fn hold(&mut self, pose: &Pose) -> Result<()> {
        self.skinner.drive(self.hero, Drive::Local(pose))
    }

    /// Mixes base-colour pictures, one or none per sample of a pose space, by the samples' weights for each material.
    pub fn mix(
        &mut self,
        gpu: &Opened,
        renderer: &Renderer,
        pictures: &[Option<Image>],
        weights: &[Vec<f32>],
    ) -> Result<()> {
        let samples: Vec<Option<&Image>> = pictures.iter().map(Option::as_ref).collect();
        let mut textures = renderer.texture_mix(&gpu.device, &gpu.queue, &self.character, &samples)?;
        for (material, weights) in weights.iter().enumerate() {
            textures.set_material_weights(material, weights)?;
        }
        self.mixes.push(textures);
        let mix = Some(self.mixes.len() - 1);
        self.shown.iter_mut().filter(|p| p.character == self.hero).for_each(|p| p.mix = mix);
        Ok(())
    }

    fn reset_morphs(&mut self, part: usize) -> Result<()> {
        let weights = &self.character.parts[part].morph_weights;
        if weights.is_empty() {
            return Ok(());
        }
        self.skinner.set_morph_weights(self.hero, part, weights)
    }

    /// Sets the morph weights of a part; a clip that drives them has the last word.
    pub fn set_morphs(&mut self, part: usize, weights: &[f32]) -> Result<()> {
        self.skinner.set_morph_weights(self.hero, part, weights)
    }

    /// Poses the characters for `seconds`.
    pub fn prepare(&mut self, gpu: &Opened, seconds: f64) {
        self.seconds = seconds;
        self.skinner.prepare(&gpu.device, &gpu.queue, seconds);
    }

    /// Records skinning and drawing, after [`Stage::prepare`].
    pub fn record(
        &mut self,
        gpu: &Opened,
        encoder: &mut wgpu::CommandEncoder,
        canvas: Canvas<'_>,
        grid: bool,
        timestamps: Option<Timestamps<'_>>,
    ) -> Result<()> {
        self.skinner.record_timed(encoder, timestamps);
        self.mixes.iter_mut().for_each(|mix| mix.record(encoder));
        for aside in std::mem::take(&mut self.asides) {
            aside.record(gpu, encoder, self)?;
        }
        let background = Background::Sky(grid.then_some(self.ground));
        self.draw(gpu, encoder, canvas, background, &self.shown)
    }

    /// Draws some of the stage's characters, after skinning.
    pub fn draw(
        &self,
        gpu: &Opened,
        encoder: &mut wgpu::CommandEncoder,
        canvas: Canvas<'_>,
        background: Background,
        shown: &[Placed],
    ) -> Result<()> {
        let instances: Vec<Instance<'_>> = shown
            .iter()
            .map(|placed| Instance {
                character: placed.character,
                model: &placed.model,
                textures: placed.mix.and_then(|mix| self.mixes.get(mix)),
                overlay: self.overlay.as_ref().filter(|o| o.0 == placed.character).map(|o| &*o.1),
                transform: placed.transform,
            })
            .collect();
        let light = Light::default();
        let Canvas { view, targets, camera, timestamps } = canvas;
        let scene = Scene { camera, light: &light, background, skinner: &self.skinner, instances: &instances };
        view.prepare(&gpu.device, &gpu.queue, &scene)?;
        view.record_timed(encoder, &targets, &scene, timestamps)
    }

    /// The vertices of a part of a character as they are posed now, in character space. Waits for the GPU.
    pub fn read_back(&mut self, gpu: &Opened, character: CharacterId, part: usize) -> Result<SkinnedVertices> {
        self.skin(gpu);
        read_vertices(&gpu.device, &gpu.queue, &self.skinner.vertices(character, part)?)
    }

    fn skin(&mut self, gpu: &Opened) {
        self.skinner.prepare(&gpu.device, &gpu.queue, self.seconds);
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("skin") });
        self.skinner.record(&mut encoder);
        gpu.queue.submit([encoder.finish()]);
    }

    /// Skins what is shown as it is posed and reads its vertices back; puts the ground under them.
    pub fn measure(&mut self, gpu: &Opened) -> Result<Vec<[f32; 3]>> {
        self.skin(gpu);
        let mut points = Vec::new();
        let mut boxes: Vec<Bounds> = Vec::new();
        for placed in self.shown.iter().take(MEASURED) {
            let before = points.len();
            for part in 0..self.parts.len() {
                let vertices = self.skinner.vertices(placed.character, part)?;
                let t = &placed.transform;
                let read = read_vertices(&gpu.device, &gpu.queue, &vertices)?.positions;
                let read = read.into_iter().map(|p| t.transform_point(p));
                points.extend(read.filter(|p| p.iter().all(|x| x.is_finite())));
            }
            let at = Vec3::from(placed.transform.rows.map(|row| row[3]));
            boxes.extend(bounds(&points[before..]).map(|(low, high)| (low - at, high - at)));
        }
        // Of a crowd, boxes as large as those.
        if let Some((low, high)) = boxes.iter().copied().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) {
            for placed in self.shown.iter().skip(MEASURED) {
                let at = Vec3::from(placed.transform.rows.map(|row| row[3]));
                points.extend([low, high].map(|corner| (corner + at).to_array()));
            }
        }
        self.place_ground(&points);
        Ok(points)
    }

    /// As [`Stage::measure`] at the start of a clip, with the places the character reaches later in it, unless it walks
    /// away: then framing it all would show it small.
    pub fn measure_clip(&mut self, gpu: &Opened, clip: usize) -> Result<Vec<[f32; 3]>> {
        let duration = f64::from(self.character.clips[clip].duration);
        self.prepare(gpu, 0.0);
        let first = self.measure(gpu)?;
        let mut all = first.clone();
        for eighth in 1..8 {
            self.prepare(gpu, duration * f64::from(eighth) / 8.0);
            all.extend(self.measure(gpu)?);
        }
        let stays = bounds(&all).zip(bounds(&first)).is_some_and(|(all, first)| diagonal(all) < 1.6 * diagonal(first));
        let points = if stays { all } else { first };
        self.place_ground(&points);
        Ok(points)
    }

    fn place_ground(&mut self, points: &[[f32; 3]]) {
        let Some((low, high)) = bounds(points) else { return };
        let size = diagonal((low, high)).max(1e-6);
        self.extent = (high - low).to_array();
        self.ground.radius = 4.0 * size;
        self.ground.cell = round_length(0.12 * size);
        // On a crossing of lines, as near below the character as can be.
        let cell = 5.0 * self.ground.cell;
        let snap = |v: f32| (v / cell).round() * cell;
        let middle = 0.5 * (low + high);
        self.ground.center = [snap(middle.x), low.y, snap(middle.z)];
    }
}

/// Characters of a crowd that are looked at for framing it.
const MEASURED: usize = 4;

type Bounds = (Vec3, Vec3);

fn bounds(points: &[[f32; 3]]) -> Option<Bounds> {
    points.iter().map(|&p| (Vec3::from(p), Vec3::from(p))).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

fn diagonal((low, high): Bounds) -> f32 {
    (high - low).length()
}

/// The largest of 1, 2 or 5 times a power of ten that is not above `length`.
fn round_length(length: f32) -> f32 {
    let power = 10f32.powf(length.log10().floor());
    let step = [5.0, 2.0, 1.0].into_iter().find(|s| s * power <= length).unwrap_or(1.0);
    step * power
}
