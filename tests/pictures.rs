//! The program's pictures: `dermis render`, and the viewer where there is no display.

#![cfg(feature = "app")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A fresh folder that goes away at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("dermis-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Leftovers in the system's temporary folder do no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs the program in a folder, without a display. Mesa complains about a missing runtime folder as an `error:` too.
fn dermis(folder: &Folder, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dermis"))
        .args(arguments)
        .current_dir(&folder.0)
        .env("XDG_RUNTIME_DIR", &folder.0)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WAYLAND_SOCKET")
        .env_remove("DERMIS_ADAPTER")
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Colours of a PNG and how many pixels are clearly orange: skin, or the robot.
fn orange_share(path: &Path) -> ([u32; 2], f32) {
    let picture = image::open(path).unwrap().to_rgba8();
    let orange = picture
        .pixels()
        .map(|p| p.0.map(u32::from))
        .filter(|p| p[0] > 120 && 4 * p[0] > 5 * p[1] && p[1] > p[2])
        .count();
    ([picture.width(), picture.height()], orange as f32 / (picture.width() * picture.height()) as f32)
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_display_the_viewer_leaves_a_picture() {
    let folder = Folder::new("no-display");
    let output = dermis(&folder, &[]);
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("no display (") && said.contains("dermis.png"), "{said}");
    let (size, share) = orange_share(&folder.0.join("dermis.png"));
    assert_eq!(size, [1200, 800]);
    // Two hands, all of skin.
    assert!((0.02..0.4).contains(&share), "{share}");

    let output = dermis(&folder, &["view", "--screenshot", "named.png"]);
    assert!(output.status.success() && folder.0.join("named.png").exists(), "{}", text(&output.stderr));
    let output = dermis(&folder, &["view", "missing.glb"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("error: missing.glb: "), "{}", text(&output.stderr));
}

#[test]
fn render_frames_what_is_there_and_refuses_what_it_must() {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/models");
    let model = models.join("robot.glb");
    if !model.exists() {
        println!("not run: there is no {}", model.display());
        return;
    }
    let folder = Folder::new("render");
    let input = folder.0.join("robot.glb");
    std::fs::copy(&model, &input).unwrap();
    let render = |more: &[&str]| dermis(&folder, &[&["render", "robot.glb", "-o"], more].concat());

    // Two moments of a clip and the rest pose are three pictures, each filled by an orange robot.
    let mut seen = Vec::new();
    for (name, clip) in
        [("a.png", &["--clip", "0"][..]), ("b.png", &["--clip", "Robot_Jump", "--time", "0.3"]), ("c.png", &[])]
    {
        let output = render(&[&[name, "--size", "201x160"], clip].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let (size, share) = orange_share(&folder.0.join(name));
        assert_eq!(size, [201, 160]);
        assert!((0.05..0.6).contains(&share), "{name}: {share}");
        seen.push(std::fs::read(folder.0.join(name)).unwrap());
    }
    assert!(seen[0] != seen[1] && seen[1] != seen[2] && seen[0] != seen[2]);

    for (arguments, expected) in [
        (&["robot.png", "--clip", "nope"][..], "there is no clip named \"nope\""),
        (&["robot.jpg"], "robot.jpg: the name must end in .png"),
        (&["nowhere/robot.png"], "nowhere/robot.png: "),
        (&["robot.png", "--adapter", "no such adapter"], "no adapter matches \"no such adapter\"; found: 0: "),
    ] {
        let output = render(arguments);
        let said = text(&output.stderr);
        let errors: Vec<&str> = said.lines().filter(|l| !l.starts_with("warning: ")).collect();
        assert_eq!((output.status.code(), errors.len()), (Some(1), 1), "{said}");
        assert!(errors[0].starts_with(&format!("error: {expected}")), "{said}");
    }
    assert_eq!(render(&["robot.png", "--size", "0x7"]).status.code(), Some(2));
    // Its own input, under a name that a picture could have.
    std::fs::copy(&model, folder.0.join("model.png")).unwrap();
    let output = dermis(&folder, &["render", "model.png", "-o", "./model.png"]);
    assert!(text(&output.stderr).contains("is the input itself"), "{}", text(&output.stderr));
    assert_eq!(std::fs::read(folder.0.join("model.png")).unwrap(), std::fs::read(&model).unwrap());
}

#[test]
fn adapters_are_listed_for_people_and_programs() {
    let folder = Folder::new("adapters");
    let output = dermis(&folder, &["adapters", "--json"]);
    assert!(output.status.success());
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let adapters = list["adapters"].as_array().unwrap();
    assert!(adapters.iter().any(|a| a["usable"] == true), "these tests need a graphics adapter: {list}");
    let table = text(&dermis(&folder, &["adapters"]).stdout);
    // A head and a line each.
    assert_eq!(table.lines().count(), adapters.len() + 1, "{table}");
    for adapter in adapters {
        assert!(table.contains(adapter["name"].as_str().unwrap()), "{table}");
    }
}
