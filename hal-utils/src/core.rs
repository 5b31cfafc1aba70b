//! What everything of one open device shares.
//!
//! Buffers, executables, queues, points on timelines and both threads hold the core; the core holds none of them
//! strongly. The native device is released with its last holder, so a buffer may outlive its device's handle.

use crate::context::Current;
use crate::deferred_work_queue::{CompletionInbox, Counters, Node, QueueCore, Work, WorkerInbox};
use crate::event_pool::EventPool;
use crate::file::Rings;
use crate::host_calls::HostCalls;
use crate::memory::Accounts;
use crate::native::{Native, is_teardown};
use crate::recycle::Spares;
use crate::streams::Streams;
use crate::sync::{Arc, AtomicBool, AtomicUsize, Mutex, OnceLock, Ordering, Rank, Weak, assert_unlocked};
use crate::timeline::TimelineSemaphore;
use hal_core::{DeviceId, DeviceInfo, DeviceParams, Error, ErrorKind, Result, TeardownReport};

/// Ended submissions whose memory is kept. More are freed, and allocated again when needed.
const KEPT: usize = 1024;

pub(crate) struct Core<N: Native> {
    native: N,
    pub(crate) id: DeviceId,
    pub(crate) params: DeviceParams,
    pub(crate) events: EventPool<N>,
    pub(crate) streams: Streams<N>,
    pub(crate) spares: Spares<Work<N>, Node<N>>,
    pub(crate) counters: Counters,
    pub(crate) worker: WorkerInbox<N>,
    pub(crate) completion: CompletionInbox<N>,
    pub(crate) memory: Accounts,
    pub(crate) host_calls: HostCalls<N>,
    pub(crate) file_rings: Rings<N>,
    /// Everything that must hear of the device's end.
    pub(crate) members: Mutex<Members<N>>,
    lost: OnceLock<Error>,
    /// Whether it is. Whoever issues says so first and then looks here; whoever tells of the loss sees it here first and
    /// then asks whether somebody issues. Each must see the other, so all four are sequentially consistent.
    is_lost: AtomicBool,
    /// The driver is being torn down: nothing is asked of it any more.
    gone: AtomicBool,
    issuing: AtomicUsize,
    closed: AtomicBool,
    /// Frees that the driver refused, for the teardown report; `None` once that has been made.
    failures: Mutex<Option<Vec<Error>>>,
}

/// Weak, and swept as it grows: what is dropped need not report here.
pub(crate) struct Members<N: Native> {
    /// Set once nothing more may join.
    pub(crate) end: Option<Error>,
    pub(crate) queues: Vec<Weak<QueueCore<N>>>,
    pub(crate) semaphores: Vec<Weak<TimelineSemaphore>>,
}

impl<N: Native> Core<N> {
    pub(crate) fn new(native: N, id: DeviceId, params: DeviceParams) -> Arc<Self> {
        Arc::new(Core {
            native,
            id,
            events: EventPool::new(params.event_pool_capacity),
            streams: Streams::new(),
            spares: Spares::new(KEPT),
            counters: Counters::default(),
            worker: WorkerInbox::default(),
            completion: CompletionInbox::default(),
            memory: Accounts::new(&params.memory_budgets),
            host_calls: HostCalls::default(),
            file_rings: Rings::default(),
            members: Mutex::ranked(
                Rank::Members,
                Members { end: None, queues: Vec::new(), semaphores: Vec::new() },
            ),
            lost: OnceLock::new(),
            is_lost: AtomicBool::new(false),
            gone: AtomicBool::new(false),
            issuing: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            failures: Mutex::new(Some(Vec::new())),
            params,
        })
    }

    pub(crate) fn native(&self) -> &N {
        &self.native
    }

    pub(crate) fn info(&self) -> &DeviceInfo {
        self.native.info()
    }

    /// Whether the driver is being torn down: nothing is asked of it any more, and what it gave goes with it.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// Makes the device current on this thread, unless its driver is being torn down.
    pub(crate) fn enter(&self) -> Result<Current<'_, N>> {
        if self.is_gone() {
            self.alive()?;
        }
        Current::enter(&self.native)
    }

    /// Runs with the device current on this thread, and puts back what was.
    pub(crate) fn with_current<R>(&self, run: impl FnOnce(&N) -> Result<R>) -> Result<R> {
        let _current = self.enter()?;
        run(&self.native)
    }

    #[inline]
    pub(crate) fn lost(&self) -> Option<&Error> {
        if self.is_lost.load(Ordering::SeqCst) { self.lost.get() } else { None }
    }

    /// `Err` once the device is lost.
    pub(crate) fn alive(&self) -> Result<()> {
        match self.lost() {
            None => Ok(()),
            Some(error) => Err(error.clone()),
        }
    }

    /// Says that somebody is handing a submission over, while the answer lives.
    pub(crate) fn issuing(&self) -> Issuing<'_> {
        self.issuing.fetch_add(1, Ordering::SeqCst);
        Issuing(&self.issuing)
    }

    pub(crate) fn nobody_issues(&self) -> bool {
        self.issuing.load(Ordering::SeqCst) == 0
    }

    /// Looks at an error on its way to the caller: one that means the loss of the device is acted upon.
    pub(crate) fn inspect<T>(&self, result: Result<T>) -> Result<T> {
        if let Err(error) = &result {
            self.observe(error);
        }
        result
    }

    /// As [`inspect`](Core::inspect), for an error.
    pub(crate) fn observe(&self, error: &Error) {
        if error.kind() != ErrorKind::DeviceLost {
            return;
        }
        let first = self.lost.set(error.clone()).is_ok();
        // By everybody who has seen it, since each relies on it from here on.
        self.is_lost.store(true, Ordering::SeqCst);
        if first {
            // The completion thread tells everybody, in order; see `deferred_work_queue::failure`.
            self.completion.kick();
        }
        if error.native().is_some_and(|native| is_teardown(native.code)) {
            self.gone.store(true, Ordering::Release);
            self.native.set_gone();
        }
    }

    /// Keeps the failure of a free. A lost device refuses them all, which says nothing new.
    pub(crate) fn note(&self, result: Result<()>) {
        let Err(error) = result else { return };
        self.observe(&error);
        if error.kind() == ErrorKind::DeviceLost {
            return;
        }
        if let Some(failures) = &mut *self.failures.lock() {
            failures.push(error);
            return;
        }
        // Of something that outlived the device.
        self.report(Vec::new(), vec![error]);
    }

    /// Reports what could not be freed until now; what fails later is reported as it does.
    pub(crate) fn report_teardown(&self, abandoned: Vec<String>) {
        let failures = self.failures.lock().take().unwrap_or_default();
        if !abandoned.is_empty() || !failures.is_empty() {
            self.report(abandoned, failures);
        }
    }

    fn report(&self, abandoned: Vec<String>, failures: Vec<Error>) {
        if let Some(observer) = &self.params.on_teardown {
            assert_unlocked();
            observer(&TeardownReport { device: self.info().uri(), abandoned, failures });
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(crate) fn set_closed(&self) {
        self.closed.store(true, Ordering::Release);
    }
}

pub(crate) struct Issuing<'a>(&'a AtomicUsize);

impl Drop for Issuing<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl<N: Native> Members<N> {
    fn joinable(&self) -> Result<()> {
        self.end.clone().map_or(Ok(()), Err)
    }

    pub(crate) fn add_queue(&mut self, queue: &Arc<QueueCore<N>>) -> Result<()> {
        self.joinable()?;
        push_weak(&mut self.queues, queue);
        Ok(())
    }

    pub(crate) fn add_semaphore(&mut self, semaphore: &Arc<TimelineSemaphore>) -> Result<()> {
        self.joinable()?;
        push_weak(&mut self.semaphores, semaphore);
        Ok(())
    }
}

/// Sweeps when the list would grow: each entry is looked at a constant number of times on average.
fn push_weak<T>(list: &mut Vec<Weak<T>>, item: &Arc<T>) {
    if list.len() == list.capacity() {
        list.retain(|weak| weak.strong_count() > 0);
        list.reserve(list.len().max(16));
    }
    list.push(Arc::downgrade(item));
}
