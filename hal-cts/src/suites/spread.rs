//! A failure reaches all that depend on it, whatever the shape.

use crate::support::{Gate, Random, Spinner, on_threads, queues, soon, timelines};
use crate::{Outcome, Requirement};
use hal_core::{Device, Error, ErrorKind, Result, Semaphore, Submission};
use std::sync::Arc;

suite! { "spread",
    &[] => [
        reaches_ten_thousand_dependants,
        reaches_every_leaf_of_a_tree,
        reaches_descendants_in_a_random_graph_and_nobody_else,
        sixteen_failures_at_once_keep_to_their_dependants,
        reached_waits_do_not_save_it,
        unreached_waits_do_not_delay_it,
        failed_wait_named_with_reached_ones_fails_it_at_once,
        timeline_that_fails_is_waited_for_twice,
        timeline_that_fails_is_waited_for_and_signalled,
        hosts_failure_of_a_signal_reaches_its_dependants,
        first_failure_of_two_waits_is_kept,
        failure_in_a_callback_spreads,
    ],
    &[Requirement::Kernels] => [failure_does_not_wait_for_what_runs],
}

pub(super) fn fail(timeline: &Arc<dyn Semaphore>, message: &str) {
    timeline.fail(Error::new(ErrorKind::Aborted, message));
}

pub(super) fn all_failed<'a>(ends: impl IntoIterator<Item = &'a Arc<dyn Semaphore>>) -> Outcome {
    for end in ends {
        check_err!(end.wait(1, soon()), ErrorKind::Aborted);
    }
    Ok(())
}

/// On eight queues, for several values.
fn reaches_ten_thousand_dependants(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 8)?;
    let start = device.create_semaphore(0)?;
    let ends = timelines(device, 10_000)?;
    for (number, end) in ends.iter().enumerate() {
        let submission = Submission::new().wait(&start, 1 + number as u64 % 5).signal(end, 1);
        queues[number % 8].submit(submission)?;
    }
    fail(&start, "all of you");
    all_failed(&ends)?;
    device.wait_idle(soon())?;
    Ok(())
}

/// Twelve generations of two.
fn reaches_every_leaf_of_a_tree(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 4)?;
    let nodes = timelines(device, 4096)?;
    for number in Random::new(1).shuffled(2..4096) {
        let submission = Submission::new().wait(&nodes[number / 2], 1).signal(&nodes[number], 1);
        queues[number % 4].submit(submission)?;
    }
    fail(&nodes[1], "the root");
    all_failed(&nodes[1..])?;
    check_eq!(nodes[0].query()?, 0);
    Ok(())
}

/// Who has a failed ancestor fails; who has none completes.
fn reaches_descendants_in_a_random_graph_and_nobody_else(device: &Arc<dyn Device>) -> Outcome {
    const ROOTS: usize = 10;
    const NODES: usize = 500;
    let queues = queues(device, 5)?;
    for seed in 0..5 {
        let mut random = Random::new(seed);
        let ends = timelines(device, NODES)?;
        let mut fails: Vec<bool> = (0..ROOTS).map(|root| root < 2).collect();
        let mut edges = Vec::new();
        for number in ROOTS..NODES {
            // Near ones, so that not all descend from the two that fail.
            let parents = [(); 2]
                .map(|()| if number < 100 { random.below(ROOTS) } else { number - 1 - random.below(60) });
            fails.push(parents.iter().any(|&parent| fails[parent]) && number % 3 != 0);
            edges.push(if number % 3 == 0 { None } else { Some(parents) });
        }
        for number in random.shuffled(ROOTS..NODES) {
            let parents = edges[number - ROOTS].into_iter().flatten();
            let waits = parents.fold(Submission::new(), |all, parent| all.wait(&ends[parent], 1));
            queues[random.below(5)].submit(waits.signal(&ends[number], 1))?;
        }
        for (root, end) in ends[..ROOTS].iter().enumerate().rev() {
            if fails[root] { fail(end, "a root") } else { end.signal(1)? }
        }
        check!(fails.contains(&true) && fails.contains(&false));
        for (number, (end, &failed)) in ends.iter().zip(&fails).enumerate() {
            let outcome = end.wait(1, soon());
            check_eq!(outcome.is_err(), failed, "seed {seed}, node {number}: {outcome:?}");
        }
    }
    Ok(())
}

/// Each has a hundred, and its own reason.
fn sixteen_failures_at_once_keep_to_their_dependants(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 4)?;
    let starts = timelines(device, 16)?;
    let ends = timelines(device, 1600)?;
    for (number, end) in ends.iter().enumerate() {
        queues[number % 4].submit(Submission::new().wait(&starts[number / 100], 1).signal(end, 1))?;
    }
    on_threads(16, |thread| {
        fail(&starts[thread], &format!("start {thread};"));
        Ok(())
    })?;
    for (number, end) in ends.iter().enumerate() {
        let error = check_err!(end.wait(1, soon()), ErrorKind::Aborted);
        check!(error.message() == format!("start {};", number / 100), "{number}: {error}");
    }
    Ok(())
}

/// Nine of ten have come.
fn reached_waits_do_not_save_it(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    for failing in 0..10 {
        let waits = timelines(device, 10)?;
        let end = device.create_semaphore(0)?;
        let all = waits.iter().fold(Submission::new(), |all, wait| all.wait(wait, 1));
        queues[0].submit(all.signal(&end, 1))?;
        for (_, wait) in waits.iter().enumerate().filter(|(number, _)| *number != failing) {
            queues[1].submit(Submission::new().signal(wait, 1))?;
            wait.wait(1, soon())?;
        }
        check_eq!(end.query()?, 0);
        fail(&waits[failing], "the tenth");
        all_failed([&end])?;
    }
    Ok(())
}

/// They may never come.
fn unreached_waits_do_not_delay_it(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    for failing in 0..10 {
        let waits = timelines(device, 10)?;
        let end = device.create_semaphore(0)?;
        let all = waits.iter().fold(Submission::new(), |all, wait| all.wait(wait, 1));
        queue.submit(all.signal(&end, 1))?;
        fail(&waits[failing], "the only one to come");
        all_failed([&end])?;
        queue.wait_idle(soon())?;
        for (number, wait) in waits.iter().enumerate() {
            check_eq!(wait.query().is_err(), number == failing);
        }
    }
    Ok(())
}

/// When it is submitted, whether what else it waits for is there or not.
fn failed_wait_named_with_reached_ones_fails_it_at_once(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let (reached, unreached, failed) =
        (device.create_semaphore(1)?, device.create_semaphore(0)?, device.create_semaphore(0)?);
    fail(&failed, "before");
    for waits in [[&reached, &failed], [&failed, &reached], [&unreached, &failed], [&failed, &unreached]] {
        let end = device.create_semaphore(0)?;
        let submission = Submission::new().wait(waits[0], 1).wait(waits[1], 1);
        queue.submit(submission.signal(&end, 1))?;
        check_err!(end.wait(1, soon()), ErrorKind::Aborted);
    }
    queue.wait_idle(soon())?;
    Ok(())
}

/// By one submission with two values, and by a second one.
fn timeline_that_fails_is_waited_for_twice(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let start = device.create_semaphore(0)?;
    let ends = timelines(device, 3)?;
    queue.submit(Submission::new().wait(&start, 1).wait(&start, 2).signal(&ends[0], 1))?;
    queue.submit(Submission::new().wait(&start, 1).signal(&ends[1], 1))?;
    queue.submit(Submission::new().wait(&ends[1], 1).wait(&start, 1).signal(&ends[2], 1))?;
    fail(&start, "twice");
    all_failed(&ends)?;
    queue.wait_idle(soon())?;
    Ok(())
}

/// By the same submission.
fn timeline_that_fails_is_waited_for_and_signalled(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let (timeline, end) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    queue.submit(Submission::new().wait(&timeline, 1).signal(&timeline, 2).signal(&end, 1))?;
    fail(&timeline, "its own");
    all_failed([&timeline, &end])?;
    queue.wait_idle(soon())?;
    Ok(())
}

/// At once, though the submission that was to signal it has not run.
fn hosts_failure_of_a_signal_reaches_its_dependants(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let gate = Gate::new(device)?;
    let (middle, other, end) =
        (device.create_semaphore(0)?, device.create_semaphore(0)?, device.create_semaphore(0)?);
    queues[0].submit(Submission::new().wait(gate.semaphore(), 1).signal(&middle, 1).signal(&other, 1))?;
    queues[1].submit(Submission::new().wait(&middle, 1).signal(&end, 1))?;
    fail(&middle, "in between");
    all_failed([&end])?;
    check_eq!(other.query()?, 0);
    gate.open()?;
    other.wait(1, soon())?;
    Ok(())
}

/// Whichever of the two it is.
fn first_failure_of_two_waits_is_kept(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    for first in [0, 1] {
        let waits = timelines(device, 2)?;
        let end = device.create_semaphore(0)?;
        queue.submit(Submission::new().wait(&waits[0], 1).wait(&waits[1], 1).signal(&end, 1))?;
        for (which, message) in [(first, "came first"), (1 - first, "came second")] {
            waits[which].fail(Error::new(ErrorKind::Aborted, message));
        }
        let error = check_err!(end.wait(1, soon()), ErrorKind::Aborted);
        check!(error.message().contains("came first"), "{error}");
    }
    Ok(())
}

/// Down a chain in which queues and callbacks take turns.
fn failure_in_a_callback_spreads(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let links = timelines(device, 200)?;
    for (number, pair) in links.windows(2).enumerate() {
        if number % 2 == 0 {
            queues[number / 2 % 2].submit(Submission::new().wait(&pair[0], 1).signal(&pair[1], 1))?;
        } else {
            let next = pair[1].clone();
            let pass_on = move |outcome: Result<()>| _ = outcome.map_err(|error| next.fail(error));
            pair[0].on_reached(1, Box::new(pass_on));
        }
    }
    fail(&links[0], "passed on by hand");
    let error = check_err!(links[199].wait(1, soon()), ErrorKind::Aborted);
    check!(error.message().contains("passed on by hand"), "{error}");
    all_failed(&links)
}

/// Of two waits one will be reached when a kernel ends; the other fails meanwhile.
fn failure_does_not_wait_for_what_runs(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let spinner = Spinner::new(device)?;
    let (run, start, end) =
        (device.create_semaphore(0)?, device.create_semaphore(0)?, device.create_semaphore(0)?);
    queues[0].submit(Submission::new().execute(spinner.commands()).signal(&run, 1))?;
    queues[1].submit(Submission::new().wait(&run, 1).wait(&start, 1).signal(&end, 1))?;
    fail(&start, "meanwhile");
    all_failed([&end])?;
    check_eq!(run.query()?, 0);
    spinner.stop()?;
    run.wait(1, soon())?;
    Ok(())
}
