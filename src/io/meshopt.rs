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

#[cfg(test)]
mod tests {
    use super::*;
    use meshoptimizer_rs::codec::{
        ExpMode, IndexEncoding, VertexEncoding, encode_filter_exp, encode_filter_oct, encode_filter_quat,
        encode_index_buffer, encode_index_sequence, encode_vertex_buffer,
    };

    fn compressed(mode: &str, filter: &str, count: usize, stride: usize) -> Compressed {
        let (mode, filter) = (mode.into(), filter.into());
        let (count, byte_stride) = (count as u64, stride as u64);
        Compressed { buffer: 0, byte_offset: 0, byte_length: 0, byte_stride, count, mode, filter }
    }

    /// Through a filter and both versions of the vertex codec, and back.
    fn vertices(filter: &str, count: usize, stride: usize, filtered: &[u8]) -> Vec<u8> {
        let mut answers = [0, 1].map(|version| {
            let encoding = VertexEncoding::new(version, 2).unwrap();
            let source = encode_vertex_buffer(filtered, count, stride, encoding, &mut Workspace::default()).unwrap();
            decode(&compressed("ATTRIBUTES", filter, count, stride), &source, "view").unwrap()
        });
        assert_eq!(answers[0], answers[1]);
        std::mem::take(&mut answers[0])
    }

    const COUNT: usize = 1003;

    /// Unit vectors of four numbers, or of three and a 1.
    fn unit(i: usize, n: usize) -> [f32; 4] {
        let x = [1.3, 2.1, 0.7, 1.9].map(|f| ((i + 1) as f32 * f).sin());
        let length = x[..n].iter().map(|x| x * x).sum::<f32>().sqrt();
        [0, 1, 2, 3].map(|k| if k < n { x[k] / length } else { 1.0 })
    }

    #[test]
    fn filters_give_back_what_went_in() {
        let mut workspace = Workspace::default();
        let oct: Vec<f32> = (0..COUNT).flat_map(|i| unit(i, 3)).collect();
        let filtered = encode_filter_oct(COUNT, 8, 16, &oct, &mut workspace).unwrap();
        let got = vertices("OCTAHEDRAL", COUNT, 8, &filtered);
        let got = got.as_chunks::<2>().0.iter().map(|&b| f32::from(i16::from_le_bytes(b)) / 32767.0);
        // 16-bit octahedral: about 1e-4 of the sphere.
        got.zip(&oct).for_each(|(a, b)| assert!((a - b).abs() < 1e-4, "{a} {b}"));

        let quat: Vec<f32> = (0..COUNT).flat_map(|i| unit(i, 4)).collect();
        let filtered = encode_filter_quat(COUNT, 8, 16, &quat, &mut workspace).unwrap();
        let got = vertices("QUATERNION", COUNT, 8, &filtered);
        let got: Vec<f32> =
            got.as_chunks::<2>().0.iter().map(|&b| f32::from(i16::from_le_bytes(b)) / 32767.0).collect();
        for (a, b) in got.chunks(4).zip(quat.chunks(4)) {
            // The same rotation: q or −q, each number within 14 bits or so.
            let dot: f32 = a.iter().zip(b).map(|(a, b)| a * b).sum();
            assert!((dot.abs() - 1.0).abs() < 2e-4, "{a:?} {b:?}");
        }

        let exp: Vec<f32> = (0..3 * COUNT).map(|i| (i as f32 * 0.7).sin() * 10.0_f32.powi(i as i32 % 9 - 4)).collect();
        let filtered = encode_filter_exp(COUNT, 12, 24, &exp, ExpMode::Separate, &mut workspace).unwrap();
        let got = vertices("EXPONENTIAL", COUNT, 12, &filtered);
        let got = got.as_chunks::<4>().0.iter().map(|&b| f32::from_le_bytes(b));
        // 24 bits with sign: 2⁻²² of the number.
        got.zip(&exp).for_each(|(a, b)| assert!((a - b).abs() <= b.abs() * 2.4e-7, "{a} {b}"));
    }

    #[test]
    fn indices_of_both_widths() {
        let mut workspace = Workspace::default();
        let triangles: Vec<u32> = (0..333).flat_map(|i| [i, i + 1, i + 2]).collect();
        let sequence: Vec<u32> = (0..1001).map(|i| i * 7919 % 5003).collect();
        let as_triangles = encode_index_buffer(&triangles, IndexEncoding::DEFAULT, &mut workspace).unwrap();
        let as_sequence = encode_index_sequence(&sequence, IndexEncoding::DEFAULT, &mut workspace).unwrap();
        for (mode, source, expected) in [("TRIANGLES", &as_triangles, &triangles), ("INDICES", &as_sequence, &sequence)]
        {
            let view = |stride| decode(&compressed(mode, "NONE", expected.len(), stride), source, "view").unwrap();
            let wide: Vec<u32> = view(4).as_chunks::<4>().0.iter().map(|&b| u32::from_le_bytes(b)).collect();
            let narrow: Vec<u32> = view(2).as_chunks::<2>().0.iter().map(|&b| u16::from_le_bytes(b).into()).collect();
            assert_eq!(wide, narrow);
            if mode == "INDICES" {
                assert_eq!(&wide, expected);
            }
            // Triangles may begin at another corner.
            for (a, b) in wide.chunks(3).zip(expected.chunks(3)).filter(|_| mode == "TRIANGLES") {
                let turns = [[a[0], a[1], a[2]], [a[1], a[2], a[0]], [a[2], a[0], a[1]]];
                assert!(turns.iter().any(|t| t == b), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for (mode, filter, count, stride) in [
            ("ATTRIBUTES", "NONE", 16, 3),
            ("ATTRIBUTES", "NONE", 16, 0),
            ("ATTRIBUTES", "NONE", 16, 260),
            ("ATTRIBUTES", "QUATERNION", 16, 12),
            ("ATTRIBUTES", "BLUR", 16, 8),
            ("TRIANGLES", "NONE", 16, 4),
            ("TRIANGLES", "OCTAHEDRAL", 15, 4),
            ("INDICES", "NONE", 0, 4),
            ("POINTS", "NONE", 16, 4),
            ("ATTRIBUTES", "NONE", usize::MAX, 256),
        ] {
            let refused = decode(&compressed(mode, filter, count, stride), &[0xa0; 64], "bufferViews[7]");
            assert!(
                refused.is_err_and(|r| r.at == "bufferViews[7]" && r.problem.starts_with("meshopt")),
                "{mode} {filter}"
            );
        }
    }
}
