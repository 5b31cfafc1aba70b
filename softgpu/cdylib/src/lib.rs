//! `libsoftgpu`: exports what the package `softgpu` defines, and nothing of its own.

// Linking the crate is all there is to do: with the feature `export` its entry points are unmangled symbols.
use softgpu_core as _;
