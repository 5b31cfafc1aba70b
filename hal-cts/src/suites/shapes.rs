//! Small shapes of submissions over queues: fans, diamonds, chains, turns.

use crate::Outcome;
use crate::support::{Gate, contents, host_buffer, queues, record, soon};
use hal_core::{Device, Result, Submission};
use std::sync::Arc;
use std::thread;

suite! { "shapes",
    &[] => [
        fan_out,
        fan_in,
        diamond,
        chain_of_a_hundred_on_one_queue,
        chain_over_four_queues,
        chain_submitted_backwards,
        host_and_queue_take_turns,
        two_queues_wait_for_each_other_in_turn,
        dependants_submitted_by_threads,
    ],
}

/// One value frees work on eight queues.
fn fan_out(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 8)?;
    let start = device.create_semaphore(0)?;
    let ends = (0..64).map(|_| device.create_semaphore(0)).collect::<Result<Vec<_>>>()?;
    for (index, end) in ends.iter().enumerate() {
        queues[index % 8].submit(Submission::new().wait(&start, 1).signal(end, 1))?;
    }
    queues[0].submit(Submission::new().signal(&start, 1))?;
    for end in &ends {
        end.wait(1, soon())?;
    }
    Ok(())
}

/// Work on eight queues frees one submission, the last of it at last.
fn fan_in(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 8)?;
    let gate = Gate::new(device)?;
    let done = device.create_semaphore(0)?;
    let parts = (0..32).map(|_| device.create_semaphore(0)).collect::<Result<Vec<_>>>()?;
    let last = parts.iter().fold(Submission::new(), |submission, part| submission.wait(part, 1));
    queues[0].submit(last.signal(&done, 1))?;
    for (index, part) in parts.iter().enumerate().skip(1) {
        queues[index % 8].submit(Submission::new().signal(part, 1))?;
    }
    queues[7].submit(Submission::new().wait(gate.semaphore(), 1).signal(&parts[0], 1))?;
    for part in &parts[1..] {
        part.wait(1, soon())?;
    }
    check_eq!(done.query()?, 0);
    gate.open()?;
    done.wait(1, soon())?;
    Ok(())
}

/// One before two before one, on four queues; data goes along.
fn diamond(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 4)?;
    let (top, left) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    let (right, done) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    let source = host_buffer(device, &[0_u8; 16])?;
    let middle = host_buffer(device, &[0_u8; 32])?;
    let result = host_buffer(device, &[0_u8; 32])?;
    let first = record(device, |encoder| encoder.fill(&source, 0, 16, &[7]))?;
    let half = |part: u64| record(device, |encoder| encoder.copy(&source, 0, &middle, part * 16, 16));
    let last = record(device, |encoder| encoder.copy(&middle, 0, &result, 0, 32))?;
    queues[3].submit(Submission::new().wait(&left, 1).wait(&right, 1).execute(&last).signal(&done, 1))?;
    queues[2].submit(Submission::new().wait(&top, 1).execute(&half(1)?).signal(&right, 1))?;
    queues[1].submit(Submission::new().wait(&top, 1).execute(&half(0)?).signal(&left, 1))?;
    queues[0].submit(Submission::new().execute(&first).signal(&top, 1))?;
    done.wait(1, soon())?;
    check_eq!(contents::<u8>(&result)?, [7; 32]);
    Ok(())
}

/// Each waits for the one before.
fn chain_of_a_hundred_on_one_queue(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let timeline = device.create_semaphore(0)?;
    for value in 1..=100 {
        queue.submit(Submission::new().wait(&timeline, value - 1).signal(&timeline, value))?;
    }
    timeline.wait(100, soon())?;
    check_eq!(timeline.query()?, 100);
    Ok(())
}

/// The next link is always on another queue; each moves a block on by one place.
fn chain_over_four_queues(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 4)?;
    let timeline = device.create_semaphore(0)?;
    let buffer = host_buffer(device, &[0_u8; 101 * 8])?;
    buffer.write(0, &[1, 2, 3, 4, 5, 6, 7, 8])?;
    for value in 1..=100 {
        let commands =
            record(device, |encoder| encoder.copy(&buffer, (value - 1) * 8, &buffer, value * 8, 8))?;
        let submission = Submission::new().wait(&timeline, value - 1).execute(&commands);
        queues[value as usize % 4].submit(submission.signal(&timeline, value))?;
    }
    timeline.wait(100, soon())?;
    check_eq!(contents::<u8>(&buffer)?[800..], [1, 2, 3, 4, 5, 6, 7, 8]);
    Ok(())
}

/// The last link first, so that everything is pending until the first comes.
fn chain_submitted_backwards(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 3)?;
    let links = (0..=100).map(|_| device.create_semaphore(0)).collect::<Result<Vec<_>>>()?;
    for index in (0..100).rev() {
        let submission = Submission::new().wait(&links[index], 1).signal(&links[index + 1], 1);
        queues[index % 3].submit(submission)?;
    }
    check_eq!(links[1].query()?, 0);
    queues[0].submit(Submission::new().signal(&links[0], 1))?;
    links[100].wait(1, soon())?;
    Ok(())
}

/// Host, queue, host, queue …
fn host_and_queue_take_turns(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let (ping, pong) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    for turn in 1..=100 {
        queue.submit(Submission::new().wait(&ping, turn).signal(&pong, turn))?;
    }
    for turn in 1..=100 {
        check_eq!(pong.query()?, turn - 1);
        ping.signal(turn)?;
        pong.wait(turn, soon())?;
    }
    Ok(())
}

/// Each queue has everything submitted before the other has anything.
fn two_queues_wait_for_each_other_in_turn(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let (a, b) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    for turn in 1..=50 {
        queues[0].submit(Submission::new().wait(&b, turn).signal(&a, turn))?;
    }
    for turn in 1..=50 {
        queues[1].submit(Submission::new().wait(&a, turn - 1).signal(&b, turn))?;
    }
    a.wait(50, soon())?;
    Ok(())
}

/// Four threads submit the links of one chain, each every fourth, in no agreed order.
fn dependants_submitted_by_threads(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 4)?;
    let timeline = device.create_semaphore(0)?;
    let outcomes: Vec<_> = thread::scope(|scope| {
        let submit = |thread: u64| {
            (0..100).map(|step| step * 4 + thread + 1).try_for_each(|value| {
                let submission = Submission::new().wait(&timeline, value - 1).signal(&timeline, value);
                queues[thread as usize].submit(submission).map(|_| ())
            })
        };
        let threads: Vec<_> = (0..4).map(|thread| scope.spawn(move || submit(thread))).collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    check!(outcomes.iter().all(|outcome| matches!(outcome, Ok(Ok(())))), "{outcomes:?}");
    timeline.wait(400, soon())?;
    Ok(())
}
