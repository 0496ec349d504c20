//! The tabs as the window has them, on a graphics adapter but without a window.

use std::sync::Arc;

use dermis::render::{Renderer, RendererDescriptor};
use dermis::wgpu;
use egui::vec2;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

use crate::app::device;
use crate::app::view::jobs::Jobs;
use crate::app::view::scene::Loaded;
use crate::app::view::shell::Shell;
use crate::app::view::thumbnail::Textures;

const SIZE: egui::Vec2 = vec2(960.0, 720.0);

fn harness() -> Harness<'static, Shell> {
    let gpu = device::open_on(&device::instance(), None, None).expect("these tests need a graphics adapter");
    let gpu = Arc::new(gpu);
    let format = wgpu::TextureFormat::Rgba8Unorm;
    let descriptor = RendererDescriptor { color_format: format, ..RendererDescriptor::default() };
    let renderer = Renderer::new(&gpu.device, &descriptor).unwrap();
    let painter = egui_wgpu::Renderer::new(&gpu.device, format, egui_wgpu::RendererOptions::default());
    let textures = Textures::new(gpu.clone(), Arc::new(egui::mutex::RwLock::new(painter)));
    let mut shell = Shell::new(gpu.clone(), renderer.clone(), textures, Jobs::new(|| (), None), SIZE);
    let loaded = Loaded::new(&gpu, &renderer, super::tests::character()).unwrap();
    shell.loaded(loaded, None);
    let builder = Harness::builder().with_size(SIZE).with_accessibility_check(false);
    let mut harness = builder.build_ui_state(
        |ui, shell: &mut Shell| {
            shell.ui(ui, 0.02);
        },
        shell,
    );
    harness.run_steps(3);
    harness
}

/// Frames until something is true.
fn until(harness: &mut Harness<'static, Shell>, done: impl Fn(&Harness<'static, Shell>) -> bool) {
    let start = std::time::Instant::now();
    while !done(harness) {
        assert!(start.elapsed().as_secs() < 60, "this does not happen");
        std::thread::sleep(std::time::Duration::from_millis(5));
        harness.run_steps(1);
    }
}

fn click(harness: &mut Harness<'static, Shell>, at: egui::Pos2) {
    harness.hover_at(at);
    harness.run_steps(2);
    harness.drag_at(at);
    harness.run_steps(1);
    harness.drop_at(at);
    harness.run_steps(3);
}

/// Where the middle of what is shown is seen.
fn middle(shell: &Shell) -> egui::Pos2 {
    shell.layout.projection(&shell.orbit).screen(shell.orbit.target).unwrap()
}

#[test]
fn the_weights_tab_shows_another_outfit_in_colours_and_picks_vertices() {
    let mut h = harness();
    let hero = h.state().stage.as_ref().unwrap().hero;
    h.get_by_label("Weights").click();
    h.run_steps(2);
    until(&mut h, |h| h.state().stage.as_ref().unwrap().shown[0].character != hero);
    let stage = h.state().stage.as_ref().unwrap();
    assert_eq!(stage.overlay.as_ref().map(|o| o.0), Some(stage.shown[0].character));
    assert!(h.state().messages.problem.is_none(), "{:?}", h.state().messages.problem);
    let at = middle(h.state());
    click(&mut h, at);
    assert!(h.query_by_label("Normalise").is_some(), "no vertex was picked");
    // The material again, and another tab: what was shown is put back.
    h.get_by_label("Material").click();
    h.run_steps(3);
    assert!(h.state().stage.as_ref().unwrap().overlay.is_none());
    h.get_by_label("Skeleton").click();
    h.run_steps(3);
    let stage = h.state().stage.as_ref().unwrap();
    assert_eq!(stage.shown[0].character, hero);
    // And back: the same outfit, still in place.
    h.get_by_label("Weights").click();
    h.run_steps(3);
    assert_ne!(h.state().stage.as_ref().unwrap().shown[0].character, hero);
    assert!(h.state().messages.problem.is_none(), "{:?}", h.state().messages.problem);
}
