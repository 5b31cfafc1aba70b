//! What is kept of a submission for its trace, where somebody wants that.

use super::states::Work;
use crate::core::Core;
use crate::native::Native;
use crate::sync::assert_unlocked;
use hal_core::{Error, SubmissionTrace};
use std::time::Instant;

/// Boxed, so that a submission that nobody traces is a word larger and pays for a look at it.
pub(crate) struct Stamps {
    submitted: Instant,
    issued: Option<Instant>,
    error: Option<Error>,
}

impl Stamps {
    pub(super) fn new<N: Native>(core: &Core<N>) -> Option<Box<Self>> {
        let stamps = || Box::new(Stamps { submitted: Instant::now(), issued: None, error: None });
        core.params.trace.as_ref().map(|_| stamps())
    }
}

impl<N: Native> Work<N> {
    pub(super) fn stamp_issue(&mut self) {
        if let Some(stamps) = &mut self.stamps {
            stamps.issued = Some(Instant::now());
        }
    }

    pub(super) fn stamp_failure(&mut self, error: &Error) {
        if let Some(stamps) = &mut self.stamps {
            stamps.error = Some(error.clone());
        }
    }

    /// Tells the observer, once.
    pub(super) fn tell_end(&mut self) {
        let Some(stamps) = self.stamps.take() else { return };
        let Stamps { submitted, issued, error } = *stamps;
        if let Some(observer) = &self.queue().core.params.trace {
            assert_unlocked();
            observer(&SubmissionTrace::ending_now(self.origin(), submitted, issued, error));
        }
    }
}
