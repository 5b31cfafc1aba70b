//! Futures of what queues do: dropped in flight, moved between threads, by the thousand on one executor.

use crate::Outcome;
use crate::futures::{Counter, block_on, poll_once};
use crate::support::{Gate, Random, eventually, on_threads, queues, soon, timelines};
use hal_core::{Device, Error, ErrorKind, Fence, Reached, Result, SemaphoreExt, SemaphorePoint, Submission};
use std::future::IntoFuture;
use std::sync::Arc;
use std::task::Poll;

suite! { "awaiting",
    &[] => [
        dropped_in_flight_they_are_not_woken_by_a_queue,
        dropped_while_a_queue_signals,
        dropped_future_keeps_no_waker,
        dropped_fence_future_keeps_no_waker,
        new_waker_replaces_the_old_one,
        future_moves_between_threads,
        ten_thousand_on_one_executor,
        losers_of_a_race_are_dropped,
        task_submits_what_it_awaits,
        two_tasks_await_each_other,
        failure_after_five_hops_is_awaited,
        fence_of_queues_is_awaited,
        joined_fence_future_fails_with_a_queue,
    ],
}

/// A blocked submission, and futures of it that wait with this waker.
fn in_flight(
    device: &Arc<dyn Device>,
    count: usize,
    waker: &std::task::Waker,
) -> Outcome<(Gate, Vec<Reached>)> {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    let end = device.create_semaphore(0)?;
    queue.submit(Submission::new().wait(gate.semaphore(), 1).signal(&end, count as u64))?;
    let mut futures: Vec<_> = (1..=count as u64).map(|value| end.reached(value)).collect();
    for future in &mut futures {
        check!(poll_once(future, waker).is_pending());
    }
    Ok((gate, futures))
}

/// Half of a hundred.
fn dropped_in_flight_they_are_not_woken_by_a_queue(device: &Arc<dyn Device>) -> Outcome {
    let ((dropped, waker), (kept, other)) = (Counter::new(), Counter::new());
    let (gate, futures) = in_flight(device, 100, &waker)?;
    let mut half: Vec<_> = futures.into_iter().step_by(2).collect();
    for future in &mut half {
        check!(poll_once(future, &other).is_pending());
    }
    gate.open()?;
    eventually("fifty are woken", || kept.woken() == 50)?;
    device.wait_idle(soon())?;
    check_eq!((dropped.woken(), kept.woken()), (0, 50));
    check!(half.iter_mut().all(|future| matches!(poll_once(future, &other), Poll::Ready(Ok(())))));
    Ok(())
}

/// By one thread, while another lets the queue go: none is lost, none is woken twice.
fn dropped_while_a_queue_signals(device: &Arc<dyn Device>) -> Outcome {
    for round in 0..50 {
        let (counter, waker) = Counter::new();
        let (gate, futures) = in_flight(device, 64, &waker)?;
        let (kept, gone): (Vec<_>, Vec<_>) = Random::new(round)
            .shuffled(futures)
            .into_iter()
            .enumerate()
            .partition(|(number, _)| number % 2 == 0);
        let gone = std::sync::Mutex::new(gone);
        on_threads(2, |thread| {
            match thread {
                0 => gate.open()?,
                _ => gone.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clear(),
            }
            Ok(())
        })?;
        for (_, future) in kept {
            block_on(future)??;
        }
        device.wait_idle(soon())?;
        check!(counter.woken() <= 64, "{} wakes", counter.woken());
    }
    Ok(())
}

/// Whoever made it may go.
fn dropped_future_keeps_no_waker(device: &Arc<dyn Device>) -> Outcome {
    let (counter, waker) = Counter::new();
    let (gate, futures) = in_flight(device, 100, &waker)?;
    drop(waker);
    check!(Arc::strong_count(&counter) > 1);
    drop(futures);
    check_eq!(Arc::strong_count(&counter), 1);
    gate.open()?;
    Ok(())
}

/// Not even those of its entries.
fn dropped_fence_future_keeps_no_waker(device: &Arc<dyn Device>) -> Outcome {
    let (counter, waker) = Counter::new();
    let timelines = timelines(device, 64)?;
    let fence: Fence = timelines.iter().map(|timeline| SemaphorePoint::new(timeline, 1)).collect();
    let mut future = fence.into_future();
    check!(poll_once(&mut future, &waker).is_pending());
    drop(waker);
    timelines[5].signal(1)?;
    check!(Arc::strong_count(&counter) > 1);
    drop(future);
    check_eq!(Arc::strong_count(&counter), 1);
    Ok(())
}

/// A hundred times; the old ones are let go of.
fn new_waker_replaces_the_old_one(device: &Arc<dyn Device>) -> Outcome {
    let timeline = device.create_semaphore(0)?;
    let mut future = timeline.reached(1);
    let mut old = Vec::new();
    for _ in 0..100 {
        let (counter, waker) = Counter::new();
        check!(poll_once(&mut future, &waker).is_pending());
        old.push(counter);
    }
    let Some(last) = old.pop() else { return Ok(()) };
    check!(old.iter().all(|counter| Arc::strong_count(counter) == 1));
    timeline.signal(1)?;
    check_eq!(last.woken(), 1);
    check!(old.iter().all(|counter| counter.woken() == 0));
    Ok(())
}

/// Polled on one, awaited on the other.
fn future_moves_between_threads(device: &Arc<dyn Device>) -> Outcome {
    let (counter, waker) = Counter::new();
    for _ in 0..20 {
        let (gate, futures) = in_flight(device, 8, &waker)?;
        let futures = std::sync::Mutex::new(futures);
        on_threads(8, |thread| {
            if thread == 0 {
                gate.open()?;
            }
            let next = futures.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop();
            if let Some(future) = next {
                block_on(future)??;
            }
            Ok(())
        })?;
    }
    check!(counter.woken() <= 160);
    Ok(())
}

/// One thread polls them all; a hundred submissions raise what they wait for.
fn ten_thousand_on_one_executor(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let gate = Gate::new(device)?;
    let timeline = device.create_semaphore(0)?;
    queues[1].submit(Submission::new().wait(gate.semaphore(), 1).signal(&timeline, 100))?;
    for step in 1..100 {
        let submission = Submission::new().wait(&timeline, step * 100).signal(&timeline, step * 100 + 100);
        queues[step as usize % 2].submit(submission)?;
    }
    let (counter, waker) = Counter::new();
    let values = Random::new(1).shuffled(1..=10_000);
    let mut futures: Vec<_> = values.into_iter().map(|value| timeline.reached(value)).collect();
    for future in &mut futures {
        check!(poll_once(future, &waker).is_pending());
    }
    gate.open()?;
    eventually("all are woken", || counter.woken() == 10_000)?;
    check!(futures.iter_mut().all(|future| matches!(poll_once(future, &waker), Poll::Ready(Ok(())))));
    check_eq!(counter.woken(), 10_000);
    Ok(())
}

/// The first of eight to end decides; the others are dropped as they wait.
fn losers_of_a_race_are_dropped(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 8)?;
    for round in 0..16 {
        let gates = (0..8).map(|_| Gate::new(device)).collect::<Result<Vec<_>>>()?;
        let ends = timelines(device, 8)?;
        for ((queue, gate), end) in queues.iter().zip(&gates).zip(&ends) {
            queue.submit(Submission::new().wait(gate.semaphore(), 1).signal(end, 1))?;
        }
        let mut racers: Vec<_> = ends.iter().map(|end| end.reached(1)).collect();
        let first = std::future::poll_fn(|context| {
            let polled = racers.iter_mut().map(|racer| poll_once(racer, context.waker()).is_ready());
            match polled.collect::<Vec<_>>().iter().position(|ready| *ready) {
                Some(winner) => Poll::Ready(winner),
                None => Poll::Pending,
            }
        });
        gates[round % 8].open()?;
        check_eq!(block_on(first)?, round % 8);
        drop(racers);
    }
    device.wait_idle(soon())?;
    Ok(())
}

/// A hundred steps.
fn task_submits_what_it_awaits(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 3)?;
    let timeline = device.create_semaphore(0)?;
    block_on(async {
        for step in 1..=100 {
            queues[step as usize % 3].submit(Submission::new().signal(&timeline, step))?;
            timeline.reached(step).await?;
        }
        Ok::<_, Error>(())
    })??;
    check_eq!(timeline.query()?, 100);
    Ok(())
}

/// On two threads, through two queues.
fn two_tasks_await_each_other(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let sides = timelines(device, 2)?;
    on_threads(2, |own| {
        Ok(block_on(async {
            for step in 1..=200 {
                // The first of the two begins.
                sides[1 - own].reached(step - 1 + own as u64).await?;
                queues[own].submit(Submission::new().signal(&sides[own], step))?;
            }
            Ok::<_, Error>(())
        })??)
    })?;
    Ok(())
}

/// With its origin.
fn failure_after_five_hops_is_awaited(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let links = timelines(device, 6)?;
    for (hop, pair) in links.windows(2).enumerate() {
        let submission = Submission::new().label(format!("hop {hop}"));
        queues[hop % 2].submit(submission.wait(&pair[0], 1).signal(&pair[1], 1))?;
    }
    let (counter, waker) = Counter::new();
    let mut future = links[5].reached(1);
    check!(poll_once(&mut future, &waker).is_pending());
    links[0].fail(Error::new(ErrorKind::Aborted, "five hops away"));
    let error = check_err!(block_on(future)?, ErrorKind::Aborted);
    check_eq!(error.origin().and_then(|origin| origin.label.as_deref()), Some("hop 0"));
    check!(counter.woken() <= 1);
    Ok(())
}

/// The last of sixteen makes it ready.
fn fence_of_queues_is_awaited(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 4)?;
    let timelines = timelines(device, 16)?;
    for step in 1..=20 {
        let mut fence = Fence::new();
        for (number, timeline) in timelines.iter().enumerate() {
            queues[number % 4].submit(Submission::new().signal(timeline, step))?;
            fence.insert(SemaphorePoint::new(timeline, step));
        }
        block_on(fence.into_future())??;
        for timeline in &timelines {
            check_eq!(timeline.query()?, step);
        }
    }
    Ok(())
}

/// Though the rest of it never comes.
fn joined_fence_future_fails_with_a_queue(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let start = device.create_semaphore(0)?;
    let ends = timelines(device, 6)?;
    queue.submit(Submission::new().label("its queue").wait(&start, 1).signal(&ends[4], 1))?;
    let mut fence: Fence = ends[..3].iter().map(|end| SemaphorePoint::new(end, 1)).collect();
    fence.join(&ends[3..].iter().map(|end| SemaphorePoint::new(end, 1)).collect());
    let failed = on_threads(2, |thread| match thread {
        0 => Ok(start.fail(Error::new(ErrorKind::Aborted, "upstream")).then_some(None)),
        _ => Ok(Some(block_on(fence.clone().into_future())?.err())),
    })?;
    let error = failed.into_iter().flatten().flatten().next();
    let label = error.as_ref().and_then(|error| error.origin()).and_then(|origin| origin.label.as_deref());
    check_eq!(label, Some("its queue"));
    Ok(())
}
