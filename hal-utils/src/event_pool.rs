//! Native events, created once and used again.

use crate::core::Core;
use crate::native::Native;
use crate::sync::{Arc, AtomicU64, Mutex, Ordering};
use hal_core::Result;

/// Events that nobody uses, up to a capacity.
pub(crate) struct EventPool<N: Native> {
    idle: Mutex<Vec<N::Event>>,
    capacity: usize,
    existing: AtomicU64,
}

impl<N: Native> EventPool<N> {
    pub(crate) fn new(capacity: usize) -> Self {
        EventPool { idle: Mutex::new(Vec::with_capacity(capacity)), capacity, existing: AtomicU64::new(0) }
    }

    pub(crate) fn existing(&self) -> u64 {
        self.existing.load(Ordering::Relaxed)
    }

    fn take(&self) -> Option<N::Event> {
        self.idle.lock().pop()
    }

    /// Keeps the event, or gives it back if there is no room.
    fn keep(&self, event: N::Event, core: &Core<N>) -> Option<N::Event> {
        let mut idle = self.idle.lock();
        // Within the lock, so that either this sees the end or `drain` sees the event.
        if !core.is_closed() && idle.len() < self.capacity {
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
}

impl<N: Native> PooledEvent<N> {
    /// # Safety
    /// The device is current.
    pub(crate) unsafe fn acquire(core: &Arc<Core<N>>) -> Result<Self> {
        match core.events.take() {
            Some(event) => Ok(PooledEvent { core: core.clone(), event }),
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
        Ok(PooledEvent { core: core.clone(), event })
    }

    pub(crate) fn handle(&self) -> N::Event {
        self.event
    }
}

impl<N: Native> Drop for PooledEvent<N> {
    fn drop(&mut self) {
        let events = &self.core.events;
        if let Some(event) = events.keep(self.event, &self.core) {
            // SAFETY: the closure runs with the device current; nobody else has the handle.
            let destroyed = self.core.with_current(|native| unsafe { native.event_destroy(event) });
            self.core.note(destroyed);
            events.existing.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
