//! The queue a user holds.

use crate::deferred_work_queue::QueueCore;
use crate::device::{Lifeline, SharedDevice};
use crate::file;
use crate::host_calls;
use crate::native::{Handle, Native};
use crate::sync::Arc;
use hal_core::{
    BufferRange, Deadline, Device, HostCall, HostFile, NativeStream, Queue, Result, Submission, SubmissionId,
};
use std::any::Any;
use std::fmt;

pub(crate) struct SharedQueue<N: Native> {
    core: Arc<QueueCore<N>>,
    /// After `core`: dropping the last of these closes the device, which waits for the queue's work.
    lifeline: Arc<Lifeline<N>>,
}

impl<N: Native> SharedQueue<N> {
    pub(crate) fn new(core: Arc<QueueCore<N>>, lifeline: Arc<Lifeline<N>>) -> Self {
        SharedQueue { core, lifeline }
    }
}

impl<N: Native> Queue for SharedQueue<N> {
    fn device(&self) -> Arc<dyn Device> {
        Arc::new(SharedDevice::of(self.lifeline.clone()))
    }

    fn id(&self) -> u64 {
        self.core.id
    }

    fn submit(&self, submission: Submission) -> Result<SubmissionId> {
        self.core.submit(submission)
    }

    fn host_call(&self, submission: Submission, call: HostCall) -> Result<SubmissionId> {
        host_calls::submit(&self.core, submission, call)
    }

    fn read(
        &self,
        submission: Submission,
        file: &Arc<HostFile>,
        offset: u64,
        target: BufferRange,
    ) -> Result<SubmissionId> {
        file::transfer(&self.core, submission, file::Direction::Read, file, offset, target)
    }

    fn write(
        &self,
        submission: Submission,
        source: BufferRange,
        file: &Arc<HostFile>,
        offset: u64,
    ) -> Result<SubmissionId> {
        file::transfer(&self.core, submission, file::Direction::Write, file, offset, source)
    }

    fn is_idle(&self) -> bool {
        self.core.is_idle()
    }

    fn wait_idle(&self, deadline: Deadline) -> Result<()> {
        self.core.wait_idle(deadline)
    }

    fn native_stream(&self) -> NativeStream {
        NativeStream::from_raw(self.core.stream.raw())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl<N: Native> Drop for SharedQueue<N> {
    fn drop(&mut self) {
        // The stream stays with its work, and is reused when the last of it is gone.
        self.core.core.streams.abandon();
    }
}

impl<N: Native> fmt::Debug for SharedQueue<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("id", &self.core.id)
            .field("idle", &self.is_idle())
            .finish_non_exhaustive()
    }
}
