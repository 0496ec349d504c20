//! Files that are broken, lie about themselves or want too much: an error or a warning in little time and memory, never
//! a panic.

#![cfg(feature = "gltf")]

use std::path::PathBuf;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use dermis::character::Character;
use dermis::io::{load, load_bytes};

const LONGEST: Duration = Duration::from_secs(1);
/// Peak of the whole test process, kB.
const LARGEST: u64 = 256 << 10;

/// What a file must come to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Expect {
    /// An error that names this.
    Error(&'static str),
    /// Loads, with a warning that names this.
    Warns(&'static str),
    /// Loads.
    Loads,
}
use Expect::{Error, Loads, Warns};

const FILES: [(&str, Expect); 45] = [
    ("accessor_count_4e9.glb", Error("4000000000 elements")),
    ("accessor_offset_negative.glb", Error("accessors[3]")),
    ("anim_cubic_without_tangents.glb", Error("50 keys need 150 values")),
    ("anim_output_count_1.glb", Error("50 keys need 50 values")),
    ("anim_sampler_99.glb", Error("sampler 99")),
    ("anim_times_all_equal.glb", Loads),
    ("anim_times_nan.glb", Warns("not finite")),
    ("anim_weights_without_morph.glb", Warns("no morph targets")),
    ("base64_broken.gltf", Error("data uri")),
    ("base64_truncated.gltf", Error("byteLength")),
    ("bufferview_index_999.glb", Error("buffer view 999")),
    ("component_type_9999.glb", Error("componentType")),
    ("data_uri_not_base64.gltf", Error("base64")),
    ("empty_file.gltf", Error("empty")),
    ("glb_bin_shorter_than_buffer.glb", Error("byteLength is 11136, but there are 1000")),
    ("glb_json_chunk_len_huge.glb", Error("4294967280 bytes")),
    ("glb_total_length_short.glb", Warns("header")),
    ("glb_truncated_json.glb", Error("chunk")),
    ("ibm_all_zero.glb", Loads),
    ("ibm_last_row_not_0001.glb", Warns("last row")),
    ("ibm_wrong_type.glb", Error("MAT4")),
    ("joint_index_60000.glb", Error("joint 60000")),
    ("joint_rotation_not_unit.glb", Warns("nodes[3]")),
    ("joints_float.glb", Error("accessors[1]")),
    ("json_deep_nesting.gltf", Error("recursion limit")),
    ("json_utf16.gltf", Error("JSON")),
    ("mesh_no_primitives.glb", Warns("no primitives")),
    ("no_asset.gltf", Error("asset")),
    ("node_depth_100000.glb", Loads),
    ("node_self_child.glb", Error("nodes[0]")),
    ("node_two_parents.glb", Error("also a child")),
    ("position_no_bufferview.glb", Loads),
    ("skin_duplicate_joints.glb", Error("inverse binds")),
    ("skin_zero_joints.glb", Error("skins[0].joints")),
    ("stride_252_past_end.glb", Error("stride 252")),
    ("unknown_required_extension.gltf", Error("XX_unknown_required")),
    ("uri_dev_zero.gltf", Error("folder")),
    ("uri_http.gltf", Error("relative path")),
    ("uri_nul_byte.gltf", Error("relative path")),
    ("uri_path_traversal_backslash.gltf", Error("relative path")),
    ("vertex_index_out_of_range.glb", Error("65000")),
    ("weights_denormal.glb", Loads),
    ("weights_inf.glb", Error("weight inf")),
    ("weights_negative.glb", Error("weight -1")),
    ("weights_without_joints.glb", Warns("no joints")),
];

/// Loads in a thread of its own, so that a hang is a failure and not a hang.
fn load_within(path: PathBuf, limit: Duration) -> (Result<Character, String>, Duration) {
    let (sender, receiver) = mpsc::channel();
    let start = Instant::now();
    std::thread::spawn(move || {
        // Nobody listens any more after a failure.
        let _ = sender.send(load(&path).map_err(|e| e.to_string()));
    });
    let result = receiver.recv_timeout(limit).expect("an answer, not a panic and not a hang");
    (result, start.elapsed())
}

/// Everything that reaches the GPU is finite, whatever the time.
fn check_finite(character: &Character) {
    use dermis::pose::{Pose, skin_palette};
    for clip in &character.clips {
        for time in [f32::NEG_INFINITY, 0.0, 0.5, clip.duration, f32::INFINITY] {
            let mut pose = Pose::rest(&character.rig);
            clip.sample(time, &mut pose);
            for skin in &character.skins {
                let palette = skin_palette(&character.rig, skin, &pose).unwrap();
                assert!(palette.iter().all(dermis::Affine::is_finite), "{} at {time}", clip.name);
            }
        }
    }
}

#[test]
fn every_hostile_file_ends_as_it_should() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/hostile");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("NOT RUN: {} does not exist", folder.display());
        return;
    };
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|n| n.ends_with(".glb") || n.ends_with(".gltf"));
    names.sort();
    let mut bad = Vec::new();
    for name in &names {
        let expect = FILES.iter().find(|(n, _)| n == name).map(|f| f.1);
        let (result, mut fastest) = load_within(folder.join(name), 20 * LONGEST);
        // The best of three: the machine may be busy with something else.
        for _ in 0..2 {
            if fastest > LONGEST {
                fastest = fastest.min(load_within(folder.join(name), 20 * LONGEST).1);
            }
        }
        if let Ok(character) = &result {
            check_finite(character);
        }
        println!("{name}: {fastest:?} {:?}", result.as_ref().map(|c| &c.warnings));
        let good = match (&result, expect) {
            (Err(message), Some(Error(part))) => message.contains(part) && !message.contains('\n'),
            (Ok(character), Some(Warns(part))) => character.warnings.iter().any(|w| w.contains(part)),
            (Ok(_), Some(Loads)) => true,
            // A file that came later: any answer will do.
            (_, None) => true,
            _ => false,
        };
        if !good || fastest > LONGEST {
            bad.push(format!("{name} ({expect:?}): {fastest:?}, {:?}", result.map(|c| c.warnings)));
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
    if let Some(peak) = peak_kb() {
        println!("peak: {peak} kB");
        assert!(peak < LARGEST, "{peak} kB");
    }
}

/// Peak memory of this process, where the system tells.
fn peak_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// PCG32 (O'Neill 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        let old = self.0;
        self.0 = old.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let shifted = (((old >> 18) ^ old) >> 27) as u32;
        (shifted.rotate_right((old >> 59) as u32) as usize) % n
    }
}

fn no_files(uri: &str) -> Result<Vec<u8>, String> {
    Err(format!("{uri:?} is not there"))
}

fn import(bytes: &[u8]) -> Result<Character, String> {
    load_bytes("test.glb", bytes, &mut no_files).map_err(|e| e.to_string())
}

/// A PNG of one pixel: straight up, as a normal map has it.
const PIXEL: [u8; 69] = [
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0, 144, 119, 83,
    222, 0, 0, 0, 12, 73, 68, 65, 84, 120, 156, 99, 104, 104, 248, 15, 0, 3, 131, 2, 0, 0, 165, 251, 137, 0, 0, 0, 0,
    73, 69, 78, 68, 174, 66, 96, 130,
];

/// A small file with everything in it: two joints, two primitives (a strip without normals but with a normal map, whose
/// texture is mirrored half way; points), a sparse morph target, a clip, a picture that is none, a skin, a rigid part.
fn sample() -> Vec<u8> {
    let mut bin: Vec<u8> = Vec::new();
    let mut views = Vec::new();
    let mut view = |bytes: Vec<u8>| {
        bin.resize(bin.len().next_multiple_of(4), 0);
        views.push(format!(r#"{{"buffer":0,"byteOffset":{},"byteLength":{}}}"#, bin.len(), bytes.len()));
        bin.extend(bytes);
        views.len() - 1
    };
    let floats = |v: &[f32]| v.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let position = view(floats(&[0., 0., 0., 1., 0., 0., 0., 1., 0., 1., 1., 0., 2., 2., 0.]));
    let joints = view(vec![0, 1, 9, 9, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
    let weights = view(floats(&[1., 0., 0., 0., 0.5, 0.5, 0., 0., 1., 0., 0., 0., 1., 0., 0., 0., 0., 0., 0., 0.]));
    let indices = view(vec![0, 1, 2, 3, 4]);
    let sparse_index = view(vec![2, 0, 4, 0]);
    let sparse_value = view(floats(&[0., 0., 1., 0., 0., 2.]));
    let times = view(floats(&[0., 0.5, 0.5, 2.]));
    let turns = view(floats(&[0., 0., 0., 1., 0., 0., 1., 0., 0., 1., 0., 0., 0., 0., 0., 2.]));
    let weight_keys = view(floats(&[0., 1., -1., 0.5]));
    let binds = view(floats(&[
        1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1., 1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1., 0.,
        -1., 0., 0., 1.,
    ]));
    let uvs = view(floats(&[0., 1., 1., 1., 0., 0., 0., 1., -1., 2.]));
    let normal_map = view(PIXEL.to_vec());
    let picture = view(b"\x89PNG\r\n\x1a\nno more".to_vec());
    let accessor = |view: usize, component: u32, count: usize, kind: &str| {
        format!(r#"{{"bufferView":{view},"componentType":{component},"count":{count},"type":"{kind}"}}"#)
    };
    let accessors = [
        accessor(position, 5126, 5, "VEC3"),
        accessor(joints, 5121, 5, "VEC4"),
        accessor(weights, 5126, 5, "VEC4"),
        accessor(indices, 5121, 5, "SCALAR"),
        format!(
            r#"{{"componentType":5126,"count":5,"type":"VEC3","sparse":{{"count":2,
            "indices":{{"bufferView":{sparse_index},"componentType":5123}},"values":{{"bufferView":{sparse_value}}}}}}}"#
        ),
        accessor(times, 5126, 4, "SCALAR"),
        accessor(turns, 5126, 4, "VEC4"),
        accessor(weight_keys, 5126, 4, "SCALAR"),
        accessor(binds, 5126, 2, "MAT4"),
        accessor(uvs, 5126, 5, "VEC2"),
    ];
    let json = format!(
        r#"{{"asset":{{"version":"2.0"}},"scenes":[{{"nodes":[0]}}],
        "nodes":[{{"children":[1,3,4]}},{{"name":"root","children":[2],"rotation":[0,0,0.70710678,0.70710678]}},
        {{"name":"tip","translation":[1,0,0]}},{{"mesh":0,"skin":0}},{{"mesh":0,"matrix":[2,0,0,0,0,2,0,0,0.5,0,2,0,3,0,0,1]}}],
        "skins":[{{"joints":[1,2],"inverseBindMatrices":8}}],
        "meshes":[{{"extras":{{"targetNames":["up"]}},"primitives":[
        {{"attributes":{{"POSITION":0,"JOINTS_0":1,"WEIGHTS_0":2,"TEXCOORD_0":9}},"indices":3,"mode":5,"material":0,"targets":[{{"POSITION":4}}]}},
        {{"attributes":{{"POSITION":0,"JOINTS_0":1,"WEIGHTS_0":2}},"mode":0,"targets":[{{"POSITION":4}}]}}]}}],
        "materials":[{{"pbrMetallicRoughness":{{"baseColorTexture":{{"index":0}}}},"normalTexture":{{"index":1}}}}],
        "textures":[{{"source":0}},{{"source":1}}],
        "images":[{{"bufferView":{picture},"mimeType":"image/png"}},{{"bufferView":{normal_map}}}],
        "animations":[{{"samplers":[{{"input":5,"output":6}},{{"input":5,"output":7,"interpolation":"STEP"}}],
        "channels":[{{"sampler":0,"target":{{"node":2,"path":"rotation"}}}},{{"sampler":1,"target":{{"node":3,"path":"weights"}}}},
        {{"sampler":0,"target":{{"path":"pointer"}}}}]}}],
        "accessors":[{}],"bufferViews":[{}],"buffers":[{{"byteLength":{}}}]}}"#,
        accessors.join(","),
        views.join(","),
        bin.len()
    );
    glb(json.as_bytes(), &bin)
}

fn glb(json: &[u8], bin: &[u8]) -> Vec<u8> {
    let (mut json, mut bin) = (json.to_vec(), bin.to_vec());
    json.resize(json.len().next_multiple_of(4), b' ');
    bin.resize(bin.len().next_multiple_of(4), 0);
    let mut out = b"glTF\x02\0\0\0".to_vec();
    out.extend((28 + json.len() as u32 + bin.len() as u32).to_le_bytes());
    for (kind, chunk) in [(b"JSON", json), (b"BIN\0", bin)] {
        out.extend((chunk.len() as u32).to_le_bytes());
        out.extend(kind);
        out.extend(chunk);
    }
    out
}

#[test]
fn the_sample_itself_is_read_right() {
    let c = import(&sample()).unwrap();
    assert_eq!(c.rig.nodes.iter().map(|n| n.source).collect::<Vec<_>>(), [0, 1, 2, 4]);
    assert_eq!(c.parts.iter().map(|p| (p.node, p.rigid)).collect::<Vec<_>>(), [(3, false), (4, true)]);
    // The skinned and the rigid use of one mesh have different influences.
    assert_eq!(c.meshes.len(), 2);
    // A strip of five: three triangles, the second turned. The first's texture runs along x, the others' against it, so
    // the two vertices between them are split, and the copies stand behind the file's own five.
    assert_eq!(c.meshes[0].positions.len(), 12);
    assert_eq!(c.meshes[0].indices, [0, 1, 2, 5, 3, 6, 6, 3, 4]);
    assert_eq!(c.meshes[0].primitives[0].vertices, 0..7);
    assert_eq!(c.meshes[0].primitives[0].source, [0, 1, 2, 3, 4]);
    assert_eq!(c.meshes[0].tangents[1][3], -c.meshes[0].tangents[5][3]);
    assert_eq!(c.meshes[0].influences.of(5), c.meshes[0].influences.of(1));
    assert_eq!(c.meshes[0].positions[6], c.meshes[0].positions[2]);
    assert_eq!(c.meshes[0].primitives[1].vertices, 7..12);
    assert_eq!(c.meshes[0].primitives[1].indices, 9..9);
    assert_eq!(c.meshes[0].normals[0], [0.0, 0.0, 1.0]);
    let own: Vec<_> = dermis::io::file_vertices(&c).into_iter().map(|p| (p.node, p.index, p.vertices)).collect();
    assert_eq!(own, [(3, 0, vec![0, 1, 2, 3, 4]), (3, 1, vec![7, 8, 9, 10, 11])]);
    assert_eq!(c.meshes[0].morphs[0].name, "up");
    assert_eq!(c.meshes[0].morphs[0].deltas.iter().map(|d| d.vertex).collect::<Vec<_>>(), [2, 4, 6, 9, 11]);
    // A matrix with shear is kept as it is.
    assert_eq!(c.rig.nodes[3].base.rows[0], [2.0, 0.0, 0.5, 3.0]);
    // Padding joints of weight 0 may be anything; a vertex without weight follows its first slot.
    assert_eq!(c.meshes[0].influences.of(0).len(), 1);
    assert_eq!(c.meshes[0].influences.of(4)[0].joint, 1);
    assert_eq!(c.clips[0].channels.len(), 2);
    assert_eq!(c.clips[0].duration, 2.0);
    assert!(c.materials[0].base_color_texture.is_none());
    assert!(c.warnings.iter().any(|w| w.contains("images[0]")), "{:?}", c.warnings);
    assert!(c.warnings.iter().any(|w| w.contains("points and lines")), "{:?}", c.warnings);
    check_finite(&c);
}

#[test]
fn a_file_cut_anywhere_is_an_error() {
    let bytes = sample();
    for length in 0..bytes.len() {
        assert!(import(&bytes[..length]).is_err(), "{length} of {}", bytes.len());
    }
}

#[test]
fn flipped_bytes_never_panic_and_never_give_what_is_not_finite() {
    let good = sample();
    let mut random = Random(20_260_731);
    let mut loaded = 0;
    for _ in 0..20_000 {
        let mut bytes = good.clone();
        for _ in 0..1 + random.below(4) {
            let at = random.below(bytes.len());
            bytes[at] = random.below(256) as u8;
        }
        if let Ok(character) = import(&bytes) {
            loaded += 1;
            for mesh in &character.meshes {
                mesh.validate().unwrap();
            }
            for (part, skin) in character.parts.iter().map(|p| (p, &character.skins[p.skin])) {
                let joints = &character.meshes[part.mesh].influences.entries;
                assert!(joints.iter().all(|i| (i.joint as usize) < skin.joints.len()));
            }
        }
    }
    println!("{loaded} of 20000 still load");
    assert!(loaded > 100, "{loaded}");
}

/// The sample's JSON with one text in another's place.
fn edited(from: &str, to: &str) -> Result<Character, String> {
    let bytes = sample();
    let length = u32::from_le_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]) as usize;
    let json = std::str::from_utf8(&bytes[20..20 + length]).unwrap();
    assert!(json.contains(from), "{from}");
    import(&glb(json.replacen(from, to, 1).as_bytes(), &bytes[28 + length..]))
}

#[test]
fn lies_are_found_and_named() {
    for (from, to, named) in [
        (r#""count":5"#, r#""count":18446744073709551615"#, "accessors[0]"),
        (r#""count":5"#, r#""count":6"#, "accessors"),
        (r#""byteLength":60"#, r#""byteLength":18446744073709551615"#, "bufferViews[0]"),
        (r#""byteOffset":0"#, r#""byteOffset":18446744073709551615"#, "bufferViews[0]"),
        (r#""children":[2]"#, r#""children":[0]"#, "nodes"),
        (r#""children":[2]"#, r#""children":[1]"#, "nodes"),
        (r#""children":[2]"#, r#""children":[4294967295]"#, "node 4294967295"),
        (r#""joints":[1,2]"#, r#""joints":[1,9]"#, "skins[0].joints"),
        (r#""joints":[1,2]"#, r#""joints":[1]"#, "vertex 1 names joint 1"),
        (r#""mesh":0,"skin":0"#, r#""mesh":7,"skin":0"#, "mesh 7"),
        (r#""mesh":0,"skin":0"#, r#""mesh":0,"skin":7"#, "skin 7"),
        (r#""material":0"#, r#""material":3"#, "material 3"),
        (r#""mode":5"#, r#""mode":9"#, "mode"),
        (r#""indices":3"#, r#""indices":0"#, "accessors[0]"),
        (r#""version":"2.0""#, r#""version":"1.0""#, "version 1.0"),
        (r#""scenes""#, r#""scene":4,"scenes""#, "scene 4"),
        (r#""asset""#, r#""extensionsRequired":["KHR_draco_mesh_compression"],"asset""#, "KHR_draco_mesh_compression"),
        (r#""translation":[1,0,0]"#, r#""translation":[1e39,0,0]"#, "nodes[2]"),
        (r#""node":2,"path":"rotation""#, r#""node":2,"path":"scale""#, "VEC3"),
        (r#""POSITION":0,"JOINTS_0":1"#, r#""POSITION":1,"JOINTS_0":1"#, "accessors[1]"),
    ] {
        let message = edited(from, to).expect_err(to);
        assert!(message.contains(named) && !message.contains('\n'), "{to}: {message}");
    }
}

#[test]
fn what_can_be_repaired_is() {
    for (from, to, warned) in [
        (r#""rotation":[0,0,0.70710678,0.70710678]"#, r#""rotation":[0,0,3,3]"#, "not of unit length"),
        (r#""rotation":[0,0,0.70710678,0.70710678]"#, r#""rotation":[0,0,0,0]"#, "not of unit length"),
        (r#""textures":[{"source":0},"#, r#""textures":[{"source":9},"#, "textures[0]"),
        (r#""indices":3,"mode":5"#, r#""indices":3,"mode":4"#, "not whole triangles"),
    ] {
        let character = edited(from, to).unwrap_or_else(|e| panic!("{to}: {e}"));
        assert!(character.warnings.iter().any(|w| w.contains(warned)), "{to}: {:?}", character.warnings);
        check_finite(&character);
    }
}

#[test]
fn a_small_file_cannot_ask_for_much() {
    let zeros = r#"{"asset":{"version":"2.0"},"nodes":[{"mesh":0}],"accessors":[{"componentType":5126,"count":1000000000,
        "type":"VEC3"}],"meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}]}"#;
    assert!(import(zeros.as_bytes()).is_err_and(|e| e.contains("no buffer view")));
    let meshopt = r#"{"asset":{"version":"2.0"},"buffers":[{"byteLength":8,"uri":"data:;base64,oAAAAAAAAAA="}],
        "bufferViews":[{"buffer":0,"byteLength":4000000000,"extensions":{"EXT_meshopt_compression":{"buffer":0,
        "byteLength":8,"byteStride":4,"count":1000000000,"mode":"ATTRIBUTES"}}}]}"#;
    assert!(import(meshopt.as_bytes()).is_err_and(|e| e.contains("bufferViews[0]")));
}
