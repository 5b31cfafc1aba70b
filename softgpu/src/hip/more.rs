//! Calls that stand alone: cooperative launches, the profiler that there is not, and what devices can do together.

use super::function::of_stub;
use super::launch::{Dim3, KernelParams, prepare};
use super::{Hip, current, stream_of};
use crate::abi::{Out, entries};
use crate::driver::device::device_of;
use crate::driver::graph::memory_usage;
use crate::driver::launch::Launch;
use crate::driver::module::FUNCTIONS;
use crate::driver::op::Op;
use crate::driver::{Error, Result, memory};
use std::ffi::c_void;
use std::sync::Arc;

/// `hipErrorCooperativeLaunchTooLarge`
const TOO_LARGE: Error = Error(720);

fn cooperative(launch: Launch, stream: u64) -> Result<()> {
    let stream = stream_of(stream)?;
    if stream.context.handle != launch.function().context.handle {
        return Err(Error::INVALID_HANDLE);
    }
    if !launch.is_resident() {
        return Err(TOO_LARGE);
    }
    stream.enqueue([Op::Launch(Arc::new(launch))]).map(drop)
}

entries! { Hip;
    /// Launches a kernel whose blocks could all be resident at once.
    "hipModuleLaunchCooperativeKernel" 50200000 => fn hipModuleLaunchCooperativeKernel(
        function: u64, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared: u32, stream: u64, params: KernelParams,
    ) {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let function = FUNCTIONS.get(function)?;
        cooperative(prepare(&function, grid, block, shared, params, std::ptr::null())?, stream)
    }
    /// Launches a kernel whose blocks could all be resident at once, by its stub.
    "hipLaunchCooperativeKernel" 50200000 => fn hipLaunchCooperativeKernel(
        stub: u64, grid: Dim3, block: Dim3, params: KernelParams, shared: u32, stream: u64,
    ) {
        let function = of_stub(stub)?;
        cooperative(prepare(&function, grid.into(), block.into(), shared, params, std::ptr::null())?, stream)
    }
    /// What two devices can do together: access each other's memory, and no more.
    "hipDeviceGetP2PAttribute" 50200000 => fn hipDeviceGetP2PAttribute(
        value: Out<i32>, attribute: i32, device: i32, peer: i32,
    ) {
        value.check()?;
        if device_of(device)?.ordinal == device_of(peer)?.ordinal {
            return Err(Error::INVALID_DEVICE);
        }
        match attribute {
            0 | 3 => value.set(0),
            1 | 2 => value.set(1),
            _ => Err(Error::INVALID_VALUE),
        }
    }
    /// Gives back what graphs do not use; they use all that they hold.
    "hipDeviceGraphMemTrim" 50300000 => fn hipDeviceGraphMemTrim(device: i32) {
        device_of(device).map(drop)
    }
    /// What graphs hold of a device's memory.
    "hipDeviceGetGraphMemAttribute" 50300000 => fn hipDeviceGetGraphMemAttribute(
        device: i32, attribute: i32, value: Out<c_void>,
    ) {
        let (used, reserved, high) = memory_usage(device_of(device)?.ordinal);
        value.cast::<u64>().set(match attribute {
            0 => used,
            2 => reserved,
            1 | 3 => high,
            _ => return Err(Error::INVALID_VALUE),
        })
    }
    /// A number that no other stream has.
    "hipStreamGetId" 70100000 => fn hipStreamGetId(stream: u64, id: Out<u64>) {
        id.set(stream_of(stream)?.handle)
    }
    /// The length of the allocation that begins at an address.
    "hipMemPtrGetInfo" 50200000 => fn hipMemPtrGetInfo(address: u64, len: Out<usize>) {
        len.check()?;
        current::context()?;
        len.set(memory::start_of(address).ok_or(Error::INVALID_VALUE)?.len as usize)
    }
    /// Does nothing: there is no profiler.
    "hipProfilerStart" 50200000 => fn hipProfilerStart() { Ok(()) }
    /// Does nothing: there is no profiler.
    "hipProfilerStop" 50200000 => fn hipProfilerStop() { Ok(()) }
}
