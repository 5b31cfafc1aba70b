//! The states of a submission.

use super::queue_core::{InFlight, QueueCore};
use crate::event_pool::PooledEvent;
use crate::native::Native;
use crate::sync::{Arc, AtomicBool, AtomicUsize, Mutex, Ordering};
use crate::timeline::{Dependant, DevicePoint, TimelineSemaphore, Worklist};
use hal_core::{Command, DeviceId, Error, Execute, Origin, SemaphorePoint, SubmissionId, TimepointId};
use smallvec::SmallVec;
use std::any::Any;
use std::borrow::Cow;
use std::sync::OnceLock;

/// Names in an [`Origin`].
const MAX_KERNELS_NAMED: usize = 4;

/// A submission, whatever its state: what it does, what it keeps alive, and what it signals.
pub(crate) struct Work<N: Native> {
    pub(crate) id: SubmissionId,
    pub(crate) label: Option<Cow<'static, str>>,
    pub(crate) execute: SmallVec<[Execute; 1]>,
    pub(crate) signals: SmallVec<[SemaphorePoint; 4]>,
    /// Counts it as in flight until it is dropped: after its signals, and with its resources.
    pub(crate) in_flight: InFlight<N>,
}

impl<N: Native> Work<N> {
    pub(crate) fn queue(&self) -> &Arc<QueueCore<N>> {
        self.in_flight.queue()
    }

    /// Where an error that begins here began.
    pub(crate) fn origin(&self) -> Origin {
        let dispatches = self.execute.iter().flat_map(|execute| execute.commands.list().commands());
        let mut kernels = Vec::new();
        for command in dispatches {
            if let Command::Dispatch(dispatch) = command
                && !kernels.contains(&dispatch.entry_point.name)
                && kernels.len() < MAX_KERNELS_NAMED
            {
                kernels.push(dispatch.entry_point.name.clone());
            }
        }
        Origin {
            device: self.queue().core.info().uri(),
            queue: self.id.queue,
            sequence: self.id.sequence,
            label: self.label.as_deref().map(str::to_owned),
            kernels,
        }
    }

    /// Signals what it promised.
    pub(crate) fn signal(&self, worklist: &mut Worklist) {
        for point in &self.signals {
            if let Some(timeline) = TimelineSemaphore::of(&*point.semaphore) {
                timeline.raise(point.value, worklist);
            }
        }
    }

    /// Fails what it promised, and returns the error with its origin.
    pub(crate) fn fail(&mut self, error: Error, worklist: &mut Worklist) -> Error {
        let error = error.with_origin(|| self.origin());
        self.queue().core.counters.failed.fetch_add(1, Ordering::Relaxed);
        for point in self.signals.drain(..) {
            worklist.fail(point.semaphore, error.clone());
        }
        error
    }
}

/// Waits are unmet. Shared between its queue, which lists it, and the semaphores it waits for.
pub(crate) struct Pending<N: Native> {
    queue: Arc<QueueCore<N>>,
    sequence: u64,
    /// Waits not resolved, plus one while registering.
    unmet: AtomicUsize,
    inner: Mutex<Inner<N>>,
}

struct Inner<N: Native> {
    /// Taken by the transition out of this state.
    work: Option<Box<Work<N>>>,
    dependencies: Dependencies<N>,
    registrations: SmallVec<[(SemaphorePoint, TimepointId); 4]>,
}

/// What the device has to wait for.
pub(crate) type Dependencies<N> = SmallVec<[Arc<Point<N>>; 4]>;

impl<N: Native> Pending<N> {
    pub(super) fn new(work: Box<Work<N>>, waits: usize, dependencies: Dependencies<N>) -> Arc<Self> {
        Arc::new(Pending {
            queue: work.queue().clone(),
            sequence: work.id.sequence,
            unmet: AtomicUsize::new(waits + 1),
            inner: Mutex::new(Inner { work: Some(work), dependencies, registrations: SmallVec::new() }),
        })
    }

    /// Remembers a registration, so that failing can take it back.
    pub(super) fn registered(&self, point: SemaphorePoint, timepoint: TimepointId) {
        let mut inner = self.inner.lock();
        if inner.work.is_some() {
            inner.registrations.push((point, timepoint));
            return;
        }
        drop(inner);
        point.semaphore.cancel(timepoint);
    }

    /// One wait fewer. The last makes it ready.
    pub(super) fn resolved(&self, worklist: &mut Worklist) {
        if self.unmet.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        let (work, dependencies) = {
            let mut inner = self.inner.lock();
            inner.registrations.clear();
            (inner.work.take(), std::mem::take(&mut inner.dependencies))
        };
        if let Some(work) = work {
            self.queue.make_ready(Ready { work, dependencies }, worklist);
        }
    }

    pub(super) fn depend(&self, point: Arc<Point<N>>) {
        self.inner.lock().dependencies.push(point);
    }

    /// Leaves this state for failure; nothing, if it has left already.
    pub(super) fn fail_with(&self, error: &Error, worklist: &mut Worklist) {
        let (work, registrations) = {
            let mut inner = self.inner.lock();
            (inner.work.take(), std::mem::take(&mut inner.registrations))
        };
        let Some(mut work) = work else { return };
        for (point, timepoint) in registrations {
            point.semaphore.cancel(timepoint);
        }
        self.queue.forget_pending(self.sequence);
        work.fail(error.clone(), worklist);
    }
}

impl<N: Native> Dependant for Pending<N> {
    fn reached(self: Arc<Self>, worklist: &mut Worklist) {
        self.resolved(worklist);
    }

    fn issued(self: Arc<Self>, point: &Arc<dyn DevicePoint>, worklist: &mut Worklist) {
        // A semaphore offers points of this device alone, and those are of this type.
        if let Ok(point) = point.clone().into_any().downcast::<Point<N>>() {
            self.depend(point);
        }
        self.resolved(worklist);
    }

    fn failed(self: Arc<Self>, error: &Error, worklist: &mut Worklist) {
        self.fail_with(error, worklist);
    }
}

/// Can be issued. Ordered by sequence number.
pub(crate) struct Ready<N: Native> {
    pub(crate) work: Box<Work<N>>,
    pub(crate) dependencies: Dependencies<N>,
}

impl<N: Native> PartialEq for Ready<N> {
    fn eq(&self, other: &Self) -> bool {
        self.work.id.sequence == other.work.id.sequence
    }
}

impl<N: Native> Eq for Ready<N> {}

impl<N: Native> PartialOrd for Ready<N> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<N: Native> Ord for Ready<N> {
    /// Reversed, since the heap gives the greatest and the oldest is wanted.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.work.id.sequence.cmp(&self.work.id.sequence)
    }
}

/// On the device.
pub(crate) struct Issued<N: Native> {
    pub(crate) work: Box<Work<N>>,
    /// What it waits for on the device: if one of these fails, so does it.
    pub(crate) dependencies: Dependencies<N>,
    /// What others wait for.
    pub(crate) point: Arc<Point<N>>,
}

/// The place of a submission in its stream. Shared with everything that waits for it on the device.
pub(crate) struct Point<N: Native> {
    pub(crate) stream: N::Stream,
    device: DeviceId,
    /// `None` if it could not be recorded; then only an idle stream tells that the work has ended.
    event: Option<PooledEvent<N>>,
    retired: AtomicBool,
    failure: OnceLock<Error>,
}

impl<N: Native> Point<N> {
    pub(super) fn new(stream: N::Stream, device: DeviceId, event: Option<PooledEvent<N>>) -> Arc<Self> {
        Arc::new(Point { stream, device, event, retired: AtomicBool::new(false), failure: OnceLock::new() })
    }

    pub(super) fn event(&self) -> Option<&PooledEvent<N>> {
        self.event.as_ref()
    }

    pub(super) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire)
    }

    pub(super) fn retire(&self) {
        self.retired.store(true, Ordering::Release);
    }

    pub(super) fn failure(&self) -> Option<&Error> {
        self.failure.get()
    }

    /// The first failure stays.
    pub(super) fn fail(&self, error: Error) {
        // A second failure says nothing that the first did not.
        let _ = self.failure.set(error);
    }
}

impl<N: Native> DevicePoint for Point<N> {
    fn device(&self) -> DeviceId {
        self.device
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}
