//! What was reached before a failure is reached, whoever hears of it when.

use super::timepoint::{Log, aborted};
use crate::Outcome;
use crate::support::{eventually, on_threads, soon, timelines};
use hal_core::{Deadline, Device, SemaphorePoint, Submission, wait_any};
use std::sync::Arc;

suite! { "reached",
    &[] => [
        failure_in_a_callback_spares_callbacks_reached_by_the_same_signal,
        failure_in_a_callback_spares_submissions_reached_by_the_same_signal,
        signal_before_failure_is_what_callbacks_hear,
        any_reached_before_an_earlier_entry_failed,
    ],
}

/// All of them were reached by one signal, before the failure.
fn failure_in_a_callback_spares_callbacks_reached_by_the_same_signal(device: &Arc<dyn Device>) -> Outcome {
    let timeline = device.create_semaphore(0)?;
    let log = Log::default();
    let target = timeline.clone();
    timeline.on_reached(1, Box::new(move |_| _ = target.fail(aborted())));
    for value in 2..=5 {
        log.register(&timeline, value, value);
    }
    timeline.signal(5)?;
    check_eq!(*log.lock(), [(2, true), (3, true), (4, true), (5, true)]);
    Ok(())
}

/// The same for submissions.
fn failure_in_a_callback_spares_submissions_reached_by_the_same_signal(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let timeline = device.create_semaphore(0)?;
    let ends = timelines(device, 4)?;
    let target = timeline.clone();
    timeline.on_reached(1, Box::new(move |_| _ = target.fail(aborted())));
    for (end, value) in ends.iter().zip(2..) {
        queue.submit(Submission::new().wait(&timeline, value).signal(end, 1))?;
    }
    timeline.signal(5)?;
    for end in &ends {
        end.wait(1, soon())?;
    }
    Ok(())
}

/// A signal that succeeded came before the failure, since afterwards it would have been refused.
fn signal_before_failure_is_what_callbacks_hear(device: &Arc<dyn Device>) -> Outcome {
    for round in 0..500 {
        let timeline = device.create_semaphore(0)?;
        let log = Log::default();
        for number in 0..200 {
            log.register(&timeline, 1, number);
        }
        let succeeded = on_threads(2, |thread| match thread {
            0 => Ok(timeline.signal(1).is_ok()),
            _ => Ok(timeline.fail(aborted())),
        })?;
        eventually("all have run", || log.len() == 200)?;
        let ok = log.lock().iter().filter(|(_, ok)| *ok).count();
        check_eq!(ok, if succeeded[0] { 200 } else { 0 }, "round {round}");
    }
    Ok(())
}

/// 1 is reached, then 0 fails.
fn any_reached_before_an_earlier_entry_failed(device: &Arc<dyn Device>) -> Outcome {
    let points: Vec<_> = timelines(device, 2)?.iter().map(|one| SemaphorePoint::new(one, 1)).collect();
    points[1].semaphore.signal(1)?;
    points[0].semaphore.fail(aborted());
    check_eq!(wait_any(&points, Deadline::NOW)?, 1);
    Ok(())
}
