//! A pose space and a character's state in it as the words that `shaders/space.wgsl` reads.
//!
//! Order of evaluation, there and in [`PoseSpace::evaluate`]: weights of every corner at the point → weights of every sample
//! by the alternatives selected (row 0) → one further row for every distinct group state: its source's weights, faded in, then
//! mixed with row 0 by its strength → per node and channel one row: rotation (sum, fill, Karcher step), limit, translation,
//! scale, length, thickness → the chain of leaders → base → length of the parent bone → hierarchy → palettes with shape.

use super::groups::{CHANNELS, Source, SpaceState, Track};
use super::space::PoseSpace;
use crate::Result;
use crate::character::Rig;

/// Words of a space's head.
pub(crate) const HEAD_WORDS: usize = 24;
/// Words of a facet and of a node; the shader's constants of the same names.
pub(crate) const FACET_WORDS: usize = 8;
pub(crate) const SPACE_NODE_WORDS: usize = 12;
/// Channels that joints have (textures are the drawing side's).
const JOINT_CHANNELS: usize = CHANNELS - 1;
/// No leader, no limit.
const NONE: u32 = u32::MAX;
/// A node's flags: two bits per axis for its scale rule, then these.
const SIGNED_LIMIT: u32 = 1 << 6;

/// The sizes of a space: what a state must fit, and what its rows need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpaceShape {
    pub nodes: usize,
    pub corners: usize,
    pub slots: usize,
    pub samples: usize,
    pub cells: usize,
}

impl SpaceShape {
    /// Rows of four weights that `rows` rows of sample weights take.
    pub fn weight_rows(&self, rows: usize) -> u32 {
        (rows * self.samples.div_ceil(4)) as u32
    }
}

fn bits<'a>(numbers: impl IntoIterator<Item = &'a f64>) -> impl Iterator<Item = u32> {
    numbers.into_iter().map(|&x| (x as f32).to_bits()).collect::<Vec<_>>().into_iter()
}

impl PoseSpace {
    pub(crate) fn shape(&self) -> SpaceShape {
        SpaceShape {
            nodes: self.joints.len(),
            corners: self.corners.len(),
            slots: self.slots.len(),
            samples: self.samples.len(),
            cells: self.cell_count,
        }
    }

    /// The whole space. Head (offsets count from the space's first word): dimensions, corners, samples, facets, fans, slots,
    /// cells, 1 where any sample changes length or thickness; offsets of corners (xyz, padding; unit diameter about the mean),
    /// gradients (the same), facets (normal, offset, offset of its ring, corners in it, areas' factor, padding), fans (corner,
    /// three facets, determinant), slots (corner, sample), nodes (cell, leader, flags, offset of its limit, reference
    /// rotation, bone axis, padding), samples (node by node: rotation, translation, ln length, scale or its logs, ln thickness),
    /// and the default sample.
    pub(crate) fn words(&self, rig: &Rig) -> Vec<u32> {
        let c = &self.coordinates;
        let mut out = vec![0_u32; HEAD_WORDS];
        let shaped = self.samples.iter().flat_map(|s| &s.pose.joints).any(|j| j.length != 1.0 || j.thickness != 1.0);
        let counts = [
            c.dimensions,
            c.points.len(),
            self.samples.len(),
            c.facets.len(),
            c.fans.len(),
            self.slots.len(),
            self.cell_count,
            usize::from(shaped),
        ];
        let mut offsets = Vec::new();
        let mark = |out: &Vec<u32>, offsets: &mut Vec<usize>| offsets.push(out.len());
        for list in [&c.points, &c.gradients] {
            mark(&out, &mut offsets);
            for p in list {
                out.extend(bits(&[p.x, p.y, p.z, 0.0]));
            }
        }
        mark(&out, &mut offsets);
        let facets = out.len();
        out.resize(facets + FACET_WORDS * c.facets.len(), 0);
        for (f, facet) in c.facets.iter().enumerate() {
            let n = facet.corners.len();
            let at = |i: usize| c.points[facet.corners[i % n]];
            let total: f64 = (1..n - 1).map(|i| facet.normal.dot((at(i) - at(0)).cross(at(i + 1) - at(0)))).sum();
            let ring = out.len() as u32;
            for i in 0..n {
                let ear = facet.normal.dot((at(i) - at(i + n - 1)).cross(at(i + 1) - at(i)));
                // In units of the facet's area: products stay in range.
                out.extend([facet.corners[i] as u32, ((ear / total) as f32).to_bits()]);
            }
            let record = &mut out[facets + FACET_WORDS * f..][..FACET_WORDS];
            let plane = [facet.normal.x, facet.normal.y, facet.normal.z, facet.offset];
            record[..4].copy_from_slice(&plane.map(|x| (x as f32).to_bits()));
            record[4..7].copy_from_slice(&[ring, n as u32, ((n as f64 / total) as f32).to_bits()]);
        }
        mark(&out, &mut offsets);
        for fan in &c.fans {
            let [a, b, d] = fan.facets.map(|f| f as u32);
            out.extend([fan.corner as u32, a, b, d, (fan.det as f32).to_bits()]);
        }
        mark(&out, &mut offsets);
        out.extend(self.slots.iter().flat_map(|&(corner, sample)| [corner as u32, sample as u32]));
        mark(&out, &mut offsets);
        let nodes = out.len();
        out.resize(nodes + SPACE_NODE_WORDS * self.joints.len(), 0);
        let axes = rig.bone_axes();
        for (n, joint) in self.joints.iter().enumerate() {
            let mut flags = (0..3).fold(0, |flags, a| flags | (joint.scale_rules[a] as u32) << (2 * a));
            let mut limit_at = NONE;
            if let Some(limit) = &self.limits[n] {
                limit_at = out.len() as u32;
                flags |= if limit.signed { SIGNED_LIMIT } else { 0 };
                out.extend(bits(&limit.before.to_array()));
                out.extend(bits(&limit.frame.to_array()));
                out.extend(bits(limit.half.iter().flatten()));
            }
            let leader = self.chain.leader[n].map_or(NONE, |l| l as u32);
            let record = &mut out[nodes + SPACE_NODE_WORDS * n..][..SPACE_NODE_WORDS];
            record[..4].copy_from_slice(&[self.cell_of[n] as u32, leader, flags, limit_at]);
            record[4..8].copy_from_slice(&joint.reference.to_array().map(|x| (x as f32).to_bits()));
            record[8..11].copy_from_slice(&axes[n].map(f32::to_bits));
        }
        mark(&out, &mut offsets);
        for joint in &self.joints {
            for s in 0..self.samples.len() {
                let (t, k, [length, thickness]) = (joint.translations[s], joint.scales[s], joint.shapes[s]);
                out.extend(bits(&joint.rotations[s].to_array()));
                out.extend(bits(&[t.x, t.y, t.z, length, k.x, k.y, k.z, thickness]));
            }
        }
        for (word, value) in out.iter_mut().zip(counts.into_iter().chain(offsets).chain([self.default])) {
            *word = value as u32;
        }
        out
    }
}

impl SpaceState {
    /// The time from which on nothing changes by itself.
    pub(crate) fn settled_at(&self) -> f64 {
        let fades = self.selections.iter().map(|s| &s.fade).chain(self.cells.iter().flatten().map(|t| &t.fade));
        fades.map(|f| f.now + f64::from(f.seconds.max(0.0))).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Writes the state for the shader into `out` and returns its number of rows. First the point (normalised, in f64), 1 to
    /// extrapolate, rows, padding; then per corner its fade (start in two parts, seconds), per slot its weight from and to,
    /// per cell the rows of its channels (a byte each, two words), and rows 1… (kind, point, strength from and to, fade, 1
    /// with weights to fade in from; those; the source's).
    pub(crate) fn words(&self, space: &PoseSpace, out: &mut Vec<u32>) -> Result<usize> {
        self.check(space)?;
        out.clear();
        let samples = space.samples.len();
        out.extend(point(space, self.point));
        let extrapolate = space.outside == super::Outside::Extrapolate;
        out.extend([u32::from(extrapolate), 0, 0]);
        for s in &self.selections {
            out.extend(fade(&s.fade));
        }
        for s in &self.selections {
            for (a, from) in s.from.iter().enumerate() {
                out.extend([(*from as f32).to_bits(), f32::from(u8::from(a == s.to)).to_bits()]);
            }
        }
        let cells = out.len();
        out.resize(cells + 2 * self.cells.len(), 0);
        let mut rows = 1;
        for (cell, tracks) in self.cells.iter().enumerate() {
            for channel in 0..JOINT_CHANNELS {
                let row = self.row(tracks, cell, channel, out, cells).unwrap_or_else(|| {
                    write_row(space, samples, &tracks[channel], out);
                    rows += 1;
                    rows - 1
                });
                out[cells + 2 * cell + channel / 4] |= (row as u32) << (8 * (channel % 4));
            }
        }
        out[4] = rows as u32;
        Ok(rows)
    }

    /// The row a track already has: 0 for a live one, else that of an equal track before it.
    fn row(&self, tracks: &[Track; CHANNELS], cell: usize, channel: usize, out: &[u32], cells: usize) -> Option<usize> {
        let track = &tracks[channel];
        if track.strength == [0.0; 2] {
            return Some(0);
        }
        let earlier = (0..cell).flat_map(|c| (0..JOINT_CHANNELS).map(move |k| (c, k)));
        let before = earlier.chain((0..channel).map(|k| (cell, k)));
        before
            .into_iter()
            .find(|&(c, k)| self.cells[c][k] == *track)
            .map(|(c, k)| (out[cells + 2 * c + k / 4] >> (8 * (k % 4)) & 255) as usize)
    }
}

fn write_row(space: &PoseSpace, samples: usize, track: &Track, out: &mut Vec<u32>) {
    let (kind, at) = match &track.source {
        Source::Kept(_) => (0, [0; 3]),
        Source::Default => (1, [0; 3]),
        Source::Point(p) => (2, point(space, *p)),
    };
    out.push(kind);
    out.extend(at);
    out.extend(track.strength.map(|s| (s as f32).to_bits()));
    out.extend(fade(&track.fade));
    out.push(u32::from(track.from.is_some()));
    for weights in [track.from.as_deref(), if let Source::Kept(w) = &track.source { Some(w) } else { None }] {
        let weights = weights.unwrap_or_default();
        out.extend((0..samples).map(|s| weights.get(s).map_or(0, |&w| (w as f32).to_bits())));
    }
}

/// In the space's own units; far points are brought within what f32 holds well, in the same direction.
fn point(space: &PoseSpace, at: [f32; 3]) -> [u32; 3] {
    const FAR: f64 = 256.0;
    let c = &space.coordinates;
    let mut x = c.normalised(at);
    if x.length() > FAR {
        x *= FAR / x.length();
    }
    [x.x, x.y, x.z].map(|x| (x as f32).to_bits())
}

fn fade(fade: &super::Fade) -> [u32; 3] {
    let high = fade.now as f32;
    [high, (fade.now - f64::from(high)) as f32, fade.seconds].map(f32::to_bits)
}
