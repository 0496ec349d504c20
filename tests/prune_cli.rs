//! `dermis prune` and `dermis bind` as people run them.

#![cfg(feature = "app")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The models beside the project; `None`, said aloud, where there are none.
fn models() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/models");
    if !folder.exists() {
        eprintln!("NOT RUN: {} does not exist", folder.display());
        return None;
    }
    Some(folder)
}

/// An empty folder of this test's own.
fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn dermis(args: &[&dyn AsRef<std::ffi::OsStr>]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dermis"));
    args.iter().for_each(|a| {
        command.arg(a);
    });
    command.output().unwrap()
}

/// One `error:` line, nothing else on stderr, exit 1.
fn refused(output: &Output, part: &str) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.starts_with("error: ") && text.lines().count() == 1 && text.contains(part), "{text}");
}

fn done(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn many_files_one_broken() {
    let Some(models) = models() else { return };
    let folder = scratch("many");
    let broken = folder.join("broken.glb");
    std::fs::write(&broken, b"glTF nothing else").unwrap();
    let (out, report) = (folder.join("out"), folder.join("r.json"));
    let [robot, quad, sidecar] = ["robot.glb", "assimp_quad_skin.glb", "SimpleSkin.gltf"].map(|m| models.join(m));
    let output = dermis(&[&"prune", &robot, &broken, &quad, &sidecar, &"-o", &out, &"--report", &report]);
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.lines().any(|l| l.starts_with("error: broken.glb: ")), "{errors}");
    assert!(errors.lines().any(|l| l == "error: 1 of 4 files failed"), "{errors}");
    let table = String::from_utf8_lossy(&output.stdout);
    assert_eq!(table.lines().count(), 5, "{table}");
    assert!(table.lines().any(|l| l.contains("assimp_quad_skin") && l.contains("10→4")), "{table}");
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
    let files = json["files"].as_array().unwrap();
    assert_eq!(files.len(), 4);
    assert!(files[1]["error"].is_string() && files[0]["displacement"]["metres"].is_number());
    assert_eq!(files[2]["influences"]["before"][10], 1);
    for name in ["robot.glb", "assimp_quad_skin.glb", "SimpleSkin.glb"] {
        let character = dermis::io::load(&out.join(name)).unwrap();
        let most = character.parts.iter().map(|p| character.meshes[p.mesh].influences.max_per_vertex()).max();
        assert!(most <= Some(4), "{name}");
    }
    // Two results of one name: the second is refused, the first written.
    std::fs::create_dir_all(folder.join("again")).unwrap();
    let copy = folder.join("again/robot.glb");
    std::fs::copy(&robot, &copy).unwrap();
    let output = dermis(&[&"prune", &robot, &copy, &"-o", &folder.join("both/")]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("would overwrite the result of"));
    assert!(folder.join("both/robot.glb").exists());
}

/// The sums that are stored, straight from the accessors.
#[test]
fn stored_sums_are_exact() {
    let Some(models) = models() else { return };
    let folder = scratch("sums");
    let out = folder.join("o.glb");
    for model in [
        "ozz_arnaud_8inf.glb",
        "assimp_quad_skin.glb",
        "CesiumMan.glb",
        "weights_u8_sum_off.glb",
        "CesiumMan_meshopt.glb",
    ] {
        for limit in ["1", "2", "3", "4", "8"] {
            for (format, total) in [("u8", 255u64), ("u16", 65535)] {
                done(&dermis(&[
                    &"prune",
                    &models.join(model),
                    &"-o",
                    &out,
                    &"--max-influences",
                    &limit,
                    &"--weights",
                    &format,
                ]));
                let bytes = std::fs::read(&out).unwrap();
                let n = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
                let tree: serde_json::Value = serde_json::from_slice(&bytes[20..20 + n]).unwrap();
                let bin = &bytes[28 + n..];
                for primitive in
                    tree["meshes"].as_array().unwrap().iter().flat_map(|m| m["primitives"].as_array().unwrap())
                {
                    let attributes = primitive["attributes"].as_object().unwrap();
                    let rows = |name: &str| {
                        let a = &tree["accessors"][attributes[name].as_u64().unwrap() as usize];
                        let v = &tree["bufferViews"][a["bufferView"].as_u64().unwrap() as usize];
                        let at = v["byteOffset"].as_u64().unwrap() as usize;
                        let size = if a["componentType"] == 5121 { 1 } else { 2 };
                        let count = 4 * a["count"].as_u64().unwrap() as usize;
                        let number =
                            |i: usize| (0..size).map(|b| u64::from(bin[at + size * i + b]) << (8 * b)).sum::<u64>();
                        (0..count).map(number).collect::<Vec<_>>()
                    };
                    let sets = attributes.keys().filter(|k| k.starts_with("WEIGHTS_")).count();
                    assert!(sets == 1 || limit == "8" && sets == 2);
                    let all: Vec<_> =
                        (0..sets).map(|s| (rows(&format!("JOINTS_{s}")), rows(&format!("WEIGHTS_{s}")))).collect();
                    for vertex in 0..all[0].0.len() / 4 {
                        let slots = || {
                            all.iter().flat_map(|(j, w)| (0..4).map(move |k| (j[4 * vertex + k], w[4 * vertex + k])))
                        };
                        assert_eq!(slots().map(|s| s.1).sum::<u64>(), total, "{model} {limit} {format} {vertex}");
                        assert!(slots().all(|s| s.1 > 0 || s.0 == 0));
                        assert!(slots().filter(|s| s.1 > 0).count() <= limit.parse().unwrap());
                    }
                }
            }
        }
    }
}

#[test]
fn wrong_use_and_refusals() {
    let Some(models) = models() else { return };
    let folder = scratch("refusals");
    let robot = folder.join("robot.glb");
    std::fs::copy(models.join("robot.glb"), &robot).unwrap();
    let before = std::fs::read(&robot).unwrap();
    refused(&dermis(&[&"prune", &robot, &"-o", &robot]), "--force");
    refused(&dermis(&[&"prune", &robot, &"-o", &folder.join("x.gltf")]), "must end in");
    refused(&dermis(&[&"prune", &folder.join("none.glb"), &"-o", &folder.join("x.glb")]), "none.glb");
    let priority = folder.join("p.json");
    std::fs::write(&priority, "{\"Head\": \"high\"}").unwrap();
    refused(&dermis(&[&"prune", &robot, &"-o", &folder.join("x.glb"), &"--priority", &priority]), "p.json");
    refused(&dermis(&[&"bind", &robot, &"-o", &folder.join("x.glb"), &"--falloff", &"2"]), "--method distance");
    refused(&dermis(&[&"bind", &models.join("MorphStressTest.gltf"), &"-o", &folder.join("x.glb")]), "--skeleton");
    assert!(!folder.join("x.glb").exists());
    assert_eq!(std::fs::read(&robot).unwrap(), before);
    for limit in ["0", "9", "x"] {
        let output = dermis(&[&"prune", &robot, &"-o", &folder.join("x.glb"), &"--max-influences", &limit]);
        assert_eq!(output.status.code(), Some(2));
    }
    std::fs::write(&priority, "{\"Head\": 2, \"No such bone\": 1}").unwrap();
    let output = dermis(&[&"prune", &robot, &"-o", &robot, &"--force", &"--priority", &priority]);
    done(&output);
    assert!(String::from_utf8_lossy(&output.stderr).contains("\"No such bone\""));
    assert_ne!(std::fs::read(&robot).unwrap(), before);
}

#[test]
fn a_preset_says_the_same_as_options_do() {
    let Some(models) = models() else { return };
    let folder = scratch("preset");
    let arnaud = models.join("ozz_arnaud_8inf.glb");
    let [preset, by_preset, by_options, report] = ["p.json", "a.glb", "b.glb", "r.json"].map(|name| folder.join(name));
    let text =
        r#"{ "dermis": "prune-preset", "version": 1, "max_influences": 2, "redistribute": "equal", "weights": "u16" }"#;
    std::fs::write(&preset, text).unwrap();
    let bytes = |path: &Path| std::fs::read(path).unwrap();
    done(&dermis(&[&"prune", &arnaud, &"-o", &by_preset, &"--preset", &preset, &"--report", &report]));
    let options = [&"--max-influences", &"2", &"--redistribute", &"equal", &"--weights", &"u16"];
    let with = |path: &Path, more: &[&'static str]| {
        let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"prune", &arnaud, &"-o", &path];
        args.extend(more.iter().map(|m| m as &dyn AsRef<std::ffi::OsStr>));
        done(&dermis(&args));
    };
    with(&by_options, &options.map(|o| *o));
    assert_eq!(bytes(&by_preset), bytes(&by_options));
    let json: serde_json::Value = serde_json::from_slice(&bytes(&report)).unwrap();
    assert_eq!((&json["max_influences"], &json["weights"]), (&2.into(), &"u16".into()));
    assert_eq!((&json["redistribute"], &json["ties"]), (&"equal".into(), &"neighbours".into()));
    // Options go before the preset.
    done(&dermis(&[&"prune", &arnaud, &"-o", &by_preset, &"--preset", &preset, &"--max-influences", &"3"]));
    with(&by_options, &["--max-influences", "3", "--redistribute", "equal", "--weights", "u16"]);
    assert_eq!(bytes(&by_preset), bytes(&by_options));
    // A priority in the preset is as good as one in its own file.
    let robot = models.join("robot.glb");
    std::fs::write(&preset, r#"{ "dermis": "prune-preset", "version": 1, "priority": { "No such bone": 1 } }"#)
        .unwrap();
    let output = dermis(&[&"prune", &robot, &"-o", &by_preset, &"--preset", &preset]);
    done(&output);
    assert!(String::from_utf8_lossy(&output.stderr).contains("\"No such bone\""));
    for (text, part) in [
        (r#"{ "dermis": "prune-preset", "version": 1, "max": 2 }"#, "unknown field `max`"),
        (r#"{ "dermis": "prune-preset", "version": 3 }"#, "version 3"),
        (r#"{ "max_influences": 2 }"#, "is no preset"),
    ] {
        std::fs::write(&preset, text).unwrap();
        let output = dermis(&[&"prune", &robot, &"-o", &folder.join("x.glb"), &"--preset", &preset]);
        refused(&output, part);
        assert!(!folder.join("x.glb").exists());
    }
    refused(&dermis(&[&"prune", &robot, &"-o", &folder.join("x.glb"), &"--preset", &folder]), "regular file");
}

#[test]
fn bound_to_its_own_and_to_another_skeleton() {
    let Some(models) = models() else { return };
    let folder = scratch("bind");
    let out = folder.join("o.glb");
    let skinned = |path: &Path| {
        let c = dermis::io::load(path).unwrap();
        let part = c.parts.iter().find(|p| !p.rigid).unwrap().clone();
        (c, part)
    };
    for method in ["heat", "distance"] {
        done(&dermis(&[&"bind", &models.join("generic-hand-left.glb"), &"-o", &out, &"--method", &method]));
        let (c, part) = skinned(&out);
        assert!(c.warnings.is_empty(), "{:?}", c.warnings);
        assert!(c.meshes[part.mesh].influences.max_per_vertex() == 4);
    }
    // A model without a skeleton takes another's, and stands where it stood.
    let skeleton = models.join("chain_300_joints_u16.glb");
    done(&dermis(&[&"bind", &models.join("MorphStressTest.gltf"), &"-o", &out, &"--skeleton", &skeleton]));
    let (c, part) = skinned(&out);
    assert_eq!(c.skins[part.skin].joints.len(), 300);
    let before = dermis::io::load(&models.join("MorphStressTest.gltf")).unwrap();
    let palette = |c: &dermis::Character, skin: usize| {
        dermis::pose::skin_palette(&c.rig, &c.skins[skin], &dermis::pose::Pose::rest(&c.rig)).unwrap()
    };
    let (new, old) = (palette(&c, part.skin), palette(&before, before.parts[0].skin));
    for (v, p) in c.meshes[part.mesh].positions.iter().enumerate() {
        let mut at = [0.0f32; 3];
        for i in c.meshes[part.mesh].influences.of(v) {
            let q = new[i.joint as usize].transform_point(*p);
            (0..3).for_each(|k| at[k] += i.weight * q[k]);
        }
        let was = old[0].transform_point(before.meshes[before.parts[0].mesh].positions[v]);
        // Both in f32, a few roundings of coordinates of up to 300 (the chain is that long).
        assert!((0..3).all(|k| (at[k] - was[k]).abs() < 1e-3), "{at:?} {was:?}");
    }
}

#[test]
fn the_built_in_hands_are_changed_like_a_file() {
    let folder = scratch("hand");
    let [pruned, bound, posed] = ["pruned.glb", "bound.glb", "posed.glb"].map(|name| folder.join(name));
    done(&dermis(&[&"prune", &"hand", &"-o", &pruned, &"--max-influences", &"2"]));
    let read = dermis::io::load(&pruned).unwrap();
    assert_eq!(read.meshes[0].influences.max_per_vertex(), 2);
    assert_eq!((read.skins[0].joints.len(), read.clips.len(), read.images.len()), (50, 2, 3));

    done(&dermis(&[&"bind", &"hand", &"-o", &bound, &"--method", &"distance", &"--max-influences", &"1"]));
    let read = dermis::io::load(&bound).unwrap();
    assert_eq!(read.meshes[0].influences.max_per_vertex(), 1);

    done(&dermis(&[&"pose", &"hand", &"--at", &"1,0", &"-o", &posed]));
    let posed = dermis::io::load(&posed).unwrap();
    assert_eq!(posed.clips.last().unwrap().name, "pose");
    let finger = posed.rig.find("index-finger-phalanx-proximal_left").unwrap();
    assert_ne!(posed.rig.nodes[finger].rest, read.rig.nodes[finger].rest);
}
