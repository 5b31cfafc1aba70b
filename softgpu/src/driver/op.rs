//! What a stream can be told to do.

use super::context::Context;
use super::copy::{Copy, Fill};
use super::error::{Error, Result};
use super::event::Stamp;
use super::launch::Launch;
use super::memory::{self, Allocation};
use super::stream::{Point, Stream, as_callback};
use std::fmt;
use std::sync::Arc;

/// A host function. It may run several times when it is in a graph.
pub type HostFunction = Arc<dyn Fn() + Send + Sync>;
/// A callback that also runs when the context has failed, and is told so. Runs once.
pub type Callback = Box<dyn FnOnce(Result<()>) + Send>;

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
            Self::Free(_) => "Free",
        })
    }
}

impl Op {
    /// Runs on the stream's thread. No lock is held.
    pub(super) fn run(self, stream: &Stream) {
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
            Self::Launch(launch) => launch.run(context),
            Self::Copy(copy) => touch(context, copy.freed(), "copy", || copy.run()),
            Self::Fill(fill) => touch(context, fill.freed(), "fill", || fill.run()),
            Self::Wait(points) => {
                for point in points {
                    point.wait(|| context.check().is_err());
                }
            }
            Self::Host(function) => as_callback(|| function()),
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
