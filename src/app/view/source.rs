//! Where a character came from, for tools that write a changed copy.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dermis::io::FileEdit;

/// Where a character came from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// A GLB that was made here and is not saved yet, and the file it was made of.
    Made(Arc<Vec<u8>>, PathBuf),
}

impl Source {
    /// The file, for changing a copy of it.
    pub fn edit(&self) -> dermis::Result<FileEdit> {
        match self {
            Self::File(path) => FileEdit::open(path),
            Self::Made(glb, path) => {
                let name = path.file_name().map_or_else(|| "model".into(), |n| n.to_string_lossy().into_owned());
                FileEdit::from_bytes(&name, glb, &mut |uri| Err(format!("{uri}: is not inside the file")))
            }
        }
    }

    /// The file that must not be overwritten.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Made(_, path) => path,
        }
    }
}
