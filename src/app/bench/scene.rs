//! The crowd that is measured, and the engine skinning it.

use dermis::character::{Channel, Clip, Interpolation, Mesh, Rig, RigNode, Skin, Target};
use dermis::gpu::{CharacterId, Drive, Layout, RigDescriptor, Skinner, SkinnerDescriptor, read_vertices};
use dermis::influence::{Influence, Influences};
use dermis::pose::{Pose, skin_palette};
use dermis::{Affine, Transform, reference, wgpu};

use super::Contestant;

/// Characters of one mesh, each at its own time of one clip.
#[derive(Clone, Copy)]
pub struct Crowd {
    pub name: &'static str,
    pub characters: u32,
    pub vertices: u32,
    pub joints: u32,
    /// What the engine is asked for besides.
    pub previous: bool,
    pub bounds: bool,
    pub layout: Layout,
}

pub struct Assets {
    pub rig: Rig,
    pub skin: Skin,
    pub clip: Clip,
    pub mesh: Mesh,
}

/// Seconds between two frames.
const STEP: f64 = 1.0 / 60.0;
/// Vertices of a character that are compared with the reference.
const CHECKED: usize = 97;

impl Crowd {
    pub fn new(name: &'static str, characters: u32, vertices: u32, joints: u32) -> Self {
        Self { name, characters, vertices, joints, previous: false, bounds: false, layout: Layout::Packed }
    }

    /// A tube along a chain of joints, four influences per vertex, and a clip that turns every joint.
    pub fn assets(&self) -> Assets {
        let joints = self.joints as usize;
        let step = 1.0 / self.joints as f32;
        let node = |i: usize| RigNode {
            name: format!("joint {i}"),
            parent: i.checked_sub(1),
            rest: Transform { translation: [0.0, if i == 0 { 0.0 } else { step }, 0.0], ..Transform::IDENTITY },
            source: i,
            ..RigNode::default()
        };
        let inverse_bind = |i: usize| {
            let mut m = Affine::IDENTITY;
            m.rows[1][3] = -(i as f32) * step;
            m
        };
        let skin = Skin {
            name: "tube".into(),
            joints: (0..joints).collect(),
            inverse_binds: (0..joints).map(inverse_bind).collect(),
        };
        let turn = |i: usize, k: usize| {
            let angle = 0.2 * (i as f32 + 1.7 * k as f32).sin();
            [angle.sin(), 0.0, 0.0, angle.cos()]
        };
        let channel = |i: usize| Channel {
            target: Target::Rotation(i),
            interpolation: Interpolation::Linear,
            times: (0..9).map(|k| 0.25 * k as f32).collect(),
            width: 4,
            values: (0..9).flat_map(|k| turn(i, k % 8)).collect(),
        };
        let clip = Clip { name: "wave".into(), duration: 2.0, channels: (0..joints).map(channel).collect() };
        let rig = Rig { nodes: (0..joints).map(node).collect() };
        Assets { rig, skin, clip, mesh: self.mesh() }
    }

    fn mesh(&self) -> Mesh {
        let n = self.vertices as usize;
        let mut mesh = Mesh { name: "tube".into(), ..Mesh::default() };
        let mut lists = Vec::with_capacity(n);
        for v in 0..n {
            let height = v as f32 / n as f32;
            let (sin, cos) = (v as f32 * 2.399_963).sin_cos();
            mesh.positions.push([0.1 * cos, height, 0.1 * sin]);
            mesh.normals.push([cos, 0.0, sin]);
            mesh.tangents.push([-sin, 0.0, cos, 1.0]);
            let at = height * self.joints as f32;
            let first = (at as u32).saturating_sub(1).min(self.joints.saturating_sub(4));
            let pull = |k: u32| 1.0 / (0.3 + (at - (first + k) as f32).abs());
            let sum: f32 = (0..4).map(pull).sum();
            lists.push([0, 1, 2, 3].map(|k| Influence { joint: first + k, weight: pull(k) / sum }));
        }
        mesh.influences = Influences::from_vertices(lists.iter().map(<[Influence; 4]>::as_slice));
        mesh
    }

    /// The clip's start for a character: everybody is at another time.
    fn start(&self, character: u32) -> f64 {
        -0.01 * f64::from(character)
    }

    /// The clip's time for a character at frame `i`.
    pub fn time(&self, assets: &Assets, character: u32, i: u32) -> f32 {
        (f64::from(i) * STEP - self.start(character)).rem_euclid(f64::from(assets.clip.duration)) as f32
    }

    /// Palette of a character at frame `i`.
    pub fn palette(&self, assets: &Assets, character: u32, i: u32) -> dermis::Result<Vec<Affine>> {
        let mut pose = Pose::rest(&assets.rig);
        assets.clip.sample(self.time(assets, character, i), &mut pose);
        skin_palette(&assets.rig, &assets.skin, &pose)
    }

    /// Largest distance of skinned positions from the reference at frame 0, over a sample of vertices of some characters;
    /// an error when it is not small. Characters are one metre high.
    pub fn worst_error(
        &self,
        assets: &Assets,
        tolerance: f64,
        mut positions: impl FnMut(u32) -> dermis::Result<Vec<[f32; 3]>>,
    ) -> Result<f64, Box<dyn std::error::Error>> {
        let mut worst = 0f64;
        for character in [0, self.characters / 2, self.characters - 1] {
            let got = positions(character)?;
            let palette: Vec<[[f64; 4]; 3]> =
                self.palette(assets, character, 0)?.iter().map(|m| m.rows.map(|r| r.map(f64::from))).collect();
            for v in (0..got.len()).step_by(got.len().div_ceil(CHECKED)) {
                let rest = reference::Vertex {
                    position: assets.mesh.positions[v].map(f64::from),
                    normal: assets.mesh.normals[v].map(f64::from),
                    tangent: assets.mesh.tangents[v].map(f64::from),
                };
                let list: Vec<(usize, f64)> =
                    assets.mesh.influences.of(v).iter().map(|i| (i.joint as usize, f64::from(i.weight))).collect();
                let (expected, _) = reference::skin(&rest, &list, &palette);
                let distance =
                    (0..3).map(|i| (f64::from(got[v][i]) - expected.position[i]).powi(2)).sum::<f64>().sqrt();
                worst = if distance.is_nan() { f64::INFINITY } else { worst.max(distance) };
            }
        }
        if worst > tolerance {
            return Err(format!("{}: a vertex is {worst:.1e} m from where it should be", self.name).into());
        }
        Ok(worst)
    }
}

/// The engine: every character plays, so each frame poses and skins them all.
pub struct Ours {
    skinner: Skinner,
    characters: Vec<CharacterId>,
    bytes_out: f64,
}

impl Ours {
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue, crowd: &Crowd, assets: &Assets) -> dermis::Result<Self> {
        let descriptor = SkinnerDescriptor {
            previous_positions: crowd.previous,
            bounds: crowd.bounds,
            layout: crowd.layout,
            ..SkinnerDescriptor::default()
        };
        let mut skinner = Skinner::new(device, &descriptor)?;
        let skins = std::slice::from_ref(&assets.skin);
        let clips = std::slice::from_ref(&assets.clip);
        let rig = skinner.add_rig(&RigDescriptor { rig: &assets.rig, skins, clips })?;
        let mesh = skinner.add_mesh(queue, &assets.mesh)?;
        let mut characters = Vec::new();
        for c in 0..crowd.characters {
            let character = skinner.spawn(rig, &[mesh.into()])?;
            skinner.drive(character, Drive::Clip { clip: 0, start: crowd.start(c), looping: true })?;
            characters.push(character);
        }
        // The positions; read and written once more as the previous ones; the frames.
        let bytes_out = if crowd.previous { 36.0 } else { 12.0 } + crowd.layout.stride() as f64;
        Ok(Self { skinner, characters, bytes_out })
    }

    pub fn check(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        crowd: &Crowd,
        assets: &Assets,
    ) -> Result<f64, Box<dyn std::error::Error>> {
        // Compact weights are off by up to 4e-4 of the distance between where two joints put a vertex, here some 0.1 m.
        crowd.worst_error(assets, 1e-4, |c| {
            let vertices = self.skinner.vertices(self.characters[c as usize], 0)?;
            Ok(read_vertices(device, queue, &vertices)?.positions)
        })
    }
}

impl Contestant for Ours {
    fn frame(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, i: u32) -> dermis::Result<()> {
        self.skinner.prepare(device, queue, f64::from(i) * STEP);
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        self.skinner.record(&mut encoder);
        queue.submit([encoder.finish()]);
        Ok(())
    }

    fn bytes_per_vertex(&self) -> f64 {
        // 20 of rest vertex, 8 of influences and 4 of its part of a joint list in, once per chunk of instances.
        self.bytes_out + 32.0 / f64::from(dermis::gpu::CHUNK.min(self.characters.len() as u32))
    }
}
