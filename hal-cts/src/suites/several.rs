//! Waits for any and all of many timelines, signalled by host and queues, reached and failed.

use crate::Outcome;
use crate::support::{Gate, Random, on_threads, queues, soon, timelines};
use hal_core::{
    Deadline, Device, Error, ErrorKind, Fence, Result, SemaphorePoint, Submission, wait_all, wait_any,
};
use std::sync::Arc;

suite! { "several",
    &[] => [
        all_of_any_number,
        any_of_any_number,
        all_of_any_number_by_queues,
        any_of_any_number_by_queues,
        all_fails_with_whichever_fails,
        all_fails_although_the_rest_is_reached,
        all_fails_although_it_was_reached_before,
        any_fails_before_anything_is_reached,
        any_is_reached_before_another_fails,
        any_of_one_timeline_says_which_value,
        all_of_one_timeline_is_its_largest_value,
        one_of_several_failures_is_told,
        thirty_two_threads_wait_for_the_same,
    ],
}

pub(super) const COUNTS: [usize; 6] = [1, 2, 3, 17, 33, 64];

pub(super) fn points(device: &Arc<dyn Device>, count: usize) -> Result<Vec<SemaphorePoint>> {
    let timelines = timelines(device, count)?;
    Ok(timelines.iter().zip(1..).map(|(timeline, value)| SemaphorePoint::new(timeline, value)).collect())
}

pub(super) fn reach(point: &SemaphorePoint) -> Outcome {
    Ok(point.semaphore.signal(point.value)?)
}

pub(super) fn fail(point: &SemaphorePoint, message: &str) {
    point.semaphore.fail(Error::new(ErrorKind::Aborted, message));
}

/// Signalled in any order by another thread.
fn all_of_any_number(device: &Arc<dyn Device>) -> Outcome {
    for count in COUNTS {
        let points = points(device, count)?;
        on_threads(2, |thread| match thread {
            0 => Random::new(count as u64).shuffled(&points).into_iter().try_for_each(reach),
            _ => Ok(wait_all(&points, soon())?),
        })?;
        check!(points.iter().all(|point| point.is_reached().is_ok_and(|reached| reached)));
    }
    Ok(())
}

/// Whichever it is.
fn any_of_any_number(device: &Arc<dyn Device>) -> Outcome {
    for count in COUNTS {
        for which in [0, count / 2, count - 1] {
            let points = points(device, count)?;
            on_threads(2, |thread| {
                match thread {
                    0 => reach(&points[which])?,
                    _ => check_eq!(wait_any(&points, soon())?, which),
                }
                Ok(())
            })?;
        }
    }
    Ok(())
}

/// A submission for each, on eight queues.
fn all_of_any_number_by_queues(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 8)?;
    for count in COUNTS {
        let points = points(device, count)?;
        for (number, point) in Random::new(count as u64).shuffled(&points).into_iter().enumerate() {
            queues[number % 8].submit(Submission::new().signal(&point.semaphore, point.value))?;
        }
        wait_all(&points, soon())?;
        wait_all(&points, Deadline::NOW)?;
    }
    Ok(())
}

/// All but one wait for what does not come.
fn any_of_any_number_by_queues(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 8)?;
    for count in COUNTS {
        let gate = Gate::new(device)?;
        let points = points(device, count)?;
        let free = count * 2 / 3;
        for (number, point) in points.iter().enumerate() {
            let submission = Submission::new().signal(&point.semaphore, point.value);
            let waits = number != free;
            let submission = if waits { submission.wait(gate.semaphore(), 1) } else { submission };
            queues[number % 8].submit(submission)?;
        }
        check_eq!(wait_any(&points, soon())?, free);
        gate.open()?;
        wait_all(&points, soon())?;
    }
    Ok(())
}

/// Nothing else has happened or will.
fn all_fails_with_whichever_fails(device: &Arc<dyn Device>) -> Outcome {
    for which in [0, 31, 63] {
        let points = points(device, 64)?;
        on_threads(2, |thread| {
            match thread {
                0 => fail(&points[which], "one of 64"),
                _ => {
                    let error = check_err!(wait_all(&points, soon()), ErrorKind::Aborted);
                    check!(error.message().contains("one of 64"), "{error}");
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// It was the last that was missing.
fn all_fails_although_the_rest_is_reached(device: &Arc<dyn Device>) -> Outcome {
    for which in [0, 1, 2] {
        let points = points(device, 3)?;
        for (_, point) in points.iter().enumerate().filter(|(number, _)| *number != which) {
            reach(point)?;
        }
        check_err!(wait_all(&points, Deadline::NOW), ErrorKind::DeadlineExceeded);
        fail(&points[which], "the last one");
        check_err!(wait_all(&points, Deadline::NOW), ErrorKind::Aborted);
        check_err!(wait_all(&points, soon()), ErrorKind::Aborted);
    }
    Ok(())
}

/// A failed timeline has no payload any more.
fn all_fails_although_it_was_reached_before(device: &Arc<dyn Device>) -> Outcome {
    let points = points(device, 5)?;
    points.iter().try_for_each(reach)?;
    wait_all(&points, Deadline::NOW)?;
    fail(&points[4], "after all");
    check_err!(wait_all(&points, Deadline::NOW), ErrorKind::Aborted);
    check_err!(points.into_iter().collect::<Fence>().query(), ErrorKind::Aborted);
    Ok(())
}

/// Whichever it is.
fn any_fails_before_anything_is_reached(device: &Arc<dyn Device>) -> Outcome {
    for which in [0, 31, 63] {
        let points = points(device, 64)?;
        on_threads(2, |thread| {
            match thread {
                0 => fail(&points[which], "the first event"),
                _ => _ = check_err!(wait_any(&points, soon()), ErrorKind::Aborted),
            }
            Ok(())
        })?;
        check_err!(wait_any(&points, Deadline::NOW), ErrorKind::Aborted);
    }
    Ok(())
}

/// A wait that has ended well is not undone.
fn any_is_reached_before_another_fails(device: &Arc<dyn Device>) -> Outcome {
    let points = points(device, 3)?;
    reach(&points[0])?;
    check_eq!(wait_any(&points, soon())?, 0);
    fail(&points[2], "too late");
    check_eq!(wait_any(&points, soon())?, 0);
    Ok(())
}

/// The lowest is reached first, wherever it stands.
fn any_of_one_timeline_says_which_value(device: &Arc<dyn Device>) -> Outcome {
    for order in [[3, 2, 1], [1, 2, 3], [2, 1, 3]] {
        let timeline = device.create_semaphore(0)?;
        let points = order.map(|value| SemaphorePoint::new(&timeline, value));
        on_threads(2, |thread| {
            match thread {
                0 => timeline.signal(1)?,
                _ => {
                    let which = wait_any(&points, soon())?;
                    check_eq!(points[which].value, 1);
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Named sixty-four times.
fn all_of_one_timeline_is_its_largest_value(device: &Arc<dyn Device>) -> Outcome {
    let timeline = device.create_semaphore(0)?;
    let values = Random::new(1).shuffled(1..=64);
    let points: Vec<_> = values.into_iter().map(|value| SemaphorePoint::new(&timeline, value)).collect();
    timeline.signal(63)?;
    check_err!(wait_all(&points, Deadline::NOW), ErrorKind::DeadlineExceeded);
    on_threads(2, |thread| match thread {
        0 => Ok(timeline.signal(64)?),
        _ => Ok(wait_all(&points, soon())?),
    })?;
    Ok(())
}

/// Not something made up of them.
fn one_of_several_failures_is_told(device: &Arc<dyn Device>) -> Outcome {
    let points = points(device, 20)?;
    for number in (7..20).rev() {
        fail(&points[number], &format!("number {number};"));
        let all = check_err!(wait_all(&points, soon()), ErrorKind::Aborted);
        let any = check_err!(wait_any(&points, soon()), ErrorKind::Aborted);
        for error in [all, any] {
            let told = |number: &usize| error.message() == format!("number {number};");
            check!((number..20).any(|number| told(&number)), "{error}");
        }
    }
    Ok(())
}

/// In all ways at once; eight timelines are raised by queues.
fn thirty_two_threads_wait_for_the_same(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let points = points(device, 8)?;
    on_threads(33, |thread| {
        match thread {
            0 => {
                for (number, point) in points.iter().enumerate() {
                    queues[number % 2].submit(Submission::new().signal(&point.semaphore, point.value))?;
                }
            }
            1..12 => wait_all(&points, soon())?,
            12..22 => {
                check!(points[wait_any(&points, soon())?].is_reached()?);
            }
            _ => points.iter().cloned().collect::<Fence>().wait(soon())?,
        }
        Ok(())
    })?;
    Ok(())
}
