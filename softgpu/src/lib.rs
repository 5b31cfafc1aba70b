//! A software GPU with the CUDA driver ABI and the HIP runtime ABI.
//!
//! Layers, each knowing only those before it:
//!
//! - [`ptx`] reads PTX text into code;
//! - [`exec`] runs a grid of that code on the CPU, checking every access;
//! - [`driver`] is a driver without an ABI (devices, contexts, streams, events, memory, modules);
//! - [`fault`] makes calls fail on demand, and [`abi`] is how an entry point is declared;
//! - `both` is what they share, and [`cuda`] and [`hip`] are the two ABIs;
//! - [`resolver`] finds their entry points by name.
//!
//! A program uses it in-process through [`resolver::symbol`], or as a shared library: the package `softgpu-driver`
//! exports everything from `libsoftgpu.so`.

pub mod abi;
mod both;
pub mod check;
pub mod control;
pub mod cuda;
pub mod driver;
pub mod exec;
pub mod fault;
mod fork;
pub mod hip;
pub mod ptx;
mod random;
pub mod resolver;

pub use driver::last_fault;
