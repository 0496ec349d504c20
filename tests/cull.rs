//! What the example `cull` leaves on the GPU is what the CPU finds from the skinned vertices.

#![cfg(feature = "gltf")]

#[path = "../examples/cull/main.rs"]
#[allow(dead_code, reason = "the example's own `main`")]
mod cull;

use cull::{Field, Show, View};
use dermis::{Affine, wgpu};

/// How far the corner of a box that is farthest along a plane's normal is inside, in f64, and how much the shader's f32 may
/// be off: every term passes through at most 8 roundings (a product and 3 sums into the plane, a product and 3 sums into the
/// distance) of 2⁻²⁴ each, so 8 · 2⁻²⁴ of the sum of the terms' magnitudes; doubled for drivers that sum in another order.
fn distance(plane: [f32; 4], place: &Affine, low: [f32; 3], high: [f32; 3]) -> (f64, f64) {
    let plane = plane.map(f64::from);
    let (mut sum, mut magnitude) = (plane[3], plane[3].abs());
    for column in 0..4 {
        let terms = [0, 1, 2].map(|row| plane[row] * f64::from(place.rows[row][column]));
        let along: f64 = terms.iter().sum();
        let corner = match column {
            3 => 1.0,
            axis if along >= 0.0 => f64::from(high[axis]),
            axis => f64::from(low[axis]),
        };
        sum += along * corner;
        magnitude += terms.iter().map(|t| t.abs()).sum::<f64>() * corner.abs();
    }
    (sum, 16.0 * magnitude * 2f64.powi(-24))
}

fn extent(points: &[[f32; 3]]) -> ([f32; 3], [f32; 3]) {
    let fold = |start: f32, pick: fn(f32, f32) -> f32| {
        points.iter().fold([start; 3], |b, p| [0, 1, 2].map(|axis| pick(b[axis], p[axis])))
    };
    (fold(f32::INFINITY, f32::min), fold(f32::NEG_INFINITY, f32::max))
}

fn looks() -> Vec<View> {
    // From inside the field, to all sides, one steeply down, one from outside, one at nobody.
    let mut looks: Vec<View> = (0..7)
        .map(|i| {
            let (sin, cos) = (0.3 + 0.9 * i as f32).sin_cos();
            View::look_at([0.7, 1.3, -0.4], [0.7 + cos, 1.1, -0.4 + sin], 0.7, 1.5, [0.2, 14.0])
        })
        .collect();
    looks.push(View::look_at([-3.0, 6.0, 2.0], [-2.5, 0.0, 2.1], 0.6, 1.0, [0.5, 9.0]));
    looks.push(View::look_at([-40.0, 12.0, 25.0], [0.0, 0.0, 0.0], 0.3, 2.0, [1.0, 60.0]));
    looks.push(View::look_at([0.0, 5.0, 0.0], [1.0, 30.0, 0.0], 0.8, 1.0, [0.1, 50.0]));
    looks
}

fn open(wanted: wgpu::Features) -> (wgpu::Device, wgpu::Queue) {
    let (_, device, queue) =
        cull::open(wanted).expect("tests need an adapter that draws indirectly; a software one does");
    (device, queue)
}

#[test]
fn the_gpu_draws_whom_the_cpu_sees() {
    let (device, queue) = open(wgpu::Features::INDIRECT_FIRST_INSTANCE);
    let mut field = Field::new(&device, &queue).unwrap();
    assert!(field.pages.len() > 1, "more than one page");
    let (mut borderline, mut beyond_rest, mut hopeless) = (0, 0, 0);
    let rest = {
        // The box of both meshes, somewhat larger.
        let (low, high) = ([-0.12, 0.0, -0.12], [0.12, 1.33, 0.12]);
        move |plane, place: &Affine| distance(plane, place, low, high).0 >= 0.0
    };
    for (i, view) in looks().iter().enumerate() {
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let ids: Vec<_> = field.stalks.iter().map(|s| s.0).collect();
        let mut read: Vec<_> = ids.iter().map(|&id| field.skinner.read_back(id, 0).unwrap()).collect();
        field.frame(&mut encoder, 0.31 + 0.57 * i as f64, view);
        queue.submit([encoder.finish()]);
        let seen = field.seen().unwrap();
        assert_eq!(seen.len(), field.stalks.len());

        let mut count = 0;
        for (k, (&(_, place), read)) in field.stalks.iter().zip(&mut read).enumerate() {
            let vertices = read.try_take().unwrap().expect("`seen` waited").positions;
            assert!(vertices.len() % 2 == 1 && vertices.len() > 100);
            let (low, high) = extent(&vertices);
            let found = view.planes.map(|plane| distance(plane, &place, low, high));
            if found.iter().any(|&(d, error)| d.abs() <= error) {
                borderline += 1;
                continue;
            }
            let expected = found.iter().all(|&(d, _)| d > 0.0);
            assert_eq!(seen[k], expected, "look {i}, character {k}: {found:?}");
            count += usize::from(expected);
            beyond_rest += usize::from(expected != view.planes.iter().all(|&plane| rest(plane, &place)));
            // Not by boxes at all: who has a vertex inside must be drawn.
            let inside = |p: &[f32; 3]| view.planes.iter().all(|&plane| distance(plane, &place, *p, *p).0 > 0.0);
            if vertices.iter().any(inside) {
                assert!(seen[k], "look {i}, character {k} has a vertex in sight");
            } else {
                hopeless += usize::from(expected);
            }
        }
        println!("look {i}: {count} of {} seen", field.stalks.len());
        match i {
            9 => assert_eq!(count, 0),
            _ => assert!(count > 0 && count < field.stalks.len()),
        }
    }
    println!(
        "{borderline} borderline, {beyond_rest} decided otherwise than by rest boxes, {hopeless} boxes seen in vain"
    );
    assert!(borderline <= 3);
    assert!(beyond_rest > 20, "the boxes follow the pose");
}

#[test]
fn the_picture_lacks_nothing() {
    let (device, queue) = open(wgpu::Features::INDIRECT_FIRST_INSTANCE);
    let mut field = Field::new(&device, &queue).unwrap();
    // Without first instances, as some devices are: a binding and a draw per character.
    let single = open(wgpu::Features::empty());
    let mut other = Field::new(&single.0, &single.1).unwrap();
    assert!(!other.multi_draw);
    println!("first instances: {}", field.multi_draw);

    // Rows of whole 256 bytes.
    let size = [192, 128];
    for (i, view) in looks().into_iter().enumerate() {
        let picture = |field: &mut Field, device: &wgpu::Device, show| {
            let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            field.frame(&mut encoder, 0.9 + i as f64, &view);
            field.picture(encoder, size, size, &[(view, show, [0, 0])]).unwrap()
        };
        let all = picture(&mut field, &device, Show::All);
        let seen = picture(&mut field, &device, Show::Seen);
        let differ = |a: &[u8], b: &[u8]| a.chunks_exact(4).zip(b.chunks_exact(4)).filter(|(a, b)| a != b).count();
        let drawn = all.chunks_exact(4).filter(|p| *p != &all[..4]).count();
        println!("look {i}: {drawn} pixels unlike the first, {} lost", differ(&all, &seen));
        assert_eq!(differ(&all, &seen), 0, "look {i}: culling costs pixels");
        assert!(i == 9 || drawn > 500, "look {i} shows something");
        assert_eq!(differ(&all, &picture(&mut other, &single.0, Show::Seen)), 0, "look {i}: one draw each");
    }
}
