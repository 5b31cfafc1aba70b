//! A queue: its stream, and its submissions that are not on the device yet.

use super::states::{Pending, Ready};
use crate::core::Core;
use crate::native::Native;
use crate::sync::{Arc, AtomicU64, Condvar, Mutex, Ordering};
use crate::timeline::{Schedule, Worklist};
use hal_core::{Deadline, Error, ErrorKind, QueuePriority, Result};
use std::collections::{BTreeMap, BinaryHeap};

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
    in_flight: Mutex<u64>,
    idle: Condvar,
}

/// A queue's inner life. It lives until the user has dropped the queue and the last of its work is gone; then its
/// stream is idle.
pub(crate) struct QueueCore<N: Native> {
    pub(crate) core: Arc<Core<N>>,
    pub(crate) id: u64,
    pub(crate) stream: N::Stream,
    priority: QueuePriority,
    pub(super) state: Mutex<State<N>>,
    in_flight: Mutex<u64>,
    idle: Condvar,
}

pub(super) struct State<N: Native> {
    pub(super) next_sequence: u64,
    pub(super) pending: BTreeMap<u64, Arc<Pending<N>>>,
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
            priority,
            state: Mutex::new(State {
                next_sequence: 0,
                pending: BTreeMap::new(),
                ready: BinaryHeap::new(),
                draining: false,
                scheduled: false,
                end: None,
            }),
            in_flight: Mutex::new(0),
            idle: Condvar::new(),
        }))
    }

    pub(super) fn in_flight(&self) -> u64 {
        *self.in_flight.lock()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight() == 0
    }

    pub(crate) fn wait_idle(&self, deadline: Deadline) -> Result<()> {
        wait_for_zero(&self.in_flight, &self.idle, deadline).map_err(|left| {
            deadline_exceeded(&format!("queue {} of {}", self.id, self.core.info().uri()), left)
        })
    }

    /// A pending submission has become ready: whoever drains the queue takes it, or else the worker will.
    pub(super) fn make_ready(self: &Arc<Self>, ready: Ready<N>, worklist: &mut Worklist) {
        {
            let mut state = self.state.lock();
            state.pending.remove(&ready.work.id.sequence);
            state.ready.push(ready);
        }
        worklist.schedule(self.clone());
    }

    pub(super) fn forget_pending(&self, sequence: u64) {
        let forgotten = self.state.lock().pending.remove(&sequence);
        // Dropped outside the lock.
        drop(forgotten);
    }
}

impl<N: Native> Schedule for QueueCore<N> {
    fn schedule(self: Arc<Self>) {
        let wake = self.state.lock().needs_worker();
        if wake {
            self.core.worker.schedule(self.clone());
        }
    }
}

impl<N: Native> State<N> {
    /// Whether the worker has to be told of what is ready; marks it as told.
    pub(super) fn needs_worker(&mut self) -> bool {
        let needs = !self.draining && !self.scheduled && !self.ready.is_empty();
        self.scheduled |= needs;
        needs
    }
}

impl<N: Native> Drop for QueueCore<N> {
    fn drop(&mut self) {
        self.core.streams.release(&self.core, self.priority, self.stream);
    }
}

/// Counts a submission as in flight, for its queue and its device, while it lives.
pub(crate) struct InFlight<N: Native> {
    queue: Arc<QueueCore<N>>,
}

impl<N: Native> InFlight<N> {
    pub(super) fn new(queue: &Arc<QueueCore<N>>) -> Self {
        *queue.in_flight.lock() += 1;
        let counters = &queue.core.counters;
        *counters.in_flight.lock() += 1;
        counters.submitted.fetch_add(1, Ordering::Relaxed);
        InFlight { queue: queue.clone() }
    }

    pub(super) fn queue(&self) -> &Arc<QueueCore<N>> {
        &self.queue
    }
}

impl<N: Native> Drop for InFlight<N> {
    fn drop(&mut self) {
        let counters = &self.queue.core.counters;
        counters.retired.fetch_add(1, Ordering::Relaxed);
        decrement(&self.queue.in_flight, &self.queue.idle);
        decrement(&counters.in_flight, &counters.idle);
    }
}

fn decrement(count: &Mutex<u64>, idle: &Condvar) {
    let mut count = count.lock();
    *count -= 1;
    if *count == 0 {
        idle.notify_all();
    }
}

/// Waits until a count is zero; `Err` with what is left when the deadline has passed.
fn wait_for_zero(count: &Mutex<u64>, idle: &Condvar, deadline: Deadline) -> Result<(), u64> {
    let mut count = count.lock();
    while *count > 0 {
        match deadline.remaining() {
            None => idle.wait(&mut count),
            Some(left) if left.is_zero() => return Err(*count),
            Some(left) => {
                idle.wait_for(&mut count, left);
            }
        }
    }
    Ok(())
}

fn deadline_exceeded(what: &str, left: u64) -> Error {
    Error::new(
        ErrorKind::DeadlineExceeded,
        format!("waiting for {what} to be idle; {left} submissions have not ended"),
    )
}

impl<N: Native> Core<N> {
    pub(crate) fn wait_idle(&self, deadline: Deadline) -> Result<()> {
        wait_for_zero(&self.counters.in_flight, &self.counters.idle, deadline)
            .map_err(|left| deadline_exceeded(&self.info().uri(), left))
    }
}
