//! The ends of queues and devices.

use super::*;

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
    const COUNT: u64 = 100_000;
    let bench = Bench::with(DeviceParams { max_streams: 8, ..DeviceParams::default() });
    let work = bench.fills([1]);
    bench.control.hold();
    for _ in 0..COUNT {
        bench.queue().submit(Submission::new().execute(&work)).unwrap();
    }
    let counters = bench.device.counters().queues;
    assert_eq!((counters.created, counters.outstanding, counters.shared), (8, COUNT, COUNT - 8));
    assert_eq!(bench.control.live_streams(), 8);
    bench.control.release();
    bench.device.wait_idle(soon()).unwrap();
    let queue = bench.queue();
    assert_eq!(bench.device.counters().queues.reused, 1);
    drop(queue);
}

/// As before, while the device works: then the streams of queues that are done serve the next ones.
#[test]
fn queues_without_end_use_the_streams_of_those_that_are_done() {
    const COUNT: u64 = 100_000;
    const LIMIT: u64 = 8;
    let bench = Bench::with(DeviceParams { max_streams: LIMIT as usize, ..DeviceParams::default() });
    let work = bench.fills([1]);
    let done = bench.semaphore();
    for step in 1..=COUNT {
        bench
            .queue()
            .submit(Submission::new().wait(&done, step - 1).execute(&work).signal(&done, step))
            .unwrap();
    }
    assert!(bench.control.live_streams() as u64 <= LIMIT);
    done.wait(COUNT, soon()).unwrap();
    bench.device.wait_idle(soon()).unwrap();
    let counters = bench.device.counters().queues;
    assert_eq!((counters.live, counters.outstanding), (0, 0));
    assert_eq!(counters.created + counters.reused + counters.shared, COUNT);
    assert!(counters.created <= LIMIT && counters.reused > 0, "{counters:?}");
}
