//! What a stream can be told to do.

use super::context::Context;
use super::copy::{Copy, Fill};
use super::error::{Error, Result};
use super::event::Stamp;
use super::launch::Launch;
use super::memory::{self, Allocation};
use super::order;
use super::stream::{Point, Stream, as_callback};
use super::value::Value;
use crate::check::race::{self, Task};
use crate::exec::AccessKind;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// `CUhostFn` and `hipHostFn_t`.
pub type HostFn = Option<unsafe extern "C" fn(*mut c_void)>;

/// A host function. It may run several times when it is in a graph.
#[derive(Clone, Copy, Debug)]
pub struct HostFunction {
    function: unsafe extern "C" fn(*mut c_void),
    data: usize,
}

impl HostFunction {
    /// Checks that there is a function.
    ///
    /// # Safety
    /// The function may be called with `data` from another thread, as often as the operation or node runs.
    pub unsafe fn new(function: HostFn, data: *mut c_void) -> Result<Self> {
        let function = function.ok_or(Error::INVALID_VALUE)?;
        Ok(Self { function, data: data as usize })
    }

    /// What it was made of.
    pub fn parts(self) -> (HostFn, *mut c_void) {
        (Some(self.function), self.data as *mut c_void)
    }

    fn call(self) {
        // SAFETY: as the caller of `new` promised.
        unsafe { (self.function)(self.data as *mut c_void) };
    }
}

/// A callback that also runs when the context has failed, and is told so. Runs once.
pub type Callback = Box<dyn FnOnce(Result<()>) + Send>;

/// Bytes of an allocation, from and to, and what is done to them.
pub(super) type Range<'a> = (&'a Allocation, u64, u64, AccessKind);

/// One operation of a stream.
pub enum Op {
    /// Runs a kernel.
    Launch(Arc<Launch>),
    /// Copies memory.
    Copy(Arc<Copy>),
    /// Fills memory.
    Fill(Arc<Fill>),
    /// Takes the time of an event's record.
    Record(Arc<Stamp>),
    /// Waits for other streams.
    Wait(Vec<Point>),
    /// Calls into the program; dropped after a failure.
    Host(HostFunction),
    /// Calls into the program, after a failure too.
    Callback(Callback),
    /// Waits for a value in memory, or writes one.
    Value(Arc<Value>),
    /// Frees memory in stream order.
    Free(Arc<Allocation>),
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Launch(_) => "Launch",
            Self::Copy(_) => "Copy",
            Self::Fill(_) => "Fill",
            Self::Record(_) => "Record",
            Self::Wait(_) => "Wait",
            Self::Host(_) => "Host",
            Self::Callback(_) => "Callback",
            Self::Value(_) => "Value",
            Self::Free(_) => "Free",
        })
    }
}

impl Op {
    /// What it is, in words.
    pub(super) fn label(&self) -> String {
        match self {
            Self::Launch(launch) => format!("kernel `{}`", launch.function().kernel.name),
            Self::Copy(copy) => copy.label(),
            Self::Fill(fill) => fill.label(),
            Self::Record(_) => "event record".to_owned(),
            Self::Wait(_) => "wait for an event or a stream".to_owned(),
            Self::Value(value) => value.label().to_owned(),
            Self::Host(_) => "host function".to_owned(),
            Self::Callback(_) => "stream callback".to_owned(),
            Self::Free(allocation) => format!("free of {} bytes", allocation.len),
        }
    }

    /// Whether it waits for something that has not happened yet.
    pub(super) fn is_waiting(&self) -> bool {
        match self {
            Self::Wait(points) => !points.iter().all(Point::reached),
            Self::Value(value) => value.is_waiting(),
            _ => false,
        }
    }

    /// The memory it accesses, as long as that is known before it runs; kernels tell as they run.
    fn ranges(&self) -> Vec<Range<'_>> {
        match self {
            Self::Copy(copy) => copy.ranges(),
            Self::Fill(fill) => fill.ranges(),
            Self::Free(allocation) => vec![(&**allocation, 0, allocation.len, AccessKind::Write)],
            _ => Vec::new(),
        }
    }

    /// Tells the checkers what it accesses.
    pub(super) fn check(&self, task: &Arc<Task>) {
        if matches!(self, Self::Host(_) | Self::Callback(_) | Self::Value(_)) {
            race::host_learns(Some(task));
        }
        for (allocation, start, end, kind) in self.ranges() {
            if !allocation.is_freed() {
                race::accessed(task, allocation.place(), start, end, kind);
            }
        }
    }

    /// How long it runs alone when a seed decides.
    pub(super) fn patience(&self) -> Duration {
        match self {
            Self::Host(_) | Self::Callback(_) => order::HOST_PATIENCE,
            _ => order::DEVICE_PATIENCE,
        }
    }

    /// Runs on the stream's thread. No lock is held.
    pub(super) fn run(self, stream: &Stream, task: Option<&Arc<Task>>) {
        let context = &*stream.context;
        match self {
            // These happen whatever became of the context.
            Self::Record(stamp) => return stamp.take(),
            Self::Callback(callback) => return as_callback(|| callback(context.check())),
            Self::Free(allocation) => return super::pool::free_now(&allocation),
            _ if context.check().is_err() => return,
            _ => {}
        }
        match self {
            Self::Launch(launch) => launch.run(context, task),
            Self::Copy(copy) => touch(context, copy.freed(), "copy", || copy.run()),
            Self::Fill(fill) => touch(context, fill.freed(), "fill", || fill.run()),
            Self::Value(value) => touch(context, value.freed(), "value operation", || value.run(context)),
            Self::Wait(points) => {
                for point in points {
                    point.block(|| context.check().is_err());
                }
            }
            Self::Host(function) => as_callback(|| function.call()),
            Self::Record(_) | Self::Callback(_) | Self::Free(_) => {}
        }
    }
}

fn touch(context: &Context, freed: Option<&Allocation>, what: &str, run: impl FnOnce()) {
    match freed {
        None => run(),
        Some(allocation) => context.fail(Error::ILLEGAL_ADDRESS, || {
            format!("{what}: its memory was freed before it ran: {}", memory::describe(allocation.start))
        }),
    }
}
