//! Whole characters as files: what is written is what is read again.

#![cfg(feature = "gltf")]

use std::path::PathBuf;

use bytemuck::Pod;
use dermis::character::{AlphaMode, Clip, Mesh, Rig, Target};
use dermis::io::{load, load_bytes, write_glb};
use dermis::{Character, Error};

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

#[test]
fn what_no_file_can_hold_is_refused() {
    let broken = |change: fn(&mut Character)| {
        let mut c = Character { rig: Rig { nodes: vec![Default::default()] }, ..Character::default() };
        change(&mut c);
        write_glb(&c).unwrap_err()
    };
    let error = broken(|c| c.rig.nodes[0].rest.translation[0] = f32::NAN);
    assert!(matches!(error, Error::NotFinite { .. }), "{error}");
}
