//! Another library on the same driver: it has streams and events of its own, waits for ours, and we for its. Here it is
//! this test, which calls the software GPU's functions by name, through every backend.

#![cfg(feature = "soft")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

#[path = "interop/theirs.rs"]
mod theirs;

use hal::{
    BufferParams, Deadline, Device, ErrorKind, NativeEvent, Queue, QueueParams, Semaphore, SemaphorePoint,
    Submission,
};
use std::sync::Arc;
use std::time::Duration;
use theirs::{Blocker, Driver};

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(20))
}

/// A device of ours, and their view of the same driver.
struct Both {
    device: Arc<dyn Device>,
    queue: Arc<dyn Queue>,
    driver: Driver,
}

impl Both {
    fn each(run: impl Fn(Both)) {
        for backend in hal::backends() {
            let device = hal::open(&format!("soft://{backend}/0")).unwrap();
            let queue = device.create_queue(&QueueParams::default()).unwrap();
            let driver = Driver::new(backend);
            run(Both { device, queue, driver });
        }
    }

    fn point(&self) -> SemaphorePoint {
        SemaphorePoint::new(&self.device.create_semaphore(0).unwrap(), 1)
    }

    fn import(&self, event: usize, point: &SemaphorePoint) -> hal::Result<()> {
        // SAFETY: events of the software GPU, which takes any number for what it is.
        unsafe { self.device.import_event(NativeEvent::from_raw(event), point) }
    }
}

fn wait(semaphore: &Arc<dyn Semaphore>) {
    semaphore.wait(1, soon()).unwrap();
}

#[test]
fn their_context_is_ours() {
    Both::each(|both| {
        let context = both.device.native_context().unwrap();
        assert_eq!(both.driver.retained_context(), context.raw());
    });
}

#[test]
fn we_wait_for_their_event() {
    Both::each(|both| {
        let (stream, event) = (both.driver.stream(), both.driver.event());
        let blocker = Blocker::new();
        both.driver.block(stream, &blocker);
        both.driver.record(event, stream);
        let (imported, after) = (both.point(), both.point());
        both.import(event, &imported).unwrap();
        let submission = Submission::new().wait(&imported.semaphore, 1).signal(&after.semaphore, 1);
        both.queue.submit(submission).unwrap();
        assert!(!imported.is_reached().unwrap() && !after.is_reached().unwrap());
        blocker.release();
        wait(&imported.semaphore);
        wait(&after.semaphore);
        // It was never ours to destroy.
        both.driver.destroy_event(event);
        both.driver.destroy_stream(stream);
    });
}

#[test]
fn their_event_may_be_recorded_again_or_destroyed_once_it_is_imported() {
    Both::each(|both| {
        let stream = both.driver.stream();
        let (first, second) = (both.driver.event(), both.driver.event());
        let (now, later) = (Blocker::new(), Blocker::new());
        both.driver.block(stream, &now);
        both.driver.record(first, stream);
        both.driver.record(second, stream);
        let points = [both.point(), both.point()];
        both.import(first, &points[0]).unwrap();
        both.import(second, &points[1]).unwrap();
        both.driver.block(stream, &later);
        both.driver.record(first, stream);
        both.driver.destroy_event(second);
        now.release();
        wait(&points[0].semaphore);
        wait(&points[1].semaphore);
        later.release();
        both.driver.destroy_event(first);
        both.driver.destroy_stream(stream);
    });
}

#[test]
fn they_wait_for_our_event() {
    Both::each(|both| {
        let blocker = Blocker::new();
        // Their work on our stream holds up what we submit after it.
        both.driver.block(both.queue.native_stream().raw(), &blocker);
        let done = both.point();
        both.queue.submit(Submission::new().signal(&done.semaphore, 1)).unwrap();
        let ours = both.device.export_event(&done).unwrap();
        let (stream, theirs) = (both.driver.stream(), both.driver.event());
        both.driver.wait(stream, ours.handle().raw());
        both.driver.record(theirs, stream);
        assert!(!both.driver.is_done(ours.handle().raw()) && !both.driver.is_done(theirs));
        // The wait has been handed over.
        drop(ours);
        assert!(!done.is_reached().unwrap());
        blocker.release();
        both.driver.synchronize(theirs);
        assert!(both.driver.is_done(theirs));
        wait(&done.semaphore);
        both.driver.destroy_event(theirs);
        both.driver.destroy_stream(stream);
    });
}

#[test]
fn a_reached_point_gives_them_a_complete_event() {
    Both::each(|both| {
        let done = both.point();
        done.semaphore.signal(1).unwrap();
        let event = both.device.export_event(&done).unwrap();
        assert!(both.driver.is_done(event.handle().raw()));
        let stream = both.driver.stream();
        both.driver.wait(stream, event.handle().raw());
        both.driver.destroy_stream(stream);
    });
}

#[test]
fn a_round_trip_carries_data() {
    Both::each(|both| {
        let buffer = both.device.allocate_buffer(&BufferParams::host_visible(4096)).unwrap();
        let fill = |pattern: u8| {
            let mut encoder = both.device.encoder();
            encoder.fill(&buffer, 0, 4096, &[pattern]).unwrap();
            encoder.finish(&*both.device).unwrap()
        };
        let (filled, cleared) = (both.point(), both.point());
        both.queue.submit(Submission::new().execute(&fill(7)).signal(&filled.semaphore, 1)).unwrap();
        // They wait for our first fill, work, and we go on after them.
        let (stream, event) = (both.driver.stream(), both.driver.event());
        let ours = both.device.export_event(&filled).unwrap();
        both.driver.wait(stream, ours.handle().raw());
        let blocker = Blocker::new();
        both.driver.block(stream, &blocker);
        both.driver.record(event, stream);
        let theirs = both.point();
        both.import(event, &theirs).unwrap();
        let submission = Submission::new().wait(&theirs.semaphore, 1).execute(&fill(9));
        both.queue.submit(submission.signal(&cleared.semaphore, 1)).unwrap();
        wait(&filled.semaphore);
        let mut bytes = [0; 4096];
        buffer.read(0, &mut bytes).unwrap();
        assert_eq!(bytes, [7; 4096]);
        blocker.release();
        wait(&cleared.semaphore);
        buffer.read(0, &mut bytes).unwrap();
        assert_eq!(bytes, [9; 4096]);
        both.driver.destroy_event(event);
        both.driver.destroy_stream(stream);
    });
}

#[test]
fn what_is_no_event_is_refused() {
    Both::each(|both| {
        let point = both.point();
        for no_event in [0, 0xdead_0000, both.queue.native_stream().raw()] {
            let error = both.import(no_event, &point).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        }
        let gone = both.driver.event();
        both.driver.destroy_event(gone);
        let error = both.import(gone, &point).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.native().is_some(), "{error}");
        assert_eq!(point.semaphore.query().unwrap(), 0);
        assert!(both.device.lost().is_none());
        // Never recorded: nothing to wait for.
        let event = both.driver.event();
        both.import(event, &point).unwrap();
        assert!(point.is_reached().unwrap());
        both.driver.destroy_event(event);
    });
}

#[test]
fn backends_meet_through_an_import() {
    Both::each(|both| {
        let (stream, event) = (both.driver.stream(), both.driver.event());
        let blocker = Blocker::new();
        both.driver.block(stream, &blocker);
        both.driver.record(event, stream);
        // A semaphore of the other backend's device, where there is one.
        let other = hal::open(&format!("soft://{}/0", hal::backends().last().unwrap())).unwrap();
        let point = SemaphorePoint::new(&other.create_semaphore(0).unwrap(), 1);
        both.import(event, &point).unwrap();
        blocker.release();
        wait(&point.semaphore);
        both.driver.destroy_event(event);
        both.driver.destroy_stream(stream);
    });
}

#[test]
fn an_event_held_beyond_its_device_is_freed_then() {
    Both::each(|both| {
        let Both { device, queue, driver } = both;
        let done = SemaphorePoint::new(&device.create_semaphore(0).unwrap(), 1);
        queue.submit(Submission::new().signal(&done.semaphore, 1)).unwrap();
        let event = device.export_event(&done).unwrap();
        wait(&done.semaphore);
        drop((device, queue));
        assert!(driver.is_done(event.handle().raw()));
        let raw = event.handle().raw();
        drop(event);
        assert!(!driver.exists(raw));
    });
}
