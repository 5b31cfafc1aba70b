//! The semaphore under loom: registering against signals, failures and cancelling.

use super::*;
use crate::sync::model::explore;
use crate::sync::thread::JoinHandle;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::task::Wake;

fn start(run: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    thread::spawn("model", run).unwrap()
}

fn semaphore() -> Arc<TimelineSemaphore> {
    Arc::new(TimelineSemaphore::new(0))
}

fn aborted() -> Error {
    Error::new(ErrorKind::Aborted, "by the host")
}

/// Counts how it was told. Plain, for it is asked when all is over.
#[derive(Default)]
struct Told {
    reached: AtomicU32,
    issued: AtomicU32,
    failed: AtomicU32,
}

impl Told {
    fn times(&self) -> [u32; 3] {
        [&self.reached, &self.issued, &self.failed].map(|count| count.load(SeqCst))
    }
}

impl Dependant for Told {
    fn reached(self: Arc<Self>, _worklist: &mut Worklist) {
        self.reached.fetch_add(1, SeqCst);
    }

    fn issued(self: Arc<Self>, _point: &Arc<dyn DevicePoint>, _worklist: &mut Worklist) {
        self.issued.fetch_add(1, SeqCst);
    }

    fn failed(self: Arc<Self>, _error: &Error, _worklist: &mut Worklist) {
        self.failed.fetch_add(1, SeqCst);
    }
}

struct Point;

impl DevicePoint for Point {
    fn device(&self) -> DeviceId {
        DeviceId(1)
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

#[test]
fn a_signal_wakes_threads() {
    explore(|| {
        let semaphore = semaphore();
        let waiting = semaphore.clone();
        let waiting = start(move || waiting.wait(2, Deadline::NEVER).unwrap());
        let other = semaphore.clone();
        let other = start(move || other.wait(1, Deadline::NEVER).unwrap());
        semaphore.signal(1).unwrap();
        semaphore.signal(2).unwrap();
        waiting.join().unwrap();
        other.join().unwrap();
    });
}

#[test]
fn a_failure_wakes_threads() {
    explore(|| {
        let semaphore = semaphore();
        let waiting = semaphore.clone();
        let waiting = start(move || assert!(waiting.wait(2, Deadline::NEVER).is_err()));
        let signalling = semaphore.clone();
        let signalling = start(move || drop(signalling.signal(1)));
        assert!(semaphore.fail(aborted()));
        waiting.join().unwrap();
        signalling.join().unwrap();
        assert!(semaphore.query().is_err());
    });
}

/// Whatever a semaphore is told meanwhile, a dependant hears of it once, or was told as it came.
fn dependant(
    tell: impl Fn(&TimelineSemaphore) + Copy + Send + Sync + 'static,
    allowed: fn([u32; 3]) -> bool,
) {
    explore(move || {
        let semaphore = semaphore();
        let telling = semaphore.clone();
        let telling = start(move || tell(&telling));
        let told = Arc::new(Told::default());
        let dependant: Arc<dyn Dependant> = told.clone();
        let registered = semaphore.register(1, DeviceId(1), &dependant);
        telling.join().unwrap();
        let heard = match registered {
            Ok(_) => told.times(),
            Err(resolution) => {
                assert_eq!(told.times(), [0; 3]);
                [
                    matches!(resolution, Resolution::Reached).into(),
                    matches!(resolution, Resolution::Issued(_)).into(),
                    matches!(resolution, Resolution::Failed(_)).into(),
                ]
            }
        };
        assert_eq!(heard.iter().sum::<u32>(), 1, "{heard:?}");
        assert!(allowed(heard), "{heard:?}");
    });
}

#[test]
fn a_signal_reaches_dependants() {
    dependant(|semaphore| semaphore.signal(1).unwrap(), |heard| heard == [1, 0, 0]);
}

#[test]
fn a_promise_reaches_dependants() {
    let tell = |semaphore: &TimelineSemaphore| {
        let mut worklist = Worklist::default();
        let point: Arc<dyn DevicePoint> = Arc::new(Point);
        semaphore.promise(1, &point, &mut worklist);
        worklist.settle();
    };
    dependant(tell, |heard| heard == [0, 1, 0]);
}

#[test]
fn a_promise_reaches_dependants_before_its_signal() {
    let tell = |semaphore: &TimelineSemaphore| {
        let mut worklist = Worklist::default();
        let point: Arc<dyn DevicePoint> = Arc::new(Point);
        semaphore.promise(1, &point, &mut worklist);
        semaphore.raise(1, &mut worklist);
        worklist.settle();
    };
    dependant(tell, |heard| heard[2] == 0);
}

#[test]
fn a_failure_reaches_dependants() {
    let tell = |semaphore: &TimelineSemaphore| {
        let mut worklist = Worklist::default();
        let point: Arc<dyn DevicePoint> = Arc::new(Point);
        semaphore.promise(1, &point, &mut worklist);
        semaphore.fail(aborted());
        worklist.settle();
    };
    dependant(tell, |heard| heard[0] == 0);
}

#[test]
fn two_signals_wake_a_dependant_once() {
    explore(|| {
        let semaphore = semaphore();
        let told = Arc::new(Told::default());
        let dependant: Arc<dyn Dependant> = told.clone();
        assert!(semaphore.register(1, DeviceId(1), &dependant).is_ok());
        let threads: Vec<_> = [1, 2]
            .into_iter()
            .map(|value| {
                let semaphore = semaphore.clone();
                start(move || drop(semaphore.signal(value)))
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(told.times(), [1, 0, 0]);
        assert_eq!(semaphore.query().unwrap(), 2);
    });
}

struct Unpark(thread::Thread, AtomicU32);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.1.fetch_add(1, SeqCst);
        self.0.unpark();
    }
}

/// An executor in small: polls when woken, and only then.
#[test]
fn a_signal_wakes_the_last_waker() {
    explore(|| {
        let semaphore = semaphore();
        let signalling = semaphore.clone();
        let signalling = start(move || {
            signalling.signal(1).unwrap();
            signalling.signal(2).unwrap();
        });
        let mut slot = None;
        loop {
            // A new one for each poll, as a task that moves between executors has.
            let woken = Arc::new(Unpark(thread::current(), AtomicU32::new(0)));
            if semaphore.poll_reached(2, &mut slot, &woken.clone().into()).is_ready() {
                break;
            }
            while woken.1.load(SeqCst) == 0 {
                thread::park();
            }
        }
        assert!(slot.is_none());
        signalling.join().unwrap();
    });
}

#[test]
fn a_dropped_future_leaves_nothing() {
    explore(|| {
        let semaphore = semaphore();
        let signalling = semaphore.clone();
        let signalling = start(move || signalling.signal(1).unwrap());
        let mut slot = None;
        let woken = Arc::new(Unpark(thread::current(), AtomicU32::new(0)));
        if semaphore.poll_reached(1, &mut slot, &woken.clone().into()).is_pending()
            && let Some(timepoint) = slot
        {
            let cancelled = semaphore.cancel(timepoint);
            signalling.join().unwrap();
            assert_eq!(woken.1.load(SeqCst), u32::from(!cancelled));
        } else {
            signalling.join().unwrap();
        }
        assert!(semaphore.state.lock().take_any().is_none());
        assert_eq!(Arc::strong_count(&woken), 1);
    });
}

#[test]
fn a_callback_runs_or_is_cancelled() {
    explore(|| {
        let semaphore = semaphore();
        let signalling = semaphore.clone();
        let signalling = start(move || assert!(signalling.fail(aborted())));
        let calls = Arc::new(AtomicU32::new(0));
        let called = calls.clone();
        let count = move |_| assert_eq!(called.fetch_add(1, SeqCst), 0);
        let timepoint = semaphore.on_reached(1, Box::new(count));
        let cancelled = timepoint.is_some_and(|timepoint| semaphore.cancel(timepoint));
        signalling.join().unwrap();
        assert_eq!(calls.load(SeqCst), u32::from(!cancelled));
    });
}

#[test]
fn a_callback_hears_of_a_signal() {
    explore(|| {
        let semaphore = semaphore();
        let signalling = semaphore.clone();
        let signalling = start(move || signalling.signal(1).unwrap());
        let calls = Arc::new(AtomicU32::new(0));
        let called = calls.clone();
        let count = move |_| assert_eq!(called.fetch_add(1, SeqCst), 0);
        semaphore.on_reached(1, Box::new(count));
        signalling.join().unwrap();
        assert_eq!(calls.load(SeqCst), 1);
    });
}
