//! Submissions that take too long.

use super::*;

fn watched() -> Bench {
    Bench::with(DeviceParams { watchdog: Some(Duration::from_millis(20)), ..DeviceParams::default() })
}

#[test]
fn the_watchdog_names_who_waits_for_what() {
    let bench = watched();
    let (queue, gate, middle, end) = (bench.queue(), bench.semaphore(), bench.semaphore(), bench.semaphore());
    queue.submit(Submission::new().label("first").wait(&gate, 7).signal(&middle, 1)).unwrap();
    queue.submit(Submission::new().label("second").wait(&middle, 1).signal(&end, 1)).unwrap();
    // A deadline far beyond the watchdog's limit only keeps a broken watchdog from hanging the test.
    let first = middle.wait(1, soon()).unwrap_err();
    assert_eq!(first.kind(), ErrorKind::DeadlineExceeded);
    assert_eq!(first.origin().unwrap().label.as_deref(), Some("first"));
    assert!(first.message().contains("to reach 7, which is at 0"), "{first}");
    assert!(first.message().contains("did the host forget"), "{first}");
    assert!(end.wait(1, soon()).is_err());
    queue.wait_idle(soon()).unwrap();
    // The queue goes on.
    let again = bench.semaphore();
    queue.submit(Submission::new().signal(&again, 1)).unwrap();
    again.wait(1, soon()).unwrap();
}

#[test]
fn the_watchdog_barks_with_nobody_waiting_and_names_the_signaller() {
    let bench = watched();
    let (queue, gate, middle, end) = (bench.queue(), bench.semaphore(), bench.semaphore(), bench.semaphore());
    // The one that waits is older, so that it is reported while its signaller is pending.
    queue.submit(Submission::new().label("waits").wait(&middle, 1).signal(&end, 1)).unwrap();
    queue.submit(Submission::new().label("signals").wait(&gate, 1).signal(&middle, 1)).unwrap();
    let (send, receive) = std::sync::mpsc::channel();
    end.on_reached(1, Box::new(move |outcome| send.send(outcome).unwrap()));
    let error = receive.recv_timeout(Duration::from_secs(20)).unwrap().unwrap_err();
    assert!(error.message().contains("the watchdog"), "{error}");
    assert!(["waits", "signals"].contains(&error.origin().unwrap().label.as_deref().unwrap()));
}

#[test]
fn the_watchdog_fails_what_runs_and_leaves_it_its_resources() {
    let bench = watched();
    bench.control.hold();
    let (queue, done) = (bench.queue(), bench.semaphore());
    queue.submit(Submission::new().label("endless").execute(&bench.fills([1])).signal(&done, 1)).unwrap();
    let error = done.wait(1, soon()).unwrap_err();
    assert!(error.to_string().contains("endless"), "{error}");
    assert!(!queue.is_idle());
    assert_eq!(bench.control.live_allocations(), 1);
    bench.control.release();
    queue.wait_idle(soon()).unwrap();
    assert_eq!(bench.control.live_allocations(), 0);
}
