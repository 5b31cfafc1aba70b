//! Queues: what they take, and how they number it.

use crate::support::{Gate, contents, host_buffer, record, soon};
use crate::{Failure, Outcome};
use hal_core::{Device, QueueParams, QueuePriority, Submission};
use std::collections::HashSet;
use std::sync::Arc;
use std::thread;

suite! { "queue",
    &[] => [
        empty_submission_signals,
        submission_without_signals_ends,
        entirely_empty_submission_ends,
        several_signals_are_all_given,
        signal_already_there_stays,
        signal_passed_meanwhile_stays,
        larger_of_two_signals_counts,
        largest_value_is_signalled,
        sequence_numbers_count_from_zero,
        sequence_numbers_are_the_queues_own,
        queues_have_numbers_of_their_own,
        every_priority_works,
        hundred_queues_at_once,
        eight_threads_submit_to_one_queue,
        submit_does_not_wait_for_blocked_work,
    ],
}

/// No work, but a promise.
fn empty_submission_signals(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let done = device.create_semaphore(0)?;
    queue.submit(Submission::new().signal(&done, 1))?;
    done.wait(1, soon())?;
    check_eq!(done.query()?, 1);
    Ok(())
}

/// Work that nobody is told of is done all the same.
fn submission_without_signals_ends(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let buffer = host_buffer(device, &[0_u8; 16])?;
    let commands = record(device, |encoder| encoder.fill(&buffer, 0, 16, &[3]))?;
    queue.submit(Submission::new().execute(&commands))?;
    queue.wait_idle(soon())?;
    check_eq!(contents::<u8>(&buffer)?, [3; 16]);
    Ok(())
}

/// Nothing at all.
fn entirely_empty_submission_ends(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    queue.submit(Submission::new())?;
    queue.wait_idle(soon())?;
    check!(queue.is_idle());
    Ok(())
}

/// Ten semaphores, ten values.
fn several_signals_are_all_given(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let semaphores = (0..10).map(|_| device.create_semaphore(0)).collect::<hal_core::Result<Vec<_>>>()?;
    let mut submission = Submission::new();
    for (semaphore, value) in semaphores.iter().zip(1..) {
        submission = submission.signal(semaphore, value);
    }
    queue.submit(submission)?;
    for (semaphore, value) in semaphores.iter().zip(1..) {
        semaphore.wait(value, soon())?;
        check_eq!(semaphore.query()?, value);
    }
    Ok(())
}

/// A queue's signal below the payload is no error, and the submission completes.
fn signal_already_there_stays(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let (ahead, equal, done) =
        (device.create_semaphore(9)?, device.create_semaphore(5)?, device.create_semaphore(0)?);
    queue.submit(Submission::new().signal(&ahead, 5).signal(&equal, 5).signal(&done, 1))?;
    done.wait(1, soon())?;
    queue.wait_idle(soon())?;
    check_eq!(ahead.query()?, 9);
    check_eq!(equal.query()?, 5);
    Ok(())
}

/// The host overtakes a submission that is blocked.
fn signal_passed_meanwhile_stays(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    let (timeline, done) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    queue.submit(Submission::new().wait(gate.semaphore(), 1).signal(&timeline, 5).signal(&done, 1))?;
    timeline.signal(7)?;
    gate.open()?;
    done.wait(1, soon())?;
    queue.wait_idle(soon())?;
    check_eq!(timeline.query()?, 7);
    Ok(())
}

/// One timeline twice in a submission.
fn larger_of_two_signals_counts(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let done = device.create_semaphore(0)?;
    queue.submit(Submission::new().signal(&done, 7).signal(&done, 3))?;
    done.wait(7, soon())?;
    check_eq!(done.query()?, 7);
    Ok(())
}

/// Queues too use the full range.
fn largest_value_is_signalled(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let (a, b) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    queue.submit(Submission::new().wait(&a, u64::MAX).signal(&b, u64::MAX))?;
    queue.submit(Submission::new().signal(&a, u64::MAX))?;
    b.wait(u64::MAX, soon())?;
    check_eq!(b.query()?, u64::MAX);
    Ok(())
}

/// One after the other, whatever they wait for.
fn sequence_numbers_count_from_zero(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    for sequence in 0..20 {
        let mut submission = Submission::new();
        if sequence % 2 == 0 {
            submission = submission.wait(gate.semaphore(), 1);
        }
        let id = queue.submit(submission)?;
        check_eq!(id.sequence, sequence);
        check_eq!(id.queue, queue.id());
    }
    gate.open()?;
    queue.wait_idle(soon())?;
    Ok(())
}

/// Other queues do not count.
fn sequence_numbers_are_the_queues_own(device: &Arc<dyn Device>) -> Outcome {
    let (a, b) = (device.create_queue(&Default::default())?, device.create_queue(&Default::default())?);
    for sequence in 0..3 {
        check_eq!(a.submit(Submission::new())?.sequence, sequence);
    }
    check_eq!(b.submit(Submission::new())?.sequence, 0);
    check_eq!(a.submit(Submission::new())?.sequence, 3);
    Ok(())
}

/// Also when a stream is used again.
fn queues_have_numbers_of_their_own(device: &Arc<dyn Device>) -> Outcome {
    let mut seen = HashSet::new();
    let mut held = Vec::new();
    for number in 0..20 {
        let queue = device.create_queue(&Default::default())?;
        check!(seen.insert(queue.id()), "{} twice", queue.id());
        if number % 2 == 0 {
            held.push(queue);
        }
    }
    Ok(())
}

/// Where a driver has no priorities they are all the same.
fn every_priority_works(device: &Arc<dyn Device>) -> Outcome {
    let done = device.create_semaphore(0)?;
    for (priority, value) in
        [QueuePriority::Low, QueuePriority::Normal, QueuePriority::High].into_iter().zip(1..)
    {
        let queue = device.create_queue(&QueueParams { priority })?;
        queue.submit(Submission::new().signal(&done, value))?;
        done.wait(value, soon())?;
    }
    Ok(())
}

/// Any number of queues.
fn hundred_queues_at_once(device: &Arc<dyn Device>) -> Outcome {
    let gate = Gate::new(device)?;
    let mut work = Vec::new();
    for _ in 0..100 {
        let queue = device.create_queue(&Default::default())?;
        let done = device.create_semaphore(0)?;
        queue.submit(Submission::new().wait(gate.semaphore(), 1).signal(&done, 1))?;
        work.push((queue, done));
    }
    gate.open()?;
    for (_, done) in &work {
        done.wait(1, soon())?;
    }
    Ok(())
}

/// Every submission has a number, none is lost, and each thread's numbers grow.
fn eight_threads_submit_to_one_queue(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let done = (0..8).map(|_| device.create_semaphore(0)).collect::<hal_core::Result<Vec<_>>>()?;
    let outcomes: Vec<_> = thread::scope(|scope| {
        let submit = |done| {
            let submissions = (1..=100).map(|value| queue.submit(Submission::new().signal(done, value)));
            submissions.map(|id| id.map(|id| id.sequence)).collect::<hal_core::Result<Vec<_>>>()
        };
        let threads: Vec<_> = done.iter().map(|done| scope.spawn(move || submit(done))).collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    let mut all = Vec::new();
    for outcome in outcomes {
        let Ok(sequences) = outcome else { return Err(Failure::new("a thread panicked")) };
        let sequences = sequences?;
        check!(sequences.is_sorted(), "{sequences:?}");
        all.extend(sequences);
    }
    all.sort_unstable();
    check!(all.into_iter().eq(0..800));
    for done in &done {
        done.wait(100, soon())?;
    }
    Ok(())
}

/// `submit` returns although nothing can start.
fn submit_does_not_wait_for_blocked_work(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    let done = device.create_semaphore(0)?;
    for value in 1..=2000 {
        queue.submit(Submission::new().wait(gate.semaphore(), 1).signal(&done, value))?;
    }
    check_eq!(done.query()?, 0);
    gate.open()?;
    done.wait(2000, soon())?;
    Ok(())
}
