//! Platforms without eventfd.

use hal_core::{Error, ErrorKind, EventFd, ExportedEventFd, ImportedEventFd, Result, SemaphorePoint};

/// Refuses.
pub(crate) fn export_eventfd(_point: &SemaphorePoint) -> Result<ExportedEventFd> {
    Err(unimplemented())
}

/// What would watch descriptors.
#[derive(Default)]
pub(crate) struct Watcher;

impl Watcher {
    /// Refuses.
    pub(crate) fn import(&self, _descriptor: EventFd, _point: &SemaphorePoint) -> Result<ImportedEventFd> {
        Err(unimplemented())
    }

    /// There is nothing to end.
    pub(crate) fn end(&self, _error: &Error) {}
}

fn unimplemented() -> Error {
    Error::new(
        ErrorKind::Unimplemented,
        "eventfd exists on Linux only; elsewhere use `Semaphore::on_reached` and signal what your event loop has",
    )
}
