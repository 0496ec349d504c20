//! The oracle: every kernel once more, in f64 and as plainly as its formula, for tests and tools.
//!
//! Nothing here is shared with the shaders or with the code that feeds them. It is slow and right by inspection.

mod clips;
mod dual;
mod pose;
mod skin;

pub use clips::{Playing, channel, clip_joints, clip_morphs, clip_palette, clip_worlds};
pub use dual::{skin_dual, turn, turns};
pub use pose::{Joint, blend, blend_rotation, corner_weights, limit, local_rotations, palette};
pub use skin::{Delta, Vertex, morph, skin};
