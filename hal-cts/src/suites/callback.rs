//! Callbacks on timelines.

use crate::Outcome;
use crate::support::soon;
use hal_core::{Callback, Deadline, Device, Error, ErrorKind, Result};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

suite! { "callback",
    &[] => [
        runs_when_the_value_is_reached,
        runs_at_once_if_reached_before,
        runs_at_once_if_failed_before,
        runs_with_the_failure,
        runs_in_the_signalling_call,
        is_not_run_below_its_value,
        is_run_by_a_larger_value,
        runs_in_order_of_values,
        many_for_one_value_all_run,
        cancelled_never_runs,
        cancel_after_running_says_so,
        cancel_frees_what_it_holds,
        cancel_leaves_others_registered,
        may_signal_another_timeline,
        may_signal_its_own_timeline,
        may_register_another,
        may_fail_another_timeline,
        chain_of_a_thousand,
    ],
}

/// A callback that sends its outcome.
fn reporter() -> (Callback, Receiver<Result<()>>) {
    let (sender, receiver) = channel();
    // The receiver may be gone when a case failed early; then nobody wants to know.
    (Box::new(move |outcome| _ = sender.send(outcome)), receiver)
}

const LONG: Duration = Duration::from_secs(20);

/// The usual case.
fn runs_when_the_value_is_reached(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let (callback, outcome) = reporter();
    check!(semaphore.on_reached(1, callback).is_some());
    check_eq!(outcome.try_recv().err(), Some(TryRecvError::Empty));
    semaphore.signal(1)?;
    check!(matches!(outcome.recv_timeout(LONG), Ok(Ok(()))));
    Ok(())
}

/// Registration of something that has happened runs the callback before it returns.
fn runs_at_once_if_reached_before(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(5)?;
    for value in [0, 3, 5] {
        let (callback, outcome) = reporter();
        check_eq!(semaphore.on_reached(value, callback), None);
        check!(matches!(outcome.try_recv(), Ok(Ok(()))));
    }
    Ok(())
}

/// The same for a failure.
fn runs_at_once_if_failed_before(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    semaphore.fail(Error::new(ErrorKind::Aborted, "too late"));
    let (callback, outcome) = reporter();
    check_eq!(semaphore.on_reached(1, callback), None);
    check!(matches!(outcome.try_recv(), Ok(Err(error)) if error.kind() == ErrorKind::Aborted));
    Ok(())
}

/// A failure runs every callback whose value was not reached.
fn runs_with_the_failure(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let (first, one) = reporter();
    let (last, other) = reporter();
    semaphore.on_reached(1, first);
    semaphore.on_reached(u64::MAX, last);
    semaphore.fail(Error::new(ErrorKind::Aborted, "the reason"));
    for outcome in [one, other] {
        let outcome = outcome.recv_timeout(LONG);
        check!(matches!(&outcome, Ok(Err(error)) if error.message().contains("the reason")), "{outcome:?}");
    }
    Ok(())
}

/// A signal runs what it reaches before it returns.
fn runs_in_the_signalling_call(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let (callback, outcome) = reporter();
    semaphore.on_reached(1, callback);
    semaphore.signal(1)?;
    check!(matches!(outcome.try_recv(), Ok(Ok(()))));
    Ok(())
}

/// A smaller value does not run it.
fn is_not_run_below_its_value(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let (callback, outcome) = reporter();
    semaphore.on_reached(3, callback);
    for value in 1..3 {
        semaphore.signal(value)?;
        check_eq!(outcome.try_recv().err(), Some(TryRecvError::Empty));
    }
    semaphore.signal(3)?;
    check!(matches!(outcome.recv_timeout(LONG), Ok(Ok(()))));
    Ok(())
}

/// The value itself need never be signalled.
fn is_run_by_a_larger_value(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let (callback, outcome) = reporter();
    semaphore.on_reached(3, callback);
    semaphore.signal(100)?;
    check!(matches!(outcome.recv_timeout(LONG), Ok(Ok(()))));
    Ok(())
}

/// Of what one signal reaches, smaller values run first.
fn runs_in_order_of_values(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let order = Arc::new(Mutex::new(Vec::new()));
    for value in [4, 1, 3, 2] {
        let order = order.clone();
        let note = move |_| order.lock().unwrap_or_else(PoisonError::into_inner).push(value);
        semaphore.on_reached(value, Box::new(note));
    }
    semaphore.signal(10)?;
    let order = order.lock().unwrap_or_else(PoisonError::into_inner);
    check_eq!(*order, [1, 2, 3, 4]);
    Ok(())
}

/// None is forgotten, and none runs twice.
fn many_for_one_value_all_run(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let (sender, receiver) = channel();
    for number in 0..1000 {
        let sender = sender.clone();
        semaphore.on_reached(1, Box::new(move |_| _ = sender.send(number)));
    }
    drop(sender);
    semaphore.signal(1)?;
    let mut ran: Vec<u32> = receiver.iter().collect();
    ran.sort_unstable();
    check!(ran.into_iter().eq(0..1000));
    Ok(())
}

/// `true` is a promise.
fn cancelled_never_runs(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let (callback, outcome) = reporter();
    let Some(timepoint) = semaphore.on_reached(1, callback) else {
        return Err(crate::Failure::new("ran before the value was reached"));
    };
    check!(semaphore.cancel(timepoint));
    check!(!semaphore.cancel(timepoint));
    semaphore.signal(1)?;
    check_eq!(outcome.try_recv().err(), Some(TryRecvError::Disconnected));
    Ok(())
}

/// What has run cannot be taken back.
fn cancel_after_running_says_so(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let (callback, outcome) = reporter();
    let timepoint = semaphore.on_reached(1, callback);
    semaphore.signal(1)?;
    check!(matches!(outcome.recv_timeout(LONG), Ok(Ok(()))));
    check!(!timepoint.is_some_and(|timepoint| semaphore.cancel(timepoint)));
    Ok(())
}

/// A cancelled callback is dropped, with everything it owns.
fn cancel_frees_what_it_holds(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let owned = Arc::new(());
    let held = owned.clone();
    let timepoint = semaphore.on_reached(1, Box::new(move |_| drop(held)));
    check_eq!(Arc::strong_count(&owned), 2);
    check!(timepoint.is_some_and(|timepoint| semaphore.cancel(timepoint)));
    check_eq!(Arc::strong_count(&owned), 1);
    Ok(())
}

/// Registrations for one value are told apart.
fn cancel_leaves_others_registered(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let (a, first) = reporter();
    let (b, second) = reporter();
    let (c, third) = reporter();
    semaphore.on_reached(1, a);
    let middle = semaphore.on_reached(1, b);
    semaphore.on_reached(1, c);
    check!(middle.is_some_and(|timepoint| semaphore.cancel(timepoint)));
    semaphore.signal(1)?;
    check!(matches!(first.recv_timeout(LONG), Ok(Ok(()))));
    check!(matches!(third.recv_timeout(LONG), Ok(Ok(()))));
    check_eq!(second.try_recv().err(), Some(TryRecvError::Disconnected));
    Ok(())
}

/// No lock is held while a callback runs.
fn may_signal_another_timeline(device: &Arc<dyn Device>) -> Outcome {
    let (semaphore, other) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    let target = other.clone();
    semaphore.on_reached(1, Box::new(move |_| _ = target.signal(7)));
    semaphore.signal(1)?;
    other.wait(7, soon())?;
    Ok(())
}

/// Not even that of its own timeline.
fn may_signal_its_own_timeline(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let target = semaphore.clone();
    let (callback, outcome) = reporter();
    semaphore.on_reached(2, callback);
    semaphore.on_reached(1, Box::new(move |_| _ = target.signal(2)));
    semaphore.signal(1)?;
    check!(matches!(outcome.recv_timeout(LONG), Ok(Ok(()))));
    check_eq!(semaphore.query()?, 2);
    Ok(())
}

/// A callback may register the next.
fn may_register_another(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let target = semaphore.clone();
    let (callback, outcome) = reporter();
    semaphore.on_reached(1, Box::new(move |_| _ = target.on_reached(2, callback)));
    semaphore.signal(1)?;
    check_eq!(outcome.try_recv().err(), Some(TryRecvError::Empty));
    semaphore.signal(2)?;
    check!(matches!(outcome.recv_timeout(LONG), Ok(Ok(()))));
    Ok(())
}

/// A callback may pass a failure on.
fn may_fail_another_timeline(device: &Arc<dyn Device>) -> Outcome {
    let (semaphore, other) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    let target = other.clone();
    let pass_on = move |outcome: Result<()>| {
        if let Err(error) = outcome {
            target.fail(error);
        }
    };
    semaphore.on_reached(1, Box::new(pass_on));
    semaphore.fail(Error::new(ErrorKind::Aborted, "passed on"));
    let error = check_err!(other.wait(1, soon()), ErrorKind::Aborted);
    check!(error.message().contains("passed on"), "{error}");
    Ok(())
}

/// Each of a thousand timelines signals the next: no stack may overflow.
fn chain_of_a_thousand(device: &Arc<dyn Device>) -> Outcome {
    let links = (0..1000).map(|_| device.create_semaphore(0)).collect::<Result<Vec<_>>>()?;
    for pair in links.windows(2) {
        let next = pair[1].clone();
        pair[0].on_reached(1, Box::new(move |_| _ = next.signal(1)));
    }
    links[0].signal(1)?;
    links[999].wait(1, soon())?;
    check_eq!(links[500].query()?, 1);
    links[999].wait(1, Deadline::NOW)?;
    Ok(())
}
