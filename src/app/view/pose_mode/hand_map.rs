//! A drawing of the hands with an area for every finger, to lock it.

use dermis::pose::{Finger, Side};
use egui::accesskit::Role;
use egui::{Color32, Pos2, Rect, Response, Sense, Shape, Stroke, Ui, Vec2, WidgetInfo};

use super::colors::faded;
use super::setup::Lock;

/// An area of the drawing.
#[derive(Clone, Copy)]
pub struct Area {
    /// The colour of what the finger shows now.
    pub color: Color32,
    /// `None`: its joints differ.
    pub lock: Option<Lock>,
    /// How far the lock has faded in, 0…1.
    pub strength: f32,
}

/// A hand as it is drawn; fingers that the rig lacks are `None`.
pub struct HandView {
    pub side: Side,
    pub fingers: [Option<Area>; 5],
    pub palm: Area,
    /// It follows the point.
    pub active: bool,
}

/// From the knuckle to the tip of every finger of a left hand seen from its back, in hand heights; the thumb points right.
const FINGERS: [[[f32; 2]; 2]; 5] = [
    [[0.74, 0.70], [0.99, 0.46]],
    [[0.66, 0.48], [0.71, 0.14]],
    [[0.50, 0.45], [0.51, 0.06]],
    [[0.345, 0.47], [0.315, 0.12]],
    [[0.20, 0.53], [0.13, 0.25]],
];
const WIDTHS: [f32; 5] = [0.15, 0.13, 0.135, 0.13, 0.115];

/// What was clicked: a finger, or the whole hand.
pub type Picked = (Side, Option<Finger>);

/// Draws one hand `height` points high. A click is reported; `menu` fills the menu of a right click.
pub fn show(ui: &mut Ui, height: f32, hand: &HandView, menu: &mut dyn FnMut(&mut Ui, Picked)) -> Option<Picked> {
    let (rect, _) = ui.allocate_exact_size(Vec2::new(1.08 * height, height), Sense::hover());
    // A left hand's back has its thumb on the right.
    let place = |p: [f32; 2]| {
        let x = if hand.side == Side::Left { p[0] } else { 1.08 - p[0] };
        rect.min + height * Vec2::new(x, p[1])
    };
    let mut picked = None;
    let clear = if hand.active { 1.0 } else { 0.55 };
    let palm: Vec<Pos2> =
        [[0.13, 0.56], [0.33, 0.47], [0.68, 0.48], [0.80, 0.72], [0.66, 0.94], [0.30, 0.94], [0.18, 0.80]]
            .map(place)
            .to_vec();
    let response = ui.interact(
        Rect::from_points(&palm).shrink(0.04 * height),
        ui.scope_id().with((hand.side, "palm")),
        Sense::click(),
    );
    let name = format!("{} hand", hand.side.name());
    if announce(ui, &response, &name, &hand.palm) {
        picked = Some((hand.side, None));
    }
    response.context_menu(|ui| menu(ui, (hand.side, None)));
    let edge = |response: &Response| {
        let visuals = ui.visuals();
        if response.has_focus() || response.hovered() {
            Stroke::new(2.0, visuals.strong_text_color())
        } else {
            Stroke::new(1.2, faded(visuals.text_color(), 0.6))
        }
    };
    ui.painter().add(Shape::convex_polygon(
        palm.clone(),
        faded(tint(ui, hand.palm.color, 0.25), clear),
        edge(&response),
    ));
    for finger in Finger::ALL {
        let Some(area) = &hand.fingers[finger as usize] else { continue };
        let [from, to] = FINGERS[finger as usize].map(place);
        let radius = 0.5 * WIDTHS[finger as usize] * height;
        let hit = Rect::from_two_pos(from, to).expand2(Vec2::new(0.7 * radius, 0.6 * radius));
        let response = ui.interact(hit, ui.scope_id().with((hand.side, finger)), Sense::click());
        if announce(ui, &response, &format!("{} {}", hand.side.name(), finger.name()), area) {
            picked = Some((hand.side, Some(finger)));
        }
        response.context_menu(|ui| menu(ui, (hand.side, Some(finger))));
        let outline = capsule(from, to, radius);
        ui.painter().add(Shape::convex_polygon(outline, faded(tint(ui, area.color, 0.75), clear), edge(&response)));
        mark(ui, from + 0.62 * (to - from), area);
    }
    let center = palm.iter().fold(Vec2::ZERO, |s, p| s + p.to_vec2()) / palm.len() as f32;
    let all = hand.fingers.iter().flatten().all(|a| a.lock == Some(Lock::Held));
    mark(ui, center.to_pos2(), &Area { lock: if all { Some(Lock::Held) } else { hand.palm.lock }, ..hand.palm });
    picked
}

/// Names an area for people who do not see it; true when it was clicked or chosen with a key.
fn announce(ui: &Ui, response: &Response, name: &str, area: &Area) -> bool {
    let state = match area.lock {
        Some(Lock::Follow) => "follows the point",
        Some(Lock::Held) => "held",
        Some(Lock::Default) => "in the default pose",
        Some(Lock::Own) => "has its own point",
        None => "held in part",
    };
    let held = area.lock != Some(Lock::Follow);
    response.widget_info(|| WidgetInfo::selected(Role::CheckBox, ui.is_enabled(), held, name));
    let text = format!("{name}: {state}\nClick to hold or to let go; right-click for more");
    let clicked = response.clicked();
    response.clone().on_hover_text(text);
    clicked
}

fn tint(ui: &Ui, color: Color32, by: f32) -> Color32 {
    let ground = ui.visuals().widgets.inactive.bg_fill;
    super::colors::mix([(color, by), (ground, 1.0 - by)].into_iter())
}

/// The outline of a finger.
fn capsule(from: Pos2, to: Pos2, radius: f32) -> Vec<Pos2> {
    let along = (to - from).angle();
    let half = |at: Pos2, start: f32| {
        (0..=10).map(move |i| at + radius * Vec2::angled(start + std::f32::consts::PI * i as f32 / 10.0))
    };
    half(to, along - std::f32::consts::FRAC_PI_2).chain(half(from, along + std::f32::consts::FRAC_PI_2)).collect()
}

/// A padlock, a house or a ring: what holds the finger.
fn mark(ui: &Ui, at: Pos2, area: &Area) {
    let painter = ui.painter();
    let clear = 0.35 + 0.65 * area.strength;
    let (ink, paper) = (faded(Color32::from_gray(20), clear), faded(Color32::from_rgb(255, 214, 90), clear));
    match area.lock {
        Some(Lock::Follow) => {}
        Some(Lock::Held) | None => {
            let body = Rect::from_center_size(at + Vec2::new(0.0, 2.5), Vec2::new(11.0, 8.5));
            let arch: Vec<Pos2> = (0..=8)
                .map(|i| at + Vec2::new(0.0, -1.5) + 3.6 * Vec2::angled(std::f32::consts::PI * (1.0 + i as f32 / 8.0)))
                .collect();
            painter.add(Shape::line(arch.clone(), Stroke::new(4.0, ink)));
            painter.rect_filled(body.expand(1.2), 2, ink);
            painter.add(Shape::line(arch, Stroke::new(1.8, paper)));
            painter.rect_filled(body, 2, if area.lock.is_none() { faded(paper, 0.4) } else { paper });
            painter.circle_filled(body.center(), 1.4, ink);
        }
        Some(Lock::Default) => {
            let house = [[-6.0, 0.0], [0.0, -6.0], [6.0, 0.0], [4.5, 0.0], [4.5, 5.5], [-4.5, 5.5], [-4.5, 0.0]];
            painter.add(Shape::convex_polygon(
                house.map(|p| at + Vec2::new(p[0], p[1])).to_vec(),
                paper,
                Stroke::new(1.2, ink),
            ));
        }
        Some(Lock::Own) => {
            painter.circle(at, 5.5, paper, Stroke::new(1.5, ink));
            painter.circle_filled(at, 2.0, ink);
        }
    }
}
