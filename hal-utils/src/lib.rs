//! What CUDA and HIP share, written once: generic over the [`native`] primitives that each backend supplies.

pub mod loader;
pub mod native;
