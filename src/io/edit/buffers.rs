//! Moves all bytes of a file into the one buffer that a GLB carries.

use serde_json::{Map, Value};

use super::{FileEdit, items, number};
use crate::io::{Fetch, Outcome, refuse, sidecar};

/// Extensions of a buffer view that name a buffer themselves.
pub(super) const COMPRESSION: [&str; 2] = ["EXT_meshopt_compression", "KHR_meshopt_compression"];
/// Alignment of what is moved in: more than any accessor asks for.
const ALIGNMENT: usize = 16;

impl FileEdit {
    /// Fills `bin` from the GLB's chunk, data URIs and files beside it, and points the buffer views there.
    pub(super) fn gather(&mut self, chunk: Option<&[u8]>, fetch: &mut Fetch<'_>) -> Outcome<()> {
        let mut old = std::mem::take(self.glb.list("buffers")?);
        // Where each old buffer went: buffer 0 at an offset, or a place of its own without bytes.
        let mut moved: Vec<(usize, usize)> = Vec::with_capacity(old.len());
        let (mut first, mut empty) = (None, Vec::new());
        for (i, buffer) in old.iter_mut().enumerate() {
            let at = format!("buffers[{i}]");
            let Some(object) = buffer.as_object_mut() else { return refuse(at, "is not an object") };
            let owned;
            let bytes = match object.get("uri").and_then(Value::as_str) {
                Some(uri) => match sidecar::resolve(uri, fetch) {
                    Ok(bytes) => {
                        owned = bytes;
                        Some(owned.as_slice())
                    }
                    Err(problem) => return refuse(at, problem),
                },
                None if i == 0 => chunk,
                None => None,
            };
            let Some(bytes) = bytes else {
                moved.push((1 + empty.len(), 0));
                empty.push(Value::Object(std::mem::take(object)));
                continue;
            };
            let Some(length) = object.get("byteLength").and_then(number) else {
                return refuse(at, "byteLength is missing");
            };
            let Some(bytes) = bytes.get(..length) else {
                return refuse(at, format!("byteLength is {length}, but there are {} bytes", bytes.len()));
            };
            self.glb.bin.resize(self.glb.bin.len().next_multiple_of(ALIGNMENT), 0);
            moved.push((0, self.glb.bin.len()));
            self.glb.bin.extend_from_slice(bytes);
            if first.is_none() {
                object.remove("uri");
                first = Some(Value::Object(std::mem::take(object)));
            }
        }
        if first.is_none() && !empty.is_empty() {
            // Buffer 0 is the GLB's own even where it starts out empty.
            first = Some(Value::Object(Map::new()));
        }
        *self.glb.list("buffers")? = first.into_iter().chain(empty).collect();
        self.point_views(&moved)?;
        self.embed_pictures(fetch)?;
        for list in ["buffers", "bufferViews"] {
            // A list that the file does not have stays away, an empty one is invalid.
            if self.glb.tree.get(list).and_then(Value::as_array).is_some_and(Vec::is_empty) {
                self.glb.tree.shift_remove(list);
            }
        }
        Ok(())
    }

    fn point_views(&mut self, moved: &[(usize, usize)]) -> Outcome<()> {
        for (i, view) in self.glb.list("bufferViews")?.iter_mut().enumerate() {
            let at = format!("bufferViews[{i}]");
            point(view, moved, &at)?;
            for extension in COMPRESSION {
                if let Some(compressed) = view.get_mut("extensions").and_then(|e| e.get_mut(extension)) {
                    point(compressed, moved, &at)?;
                }
            }
        }
        Ok(())
    }

    /// Pictures beside the file become buffer views.
    fn embed_pictures(&mut self, fetch: &mut Fetch<'_>) -> Outcome<()> {
        let beside = |image: &Value| {
            let uri = image.get("uri")?.as_str()?;
            (!uri.starts_with("data:")).then(|| uri.to_owned())
        };
        let tree = Value::Object(std::mem::take(&mut self.glb.tree));
        let uris: Vec<Option<String>> = items(&tree, "images").map(beside).collect();
        if let Value::Object(tree) = tree {
            self.glb.tree = tree;
        }
        for (i, uri) in uris.into_iter().enumerate().filter_map(|(i, uri)| Some((i, uri?))) {
            let bytes = match fetch(&uri) {
                Ok(bytes) => bytes,
                Err(problem) => {
                    self.warnings.push(format!("images[{i}]: {problem}: still named, not moved in"));
                    continue;
                }
            };
            let Some(kind) = picture_kind(&bytes) else {
                self.warnings.push(format!("images[{i}]: {uri:?} is no picture known here: still named, not moved in"));
                continue;
            };
            let view = self.glb.append(&bytes, None)?;
            if let Some(image) = self.glb.list("images")?[i].as_object_mut() {
                image.shift_remove("uri");
                image.insert("bufferView".into(), view.into());
                image.entry("mimeType").or_insert_with(|| kind.into());
                image.entry("name").or_insert_with(|| uri.into());
            }
        }
        Ok(())
    }
}

fn point(view: &mut Value, moved: &[(usize, usize)], at: &str) -> Outcome<()> {
    let Some(buffer) = view.get("buffer").and_then(number) else { return refuse(at, "buffer is missing") };
    let Some(&(to, offset)) = moved.get(buffer) else {
        return refuse(at, format!("buffer {buffer} does not exist: there are {}", moved.len()));
    };
    if to != buffer {
        view["buffer"] = to.into();
    }
    if offset != 0 {
        let own = view.get("byteOffset").and_then(number).unwrap_or(0);
        // A lie stays one: it is found out where the view is used.
        view["byteOffset"] = own.saturating_add(offset).into();
    }
    Ok(())
}

/// The media type that a picture's first bytes show.
fn picture_kind(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        [0xab, b'K', b'T', b'X', b' ', b'2', b'0', ..] => Some("image/ktx2"),
        _ => None,
    }
}
