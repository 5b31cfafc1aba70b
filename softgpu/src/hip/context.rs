//! Contexts, which HIP keeps for programs that came from CUDA's driver API.

use super::{Hip, current};
use crate::abi::{Out, entries};
use crate::driver::Error;
use crate::driver::context::{self, Context};
use crate::driver::device::device_of;

entries! { Hip;
    /// Makes a context and pushes it.
    "hipCtxCreate" 50200000 => fn hipCtxCreate(out: Out<u64>, flags: u32, device: i32) {
        out.check()?;
        let context = Context::create(device_of(device)?, flags);
        context::push_current(context.handle)?;
        out.set(context.handle)
    }
    /// Destroys a created context and all it owns.
    "hipCtxDestroy" 50200000 => fn hipCtxDestroy(handle: u64) {
        context::context_of(handle)?.destroy()?;
        context::forget_current(handle);
        Ok(())
    }
    /// Holds the primary context of a device.
    "hipDevicePrimaryCtxRetain" 50200000 => fn hipDevicePrimaryCtxRetain(out: Out<u64>, device: i32) {
        out.check()?;
        out.set(current::retain(device_of(device)?).handle)
    }
    /// Lets go of the primary context of a device.
    "hipDevicePrimaryCtxRelease" 50200000 => fn hipDevicePrimaryCtxRelease(device: i32) {
        current::release(device_of(device)?)
    }
    /// Takes down the primary context of a device; the next one is like new.
    "hipDevicePrimaryCtxReset" 50200000 => fn hipDevicePrimaryCtxReset(device: i32) {
        device_of(device)?.reset_primary();
        Ok(())
    }
    /// Sets the flags of the primary context.
    "hipDevicePrimaryCtxSetFlags" 50200000 => fn hipDevicePrimaryCtxSetFlags(device: i32, flags: u32) {
        device_of(device)?.set_primary_flags(flags);
        Ok(())
    }
    /// The flags of the primary context, and whether it is active.
    "hipDevicePrimaryCtxGetState" 50200000 => fn hipDevicePrimaryCtxGetState(
        device: i32, flags: Out<u32>, active: Out<i32>,
    ) {
        let state = device_of(device)?.primary_state();
        active.check()?;
        flags.set(state.0)?;
        active.set(i32::from(state.1))
    }
    /// Replaces the thread's current context; null takes it away.
    "hipCtxSetCurrent" 50200000 => fn hipCtxSetCurrent(handle: u64) {
        current::set_context((handle != 0).then_some(handle))
    }
    /// Pushes a context.
    "hipCtxPushCurrent" 50200000 => fn hipCtxPushCurrent(handle: u64) {
        context::push_current(handle)
    }
    /// Pops the thread's current context.
    "hipCtxPopCurrent" 50200000 => fn hipCtxPopCurrent(out: Out<u64>) {
        out.set_if(context::pop_current()?);
        Ok(())
    }
    /// The thread's current context: the primary one of its device if it set none, never null.
    "hipCtxGetCurrent" 50200000 => fn hipCtxGetCurrent(out: Out<u64>) {
        out.check()?;
        out.set(current::context_in_any_state()?.handle)
    }
    /// The device of the current context.
    "hipCtxGetDevice" 50200000 => fn hipCtxGetDevice(device: Out<i32>) {
        device.check()?;
        device.set(current::device()?.ordinal as i32)
    }
    /// The flags of the current context.
    "hipCtxGetFlags" 50200000 => fn hipCtxGetFlags(flags: Out<u32>) {
        flags.check()?;
        flags.set(current::context()?.flags())
    }
    /// Waits for everything issued in the current context.
    "hipCtxSynchronize" 50200000 => fn hipCtxSynchronize() {
        current::context()?.synchronize()
    }
    /// Lets the current context access the memory of another's device.
    "hipCtxEnablePeerAccess" 50200000 => fn hipCtxEnablePeerAccess(peer: u64, flags: u32) {
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        let peer = context::context_of(peer)?;
        current::context()?.device.enable_peer(peer.device)
    }
    /// Undoes `hipCtxEnablePeerAccess`.
    "hipCtxDisablePeerAccess" 50200000 => fn hipCtxDisablePeerAccess(peer: u64) {
        let peer = context::context_of(peer)?;
        current::context()?.device.disable_peer(peer.device)
    }
}
