//! Stream capture: what is put on a stream becomes nodes of a graph instead of running.
//!
//! A capture begins on one stream, the origin; streams that wait for an event captured in it join it. Each member
//! stream has the set of nodes that its next node comes after. A call that breaks the rules invalidates the capture:
//! its end reports that, and yields no graph.

use super::error::{Error, Result};
use super::graph::{Graph, GraphMemory, Work};
use super::handle::Handle;
use super::memory::Request;
use super::op::Op;
use super::stream::Stream;
use parking_lot::Mutex;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread::ThreadId;

/// How a capture, or a thread, treats calls that a capture cannot see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They are refused while any thread captures globally.
    Global = 0,
    /// They are refused while this thread captures.
    ThreadLocal = 1,
    /// They are allowed.
    Relaxed = 2,
}

impl Mode {
    /// The mode that ABIs give this number.
    pub fn of(number: i32) -> Result<Self> {
        match number {
            0 => Ok(Self::Global),
            1 => Ok(Self::ThreadLocal),
            2 => Ok(Self::Relaxed),
            _ => Err(Error::INVALID_VALUE),
        }
    }
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);
static COUNT: AtomicUsize = AtomicUsize::new(0);
static ACTIVE: Mutex<Vec<Arc<Capture>>> = Mutex::new(Vec::new());

thread_local! {
    static MODE: Cell<Mode> = const { Cell::new(Mode::Global) };
}

/// A capture that is going on.
#[derive(Debug)]
pub struct Capture {
    /// Unique over the lifetime of the process.
    pub id: u64,
    /// What is captured into.
    pub graph: Arc<Graph>,
    origin: Handle,
    mode: Mode,
    thread: ThreadId,
    /// Whether the graph was the program's before.
    is_foreign: bool,
    invalid: AtomicBool,
    members: Mutex<Vec<Weak<Stream>>>,
}

/// A stream's part in a capture.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Which capture.
    pub capture: Arc<Capture>,
    /// What the next node comes after.
    pub after: Vec<Handle>,
}

impl Capture {
    /// Whether a call broke the rules.
    pub fn is_invalid(&self) -> bool {
        self.invalid.load(Ordering::Acquire)
    }

    pub(super) fn invalidate(&self) {
        self.invalid.store(true, Ordering::Release);
    }

    fn end(self: &Arc<Self>) {
        for member in self.members.lock().drain(..).filter_map(|stream| stream.upgrade()) {
            *member.capture.lock() = None;
        }
        ACTIVE.lock().retain(|other| !Arc::ptr_eq(other, self));
        COUNT.fetch_sub(1, Ordering::AcqRel);
    }

    /// Whether every node comes before those that the origin stands at.
    fn is_joined(&self, last: &[Handle], known: &[Handle]) -> bool {
        let nodes = self.graph.nodes();
        let mut seen: Vec<Handle> = Vec::new();
        let mut open = last.to_vec();
        while let Some(handle) = open.pop() {
            if !seen.contains(&handle) {
                seen.push(handle);
                open.extend(nodes.iter().filter(|node| node.handle == handle).flat_map(|node| &node.after));
            }
        }
        known.iter().all(|handle| seen.contains(handle))
    }
}

/// Begins a capture on a stream, into a graph of its own or after nodes of one that exists.
pub fn begin(stream: &Arc<Stream>, mode: Mode, into: Option<(Arc<Graph>, Vec<Handle>)>) -> Result<()> {
    stream.context.check()?;
    if stream.is_null() {
        return Err(Error::STREAM_CAPTURE_UNSUPPORTED);
    }
    let mut branch = stream.capture.lock();
    if branch.is_some() {
        return Err(Error::ILLEGAL_STATE);
    }
    let is_foreign = into.is_some();
    let (graph, after) = into.unwrap_or_else(|| (Graph::create(&stream.context), Vec::new()));
    let known = graph.node_handles();
    if !after.iter().all(|handle| known.contains(handle)) {
        return Err(Error::INVALID_VALUE);
    }
    let capture = Arc::new(Capture {
        id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
        graph,
        origin: stream.handle,
        mode,
        thread: std::thread::current().id(),
        is_foreign,
        invalid: AtomicBool::new(false),
        members: Mutex::new(vec![Arc::downgrade(stream)]),
    });
    ACTIVE.lock().push(capture.clone());
    COUNT.fetch_add(1, Ordering::AcqRel);
    *branch = Some(Branch { capture, after });
    Ok(())
}

/// Ends the capture that began on a stream: its graph.
pub fn end(stream: &Stream) -> Result<Arc<Graph>> {
    let branch = stream.capture.lock().clone().ok_or(Error::ILLEGAL_STATE)?;
    let capture = branch.capture;
    if capture.origin != stream.handle {
        capture.invalidate();
        return Err(Error::STREAM_CAPTURE_UNMATCHED);
    }
    if capture.mode != Mode::Relaxed && capture.thread != std::thread::current().id() {
        return Err(Error::STREAM_CAPTURE_WRONG_THREAD);
    }
    let mut ends: Vec<Handle> = Vec::new();
    for member in capture.members.lock().iter().filter_map(Weak::upgrade) {
        let of_member = member.capture.lock().as_ref().map(|branch| branch.after.clone());
        ends.extend(of_member.unwrap_or_default());
    }
    let joined = capture.is_joined(&branch.after, &ends);
    capture.end();
    let failure = match (capture.is_invalid(), joined) {
        (true, _) => Some(Error::STREAM_CAPTURE_INVALIDATED),
        (_, false) => Some(Error::STREAM_CAPTURE_UNJOINED),
        _ => None,
    };
    match failure {
        None => Ok(capture.graph.clone()),
        Some(error) => {
            if !capture.is_foreign {
                // The program may have destroyed it through `GetCaptureInfo`, which it must not.
                let _ = Graph::destroy(capture.graph.handle);
            }
            Err(error)
        }
    }
}

/// A stream's part in a capture, if it has one. The null stream must not be asked while a stream that synchronises with it
/// captures.
pub fn status(stream: &Stream) -> Result<Option<Branch>> {
    if stream.is_null() && blocks_null(stream) {
        return Err(Error::STREAM_CAPTURE_IMPLICIT);
    }
    Ok(stream.capture.lock().clone())
}

/// Replaces, or adds to, what the next node of a capturing stream comes after.
pub fn update_dependencies(stream: &Stream, nodes: &[Handle], replace: bool) -> Result<()> {
    let mut branch = stream.capture.lock();
    let branch = branch.as_mut().ok_or(Error::ILLEGAL_STATE)?;
    if branch.capture.is_invalid() {
        return Err(Error::STREAM_CAPTURE_INVALIDATED);
    }
    let known = branch.capture.graph.node_handles();
    if !nodes.iter().all(|node| known.contains(node)) {
        return Err(Error::INVALID_VALUE);
    }
    if replace {
        branch.after.clear();
    }
    join(&mut branch.after, nodes);
    Ok(())
}

/// Sets how the calling thread treats calls that a capture cannot see; returns how it did.
pub fn exchange_mode(mode: Mode) -> Mode {
    MODE.try_with(|current| current.replace(mode)).unwrap_or(Mode::Global)
}

/// Refuses a call that a capture cannot see, where the modes say so, and invalidates the captures concerned.
pub fn unsafe_call() -> Result<()> {
    if COUNT.load(Ordering::Acquire) == 0 {
        return Ok(());
    }
    let mode = MODE.try_with(Cell::get).unwrap_or(Mode::Global);
    let here = std::thread::current().id();
    let mut refused = false;
    for capture in ACTIVE.lock().iter() {
        let own = capture.thread == here && capture.mode != Mode::Relaxed;
        let concerned = match mode {
            Mode::Relaxed => false,
            Mode::ThreadLocal => own,
            Mode::Global => own || capture.mode == Mode::Global,
        };
        if concerned {
            capture.invalidate();
            refused = true;
        }
    }
    if refused { Err(Error::STREAM_CAPTURE_UNSUPPORTED) } else { Ok(()) }
}

/// Refuses a call that asks or waits for work of a stream that captures, which has none.
pub(super) fn not_capturing(stream: &Stream) -> Result<()> {
    if COUNT.load(Ordering::Acquire) == 0 {
        return Ok(());
    }
    if stream.is_null() {
        return refuse_null(stream);
    }
    match stream.capture.lock().as_ref() {
        None => Ok(()),
        Some(branch) => {
            branch.capture.invalidate();
            Err(Error::STREAM_CAPTURE_UNSUPPORTED)
        }
    }
}

/// Whether a stream that synchronises with this null stream captures.
fn blocks_null(null: &Stream) -> bool {
    COUNT.load(Ordering::Acquire) > 0 && !captures_blocking(null).is_empty()
}

fn captures_blocking(null: &Stream) -> Vec<Arc<Capture>> {
    let streams = null.context.streams.lock().clone();
    let blocking = streams.iter().filter(|stream| stream.blocking && !stream.is_null());
    blocking
        .filter_map(|stream| stream.capture.lock().as_ref().map(|branch| branch.capture.clone()))
        .collect()
}

fn refuse_null(null: &Stream) -> Result<()> {
    let captures = captures_blocking(null);
    captures.iter().for_each(|capture| capture.invalidate());
    if captures.is_empty() { Ok(()) } else { Err(Error::STREAM_CAPTURE_IMPLICIT) }
}

fn join(after: &mut Vec<Handle>, more: &[Handle]) {
    for node in more {
        if !after.contains(node) {
            after.push(*node);
        }
    }
}

/// Adds a node to the capture of a stream, and lets the next one come after it. `None` if the stream does not capture.
pub(super) fn add(stream: &Stream, work: impl FnOnce() -> Result<Work>) -> Result<Option<Handle>> {
    if COUNT.load(Ordering::Acquire) == 0 {
        return Ok(None);
    }
    if stream.is_null() {
        return refuse_null(stream).map(|()| None);
    }
    let mut branch = stream.capture.lock();
    let Some(branch) = branch.as_mut() else { return Ok(None) };
    if branch.capture.is_invalid() {
        return Err(Error::STREAM_CAPTURE_INVALIDATED);
    }
    let added = work().and_then(|work| branch.capture.graph.add(&branch.after, work));
    match added {
        Ok(node) => {
            branch.after = vec![node];
            Ok(Some(node))
        }
        Err(error) => {
            branch.capture.invalidate();
            Err(error)
        }
    }
}

/// Adds an operation to the capture of a stream. Gives it back if the stream does not capture.
pub(super) fn take(stream: &Stream, ops: Vec<Op>) -> Result<Option<Vec<Op>>> {
    if COUNT.load(Ordering::Acquire) == 0 || !stream.is_null() && stream.capture.lock().is_none() {
        return Ok(Some(ops));
    }
    if stream.is_null() {
        return refuse_null(stream).map(|()| Some(ops));
    }
    for op in ops {
        add(stream, || match op {
            Op::Launch(launch) => Ok(Work::Launch(launch)),
            Op::Copy(copy) => Ok(Work::Copy(Some(copy))),
            Op::Fill(fill) => Ok(Work::Fill(Some(fill))),
            Op::Host(function) => Ok(Work::Host(function)),
            _ => Err(Error::STREAM_CAPTURE_UNSUPPORTED),
        })?;
    }
    Ok(None)
}

/// Allocates by a node of the capture of a stream. `None` if the stream does not capture.
pub(super) fn allocate(stream: &Stream, request: Request) -> Result<Option<Arc<GraphMemory>>> {
    let mut memory = None;
    let added = add(stream, || {
        let reserved = GraphMemory::reserve(request)?;
        memory = Some(reserved.clone());
        Ok(Work::Allocate(reserved))
    })?;
    Ok(added.and(memory))
}

/// Frees by a node of the capture of a stream: only what a node allocates. False if the stream does not capture.
pub(super) fn free(stream: &Stream, address: u64) -> Result<bool> {
    let work = || GraphMemory::at(address).map(Work::Free).ok_or(Error::INVALID_VALUE);
    add(stream, work).map(|added| added.is_some())
}

/// What an event that is recorded on a capturing stream stands for. `None` if the stream does not capture.
pub(super) fn record(stream: &Stream) -> Result<Option<Branch>> {
    if COUNT.load(Ordering::Acquire) == 0 {
        return Ok(None);
    }
    if stream.is_null() {
        return refuse_null(stream).map(|()| None);
    }
    let branch = stream.capture.lock().clone();
    match branch {
        Some(branch) if branch.capture.is_invalid() => Err(Error::STREAM_CAPTURE_INVALIDATED),
        other => Ok(other),
    }
}

/// Makes a stream wait for an event that was captured: it joins the capture.
pub(super) fn wait(stream: &Arc<Stream>, event: &Branch) -> Result<()> {
    let active = ACTIVE.lock().iter().any(|capture| Arc::ptr_eq(capture, &event.capture));
    if !active {
        return Err(Error::CAPTURED_EVENT);
    }
    if event.capture.is_invalid() {
        return Err(Error::STREAM_CAPTURE_INVALIDATED);
    }
    if stream.is_null() {
        event.capture.invalidate();
        return Err(Error::STREAM_CAPTURE_IMPLICIT);
    }
    let mut branch = stream.capture.lock();
    match branch.as_mut() {
        Some(own) if Arc::ptr_eq(&own.capture, &event.capture) => join(&mut own.after, &event.after),
        Some(own) => {
            own.capture.invalidate();
            event.capture.invalidate();
            return Err(Error::STREAM_CAPTURE_MERGE);
        }
        None => {
            *branch = Some(event.clone());
            event.capture.members.lock().push(Arc::downgrade(stream));
        }
    }
    Ok(())
}

/// Refuses that a capturing stream waits for an event that was recorded outside.
pub(super) fn isolate(stream: &Stream) -> Result<()> {
    match stream.capture.lock().as_ref() {
        None => Ok(()),
        Some(branch) => {
            branch.capture.invalidate();
            Err(Error::STREAM_CAPTURE_ISOLATION)
        }
    }
}

/// Notes that a stream is destroyed: a capture it takes part in cannot end well.
pub(super) fn forget(stream: &Stream) {
    let branch = stream.capture.lock().take();
    if let Some(branch) = branch {
        branch.capture.invalidate();
        if branch.capture.origin == stream.handle {
            branch.capture.end();
        }
    }
}
