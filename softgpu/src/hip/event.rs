//! Events.

use super::{Hip, current, stream_of};
use crate::abi::{Out, entries};
use crate::driver::event::{EVENTS, Event};
use crate::driver::{Error, Result};

/// `hipEventDisableTiming`
const DISABLE_TIMING: u32 = 2;
/// `hipEventInterprocess`
const INTERPROCESS: u32 = 4;
/// All that may be set: also blocking waits and the three kinds of fences, which are advice here.
const FLAGS: u32 = 7 | 0x2000_0000 | FENCES;
/// `hipEventReleaseToDevice` and `hipEventReleaseToSystem`, of which one may be chosen.
const FENCES: u32 = 0x4000_0000 | 0x8000_0000;

fn create(out: Out<u64>, flags: u32) -> Result<()> {
    out.check()?;
    let both_fences = flags & FENCES == FENCES;
    let timed_interprocess = flags & INTERPROCESS != 0 && flags & DISABLE_TIMING == 0;
    if flags & !FLAGS != 0 || both_fences || timed_interprocess {
        return Err(Error::INVALID_VALUE);
    }
    if flags & INTERPROCESS != 0 {
        return Err(Error::NOT_SUPPORTED);
    }
    out.set(Event::create(&current::context()?, flags & DISABLE_TIMING == 0)?.handle)
}

entries! { Hip;
    /// Makes an event.
    "hipEventCreate" 50200000 => fn hipEventCreate(event: Out<u64>) {
        create(event, 0)
    }
    /// Makes an event with flags.
    "hipEventCreateWithFlags" 50200000 => fn hipEventCreateWithFlags(event: Out<u64>, flags: u32) {
        create(event, flags)
    }
    /// Destroys an event.
    "hipEventDestroy" 50200000 => fn hipEventDestroy(event: u64) {
        Event::destroy(event)
    }
    /// Moves an event to the end of a stream.
    "hipEventRecord" 50200000 => fn hipEventRecord(event: u64, stream: u64) {
        EVENTS.get(event)?.record(&stream_of(stream)?)
    }
    /// Moves an event to the end of a stream.
    "hipEventRecordWithFlags" 60400000 => fn hipEventRecordWithFlags(event: u64, stream: u64, flags: u32) {
        if flags > 1 {
            return Err(Error::INVALID_VALUE);
        }
        EVENTS.get(event)?.record(&stream_of(stream)?)
    }
    /// Whether the work before an event is done.
    "hipEventQuery" 50200000 => fn hipEventQuery(event: u64) {
        EVENTS.get(event)?.query()
    }
    /// Waits for the work before an event.
    "hipEventSynchronize" 50200000 => fn hipEventSynchronize(event: u64) {
        EVENTS.get(event)?.synchronize()
    }
    /// Milliseconds between two events.
    "hipEventElapsedTime" 50200000 => fn hipEventElapsedTime(milliseconds: Out<f32>, start: u64, end: u64) {
        milliseconds.check()?;
        milliseconds.set(Event::elapsed(&*EVENTS.get(start)?, &*EVENTS.get(end)?)?)
    }
}
