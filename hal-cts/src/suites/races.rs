//! Threads that signal, fail, register and cancel at once: each thing happens, once, to somebody.

use super::timepoint::{Log, aborted};
use crate::Outcome;
use crate::support::{Random, eventually, on_threads, soon};
use hal_core::{Device, Error, ErrorKind, Semaphore, Submission};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

suite! { "races",
    &[] => [
        cancel_races_with_the_signal,
        cancel_races_with_the_failure,
        cancel_races_with_a_queue,
        cancel_from_two_threads_succeeds_once,
        registrations_race_with_signals,
        signals_have_one_winner_per_value,
        failures_have_one_winner,
        signal_or_failure_wins,
    ],
}

/// Whoever says `true` has kept it from firing; everything else has fired.
fn cancel_races(device: &Arc<dyn Device>, end: impl Fn(&Arc<dyn Semaphore>) -> Outcome + Sync) -> Outcome {
    const COUNT: u64 = 64;
    for round in 0..100 {
        let timeline = device.create_semaphore(0)?;
        let log = Log::default();
        let order = Random::new(round).shuffled(1..=COUNT);
        let ids: Vec<_> = order.iter().map(|&value| (value, log.register(&timeline, value, value))).collect();
        let cancelled = on_threads(2, |thread| match thread {
            0 => end(&timeline).map(|()| Vec::new()),
            _ => {
                let own = ids.iter().filter(|(_, id)| id.is_some_and(|id| timeline.cancel(id)));
                Ok(own.map(|(value, _)| *value).collect())
            }
        })?
        .concat();
        eventually("every callback has run", || log.len() + cancelled.len() >= COUNT as usize)?;
        let mut all: Vec<_> = log.lock().iter().map(|(number, _)| *number).chain(cancelled).collect();
        all.sort_unstable();
        check!(all.into_iter().eq(1..=COUNT), "round {round}");
    }
    Ok(())
}

/// A signal of the host.
fn cancel_races_with_the_signal(device: &Arc<dyn Device>) -> Outcome {
    cancel_races(device, |timeline| Ok(timeline.signal(u64::MAX)?))
}

/// A failure.
fn cancel_races_with_the_failure(device: &Arc<dyn Device>) -> Outcome {
    cancel_races(device, |timeline| {
        check!(timeline.fail(aborted()));
        Ok(())
    })
}

/// A signal of a queue, which comes on a thread of the device.
fn cancel_races_with_a_queue(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    cancel_races(device, |timeline| {
        queue.submit(Submission::new().signal(timeline, u64::MAX))?;
        Ok(timeline.wait(u64::MAX, soon())?)
    })
}

/// It is dropped once.
fn cancel_from_two_threads_succeeds_once(device: &Arc<dyn Device>) -> Outcome {
    let timeline = device.create_semaphore(0)?;
    let log = Log::default();
    let ids: Vec<_> = (1..=1000).filter_map(|value| log.register(&timeline, value, value)).collect();
    check_eq!(ids.len(), 1000);
    let won = on_threads(2, |_| Ok(ids.iter().map(|&id| timeline.cancel(id)).collect::<Vec<_>>()))?;
    check!(won[0].iter().zip(&won[1]).all(|(one, other)| one != other));
    timeline.signal(1000)?;
    check_eq!(log.len(), 0);
    Ok(())
}

/// What is registered too late runs at once; nothing is lost in between.
fn registrations_race_with_signals(device: &Arc<dyn Device>) -> Outcome {
    let timeline = device.create_semaphore(0)?;
    let log = Log::default();
    on_threads(5, |thread| {
        match thread {
            0 => (1..=1000).try_for_each(|value| timeline.signal(value))?,
            _ => {
                for value in Random::new(thread as u64).shuffled(1..=1000) {
                    log.register(&timeline, value, value);
                }
            }
        }
        Ok(())
    })?;
    let mut fired = log.lock().clone();
    fired.sort_unstable();
    check!(fired.into_iter().eq((1..=1000).flat_map(|value| [(value, true); 4])));
    Ok(())
}

/// Sixteen threads signal every value from 1 on. Only an increase succeeds.
fn signals_have_one_winner_per_value(device: &Arc<dyn Device>) -> Outcome {
    let timeline = device.create_semaphore(0)?;
    let wins: Vec<AtomicUsize> = (0..=500).map(|_| AtomicUsize::new(0)).collect();
    on_threads(16, |_| {
        for value in 1..=500 {
            match timeline.signal(value) {
                Ok(()) => _ = wins[value as usize].fetch_add(1, Ordering::SeqCst),
                Err(error) => check_eq!(error.kind(), ErrorKind::InvalidArgument),
            }
        }
        Ok(())
    })?;
    check!(wins[1..].iter().all(|wins| wins.load(Ordering::SeqCst) == 1), "{wins:?}");
    check_eq!(timeline.query()?, 500);
    Ok(())
}

/// And everybody hears the winner's reason.
fn failures_have_one_winner(device: &Arc<dyn Device>) -> Outcome {
    for _ in 0..50 {
        let timeline = device.create_semaphore(0)?;
        let told = on_threads(16, |thread| {
            let first = timeline.fail(Error::new(ErrorKind::Aborted, format!("thread {thread};")));
            let error = check_err!(timeline.wait(1, soon()), ErrorKind::Aborted);
            Ok((first.then_some(thread), error.message().to_owned()))
        })?;
        let winners: Vec<_> = told.iter().filter_map(|(winner, _)| *winner).collect();
        check_eq!(winners.len(), 1);
        let reason = format!("thread {};", winners[0]);
        check!(told.iter().all(|(_, message)| message.contains(&reason)), "{told:?}");
    }
    Ok(())
}

/// A callback hears of one of them, and always of the first.
fn signal_or_failure_wins(device: &Arc<dyn Device>) -> Outcome {
    for round in 0..200 {
        let timeline = device.create_semaphore(0)?;
        let log = Log::default();
        log.register(&timeline, 1, 1);
        let succeeded = on_threads(2, |thread| match thread {
            0 => Ok(timeline.signal(1).is_ok()),
            _ => Ok(timeline.fail(aborted())),
        })?;
        check!(succeeded[1], "round {round}");
        eventually("the callback has run", || log.len() == 1)?;
        if !succeeded[0] {
            check_eq!(*log.lock(), [(1, false)], "round {round}");
        }
        check_err!(timeline.query(), ErrorKind::Aborted);
    }
    Ok(())
}
