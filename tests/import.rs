//! Import against the oracle: what a file says, skinned here in f64 by the formulas alone, must be what an independent
//! program makes of the same file.

#![cfg(feature = "gltf")]

#[path = "support/oracle.rs"]
mod oracle;

use dermis::character::Mesh;
use dermis::pose::{Pose, skin_palette};
use dermis::{Affine, Character};

/// Palettes, rest positions and the oracle's answers are rounded to f32 once each (6e-8 relative), at a lever of a few
/// extents; the worst seen is 1.3e-7 of the extent.
const POSITION: f64 = 1e-6;
/// Unit normals are rounded to f32 (1e-7 rad) and go through blended matrices that are worse conditioned the flatter they
/// are; the worst seen is 2.3e-7.
const ANGLE: f64 = 5e-6;

/// Morphs, then linear skinning of one mesh: ten numbers per vertex.
fn skin(mesh: &Mesh, palette: &[Affine], weights: &[f32]) -> Vec<[f64; 10]> {
    let mut position: Vec<_> = mesh.positions.iter().map(|p| p.map(f64::from)).collect();
    let mut normal: Vec<_> = mesh.normals.iter().map(|p| p.map(f64::from)).collect();
    let mut tangent: Vec<_> = mesh.tangents.iter().map(|t| [t[0], t[1], t[2]].map(f64::from)).collect();
    for (target, &w) in mesh.morphs.iter().zip(weights) {
        for d in &target.deltas {
            let v = d.vertex as usize;
            for k in 0..3 {
                position[v][k] += f64::from(w) * f64::from(d.position[k]);
                normal[v][k] += f64::from(w) * f64::from(d.normal[k]);
                tangent[v][k] += f64::from(w) * f64::from(d.tangent[k]);
            }
        }
    }
    let vertex = |v: usize| {
        let mut m = [[0.0_f64; 4]; 3];
        let influences = mesh.influences.of(v);
        let sum: f64 = influences.iter().map(|i| f64::from(i.weight)).sum();
        for i in influences {
            for (row, from) in m.iter_mut().zip(&palette[i.joint as usize].rows) {
                for (x, &y) in row.iter_mut().zip(from) {
                    *x += f64::from(i.weight) / sum * f64::from(y);
                }
            }
        }
        let apply = |p: [f64; 3]| m.map(|r| r[0] * p[0] + r[1] * p[1] + r[2] * p[2]);
        let row = |r: usize| [m[r][0], m[r][1], m[r][2]];
        let cofactor = [cross(row(1), row(2)), cross(row(2), row(0)), cross(row(0), row(1))];
        let det = dot(row(0), cofactor[0]);
        let n = unit(cofactor.map(|c| dot(c, normal[v]) * det.signum()));
        let t = apply(tangent[v]);
        let t = unit([0, 1, 2].map(|k| t[k] - n[k] * dot(n, t)));
        let p = apply(position[v]);
        let s = f64::from(mesh.tangents[v][3]) * det.signum();
        [p[0] + m[0][3], p[1] + m[1][3], p[2] + m[2][3], n[0], n[1], n[2], t[0], t[1], t[2], s]
    };
    (0..mesh.positions.len()).map(vertex).collect()
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn unit(v: [f64; 3]) -> [f64; 3] {
    let length = dot(v, v).sqrt();
    v.map(|x| x / length)
}

#[test]
fn every_case_of_the_oracle_skinned_on_the_cpu() {
    let Some(shared) = oracle::shared() else { return };
    let mut bad = Vec::new();
    let mut worst = oracle::Worst::default();
    for case in oracle::cases(&shared) {
        let character = case.load(&shared);
        let pose: Pose = case.pose(&character);
        let mut got = Vec::new();
        let mut last: Option<(usize, Vec<[f64; 10]>)> = None;
        for primitive in dermis::io::file_vertices(&character) {
            let part = &character.parts[primitive.part];
            if last.as_ref().is_none_or(|(p, _)| *p != primitive.part) {
                let palette = skin_palette(&character.rig, &character.skins[part.skin], &pose).unwrap();
                let weights = case.morph_weights(&character, primitive.part);
                last = Some((primitive.part, skin(&character.meshes[part.mesh], &palette, &weights)));
            }
            let (_, skinned) = last.as_ref().unwrap();
            got.extend(primitive.vertices.iter().map(|&v| skinned[v as usize]));
        }
        match oracle::compare(&case.want(&shared), &got) {
            Ok(w) => {
                println!("{}: {w:?}", case.file);
                worst = worst.max(w);
                if w.position > POSITION || w.normal > ANGLE || w.tangent > ANGLE {
                    bad.push(format!("{}: {w:?}", case.file));
                }
            }
            Err(why) => bad.push(format!("{}: {why}", case.file)),
        }
    }
    println!("worst of all: {worst:?}");
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn every_good_model_loads() {
    let Some(shared) = oracle::shared() else { return };
    let mut stack = vec![shared.join("models")];
    let mut loaded = 0;
    while let Some(folder) = stack.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                stack.push(path);
            } else if path.extension().is_some_and(|e| e == "glb" || e == "gltf" || e == "vrm") {
                let c: Character = dermis::io::load(&path).unwrap_or_else(|e| panic!("{e}"));
                println!("{}: {} parts, warnings {:?}", c.name, c.parts.len(), c.warnings);
                loaded += 1;
            }
        }
    }
    assert!(loaded > 20, "{loaded}");
}
