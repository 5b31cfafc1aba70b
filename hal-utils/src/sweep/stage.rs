//! What scenarios work with: fallible where a driver is called, and keeping what was seen.

use crate::mock::{self, Control, Injection, Pace, Reach};
use hal_core::{
    Buffer, BufferParams, CommandBuffer, Deadline, Device, DeviceParams, Error, ErrorKind, Executable,
    ExecutableParams, Queue, QueueParams, Result, Semaphore, Submission, SubmissionId, TeardownReport,
};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// For what must end.
const PATIENCE: Duration = Duration::from_secs(20);
/// For what may have to be given up, since the driver never says that it has ended.
const LITTLE_PATIENCE: Duration = Duration::from_millis(3);

pub(super) struct Stage {
    pub(super) control: Control,
    pub(super) injection: Option<Injection>,
    pub(super) seen: Arc<Mutex<Vec<Error>>>,
    pub(super) reports: Arc<Mutex<Vec<TeardownReport>>>,
    pub(super) losses: Arc<AtomicU64>,
    /// What accepted submissions have promised.
    pub(super) promised: Mutex<Vec<(Arc<dyn Semaphore>, u64)>>,
    /// Callbacks registered and called.
    pub(super) callbacks: AtomicUsize,
    pub(super) called: Arc<AtomicUsize>,
    pub(super) unresolved: Mutex<Vec<String>>,
}

impl Stage {
    pub(super) fn new(injection: Option<Injection>) -> Self {
        let control = Control::default();
        control.pace(Pace::Lagging(injection.map_or(1, |injection| injection.nth)));
        if let Some(injection) = injection {
            control.inject(injection);
        }
        Stage {
            control,
            injection,
            seen: Arc::default(),
            reports: Arc::default(),
            losses: Arc::default(),
            promised: Mutex::default(),
            callbacks: AtomicUsize::new(0),
            called: Arc::default(),
            unresolved: Mutex::default(),
        }
    }

    /// Whether the driver may refuse to say that work has ended.
    fn hopeless(&self) -> bool {
        self.injection.is_some_and(|injection| injection.reach != Reach::Once)
    }

    pub(super) fn params(&self) -> DeviceParams {
        let (reports, losses, seen) = (self.reports.clone(), self.losses.clone(), self.seen.clone());
        DeviceParams {
            completion_interval: Duration::from_micros(20),
            teardown_limit: if self.hopeless() { LITTLE_PATIENCE } else { PATIENCE },
            on_teardown: Some(Arc::new(move |report: &TeardownReport| reports.lock().push(report.clone()))),
            on_lost: Some(Arc::new(move |error: &Error| {
                losses.fetch_add(1, Ordering::SeqCst);
                seen.lock().push(error.clone());
            })),
            ..DeviceParams::default()
        }
    }

    pub(super) fn device(&self) -> Result<Arc<dyn Device>> {
        mock::open(&self.params(), &self.control)
    }

    pub(super) fn queue(&self, device: &Arc<dyn Device>) -> Result<Arc<dyn Queue>> {
        device.create_queue(&QueueParams::default())
    }

    pub(super) fn buffer(&self, device: &Arc<dyn Device>) -> Result<Arc<dyn Buffer>> {
        device.allocate_buffer(&BufferParams::device_local(64))
    }

    /// Commands that fill a buffer of their own.
    pub(super) fn fills(&self, device: &Arc<dyn Device>, count: u8) -> Result<Arc<dyn CommandBuffer>> {
        let buffer = self.buffer(device)?;
        let mut encoder = device.encoder();
        for pattern in 0..count {
            encoder.fill(&buffer, 0, 64, &[pattern])?;
        }
        encoder.finish(&**device)
    }

    pub(super) fn executable(&self, device: &Arc<dyn Device>) -> Result<Arc<dyn Executable>> {
        device.load_executable(&ExecutableParams::ptx("code", "text"))
    }

    /// Submits, with these signals.
    pub(super) fn submit(
        &self,
        queue: &Arc<dyn Queue>,
        submission: Submission,
        signals: &[(&Arc<dyn Semaphore>, u64)],
    ) -> Result<SubmissionId> {
        let add = |submission: Submission, (semaphore, value): &(&Arc<dyn Semaphore>, u64)| {
            submission.signal(semaphore, *value)
        };
        let id = queue.submit(signals.iter().fold(submission, add))?;
        self.promised.lock().extend(signals.iter().map(|(semaphore, value)| (Arc::clone(semaphore), *value)));
        Ok(id)
    }

    /// Waits for what must come, well or badly.
    pub(super) fn wait(&self, semaphore: &Arc<dyn Semaphore>, value: u64) {
        self.see(semaphore.wait(value, self.soon()));
    }

    pub(super) fn soon(&self) -> Deadline {
        Deadline::after(PATIENCE)
    }

    pub(super) fn see(&self, outcome: Result<()>) {
        match outcome {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::DeadlineExceeded => {
                self.unresolved.lock().push(error.to_string());
            }
            Err(error) => self.seen.lock().push(error),
        }
    }

    /// Waits until all work has ended, if the driver can be expected to say so.
    pub(super) fn wait_idle(&self, queue: &Arc<dyn Queue>) {
        match self.hopeless() {
            true => drop(queue.wait_idle(Deadline::after(LITTLE_PATIENCE))),
            false => self.see(queue.wait_idle(self.soon())),
        }
    }

    /// Must be called once, before or as the device closes.
    pub(super) fn watch(&self, semaphore: &Arc<dyn Semaphore>, value: u64) {
        self.callbacks.fetch_add(1, Ordering::SeqCst);
        let (called, seen) = (self.called.clone(), self.seen.clone());
        let callback = move |outcome: Result<()>| {
            called.fetch_add(1, Ordering::SeqCst);
            // That a device was closed is no failure of a call.
            seen.lock().extend(outcome.err().filter(|error| error.kind() != ErrorKind::Cancelled));
        };
        semaphore.on_reached(value, Box::new(callback));
    }
}
