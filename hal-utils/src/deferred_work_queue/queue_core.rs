//! A queue: its stream, and its submissions that are not on the device yet.

use super::in_flight::{Ages, Count};
use super::node::Node;
use super::states::Ready;
use crate::core::Core;
use crate::native::Native;
use crate::sync::{Arc, AtomicU64, AtomicUsize, Mutex, Ordering, Rank};
use crate::timeline::{Schedule, Worklist};
use hal_core::{Deadline, Error, ErrorKind, QueuePriority, Result};
use slab::Slab;
use std::collections::BinaryHeap;

/// Counts of what a device has done; see `hal_core::DeviceCounters`.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) next_queue: AtomicU64,
    pub(crate) submitted: AtomicU64,
    pub(crate) issued: AtomicU64,
    pub(crate) retired: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) issued_inline: AtomicU64,
    pub(crate) device_waits: AtomicU64,
    pub(crate) elided_waits: AtomicU64,
    pub(super) in_flight: Count,
}

/// A queue's inner life. It lives until the user has dropped the queue and the last of its work is gone; then its
/// stream is idle.
pub(crate) struct QueueCore<N: Native> {
    pub(crate) core: Arc<Core<N>>,
    pub(crate) id: u64,
    pub(crate) stream: N::Stream,
    pub(super) state: Mutex<State<N>>,
    /// Where the completion thread keeps its issued submissions, if it has any.
    pub(super) lane: AtomicUsize,
    pub(super) in_flight: Count,
}

/// Where a queue lists a pending submission.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place(usize);

pub(super) struct State<N: Native> {
    pub(super) next_sequence: u64,
    /// For the end of the device: nobody else can reach what waits for a semaphore that never comes.
    pub(super) pending: Slab<Arc<Node<N>>>,
    pub(super) ready: BinaryHeap<Ready<N>>,
    /// Somebody takes from `ready`, and will look again before it stops.
    pub(super) draining: bool,
    /// The worker has been told.
    pub(super) scheduled: bool,
    /// Set once nothing more is taken.
    pub(super) end: Option<Error>,
}

impl<N: Native> QueueCore<N> {
    pub(crate) fn create(core: &Arc<Core<N>>, priority: QueuePriority) -> Result<Arc<Self>> {
        let stream = core.streams.acquire(core, priority)?;
        Ok(Arc::new(QueueCore {
            core: core.clone(),
            id: core.counters.next_queue.fetch_add(1, Ordering::Relaxed),
            stream,
            state: Mutex::ranked(
                Rank::Queue,
                State {
                    next_sequence: 0,
                    pending: Slab::new(),
                    ready: BinaryHeap::new(),
                    draining: false,
                    scheduled: false,
                    end: None,
                },
            ),
            lane: AtomicUsize::new(0),
            in_flight: Count::default(),
        }))
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight.get()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight() == 0
    }

    pub(crate) fn wait_idle(&self, deadline: Deadline) -> Result<()> {
        self.in_flight.wait(deadline).map_err(|left| {
            deadline_exceeded(&format!("queue {} of {}", self.id, self.core.info().uri()), left)
        })
    }

    /// A pending submission has become ready: whoever drains the queue takes it, or else the worker will. Where the
    /// device has ended in the meantime there may be nobody left to do so, and the submission ends as the others did.
    pub(super) fn make_ready(self: &Arc<Self>, ready: Ready<N>, place: Place, worklist: &mut Worklist) {
        let (listed, late) = {
            let mut state = self.state.lock();
            let late = match &state.end {
                Some(end) => Some((ready, end.clone())),
                None => {
                    state.ready.push(ready);
                    None
                }
            };
            (state.unlist(place), late)
        };
        // Dropped outside the lock.
        drop(listed);
        match late {
            None => worklist.schedule(self.clone()),
            Some((Ready(mut work), end)) => {
                work.fail(end, worklist);
                work.recycle();
            }
        }
    }

    pub(super) fn forget_pending(&self, place: Place) {
        let listed = self.state.lock().unlist(place);
        // Dropped outside the lock.
        drop(listed);
    }
}

impl<N: Native> Schedule for QueueCore<N> {
    fn schedule(self: Arc<Self>) {
        let wake = self.state.lock().needs_worker();
        if wake {
            self.core.worker.schedule(self.clone());
        }
    }

    fn hold(&self, ages: Ages) {
        self.prolong(ages);
    }

    fn release(&self, ages: Ages) {
        self.relinquish(ages);
    }
}

impl<N: Native> State<N> {
    pub(super) fn list(&mut self, node: &Arc<Node<N>>) -> Place {
        Place(self.pending.insert(node.clone()))
    }

    /// Nothing, if the device has ended and the list was taken as a whole.
    fn unlist(&mut self, place: Place) -> Option<Arc<Node<N>>> {
        self.pending.try_remove(place.0)
    }

    /// Whether the worker has to be told of what is ready; marks it as told.
    pub(super) fn needs_worker(&mut self) -> bool {
        let needs = !self.draining && !self.scheduled && !self.ready.is_empty();
        self.scheduled |= needs;
        needs
    }
}

impl<N: Native> Drop for QueueCore<N> {
    fn drop(&mut self) {
        self.core.streams.release(&self.core, self.stream);
    }
}

fn deadline_exceeded(what: &str, left: u64) -> Error {
    Error::new(
        ErrorKind::DeadlineExceeded,
        format!("waiting for {what} to be idle; {left} submissions have not ended"),
    )
}

impl<N: Native> Core<N> {
    pub(crate) fn is_idle(&self) -> bool {
        self.counters.in_flight.get() == 0
    }

    pub(crate) fn wait_idle(&self, deadline: Deadline) -> Result<()> {
        self.counters.in_flight.wait(deadline).map_err(|left| deadline_exceeded(&self.info().uri(), left))
    }
}
