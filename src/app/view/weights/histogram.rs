//! Influences per vertex, before and after.

use egui::{Align2, FontId, Rect, Sense, Ui, pos2, vec2};

const HEIGHT: f32 = 74.0;

/// Two bars per number of influences: pale before, strong after.
pub fn histogram(ui: &mut Ui, before: &[usize], after: &[usize]) {
    let last = before.len().max(after.len()).max(2) - 1;
    let width = ui.available_width();
    let (rect, response) = ui.allocate_exact_size(vec2(width, HEIGHT), Sense::hover());
    let bars = Rect::from_min_max(rect.left_top() + vec2(0.0, 12.0), rect.right_bottom() - vec2(0.0, 14.0));
    let most = before.iter().chain(after).copied().max().unwrap_or(1).max(1) as f32;
    let step = bars.width() / last as f32;
    let painter = ui.painter();
    let (pale, strong) = (ui.visuals().weak_text_color().gamma_multiply(0.5), ui.visuals().selection.bg_fill);
    let small = FontId::proportional(10.0);
    for k in 1..=last {
        let left = bars.left() + (k - 1) as f32 * step;
        for (list, from, color) in [(before, 0.12, pale), (after, 0.5, strong)] {
            let n = list.get(k).copied().unwrap_or(0);
            if n == 0 {
                continue;
            }
            let top = bars.bottom() - (n as f32 / most * bars.height()).max(1.0);
            let x = left + from * step;
            painter.rect_filled(Rect::from_min_max(pos2(x, top), pos2(x + 0.36 * step, bars.bottom())), 1.0, color);
        }
        let (x, ink) = (left + 0.5 * step, ui.visuals().text_color());
        painter.text(pos2(x, rect.bottom()), Align2::CENTER_BOTTOM, k, small.clone(), ink);
        let n = after.get(k).copied().unwrap_or(0);
        if n > 0 && step > 24.0 {
            painter.text(pos2(x, rect.top()), Align2::CENTER_TOP, short(n), small.clone(), ink);
        }
    }
    painter.hline(bars.x_range(), bars.bottom(), (1.0, pale));
    response.on_hover_ui(|ui| {
        egui::Grid::new("influences per vertex").show(ui, |ui| {
            for title in ["influences", "vertices before", "after"] {
                ui.weak(title);
            }
            ui.end_row();
            for k in 1..=last {
                let n = |list: &[usize]| list.get(k).copied().unwrap_or(0).to_string();
                for text in [k.to_string(), n(before), n(after)] {
                    ui.label(text);
                }
                ui.end_row();
            }
        });
    });
}

/// At most four characters: `12.3k`.
fn short(n: usize) -> String {
    match n {
        0..=9_999 => n.to_string(),
        10_000..=999_999 => format!("{:.0}k", n as f64 / 1e3),
        _ => format!("{:.1}M", n as f64 / 1e6),
    }
}
