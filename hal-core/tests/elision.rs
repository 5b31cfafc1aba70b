//! What is reached already is not waited for, and what is named twice is waited for once: registrations counted at the
//! semaphore.

use hal_core::{
    Callback, Deadline, Error, ErrorKind, Fence, Result, Semaphore, SemaphoreExt, SemaphorePoint, Submission,
    TimepointId, wait_all, wait_any,
};
use std::any::Any;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

/// Counts who registers, and wakes nobody.
#[derive(Debug, Default)]
struct Counting {
    payload: AtomicU64,
    waits: AtomicU64,
    callbacks: AtomicU64,
    wakers: AtomicU64,
    cancelled: AtomicU64,
    last: AtomicU64,
}

impl Counting {
    fn at(payload: u64) -> (Arc<Counting>, Arc<dyn Semaphore>) {
        let counting = Arc::new(Counting { payload: payload.into(), ..Counting::default() });
        (counting.clone(), counting)
    }

    fn register(&self, count: &AtomicU64, value: u64) -> TimepointId {
        self.last.store(value, Ordering::Relaxed);
        TimepointId { value, age: count.fetch_add(1, Ordering::Relaxed), slot: 0 }
    }

    /// Blocking waits, callbacks, wakers.
    fn registered(&self) -> [u64; 3] {
        [&self.waits, &self.callbacks, &self.wakers].map(|count| count.load(Ordering::Relaxed))
    }
}

impl Semaphore for Counting {
    fn query(&self) -> Result<u64> {
        Ok(self.payload.load(Ordering::Relaxed))
    }
    fn signal(&self, value: u64) -> Result<()> {
        self.payload.store(value, Ordering::Relaxed);
        Ok(())
    }
    fn fail(&self, _error: Error) -> bool {
        false
    }
    fn wait(&self, value: u64, _deadline: Deadline) -> Result<()> {
        self.register(&self.waits, value);
        Ok(())
    }
    fn on_reached(&self, value: u64, _callback: Callback) -> Option<TimepointId> {
        Some(self.register(&self.callbacks, value))
    }
    fn cancel(&self, _timepoint: TimepointId) -> bool {
        self.cancelled.fetch_add(1, Ordering::Relaxed);
        true
    }
    fn poll_reached(&self, value: u64, slot: &mut Option<TimepointId>, _waker: &Waker) -> Poll<Result<()>> {
        if self.payload.load(Ordering::Relaxed) >= value {
            return Poll::Ready(Ok(()));
        }
        slot.get_or_insert_with(|| self.register(&self.wakers, value));
        Poll::Pending
    }
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn reached_points_register_nothing() {
    let (counting, semaphore) = Counting::at(5);
    let points: Vec<_> = (0..=5).map(|value| SemaphorePoint::new(&semaphore, value)).collect();
    wait_all(&points, Deadline::NEVER).unwrap();
    assert_eq!(wait_any(&points, Deadline::NEVER).unwrap(), 0);
    let fence: Fence = points.iter().cloned().collect();
    assert!(fence.query().unwrap());
    fence.wait(Deadline::NEVER).unwrap();
    assert!(matches!(poll(&mut fence.into_future()), Poll::Ready(Ok(()))));
    assert!(matches!(poll(&mut semaphore.reached(5)), Poll::Ready(Ok(()))));
    assert_eq!(counting.registered(), [0, 0, 0]);
}

#[test]
fn of_reached_and_unreached_only_the_unreached_register() {
    let (reached, there) = Counting::at(1);
    let (unreached, missing) = Counting::at(0);
    let points = [SemaphorePoint::new(&there, 1), SemaphorePoint::new(&missing, 1)];
    wait_all(&points, Deadline::NEVER).unwrap();
    // One is left, which needs no more than its own wait.
    assert_eq!(unreached.registered(), [1, 0, 0]);
    let fence: Fence = points.into_iter().collect();
    assert!(poll(&mut fence.into_future()).is_pending());
    assert_eq!(unreached.registered(), [1, 0, 1]);
    assert_eq!(reached.registered(), [0, 0, 0]);
}

#[test]
fn duplicates_register_once_with_the_larger_value() {
    let (counting, semaphore) = Counting::at(0);
    let point = |value| SemaphorePoint::new(&semaphore, value);
    wait_all(&[point(3), point(7), point(3), point(1)], Deadline::NEVER).unwrap();
    assert_eq!((counting.registered(), counting.last.load(Ordering::Relaxed)), ([1, 0, 0], 7));

    let fence: Fence = [point(2), point(9), point(4)].into_iter().collect();
    assert_eq!(fence.points().len(), 1);
    let mut future = fence.into_future();
    for _ in 0..3 {
        assert!(poll(&mut future).is_pending());
    }
    assert_eq!((counting.registered(), counting.last.load(Ordering::Relaxed)), ([1, 0, 1], 9));
}

#[test]
fn duplicates_among_others_register_once() {
    let all: Vec<_> = (0..10).map(|_| Counting::at(0)).collect();
    // Every timeline three times, and never next to itself.
    let points: Vec<_> = (1..=3)
        .flat_map(|value| all.iter().map(move |(_, semaphore)| SemaphorePoint::new(semaphore, value)))
        .collect();
    let error = wait_all(&points, Deadline::NOW).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
    assert!(error.message().contains("10 still missing"), "{error}");
    for (counting, _) in &all {
        assert_eq!((counting.registered(), counting.last.load(Ordering::Relaxed)), ([0, 1, 0], 3));
        assert_eq!(counting.cancelled.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn joined_fences_register_once() {
    let (counting, semaphore) = Counting::at(0);
    let mut fence: Fence = [SemaphorePoint::new(&semaphore, 1)].into_iter().collect();
    let other: Fence = [SemaphorePoint::new(&semaphore, 2)].into_iter().collect();
    fence.join(&other);
    fence.join(&other);
    assert!(poll(&mut fence.into_future()).is_pending());
    assert_eq!((counting.registered(), counting.last.load(Ordering::Relaxed)), ([0, 0, 1], 2));
}

#[test]
fn submissions_name_each_timeline_once() {
    let (_, a) = Counting::at(0);
    let (_, b) = Counting::at(0);
    let mut submission = Submission::new()
        .wait(&a, 1)
        .wait(&b, 5)
        .wait(&a, 3)
        .wait(&a, 2)
        .signal(&b, 6)
        .signal(&b, 9)
        .signal(&b, 7);
    let parts = submission.parts();
    let waits: Vec<_> = parts.waits.iter().map(|point| point.value).collect();
    let signals: Vec<_> = parts.signals.iter().map(|point| point.value).collect();
    assert_eq!((waits, signals), (vec![3, 5], vec![9]));
}

#[test]
fn a_future_that_is_dropped_takes_its_registration_back() {
    let (counting, semaphore) = Counting::at(0);
    drop(semaphore.reached(1));
    assert_eq!(counting.cancelled.load(Ordering::Relaxed), 0, "there was none");
    let mut future = semaphore.reached(1);
    assert!(poll(&mut future).is_pending());
    drop(future);
    assert_eq!(counting.cancelled.load(Ordering::Relaxed), 1);
}
