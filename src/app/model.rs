//! What commands take as MODEL and `--clip`.

use std::error::Error;
use std::path::Path;

use dermis::Character;
use dermis::hand::{BuiltHands, HandOptions, hands};

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

/// Refuses the built-in hands where a command changes a file.
pub fn needs_file(model: &Path) -> Result<(), String> {
    if is_hand(model) {
        return Err("hand: the built-in hands are not a file to change; give a .glb, .gltf or .vrm file here".into());
    }
    Ok(())
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
