//! Streams, and calls into the program from them.

use super::{Cuda, stream_of};
use crate::abi::{Out, entries};
use crate::both::pool as both;
use crate::driver::event::EVENTS;
use crate::driver::op::{HostFn, HostFunction, Op};
use crate::driver::stream::Stream;
use crate::driver::{Error, Result, context};
use std::ffi::c_void;

/// `CUstreamCallback`
type StreamCallback = Option<unsafe extern "C" fn(u64, i32, *mut c_void)>;

fn create(out: Out<u64>, flags: u32, priority: i32) -> Result<()> {
    out.check()?;
    if flags > 1 {
        return Err(Error::INVALID_VALUE);
    }
    out.set(Stream::create(&context::current()?, flags == 0, priority)?.handle)
}

/// A host function as an operation of a stream.
pub(super) fn host_function(function: HostFn, data: *mut c_void) -> Result<HostFunction> {
    // SAFETY: the caller of the entry point promises that the function may be called with this from another thread.
    unsafe { HostFunction::new(function, data) }
}

entries! { Cuda;
    /// Makes a stream.
    "cuStreamCreate" 2000 => fn cuStreamCreate(stream: Out<u64>, flags: u32) {
        create(stream, flags, 0)
    }
    /// Makes a stream with a priority.
    "cuStreamCreateWithPriority" 5050 => fn cuStreamCreateWithPriority(
        stream: Out<u64>, flags: u32, priority: i32,
    ) {
        create(stream, flags, priority)
    }
    /// Destroys a stream; its work goes on.
    "cuStreamDestroy" 4000 => fn cuStreamDestroy_v2(stream: u64) {
        Stream::destroy(stream)
    }
    /// Whether a stream's work is done.
    "cuStreamQuery" 2000 => fn cuStreamQuery(stream: u64) {
        stream_of(stream)?.query()
    }
    /// Waits for a stream's work.
    "cuStreamSynchronize" 2000 => fn cuStreamSynchronize(stream: u64) {
        stream_of(stream)?.synchronize()
    }
    /// Makes a stream wait for an event as it stands now.
    "cuStreamWaitEvent" 3020 => fn cuStreamWaitEvent(stream: u64, event: u64, flags: u32) {
        let (event, stream) = (EVENTS.get(event)?, stream_of(stream)?);
        match flags {
            0 => event.wait_on(&stream),
            // Of a capture: a node that waits.
            1 => event.wait_on_external(&stream),
            _ => Err(Error::INVALID_VALUE),
        }
    }
    /// A stream's flags.
    "cuStreamGetFlags" 5050 => fn cuStreamGetFlags(stream: u64, flags: Out<u32>) {
        flags.set(u32::from(!stream_of(stream)?.blocking))
    }
    /// A stream's priority.
    "cuStreamGetPriority" 5050 => fn cuStreamGetPriority(stream: u64, priority: Out<i32>) {
        priority.set(stream_of(stream)?.priority)
    }
    /// A stream's context.
    "cuStreamGetCtx" 9020 => fn cuStreamGetCtx(stream: u64, context: Out<u64>) {
        context.set(stream_of(stream)?.context.handle)
    }
    /// A stream's context; there are no green contexts.
    "cuStreamGetCtx" 12050 => fn cuStreamGetCtx_v2(stream: u64, context: Out<u64>, green: Out<u64>) {
        green.set_if(0);
        context.set(stream_of(stream)?.context.handle)
    }
    /// A number that no other stream has.
    "cuStreamGetId" 12000 => fn cuStreamGetId(stream: u64, id: Out<u64>) {
        id.set(stream_of(stream)?.handle)
    }
    /// Calls a function when the stream comes to it; not after a failure.
    "cuLaunchHostFunc" 10000 => fn cuLaunchHostFunc(stream: u64, function: HostFn, data: *mut c_void) {
        let op = Op::Host(host_function(function, data)?);
        stream_of(stream)?.enqueue([op]).map(drop)
    }
    /// Calls a function when the stream comes to it, with the state of the context; once, whatever happens.
    "cuStreamAddCallback" 5000 => fn cuStreamAddCallback(
        stream: u64, callback: StreamCallback, data: *mut c_void, flags: u32,
    ) {
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        let callback = callback.ok_or(Error::INVALID_VALUE)?;
        let data = data as usize;
        let call = move |state: Result<()>| {
            let code = state.err().map_or(0, |error| error.0);
            // SAFETY: the caller of the entry point promises that the function may be called with this from another
            // thread.
            unsafe { callback(stream, code, data as *mut c_void) };
        };
        stream_of(stream)?.enqueue([Op::Callback(Box::new(call))]).map(drop)
    }
    /// Names the streams that may use managed memory; it is everywhere already.
    "cuStreamAttachMemAsync" 6000 => fn cuStreamAttachMemAsync(stream: u64, address: u64, len: usize, flags: u32) {
        both::attach(&*stream_of(stream)?, address, len, flags)
    }
    /// A stream's device.
    "cuStreamGetDevice" 12080 => fn cuStreamGetDevice(stream: u64, device: Out<i32>) {
        device.set(stream_of(stream)?.context.device.ordinal as i32)
    }
}
