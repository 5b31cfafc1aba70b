//! What a device counts, and what follows from it: who issues, which waits reach the driver, how many events there are.

use crate::support::{Gate, Launch, Spinner, eventually, host_buffer, queues, record, soon, timelines};
use crate::{Outcome, Requirement, kernels};
use hal_core::{Device, DeviceCounters, DeviceParams, Dispatch, Error, ErrorKind, Submission};
use std::sync::Arc;

suite! { "counters",
    &[] => [
        everything_submitted_is_issued_and_retired,
        everything_failed_is_retired_and_not_issued,
        ready_work_is_issued_by_its_caller,
        released_work_is_not_issued_by_its_caller,
        blocked_work_leaves_ready_work_to_its_caller,
        reached_waits_cost_no_wait,
        ten_thousand_submissions_need_few_events,
        events_beyond_the_pool_are_given_back,
    ],
    &[Requirement::Kernels] => [
        waits_within_a_queue_are_elided,
        waits_between_queues_are_left_to_the_device,
        equal_waits_are_one_wait,
        chain_behind_a_kernel_is_issued_by_its_caller,
        one_event_per_submission,
        two_hundred_signals_need_one_event,
    ],
}

/// Counts since then. `events` is how many there are now.
fn since(device: &Arc<dyn Device>, before: &DeviceCounters) -> DeviceCounters {
    let now = device.counters();
    DeviceCounters {
        queues: now.queues,
        submitted: now.submitted - before.submitted,
        issued: now.issued - before.issued,
        retired: now.retired - before.retired,
        failed: now.failed - before.failed,
        issued_inline: now.issued_inline - before.issued_inline,
        device_waits: now.device_waits - before.device_waits,
        elided_waits: now.elided_waits - before.elided_waits,
        events: now.events,
    }
}

/// Once the device is idle.
fn everything_submitted_is_issued_and_retired(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 3)?;
    let gate = Gate::new(device)?;
    let before = device.counters();
    for number in 0..300 {
        let submission = Submission::new();
        let submission = if number % 2 == 0 { submission.wait(gate.semaphore(), 1) } else { submission };
        queues[number % 3].submit(submission)?;
    }
    check_eq!(since(device, &before).submitted, 300);
    gate.open()?;
    device.wait_idle(soon())?;
    let counted = since(device, &before);
    check_eq!((counted.submitted, counted.issued, counted.retired, counted.failed), (300, 300, 300, 0));
    Ok(())
}

/// Failing is a way of ending.
fn everything_failed_is_retired_and_not_issued(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 3)?;
    let links = timelines(device, 101)?;
    let before = device.counters();
    for (number, pair) in links.windows(2).enumerate() {
        queues[number % 3].submit(Submission::new().wait(&pair[0], 1).signal(&pair[1], 1))?;
    }
    links[0].fail(Error::new(ErrorKind::Aborted, "all of it"));
    device.wait_idle(soon())?;
    let counted = since(device, &before);
    check_eq!((counted.submitted, counted.issued, counted.retired, counted.failed), (100, 0, 100, 100));
    Ok(())
}

/// No other thread is involved while nothing stands before it.
fn ready_work_is_issued_by_its_caller(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let end = device.create_semaphore(0)?;
    let before = device.counters();
    for value in 1..=200 {
        queue.submit(Submission::new().wait(&end, value - 1).signal(&end, value))?;
        let counted = since(device, &before);
        check_eq!((counted.issued, counted.issued_inline), (value, value));
        end.wait(value, soon())?;
    }
    Ok(())
}

/// The caller has long gone.
fn released_work_is_not_issued_by_its_caller(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    let before = device.counters();
    for _ in 0..100 {
        queue.submit(Submission::new().wait(gate.semaphore(), 1))?;
    }
    check_eq!(since(device, &before).issued, 0);
    gate.open()?;
    device.wait_idle(soon())?;
    let counted = since(device, &before);
    check_eq!((counted.issued, counted.issued_inline), (100, 0));
    Ok(())
}

/// What is not ready does not stand before it.
fn blocked_work_leaves_ready_work_to_its_caller(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    let before = device.counters();
    for _ in 0..50 {
        queue.submit(Submission::new().wait(gate.semaphore(), 1))?;
        queue.submit(Submission::new())?;
    }
    let counted = since(device, &before);
    check_eq!((counted.issued, counted.issued_inline), (50, 50));
    gate.open()?;
    device.wait_idle(soon())?;
    Ok(())
}

/// Neither one for the device nor one saved.
fn reached_waits_cost_no_wait(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let (by_host, by_queue) = (device.create_semaphore(5)?, device.create_semaphore(0)?);
    queues[0].submit(Submission::new().signal(&by_queue, 5))?;
    by_queue.wait(5, soon())?;
    device.wait_idle(soon())?;
    let before = device.counters();
    for value in 0..=5 {
        queues[1].submit(Submission::new().wait(&by_host, value).wait(&by_queue, value))?;
    }
    device.wait_idle(soon())?;
    let counted = since(device, &before);
    check_eq!((counted.device_waits, counted.elided_waits), (0, 0));
    Ok(())
}

/// Events of the pool of a device with default parameters.
fn pooled() -> u64 {
    DeviceParams::default().event_pool_capacity as u64
}

/// As many as are in flight at once: here, one or few. Timelines that are kept keep none.
fn ten_thousand_submissions_need_few_events(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let kept = timelines(device, 10_000)?;
    for (number, end) in kept.iter().enumerate() {
        queues[number % 2].submit(Submission::new().signal(end, 1))?;
        end.wait(1, soon())?;
        let events = device.counters().events;
        check!(events <= pooled(), "{events} events after {number} submissions");
    }
    Ok(())
}

/// A thousand in flight; afterwards the pool has what it may keep.
fn events_beyond_the_pool_are_given_back(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 4)?;
    let gate = Gate::new(device)?;
    let kept = timelines(device, 1000)?;
    for (number, end) in kept.iter().enumerate() {
        queues[number % 4].submit(Submission::new().wait(gate.semaphore(), 1).signal(end, 1))?;
    }
    gate.open()?;
    device.wait_idle(soon())?;
    eventually("no more events than the pool keeps", || device.counters().events <= pooled())
}

/// A stream keeps order by itself.
fn waits_within_a_queue_are_elided(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let (spinner, timeline) = (Spinner::new(device)?, device.create_semaphore(0)?);
    let before = device.counters();
    queue.submit(Submission::new().execute(spinner.commands()).signal(&timeline, 1))?;
    for value in 1..=100 {
        queue.submit(Submission::new().wait(&timeline, value).signal(&timeline, value + 1))?;
    }
    let counted = since(device, &before);
    check_eq!((counted.issued, counted.device_waits, counted.elided_waits), (101, 0, 100));
    spinner.stop()?;
    timeline.wait(101, soon())?;
    Ok(())
}

/// All of them are with the device before the first has ended.
fn waits_between_queues_are_left_to_the_device(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 4)?;
    let (spinner, timeline) = (Spinner::new(device)?, device.create_semaphore(0)?);
    let before = device.counters();
    queues[0].submit(Submission::new().execute(spinner.commands()).signal(&timeline, 1))?;
    for value in 1..=100 {
        queues[value as usize % 4]
            .submit(Submission::new().wait(&timeline, value).signal(&timeline, value + 1))?;
    }
    let counted = since(device, &before);
    check_eq!((counted.issued, counted.device_waits, counted.elided_waits), (101, 100, 0));
    check_eq!(timeline.query()?, 0);
    spinner.stop()?;
    timeline.wait(101, soon())?;
    Ok(())
}

/// Named a hundred times.
fn equal_waits_are_one_wait(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let (spinner, timeline) = (Spinner::new(device)?, device.create_semaphore(0)?);
    let before = device.counters();
    queues[0].submit(Submission::new().execute(spinner.commands()).signal(&timeline, 100))?;
    queues[1].submit((1..=100).fold(Submission::new(), |all, value| all.wait(&timeline, value)))?;
    let counted = since(device, &before);
    check_eq!((counted.issued, counted.device_waits), (2, 1));
    spinner.stop()?;
    device.wait_idle(soon())?;
    Ok(())
}

/// Not one of them has to be woken for.
fn chain_behind_a_kernel_is_issued_by_its_caller(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 3)?;
    let (spinner, timeline) = (Spinner::new(device)?, device.create_semaphore(0)?);
    let x = host_buffer(device, &[0_u32])?;
    let executable = kernels::ADD_ONE.load(device)?;
    let add = record(device, |encoder| {
        encoder.launch(Dispatch::new(&executable, "add_one")?.block(1).arg(&x).arg(1_u32))
    })?;
    let before = device.counters();
    queues[0].submit(Submission::new().execute(spinner.commands()).signal(&timeline, 1))?;
    for value in 1..=50 {
        let submission = Submission::new().wait(&timeline, value).execute(&add);
        queues[value as usize % 3].submit(submission.signal(&timeline, value + 1))?;
        check_eq!(since(device, &before).issued_inline, value + 1);
    }
    spinner.stop()?;
    timeline.wait(51, soon())?;
    check_eq!(crate::support::contents::<u32>(&x)?, [50]);
    Ok(())
}

/// Events after `count` submissions behind a running kernel, each with this many signals.
fn events_in_flight(device: &Arc<dyn Device>, count: usize, signals: usize) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let spinner = Spinner::new(device)?;
    let before = device.counters();
    queue.submit(Submission::new().execute(spinner.commands()))?;
    for _ in 0..count {
        let ends = timelines(device, signals)?;
        queue.submit(ends.iter().fold(Submission::new(), |all, end| all.signal(end, 1)))?;
    }
    let counted = since(device, &before);
    check_eq!(counted.issued, count as u64 + 1);
    let most = before.events + count as u64 + 1;
    check!(counted.events <= most, "{} events for {} submissions", counted.events, count + 1);
    spinner.stop()?;
    device.wait_idle(soon())?;
    Ok(())
}

/// No more, while four hundred are in flight.
fn one_event_per_submission(device: &Arc<dyn Device>) -> Outcome {
    events_in_flight(device, 400, 1)
}

/// An event is the submission's, not the signal's.
fn two_hundred_signals_need_one_event(device: &Arc<dyn Device>) -> Outcome {
    events_in_flight(device, 20, 200)
}
