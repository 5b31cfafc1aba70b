//! The real primitives.

pub(super) use parking_lot::{Condvar, Mutex, MutexGuard};
pub(crate) use std::sync::OnceLock;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Threads.
pub(crate) mod thread {
    pub(crate) use std::thread::{JoinHandle, Thread, current, park, park_timeout, yield_now};

    /// Starts a thread with a name, or says why there is none to be had.
    pub(crate) fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
        std::thread::Builder::new().name(name.to_owned()).spawn(run)
    }
}
