//! Streams, and calls into the program from them.

use super::{Hip, current, errors, stream_of};
use crate::abi::{Out, entries};
use crate::both::pool as both;
use crate::driver::event::EVENTS;
use crate::driver::op::{HostFn, HostFunction, Op};
use crate::driver::stream::Stream;
use crate::driver::{Error, Result};
use std::ffi::c_void;

/// `hipStreamCallback_t`
type StreamCallback = Option<unsafe extern "C" fn(u64, i32, *mut c_void)>;

fn create(out: Out<u64>, flags: u32, priority: i32) -> Result<()> {
    out.check()?;
    if flags > 1 {
        return Err(Error::INVALID_VALUE);
    }
    out.set(Stream::create(&current::context()?, flags == 0, priority)?.handle)
}

/// A host function as an operation of a stream.
pub(super) fn host_function(function: HostFn, data: *mut c_void) -> Result<HostFunction> {
    // SAFETY: the caller of the entry point promises that the function may be called with this from another thread.
    unsafe { HostFunction::new(function, data) }
}

entries! { Hip;
    /// Makes a stream.
    "hipStreamCreate" 50200000 => fn hipStreamCreate(stream: Out<u64>) {
        create(stream, 0, 0)
    }
    /// Makes a stream with flags.
    "hipStreamCreateWithFlags" 50200000 => fn hipStreamCreateWithFlags(stream: Out<u64>, flags: u32) {
        create(stream, flags, 0)
    }
    /// Makes a stream with a priority.
    "hipStreamCreateWithPriority" 50200000 => fn hipStreamCreateWithPriority(
        stream: Out<u64>, flags: u32, priority: i32,
    ) {
        create(stream, flags, priority)
    }
    /// Destroys a stream; its work goes on.
    "hipStreamDestroy" 50200000 => fn hipStreamDestroy(stream: u64) {
        Stream::destroy(stream)
    }
    /// Whether a stream's work is done.
    "hipStreamQuery" 50200000 => fn hipStreamQuery(stream: u64) {
        stream_of(stream)?.query()
    }
    /// Waits for a stream's work.
    "hipStreamSynchronize" 50200000 => fn hipStreamSynchronize(stream: u64) {
        stream_of(stream)?.synchronize()
    }
    /// Makes a stream wait for an event as it stands now.
    "hipStreamWaitEvent" 50200000 => fn hipStreamWaitEvent(stream: u64, event: u64, flags: u32) {
        let (event, stream) = (EVENTS.get(event)?, stream_of(stream)?);
        match flags {
            0 => event.wait_on(&stream),
            // Of a capture: a node that waits.
            1 => event.wait_on_external(&stream),
            _ => Err(Error::INVALID_VALUE),
        }
    }
    /// A stream's flags.
    "hipStreamGetFlags" 50200000 => fn hipStreamGetFlags(stream: u64, flags: Out<u32>) {
        flags.set(u32::from(!stream_of(stream)?.blocking))
    }
    /// A stream's priority.
    "hipStreamGetPriority" 50200000 => fn hipStreamGetPriority(stream: u64, priority: Out<i32>) {
        priority.set(stream_of(stream)?.priority)
    }
    /// A stream's device.
    "hipStreamGetDevice" 50600000 => fn hipStreamGetDevice(stream: u64, device: Out<i32>) {
        device.set(stream_of(stream)?.context.device.ordinal as i32)
    }
    /// Calls a function when the stream comes to it; not after a failure.
    "hipLaunchHostFunc" 50300000 => fn hipLaunchHostFunc(stream: u64, function: HostFn, data: *mut c_void) {
        let op = Op::Host(host_function(function, data)?);
        stream_of(stream)?.enqueue([op]).map(drop)
    }
    /// Calls a function when the stream comes to it, with the state of the context; once, whatever happens.
    "hipStreamAddCallback" 50200000 => fn hipStreamAddCallback(
        stream: u64, callback: StreamCallback, data: *mut c_void, flags: u32,
    ) {
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        let callback = callback.ok_or(Error::INVALID_VALUE)?;
        let data = data as usize;
        let call = move |state: Result<()>| {
            // SAFETY: the caller of the entry point promises that the function may be called with this from another
            // thread.
            unsafe { callback(stream, errors::code(state), data as *mut c_void) };
        };
        stream_of(stream)?.enqueue([Op::Callback(Box::new(call))]).map(drop)
    }
    /// Names the streams that may use managed memory; it is everywhere already.
    "hipStreamAttachMemAsync" 50200000 => fn hipStreamAttachMemAsync(
        stream: u64, address: u64, len: usize, flags: u32,
    ) {
        both::attach(&*stream_of(stream)?, address, len, flags)
    }
}
