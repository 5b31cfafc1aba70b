//! What waits delays nobody, and is released by what it waits for and nothing else.

use crate::support::{Gate, Random, contents, host_buffer, queues, record, soon, timelines};
use crate::{Failure, Outcome};
use hal_core::{Device, Error, ErrorKind, Queue, Result, Semaphore, Submission};
use std::sync::Arc;

suite! { "blocking",
    &[] => [
        blocked_in_the_middle_delays_no_other,
        blocked_by_two_timelines_delays_no_other,
        blocked_by_another_queue_delays_no_other,
        blocked_by_its_own_queue_delays_no_other,
        blocked_chain_delays_no_other,
        ten_thousand_blocked_delay_no_other,
        blocked_on_every_queue_delays_no_other,
        blocked_until_it_fails_delays_no_other,
        released_in_reverse,
        released_in_any_order,
        all_waits_but_one_release_nobody,
        signal_short_of_the_value_releases_nobody,
    ],
}

/// Lets work without waits run on these queues. What was free to run before it has run by then.
pub(super) fn others_run(device: &Arc<dyn Device>, queues: &[Arc<dyn Queue>]) -> Outcome {
    for queue in queues {
        let done = device.create_semaphore(0)?;
        queue.submit(Submission::new().signal(&done, 1))?;
        done.wait(1, soon())?;
    }
    Ok(())
}

/// Fails unless all of these are where they began.
pub(super) fn untouched<'a>(ends: impl IntoIterator<Item = &'a Arc<dyn Semaphore>>) -> Outcome {
    for (index, end) in ends.into_iter().enumerate() {
        check_eq!(end.query()?, 0, "number {index} was released");
    }
    Ok(())
}

/// What comes before and after it runs, effects and all.
fn blocked_in_the_middle_delays_no_other(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    let ends = timelines(device, 3)?;
    let buffer = host_buffer(device, &[0_u8; 12])?;
    for (part, end) in ends.iter().enumerate() {
        let commands = record(device, |encoder| encoder.fill(&buffer, 4 * part as u64, 4, &[1]))?;
        let submission = Submission::new().execute(&commands).signal(end, 1);
        queue.submit(if part == 1 { submission.wait(gate.semaphore(), 1) } else { submission })?;
    }
    ends[0].wait(1, soon())?;
    ends[2].wait(1, soon())?;
    check_eq!(contents::<u8>(&buffer)?, [1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1]);
    untouched(&ends[1..2])?;
    gate.open()?;
    ends[1].wait(1, soon())?;
    check_eq!(contents::<u8>(&buffer)?, [1; 12]);
    Ok(())
}

/// Nor when half of what it waits for has come.
fn blocked_by_two_timelines_delays_no_other(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 1)?;
    let gates = [Gate::new(device)?, Gate::new(device)?];
    let end = device.create_semaphore(0)?;
    let submission = Submission::new().wait(gates[0].semaphore(), 1).wait(gates[1].semaphore(), 1);
    queues[0].submit(submission.signal(&end, 1))?;
    for gate in &gates {
        others_run(device, &queues)?;
        untouched([&end])?;
        gate.open()?;
    }
    end.wait(1, soon())?;
    Ok(())
}

/// The other queue's own submission waits for the host.
fn blocked_by_another_queue_delays_no_other(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let gate = Gate::new(device)?;
    let ends = timelines(device, 2)?;
    queues[0].submit(Submission::new().wait(gate.semaphore(), 1).signal(&ends[0], 1))?;
    queues[1].submit(Submission::new().wait(&ends[0], 1).signal(&ends[1], 1))?;
    others_run(device, &queues)?;
    untouched(&ends)?;
    gate.open()?;
    ends[1].wait(1, soon())?;
    Ok(())
}

/// It waits for what comes behind it, which itself comes late.
fn blocked_by_its_own_queue_delays_no_other(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 1)?;
    let gate = Gate::new(device)?;
    let ends = timelines(device, 2)?;
    queues[0].submit(Submission::new().wait(&ends[1], 1).signal(&ends[0], 1))?;
    others_run(device, &queues)?;
    queues[0].submit(Submission::new().wait(gate.semaphore(), 1).signal(&ends[1], 1))?;
    others_run(device, &queues)?;
    untouched(&ends)?;
    gate.open()?;
    ends[0].wait(1, soon())?;
    Ok(())
}

/// A hundred links over four queues, none of which can start.
fn blocked_chain_delays_no_other(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 4)?;
    let gate = Gate::new(device)?;
    let ends = timelines(device, 100)?;
    queues[0].submit(Submission::new().wait(gate.semaphore(), 1).signal(&ends[0], 1))?;
    for (index, pair) in ends.windows(2).enumerate() {
        queues[index % 4].submit(Submission::new().wait(&pair[0], 1).signal(&pair[1], 1))?;
    }
    others_run(device, &queues)?;
    untouched(&ends)?;
    gate.open()?;
    ends[99].wait(1, soon())?;
    Ok(())
}

/// However many there are.
fn ten_thousand_blocked_delay_no_other(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let gate = Gate::new(device)?;
    let end = device.create_semaphore(0)?;
    for value in 1..=10_000 {
        queues[value as usize % 2].submit(Submission::new().wait(gate.semaphore(), 1).signal(&end, value))?;
        if value % 1000 == 0 {
            others_run(device, &queues)?;
        }
    }
    untouched([&end])?;
    gate.open()?;
    end.wait(10_000, soon())?;
    Ok(())
}

/// Every queue has something that cannot start, and work goes through all of them in turn.
fn blocked_on_every_queue_delays_no_other(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 8)?;
    let gate = Gate::new(device)?;
    let ends = timelines(device, 8)?;
    for (queue, end) in queues.iter().zip(&ends) {
        queue.submit(Submission::new().wait(gate.semaphore(), 1).signal(end, 1))?;
    }
    let through = device.create_semaphore(0)?;
    for step in 0..80 {
        let submission = Submission::new().wait(&through, step).signal(&through, step + 1);
        queues[step as usize % 8].submit(submission)?;
    }
    through.wait(80, soon())?;
    untouched(&ends)?;
    gate.open()?;
    for end in &ends {
        end.wait(1, soon())?;
    }
    Ok(())
}

/// A release that never comes.
fn blocked_until_it_fails_delays_no_other(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 1)?;
    let never = device.create_semaphore(0)?;
    let end = device.create_semaphore(0)?;
    queues[0].submit(Submission::new().wait(&never, u64::MAX).signal(&end, 1))?;
    for _ in 0..50 {
        others_run(device, &queues)?;
    }
    check!(!queues[0].is_idle());
    never.fail(Error::new(ErrorKind::Cancelled, "never after all"));
    check_err!(end.wait(1, soon()), ErrorKind::Cancelled);
    queues[0].wait_idle(soon())?;
    Ok(())
}

/// A hundred on one queue, each with a gate of its own, opened in this order.
fn released_one_by_one(device: &Arc<dyn Device>, order: Vec<usize>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gates = (0..order.len()).map(|_| Gate::new(device)).collect::<Result<Vec<_>>>()?;
    let ends = timelines(device, order.len())?;
    for (gate, end) in gates.iter().zip(&ends) {
        queue.submit(Submission::new().wait(gate.semaphore(), 1).signal(end, 1))?;
    }
    for (opened, &number) in order.iter().enumerate() {
        gates[number].open()?;
        ends[number].wait(1, soon())?;
        untouched(order[opened + 1..].iter().map(|&number| &ends[number]))?;
    }
    Ok(())
}

/// The last first.
fn released_in_reverse(device: &Arc<dyn Device>) -> Outcome {
    released_one_by_one(device, (0..100).rev().collect())
}

/// As it comes.
fn released_in_any_order(device: &Arc<dyn Device>) -> Outcome {
    released_one_by_one(device, Random::new(1).shuffled(0..100))
}

/// Of fifty, in any order: the last one counts.
fn all_waits_but_one_release_nobody(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 1)?;
    let waits = timelines(device, 50)?;
    let end = device.create_semaphore(0)?;
    let all = waits.iter().fold(Submission::new(), |submission, wait| submission.wait(wait, 3));
    queues[0].submit(all.signal(&end, 1))?;
    let order = Random::new(2).shuffled(&waits);
    let Some((last, others)) = order.split_last() else {
        return Err(Failure::new("there are fifty"));
    };
    others.iter().try_for_each(|wait| wait.signal(3))?;
    others_run(device, &queues)?;
    untouched([&end])?;
    last.signal(3)?;
    end.wait(1, soon())?;
    Ok(())
}

/// By one, up to the last.
fn signal_short_of_the_value_releases_nobody(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 1)?;
    let (start, end) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    queues[0].submit(Submission::new().wait(&start, 20).signal(&end, 1))?;
    for value in 1..20 {
        start.signal(value)?;
        others_run(device, &queues)?;
        untouched([&end])?;
    }
    start.signal(20)?;
    end.wait(1, soon())?;
    Ok(())
}
