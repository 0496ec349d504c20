//! A character on a stage: what the viewer and `dermis render` show.

use dermis::character::Image;
use dermis::gpu::{CharacterId, Drive, PartId, RigDescriptor, Skinner, SkinnerDescriptor, read_vertices};
use dermis::pose::Pose;
use dermis::render::{Background, Camera, Ground, Instance, Light, Model, Renderer, Scene, Targets, TextureMix, View};
use dermis::{Affine, Character, Error, Result, wgpu};

use crate::app::device::Opened;

/// One character, ready to be posed and drawn.
pub struct Stage {
    pub character: Character,
    skinner: Skinner,
    id: CharacterId,
    model: Model,
    textures: Option<TextureMix>,
    rest: Pose,
    ground: Ground,
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
        let id = skinner.spawn(rig, &parts)?;
        let model = renderer.model(&gpu.device, &gpu.queue, &character)?;
        let rest = Pose::rest(&character.rig);
        let ground = Ground { center: [0.0; 3], radius: 10.0, cell: 0.5, color: [0.36, 0.37, 0.39], shadow: 0.45 };
        let mut stage = Self { character, skinner, id, model, textures: None, rest, ground };
        stage.play(None, false)?;
        Ok(stage)
    }

    /// Plays a clip as a function of the seconds given to [`Stage::prepare`], or shows the rest pose.
    pub fn play(&mut self, clip: Option<usize>, looping: bool) -> Result<()> {
        for part in 0..self.character.parts.len() {
            self.reset_morphs(part)?;
        }
        match clip {
            Some(clip) => self.skinner.drive(self.id, Drive::Clip { clip, start: 0.0, looping }),
            None => self.skinner.drive(self.id, Drive::Local(&self.rest)),
        }
    }

    /// Shows a pose.
    pub fn hold(&mut self, pose: &Pose) -> Result<()> {
        self.skinner.drive(self.id, Drive::Local(pose))
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
        self.textures = Some(textures);
        Ok(())
    }

    fn reset_morphs(&mut self, part: usize) -> Result<()> {
        let weights = &self.character.parts[part].morph_weights;
        if weights.is_empty() {
            return Ok(());
        }
        self.skinner.set_morph_weights(self.id, part, weights)
    }

    /// Sets the morph weights of a part; a clip that drives them has the last word.
    pub fn set_morphs(&mut self, part: usize, weights: &[f32]) -> Result<()> {
        self.skinner.set_morph_weights(self.id, part, weights)
    }

    /// Poses the character at `seconds` of its clip.
    pub fn prepare(&mut self, gpu: &Opened, seconds: f64) {
        self.skinner.prepare(&gpu.device, &gpu.queue, seconds);
    }

    /// Records skinning and drawing, after [`Stage::prepare`].
    pub fn record(
        &mut self,
        gpu: &Opened,
        encoder: &mut wgpu::CommandEncoder,
        view: &mut View,
        targets: &Targets<'_>,
        camera: &Camera,
        grid: bool,
    ) -> Result<()> {
        self.skinner.record(encoder);
        if let Some(textures) = &mut self.textures {
            textures.record(encoder);
        }
        let instances = [Instance {
            character: self.id,
            model: &self.model,
            textures: self.textures.as_ref(),
            transform: Affine::IDENTITY,
        }];
        let scene = Scene {
            camera,
            light: &Light::default(),
            background: Background::Sky(grid.then_some(self.ground)),
            skinner: &self.skinner,
            instances: &instances,
        };
        view.prepare(&gpu.device, &gpu.queue, &scene)?;
        view.record(encoder, targets, &scene)
    }

    /// Skins the character as it is posed and reads its vertices back; puts the ground under them.
    pub fn measure(&mut self, gpu: &Opened) -> Result<Vec<[f32; 3]>> {
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("measure") });
        self.skinner.record(&mut encoder);
        gpu.queue.submit([encoder.finish()]);
        let mut points = Vec::new();
        for part in 0..self.character.parts.len() {
            let vertices = self.skinner.vertices(self.id, part)?;
            points.extend(read_vertices(&gpu.device, &gpu.queue, &vertices)?.positions);
        }
        points.retain(|p| p.iter().all(|x| x.is_finite()));
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
        self.ground.radius = 4.0 * size;
        self.ground.cell = round_length(0.12 * size);
        // On a crossing of lines, as near below the character as can be.
        let cell = 5.0 * self.ground.cell;
        let snap = |v: f32| (v / cell).round() * cell;
        self.ground.center = [snap(0.5 * (low[0] + high[0])), low[1], snap(0.5 * (low[2] + high[2]))];
    }
}

type Bounds = ([f32; 3], [f32; 3]);

fn bounds(points: &[[f32; 3]]) -> Option<Bounds> {
    let mut bounds = (*points.first()?, *points.first()?);
    for p in points {
        for (axis, &x) in p.iter().enumerate() {
            bounds.0[axis] = bounds.0[axis].min(x);
            bounds.1[axis] = bounds.1[axis].max(x);
        }
    }
    Some(bounds)
}

fn diagonal((low, high): Bounds) -> f32 {
    (0..3).map(|a| (high[a] - low[a]).powi(2)).sum::<f32>().sqrt()
}

/// The largest of 1, 2 or 5 times a power of ten that is not above `length`.
fn round_length(length: f32) -> f32 {
    let power = 10f32.powf(length.log10().floor());
    let step = [5.0, 2.0, 1.0].into_iter().find(|s| s * power <= length).unwrap_or(1.0);
    step * power
}
