//! The list of bones, with search.

use egui::{Align, Button, Layout, ScrollArea, TextEdit, Ui};

use super::Bone;

/// Rows of `bones` whose names have all words of `search` in them, whatever the case.
pub fn matching(bones: &[Bone], search: &str) -> Vec<usize> {
    let words: Vec<String> = search.split_whitespace().map(str::to_lowercase).collect();
    let fits = |bone: &Bone| {
        let name = bone.name.to_lowercase();
        words.iter().all(|w| name.contains(w))
    };
    (0..bones.len()).filter(|&b| fits(&bones[b])).collect()
}

/// A field to search in and the bones that match, `height` points at most; true when another one was chosen. `reveal` scrolls to
/// the chosen one.
pub fn bone_list(
    ui: &mut Ui,
    bones: &[Bone],
    search: &mut String,
    chosen: &mut Option<usize>,
    height: f32,
    reveal: bool,
) -> bool {
    ui.add(TextEdit::singleline(search).hint_text("Search bones").desired_width(f32::INFINITY));
    let rows = matching(bones, search);
    if rows.is_empty() {
        ui.weak("No bone has that name.");
        return false;
    }
    let before = *chosen;
    // A list of matches shows no tree.
    let tree = search.trim().is_empty();
    let row = ui.spacing().interact_size.y;
    let mut list = ScrollArea::vertical().id_salt("bones").max_height(height).auto_shrink([false, true]);
    if let Some(at) = rows.iter().position(|&b| reveal && Some(b) == before) {
        let step = row + ui.spacing().item_spacing.y;
        list = list.vertical_scroll_offset((at as f32 * step - 0.4 * height).max(0.0));
    }
    list.show_rows(ui, row, rows.len(), |ui, range| {
        ui.with_layout(Layout::top_down_justified(Align::Min), |ui| {
            for &bone in &rows[range] {
                let depth = if tree { bones[bone].depth.min(12) } else { 0 };
                let name = format!("{}{}", "  ".repeat(depth), bones[bone].name);
                if ui.add(Button::selectable(*chosen == Some(bone), name).truncate()).clicked() {
                    *chosen = Some(bone);
                }
            }
        });
    });
    *chosen != before
}
