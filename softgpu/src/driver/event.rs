//! Events: a remembered position in a stream.

use super::capture::{self, Branch};
use super::context::Context;
use super::error::{Error, Result};
use super::graph::Work;
use super::handle::{Handle, Registry};
use super::op::Op;
use super::stream::{Point, Stream};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Every live event.
pub static EVENTS: Registry<Event> = Registry::new("events");

/// When a stream came to a record, in nanoseconds since the process first asked; 0 until then.
#[derive(Debug, Default)]
pub struct Stamp(AtomicU64);

impl Stamp {
    /// Takes the time.
    pub(super) fn take(&self) {
        static EPOCH: OnceLock<Instant> = OnceLock::new();
        let nanos = EPOCH.get_or_init(Instant::now).elapsed().as_nanos() as u64;
        self.0.store(nanos + 1, Ordering::Release);
    }
}

#[derive(Clone, Debug)]
struct Record {
    point: Point,
    stamp: Arc<Stamp>,
}

impl Record {
    fn nanos(&self) -> Result<u64> {
        if !self.point.reached() {
            return Err(Error::NOT_READY);
        }
        match self.stamp.0.load(Ordering::Acquire) {
            0 => Err(Error::INVALID_HANDLE),
            nanos => Ok(nanos),
        }
    }
}

/// What an event stands for.
#[derive(Clone, Debug)]
enum State {
    Record(Record),
    /// It was last recorded in a capture.
    Captured(Branch),
}

/// An event.
#[derive(Debug)]
pub struct Event {
    /// Its handle.
    pub handle: Handle,
    /// Its context.
    pub context: Arc<Context>,
    /// Whether it takes the time.
    pub timing: bool,
    state: Mutex<Option<State>>,
}

impl Event {
    /// Makes an event.
    pub fn create(context: &Arc<Context>, timing: bool) -> Result<Arc<Self>> {
        context.check()?;
        let make = |handle| Self { handle, context: context.clone(), timing, state: Mutex::new(None) };
        Ok(EVENTS.insert_with(make))
    }

    /// Destroys an event. Waits that were issued on it stay good.
    pub fn destroy(handle: Handle) -> Result<()> {
        EVENTS.remove(handle)?.context.check()
    }

    /// Moves the event to the end of a stream of its own context.
    pub fn record(&self, stream: &Arc<Stream>) -> Result<()> {
        if stream.context.handle != self.context.handle {
            return Err(Error::INVALID_HANDLE);
        }
        let mut state = self.state.lock();
        if let Some(branch) = capture::record(stream)? {
            *state = Some(State::Captured(branch));
            return Ok(());
        }
        let stamp = Arc::new(Stamp::default());
        let point = stream.enqueue([Op::Record(stamp.clone())])?;
        *state = Some(State::Record(Record { point, stamp }));
        Ok(())
    }

    /// Moves the event to the end of a stream; in a capture, by a node that records it at each launch.
    pub fn record_external(self: &Arc<Self>, stream: &Arc<Stream>) -> Result<()> {
        match capture::add(stream, || Ok(Work::Record(self.clone())))? {
            Some(_) => Ok(()),
            None => self.record(stream),
        }
    }

    /// Notes that the event was recorded by an operation that was issued otherwise (a graph node).
    pub(super) fn recorded(&self, point: Point, stamp: Arc<Stamp>) {
        *self.state.lock() = Some(State::Record(Record { point, stamp }));
    }

    /// Makes a stream, of any context, wait for what the event stands for now. No-op if it was never recorded.
    pub fn wait_on(&self, stream: &Arc<Stream>) -> Result<()> {
        stream.context.check()?;
        self.context.check()?;
        let state = self.state.lock().clone();
        match state {
            None => Ok(()),
            Some(State::Captured(branch)) => capture::wait(stream, &branch),
            Some(State::Record(record)) => {
                capture::isolate(stream)?;
                if record.point.is_settled() {
                    return Ok(());
                }
                stream.enqueue([Op::Wait(vec![record.point])]).map(drop)
            }
        }
    }

    /// Makes a stream wait; in a capture, by a node that waits for what the event stands for at each launch.
    pub fn wait_on_external(self: &Arc<Self>, stream: &Arc<Stream>) -> Result<()> {
        match capture::add(stream, || Ok(Work::WaitEvent(self.clone())))? {
            Some(_) => Ok(()),
            None => self.wait_on(stream),
        }
    }

    /// The last record, unless it is one of a capture, which the call then invalidates.
    fn last(&self) -> Result<Option<Record>> {
        match self.state.lock().as_ref() {
            None => Ok(None),
            Some(State::Record(record)) => Ok(Some(record.clone())),
            Some(State::Captured(branch)) => {
                branch.capture.invalidate();
                Err(Error::CAPTURED_EVENT)
            }
        }
    }

    /// The position the event stands for, unless it is reached.
    pub(super) fn pending(&self) -> Option<Point> {
        self.last().ok().flatten().map(|record| record.point).filter(|point| !point.is_settled())
    }

    /// Success if the work before the last record is done or there is none, else `NOT_READY`.
    pub fn query(&self) -> Result<()> {
        self.context.check()?;
        let done = self.last()?.is_none_or(|record| record.point.seen_reached());
        self.context.check()?;
        if done { Ok(()) } else { Err(Error::NOT_READY) }
    }

    /// Waits for the work before the last record.
    pub fn synchronize(&self) -> Result<()> {
        self.context.check()?;
        if let Some(record) = self.last()? {
            record.point.wait(|| self.context.check().is_err());
        }
        self.context.check()
    }

    /// Milliseconds between two records.
    pub fn elapsed(start: &Self, end: &Self) -> Result<f32> {
        start.context.check()?;
        end.context.check()?;
        if !start.timing || !end.timing {
            return Err(Error::INVALID_HANDLE);
        }
        // An event that was never recorded comes before one that is pending.
        let never = Error::INVALID_HANDLE;
        let (start, end) = (start.last()?.ok_or(never)?, end.last()?.ok_or(never)?);
        let (start, end) = (start.nanos()?, end.nanos()?);
        Ok((end as f64 - start as f64) as f32 / 1e6)
    }
}
