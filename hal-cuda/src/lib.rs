//! CUDA: the driver's functions, and the native primitives of the HAL over them. `hal-hip` is its mirror, file by file.
//!
//! | File | What |
//! |---|---|
//! | [`sys`] | the generated bindings and the table of functions in use |
//! | `driver` | finding, starting and asking a driver |
//! | `device` | an open device: the primitives, one driver call each |
//! | `memory`, `module` | the primitives that need more than one call |
//! | `info` | what is known of a device |
//! | `status` | statuses to errors |
//!
//! Functions come from `cuGetProcAddress` at the version that introduced the ABI meant here: a plain lookup of an
//! unsuffixed name binds an obsolete one. Needs a driver of CUDA 11.3 or later.

mod device;
mod driver;
mod graph;
mod info;
mod memory;
mod module;
mod status;
pub mod sys;

pub use device::{CudaDevice, Event, Function, Module, Stream};
pub use driver::{CudaDriver, MINIMUM_VERSION, NAMES, load, symbols};
