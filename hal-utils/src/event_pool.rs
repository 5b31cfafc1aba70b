//! Native events, created once and used again.

use crate::core::Core;
use crate::native::Native;
use crate::sync::{Arc, AtomicU64, AtomicUsize, Mutex, Ordering};
use hal_core::Result;

/// Events that nobody uses, up to a capacity: those in here, and those that rest with whoever used them last.
pub(crate) struct EventPool<N: Native> {
    idle: Mutex<Vec<N::Event>>,
    /// How many there are of both kinds.
    unused: AtomicUsize,
    capacity: usize,
    existing: AtomicU64,
}

impl<N: Native> EventPool<N> {
    pub(crate) fn new(capacity: usize) -> Self {
        EventPool {
            idle: Mutex::new(Vec::with_capacity(capacity)),
            unused: AtomicUsize::new(0),
            capacity,
            existing: AtomicU64::new(0),
        }
    }

    pub(crate) fn existing(&self) -> u64 {
        self.existing.load(Ordering::Relaxed)
    }

    fn take(&self) -> Option<N::Event> {
        let event = self.idle.lock().pop()?;
        self.leave();
        Some(event)
    }

    /// One more is unused, if there is room.
    fn join(&self) -> bool {
        let room = self.unused.fetch_add(1, Ordering::Relaxed) < self.capacity;
        if !room {
            self.leave();
        }
        room
    }

    fn leave(&self) {
        self.unused.fetch_sub(1, Ordering::Relaxed);
    }

    /// Keeps the event, or gives it back if there is no room.
    fn keep(&self, event: N::Event, core: &Core<N>) -> Option<N::Event> {
        let mut idle = self.idle.lock();
        // Within the lock, so that either this sees the end or `drain` sees the event.
        if !core.is_closed() && self.join() {
            idle.push(event);
            return None;
        }
        Some(event)
    }

    /// Destroys the idle ones.
    ///
    /// # Safety
    /// The device is current.
    pub(crate) unsafe fn drain(&self, core: &Core<N>) {
        while let Some(event) = self.take() {
            if core.is_gone() {
                return;
            }
            // SAFETY: it was idle, and is nobody's now.
            core.note(unsafe { core.native().event_destroy(event) });
            self.existing.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// An event out of the pool; goes back when dropped.
///
/// It can go back as soon as nobody will query it or wait for it: a wait already handed to the device has captured
/// what it waits for, and recording the event again does not disturb it (CUDA driver API, `cuStreamWaitEvent`).
pub(crate) struct PooledEvent<N: Native> {
    core: Arc<Core<N>>,
    event: N::Event,
    resting: bool,
}

impl<N: Native> PooledEvent<N> {
    /// # Safety
    /// The device is current.
    pub(crate) unsafe fn acquire(core: &Arc<Core<N>>) -> Result<Self> {
        match core.events.take() {
            Some(event) => Ok(PooledEvent { core: core.clone(), event, resting: false }),
            // SAFETY: the device is current, by contract.
            None => unsafe { Self::create(core) },
        }
    }

    /// One that has never been recorded, and so counts as complete.
    ///
    /// # Safety
    /// The device is current.
    pub(crate) unsafe fn create(core: &Arc<Core<N>>) -> Result<Self> {
        // SAFETY: the device is current, by contract.
        let event = unsafe { core.native().event_create() }?;
        core.events.existing.fetch_add(1, Ordering::Relaxed);
        Ok(PooledEvent { core: core.clone(), event, resting: false })
    }

    pub(crate) fn handle(&self) -> N::Event {
        self.event
    }

    /// Counts as unused where it is, if there is room for one more. It need not go through the pool to be used again.
    pub(crate) fn rest(&mut self) -> bool {
        self.resting = self.core.events.join();
        self.resting
    }

    /// Is used again.
    pub(crate) fn rise(&mut self) {
        if std::mem::take(&mut self.resting) {
            self.core.events.leave();
        }
    }
}

impl<N: Native> Drop for PooledEvent<N> {
    fn drop(&mut self) {
        self.rise();
        let events = &self.core.events;
        if let Some(event) = events.keep(self.event, &self.core) {
            // SAFETY: the closure runs with the device current; nobody else has the handle.
            let destroyed = self.core.with_current(|native| unsafe { native.event_destroy(event) });
            self.core.note(destroyed);
            events.existing.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
