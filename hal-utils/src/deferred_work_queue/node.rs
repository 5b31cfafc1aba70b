//! What others see of a submission: semaphores it waits for, and submissions that wait for it.
//!
//! Before it is ready, a node holds the submission itself, to be moved on by the last wait that is resolved or the first
//! that fails. Once issued, it is a point in its stream. It is shared, outlives the submission, and is used again.

use super::queue_core::Place;
use super::states::{Ready, Work};
use crate::event_pool::PooledEvent;
use crate::native::Native;
use crate::recycle::Reset;
use crate::sync::{Arc, AtomicBool, AtomicUsize, Mutex, OnceLock, Ordering, Rank};
use crate::timeline::{Dependant, DevicePoint, TimelineSemaphore, Worklist};
use hal_core::{DeviceId, Error, SemaphorePoint, TimepointId};
use smallvec::SmallVec;
use std::any::Any;

pub(crate) struct Node<N: Native> {
    device: DeviceId,
    /// Waits not resolved, plus one while registering.
    unmet: AtomicUsize,
    pending: Mutex<Pending<N>>,
    /// Set once; whoever has the node may use the event.
    on_device: Mutex<Option<OnDevice<N>>>,
    retired: AtomicBool,
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
    registrations: SmallVec<[(SemaphorePoint, TimepointId); 2]>,
}

impl<N: Native> Pending<N> {
    fn nothing() -> Self {
        Pending { work: None, place: Place::default(), registrations: SmallVec::new() }
    }
}

struct OnDevice<N: Native> {
    stream: N::Stream,
    /// `None` if it could not be recorded; then only an idle stream tells that the work has ended.
    event: Option<PooledEvent<N>>,
}

impl<N: Native> Node<N> {
    pub(crate) fn new(device: DeviceId) -> Self {
        Node {
            device,
            unmet: AtomicUsize::new(0),
            pending: Mutex::ranked(Rank::Pending, Pending::nothing()),
            on_device: Mutex::new(None),
            retired: AtomicBool::new(false),
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

    /// Remembers a registration, so that failing can take it back. Gives back the point where it has failed already.
    pub(super) fn registered(&self, point: SemaphorePoint, timepoint: TimepointId) -> Option<SemaphorePoint> {
        let mut pending = self.pending.lock();
        if pending.work.is_some() {
            pending.registrations.push((point, timepoint));
            return None;
        }
        drop(pending);
        self.unregister(&point, timepoint);
        Some(point)
    }

    fn unregister(&self, point: &SemaphorePoint, timepoint: TimepointId) {
        if let Some(timeline) = TimelineSemaphore::of(&*point.semaphore) {
            timeline.unregister(timepoint, self.device);
        }
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
        look: impl FnOnce(&Work<N>, &mut dyn Iterator<Item = &SemaphorePoint>) -> R,
    ) -> Option<R> {
        let pending = self.pending.lock();
        let work = pending.work.as_ref()?;
        Some(look(work, &mut pending.registrations.iter().map(|(point, _)| point)))
    }

    fn depend(&self, node: Arc<Node<N>>) {
        if let Some(work) = &mut self.pending.lock().work {
            work.dependencies.push(node);
        }
    }

    /// Leaves the waiting state for failure; nothing, if it has left already.
    pub(super) fn fail_pending(&self, error: &Error, worklist: &mut Worklist) {
        let Pending { work: Some(mut work), place, registrations } = self.leave() else { return };
        for (point, timepoint) in registrations {
            self.unregister(&point, timepoint);
        }
        work.queue().forget_pending(place);
        work.fail(error.clone(), worklist);
        work.recycle();
    }

    // On the device.

    pub(super) fn issued(&self, stream: N::Stream, event: Option<PooledEvent<N>>) {
        // Whoever issues a submission owns its box, so that nobody else does.
        *self.on_device.lock() = Some(OnDevice { stream, event });
    }

    /// The event that tells that the work has ended. It has been recorded, and is good while the node is not reset.
    pub(super) fn event(&self) -> Option<N::Event> {
        self.on_device.lock().as_ref()?.event.as_ref().map(PooledEvent::handle)
    }

    /// The event to wait for on another stream than the node's, while there is something to wait for.
    pub(super) fn event_for(&self, stream: N::Stream) -> Option<N::Event> {
        if self.is_retired() {
            return None;
        }
        let on_device = self.on_device.lock();
        let on_device = on_device.as_ref().filter(|on_device| on_device.stream != stream)?;
        on_device.event.as_ref().map(PooledEvent::handle)
    }

    pub(super) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire)
    }

    pub(super) fn retire(&self) {
        self.retired.store(true, Ordering::Release);
        drop(self.take_followers());
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

impl<N: Native> Reset for Node<N> {
    fn reset(&mut self) {
        let on_device = self.on_device.lock().take();
        // Dropped outside the lock: it gives its event back.
        drop(on_device);
        self.retired.store(false, Ordering::Relaxed);
        self.failure.take();
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
