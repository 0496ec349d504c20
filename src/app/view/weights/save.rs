//! The weights into a copy of the file they came from.

use std::error::Error;
use std::path::Path;

use super::Weights;
use crate::app::output;
use crate::app::view::source::Source;

impl Weights {
    /// Writes a copy of `source` with the weights on show: everything else in it stays as it is. Meshes that are neither
    /// pruned nor edited keep their bytes. Returns warnings.
    pub fn save(&self, source: &Source, target: &Path) -> Result<Vec<String>, Box<dyn Error>> {
        let like_glb =
            target.extension().is_some_and(|e| e.eq_ignore_ascii_case("glb") || e.eq_ignore_ascii_case("vrm"));
        if !like_glb {
            return Err(format!("{}: the name must end in .glb or .vrm", target.display()).into());
        }
        output::check(target, source.path().as_slice(), false)?;
        let mut edit = source.edit()?;
        for (at, sheet) in self.sheets.iter().enumerate() {
            if self.prune || self.editors[at].can_undo() {
                let stored = sheet.store(&self.full[at], &self.settings, self.prune)?;
                sheet.put(&mut edit, &stored)?;
            }
        }
        let warnings = edit.warnings().to_vec();
        let glb = edit.to_glb()?;
        output::write(target, |out| Ok(out.write_all(&glb)?))?;
        Ok(warnings)
    }
}
