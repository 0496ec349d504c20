//! Bytes that live outside the JSON: data URIs, and files beside the model (and nowhere else).

use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

use super::{Fetch, LARGEST_FILE};

/// Bytes of a `data:` URI or of a file beside the model.
pub(super) fn resolve(uri: &str, fetch: &mut Fetch<'_>) -> Result<Vec<u8>, String> {
    match uri.strip_prefix("data:") {
        Some(rest) => decode_data_uri(rest),
        None => fetch(uri),
    }
}

/// RFC 2397, base64 only (the only kind glTF names).
fn decode_data_uri(rest: &str) -> Result<Vec<u8>, String> {
    let Some((head, body)) = rest.split_once(',') else { return Err("data URI has no comma".into()) };
    if !head.ends_with(";base64") {
        return Err("data URI is not base64".into());
    }
    let lenient = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let engine = GeneralPurpose::new(&base64::alphabet::STANDARD, lenient);
    engine.decode(body).map_err(|error| format!("data URI: {error}").to_lowercase())
}

/// Reads a whole regular file of at most `largest` bytes; refuses folders, devices and pipes, which might never end.
pub(super) fn read_regular(path: &Path, largest: u64) -> Result<Vec<u8>, Error> {
    let meta = std::fs::metadata(path)?;
    if !meta.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "not a regular file"));
    }
    if meta.len() > largest {
        let message = format!("has {} bytes, more than the {largest} that are read", meta.len());
        return Err(Error::new(ErrorKind::FileTooLarge, message));
    }
    let mut bytes = Vec::with_capacity(meta.len() as usize);
    File::open(path)?.take(largest).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a file that a model in `folder` names. The name must be a plain relative path that, after links are followed,
/// still lies in the folder.
pub(super) fn read_inside(folder: &Path, uri: &str) -> Result<Vec<u8>, String> {
    let name = percent_decode(uri)?;
    if name.contains(['\\', '\0', ':']) {
        return Err(format!("{uri:?} is not a plain relative path (no schemes, drives, backslashes)"));
    }
    let relative = PathBuf::from(&name);
    if name.is_empty() || !relative.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir)) {
        return Err(format!("{uri:?} leaves the model's folder"));
    }
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let root = folder.canonicalize().map_err(|e| format!("the model's folder: {e}"))?;
    let path = root.join(relative).canonicalize().map_err(|e| format!("{uri:?}: {e}"))?;
    if !path.starts_with(&root) {
        return Err(format!("{uri:?} leaves the model's folder"));
    }
    read_regular(&path, LARGEST_FILE).map_err(|e| format!("{uri:?}: {e}"))
}

/// RFC 3986, section 2.1.
fn percent_decode(uri: &str) -> Result<String, String> {
    let bytes = uri.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let digit = |at: usize| bytes.get(at).and_then(|&b| char::from(b).to_digit(16));
        match (bytes[i], digit(i + 1), digit(i + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                i += 3;
            }
            (byte, ..) => {
                out.push(byte);
                i += 1;
            }
        }
    }
    String::from_utf8(out).map_err(|_| format!("{uri:?} is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_leave_the_folder_are_refused() {
        for uri in ["../a.bin", "a/../../b.bin", "/etc/passwd", "%2e%2e/a", "..%5Ca", "http://a/b", "c:/a", "", "a%00b"]
        {
            assert!(read_inside(Path::new("src"), uri).is_err(), "{uri}");
        }
        assert!(read_inside(Path::new("src"), "io").is_err_and(|e| e.contains("not a regular file")));
        assert!(read_inside(Path::new("src"), "lib.rs").is_ok());
        assert!(read_inside(Path::new("src"), "./io/mod%2Ers").is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn links_that_leave_the_folder_are_refused() {
        let folder = std::env::temp_dir().join(format!("dermis-sidecar-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("in.bin"), b"in").unwrap();
        for (link, target) in [("out.bin", "/etc/passwd"), ("zero.bin", "/dev/zero"), ("ok.bin", "in.bin")] {
            std::os::unix::fs::symlink(target, folder.join(link)).unwrap();
        }
        let read = |name: &str| read_inside(&folder, name);
        let answers = (read("out.bin"), read("zero.bin"), read("ok.bin"), read("gone.bin"));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(answers.0.is_err_and(|e| e.contains("leaves")));
        assert!(answers.1.is_err_and(|e| e.contains("leaves")));
        assert_eq!(answers.2.as_deref(), Ok(&b"in"[..]));
        assert!(answers.3.is_err());
    }

    #[test]
    fn data_uris() {
        assert_eq!(decode_data_uri("application/octet-stream;base64,AQID"), Ok(vec![1, 2, 3]));
        assert_eq!(decode_data_uri(";base64,AQI"), Ok(vec![1, 2]));
        assert!(decode_data_uri(",AQID").is_err());
        assert!(decode_data_uri(";base64,A*ID").is_err());
        assert!(decode_data_uri(";base64").is_err());
    }
}
