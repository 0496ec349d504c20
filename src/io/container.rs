//! The outer layer: a GLB's chunks, or plain JSON (glTF 2.0, section 4.4).

use super::{Outcome, refuse};

/// What a file is made of.
pub(super) struct Container<'a> {
    pub json: &'a [u8],
    /// The binary chunk of a GLB.
    pub bin: Option<&'a [u8]>,
    /// The header's length differs from the file's.
    pub length_differs: Option<(u64, u64)>,
}

const JSON: u32 = 0x4E4F_534A;
const BIN: u32 = 0x004E_4942;

/// Splits a file into JSON and binary chunk. Chunks are walked by their own lengths, never past the end of the file.
pub(super) fn split(bytes: &[u8]) -> Outcome<Container<'_>> {
    if !bytes.starts_with(b"glTF") {
        let json = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        if json.is_empty() {
            return refuse("file", "is empty");
        }
        return Ok(Container { json, bin: None, length_differs: None });
    }
    let word = |at: usize| bytes.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let (Some(version), Some(total)) = (word(4), word(8)) else {
        return refuse("header", format!("needs 12 bytes, but the file has {}", bytes.len()));
    };
    if version != 2 {
        return refuse("header", format!("glTF version {version} is not supported, only 2"));
    }
    let (mut json, mut bin) = (None, None);
    let mut at = 12;
    while let (Some(length), Some(kind)) = (word(at), word(at + 4)) {
        let start = at + 8;
        let Some(data) = (length as usize).checked_add(start).and_then(|end| bytes.get(start..end)) else {
            let rest = bytes.len() - start;
            return refuse(format!("chunk at byte {at}"), format!("has {length} bytes, but the file has {rest} left"));
        };
        match kind {
            JSON if json.is_none() => json = Some(data),
            BIN if bin.is_none() => bin = Some(data),
            _ => {}
        }
        at = start + data.len();
    }
    let Some(json) = json else { return refuse("header", "there is no JSON chunk") };
    let length_differs = (u64::from(total) != bytes.len() as u64).then_some((total.into(), bytes.len() as u64));
    Ok(Container { json, bin, length_differs })
}

/// Header and chunks around JSON and bytes.
pub(super) fn join(mut json: Vec<u8>, mut bin: Vec<u8>) -> Outcome<Vec<u8>> {
    json.resize(json.len().next_multiple_of(4), b' ');
    bin.resize(bin.len().next_multiple_of(4), 0);
    let total = 12 + 8 + json.len() + if bin.is_empty() { 0 } else { 8 + bin.len() };
    let Ok(length) = u32::try_from(total) else {
        return refuse("file", format!("would have {total} bytes, more than a GLB can"));
    };
    let mut out = Vec::with_capacity(total);
    out.extend(b"glTF");
    out.extend(2_u32.to_le_bytes());
    out.extend(length.to_le_bytes());
    for (kind, chunk) in [(JSON, json), (BIN, bin)] {
        // Both lengths are below the file's. A file without bytes has no second chunk.
        if kind == JSON || !chunk.is_empty() {
            out.extend((chunk.len() as u32).to_le_bytes());
            out.extend(kind.to_le_bytes());
            out.extend(chunk);
        }
    }
    Ok(out)
}
