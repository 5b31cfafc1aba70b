//! HIP: the runtime's functions, and the native primitives of the HAL over them. `hal-cuda` is its mirror, file by
//! file.
//!
//! | File | What |
//! |---|---|
//! | [`sys`] | the generated bindings and the table of functions in use |
//! | `driver` | finding, starting and asking a runtime |
//! | `device` | an open device: the primitives, one runtime call each |
//! | `memory`, `module` | the primitives that need more than one call |
//! | `info` | what is known of a device |
//! | `status` | statuses to errors |
//!
//! Functions come from the library's exports, where HIP 6 gave those whose structures changed the suffix `R0600`.
//! Needs HIP 6.0 or later.
//!
//! # Faults
//!
//! On AMD GPUs the HIP runtime ends the process when a kernel faults. It reports the fault instead, as the loss of the
//! device, if `HIP_SKIP_ABORT_ON_GPU_ERROR=1` stands in the environment as the process starts; some releases abort
//! regardless while GPU core dumps are on.

mod device;
mod driver;
mod graph;
mod info;
mod memory;
mod module;
mod status;
pub mod sys;

pub use device::{Event, Function, HipDevice, Module, Stream};
pub use driver::{HipDriver, MINIMUM_VERSION, NAMES, load, symbols};
