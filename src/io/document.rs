//! The parsed JSON with its buffers: what every later step reads from.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use gltf::json::{Index, Root, Value};

use super::meshopt::Compressed;
use super::{Fetch, Outcome, Refusal, container, meshopt, pick, refuse, sidecar};

/// Extensions that change how data is read (and are read), or only how a surface looks or behaves otherwise.
const KNOWN: [&str; 12] = [
    "KHR_mesh_quantization",
    "EXT_meshopt_compression",
    "KHR_meshopt_compression",
    "KHR_texture_transform",
    "KHR_texture_basisu",
    "EXT_texture_webp",
    "KHR_lights_punctual",
    "KHR_materials_unlit",
    "KHR_materials_emissive_strength",
    "KHR_xmp_json_ld",
    "KHR_node_visibility",
    "VRM",
];
/// Families of extensions that leave geometry alone.
const KNOWN_PREFIXES: [&str; 2] = ["KHR_materials_", "VRMC_"];

/// Decoded values a file may expand to, bytes.
const LARGEST_EXPANSION: u64 = 2 << 30;

pub(super) struct Document<'a> {
    pub root: Root,
    /// Bytes of each buffer; `None` where the file gives none (a fallback for loaders without meshopt).
    buffers: Vec<Option<Cow<'a, [u8]>>>,
    /// Decoded bytes of the compressed views.
    decoded: Vec<Option<Vec<u8>>>,
    /// What is left of [`LARGEST_EXPANSION`].
    budget: Cell<u64>,
    warnings: RefCell<Vec<String>>,
}

impl<'a> Document<'a> {
    pub fn open(bytes: &'a [u8], fetch: &mut Fetch<'_>) -> Outcome<Self> {
        let parts = container::split(bytes)?;
        let root = parse(parts.json)?;
        check_required(&root)?;
        let mut document = Self {
            buffers: Vec::with_capacity(root.buffers.len()),
            decoded: Vec::new(),
            budget: Cell::new(LARGEST_EXPANSION),
            warnings: RefCell::default(),
            root,
        };
        if let Some((header, file)) = parts.length_differs {
            document.warn(format!("the header says {header} bytes, but the file has {file}"));
        }
        document.open_buffers(parts.bin, fetch)?;
        document.decode_views()?;
        Ok(document)
    }

    fn open_buffers(&mut self, bin: Option<&'a [u8]>, fetch: &mut Fetch<'_>) -> Outcome<()> {
        for (i, buffer) in self.root.buffers.iter().enumerate() {
            let bytes = match &buffer.uri {
                Some(uri) => match sidecar::resolve(uri, fetch) {
                    Ok(bytes) => Some(Cow::Owned(bytes)),
                    Err(problem) => return refuse(format!("buffers[{i}]"), problem),
                },
                None if i == 0 => bin.map(Cow::Borrowed),
                None => None,
            };
            if let Some(bytes) = &bytes
                && (bytes.len() as u64) < buffer.byte_length.0
            {
                let (needed, found) = (buffer.byte_length.0, bytes.len());
                return refuse(format!("buffers[{i}]"), format!("byteLength is {needed}, but there are {found} bytes"));
            }
            self.buffers.push(bytes);
        }
        Ok(())
    }

    fn decode_views(&mut self) -> Outcome<()> {
        let mut decoded = Vec::with_capacity(self.root.buffer_views.len());
        for (i, view) in self.root.buffer_views.iter().enumerate() {
            let at = format!("bufferViews[{i}]");
            decoded.push(match meshopt::parse(view, &at)? {
                None => None,
                Some(compressed) => {
                    let Compressed { buffer, byte_offset, byte_length, .. } = compressed;
                    let source = self.slice(buffer, byte_offset, byte_length, &at)?;
                    let bytes = meshopt::decode(&compressed, source, &at)?;
                    self.spend(bytes.len() as u64, &at)?;
                    Some(bytes)
                }
            });
        }
        self.decoded = decoded;
        Ok(())
    }

    /// `length` bytes of a buffer from `offset`, or a refusal.
    fn slice(&self, buffer: usize, offset: u64, length: u64, at: &str) -> Outcome<&[u8]> {
        let Some(bytes) = pick(&self.buffers, buffer, "buffer", at)? else {
            return refuse(at, format!("buffer {buffer} has no bytes"));
        };
        let range = || {
            let start = usize::try_from(offset).ok()?;
            bytes.get(start..start.checked_add(usize::try_from(length).ok()?)?)
        };
        match range() {
            Some(slice) => Ok(slice),
            None => {
                refuse(at, format!("bytes {offset} + {length} are past the end of buffer {buffer} ({})", bytes.len()))
            }
        }
    }

    /// Bytes and stride (0: packed) of a buffer view.
    pub fn view(&self, index: usize, at: &str) -> Outcome<(&[u8], usize)> {
        let view = pick(&self.root.buffer_views, index, "buffer view", at)?;
        let stride = view.byte_stride.map_or(0, |s| s.0);
        if let Some(Some(decoded)) = self.decoded.get(index) {
            return Ok((decoded, stride));
        }
        let offset = view.byte_offset.unwrap_or_default().0;
        let bytes = self.slice(view.buffer.value(), offset, view.byte_length.0, &format!("bufferViews[{index}]"))?;
        Ok((bytes, stride))
    }

    /// Takes decoded bytes from the file's budget: a small file may name the same bytes again and again.
    pub fn spend(&self, bytes: u64, at: &str) -> Outcome<()> {
        match self.budget.get().checked_sub(bytes) {
            Some(left) => {
                self.budget.set(left);
                Ok(())
            }
            None => refuse(at, format!("the file expands to more than {} MiB", LARGEST_EXPANSION >> 20)),
        }
    }

    /// Notes what was repaired or left out.
    pub fn warn(&self, line: impl Into<String>) {
        self.warnings.borrow_mut().push(line.into());
    }

    /// Hands the notes over.
    pub fn take_warnings(&self) -> Vec<String> {
        self.warnings.take()
    }
}

/// The index as a plain number.
pub(super) fn number<T>(index: Index<T>) -> usize {
    index.value()
}

/// The file's name for something, or `what index`.
pub(super) fn named(name: &Option<String>, what: &str, index: usize) -> String {
    name.clone().filter(|n| !n.is_empty()).unwrap_or_else(|| format!("{what} {index}"))
}

/// Parses the JSON. Depth is limited to 128 by serde_json.
fn parse(json: &[u8]) -> Outcome<Root> {
    let fail = |error: serde_json::Error| Refusal { at: "JSON".into(), problem: error.to_string() };
    let mut value: Value = serde_json::from_slice(json).map_err(fail)?;
    // Channels without a node belong to extensions (glTF 2.0, 5.8: they are to be ignored), but `gltf` insists on one.
    let animations = value.get_mut("animations").and_then(Value::as_array_mut);
    for animation in animations.into_iter().flatten() {
        if let Some(channels) = animation.get_mut("channels").and_then(Value::as_array_mut) {
            channels.retain(|c| c.get("target").is_none_or(|t| !t.is_object() || t.get("node").is_some()));
        }
    }
    // Nothing here looks at cameras, so a broken one does no harm.
    if let Some(object) = value.as_object_mut() {
        object.remove("cameras");
    }
    let root: Root = serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        Refusal { at: if path == "." { "JSON".into() } else { path }, problem: error.into_inner().to_string() }
    })?;
    if !root.asset.version.starts_with("2.") {
        return refuse("asset", format!("glTF version {} is not supported, only 2.x", root.asset.version));
    }
    Ok(root)
}

fn check_required(root: &Root) -> Outcome<()> {
    for name in &root.extensions_required {
        let known = KNOWN.contains(&name.as_str()) || KNOWN_PREFIXES.iter().any(|p| name.starts_with(p));
        if !known {
            return refuse("extensionsRequired", format!("{name} is not supported"));
        }
    }
    Ok(())
}
