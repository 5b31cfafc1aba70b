//! Host calls at the end of their device.

use crate::mock;
use hal_core::{
    Deadline, Device, DeviceParams, Error, ErrorKind, HostCall, HostCompletion, Queue, Semaphore, Submission,
    TeardownReport,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(20))
}

struct Bench {
    device: Arc<dyn Device>,
    queue: Arc<dyn Queue>,
    done: Arc<dyn Semaphore>,
    reports: Arc<Mutex<Vec<TeardownReport>>>,
}

impl Bench {
    fn new(teardown_limit: Duration) -> Self {
        let reports = Arc::new(Mutex::new(Vec::new()));
        let sink = reports.clone();
        let params = DeviceParams {
            teardown_limit,
            on_teardown: Some(Arc::new(move |report: &TeardownReport| {
                sink.lock().unwrap().push(report.clone());
            })),
            ..DeviceParams::default()
        };
        let (device, _control) = mock::device(&params);
        let queue = device.create_queue(&Default::default()).unwrap();
        let done = device.create_semaphore(0).unwrap();
        Bench { device, queue, done, reports }
    }

    fn call(&self, submission: Submission, call: HostCall) {
        self.queue.host_call(submission.signal(&self.done, 1), call).unwrap();
    }

    /// Closes the device, and returns what happened to the call's semaphore and what was reported.
    fn close(self) -> (hal_core::Result<u64>, Vec<TeardownReport>) {
        let Bench { device, queue, done, reports } = self;
        drop(device);
        drop(queue);
        let reports = reports.lock().unwrap().clone();
        (done.query(), reports)
    }
}

#[test]
fn what_waits_is_cancelled_and_never_run() {
    let bench = Bench::new(Duration::from_secs(20));
    let never = bench.device.create_semaphore(0).unwrap();
    let ran = Arc::new(AtomicBool::new(false));
    let flag = ran.clone();
    bench.call(
        Submission::new().wait(&never, 1),
        Box::new(move |completion| {
            flag.store(true, Ordering::SeqCst);
            completion.complete(Ok(()));
        }),
    );
    let (outcome, reports) = bench.close();
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(reports.is_empty(), "{reports:?}");
    never.signal(1).unwrap();
    assert!(!ran.load(Ordering::SeqCst));
}

#[test]
fn what_runs_is_waited_for() {
    let bench = Bench::new(Duration::from_secs(20));
    let (started, has_started) = mpsc::channel();
    let (go, may_go) = mpsc::channel();
    bench.call(
        Submission::new(),
        Box::new(move |completion| {
            started.send(()).unwrap();
            may_go.recv().unwrap();
            completion.complete(Ok(()));
        }),
    );
    has_started.recv().unwrap();
    let closing = std::thread::spawn(move || bench.close());
    go.send(()).unwrap();
    let (outcome, reports) = closing.join().unwrap();
    assert_eq!(outcome.unwrap(), 1);
    assert!(reports.is_empty(), "{reports:?}");
}

#[test]
fn a_token_kept_past_the_limit_is_reported_and_does_nothing_any_more() {
    let bench = Bench::new(Duration::from_millis(20));
    let (sender, receiver) = mpsc::channel();
    bench.call(Submission::new().label("late"), Box::new(move |completion| sender.send(completion).unwrap()));
    let token: HostCompletion = receiver.recv().unwrap();
    let done = bench.done.clone();
    let (outcome, reports) = bench.close();
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Cancelled);
    let text = format!("{reports:?}");
    assert!(text.contains("late") && text.contains("teardown limit"), "{text}");
    token.complete(Ok(()));
    assert_eq!(done.query().unwrap_err().kind(), ErrorKind::Cancelled);
}

#[test]
fn a_call_may_close_its_device() {
    let bench = Bench::new(Duration::from_secs(20));
    let Bench { device, queue, done, reports } = bench;
    let own = queue.clone();
    let gate = device.create_semaphore(0).unwrap();
    let call: HostCall = Box::new(move |completion| {
        // The last handle: closes the device on a thread of its own pool.
        drop(own);
        completion.complete(Ok(()));
    });
    queue.host_call(Submission::new().wait(&gate, 1).signal(&done, 1), call).unwrap();
    let second = device.create_semaphore(0).unwrap();
    queue.host_call(Submission::new().wait(&second, 1), Box::new(drop)).unwrap();
    drop(queue);
    drop(device);
    gate.signal(1).unwrap();
    done.wait(1, soon()).unwrap();
    assert!(reports.lock().unwrap().is_empty());
}

#[test]
fn a_callback_of_its_signal_may_close_the_device() {
    let Bench { device, queue, done, .. } = Bench::new(Duration::from_secs(20));
    let gate = device.create_semaphore(0).unwrap();
    let (sender, receiver) = mpsc::channel();
    let own = queue.clone();
    done.on_reached(
        1,
        Box::new(move |outcome| {
            drop(own);
            sender.send(outcome.is_ok()).unwrap();
        }),
    );
    let submission = Submission::new().wait(&gate, 1).signal(&done, 1);
    queue.host_call(submission, Box::new(|completion| completion.complete(Ok(())))).unwrap();
    drop(queue);
    drop(device);
    gate.signal(1).unwrap();
    assert!(receiver.recv_timeout(Duration::from_secs(20)).unwrap());
}

#[test]
fn one_thread_is_enough_for_any_number() {
    let params = DeviceParams { host_call_threads: 0, ..DeviceParams::default() };
    let (device, _control) = mock::device(&params);
    let queue = device.create_queue(&Default::default()).unwrap();
    let threads = Arc::new(Mutex::new(std::collections::HashSet::new()));
    for _ in 0..100 {
        let threads = threads.clone();
        let call = move |completion: HostCompletion| {
            threads.lock().unwrap().insert(std::thread::current().id());
            completion.complete(Err(Error::new(ErrorKind::Aborted, "nobody minds")));
        };
        queue.host_call(Submission::new(), Box::new(call)).unwrap();
    }
    queue.wait_idle(soon()).unwrap();
    assert_eq!(threads.lock().unwrap().len(), 1);
}
