//! The corners' thumbnails: one small character each, drawn again only when it looks different.

use std::sync::Arc;

use dermis::gpu::{CharacterId, Drive, SpaceId};
use dermis::pose::{Channels, Fade, GroupMode, PoseSpace, SpaceState, joint_worlds};
use dermis::render::{Background, Camera};
use dermis::{Character, Result};
use glam::{Vec2, Vec3};

use super::desk::Desk;
use crate::app::view::camera::Orbit;
use crate::app::view::mode::Context;
use crate::app::view::scene::Stage;
use crate::app::view::thumbnail::Thumbnail;

/// Pixels of a thumbnail's side.
const SIDE: u32 = 148;
/// Radians that the view turns before the thumbnails follow.
const TURN: f32 = 0.12;

/// Behind the characters, linear.
const GROUND: [f32; 4] = [0.075, 0.08, 0.09, 1.0];

/// The thumbnails of a space.
#[derive(Default)]
pub struct Pictures {
    corners: Vec<Corner>,
    space: Option<Arc<PoseSpace>>,
    /// Direction they are seen from.
    seen: (f32, f32),
    /// What they show lies within these points.
    focus: Vec<[f32; 3]>,
    busy: bool,
}

struct Corner {
    character: CharacterId,
    picture: Thumbnail,
    driven: Option<SpaceState>,
    /// A fade was under way when it was last drawn.
    fading: bool,
}

impl Pictures {
    /// What egui shows, by corner.
    pub fn ids(&self) -> Vec<Option<egui::TextureId>> {
        self.corners.iter().map(|c| Some(c.picture.id)).collect()
    }

    /// True while pictures change.
    pub fn busy(&self) -> bool {
        self.busy
    }

    /// Takes the small characters off the stage.
    pub fn clear(&mut self, stage: &mut Stage) -> Result<()> {
        let outcome = self.corners.iter().try_for_each(|c| stage.skinner.despawn(c.character));
        *self = Self::default();
        outcome
    }

    /// Draws what has changed since the last frame.
    pub fn draw(&mut self, context: &mut Context<'_>, desk: &Desk, id: SpaceId) -> Result<()> {
        let space = &desk.setup.space;
        let stage = &mut *context.stage;
        while self.corners.len() > space.corners().len() {
            if let Some(corner) = self.corners.pop() {
                stage.skinner.despawn(corner.character)?;
            }
        }
        while self.corners.len() < space.corners().len() {
            let picture = Thumbnail::new(context.textures, context.renderer, [SIDE; 2]);
            self.corners.push(Corner { character: stage.spawn()?, picture, driven: None, fading: false });
        }
        let mut all = false;
        if self.space.as_ref().is_none_or(|known| !Arc::ptr_eq(known, space)) {
            self.space = Some(space.clone());
            self.focus = focus(&stage.character, desk)?;
            self.corners.iter_mut().for_each(|c| c.driven = None);
            all = true;
        }
        let turned = (self.seen.0 - context.orbit.yaw).abs() + (self.seen.1 - context.orbit.pitch).abs();
        if turned > TURN {
            self.seen = (context.orbit.yaw, context.orbit.pitch);
            all = true;
        }
        let camera = camera(&self.focus, context.orbit);
        self.busy = false;
        for (i, corner) in self.corners.iter_mut().enumerate() {
            let state = at_corner(space, &desk.setup.state, i, desk.clock)?;
            let fading = !state.is_settled(desk.clock);
            let changed = corner.driven.as_ref() != Some(&state);
            if changed {
                stage.skinner.drive(corner.character, Drive::Space { space: id, state: &state })?;
                corner.driven = Some(state);
            }
            if changed || all || corner.fading {
                let shown = vec![stage.place(corner.character)];
                corner.picture.draw(stage, camera, Background::Color(GROUND), shown);
            }
            self.busy |= fading;
            corner.fading = fading;
        }
        Ok(())
    }
}

/// The state of a corner's own pose: at the corner, nothing held, the alternatives fading as they do.
fn at_corner(space: &PoseSpace, state: &SpaceState, corner: usize, now: f64) -> Result<SpaceState> {
    let mut out = SpaceState::new(space);
    let selected = state.selected(corner).unwrap_or(0);
    if state.is_settled(now) {
        out.select(space, corner, selected, Fade::default())?;
    } else {
        out = state.clone();
        for group in 0..space.groups().len() {
            out.set_group(space, group, Channels::ALL, &GroupMode::Live, Fade::at_once(now))?;
        }
    }
    out.set_point(space.corners()[corner].at)?;
    Ok(out)
}

/// Places of the joints that the poses move, of one hand where there are hands.
fn focus(character: &Character, desk: &Desk) -> Result<Vec<[f32; 3]>> {
    let samples = desk.setup.space.samples();
    let moves = |n: usize| samples.iter().any(|s| s.pose.joints[n] != samples[0].pose.joints[n]);
    let hand = desk.hands.as_ref().and_then(|h| h.hands.first());
    let hand = hand.filter(|h| h.nodes().any(moves));
    let nodes: Vec<usize> = match hand {
        Some(hand) => hand.nodes().chain(hand.wrist).collect(),
        None => (0..character.rig.nodes.len()).filter(|&n| moves(n)).collect(),
    };
    let mut out = Vec::new();
    for corner in desk.setup.space.corners() {
        let Some(sample) = corner.samples.first().map(|&s| &samples[s]) else { continue };
        let worlds = joint_worlds(&character.rig, &sample.pose)?;
        out.extend(nodes.iter().map(|&n| worlds[n].rows.map(|r| r[3])));
    }
    if out.is_empty() {
        out = character.meshes.iter().flat_map(|m| m.positions.iter().copied()).collect();
    }
    Ok(out)
}

fn camera(focus: &[[f32; 3]], orbit: &Orbit) -> Camera {
    // Joints lie inside the flesh: room around them.
    let mut aside = Orbit { target: Vec3::ZERO, ..*orbit };
    aside.frame(focus, 1.0, Vec2::splat(0.74));
    aside.camera(1.0, Vec2::ZERO)
}
