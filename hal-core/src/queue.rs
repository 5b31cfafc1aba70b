//! Where work is submitted.

use crate::{
    BufferRange, CommandBuffer, Deadline, Device, HostCall, HostFile, NativeStream, Result, Semaphore,
    SemaphorePoint, fence,
};
use smallvec::SmallVec;
use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Urgency relative to other queues of a device, where the driver has priorities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum QueuePriority {
    /// The driver's lowest.
    Low,
    /// The driver's default.
    #[default]
    Normal,
    /// The driver's highest.
    High,
}

/// How to create a queue.
#[derive(Clone, Debug, Default)]
pub struct QueueParams {
    /// Its urgency.
    pub priority: QueuePriority,
}

/// Names an accepted submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubmissionId {
    /// The queue's number on its device.
    pub queue: u64,
    /// Its place in the queue: the order in which `submit` took them, from 0.
    pub sequence: u64,
}

/// A command buffer to execute, with what its slots stand for.
#[derive(Clone, Debug)]
pub struct Execute {
    /// The commands.
    pub commands: Arc<dyn CommandBuffer>,
    /// The binding table: slot *n* is entry *n*.
    pub bindings: Vec<BufferRange>,
}

/// Work, what it waits for, and what it signals.
///
/// Handles move into the submission and stay alive until it has ended.
///
/// ```no_run
/// # use hal_core::*;
/// # use std::sync::Arc;
/// # fn f(queue: &dyn Queue, commands: &Arc<dyn CommandBuffer>, a: &Arc<dyn Semaphore>, b: &Arc<dyn Semaphore>)
/// # -> Result<()> {
/// queue.submit(Submission::new().label("step 1").wait(a, 1).execute(commands).signal(b, 1))?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Submission {
    pub(crate) label: Option<Cow<'static, str>>,
    pub(crate) waits: SmallVec<[SemaphorePoint; 4]>,
    pub(crate) work: SmallVec<[Execute; 1]>,
    pub(crate) signals: SmallVec<[SemaphorePoint; 2]>,
}

/// What a submission consists of, for the queue that runs it to take out.
#[derive(Debug)]
pub struct SubmissionParts<'a> {
    /// For messages.
    pub label: &'a mut Option<Cow<'static, str>>,
    /// One entry per semaphore.
    pub waits: &'a mut SmallVec<[SemaphorePoint; 4]>,
    /// In order.
    pub work: &'a mut SmallVec<[Execute; 1]>,
    /// One entry per semaphore.
    pub signals: &'a mut SmallVec<[SemaphorePoint; 2]>,
}

impl Submission {
    /// Nothing: waits for nothing, does nothing, signals nothing.
    #[inline]
    pub fn new() -> Self {
        Submission::default()
    }

    /// A name for error messages and reports.
    #[inline]
    #[must_use]
    pub fn label(mut self, label: impl Into<Cow<'static, str>>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Starts only when `semaphore` has reached `value`. Of two waits for one semaphore the larger counts.
    #[inline]
    #[must_use]
    pub fn wait(mut self, semaphore: &Arc<dyn Semaphore>, value: u64) -> Self {
        fence::insert(&mut self.waits, SemaphorePoint::new(semaphore, value));
        self
    }

    /// Executes a command buffer that uses no slots, after those named before.
    #[inline]
    #[must_use]
    pub fn execute(self, commands: &Arc<dyn CommandBuffer>) -> Self {
        self.execute_with(commands, Vec::new())
    }

    /// Executes a command buffer with this binding table, after those named before.
    #[inline]
    #[must_use]
    pub fn execute_with(mut self, commands: &Arc<dyn CommandBuffer>, bindings: Vec<BufferRange>) -> Self {
        self.work.push(Execute { commands: commands.clone(), bindings });
        self
    }

    /// Raises `semaphore` to `value` when the work has ended; fails it if the work fails. Of two signals for one
    /// semaphore the larger counts. A payload already there or beyond stays as it is.
    #[inline]
    #[must_use]
    pub fn signal(mut self, semaphore: &Arc<dyn Semaphore>, value: u64) -> Self {
        fence::insert(&mut self.signals, SemaphorePoint::new(semaphore, value));
        self
    }

    /// Its parts where they are: a queue takes each out once, and nothing is moved twice.
    #[inline]
    pub fn parts(&mut self) -> SubmissionParts<'_> {
        SubmissionParts {
            label: &mut self.label,
            waits: &mut self.waits,
            work: &mut self.work,
            signals: &mut self.signals,
        }
    }
}

/// A place to submit work to. Maps to a native stream.
///
/// # Order
///
/// Semaphores give order, and nothing else does:
///
/// - A submission starts when all its waits are reached. One whose waits are unmet delays no other, not even a later
///   one of the same queue.
/// - Submissions of one queue that are ready are handed to the device in the order in which `submit` took them.
///   Since a queue is one stream, those then run one after the other.
/// - A wait for a value that another submission of this device will signal becomes a wait on the device, as soon as
///   that one has been handed over: no completion passes through the host. On the same queue it becomes nothing.
///   Since a queue is one stream, what is handed over after such a wait stands behind it: put work that must not
///   into a queue of its own.
/// - Signals become visible to the host after all effects of the work are.
///
/// # Failure
///
/// A submission fails if one of its waits fails, if the driver refuses it, or if it fails as it runs. Its signal
/// semaphores then fail with the same error, and so its dependants; nothing else does, and the queue stays usable.
/// Only loss of the device ends everything on it.
///
/// # Lifetime
///
/// Dropping a queue returns at once. Its work runs on, and its stream is reused by a later queue.
pub trait Queue: Send + Sync + fmt::Debug {
    /// The device. Holding a queue keeps its device open.
    fn device(&self) -> Arc<dyn Device>;

    /// Its number on the device.
    fn id(&self) -> u64;

    /// Takes a submission and returns. Waits neither for the device nor for a semaphore.
    ///
    /// # Errors
    /// On error nothing has happened, and the semaphores are as they were: `InvalidArgument` or `OutOfRange` for what
    /// validation finds, `DeviceLost`. What goes wrong later is found at the signal semaphores.
    fn submit(&self, submission: Submission) -> Result<SubmissionId>;

    /// Runs a function on the host once all waits of `submission` are reached, on one of a few threads
    /// ([`DeviceParams::host_call_threads`](crate::DeviceParams::host_call_threads)). Its signals follow when the
    /// function, or whoever it gave its token to, [completes](crate::HostCompletion::complete) it. It counts as a
    /// submission of this queue; it has no order with others but by semaphores.
    ///
    /// The function may call the HAL, submit to this queue, and wait. If it fails, panics or drops its token, its
    /// submission fails, and so its dependants; nothing else does. When the device closes, functions that have not been
    /// started never are, and those that run are waited for up to the teardown limit.
    ///
    /// ```no_run
    /// # use hal_core::*;
    /// # use std::sync::Arc;
    /// # fn f(queue: &dyn Queue, ready: &Arc<dyn Semaphore>, done: &Arc<dyn Semaphore>) -> Result<()> {
    /// let submission = Submission::new().label("check").wait(ready, 1).signal(done, 1);
    /// queue.host_call(submission, Box::new(|completion| completion.complete(Ok(()))))?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As for [`submit`](Queue::submit); `InvalidArgument` if `submission` has command buffers.
    fn host_call(&self, submission: Submission, call: HostCall) -> Result<SubmissionId>;

    /// Reads `target.length` bytes of `file` from `offset` into a buffer once all waits of `submission` are reached, and
    /// then signals. Runs as a host call, through a ring of pinned memory of fixed size.
    ///
    /// What the file or the driver refuses, or a file that ends too early, fails the submission with an error that names
    /// file, offset and reason; then the target's contents are undefined.
    ///
    /// # Errors
    /// As for [`host_call`](Queue::host_call); `OutOfRange` for ranges outside the buffer or what a file can have.
    fn read(
        &self,
        submission: Submission,
        file: &Arc<HostFile>,
        offset: u64,
        target: BufferRange,
    ) -> Result<SubmissionId>;

    /// Writes a buffer's bytes to `file` from `offset`, as [`read`](Queue::read) reads them; the file grows as needed. A
    /// failed write leaves the file's range undefined. Nothing is synced to the disk.
    ///
    /// # Errors
    /// As for [`read`](Queue::read).
    fn write(
        &self,
        submission: Submission,
        source: BufferRange,
        file: &Arc<HostFile>,
        offset: u64,
    ) -> Result<SubmissionId>;

    /// Whether everything submitted has ended. A queue that never had work is idle.
    fn is_idle(&self) -> bool;

    /// Blocks until everything has ended that was submitted before the call. What is submitted meanwhile is not waited
    /// for.
    ///
    /// # Errors
    /// `DeadlineExceeded`.
    fn wait_idle(&self, deadline: Deadline) -> Result<()>;

    /// The driver's stream, for other libraries to put work into. Valid while the queue is held; once it is dropped, the
    /// stream serves other queues, so let that work end first. Queues may share a stream.
    ///
    /// Work put there runs in order with what the queue hands over before and after it, and so delays the signals of
    /// what comes after. The HAL knows nothing of it: neither [`is_idle`](Queue::is_idle) nor a semaphore tells its end;
    /// record an event and [import](crate::Device::import_event) it, or submit after it.
    ///
    /// ```no_run
    /// # use hal_core::*;
    /// # unsafe extern "C" { fn their_library_runs(stream: *mut std::ffi::c_void); }
    /// # unsafe fn f(queue: &dyn Queue, done: &std::sync::Arc<dyn Semaphore>) -> Result<()> {
    /// // SAFETY: a stream of this driver, while `queue` is held.
    /// unsafe { their_library_runs(queue.native_stream().as_ptr()) };
    /// // Signals once their work, too, has ended.
    /// queue.submit(Submission::new().signal(done, 1))?;
    /// # Ok(()) }
    /// ```
    fn native_stream(&self) -> NativeStream;

    /// For backends to recognise their own.
    fn as_any(&self) -> &dyn Any;
}
