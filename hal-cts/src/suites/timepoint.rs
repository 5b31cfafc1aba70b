//! Callbacks on timelines: in which order they fire, and taking them back.

use crate::Outcome;
use crate::support::{Gate, Random, eventually, queues};
use hal_core::{Device, Error, ErrorKind, Result, Semaphore, Submission, TimepointId};
use std::sync::{Arc, Mutex, PoisonError};

suite! { "timepoint",
    &[] => [
        ten_thousand_fire_in_order_of_value,
        ten_thousand_for_one_value_fire_in_order_of_age,
        ten_thousand_fire_step_by_step,
        ten_thousand_are_failed,
        every_other_of_ten_thousand_is_cancelled,
        queue_signals_fire_in_order_of_value,
        cancel_in_a_callback,
        cancel_of_a_callback_by_itself_is_too_late,
        old_registration_does_not_cancel_a_new_one,
        failure_reaches_only_what_was_not_reached,
    ],
}

/// What fired, in order.
#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<Vec<(u64, bool)>>>);

impl Log {
    /// Registers a callback that notes its number, and whether the value was reached.
    pub(super) fn register(
        &self,
        timeline: &Arc<dyn Semaphore>,
        value: u64,
        number: u64,
    ) -> Option<TimepointId> {
        let log = self.clone();
        let note = move |outcome: Result<()>| log.lock().push((number, outcome.is_ok()));
        timeline.on_reached(value, Box::new(note))
    }

    pub(super) fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(u64, bool)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether exactly these fired, in this order, and all with success.
    fn is(&self, numbers: impl Iterator<Item = u64>) -> bool {
        self.lock().iter().copied().eq(numbers.map(|number| (number, true)))
    }
}

pub(super) fn aborted() -> Error {
    Error::new(ErrorKind::Aborted, "on purpose")
}

/// One signal for all; registered in any order.
fn ten_thousand_fire_in_order_of_value(device: &Arc<dyn Device>) -> Outcome {
    let timeline = device.create_semaphore(0)?;
    let log = Log::default();
    for value in Random::new(1).shuffled(1..=10_000) {
        log.register(&timeline, value, value);
    }
    timeline.signal(u64::MAX)?;
    check!(log.is(1..=10_000));
    Ok(())
}

/// Those registered first fire first.
fn ten_thousand_for_one_value_fire_in_order_of_age(device: &Arc<dyn Device>) -> Outcome {
    let timeline = device.create_semaphore(0)?;
    let log = Log::default();
    for number in 0..10_000 {
        log.register(&timeline, 7, number);
    }
    timeline.signal(7)?;
    check!(log.is(0..10_000));
    Ok(())
}

/// A hundred by each of a hundred signals.
fn ten_thousand_fire_step_by_step(device: &Arc<dyn Device>) -> Outcome {
    let timeline = device.create_semaphore(0)?;
    let log = Log::default();
    for value in Random::new(2).shuffled(1..=10_000) {
        log.register(&timeline, value, value);
    }
    for step in 1..=100 {
        timeline.signal(step * 100)?;
        check_eq!(log.len() as u64, step * 100);
    }
    check!(log.is(1..=10_000));
    Ok(())
}

/// None is forgotten, none fires twice.
fn ten_thousand_are_failed(device: &Arc<dyn Device>) -> Outcome {
    let timeline = device.create_semaphore(0)?;
    let log = Log::default();
    for value in Random::new(3).shuffled(1..=10_000) {
        log.register(&timeline, value, value);
    }
    timeline.fail(aborted());
    let mut fired = log.lock().clone();
    fired.sort_unstable();
    check!(fired.into_iter().eq((1..=10_000).map(|number| (number, false))));
    Ok(())
}

/// The rest keeps its order.
fn every_other_of_ten_thousand_is_cancelled(device: &Arc<dyn Device>) -> Outcome {
    let timeline = device.create_semaphore(0)?;
    let log = Log::default();
    let values = Random::new(4).shuffled(1..=10_000);
    let ids: Vec<_> =
        values.into_iter().map(|value| (value, log.register(&timeline, value, value))).collect();
    for (value, id) in ids {
        if value % 2 == 0 {
            check!(id.is_some_and(|id| timeline.cancel(id)), "{value}");
        }
    }
    timeline.signal(10_000)?;
    check!(log.is((1..=10_000).step_by(2)));
    Ok(())
}

/// Each submission raises it by ten.
fn queue_signals_fire_in_order_of_value(device: &Arc<dyn Device>) -> Outcome {
    let queues = queues(device, 2)?;
    let gate = Gate::new(device)?;
    let timeline = device.create_semaphore(0)?;
    let log = Log::default();
    for value in Random::new(5).shuffled(1..=1000) {
        log.register(&timeline, value, value);
    }
    queues[0].submit(Submission::new().wait(gate.semaphore(), 1).signal(&timeline, 10))?;
    for step in 1..100 {
        let submission = Submission::new().wait(&timeline, step * 10).signal(&timeline, step * 10 + 10);
        queues[step as usize % 2].submit(submission)?;
    }
    gate.open()?;
    eventually("every callback has run", || log.len() == 1000)?;
    check!(log.is(1..=1000));
    Ok(())
}

/// The first takes back the second, which the same signal reaches: the answer says whether it still fires.
fn cancel_in_a_callback(device: &Arc<dyn Device>) -> Outcome {
    let timeline = device.create_semaphore(0)?;
    let log = Log::default();
    let second = log.register(&timeline, 2, 2);
    let (target, noted) = (timeline.clone(), log.clone());
    let cancel = move |_| {
        let cancelled = second.is_some_and(|second| target.cancel(second));
        noted.lock().push((1, cancelled));
    };
    timeline.on_reached(1, Box::new(cancel));
    timeline.signal(2)?;
    let fired = log.lock().clone();
    check!(fired == [(1, true)] || fired == [(1, false), (2, true)], "{fired:?}");
    Ok(())
}

/// It is firing.
fn cancel_of_a_callback_by_itself_is_too_late(device: &Arc<dyn Device>) -> Outcome {
    let timeline = device.create_semaphore(0)?;
    let (target, log) = (timeline.clone(), Log::default());
    let own = Arc::new(Mutex::new(None::<TimepointId>));
    let (noted, known) = (log.clone(), own.clone());
    let cancel = move |_| {
        let id = known.lock().unwrap_or_else(PoisonError::into_inner).take();
        noted.lock().push((1, id.is_some_and(|id| !target.cancel(id))));
    };
    let id = timeline.on_reached(1, Box::new(cancel));
    *own.lock().unwrap_or_else(PoisonError::into_inner) = id;
    timeline.signal(1)?;
    check!(log.is(1..=1));
    Ok(())
}

/// Whether it was cancelled or has fired.
fn old_registration_does_not_cancel_a_new_one(device: &Arc<dyn Device>) -> Outcome {
    let timeline = device.create_semaphore(0)?;
    let log = Log::default();
    let mut old = Vec::new();
    for value in 1..=100 {
        let id = log.register(&timeline, value, value);
        if value % 2 == 0 {
            check!(id.is_some_and(|id| timeline.cancel(id)));
        } else {
            timeline.signal(value)?;
        }
        old.extend(id);
    }
    // Whatever memory those used is used again.
    for number in 0..100 {
        log.register(&timeline, 1000, 1000 + number);
    }
    check_eq!(old.len(), 100);
    check!(old.iter().all(|&id| !timeline.cancel(id)));
    timeline.signal(1000)?;
    check!(log.is((1..100).step_by(2).chain(1000..1100)));
    Ok(())
}

/// Whoever got what he waited for is not told of it.
fn failure_reaches_only_what_was_not_reached(device: &Arc<dyn Device>) -> Outcome {
    let timeline = device.create_semaphore(0)?;
    let log = Log::default();
    for value in 1..=100 {
        log.register(&timeline, value, value);
    }
    timeline.signal(60)?;
    timeline.fail(aborted());
    let mut fired = log.lock().clone();
    fired.sort_unstable();
    check!(fired.into_iter().eq((1..=100).map(|value| (value, value <= 60))));
    Ok(())
}
