//! The CUDA driver ABI: conversions between C arguments and the driver core, one file per part of the API.

mod errors;
mod init;

use crate::abi::{Abi, Entry};
use crate::driver::{Error, Result};
use crate::resolver;
use std::ffi::c_void;

/// The ABI: codes are the core's own.
#[derive(Debug)]
pub enum Cuda {}

impl Abi for Cuda {
    fn is_ready() -> bool {
        init::is_done()
    }

    fn code(result: Result<()>) -> i32 {
        match result {
            Ok(()) => 0,
            Err(Error(code)) => code,
        }
    }
}

/// Every entry point of the ABI.
pub fn tables() -> &'static [&'static [Entry]] {
    static TABLES: &[&[Entry]] = &[errors::ENTRIES, init::ENTRIES];
    TABLES
}

/// The entry point with this exported name, as `dlsym` on `libcuda` would find it.
pub fn resolve(name: &str) -> Option<*const c_void> {
    if name.starts_with("cu") { resolver::symbol(name) } else { None }
}
