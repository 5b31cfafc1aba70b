//! The timeline semaphore: the one synchronisation primitive.

use crate::{Deadline, Error, Reached, Result};
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// Runs once, when a value is reached (`Ok`) or never will be (`Err`). Called outside all locks, on the thread that
/// found out; it may call the HAL, must not block, and delays other notifications while it runs.
pub type Callback = Box<dyn FnOnce(Result<()>) + Send>;

/// A registration with a semaphore, to be cancelled. Only the semaphore that gave it knows what to do with it.
///
/// Ordered as the semaphore wakes: by value, then by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TimepointId {
    /// The value waited for.
    pub value: u64,
    /// Tells registrations apart; later ones have larger ages.
    pub age: u64,
    /// Where the semaphore keeps it.
    pub slot: u32,
}

/// A timeline: a 64-bit payload that only grows, or a failure that stays.
///
/// Host and queues both signal it and wait for it, in any order: waiting before anybody has promised to signal is
/// allowed everywhere, between queues, devices and backends.
///
/// A failure is final and the first one wins: every later query, wait and signal returns it, with its origin.
///
/// Use [`SemaphoreExt`] for futures.
pub trait Semaphore: Send + Sync + fmt::Debug {
    /// The payload. Takes no lock and calls no driver.
    ///
    /// # Errors
    /// The failure, if it failed.
    fn query(&self) -> Result<u64>;

    /// Raises the payload to `value`. Allocates nothing, and runs callbacks outside locks before it returns.
    ///
    /// # Errors
    /// `InvalidArgument` if `value` is not above the payload, which then stays as it is; the failure, if it failed.
    fn signal(&self, value: u64) -> Result<()>;

    /// Fails the timeline, and with it everything that waits for a value not reached. The first failure wins; later
    /// ones change nothing. Returns whether this was the first.
    fn fail(&self, error: Error) -> bool;

    /// Blocks until the payload is at least `value`. A deadline in the past polls.
    ///
    /// # Errors
    /// `DeadlineExceeded`, which leaves everything as it was; the failure, if it failed.
    fn wait(&self, value: u64, deadline: Deadline) -> Result<()>;

    /// Runs `callback` once, when `value` is reached or the semaphore fails; before returning, if that is so already.
    /// Returns what [`cancel`](Semaphore::cancel) takes, or `None` if the callback has run.
    fn on_reached(&self, value: u64, callback: Callback) -> Option<TimepointId>;

    /// Takes a registration back. `true` means it will never fire and has been dropped; `false` that it has fired or
    /// is firing.
    fn cancel(&self, timepoint: TimepointId) -> bool;

    /// For futures: ready if reached or failed, else leaves `waker` registered under `slot`, replacing what was there.
    /// Never blocks.
    fn poll_reached(&self, value: u64, slot: &mut Option<TimepointId>, waker: &Waker) -> Poll<Result<()>>;

    /// For queues to recognise their own.
    fn as_any(&self) -> &dyn Any;

    /// The semaphore itself, for queues that recognise their own.
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

/// What needs a handle that can be kept.
pub trait SemaphoreExt {
    /// A future of `value` being reached. It does not time out: combine it with your executor's timer. Dropping it at
    /// any time deregisters it.
    ///
    /// ```
    /// # async fn f(semaphore: std::sync::Arc<dyn hal_core::Semaphore>) -> hal_core::Result<()> {
    /// use hal_core::SemaphoreExt;
    ///
    /// semaphore.reached(3).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// With a deadline, under tokio. The timer is the executor's; when it is faster, the future is dropped, and that is
    /// all. (Without an executor, [`Semaphore::wait`] takes the deadline itself.)
    ///
    /// ```
    /// use hal_core::{Error, ErrorKind, Result, Semaphore, SemaphoreExt};
    /// use std::sync::Arc;
    /// use std::time::Duration;
    ///
    /// async fn reached_within(semaphore: &Arc<dyn Semaphore>, value: u64, limit: Duration) -> Result<()> {
    ///     match tokio::time::timeout(limit, semaphore.reached(value)).await {
    ///         Ok(outcome) => outcome,
    ///         Err(_elapsed) => Err(Error::new(ErrorKind::DeadlineExceeded, format!("value {value}"))),
    ///     }
    /// }
    /// ```
    fn reached(&self, value: u64) -> Reached;
}

impl SemaphoreExt for Arc<dyn Semaphore> {
    fn reached(&self, value: u64) -> Reached {
        Reached::new(self.clone(), value)
    }
}

/// A point on a timeline.
#[derive(Clone, Debug)]
pub struct SemaphorePoint {
    /// The timeline.
    pub semaphore: Arc<dyn Semaphore>,
    /// The value.
    pub value: u64,
}

impl SemaphorePoint {
    /// The point at which `semaphore` reaches `value`.
    #[inline]
    pub fn new(semaphore: &Arc<dyn Semaphore>, value: u64) -> Self {
        SemaphorePoint { semaphore: semaphore.clone(), value }
    }

    /// Whether both are points of one timeline.
    #[inline]
    pub fn same_timeline(&self, other: &SemaphorePoint) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.semaphore), Arc::as_ptr(&other.semaphore))
    }

    /// Whether it is reached.
    ///
    /// # Errors
    /// The semaphore's failure.
    pub fn is_reached(&self) -> Result<bool> {
        Ok(self.semaphore.query()? >= self.value)
    }
}
