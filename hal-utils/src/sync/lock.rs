//! Mutexes with a rank, and what waits with them. In release builds, nothing but the primitives.

use super::order::{Held, Rank, Ranking};
use super::primitives;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

/// Does not poison: a panic in a user's callback must not take a queue with it.
pub(crate) struct Mutex<T> {
    ranking: Ranking,
    inner: primitives::Mutex<T>,
}

impl<T> Mutex<T> {
    /// A leaf: held alone.
    pub(crate) fn new(value: T) -> Self {
        Self::ranked(Rank::Leaf, value)
    }

    pub(crate) fn ranked(rank: Rank, value: T) -> Self {
        Mutex { ranking: Ranking::new(rank), inner: primitives::Mutex::new(value) }
    }

    #[cfg_attr(debug_assertions, track_caller)]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        // Before the lock, so that a wrong order is reported rather than a deadlock suffered.
        let held = self.ranking.hold();
        MutexGuard { inner: self.inner.lock(), _held: held }
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

#[must_use = "locked only while this lives"]
pub(crate) struct MutexGuard<'a, T> {
    inner: primitives::MutexGuard<'a, T>,
    _held: Held,
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

pub(crate) struct Condvar(primitives::Condvar);

impl Condvar {
    pub(crate) fn new() -> Self {
        Condvar(primitives::Condvar::new())
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }

    pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        self.0.wait(&mut guard.inner);
    }

    pub(crate) fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, limit: Duration) {
        self.0.wait_for(&mut guard.inner, limit);
    }
}

impl Default for Condvar {
    fn default() -> Self {
        Self::new()
    }
}
