//! From `submit` to pending, ready or, when nothing stands before it, issued.

use super::in_flight::InFlight;
use super::issue;
use super::node::Node;
use super::queue_core::QueueCore;
use super::stamps::Stamps;
use super::states::{Ready, Work};
use crate::native::Native;
use crate::recycle::Spare;
use crate::sync::{Arc, Ordering};
use crate::timeline::{Dependant, Resolution, TimelinePoint, TimelineSemaphore, Worklist};
use hal_core::{Error, ErrorKind, Result, SemaphorePoint, Submission, SubmissionId, validate};
use smallvec::SmallVec;
use std::time::Instant;

/// What the waits of a submission amount to now, beyond what is reached.
struct Waits<N: Native> {
    unmet: SmallVec<[TimelinePoint; 4]>,
    dependencies: SmallVec<[Arc<Node<N>>; 2]>,
    failure: Option<Error>,
}

impl<N: Native> QueueCore<N> {
    pub(crate) fn submit(self: &Arc<Self>, mut submission: Submission) -> Result<SubmissionId> {
        self.core.alive()?;
        validate::submission(&submission, self.core.id)?;
        let parts = submission.parts();
        let mut waits = Waits { unmet: SmallVec::new(), dependencies: SmallVec::new(), failure: None };
        if !parts.waits.is_empty() {
            self.resolve(parts.waits.drain(..), &mut waits)?;
        }
        let mut signals = SmallVec::new();
        for point in parts.signals.drain(..) {
            signals.push(ours(point)?);
        }
        let submitted = self.core.params.watchdog.map(|_| Instant::now());
        let stamps = Stamps::new(&self.core);
        let mut work = self.spare().fill(|node| Work {
            id: SubmissionId { queue: self.id, sequence: 0 },
            label: parts.label.take(),
            execute: std::mem::take(parts.work),
            leases: SmallVec::new(),
            signals,
            dependencies: std::mem::take(&mut waits.dependencies),
            submitted,
            stamps,
            node,
            in_flight: InFlight::new(self),
        });
        if !parts.waits.spilled() && !parts.signals.spilled() {
            // Everything has been taken out. To drop it would be to look at each list once more.
            std::mem::forget(submission);
        }
        if let Some(error) = waits.failure {
            work.id.sequence = self.state.lock().take_sequence()?;
            let id = work.id;
            let mut worklist = Worklist::default();
            work.fail(error, &mut worklist);
            work.recycle();
            worklist.settle();
            return Ok(id);
        }
        if self.core.params.watchdog.is_some() {
            self.core.completion.watch();
        }
        if waits.unmet.is_empty() { self.submit_ready(work) } else { self.submit_pending(work, waits.unmet) }
    }

    /// A place in the queue for work that the host does.
    pub(crate) fn enlist(self: &Arc<Self>) -> Result<(SubmissionId, InFlight<N>)> {
        let in_flight = InFlight::new(self);
        let sequence = self.state.lock().take_sequence()?;
        Ok((SubmissionId { queue: self.id, sequence }, in_flight))
    }

    /// Memory for a submission, with a node whose place is this queue's stream.
    pub(super) fn spare(&self) -> Spare<Work<N>, Node<N>> {
        let spare = self.core.spares.take(self.stream);
        spare.unwrap_or_else(|stream| Spare::new(Node::new(self.core.id, stream)))
    }

    fn resolve(&self, waits: impl Iterator<Item = SemaphorePoint>, resolved: &mut Waits<N>) -> Result<()> {
        for wait in waits {
            let wait = ours(wait)?;
            match wait.timeline.resolve(wait.value, self.core.id) {
                Resolution::Reached => {}
                Resolution::Failed(error) => {
                    resolved.failure.get_or_insert(error);
                }
                Resolution::Issued(point) => match point.into_any().downcast::<Node<N>>() {
                    Ok(point) => resolved.dependencies.push(point),
                    Err(_) => resolved.unmet.push(wait),
                },
                Resolution::Unmet => resolved.unmet.push(wait),
            }
        }
        Ok(())
    }

    /// Nothing to wait for on the host. Takes its number and its place in one step, so that order is by number.
    fn submit_ready(self: &Arc<Self>, mut work: Box<Work<N>>) -> Result<SubmissionId> {
        let room = self.in_flight() <= self.core.params.inline_issue_limit as u64;
        let mut state = self.state.lock();
        work.id.sequence = state.take_sequence()?;
        let id = work.id;
        let ready = Ready(work);
        if room && !state.draining && state.ready.is_empty() {
            state.draining = true;
            drop(state);
            self.issue_inline(ready);
            return Ok(id);
        }
        state.ready.push(ready);
        let wake = state.needs_worker();
        drop(state);
        if wake {
            self.core.worker.schedule(self.clone());
        }
        Ok(id)
    }

    fn issue_inline(self: &Arc<Self>, ready: Ready<N>) {
        match self.core.enter() {
            Ok(_current) => {
                self.core.counters.issued_inline.fetch_add(1, Ordering::Relaxed);
                issue::issue(self, ready);
            }
            Err(error) => issue::no_context(self, ready, error),
        }
        let wake = {
            let mut state = self.state.lock();
            state.draining = false;
            state.needs_worker()
        };
        if wake {
            self.core.worker.schedule(self.clone());
        }
    }

    fn submit_pending(
        self: &Arc<Self>,
        mut work: Box<Work<N>>,
        unmet: SmallVec<[TimelinePoint; 4]>,
    ) -> Result<SubmissionId> {
        let mut worklist = Worklist::default();
        let mut resolved: SmallVec<[Resolution; 4]> = SmallVec::new();
        // Dropped outside the lock: this may be their last handle, and a callback owns whatever its author put into it.
        let mut needless: SmallVec<[Arc<TimelineSemaphore>; 4]> = SmallVec::new();
        let node = work.node.clone();
        let dependencies = work.dependencies.clone();
        let id = {
            let mut state = self.state.lock();
            work.id.sequence = state.take_sequence()?;
            let id = work.id;
            let place = state.list(&node);
            node.hold(work, place, unmet.len());
            // Within the queue's lock, so that a semaphore knows the queue's submissions in their order.
            let dependant: Arc<dyn Dependant> = node.clone();
            for TimelinePoint { timeline, value } in unmet {
                match timeline.register(value, self.core.id, &dependant) {
                    Ok(timepoint) => needless.extend(node.registered(timeline, timepoint)),
                    Err(resolution) => {
                        resolved.push(resolution);
                        needless.push(timeline);
                    }
                }
            }
            id
        };
        drop(needless);
        for resolution in resolved {
            match resolution {
                Resolution::Issued(point) => Dependant::issued(node.clone(), &point, &mut worklist),
                Resolution::Failed(error) => node.fail_pending(&error, &mut worklist),
                Resolution::Reached | Resolution::Unmet => {
                    node.resolved(&mut worklist);
                }
            }
        }
        for dependency in dependencies {
            dependency.followed_by(&node, &mut worklist);
        }
        node.resolved(&mut worklist);
        worklist.settle();
        Ok(id)
    }
}

impl<N: Native> super::queue_core::State<N> {
    fn take_sequence(&mut self) -> Result<u64> {
        if let Some(error) = &self.end {
            return Err(error.clone());
        }
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        Ok(sequence)
    }
}

/// Queues work with the semaphores of this crate, whichever device made them.
#[inline]
pub(crate) fn ours(point: SemaphorePoint) -> Result<TimelinePoint> {
    TimelinePoint::of(point).ok_or_else(foreign_semaphore)
}

#[cold]
fn foreign_semaphore() -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        "a queue cannot wait for or signal a semaphore of a foreign implementation; create it with a device",
    )
}
