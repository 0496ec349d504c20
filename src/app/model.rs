//! What commands take as MODEL and `--clip`.

use std::error::Error;
use std::path::Path;

use dermis::Character;

/// Loads the model a command was given and prints its warnings.
pub fn load(model: &Path) -> Result<Character, Box<dyn Error>> {
    let character = open(model)?;
    for warning in &character.warnings {
        eprintln!("warning: {warning}");
    }
    Ok(character)
}

/// Loads a model quietly.
pub fn open(model: &Path) -> Result<Character, Box<dyn Error>> {
    if model == Path::new("hand") && !model.exists() {
        return Err("the built-in hand is only for `dermis view` and `dermis render`; give a file here".into());
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
