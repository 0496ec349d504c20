//! The oracle: every kernel once more, in f64 and as plainly as its formula, for tests and tools.
//!
//! Nothing here is shared with the shaders or with the code that feeds them. It is slow and right by inspection.

mod pose;
mod skin;

pub use pose::{Joint, blend, blend_rotation, corner_weights, limit, palette};
pub use skin::{Delta, Vertex, morph, skin};
