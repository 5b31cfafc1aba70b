//! Waits over several timelines: all, any, fences.

use crate::Outcome;
use crate::support::{shortly, soon};
use hal_core::{Deadline, Device, Error, ErrorKind, Fence, SemaphorePoint, wait_all, wait_any};
use std::sync::Arc;
use std::thread;

suite! { "waiting",
    &[] => [
        all_of_nothing_returns,
        any_of_nothing_is_refused,
        all_reached_returns_at_once,
        all_waits_for_the_last,
        all_times_out_while_one_is_missing,
        all_returns_a_failure_before_the_rest,
        all_counts_one_timeline_twice,
        any_says_which,
        any_prefers_the_first_reached,
        any_times_out_and_changes_nothing,
        any_returns_a_failure,
        any_takes_one_timeline_twice,
        any_of_many_is_woken_by_one,
        empty_fence_is_reached,
        fence_keeps_the_larger_value,
        fence_joins,
        fence_waits_for_every_entry,
        fence_times_out,
        fence_fails_with_the_first_failure,
    ],
}

fn point(device: &Arc<dyn Device>, initial: u64, value: u64) -> hal_core::Result<SemaphorePoint> {
    Ok(SemaphorePoint::new(&device.create_semaphore(initial)?, value))
}

/// There is nothing to wait for.
fn all_of_nothing_returns(_: &Arc<dyn Device>) -> Outcome {
    wait_all(&[], Deadline::NOW)?;
    wait_all(&[], Deadline::NEVER)?;
    Ok(())
}

/// It could never end.
fn any_of_nothing_is_refused(_: &Arc<dyn Device>) -> Outcome {
    check_err!(wait_any(&[], Deadline::NOW), ErrorKind::InvalidArgument);
    check_err!(wait_any(&[], Deadline::NEVER), ErrorKind::InvalidArgument);
    Ok(())
}

/// Points that are reached are not waited for.
fn all_reached_returns_at_once(device: &Arc<dyn Device>) -> Outcome {
    wait_all(&[point(device, 1, 1)?, point(device, 9, 3)?, point(device, 0, 0)?], Deadline::NOW)?;
    Ok(())
}

/// The wait ends with the last signal.
fn all_waits_for_the_last(device: &Arc<dyn Device>) -> Outcome {
    let points = [point(device, 0, 1)?, point(device, 0, 2)?, point(device, 0, 3)?];
    let others = points.clone();
    let signaller = thread::spawn(move || others.iter().try_for_each(|p| p.semaphore.signal(p.value)));
    wait_all(&points, soon())?;
    for point in &points {
        check!(point.is_reached()?);
    }
    check!(matches!(signaller.join(), Ok(Ok(()))));
    Ok(())
}

/// One missing point is enough, and the wait can be repeated.
fn all_times_out_while_one_is_missing(device: &Arc<dyn Device>) -> Outcome {
    let points = [point(device, 1, 1)?, point(device, 0, 1)?, point(device, 0, 1)?];
    points[1].semaphore.signal(1)?;
    check_err!(wait_all(&points, Deadline::NOW), ErrorKind::DeadlineExceeded);
    check_err!(wait_all(&points, shortly()), ErrorKind::DeadlineExceeded);
    points[2].semaphore.signal(1)?;
    wait_all(&points, Deadline::NOW)?;
    Ok(())
}

/// A failure ends the wait although other points are missing.
fn all_returns_a_failure_before_the_rest(device: &Arc<dyn Device>) -> Outcome {
    let points = [point(device, 0, 1)?, point(device, 0, 1)?];
    let failing = points[1].semaphore.clone();
    let other = thread::spawn(move || failing.fail(Error::new(ErrorKind::Aborted, "gone")));
    let error = check_err!(wait_all(&points, soon()), ErrorKind::Aborted);
    check!(error.message().contains("gone"), "{error}");
    check!(other.join().is_ok());
    check_err!(wait_all(&points, Deadline::NOW), ErrorKind::Aborted);
    Ok(())
}

/// The same timeline twice counts once, with the larger value.
fn all_counts_one_timeline_twice(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let points = [3, 1, 3].map(|value| SemaphorePoint::new(&semaphore, value));
    semaphore.signal(2)?;
    check_err!(wait_all(&points, Deadline::NOW), ErrorKind::DeadlineExceeded);
    let other = semaphore.clone();
    let signaller = thread::spawn(move || other.signal(3));
    wait_all(&points, soon())?;
    check!(matches!(signaller.join(), Ok(Ok(()))));
    Ok(())
}

/// The index is that of the point that was reached.
fn any_says_which(device: &Arc<dyn Device>) -> Outcome {
    let points = [point(device, 0, 1)?, point(device, 0, 1)?, point(device, 0, 1)?];
    let second = points[1].semaphore.clone();
    let signaller = thread::spawn(move || second.signal(1));
    check_eq!(wait_any(&points, soon())?, 1);
    check!(matches!(signaller.join(), Ok(Ok(()))));
    Ok(())
}

/// Points that are reached already are answered in order.
fn any_prefers_the_first_reached(device: &Arc<dyn Device>) -> Outcome {
    let points = [point(device, 0, 1)?, point(device, 1, 1)?, point(device, 2, 1)?];
    check_eq!(wait_any(&points, Deadline::NOW)?, 1);
    Ok(())
}

/// A timeout leaves every timeline usable.
fn any_times_out_and_changes_nothing(device: &Arc<dyn Device>) -> Outcome {
    let points = [point(device, 0, 1)?, point(device, 0, 1)?];
    check_err!(wait_any(&points, Deadline::NOW), ErrorKind::DeadlineExceeded);
    check_err!(wait_any(&points, shortly()), ErrorKind::DeadlineExceeded);
    points[0].semaphore.signal(1)?;
    check_eq!(wait_any(&points, Deadline::NOW)?, 0);
    check_eq!(points[1].semaphore.query()?, 0);
    Ok(())
}

/// A failure ends the wait if nothing was reached before.
fn any_returns_a_failure(device: &Arc<dyn Device>) -> Outcome {
    let points = [point(device, 0, 1)?, point(device, 0, 1)?];
    points[1].semaphore.fail(Error::new(ErrorKind::Cancelled, "gone"));
    check_err!(wait_any(&points, soon()), ErrorKind::Cancelled);
    Ok(())
}

/// Two points of one timeline: the lower is reached first.
fn any_takes_one_timeline_twice(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let points = [9, 1].map(|value| SemaphorePoint::new(&semaphore, value));
    semaphore.signal(1)?;
    check_eq!(wait_any(&points, soon())?, 1);
    Ok(())
}

/// One of 64.
fn any_of_many_is_woken_by_one(device: &Arc<dyn Device>) -> Outcome {
    let points = (0..64).map(|_| point(device, 0, 1)).collect::<hal_core::Result<Vec<_>>>()?;
    let one = points[37].semaphore.clone();
    let signaller = thread::spawn(move || one.signal(1));
    check_eq!(wait_any(&points, soon())?, 37);
    check!(matches!(signaller.join(), Ok(Ok(()))));
    Ok(())
}

/// Nothing is missing.
fn empty_fence_is_reached(_: &Arc<dyn Device>) -> Outcome {
    let fence = Fence::new();
    check!(fence.query()?);
    fence.wait(Deadline::NOW)?;
    check!(fence.points().is_empty());
    Ok(())
}

/// Of two points of one timeline the larger stays, whatever the order.
fn fence_keeps_the_larger_value(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    for order in [[1, 5], [5, 1]] {
        let fence: Fence = order.into_iter().map(|value| SemaphorePoint::new(&semaphore, value)).collect();
        check_eq!(fence.points().len(), 1);
        check_eq!(fence.points()[0].value, 5);
    }
    Ok(())
}

/// A join has the entries of both.
fn fence_joins(device: &Arc<dyn Device>) -> Outcome {
    let (a, b) = (point(device, 0, 2)?, point(device, 0, 7)?);
    let mut fence: Fence = [a.clone()].into_iter().collect();
    let other: Fence = [b.clone(), SemaphorePoint::new(&a.semaphore, 3)].into_iter().collect();
    fence.join(&other);
    check_eq!(fence.points().len(), 2);
    a.semaphore.signal(2)?;
    b.semaphore.signal(7)?;
    check!(!fence.query()?);
    a.semaphore.signal(3)?;
    check!(fence.query()?);
    Ok(())
}

/// A fence ends with its last entry.
fn fence_waits_for_every_entry(device: &Arc<dyn Device>) -> Outcome {
    let points = [point(device, 0, 1)?, point(device, 0, 2)?, point(device, 5, 3)?];
    let fence: Fence = points.iter().cloned().collect();
    check!(!fence.query()?);
    let signaller = thread::spawn(move || {
        points[1].semaphore.signal(2)?;
        points[0].semaphore.signal(1)
    });
    fence.wait(soon())?;
    check!(fence.query()?);
    check!(matches!(signaller.join(), Ok(Ok(()))));
    Ok(())
}

/// A timeout changes nothing.
fn fence_times_out(device: &Arc<dyn Device>) -> Outcome {
    let point = point(device, 0, 1)?;
    let fence: Fence = [point.clone()].into_iter().collect();
    check_err!(fence.wait(Deadline::NOW), ErrorKind::DeadlineExceeded);
    check_err!(fence.wait(shortly()), ErrorKind::DeadlineExceeded);
    point.semaphore.signal(1)?;
    fence.wait(Deadline::NOW)?;
    Ok(())
}

/// One failed entry fails it.
fn fence_fails_with_the_first_failure(device: &Arc<dyn Device>) -> Outcome {
    let points = [point(device, 1, 1)?, point(device, 0, 1)?, point(device, 0, 1)?];
    let fence: Fence = points.iter().cloned().collect();
    points[2].semaphore.fail(Error::new(ErrorKind::Aborted, "third entry"));
    let error = check_err!(fence.query(), ErrorKind::Aborted);
    check!(error.message().contains("third entry"), "{error}");
    check_err!(fence.wait(soon()), ErrorKind::Aborted);
    Ok(())
}
