//! The handshakes of a device's threads under loom: who sleeps is woken, who is to end does, and nothing is left behind.

use super::{QueueCore, cancel_unissued, run_completion, run_worker};
use crate::core::Core;
use crate::event_pool::PooledEvent;
use crate::mock::{self, Control, MockDevice};
use crate::sync::model::explore;
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Arc, Ordering};
use crate::timeline::TimelineSemaphore;
use hal_core::{
    Deadline, DeviceId, DeviceParams, Error, ErrorKind, QueueParams, QueuePriority, Semaphore, Submission,
};
use std::time::Duration;

fn start(run: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    thread::spawn("model", run).unwrap()
}

fn params() -> DeviceParams {
    DeviceParams {
        event_pool_capacity: 1,
        teardown_limit: Duration::from_secs(1 << 20),
        ..DeviceParams::default()
    }
}

/// What a device is made of, without its threads.
fn core(params: DeviceParams) -> (Arc<Core<MockDevice>>, Control) {
    let control = Control::default();
    (Core::new(mock::native(&control), DeviceId(0), params), control)
}

fn queue(core: &Arc<Core<MockDevice>>) -> Arc<QueueCore<MockDevice>> {
    let queue = QueueCore::create(core, QueuePriority::Normal).unwrap();
    core.members.lock().add_queue(&queue).unwrap();
    core.streams.abandon();
    queue
}

fn semaphore() -> Arc<dyn Semaphore> {
    Arc::new(TimelineSemaphore::new(0))
}

fn issued(core: &Core<MockDevice>) -> u64 {
    core.counters.issued.load(Ordering::Relaxed)
}

/// Nothing is issued by its caller, so that all of it needs the worker.
fn deferring() -> DeviceParams {
    DeviceParams { inline_issue_limit: 0, ..params() }
}

#[test]
fn the_worker_is_woken_and_ends() {
    explore(|| {
        let (core, _control) = core(deferring());
        let queue = queue(&core);
        let worker = core.clone();
        let worker = start(move || run_worker(&worker));
        queue.submit(Submission::new()).unwrap();
        queue.submit(Submission::new()).unwrap();
        core.worker.exit();
        worker.join().unwrap();
        assert_eq!(issued(&core), 2);
    });
}

#[test]
fn the_worker_serves_two_submitters() {
    explore(|| {
        let (core, _control) = core(deferring());
        let queue = queue(&core);
        let worker = core.clone();
        let worker = start(move || run_worker(&worker));
        let other = queue.clone();
        let other = start(move || assert!(other.submit(Submission::new()).is_ok()));
        queue.submit(Submission::new()).unwrap();
        other.join().unwrap();
        core.worker.exit();
        worker.join().unwrap();
        assert_eq!(issued(&core), 2);
    });
}

/// Both threads have slept, perhaps, and each is woken for its part.
#[test]
fn deferred_work_ends_waits() {
    explore(|| {
        let (device, _control) = mock::device(&deferring());
        let (queue, done) = (device.create_queue(&QueueParams::default()).unwrap(), semaphore());
        queue.submit(Submission::new().signal(&done, 1)).unwrap();
        done.wait(1, Deadline::NEVER).unwrap();
    });
}

/// Whoever drains a queue takes what comes meanwhile, or leaves it to somebody who was told.
#[test]
fn what_comes_while_a_queue_is_drained_is_issued() {
    explore(|| {
        let (core, control) = core(params());
        let queue = queue(&core);
        let worker = core.clone();
        let worker = start(move || run_worker(&worker));
        let other = queue.clone();
        let other = start(move || assert!(other.submit(Submission::new()).is_ok()));
        queue.submit(Submission::new()).unwrap();
        other.join().unwrap();
        core.worker.exit();
        worker.join().unwrap();
        assert_eq!(issued(&core), 2);
        assert_eq!(control.violations(), [""; 0]);
    });
}

#[test]
fn the_completion_thread_is_woken_and_ends() {
    explore(|| {
        let (core, control) = core(params());
        let (queue, done) = (queue(&core), semaphore());
        let completion = core.clone();
        let completion = start(move || assert!(run_completion(&completion).is_empty()));
        for value in [1, 2] {
            queue.submit(Submission::new().signal(&done, value)).unwrap();
        }
        core.completion.exit(Deadline::NEVER);
        completion.join().unwrap();
        assert_eq!(done.query().unwrap(), 2);
        assert!(queue.is_idle());
        assert_eq!(control.violations(), [""; 0]);
    });
}

#[test]
fn completions_end_waits() {
    explore(|| {
        let (core, _control) = core(params());
        let (queue, done) = (queue(&core), semaphore());
        let completion = core.clone();
        let completion = start(move || drop(run_completion(&completion)));
        queue.submit(Submission::new().signal(&done, 1)).unwrap();
        done.wait(1, Deadline::NEVER).unwrap();
        queue.wait_idle(Deadline::NEVER).unwrap();
        core.completion.exit(Deadline::NEVER);
        completion.join().unwrap();
    });
}

#[test]
fn loss_is_delivered_to_who_sleeps() {
    explore(|| {
        let (core, _control) = core(params());
        let (queue, gate, done) = (queue(&core), semaphore(), semaphore());
        queue.submit(Submission::new().wait(&gate, 1).signal(&done, 1)).unwrap();
        let completion = core.clone();
        let completion = start(move || drop(run_completion(&completion)));
        core.observe(&Error::new(ErrorKind::DeviceLost, "lost"));
        assert_eq!(done.wait(1, Deadline::NEVER).unwrap_err().kind(), ErrorKind::DeviceLost);
        core.completion.exit(Deadline::NEVER);
        completion.join().unwrap();
    });
}

/// A wait is signalled as the device closes: its submission is issued or cancelled, and in neither case kept.
#[test]
fn closing_against_a_signal() {
    explore(|| {
        let (core, control) = core(params());
        let (queue, gate, done) = (queue(&core), semaphore(), semaphore());
        queue.submit(Submission::new().wait(&gate, 1).signal(&done, 1)).unwrap();
        drop(queue);
        let worker = core.clone();
        let worker = start(move || run_worker(&worker));
        let signalling = start(move || gate.signal(1).unwrap());
        cancel_unissued(&core, &Error::new(ErrorKind::Cancelled, "closed"));
        core.worker.exit();
        worker.join().unwrap();
        core.completion.exit(Deadline::NEVER);
        assert!(run_completion(&core).is_empty());
        signalling.join().unwrap();
        assert!(done.query().map_or_else(|error| error.kind() == ErrorKind::Cancelled, |value| value == 1));
        core.spares.close();
        drop(core);
        assert!(control.is_released());
    });
}

/// The handshake as it is, with both threads.
#[test]
fn closing_with_work_under_way() {
    explore(|| {
        let (device, control) = mock::device(&params());
        let (queue, done) = (device.create_queue(&QueueParams::default()).unwrap(), semaphore());
        queue.submit(Submission::new().signal(&done, 1)).unwrap();
        drop(device);
        drop(queue);
        assert_eq!(done.query().unwrap(), 1);
        assert!(control.is_released());
        assert_eq!(control.census().total(), 0);
    });
}

/// Handles are dropped by two threads; the last of them closes the device.
#[test]
fn closing_by_whoever_is_last() {
    explore(|| {
        let (device, control) = mock::device(&params());
        let queue = device.create_queue(&QueueParams::default()).unwrap();
        let other = start(move || drop(queue));
        drop(device);
        other.join().unwrap();
        assert!(control.is_released());
        assert_eq!(control.census().total(), 0);
    });
}

#[test]
fn events_are_used_again() {
    explore(|| {
        let (core, control) = core(params());
        let use_one = |core: &Arc<Core<MockDevice>>| {
            // SAFETY: the mock needs nothing to be current.
            drop(unsafe { PooledEvent::acquire(core) }.unwrap());
        };
        let other = core.clone();
        let other = start(move || {
            use_one(&other);
            use_one(&other);
        });
        use_one(&core);
        other.join().unwrap();
        assert_eq!(control.live_events(), 1);
        assert_eq!(core.events.existing(), 1);
    });
}

#[test]
fn an_event_that_comes_back_late_is_destroyed() {
    explore(|| {
        let (core, control) = core(params());
        // SAFETY: the mock needs nothing to be current.
        let event = unsafe { PooledEvent::acquire(&core) }.unwrap();
        let late = start(move || drop(event));
        core.set_closed();
        // SAFETY: as above.
        unsafe { core.events.drain(&core) };
        late.join().unwrap();
        assert_eq!(control.live_events(), 0);
        assert_eq!(core.events.existing(), 0);
    });
}

#[test]
fn a_stream_that_comes_back_late_is_destroyed() {
    explore(|| {
        let (core, control) = core(params());
        let queue = queue(&core);
        let late = start(move || drop(queue));
        core.set_closed();
        // SAFETY: the mock needs nothing to be current.
        unsafe { core.streams.drain(&core) };
        late.join().unwrap();
        assert_eq!(control.live_streams(), 0);
    });
}

#[test]
fn a_stream_is_taken_over_by_one() {
    explore(|| {
        let (core, control) = core(params());
        let first = queue(&core);
        let dropping = start(move || drop(first));
        let other = core.clone();
        let other = start(move || drop(queue(&other)));
        let second = queue(&core);
        dropping.join().unwrap();
        other.join().unwrap();
        let counters = core.streams.counters();
        assert_eq!(counters.created + counters.reused, 3);
        assert_eq!(counters.outstanding, 1);
        assert_eq!(control.live_streams() as u64, counters.created);
        drop(second);
        // SAFETY: the mock needs nothing to be current.
        unsafe { core.streams.drain(&core) };
        assert_eq!(control.live_streams(), 0);
    });
}
