//! Built-in hands (feature `hand`): a character made in code by the crate's own pipeline.
//!
//! Bone lengths after Buryanov & Kotiuk (2010) carry an implicit model (round cones and ellipsoids with a fillet each) that
//! surface nets turn into triangles; [`bind::heat`](crate::influence::bind::heat) with its default options makes the
//! influences and [`prune`] keeps a few; charts are flattened as rigidly as possible (Liu et al. 2008) and painted texel by
//! texel where each lies on the hand. The left hand is the right one's mirror image, to the bit.
//!
//! Both hands stand upright, palms to +Z, the left at +X, their wrists' stumps on y = 0. Joints have WebXR's names with
//! `_left` and `_right` (`index-finger-phalanx-proximal_left`) and WebXR's axes: −Z along the bone, +Y out of the back.

mod anatomy;
mod atlas;
mod charts;
mod clips;
mod field;
mod nails;
mod paint;
mod sdf;
mod skeleton;
mod surface;
#[cfg(test)]
mod tests;
mod unwrap;

use anatomy::{Anatomy, FIRST, JOINTS};
use field::Field;
use glam::{Vec2, Vec3, Vec4};
use skeleton::{HANDS, mirrored, place};
use surface::Surface;

use crate::character::{Material, Mesh, Part, Primitive, Sampler, TextureRef, Wrap};
use crate::influence::bind::skin_at_rest;
use crate::influence::{
    Displacement, Influence, Influences, Moving, PruneContext, PruneOptions, Report, Symmetry, clean, displacement,
    prune,
};
use crate::{Affine, Character, Error, Result};

/// How the hands are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandOptions {
    /// Length of the surface's edges, metres, 0.0015…0.006. Default 0.0025: about 12,000 vertices a hand.
    pub edge: f32,
    /// Influences kept per vertex, 1…8. Default 4.
    pub max_influences: usize,
    /// Pixels across and down of the pictures, 64…8192. Default 1024.
    pub texture: u32,
}

impl Default for HandOptions {
    fn default() -> Self {
        Self { edge: 0.0025, max_influences: 4, texture: 1024 }
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

/// Makes both hands: the same for the same options. Takes about a second (and holds nothing afterwards).
///
/// The character has one mesh of four primitives (skin and nails of the left hand, then of the right one), three pictures
/// (colour, normals, roughness) that both hands share, and two looping clips. The skin is closed; nails are open plates whose
/// borders lie in the skin and that follow the last bone alone.
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
    if !(64..=8192).contains(&options.texture) {
        let value = options.texture.to_string();
        return Err(Error::InvalidParameter { what: "the size of a hand's pictures", value, expected: "64…8192" });
    }
    let anatomy = Anatomy::new();
    let field = Field::new(&anatomy);
    let surface = Surface::new(&field, options.edge * 1e3);
    let rig = skeleton::rig(&anatomy);
    let bound = skeleton::bind(&rig, &surface)?;
    let joints: Vec<usize> = (0..rig.nodes.len()).collect();
    let skin = skin_at_rest("hands", &rig, &joints, &Affine::IDENTITY)?;

    let labels = charts::charts(&anatomy, &field, &surface);
    let atlas = atlas::unfold(&anatomy, &surface, &labels);
    let pictures = paint::paint(&anatomy, &surface, &atlas, options.texture);

    let mut right = Half::default();
    for (&source, &uv) in atlas.source.iter().zip(&atlas.uvs) {
        let i = source as usize;
        right.push(surface.positions[i], surface.normals[i], uv, bound.influences.of(i).to_vec());
    }
    right.triangles = atlas.triangles.clone();
    right.skin = (right.positions.len(), right.triangles.len());
    for (finger, [corner, size]) in atlas.nails.into_iter().enumerate() {
        let nail = nails::nail(&anatomy, &field, finger);
        let first = right.positions.len() as u32;
        // The plate is stiff: it goes with the last bone.
        let joint = FIRST[finger] as u32 + if finger == 0 { 2 } else { 3 };
        for ((&p, &n), &uv) in nail.positions.iter().zip(&nail.normals).zip(&nail.uvs) {
            right.push(p, n, corner + uv * size, vec![Influence { joint, weight: 1.0 }]);
        }
        right.triangles.extend(nail.triangles.iter().map(|t| t.map(|i| i + first)));
    }
    right.find_tangents();
    let mut mesh = Mesh { name: "hands".into(), ..Mesh::default() };
    let mut influences: Vec<Vec<Influence>> = Vec::new();
    for (first, side) in HANDS {
        right.add_to(&mut mesh, &mut influences, first as u32, side == "left");
    }
    let full = Influences::from_vertices(influences.iter().map(Vec::as_slice));
    let (full, cleaned) = clean(&full, 2 * JOINTS)?;
    let symmetry = Symmetry::of_skin(&rig, &skin);
    let context =
        PruneContext { positions: &mesh.positions, indices: &mesh.indices, priority: &[], symmetry: symmetry.as_ref() };
    let pruned = prune(&full, &PruneOptions { max: options.max_influences, ..PruneOptions::default() }, &context)?;
    let clips = clips::clips(&rig)?;
    let moving = Moving { rig: &rig, skin: &skin, positions: &mesh.positions, clips: &clips };
    let displacement = Displacement { mesh: mesh.name.clone(), ..displacement(&moving, &full, &pruned.influences)? };
    let report = Report { cleaned, prune: pruned.report, displacement: Some(displacement) };
    mesh.influences = pruned.influences;
    // A file of it has the joints first.
    let node = rig.nodes.len();
    let character = Character {
        name: "hand".into(),
        rig,
        skins: vec![skin],
        meshes: vec![mesh],
        parts: vec![Part { name: "hands".into(), node, ..Part::default() }],
        clips,
        materials: vec![material("skin", 1.0), material("nails", 1.0)],
        images: vec![pictures.color, pictures.normal, pictures.roughness],
        warnings: bound.warnings,
        ..Character::default()
    };
    Ok(BuiltHands { character, report })
}

/// A surface of the atlas' pictures.
fn material(name: &str, normal_scale: f32) -> Material {
    let picture = |image| {
        let sampler = Sampler { wrap_u: Wrap::Clamp, wrap_v: Wrap::Clamp, ..Sampler::default() };
        Some(TextureRef { image, sampler, ..TextureRef::default() })
    };
    Material {
        name: name.into(),
        base_color_texture: picture(0),
        normal_texture: picture(1),
        normal_scale,
        metallic_roughness_texture: picture(2),
        metallic: 0.0,
        ..Material::default()
    }
}

/// The right hand's vertices, millimetres.
#[derive(Clone, Debug, Default)]
struct Half {
    positions: Vec<Vec3>,
    normals: Vec<Vec3>,
    tangents: Vec<Vec4>,
    uvs: Vec<Vec2>,
    influences: Vec<Vec<Influence>>,
    triangles: Vec<[u32; 3]>,
    /// Vertices and triangles that are skin; the rest are nails.
    skin: (usize, usize),
}

impl Half {
    fn push(&mut self, position: Vec3, normal: Vec3, uv: Vec2, influences: Vec<Influence>) {
        self.positions.push(position);
        self.normals.push(normal);
        self.uvs.push(uv);
        self.influences.push(influences);
    }

    /// Along growing u, square to the normal; w says which way v falls.
    fn find_tangents(&mut self) {
        let mut sums = vec![[Vec3::ZERO; 2]; self.positions.len()];
        for t in &self.triangles {
            let [p, q, r] = t.map(|i| self.positions[i as usize]);
            let [a, b, c] = t.map(|i| self.uvs[i as usize]);
            let (e, f, g, h) = (q - p, r - p, b - a, c - a);
            let area = g.perp_dot(h);
            if area.abs() < 1e-12 {
                continue;
            }
            // By area in space: the inverse area in the picture would let slivers rule.
            let weight = e.cross(f).length();
            let along_u = ((e * h.y - f * g.y) / area).normalize_or_zero() * weight;
            let along_v = ((f * g.x - e * h.x) / area).normalize_or_zero() * weight;
            for &i in t {
                sums[i as usize][0] += along_u;
                sums[i as usize][1] += along_v;
            }
        }
        let tangent = |(n, [u, v]): (&Vec3, &[Vec3; 2])| {
            let t = (*u - *n * n.dot(*u)).normalize_or(n.any_orthonormal_vector());
            // The bitangent n × t · w points up in the picture, where v falls.
            t.extend(if n.cross(t).dot(*v) > 0.0 { -1.0 } else { 1.0 })
        };
        self.tangents = self.normals.iter().zip(&sums).map(tangent).collect();
    }

    /// Adds this hand, or its mirror image.
    fn add_to(&self, mesh: &mut Mesh, influences: &mut Vec<Vec<Influence>>, first: u32, mirror: bool) {
        let turn = |v: Vec3| if mirror { mirrored(v) } else { v }.to_array();
        let start = mesh.positions.len();
        mesh.positions.extend(self.positions.iter().map(|&p| turn(place(p))));
        mesh.normals.extend(self.normals.iter().map(|&n| turn(n)));
        for t in &self.tangents {
            let [x, y, z] = turn(t.truncate());
            mesh.tangents.push([x, y, z, if mirror { -t.w } else { t.w }]);
        }
        mesh.uvs[0].extend(self.uvs.iter().map(|uv| uv.to_array()));
        let moved = |i: &Influence| Influence { joint: i.joint + first, ..*i };
        influences.extend(self.influences.iter().map(|row| row.iter().map(moved).collect()));
        let (vertices, triangles) = (self.positions.len(), self.triangles.len());
        let ranges = [(0..self.skin.0, 0..self.skin.1), (self.skin.0..vertices, self.skin.1..triangles)];
        for (material, (vertices, triangles)) in ranges.into_iter().enumerate() {
            let indices = mesh.indices.len();
            for &[a, b, c] in &self.triangles[triangles] {
                let t = if mirror { [a, c, b] } else { [a, b, c] };
                mesh.indices.extend(t.map(|i| i + start as u32));
            }
            mesh.primitives.push(Primitive {
                index: mesh.primitives.len(),
                vertices: start + vertices.start..start + vertices.end,
                indices: indices..mesh.indices.len(),
                material,
                authored_tangents: true,
                ..Primitive::default()
            });
        }
    }
}
