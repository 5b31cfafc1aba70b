//! Deadlines are points in time: they poll once past, are shared by several waits, and change nothing when they pass.

use crate::Outcome;
use crate::support::{Gate, on_threads, shortly, soon, timelines};
use hal_core::{
    Deadline, Device, Error, ErrorKind, Fence, Queue, Result, Semaphore, SemaphorePoint, Submission,
    wait_all, wait_any,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

suite! { "deadlines",
    &[] => [
        passed_deadline_polls_every_kind_of_wait,
        instant_long_past_polls,
        one_deadline_for_many_waits_is_not_restarted,
        one_deadline_for_every_kind_of_wait,
        one_deadline_for_many_threads,
        no_time_at_all_is_now,
        time_beyond_the_clock_is_never,
        failure_comes_before_the_deadline,
        what_is_reached_comes_before_the_deadline,
        deadline_in_the_middle_of_a_submission_changes_nothing,
        thousand_timeouts_leave_nothing_behind,
    ],
}

/// Every way of blocking, on something that is not reached or idle before the gate opens.
fn waits(
    device: &Arc<dyn Device>,
    queue: &Arc<dyn Queue>,
    points: &[SemaphorePoint],
    deadline: Deadline,
) -> Vec<(&'static str, Result<()>)> {
    let fence: Fence = points.iter().cloned().collect();
    let one = &points[0];
    vec![
        ("Semaphore::wait", one.semaphore.wait(one.value, deadline)),
        ("wait_all of one", wait_all(&points[..1], deadline)),
        ("wait_all", wait_all(points, deadline)),
        ("wait_any of one", wait_any(&points[..1], deadline).map(|_| ())),
        ("wait_any", wait_any(points, deadline).map(|_| ())),
        ("Fence::wait", fence.wait(deadline)),
        ("Queue::wait_idle", queue.wait_idle(deadline)),
        ("Device::wait_idle", device.wait_idle(deadline)),
    ]
}

/// A queue that waits for a gate, and points that it signals then.
struct Blocked {
    queue: Arc<dyn Queue>,
    gate: Gate,
    points: Vec<SemaphorePoint>,
}

impl Blocked {
    fn new(device: &Arc<dyn Device>) -> Result<Self> {
        let queue = device.create_queue(&Default::default())?;
        let gate = Gate::new(device)?;
        let ends = timelines(device, 3)?;
        let waiting = Submission::new().wait(gate.semaphore(), 1);
        queue.submit(ends.iter().fold(waiting, |all, end| all.signal(end, 1)))?;
        Ok(Blocked { queue, gate, points: ends.iter().map(|end| SemaphorePoint::new(end, 1)).collect() })
    }

    /// All of them time out, and later all of them succeed.
    fn times_out_and_succeeds(&self, device: &Arc<dyn Device>, deadline: Deadline) -> Outcome {
        for (name, outcome) in waits(device, &self.queue, &self.points, deadline) {
            let kind = outcome.err().map(|error| error.kind());
            check_eq!(kind, Some(ErrorKind::DeadlineExceeded), "{name}");
        }
        self.gate.open()?;
        device.wait_idle(soon())?;
        for (name, outcome) in waits(device, &self.queue, &self.points, deadline) {
            check!(outcome.is_ok(), "{name}: {outcome:?}");
        }
        Ok(())
    }
}

/// What is not there is an error at once, what is there is not.
fn passed_deadline_polls_every_kind_of_wait(device: &Arc<dyn Device>) -> Outcome {
    Blocked::new(device)?.times_out_and_succeeds(device, Deadline::NOW)
}

/// Also one that passed before the device was opened.
fn instant_long_past_polls(device: &Arc<dyn Device>) -> Outcome {
    let now = Instant::now();
    let past = now.checked_sub(Duration::from_secs(1)).unwrap_or(now);
    Blocked::new(device)?.times_out_and_succeeds(device, Deadline::at(past))
}

/// A thousand waits after the first return as if the deadline were `NOW`.
fn one_deadline_for_many_waits_is_not_restarted(device: &Arc<dyn Device>) -> Outcome {
    let timeline = device.create_semaphore(0)?;
    let deadline = shortly();
    for _ in 0..1000 {
        check_err!(timeline.wait(1, deadline), ErrorKind::DeadlineExceeded);
        check!(deadline.has_passed());
        check_eq!(deadline.remaining(), Some(Duration::ZERO));
    }
    timeline.signal(1)?;
    timeline.wait(1, deadline)?;
    Ok(())
}

/// None of them returns before it has passed.
fn one_deadline_for_every_kind_of_wait(device: &Arc<dyn Device>) -> Outcome {
    let blocked = Blocked::new(device)?;
    let deadline = shortly();
    check_err!(wait_all(&blocked.points, deadline), ErrorKind::DeadlineExceeded);
    check!(deadline.has_passed());
    blocked.times_out_and_succeeds(device, deadline)
}

/// Each waits in its own way, and none returns early.
fn one_deadline_for_many_threads(device: &Arc<dyn Device>) -> Outcome {
    let blocked = Blocked::new(device)?;
    let points = &blocked.points;
    let deadline = shortly();
    on_threads(12, |thread| {
        let outcome = match thread % 4 {
            0 => points[0].semaphore.wait(1, deadline),
            1 => wait_all(points, deadline),
            2 => wait_any(points, deadline).map(|_| ()),
            _ => blocked.queue.wait_idle(deadline),
        };
        check_err!(outcome, ErrorKind::DeadlineExceeded);
        check!(deadline.has_passed());
        Ok(())
    })?;
    blocked.times_out_and_succeeds(device, deadline)
}

/// A duration of zero polls.
fn no_time_at_all_is_now(device: &Arc<dyn Device>) -> Outcome {
    check_eq!(Deadline::after(Duration::ZERO), Deadline::NOW);
    Blocked::new(device)?.times_out_and_succeeds(device, Deadline::after(Duration::ZERO))
}

/// Waits until then end with what they wait for.
fn time_beyond_the_clock_is_never(device: &Arc<dyn Device>) -> Outcome {
    let never = Deadline::after(Duration::MAX);
    check_eq!(never, Deadline::NEVER);
    check!(!never.has_passed());
    let blocked = Blocked::new(device)?;
    on_threads(2, |thread| match thread {
        0 => Ok(blocked.gate.open()?),
        _ => Ok(wait_all(&blocked.points, never)?),
    })?;
    Ok(())
}

/// What is known is told, however late one asks.
fn failure_comes_before_the_deadline(device: &Arc<dyn Device>) -> Outcome {
    let points: Vec<_> = timelines(device, 3)?.iter().map(|one| SemaphorePoint::new(one, 1)).collect();
    points[0].semaphore.fail(Error::new(ErrorKind::Aborted, "known"));
    for deadline in [Deadline::NOW, shortly(), Deadline::NEVER] {
        check_err!(points[0].semaphore.wait(1, deadline), ErrorKind::Aborted);
        check_err!(wait_all(&points, deadline), ErrorKind::Aborted);
        check_err!(wait_any(&points, deadline), ErrorKind::Aborted);
        check_err!(points.iter().cloned().collect::<Fence>().wait(deadline), ErrorKind::Aborted);
    }
    Ok(())
}

/// The same for success.
fn what_is_reached_comes_before_the_deadline(device: &Arc<dyn Device>) -> Outcome {
    let reached: Vec<Arc<dyn Semaphore>> = timelines(device, 3)?;
    reached.iter().try_for_each(|one| one.signal(4))?;
    let points: Vec<_> = reached.iter().map(|one| SemaphorePoint::new(one, 4)).collect();
    let passed = shortly();
    while !passed.has_passed() {
        std::thread::yield_now();
    }
    wait_all(&points, passed)?;
    check_eq!(wait_any(&points, passed)?, 0);
    points[2].semaphore.wait(4, passed)?;
    Ok(())
}

/// The submission goes on; whoever gave up may come back.
fn deadline_in_the_middle_of_a_submission_changes_nothing(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let gates = [Gate::new(device)?, Gate::new(device)?];
    let end = device.create_semaphore(0)?;
    let submission = Submission::new().wait(gates[0].semaphore(), 1).wait(gates[1].semaphore(), 1);
    queue.submit(submission.signal(&end, 1))?;
    for gate in &gates {
        check_err!(end.wait(1, shortly()), ErrorKind::DeadlineExceeded);
        check_eq!(end.query()?, 0);
        gate.open()?;
    }
    end.wait(1, soon())?;
    Ok(())
}

/// Of waits that gave up: the next signal still finds those that did not.
fn thousand_timeouts_leave_nothing_behind(device: &Arc<dyn Device>) -> Outcome {
    let points: Vec<_> = timelines(device, 8)?.iter().map(|one| SemaphorePoint::new(one, 1)).collect();
    let passed = Deadline::at(Instant::now());
    for _ in 0..1000 {
        check_err!(wait_all(&points, passed), ErrorKind::DeadlineExceeded);
        check_err!(wait_any(&points, passed), ErrorKind::DeadlineExceeded);
    }
    on_threads(3, |thread| match thread {
        0 => Ok(points.iter().try_for_each(|point| point.semaphore.signal(1))?),
        1 => Ok(wait_all(&points, soon())?),
        _ => Ok(_ = wait_any(&points, soon())?),
    })?;
    Ok(())
}
