//! Built-in hands (feature `hand`): a character made in code by the crate's own pipeline.

mod anatomy;
mod field;
mod sdf;
mod skeleton;
mod surface;
#[cfg(test)]
mod tests;

use anatomy::{Anatomy, JOINTS};
use field::Field;
use glam::Vec3;
use skeleton::{HANDS, mirrored, place};
use surface::Surface;

use crate::character::{Material, Mesh, Part, Primitive};
use crate::influence::bind::skin_at_rest;
use crate::influence::{
    Displacement, Influence, Influences, Moving, PruneContext, PruneOptions, Report, Symmetry, clean, displacement,
    prune,
};
use crate::{Affine, Character, Error, Result};

/// How the hands are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandOptions {
    /// Length of the surface's edges, metres, 0.0015…0.006. Default 0.0022: about 11,000 vertices a hand.
    pub edge: f32,
    /// Influences kept per vertex, 1…8. Default 4.
    pub max_influences: usize,
}

impl Default for HandOptions {
    fn default() -> Self {
        Self { edge: 0.0022, max_influences: 4 }
    }
}

/// Hands, and what making their influences did.
#[derive(Clone, Debug, Default)]
pub struct BuiltHands {
    /// Both hands: one mesh, one skin of 2 × 25 joints.
    pub character: Character,
    /// What pruning the bound influences did.
    pub report: Report,
}

/// Makes both hands.
///
/// # Errors
/// [`Error::InvalidParameter`] for options out of range.
pub fn hands(options: &HandOptions) -> Result<BuiltHands> {
    if !(0.0015..=0.006).contains(&options.edge) {
        let value = options.edge.to_string();
        return Err(Error::InvalidParameter {
            what: "the edge of a hand's surface", value, expected: "0.0015…0.006"
        });
    }
    let anatomy = Anatomy::new();
    let field = Field::new(&anatomy);
    let surface = Surface::new(&field, options.edge * 1e3);
    let rig = skeleton::rig(&anatomy);
    let bound = skeleton::bind(&rig, &surface)?;
    let joints: Vec<usize> = (0..rig.nodes.len()).collect();
    let skin = skin_at_rest("hands", &rig, &joints, &Affine::IDENTITY)?;

    let mut mesh = Mesh { name: "hands".into(), ..Mesh::default() };
    let mut influences: Vec<Vec<Influence>> = Vec::new();
    for (first, side) in HANDS {
        let left = side == "left";
        let start = mesh.positions.len();
        let indices = mesh.indices.len();
        let turn = |v: Vec3| if left { mirrored(v) } else { v }.to_array();
        mesh.positions.extend(surface.positions.iter().map(|&p| turn(place(p))));
        mesh.normals.extend(surface.normals.iter().map(|&n| turn(n)));
        for n in &surface.normals {
            let t = n.any_orthonormal_vector();
            let t = turn(t);
            mesh.tangents.push([t[0], t[1], t[2], 1.0]);
        }
        for v in 0..surface.positions.len() {
            let row = bound.influences.of(v).iter();
            influences.push(row.map(|i| Influence { joint: i.joint + first as u32, ..*i }).collect());
        }
        for &[a, b, c] in &surface.triangles {
            let t = if left { [a, c, b] } else { [a, b, c] };
            mesh.indices.extend(t.map(|i| i + start as u32));
        }
        mesh.primitives.push(Primitive {
            index: mesh.primitives.len(),
            vertices: start..mesh.positions.len(),
            indices: indices..mesh.indices.len(),
            material: 0,
            ..Primitive::default()
        });
    }
    let full = Influences::from_vertices(influences.iter().map(Vec::as_slice));
    let (full, cleaned) = clean(&full, 2 * JOINTS)?;
    let symmetry = Symmetry::of_skin(&rig, &skin);
    let context =
        PruneContext { positions: &mesh.positions, indices: &mesh.indices, priority: &[], symmetry: symmetry.as_ref() };
    let pruned = prune(&full, &PruneOptions { max: options.max_influences, ..PruneOptions::default() }, &context)?;
    let moving = Moving { rig: &rig, skin: &skin, positions: &mesh.positions, clips: &[] };
    let displacement = Displacement { mesh: mesh.name.clone(), ..displacement(&moving, &full, &pruned.influences)? };
    let report = Report { cleaned, prune: pruned.report, displacement: Some(displacement) };
    mesh.influences = pruned.influences;
    let character = Character {
        name: "hand".into(),
        rig,
        skins: vec![skin],
        meshes: vec![mesh],
        parts: vec![Part { name: "hands".into(), ..Part::default() }],
        materials: vec![Material {
            name: "skin".into(),
            base_color: [0.76, 0.47, 0.36, 1.0],
            metallic: 0.0,
            roughness: 0.55,
            ..Material::default()
        }],
        warnings: bound.warnings,
        ..Character::default()
    };
    Ok(BuiltHands { character, report })
}
