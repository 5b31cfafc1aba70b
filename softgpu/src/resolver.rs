//! Finds entry points by their exported names, as `dlsym` would in `libsoftgpu`.

use crate::abi::{Address, Entry};
use crate::driver::config::config;
use crate::{control, cuda, fault, hip};
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::OnceLock;

struct Symbol {
    address: Address,
    exists: bool,
}

fn symbols() -> &'static HashMap<&'static str, Symbol> {
    static SYMBOLS: OnceLock<HashMap<&'static str, Symbol>> = OnceLock::new();
    SYMBOLS.get_or_init(|| {
        let of = |tables: &'static [&'static [Entry]], version: i32| {
            tables.iter().copied().flatten().map(move |entry| {
                (entry.symbol, Symbol { address: entry.address, exists: entry.since <= version })
            })
        };
        let controls = control::SYMBOLS
            .iter()
            .map(|(name, address)| (*name, Symbol { address: *address, exists: true }));
        of(cuda::tables(), config().cuda_version)
            .chain(of(hip::tables(), config().hip_version))
            .chain(controls)
            .collect()
    })
}

/// The entry point with this exact exported name. `None` if there is none, if it is newer than the version the driver
/// reports, or if a fault rule hides it.
pub fn symbol(name: &str) -> Option<*const c_void> {
    let found = symbols().get(name)?;
    (found.exists && !fault::is_missing(name)).then_some(found.address.0)
}
