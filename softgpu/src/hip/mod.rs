//! The HIP runtime ABI: conversions between C arguments and the driver core, one file per part of the API.
//!
//! It differs from the CUDA driver ABI where HIP does: calls need no init, a thread without a context works in the
//! primary context of its device (`current`), every thread has a last error (`errors`), and sizes of zero allocate
//! nothing. Versions are `major * 10_000_000 + minor * 100_000 + patch`; 5.2 is the oldest that is told apart.
//!
//! Modules are PTX, as on HIP's NVIDIA platform; AMD code objects are refused. Not here, and not in the table: textures
//! and arrays, IPC, fat binary registration.

mod attributes;
mod capture;
mod context;
mod copy;
mod current;
mod device;
mod errors;
mod event;
mod fill;
mod function;
mod graph;
mod graph_exec;
mod init;
mod launch;
mod link;
mod memory;
mod module;
mod more;
mod node;
mod pointer;
mod pool;
mod properties;
mod stream;
mod virtual_memory;

use crate::abi::{Abi, Entry};
use crate::driver::device::devices;
use crate::driver::stream::{STREAMS, Stream};
use crate::driver::{Error, Result};
use crate::resolver;
use std::ffi::c_void;
use std::sync::Arc;

/// The ABI.
#[derive(Debug)]
pub enum Hip {}

impl Abi for Hip {
    /// Nothing needs an init call, but everything needs a device.
    fn is_ready() -> bool {
        !devices().is_empty()
    }

    fn code(result: Result<()>) -> i32 {
        errors::code(result)
    }

    fn note(code: i32) -> i32 {
        errors::remember(code)
    }
}

/// Every entry point of the ABI.
pub fn tables() -> &'static [&'static [Entry]] {
    static TABLES: &[&[Entry]] = &[
        errors::ENTRIES,
        errors::PLAIN,
        init::ENTRIES,
        device::ENTRIES,
        properties::ENTRIES,
        context::ENTRIES,
        memory::ENTRIES,
        pointer::ENTRIES,
        copy::ENTRIES,
        fill::ENTRIES,
        pool::ENTRIES,
        virtual_memory::ENTRIES,
        stream::ENTRIES,
        event::ENTRIES,
        capture::ENTRIES,
        module::ENTRIES,
        link::ENTRIES,
        function::ENTRIES,
        launch::ENTRIES,
        more::ENTRIES,
        graph::ENTRIES,
        node::ENTRIES,
        graph_exec::ENTRIES,
    ];
    TABLES
}

/// The entry point with this exported name, as `dlsym` on `libamdhip64` would find it.
pub fn resolve(name: &str) -> Option<*const c_void> {
    if name.starts_with("hip") { resolver::symbol(name) } else { None }
}

/// The stream of a handle: 0 and `hipStreamLegacy` are the null stream, `hipStreamPerThread` is the thread's own.
fn stream_of(handle: u64) -> Result<Arc<Stream>> {
    match handle {
        0 | 1 => Ok(current::context()?.null_stream()),
        2 => Stream::per_thread(&current::context()?),
        _ => {
            let stream = STREAMS.get(handle)?;
            stream.context.check()?;
            Ok(stream)
        }
    }
}

/// A size, length or count that C passes as a signed number.
fn unsigned(value: i32) -> Result<usize> {
    usize::try_from(value).map_err(|_| Error::INVALID_VALUE)
}
