//! The primitives of a model checker, which both look like std's, with the faces of the real ones.

#[cfg(hal_loom)]
use loom::{sync as checker, thread as checker_thread};
#[cfg(hal_shuttle)]
use shuttle::{sync as checker, thread as checker_thread};

use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;
use std::time::Duration;

pub(crate) use checker::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

pub(super) struct Mutex<T>(checker::Mutex<T>);

impl<T> Mutex<T> {
    pub(super) fn new(value: T) -> Self {
        Mutex(checker::Mutex::new(value))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard { mutex: self, guard: Some(self.0.lock().unwrap_or_else(PoisonError::into_inner)) }
    }
}

pub(super) struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    /// Taken only within a wait.
    guard: Option<checker::MutexGuard<'a, T>>,
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.guard {
            Some(guard) => guard,
            None => unreachable!("a guard is whole outside a wait"),
        }
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.guard {
            Some(guard) => guard,
            None => unreachable!("a guard is whole outside a wait"),
        }
    }
}

pub(super) struct Condvar(checker::Condvar);

impl Condvar {
    pub(super) fn new() -> Self {
        Condvar(checker::Condvar::new())
    }

    pub(super) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(super) fn notify_all(&self) {
        self.0.notify_all();
    }

    pub(super) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        if let Some(held) = guard.guard.take() {
            guard.guard = Some(self.0.wait(held).unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Its time is over as soon as the others have had their turn.
    pub(super) fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _limit: Duration) {
        guard.guard = None;
        thread::yield_now();
        guard.guard = guard.mutex.lock().guard.take();
    }
}

/// As std's. Neither checker has one; what others may see of it goes through an atomic that they know.
pub(crate) struct OnceLock<T> {
    value: std::sync::OnceLock<T>,
    set: AtomicBool,
}

impl<T> OnceLock<T> {
    pub(crate) fn new() -> Self {
        OnceLock { value: std::sync::OnceLock::new(), set: AtomicBool::new(false) }
    }

    pub(crate) fn set(&self, value: T) -> Result<(), T> {
        let outcome = self.value.set(value);
        // By the loser too, which may rely on `get` from here on.
        self.set.store(true, Ordering::Release);
        outcome
    }

    pub(crate) fn get(&self) -> Option<&T> {
        if self.set.load(Ordering::Acquire) { self.value.get() } else { None }
    }

    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut()
    }

    pub(crate) fn take(&mut self) -> Option<T> {
        self.set.store(false, Ordering::Relaxed);
        self.value.take()
    }
}

/// Threads.
pub(crate) mod thread {
    use super::{Duration, checker_thread};

    pub(crate) use super::checker_thread::{JoinHandle, Thread, current, park, yield_now};

    /// Starts a thread with a name.
    pub(crate) fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
        checker_thread::Builder::new().name(name.to_owned()).spawn(run)
    }

    /// Its time is over as soon as the others have had their turn.
    pub(crate) fn park_timeout(_limit: Duration) {
        yield_now();
    }
}
