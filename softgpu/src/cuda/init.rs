//! Beginning: init, versions, and looking up the rest.

use super::Cuda;
use crate::abi::{Entry, In, Out, Text, entries};
use crate::driver::config::config;
use crate::driver::{Error, Result};
use crate::{fault, fork};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

static DONE: AtomicBool = AtomicBool::new(false);

/// Whether `cuInit` succeeded.
pub(super) fn is_done() -> bool {
    DONE.load(Ordering::Acquire)
}

const FOUND: i32 = 0;
const NOT_FOUND: i32 = 1;
const TOO_OLD: i32 = 2;

/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`
const PER_THREAD: u64 = 2;

/// The newest entry of a base name that `version` has.
fn look_up(base: &str, version: i32, flags: u64) -> Result<std::result::Result<&'static Entry, i32>> {
    if flags > 3 {
        return Err(Error::INVALID_VALUE);
    }
    if flags & PER_THREAD != 0 {
        return Err(Error::NOT_SUPPORTED);
    }
    let exists = |entry: &&Entry| {
        entry.base == base && entry.since <= config().cuda_version && !fault::is_missing(entry)
    };
    let known: Vec<&Entry> = super::tables().iter().copied().flatten().filter(exists).collect();
    let newest = known.iter().filter(|entry| entry.since <= version).max_by_key(|entry| entry.since);
    Ok(newest.copied().ok_or(if known.is_empty() { NOT_FOUND } else { TOO_OLD }))
}

entries! { Cuda;
    /// Readies the driver.
    early "cuInit" 2000 => fn cuInit(flags: u32) {
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        if config().devices == 0 {
            return Err(Error::NO_DEVICE);
        }
        fork::watch();
        DONE.store(true, Ordering::Release);
        Ok(())
    }
    /// The version this driver claims to be.
    early "cuDriverGetVersion" 2020 => fn cuDriverGetVersion(version: Out<i32>) {
        version.set(config().cuda_version)
    }
    /// Finds an entry point by base name and version.
    early "cuGetProcAddress" 11030 => fn cuGetProcAddress(
        symbol: Text, address: Out<*const c_void>, version: i32, flags: u64,
    ) {
        address.check()?;
        match look_up(symbol.get()?, version, flags)? {
            Ok(entry) => address.set(entry.address.0),
            Err(_) => Err(Error::NOT_FOUND),
        }
    }
    /// Finds an entry point by base name and version, and says why it did not.
    early "cuGetProcAddress" 12000 => fn cuGetProcAddress_v2(
        symbol: Text, address: Out<*const c_void>, version: i32, flags: u64, status: Out<i32>,
    ) {
        address.check()?;
        let (found, state) = match look_up(symbol.get()?, version, flags)? {
            Ok(entry) => (entry.address.0, FOUND),
            Err(state) => (std::ptr::null(), state),
        };
        status.set_if(state);
        address.set(found)
    }
    /// Private tables between a vendor's own libraries: there are none.
    early "cuGetExportTable" 3000 => fn cuGetExportTable(table: Out<*const c_void>, id: In<[u8; 16]>) {
        let _ = id;
        table.set(std::ptr::null())?;
        Err(Error::NOT_FOUND)
    }
    /// Does nothing: there is no profiler.
    "cuProfilerStart" 4000 => fn cuProfilerStart() { Ok(()) }
    /// Does nothing: there is no profiler.
    "cuProfilerStop" 4000 => fn cuProfilerStop() { Ok(()) }
}
