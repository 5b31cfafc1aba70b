//! A software GPU with the CUDA driver ABI and the HIP runtime ABI.
//!
//! Three layers, each knowing only the one before it:
//!
//! - [`ptx`] reads PTX text into code;
//! - [`exec`] runs a grid of that code on the CPU, checking every access;
//! - [`driver`] is a driver without an ABI (devices, contexts, streams, events, memory, modules), and `cuda` and `hip`
//!   are the two ABIs over it.

pub mod driver;
pub mod exec;
pub mod ptx;

pub use driver::last_fault;
