//! The queue over a mock device: what is issued, when, in which order, and who owns what when a call fails.

use crate::mock::{self, Control};
use hal_core::{
    Buffer, BufferParams, CommandBuffer, Deadline, Device, DeviceParams, Error, ErrorKind, Queue,
    QueueParams, Semaphore, Submission,
};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

struct Bench {
    device: Arc<dyn Device>,
    control: Control,
}

impl Bench {
    fn new() -> Self {
        Self::with(DeviceParams::default())
    }

    fn with(params: DeviceParams) -> Self {
        let (device, control) = mock::device(&params);
        Bench { device, control }
    }

    fn queue(&self) -> Arc<dyn Queue> {
        self.device.create_queue(&QueueParams::default()).unwrap()
    }

    fn semaphore(&self) -> Arc<dyn Semaphore> {
        self.device.create_semaphore(0).unwrap()
    }

    fn buffer(&self) -> Arc<dyn Buffer> {
        self.device.allocate_buffer(&BufferParams::device_local(64)).unwrap()
    }

    /// Fills with these patterns, which the log shows.
    fn fills(&self, patterns: impl IntoIterator<Item = u8>) -> Arc<dyn CommandBuffer> {
        let buffer = self.buffer();
        let mut encoder = self.device.encoder();
        for pattern in patterns {
            encoder.fill(&buffer, 0, 64, &[pattern]).unwrap();
        }
        encoder.finish(&*self.device).unwrap()
    }

    /// The patterns filled so far, in order.
    fn filled(&self) -> Vec<u64> {
        let log = self.control.log();
        let fills = log.iter().filter(|line| line.starts_with("fill"));
        fills.map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect()
    }
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(20))
}

#[test]
fn ready_work_is_issued_by_its_caller() {
    let bench = Bench::new();
    bench.control.hold();
    let (queue, done) = (bench.queue(), bench.semaphore());
    queue.submit(Submission::new().execute(&bench.fills([7])).signal(&done, 1)).unwrap();
    // No other thread has to run for this to be true.
    assert_eq!(bench.filled(), [7]);
    assert_eq!(bench.device.counters().issued_inline, 1);
    assert_eq!(done.query().unwrap(), 0);
    bench.control.release();
    done.wait(1, soon()).unwrap();
}

#[test]
fn unmet_waits_delay_nobody_else() {
    let bench = Bench::new();
    let (queue, gate, first, second) =
        (bench.queue(), bench.semaphore(), bench.semaphore(), bench.semaphore());
    queue.submit(Submission::new().wait(&gate, 1).execute(&bench.fills([1])).signal(&first, 1)).unwrap();
    queue.submit(Submission::new().execute(&bench.fills([2])).signal(&second, 1)).unwrap();
    second.wait(1, soon()).unwrap();
    assert_eq!(bench.filled(), [2]);
    gate.signal(1).unwrap();
    first.wait(1, soon()).unwrap();
    assert_eq!(bench.filled(), [2, 1]);
}

#[test]
fn a_chain_is_issued_without_one_completion() {
    let bench = Bench::new();
    bench.control.hold();
    let queues = [bench.queue(), bench.queue()];
    let timeline = bench.semaphore();
    for step in 0..100u64 {
        let queue = &queues[step as usize % 2];
        let work = bench.fills([step as u8]);
        queue
            .submit(Submission::new().wait(&timeline, step).execute(&work).signal(&timeline, step + 1))
            .unwrap();
    }
    assert_eq!(bench.filled(), (0..100).collect::<Vec<u64>>());
    assert_eq!(timeline.query().unwrap(), 0);
    // The first waits for a value already reached; each other one for the other queue.
    assert_eq!(bench.device.counters().device_waits, 99);
    assert_eq!(bench.control.count("record"), 100);
    bench.control.release();
    timeline.wait(100, soon()).unwrap();
}

#[test]
fn a_chain_behind_a_gate_is_issued_without_one_completion() {
    let bench = Bench::new();
    bench.control.hold();
    let queues = [bench.queue(), bench.queue(), bench.queue()];
    let (gate, timeline) = (bench.semaphore(), bench.semaphore());
    for step in (0..60u64).rev() {
        let mut submission = Submission::new().wait(&timeline, step).execute(&bench.fills([step as u8]));
        if step == 0 {
            submission = submission.wait(&gate, 1);
        }
        queues[step as usize % 3].submit(submission.signal(&timeline, step + 1)).unwrap();
    }
    assert!(bench.filled().is_empty());
    gate.signal(1).unwrap();
    while bench.device.counters().issued < 60 {
        std::thread::yield_now();
    }
    assert_eq!(bench.filled(), (0..60).collect::<Vec<u64>>());
    assert_eq!(timeline.query().unwrap(), 0);
    bench.control.release();
    timeline.wait(60, soon()).unwrap();
}

#[test]
fn waits_on_the_same_stream_become_nothing() {
    let bench = Bench::new();
    bench.control.hold();
    let (queue, timeline) = (bench.queue(), bench.semaphore());
    for step in 0..10 {
        queue.submit(Submission::new().wait(&timeline, step).signal(&timeline, step + 1)).unwrap();
    }
    assert_eq!(bench.control.count("wait"), 0);
    assert_eq!(bench.device.counters().elided_waits, 9);
    bench.control.release();
    timeline.wait(10, soon()).unwrap();
}

#[test]
fn one_record_for_any_number_of_signals() {
    let bench = Bench::new();
    let semaphores: Vec<_> = (0..40).map(|_| bench.semaphore()).collect();
    let submission =
        semaphores.iter().fold(Submission::new(), |submission, semaphore| submission.signal(semaphore, 3));
    bench.queue().submit(submission).unwrap();
    for semaphore in &semaphores {
        semaphore.wait(3, soon()).unwrap();
    }
    assert_eq!(bench.control.count("record"), 1);
}

#[test]
fn completion_of_one_queue_does_not_wait_for_another() {
    let bench = Bench::new();
    bench.control.hold();
    let (slow, fast) = (bench.queue(), bench.queue());
    let (late, early) = (bench.semaphore(), bench.semaphore());
    slow.submit(Submission::new().execute(&bench.fills([1])).signal(&late, 1)).unwrap();
    fast.submit(Submission::new().execute(&bench.fills([2])).signal(&early, 1)).unwrap();
    // Streams are numbered as they are created.
    bench.control.finish(2);
    early.wait(1, soon()).unwrap();
    assert_eq!(late.query().unwrap(), 0);
    bench.control.release();
    late.wait(1, soon()).unwrap();
}

#[test]
fn issue_order_is_sequence_order_from_many_threads() {
    let bench = Bench::new();
    let (queue, gate) = (bench.queue(), bench.semaphore());
    let buffer = bench.buffer();
    let sequences = parking_lot::Mutex::new(HashMap::new());
    std::thread::scope(|scope| {
        for thread in 0..16u32 {
            let (bench, queue, buffer, gate, sequences) = (&bench, &queue, &buffer, &gate, &sequences);
            scope.spawn(move || {
                for step in 0..100u32 {
                    let tag = thread << 16 | step;
                    let mut encoder = bench.device.encoder();
                    encoder.fill(buffer, 0, 64, &tag.to_le_bytes()).unwrap();
                    let mut submission = Submission::new().execute(&encoder.finish(&*bench.device).unwrap());
                    // Every tenth becomes ready later, and all of those at once.
                    if step % 10 == 0 {
                        submission = submission.wait(gate, 1);
                    }
                    let id = queue.submit(submission).unwrap();
                    sequences.lock().insert(u64::from(tag), (id.sequence, step % 10 == 0));
                }
            });
        }
    });
    gate.signal(1).unwrap();
    queue.wait_idle(soon()).unwrap();
    let order: Vec<_> = bench.filled().iter().map(|tag| sequences.lock()[tag]).collect();
    assert_eq!(order.len(), 1600);
    for gated in [false, true] {
        let group: Vec<_> =
            order.iter().filter(|(_, waited)| *waited == gated).map(|(sequence, _)| *sequence).collect();
        // The ungated were ready as they were taken; the gated all at once.
        let inversions = group.windows(2).filter(|pair| pair[0] > pair[1]).count();
        assert_eq!(inversions, 0, "gated: {gated}");
    }
}

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

#[test]
fn loss_resolves_everything_and_the_observer_hears_first() {
    let told = Arc::new(AtomicUsize::new(0));
    let params = {
        let told = told.clone();
        let on_lost = move |_: &Error| {
            told.fetch_add(1, Ordering::SeqCst);
        };
        DeviceParams { on_lost: Some(Arc::new(on_lost)), ..DeviceParams::default() }
    };
    let bench = Bench::with(params);
    bench.control.hold();
    let (queue, other) = (bench.queue(), bench.queue());
    let (running, gate, pending, untouched) =
        (bench.semaphore(), bench.semaphore(), bench.semaphore(), bench.semaphore());
    queue.submit(Submission::new().label("culprit").execute(&bench.fills([1])).signal(&running, 1)).unwrap();
    other.submit(Submission::new().wait(&gate, 1).signal(&pending, 1)).unwrap();
    bench.control.lose(700);
    for semaphore in [&running, &pending, &untouched] {
        let error = semaphore.wait(1, soon()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeviceLost);
        assert_eq!(error.origin().unwrap().label.as_deref(), Some("culprit"));
        assert_eq!(told.load(Ordering::SeqCst), 1);
    }
    assert_eq!(bench.device.lost().unwrap().native().unwrap().code, 700);
    queue.wait_idle(soon()).unwrap();
    other.wait_idle(soon()).unwrap();
    let again = queue.submit(Submission::new()).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::DeviceLost);
    assert_eq!(bench.device.create_semaphore(0).unwrap_err().kind(), ErrorKind::DeviceLost);
    assert_eq!(bench.device.create_queue(&QueueParams::default()).unwrap_err().kind(), ErrorKind::DeviceLost);
}

#[test]
fn loss_found_while_issuing_is_told_to_the_observer_first() {
    let told = Arc::new(AtomicUsize::new(0));
    let on_lost = {
        let told = told.clone();
        move |_: &Error| {
            told.fetch_add(1, Ordering::SeqCst);
        }
    };
    let bench = Bench::with(DeviceParams { on_lost: Some(Arc::new(on_lost)), ..DeviceParams::default() });
    let (queue, done) = (bench.queue(), bench.semaphore());
    let work = bench.fills([1, 2]);
    bench.control.fail("fill", 2, 719, true);
    queue.submit(Submission::new().execute(&work).signal(&done, 1)).unwrap();
    assert_eq!(done.wait(1, soon()).unwrap_err().kind(), ErrorKind::DeviceLost);
    assert_eq!(told.load(Ordering::SeqCst), 1);
}

#[test]
fn closing_cancels_what_has_not_started_and_waits_for_what_has() {
    let bench = Bench::new();
    let (queue, gate, cancelled, running) =
        (bench.queue(), bench.semaphore(), bench.semaphore(), bench.semaphore());
    bench.control.hold();
    queue.submit(Submission::new().execute(&bench.fills([1])).signal(&running, 1)).unwrap();
    queue.submit(Submission::new().wait(&gate, 1).execute(&bench.fills([2])).signal(&cancelled, 1)).unwrap();
    let Bench { device, control } = bench;
    let closing = std::thread::spawn(move || {
        drop(queue);
        drop(device);
    });
    assert_eq!(cancelled.wait(1, soon()).unwrap_err().kind(), ErrorKind::Cancelled);
    control.release();
    closing.join().unwrap();
    assert_eq!(running.query().unwrap(), 1);
    assert_eq!((control.live_events(), control.live_streams(), control.live_allocations()), (0, 0, 0));
}

#[test]
fn closing_gives_up_at_its_limit_and_says_so() {
    let (send, receive) = std::sync::mpsc::channel();
    let bench = Bench::with(DeviceParams {
        teardown_limit: Duration::from_millis(10),
        on_teardown: Some(Arc::new(move |report| send.send(report.abandoned.clone()).unwrap())),
        ..DeviceParams::default()
    });
    bench.control.hold();
    let queue = bench.queue();
    queue.submit(Submission::new().label("endless").execute(&bench.fills([1]))).unwrap();
    drop(queue);
    let Bench { device, control } = bench;
    drop(device);
    let abandoned = receive.try_recv().unwrap();
    assert_eq!(abandoned.len(), 1);
    assert!(abandoned[0].contains("`endless`"));
    // Still there: the device may be using it.
    assert_eq!(control.live_allocations(), 1);
}

#[test]
fn what_is_given_up_fails_its_signals() {
    let bench =
        Bench::with(DeviceParams { teardown_limit: Duration::from_millis(10), ..DeviceParams::default() });
    bench.control.hold();
    let (queue, done) = (bench.queue(), bench.semaphore());
    queue.submit(Submission::new().execute(&bench.fills([1])).signal(&done, 1)).unwrap();
    drop(queue);
    drop(bench);
    assert_eq!(done.query().unwrap_err().kind(), ErrorKind::Cancelled);
}

/// Neither the event nor the stream tells anything any more, or the device cannot even be made current.
#[test]
fn waits_end_though_the_driver_never_says_how_work_ended() {
    for calls in [&["event_query", "stream_query"][..], &["enter"]] {
        let bench = Bench::with(DeviceParams {
            teardown_limit: Duration::from_millis(10),
            ..DeviceParams::default()
        });
        bench.control.hold();
        let (queue, first, second) = (bench.queue(), bench.semaphore(), bench.semaphore());
        queue.submit(Submission::new().execute(&bench.fills([1])).signal(&first, 1)).unwrap();
        queue.submit(Submission::new().execute(&bench.fills([2])).signal(&second, 1)).unwrap();
        calls.iter().for_each(|call| bench.control.fail(call, 1, 999, true));
        for semaphore in [&first, &second] {
            assert_eq!(semaphore.wait(1, soon()).unwrap_err().native().unwrap().code, 999);
        }
        assert_eq!(bench.control.live_allocations(), 2);
    }
}

#[test]
fn a_driver_that_is_being_torn_down_is_not_called_again() {
    for call in ["allocate", "fill", "record", "event_create"] {
        let bench = Bench::with(DeviceParams { event_pool_capacity: 0, ..DeviceParams::default() });
        let (queue, done) = (bench.queue(), bench.semaphore());
        let work = bench.fills([1, 2]);
        bench.control.fail(call, 1, 4, false);
        let refused = bench.device.allocate_buffer(&BufferParams::device_local(64)).is_err();
        let submission = Submission::new().execute(&work).signal(&done, 1);
        assert_eq!(queue.submit(submission).is_err(), refused, "{call}");
        assert_eq!(done.wait(1, soon()).unwrap_err().kind(), ErrorKind::DeviceLost, "{call}");
        let control = bench.control.clone();
        drop((bench, queue, work));
        assert!(control.violations().is_empty(), "{call}: {:?}", control.violations());
    }
}

#[test]
fn what_outlives_the_device_and_cannot_be_freed_is_reported() {
    let (send, receive) = std::sync::mpsc::channel();
    let bench = Bench::with(DeviceParams {
        on_teardown: Some(Arc::new(move |report| send.send(report.failures.len()).unwrap())),
        ..DeviceParams::default()
    });
    let buffer = bench.buffer();
    bench.control.fail("free", 1, 1, false);
    drop(bench);
    assert!(receive.try_recv().is_err());
    drop(buffer);
    assert_eq!(receive.try_recv(), Ok(1));
}

#[test]
fn a_device_may_be_dropped_in_a_callback() {
    let bench = Bench::new();
    let (queue, done) = (bench.queue(), bench.semaphore());
    let (send, receive) = std::sync::mpsc::channel();
    let Bench { device, control } = bench;
    let held = (device.clone(), queue.clone());
    done.on_reached(1, Box::new(move |_| drop(held)));
    done.on_reached(1, Box::new(move |_| send.send(()).unwrap()));
    drop(device);
    queue.submit(Submission::new().signal(&done, 1)).unwrap();
    drop(queue);
    receive.recv_timeout(Duration::from_secs(20)).unwrap();
    while control.live_streams() + control.live_events() > 0 {
        std::thread::yield_now();
    }
}

#[test]
fn streams_of_dropped_queues_are_used_again() {
    let bench = Bench::new();
    for _ in 0..1000 {
        let (queue, done) = (bench.queue(), bench.semaphore());
        queue.submit(Submission::new().execute(&bench.fills([1])).signal(&done, 1)).unwrap();
        drop(queue);
        done.wait(1, soon()).unwrap();
        bench.device.wait_idle(soon()).unwrap();
    }
    let counters = bench.device.counters().queues;
    assert_eq!((counters.live, counters.outstanding), (0, 0));
    assert_eq!(counters.created + counters.reused, 1000);
    assert!(counters.created <= 2, "{counters:?}");
}

#[test]
fn queues_without_end_need_a_flat_number_of_streams() {
    let bench = Bench::with(DeviceParams { max_streams: 8, ..DeviceParams::default() });
    bench.control.hold();
    for step in 0..2000u64 {
        let queue = bench.queue();
        queue.submit(Submission::new().execute(&bench.fills([step as u8]))).unwrap();
    }
    let counters = bench.device.counters().queues;
    assert_eq!((counters.created, counters.outstanding, counters.shared), (8, 2000, 1992));
    assert_eq!(bench.control.live_streams(), 8);
    bench.control.release();
    bench.device.wait_idle(soon()).unwrap();
    let queue = bench.queue();
    assert_eq!(bench.device.counters().queues.reused, 1);
    drop(queue);
}

#[test]
fn many_waits_of_one_submission() {
    let bench = Bench::new();
    let gates: Vec<_> = (0..100).map(|_| bench.semaphore()).collect();
    let done = bench.semaphore();
    let submission = gates.iter().fold(Submission::new(), |submission, gate| submission.wait(gate, 1));
    bench.queue().submit(submission.signal(&done, 1)).unwrap();
    for gate in &gates {
        assert_eq!(done.query().unwrap(), 0);
        gate.signal(1).unwrap();
    }
    done.wait(1, soon()).unwrap();
}

#[test]
fn devices_meet_at_semaphores() {
    let (one, two) = (Bench::new(), Bench::new());
    let (first, second) = (one.semaphore(), two.semaphore());
    two.queue().submit(Submission::new().wait(&first, 1).signal(&second, 1)).unwrap();
    one.queue().submit(Submission::new().signal(&first, 1)).unwrap();
    second.wait(1, soon()).unwrap();
    let error = one.queue().submit(Submission::new().execute(&two.fills([1]))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

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
