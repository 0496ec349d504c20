//! What the tab reads and writes.

use std::path::{Path, PathBuf};

use dermis::Character;
use dermis::pose::PoseSpaceFile;

use super::desk::Desk;
use super::desk_ui::Wish;
use crate::app::output;
use crate::app::view::jobs::Job;
use crate::app::view::mode::Context;

/// Largest pose space file, bytes.
const LARGEST: u64 = 16 << 20;

/// Asks where.
pub fn ask(wish: Wish, desk: &Desk, context: &Context<'_>) -> Job<Option<PathBuf>> {
    let stem = context.stage.character.name.replace(['/', '\\'], "-");
    let file = desk.file.as_deref().and_then(Path::file_name).map(|n| n.to_string_lossy().into_owned());
    match wish {
        Wish::OpenSpace => context.jobs.open_file("Open a pose space", "Pose spaces", &["json"]),
        Wish::SaveSpace => {
            let name = file.unwrap_or_else(|| format!("{}.json", desk.setup.space.name().replace(' ', "-")));
            context.jobs.save_file("Save the pose space", "Pose spaces", &["json"], &name)
        }
        Wish::SavePose => context.jobs.save_file("Save the pose", "Poses", &["json"], &format!("{stem}-pose.json")),
        Wish::Texture(_) => context.jobs.open_file("A texture for the pose", "Pictures", &["png", "jpg", "jpeg"]),
        Wish::SaveModel => {
            context.jobs.save_file("Save a posed copy", "glTF models", &["glb"], &format!("{stem}-posed.glb"))
        }
    }
}

/// Reads or writes the file; says what was done. Not for textures, which are no more than chosen.
pub fn fulfil(wish: Wish, desk: &mut Desk, context: &Context<'_>, path: &Path) -> Result<String, String> {
    let character = &context.stage.character;
    match wish {
        Wish::OpenSpace => open(desk, character, path).map(|()| format!("Opened {}", path.display())),
        Wish::SaveSpace => save(desk, character, path),
        Wish::Texture(_) => Ok(String::new()),
        Wish::SavePose => {
            let setup = &desk.setup;
            let value = crate::app::pose::answer(character, &setup.space, &setup.state, &desk.blended);
            write(path, format!("{value:#}\n").as_bytes())
        }
        Wish::SaveModel => {
            let source = context.origin();
            output::check(path, source.path().as_slice(), false).map_err(|e| e.to_string())?;
            let mut edit = source.edit().map_err(|e| e.to_string())?;
            edit.set_pose(&character.rig, &desk.blended.pose, "pose").map_err(|e| e.to_string())?;
            let warnings = edit.warnings().join("; ");
            let bytes = edit.to_glb().map_err(|e| e.to_string())?;
            let note = write(path, &bytes)?;
            Ok(if warnings.is_empty() { note } else { format!("{note} ({warnings})") })
        }
    }
}

/// Reads a pose space.
pub fn open(desk: &mut Desk, character: &Character, path: &Path) -> Result<(), String> {
    let fail = |e: std::io::Error| format!("{}: {e}", path.display());
    let about = std::fs::metadata(path).map_err(fail)?;
    if !about.is_file() || about.len() > LARGEST {
        return Err(format!("{}: is not a file of at most {} MiB", path.display(), LARGEST >> 20));
    }
    let bytes = std::fs::read(path).map_err(fail)?;
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let file = PoseSpaceFile::parse(&name, &bytes).map_err(|e| e.to_string())?;
    let descriptor = file.descriptor(character, desk.hands.as_ref(), None).map_err(|e| e.to_string())?;
    desk.open(character, descriptor, path.to_owned())
}

/// Writes the pose space, and beside it the pictures that were chosen for its poses.
pub fn save(desk: &mut Desk, character: &Character, path: &Path) -> Result<String, String> {
    let text = desk.setup.descriptor.to_json(character).map_err(|e| e.to_string())?;
    let used = |name: &str| desk.setup.space.samples().iter().any(|s| s.texture.as_deref() == Some(name));
    let own = |name: &str| character.images.iter().any(|i| i.name == name);
    for (name, picture) in desk.chosen_pictures.iter().filter(|c| used(&c.0) && !own(&c.0)) {
        beside(path, name, picture)?;
    }
    let note = write(path, text.as_bytes())?;
    (desk.saved, desk.file) = (desk.setup.descriptor.clone(), Some(path.to_owned()));
    Ok(note)
}

/// Copies a picture into the folder of the pose space, unless it is there.
fn beside(space: &Path, name: &str, picture: &Path) -> Result<(), String> {
    let target = space.with_file_name(name);
    if output::same(&target, picture) {
        return Ok(());
    }
    let bytes = std::fs::read(picture).map_err(|e| format!("{}: {e}", picture.display()))?;
    match std::fs::read(&target) {
        Ok(old) if old == bytes => Ok(()),
        Ok(_) => Err(format!("{}: is another picture; give the one for the pose another name", target.display())),
        Err(_) => write(&target, &bytes).map(drop),
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<String, String> {
    output::write(path, |to| Ok(to.write_all(bytes)?)).map_err(|e| e.to_string())?;
    Ok(format!("Saved {}", path.display()))
}
