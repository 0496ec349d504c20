//! Where a character came from, for tools that write a changed copy.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dermis::Character;
use dermis::io::FileEdit;

use crate::app::model;

/// Where a character came from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// No file: the program made it, as it makes the built-in hands.
    Program(Arc<Character>),
    /// A GLB that was made here and is not saved yet, and the file it was made of, if any.
    Made(Arc<Vec<u8>>, Option<PathBuf>),
}

impl Source {
    /// The file, for changing a copy of it; for a character without one, the file it would be.
    pub fn edit(&self) -> dermis::Result<FileEdit> {
        match self {
            Self::File(path) => FileEdit::open(path),
            Self::Program(character) => model::edit_of(character),
            Self::Made(glb, path) => {
                let name = path.as_deref().and_then(Path::file_name);
                let name = name.map_or_else(|| "model".into(), |n| n.to_string_lossy().into_owned());
                model::edit_of_glb(&name, glb)
            }
        }
    }

    /// The file that must not be overwritten, if there is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Program(_) => None,
            Self::Made(_, path) => path.as_deref(),
        }
    }
}
