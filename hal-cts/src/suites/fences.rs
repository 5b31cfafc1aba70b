//! Fences of any size, joined and failed.

use super::several::{COUNTS, fail, points, reach};
use crate::Outcome;
use crate::futures::block_on;
use crate::support::{Gate, on_threads, queues, soon, timelines};
use hal_core::{Device, ErrorKind, Fence, SemaphorePoint, Submission};
use std::future::IntoFuture;
use std::sync::Arc;

suite! { "fences",
    &[] => [
        fence_of_any_number,
        joined_fence_fails_with_either,
        join_of_failed_fences_has_failed,
        join_with_itself_changes_nothing,
        fence_is_reached_although_later_values_fail_to_come,
        fence_of_submissions_of_eight_queues,
    ],
}

/// Waited for and awaited.
fn fence_of_any_number(device: &Arc<dyn Device>) -> Outcome {
    for count in COUNTS {
        let points = points(device, count)?;
        let fence: Fence = points.iter().cloned().collect();
        check_eq!(fence.points().len(), count);
        check!(!fence.query()?);
        on_threads(3, |thread| match thread {
            0 => points.iter().rev().try_for_each(reach),
            1 => Ok(fence.wait(soon())?),
            _ => Ok(block_on(fence.clone().into_future())??),
        })?;
        check!(fence.query()?);
    }
    Ok(())
}

/// One of its own, or one that came with the other.
fn joined_fence_fails_with_either(device: &Arc<dyn Device>) -> Outcome {
    for which in 0..6 {
        let points = points(device, 6)?;
        let mut fence: Fence = points[..3].iter().cloned().collect();
        fence.join(&points[3..].iter().cloned().collect());
        check_eq!(fence.points().len(), 6);
        on_threads(3, |thread| {
            match thread {
                0 => fail(&points[which], "either"),
                1 => _ = check_err!(fence.wait(soon()), ErrorKind::Aborted),
                _ => _ = check_err!(block_on(fence.clone().into_future())?, ErrorKind::Aborted),
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Whichever way it is asked.
fn join_of_failed_fences_has_failed(device: &Arc<dyn Device>) -> Outcome {
    let points = points(device, 4)?;
    fail(&points[3], "of the second fence");
    fail(&points[1], "of the first fence");
    let mut fence: Fence = points[..2].iter().cloned().collect();
    fence.join(&points[2..].iter().cloned().collect());
    for error in [fence.query().err(), fence.wait(soon()).err(), block_on(fence.into_future())?.err()] {
        check!(error.as_ref().is_some_and(|error| error.message().ends_with(" fence")), "{error:?}");
    }
    Ok(())
}

/// Nor does a join with less.
fn join_with_itself_changes_nothing(device: &Arc<dyn Device>) -> Outcome {
    let points = points(device, 5)?;
    let mut fence: Fence = points.iter().cloned().collect();
    fence.join(&fence.clone());
    fence.join(&Fence::new());
    fence.join(&points.iter().map(|point| SemaphorePoint::new(&point.semaphore, 0)).collect());
    check_eq!(fence.points().len(), 5);
    for (entry, point) in fence.points().iter().zip(&points) {
        check!(entry.same_timeline(point));
        check_eq!(entry.value, point.value);
    }
    Ok(())
}

/// A fence asks for its own values only.
fn fence_is_reached_although_later_values_fail_to_come(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gate = Gate::new(device)?;
    let timelines = timelines(device, 4)?;
    for timeline in &timelines {
        queue.submit(Submission::new().signal(timeline, 1))?;
        queue.submit(Submission::new().wait(gate.semaphore(), 1).signal(timeline, 2))?;
    }
    let fence: Fence = timelines.iter().map(|timeline| SemaphorePoint::new(timeline, 1)).collect();
    fence.wait(soon())?;
    check!(fence.query()?);
    gate.open()?;
    device.wait_idle(soon())?;
    check!(fence.query()?);
    Ok(())
}

/// What a framework waits for at the end of a step.
fn fence_of_submissions_of_eight_queues(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 8)?;
    let timelines = timelines(device, 8)?;
    for step in 1..=20 {
        let mut fence = Fence::new();
        for (queue, timeline) in queues.iter().zip(&timelines) {
            queue.submit(Submission::new().signal(timeline, step))?;
            fence.insert(SemaphorePoint::new(timeline, step));
        }
        fence.wait(soon())?;
        for timeline in &timelines {
            check_eq!(timeline.query()?, step);
        }
    }
    Ok(())
}
