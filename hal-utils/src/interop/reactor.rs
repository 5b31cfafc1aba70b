//! The thread that watches imported descriptors.
//!
//! A watch is an entry under a number that is never used again, so that an event of an old watch cannot be taken for one
//! of a new watch. Whoever takes the entry out, the thread, the guard that the caller holds, or the end of the device,
//! owns the descriptor and settles the matter.

use super::platform::{add, error, new_eventfd};
use crate::sync::{Arc, Mutex, Weak, assert_unlocked};
use crate::timeline::{TimelineSemaphore, Worklist};
use hal_core::{Error, ErrorKind, EventFd, ImportedEventFd, Result, SemaphorePoint};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use std::collections::HashMap;
use std::os::fd::OwnedFd;
// Std's even in models, where a thread that sleeps in a system call has no place and none is started.
use std::thread::{self, JoinHandle};

/// Events taken from the kernel at a time.
const BATCH: usize = 64;
/// The number under which the thread is told to end.
const WAKE: u64 = 0;

pub(super) struct Reactor {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

pub(super) struct Shared {
    epoll: OwnedFd,
    wake: EventFd,
    watches: Mutex<Watches>,
}

struct Watches {
    next: u64,
    watched: HashMap<u64, Watch>,
    /// Why nothing more is watched.
    end: Option<Error>,
}

struct Watch {
    descriptor: EventFd,
    point: SemaphorePoint,
}

impl Reactor {
    pub(super) fn start() -> Result<Self> {
        let attempted = "starting to watch imported descriptors";
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(|errno| error(attempted, errno))?;
        let wake = new_eventfd(attempted)?;
        epoll::add(&epoll, &wake, EventData::new_u64(WAKE), EventFlags::IN)
            .map_err(|errno| error(attempted, errno))?;
        let watches = Watches { next: WAKE + 1, watched: HashMap::new(), end: None };
        let shared = Arc::new(Shared { epoll, wake, watches: Mutex::new(watches) });
        let watching = shared.clone();
        let thread = thread::Builder::new().name("hal-reactor".to_owned()).spawn(move || watching.run());
        let thread = thread.map_err(|error| {
            Error::new(ErrorKind::ResourceExhausted, "starting the thread hal-reactor").with_source(error)
        })?;
        Ok(Reactor { shared, thread })
    }

    pub(super) fn watches(&self) -> Arc<Shared> {
        self.shared.clone()
    }

    pub(super) fn end(self, error: &Error) {
        self.shared.end(error);
        add(&self.shared.wake, 1);
        if self.thread.thread().id() != thread::current().id() {
            // A panic there was a user's callback; it has been printed, and the work is over either way.
            let _ = self.thread.join();
        }
    }
}

/// Ends a watch that has not ended.
fn cancel(shared: &Weak<Shared>, number: u64) {
    if let Some(shared) = shared.upgrade() {
        // Dropped outside the lock, which closes the descriptor.
        drop(shared.take(number));
    }
}

impl Shared {
    pub(super) fn watch(
        self: &Arc<Self>,
        descriptor: EventFd,
        point: &SemaphorePoint,
    ) -> Result<ImportedEventFd> {
        let number = self.add(descriptor, point)?;
        // Weak: a guard may outlive the device, and keeps nothing of it open.
        let shared = Arc::downgrade(self);
        Ok(ImportedEventFd::new(Some(Box::new(move || cancel(&shared, number)))))
    }

    fn add(&self, descriptor: EventFd, point: &SemaphorePoint) -> Result<u64> {
        let mut watches = self.watches.lock();
        if let Some(end) = &watches.end {
            return Err(end.clone());
        }
        let number = watches.next;
        watches.next += 1;
        // Within the lock, so that the entry is there before the thread looks for it.
        epoll::add(
            &self.epoll,
            &descriptor,
            EventData::new_u64(number),
            EventFlags::IN | EventFlags::ONESHOT,
        )
        .map_err(|errno| error("importing a file descriptor", errno))?;
        watches.watched.insert(number, Watch { descriptor, point: point.clone() });
        Ok(number)
    }

    fn take(&self, number: u64) -> Option<Watch> {
        let watch = {
            let mut watches = self.watches.lock();
            let watch = watches.watched.remove(&number);
            if watches.watched.is_empty() {
                // After a burst; a table that small is cheap to make again.
                watches.watched.shrink_to(BATCH);
            }
            watch
        }?;
        self.forget(&watch);
        Some(watch)
    }

    /// Closing is not enough: the kernel goes on watching while anybody has a duplicate of the descriptor.
    fn forget(&self, watch: &Watch) {
        // It is watched, so this cannot fail.
        let _ = epoll::delete(&self.epoll, &watch.descriptor);
    }

    fn end(&self, error: &Error) {
        let watched = {
            let mut watches = self.watches.lock();
            watches.end.get_or_insert_with(|| error.clone());
            std::mem::take(&mut watches.watched)
        };
        for watch in watched.into_values() {
            self.forget(&watch);
            let Watch { descriptor, point } = watch;
            drop(descriptor);
            point.semaphore.fail(error.clone());
        }
    }

    /// The thread.
    fn run(&self) {
        let mut events = Vec::with_capacity(BATCH);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(errno) => {
                    self.end(&error("watching imported descriptors", errno).with_kind(ErrorKind::Internal));
                    return;
                }
            }
            for event in &events {
                let number = event.data.u64();
                if number == WAKE {
                    return;
                }
                if let Some(watch) = self.take(number) {
                    settle(watch, event.flags);
                }
            }
        }
    }
}

/// Tells the semaphore what became of the descriptor.
fn settle(watch: Watch, flags: EventFlags) {
    assert_unlocked();
    let Watch { descriptor, point } = watch;
    // First: who sees the signal may count on the descriptor being closed.
    drop(descriptor);
    if flags.contains(EventFlags::IN) {
        reach(&point);
        return;
    }
    let reason = if flags.contains(EventFlags::HUP) {
        "the other side of an imported descriptor hung up without having made it readable"
    } else {
        "an imported descriptor reports an error instead of being readable"
    };
    point.semaphore.fail(Error::new(ErrorKind::Aborted, reason));
}

/// Raises the payload, as a queue does: one that is there already stays.
fn reach(point: &SemaphorePoint) {
    match TimelineSemaphore::of(&*point.semaphore) {
        Some(timeline) => {
            let mut worklist = Worklist::default();
            timeline.raise(point.value, &mut worklist);
            worklist.settle();
        }
        None => {
            // Refused if it is there or has failed; both are fine.
            let _ = point.semaphore.signal(point.value);
        }
    }
}
