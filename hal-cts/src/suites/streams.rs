//! Queues are dropped at any time; their work runs on, and their streams are used again.

use crate::support::{Gate, Spinner, contents, eventually, host_buffer, on_threads, queues, record, soon};
use crate::{Outcome, Requirement};
use hal_core::{Deadline, Device, DeviceParams, ErrorKind, Result, Submission};
use std::sync::Arc;

suite! { "streams",
    &[] => [
        dropped_queue_completes_its_work,
        dropped_queue_completes_what_waits,
        dropped_queue_completes_what_a_later_queue_releases,
        unused_stream_is_reused,
        stream_is_reused_after_its_work,
        every_stream_of_a_hundred_queues_is_reused,
        busy_dropped_queue_is_outstanding,
        queues_come_and_go,
        ten_thousand_short_queues_need_few_streams,
        queues_dropped_busy_need_few_streams,
        queues_beyond_the_streams_share_them,
        queues_that_share_a_stream_block_no_other,
        chain_over_two_hundred_queues,
        sixteen_threads_create_fill_and_drop,
    ],
    &[Requirement::Kernels] => [queue_dropped_while_a_kernel_runs],
}

/// Streams that a device with default parameters has at most.
fn most() -> u64 {
    DeviceParams::default().max_streams as u64
}

/// Until no dropped queue has work left.
fn none_outstanding(device: &Arc<dyn Device>) -> Outcome {
    eventually("no outstanding queue", || device.counters().queues.outstanding == 0)
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

/// The queue is gone before what it waits for has been submitted anywhere.
fn dropped_queue_completes_what_a_later_queue_releases(device: &Arc<dyn Device>) -> Outcome {
    let (start, end) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    for value in 1..=50 {
        let queue = device.create_queue(&Default::default())?;
        queue.submit(Submission::new().wait(&start, value).signal(&end, value))?;
    }
    check_eq!(end.query()?, 0);
    for value in 1..=50 {
        let queue = device.create_queue(&Default::default())?;
        queue.submit(Submission::new().signal(&start, value))?;
    }
    end.wait(50, soon())?;
    none_outstanding(device)
}

/// As many as there are; no new one is made while an idle one is there.
fn every_stream_of_a_hundred_queues_is_reused(device: &Arc<dyn Device>) -> Outcome {
    let first = queues(device, 100)?;
    first.iter().try_for_each(|queue| queue.submit(Submission::new()).map(|_| ()))?;
    drop(first);
    none_outstanding(device)?;
    let before = device.counters().queues;
    check!(before.created <= most(), "{before:?}");
    let again = queues(device, before.created as usize)?;
    let after = device.counters().queues;
    check_eq!(after.created, before.created);
    check_eq!(after.reused - before.reused, again.len() as u64);
    check_eq!(after.shared, before.shared);
    Ok(())
}

/// Created, filled and dropped without a look back. What each wrote is there at the end.
fn ten_thousand_short_queues_need_few_streams(device: &Arc<dyn Device>) -> Outcome {
    const COUNT: u64 = 10_000;
    let before = device.counters().queues;
    let buffer = host_buffer(device, &vec![0_u8; COUNT as usize])?;
    for number in 0..COUNT {
        let commands = record(device, |encoder| encoder.fill(&buffer, number, 1, &[1]))?;
        let queue = device.create_queue(&Default::default())?;
        queue.submit(Submission::new().execute(&commands))?;
    }
    device.wait_idle(soon())?;
    check!(contents::<u8>(&buffer)?.iter().all(|&byte| byte == 1));
    none_outstanding(device)?;
    let after = device.counters().queues;
    let created = after.created - before.created;
    check!(created <= most(), "{after:?}");
    check_eq!(created + after.reused - before.reused + after.shared - before.shared, COUNT);
    check_eq!(after.live, before.live);
    // The streams are all idle: the next queue takes one of them.
    let _queue = device.create_queue(&Default::default())?;
    check_eq!(device.counters().queues.reused, after.reused + 1);
    Ok(())
}

/// None of them can end before the last has been dropped.
fn queues_dropped_busy_need_few_streams(device: &Arc<dyn Device>) -> Outcome {
    let before = device.counters().queues;
    let gate = Gate::new(device)?;
    let end = device.create_semaphore(0)?;
    for value in 1..=1000 {
        let queue = device.create_queue(&Default::default())?;
        queue.submit(Submission::new().wait(gate.semaphore(), 1).signal(&end, value))?;
    }
    let busy = device.counters().queues;
    check_eq!(busy.outstanding - before.outstanding, 1000);
    check_eq!(busy.live, before.live);
    check!(busy.created - before.created <= most(), "{busy:?}");
    gate.open()?;
    end.wait(1000, soon())?;
    none_outstanding(device)
}

/// Two hundred at once.
fn queues_beyond_the_streams_share_them(device: &Arc<dyn Device>) -> Outcome {
    let before = device.counters().queues;
    let queues = queues(device, 200)?;
    let after = device.counters().queues;
    check_eq!(after.live - before.live, 200);
    check!(after.created - before.created <= most(), "{after:?}");
    check!(after.shared - before.shared >= 200 - most(), "{after:?}");
    let ends = queues.iter().map(|_| device.create_semaphore(0)).collect::<Result<Vec<_>>>()?;
    for (queue, end) in queues.iter().zip(&ends) {
        queue.submit(Submission::new().signal(end, 1))?;
    }
    for end in &ends {
        end.wait(1, soon())?;
    }
    Ok(())
}

/// Every other queue waits, whichever it shares a stream with.
fn queues_that_share_a_stream_block_no_other(device: &Arc<dyn Device>) -> Outcome {
    let gate = Gate::new(device)?;
    let queues = queues(device, 200)?;
    let ends = queues.iter().map(|_| device.create_semaphore(0)).collect::<Result<Vec<_>>>()?;
    for (number, (queue, end)) in queues.iter().zip(&ends).enumerate() {
        let submission = Submission::new().signal(end, 1);
        queue.submit(if number % 2 == 0 { submission.wait(gate.semaphore(), 1) } else { submission })?;
    }
    for end in ends.iter().skip(1).step_by(2) {
        end.wait(1, soon())?;
    }
    for end in ends.iter().step_by(2) {
        check_eq!(end.query()?, 0);
    }
    gate.open()?;
    for end in &ends {
        end.wait(1, soon())?;
    }
    Ok(())
}

/// Each link waits for one of another queue, which may have the same stream; last to first and first to last.
fn chain_over_two_hundred_queues(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 200)?;
    let (forth, back) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    for (queue, step) in queues.iter().zip(0..200) {
        queue.submit(Submission::new().wait(&forth, step).signal(&forth, step + 1))?;
        queue.submit(Submission::new().wait(&back, 199 - step).signal(&back, 200 - step))?;
    }
    forth.wait(200, soon())?;
    back.wait(200, soon())?;
    Ok(())
}

/// All at once; the streams are bounded all the same.
fn sixteen_threads_create_fill_and_drop(device: &Arc<dyn Device>) -> Outcome {
    let before = device.counters().queues;
    on_threads(16, |_| {
        let timeline = device.create_semaphore(0)?;
        for value in 1..=50 {
            let queue = device.create_queue(&Default::default())?;
            queue.submit(Submission::new().wait(&timeline, value - 1).signal(&timeline, value))?;
        }
        Ok(timeline.wait(50, soon())?)
    })?;
    none_outstanding(device)?;
    let after = device.counters().queues;
    check!(after.created - before.created <= most(), "{after:?}");
    check_eq!(after.live, before.live);
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
