//! The PTX reader and the interpreter, without a driver.

mod device;
mod faults;
mod kernels;
mod text;
