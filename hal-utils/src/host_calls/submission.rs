//! One host call, from its waits to its signals.

use crate::core::Core;
use crate::deferred_work_queue::{InFlight, QueueCore, ours};
use crate::native::Native;
use crate::sync::{Arc, AtomicUsize, Mutex, Ordering};
use crate::timeline::{TimelinePoint, TimelineSemaphore, Worklist};
use hal_core::{
    Error, ErrorKind, HostCall, HostCompletion, HostOutcome, Origin, Result, Semaphore, Submission,
    SubmissionId, TimepointId, validate,
};
use smallvec::SmallVec;
use std::any::Any;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::ThreadId;

pub(crate) struct HostSubmission<N: Native> {
    id: SubmissionId,
    label: Option<Cow<'static, str>>,
    core: Arc<Core<N>>,
    /// Waits not reached, plus one while registering.
    unmet: AtomicUsize,
    /// Taken by whoever ends it.
    call: Mutex<Option<Call<N>>>,
}

/// What a host call owns until it ends.
struct Call<N: Native> {
    /// Taken when it starts.
    function: Option<HostCall>,
    /// The thread that runs the function now.
    runner: Option<ThreadId>,
    signals: SmallVec<[TimelinePoint; 2]>,
    registrations: SmallVec<[(Arc<TimelineSemaphore>, TimepointId); 2]>,
    in_flight: InFlight<N>,
}

/// Takes a host call into its queue.
pub(crate) fn submit<N: Native>(
    queue: &Arc<QueueCore<N>>,
    mut submission: Submission,
    function: HostCall,
) -> Result<SubmissionId> {
    let core = &queue.core;
    core.alive()?;
    validate::host_submission(&submission)?;
    let parts = submission.parts();
    let waits = parts.waits.drain(..).map(ours).collect::<Result<SmallVec<[TimelinePoint; 4]>>>()?;
    let signals = parts.signals.drain(..).map(ours).collect::<Result<_>>()?;
    let (id, in_flight) = queue.enlist()?;
    let call =
        Call { function: Some(function), runner: None, signals, registrations: SmallVec::new(), in_flight };
    let submission = Arc::new(HostSubmission {
        id,
        label: parts.label.take(),
        core: core.clone(),
        unmet: AtomicUsize::new(waits.len() + 1),
        call: Mutex::new(Some(call)),
    });
    if let Err(end) = core.host_calls.list(&submission) {
        // Between `alive` and here.
        submission.end(Err(end));
        return Ok(id);
    }
    for wait in waits {
        let waiting = submission.clone();
        let timepoint = wait.timeline.on_reached(
            wait.value,
            Box::new(move |outcome| match outcome {
                Ok(()) => waiting.reached(),
                Err(error) => waiting.end(Err(error)),
            }),
        );
        if let Some(timepoint) = timepoint {
            submission.registered(wait.timeline, timepoint);
        }
    }
    submission.reached();
    Ok(id)
}

impl<N: Native> HostSubmission<N> {
    /// One wait fewer. After the last it stands in the pool's line.
    fn reached(self: &Arc<Self>) {
        if self.unmet.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.core.host_calls.enqueue(&self.core, self);
        }
    }

    /// Remembers a registration, so that an early end takes it back.
    fn registered(&self, timeline: Arc<TimelineSemaphore>, timepoint: TimepointId) {
        {
            let mut call = self.call.lock();
            if let Some(call) = &mut *call {
                call.registrations.push((timeline, timepoint));
                return;
            }
        }
        timeline.cancel(timepoint);
    }

    /// Whether it has not ended, and nothing that this thread runs now is what it waits for.
    pub(super) fn holds_up(&self, thread: ThreadId) -> bool {
        self.call.lock().as_ref().is_some_and(|call| call.runner != Some(thread))
    }

    /// Whether the function has not been started.
    pub(super) fn is_waiting(&self) -> bool {
        self.call.lock().as_ref().is_some_and(|call| call.function.is_some())
    }

    /// Runs the function, unless it has ended before.
    pub(super) fn run(self: &Arc<Self>) {
        let function = {
            let mut call = self.call.lock();
            let Some(call) = &mut *call else { return };
            call.runner = Some(std::thread::current().id());
            call.function.take()
        };
        let Some(function) = function else { return };
        let ended = self.clone();
        let completion = HostCompletion::new(Box::new(move |outcome| ended.ended(outcome)));
        if let Err(panic) = catch_unwind(AssertUnwindSafe(move || function(completion))) {
            self.end(Err(Error::new(
                ErrorKind::Aborted,
                format!("the host call panicked: {}", text(&*panic)),
            )));
            drop_quietly(panic);
        }
        if let Some(call) = &mut *self.call.lock() {
            call.runner = None;
        }
        // Who closes the device may be waiting for just this.
        self.core.host_calls.changed();
    }

    fn ended(self: &Arc<Self>, outcome: HostOutcome) {
        match outcome {
            HostOutcome::Completed(result) => self.end(result),
            HostOutcome::Dropped if std::thread::panicking() => {
                let here = Some(std::thread::current().id());
                // Of its own function, `run` says more.
                if self.call.lock().as_ref().is_some_and(|call| call.runner != here) {
                    let what = "the thread that had the host call's completion token panicked";
                    self.end(Err(Error::new(ErrorKind::Aborted, what)));
                }
            }
            HostOutcome::Dropped => self.end(Err(Error::new(
                ErrorKind::Aborted,
                "the host call's completion token was dropped; call `complete` on it",
            ))),
        }
    }

    /// Signals or fails what it promised, once; later ends change nothing.
    pub(super) fn end(self: &Arc<Self>, outcome: Result<()>) {
        let Some(call) = self.call.lock().take() else { return };
        let Call { function, signals, registrations, in_flight, .. } = call;
        let _ending = self.core.host_calls.ending();
        for (timeline, timepoint) in registrations {
            timeline.cancel(timepoint);
        }
        // What the function owns goes first, as the resources of other submissions do.
        drop(function);
        let mut worklist = Worklist::default();
        match outcome {
            Ok(()) => {
                for point in &signals {
                    point.timeline.raise(point.value, &mut worklist);
                }
            }
            Err(error) => {
                self.core.counters.failed.fetch_add(1, Ordering::Relaxed);
                let error = error.with_origin(|| self.origin());
                for point in signals {
                    worklist.fail(point.timeline, error.clone());
                }
            }
        }
        worklist.settle();
        // Off the list before it counts as retired: the list is what keeps a closed device.
        self.core.host_calls.unlist(self);
        drop(in_flight);
    }

    /// For reports and errors.
    pub(super) fn origin(&self) -> Origin {
        Origin {
            device: self.core.info().uri(),
            queue: self.id.queue,
            sequence: self.id.sequence,
            label: self.label.as_deref().map(str::to_owned),
            kernels: Vec::new(),
        }
    }
}

/// What a panic said.
fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("it did not say why")
}

/// A panic's payload is anything, and may panic as it goes.
pub(super) fn drop_quietly(panic: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(move || drop(panic))) {
        std::mem::forget(again);
    }
}
