#![doc = "GPU compute skinning on wgpu."]
#![forbid(unsafe_code)]

pub mod character;
mod error;
pub mod gpu;
pub mod influence;
#[cfg(feature = "gltf")]
pub mod io;
mod math;
pub mod pose;
pub mod reference;
#[cfg(feature = "render")]
pub mod render;

pub use character::Character;
pub use error::{Error, Result};
pub use math::{Affine, Transform};
pub use wgpu;
