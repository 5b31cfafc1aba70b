use super::*;
use hal_core::{SemaphoreExt, SemaphorePoint, wait_all, wait_any};
use std::sync::atomic::AtomicU32;
use std::task::Wake;
use std::time::Duration;

fn semaphore(initial: u64) -> Arc<dyn Semaphore> {
    Arc::new(TimelineSemaphore::new(initial))
}

fn aborted(text: &str) -> Error {
    Error::new(ErrorKind::Aborted, text)
}

#[derive(Default)]
struct Count(AtomicU32);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn payload_only_grows() {
    let semaphore = semaphore(5);
    for value in [0, 4, 5] {
        assert_eq!(semaphore.signal(value).unwrap_err().kind(), ErrorKind::InvalidArgument);
        assert_eq!(semaphore.query().unwrap(), 5);
    }
    semaphore.signal(u64::MAX).unwrap();
    assert_eq!(semaphore.query().unwrap(), u64::MAX);
}

#[test]
fn first_failure_stays() {
    let semaphore = semaphore(5);
    assert!(semaphore.fail(aborted("one")));
    assert!(!semaphore.fail(aborted("two")));
    for error in [
        semaphore.query().unwrap_err(),
        semaphore.signal(6).unwrap_err(),
        semaphore.wait(1, Deadline::NEVER).unwrap_err(),
        semaphore.wait(9, Deadline::NEVER).unwrap_err(),
    ] {
        assert_eq!(error.message(), "one");
    }
}

#[test]
fn a_deadline_leaves_no_waiter() {
    let semaphore = TimelineSemaphore::new(0);
    let error = semaphore.wait(1, Deadline::after(Duration::from_millis(1))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
    assert!(semaphore.state.lock().take_any().is_none());
}

#[test]
fn callbacks_run_once_outside_the_lock() {
    let semaphore = semaphore(0);
    let (send, receive) = std::sync::mpsc::channel();
    let again = semaphore.clone();
    let timepoint =
        semaphore.on_reached(2, Box::new(move |outcome| send.send((outcome, again.query())).unwrap()));
    assert!(receive.try_recv().is_err());
    semaphore.signal(1).unwrap();
    assert!(receive.try_recv().is_err());
    semaphore.signal(3).unwrap();
    let (outcome, payload) = receive.try_recv().unwrap();
    outcome.unwrap();
    assert_eq!(payload.unwrap(), 3);
    assert!(!semaphore.cancel(timepoint.unwrap()));
    assert!(receive.try_recv().is_err());
}

#[test]
fn cancelled_callbacks_never_run() {
    let semaphore = semaphore(0);
    let timepoint = semaphore.on_reached(1, Box::new(|_| panic!("cancelled")));
    assert!(semaphore.cancel(timepoint.unwrap()));
    semaphore.signal(1).unwrap();
}

#[test]
fn the_waker_of_the_last_poll_is_woken() {
    let semaphore = semaphore(0);
    let (first, second) = (Arc::new(Count::default()), Arc::new(Count::default()));
    let mut slot = None;
    for count in [&first, &second, &second] {
        assert!(semaphore.poll_reached(1, &mut slot, &count.clone().into()).is_pending());
    }
    semaphore.signal(1).unwrap();
    assert_eq!((first.0.load(Ordering::SeqCst), second.0.load(Ordering::SeqCst)), (0, 1));
    assert!(semaphore.poll_reached(1, &mut slot, Waker::noop()).is_ready());
    assert!(slot.is_none());
}

#[test]
fn dropped_futures_deregister() {
    let semaphore: Arc<TimelineSemaphore> = Arc::new(TimelineSemaphore::new(0));
    let shared: Arc<dyn Semaphore> = semaphore.clone();
    let mut future = Box::pin(shared.reached(1));
    assert!(future.as_mut().poll(&mut std::task::Context::from_waker(Waker::noop())).is_pending());
    drop(future);
    assert!(semaphore.state.lock().take_any().is_none());
}

#[test]
fn any_and_all_over_several() {
    let points: Vec<_> = (0..3).map(|_| SemaphorePoint::new(&semaphore(0), 1)).collect();
    assert_eq!(wait_any(&points, Deadline::NOW).unwrap_err().kind(), ErrorKind::DeadlineExceeded);
    std::thread::scope(|scope| {
        let any = scope.spawn(|| wait_any(&points, Deadline::NEVER));
        points[1].semaphore.signal(1).unwrap();
        assert_eq!(any.join().unwrap().unwrap(), 1);
        let all = scope.spawn(|| wait_all(&points, Deadline::NEVER));
        points[2].semaphore.signal(1).unwrap();
        points[0].semaphore.signal(2).unwrap();
        all.join().unwrap().unwrap();
    });
}

#[test]
fn all_fails_with_the_first_failure() {
    let points: Vec<_> = (0..3).map(|_| SemaphorePoint::new(&semaphore(0), 1)).collect();
    std::thread::scope(|scope| {
        let all = scope.spawn(|| wait_all(&points, Deadline::NEVER));
        points[2].semaphore.fail(aborted("third"));
        assert_eq!(all.join().unwrap().unwrap_err().message(), "third");
    });
}

#[test]
fn what_was_reached_before_a_failure_is_reached() {
    let semaphore = semaphore(0);
    let (send, receive) = std::sync::mpsc::channel();
    let failing = semaphore.clone();
    // The first to be woken fails the timeline while the others are still to be.
    semaphore.on_reached(1, Box::new(move |_| assert!(failing.fail(aborted("late")))));
    for value in 2..=6 {
        let send = send.clone();
        semaphore.on_reached(value, Box::new(move |outcome| send.send((value, outcome.is_ok())).unwrap()));
    }
    let mut slot = None;
    assert!(semaphore.poll_reached(5, &mut slot, Waker::noop()).is_pending());
    semaphore.signal(5).unwrap();
    let heard: Vec<_> = receive.try_iter().collect();
    assert_eq!(heard, [(2, true), (3, true), (4, true), (5, true), (6, false)]);
    assert!(matches!(semaphore.poll_reached(5, &mut slot, Waker::noop()), Poll::Ready(Ok(()))));
    // Who comes afterwards gets the failure.
    assert_eq!(semaphore.wait(5, Deadline::NOW).unwrap_err().message(), "late");
}

#[test]
fn any_takes_a_reached_point_over_a_failed_one() {
    let points: Vec<_> = (0..2).map(|_| SemaphorePoint::new(&semaphore(0), 1)).collect();
    points[1].semaphore.signal(1).unwrap();
    points[0].semaphore.fail(aborted("zero"));
    assert_eq!(wait_any(&points, Deadline::NOW).unwrap(), 1);
    let failed = [points[0].clone(), SemaphorePoint::new(&semaphore(0), 1)];
    assert_eq!(wait_any(&failed, Deadline::NEVER).unwrap_err().message(), "zero");
}

/// A waker whose own code uses the semaphore that it is given to.
struct Nosy(Arc<TimelineSemaphore>);

impl Nosy {
    const TABLE: std::task::RawWakerVTable =
        std::task::RawWakerVTable::new(Self::clone, Self::drop, Self::look, Self::drop);

    fn waker(semaphore: &Arc<TimelineSemaphore>) -> Waker {
        let nosy = Arc::into_raw(Arc::new(Nosy(semaphore.clone())));
        // SAFETY: the table's functions take and leave counts of an `Arc<Nosy>`.
        unsafe { Waker::from_raw(std::task::RawWaker::new(nosy.cast(), &Self::TABLE)) }
    }

    unsafe fn look(raw: *const ()) {
        // SAFETY: by the waker's contract, `raw` is one of ours and is kept by the caller.
        let nosy = unsafe { &*raw.cast::<Nosy>() };
        drop(nosy.0.state.lock());
    }

    unsafe fn clone(raw: *const ()) -> std::task::RawWaker {
        // SAFETY: as in `look`.
        unsafe {
            Self::look(raw);
            Arc::increment_strong_count(raw.cast::<Nosy>());
        }
        std::task::RawWaker::new(raw, &Self::TABLE)
    }

    unsafe fn drop(raw: *const ()) {
        // SAFETY: the caller's count is given up here.
        unsafe {
            Self::look(raw);
            Arc::decrement_strong_count(raw.cast::<Nosy>());
        }
    }
}

#[test]
fn wakers_are_cloned_dropped_and_woken_outside_the_lock() {
    let semaphore = Arc::new(TimelineSemaphore::new(0));
    let (first, second) = (Nosy::waker(&semaphore), Nosy::waker(&semaphore));
    let mut slot = None;
    for waker in [&first, &first, &second] {
        assert!(semaphore.poll_reached(1, &mut slot, waker).is_pending());
    }
    semaphore.signal(1).unwrap();
    assert!(semaphore.poll_reached(1, &mut slot, &first).is_ready());
}
