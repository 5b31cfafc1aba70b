//! Awaiting timelines and fences, on no runtime.

use crate::futures::{Counter, block_on, poll_once};
use crate::support::{Gate, soon};
use crate::{Failure, Outcome};
use hal_core::{Device, Error, ErrorKind, Fence, SemaphoreExt, SemaphorePoint, Submission};
use std::future::IntoFuture;
use std::sync::Arc;
use std::task::Poll;
use std::thread;

suite! { "future",
    &[] => [
        ready_if_reached,
        ready_with_the_failure,
        pending_until_signalled,
        signal_wakes,
        failure_wakes,
        smaller_signal_does_not_wake,
        last_waker_is_the_one_woken,
        dropped_future_is_not_woken,
        dropped_future_frees_its_waker,
        future_never_polled_may_be_dropped,
        future_keeps_its_timeline,
        awaited_from_another_thread,
        thousand_futures_on_one_timeline,
        futures_for_different_values,
        empty_fence_is_ready,
        fence_is_awaited,
        fence_future_fails_with_its_first_failure,
        completion_of_a_submission_is_awaited,
        thousand_futures_of_one_submission,
    ],
}

/// No waiting, no waking.
fn ready_if_reached(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(5)?;
    let (counter, waker) = Counter::new();
    for value in [0, 4, 5] {
        check!(matches!(poll_once(&mut semaphore.reached(value), &waker), Poll::Ready(Ok(()))));
    }
    check_eq!(counter.woken(), 0);
    Ok(())
}

/// A failed timeline is an answer.
fn ready_with_the_failure(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    semaphore.fail(Error::new(ErrorKind::Cancelled, "not today"));
    let error = check_err!(block_on(semaphore.reached(1))?, ErrorKind::Cancelled);
    check!(error.message().contains("not today"), "{error}");
    Ok(())
}

/// Polling has no effect on the timeline.
fn pending_until_signalled(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let (_, waker) = Counter::new();
    let mut future = semaphore.reached(1);
    for _ in 0..10 {
        check!(poll_once(&mut future, &waker).is_pending());
    }
    check_eq!(semaphore.query()?, 0);
    semaphore.signal(1)?;
    check!(matches!(poll_once(&mut future, &waker), Poll::Ready(Ok(()))));
    Ok(())
}

/// A host signal has woken before it returns.
fn signal_wakes(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let (counter, waker) = Counter::new();
    let mut future = semaphore.reached(1);
    check!(poll_once(&mut future, &waker).is_pending());
    check_eq!(counter.woken(), 0);
    semaphore.signal(1)?;
    check_eq!(counter.woken(), 1);
    check!(matches!(poll_once(&mut future, &waker), Poll::Ready(Ok(()))));
    Ok(())
}

/// So does a failure.
fn failure_wakes(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let (counter, waker) = Counter::new();
    let mut future = semaphore.reached(1);
    check!(poll_once(&mut future, &waker).is_pending());
    semaphore.fail(Error::new(ErrorKind::Aborted, "stop"));
    check_eq!(counter.woken(), 1);
    check!(matches!(poll_once(&mut future, &waker), Poll::Ready(Err(_))));
    Ok(())
}

/// Only what is reached is woken.
fn smaller_signal_does_not_wake(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let (counter, waker) = Counter::new();
    let mut future = semaphore.reached(3);
    check!(poll_once(&mut future, &waker).is_pending());
    semaphore.signal(2)?;
    check_eq!(counter.woken(), 0);
    check!(poll_once(&mut future, &waker).is_pending());
    semaphore.signal(3)?;
    check_eq!(counter.woken(), 1);
    Ok(())
}

/// A future that moves to another task is polled with another waker, which replaces the first.
fn last_waker_is_the_one_woken(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let ((first, a), (second, b)) = (Counter::new(), Counter::new());
    let mut future = semaphore.reached(1);
    check!(poll_once(&mut future, &a).is_pending());
    check!(poll_once(&mut future, &b).is_pending());
    semaphore.signal(1)?;
    check_eq!(second.woken(), 1);
    check_eq!(first.woken(), 0);
    Ok(())
}

/// Nobody listens any more.
fn dropped_future_is_not_woken(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let (counter, waker) = Counter::new();
    let mut future = semaphore.reached(1);
    check!(poll_once(&mut future, &waker).is_pending());
    drop(future);
    semaphore.signal(1)?;
    check_eq!(counter.woken(), 0);
    Ok(())
}

/// Deregistration drops the waker: futures that are made and dropped in a loop leave nothing behind.
fn dropped_future_frees_its_waker(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let (counter, waker) = Counter::new();
    let before = Arc::strong_count(&counter);
    for value in 1..=100 {
        let mut future = semaphore.reached(value);
        check!(poll_once(&mut future, &waker).is_pending());
    }
    check_eq!(Arc::strong_count(&counter), before);
    Ok(())
}

/// A future does nothing before it is polled.
fn future_never_polled_may_be_dropped(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    drop(semaphore.reached(1));
    semaphore.signal(1)?;
    Ok(())
}

/// The future holds what it waits for.
fn future_keeps_its_timeline(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(1)?;
    let future = semaphore.reached(1);
    drop(semaphore);
    block_on(future)??;
    Ok(())
}

/// The wake comes from the signalling thread.
fn awaited_from_another_thread(device: &Arc<dyn Device>) -> Outcome {
    for _ in 0..50 {
        let semaphore = device.create_semaphore(0)?;
        let other = semaphore.clone();
        let signaller = thread::spawn(move || other.signal(1));
        block_on(semaphore.reached(1))??;
        check!(matches!(signaller.join(), Ok(Ok(()))));
    }
    Ok(())
}

/// Each of a thousand is woken once.
fn thousand_futures_on_one_timeline(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let (counter, waker) = Counter::new();
    let mut futures: Vec<_> = (0..1000).map(|_| semaphore.reached(1)).collect();
    for future in &mut futures {
        check!(poll_once(future, &waker).is_pending());
    }
    semaphore.signal(1)?;
    check_eq!(counter.woken(), 1000);
    for future in &mut futures {
        check!(matches!(poll_once(future, &waker), Poll::Ready(Ok(()))));
    }
    Ok(())
}

/// Each is woken by the signal that reaches it.
fn futures_for_different_values(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let (counter, waker) = Counter::new();
    let mut futures: Vec<_> = (1..=100).rev().map(|value| semaphore.reached(value)).collect();
    for future in &mut futures {
        check!(poll_once(future, &waker).is_pending());
    }
    for value in 1..=100 {
        semaphore.signal(value)?;
        check_eq!(counter.woken() as u64, value);
    }
    Ok(())
}

/// There is nothing to wait for.
fn empty_fence_is_ready(_: &Arc<dyn Device>) -> Outcome {
    block_on(Fence::new().into_future())??;
    Ok(())
}

/// A fence is ready when its last entry is.
fn fence_is_awaited(device: &Arc<dyn Device>) -> Outcome {
    let semaphores = [device.create_semaphore(0)?, device.create_semaphore(0)?, device.create_semaphore(9)?];
    let fence: Fence = semaphores.iter().map(|semaphore| SemaphorePoint::new(semaphore, 2)).collect();
    let (counter, waker) = Counter::new();
    let mut future = fence.clone().into_future();
    check!(poll_once(&mut future, &waker).is_pending());
    semaphores[0].signal(2)?;
    check_eq!(counter.woken(), 1);
    check!(poll_once(&mut future, &waker).is_pending());
    semaphores[1].signal(2)?;
    check!(matches!(poll_once(&mut future, &waker), Poll::Ready(Ok(()))));
    block_on(fence.into_future())??;
    Ok(())
}

/// A failed entry makes the future ready although others are missing.
fn fence_future_fails_with_its_first_failure(device: &Arc<dyn Device>) -> Outcome {
    let semaphores = [device.create_semaphore(0)?, device.create_semaphore(0)?];
    let fence: Fence = semaphores.iter().map(|semaphore| SemaphorePoint::new(semaphore, 1)).collect();
    let failing = semaphores[1].clone();
    let other = thread::spawn(move || failing.fail(Error::new(ErrorKind::Aborted, "second entry")));
    let error = check_err!(block_on(fence.into_future())?, ErrorKind::Aborted);
    check!(error.message().contains("second entry"), "{error}");
    check!(matches!(other.join(), Ok(true)));
    Ok(())
}

/// What a queue signals wakes a future.
fn completion_of_a_submission_is_awaited(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let timeline = device.create_semaphore(0)?;
    for value in 1..=20 {
        queue.submit(Submission::new().signal(&timeline, value))?;
        block_on(timeline.reached(value))??;
    }
    Ok(())
}

/// One completion wakes a thousand.
fn thousand_futures_of_one_submission(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    let done = device.create_semaphore(0)?;
    queue.submit(Submission::new().wait(gate.semaphore(), 1).signal(&done, 1))?;
    let (counter, waker) = Counter::new();
    let mut futures: Vec<_> = (0..1000).map(|_| done.reached(1)).collect();
    for future in &mut futures {
        check!(poll_once(future, &waker).is_pending());
    }
    gate.open()?;
    done.wait(1, soon())?;
    let all = async {
        for future in futures {
            future.await?;
        }
        Ok::<_, Error>(())
    };
    block_on(all)??;
    if counter.woken() > 1000 {
        return Err(Failure::new(format!("1000 futures were woken {} times", counter.woken())));
    }
    Ok(())
}
