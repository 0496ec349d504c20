//! Compressed buffer views: EXT_meshopt_compression, and KHR_meshopt_compression, which adds a newer vertex codec and a
//! colour filter to the same layout.

use gltf::json::Value;
use meshoptimizer_rs::codec::{
    BufferView, Filter, Mode, decode_filter_color, decode_filter_exp, decode_filter_oct, decode_filter_quat,
    decode_vertex_buffer,
};
use meshoptimizer_rs::{Limits, Workspace};

use super::{Outcome, refuse};

/// What the extension says about one buffer view.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Compressed {
    pub buffer: usize,
    #[serde(default)]
    pub byte_offset: u64,
    pub byte_length: u64,
    byte_stride: u64,
    count: u64,
    mode: String,
    #[serde(default = "no_filter")]
    filter: String,
}

fn no_filter() -> String {
    "NONE".into()
}

/// Reads the extension of a buffer view, if it has one.
pub(super) fn parse(view: &gltf::json::buffer::View, at: &str) -> Outcome<Option<Compressed>> {
    let Some(extensions) = &view.extensions else { return Ok(None) };
    let names = ["EXT_meshopt_compression", "KHR_meshopt_compression"];
    let Some(value) = names.iter().find_map(|name| extensions.others.get(*name)) else { return Ok(None) };
    match serde_json::from_value::<Compressed>(Value::clone(value)) {
        Ok(compressed) => Ok(Some(compressed)),
        Err(error) => refuse(at, format!("meshopt compression: {error}")),
    }
}

/// Most decoded bytes per compressed byte. The vertex codec's best case is a block of 256 equal vertices, for which
/// every four channels cost one control byte: 1024 : 1.
const LARGEST_RATIO: u64 = 1024;

/// Decodes the bytes of one view.
pub(super) fn decode(compressed: &Compressed, source: &[u8], at: &str) -> Outcome<Vec<u8>> {
    let (count, stride) = (compressed.count, compressed.byte_stride);
    let bytes = count.saturating_mul(stride);
    if bytes > LARGEST_RATIO.saturating_mul(source.len() as u64 + 1) {
        return refuse(at, format!("meshopt: {count} elements of {stride} bytes cannot come from {}", source.len()));
    }
    let (count, stride) = (count as usize, stride as usize);
    let mut workspace = Workspace::new(Limits { max_bytes: 1 << 30, ..Limits::default() });
    let workspace = &mut workspace;
    let decoded = if compressed.mode == "ATTRIBUTES" {
        decode_vertex_buffer(count, stride, source, workspace).and_then(|mut data| {
            match compressed.filter.as_str() {
                "NONE" => Ok(()),
                "OCTAHEDRAL" => decode_filter_oct(&mut data, count, stride, workspace),
                "QUATERNION" => decode_filter_quat(&mut data, count, stride, workspace),
                "EXPONENTIAL" => decode_filter_exp(&mut data, count, stride, workspace),
                "COLOR" => decode_filter_color(&mut data, count, stride, workspace),
                _ => Err(meshoptimizer_rs::Error::InvalidParameter),
            }?;
            Ok(data)
        })
    } else {
        Mode::parse(&compressed.mode)
            .and_then(|mode| BufferView::new(mode, Filter::parse(&compressed.filter)?, count, stride))
            .and_then(|view| view.decode(source, workspace))
    };
    decoded.map_err(|error| super::Refusal {
        at: at.into(),
        problem: format!("meshopt ({}, {}): {error}", compressed.mode, compressed.filter),
    })
}
