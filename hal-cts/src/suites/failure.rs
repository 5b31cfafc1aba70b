//! How far a failure goes, and where it stops.

use crate::Outcome;
use crate::futures::block_on;
use crate::support::{Gate, contents, host_buffer, record, soon};
use hal_core::{Deadline, Device, Error, ErrorKind, Origin, Result, SemaphoreExt, Submission};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

suite! { "failure", in both encodings,
    &[] => [
        failed_wait_fails_the_signals,
        wait_for_what_has_failed_is_taken_and_fails,
        kind_and_message_survive_five_hops,
        origin_given_by_the_host_survives,
        failure_crosses_queues,
        failed_submission_does_no_work,
        unrelated_work_on_the_same_queue_completes,
        unrelated_work_on_another_queue_completes,
        queue_is_usable_afterwards,
        one_failed_wait_of_two_is_enough,
        other_waits_are_left_alone,
        reaches_a_thousand_dependants,
        goes_down_a_chain_of_ten_thousand,
        later_signal_of_the_same_timeline_is_lost,
        failed_signal_target_stops_nobody_else,
        dependants_of_a_reached_value_are_spared,
        callbacks_and_futures_of_dependants_are_told,
        failed_submission_is_counted_and_the_queue_idle,
        resources_of_failed_submissions_are_freed,
    ],
}

fn aborted(message: &str) -> Error {
    Error::new(ErrorKind::Aborted, message)
}

/// All of them, with the reason.
fn failed_wait_fails_the_signals(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let start = device.create_semaphore(0)?;
    let (a, b) = (device.create_semaphore(0)?, device.create_semaphore(7)?);
    queue.submit(Submission::new().wait(&start, 1).signal(&a, 1).signal(&b, 8))?;
    start.fail(aborted("no input"));
    for (semaphore, value) in [(&a, 1), (&b, 8)] {
        let error = check_err!(semaphore.wait(value, soon()), ErrorKind::Aborted);
        check!(error.message().contains("no input"), "{error}");
        check_err!(semaphore.query(), ErrorKind::Aborted);
        check_err!(semaphore.signal(value + 1), ErrorKind::Aborted);
    }
    Ok(())
}

/// `submit` succeeds; what goes wrong is found at the signals.
fn wait_for_what_has_failed_is_taken_and_fails(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let (start, done) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    start.fail(aborted("before"));
    queue.submit(Submission::new().wait(&start, 1).signal(&done, 1))?;
    check_err!(done.wait(1, soon()), ErrorKind::Aborted);
    Ok(())
}

/// The last dependant sees the first cause.
fn kind_and_message_survive_five_hops(device: &Arc<dyn Device>) -> Outcome {
    let queues = [device.create_queue(&Default::default())?, device.create_queue(&Default::default())?];
    let links = (0..6).map(|_| device.create_semaphore(0)).collect::<Result<Vec<_>>>()?;
    for hop in 0..5 {
        queues[hop % 2].submit(Submission::new().wait(&links[hop], 1).signal(&links[hop + 1], 1))?;
    }
    links[0].fail(Error::new(ErrorKind::ResourceExhausted, "the first cause"));
    for link in &links[1..] {
        let error = check_err!(link.wait(1, soon()), ErrorKind::ResourceExhausted);
        check!(error.message().contains("the first cause"), "{error}");
    }
    Ok(())
}

/// The first origin wins, however far the error travels.
fn origin_given_by_the_host_survives(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let links = (0..4).map(|_| device.create_semaphore(0)).collect::<Result<Vec<_>>>()?;
    for hop in 0..3 {
        let submission = Submission::new().label("not the origin");
        queue.submit(submission.wait(&links[hop], 1).signal(&links[hop + 1], 1))?;
    }
    let origin = Origin {
        device: "elsewhere".into(),
        queue: 8,
        sequence: 9,
        label: Some("the origin".into()),
        kernels: vec![],
    };
    let given = origin.clone();
    links[0].fail(aborted("from afar").with_origin(|| given));
    let error = check_err!(links[3].wait(1, soon()), ErrorKind::Aborted);
    check_eq!(error.origin(), Some(&origin));
    Ok(())
}

/// Dependants are dependants on any queue.
fn failure_crosses_queues(device: &Arc<dyn Device>) -> Outcome {
    let queues = (0..4).map(|_| device.create_queue(&Default::default())).collect::<Result<Vec<_>>>()?;
    let start = device.create_semaphore(0)?;
    let ends = (0..4).map(|_| device.create_semaphore(0)).collect::<Result<Vec<_>>>()?;
    for (queue, end) in queues.iter().zip(&ends) {
        queue.submit(Submission::new().wait(&start, 1).signal(end, 1))?;
    }
    start.fail(aborted("everywhere"));
    for end in &ends {
        check_err!(end.wait(1, soon()), ErrorKind::Aborted);
    }
    Ok(())
}

/// Nothing of it is executed.
fn failed_submission_does_no_work(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let (start, done) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    let buffer = host_buffer(device, &[0_u8; 16])?;
    let commands = record(device, |encoder| encoder.fill(&buffer, 0, 16, &[1]))?;
    queue.submit(Submission::new().wait(&start, 1).execute(&commands).signal(&done, 1))?;
    start.fail(aborted("never mind"));
    check_err!(done.wait(1, soon()), ErrorKind::Aborted);
    queue.wait_idle(soon())?;
    check_eq!(contents::<u8>(&buffer)?, [0; 16]);
    Ok(())
}

/// Before and after it.
fn unrelated_work_on_the_same_queue_completes(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    let start = device.create_semaphore(0)?;
    let (before, failing, after) =
        (device.create_semaphore(0)?, device.create_semaphore(0)?, device.create_semaphore(0)?);
    queue.submit(Submission::new().wait(gate.semaphore(), 1).signal(&before, 1))?;
    queue.submit(Submission::new().wait(&start, 1).signal(&failing, 1))?;
    queue.submit(Submission::new().wait(gate.semaphore(), 1).signal(&after, 1))?;
    start.fail(aborted("this one only"));
    check_err!(failing.wait(1, soon()), ErrorKind::Aborted);
    gate.open()?;
    before.wait(1, soon())?;
    after.wait(1, soon())?;
    check!(device.lost().is_none());
    Ok(())
}

/// Other queues do not notice.
fn unrelated_work_on_another_queue_completes(device: &Arc<dyn Device>) -> Outcome {
    let queues = [device.create_queue(&Default::default())?, device.create_queue(&Default::default())?];
    let gate = Gate::new(device)?;
    let (start, failing, other) =
        (device.create_semaphore(0)?, device.create_semaphore(0)?, device.create_semaphore(0)?);
    queues[0].submit(Submission::new().wait(&start, 1).signal(&failing, 1))?;
    queues[1].submit(Submission::new().wait(gate.semaphore(), 1).signal(&other, 1))?;
    start.fail(aborted("this one only"));
    check_err!(failing.wait(1, soon()), ErrorKind::Aborted);
    gate.open()?;
    other.wait(1, soon())?;
    Ok(())
}

/// A queue has no memory of failures.
fn queue_is_usable_afterwards(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let buffer = host_buffer(device, &[0_u8; 16])?;
    for round in 1..=20 {
        let (start, failing, done) =
            (device.create_semaphore(0)?, device.create_semaphore(0)?, device.create_semaphore(0)?);
        queue.submit(Submission::new().wait(&start, 1).signal(&failing, 1))?;
        start.fail(aborted("again"));
        check_err!(failing.wait(1, soon()), ErrorKind::Aborted);
        let commands = record(device, |encoder| encoder.fill(&buffer, 0, 16, &[round]))?;
        queue.submit(Submission::new().execute(&commands).signal(&done, 1))?;
        done.wait(1, soon())?;
        check_eq!(contents::<u8>(&buffer)?, [round; 16]);
    }
    Ok(())
}

/// The failure does not wait for the other.
fn one_failed_wait_of_two_is_enough(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let (failing, never, done) =
        (device.create_semaphore(0)?, device.create_semaphore(0)?, device.create_semaphore(0)?);
    queue.submit(Submission::new().wait(&never, 1).wait(&failing, 1).signal(&done, 1))?;
    failing.fail(aborted("one of two"));
    check_err!(done.wait(1, soon()), ErrorKind::Aborted);
    queue.wait_idle(soon())?;
    Ok(())
}

/// A semaphore that a failed submission waited for is not touched.
fn other_waits_are_left_alone(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let (failing, other, done) =
        (device.create_semaphore(0)?, device.create_semaphore(0)?, device.create_semaphore(0)?);
    queue.submit(Submission::new().wait(&other, 1).wait(&failing, 1).signal(&done, 1))?;
    failing.fail(aborted("one of two"));
    check_err!(done.wait(1, soon()), ErrorKind::Aborted);
    check_eq!(other.query()?, 0);
    other.signal(1)?;
    other.wait(1, Deadline::NOW)?;
    Ok(())
}

/// None is forgotten.
fn reaches_a_thousand_dependants(device: &Arc<dyn Device>) -> Outcome {
    let queues = (0..4).map(|_| device.create_queue(&Default::default())).collect::<Result<Vec<_>>>()?;
    let start = device.create_semaphore(0)?;
    let ends = (0..1000).map(|_| device.create_semaphore(0)).collect::<Result<Vec<_>>>()?;
    for (index, end) in ends.iter().enumerate() {
        queues[index % 4].submit(Submission::new().wait(&start, 1 + index as u64 % 7).signal(end, 1))?;
    }
    start.fail(aborted("all of you"));
    for end in &ends {
        check_err!(end.wait(1, soon()), ErrorKind::Aborted);
    }
    Ok(())
}

/// Without recursion: no stack is that deep.
fn goes_down_a_chain_of_ten_thousand(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let links = (0..=10_000).map(|_| device.create_semaphore(0)).collect::<Result<Vec<_>>>()?;
    for pair in links.windows(2) {
        queue.submit(Submission::new().wait(&pair[0], 1).signal(&pair[1], 1))?;
    }
    links[0].fail(aborted("all the way down"));
    let error = check_err!(links[10_000].wait(1, soon()), ErrorKind::Aborted);
    check!(error.message().contains("all the way down"), "{error}");
    queue.wait_idle(soon())?;
    Ok(())
}

/// A failed timeline stays failed, although later work that would have raised it completes.
fn later_signal_of_the_same_timeline_is_lost(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let (start, timeline, done) =
        (device.create_semaphore(0)?, device.create_semaphore(0)?, device.create_semaphore(0)?);
    queue.submit(Submission::new().wait(&start, 1).signal(&timeline, 1))?;
    start.fail(aborted("for good"));
    check_err!(timeline.wait(1, soon()), ErrorKind::Aborted);
    queue.submit(Submission::new().signal(&timeline, 2).signal(&done, 1))?;
    done.wait(1, soon())?;
    check_err!(timeline.query(), ErrorKind::Aborted);
    Ok(())
}

/// A signal that nobody can receive does not fail the work.
fn failed_signal_target_stops_nobody_else(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    let (dead, done) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    queue.submit(Submission::new().wait(gate.semaphore(), 1).signal(&dead, 1).signal(&done, 1))?;
    dead.fail(aborted("nobody listens"));
    gate.open()?;
    done.wait(1, soon())?;
    Ok(())
}

/// Who got what it waited for in time is no dependant of what fails later.
fn dependants_of_a_reached_value_are_spared(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let (timeline, early, late) =
        (device.create_semaphore(0)?, device.create_semaphore(0)?, device.create_semaphore(0)?);
    queue.submit(Submission::new().wait(&timeline, 1).signal(&early, 1))?;
    queue.submit(Submission::new().wait(&timeline, 2).signal(&late, 1))?;
    timeline.signal(1)?;
    early.wait(1, soon())?;
    timeline.fail(aborted("after one"));
    check_err!(late.wait(1, soon()), ErrorKind::Aborted);
    check_eq!(early.query()?, 1);
    Ok(())
}

/// Every way of waiting ends with the failure.
fn callbacks_and_futures_of_dependants_are_told(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let (start, done) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    queue.submit(Submission::new().wait(&start, 1).signal(&done, 1))?;
    let (sender, receiver) = channel();
    done.on_reached(1, Box::new(move |outcome| _ = sender.send(outcome)));
    let future = done.reached(1);
    start.fail(aborted("told"));
    let outcome = receiver.recv_timeout(Duration::from_secs(20));
    check!(matches!(&outcome, Ok(Err(error)) if error.kind() == ErrorKind::Aborted), "{outcome:?}");
    check_err!(block_on(future)?, ErrorKind::Aborted);
    Ok(())
}

/// Failing is a way of ending.
fn failed_submission_is_counted_and_the_queue_idle(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let start = device.create_semaphore(0)?;
    let before = device.counters();
    for _ in 0..5 {
        queue.submit(Submission::new().wait(&start, 1))?;
    }
    check!(!queue.is_idle());
    start.fail(aborted("counted"));
    queue.wait_idle(soon())?;
    device.wait_idle(soon())?;
    let after = device.counters();
    check_eq!(after.failed - before.failed, 5);
    check_eq!(after.retired - before.retired, 5);
    check_eq!(after.issued, before.issued);
    Ok(())
}

/// What a failed submission held is held no longer.
fn resources_of_failed_submissions_are_freed(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let start = device.create_semaphore(0)?;
    let buffer = host_buffer(device, &[0_u8; 16])?;
    let commands = record(device, |encoder| encoder.fill(&buffer, 0, 16, &[1]))?;
    for _ in 0..10 {
        queue.submit(Submission::new().wait(&start, 1).execute(&commands))?;
    }
    check!(Arc::strong_count(&commands) > 1);
    start.fail(aborted("let go"));
    queue.wait_idle(soon())?;
    let deadline = soon();
    while Arc::strong_count(&commands) > 1 {
        check!(!deadline.has_passed(), "{} handles", Arc::strong_count(&commands));
        std::thread::yield_now();
    }
    Ok(())
}
