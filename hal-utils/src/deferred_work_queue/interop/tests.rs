//! Native events over a mock device. Foreign ones are those that it exports itself.

use crate::mock::{self, Control};
use hal_core::{
    Callback, Deadline, Device, DeviceParams, Error, ErrorKind, ExportedEvent, NativeEvent, Queue,
    QueueParams, Result, Semaphore, SemaphorePoint, Submission, TimepointId,
};
use std::any::Any;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

struct Bench {
    device: Arc<dyn Device>,
    control: Control,
    queue: Arc<dyn Queue>,
}

impl Bench {
    fn new() -> Self {
        Self::with(DeviceParams::default())
    }

    /// Held: what is submitted runs until released.
    fn with(params: DeviceParams) -> Self {
        let (device, control) = mock::device(&params);
        control.hold();
        let queue = device.create_queue(&QueueParams::default()).unwrap();
        Bench { device, control, queue }
    }

    fn point(&self) -> SemaphorePoint {
        SemaphorePoint::new(&self.device.create_semaphore(0).unwrap(), 1)
    }

    /// Signals when released.
    fn running(&self) -> SemaphorePoint {
        let point = self.point();
        self.queue.submit(Submission::new().signal(&point.semaphore, 1)).unwrap();
        point
    }

    /// An event of somebody's, recorded and not complete.
    fn foreign(&self) -> ExportedEvent {
        self.device.export_event(&self.running()).unwrap()
    }

    fn import(&self, event: &ExportedEvent) -> Result<SemaphorePoint> {
        let point = self.point();
        self.import_as(event.handle(), &point).map(|()| point)
    }

    fn import_as(&self, event: NativeEvent, point: &SemaphorePoint) -> Result<()> {
        // SAFETY: null, or an event of the mock that its caller holds.
        unsafe { self.device.import_event(event, point) }
    }

    fn records_of(&self, event: NativeEvent) -> usize {
        let ending = format!(" {}", event.raw());
        let log = self.control.log();
        log.iter().filter(|line| line.starts_with("record ") && line.ends_with(&ending)).count()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // So that closing the device has nothing to wait for.
        self.control.release();
        assert_eq!(self.control.violations(), Vec::<String>::new());
    }
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(20))
}

fn wait(point: &SemaphorePoint) -> Result<()> {
    point.semaphore.wait(point.value, soon())
}

/// Somebody else's semaphore.
#[derive(Debug)]
struct Alien;

impl Semaphore for Alien {
    fn query(&self) -> Result<u64> {
        Ok(0)
    }
    fn signal(&self, _value: u64) -> Result<()> {
        Ok(())
    }
    fn fail(&self, _error: Error) -> bool {
        false
    }
    fn wait(&self, _value: u64, _deadline: Deadline) -> Result<()> {
        Ok(())
    }
    fn on_reached(&self, _value: u64, _callback: Callback) -> Option<TimepointId> {
        None
    }
    fn cancel(&self, _timepoint: TimepointId) -> bool {
        false
    }
    fn poll_reached(&self, _: u64, _: &mut Option<TimepointId>, _: &Waker) -> Poll<Result<()>> {
        Poll::Pending
    }
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

#[test]
fn an_exported_event_is_the_one_its_submission_recorded_and_is_not_recorded_again() {
    let bench = Bench::new();
    let point = bench.running();
    let event = bench.device.export_event(&point).unwrap();
    assert_eq!(bench.records_of(event.handle()), 1);
    assert_eq!(bench.device.export_event(&point).unwrap().handle(), event.handle());
    bench.control.release();
    wait(&point).unwrap();
    for _ in 0..100 {
        wait(&bench.running()).unwrap();
    }
    assert_eq!(bench.records_of(event.handle()), 1, "recorded again while held");
    let event = {
        let clone = event.clone();
        drop(event);
        clone
    };
    for _ in 0..100 {
        wait(&bench.running()).unwrap();
    }
    assert_eq!(bench.records_of(event.handle()), 1, "recorded again while a clone is held");
}

#[test]
fn exported_events_go_back() {
    let bench = Bench::with(DeviceParams { event_pool_capacity: 4, ..DeviceParams::default() });
    let events: Vec<_> = (0..50).map(|_| bench.foreign()).collect();
    assert_eq!(bench.control.live_events(), 50);
    bench.control.release();
    bench.queue.wait_idle(soon()).unwrap();
    drop(events);
    // What the kept memory of ended submissions still held goes as that is used again.
    for _ in 0..100 {
        wait(&bench.running()).unwrap();
    }
    let deadline = soon();
    while bench.device.counters().events > 4 {
        assert!(!deadline.has_passed(), "{} events are left", bench.control.live_events());
        std::thread::yield_now();
    }
    assert_eq!(bench.control.live_events(), 4);
}

#[test]
fn what_is_not_issued_here_cannot_be_exported_yet() {
    let bench = Bench::new();
    let gate = bench.point();
    let point = bench.point();
    let pending = Submission::new().wait(&gate.semaphore, 1).signal(&point.semaphore, 1);
    bench.queue.submit(pending).unwrap();
    let error = bench.device.export_event(&point).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    for part in ["has been issued", "eventfd", "mock://0"] {
        assert!(error.message().contains(part), "{error}");
    }
    // Not on that device, either.
    let other = mock::device(&DeviceParams::default()).0;
    let running = bench.running();
    assert_eq!(other.export_event(&running).unwrap_err().kind(), ErrorKind::Unavailable);
    gate.semaphore.signal(1).unwrap();
    // The worker issues it.
    let event = loop {
        match bench.device.export_event(&point) {
            Ok(event) => break event,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Unavailable),
        }
        std::thread::yield_now();
    };
    assert_eq!(bench.records_of(event.handle()), 1);
}

#[test]
fn a_larger_issued_value_serves() {
    let bench = Bench::new();
    let semaphore = bench.device.create_semaphore(0).unwrap();
    bench.queue.submit(Submission::new().signal(&semaphore, 10)).unwrap();
    let three = bench.device.export_event(&SemaphorePoint::new(&semaphore, 3)).unwrap();
    let ten = bench.device.export_event(&SemaphorePoint::new(&semaphore, 10)).unwrap();
    assert_eq!(three.handle(), ten.handle());
    let eleven = bench.device.export_event(&SemaphorePoint::new(&semaphore, 11));
    assert_eq!(eleven.unwrap_err().kind(), ErrorKind::Unavailable);
}

#[test]
fn a_reached_point_gives_an_event_that_was_never_recorded() {
    let bench = Bench::new();
    let point = bench.point();
    point.semaphore.signal(1).unwrap();
    let event = bench.device.export_event(&point).unwrap();
    assert_eq!(bench.records_of(event.handle()), 0);
}

#[test]
fn failures_are_told_instead_of_exported() {
    let bench = Bench::new();
    let point = bench.point();
    point.semaphore.fail(Error::new(ErrorKind::Aborted, "no"));
    assert_eq!(bench.device.export_event(&point).unwrap_err().kind(), ErrorKind::Aborted);
    let event = bench.foreign();
    assert_eq!(bench.import_as(event.handle(), &point).unwrap_err().kind(), ErrorKind::Aborted);
    let alien: Arc<dyn Semaphore> = Arc::new(Alien);
    let alien = SemaphorePoint::new(&alien, 1);
    assert_eq!(bench.device.export_event(&alien).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(bench.import_as(event.handle(), &alien).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn dependants_of_an_import_wait_on_the_device() {
    let bench = Bench::new();
    let event = bench.foreign();
    let imported = bench.import(&event).unwrap();
    assert!(bench.control.log().iter().any(|line| line.ends_with(&format!(" {}", event.handle().raw()))));
    let before = bench.device.counters();
    let after = bench.point();
    let other = bench.device.create_queue(&QueueParams::default()).unwrap();
    other.submit(Submission::new().wait(&imported.semaphore, 1).signal(&after.semaphore, 1)).unwrap();
    let counters = bench.device.counters();
    assert_eq!(counters.device_waits, before.device_waits + 1);
    assert_eq!(counters.issued, before.issued + 1, "not issued although the device can wait");
    assert!(!imported.is_reached().unwrap());
    bench.control.release();
    wait(&imported).unwrap();
    wait(&after).unwrap();
    // Never destroyed by us, and needed no longer.
    drop(event);
}

#[test]
fn an_import_outlives_the_event() {
    let bench = Bench::new();
    let imported = bench.import(&bench.foreign()).unwrap();
    bench.control.release();
    wait(&imported).unwrap();
}

#[test]
fn a_complete_event_signals_at_once() {
    let bench = Bench::new();
    let point = bench.running();
    let event = bench.device.export_event(&point).unwrap();
    bench.control.release();
    wait(&point).unwrap();
    let before = bench.device.counters().submitted;
    assert!(bench.import(&event).unwrap().is_reached().unwrap());
    assert_eq!(bench.device.counters().submitted, before);
}

#[test]
fn no_event_and_no_event_of_ours_are_refused_and_nothing_happens() {
    let bench = Bench::new();
    let point = bench.point();
    let error = bench.import_as(NativeEvent::from_raw(0), &point).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("null event"), "{error}");
    let event = bench.foreign();
    bench.control.fail("event_query", 1, 400, false);
    // The completion thread may be the one to get it.
    let refused = loop {
        match bench.import_as(event.handle(), &point) {
            Err(error) => break error,
            Ok(()) => bench.control.fail("event_query", 1, 400, false),
        }
    };
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    bench.control.release();
}

#[test]
fn a_failing_query_fails_the_semaphore_and_its_dependants() {
    let bench = Bench::new();
    let imported = bench.import(&bench.foreign()).unwrap();
    let after = bench.point();
    let other = bench.device.create_queue(&QueueParams::default()).unwrap();
    other.submit(Submission::new().wait(&imported.semaphore, 1).signal(&after.semaphore, 1)).unwrap();
    bench.control.fail("event_query", 1, 999, true);
    let error = wait(&imported).unwrap_err();
    assert_eq!(error.origin().unwrap().label.as_deref(), Some("imported event"));
    assert_eq!(wait(&after).unwrap_err().origin(), error.origin());
    bench.control.release();
    bench.device.wait_idle(soon()).unwrap();
}

#[test]
fn refused_waits_and_records_fail_the_semaphore() {
    for call in ["wait", "record", "event_create"] {
        let bench = Bench::new();
        let event = bench.foreign();
        bench.control.fail(call, 1, 999, false);
        let error = wait(&bench.import(&event).unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal, "{call}");
        // A later one is another matter.
        let again = bench.import(&event).unwrap();
        bench.control.release();
        wait(&again).unwrap();
        bench.device.wait_idle(soon()).unwrap();
    }
}

#[test]
fn loss_fails_imports() {
    let bench = Bench::new();
    let imported = bench.import(&bench.foreign()).unwrap();
    bench.control.lose(700);
    assert_eq!(wait(&imported).unwrap_err().kind(), ErrorKind::DeviceLost);
    let point = bench.point_of_another_device();
    assert_eq!(bench.import_as(NativeEvent::from_raw(8), &point).unwrap_err().kind(), ErrorKind::DeviceLost);
    assert_eq!(bench.device.export_event(&point).unwrap_err().kind(), ErrorKind::DeviceLost);
}

impl Bench {
    fn point_of_another_device(&self) -> SemaphorePoint {
        let other = mock::device(&DeviceParams::default()).0;
        SemaphorePoint::new(&other.create_semaphore(0).unwrap(), 1)
    }
}

#[test]
fn an_import_that_outlives_its_device_is_reported_and_its_waits_end() {
    let reports = Arc::new(Mutex::new(Vec::new()));
    let kept = reports.clone();
    let params = DeviceParams {
        teardown_limit: Duration::ZERO,
        on_teardown: Some(Arc::new(move |report: &hal_core::TeardownReport| {
            kept.lock().unwrap().extend(report.abandoned.clone());
        })),
        ..DeviceParams::default()
    };
    let (device, control) = mock::device(&params);
    control.hold();
    let queue = device.create_queue(&QueueParams::default()).unwrap();
    let running = SemaphorePoint::new(&device.create_semaphore(0).unwrap(), 1);
    let imported = SemaphorePoint::new(&device.create_semaphore(0).unwrap(), 1);
    queue.submit(Submission::new().signal(&running.semaphore, 1)).unwrap();
    let event = device.export_event(&running).unwrap();
    // SAFETY: an event of the mock that is held.
    unsafe { device.import_event(event.handle(), &imported) }.unwrap();
    drop((queue, device));
    for point in [running, imported] {
        assert_eq!(wait(&point).unwrap_err().kind(), ErrorKind::Cancelled);
    }
    let reports = reports.lock().unwrap();
    assert!(reports.iter().any(|line| line.contains("imported event")), "{reports:?}");
}

#[test]
fn imports_one_after_the_other_need_one_stream() {
    let bench = Bench::new();
    for _ in 0..50 {
        let event = bench.foreign();
        let imported = bench.import(&event).unwrap();
        assert_eq!(bench.device.counters().queues.outstanding, 1);
        bench.control.release();
        wait(&imported).unwrap();
        bench.device.wait_idle(soon()).unwrap();
        while bench.device.counters().queues.outstanding > 0 {
            std::thread::yield_now();
        }
        bench.control.hold();
    }
    assert_eq!(bench.device.counters().queues.created, 2);
}

#[test]
fn streams_and_contexts_have_numbers() {
    let bench = Bench::new();
    assert!(!bench.queue.native_stream().is_null());
    let other = bench.device.create_queue(&QueueParams::default()).unwrap();
    assert_ne!(bench.queue.native_stream(), other.native_stream());
    // A device without a driver.
    assert_eq!(bench.device.native_context(), None);
}

#[test]
fn a_burst_of_events_leaves_the_pool_at_its_capacity() {
    let bench = Bench::with(DeviceParams { event_pool_capacity: 8, ..DeviceParams::default() });
    let points: Vec<_> = (0..300).map(|_| bench.running()).collect();
    assert_eq!(bench.control.live_events(), 300);
    bench.control.release();
    points.iter().try_for_each(wait).unwrap();
    drop(points);
    bench.queue.wait_idle(soon()).unwrap();
    // The last one goes back just after its queue counts as idle.
    let deadline = soon();
    while bench.device.counters().events > 8 {
        assert!(!deadline.has_passed(), "{} events are left", bench.control.live_events());
        std::thread::yield_now();
    }
    assert_eq!(bench.control.live_events(), 8);
    // The steady state creates none.
    let before = bench.control.count("event_create");
    for _ in 0..100 {
        wait(&bench.running()).unwrap();
    }
    assert_eq!(bench.control.count("event_create"), before);
}
