//! The life of one submission, for whoever draws timelines.

use crate::{Error, Origin};
use std::time::Instant;

/// When a submission came, went to the device and ended; see [`DeviceParams::trace`](crate::DeviceParams::trace). Times
/// are the host's: a submission has ended when that was found out, not when the device was done.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SubmissionTrace {
    /// Which one: device, queue, sequence number, label, and the first of its kernels.
    pub submission: Origin,
    /// When `submit` took it.
    pub submitted: Instant,
    /// When its work began to be handed to the driver; `None` if it never came to that.
    pub issued: Option<Instant>,
    /// When it ended.
    pub ended: Instant,
    /// Why it failed, if it did.
    pub error: Option<Error>,
}

impl SubmissionTrace {
    /// One that ends now.
    pub fn ending_now(
        submission: Origin,
        submitted: Instant,
        issued: Option<Instant>,
        error: Option<Error>,
    ) -> Self {
        SubmissionTrace { submission, submitted, issued, ended: Instant::now(), error }
    }
}
