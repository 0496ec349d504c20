//! A list of rig nodes with inverse binds.

use crate::character::Rig;
use crate::math::Affine;
use crate::{Error, Result};

/// What vertices name joints in: rig nodes with the maps from the mesh's space into each joint's rest frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Skin {
    /// Name for people.
    pub name: String,
    /// Rig node of each joint.
    pub joints: Vec<usize>,
    /// Inverse bind of each joint; as many as `joints`.
    pub inverse_binds: Vec<Affine>,
}

impl Skin {
    /// Checks lengths, ranges and finiteness against the rig.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::OutOfRange`], [`Error::NotFinite`].
    pub fn validate(&self, rig: &Rig) -> Result<()> {
        if self.joints.is_empty() {
            return Err(Error::LengthMismatch { what: "a skin's joint list", found: 0, expected: 1 });
        }
        if self.inverse_binds.len() != self.joints.len() {
            return Err(Error::LengthMismatch {
                what: "inverse binds",
                found: self.inverse_binds.len(),
                expected: self.joints.len(),
            });
        }
        if let Some(&joint) = self.joints.iter().find(|&&j| j >= rig.nodes.len()) {
            return Err(Error::OutOfRange { what: "rig node", index: joint, count: rig.nodes.len() });
        }
        match self.inverse_binds.iter().position(|m| !m.is_finite()) {
            Some(index) => Err(Error::NotFinite { what: "inverse bind", index }),
            None => Ok(()),
        }
    }
}
