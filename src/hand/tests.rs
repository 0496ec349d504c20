//! What a hand must be.

use super::*;

#[test]
fn times() {
    let t = std::time::Instant::now();
    let anatomy = Anatomy::new();
    let field = Field::new(&anatomy);
    let surface = Surface::new(&field, 2.2);
    println!("surface {:?}: {} vertices", t.elapsed(), surface.positions.len());
    let rig = skeleton::rig(&anatomy);
    let t = std::time::Instant::now();
    let bound = skeleton::bind(&rig, &surface).unwrap();
    println!("bind {:?} {:?}", t.elapsed(), bound.warnings);
    let t = std::time::Instant::now();
    let labels = charts::charts(&anatomy, &field, &surface);
    println!("charts {:?}", t.elapsed());
    let t = std::time::Instant::now();
    let atlas = atlas::unfold(&anatomy, &surface, &labels);
    println!("unfold {:?}: {} vertices, {} mm", t.elapsed(), atlas.source.len(), atlas.width);
    let t = std::time::Instant::now();
    let pictures = paint::paint(&anatomy, &surface, &atlas, 1024);
    println!("paint {:?}", t.elapsed());
    let t = std::time::Instant::now();
    let built = hands(&HandOptions::default()).unwrap();
    println!("all {:?}\n{}", t.elapsed(), built.report);
}
