//! Blocking waits over several timelines, of any devices and backends.

use crate::{Deadline, Error, ErrorKind, Result, SemaphorePoint, TimepointId};
use std::cmp::Reverse;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Blocks until every point is reached. No points: returns at once.
///
/// # Errors
/// The first failure among them, as soon as it happens; `DeadlineExceeded`, naming how many are missing.
pub fn wait_all(points: &[SemaphorePoint], deadline: Deadline) -> Result<()> {
    let mut unreached = Vec::new();
    for point in points {
        if !point.is_reached()? {
            unreached.push(point);
        }
    }
    merge(&mut unreached);
    match unreached[..] {
        [] => Ok(()),
        [point] => point.semaphore.wait(point.value, deadline),
        _ => {
            let needed = unreached.len();
            wait_many(&unreached, needed, deadline).map(|_| ())
        }
    }
}

/// Leaves one point per timeline, the one with the largest value, since reaching it implies the others.
fn merge(points: &mut Vec<&SemaphorePoint>) {
    let timeline = |point: &&SemaphorePoint| Arc::as_ptr(&point.semaphore).cast::<()>().addr();
    points.sort_unstable_by_key(|point| (timeline(point), Reverse(point.value)));
    points.dedup_by_key(|point| timeline(point));
}

/// Blocks until one point is reached, and says which. A reached point counts even if others have failed.
///
/// # Errors
/// The first failure among them, if it is found before any is reached; `DeadlineExceeded`; `InvalidArgument` if there
/// are no points, since that wait could never end.
pub fn wait_any(points: &[SemaphorePoint], deadline: Deadline) -> Result<usize> {
    if points.is_empty() {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            "waiting for any of no points never ends; pass one or more",
        ));
    }
    let mut failure = None;
    for (index, point) in points.iter().enumerate() {
        match point.is_reached() {
            Ok(true) => return Ok(index),
            Ok(false) => {}
            Err(error) => {
                failure.get_or_insert(error);
            }
        }
    }
    if let Some(error) = failure {
        return Err(error);
    }
    let all: Vec<_> = points.iter().collect();
    wait_many(&all, 1, deadline)
}

struct Shared {
    progress: Mutex<Progress>,
    changed: Condvar,
}

#[derive(Default)]
struct Progress {
    reached: usize,
    last: usize,
    failure: Option<Error>,
}

/// Waits for `needed` of the points, and returns the index of the last one that counted.
fn wait_many(points: &[&SemaphorePoint], needed: usize, deadline: Deadline) -> Result<usize> {
    let shared = Arc::new(Shared { progress: Mutex::default(), changed: Condvar::new() });
    let registered: Vec<Option<TimepointId>> = points
        .iter()
        .enumerate()
        .map(|(index, point)| {
            let shared = shared.clone();
            let callback = Box::new(move |outcome: Result<()>| shared.resolve(index, needed, outcome));
            point.semaphore.on_reached(point.value, callback)
        })
        .collect();
    let outcome = shared.wait(needed, deadline);
    for (point, timepoint) in points.iter().zip(registered) {
        if let Some(timepoint) = timepoint {
            point.semaphore.cancel(timepoint);
        }
    }
    outcome
}

impl Shared {
    fn resolve(&self, index: usize, needed: usize, outcome: Result<()>) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        match outcome {
            Ok(()) => {
                // The first `needed` count; a later one must not change the answer.
                if progress.reached < needed {
                    progress.reached += 1;
                    progress.last = index;
                }
            }
            Err(error) => {
                progress.failure.get_or_insert(error);
            }
        }
        drop(progress);
        self.changed.notify_one();
    }

    fn wait(&self, needed: usize, deadline: Deadline) -> Result<usize> {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if progress.reached >= needed {
                return Ok(progress.last);
            }
            if let Some(error) = progress.failure.take() {
                return Err(error);
            }
            let missing = needed - progress.reached;
            progress = match deadline.remaining() {
                None => self.changed.wait(progress).unwrap_or_else(PoisonError::into_inner),
                Some(left) if left.is_zero() => {
                    return Err(Error::new(
                        ErrorKind::DeadlineExceeded,
                        format!("waiting for {needed} semaphore points, {missing} still missing"),
                    ));
                }
                Some(left) => {
                    let waited = self.changed.wait_timeout(progress, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}
