//! Who waits for what, by value.

use super::Worklist;
use super::by_value::ByValue;
use crate::sync::thread::Thread;
use crate::sync::{Arc, assert_unlocked};
use hal_core::{Callback, DeviceId, Error, TimepointId};
use std::any::Any;
use std::collections::VecDeque;
use std::task::Waker;

/// Something on a device that will signal, which that device's streams can wait for.
pub(crate) trait DevicePoint: Send + Sync {
    /// The device.
    fn device(&self) -> DeviceId;

    /// For that device to recognise it.
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

/// A submission that waits. Called without locks; exactly one method, once per registration.
pub(crate) trait Dependant: Send + Sync {
    /// The value is reached.
    fn reached(self: Arc<Self>, worklist: &mut Worklist);

    /// The rest of the wait can happen on the device.
    fn issued(self: Arc<Self>, point: &Arc<dyn DevicePoint>, worklist: &mut Worklist);

    /// The value will never be reached.
    fn failed(self: Arc<Self>, error: &Error, worklist: &mut Worklist);
}

pub(super) enum Waiter {
    Thread(Thread),
    Waker(Waker),
    Callback(Callback),
    Dependant(Arc<dyn Dependant>),
}

impl Waiter {
    pub(super) fn reached(self, worklist: &mut Worklist) {
        assert_unlocked();
        match self {
            Waiter::Thread(thread) => thread.unpark(),
            Waiter::Waker(waker) => waker.wake(),
            Waiter::Callback(callback) => callback(Ok(())),
            Waiter::Dependant(dependant) => dependant.reached(worklist),
        }
    }

    pub(super) fn failed(self, error: &Error, worklist: &mut Worklist) {
        assert_unlocked();
        match self {
            Waiter::Thread(thread) => thread.unpark(),
            Waiter::Waker(waker) => waker.wake(),
            Waiter::Callback(callback) => callback(Err(error.clone())),
            Waiter::Dependant(dependant) => dependant.failed(error, worklist),
        }
    }
}

/// What has been issued and not yet been reached. Sorted by value; almost always added at the end and taken from the
/// front, and few at a time.
type Points = VecDeque<(u64, Arc<dyn DevicePoint>)>;

/// Room for points that an empty list keeps: more than are on their way at a time in the steady state.
const MOST_POINTS_KEPT: usize = 4096;

#[derive(Default)]
pub(super) struct State {
    /// Woken only by signals and failures.
    waiters: ByValue<Waiter>,
    /// Submissions, per device, which are also woken when a producer of their device is issued. Few devices: a list.
    dependants: Vec<(DeviceId, ByValue<Arc<dyn Dependant>>)>,
    points: Points,
}

impl State {
    pub(super) fn insert(&mut self, value: u64, waiter: Waiter) -> TimepointId {
        self.waiters.insert(value, waiter)
    }

    pub(super) fn insert_dependant(
        &mut self,
        value: u64,
        device: DeviceId,
        dependant: Arc<dyn Dependant>,
    ) -> TimepointId {
        let index = self.dependants.iter().position(|(id, _)| *id == device).unwrap_or_else(|| {
            self.dependants.push((device, ByValue::default()));
            self.dependants.len() - 1
        });
        self.dependants[index].1.insert(value, dependant)
    }

    // Inlined, here and below, for the one caller in the path of every submission.
    #[inline(always)]
    pub(super) fn insert_point(&mut self, value: u64, point: Arc<dyn DevicePoint>) {
        if self.points.back().is_none_or(|(last, _)| *last <= value) {
            self.points.push_back((value, point));
        } else {
            self.insert_between(value, point);
        }
    }

    #[cold]
    fn insert_between(&mut self, value: u64, point: Arc<dyn DevicePoint>) {
        let place = self.points.partition_point(|(other, _)| *other <= value);
        self.points.insert(place, (value, point));
    }

    /// The earliest issued point of `device` that implies `value`.
    pub(super) fn point(&self, value: u64, device: DeviceId) -> Option<Arc<dyn DevicePoint>> {
        let from = self.points.partition_point(|(other, _)| *other < value);
        self.points.range(from..).map(|(_, point)| point).find(|point| point.device() == device).cloned()
    }

    #[inline(always)]
    pub(super) fn take_point(&mut self, value: u64) -> Option<Arc<dyn DevicePoint>> {
        let (first, _) = self.points.front()?;
        if *first > value {
            return None;
        }
        let (_, first) = self.points.pop_front()?;
        if self.points.capacity() > MOST_POINTS_KEPT && self.points.is_empty() {
            self.points = Points::new();
        }
        Some(first)
    }

    pub(super) fn take_dependant(&mut self, value: u64, device: DeviceId) -> Option<Arc<dyn Dependant>> {
        let (_, waiting) = self.dependants.iter_mut().find(|(id, _)| *id == device)?;
        waiting.take_first(value)
    }

    pub(super) fn take_reached(&mut self, value: u64) -> Option<Waiter> {
        if let Some(waiter) = self.waiters.take_first(value) {
            return Some(waiter);
        }
        self.dependants.iter_mut().find_map(|(_, waiting)| waiting.take_first(value)).map(Waiter::Dependant)
    }

    /// Whether there is anything left for who takes what this value reaches.
    pub(super) fn has_reached(&self, value: u64) -> bool {
        let reached = |first: Option<u64>| first.is_some_and(|first| first <= value);
        reached(self.points.front().map(|(first, _)| *first))
            || reached(self.waiters.first_value())
            || self.dependants.iter().any(|(_, waiting)| reached(waiting.first_value()))
    }

    pub(super) fn take_any(&mut self) -> Option<Waiter> {
        self.take_reached(u64::MAX)
    }

    /// Takes back what `insert` gave.
    pub(super) fn cancel(&mut self, timepoint: TimepointId) -> Option<Waiter> {
        self.waiters.take(timepoint)
    }

    /// Takes back what `insert_dependant` gave.
    pub(super) fn cancel_dependant(
        &mut self,
        timepoint: TimepointId,
        device: DeviceId,
    ) -> Option<Arc<dyn Dependant>> {
        let (_, waiting) = self.dependants.iter_mut().find(|(id, _)| *id == device)?;
        waiting.take(timepoint)
    }

    /// Registers a waker, or replaces the one under `slot`. Returns the one that is not needed, to be dropped outside the
    /// lock.
    pub(super) fn set_waker(
        &mut self,
        value: u64,
        slot: &mut Option<TimepointId>,
        waker: Waker,
    ) -> Option<Waker> {
        if let Some(Waiter::Waker(current)) = slot.and_then(|timepoint| self.waiters.get_mut(timepoint)) {
            return Some(if current.will_wake(&waker) { waker } else { std::mem::replace(current, waker) });
        }
        *slot = Some(self.insert(value, Waiter::Waker(waker)));
        None
    }
}
