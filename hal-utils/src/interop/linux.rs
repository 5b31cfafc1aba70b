//! eventfd.

use super::reactor::Reactor;
use crate::sync::{Arc, Mutex};
use hal_core::{Error, ErrorKind, EventFd, ExportedEventFd, ImportedEventFd, Result, SemaphorePoint};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

/// What a reader of the descriptor gets.
const REACHED: u64 = 1;
const FAILED: u64 = 2;

/// An eventfd that `point` makes readable.
pub(crate) fn export_eventfd(point: &SemaphorePoint) -> Result<ExportedEventFd> {
    let descriptor = Arc::new(new_eventfd("exporting a semaphore point as an eventfd")?);
    let written = descriptor.clone();
    let callback = Box::new(move |outcome: Result<()>| {
        add(&written, if outcome.is_ok() { REACHED } else { FAILED });
    });
    let registration = point.semaphore.on_reached(point.value, callback);
    Ok(ExportedEventFd::new(descriptor, point.clone(), registration))
}

pub(super) fn new_eventfd(attempted: &str) -> Result<EventFd> {
    let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
    eventfd(0, flags).map(EventFd::from).map_err(|errno| error(attempted, errno))
}

pub(super) fn add(descriptor: &EventFd, count: u64) {
    // It can only fail with a counter that is full, and then the descriptor is readable, which is all that is wanted.
    let _ = rustix::io::write(descriptor, &count.to_ne_bytes());
}

pub(super) fn error(attempted: &str, errno: Errno) -> Error {
    let (kind, advice) = match errno {
        Errno::MFILE | Errno::NFILE => {
            (ErrorKind::ResourceExhausted, "; close descriptors, or raise the limit (`ulimit -n`)")
        }
        Errno::NOMEM | Errno::NOSPC => (ErrorKind::ResourceExhausted, "; free some, or ask for less"),
        Errno::PERM => {
            (ErrorKind::InvalidArgument, "; it cannot be watched, as a regular file cannot: pass an eventfd")
        }
        Errno::BADF | Errno::INVAL | Errno::LOOP => {
            (ErrorKind::InvalidArgument, "; pass a descriptor that is open and can be watched")
        }
        _ => (ErrorKind::Internal, ""),
    };
    Error::new(kind, format!("{attempted}{advice}")).with_source(std::io::Error::from(errno))
}

/// A device's watch over imported descriptors: nothing until there is one, then a thread.
#[derive(Default)]
pub(crate) struct Watcher {
    reactor: Mutex<Option<Reactor>>,
}

impl Watcher {
    /// Signals `point` once `descriptor` is readable.
    pub(crate) fn import(&self, descriptor: EventFd, point: &SemaphorePoint) -> Result<ImportedEventFd> {
        if point.is_reached()? {
            return Ok(ImportedEventFd::new(None));
        }
        let watches = {
            let mut reactor = self.reactor.lock();
            match &mut *reactor {
                Some(reactor) => reactor.watches(),
                none => none.insert(Reactor::start()?).watches(),
            }
        };
        watches.watch(descriptor, point)
    }

    /// Ends the thread, and fails what it has not signalled.
    pub(crate) fn end(&self, error: &Error) {
        let reactor = self.reactor.lock().take();
        if let Some(reactor) = reactor {
            reactor.end(error);
        }
    }
}
