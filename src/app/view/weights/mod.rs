//! The weights mode: what pulls at each vertex, what pruning does to it, and changing it by hand.

mod edit;
mod field;
mod files;
mod histogram;
mod legend;
mod mark;
mod mode;
mod other;
mod panel;
mod rows;
mod save;
mod vertex;
mod worker;

use std::sync::Arc;

use dermis::Character;
use dermis::influence::{Displacement, Editor, Influence, Influences, Report, displacements_in};
use dermis::pose::Pose;

use super::pick::Picked;
use crate::app::preset::Settings;
use crate::app::pruning::{self, Sheet, Stored};
use worker::{Message, Task, Worker};

pub use mode::WeightsMode;

use field::Show;
use legend::Legend;
use panel::Ask;

/// A row of the list of bones: a node of the rig that is a joint of some shown skin.
#[derive(Clone, Debug, PartialEq)]
pub struct Bone {
    pub name: String,
    /// Levels below the first joint above it.
    pub depth: usize,
    /// Its joint in each sheet.
    pub joints: Vec<Option<u32>>,
}

/// A vertex in the file's own terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    pub sheet: usize,
    pub vertex: usize,
}

/// What pruning came to.
struct Outcome {
    stored: Vec<Stored>,
    /// Where it was measured already: the whole, and metres per sheet and vertex.
    measured: Option<(Displacement, Vec<Vec<f64>>)>,
    report: Report,
    /// Vertices with k influences as they are stored, at index k.
    after: Vec<usize>,
}

/// The weights of the character on show.
pub struct Weights {
    /// Without pictures and materials.
    facts: Arc<Character>,
    pub sheets: Arc<Vec<Sheet>>,
    editors: Vec<Editor>,
    /// What the editors hold, one per sheet.
    full: Vec<Arc<Influences>>,
    /// For each sheet, the vertex on the other side of each; found when first asked for.
    mirrored: Vec<Option<Vec<Option<u32>>>>,
    /// Sheets of the steps that can be taken back, and of those that can be done again.
    history: (Vec<usize>, Vec<usize>),
    pub bones: Vec<Bone>,

    pub settings: Settings,
    /// Prune at all; else the weights are shown and saved as they are.
    pub prune: bool,
    pub show: Show,
    /// Index into `bones`.
    pub bone: Option<usize>,
    pub chosen: Option<Chosen>,
    pub ui: panel::Memory,
    /// A second file of the same mesh.
    pub other: Option<other::Other>,

    worker: Worker,
    outcome: Option<Outcome>,
    /// Grows with every change of weights or settings.
    revision: u64,
    /// What went wrong last.
    pub problem: Option<String>,
    /// The influences on show changed: the character must be packed anew.
    pub repack: bool,
    /// The colours changed.
    pub recolor: bool,
}

impl Weights {
    /// `None` when nothing is skinned.
    pub fn new(character: &Character) -> Option<Self> {
        let sheets = pruning::sheets(character);
        if sheets.is_empty() {
            return None;
        }
        let mut editors = Vec::with_capacity(sheets.len());
        for sheet in &sheets {
            editors.push(Editor::new(&sheet.file.influences, sheet.names.len(), &sheet.file.positions).ok()?);
        }
        let facts = Character {
            name: character.name.clone(),
            rig: character.rig.clone(),
            skins: character.skins.clone(),
            meshes: character.meshes.clone(),
            parts: character.parts.clone(),
            clips: character.clips.clone(),
            ..Character::default()
        };
        let mut weights = Self {
            bones: bones(&facts, &sheets),
            facts: Arc::new(facts),
            full: editors.iter().map(|e| Arc::new(e.influences())).collect(),
            mirrored: vec![None; sheets.len()],
            history: (Vec::new(), Vec::new()),
            editors,
            sheets: Arc::new(sheets),
            settings: Settings::default(),
            prune: true,
            show: Show::Bone,
            bone: None,
            chosen: None,
            ui: panel::Memory::default(),
            other: None,
            worker: Worker::default(),
            outcome: None,
            revision: 0,
            problem: None,
            repack: false,
            recolor: true,
        };
        weights.bone = weights.heaviest_bone();
        weights.ui.reveal = true;
        weights.changed();
        Some(weights)
    }

    /// The bone that most of the surface hangs on, to begin with.
    fn heaviest_bone(&self) -> Option<usize> {
        let mut sums = vec![0.0; self.bones.len()];
        for (sheet, full) in self.full.iter().enumerate() {
            let mut of_joint = vec![0.0; self.sheets[sheet].names.len()];
            full.entries.iter().for_each(|i| of_joint[i.joint as usize] += f64::from(i.weight));
            for (bone, sum) in self.bones.iter().zip(&mut sums) {
                *sum += bone.joints[sheet].map_or(0.0, |j| of_joint[j as usize]);
            }
        }
        (0..sums.len()).max_by(|&a, &b| sums[a].total_cmp(&sums[b]))
    }

    /// Weights or settings changed: prune anew.
    pub fn changed(&mut self) {
        self.revision += 1;
        self.worker.start(Task {
            revision: self.revision,
            facts: self.facts.clone(),
            sheets: self.sheets.clone(),
            full: self.full.clone(),
            settings: self.settings.clone(),
            prune: self.prune,
        });
        self.recolor = true;
    }

    /// Takes in what the worker found; true while it is still at work.
    pub fn poll(&mut self) -> bool {
        while let Some(message) = self.worker.next() {
            match message {
                Message::Stored(revision, stored) if revision == self.revision => {
                    let mut report = Report::default();
                    for (sheet, stored) in self.sheets.iter().zip(&stored) {
                        let cleaned = self.facts.meshes[sheet.mesh].cleaned;
                        report.add(&Report { cleaned, prune: stored.report.clone(), displacement: None });
                    }
                    let mut after = Vec::new();
                    for list in stored.iter().map(|s| &s.influences) {
                        after.resize(after.len().max(list.max_per_vertex() + 1), 0);
                        (0..list.vertex_count()).for_each(|v| after[list.of(v).len()] += 1);
                    }
                    self.outcome = Some(Outcome { stored, measured: None, report, after });
                    self.problem = None;
                    (self.repack, self.recolor) = (true, true);
                }
                Message::Measured(revision, displacement, field) if revision == self.revision => {
                    if let Some(outcome) = &mut self.outcome {
                        outcome.report.displacement = Some(displacement.clone());
                        outcome.measured = Some((displacement, field));
                        self.recolor = true;
                    }
                }
                Message::Failed(revision, problem) if revision == self.revision => self.problem = Some(problem),
                _ => {}
            }
        }
        self.worker.busy()
    }

    /// What was done to the weights, once it is known.
    pub fn report(&self) -> Option<&Report> {
        self.outcome.as_ref().map(|o| &o.report)
    }

    /// The influences on show: pruned and as they are stored, once they are.
    pub fn shown(&self, sheet: usize) -> &Influences {
        self.outcome.as_ref().map_or(&self.full[sheet], |o| &o.stored[sheet].influences)
    }

    /// The meshes as they are shown: pairs of a mesh's index and its influences, one per vertex of the character's mesh.
    pub fn packed_meshes(&self) -> Vec<(usize, Influences)> {
        let spread = |(at, sheet): (usize, &Sheet)| {
            let shown = self.shown(at);
            (sheet.mesh, Influences::from_vertices(sheet.file.of_mesh.iter().map(|&v| shown.of(v as usize))))
        };
        self.sheets.iter().enumerate().map(spread).collect()
    }

    /// The vertex that a click on the picture hit.
    pub fn choose(&mut self, picked: Option<Picked>) {
        let find = |picked: Picked| {
            let (sheet, s) = self.sheets.iter().enumerate().find(|(_, s)| s.parts.contains(&picked.part))?;
            Some(Chosen { sheet, vertex: *s.file.of_mesh.get(picked.vertex)? as usize })
        };
        self.chosen = picked.and_then(find);
        self.ui.draft = None;
    }

    /// Where a vertex is in a pose, without morph targets, metres in character space; and its normal, of any length.
    pub fn place(&self, chosen: Chosen, pose: &Pose) -> Option<([f32; 3], [f32; 3])> {
        let sheet = self.sheets.get(chosen.sheet)?;
        let skin = self.facts.skins.get(*sheet.skins.first()?)?;
        let palette = dermis::pose::skin_palette(&self.facts.rig, skin, pose).ok()?;
        let p = *sheet.file.positions.get(chosen.vertex)?;
        // The mesh's first vertex that is the file's.
        let own = sheet.file.of_mesh.iter().position(|&v| v as usize == chosen.vertex);
        let normals = &self.facts.meshes[sheet.mesh].normals;
        let n = own.and_then(|v| normals.get(v)).copied().unwrap_or_default();
        let (mut at, mut normal) = ([0.0; 3], [0.0; 3]);
        for i in self.shown(chosen.sheet).of(chosen.vertex) {
            let joint = palette.get(i.joint as usize)?;
            let q = joint.transform_point(p);
            let turned = joint.rows.map(|r| r[0] * n[0] + r[1] * n[1] + r[2] * n[2]);
            (0..3).for_each(|k| at[k] += i.weight * q[k]);
            (0..3).for_each(|k| normal[k] += i.weight * turned[k]);
        }
        Some((at, normal))
    }

    /// Millimetres between full and shown in one pose, per sheet and vertex.
    fn error_now(&self, pose: &Pose) -> Vec<Vec<f64>> {
        let of = |(at, sheet): (usize, &Sheet)| {
            let mut field = vec![0.0; sheet.file.positions.len()];
            for &skin in &sheet.skins {
                let moving = sheet.moving(&self.facts, skin);
                let found = displacements_in(&moving, pose, &self.full[at], self.shown(at)).unwrap_or_default();
                field.iter_mut().zip(found).for_each(|(most, one): (&mut f64, f64)| *most = one.max(*most));
            }
            field
        };
        self.sheets.iter().enumerate().map(of).collect()
    }

    fn influences_of(&self, chosen: Chosen) -> Vec<Influence> {
        self.editors.get(chosen.sheet).and_then(|e| e.of(chosen.vertex)).map(<[Influence]>::to_vec).unwrap_or_default()
    }
}

/// The joints of all shown skins, in the rig's order.
fn bones(character: &Character, sheets: &[Sheet]) -> Vec<Bone> {
    let nodes = &character.rig.nodes;
    let mut joints = vec![vec![None; sheets.len()]; nodes.len()];
    for (s, sheet) in sheets.iter().enumerate() {
        for (j, &node) in character.skins[sheet.skins[0]].joints.iter().enumerate() {
            joints[node][s].get_or_insert(j as u32);
        }
    }
    let is_joint: Vec<bool> = joints.iter().map(|j| j.iter().any(Option::is_some)).collect();
    let mut depth = vec![0; nodes.len()];
    for n in 0..nodes.len() {
        depth[n] = nodes[n].parent.map_or(0, |p| depth[p] + usize::from(is_joint[p]));
    }
    (0..nodes.len())
        .filter(|&n| is_joint[n])
        .map(|n| Bone { name: nodes[n].name.clone(), depth: depth[n], joints: std::mem::take(&mut joints[n]) })
        .collect()
}

#[cfg(test)]
mod shell_tests;
#[cfg(test)]
mod tests;
