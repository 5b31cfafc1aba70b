//! Beginning: init, versions, and looking up the rest.

use super::Hip;
use crate::abi::{Entry, Out, Text, entries};
use crate::driver::config::config;
use crate::driver::{Error, Result};
use crate::fault;
use std::ffi::c_void;

const FOUND: i32 = 0;
const NOT_FOUND: i32 = 1;
const TOO_OLD: i32 = 2;

/// `HIP_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`
const PER_THREAD: u64 = 2;

/// A version as `major * 100 + minor`, which programs also pass, in the form that the runtime reports.
fn full(version: i32) -> i32 {
    match version {
        100..10_000 => version / 100 * 10_000_000 + version % 100 * 100_000,
        _ => version,
    }
}

/// The newest entry of a name that `version` has.
fn look_up(name: &str, version: i32, flags: u64) -> Result<std::result::Result<&'static Entry, i32>> {
    if flags > 3 {
        return Err(Error::INVALID_VALUE);
    }
    if flags & PER_THREAD != 0 {
        return Err(Error::NOT_SUPPORTED);
    }
    let exists = |entry: &&Entry| {
        (entry.base == name || entry.symbol == name)
            && entry.since <= config().hip_version
            && !fault::is_missing(entry)
    };
    let known: Vec<&Entry> = super::tables().iter().copied().flatten().filter(exists).collect();
    let newest = known.iter().filter(|entry| entry.since <= full(version)).max_by_key(|entry| entry.since);
    Ok(newest.copied().ok_or(if known.is_empty() { NOT_FOUND } else { TOO_OLD }))
}

entries! { Hip;
    /// Says whether there is a device; the runtime needs no init.
    "hipInit" 50200000 => fn hipInit(flags: u32) {
        if flags == 0 { Ok(()) } else { Err(Error::INVALID_VALUE) }
    }
    /// The version this driver claims to be.
    early "hipDriverGetVersion" 50200000 => fn hipDriverGetVersion(version: Out<i32>) {
        version.set(config().hip_version)
    }
    /// The version this runtime claims to be.
    early "hipRuntimeGetVersion" 50200000 => fn hipRuntimeGetVersion(version: Out<i32>) {
        version.set(config().hip_version)
    }
    /// Finds an entry point by name and version, and says why it did not.
    early "hipGetProcAddress" 60200000 => fn hipGetProcAddress(
        symbol: Text, address: Out<*const c_void>, version: i32, flags: u64, status: Out<i32>,
    ) {
        address.check()?;
        match look_up(symbol.get()?, version, flags)? {
            Ok(entry) => {
                status.set_if(FOUND);
                address.set(entry.address.0)
            }
            Err(state) => {
                status.set_if(state);
                address.set(std::ptr::null())?;
                Err(Error::INVALID_VALUE)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::full;

    #[test]
    fn short_versions_are_understood() {
        assert_eq!(full(603), 60_300_000);
        assert_eq!(full(60_342_134), 60_342_134);
        assert_eq!(full(0), 0);
    }
}
