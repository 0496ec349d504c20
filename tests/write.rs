//! Whole characters as files: what is written is what is read again.

#![cfg(feature = "gltf")]

use std::path::PathBuf;

use bytemuck::Pod;
use dermis::character::{
    AlphaMode, Channel, Clip, Filter, Image, Interpolation, Material, Mesh, MorphDelta, MorphTarget, Part, Primitive,
    Rig, RigNode, Sampler, Skin, Target, TextureRef, UvTransform, Wrap,
};
use dermis::influence::{Influence, Influences};
use dermis::io::{load, load_bytes, write_glb};
use dermis::pose::{Pose, joint_worlds};
use dermis::{Affine, Character, Error, Transform};

/// Reads what was written.
fn again(character: &Character) -> Character {
    let glb = write_glb(character).unwrap();
    load_bytes(&format!("{}.glb", character.name), &glb, &mut |uri| Err(format!("{uri}: asked for"))).unwrap()
}

/// Compares every bit.
fn assert_bits<T: Pod + std::fmt::Debug>(a: &[T], b: &[T], what: &str) {
    assert_eq!(b.len(), a.len(), "{what}");
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!(bytemuck::bytes_of(a) == bytemuck::bytes_of(b), "{what} {i}: wrote {a:?}, read {b:?}");
    }
}

/// True when one node stands above all joints of every skin.
fn rooted(character: &Character) -> bool {
    let root = |mut node: usize| {
        while let Some(parent) = character.rig.nodes[node].parent {
            node = parent;
        }
        node
    };
    character.skins.iter().all(|s| s.joints.iter().all(|&j| root(j) == root(s.joints[0])))
}

/// Compares a character with what was read from the file of it.
fn assert_same(c: &Character, read: &Character) {
    // A root that joints were given comes first.
    let shift = usize::from(!rooted(c));
    assert_eq!(read.name, c.name);
    assert_rigs(&c.rig, &read.rig, shift);
    assert_eq!(read.skins.len(), c.skins.len());
    for (a, b) in c.skins.iter().zip(&read.skins) {
        assert_eq!(b.name, a.name);
        assert_eq!(b.joints, a.joints.iter().map(|j| j + shift).collect::<Vec<_>>());
        assert_bits(&a.inverse_binds, &b.inverse_binds, &format!("inverse binds of {}", a.name));
    }
    assert_eq!(read.parts.len(), c.parts.len());
    for (a, b) in c.parts.iter().zip(&read.parts) {
        assert_eq!((&b.name, b.mesh, b.skin, b.rigid), (&a.name, a.mesh, a.skin, a.rigid));
        assert_bits(&a.morph_weights, &b.morph_weights, &format!("morph weights of {}", a.name));
    }
    assert_eq!(read.meshes.len(), c.meshes.len());
    for (a, b) in c.meshes.iter().zip(&read.meshes) {
        assert_meshes(c, a, b);
    }
    let clips: Vec<&Clip> = c.clips.iter().filter(|clip| !clip.channels.is_empty()).collect();
    assert_eq!(read.clips.len(), clips.len());
    for (a, b) in clips.into_iter().zip(&read.clips) {
        assert_clips(a, b, shift);
    }
    assert_eq!(read.materials.len(), c.materials.len());
    for (a, b) in c.materials.iter().zip(&read.materials) {
        let mut a = a.clone();
        if a.alpha_mode != AlphaMode::Mask {
            a.alpha_cutoff = 0.5;
        }
        if a.normal_texture.is_none() {
            a.normal_scale = 1.0;
        }
        assert_eq!(*b, a);
    }
    assert!(read.images == c.images, "the images differ");
}

fn assert_rigs(a: &Rig, b: &Rig, shift: usize) {
    assert_eq!(b.nodes.len(), a.nodes.len() + shift);
    for (i, (a, b)) in a.nodes.iter().zip(&b.nodes[shift..]).enumerate() {
        assert_eq!(b.name, a.name);
        assert_eq!(b.parent, a.parent.map_or((shift > 0).then_some(0), |p| Some(p + shift)), "{}", a.name);
        assert_bits(&[a.rest], &[b.rest], &format!("rest of node {i}, {}", a.name));
        assert_eq!(b.base, a.base, "{}", a.name);
    }
}

fn assert_meshes(c: &Character, a: &Mesh, b: &Mesh) {
    let name = &a.name;
    assert_eq!(b.name, *name);
    assert_bits(&a.positions, &b.positions, &format!("positions of {name}"));
    assert_bits(&a.normals, &b.normals, &format!("normals of {name}"));
    assert_bits(&a.tangents, &b.tangents, &format!("tangents of {name}"));
    for set in 0..2 {
        assert_bits(&a.uvs[set], &b.uvs[set], &format!("texture coordinates {set} of {name}"));
    }
    assert_bits(&a.colors, &b.colors, &format!("colours of {name}"));
    assert_eq!(b.influences, a.influences, "influences of {name}");
    assert_eq!(b.morphs, a.morphs, "morph targets of {name}");
    assert_eq!(b.indices, a.indices, "indices of {name}");
    assert_eq!(b.primitives.len(), a.primitives.len());
    for (i, (a, b)) in a.primitives.iter().zip(&b.primitives).enumerate() {
        assert_eq!((b.index, &b.vertices, &b.indices, b.material), (i, &a.vertices, &a.indices, a.material));
        let mapped = c.materials[a.material].normal_texture.is_some();
        assert_eq!(b.authored_tangents, a.authored_tangents || mapped, "primitive {i} of {name}");
        assert_eq!(b.source, [0_u32; 0]);
    }
}

fn assert_clips(a: &Clip, b: &Clip, shift: usize) {
    assert_eq!((&b.name, b.duration), (&a.name, a.duration));
    assert_eq!(b.channels.len(), a.channels.len(), "{}", a.name);
    for (a, b) in a.channels.iter().zip(&b.channels) {
        let target = match a.target {
            Target::Rotation(n) => Target::Rotation(n + shift),
            Target::Translation(n) => Target::Translation(n + shift),
            Target::Scale(n) => Target::Scale(n + shift),
            Target::Morph(part) => Target::Morph(part),
        };
        assert_eq!((b.target, b.interpolation, b.width), (target, a.interpolation, a.width));
        assert_bits(&a.times, &b.times, &format!("times of {target:?}"));
        assert_bits(&a.values, &b.values, &format!("values of {target:?}"));
    }
}

/// Files of the shared folder; none, said aloud, where there is none.
fn models() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/models");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("NOT RUN: {} does not exist", folder.display());
        return Vec::new();
    };
    let mut out = Vec::new();
    for entry in entries {
        let path = entry.unwrap().path();
        let inside = path.is_dir().then(|| std::fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
        out.extend(inside.into_iter().flatten());
        out.push(path);
    }
    out.retain(|p| p.extension().is_some_and(|e| ["glb", "gltf", "vrm"].iter().any(|k| e == *k)));
    out.sort();
    out
}

#[test]
fn every_model_is_read_again_as_it_was_written() {
    for path in models() {
        let Ok(character) = load(&path) else { continue };
        println!("{}", path.display());
        let read = again(&character);
        assert_same(&character, &read);
        // From here on nothing changes at all.
        assert_eq!(write_glb(&again(&read)).unwrap(), write_glb(&read).unwrap());
    }
}

#[cfg(feature = "hand")]
#[test]
fn the_built_in_hands_are_read_again_as_they_were_written() {
    use dermis::hand::{HandOptions, hands};
    let hands = hands(&HandOptions { edge: 0.004, texture: 256, ..HandOptions::default() }).unwrap().character;
    let read = again(&hands);
    assert_same(&hands, &read);
    // What was made here counts its nodes and primitives as the file does, so that it can change the file.
    let nodes = |c: &Character, skip: usize| c.rig.nodes[skip..].iter().map(|n| n.source).collect::<Vec<_>>();
    assert_eq!(nodes(&read, 1), nodes(&hands, 0));
    assert_eq!(read.parts[0].node, hands.parts[0].node);
    assert_eq!(read.warnings, [""; 0]);
}

/// Two joints under a root, in order of depth.
fn arm() -> Rig {
    let node = |name: &str, parent, y: f32| RigNode {
        name: name.into(),
        parent,
        rest: Transform { translation: [0.0, y, 0.0], ..Transform::IDENTITY },
        ..RigNode::default()
    };
    Rig { nodes: vec![node("root", None, 0.0), node("lower", Some(0), 0.5), node("upper", Some(1), 1.0)] }
}

/// A strip of `n` vertices, whose influences take turns.
fn ribbon(n: usize, rows: &[Vec<Influence>]) -> Mesh {
    Mesh {
        name: "ribbon".into(),
        positions: (0..n).map(|i| [(i % 2) as f32, i as f32 * 0.1, 0.0]).collect(),
        normals: vec![[0.0, 0.0, 1.0]; n],
        tangents: vec![[1.0, 0.0, 0.0, 1.0]; n],
        influences: Influences::from_vertices((0..n).map(|i| rows[i % rows.len()].as_slice())),
        indices: (0..n as u32 - 2).flat_map(|i| [i, i + 1, i + 2]).collect(),
        ..Mesh::default()
    }
}

/// A ribbon under a skin over all of `rig`.
fn skinned(rig: Rig, mesh: Mesh) -> Character {
    let joints: Vec<usize> = (0..rig.nodes.len()).collect();
    let inverse_binds = (0..joints.len()).map(|j| {
        let mut m = Affine::IDENTITY;
        m.rows[1][3] = -0.5 * j as f32;
        m
    });
    Character {
        name: "made".into(),
        skins: vec![Skin { name: "skin".into(), inverse_binds: inverse_binds.collect(), joints }],
        parts: vec![Part { name: "part".into(), node: rig.nodes.len(), ..Part::default() }],
        materials: vec![Material { name: "plain".into(), ..Material::default() }],
        meshes: vec![mesh],
        rig,
        ..Character::default()
    }
}

fn follow(joints: &[(u32, f32)]) -> Vec<Influence> {
    joints.iter().map(|&(joint, weight)| Influence { joint, weight }).collect()
}

#[test]
fn primitives_with_many_and_few_influences_share_a_mesh() {
    let mut rig = arm();
    for i in 3..9 {
        rig.nodes.push(RigNode { name: format!("more {i}"), parent: Some(0), ..RigNode::default() });
    }
    let many: Vec<(u32, f32)> = (0..9).map(|j| (j, 1.0 / 9.0)).collect();
    let mut mesh = ribbon(7, &[follow(&[(1, 0.75), (2, 0.25)])]);
    let second = ribbon(5, &[follow(&many), follow(&[(2, 1.0)])]);
    mesh.influences = Influences::from_vertices((0..12).map(|v| match v {
        0..7 => mesh.influences.of(v),
        _ => second.influences.of(v - 7),
    }));
    mesh.indices.extend(second.indices.iter().map(|i| i + 7));
    mesh.positions.extend(second.positions);
    mesh.normals.extend(second.normals);
    mesh.tangents.extend(second.tangents);
    mesh.uvs = [vec![[0.0; 2]; 12], Vec::new()];
    mesh.uvs[1] = (0..12).map(|i| [i as f32, 0.5]).collect();
    mesh.colors = (0..12).map(|i| [0.05 * i as f32, 0.25, 0.0, 1.0]).collect();
    let run = |index, vertices, indices| Primitive { index, vertices, indices, ..Primitive::default() };
    mesh.primitives = vec![run(0, 0..7, 0..15), run(1, 7..12, 15..24)];
    mesh.primitives[0].authored_tangents = true;
    // The tangents of the other are nobody's: what reading puts there.
    let second = again(&skinned(rig.clone(), mesh.clone())).meshes[0].tangents[7..].to_vec();
    mesh.tangents[7..].copy_from_slice(&second);
    let c = skinned(rig, mesh);
    assert_eq!(c.meshes[0].influences.max_per_vertex(), 9);
    assert_same(&c, &again(&c));
    // Sets of texture coordinates count without a gap.
    let gap =
        Character { meshes: vec![Mesh { uvs: [Vec::new(), c.meshes[0].uvs[1].clone()], ..c.meshes[0].clone() }], ..c };
    assert_eq!(again(&gap).meshes[0].uvs, [vec![[0.0; 2]; 12], gap.meshes[0].uvs[1].clone()]);
}

#[test]
fn morph_targets_and_their_channels_come_back() {
    let mut mesh = ribbon(40, &[follow(&[(1, 1.0)])]);
    mesh.primitives = vec![
        Primitive { vertices: 0..20, indices: 0..54, authored_tangents: true, ..Primitive::default() },
        Primitive { index: 1, vertices: 20..40, indices: 60..114, authored_tangents: true, ..Primitive::default() },
    ];
    let corners: Vec<u32> = mesh.indices[0..54].iter().chain(&mesh.indices[60..114]).copied().collect();
    mesh.indices = corners;
    mesh.primitives[1].indices = 54..108;
    let delta = |vertex: u32| MorphDelta {
        vertex,
        position: [0.1, -0.5, vertex as f32],
        normal: if vertex.is_multiple_of(3) { [0.0, 0.25, 0.0] } else { [0.0; 3] },
        tangent: [0.0, 0.0, 0.125],
    };
    let target = |name: &str, vertices: std::ops::Range<u32>| MorphTarget {
        name: name.into(),
        deltas: vertices.map(delta).collect(),
    };
    // All of one primitive, a few of both, nothing at all.
    mesh.morphs = vec![target("smile", 0..20), target("", 18..23), target("none", 0..0)];
    let mut c = skinned(arm(), mesh);
    c.parts[0].morph_weights = vec![0.5, 0.0, 0.25];
    // The same mesh again, with other weights.
    c.parts.push(Part { name: "twin".into(), node: 4, morph_weights: vec![0.0, 1.0, 0.0], ..Part::default() });
    let channel = |target, interpolation, width: usize, times: &[f32]| Channel {
        target,
        interpolation,
        width,
        times: times.to_vec(),
        values: (0..times.len() * width * if interpolation == Interpolation::CubicSpline { 3 } else { 1 })
            .map(|i| 0.01 * i as f32)
            .collect(),
    };
    c.clips = vec![
        Clip {
            name: "first".into(),
            duration: 2.0,
            channels: vec![
                channel(Target::Morph(1), Interpolation::CubicSpline, 3, &[0.0, 0.5, 2.0]),
                channel(Target::Morph(0), Interpolation::Step, 3, &[0.25]),
                channel(Target::Rotation(2), Interpolation::Linear, 4, &[0.0, 0.5, 2.0]),
                channel(Target::Scale(2), Interpolation::CubicSpline, 3, &[0.0, 0.1]),
                channel(Target::Translation(0), Interpolation::Step, 3, &[0.0, 0.5, 2.0]),
            ],
        },
        Clip { name: "empty".into(), ..Clip::default() },
    ];
    assert_same(&c, &again(&c));
}

#[test]
fn rigid_parts_sit_on_their_joints() {
    let mut mesh = ribbon(5, &[follow(&[(0, 1.0)])]);
    mesh.primitives =
        vec![Primitive { vertices: 0..5, indices: 0..9, authored_tangents: true, ..Primitive::default() }];
    let mut c = skinned(arm(), mesh);
    let own = |joint: usize| Skin { joints: vec![joint], inverse_binds: vec![Affine::IDENTITY], ..Skin::default() };
    c.skins.extend([own(2), own(1), own(1)]);
    c.skins[3].inverse_binds[0].rows[0][3] = 4.0;
    let part = |name: &str, skin| Part { name: name.into(), node: 9, skin, rigid: true, ..Part::default() };
    // One is the joint itself, one hangs on it, one has a place of its own that only a skin can state.
    c.parts.extend([part("upper", 1), part("sword", 2), part("shield", 3)]);
    let read = again(&c);
    let worlds = |c: &Character| {
        let rest = joint_worlds(&c.rig, &Pose::rest(&c.rig)).unwrap();
        let vertex = |part: &Part| {
            let (skin, mesh) = (&c.skins[part.skin], &c.meshes[part.mesh]);
            let joint = mesh.influences.of(3)[0].joint as usize;
            let bound = skin.inverse_binds[joint].transform_point(mesh.positions[3]);
            (part.name.clone(), rest[skin.joints[joint]].transform_point(bound).map(|x| (x * 1e4).round()))
        };
        let mut out: Vec<_> = c.parts.iter().map(vertex).collect();
        out.sort_by(|a, b| a.0.cmp(&b.0));
        out
    };
    assert_eq!(worlds(&read), worlds(&c));
    let rigid = |name: &str| read.parts.iter().find(|p| p.name == name).unwrap().rigid;
    assert_eq!(["part", "upper", "sword", "shield"].map(rigid), [false, true, true, false]);
    let sword = read.rig.find("sword").unwrap();
    assert_eq!(read.rig.nodes[sword].parent, read.rig.find("lower"));
}

#[test]
fn a_base_that_moves_becomes_a_node_above() {
    let mut c = skinned(arm(), ribbon(5, &[follow(&[(2, 1.0)])]));
    let sheared = Affine { rows: [[1.0, 0.5, 0.0, 1.0], [0.0, 1.0, 0.25, 0.0], [0.0, 0.0, 2.0, 0.0]] };
    c.rig.nodes[1].base = sheared;
    c.rig.nodes[0].base = sheared;
    c.rig.nodes[0].rest = Transform::IDENTITY;
    let s = std::f32::consts::FRAC_1_SQRT_2;
    let turn = |node| Channel {
        target: Target::Rotation(node),
        interpolation: Interpolation::Linear,
        times: vec![0.0, 1.0],
        width: 4,
        values: vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0, s, s],
    };
    c.clips = vec![Clip { name: "turn".into(), duration: 1.0, channels: vec![turn(1), turn(2)] }];
    let read = again(&c);
    assert_eq!(
        read.rig.nodes.iter().map(|n| n.name.as_str()).collect::<Vec<_>>(),
        ["root", "lower base", "lower", "upper"]
    );
    let tip = |c: &Character| {
        let mut pose = Pose::rest(&c.rig);
        c.clips[0].sample(0.5, &mut pose);
        let worlds = joint_worlds(&c.rig, &pose).unwrap();
        worlds[c.rig.find("upper").unwrap()]
    };
    for (a, b) in tip(&c).rows.iter().flatten().zip(tip(&read).rows.iter().flatten()) {
        // One more product of matrices of size 2, in f64, rounded to f32 once more.
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
}

#[test]
fn keys_at_one_time_stay_a_jump() {
    let mut c = skinned(arm(), ribbon(5, &[follow(&[(2, 1.0)])]));
    let channel = Channel {
        target: Target::Translation(2),
        interpolation: Interpolation::Linear,
        times: vec![0.0, 1.0, 1.0, 1.0, 2.0],
        width: 3,
        values: (0..15).map(|i| i as f32).collect(),
    };
    // The same target again: the last one counts.
    let before = Channel { times: vec![0.0], values: vec![7.0; 3], ..channel.clone() };
    c.clips = vec![Clip { name: "jump".into(), duration: 2.0, channels: vec![before, channel.clone()] }];
    let read = again(&c).clips.remove(0);
    assert_eq!(read.channels.len(), 1);
    let times = &read.channels[0].times;
    assert!(times.windows(2).all(|w| w[0] < w[1]) && times[3] < 1.000_001, "{times:?}");
    assert_eq!(read.channels[0].values, channel.values);
    c.clips[0].channels[1].times[0] = -0.5;
    let error = write_glb(&c).unwrap_err();
    assert_eq!(error.to_string(), "clip \"jump\": has a key at -0.5 s, but glTF starts at 0");
}

#[test]
fn surfaces_keep_every_number() {
    let mut c = skinned(arm(), ribbon(5, &[follow(&[(1, 1.0)])]));
    c.meshes[0].uvs = [vec![[0.5; 2]; 5], vec![[0.25; 2]; 5]];
    c.meshes[0].primitives = vec![Primitive { vertices: 0..5, indices: 0..9, material: 1, ..Primitive::default() }];
    let image = |name: &str, width: u32, height: u32| Image {
        name: name.into(),
        width,
        height,
        rgba: (0..width * height * 4).map(|i| (i * 37 % 251) as u8).collect(),
    };
    c.images = vec![image("wide", 5, 2), image("one", 1, 1), image("nobody's", 2, 2)];
    let texture = |image, uv_set, min, mip| {
        let sampler = Sampler { wrap_u: Wrap::Mirror, wrap_v: Wrap::Clamp, mag: Filter::Nearest, min, mip };
        let transform = UvTransform { offset: [0.1, 0.2], rotation: 0.3, scale: [2.0, -1.0] };
        Some(TextureRef { image, uv_set, sampler, transform })
    };
    c.materials.push(Material {
        name: "all".into(),
        base_color: [0.1, 0.2, 0.3, 0.4],
        base_color_texture: texture(0, 0, Filter::Linear, Some(Filter::Nearest)),
        metallic: 0.7,
        roughness: 0.3,
        metallic_roughness_texture: texture(1, 1, Filter::Nearest, None),
        normal_texture: texture(0, 1, Filter::Nearest, Some(Filter::Linear)),
        normal_scale: 0.6,
        // More than 1, and no digit lost.
        emissive: [3.3, 0.1, 7.7],
        emissive_texture: texture(1, 0, Filter::Linear, None),
        alpha_mode: AlphaMode::Mask,
        alpha_cutoff: 0.33,
        double_sided: true,
        unlit: true,
    });
    c.materials.push(Material { name: "glass".into(), alpha_mode: AlphaMode::Blend, ..Material::default() });
    assert_same(&c, &again(&c));
}

#[test]
fn meshes_of_all_sorts_are_written() {
    // Nothing at all.
    assert_eq!(again(&Character::default()).rig.nodes, []);
    // A mesh without primitives is one, and more vertices than 16 bits count.
    let c = skinned(arm(), ribbon(70_001, &[follow(&[(1, 0.5), (2, 0.5)])]));
    let read = again(&c);
    assert_eq!(read.meshes[0].indices, c.meshes[0].indices);
    assert_eq!(read.meshes[0].influences, c.meshes[0].influences);
    // Points, an empty primitive, and vertices that none has.
    let mut c = skinned(arm(), ribbon(9, &[follow(&[(1, 1.0)])]));
    c.meshes[0].primitives = vec![
        Primitive { vertices: 1..5, ..Primitive::default() },
        Primitive::default(),
        Primitive { vertices: 5..9, indices: 18..21, ..Primitive::default() },
    ];
    c.meshes[0].indices[18..21].copy_from_slice(&[8, 6, 7]);
    let read = again(&c);
    assert_eq!((&read.meshes[0].positions[..], read.meshes[0].primitives.len()), (&c.meshes[0].positions[1..], 2));
    assert_eq!(read.meshes[0].indices, [7, 5, 6]);
    // A mesh that nothing shows is in the file, but not in what is read from it.
    c.meshes.push(ribbon(3, &[follow(&[(0, 1.0)])]));
    assert_eq!(again(&c).meshes.len(), 1);
}

#[test]
fn what_no_file_can_hold_is_refused() {
    let refused = |change: &dyn Fn(&mut Character)| {
        let mut c = skinned(arm(), ribbon(5, &[follow(&[(1, 1.0)])]));
        c.meshes[0].primitives = vec![Primitive { vertices: 0..5, indices: 0..9, ..Primitive::default() }];
        c.meshes[0].uvs[0] = vec![[0.0; 2]; 5];
        c.images = vec![Image { width: 2, height: 2, rgba: vec![0; 16], ..Image::default() }];
        assert!(write_glb(&c).is_ok());
        change(&mut c);
        write_glb(&c).unwrap_err()
    };
    let not_finite: [&dyn Fn(&mut Character); 7] = [
        &|c| c.rig.nodes[0].rest.translation[0] = f32::NAN,
        &|c| c.skins[0].inverse_binds[1].rows[0][0] = f32::INFINITY,
        &|c| c.meshes[0].positions[3][1] = f32::NAN,
        &|c| c.meshes[0].uvs[0][4][1] = f32::NEG_INFINITY,
        &|c| c.meshes[0].colors = vec![[f32::NAN; 4]; 5],
        &|c| c.materials[0].emissive[2] = f32::INFINITY,
        &|c| {
            c.meshes[0].morphs = vec![MorphTarget::default()];
            c.parts[0].morph_weights = vec![f32::NAN];
        },
    ];
    for (i, change) in not_finite.iter().enumerate() {
        let error = refused(change);
        assert!(matches!(error, Error::NotFinite { .. }), "{i}: {error}");
    }
    let out_of_range: [&dyn Fn(&mut Character); 8] = [
        &|c| c.parts[0].mesh = 1,
        &|c| c.parts[0].skin = 1,
        &|c| c.skins[0].joints[1] = 3,
        &|c| c.meshes[0].primitives[0].material = 1,
        &|c| c.meshes[0].primitives[0].vertices.end = 6,
        &|c| c.meshes[0].primitives[0].indices.end = 10,
        &|c| c.meshes[0].primitives[0].vertices.end = 4,
        &|c| c.materials[0].emissive_texture = Some(TextureRef { image: 1, ..TextureRef::default() }),
    ];
    for (i, change) in out_of_range.iter().enumerate() {
        let error = refused(change);
        assert!(matches!(error, Error::OutOfRange { .. }), "{i}: {error}");
    }
    let error = refused(&|c| c.images[0].rgba.truncate(15));
    assert!(matches!(error, Error::LengthMismatch { .. }), "{error}");
    let error = refused(&|c| c.meshes[0].influences.entries[2].joint = 3);
    assert_eq!(error.to_string(), "vertex 2 names joint 3, but the skin has 3");
    let error = refused(&|c| {
        let deltas = [1, 1].map(|vertex| MorphDelta { vertex, ..MorphDelta::default() }).to_vec();
        c.meshes[0].morphs = vec![MorphTarget { deltas, ..MorphTarget::default() }];
    });
    assert!(matches!(error, Error::InvalidParameter { .. }), "{error}");
}
