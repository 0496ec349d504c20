//! What the tabs of the viewer have in common.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dermis::render::Renderer;

use super::camera::Orbit;
use super::jobs::Jobs;
use super::projection::Projection;
use super::scene::Stage;
use super::source::Source;
use super::thumbnail::Textures;
use crate::app::device::Opened;

/// A tab: a way of working with the character on the stage. Only the first three methods are needed; see `view.rs` for when
/// each is called.
pub trait Mode {
    /// The tab's label; one word.
    fn name(&self) -> &'static str;

    /// Draws the side panel below the tabs and changes what the user changes.
    fn panel(&mut self, ui: &mut egui::Ui, context: &mut Context<'_>);

    /// The mode's tab was chosen, or a character was loaded while it was: drive the stage. One character is shown, in its
    /// rest pose.
    fn enter(&mut self, context: &mut Context<'_>);

    /// Another tab was chosen. What is shown is put back afterwards.
    fn leave(&mut self, _context: &mut Context<'_>) {}

    /// Another character is on the stage: forget what belonged to the one before. Called for every mode.
    fn loaded(&mut self, _context: &mut Context<'_>) {}

    /// Moves on by `step` seconds, before anything is drawn; true when something moves, so that another frame follows.
    fn tick(&mut self, _step: f64, _context: &mut Context<'_>) -> bool {
        false
    }

    /// Clicks and drags on the picture, before the camera gets them; true keeps them from it.
    fn pointer(&mut self, _response: &egui::Response, _context: &mut Context<'_>) -> bool {
        false
    }

    /// Draws over the picture with egui; `ui` covers the picture. What it puts there, such as handles (`ui.interact`), lies
    /// above the camera's reach.
    fn overlay(&mut self, _ui: &mut egui::Ui, _context: &mut Context<'_>) {}

    /// The part of the picture that lies under a window of the mode: characters are framed beside it.
    fn covered(&self) -> Option<egui::Rect> {
        None
    }

    /// Keys, when no text is being edited. Consume what is used (`input.consume_key`); lists of them are in [`Mode::help`].
    fn keys(&mut self, _input: &mut egui::InputState, _context: &mut Context<'_>) {}

    /// Lines for the help sheet: (keys, what they do).
    fn help(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Takes the last step back (Ctrl+Z); false when there is none.
    fn undo(&mut self, _context: &mut Context<'_>) -> bool {
        false
    }

    /// Does it again (Ctrl+Shift+Z, Ctrl+Y).
    fn redo(&mut self, _context: &mut Context<'_>) -> bool {
        false
    }

    /// What would be lost if the character went away now, such as "edited weights"; `None` when nothing.
    fn unsaved(&self) -> Option<String> {
        None
    }
}

/// What a mode works with.
pub struct Context<'a> {
    /// The character, its skinner and what is shown of it.
    pub stage: &'a mut Stage,
    /// The file the character came from; `None` for a built-in one.
    pub source: Option<&'a Path>,
    /// Where the character is in no file yet: what it was made into here.
    pub made: Option<&'a Made>,
    pub gpu: &'a Arc<Opened>,
    pub renderer: &'a Renderer,
    /// Makes textures known to egui; see [`super::thumbnail::Thumbnail`].
    pub textures: &'a Textures,
    /// How the picture lies in the window (in `overlay`: this frame's, elsewhere the last one's).
    pub projection: Projection,
    pub orbit: &'a mut Orbit,
    /// Starts work on other threads and asks for files.
    pub jobs: &'a Jobs,
    pub messages: &'a mut Messages,
    /// What the window is asked to do after this frame's panels.
    pub requests: &'a mut Vec<Request>,
}

impl Context<'_> {
    /// What a changed copy of the character is made of.
    pub fn origin(&self) -> Source {
        match (self.made, self.source) {
            (Some(made), path) => Source::Made(made.glb.clone(), path.map(Path::to_owned)),
            (None, Some(path)) => Source::File(path.to_owned()),
            (None, None) => Source::Program(self.stage.character.clone()),
        }
    }

    /// Shows an error and goes on.
    pub fn check<T>(&mut self, result: Result<T, impl ToString>) -> Option<T> {
        result.map_err(|e| self.messages.problem = Some(e.to_string())).ok()
    }
}

/// What is said over the picture and at the end of the panel.
#[derive(Default)]
pub struct Messages {
    /// What went wrong, until it is dismissed.
    pub problem: Option<String>,
    /// What was done last, such as where a picture went.
    pub note: Option<String>,
}

/// A model that was made here, as the bytes of a GLB.
#[derive(Clone, PartialEq, Eq)]
pub struct Made {
    /// Name for people.
    pub name: String,
    pub glb: Arc<Vec<u8>>,
}

impl std::fmt::Debug for Made {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Made({:?}, {} bytes)", self.name, self.glb.len())
    }
}

/// What a mode or a menu asks the window for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Show another file, or the built-in hands.
    Open(Option<PathBuf>),
    /// Read the file on show again.
    Reload,
    /// Ask for a file and show it.
    ChooseFile,
    /// Move the camera so that all of the characters is seen.
    FrameAll,
    /// Save what is seen as a PNG.
    Screenshot,
    /// Show a model that was made here and is in no file yet.
    Show(Made),
}
