//! What others see of a submission: semaphores it waits for, and submissions that wait for it.
//!
//! Before it is ready, a node holds the submission itself, to be moved on by the last wait that is resolved or the first
//! that fails. Once issued, it is a point in its stream. It is shared, outlives the submission, and is used again.

use super::queue_core::Place;
use super::states::{Ready, Work};
use crate::core::Core;
use crate::event_pool::PooledEvent;
use crate::native::Native;
use crate::recycle::Part;
use crate::sync::{Arc, AtomicBool, AtomicUsize, Mutex, OnceLock, Ordering, Rank};
use crate::timeline::{Dependant, DevicePoint, TimelinePoint, TimelineSemaphore, Worklist};
use hal_core::{DeviceId, Error, Result, TimepointId};
use smallvec::SmallVec;
use std::any::Any;

pub(crate) struct Node<N: Native> {
    device: DeviceId,
    /// The one it is issued on.
    stream: N::Stream,
    /// Waits not resolved, plus one while registering.
    unmet: AtomicUsize,
    pending: Mutex<Pending<N>>,
    /// Made when first needed, and kept for the next submission.
    event: OnceLock<PooledEvent<N>>,
    /// The event tells when the work has ended. Without it, only an idle stream does.
    recorded: AtomicBool,
    retired: AtomicBool,
    /// There may be followers.
    followed: AtomicBool,
    failure: OnceLock<Error>,
    /// Submissions that wait for this on the device and for something else still on the host: nobody looks at them, so
    /// they are told of its failure.
    followers: Mutex<Vec<Arc<Node<N>>>>,
}

/// The submission while it waits.
struct Pending<N: Native> {
    /// Taken by the transition out of this state.
    work: Option<Box<Work<N>>>,
    /// Where its queue lists it.
    place: Place,
    registrations: SmallVec<[Registration; 2]>,
}

type Registration = (Arc<TimelineSemaphore>, TimepointId);

impl<N: Native> Pending<N> {
    fn nothing() -> Self {
        Pending { work: None, place: Place::default(), registrations: SmallVec::new() }
    }
}

impl<N: Native> Node<N> {
    pub(crate) fn new(device: DeviceId, stream: N::Stream) -> Self {
        Node {
            device,
            stream,
            unmet: AtomicUsize::new(0),
            pending: Mutex::ranked(Rank::Pending, Pending::nothing()),
            event: OnceLock::new(),
            recorded: AtomicBool::new(false),
            retired: AtomicBool::new(false),
            followed: AtomicBool::new(false),
            failure: OnceLock::new(),
            followers: Mutex::new(Vec::new()),
        }
    }

    // Waiting.

    /// Takes the submission in until `waits` waits are resolved and [`resolved`](Self::resolved) is called once more.
    pub(super) fn hold(&self, work: Box<Work<N>>, place: Place, waits: usize) {
        self.unmet.store(waits + 1, Ordering::Release);
        let mut pending = self.pending.lock();
        pending.work = Some(work);
        pending.place = place;
    }

    /// Remembers a registration, so that failing can take it back. Gives back the semaphore where it has failed already.
    pub(super) fn registered(
        &self,
        timeline: Arc<TimelineSemaphore>,
        timepoint: TimepointId,
    ) -> Option<Arc<TimelineSemaphore>> {
        let mut pending = self.pending.lock();
        if pending.work.is_some() {
            pending.registrations.push((timeline, timepoint));
            return None;
        }
        drop(pending);
        timeline.unregister(timepoint, self.device);
        Some(timeline)
    }

    /// One wait fewer. The last makes the submission ready; returns whether this was not the last.
    pub(super) fn resolved(&self, worklist: &mut Worklist) -> bool {
        if self.unmet.fetch_sub(1, Ordering::AcqRel) != 1 {
            return true;
        }
        if let Pending { work: Some(work), place, .. } = self.leave() {
            let queue = work.queue().clone();
            queue.make_ready(Ready(work), place, worklist);
        }
        false
    }

    /// Takes out what was waiting, which is nothing if it has left already.
    fn leave(&self) -> Pending<N> {
        std::mem::replace(&mut *self.pending.lock(), Pending::nothing())
    }

    /// Looks at the submission while it waits, and at what it still waits for.
    pub(super) fn inspect<R>(
        &self,
        look: impl FnOnce(&Work<N>, &mut dyn Iterator<Item = TimelinePoint>) -> R,
    ) -> Option<R> {
        let pending = self.pending.lock();
        let work = pending.work.as_ref()?;
        let point = |(timeline, timepoint): &Registration| TimelinePoint {
            timeline: timeline.clone(),
            value: timepoint.value,
        };
        Some(look(work, &mut pending.registrations.iter().map(point)))
    }

    fn depend(&self, node: Arc<Node<N>>) {
        if let Some(work) = &mut self.pending.lock().work {
            work.dependencies.push(node);
        }
    }

    /// Leaves the waiting state for failure; nothing, if it has left already.
    pub(super) fn fail_pending(&self, error: &Error, worklist: &mut Worklist) {
        let Pending { work: Some(mut work), place, registrations } = self.leave() else { return };
        for (timeline, timepoint) in registrations {
            timeline.unregister(timepoint, self.device);
        }
        work.queue().forget_pending(place);
        work.fail(error.clone(), worklist);
        work.recycle();
    }

    // On the device.

    /// The event to record after the work, which is for whoever issues it and so owns its box.
    ///
    /// # Safety
    /// The device is current.
    pub(super) unsafe fn event_to_record(&self, core: &Arc<Core<N>>) -> Result<N::Event> {
        if let Some(event) = self.event.get() {
            return Ok(event.handle());
        }
        // SAFETY: the device is current, by contract.
        let event = unsafe { PooledEvent::acquire(core) }?;
        let handle = event.handle();
        // Nobody else issues it.
        let _ = self.event.set(event);
        Ok(handle)
    }

    /// The event has been recorded.
    pub(super) fn recorded(&self) {
        self.recorded.store(true, Ordering::Release);
    }

    /// The event that tells that the work has ended. It has been recorded, and is good while the node is not renewed.
    pub(super) fn event(&self) -> Option<N::Event> {
        if !self.recorded.load(Ordering::Acquire) {
            return None;
        }
        self.event.get().map(PooledEvent::handle)
    }

    /// The event to wait for on another stream than the node's, while there is something to wait for.
    pub(super) fn event_for(&self, stream: N::Stream) -> Option<N::Event> {
        if self.is_retired() || self.stream == stream {
            return None;
        }
        self.event()
    }

    pub(super) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::SeqCst)
    }

    pub(super) fn retire(&self) {
        // Sequentially consistent, as in `followed_by`: one of the two sees the other.
        self.retired.store(true, Ordering::SeqCst);
        if self.followed.load(Ordering::SeqCst) {
            drop(self.take_followers());
        }
    }

    pub(super) fn failure(&self) -> Option<&Error> {
        self.failure.get()
    }

    /// The first failure stays, and those that follow are told.
    pub(super) fn fail(&self, error: Error, worklist: &mut Worklist) {
        // A second failure says nothing that the first did not.
        if self.failure.set(error.clone()).is_ok() {
            for follower in self.take_followers() {
                follower.fail_pending(&error, worklist);
            }
        }
    }

    /// Tells a submission that waits for this, and is still pending, if this fails.
    pub(super) fn followed_by(&self, follower: &Arc<Node<N>>, worklist: &mut Worklist) {
        let mut followers = self.followers.lock();
        self.followed.store(true, Ordering::SeqCst);
        // Both are set before the followers are taken, so that none is missed.
        match self.failure() {
            None if self.is_retired() => {}
            None => followers.push(follower.clone()),
            Some(error) => {
                drop(followers);
                follower.fail_pending(error, worklist);
            }
        }
    }

    fn take_followers(&self) -> Vec<Arc<Node<N>>> {
        std::mem::take(&mut *self.followers.lock())
    }
}

impl<N: Native> Part for Node<N> {
    type With = N::Stream;

    fn rest(&mut self) -> bool {
        let rests = self.event.get_mut().is_some_and(PooledEvent::rest);
        if !rests {
            drop(self.event.take());
        }
        rests
    }

    fn renew(&mut self, stream: N::Stream) {
        self.stream = stream;
        if let Some(event) = self.event.get_mut() {
            event.rise();
        }
        self.recorded.store(false, Ordering::Relaxed);
        self.retired.store(false, Ordering::Relaxed);
        if self.failure.get().is_some() {
            self.failure.take();
        }
        if self.followed.load(Ordering::Relaxed) {
            self.followed.store(false, Ordering::Relaxed);
            drop(self.take_followers());
        }
    }
}

impl<N: Native> Dependant for Node<N> {
    fn reached(self: Arc<Self>, worklist: &mut Worklist) {
        self.resolved(worklist);
    }

    fn issued(self: Arc<Self>, point: &Arc<dyn DevicePoint>, worklist: &mut Worklist) {
        // A semaphore offers points of this device alone, and those are of this type.
        let Ok(node) = point.clone().into_any().downcast::<Node<N>>() else {
            self.resolved(worklist);
            return;
        };
        self.depend(node.clone());
        if self.resolved(worklist) {
            node.followed_by(&self, worklist);
        }
    }

    fn failed(self: Arc<Self>, error: &Error, worklist: &mut Worklist) {
        self.fail_pending(error, worklist);
    }
}

impl<N: Native> DevicePoint for Node<N> {
    fn device(&self) -> DeviceId {
        self.device
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}
