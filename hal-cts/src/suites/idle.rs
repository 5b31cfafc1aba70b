//! When a queue and a device are idle.

use crate::Outcome;
use crate::support::{Gate, contents, host_buffer, on_threads, queues, record, shortly, soon};
use hal_core::{Deadline, Device, Error, ErrorKind, Queue, Result, Submission};
use std::sync::Arc;

suite! { "idle",
    &[] => [
        new_queue_is_idle,
        blocked_queue_is_not_idle,
        device_waits_for_all_queues,
        queue_is_idle_after_success_and_failure,
        queues_are_idle_each_for_itself,
        many_threads_wait_for_one_queue,
        idle_means_ended,
        device_waits_for_dropped_queues,
        what_comes_later_is_not_waited_for,
        device_does_not_wait_for_what_comes_later,
    ],
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

/// A hundred of each.
fn queue_is_idle_after_success_and_failure(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    for round in 0..100 {
        let start = device.create_semaphore(0)?;
        queue.submit(Submission::new().wait(&start, 1))?;
        check!(!queue.is_idle(), "round {round}");
        match round % 2 {
            0 => start.signal(1)?,
            _ => _ = start.fail(Error::new(ErrorKind::Aborted, "every other")),
        }
        queue.wait_idle(soon())?;
        check!(queue.is_idle(), "round {round}");
    }
    Ok(())
}

/// A queue is not busy with what another does.
fn queues_are_idle_each_for_itself(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 4)?;
    let gates = [Gate::new(device)?, Gate::new(device)?, Gate::new(device)?, Gate::new(device)?];
    for (queue, gate) in queues.iter().zip(&gates) {
        check!(queue.is_idle());
        queue.submit(Submission::new().wait(gate.semaphore(), 1))?;
    }
    for number in [2, 0, 3, 1] {
        check!(!queues[number].is_idle());
        gates[number].open()?;
        queues[number].wait_idle(soon())?;
    }
    check!(queues.iter().all(|queue| queue.is_idle()));
    Ok(())
}

/// The call of one ends the wait of all.
fn many_threads_wait_for_one_queue(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    queue.submit(Submission::new().wait(gate.semaphore(), 1))?;
    on_threads(9, |thread| {
        match thread {
            0 => gate.open()?,
            1..5 => queue.wait_idle(soon())?,
            _ => device.wait_idle(soon())?,
        }
        Ok(())
    })?;
    check!(queue.is_idle());
    Ok(())
}

/// Effects and signals are there when the queue is idle.
fn idle_means_ended(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let buffer = host_buffer(device, &[0_u8; 4096])?;
    let end = device.create_semaphore(0)?;
    for round in 1..=100_u8 {
        let commands = record(device, |encoder| encoder.fill(&buffer, 0, 4096, &[round]))?;
        queue.submit(Submission::new().execute(&commands).signal(&end, round.into()))?;
        queue.wait_idle(soon())?;
        check_eq!(end.query()?, u64::from(round));
        check!(contents::<u8>(&buffer)?.iter().all(|&byte| byte == round), "round {round}");
    }
    Ok(())
}

/// Its work is the device's still.
fn device_waits_for_dropped_queues(device: &Arc<dyn Device>) -> Outcome {
    let gate = Gate::new(device)?;
    let end = device.create_semaphore(0)?;
    device
        .create_queue(&Default::default())?
        .submit(Submission::new().wait(gate.semaphore(), 1).signal(&end, 1))?;
    check_err!(device.wait_idle(Deadline::NOW), ErrorKind::DeadlineExceeded);
    gate.open()?;
    device.wait_idle(soon())?;
    check_eq!(end.query()?, 1);
    Ok(())
}

/// A wait ends although the queue never is idle: there is always one more submission before the last one may end.
fn what_comes_later_is_not_waited_for(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    always_busy(device, &queue, || queue.wait_idle(soon()))
}

/// The same, for a device.
fn device_does_not_wait_for_what_comes_later(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    always_busy(device, &queue, || device.wait_idle(soon()))
}

/// Waits on another thread, and keeps the queue busy meanwhile.
fn always_busy(
    device: &Arc<dyn Device>,
    queue: &Arc<dyn Queue>,
    wait: impl Fn() -> Result<()> + Sync,
) -> Outcome {
    let steps = device.create_semaphore(0)?;
    let mut step = 1;
    queue.submit(Submission::new().wait(&steps, step))?;
    let waited: Result<()> = std::thread::scope(|scope| {
        let waiter = scope.spawn(&wait);
        let mut keep_busy = || -> Result<()> {
            while !waiter.is_finished() {
                step += 1;
                queue.submit(Submission::new().wait(&steps, step))?;
                steps.signal(step - 1)?;
                std::thread::yield_now();
            }
            Ok(())
        };
        let kept = keep_busy();
        let waited =
            waiter.join().unwrap_or_else(|_| Err(Error::new(ErrorKind::Internal, "the wait panicked")));
        kept.and(waited)
    });
    check!(!queue.is_idle());
    steps.signal(step)?;
    waited?;
    queue.wait_idle(soon())?;
    Ok(())
}
