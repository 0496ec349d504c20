#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
// Refusals are errors, not panics; tests may.
#![cfg_attr(not(test), warn(clippy::expect_used, clippy::panic, clippy::unwrap_used))]

pub mod character;
mod error;
pub mod gpu;
#[cfg(feature = "hand")]
pub mod hand;
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
