//! From local poses to the world transforms of a rig and the palettes of its skins, in f64 on the CPU.

use glam::{DMat3, DVec3};

use crate::character::{Rig, Skin};
use crate::math::{Affine, Affine64};
use crate::pose::Pose;
use crate::{Error, Result};

/// World transform of every rig node in character space: `world = parent · base · TRS`, without bone length and thickness
/// but with children moved along lengthened bones.
///
/// # Errors
/// [`Error::LengthMismatch`] when the pose does not have one record per node.
pub fn joint_worlds(rig: &Rig, pose: &Pose) -> Result<Vec<Affine>> {
    let axes = rig.bone_axes();
    let mut worlds = Vec::new();
    worlds64(rig, &axes, pose, &mut worlds)?;
    Ok(worlds.into_iter().map(Affine::from).collect())
}

/// `palette[j] = world[j] · shape[j] · inverse_bind[j]` for every joint of `skin`, in character space.
///
/// # Errors
/// [`Error::LengthMismatch`] when the pose does not have one record per node; those of [`Skin::validate`].
pub fn skin_palette(rig: &Rig, skin: &Skin, pose: &Pose) -> Result<Vec<Affine>> {
    skin.validate(rig)?;
    let axes = rig.bone_axes();
    let mut worlds = Vec::new();
    worlds64(rig, &axes, pose, &mut worlds)?;
    let mut out = vec![Affine::IDENTITY; skin.joints.len()];
    palette64(skin, &axes, pose, &worlds, &mut out);
    Ok(out)
}

/// [`skin_palette`] for many poses of one skin: nothing is allocated after the first.
#[derive(Clone, Debug)]
pub struct SkinPoser<'a> {
    rig: &'a Rig,
    skin: &'a Skin,
    axes: Vec<[f32; 3]>,
    worlds: Vec<Affine64>,
}

impl<'a> SkinPoser<'a> {
    /// # Errors
    /// Those of [`Skin::validate`].
    pub fn new(rig: &'a Rig, skin: &'a Skin) -> Result<Self> {
        skin.validate(rig)?;
        Ok(Self { rig, skin, axes: rig.bone_axes(), worlds: Vec::with_capacity(rig.nodes.len()) })
    }

    /// The palette of `pose` into `out`, one entry per joint of the skin.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] when the pose does not have one record per node or `out` not one entry per joint.
    pub fn palette(&mut self, pose: &Pose, out: &mut [Affine]) -> Result<()> {
        if out.len() != self.skin.joints.len() {
            let (found, expected) = (out.len(), self.skin.joints.len());
            return Err(Error::LengthMismatch { what: "palette", found, expected });
        }
        worlds64(self.rig, &self.axes, pose, &mut self.worlds)?;
        palette64(self.skin, &self.axes, pose, &self.worlds, out);
        Ok(())
    }
}

/// World transforms into a reused vector; nothing is allocated once it has grown.
pub(crate) fn worlds64(rig: &Rig, axes: &[[f32; 3]], pose: &Pose, worlds: &mut Vec<Affine64>) -> Result<()> {
    if pose.joints.len() != rig.nodes.len() {
        return Err(Error::LengthMismatch { what: "pose", found: pose.joints.len(), expected: rig.nodes.len() });
    }
    worlds.clear();
    for (node, joint) in rig.nodes.iter().zip(&pose.joints) {
        let mut local = Affine64::from_trs(joint.rotation, joint.translation, joint.scale);
        if node.base != Affine::IDENTITY {
            local = Affine64::from(&node.base).mul(&local);
        }
        let world = match node.parent {
            None => local,
            Some(parent) => {
                let a = DVec3::from(axes[parent].map(f64::from));
                local.t += a * a.dot(local.t) * (f64::from(pose.joints[parent].length) - 1.0);
                worlds[parent].mul(&local)
            }
        };
        worlds.push(world);
    }
    Ok(())
}

/// Palette of one skin from world transforms, into `out` (one per joint).
pub(crate) fn palette64(skin: &Skin, axes: &[[f32; 3]], pose: &Pose, worlds: &[Affine64], out: &mut [Affine]) {
    for ((&node, inverse_bind), out) in skin.joints.iter().zip(&skin.inverse_binds).zip(out) {
        let joint = &pose.joints[node];
        let mut world = worlds[node];
        if joint.length != 1.0 || joint.thickness != 1.0 {
            world.m *= shape(axes[node], joint.length, joint.thickness);
        }
        *out = world.mul(&Affine64::from(inverse_bind)).into();
    }
}

/// `S = thickness·I + (length − thickness)·aaᵀ`.
fn shape(axis: [f32; 3], length: f32, thickness: f32) -> DMat3 {
    let a = DVec3::from(axis.map(f64::from));
    let (l, t) = (f64::from(length), f64::from(thickness));
    DMat3::from_diagonal(DVec3::splat(t)) + DMat3::from_cols(a * a.x, a * a.y, a * a.z) * (l - t)
}
