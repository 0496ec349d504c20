//! Writing results: never over the input by accident, never half.

use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Seek, Write};
use std::path::Path;

/// Refuses an output whose folder does not exist, before anything is computed for it, or that is one of the inputs, unless
/// `force`.
pub fn check(output: &Path, inputs: &[&Path], force: bool) -> Result<(), Box<dyn Error>> {
    if let Some(folder) = output.parent().filter(|f| !f.as_os_str().is_empty() && !f.is_dir()) {
        return Err(format!("{}: there is no folder {}", output.display(), folder.display()).into());
    }
    let Ok(target) = output.canonicalize() else { return Ok(()) };
    if target.is_dir() {
        return Err(format!("{}: is a folder", output.display()).into());
    }
    if !force && inputs.iter().any(|i| i.canonicalize().is_ok_and(|i| i == target)) {
        return Err(format!("{}: is the input itself; --force overwrites it", output.display()).into());
    }
    Ok(())
}

/// True when two outputs, which need not exist yet, are the same file.
pub fn same(a: &Path, b: &Path) -> bool {
    let place = |p: &Path| {
        let folder = p.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
        p.canonicalize().ok().or_else(|| Some(folder.canonicalize().ok()?.join(p.file_name()?)))
    };
    place(a).is_some_and(|a| place(b) == Some(a))
}

/// Writes a line to the standard output. Not `println!`: a full disk is an error, and a reader that has seen enough
/// (`| head`) is none.
pub fn say(text: &str) -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(format!("standard output: {e}").into()),
        _ => Ok(()),
    }
}

/// What a result is written to.
pub trait Sink: Write + Seek {}

impl<T: Write + Seek> Sink for T {}

/// Writes a file through a temporary one beside it, so that a failure leaves what was there before.
pub fn write(
    path: &Path,
    fill: impl FnOnce(&mut dyn Sink) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let fail = |e: std::io::Error| format!("{}: {e}", path.display());
    // Through a link: the file it points to is replaced, not the link. A device is written to as it is.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let special = fs::metadata(&target).is_ok_and(|m| !m.is_file());
    if special {
        let mut buffer = std::io::Cursor::new(Vec::new());
        fill(&mut buffer)?;
        return Ok(fs::write(&target, buffer.into_inner()).map_err(fail)?);
    }
    let name = target.file_name().ok_or_else(|| format!("{}: names no file", path.display()))?;
    let temporary = target.with_file_name(format!(".{}.{}.part", name.to_string_lossy(), std::process::id()));
    let result = (|| {
        let file = OpenOptions::new().write(true).create_new(true).open(&temporary).map_err(fail)?;
        let mut out = BufWriter::new(file);
        fill(&mut out)?;
        let file: File = out.into_inner().map_err(|e| fail(e.into_error()))?;
        file.sync_all().map_err(fail)?;
        Ok(fs::rename(&temporary, &target).map_err(fail)?)
    })();
    if result.is_err() {
        // Already on the way out with the first error; a leftover that cannot be removed is no news.
        let _ = fs::remove_file(&temporary);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("dermis-output-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_failure_leaves_what_was_there() {
        let folder = folder("failure");
        let path = folder.join("out.bin");
        fs::write(&path, b"old").unwrap();
        let failed = write(&path, |out| {
            out.write_all(b"half")?;
            Err("broke".into())
        });
        let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        let old = fs::read(&path).unwrap();
        let done = write(&path, |out| Ok(out.write_all(b"new")?));
        let new = fs::read(&path).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(failed.unwrap_err().to_string(), "broke");
        assert_eq!(left, ["out.bin"]);
        assert_eq!(old, b"old");
        assert!(done.is_ok());
        assert_eq!(new, b"new");
    }

    #[test]
    fn the_input_is_not_overwritten_unless_forced() {
        let folder = folder("input");
        let input = folder.join("in.glb");
        fs::write(&input, b"in").unwrap();
        let roundabout = folder.join("../").join(folder.file_name().unwrap()).join("in.glb");
        let answers = (
            check(&input, &[&input], false).is_err(),
            check(&roundabout, &[&input], false).is_err(),
            check(&input, &[&input], true).is_ok(),
            check(&folder.join("other.glb"), &[&input], false).is_ok(),
            check(&folder, &[&input], true).is_err(),
        );
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(answers, (true, true, true, true, true));
    }
}
