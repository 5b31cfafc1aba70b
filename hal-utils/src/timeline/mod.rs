//! The timeline semaphore, backed by native events where it helps.
//!
//! One type for all devices and backends, so that any queue can wait for any other's signals. It does not know what a
//! device is; it knows [`DevicePoint`]s, which a submission leaves here once the driver has it, and [`Dependant`]s,
//! which are submissions that wait.
//!
//! # State
//!
//! ```text
//!            signal, raise                       fail (first one)
//! payload ────────────────► larger payload ────────────────────► failed, for ever
//! ```
//!
//! `payload` and `failed` are atomics, written only under the lock and read anywhere: who finds a value reached needs
//! no lock. Whoever registers does so under the lock, after looking again, so that no wake-up is lost.
//!
//! # Who is woken when
//!
//! | Waits as | Woken by a signal or failure | Woken when the producer is issued |
//! |---|---|---|
//! | thread, waker, callback | yes | no |
//! | submission of the producer's device | yes | yes: the rest of the wait happens on the device |
//! | submission of another device | yes | no |
//!
//! Waiters are kept by value: a signal touches only those it wakes. Each is taken out under the lock and woken outside
//! it, one at a time, so that a signal needs no memory.
//!
//! # Failure
//!
//! A failed submission fails its signals, those fail their dependants, and so on. [`Worklist`] holds what is still to
//! be failed, so that a chain of any length takes constant stack.

mod by_value;
mod waiters;
mod worklist;

pub(crate) use waiters::{Dependant, DevicePoint};
pub(crate) use worklist::{Schedule, Worklist};

use crate::sync::{Arc, AtomicBool, AtomicU64, Mutex, MutexGuard, OnceLock, Ordering, Rank, thread};
use hal_core::{
    Callback, Deadline, DeviceId, Error, ErrorKind, Result, Semaphore, SemaphorePoint, TimepointId,
};
use std::any::Any;
use std::fmt;
use std::task::{Poll, Waker};
use waiters::{State, Waiter};

/// The one implementation of [`Semaphore`] that queues work with.
pub struct TimelineSemaphore {
    /// For messages.
    number: u64,
    payload: AtomicU64,
    failed: AtomicBool,
    failure: OnceLock<Error>,
    state: Mutex<State>,
}

/// A plain counter: nothing is synchronised through it.
static NEXT_NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// A value of a timeline, as a queue keeps it.
#[derive(Clone)]
pub(crate) struct TimelinePoint {
    pub(crate) timeline: Arc<TimelineSemaphore>,
    pub(crate) value: u64,
}

impl TimelinePoint {
    /// `None` if the semaphore is not one of ours.
    #[inline]
    pub(crate) fn of(point: SemaphorePoint) -> Option<Self> {
        let SemaphorePoint { semaphore, value } = point;
        TimelineSemaphore::taken(semaphore).map(|timeline| TimelinePoint { timeline, value })
    }
}

/// What a wait is, seen from a queue of one device.
pub(crate) enum Resolution {
    /// Nothing to wait for.
    Reached,
    /// The device can wait for this.
    Issued(Arc<dyn DevicePoint>),
    /// Never.
    Failed(Error),
    /// Nobody has issued a signal yet.
    Unmet,
}

impl TimelineSemaphore {
    pub(crate) fn new(initial: u64) -> Self {
        TimelineSemaphore {
            number: NEXT_NUMBER.fetch_add(1, Ordering::Relaxed),
            payload: AtomicU64::new(initial),
            failed: AtomicBool::new(false),
            failure: OnceLock::new(),
            state: Mutex::ranked(Rank::Semaphore, State::default()),
        }
    }

    /// The semaphore behind a trait object, if it is one of ours.
    #[inline]
    pub(crate) fn of(semaphore: &dyn Semaphore) -> Option<&TimelineSemaphore> {
        semaphore.as_any().downcast_ref()
    }

    /// As [`of`](Self::of), for a handle.
    #[inline]
    pub(crate) fn taken(semaphore: Arc<dyn Semaphore>) -> Option<Arc<TimelineSemaphore>> {
        semaphore.into_any().downcast().ok()
    }

    /// Tells it apart in messages.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    fn failure(&self) -> Option<&Error> {
        if self.failed.load(Ordering::Acquire) { self.failure.get() } else { None }
    }

    /// `Ok(true)` if reached.
    fn look(&self, value: u64) -> Result<bool> {
        match self.failure() {
            Some(error) => Err(error.clone()),
            None => Ok(self.payload.load(Ordering::Acquire) >= value),
        }
    }

    /// As [`look`](Self::look), for who began to wait before: what was reached before a failure is reached.
    fn look_again(&self, value: u64) -> Result<bool> {
        if self.payload.load(Ordering::Acquire) >= value { Ok(true) } else { self.look(value) }
    }

    /// What a submission of `device` would have to wait for.
    pub(crate) fn resolve(&self, value: u64, device: DeviceId) -> Resolution {
        match self.look(value) {
            Ok(true) => Resolution::Reached,
            Err(error) => Resolution::Failed(error),
            Ok(false) => self.resolve_locked(&self.state.lock(), value, device),
        }
    }

    fn resolve_locked(&self, state: &State, value: u64, device: DeviceId) -> Resolution {
        match self.look(value) {
            Ok(true) => Resolution::Reached,
            Err(error) => Resolution::Failed(error),
            Ok(false) => match state.point(value, device) {
                Some(point) => Resolution::Issued(point),
                None => Resolution::Unmet,
            },
        }
    }

    /// Registers a submission of `device`; exactly one of its methods will be called, unless the answer says that
    /// there is nothing to wait for, or the timepoint is cancelled.
    pub(crate) fn register(
        &self,
        value: u64,
        device: DeviceId,
        dependant: &Arc<dyn Dependant>,
    ) -> Result<TimepointId, Resolution> {
        let mut state = self.state.lock();
        match self.resolve_locked(&state, value, device) {
            Resolution::Unmet => Ok(state.insert_dependant(value, device, dependant.clone())),
            resolved => Err(resolved),
        }
    }

    /// Takes back what [`register`](Self::register) gave, if it has not been woken.
    pub(crate) fn unregister(&self, timepoint: TimepointId, device: DeviceId) {
        let taken = self.state.lock().cancel_dependant(timepoint, device);
        // Dropped outside the lock.
        drop(taken);
    }

    /// A submission that will signal `value` is on its device: its device's dependants need wait no longer.
    pub(crate) fn promise(&self, value: u64, point: &Arc<dyn DevicePoint>, worklist: &mut Worklist) {
        let mut state = self.state.lock();
        if !matches!(self.look(value), Ok(false)) {
            return;
        }
        state.insert_point(value, point.clone());
        while let Some(dependant) = state.take_dependant(value, point.device()) {
            drop(state);
            dependant.issued(point, worklist);
            state = self.state.lock();
        }
    }

    /// Raises the payload to at least `value`, as a queue does. Changes nothing if it is there already or has failed.
    pub(crate) fn raise(&self, value: u64, worklist: &mut Worklist) {
        let state = self.state.lock();
        if matches!(self.look(value), Ok(false)) {
            self.payload.store(value, Ordering::Release);
            self.wake_reached(state, worklist);
        }
    }

    fn wake_reached<'a>(&'a self, mut state: MutexGuard<'a, State>, worklist: &mut Worklist) {
        loop {
            let payload = self.payload.load(Ordering::Relaxed);
            let point = state.take_point(payload);
            let waiter = state.take_reached(payload);
            let more = state.has_reached(payload);
            drop(state);
            // Dropped outside the lock: it may give an event back.
            drop(point);
            if let Some(waiter) = waiter {
                waiter.reached(worklist);
            }
            if !more {
                return;
            }
            state = self.state.lock();
        }
    }

    /// Fails it; dependants' own signals go to the worklist. Returns whether this was the first failure.
    pub(crate) fn fail_into(&self, error: Error, worklist: &mut Worklist) -> bool {
        {
            let _state = self.state.lock();
            if self.failure.set(error).is_err() {
                return false;
            }
            self.failed.store(true, Ordering::Release);
        }
        let Some(error) = self.failure() else { return false };
        // No longer moves. A waiter for a value reached before may still be here, since its signaller wakes one at a time.
        let payload = self.payload.load(Ordering::Acquire);
        loop {
            let mut state = self.state.lock();
            let point = state.take_point(u64::MAX);
            let reached = state.take_reached(payload);
            let waiter = if reached.is_none() { state.take_any() } else { None };
            drop(state);
            let had_point = point.is_some();
            drop(point);
            match (reached, waiter) {
                (Some(waiter), _) => waiter.reached(worklist),
                (None, Some(waiter)) => waiter.failed(error, worklist),
                (None, None) if had_point => {}
                (None, None) => return true,
            }
        }
    }

    fn deadline_exceeded(&self, value: u64) -> Error {
        let payload = self.payload.load(Ordering::Acquire);
        Error::new(
            ErrorKind::DeadlineExceeded,
            format!(
                "waiting for semaphore {} to reach {value}; it is at {payload} and nothing else has changed",
                self.number
            ),
        )
    }
}

impl Semaphore for TimelineSemaphore {
    fn query(&self) -> Result<u64> {
        match self.failure() {
            Some(error) => Err(error.clone()),
            None => Ok(self.payload.load(Ordering::Acquire)),
        }
    }

    fn signal(&self, value: u64) -> Result<()> {
        let state = self.state.lock();
        if let Some(error) = self.failure() {
            return Err(error.clone());
        }
        let payload = self.payload.load(Ordering::Relaxed);
        if value <= payload {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!(
                    "signal of {value} to semaphore {} that is at {payload}; a timeline only grows",
                    self.number
                ),
            ));
        }
        self.payload.store(value, Ordering::Release);
        let mut worklist = Worklist::default();
        self.wake_reached(state, &mut worklist);
        worklist.settle();
        Ok(())
    }

    fn fail(&self, error: Error) -> bool {
        let mut worklist = Worklist::default();
        let first = self.fail_into(error, &mut worklist);
        worklist.settle();
        first
    }

    fn wait(&self, value: u64, deadline: Deadline) -> Result<()> {
        if self.look(value)? {
            return Ok(());
        }
        if deadline.has_passed() {
            return Err(self.deadline_exceeded(value));
        }
        let timepoint = {
            let mut state = self.state.lock();
            if self.look(value)? {
                return Ok(());
            }
            state.insert(value, Waiter::Thread(thread::current()))
        };
        let outcome = loop {
            match self.look_again(value) {
                Ok(true) => break Ok(()),
                Err(error) => break Err(error),
                Ok(false) => {}
            }
            match deadline.remaining() {
                None => thread::park(),
                Some(left) if left.is_zero() => break Err(self.deadline_exceeded(value)),
                Some(left) => thread::park_timeout(left),
            }
        };
        self.cancel(timepoint);
        outcome
    }

    fn on_reached(&self, value: u64, callback: Callback) -> Option<TimepointId> {
        let outcome = {
            let mut state = self.state.lock();
            match self.look(value) {
                Ok(false) => return Some(state.insert(value, Waiter::Callback(callback))),
                Ok(true) => Ok(()),
                Err(error) => Err(error),
            }
        };
        callback(outcome);
        None
    }

    fn cancel(&self, timepoint: TimepointId) -> bool {
        let taken = self.state.lock().cancel(timepoint);
        // Dropped outside the lock: a callback owns whatever its author put into it.
        taken.is_some()
    }

    fn poll_reached(&self, value: u64, slot: &mut Option<TimepointId>, waker: &Waker) -> Poll<Result<()>> {
        // Somebody else's code, as is dropping it: neither happens under the lock.
        let waker = waker.clone();
        let (outcome, needless) = {
            let mut state = self.state.lock();
            let look = if slot.is_some() { self.look_again(value) } else { self.look(value) };
            match look {
                Ok(false) => {
                    let needless = state.set_waker(value, slot, waker);
                    (None, needless)
                }
                Ok(true) => (Some(Ok(())), Some(waker)),
                Err(error) => (Some(Err(error)), Some(waker)),
            }
        };
        drop(needless);
        match outcome {
            None => Poll::Pending,
            Some(outcome) => {
                if let Some(timepoint) = slot.take() {
                    self.cancel(timepoint);
                }
                Poll::Ready(outcome)
            }
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

impl fmt::Debug for TimelineSemaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimelineSemaphore")
            .field("number", &self.number)
            .field("payload", &self.payload.load(Ordering::Acquire))
            .field("failure", &self.failure())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[cfg(hal_loom)]
mod models;
#[cfg(test)]
mod tests;
