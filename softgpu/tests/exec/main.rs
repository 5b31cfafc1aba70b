//! The PTX reader and the interpreter, without a driver.
// Helpers outside `#[test]` functions are test code too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod device;
mod faults;
mod features;
mod forms;
mod kernels;
mod text;
