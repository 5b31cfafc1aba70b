//! Streams: a queue of operations and a thread that runs them in order.

use super::capture::{self, Branch};
use super::context::{CONTEXTS, Context};
use super::device::limits;
use super::error::{Error, Result};
use super::handle::{Handle, Registry, fresh};
use super::hardware::{self, Issue};
use super::op::Op;
use super::{order, tasks, trace};
use crate::check::race::{self, Task};
use crate::check::{self, Checker};
use parking_lot::{Condvar, Mutex};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Every stream a program made and did not destroy.
pub static STREAMS: Registry<Stream> = Registry::new("streams");

thread_local! {
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
    static PER_THREAD: RefCell<HashMap<Handle, OfThread>> = RefCell::new(HashMap::new());
}

/// A thread's own stream; closes when the thread ends.
struct OfThread(Arc<Stream>);

impl Drop for OfThread {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Whether this thread is inside a host function of a stream, where no call may be made.
pub fn in_callback() -> bool {
    IN_CALLBACK.try_with(Cell::get).unwrap_or(false)
}

/// Runs a host function of a stream.
pub(super) fn as_callback(f: impl FnOnce()) {
    IN_CALLBACK.with(|flag| flag.set(true));
    f();
    IN_CALLBACK.with(|flag| flag.set(false));
}

/// How far a stream has come.
#[derive(Debug, Default)]
struct Progress {
    done: AtomicU64,
    lock: Mutex<()>,
    moved: Condvar,
}

impl Progress {
    fn wake(&self) {
        // Taking the lock closes the gap between a waiter's last look and its sleep.
        let _gap = self.lock.lock();
        self.moved.notify_all();
    }
}

/// A position in a stream: the operation with this number and all before it.
#[derive(Clone, Debug)]
pub struct Point {
    progress: Arc<Progress>,
    number: u64,
    /// What checkers know of it.
    task: Option<Arc<Task>>,
}

impl Point {
    /// What checkers know of it.
    pub(super) fn task(&self) -> Option<&Arc<Task>> {
        self.task.as_ref()
    }

    /// Whether the stream has come here.
    pub fn reached(&self) -> bool {
        self.progress.done.load(Ordering::Acquire) >= self.number
    }

    /// As [`Point::reached`], and the program is told.
    pub(super) fn seen_reached(&self) -> bool {
        let reached = self.reached();
        if reached {
            race::host_learns(self.task.as_ref());
        }
        reached
    }

    /// Whether there is no need to wait: the stream has come here, and nobody checks whether the program waited.
    pub(super) fn is_settled(&self) -> bool {
        self.task.is_none() && self.reached()
    }

    /// As `block`, for the program.
    pub fn wait(&self, give_up: impl Fn() -> bool) -> bool {
        let reached = self.block(give_up);
        if reached {
            race::host_learns(self.task.as_ref());
        }
        reached
    }

    /// Blocks until the stream has come here or `give_up` holds; tells whether it came here. `give_up` is asked after
    /// each `wake_waiters`.
    pub(super) fn block(&self, give_up: impl Fn() -> bool) -> bool {
        if self.reached() {
            return true;
        }
        let _waiting = order::Waiting::on(self);
        let mut guard = self.progress.lock.lock();
        loop {
            if self.reached() {
                return true;
            }
            if give_up() {
                return false;
            }
            self.progress.moved.wait(&mut guard);
        }
    }
}

/// Makes every waiter look again whether it should give up.
pub(super) fn wake_waiters() {
    for context in CONTEXTS.all() {
        let streams = context.streams.lock().clone();
        for stream in streams {
            stream.wake();
        }
    }
    order::stir();
}

#[derive(Default)]
struct Queue {
    ops: VecDeque<(Op, Option<Arc<Task>>)>,
    /// The last operation, as checkers know it.
    last: Option<Arc<Task>>,
    issued: u64,
    has_worker: bool,
    closed: bool,
    /// The first operation may run, though a seed decides.
    granted: bool,
}

/// What stands first in a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    /// It could run now.
    pub ready: bool,
    /// Waits before it were over, and were taken away.
    pub passed: bool,
    /// There is nothing left, and nothing runs.
    pub empty: bool,
}

/// A stream.
pub struct Stream {
    /// Its handle.
    pub handle: Handle,
    /// Its context.
    pub context: Arc<Context>,
    /// Whether it synchronises with the null stream.
    pub blocking: bool,
    /// Its priority; kept, and without effect.
    pub priority: i32,
    /// Its part in a capture.
    pub(super) capture: Mutex<Option<Branch>>,
    /// What `lend_list` lent.
    lent: Mutex<Vec<Handle>>,
    is_null: bool,
    /// The hardware queue that it shares with others.
    hardware: Option<u64>,
    queue: Mutex<Queue>,
    work: Condvar,
    progress: Arc<Progress>,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = self.progress.done.load(Ordering::Relaxed);
        write!(f, "Stream({:#x}, {done} of {} done)", self.handle, self.queue.lock().issued)
    }
}

impl Stream {
    /// Makes a stream. A priority outside the range is clamped, as documented.
    pub fn create(context: &Arc<Context>, blocking: bool, priority: i32) -> Result<Arc<Self>> {
        context.check()?;
        let stream = Self::new(fresh(), context, blocking, priority, false);
        STREAMS.insert_at(stream.handle, stream.clone());
        Ok(stream)
    }

    pub(super) fn null(context: &Arc<Context>) -> Arc<Self> {
        Self::new(fresh(), context, true, 0, true)
    }

    /// The calling thread's own stream in a context.
    pub fn per_thread(context: &Arc<Context>) -> Result<Arc<Self>> {
        PER_THREAD
            .try_with(|streams| {
                let mut streams = streams.borrow_mut();
                streams.retain(|_, stream| !stream.0.queue.lock().closed);
                let make = || OfThread(Self::new(fresh(), context, true, 0, false));
                streams.entry(context.handle).or_insert_with(make).0.clone()
            })
            .map_err(|_| Error::DEINITIALIZED)
    }

    fn new(
        handle: Handle,
        context: &Arc<Context>,
        blocking: bool,
        priority: i32,
        is_null: bool,
    ) -> Arc<Self> {
        let (least, greatest) = limits::PRIORITIES;
        let stream = Arc::new(Self {
            handle,
            context: context.clone(),
            blocking,
            priority: priority.clamp(greatest, least),
            is_null,
            capture: Mutex::new(None),
            lent: Mutex::default(),
            hardware: hardware::assign(),
            queue: Mutex::default(),
            work: Condvar::new(),
            progress: Arc::default(),
        });
        context.streams.lock().push(stream.clone());
        stream
    }

    /// Whether this is the stream of calls without a stream.
    pub fn is_null(&self) -> bool {
        self.is_null
    }

    /// Whether what is put on it is captured.
    pub fn is_capturing(&self) -> bool {
        self.capture.lock().is_some()
    }

    /// Keeps a list for a program that reads it from an address; good until the next such call on the stream.
    pub fn lend_list(&self, list: Vec<Handle>) -> *const Handle {
        let mut lent = self.lent.lock();
        *lent = list;
        lent.as_ptr()
    }

    /// Puts operations on the queue, in order and with nothing between them; returns the position after the last.
    pub fn enqueue(self: &Arc<Self>, ops: impl IntoIterator<Item = Op>) -> Result<Point> {
        self.enqueue_laid_out(ops, &[])
    }

    /// As [`Stream::enqueue`], for operations that only the edges of a graph order among each other. A layout of
    /// nothing is a chain.
    pub(super) fn enqueue_laid_out(
        self: &Arc<Self>,
        ops: impl IntoIterator<Item = Op>,
        layout: &[tasks::Step],
    ) -> Result<Point> {
        self.context.check()?;
        let Some(ops) = capture::take(self, ops.into_iter().collect())? else {
            // Captured, and so no position at all.
            return Ok(Point { progress: self.progress.clone(), number: 0, task: None });
        };
        if !self.blocking {
            return self.push(None, ops, layout);
        }
        // The null stream and its blocking siblings see one order of issue.
        let _order = self.context.order.lock();
        let others = self.legacy_waits();
        self.push((!others.is_empty()).then_some(Op::Wait(others)), ops, layout)
    }

    /// What work on this stream must wait for because of the null stream's rule.
    fn legacy_waits(&self) -> Vec<Point> {
        let others = if self.is_null {
            let streams = self.context.streams.lock();
            streams.iter().filter(|other| other.blocking && !other.is_null).map(|s| s.last_point()).collect()
        } else {
            self.context.existing_null().map(|null| null.last_point()).into_iter().collect::<Vec<_>>()
        };
        others.into_iter().filter(|point| !point.is_settled()).collect()
    }

    fn push(
        self: &Arc<Self>,
        first: Option<Op>,
        ops: impl IntoIterator<Item = Op>,
        layout: &[tasks::Step],
    ) -> Result<Point> {
        let Some(shared) = self.hardware else {
            return self.push_own(first.into_iter().collect(), ops, layout);
        };
        let issue = Issue::on(self.context.device, shared);
        let first = issue.before().into_iter().chain(first).collect();
        let point = self.push_own(first, ops, layout)?;
        issue.done(point.clone());
        Ok(point)
    }

    fn push_own(
        self: &Arc<Self>,
        first: Vec<Op>,
        ops: impl IntoIterator<Item = Op>,
        layout: &[tasks::Step],
    ) -> Result<Point> {
        let mut queue = self.queue.lock();
        if queue.closed {
            return Err(Error::INVALID_HANDLE);
        }
        if !queue.has_worker {
            self.start_worker()?;
            queue.has_worker = true;
        }
        let before = queue.ops.len();
        if check::is_on(Checker::Race) {
            let shift = first.len();
            let ops: Vec<Op> = first.into_iter().chain(ops).collect();
            let (tasks, last) = tasks::of(&ops, layout, shift, self.handle, queue.last.as_ref());
            queue.ops.extend(ops.into_iter().zip(tasks));
            queue.last = last;
        } else {
            queue.ops.extend(first.into_iter().chain(ops).map(|op| (op, None)));
        }
        queue.issued += (queue.ops.len() - before) as u64;
        self.work.notify_one();
        let point = Point { progress: self.progress.clone(), number: queue.issued, task: queue.last.clone() };
        drop(queue);
        order::enqueued(self);
        Ok(point)
    }

    /// Makes the stream wait for a position that it never comes to.
    pub(super) fn hang(self: &Arc<Self>) {
        let never = Point { progress: self.progress.clone(), number: u64::MAX, task: None };
        // A stream that cannot take work stands still already.
        let _ = self.push(None, [Op::Wait(vec![never])], &[]);
    }

    fn start_worker(self: &Arc<Self>) -> Result<()> {
        let stream = self.clone();
        // Never joined: at process exit it is parked or running, and the system takes it down.
        let spawned = std::thread::Builder::new().name("softgpu-stream".into()).spawn(move || stream.run());
        spawned.map(drop).map_err(|_| Error::OPERATING_SYSTEM)
    }

    fn run(self: Arc<Self>) {
        loop {
            let (op, task) = {
                let mut queue = self.queue.lock();
                loop {
                    let may = queue.granted || !order::is_active();
                    if may && let Some(op) = queue.ops.pop_front() {
                        break op;
                    }
                    if queue.closed && queue.ops.is_empty() {
                        drop(queue);
                        self.leave_context();
                        return;
                    }
                    self.work.wait(&mut queue);
                }
            };
            if !order::is_active() {
                trace::line(|| format!("stream {:#x}: {}", self.handle, op.label()));
            }
            if let Some(task) = &task
                && self.context.check().is_ok()
            {
                op.check(task);
            }
            op.run(&self, task.as_ref());
            self.queue.lock().granted = false;
            self.progress.done.fetch_add(1, Ordering::Release);
            self.progress.wake();
            order::finished(self.handle);
        }
    }

    /// What stands first, after waits that are over.
    pub(super) fn head(&self) -> Head {
        let mut queue = self.queue.lock();
        let mut passed = false;
        if queue.granted {
            return Head { ready: false, passed, empty: false };
        }
        while let Some((op, _)) = queue.ops.front() {
            if op.is_waiting() && self.context.check().is_ok() {
                return Head { ready: false, passed, empty: false };
            }
            if !matches!(op, Op::Wait(_)) {
                break;
            }
            queue.ops.pop_front();
            self.progress.done.fetch_add(1, Ordering::Release);
            self.progress.wake();
            passed = true;
        }
        let empty = queue.ops.is_empty();
        if empty && queue.closed {
            self.work.notify_one();
        }
        Head { ready: !empty, passed, empty }
    }

    /// Lets the first operation run; says what it is and for how long it may run alone.
    pub(super) fn grant(&self) -> Option<(String, Duration)> {
        let mut queue = self.queue.lock();
        let (op, _) = queue.ops.front()?;
        let granted = (op.label(), op.patience());
        queue.granted = true;
        self.work.notify_one();
        Some(granted)
    }

    /// Makes the worker look at its queue again.
    pub(super) fn call_worker(&self) {
        let _gap = self.queue.lock();
        self.work.notify_one();
    }

    /// The position after everything issued so far.
    pub fn last_point(&self) -> Point {
        let queue = self.queue.lock();
        Point { progress: self.progress.clone(), number: queue.issued, task: queue.last.clone() }
    }

    /// Whether everything issued so far is done.
    pub fn is_idle(&self) -> bool {
        self.last_point().seen_reached()
    }

    /// Success if everything issued is done, else `NOT_READY`.
    pub fn query(&self) -> Result<()> {
        self.context.check()?;
        capture::not_capturing(self)?;
        let idle = self.is_idle();
        self.context.check()?;
        if idle { Ok(()) } else { Err(Error::NOT_READY) }
    }

    /// Waits until everything issued so far is done, and tells whether the context is still well.
    pub fn synchronize(&self) -> Result<()> {
        self.context.check()?;
        capture::not_capturing(self)?;
        self.wait_for(&self.last_point())
    }

    /// Waits until this stream has come to `point`.
    pub fn wait_for(&self, point: &Point) -> Result<()> {
        self.context.check()?;
        point.wait(|| self.context.check().is_err());
        self.context.check()
    }

    /// Destroys the stream. Returns at once: what it was given still runs.
    pub fn destroy(handle: Handle) -> Result<()> {
        let stream = STREAMS.remove(handle)?;
        capture::forget(&stream);
        stream.close();
        stream.context.check()
    }

    /// Lets the worker end when it has nothing left.
    pub(super) fn close(&self) {
        let idle = {
            let mut queue = self.queue.lock();
            queue.closed = true;
            self.work.notify_one();
            !queue.has_worker
        };
        if idle {
            self.leave_context();
        }
    }

    pub(super) fn wake(&self) {
        self.progress.wake();
    }

    fn leave_context(&self) {
        self.context.streams.lock().retain(|other| other.handle != self.handle);
    }
}
