//! Pose space files that cannot be used: one line that names the key.
#![cfg(feature = "json")]

use dermis::Character;
use dermis::character::{Clip, Rig, RigNode};
use dermis::pose::PoseSpaceFile;

const GOOD: &str = r#"{ "dermis": "pose-space", "version": 1, "name": "n", "dimensions": 2,
  "corners": [ { "at": [0, 0], "poses": ["a"] }, { "at": [1, 0], "poses": ["b", "a"] }, { "at": [0.5, 0.87], "poses": ["c"] } ],
  "poses": { "a": { "clip": "wave", "time": 0 },
             "b": { "joints": { "arm": { "rotation": [0, 0, 0.7071, 0.7071], "length": 1, "thickness": 1 } }, "texture": "t.png" },
             "c": { "joints": {} } },
  "default": "a", "groups": { "g": ["arm"] },
  "limits": { "arm": { "twist": [-5, 5], "swing_y": [-20, 20], "swing_z": [-10, 90] } }, "outside": "extrapolate" }"#;

fn character() -> Character {
    let node = |name: &str, parent| RigNode { name: name.into(), parent, ..RigNode::default() };
    let rig = Rig { nodes: vec![node("root", None), node("arm", Some(0))] };
    let clip = Clip { name: "wave".into(), ..Clip::default() };
    Character { rig, clips: vec![clip], ..Character::default() }
}

fn open(text: &str) -> dermis::Result<dermis::pose::PoseSpace> {
    PoseSpaceFile::parse("x.json", text.as_bytes())?.space(&character(), None, None)
}

#[test]
fn the_good_file_is_good() {
    let space = open(GOOD).unwrap();
    assert_eq!((space.corners().len(), space.samples().len(), space.groups().len()), (3, 3, 1));
    assert_eq!(space.samples()[1].texture.as_deref(), Some("t.png"));
    // 0.7071 is not quite unit: it is made so.
    let q = space.samples()[1].pose.joints[1].rotation;
    assert!((q[2] - std::f32::consts::FRAC_1_SQRT_2).abs() < 1e-7);
}

#[test]
fn bad_files_name_the_key() {
    let cases: &[(&str, &str, &str)] = &[
        ("\"pose-space\"", "\"pose\"", "dermis"),
        ("\"version\": 1", "\"version\": 2", "version"),
        ("\"name\": \"n\"", "\"nam\": \"n\"", "nam"),
        ("\"dimensions\": 2", "\"dimensions\": 3", "corners[0].at"),
        ("\"dimensions\": 2", "\"dimensions\": 4", "corners[0].at"),
        ("\"at\": [1, 0]", "\"at\": [1, 0, 0]", "corners[1].at"),
        ("\"at\": [1, 0]", "\"at\": [0.25, 0.435]", "corners["),
        ("\"at\": [1, 0]", "\"at\": [0, 0]", "corners[1].at"),
        ("\"at\": [1, 0]", "\"at\": [1e39, 0]", "corners[1].at[0]"),
        ("\"at\": [1, 0]", "\"at\": [\"1\", 0]", "corners[1].at[0]"),
        ("[\"b\", \"a\"]", "[]", "corners[1].poses"),
        ("[\"b\", \"a\"]", "[\"d\"]", "corners[1].poses[0]"),
        ("\"clip\": \"wave\"", "\"clip\": \"walk\"", "poses.a.clip"),
        ("\"clip\": \"wave\", ", "", "poses.a.time"),
        ("\"time\": 0", "\"time\": 1e40", "time"),
        ("\"clip\": \"wave\", \"time\": 0", "", "poses.a"),
        ("\"clip\": \"wave\", \"time\": 0", "\"clip\": \"wave\", \"joints\": {}", "poses.a"),
        ("\"clip\": \"wave\", \"time\": 0", "\"fingers\": {}", "poses.a.fingers"),
        ("{ \"arm\": { \"rotation\"", "{ \"leg\": { \"rotation\"", "poses.b.joints.leg"),
        ("[0, 0, 0.7071, 0.7071]", "[0, 0, 0, 0]", "poses.b.joints.arm.rotation"),
        ("[0, 0, 0.7071, 0.7071]", "[0, 0, 1]", "poses.b.joints.arm.rotation"),
        ("\"length\": 1", "\"length\": 0", "poses.b.joints.arm.length"),
        ("\"thickness\": 1", "\"thickness\": -1", "poses.b.joints.arm.thickness"),
        ("\"thickness\": 1", "\"tickness\": 1", "poses.b.joints.arm.tickness"),
        ("\"default\": \"a\"", "\"default\": \"z\"", "default"),
        ("\"g\": [\"arm\"]", "\"g\": [\"arm\", \"leg\"]", "groups.g[1]"),
        ("\"twist\": [-5, 5]", "\"twist\": [5, -5]", "limits.arm"),
        ("\"twist\": [-5, 5]", "\"twist\": [-5, 190]", "limits.arm"),
        ("\"limits\": { \"arm\"", "\"limits\": { \"leg\"", "limits.leg"),
        ("\"extrapolate\"", "\"sideways\"", "outside"),
        ("\"c\": {", "\"a\": {", "twice"),
        ("{ \"dermis\"", "[ \"dermis\"", "x.json"),
        ("\"extrapolate\" }", "\"extrapolate\" } }", "x.json"),
        ("\"extrapolate\" }", "\"extrapolate\"", "x.json"),
    ];
    for (old, new, key) in cases {
        assert!(GOOD.contains(old), "{old}");
        let error = open(&GOOD.replacen(old, new, 1)).expect_err(new).to_string();
        println!("{error}");
        assert!(error.contains("x.json") && error.contains(key), "{new}: {error} does not name {key}");
        assert!(!error.contains('\n'), "{error}");
    }
    for bytes in [&b""[..], b"\xff\xfe", b"nul", b"{}"] {
        assert!(PoseSpaceFile::parse("x.json", bytes).is_err());
    }
    let deep = "[".repeat(100_000);
    assert!(PoseSpaceFile::parse("x.json", deep.as_bytes()).is_err());
}
