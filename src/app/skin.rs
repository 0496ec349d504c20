//! `dermis skin`: skins a model on the GPU and writes the vertices.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::ValueEnum;
use dermis::Character;
use dermis::gpu::{
    self, Drive, Layout, MeshOptions, PartId, RigDescriptor, SkinnedVertices, Skinner, SkinnerDescriptor, read_vertices,
};
use dermis::influence::Precision;
use dermis::io::FilePrimitive;
use dermis::pose::Pose;
use npyz::WriterBuilder;
use npyz::npz::NpzWriter;
use npyz::zip::write::FileOptions;
use npyz::zip::{CompressionMethod, DateTime};

use super::output::Sink;
use super::{Outcome, device, model, output};

/// Skins a model on the GPU and writes the vertices.
#[derive(clap::Args)]
pub struct Args {
    /// A .glb, .gltf or .vrm file, or `hand`: the built-in hands.
    model: PathBuf,
    /// Clip to pose it with: its index or its name. Without it: the rest pose.
    #[arg(long, value_name = "N|NAME")]
    clip: Option<String>,
    /// Time in the clip, seconds; clamped to it.
    #[arg(long, value_name = "S", default_value_t = 0.0, allow_negative_numbers = true)]
    time: f32,
    /// Influences kept per vertex.
    #[arg(long, value_name = "W", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=8))]
    max_influences: u8,
    /// How influences are mixed.
    #[arg(long, value_enum, default_value_t)]
    method: Method,
    /// Precision of the weights on the GPU.
    #[arg(long, value_enum, default_value_t)]
    weights: Weights,
    /// Where to write: .npz (arrays: positions, normals, tangents, primitives) or .glb (the mesh in this pose).
    #[arg(short, long, value_name = "OUT.npz|OUT.glb")]
    output: PathBuf,
    /// Overwrite the model itself.
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Method {
    /// Linear blend skinning.
    #[default]
    Linear,
    /// Dual quaternion skinning: twisted limbs keep their volume.
    DualQuaternion,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Weights {
    /// 18 to 21 bits a weight.
    #[default]
    Fine,
    /// 8 to 16 bits a weight: what the engine uses by default.
    Compact,
}

pub fn run(args: Args, adapter: Option<&str>) -> Outcome {
    let kind = args.output.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    let as_glb = match kind.as_deref() {
        Some("npz") => false,
        Some("glb") => true,
        _ => return Err(format!("{}: the name must end in .npz or .glb", args.output.display()).into()),
    };
    if args.time.is_nan() {
        return Err("--time is not a number".into());
    }
    output::check(&args.output, &[&args.model], args.force)?;
    let character = model::load(&args.model)?;
    if character.parts.is_empty() {
        return Err(format!("{}: has no mesh in its scene", args.model.display()).into());
    }
    let clip = args.clip.as_deref().map(|wanted| model::clip(&character, wanted)).transpose()?;
    if clip.is_none() && args.time != 0.0 {
        eprintln!("warning: --time has no effect without --clip");
    }
    let method = match args.method {
        Method::Linear => gpu::Method::Linear,
        Method::DualQuaternion => gpu::Method::DualQuaternion,
    };
    let precision = match args.weights {
        Weights::Fine => Precision::Fine,
        Weights::Compact => Precision::Compact,
    };
    let options = MeshOptions { max_influences: args.max_influences.into(), precision, method };
    let (device, queue, info) = device::open(adapter)?;
    let skinned = skin(&device, &queue, &character, clip, args.time, options)?;
    let primitives = dermis::io::file_vertices(&character);
    if as_glb {
        let bytes = dermis::io::bake_glb(&character, &skinned)?;
        output::write(&args.output, |out| Ok(out.write_all(&bytes)?))?;
    } else {
        output::write(&args.output, |out| write_npz(out, &character, &primitives, &skinned))?;
    }
    let vertices: usize = primitives.iter().map(|p| p.vertices.len()).sum();
    let primitives = match primitives.len() {
        1 => "1 primitive".into(),
        n => format!("{n} primitives"),
    };
    let (name, out) = (&character.name, args.output.display());
    output::say(&format!("{name}: {vertices} vertices in {primitives}, skinned on {}, to {out}", info.name))?;
    Ok(())
}

/// Skins every part of a character once and reads the vertices back.
fn skin(
    device: &dermis::wgpu::Device,
    queue: &dermis::wgpu::Queue,
    character: &Character,
    clip: Option<usize>,
    time: f32,
    options: MeshOptions,
) -> dermis::Result<Vec<SkinnedVertices>> {
    let mut pose = Pose::rest(&character.rig);
    let clip = clip.map(|c| &character.clips[c]);
    if let Some(clip) = clip {
        clip.sample(time, &mut pose);
    }
    let mut skinner =
        Skinner::new(device, &SkinnerDescriptor { layout: Layout::Full, ..SkinnerDescriptor::default() })?;
    let descriptor = RigDescriptor { rig: &character.rig, skins: &character.skins, clips: &[] };
    let rig = skinner.add_rig(&descriptor)?;
    let mut meshes = HashMap::new();
    let mut parts = Vec::with_capacity(character.parts.len());
    for part in &character.parts {
        let mesh = match meshes.get(&part.mesh) {
            Some(&mesh) => mesh,
            None => skinner.add_mesh_with(queue, &character.meshes[part.mesh], options)?,
        };
        meshes.insert(part.mesh, mesh);
        parts.push(PartId { mesh, skin: part.skin });
    }
    let id = skinner.spawn(rig, &parts)?;
    skinner.drive(id, Drive::Local(&pose))?;
    for (i, part) in character.parts.iter().enumerate() {
        let mut weights = part.morph_weights.clone();
        if let Some(clip) = clip {
            clip.sample_morphs(i, time, &mut weights);
        }
        skinner.set_morph_weights(id, i, &weights)?;
    }
    skinner.prepare(device, queue, 0.0);
    let mut encoder = device.create_command_encoder(&dermis::wgpu::CommandEncoderDescriptor { label: Some("skin") });
    skinner.record(&mut encoder);
    queue.submit([encoder.finish()]);
    (0..parts.len()).map(|part| read_vertices(device, queue, &skinner.vertices(id, part)?)).collect()
}

/// The file's own vertices, primitive after primitive.
fn write_npz(
    out: &mut dyn Sink,
    character: &Character,
    primitives: &[FilePrimitive],
    skinned: &[SkinnedVertices],
) -> Outcome {
    let (mut positions, mut normals, mut tangents, mut rows) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for primitive in primitives {
        let part = &skinned[primitive.part];
        let mesh = &character.meshes[character.parts[primitive.part].mesh];
        let authored = mesh.primitives[primitive.primitive].authored_tangents;
        let (first, count) = (positions.len() as u32, primitive.vertices.len() as u32);
        rows.push([primitive.node as u32, primitive.index as u32, first, count]);
        for &v in &primitive.vertices {
            positions.push(part.positions[v as usize]);
            normals.push(part.normals[v as usize]);
            tangents.push(if authored { part.tangents[v as usize] } else { [f32::NAN; 4] });
        }
    }
    let mut npz = NpzWriter::new(out);
    array(&mut npz, "positions", &positions)?;
    array(&mut npz, "normals", &normals)?;
    array(&mut npz, "tangents", &tangents)?;
    array(&mut npz, "primitives", &rows)?;
    npz.zip_writer().finish()?;
    Ok(())
}

fn array<W, T, const N: usize>(npz: &mut NpzWriter<W>, name: &str, rows: &[[T; N]]) -> Outcome
where
    W: std::io::Write + std::io::Seek,
    T: npyz::AutoSerialize + Copy,
{
    // Stored, with a fixed date: the same vertices give the same file.
    let options = FileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .last_modified_time(DateTime::default())
        .large_file(true);
    let shape = [rows.len() as u64, N as u64];
    let mut writer = npz.array(name, options)?.default_dtype().shape(&shape).begin_nd()?;
    writer.extend(rows.iter().flatten().copied())?;
    writer.finish()?;
    Ok(())
}
