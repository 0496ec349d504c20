//! What commands take as MODEL and `--clip`.

use std::error::Error;
use std::path::Path;

use dermis::Character;
use dermis::hand::{BuiltHands, HandOptions, hands};
use dermis::io::FileEdit;

/// Loads the model a command was given and prints its warnings.
pub fn load(model: &Path) -> Result<Character, Box<dyn Error>> {
    let character = open(model)?;
    for warning in &character.warnings {
        eprintln!("warning: {warning}");
    }
    Ok(character)
}

/// True for `hand`, unless there is a file of that name.
pub fn is_hand(model: &Path) -> bool {
    model == Path::new("hand") && !model.exists()
}

/// The built-in hands.
pub fn hand() -> dermis::Result<BuiltHands> {
    hands(&HandOptions::default())
}

/// The built-in hands for the viewer's start: says what became of their influences.
pub fn start() -> Result<Character, Box<dyn Error>> {
    let BuiltHands { character, report } = hand()?;
    let vertices: usize = character.meshes.iter().map(|m| m.positions.len()).sum();
    let report = report.to_string();
    let lines: Vec<&str> = report.lines().take(2).collect();
    super::output::say(&format!("hand: {vertices} vertices, {}", lines.join("; ")))?;
    Ok(character)
}

/// The file that a loaded model came from, for a command that changes a copy of it; of the built-in hands, the file they
/// would be.
pub fn edit(model: &Path, character: &Character) -> dermis::Result<FileEdit> {
    if is_hand(model) { edit_of(character) } else { FileEdit::open(model) }
}

/// A character that is in no file, as the file it would be.
pub fn edit_of(character: &Character) -> dermis::Result<FileEdit> {
    edit_of_glb(&character.name, &dermis::io::write_glb(character)?)
}

/// A GLB that was made here.
pub fn edit_of_glb(name: &str, glb: &[u8]) -> dermis::Result<FileEdit> {
    FileEdit::from_bytes(name, glb, &mut |uri| Err(format!("{uri}: is not inside the file")))
}

/// Loads a model quietly.
pub fn open(model: &Path) -> Result<Character, Box<dyn Error>> {
    if is_hand(model) {
        return Ok(hand()?.character);
    }
    Ok(dermis::io::load(model)?)
}

/// The clip that `--clip` names by index or by name.
pub fn clip(character: &Character, wanted: &str) -> Result<usize, dermis::Error> {
    let clips = &character.clips;
    if let Ok(index) = wanted.parse::<usize>()
        && index < clips.len()
    {
        return Ok(index);
    }
    clips.iter().position(|c| c.name == wanted).ok_or_else(|| {
        let names: Vec<String> = clips.iter().enumerate().map(|(i, c)| format!("{i} {:?}", c.name)).collect();
        let found = if names.is_empty() { "no clips".into() } else { names.join(", ") };
        dermis::Error::UnknownName { what: "clip", name: wanted.into(), found }
    })
}
