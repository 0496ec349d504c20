//! Opening files, in every way.

use std::path::PathBuf;

use egui::{Key, Modifiers, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

use super::camera::Orbit;
use super::mode::Request;
use super::shell::Shell;
use super::testing;

const SIZE: egui::Vec2 = vec2(900.0, 700.0);

/// Some small models in a folder that goes away.
struct Files(PathBuf);

impl Files {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("dermis-view-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let triangle = serde_json::json!({
            "asset": { "version": "2.0" }, "scene": 0, "scenes": [{ "nodes": [0] }], "nodes": [{ "mesh": 0 }],
            "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0 } }] }],
            "accessors": [{ "bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3",
                "min": [0.0, 0.0, 0.0], "max": [1.0, 1.0, 0.0] }],
            "bufferViews": [{ "buffer": 0, "byteLength": 36 }],
            "buffers": [{ "byteLength": 36, "uri": "data:application/octet-stream;base64,\
                AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA" }],
        });
        for name in ["one", "two"] {
            std::fs::write(folder.join(format!("{name}.gltf")), triangle.to_string()).unwrap();
        }
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name).canonicalize().unwrap()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap_or_default();
    }
}

/// As the window does it.
fn act(h: &mut Harness<'static, Shell>) {
    for request in std::mem::take(&mut h.state_mut().requests) {
        match request {
            Request::Open(path) => h.state_mut().leave(super::manners::Leaving::Open(path)),
            Request::Reload => h.state_mut().reload(),
            Request::ChooseFile => h.state_mut().choose_file(),
            _ => {}
        }
    }
    h.run_steps(2);
}

fn shows(h: &mut Harness<'static, Shell>, name: &'static str) {
    testing::until(h, name, |h| {
        let shell = h.state();
        shell.loading.is_none() && shell.stage.as_ref().is_some_and(|s| s.character.name == name)
    });
    assert!(h.state().messages.problem.is_none(), "{:?}", h.state().messages.problem);
}

#[test]
fn files_are_remembered_with_the_way_they_were_looked_at() {
    let files = Files::new("recent");
    let mut h = testing::harness(testing::shell(SIZE), SIZE);
    for name in ["one", "two"] {
        h.state_mut().load(Some(files.path(&format!("{name}.gltf"))));
        shows(&mut h, name);
    }
    let mine = Orbit { yaw: 1.5, distance: 7.0, ..Orbit::default() };
    h.state_mut().orbit = mine;
    h.get_by_label("Recent").click();
    h.run_steps(2);
    h.get_by_label("one.gltf").click();
    h.run_steps(2);
    act(&mut h);
    shows(&mut h, "one");
    assert_ne!(h.state().orbit, mine);

    // Back by the menu, looked at as before.
    h.get_by_label("Recent").click();
    h.run_steps(2);
    h.get_by_label("two.gltf").click();
    h.run_steps(2);
    act(&mut h);
    shows(&mut h, "two");
    assert_eq!(h.state().orbit, mine);
    let names: Vec<_> =
        h.state().memory.settings.recent.iter().map(|r| r.path.file_stem().unwrap().to_owned()).collect();
    assert_eq!(names, ["two", "one"]);

    // A file that went away cannot be chosen; one that is bad changes nothing.
    std::fs::write(files.path("one.gltf"), "{").unwrap();
    h.state_mut().load(Some(files.path("one.gltf")));
    testing::until(&mut h, "the message", |h| h.state().messages.problem.is_some());
    assert_eq!(h.state().stage.as_ref().unwrap().character.name, "two");
    assert_eq!(h.state().memory.settings.recent[0].path, files.path("two.gltf"));
    h.state_mut().messages.problem = None;
    std::fs::remove_file(files.path("one.gltf")).unwrap();
    h.get_by_label("Recent").click();
    h.run_steps(2);
    h.get_by_label("one.gltf").click();
    h.run_steps(2);
    assert!(h.state().requests.is_empty());
    h.get_by_label("Recent").click();
    h.run_steps(2);
    h.get_by_label("Clear list").click();
    h.run_steps(2);
    assert!(h.state().memory.settings.recent.is_empty());
}

#[test]
fn a_file_is_read_again_and_looked_at_as_before() {
    let files = Files::new("reload");
    let mut h = testing::harness(testing::shell(SIZE), SIZE);
    h.state_mut().load(Some(files.path("one.gltf")));
    shows(&mut h, "one");
    let mine = Orbit { yaw: 0.5, ..Orbit::default() };
    h.state_mut().orbit = mine;
    std::sync::Arc::make_mut(&mut h.state_mut().stage.as_mut().unwrap().character).name = "old".into();
    h.key_press_modifiers(Modifiers::COMMAND, Key::R);
    h.run_steps(2);
    act(&mut h);
    shows(&mut h, "one");
    assert_eq!(h.state().orbit, mine);
}

#[test]
fn without_file_dialogs_paths_are_typed() {
    let files = Files::new("typed");
    let mut h = testing::harness(testing::shell(SIZE), SIZE);
    h.run_steps(2);
    h.key_press_modifiers(Modifiers::COMMAND, Key::O);
    h.run_steps(2);
    act(&mut h);
    h.get_by_label("There is no name yet.");
    let typed = |h: &mut Harness<'static, Shell>, text: &str| {
        h.get_by_role(egui::accesskit::Role::TextInput).type_text(text);
        h.run_steps(2);
    };
    typed(&mut h, files.path("two.gltf").to_str().unwrap());
    h.key_press(Key::Enter);
    h.run_steps(2);
    shows(&mut h, "two");
    // Escape asks for nothing any more.
    act(&mut h);
    h.state_mut().choose_file();
    h.run_steps(2);
    typed(&mut h, "nowhere.glb");
    h.get_by_label("There is no such file.");
    h.key_press(Key::Escape);
    h.run_steps(3);
    assert!(h.query_by_label("Open a model").is_none());
    assert_eq!(h.state().stage.as_ref().unwrap().character.name, "two");

    // Saving: a new file at once, one that is there only when it is said so.
    let mut job = h.state().jobs.save_file("Save it", "models", &["glb"], "");
    h.run_steps(2);
    typed(&mut h, files.path("one.gltf").to_str().unwrap());
    h.get_by_label("The file that is there will be replaced.");
    h.key_press(Key::Enter);
    h.run_steps(2);
    assert!(job.take().is_none());
    h.get_by_label("Replace").click();
    h.run_steps(2);
    assert_eq!(job.take(), Some(Ok(Some(files.path("one.gltf")))));
}
