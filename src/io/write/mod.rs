//! Characters as GLBs: all that they hold, or their vertices in one pose.

mod attributes;
mod bake;
mod clips;
mod meshes;
mod nodes;
mod surfaces;

use serde_json::json;

use super::glb::Glb;
use crate::{Character, Error, Result};

pub use bake::bake_glb;

/// The whole of `character` as a glTF 2.0 binary: nodes, skins with inverse binds, meshes with every vertex attribute and
/// any number of influences, morph targets, materials with their pictures (as PNG), and clips.
///
/// [`load_bytes`](super::load_bytes) gives the same numbers back, bit for bit. Node `i` of the file is rig node `i` and parts
/// come after the rig, unless [`RigNode::source`](crate::character::RigNode::source) and
/// [`Part::node`](crate::character::Part::node) say another order; where they count like that, as in [`crate::hand`], the
/// character stands for the file, and [`FileEdit`](super::FileEdit) can change the one by the other.
///
/// What differs when it is read again:
/// - Joints of a skin that have no common ancestor, which glTF asks for, get one, with the character's name.
/// - A node with a [`base`](crate::character::RigNode::base) that is also turned or animated becomes two, the base above;
///   the base is a matrix, though glTF asks for matrices without shear.
/// - Tangents are written where they were authored, and for normal maps and morph targets that need them: there they
///   count as authored, and vertices that reading had split stay apart.
/// - Influences go through [`clean`](crate::influence::clean). A part that is [`rigid`](crate::character::Part::rigid) but
///   has an inverse bind is shown under its skin.
/// - Of several channels for one target the last is kept; a clip without any is left out, and a clip lasts as long as
///   its last key. Keys at the same time are moved apart by the smallest step a number can make.
/// - Texture coordinates 1 without set 0 get a set 0 of zeros.
/// - Vertices that no triangle uses are written as points if their primitive has no triangles; vertices outside all
///   primitives are left out. A mesh without primitives is one primitive.
///
/// A character does not hold, and so the file does not have, what else a file may: cameras, lights, extensions and
/// extras, further texture coordinates and colours, parts of a material that dermis does not draw, and nodes that nothing
/// hangs on. [`humanoid`](Character::humanoid) stays behind too: VRM's table comes with licence terms that are not ours to
/// state. To change a file and keep all of it, use [`FileEdit`](super::FileEdit).
///
/// # Errors
/// What the types' own checks refuse ([`Rig::validate`](crate::character::Rig::validate) and so on),
/// [`Error::OutOfRange`] for an index to nothing and a joint past 65535, [`Error::NotFinite`] for a number that no file can
/// hold, [`Error::LengthMismatch`] for an image of another size or morph weights that do not fit, and [`Error::Format`]
/// for a key before 0 s and a file past 4 GiB.
pub fn write_glb(character: &Character) -> Result<Vec<u8>> {
    check(character)?;
    let layout = nodes::Layout::new(character)?;
    let mut glb = begin();
    let meshes = meshes::put(&mut glb, character, &layout)?;
    layout.put(&mut glb, character, &meshes)?;
    clips::put(&mut glb, character, &layout)?;
    surfaces::put(&mut glb, character)?;
    Ok(glb.into_bytes()?)
}

fn check(character: &Character) -> Result<()> {
    character.rig.validate()?;
    for skin in &character.skins {
        skin.validate(&character.rig)?;
    }
    for clip in &character.clips {
        clip.validate(&character.rig)?;
    }
    for (index, part) in character.parts.iter().enumerate() {
        let expected = element(&character.meshes, "mesh", part.mesh)?.morphs.len();
        let found = part.morph_weights.len();
        if found > expected {
            return Err(Error::LengthMismatch { what: "a part's morph weights", found, expected });
        }
        if !part.morph_weights.iter().all(|w| w.is_finite()) {
            return Err(Error::NotFinite { what: "morph weight of part", index });
        }
    }
    Ok(())
}

/// A file with nothing in it.
fn begin() -> Glb {
    let mut glb = Glb::default();
    let generator = concat!("dermis ", env!("CARGO_PKG_VERSION"));
    glb.tree.insert("asset".into(), json!({ "version": "2.0", "generator": generator }));
    glb
}

/// Makes nodes the roots of the only scene; there is none without them.
fn scene(glb: &mut Glb, name: &str, roots: &[usize]) {
    if roots.is_empty() {
        return;
    }
    let mut scene = json!({ "nodes": roots });
    if !name.is_empty() {
        scene["name"] = name.into();
    }
    glb.tree.insert("scene".into(), 0.into());
    glb.tree.insert("scenes".into(), json!([scene]));
}

fn element<'a, T>(list: &'a [T], what: &'static str, index: usize) -> Result<&'a T> {
    list.get(index).ok_or(Error::OutOfRange { what, index, count: list.len() })
}
