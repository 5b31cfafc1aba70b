//! The timeline: query, signal, fail, blocking waits.

use crate::Outcome;
use crate::support::{shortly, soon};
use hal_core::{Deadline, Device, Error, ErrorKind, Origin};
use std::sync::Arc;
use std::thread;

suite! { "semaphore",
    &[] => [
        starts_at_zero,
        starts_at_any_value,
        signal_raises_the_payload,
        signal_may_skip_values,
        signal_of_the_same_value_is_refused,
        signal_of_a_lower_value_is_refused,
        full_range_is_usable,
        nothing_is_above_the_largest_value,
        timelines_are_independent,
        wait_for_the_payload_returns,
        wait_below_the_payload_returns,
        wait_for_zero_returns,
        wait_with_passed_deadline_polls,
        wait_that_times_out_changes_nothing,
        wait_can_be_repeated_after_a_timeout,
        wait_is_ended_by_a_signal_from_another_thread,
        many_threads_wait_for_one_value,
        threads_wait_for_different_values,
        two_threads_play_ping_pong,
        signals_race_and_the_payload_only_grows,
        fail_says_whether_it_was_first,
        failure_is_returned_by_everything,
        failure_keeps_kind_message_and_origin,
        first_failure_wins,
        failure_ends_waits_of_other_threads,
        failure_outweighs_a_reached_value,
        outlives_its_other_handles,
    ],
}

/// The payload is what it was created with.
fn starts_at_zero(device: &Arc<dyn Device>) -> Outcome {
    check_eq!(device.create_semaphore(0)?.query()?, 0);
    Ok(())
}

/// Also beyond 32 and 63 bits.
fn starts_at_any_value(device: &Arc<dyn Device>) -> Outcome {
    for initial in [1, 7, u64::from(u32::MAX) + 1, 1 << 63, u64::MAX] {
        check_eq!(device.create_semaphore(initial)?.query()?, initial);
    }
    Ok(())
}

/// A signal is seen by the next query.
fn signal_raises_the_payload(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    for value in 1..100 {
        semaphore.signal(value)?;
        check_eq!(semaphore.query()?, value);
    }
    Ok(())
}

/// Values in between need not be signalled.
fn signal_may_skip_values(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(3)?;
    semaphore.signal(1000)?;
    check_eq!(semaphore.query()?, 1000);
    semaphore.wait(500, Deadline::NOW)?;
    Ok(())
}

/// The payload must grow.
fn signal_of_the_same_value_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(5)?;
    check_err!(semaphore.signal(5), ErrorKind::InvalidArgument);
    check_eq!(semaphore.query()?, 5);
    Ok(())
}

/// The payload must not shrink, and a refused signal is no failure.
fn signal_of_a_lower_value_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(5)?;
    for lower in [0, 1, 4] {
        check_err!(semaphore.signal(lower), ErrorKind::InvalidArgument);
        check_eq!(semaphore.query()?, 5);
    }
    semaphore.signal(6)?;
    check_eq!(semaphore.query()?, 6);
    Ok(())
}

/// No value is kept for internal use.
fn full_range_is_usable(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    for value in [1, (1 << 62) + 1, 1 << 63, u64::MAX - 1, u64::MAX] {
        check_err!(semaphore.wait(value, Deadline::NOW), ErrorKind::DeadlineExceeded);
        semaphore.signal(value)?;
        check_eq!(semaphore.query()?, value);
        semaphore.wait(value, Deadline::NOW)?;
    }
    Ok(())
}

/// At the end of the timeline every signal is refused.
fn nothing_is_above_the_largest_value(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(u64::MAX)?;
    check_err!(semaphore.signal(u64::MAX), ErrorKind::InvalidArgument);
    check_err!(semaphore.signal(0), ErrorKind::InvalidArgument);
    check_eq!(semaphore.query()?, u64::MAX);
    Ok(())
}

/// What happens to one timeline is not seen on another.
fn timelines_are_independent(device: &Arc<dyn Device>) -> Outcome {
    let (a, b, c) = (device.create_semaphore(0)?, device.create_semaphore(0)?, device.create_semaphore(0)?);
    a.signal(9)?;
    c.fail(Error::new(ErrorKind::Aborted, "only this one"));
    check_eq!(a.query()?, 9);
    check_eq!(b.query()?, 0);
    check!(c.query().is_err());
    Ok(())
}

/// A value that is there needs no waiting.
fn wait_for_the_payload_returns(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(4)?;
    semaphore.wait(4, Deadline::NOW)?;
    semaphore.wait(4, Deadline::NEVER)?;
    Ok(())
}

/// A value that has been passed needs no waiting.
fn wait_below_the_payload_returns(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(4)?;
    semaphore.wait(1, Deadline::NOW)?;
    semaphore.wait(3, Deadline::NEVER)?;
    Ok(())
}

/// Zero is always reached.
fn wait_for_zero_returns(device: &Arc<dyn Device>) -> Outcome {
    device.create_semaphore(0)?.wait(0, Deadline::NOW)?;
    Ok(())
}

/// A deadline in the past asks without blocking.
fn wait_with_passed_deadline_polls(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    check_err!(semaphore.wait(1, Deadline::NOW), ErrorKind::DeadlineExceeded);
    let past = Deadline::at(std::time::Instant::now());
    check_err!(semaphore.wait(1, past), ErrorKind::DeadlineExceeded);
    semaphore.signal(1)?;
    semaphore.wait(1, past)?;
    Ok(())
}

/// A timeout is no failure: payload and timeline are as before.
fn wait_that_times_out_changes_nothing(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(2)?;
    check_err!(semaphore.wait(3, shortly()), ErrorKind::DeadlineExceeded);
    check_eq!(semaphore.query()?, 2);
    semaphore.signal(3)?;
    semaphore.wait(3, Deadline::NOW)?;
    Ok(())
}

/// The same wait times out again and again, and succeeds once the value is there.
fn wait_can_be_repeated_after_a_timeout(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    for _ in 0..20 {
        check_err!(semaphore.wait(1, Deadline::NOW), ErrorKind::DeadlineExceeded);
        check_err!(semaphore.wait(u64::MAX, Deadline::NOW), ErrorKind::DeadlineExceeded);
    }
    check_err!(semaphore.wait(1, shortly()), ErrorKind::DeadlineExceeded);
    semaphore.signal(1)?;
    semaphore.wait(1, soon())?;
    Ok(())
}

/// A blocked wait is woken.
fn wait_is_ended_by_a_signal_from_another_thread(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let other = semaphore.clone();
    let signaller = thread::spawn(move || other.signal(1));
    semaphore.wait(1, soon())?;
    check!(matches!(signaller.join(), Ok(Ok(()))));
    Ok(())
}

/// One signal wakes every waiter.
fn many_threads_wait_for_one_value(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let outcomes: Vec<_> = thread::scope(|scope| {
        let waiters: Vec<_> = (0..16).map(|_| scope.spawn(|| semaphore.wait(1, soon()))).collect();
        let signalled = semaphore.signal(1);
        let mut outcomes: Vec<_> = waiters.into_iter().map(|waiter| waiter.join()).collect();
        outcomes.push(Ok(signalled));
        outcomes
    });
    check!(outcomes.iter().all(|outcome| matches!(outcome, Ok(Ok(())))), "{outcomes:?}");
    Ok(())
}

/// Each waiter is woken at its own value or later, and none is forgotten.
fn threads_wait_for_different_values(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let seen: Vec<_> = thread::scope(|scope| {
        let wait = |value| semaphore.wait(value, soon()).and_then(|()| semaphore.query());
        // The largest first, so that registration order and value order differ.
        let waiters: Vec<_> = (1..=16).rev().map(|value| (value, scope.spawn(move || wait(value)))).collect();
        for value in 1..=16 {
            if let Err(error) = semaphore.signal(value) {
                return vec![(value, Ok(Err(error)))];
            }
        }
        waiters.into_iter().map(|(value, waiter)| (value, waiter.join())).collect()
    });
    for (value, outcome) in &seen {
        check!(matches!(outcome, Ok(Ok(payload)) if payload >= value), "{value}: {outcome:?}");
    }
    Ok(())
}

/// Two threads take turns 500 times.
fn two_threads_play_ping_pong(device: &Arc<dyn Device>) -> Outcome {
    let (ping, pong) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    let (to, back) = (ping.clone(), pong.clone());
    let other = thread::spawn(move || {
        for turn in 1..=500 {
            to.wait(turn, soon())?;
            back.signal(turn)?;
        }
        Ok::<_, Error>(())
    });
    for turn in 1..=500 {
        ping.signal(turn)?;
        pong.wait(turn, soon())?;
    }
    check!(matches!(other.join(), Ok(Ok(()))));
    Ok(())
}

/// Of competing signals those that come too late are refused, and the largest stands.
fn signals_race_and_the_payload_only_grows(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let refused_otherwise: Vec<_> = thread::scope(|scope| {
        let signallers: Vec<_> = (0..4)
            .map(|thread| {
                let semaphore = &semaphore;
                scope.spawn(move || {
                    let (mut wrong, mut last) = (Vec::new(), 0);
                    for step in 0..500 {
                        match semaphore.signal(1 + step * 4 + thread) {
                            Err(error) if error.kind() != ErrorKind::InvalidArgument => {
                                wrong.push(error.to_string())
                            }
                            _ => {}
                        }
                        match semaphore.query() {
                            Ok(payload) if payload >= last => last = payload,
                            other => wrong.push(format!("{other:?} after {last}")),
                        }
                    }
                    wrong
                })
            })
            .collect();
        signallers.into_iter().flat_map(|signaller| signaller.join().unwrap_or_default()).collect()
    });
    check!(refused_otherwise.is_empty(), "{refused_otherwise:?}");
    check_eq!(semaphore.query()?, 2000);
    Ok(())
}

/// `true` for the first failure, `false` for later ones.
fn fail_says_whether_it_was_first(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    check!(semaphore.fail(Error::new(ErrorKind::Aborted, "first")));
    check!(!semaphore.fail(Error::new(ErrorKind::Aborted, "second")));
    check!(!semaphore.fail(Error::new(ErrorKind::Cancelled, "third")));
    Ok(())
}

/// Query, wait and signal all return it.
fn failure_is_returned_by_everything(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    semaphore.fail(Error::new(ErrorKind::Cancelled, "no longer needed"));
    for _ in 0..2 {
        check_err!(semaphore.query(), ErrorKind::Cancelled);
        check_err!(semaphore.signal(1), ErrorKind::Cancelled);
        check_err!(semaphore.wait(1, Deadline::NOW), ErrorKind::Cancelled);
        check_err!(semaphore.wait(1, soon()), ErrorKind::Cancelled);
    }
    Ok(())
}

/// The error arrives as it was given.
fn failure_keeps_kind_message_and_origin(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let origin = Origin {
        device: "elsewhere".into(),
        queue: 3,
        sequence: 14,
        label: Some("the culprit".into()),
        kernels: vec!["k".into()],
    };
    let given = origin.clone();
    semaphore.fail(Error::new(ErrorKind::ResourceExhausted, "out of luck").with_origin(|| given));
    for error in [semaphore.query().err(), semaphore.wait(1, soon()).err()] {
        check!(error.is_some());
        if let Some(error) = error {
            check_eq!(error.kind(), ErrorKind::ResourceExhausted);
            check!(error.message().contains("out of luck"), "{error}");
            check_eq!(error.origin(), Some(&origin));
        }
    }
    Ok(())
}

/// Later failures change nothing.
fn first_failure_wins(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    semaphore.fail(Error::new(ErrorKind::Aborted, "first"));
    semaphore.fail(Error::new(ErrorKind::Cancelled, "second"));
    let error = check_err!(semaphore.query(), ErrorKind::Aborted);
    check!(error.message().contains("first"), "{error}");
    Ok(())
}

/// Blocked waits return when the timeline fails.
fn failure_ends_waits_of_other_threads(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let outcomes: Vec<_> = thread::scope(|scope| {
        let wait = |value| semaphore.wait(value, soon());
        let waiters = [1, 2, u64::MAX].map(|value| scope.spawn(move || wait(value)));
        semaphore.fail(Error::new(ErrorKind::Aborted, "stop"));
        waiters.into_iter().map(|waiter| waiter.join()).collect()
    });
    for outcome in outcomes {
        check!(matches!(&outcome, Ok(Err(error)) if error.kind() == ErrorKind::Aborted), "{outcome:?}");
    }
    Ok(())
}

/// A wait for a value reached before the failure returns the failure too.
fn failure_outweighs_a_reached_value(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    semaphore.signal(5)?;
    semaphore.fail(Error::new(ErrorKind::Aborted, "after 5"));
    check_err!(semaphore.wait(3, Deadline::NOW), ErrorKind::Aborted);
    check_err!(semaphore.query(), ErrorKind::Aborted);
    Ok(())
}

/// A clone is the same timeline, and enough to keep it.
fn outlives_its_other_handles(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let other = semaphore.clone();
    semaphore.signal(1)?;
    drop(semaphore);
    check_eq!(other.query()?, 1);
    other.signal(2)?;
    other.wait(2, Deadline::NOW)?;
    Ok(())
}
