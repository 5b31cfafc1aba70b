//! Queues: taking submissions, being idle, being dropped.

use crate::support::{Gate, Gpu, Launch, Spinner, contents, host_buffer, record, shortly, soon};
use crate::{Failure, Outcome, Requirement, kernels};
use hal_core::{Deadline, Device, Dispatch, ErrorKind, QueueParams, QueuePriority, Submission};
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
        new_queue_is_idle,
        blocked_queue_is_not_idle,
        device_waits_for_all_queues,
        every_priority_works,
        hundred_queues_at_once,
        eight_threads_submit_to_one_queue,
        submit_does_not_wait_for_blocked_work,
        dropped_queue_completes_its_work,
        dropped_queue_completes_what_waits,
        unused_stream_is_reused,
        stream_is_reused_after_its_work,
        busy_dropped_queue_is_outstanding,
        queues_come_and_go,
    ],
    &[Requirement::Kernels] => [
        queue_dropped_while_a_kernel_runs,
        everything_dropped_right_after_submit,
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

/// A queue that never had work.
fn new_queue_is_idle(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    check!(queue.is_idle());
    queue.wait_idle(Deadline::NOW)?;
    Ok(())
}

/// Until its work has ended.
fn blocked_queue_is_not_idle(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    queue.submit(Submission::new().wait(gate.semaphore(), 1))?;
    check!(!queue.is_idle());
    check_err!(queue.wait_idle(Deadline::NOW), ErrorKind::DeadlineExceeded);
    check_err!(queue.wait_idle(shortly()), ErrorKind::DeadlineExceeded);
    gate.open()?;
    queue.wait_idle(soon())?;
    check!(queue.is_idle());
    Ok(())
}

/// A device is idle when all its queues are.
fn device_waits_for_all_queues(device: &Arc<dyn Device>) -> Outcome {
    let queues = [device.create_queue(&Default::default())?, device.create_queue(&Default::default())?];
    let gate = Gate::new(device)?;
    for queue in &queues {
        queue.submit(Submission::new().wait(gate.semaphore(), 1))?;
    }
    check_err!(device.wait_idle(Deadline::NOW), ErrorKind::DeadlineExceeded);
    check_err!(device.wait_idle(shortly()), ErrorKind::DeadlineExceeded);
    gate.open()?;
    device.wait_idle(soon())?;
    check!(queues.iter().all(|queue| queue.is_idle()));
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

/// What was submitted runs on.
fn dropped_queue_completes_its_work(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let buffer = host_buffer(device, &[0_u8; 1000])?;
    let done = device.create_semaphore(0)?;
    let commands = record(device, |encoder| (0..1000).try_for_each(|n| encoder.fill(&buffer, n, 1, &[1])))?;
    queue.submit(Submission::new().execute(&commands).signal(&done, 1))?;
    drop(queue);
    done.wait(1, soon())?;
    check!(contents::<u8>(&buffer)?.iter().all(|&byte| byte == 1));
    Ok(())
}

/// Also what could not start yet.
fn dropped_queue_completes_what_waits(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    let done = device.create_semaphore(0)?;
    queue.submit(Submission::new().wait(gate.semaphore(), 1).signal(&done, 1))?;
    queue.submit(Submission::new().wait(&done, 1).signal(&done, 2))?;
    drop(queue);
    check_err!(done.wait(1, Deadline::NOW), ErrorKind::DeadlineExceeded);
    gate.open()?;
    done.wait(2, soon())?;
    Ok(())
}

/// A queue that is gone leaves its stream.
fn unused_stream_is_reused(device: &Arc<dyn Device>) -> Outcome {
    drop(device.create_queue(&Default::default())?);
    let before = device.counters().queues;
    let _queue = device.create_queue(&Default::default())?;
    let after = device.counters().queues;
    check_eq!(after.reused, before.reused + 1);
    check_eq!(after.created, before.created);
    Ok(())
}

/// Polls until no dropped queue has work left.
fn none_outstanding(device: &Arc<dyn Device>) -> Outcome {
    let deadline = soon();
    while device.counters().queues.outstanding > 0 {
        check!(!deadline.has_passed(), "{:?}", device.counters().queues);
        thread::yield_now();
    }
    Ok(())
}

/// Once its work is done.
fn stream_is_reused_after_its_work(device: &Arc<dyn Device>) -> Outcome {
    let done = device.create_semaphore(0)?;
    let queue = device.create_queue(&Default::default())?;
    queue.submit(Submission::new().signal(&done, 1))?;
    drop(queue);
    done.wait(1, soon())?;
    none_outstanding(device)?;
    let before = device.counters().queues;
    let _queue = device.create_queue(&Default::default())?;
    let after = device.counters().queues;
    check_eq!(after.reused, before.reused + 1);
    check_eq!(after.created, before.created);
    Ok(())
}

/// Neither live nor gone.
fn busy_dropped_queue_is_outstanding(device: &Arc<dyn Device>) -> Outcome {
    let gate = Gate::new(device)?;
    let before = device.counters().queues;
    let queue = device.create_queue(&Default::default())?;
    queue.submit(Submission::new().wait(gate.semaphore(), 1))?;
    drop(queue);
    let after = device.counters().queues;
    check_eq!(after.outstanding, before.outstanding + 1);
    check_eq!(after.live, before.live);
    gate.open()?;
    none_outstanding(device)?;
    Ok(())
}

/// Queues that come and go do not use up streams.
fn queues_come_and_go(device: &Arc<dyn Device>) -> Outcome {
    let before = device.counters().queues.created;
    let done = device.create_semaphore(0)?;
    for value in 1..=200 {
        let queue = device.create_queue(&Default::default())?;
        queue.submit(Submission::new().signal(&done, value))?;
        drop(queue);
        done.wait(value, soon())?;
        none_outstanding(device)?;
    }
    let created = device.counters().queues.created - before;
    check!(created <= 1, "{created} streams for one queue at a time");
    Ok(())
}

/// The stream is not touched, and a new queue gets another one.
fn queue_dropped_while_a_kernel_runs(device: &Arc<dyn Device>) -> Outcome {
    let spinner = Spinner::new(device)?;
    let (busy, free) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    let queue = device.create_queue(&Default::default())?;
    queue.submit(Submission::new().execute(spinner.commands()).signal(&busy, 1))?;
    drop(queue);
    let other = device.create_queue(&Default::default())?;
    other.submit(Submission::new().signal(&free, 1))?;
    free.wait(1, soon())?;
    check_err!(busy.wait(1, Deadline::NOW), ErrorKind::DeadlineExceeded);
    spinner.stop()?;
    busy.wait(1, soon())?;
    none_outstanding(device)?;
    Ok(())
}

/// Queue, command buffer, executable and buffers: the submission holds them all.
fn everything_dropped_right_after_submit(device: &Arc<dyn Device>) -> Outcome {
    let result = host_buffer(device, &[0_u32; 1000])?;
    let done = device.create_semaphore(0)?;
    {
        let gpu = Gpu::new(device)?;
        let x = gpu.zeros::<u32>(1000)?;
        let executable = kernels::ADD_ONE.load(device)?;
        let commands = record(device, |encoder| {
            for _ in 0..5 {
                let dispatch = Dispatch::new(&executable, "add_one")?.grid(4).block(256);
                encoder.launch(dispatch.arg(&x).arg(1000_u32))?;
                encoder.barrier();
            }
            encoder.copy(&x, 0, &result, 0, 4000)
        })?;
        gpu.queue.submit(Submission::new().execute(&commands).signal(&done, 1))?;
    }
    done.wait(1, soon())?;
    check!(contents::<u32>(&result)?.into_iter().all(|number| number == 5));
    Ok(())
}
