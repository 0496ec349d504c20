//! Poses into copies of the file they belong to.

use std::error::Error;
use std::path::Path;

use super::Skeleton;
use crate::app::output;

impl Skeleton {
    /// Writes a copy of the character's file in the pose on show, with a clip of one key; returns warnings.
    pub fn save(&self, target: &Path) -> Result<Vec<String>, Box<dyn Error>> {
        let like_glb =
            target.extension().is_some_and(|e| e.eq_ignore_ascii_case("glb") || e.eq_ignore_ascii_case("vrm"));
        if !like_glb {
            return Err(format!("{}: the name must end in .glb or .vrm", target.display()).into());
        }
        // What was made here goes over nothing that it was made of.
        output::check(target, self.source.path().as_slice(), false)?;
        let (glb, warnings) = self.file()?;
        output::write(target, |out| Ok(out.write_all(&glb)?))?;
        Ok(warnings)
    }

    fn file(&self) -> dermis::Result<(Vec<u8>, Vec<String>)> {
        let mut edit = self.source.edit()?;
        if let Some(poser) = &self.poser {
            edit.set_pose(&self.character.rig, poser.pose(), "pose")?;
        }
        let warnings = edit.warnings().to_vec();
        Ok((edit.to_glb()?, warnings))
    }
}
