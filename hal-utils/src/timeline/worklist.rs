//! What a wake-up leaves to be done once everybody has been woken.

use super::TimelineSemaphore;
use crate::deferred_work_queue::Ages;
use crate::sync::Arc;
use hal_core::Error;
use smallvec::SmallVec;
use std::collections::VecDeque;

/// A queue: something that became ready and needs a thread to run it, or that has an end to report.
pub(crate) trait Schedule: Send + Sync {
    /// Sees to it that a thread runs it.
    fn schedule(self: Arc<Self>);

    /// Makes it busy until [`release`](Self::release), as a submission of that age does that still is in flight.
    fn hold(&self, ages: Ages);

    /// Takes back one [`hold`](Self::hold).
    fn release(&self, ages: Ages);
}

/// Semaphores to fail, first come first served, and then queues to run: only when all that one signal makes ready is
/// there does anybody start on it, so that it is taken in the right order. Owns no memory in the usual case.
#[must_use = "nothing in it has happened yet; call `settle`"]
#[derive(Default)]
pub(crate) struct Worklist {
    queues: SmallVec<[Arc<dyn Schedule>; 2]>,
    /// Nothing almost always, so that a submission that does not fail pays for no more than looking.
    failures: Option<Box<Failures>>,
}

#[derive(Default)]
struct Failures {
    semaphores: VecDeque<(Arc<TimelineSemaphore>, Error)>,
    /// Not idle before the failures of their submissions have been told.
    held: Vec<(Arc<dyn Schedule>, Ages)>,
}

impl Worklist {
    pub(crate) fn fail(&mut self, timeline: Arc<TimelineSemaphore>, error: Error) {
        self.failures.get_or_insert_default().semaphores.push_back((timeline, error));
    }

    pub(crate) fn schedule(&mut self, queue: Arc<dyn Schedule>) {
        // Scheduling twice is harmless; this spares the usual repetition.
        if !self.queues.last().is_some_and(|last| Arc::ptr_eq(last, &queue)) {
            self.queues.push(queue);
        }
    }

    /// Keeps the queue busy until everything in here is done.
    pub(crate) fn hold(&mut self, queue: Arc<dyn Schedule>, ages: Ages) {
        let held = &mut self.failures.get_or_insert_default().held;
        if !held.last().is_some_and(|(last, of)| Arc::ptr_eq(last, &queue) && *of == ages) {
            queue.hold(ages);
            held.push((queue, ages));
        }
    }

    /// Does everything, including what that adds.
    #[inline]
    pub(crate) fn settle(self) {
        if self.failures.is_some() || !self.queues.is_empty() {
            self.settle_all();
        } else {
            // Owns nothing. To drop it would be to look at all of it once more, for every submission.
            std::mem::forget(self);
        }
    }

    fn settle_all(mut self) {
        while let Some((timeline, error)) = self.next_failure() {
            timeline.fail_into(error, &mut self);
        }
        for queue in self.queues {
            queue.schedule();
        }
        for (queue, ages) in self.failures.into_iter().flat_map(|failures| failures.held) {
            queue.release(ages);
        }
    }

    fn next_failure(&mut self) -> Option<(Arc<TimelineSemaphore>, Error)> {
        self.failures.as_mut()?.semaphores.pop_front()
    }
}
