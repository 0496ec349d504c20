//! Pictures that the samples of a pose space name.

use std::path::{Component, Path, PathBuf};

use dermis::Character;
use dermis::character::Image;
use dermis::pose::PoseSpace;

/// Largest picture file, bytes.
const LARGEST: u64 = 256 << 20;

/// One picture, or none, per sample; `None` when no sample names one. A name is first looked for among the character's own
/// pictures, then among `chosen` files, then as a file in the folder of the pose-space file.
pub fn of_samples(
    space: &PoseSpace,
    character: &Character,
    chosen: &[(String, PathBuf)],
    file: &Path,
) -> Result<Option<Vec<Option<Image>>>, String> {
    if space.samples().iter().all(|s| s.texture.is_none()) {
        return Ok(None);
    }
    let folder = file.parent().unwrap_or(Path::new(""));
    let picture = |pose: &str, name: &str| {
        if let Some(own) = character.images.iter().find(|i| i.name == name) {
            return Ok(own.clone());
        }
        let path = match chosen.iter().find(|c| c.0 == name) {
            Some((_, path)) => Ok(path.clone()),
            None => inside(folder, name),
        };
        path.and_then(|path| read(&path, name)).map_err(|e| format!("poses.{pose}.texture: {name:?} {e}"))
    };
    let pictures = space.samples().iter().map(|s| s.texture.as_deref().map(|name| picture(&s.name, name)).transpose());
    pictures.collect::<Result<_, _>>().map(Some)
}

/// Where the file of that name is inside `folder`.
fn inside(folder: &Path, name: &str) -> Result<PathBuf, String> {
    let inside = !name.contains('\\') && Path::new(name).components().all(|c| matches!(c, Component::Normal(_)));
    if !inside || name.is_empty() {
        return Err("is neither a picture of the model nor a file in the pose space's folder".into());
    }
    let path = folder.join(name);
    let real = |p: &Path| p.canonicalize().map_err(|e| format!("is no picture of the model, and {}: {e}", p.display()));
    let root = real(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })?;
    let file = real(&path)?;
    if !file.starts_with(&root) {
        return Err("is not a file in the pose space's folder".into());
    }
    Ok(file)
}

/// Reads a PNG or JPEG.
pub fn read(path: &Path, name: &str) -> Result<Image, String> {
    let about = std::fs::metadata(path).map_err(|e| e.to_string())?;
    if !about.is_file() || about.len() > LARGEST {
        return Err(format!("is not a file of at most {} MiB", LARGEST >> 20));
    }
    let bytes = std::fs::read(path).map_err(|e| e.to_string())?;
    let rgba = image::load_from_memory(&bytes).map_err(|e| e.to_string())?.into_rgba8();
    Ok(Image { name: name.into(), width: rgba.width(), height: rgba.height(), rgba: rgba.into_raw() })
}
