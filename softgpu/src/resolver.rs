//! Finds entry points by their exported names, as `dlsym` would in `libsoftgpu`.

use crate::abi::{Address, Entry};
use crate::driver::config::config;
use crate::{control, cuda, fault, hip};
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::OnceLock;

fn entries() -> &'static HashMap<&'static str, &'static Entry> {
    static ENTRIES: OnceLock<HashMap<&'static str, &'static Entry>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let of = |tables: &'static [&'static [Entry]], version: i32| {
            tables.iter().copied().flatten().filter(move |entry| entry.since <= version)
        };
        let cuda = of(cuda::tables(), config().cuda_version);
        let hip = of(hip::tables(), config().hip_version);
        // An alias has a later version than the row it repeats; the first row is the function's own.
        let mut entries = HashMap::new();
        cuda.chain(hip).for_each(|entry| {
            entries.entry(entry.symbol).or_insert(entry);
        });
        entries
    })
}

/// The entry point with this exact exported name. `None` if there is none, if it is newer than the version the driver
/// reports, or if a fault rule hides it.
pub fn symbol(name: &str) -> Option<*const c_void> {
    if let Some((_, Address(address))) = control::SYMBOLS.iter().find(|(known, _)| *known == name) {
        return Some(*address);
    }
    let entry = entries().get(name)?;
    (!fault::is_missing(entry)).then_some(entry.address.0)
}
