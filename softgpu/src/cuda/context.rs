//! Contexts, primary and created, and the thread's current one.

use super::Cuda;
use crate::abi::{In, Out, entries};
use crate::driver::context::{self, Context};
use crate::driver::device::{device_of, limits};
use crate::driver::{Error, Result};
use std::ffi::c_void;

/// `CU_CTX_FLAGS_MASK`
const FLAGS: u32 = 0xff;
/// What `cuCtxGetApiVersion` answers for contexts of the `_v2` ABI.
const API_VERSION: u32 = 3020;

fn create(out: Out<u64>, flags: u32, device: i32) -> Result<()> {
    out.check()?;
    if flags & !FLAGS != 0 {
        return Err(Error::INVALID_VALUE);
    }
    let context = Context::create(device_of(device)?, flags);
    context::push_current(context.handle)?;
    out.set(context.handle)
}

entries! { Cuda;
    /// Makes a context and pushes it.
    "cuCtxCreate" 3020 => fn cuCtxCreate_v2(out: Out<u64>, flags: u32, device: i32) {
        create(out, flags, device)
    }
    /// Makes a context with execution affinity, of which there is none, and pushes it.
    "cuCtxCreate" 11040 => fn cuCtxCreate_v3(
        out: Out<u64>, affinities: In<c_void>, count: i32, flags: u32, device: i32,
    ) {
        let _ = affinities;
        if count != 0 {
            return Err(Error(224));
        }
        create(out, flags, device)
    }
    /// Makes a context with optional parameters, of which none is supported, and pushes it.
    "cuCtxCreate" 12050 => fn cuCtxCreate_v4(out: Out<u64>, params: In<c_void>, flags: u32, device: i32) {
        if !params.is_null() {
            return Err(Error::NOT_SUPPORTED);
        }
        create(out, flags, device)
    }
    /// Destroys a created context and all it owns.
    "cuCtxDestroy" 4000 => fn cuCtxDestroy_v2(handle: u64) {
        context::context_of(handle)?.destroy()?;
        context::forget_current(handle);
        Ok(())
    }
    /// Holds the primary context of a device.
    "cuDevicePrimaryCtxRetain" 7000 => fn cuDevicePrimaryCtxRetain(out: Out<u64>, device: i32) {
        out.check()?;
        out.set(device_of(device)?.retain_primary().handle)
    }
    /// Lets go of the primary context of a device.
    "cuDevicePrimaryCtxRelease" 7000 => fn cuDevicePrimaryCtxRelease(device: i32) {
        device_of(device)?.release_primary()
    }
    /// Lets go of the primary context of a device.
    "cuDevicePrimaryCtxRelease" 11000 => fn cuDevicePrimaryCtxRelease_v2(device: i32) {
        device_of(device)?.release_primary()
    }
    /// Takes down the primary context of a device.
    "cuDevicePrimaryCtxReset" 7000 => fn cuDevicePrimaryCtxReset(device: i32) {
        device_of(device)?.reset_primary();
        Ok(())
    }
    /// Takes down the primary context of a device.
    "cuDevicePrimaryCtxReset" 11000 => fn cuDevicePrimaryCtxReset_v2(device: i32) {
        device_of(device)?.reset_primary();
        Ok(())
    }
    /// Sets the flags of the primary context.
    "cuDevicePrimaryCtxSetFlags" 7000 => fn cuDevicePrimaryCtxSetFlags(device: i32, flags: u32) {
        device_of(device)?.set_primary_flags(flags);
        Ok(())
    }
    /// Sets the flags of the primary context.
    "cuDevicePrimaryCtxSetFlags" 11000 => fn cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32) {
        device_of(device)?.set_primary_flags(flags);
        Ok(())
    }
    /// The flags of the primary context, and whether it is active.
    "cuDevicePrimaryCtxGetState" 7000 => fn cuDevicePrimaryCtxGetState(
        device: i32, flags: Out<u32>, active: Out<i32>,
    ) {
        let state = device_of(device)?.primary_state();
        active.check()?;
        flags.set(state.0)?;
        active.set(i32::from(state.1))
    }
    /// Replaces the thread's current context.
    "cuCtxSetCurrent" 4000 => fn cuCtxSetCurrent(handle: u64) {
        context::set_current((handle != 0).then_some(handle))
    }
    /// Pushes a context.
    "cuCtxPushCurrent" 4000 => fn cuCtxPushCurrent_v2(handle: u64) {
        context::push_current(handle)
    }
    /// Pops the thread's current context.
    "cuCtxPopCurrent" 4000 => fn cuCtxPopCurrent_v2(out: Out<u64>) {
        let handle = context::pop_current()?;
        out.set_if(handle);
        Ok(())
    }
    /// The thread's current context, null if there is none.
    "cuCtxGetCurrent" 4000 => fn cuCtxGetCurrent(out: Out<u64>) {
        out.set(context::current_handle().unwrap_or(0))
    }
    /// The device of the current context.
    "cuCtxGetDevice" 2000 => fn cuCtxGetDevice(device: Out<i32>) {
        device.check()?;
        device.set(context::current()?.device.ordinal as i32)
    }
    /// The flags of the current context.
    "cuCtxGetFlags" 7000 => fn cuCtxGetFlags(flags: Out<u32>) {
        flags.check()?;
        flags.set(context::current()?.flags())
    }
    /// A number that tells context ABIs apart.
    "cuCtxGetApiVersion" 3020 => fn cuCtxGetApiVersion(handle: u64, version: Out<u32>) {
        if handle == 0 { context::current()? } else { context::context_of(handle)? };
        version.set(API_VERSION)
    }
    /// Waits for everything issued in the current context.
    "cuCtxSynchronize" 2000 => fn cuCtxSynchronize() {
        context::current()?.synchronize()
    }
    /// The least and the greatest stream priority.
    "cuCtxGetStreamPriorityRange" 5050 => fn cuCtxGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) {
        context::current()?;
        least.set_if(limits::PRIORITIES.0);
        greatest.set_if(limits::PRIORITIES.1);
        Ok(())
    }
    /// A limit of the current context.
    "cuCtxGetLimit" 3010 => fn cuCtxGetLimit(value: Out<usize>, limit: i32) {
        context::current()?;
        value.set(match limit {
            0 => 1024,
            1 => 1 << 20,
            2 => 8 << 20,
            _ => return Err(Error::UNSUPPORTED_LIMIT),
        })
    }
    /// Asks for a limit; requests are advice and change nothing here.
    "cuCtxSetLimit" 3010 => fn cuCtxSetLimit(limit: i32, value: usize) {
        let _ = value;
        context::current()?;
        if (0..=2).contains(&limit) { Ok(()) } else { Err(Error::UNSUPPORTED_LIMIT) }
    }
    /// Prefers a split of cache and shared memory; advice.
    "cuCtxSetCacheConfig" 3020 => fn cuCtxSetCacheConfig(config: i32) {
        let _ = config;
        context::current().map(drop)
    }
}
