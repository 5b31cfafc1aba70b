//! Values of timelines: the whole range of 64 bits, and who is released by which.

use super::blocking::{others_run, untouched};
use crate::Outcome;
use crate::futures::{Counter, poll_once};
use crate::support::{Gate, Random, queues, soon, timelines};
use hal_core::{Deadline, Device, ErrorKind, Result, Semaphore, SemaphoreExt, Submission};
use std::sync::Arc;
use std::sync::mpsc::{TryRecvError, channel};

suite! { "values",
    &[] => [
        host_reaches_every_edge,
        queue_reaches_every_edge,
        timeline_begins_at_every_edge,
        host_waits_tell_edges_apart,
        queue_waits_tell_edges_apart,
        callbacks_tell_edges_apart,
        futures_tell_edges_apart,
        signal_of_the_payload_is_refused_at_every_edge,
        queue_signal_below_the_payload_completes_at_every_edge,
        host_signal_after_a_queue_continues_its_timeline,
        zero_is_always_reached,
        nothing_waits_beyond_the_largest_value,
        host_jump_releases_every_value_below,
        queue_jump_releases_every_value_below,
        wait_below_a_promised_value_is_released_by_it,
        wait_above_a_promised_value_is_not_released_by_it,
    ],
}

/// Where numbers of 31, 32, 63 and 64 bits end.
const EDGES: [u64; 12] = [
    1,
    (1 << 31) - 1,
    1 << 31,
    (1 << 31) + 1,
    (1 << 32) - 1,
    1 << 32,
    (1 << 32) + 1,
    (1 << 63) - 1,
    1 << 63,
    (1 << 63) + 1,
    u64::MAX - 1,
    u64::MAX,
];

/// One after the other.
fn host_reaches_every_edge(device: &Arc<dyn Device>) -> Outcome {
    let timeline = device.create_semaphore(0)?;
    for edge in EDGES {
        timeline.signal(edge)?;
        check_eq!(timeline.query()?, edge);
        timeline.wait(edge, Deadline::NOW)?;
    }
    Ok(())
}

/// One after the other, and each from the start.
fn queue_reaches_every_edge(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let timeline = device.create_semaphore(0)?;
    for edge in EDGES {
        let fresh = device.create_semaphore(0)?;
        queue.submit(Submission::new().signal(&timeline, edge).signal(&fresh, edge))?;
        timeline.wait(edge, soon())?;
        fresh.wait(edge, soon())?;
        check_eq!((timeline.query()?, fresh.query()?), (edge, edge));
    }
    Ok(())
}

/// Everything up to there is reached.
fn timeline_begins_at_every_edge(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    for edge in EDGES {
        let (timeline, end) = (device.create_semaphore(edge)?, device.create_semaphore(0)?);
        timeline.wait(edge, Deadline::NOW)?;
        timeline.wait(edge - 1, Deadline::NOW)?;
        queue.submit(Submission::new().wait(&timeline, edge).signal(&end, 1))?;
        end.wait(1, soon())?;
    }
    Ok(())
}

/// Neither sign nor width gets in the way.
fn host_waits_tell_edges_apart(device: &Arc<dyn Device>) -> Outcome {
    for edge in EDGES {
        let timeline = device.create_semaphore(edge - 1)?;
        check_err!(timeline.wait(edge, Deadline::NOW), ErrorKind::DeadlineExceeded);
        check_err!(timeline.wait(u64::MAX, Deadline::NOW), ErrorKind::DeadlineExceeded);
        timeline.signal(edge)?;
        timeline.wait(edge, Deadline::NOW)?;
    }
    Ok(())
}

/// A submission for each edge; each edge releases its own and no other.
fn queue_waits_tell_edges_apart(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let timeline = device.create_semaphore(0)?;
    let ends = timelines(device, EDGES.len())?;
    for index in Random::new(1).shuffled(0..EDGES.len()) {
        let submission = Submission::new().wait(&timeline, EDGES[index]).signal(&ends[index], 1);
        queues[index % 2].submit(submission)?;
    }
    for (index, edge) in EDGES.into_iter().enumerate() {
        others_run(device, &queues)?;
        untouched(&ends[index..])?;
        timeline.signal(edge)?;
        ends[index].wait(1, soon())?;
    }
    Ok(())
}

/// Registered in any order.
fn callbacks_tell_edges_apart(device: &Arc<dyn Device>) -> Outcome {
    let timeline = device.create_semaphore(0)?;
    let (sender, receiver) = channel();
    for edge in Random::new(2).shuffled(EDGES) {
        let sender = sender.clone();
        timeline.on_reached(edge, Box::new(move |outcome| _ = sender.send((edge, outcome.is_ok()))));
    }
    for edge in EDGES {
        check_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        timeline.signal(edge)?;
        check_eq!(receiver.try_recv(), Ok((edge, true)));
    }
    Ok(())
}

/// Polled in any order.
fn futures_tell_edges_apart(device: &Arc<dyn Device>) -> Outcome {
    let timeline = device.create_semaphore(0)?;
    let (counter, waker) = Counter::new();
    let mut futures = Random::new(3).shuffled(EDGES.map(|edge| timeline.reached(edge)));
    for future in &mut futures {
        check!(poll_once(future, &waker).is_pending());
    }
    for (index, edge) in EDGES.into_iter().enumerate() {
        check_eq!(counter.woken(), index);
        timeline.signal(edge)?;
    }
    check_eq!(counter.woken(), EDGES.len());
    Ok(())
}

/// And of everything below.
fn signal_of_the_payload_is_refused_at_every_edge(device: &Arc<dyn Device>) -> Outcome {
    for edge in EDGES {
        let timeline = device.create_semaphore(edge)?;
        for value in [0, 1, edge / 2, edge - 1, edge] {
            check_err!(timeline.signal(value), ErrorKind::InvalidArgument);
            check_eq!(timeline.query()?, edge);
        }
    }
    Ok(())
}

/// A queue is not refused; nothing changes.
fn queue_signal_below_the_payload_completes_at_every_edge(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    for edge in EDGES {
        let (timeline, end) = (device.create_semaphore(edge)?, device.create_semaphore(0)?);
        for (value, step) in [0, 1, edge / 2, edge - 1, edge].into_iter().zip(1..) {
            queue.submit(Submission::new().signal(&timeline, value).signal(&end, step))?;
            end.wait(step, soon())?;
        }
        queue.wait_idle(soon())?;
        check_eq!(timeline.query()?, edge);
    }
    Ok(())
}

/// What a queue has reached is refused to the host, and the next value is not.
fn host_signal_after_a_queue_continues_its_timeline(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let timeline = device.create_semaphore(0)?;
    for step in (0..100).step_by(2) {
        queue.submit(Submission::new().wait(&timeline, step).signal(&timeline, step + 1))?;
        timeline.wait(step + 1, soon())?;
        check_err!(timeline.signal(step + 1), ErrorKind::InvalidArgument);
        timeline.signal(step + 2)?;
    }
    check_eq!(timeline.query()?, 100);
    Ok(())
}

/// By every way of waiting.
fn zero_is_always_reached(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let (timeline, end) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    timeline.wait(0, Deadline::NOW)?;
    let (sender, receiver) = channel();
    check_eq!(timeline.on_reached(0, Box::new(move |outcome| _ = sender.send(outcome.is_ok()))), None);
    check_eq!(receiver.try_recv(), Ok(true));
    let (_, waker) = Counter::new();
    check!(poll_once(&mut timeline.reached(0), &waker).is_ready());
    queue.submit(Submission::new().wait(&timeline, 0).signal(&end, 1))?;
    end.wait(1, soon())?;
    Ok(())
}

/// A timeline at its end releases everybody, and takes no signal of the host any more.
fn nothing_waits_beyond_the_largest_value(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let (timeline, end) = (device.create_semaphore(7)?, device.create_semaphore(0)?);
    for (edge, step) in EDGES.into_iter().zip(1..) {
        queue.submit(Submission::new().wait(&timeline, edge).signal(&end, step))?;
    }
    timeline.signal(u64::MAX)?;
    end.wait(EDGES.len() as u64, soon())?;
    check_err!(timeline.signal(u64::MAX), ErrorKind::InvalidArgument);
    queue.submit(Submission::new().signal(&timeline, u64::MAX))?;
    queue.wait_idle(soon())?;
    check_eq!(timeline.query()?, u64::MAX);
    Ok(())
}

/// Five hundred values, waited for in any order; two jumps.
fn jump_releases_every_value_below(
    device: &Arc<dyn Device>,
    jump: impl Fn(&Arc<dyn Semaphore>, u64) -> Result<()>,
) -> Outcome {
    let queues = queues(device, 2)?;
    let start = device.create_semaphore(0)?;
    let ends = timelines(device, 500)?;
    for index in Random::new(3).shuffled(0..500) {
        let submission = Submission::new().wait(&start, index as u64 + 1).signal(&ends[index], 1);
        queues[index % 2].submit(submission)?;
    }
    jump(&start, 250)?;
    for end in &ends[..250] {
        end.wait(1, soon())?;
    }
    others_run(device, &queues)?;
    untouched(&ends[250..])?;
    jump(&start, u64::MAX)?;
    for end in &ends[250..] {
        end.wait(1, soon())?;
    }
    Ok(())
}

/// The host need not signal each.
fn host_jump_releases_every_value_below(device: &Arc<dyn Device>) -> Outcome {
    jump_releases_every_value_below(device, |start, value| start.signal(value))
}

/// Nor need a queue.
fn queue_jump_releases_every_value_below(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    jump_releases_every_value_below(device, |start, value| {
        queue.submit(Submission::new().signal(start, value)).map(|_| ())
    })
}

/// Nobody ever signals just the value that is waited for.
fn wait_below_a_promised_value_is_released_by_it(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let gate = Gate::new(device)?;
    let timeline = device.create_semaphore(0)?;
    let ends = timelines(device, 10)?;
    queues[0].submit(Submission::new().wait(gate.semaphore(), 1).signal(&timeline, 10))?;
    for (end, value) in ends.iter().zip(1..) {
        queues[1].submit(Submission::new().wait(&timeline, value).signal(end, 1))?;
    }
    gate.open()?;
    for end in &ends {
        end.wait(1, soon())?;
    }
    check_eq!(timeline.query()?, 10);
    Ok(())
}

/// Two producers of one timeline: the lower is not enough.
fn wait_above_a_promised_value_is_not_released_by_it(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let gate = Gate::new(device)?;
    let (timeline, end) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    queues[1].submit(Submission::new().wait(&timeline, 6).signal(&end, 1))?;
    queues[0].submit(Submission::new().signal(&timeline, 5))?;
    timeline.wait(5, soon())?;
    queues[0].submit(Submission::new().wait(gate.semaphore(), 1).signal(&timeline, 7))?;
    others_run(device, &queues)?;
    untouched([&end])?;
    gate.open()?;
    end.wait(1, soon())?;
    Ok(())
}
