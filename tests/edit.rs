//! Saving through the JSON tree: what is not joints or weights stays as it was.

#![cfg(feature = "gltf")]

use dermis::influence::{Influence, Influences, Ties, quantise};
use dermis::io::{FileEdit, FileMesh, NewNode, influence_sets, quantised_sets};
use serde_json::{Value, json};

/// A triangle with two sets of influences, a strange extension, extras, an embedded picture and a sidecar.
fn model(mut change: impl FnMut(&mut Value)) -> (Vec<u8>, Vec<u8>) {
    let mut bin: Vec<u8> = Vec::new();
    let mut views = Vec::new();
    let mut put = |bytes: &[u8]| {
        views.push(json!({ "buffer": 0, "byteOffset": bin.len(), "byteLength": bytes.len() }));
        bin.extend_from_slice(bytes);
        bin.resize(bin.len().next_multiple_of(4), 0);
    };
    let floats = |f: &[f32]| f.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    put(&floats(&[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]));
    put(&[0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
    put(&floats(&[0.2; 12]));
    put(&[4, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0]);
    put(&floats(&[0.2, 0.0, 0.0, 0.0, 0.2, 0.0, 0.0, 0.0, 0.2, 0.0, 0.0, 0.0]));
    put(b"\x89PNG not really a picture");
    let accessor = |view: usize, component: u32, kind: &str| json!({ "bufferView": view, "componentType": component, "count": 3, "type": kind, "name": format!("a{view}") });
    let mut tree = json!({
        "asset": { "version": "2.0", "generator": "hand-made" },
        "extensionsUsed": ["VENDOR_strange"],
        "zebra": { "kept": [1.5, 0.1, 1e-7, 16777217] },
        "scene": 0,
        "scenes": [{ "nodes": [0, 1] }],
        "nodes": [
            { "mesh": 0, "skin": 0, "name": "Ünïcode \"node\"" },
            { "name": "j0" }, { "name": "j1" }, { "name": "j2" }, { "name": "j3" }, { "name": "j4" },
        ],
        "skins": [{ "joints": [1, 2, 3, 4, 5], "extras": { "k": null } }],
        "meshes": [{ "primitives": [{
            "attributes": { "JOINTS_1": 3, "WEIGHTS_0": 2, "POSITION": 0, "WEIGHTS_1": 4, "JOINTS_0": 1, "_CUSTOM": 0 },
            "material": 0, "extras": [1, 2], "extensions": { "VENDOR_strange": { "deep": { "text": "x" } } },
        }] }],
        "materials": [{ "name": "m", "extensions": { "KHR_materials_sheen": { "sheenRoughnessFactor": 0.30000000001 } } }],
        "images": [{ "bufferView": 5, "mimeType": "image/png" }],
        "accessors": [
            { "bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0] },
            accessor(1, 5121, "VEC4"), accessor(2, 5126, "VEC4"), accessor(3, 5121, "VEC4"), accessor(4, 5126, "VEC4"),
        ],
        "bufferViews": views,
        "buffers": [{ "byteLength": bin.len(), "name": "b" }],
    });
    change(&mut tree);
    (glb(&tree, &bin), bin)
}

fn glb(tree: &Value, bin: &[u8]) -> Vec<u8> {
    let mut text = serde_json::to_vec(tree).unwrap();
    text.resize(text.len().next_multiple_of(4), b' ');
    let mut out = b"glTF\x02\0\0\0".to_vec();
    out.extend(((12 + 8 + text.len() + 8 + bin.len()) as u32).to_le_bytes());
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(b"JSON");
    out.extend(text);
    out.extend((bin.len() as u32).to_le_bytes());
    out.extend(b"BIN\0");
    out.extend(bin);
    out
}

fn split(glb: &[u8]) -> (Value, Vec<u8>) {
    let word = |at: usize| u32::from_le_bytes(glb[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!((word(8), word(8) % 4), (glb.len(), 0));
    let n = word(12);
    (serde_json::from_slice(&glb[20..20 + n]).unwrap(), glb[28 + n..].to_vec())
}

fn no_files(uri: &str) -> Result<Vec<u8>, String> {
    Err(format!("{uri}: not there"))
}

/// Prunes every vertex to joint 4 and 3, half each, and saves.
fn save(bytes: &[u8]) -> Vec<u8> {
    let half = [Influence { joint: 4, weight: 0.5 }, Influence { joint: 3, weight: 0.5 }];
    let influences = Influences::from_vertices([&half[..]; 3]);
    let mut edit = FileEdit::from_bytes("t.glb", bytes, &mut no_files).unwrap();
    let weights = quantise(&influences, 255, Ties::Index, &Default::default()).unwrap();
    edit.set_influences(0, 0, &quantised_sets(&weights, 0..3).unwrap()).unwrap();
    edit.to_glb().unwrap()
}

fn view<'a>(tree: &Value, bin: &'a [u8], view: usize) -> &'a [u8] {
    let v = &tree["bufferViews"][view];
    let at = v["byteOffset"].as_u64().unwrap() as usize;
    &bin[at..at + v["byteLength"].as_u64().unwrap() as usize]
}

#[test]
fn only_joints_and_weights_change() {
    let (bytes, _) = model(|_| {});
    let (before, old) = split(&bytes);
    let saved = save(&bytes);
    let (after, bin) = split(&saved);
    // Keys in the order they had, every value but those of influences as it was.
    let keys = |v: &Value| v.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&before), keys(&after));
    for key in keys(&before)
        .iter()
        .filter(|k| !["accessors", "bufferViews", "buffers", "meshes", "images"].contains(&k.as_str()))
    {
        assert_eq!(before[key].to_string(), after[key].to_string(), "{key}");
    }
    let primitive = &after["meshes"][0]["primitives"][0];
    assert_eq!(primitive["attributes"], json!({ "WEIGHTS_0": 2, "POSITION": 0, "JOINTS_0": 1, "_CUSTOM": 0 }));
    assert_eq!(keys(&primitive["attributes"]), ["WEIGHTS_0", "POSITION", "JOINTS_0", "_CUSTOM"]);
    assert_eq!(primitive["extensions"], before["meshes"][0]["primitives"][0]["extensions"]);
    assert_eq!(primitive["extras"], json!([1, 2]));
    // The accessors that held them hold them still, with their names; the second set is gone, and its bytes with it.
    assert_eq!(after["accessors"].as_array().unwrap().len(), 3);
    assert_eq!(after["accessors"][0], before["accessors"][0]);
    assert_eq!(after["accessors"][2]["name"], "a2");
    assert_eq!(
        (&after["accessors"][2]["componentType"], &after["accessors"][2]["normalized"]),
        (&json!(5121), &json!(true))
    );
    assert_eq!(
        view(&after, &bin, after["accessors"][1]["bufferView"].as_u64().unwrap() as usize),
        [3, 4, 0, 0].repeat(3)
    );
    assert_eq!(
        view(&after, &bin, after["accessors"][2]["bufferView"].as_u64().unwrap() as usize),
        [128, 127, 0, 0].repeat(3)
    );
    assert_eq!(view(&after, &bin, 0), view(&before, &old, 0));
    let picture = after["images"][0]["bufferView"].as_u64().unwrap() as usize;
    assert_eq!(view(&after, &bin, picture), b"\x89PNG not really a picture");
    // 36 bytes of positions, 2 × 12 of influences, 28 of picture.
    assert_eq!(bin.len(), 36 + 24 + 28);
    // Loading it again gives what was saved.
    let character = dermis::io::load_bytes("t.glb", &saved, &mut no_files).unwrap();
    let file = FileMesh::new(&character.meshes[0]);
    let weights: Vec<(u32, f32)> = file.influences.of(2).iter().map(|i| (i.joint, i.weight)).collect();
    assert_eq!(weights, [(3, 128.0 / 255.0), (4, 127.0 / 255.0)]);
    // Saving what was saved changes nothing.
    assert_eq!(save(&saved), saved);
}

#[test]
fn unknown_references_keep_everything_in_place() {
    let (bytes, _) = model(|t| t["extensions"] = json!({ "VENDOR_strange": { "accessor": 3 } }));
    let (before, _) = split(&bytes);
    let (after, bin) = split(&save(&bytes));
    assert_eq!(after["accessors"].as_array().unwrap().len(), 5);
    assert_eq!(after["accessors"][3], before["accessors"][3]);
    assert_eq!(view(&after, &bin, 3), [4, 0, 0, 0].repeat(3));
}

#[test]
fn shared_accessors_are_left_to_the_others() {
    // The second primitive, of another mesh, uses the same weights and is not pruned.
    let (bytes, _) = model(|t| {
        let other = t["meshes"][0].clone();
        t["meshes"].as_array_mut().unwrap().push(other);
    });
    let (before, _) = split(&bytes);
    let (after, bin) = split(&save(&bytes));
    assert_eq!(after["meshes"][1], before["meshes"][1]);
    assert_eq!(view(&after, &bin, 1), [0, 1, 2, 3].repeat(3));
    let new = after["meshes"][0]["primitives"][0]["attributes"]["JOINTS_0"].as_u64().unwrap() as usize;
    assert_eq!(new, 5);
}

#[test]
fn sidecars_and_data_uris_move_in() {
    let (bytes, bin) = model(|t| {
        t["buffers"][0]["uri"] = "mesh%20data.bin".into();
        t["images"].as_array_mut().unwrap().push(json!({ "uri": "a.png" }));
        t["images"].as_array_mut().unwrap().push(json!({ "uri": "gone.png" }));
    });
    let (tree, _) = split(&bytes);
    let text = serde_json::to_vec_pretty(&tree).unwrap();
    let mut fetch = |uri: &str| match uri {
        "mesh%20data.bin" => Ok(bin.clone()),
        "a.png" => Ok(b"\x89PNG beside".to_vec()),
        other => Err(format!("{other}: not there")),
    };
    let edit = FileEdit::from_bytes("t.gltf", &text, &mut fetch).unwrap();
    assert_eq!(edit.warnings().len(), 1);
    let (after, bin) = split(&edit.to_glb().unwrap());
    assert!(after["buffers"][0].get("uri").is_none());
    let picture = after["images"][1]["bufferView"].as_u64().unwrap() as usize;
    assert_eq!(view(&after, &bin, picture), b"\x89PNG beside");
    assert_eq!(after["images"][1]["mimeType"], "image/png");
    assert_eq!(after["images"][2]["uri"], "gone.png");
    assert_eq!(view(&after, &bin, 1), [0, 1, 2, 3].repeat(3));
}

#[test]
fn skeletons_are_added() {
    let (bytes, _) = model(|t| {
        t["nodes"][0].as_object_mut().unwrap().remove("skin");
        t.as_object_mut().unwrap().remove("skins");
    });
    let mut edit = FileEdit::from_bytes("t.glb", &bytes, &mut no_files).unwrap();
    let nodes = ["root", "tip"].map(|name| NewNode { name: name.into(), ..Default::default() });
    let nodes = [nodes[0].clone(), NewNode { parent: Some(0), ..nodes[1].clone() }];
    let first = edit.add_nodes(&nodes).unwrap();
    assert_eq!(first, 6);
    let skin = edit.add_skin("s", &[6, 7], &[dermis::Affine::IDENTITY; 2]).unwrap();
    edit.set_skin(0, skin).unwrap();
    assert!(edit.set_skin(99, skin).is_err());
    assert!(edit.add_skin("s", &[6], &[]).is_err());
    assert!(edit.add_nodes(&[NewNode { parent: Some(0), ..Default::default() }]).is_err());
    let rigid = Influences::rigid(3, 1);
    edit.set_influences(0, 0, &influence_sets(&rigid, 0..3).unwrap()).unwrap();
    let saved = edit.to_glb().unwrap();
    let character = dermis::io::load_bytes("t.glb", &saved, &mut no_files).unwrap();
    assert_eq!(character.skins[0].joints.len(), 2);
    assert_eq!(character.meshes[0].influences, rigid);
    let (tree, _) = split(&saved);
    assert_eq!(tree["scenes"][0]["nodes"], json!([0, 1, 6]));
    assert_eq!(tree["nodes"][6]["children"], json!([7]));
}

#[test]
fn refusals() {
    let (bytes, _) = model(|_| {});
    let mut edit = FileEdit::from_bytes("t.glb", &bytes, &mut no_files).unwrap();
    let sets = influence_sets(&Influences::rigid(2, 0), 0..2).unwrap();
    assert!(edit.set_influences(0, 0, &sets).is_err_and(|e| e.to_string().contains("2 rows")));
    assert!(edit.set_influences(0, 1, &sets).is_err());
    assert!(edit.set_influences(7, 0, &sets).is_err());
    assert!(influence_sets(&Influences::rigid(2, 0), 0..3).is_err());
    assert!(influence_sets(&Influences::rigid(2, 70000), 0..2).is_err());
    let (draco, _) = model(|t| {
        t["meshes"][0]["primitives"][0]["extensions"]["KHR_draco_mesh_compression"] = json!({ "bufferView": 0 });
    });
    let mut edit = FileEdit::from_bytes("t.glb", &draco, &mut no_files).unwrap();
    let sets = influence_sets(&Influences::rigid(3, 0), 0..3).unwrap();
    assert!(edit.set_influences(0, 0, &sets).is_err_and(|e| e.to_string().contains("Draco")));
    for broken in [
        &b"glTF"[..],
        b"{",
        b"[]",
        b"",
        b"{\"buffers\": 3}",
        b"{\"bufferViews\": [{\"buffer\": 4}]}",
        b"{\"buffers\": [{}, 5]}",
    ] {
        assert!(FileEdit::from_bytes("t", broken, &mut no_files).is_err(), "{:?}", String::from_utf8_lossy(broken));
    }
    let (lying, _) = model(|t| t["bufferViews"][1]["byteOffset"] = u64::MAX.into());
    let mut edit = FileEdit::from_bytes("t.glb", &lying, &mut no_files).unwrap();
    edit.set_influences(0, 0, &sets).unwrap();
    assert!(edit.to_glb().is_err());
}
