//! Removes what replaced influences left behind: accessors, buffer views and bytes that nothing uses any more.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::Value;

use super::buffers::COMPRESSION;
use super::{FileEdit, number};
use crate::io::{Outcome, refuse};

/// Extensions that refer to no accessor, buffer view or byte, or only in ways that [`walk`] knows.
const KNOWN: [&str; 12] = [
    "EXT_mesh_gpu_instancing",
    "EXT_meshopt_compression",
    "EXT_texture_webp",
    "KHR_animation_pointer",
    "KHR_lights_punctual",
    "KHR_mesh_quantization",
    "KHR_meshopt_compression",
    "KHR_node_visibility",
    "KHR_texture_basisu",
    "KHR_texture_transform",
    "KHR_xmp_json_ld",
    "VRM",
];
const KNOWN_PREFIXES: [&str; 2] = ["KHR_materials_", "VRMC_"];

/// How often each accessor and buffer view is referred to.
#[derive(Debug, Default)]
pub(super) struct References {
    pub accessors: HashMap<usize, usize>,
    pub views: HashMap<usize, usize>,
}

enum Kind {
    Accessor,
    View,
}

impl FileEdit {
    pub(super) fn references(&mut self) -> References {
        let mut out = References::default();
        walk(&mut self.glb.tree, &mut |kind, slot| {
            if let Some(i) = number(slot) {
                let counts = match kind {
                    Kind::Accessor => &mut out.accessors,
                    Kind::View => &mut out.views,
                };
                *counts.entry(i).or_default() += 1;
            }
        });
        out
    }

    /// The bytes of buffer 0 that each buffer view covers, sorted and merged.
    pub(super) fn covered(&mut self) -> Outcome<Vec<Range<usize>>> {
        let length = self.glb.bin.len();
        let mut out: Vec<Range<usize>> = Vec::new();
        let mut add = |view: &Value, at: usize| {
            if view.get("buffer").and_then(number) != Some(0) {
                return Ok(());
            }
            let start = view.get("byteOffset").and_then(number).unwrap_or(0);
            let end = view.get("byteLength").and_then(number).and_then(|n| n.checked_add(start));
            match end.filter(|&end| end <= length) {
                Some(end) => out.push(start..end),
                None => return refuse(format!("bufferViews[{at}]"), "is past the end of its buffer"),
            }
            Ok(())
        };
        for (i, view) in self.glb.tree.get("bufferViews").and_then(Value::as_array).into_iter().flatten().enumerate() {
            add(view, i)?;
            let extensions = view.get("extensions");
            COMPRESSION.iter().filter_map(|c| extensions?.get(c)).try_for_each(|c| add(c, i))?;
        }
        out.sort_by_key(|r| (r.start, r.end));
        let mut merged: Vec<Range<usize>> = Vec::new();
        for r in out {
            match merged.last_mut() {
                Some(last) if r.start <= last.end => last.end = last.end.max(r.end),
                _ => merged.push(r),
            }
        }
        Ok(merged)
    }

    /// `before`, `covered`: the state before influences were replaced.
    pub(super) fn tidy(&mut self, before: &References, covered: Vec<Range<usize>>) -> Outcome<()> {
        let tree = Value::Object(std::mem::take(&mut self.glb.tree));
        let unknown = unknown_reference(&tree);
        if let Value::Object(tree) = tree {
            self.glb.tree = tree;
        }
        if unknown {
            return Ok(());
        }
        let now = self.references();
        let orphan = |i: &usize| before.accessors.contains_key(i) && !now.accessors.contains_key(i);
        self.remove("accessors", orphan)?;
        let now = self.references();
        let orphan = |i: &usize| before.views.contains_key(i) && !now.views.contains_key(i);
        self.remove("bufferViews", orphan)?;
        self.cut(covered)
    }

    /// Removes elements of a list and moves all references to those behind them.
    fn remove(&mut self, list: &str, gone: impl Fn(&usize) -> bool) -> Outcome<()> {
        let count = self.glb.list(list)?.len();
        let mut place = Vec::with_capacity(count);
        let mut next = 0;
        for i in 0..count {
            place.push(next);
            next += usize::from(!gone(&i));
        }
        if next == count {
            return Ok(());
        }
        let mut i = 0;
        self.glb.list(list)?.retain(|_| {
            i += 1;
            !gone(&(i - 1))
        });
        let accessors = list == "accessors";
        walk(&mut self.glb.tree, &mut |kind, slot| {
            if matches!(kind, Kind::Accessor) == accessors
                && let Some(&to) = number(slot).and_then(|i| place.get(i))
            {
                *slot = to.into();
            }
        });
        Ok(())
    }

    /// Cuts out bytes that a view covered before and none does now, by multiples of 4, which keeps every alignment.
    fn cut(&mut self, before: Vec<Range<usize>>) -> Outcome<()> {
        let now = self.covered()?;
        let mut dead: Vec<Range<usize>> = Vec::new();
        for r in before {
            let mut start = r.start;
            for n in now.iter().filter(|n| n.start < r.end && n.end > r.start) {
                dead.push(start..n.start.max(start));
                start = start.max(n.end);
            }
            dead.push(start..r.end.max(start));
        }
        dead.iter_mut().for_each(|d| d.end = d.start + d.len() / 4 * 4);
        dead.retain(|d| !d.is_empty());
        let shift = |offset: usize| dead.iter().filter(|d| d.start < offset).map(|d| d.len()).sum::<usize>();
        let moved = |view: &mut Value| {
            if view.get("buffer").and_then(number) == Some(0)
                && let Some(offset) = view.get("byteOffset").and_then(number)
            {
                view["byteOffset"] = (offset - shift(offset)).into();
            }
        };
        for view in self.glb.list("bufferViews")? {
            moved(view);
            for extension in COMPRESSION {
                if let Some(compressed) = view.get_mut("extensions").and_then(|e| e.get_mut(extension)) {
                    moved(compressed);
                }
            }
        }
        let mut kept = Vec::with_capacity(self.glb.bin.len());
        let mut at = 0;
        for d in dead {
            kept.extend_from_slice(&self.glb.bin[at..d.start]);
            at = d.end;
        }
        kept.extend_from_slice(&self.glb.bin[at..]);
        self.glb.bin = kept;
        Ok(())
    }
}

/// True when an extension that is not known here carries a number that might be an index.
fn unknown_reference(value: &Value) -> bool {
    fn number_inside(value: &Value) -> bool {
        match value {
            Value::Number(n) => n.is_u64(),
            Value::Array(list) => list.iter().any(number_inside),
            Value::Object(map) => map.values().any(number_inside),
            _ => false,
        }
    }
    let known = |name: &str| KNOWN.contains(&name) || KNOWN_PREFIXES.iter().any(|p| name.starts_with(p));
    match value {
        Value::Array(list) => list.iter().any(unknown_reference),
        Value::Object(map) => map.iter().any(|(key, value)| match (key.as_str(), value) {
            ("extensions", Value::Object(extensions)) => {
                extensions.iter().any(|(name, value)| !known(name) && number_inside(value))
            }
            // Whatever an author keeps there, the specification gives it no meaning.
            ("extras", _) => false,
            _ => unknown_reference(value),
        }),
        _ => false,
    }
}

/// Shows every reference to an accessor or buffer view.
fn walk(tree: &mut serde_json::Map<String, Value>, see: &mut impl FnMut(Kind, &mut Value)) {
    let each = |value: Option<&mut Value>, f: &mut dyn FnMut(&mut Value)| match value {
        Some(Value::Array(list)) => list.iter_mut().for_each(f),
        Some(Value::Object(map)) => map.values_mut().for_each(f),
        _ => {}
    };
    each(tree.get_mut("meshes"), &mut |mesh| {
        each(mesh.get_mut("primitives"), &mut |primitive| {
            each(primitive.get_mut("attributes"), &mut |slot| see(Kind::Accessor, slot));
            if let Some(slot) = primitive.get_mut("indices") {
                see(Kind::Accessor, slot);
            }
            each(primitive.get_mut("targets"), &mut |target| {
                each(Some(target), &mut |slot| see(Kind::Accessor, slot));
            });
        });
    });
    each(tree.get_mut("skins"), &mut |skin| {
        if let Some(slot) = skin.get_mut("inverseBindMatrices") {
            see(Kind::Accessor, slot);
        }
    });
    each(tree.get_mut("animations"), &mut |animation| {
        each(animation.get_mut("samplers"), &mut |sampler| {
            for key in ["input", "output"] {
                if let Some(slot) = sampler.get_mut(key) {
                    see(Kind::Accessor, slot);
                }
            }
        });
    });
    each(tree.get_mut("nodes"), &mut |node| {
        let instancing = node.get_mut("extensions").and_then(|e| e.get_mut("EXT_mesh_gpu_instancing"));
        each(instancing.and_then(|i| i.get_mut("attributes")), &mut |slot| see(Kind::Accessor, slot));
    });
    each(tree.get_mut("accessors"), &mut |accessor| {
        if let Some(slot) = accessor.get_mut("bufferView") {
            see(Kind::View, slot);
        }
        for part in ["indices", "values"] {
            if let Some(slot) = accessor.get_mut("sparse").and_then(|s| s.get_mut(part)?.get_mut("bufferView")) {
                see(Kind::View, slot);
            }
        }
    });
    each(tree.get_mut("images"), &mut |image| {
        if let Some(slot) = image.get_mut("bufferView") {
            see(Kind::View, slot);
        }
    });
}
