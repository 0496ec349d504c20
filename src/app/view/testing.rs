//! The viewer without a window, for tests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dermis::Character;
use dermis::hand::{HandOptions, hands};
use dermis::render::{Renderer, RendererDescriptor};
use egui_kittest::Harness;

use super::jobs::Jobs;
use super::scene::Loaded;
use super::shell::Shell;
use super::thumbnail::Textures;
use crate::app::device;

/// A viewer without a character.
pub fn shell(size: egui::Vec2) -> Shell {
    let gpu = device::open_on(&device::instance(), None, None).expect("these tests need a graphics adapter");
    let gpu = Arc::new(gpu);
    let descriptor = RendererDescriptor { sample_count: 1, ..RendererDescriptor::default() };
    let renderer = Renderer::new(&gpu.device, &descriptor).unwrap();
    let painter = egui_wgpu::Renderer::new(&gpu.device, descriptor.color_format, Default::default());
    let textures = Textures::new(gpu.clone(), Arc::new(egui::mutex::RwLock::new(painter)));
    Shell::new(gpu, renderer, textures, Jobs::new(|| {}, None), size)
}

/// A viewer that shows a character.
pub fn shell_with(size: egui::Vec2, character: Character) -> Shell {
    let mut shell = shell(size);
    let loaded = Loaded::new(&shell.gpu, &shell.renderer, character).unwrap();
    shell.loaded(loaded, None);
    shell
}

/// The built-in hands with few vertices.
pub fn small_hands() -> Character {
    hands(&HandOptions { edge: 0.005, texture: 64, ..HandOptions::default() }).unwrap().character
}

/// Frames of 50 ms.
pub fn harness(shell: Shell, size: egui::Vec2) -> Harness<'static, Shell> {
    let ui = |ui: &mut egui::Ui, shell: &mut Shell| {
        shell.poll();
        shell.ui(ui, 0.05);
    };
    Harness::builder().with_size(size).build_ui_state(ui, shell)
}

/// Frames until something is true.
pub fn until(harness: &mut Harness<'static, Shell>, what: &str, done: impl Fn(&Harness<'static, Shell>) -> bool) {
    let start = Instant::now();
    while !done(harness) {
        assert!(start.elapsed() < Duration::from_secs(60), "{what} does not happen");
        std::thread::sleep(Duration::from_millis(5));
        harness.run_steps(1);
    }
}
