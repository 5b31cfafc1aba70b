//! The CUDA driver ABI: conversions between C arguments and the driver core, one file per part of the API.

mod attributes;
mod capture;
mod context;
mod copy;
mod device;
mod errors;
mod event;
mod function;
mod graph;
mod graph_exec;
mod init;
mod launch;
mod library;
mod link;
mod memory;
mod module;
mod more;
mod node;
mod pointer;
mod pool;
mod stream;
mod virtual_memory;

use crate::abi::{Abi, Entry};
use crate::driver::stream::{STREAMS, Stream};
use crate::driver::{Error, Result, context as contexts};
use crate::resolver;
use std::ffi::c_void;
use std::sync::Arc;

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
    static TABLES: &[&[Entry]] = &[
        errors::ENTRIES,
        init::ENTRIES,
        device::ENTRIES,
        context::ENTRIES,
        memory::ENTRIES,
        pointer::ENTRIES,
        copy::ENTRIES,
        pool::ENTRIES,
        virtual_memory::ENTRIES,
        stream::ENTRIES,
        event::ENTRIES,
        capture::ENTRIES,
        module::ENTRIES,
        link::ENTRIES,
        library::ENTRIES,
        function::ENTRIES,
        launch::ENTRIES,
        more::ENTRIES,
        graph::ENTRIES,
        node::ENTRIES,
        graph_exec::ENTRIES,
        // After the rows they repeat.
        graph_exec::ALIASES,
    ];
    TABLES
}

/// The entry point with this exported name, as `dlsym` on `libcuda` would find it.
pub fn resolve(name: &str) -> Option<*const c_void> {
    if name.starts_with("cu") { resolver::symbol(name) } else { None }
}

/// The stream of a handle: 0 and `CU_STREAM_LEGACY` are the null stream, 2 is the thread's own.
fn stream_of(handle: u64) -> Result<Arc<Stream>> {
    match handle {
        0 | 1 => Ok(contexts::current()?.null_stream()),
        2 => Stream::per_thread(&contexts::current()?),
        _ => {
            let stream = STREAMS.get(handle)?;
            stream.context.check()?;
            Ok(stream)
        }
    }
}
