//! The tabs as the window has them, on a graphics adapter but without a window.

use egui::vec2;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

use crate::app::view::shell::Shell;
use crate::app::view::testing;

const SIZE: egui::Vec2 = vec2(960.0, 720.0);

fn harness() -> Harness<'static, Shell> {
    let mut harness = testing::harness(testing::shell_with(SIZE, super::tests::character()), SIZE);
    harness.run_steps(3);
    harness
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
    testing::until(&mut h, "another outfit", |h| h.state().stage.as_ref().unwrap().shown[0].character != hero);
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
