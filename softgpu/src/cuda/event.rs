//! Events.

use super::{Cuda, stream_of};
use crate::abi::{Out, entries};
use crate::driver::event::{EVENTS, Event};
use crate::driver::{Error, Result, context};

/// `CU_EVENT_DISABLE_TIMING`
const DISABLE_TIMING: u32 = 2;
/// `CU_EVENT_INTERPROCESS`
const INTERPROCESS: u32 = 4;

fn elapsed(out: Out<f32>, start: u64, end: u64) -> Result<()> {
    out.check()?;
    out.set(Event::elapsed(&*EVENTS.get(start)?, &*EVENTS.get(end)?)?)
}

entries! { Cuda;
    /// Makes an event.
    "cuEventCreate" 2000 => fn cuEventCreate(event: Out<u64>, flags: u32) {
        event.check()?;
        if flags > 7 || flags & INTERPROCESS != 0 && flags & DISABLE_TIMING == 0 {
            return Err(Error::INVALID_VALUE);
        }
        if flags & INTERPROCESS != 0 {
            return Err(Error::NOT_SUPPORTED);
        }
        event.set(Event::create(&context::current()?, flags & DISABLE_TIMING == 0)?.handle)
    }
    /// Destroys an event.
    "cuEventDestroy" 4000 => fn cuEventDestroy_v2(event: u64) {
        Event::destroy(event)
    }
    /// Moves an event to the end of a stream.
    "cuEventRecord" 2000 => fn cuEventRecord(event: u64, stream: u64) {
        EVENTS.get(event)?.record(&stream_of(stream)?)
    }
    /// Moves an event to the end of a stream.
    "cuEventRecordWithFlags" 11010 => fn cuEventRecordWithFlags(event: u64, stream: u64, flags: u32) {
        let (event, stream) = (EVENTS.get(event)?, stream_of(stream)?);
        match flags {
            0 => event.record(&stream),
            // Of a capture: a node that records.
            1 => event.record_external(&stream),
            _ => Err(Error::INVALID_VALUE),
        }
    }
    /// Whether the work before an event is done.
    "cuEventQuery" 2000 => fn cuEventQuery(event: u64) {
        EVENTS.get(event)?.query()
    }
    /// Waits for the work before an event.
    "cuEventSynchronize" 2000 => fn cuEventSynchronize(event: u64) {
        EVENTS.get(event)?.synchronize()
    }
    /// Milliseconds between two events.
    "cuEventElapsedTime" 2000 => fn cuEventElapsedTime(milliseconds: Out<f32>, start: u64, end: u64) {
        elapsed(milliseconds, start, end)
    }
    /// Milliseconds between two events.
    "cuEventElapsedTime" 12080 => fn cuEventElapsedTime_v2(milliseconds: Out<f32>, start: u64, end: u64) {
        elapsed(milliseconds, start, end)
    }
}
