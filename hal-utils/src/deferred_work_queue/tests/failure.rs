//! How far a failure goes, and who owns what when a call fails.

use super::*;

#[test]
fn failure_reaches_dependants_with_its_origin_and_nobody_else() {
    let bench = Bench::new();
    let (queue, other) = (bench.queue(), bench.queue());
    let gate = bench.semaphore();
    let chain: Vec<_> = (0..6).map(|_| bench.semaphore()).collect();
    let bystander = bench.semaphore();
    queue.submit(Submission::new().label("first").wait(&gate, 1).signal(&chain[0], 1)).unwrap();
    for pair in chain.windows(2) {
        other.submit(Submission::new().wait(&pair[0], 1).signal(&pair[1], 1)).unwrap();
    }
    queue.submit(Submission::new().signal(&bystander, 1)).unwrap();
    gate.fail(Error::new(ErrorKind::Aborted, "the reason"));
    for semaphore in &chain {
        let error = semaphore.wait(1, soon()).unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Aborted, "the reason"));
        assert_eq!(error.origin().unwrap().label.as_deref(), Some("first"));
    }
    bystander.wait(1, soon()).unwrap();
    let after = bench.semaphore();
    queue.submit(Submission::new().signal(&after, 1)).unwrap();
    after.wait(1, soon()).unwrap();
}

#[test]
fn failing_a_hundred_thousand_dependants_takes_constant_stack() {
    let bench = Bench::new();
    let queue = bench.queue();
    let timelines: Vec<_> = (0..100_001).map(|_| bench.semaphore()).collect();
    for pair in timelines.windows(2) {
        queue.submit(Submission::new().wait(&pair[0], 1).signal(&pair[1], 1)).unwrap();
    }
    // Far less than one frame per dependant.
    let fail = {
        let first = timelines[0].clone();
        move || first.fail(Error::new(ErrorKind::Aborted, "x"))
    };
    std::thread::Builder::new().stack_size(64 << 10).spawn(fail).unwrap().join().unwrap();
    assert_eq!(timelines[100_000].query().unwrap_err().kind(), ErrorKind::Aborted);
    queue.wait_idle(soon()).unwrap();
}

#[test]
fn a_call_that_fails_before_the_work_costs_nothing() {
    for call in ["event_create", "fill"] {
        let bench = Bench::with(DeviceParams { event_pool_capacity: 0, ..DeviceParams::default() });
        let (queue, done) = (bench.queue(), bench.semaphore());
        bench.control.fail(call, 1, 2, false);
        queue.submit(Submission::new().execute(&bench.fills([1])).signal(&done, 1)).unwrap();
        let error = done.wait(1, soon()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ResourceExhausted, "{call}");
        assert_eq!(error.native().unwrap().call, call);
        queue.wait_idle(soon()).unwrap();
        assert_eq!(bench.control.live_allocations(), 0);
        let again = bench.semaphore();
        queue.submit(Submission::new().signal(&again, 1)).unwrap();
        again.wait(1, soon()).unwrap();
    }
}

/// Fails a call after the device got work, and checks that the resources outlive it.
fn failing_after_the_work(call: &'static str, nth: u32) {
    let bench = Bench::new();
    bench.control.hold();
    let (queue, done) = (bench.queue(), bench.semaphore());
    let work = bench.fills([1, 2]);
    let alive: Weak<dyn CommandBuffer> = Arc::downgrade(&work);
    bench.control.fail(call, nth, 999, false);
    queue.submit(Submission::new().execute(&work).signal(&done, 1)).unwrap();
    drop(work);
    assert_eq!(done.wait(1, soon()).unwrap_err().native().unwrap().code, 999);
    assert!(!queue.is_idle(), "{call}: released while the stream may be using it");
    assert!(alive.upgrade().is_some());
    bench.control.release();
    queue.wait_idle(soon()).unwrap();
    assert!(alive.upgrade().is_none());
    assert_eq!(bench.control.live_allocations(), 0);
    let again = bench.semaphore();
    queue.submit(Submission::new().signal(&again, 1)).unwrap();
    again.wait(1, soon()).unwrap();
}

#[test]
fn resources_outlive_a_second_command_that_fails() {
    failing_after_the_work("fill", 2);
}

#[test]
fn resources_outlive_a_record_that_fails() {
    failing_after_the_work("record", 1);
}

#[test]
fn resources_outlive_a_query_that_fails() {
    failing_after_the_work("event_query", 1);
}

#[test]
fn work_behind_a_failed_completion_fails_with_it() {
    let bench = Bench::new();
    bench.control.hold();
    let (first, second) = (bench.queue(), bench.queue());
    let (a, b) = (bench.semaphore(), bench.semaphore());
    first.submit(Submission::new().label("a").execute(&bench.fills([1])).signal(&a, 1)).unwrap();
    second.submit(Submission::new().label("b").wait(&a, 1).execute(&bench.fills([2])).signal(&b, 1)).unwrap();
    assert_eq!(bench.filled(), [1, 2]);
    // The first query may be for either; both must fail, and with the same origin unless it was b's own.
    bench.control.fail("event_query", 1, 999, false);
    let error = b.wait(1, soon()).unwrap_err();
    assert_eq!(error.native().unwrap().code, 999);
    bench.control.release();
    first.wait_idle(soon()).unwrap();
    second.wait_idle(soon()).unwrap();
}

/// A wait that is resolved on the device may fail there while another, on the host, is still unmet.
#[test]
fn a_failure_reaches_what_still_waits_for_something_else() {
    for submitted_first in [true, false] {
        let bench = Bench::new();
        bench.control.hold();
        let (producer, consumer) = (bench.queue(), bench.queue());
        let (made, never, done) = (bench.semaphore(), bench.semaphore(), bench.semaphore());
        let consume = || {
            consumer.submit(Submission::new().wait(&made, 1).wait(&never, 1).signal(&done, 1)).unwrap();
        };
        let produce = || {
            let work = Submission::new().label("made").execute(&bench.fills([1])).signal(&made, 1);
            producer.submit(work).unwrap();
        };
        if submitted_first {
            consume();
            produce();
        } else {
            produce();
            consume();
        }
        bench.control.fail("event_query", 1, 999, false);
        let error = done.wait(1, soon()).unwrap_err();
        assert_eq!(error.origin().unwrap().label.as_deref(), Some("made"));
        bench.control.release();
        consumer.wait_idle(soon()).unwrap();
    }
}
