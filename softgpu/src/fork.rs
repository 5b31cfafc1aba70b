//! Processes that fork after the driver began.
//!
//! The child has the driver's memory, but not its threads, and locks that other threads held stay locked: nothing could
//! ever finish. As with the vendors' drivers, the child's calls fail; it may replace itself with another program.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// What every call answers in such a child: `CUDA_ERROR_NOT_INITIALIZED`, `hipErrorNotInitialized`.
pub(crate) const ANSWER: i32 = 3;

static CHILD: AtomicBool = AtomicBool::new(false);
static WATCHING: Once = Once::new();

extern "C" fn in_child() {
    CHILD.store(true, Ordering::Relaxed);
}

/// Has the system tell this process's children what they are.
pub(crate) fn watch() {
    WATCHING.call_once(|| {
        // SAFETY: the handler stores to a static, which is allowed in the child of a process with several threads.
        // Without memory for the registration, a child is not told, and that is all.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

/// Whether this process is the child of one in which the driver had begun.
pub(crate) fn happened() -> bool {
    CHILD.load(Ordering::Relaxed)
}
