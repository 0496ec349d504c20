//! `dermis skin` and `dermis info` as a user runs them.

#![cfg(feature = "app")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn shared() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/models");
    if !folder.exists() {
        eprintln!("NOT RUN: {} does not exist", folder.display());
        return None;
    }
    Some(folder)
}

fn dermis(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dermis")).args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The line a failed command ends with.
fn error(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!text.contains("panicked"), "{text}");
    let last = text.lines().last().unwrap_or_default().to_owned();
    assert!(last.starts_with("error: "), "{text}");
    last
}

/// A folder that goes away again.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("dermis-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn model(models: &Path, name: &str) -> String {
    models.join(name).to_str().unwrap().to_owned()
}

#[test]
fn info_counts() {
    let Some(models) = shared() else { return };
    let text = stdout(&dermis(&["info", &model(&models, "CesiumMan.glb"), "--json"]));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (key, count) in [("vertices", 3273), ("triangles", 4672), ("joints", 19)] {
        assert_eq!(json[key], count, "{key}");
    }
    assert_eq!(json["influences"]["max"], 4);
    let histogram = json["influences"]["histogram"].as_object().unwrap();
    assert_eq!(histogram.values().map(|n| n.as_u64().unwrap()).sum::<u64>(), 3273);
    assert_eq!(json["clips"][0]["duration"], 2.0);
    assert_eq!(json["textures"][0]["width"], 1024);
    assert!(json["warnings"][0].as_str().unwrap().contains("do not sum to 1"));
    let text = stdout(&dermis(&["info", &model(&models, "robot.glb")]));
    assert!(text.contains("Robot_Walking") && text.contains("7,218"), "{text}");
    let text = stdout(&dermis(&["info", &model(&models, "CesiumMan_meshopt.glb")]));
    assert!(text.contains("EXT_meshopt_compression"), "{text}");
}

#[test]
fn the_same_command_gives_the_same_bytes() {
    let Some(models) = shared() else { return };
    let folder = Folder::new("same");
    for kind in ["npz", "glb"] {
        let out = [1, 2].map(|i| folder.path(&format!("{i}.{kind}")));
        for out in &out {
            stdout(&dermis(&[
                "skin",
                &model(&models, "robot.glb"),
                "--clip",
                "Robot_Walking",
                "--time",
                "0.3",
                "-o",
                out,
            ]));
        }
        assert!(std::fs::read(&out[0]).unwrap() == std::fs::read(&out[1]).unwrap(), "{kind}");
    }
    // By index it is the same clip; past its end, the end.
    let out = ["a.npz", "b.npz", "c.npz"].map(|n| folder.path(n));
    for (out, [clip, time]) in out.iter().zip([["1", "99"], ["Robot_Death", "inf"], ["1", "-99"]]) {
        stdout(&dermis(&["skin", &model(&models, "robot.glb"), "--clip", clip, "--time", time, "-o", out]));
    }
    let bytes = out.map(|o| std::fs::read(o).unwrap());
    assert!(bytes[0] == bytes[1]);
    assert!(bytes[0] != bytes[2]);
}

#[test]
fn the_method_changes_bent_limbs_and_nothing_else() {
    let Some(models) = shared() else { return };
    let folder = Folder::new("method");
    for (name, differs) in [("CesiumMan.glb", true), ("MorphStressTest.gltf", false)] {
        let [linear, dual, default] = ["linear", "dual-quaternion", ""].map(|method| {
            let out = folder.path(&format!("{name}-{method}.npz"));
            let model = model(&models, name);
            let mut arguments = vec!["skin", &model, "--clip", "0", "--time", "0.5", "-o", &out];
            if !method.is_empty() {
                arguments.extend(["--method", method]);
            }
            stdout(&dermis(&arguments));
            std::fs::read(&out).unwrap()
        });
        assert!(linear == default && (linear != dual) == differs, "{name}");
    }
}

#[test]
fn what_cannot_be_done_is_said() {
    let Some(models) = shared() else { return };
    let folder = Folder::new("said");
    let own = folder.path("own.glb");
    std::fs::copy(model(&models, "RiggedSimple.glb"), &own).unwrap();
    let out = folder.path("out.npz");
    for (arguments, named) in [
        (vec![own.as_str(), "--clip", "walk", "-o", &out], "found: 0 \"clip 0\""),
        (vec![own.as_str(), "--clip", "7", "-o", &out], "\"7\""),
        (vec![own.as_str(), "--time", "nan", "--clip", "0", "-o", &out], "--time"),
        (vec![own.as_str(), "-o", &own], "--force"),
        (vec![own.as_str(), "-o", "out.obj"], ".npz or .glb"),
        (vec!["no such file.glb", "-o", &out], "no such file.glb"),
    ] {
        let said = error(&dermis(&[&["skin"], arguments.as_slice()].concat()));
        assert!(said.contains(named), "{said}");
    }
    assert!(!Path::new(&out).exists());
    assert_eq!(dermis(&["skin", &own, "--max-influences", "9", "-o", &out]).status.code(), Some(2));
    let said = error(&dermis(&["info", "no such file.glb"]));
    assert!(said.contains("no such file.glb"), "{said}");
    stdout(&dermis(&["skin", &own, "-o", &own, "--force"]));
    let baked = stdout(&dermis(&["info", &own]));
    assert!(baked.contains("rigid") && !baked.contains("skin 0"), "{baked}");
}
