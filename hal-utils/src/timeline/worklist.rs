//! Failures still to be delivered.

use super::TimelineSemaphore;
use crate::sync::Arc;
use hal_core::{Error, Semaphore};
use std::collections::VecDeque;

/// Semaphores to fail, first come first served. Empty, it owns no memory.
#[must_use = "what is in it has not failed yet; call `settle`"]
#[derive(Default)]
pub(crate) struct Worklist {
    semaphores: VecDeque<(Arc<dyn Semaphore>, Error)>,
}

impl Worklist {
    pub(crate) fn fail(&mut self, semaphore: Arc<dyn Semaphore>, error: Error) {
        self.semaphores.push_back((semaphore, error));
    }

    /// Delivers everything, including what delivering adds.
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
    }
}
