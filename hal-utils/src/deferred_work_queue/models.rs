//! The whole queue under shuttle: small random programs over the mock device, in random interleavings.
//!
//! Checked of each: every signal of every accepted submission is resolved once its device has closed, every wait ends,
//! the native device and all its handles are gone, nothing was done that a driver forbids, and submissions were issued
//! in the order of their numbers and after what they wait for.

use crate::mock::{self, Control, Pace, Timing};
use crate::sync::model::explore;
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Arc, Mutex, assert_unlocked};
use hal_core::{
    BufferParams, CommandBuffer, Deadline, Device, DeviceParams, Error, ErrorKind, Queue, QueueParams,
    Result, Semaphore, Submission,
};
use shuttle::rand::{Rng, thread_rng};
use std::time::Duration;

/// What may happen.
#[derive(Clone, Copy, Default)]
struct Possible {
    devices: usize,
    /// Host signals, besides those of submissions.
    host_signals: bool,
    /// Driver calls fail, and the host fails semaphores.
    failures: bool,
    /// Codes that mean loss.
    loss: bool,
    /// A callback owns the last handles.
    late_close: bool,
}

/// A submission that was accepted.
#[derive(Clone, Copy, Debug)]
struct Accepted {
    pattern: u32,
    queue: usize,
    sequence: u64,
    wait: Option<(usize, u64)>,
    signal: (usize, u64),
}

/// The open devices of a program. Dropping it lets go of them.
#[derive(Clone)]
struct Handles {
    devices: Vec<Arc<dyn Device>>,
    queues: Vec<(usize, Arc<dyn Queue>)>,
}

struct Program {
    possible: Possible,
    controls: Vec<Control>,
    semaphores: Vec<Arc<dyn Semaphore>>,
    accepted: Mutex<Vec<Accepted>>,
    /// Once, or for ever.
    enter_fails: bool,
}

const QUEUES: usize = 2;
const SEMAPHORES: usize = 3;
const CODES: [i64; 2] = [2, 999];
const STICKY: i64 = 700;

fn chance(one_in: u32) -> bool {
    thread_rng().gen_range(0..one_in) == 0
}

fn below(bound: usize) -> usize {
    thread_rng().gen_range(0..bound)
}

fn start(run: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    thread::spawn("model", run).unwrap()
}

fn open(possible: Possible) -> (Handles, Program) {
    let params = DeviceParams {
        event_pool_capacity: below(3),
        inline_issue_limit: if chance(3) { 0 } else { 512 },
        // Of the real clock, which has no part in this.
        teardown_limit: Duration::from_secs(1 << 20),
        ..DeviceParams::default()
    };
    let (devices, controls): (Vec<_>, Vec<_>) = (0..possible.devices).map(|_| mock::device(&params)).unzip();
    let queues: Vec<_> = (0..QUEUES)
        .map(|index| {
            let device = index % possible.devices;
            (device, devices[device].create_queue(&QueueParams::default()).unwrap())
        })
        .collect();
    let semaphores =
        (0..SEMAPHORES).map(|index| devices[index % possible.devices].create_semaphore(0).unwrap()).collect();
    let mut enter_fails = false;
    for control in &controls {
        if chance(2) {
            control.pace(Pace::Lagging(thread_rng().r#gen()));
        }
        if possible.failures && chance(2) {
            let call =
                ["event_create", "fill", "record", "wait", "event_query", "stream_query", "enter"][below(7)];
            let code = if possible.loss && chance(2) { STICKY } else { CODES[below(CODES.len())] };
            let forever = code == STICKY;
            enter_fails |= call == "enter";
            control.fail(call, 1 + below(3) as u32, code, forever);
        }
    }
    let accepted = Mutex::default();
    (Handles { devices, queues }, Program { possible, controls, semaphores, accepted, enter_fails })
}

fn fill(device: &Arc<dyn Device>, pattern: u32) -> Result<Arc<dyn CommandBuffer>> {
    let buffer = device.allocate_buffer(&BufferParams::device_local(64))?;
    let mut encoder = device.encoder();
    encoder.fill(&buffer, 0, 64, &pattern.to_le_bytes())?;
    encoder.finish(&**device)
}

impl Program {
    /// Some submissions from one thread.
    fn submit(&self, handles: &Handles, thread: u32) {
        for step in 0..1 + below(3) as u32 {
            self.check_idle(handles);
            let queue = below(handles.queues.len());
            let (device, target) = &handles.queues[queue];
            let pattern = thread << 8 | step;
            let wait = chance(2).then(|| (below(SEMAPHORES), 1 + below(2) as u64));
            let signal = (below(SEMAPHORES), 1 + below(2) as u64);
            if self.possible.failures && chance(8) {
                self.controls[*device].fail_pattern(pattern, CODES[below(CODES.len())], Timing::Deferred);
            }
            let mut submission = Submission::new();
            if let Some((semaphore, value)) = wait {
                submission = submission.wait(&self.semaphores[semaphore], value);
            }
            // Without work now and then: a submission may be nothing but a wait and a signal.
            if !chance(6) {
                match fill(&handles.devices[*device], pattern) {
                    Ok(work) => submission = submission.execute(&work),
                    // Its allocation met the fault; there is nothing to submit.
                    Err(_) => continue,
                }
            }
            match target.submit(submission.signal(&self.semaphores[signal.0], signal.1)) {
                Ok(id) => {
                    let sequence = id.sequence;
                    self.accepted.lock().push(Accepted { pattern, queue, sequence, wait, signal });
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::DeviceLost, "{error}"),
            }
        }
    }

    /// A queue that is idle has told of everything.
    fn check_idle(&self, handles: &Handles) {
        let accepted: Vec<_> = self.accepted.lock().iter().copied().collect();
        for (index, (_, queue)) in handles.queues.iter().enumerate() {
            if queue.is_idle() {
                accepted.iter().filter(|accepted| accepted.queue == index).for_each(|one| self.check(one));
            }
        }
    }

    fn check(&self, accepted: &Accepted) {
        let (semaphore, value) = accepted.signal;
        if let Ok(payload) = self.semaphores[semaphore].query() {
            assert!(payload >= value, "nobody resolved the signal of {accepted:?}");
        }
    }

    /// What the host does besides.
    fn interfere(&self) {
        for _ in 0..1 + below(2) {
            let semaphore = &self.semaphores[below(SEMAPHORES)];
            if self.possible.failures && chance(2) {
                semaphore.fail(Error::new(ErrorKind::Aborted, "by the host"));
            } else if self.possible.host_signals {
                // Refused if something else was faster.
                let _ = semaphore.signal(1 + below(2) as u64);
            }
            if self.possible.loss && chance(4) {
                self.controls[below(self.controls.len())].lose(STICKY);
            }
        }
    }

    /// Waits in one of the two ways until the value is reached or the semaphore failed.
    fn wait(&self) {
        let (semaphore, value) = (&self.semaphores[below(SEMAPHORES)], 1 + below(2) as u64);
        if chance(2) {
            let _ = semaphore.wait(value, Deadline::NEVER);
            return;
        }
        let waiting = thread::current();
        let called = Arc::new(Mutex::new(false));
        let calls = called.clone();
        semaphore.on_reached(
            value,
            Box::new(move |_| {
                assert!(!std::mem::replace(&mut *calls.lock(), true), "called twice");
                waiting.unpark();
            }),
        );
        while !*called.lock() {
            thread::park();
        }
    }

    /// After all devices have closed.
    fn check_resolved(&self) {
        for accepted in self.accepted.lock().iter() {
            self.check(accepted);
        }
    }

    fn check_order(&self) {
        let accepted = self.accepted.lock();
        for (device, control) in self.controls.iter().enumerate() {
            let log = control.log();
            let place = |pattern: u32| {
                let suffix = format!(" {pattern}");
                log.iter().position(|line| line.starts_with("fill") && line.ends_with(&suffix))
            };
            let here: Vec<_> =
                accepted.iter().filter(|accepted| accepted.queue % self.controls.len() == device).collect();
            for earlier in &here {
                for later in &here {
                    // Those that were ready as they came, and those that one signal made ready.
                    let together = earlier.queue == later.queue
                        && earlier.sequence < later.sequence
                        && earlier.wait.is_none()
                        && later.wait.is_none();
                    if let (true, Some(first), Some(second)) =
                        (together, place(earlier.pattern), place(later.pattern))
                    {
                        assert!(first < second, "{later:?} was issued before {earlier:?}");
                    }
                }
            }
            if !self.possible.host_signals && self.controls.len() == 1 {
                for waiting in &here {
                    let (Some((semaphore, value)), Some(at)) = (waiting.wait, place(waiting.pattern)) else {
                        continue;
                    };
                    let mut producers = here
                        .iter()
                        .filter(|other| other.signal.0 == semaphore && other.signal.1 >= value)
                        .map(|other| place(other.pattern));
                    // A producer without work leaves no trace.
                    let before = producers.any(|producer| producer.is_none_or(|producer| producer < at));
                    assert!(before, "{waiting:?} was issued before what it waits for");
                }
            }
        }
    }
}

fn run(possible: Possible) {
    let (handles, program) = open(possible);
    let program = Arc::new(program);
    let late = possible.late_close && chance(2);
    if late {
        let held = handles.clone();
        program.semaphores[below(SEMAPHORES)].on_reached(1, Box::new(move |_| drop(held)));
    }
    let mut threads = Vec::new();
    for thread in 1..=2 {
        let (program, handles) = (program.clone(), handles.clone());
        threads.push(start(move || program.submit(&handles, thread)));
    }
    if possible.host_signals || possible.failures {
        let program = program.clone();
        threads.push(start(move || program.interfere()));
    }
    let waiting = chance(3).then(|| {
        let program = program.clone();
        start(move || program.wait())
    });
    drop(handles);
    for thread in threads {
        thread.join().unwrap();
    }
    if !late {
        program.check_resolved();
    }
    for semaphore in &program.semaphores {
        let _ = semaphore.signal(u64::MAX);
    }
    if let Some(waiting) = waiting {
        waiting.join().unwrap();
    }
    // A device that closed in a callback on a thread of its own ends a little later.
    let mut patience = 5_000;
    let Program { semaphores, controls, .. } = &*program;
    while controls.iter().any(|control| !control.is_released()) {
        patience -= 1;
        assert!(patience > 0, "something holds a device for ever; semaphores: {semaphores:?}");
        thread::yield_now();
    }
    program.check_resolved();
    program.check_order();
    for control in controls {
        assert_eq!(control.violations(), [""; 0]);
        // A device that cannot be made current frees nothing.
        if !control.is_lost() && !program.enter_fails {
            assert_eq!(
                control.census(),
                control.refused(),
                "leaked, apart from what the driver would not free"
            );
        }
    }
}

#[test]
fn submissions_alone() {
    explore(|| run(Possible { devices: 1, ..Possible::default() }));
}

#[test]
fn host_signals_while_closing() {
    explore(|| run(Possible { devices: 1, host_signals: true, late_close: true, ..Possible::default() }));
}

#[test]
fn failures() {
    explore(|| run(Possible { devices: 1, host_signals: true, failures: true, ..Possible::default() }));
}

#[test]
fn loss() {
    let possible = Possible { devices: 1, host_signals: true, failures: true, loss: true, late_close: true };
    explore(move || run(possible));
}

#[test]
fn two_devices() {
    let possible = Possible { devices: 2, host_signals: true, failures: true, loss: true, late_close: true };
    explore(move || run(possible));
}

/// The only handle of a semaphore is in a submission that no longer needs it: it goes, and takes with it what a callback
/// owned, which may use the HAL.
#[test]
fn last_handles_in_submissions() {
    struct Owned;

    impl Drop for Owned {
        fn drop(&mut self) {
            assert_unlocked();
        }
    }

    explore(|| {
        let (device, _control) = mock::device(&DeviceParams::default());
        let queue = device.create_queue(&QueueParams::default()).unwrap();
        let gates: Vec<_> = (0..2).map(|_| device.create_semaphore(0).unwrap()).collect();
        for gate in &gates {
            let owned = Owned;
            gate.on_reached(2, Box::new(move |_| drop(owned)));
        }
        let submission = gates.iter().fold(Submission::new(), |submission, gate| submission.wait(gate, 1));
        let host = start(move || {
            let [fails, reaches] = <[_; 2]>::try_from(gates).unwrap();
            if chance(2) {
                fails.fail(Error::new(ErrorKind::Aborted, "by the host"));
            }
            reaches.signal(1).unwrap();
        });
        queue.submit(submission).unwrap();
        host.join().unwrap();
    });
}
