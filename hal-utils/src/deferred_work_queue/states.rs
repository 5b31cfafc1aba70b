//! The states of a submission.

use super::in_flight::InFlight;
use super::node::Node;
use super::queue_core::QueueCore;
use super::stamps::Stamps;
use crate::command_buffer::Lease;
use crate::native::Native;
use crate::sync::{Arc, Ordering};
use crate::timeline::{TimelinePoint, Worklist};
use hal_core::{Command, Error, Execute, Origin, SubmissionId};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::time::{Duration, Instant};

/// Names in an [`Origin`].
const MAX_KERNELS_NAMED: usize = 4;

/// A submission, whatever its state: what it does, what it keeps alive, and what it signals.
pub(crate) struct Work<N: Native> {
    pub(crate) id: SubmissionId,
    pub(crate) label: Option<Cow<'static, str>>,
    pub(crate) execute: SmallVec<[Execute; 1]>,
    /// Executable graphs that it runs, once it is issued.
    pub(crate) leases: SmallVec<[Lease<N>; 1]>,
    pub(crate) signals: SmallVec<[TimelinePoint; 2]>,
    /// What it waits for on the device: if one of these fails, so does it.
    pub(crate) dependencies: SmallVec<[Arc<Node<N>>; 2]>,
    /// When it was submitted, if somebody watches.
    pub(crate) submitted: Option<Instant>,
    /// For its trace, if somebody wants that.
    pub(super) stamps: Option<Box<Stamps>>,
    /// What others see of it.
    pub(crate) node: Arc<Node<N>>,
    /// Counts it as in flight until it is dropped: after its signals, and with its resources.
    pub(crate) in_flight: InFlight<N>,
}

/// Can be issued. Ordered by sequence number.
pub(crate) struct Ready<N: Native>(pub(crate) Box<Work<N>>);

/// On the device, or as good as: only the completion thread may end it.
pub(crate) struct Issued<N: Native>(pub(crate) Box<Work<N>>);

impl<N: Native> Work<N> {
    pub(crate) fn queue(&self) -> &Arc<QueueCore<N>> {
        self.in_flight.queue()
    }

    /// Where an error that begins here began.
    pub(crate) fn origin(&self) -> Origin {
        let commands = self.execute.iter().flat_map(|execute| execute.commands.list().commands());
        let mut kernels = Vec::new();
        for command in commands {
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

    /// Whether it has outlived this limit.
    pub(crate) fn outlives(&self, limit: Duration) -> bool {
        self.submitted.is_some_and(|submitted| submitted.elapsed() >= limit)
    }

    /// Whether it will signal this semaphore at least so far.
    pub(crate) fn promises(&self, point: &TimelinePoint) -> bool {
        let promised = |signal: &TimelinePoint| {
            Arc::ptr_eq(&signal.timeline, &point.timeline) && signal.value >= point.value
        };
        self.signals.iter().any(promised)
    }

    /// Signals what it promised.
    pub(crate) fn signal(&self, worklist: &mut Worklist) {
        for point in &self.signals {
            point.timeline.raise(point.value, worklist);
        }
    }

    /// Fails what it promised, and returns the error with its origin.
    pub(crate) fn fail(&mut self, error: Error, worklist: &mut Worklist) -> Error {
        let error = error.with_origin(|| self.origin());
        self.queue().core.counters.failed.fetch_add(1, Ordering::Relaxed);
        self.stamp_failure(&error);
        worklist.hold(self.queue().clone(), self.in_flight.ages());
        for point in self.signals.drain(..) {
            worklist.fail(point.timeline, error.clone());
        }
        error
    }

    /// The end: frees what it keeps alive, and keeps the memory for the next.
    pub(crate) fn recycle(mut self: Box<Self>) {
        self.tell_end();
        let core = self.queue().core.clone();
        let node = self.node.clone();
        core.spares.give(self, node);
    }
}

impl<N: Native> PartialEq for Ready<N> {
    fn eq(&self, other: &Self) -> bool {
        self.0.id.sequence == other.0.id.sequence
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
        other.0.id.sequence.cmp(&self.0.id.sequence)
    }
}
