//! What orders submissions: semaphores, and nothing else. When one starts, and what is visible then.

use crate::support::{Gate, Gpu, Spinner, contents, host_buffer, queues, record, soon};
use crate::{Outcome, Requirement};
use hal_core::{Deadline, Device, ErrorKind, Result, Submission};
use std::sync::Arc;
use std::thread;

suite! { "order",
    &[] => [
        waits_for_the_host,
        waits_for_a_later_submission_of_another_queue,
        waits_for_a_later_submission_of_the_same_queue,
        wait_that_is_met_is_no_wait,
        wait_for_a_smaller_value,
        wait_for_a_value_in_between,
        larger_of_two_waits_counts,
        blocked_submission_delays_no_other,
        many_blocked_submissions_delay_no_other,
        ready_submissions_run_in_submission_order,
        submissions_freed_together_run_in_submission_order,
        forty_waits_in_one_submission,
        effects_are_visible_when_signalled,
        effects_are_visible_to_another_queue,
        thousand_pending_submissions_on_distinct_values,
    ],
    &[Requirement::Kernels] => [
        long_kernel_does_not_delay_another_queue,
        dependants_are_issued_before_completion,
    ],
}

/// Wait before signal, with the host as the one who signals.
fn waits_for_the_host(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let (start, done) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    queue.submit(Submission::new().wait(&start, 3).signal(&done, 1))?;
    start.signal(2)?;
    check_err!(done.wait(1, Deadline::NOW), ErrorKind::DeadlineExceeded);
    start.signal(3)?;
    done.wait(1, soon())?;
    Ok(())
}

/// Wait before signal between queues.
fn waits_for_a_later_submission_of_another_queue(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let (between, done) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    queues[0].submit(Submission::new().wait(&between, 1).signal(&done, 1))?;
    check_eq!(done.query()?, 0);
    queues[1].submit(Submission::new().signal(&between, 1))?;
    done.wait(1, soon())?;
    Ok(())
}

/// Wait before signal on one queue, which a plain stream could not do.
fn waits_for_a_later_submission_of_the_same_queue(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let (between, done) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    queue.submit(Submission::new().wait(&between, 1).signal(&done, 1))?;
    queue.submit(Submission::new().signal(&between, 1))?;
    done.wait(1, soon())?;
    Ok(())
}

/// A value that is there already.
fn wait_that_is_met_is_no_wait(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let (there, done) = (device.create_semaphore(5)?, device.create_semaphore(0)?);
    queue.submit(Submission::new().wait(&there, 5).signal(&done, 1))?;
    queue.submit(Submission::new().wait(&there, 0).signal(&done, 2))?;
    done.wait(2, soon())?;
    Ok(())
}

/// Reached as soon as the payload is beyond it.
fn wait_for_a_smaller_value(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let (timeline, done) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    queues[0].submit(Submission::new().wait(&timeline, 2).signal(&done, 1))?;
    queues[1].submit(Submission::new().signal(&timeline, 1000))?;
    done.wait(1, soon())?;
    check_eq!(timeline.query()?, 1000);
    Ok(())
}

/// A value that nobody signals as such, waited for before and after.
fn wait_for_a_value_in_between(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let (timeline, done) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    queue.submit(Submission::new().wait(&timeline, 7).signal(&done, 1))?;
    queue.submit(Submission::new().signal(&timeline, 5))?;
    timeline.wait(5, soon())?;
    check_eq!(done.query()?, 0);
    queue.submit(Submission::new().signal(&timeline, 10))?;
    done.wait(1, soon())?;
    queue.submit(Submission::new().wait(&timeline, 8).signal(&done, 2))?;
    done.wait(2, soon())?;
    Ok(())
}

/// One timeline twice in a submission.
fn larger_of_two_waits_counts(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let (timeline, done) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    queue.submit(Submission::new().wait(&timeline, 3).wait(&timeline, 1).signal(&done, 1))?;
    timeline.signal(2)?;
    check_err!(done.wait(1, Deadline::NOW), ErrorKind::DeadlineExceeded);
    timeline.signal(3)?;
    done.wait(1, soon())?;
    Ok(())
}

/// No head-of-line blocking: what follows on the same queue completes.
fn blocked_submission_delays_no_other(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    let (blocked, free) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    queue.submit(Submission::new().wait(gate.semaphore(), 1).signal(&blocked, 1))?;
    queue.submit(Submission::new().signal(&free, 1))?;
    free.wait(1, soon())?;
    check_eq!(blocked.query()?, 0);
    gate.open()?;
    blocked.wait(1, soon())?;
    Ok(())
}

/// Nor do a hundred, between which work goes on.
fn many_blocked_submissions_delay_no_other(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    let (blocked, free) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    for value in 1..=100 {
        queue.submit(Submission::new().wait(gate.semaphore(), 1).signal(&blocked, value))?;
        queue.submit(Submission::new().signal(&free, value))?;
        free.wait(value, soon())?;
    }
    check_eq!(blocked.query()?, 0);
    gate.open()?;
    blocked.wait(100, soon())?;
    Ok(())
}

/// A queue is a stream: the last of a hundred fills stays.
fn ready_submissions_run_in_submission_order(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = gpu.zeros::<u8>(4096)?;
    let done = device.create_semaphore(0)?;
    for value in 1..=100 {
        let commands = record(device, |encoder| encoder.fill(&buffer, 0, 4096, &[value]))?;
        gpu.queue.submit(Submission::new().execute(&commands).signal(&done, value.into()))?;
    }
    done.wait(100, soon())?;
    check!(gpu.download::<u8>(&buffer)?.iter().all(|&byte| byte == 100));
    Ok(())
}

/// One signal frees a hundred: they too run in the order in which they came.
fn submissions_freed_together_run_in_submission_order(device: &Arc<dyn Device>) -> Outcome {
    let gpu = Gpu::new(device)?;
    let buffer = gpu.zeros::<u8>(64)?;
    let gate = Gate::new(device)?;
    let done = device.create_semaphore(0)?;
    for value in 1..=100 {
        let commands = record(device, |encoder| encoder.fill(&buffer, 0, 64, &[value]))?;
        let submission = Submission::new().wait(gate.semaphore(), 1).execute(&commands);
        gpu.queue.submit(submission.signal(&done, value.into()))?;
    }
    gate.open()?;
    done.wait(100, soon())?;
    gpu.queue.wait_idle(soon())?;
    check_eq!(gpu.download::<u8>(&buffer)?, [100; 64]);
    Ok(())
}

/// More than any inline list holds; some met, some by host, some by queues.
fn forty_waits_in_one_submission(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let done = device.create_semaphore(0)?;
    let waits = (0..40)
        .map(|index| device.create_semaphore(u64::from(index % 3 == 0)))
        .collect::<Result<Vec<_>>>()?;
    let submission = waits.iter().fold(Submission::new(), |submission, wait| submission.wait(wait, 1));
    queues[0].submit(submission.signal(&done, 1))?;
    for (index, wait) in waits.iter().enumerate() {
        match index % 3 {
            1 => wait.signal(1)?,
            2 => queues[index % 2].submit(Submission::new().signal(wait, 1)).map(|_| ())?,
            _ => {}
        }
    }
    done.wait(1, soon())?;
    Ok(())
}

/// A signal comes after all effects of the work, for the host too.
fn effects_are_visible_when_signalled(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let buffer = host_buffer(device, &[0_u8; 65_536])?;
    let done = device.create_semaphore(0)?;
    for value in 1..=50 {
        let commands = record(device, |encoder| encoder.fill(&buffer, 0, 65_536, &[value]))?;
        queue.submit(Submission::new().execute(&commands).signal(&done, value.into()))?;
        done.wait(value.into(), soon())?;
        check!(contents::<u8>(&buffer)?.iter().all(|&byte| byte == value), "round {value}");
    }
    Ok(())
}

/// And for other queues: two work on one buffer by turns.
fn effects_are_visible_to_another_queue(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let gpu = Gpu::new(device)?;
    let (a, b) = (gpu.zeros::<u8>(65_536)?, gpu.zeros::<u8>(65_536)?);
    let result = host_buffer(device, &[0_u8; 65_536])?;
    let timeline = device.create_semaphore(0)?;
    for round in 0..20_u8 {
        let step = u64::from(round) * 2;
        let write = record(device, |encoder| encoder.fill(&a, 0, 65_536, &[round + 1]))?;
        let read = record(device, |encoder| {
            encoder.copy(&a, 0, &b, 0, 65_536)?;
            encoder.barrier();
            encoder.copy(&b, u64::from(round) * 1000, &result, u64::from(round) * 1000, 1000)
        })?;
        queues[0]
            .submit(Submission::new().wait(&timeline, step).execute(&write).signal(&timeline, step + 1))?;
        queues[1]
            .submit(Submission::new().wait(&timeline, step + 1).execute(&read).signal(&timeline, step + 2))?;
    }
    timeline.wait(40, soon())?;
    let found = contents::<u8>(&result)?;
    check!(found[..20_000].iter().enumerate().all(|(index, &byte)| usize::from(byte) == index / 1000 + 1));
    Ok(())
}

/// Signals wake only what they reach.
fn thousand_pending_submissions_on_distinct_values(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let start = device.create_semaphore(0)?;
    let ends = (0..1000).map(|_| device.create_semaphore(0)).collect::<Result<Vec<_>>>()?;
    for (end, value) in ends.iter().zip(1..) {
        queue.submit(Submission::new().wait(&start, value).signal(end, 1))?;
    }
    for value in [1, 2, 500] {
        start.signal(value)?;
        ends[value as usize - 1].wait(1, soon())?;
        check_eq!(ends[value as usize].query()?, 0);
    }
    start.signal(1000)?;
    for end in &ends {
        end.wait(1, soon())?;
    }
    Ok(())
}

/// Completions of one queue do not wait for those of another.
fn long_kernel_does_not_delay_another_queue(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let spinner = Spinner::new(device)?;
    let (long, short) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    queues[0].submit(Submission::new().execute(spinner.commands()).signal(&long, 1))?;
    for value in 1..=20 {
        queues[1].submit(Submission::new().signal(&short, value))?;
        short.wait(value, soon())?;
    }
    check_err!(long.wait(1, Deadline::NOW), ErrorKind::DeadlineExceeded);
    spinner.stop()?;
    long.wait(1, soon())?;
    Ok(())
}

/// A chain behind a running kernel is handed to the device before the kernel has ended.
fn dependants_are_issued_before_completion(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 3)?;
    let spinner = Spinner::new(device)?;
    let timeline = device.create_semaphore(0)?;
    let before = device.counters();
    queues[0].submit(Submission::new().execute(spinner.commands()).signal(&timeline, 1))?;
    for value in 2..=10 {
        let submission = Submission::new().wait(&timeline, value - 1).signal(&timeline, value);
        queues[value as usize % 3].submit(submission)?;
    }
    let deadline = soon();
    while device.counters().issued - before.issued < 10 {
        check!(!deadline.has_passed(), "{:?}", device.counters());
        thread::yield_now();
    }
    check_eq!(timeline.query()?, 0);
    check!(device.counters().device_waits > before.device_waits, "{:?}", device.counters());
    spinner.stop()?;
    timeline.wait(10, soon())?;
    Ok(())
}
