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
