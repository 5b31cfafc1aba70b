//! What a wake-up leaves to be done once everybody has been woken.

use super::TimelineSemaphore;
use crate::sync::Arc;
use hal_core::{Error, Semaphore};
use smallvec::SmallVec;
use std::collections::VecDeque;

/// Something that became ready and needs a thread to run it.
pub(crate) trait Schedule: Send + Sync {
    /// Sees to it that a thread does.
    fn schedule(self: Arc<Self>);
}

/// Semaphores to fail, first come first served, and then queues to run: only when all that one signal makes ready is
/// there does anybody start on it, so that it is taken in the right order. Owns no memory in the usual case.
#[must_use = "nothing in it has happened yet; call `settle`"]
#[derive(Default)]
pub(crate) struct Worklist {
    semaphores: VecDeque<(Arc<dyn Semaphore>, Error)>,
    queues: SmallVec<[Arc<dyn Schedule>; 4]>,
}

impl Worklist {
    pub(crate) fn fail(&mut self, semaphore: Arc<dyn Semaphore>, error: Error) {
        self.semaphores.push_back((semaphore, error));
    }

    pub(crate) fn schedule(&mut self, queue: Arc<dyn Schedule>) {
        // Scheduling twice is harmless; this spares the usual repetition.
        if !self.queues.last().is_some_and(|last| Arc::ptr_eq(last, &queue)) {
            self.queues.push(queue);
        }
    }

    /// Does everything, including what that adds.
    pub(crate) fn settle(mut self) {
        while let Some((semaphore, error)) = self.semaphores.pop_front() {
            match TimelineSemaphore::of(&*semaphore) {
                Some(timeline) => {
                    timeline.fail_into(error, &mut self);
                }
                None => {
                    semaphore.fail(error);
                }
            }
        }
        for queue in self.queues {
            queue.schedule();
        }
    }
}
