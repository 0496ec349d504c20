//! Colours of corners, and small geometry that the widgets share.

use egui::Color32;

/// Sixteen colours that are told apart on dark and on light ground; the first ones also by most who see fewer colours.
const CORNERS: [[u8; 3]; 16] = [
    [86, 180, 233],
    [230, 159, 0],
    [0, 170, 125],
    [213, 94, 40],
    [204, 121, 167],
    [240, 228, 66],
    [80, 110, 230],
    [160, 200, 80],
    [150, 110, 220],
    [240, 120, 120],
    [60, 190, 190],
    [190, 140, 90],
    [120, 140, 170],
    [230, 90, 180],
    [110, 170, 60],
    [200, 200, 200],
];

/// The colour of a corner.
pub fn corner(index: usize) -> Color32 {
    let [r, g, b] = CORNERS[index % CORNERS.len()];
    Color32::from_rgb(r, g, b)
}

/// Colours mixed in the proportion of weights; below 0 counts as 0.
pub fn mix(parts: impl Iterator<Item = (Color32, f32)>) -> Color32 {
    let (mut sum, mut total) = ([0.0_f32; 3], 0.0);
    for (color, weight) in parts.map(|(c, w)| (c, w.max(0.0))) {
        let rgb = [color.r(), color.g(), color.b()];
        (0..3).for_each(|i| sum[i] += weight * f32::from(rgb[i]).powi(2));
        total += weight;
    }
    if total <= 0.0 {
        return Color32::GRAY;
    }
    let [r, g, b] = sum.map(|s| (s / total).sqrt().round() as u8);
    Color32::from_rgb(r, g, b)
}

/// The same colour, more or less clear.
pub fn faded(color: Color32, alpha: f32) -> Color32 {
    Color32::from_rgba_unmultiplied(color.r(), color.g(), color.b(), (255.0 * alpha.clamp(0.0, 1.0)) as u8)
}

/// A weight as people read it.
pub fn percent(weight: f32) -> String {
    let whole = (100.0 * weight).round();
    format!("{} %", if whole == 0.0 { 0.0 } else { whole })
}
