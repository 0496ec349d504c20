//! Random scenes, skinned on the GPU and by the reference.

use std::sync::Arc;

use glam::{Mat3, Quat, Vec3};

use super::Random;
use crate::character::{Mesh, MorphDelta, MorphTarget, Rig, RigNode, Skin};
use crate::gpu::pose::PosePipeline;
use crate::gpu::skin::{Pipelines, SkinPipelines};
use crate::gpu::{
    CharacterId, Drive, MeshOptions, Method, PartId, RigDescriptor, SkinnedVertices, Skinner, SkinnerDescriptor,
    decode_normal, decode_tangent, encode_frame, read_vertices,
};
use crate::influence::{self, Influence, InfluenceLayout, Influences, Precision};
use crate::math::Affine;
use crate::reference;

/// What a random mesh is like. Sizes are odd on purpose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeshKind {
    pub vertices: usize,
    pub joints: u32,
    pub width: usize,
    pub precision: Precision,
    pub targets: usize,
}

pub(crate) struct TestMesh {
    pub mesh: Mesh,
    pub kind: MeshKind,
}

pub(crate) fn mesh(kind: MeshKind, random: &mut Random) -> TestMesh {
    let mut mesh = Mesh::default();
    let mut lists: Vec<Vec<Influence>> = Vec::new();
    for v in 0..kind.vertices {
        let normal = random.direction();
        let tangent = normal.cross(random.direction()).normalize_or(normal.any_orthonormal_vector());
        mesh.positions.push([random.signed(), random.signed(), random.signed()]);
        mesh.normals.push(normal.to_array());
        mesh.tangents.push(tangent.extend(if v % 3 == 0 { -1.0 } else { 1.0 }).to_array());
        // The last joint is used, so that the joint format is the one meant.
        let count = 1 + random.below(kind.width as u32);
        let mut list: Vec<Influence> =
            (0..count).map(|_| Influence { joint: random.below(kind.joints), weight: random.unit() + 0.01 }).collect();
        if v == 0 {
            list = (0..kind.width as u32).map(|i| Influence { joint: kind.joints - 1 - i, weight: 1.0 }).collect();
        }
        lists.push(list);
    }
    mesh.influences = Influences::from_vertices(lists.iter().map(Vec::as_slice));
    for t in 0..kind.targets {
        let touched = (0..kind.vertices as u32).filter(|v| (*v as usize + t) % 5 < 2);
        let mut part = |scale: f32| [random.signed() * scale, random.signed() * scale, random.signed() * scale];
        let deltas = touched
            .map(|vertex| MorphDelta { vertex, position: part(0.3), normal: part(0.2), tangent: part(0.2) })
            .collect();
        mesh.morphs.push(MorphTarget { name: String::new(), deltas });
    }
    TestMesh { mesh, kind }
}

/// A palette whose joints differ by up to about 60° around one common map, which may scale unevenly, shear and mirror.
pub(crate) fn palette(joints: u32, mirror: bool, random: &mut Random) -> Vec<Affine> {
    let flip = if mirror { -1.0 } else { 1.0 };
    let mut common = Mat3::from_diagonal(Vec3::new(flip * (0.7 + 0.6 * random.unit()), 0.7 + 0.6 * random.unit(), 1.0));
    common.y_axis.x = 0.5 * random.signed();
    let base = Quat::from_axis_angle(random.direction(), 3.0 * random.unit());
    let joint = |_| {
        let turn = base * Quat::from_axis_angle(random.direction(), 0.5 * random.unit());
        let m = Mat3::from_quat(turn) * common;
        let t = Vec3::new(random.signed(), random.signed(), random.signed()) * 2.0;
        let row = |r: usize| [m.x_axis[r], m.y_axis[r], m.z_axis[r], t[r]];
        Affine { rows: [row(0), row(1), row(2)] }
    };
    (0..joints).map(joint).collect()
}

/// A rig of `joints` nodes with one skin of them all.
pub(crate) fn rig(joints: u32) -> (Rig, Vec<Skin>) {
    let node = |i: u32| RigNode { name: format!("joint {i}"), source: i as usize, ..RigNode::default() };
    let rig = Rig { nodes: (0..joints).map(node).collect() };
    let skin = Skin {
        name: String::new(),
        joints: (0..joints as usize).collect(),
        inverse_binds: vec![Affine::IDENTITY; joints as usize],
    };
    (rig, vec![skin])
}

/// One instance to skin: which mesh, with what.
pub(crate) struct TestInstance {
    pub mesh: usize,
    pub palette: Vec<Affine>,
    pub weights: Vec<f32>,
}

pub(crate) struct Scene {
    pub meshes: Vec<TestMesh>,
    pub instances: Vec<TestInstance>,
    /// Index of an instance that stays hidden: nothing may touch its vertices.
    pub spare: usize,
    pub method: Method,
}

impl Scene {
    /// `count` + 1 instances dealt over meshes of these kinds, one of them the spare.
    pub fn new(kinds: &[MeshKind], count: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let meshes: Vec<TestMesh> = kinds.iter().map(|&kind| mesh(kind, &mut random)).collect();
        let instances = (0..=count).map(|i| {
            let m = i % meshes.len();
            let weights = (0..meshes[m].kind.targets).map(|_| 1.5 * random.signed()).collect();
            TestInstance { mesh: m, palette: palette(meshes[m].kind.joints, i % 4 == 3, &mut random), weights }
        });
        Self { instances: instances.collect(), spare: count / 2, method: Method::Linear, meshes }
    }

    /// Skins the scene on the GPU; `largest_grid` stands for the device's limit of workgroups per dimension.
    pub fn skin(&self, device: &wgpu::Device, queue: &wgpu::Queue, source: Option<&str>) -> Vec<SkinnedVertices> {
        let pipelines = source.map(|source| {
            let skin = SkinPipelines::with_source(device, source);
            Arc::new(Pipelines { skin, pose: PosePipeline::new(device) })
        });
        self.skin_as(device, queue, &SkinnerDescriptor { pipelines, ..SkinnerDescriptor::default() })
    }

    pub fn skin_as(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        descriptor: &SkinnerDescriptor,
    ) -> Vec<SkinnedVertices> {
        let mut skinner = Skinner::new(device, descriptor).unwrap();
        let characters = self.spawn(&mut skinner, queue);
        frame(device, queue, &mut skinner, 0.0);
        let read = |&c| read_vertices(device, queue, &skinner.vertices(c, 0).unwrap()).unwrap();
        characters.iter().map(read).collect()
    }

    pub fn spawn(&self, skinner: &mut Skinner, queue: &wgpu::Queue) -> Vec<CharacterId> {
        // Odd numbers of groups and a small grid: every dispatch folds.
        skinner.frame.largest_grid = 7;
        let ids: Vec<_> = self
            .meshes
            .iter()
            .map(|m| {
                let (rig, skins) = rig(m.kind.joints);
                let rig = skinner.add_rig(&RigDescriptor { rig: &rig, skins: &skins, clips: &[] }).unwrap();
                let options =
                    MeshOptions { max_influences: m.kind.width, precision: m.kind.precision, method: self.method };
                (rig, skinner.add_mesh_with(queue, &m.mesh, options).unwrap())
            })
            .collect();
        let mut characters = Vec::new();
        for (i, instance) in self.instances.iter().enumerate() {
            let (rig, mesh) = ids[instance.mesh];
            let character = skinner.spawn(rig, &[PartId::from(mesh)]).unwrap();
            skinner.drive(character, Drive::Palette(0, &instance.palette)).unwrap();
            skinner.set_morph_weights(character, 0, &instance.weights).unwrap();
            skinner.set_visible(character, i != self.spare).unwrap();
            characters.push(character);
        }
        characters
    }

    /// Worst error of `got` in units of the tolerances of this module, or what is wrong.
    pub fn compare(&self, got: &[SkinnedVertices]) -> Result<f64, String> {
        self.compare_directions(got, 2e-4)
    }

    /// As `compare`, with a tolerance of directions, radians: [`compare_instance`] says which.
    pub fn compare_directions(&self, got: &[SkinnedVertices], tolerance: f64) -> Result<f64, String> {
        let mut worst = 0f64;
        for (i, instance) in self.instances.iter().enumerate() {
            if i == self.spare {
                let touched = got[i].positions.iter().position(|p| *p != [0.0; 3]);
                match touched {
                    Some(v) => return Err(format!("the spare instance's vertex {v} was written")),
                    None => continue,
                }
            }
            let expected = reference_instance(&self.meshes[instance.mesh], instance, self.method);
            let error = compare_instance(&expected, &got[i], instance, tolerance);
            worst = worst.max(error.map_err(|e| format!("instance {i}: {e}"))?);
        }
        Ok(worst)
    }
}

/// One frame: prepare, record, submit.
pub(crate) fn frame(device: &wgpu::Device, queue: &wgpu::Queue, skinner: &mut Skinner, seconds: f64) {
    skinner.prepare(device, queue, seconds);
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    skinner.record(&mut encoder);
    queue.submit([encoder.finish()]);
}

/// The influences as the GPU has them: packing has its own tests.
pub(crate) fn stored_influences(mesh: &TestMesh) -> Influences {
    let pruned = crate::gpu::mesh::kept_influences(&mesh.mesh, mesh.kind.width).unwrap();
    let most = (0..pruned.vertex_count()).map(|v| pruned.of(v).len()).max().unwrap();
    let layout = InfluenceLayout::for_mesh(most, mesh.kind.joints as usize, mesh.kind.precision).unwrap();
    assert_eq!(layout.width as usize, mesh.kind.width);
    influence::unpack(&influence::pack_ordered(&pruned, layout).unwrap())
}

pub(crate) fn reference_instance(mesh: &TestMesh, instance: &TestInstance, method: Method) -> Vec<reference::Vertex> {
    let influences = stored_influences(mesh);
    let palette: Vec<[[f64; 4]; 3]> = instance.palette.iter().map(|m| m.rows.map(|r| r.map(f64::from))).collect();
    let turns: Vec<_> = match method {
        Method::Linear => Vec::new(),
        Method::DualQuaternion => palette.iter().map(reference::turn).collect(),
    };
    let mut deltas = vec![Vec::new(); mesh.mesh.positions.len()];
    for (target, &weight) in mesh.mesh.morphs.iter().zip(&instance.weights) {
        for d in &target.deltas {
            let wide = |v: [f32; 3]| v.map(f64::from);
            let delta =
                reference::Delta { position: wide(d.position), normal: wide(d.normal), tangent: wide(d.tangent) };
            deltas[d.vertex as usize].push((f64::from(weight), delta));
        }
    }
    let vertex = |v: usize| {
        // The rest frame as it is stored.
        let frame = encode_frame(mesh.mesh.normals[v], mesh.mesh.tangents[v]);
        let rest = reference::Vertex {
            position: mesh.mesh.positions[v].map(f64::from),
            normal: decode_normal(frame).map(f64::from),
            tangent: decode_tangent(frame).map(f64::from),
        };
        let list: Vec<_> = influences.of(v).iter().map(|e| (e.joint as usize, f64::from(e.weight))).collect();
        let morphed = reference::morph(&rest, &deltas[v]);
        let (skinned, regular) = match method {
            Method::Linear => reference::skin(&morphed, &list, &palette),
            Method::DualQuaternion => reference::skin_dual(&morphed, &list, &palette, &turns),
        };
        assert!(regular);
        skinned
    };
    (0..mesh.mesh.positions.len()).map(vertex).collect()
}

/// One skinned part against the reference.
pub(crate) fn compare_one(
    mesh: &TestMesh,
    palette: &[Affine],
    weights: &[f32],
    method: Method,
    got: &SkinnedVertices,
) -> Result<f64, String> {
    let instance = TestInstance { mesh: 0, palette: palette.to_vec(), weights: weights.to_vec() };
    compare_instance(&reference_instance(mesh, &instance, method), got, &instance, 2e-4)
}

/// Positions within 2e-6 of max(extent, largest palette translation): f32 has 6e-8 relative rounding, a blended matrix and
/// its product take about a dozen such steps on terms up to that size. Directions within 2e-4 rad: half a step of the
/// packing (5e-5 for a normal, 1e-4 for a tangent with its 15 bits) plus f32 error amplified by the frames' conditioning;
/// within 1e-5 rad where they are not packed.
fn compare_instance(
    expected: &[reference::Vertex],
    got: &SkinnedVertices,
    instance: &TestInstance,
    directions: f64,
) -> Result<f64, String> {
    let mut size = instance.palette.iter().flat_map(|m| m.rows).map(|r| f64::from(r[3].abs())).fold(0.0, f64::max);
    for axis in 0..3 {
        let values = || expected.iter().map(|v| v.position[axis]);
        size = size.max(values().fold(f64::MIN, f64::max) - values().fold(f64::MAX, f64::min));
    }
    let mut worst = 0f64;
    for (v, e) in expected.iter().enumerate() {
        let distance =
            (0..3).map(|i| (f64::from(got.positions[v][i]) - e.position[i]).powi(2)).sum::<f64>().sqrt() / size;
        let normal = angle(e.normal, got.normals[v]);
        let t = got.tangents[v];
        let tangent = angle([e.tangent[0], e.tangent[1], e.tangent[2]], [t[0], t[1], t[2]]);
        if f64::from(t[3]) != e.tangent[3] {
            return Err(format!("vertex {v}: tangent sign {} instead of {}", t[3], e.tangent[3]));
        }
        // inverseSqrt is good to 2 ulp, a length to a few more.
        let off = |v: [f32; 3]| (glam::Vec3::from(v).length() - 1.0).abs();
        if off(got.normals[v]).max(off([t[0], t[1], t[2]])) > 2e-6 {
            return Err(format!("vertex {v}: normal {:?} or tangent {t:?} is not unit", got.normals[v]));
        }
        let ratio = (distance / 2e-6).max(normal / directions).max(tangent / directions);
        if ratio.is_nan() || ratio > 1.0 {
            return Err(format!(
                "vertex {v}: position off by {distance:.1e}, normal {normal:.1e}, tangent {tangent:.1e}"
            ));
        }
        worst = worst.max(ratio);
    }
    Ok(worst)
}

fn angle(a: [f64; 3], b: [f32; 3]) -> f64 {
    let (a, b) = (glam::DVec3::from(a), glam::DVec3::from(b.map(f64::from)));
    a.cross(b).length().atan2(a.dot(b))
}
