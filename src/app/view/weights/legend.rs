//! What the colours on the surface mean, painted over the picture.

use dermis::render::ColorMap;
use egui::{Align2, Color32, FontId, Rect, Ui, pos2, vec2};

use super::field::legend_number;

/// What the colours mean.
#[derive(Clone, Debug, PartialEq)]
pub enum Legend {
    /// A scale from 0 to `most`.
    Scale { title: String, most: f64, unit: &'static str, map: ColorMap },
    /// One colour per row: name, colour, number of vertices.
    Categories { title: String, rows: Vec<(String, [u8; 3], usize)> },
    /// Nothing but words.
    Words(String),
}

/// Marks on a scale.
const MARKS: usize = 5;
const BAR: egui::Vec2 = vec2(14.0, 150.0);
const ROW: f32 = 17.0;

impl Legend {
    /// Its numbers, from the top down.
    pub fn marks(&self) -> Vec<String> {
        match self {
            Self::Scale { most, unit, .. } => (0..MARKS)
                .rev()
                .map(|k| {
                    let number = legend_number(most * k as f64 / (MARKS - 1) as f64);
                    if unit.is_empty() { number } else { format!("{number} {unit}") }
                })
                .collect(),
            Self::Categories { rows, .. } => rows.iter().map(|r| r.0.clone()).collect(),
            Self::Words(_) => Vec::new(),
        }
    }

    /// Paints it into the lower right corner of `free`.
    pub fn paint(&self, ui: &Ui, free: Rect) {
        let painter = ui.painter();
        let (font, small) = (FontId::proportional(13.0), FontId::proportional(12.0));
        let ink = ui.visuals().strong_text_color();
        let title = match self {
            Self::Scale { title, .. } | Self::Categories { title, .. } | Self::Words(title) => title.as_str(),
        };
        let (width, height) = match self {
            Self::Scale { .. } => (132.0, BAR.y + 50.0),
            Self::Categories { rows, .. } => (132.0, rows.len() as f32 * ROW + 36.0),
            Self::Words(_) => (150.0, 32.0),
        };
        let galley = {
            let mut job = egui::text::LayoutJob::simple_singleline(title.into(), font, ink);
            job.wrap = egui::text::TextWrapping::truncate_at_width(170.0);
            painter.layout_job(job)
        };
        let size = vec2((galley.size().x + 20.0).max(width), height);
        let frame = Rect::from_min_size(free.right_bottom() - size - vec2(14.0, 14.0), size);
        painter.rect_filled(frame, 6.0, ui.visuals().window_fill.gamma_multiply(0.92));
        painter.galley(frame.left_top() + vec2(10.0, 7.0), galley, ink);
        let left = frame.left() + 12.0;
        let top = frame.top() + 32.0;
        match self {
            Self::Scale { map, .. } => {
                let bar = Rect::from_min_size(pos2(left, top + 4.0), BAR);
                let mut mesh = egui::Mesh::default();
                let steps = 48;
                for k in 0..=steps {
                    let t = k as f32 / steps as f32;
                    let [r, g, b] = map.color(1.0 - t);
                    let y = egui::lerp(bar.y_range(), t);
                    for x in [bar.left(), bar.right()] {
                        mesh.colored_vertex(pos2(x, y), Color32::from_rgb(r, g, b));
                    }
                    if k > 0 {
                        let i = 2 * k;
                        mesh.add_triangle(i - 2, i - 1, i);
                        mesh.add_triangle(i - 1, i, i + 1);
                    }
                }
                painter.add(mesh);
                for (k, mark) in self.marks().into_iter().enumerate() {
                    let y = egui::lerp(bar.y_range(), k as f32 / (MARKS - 1) as f32);
                    painter.hline(bar.right()..=bar.right() + 4.0, y, (1.0, ink));
                    painter.text(pos2(bar.right() + 9.0, y), Align2::LEFT_CENTER, mark, small.clone(), ink);
                }
            }
            Self::Categories { rows, .. } => {
                for (k, (name, [r, g, b], count)) in rows.iter().enumerate() {
                    let y = top + (k as f32 + 0.5) * ROW;
                    let swatch = Rect::from_center_size(pos2(left + 7.0, y), vec2(14.0, 13.0));
                    painter.rect_filled(swatch, 2.0, Color32::from_rgb(*r, *g, *b));
                    painter.text(pos2(left + 22.0, y), Align2::LEFT_CENTER, name, small.clone(), ink);
                    let at = pos2(frame.right() - 12.0, y);
                    painter.text(at, Align2::RIGHT_CENTER, count, small.clone(), ui.visuals().weak_text_color());
                }
            }
            Self::Words(_) => {}
        }
    }
}
