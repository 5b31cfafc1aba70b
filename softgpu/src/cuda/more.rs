//! Calls that stand alone: cooperative launches, settings without effect, and what devices can do together.

use super::launch::{KernelParams, prepare};
use super::{Cuda, stream_of};
use crate::abi::{Out, entries};
use crate::driver::device::{device_of, limits};
use crate::driver::graph::memory_usage;
use crate::driver::module::FUNCTIONS;
use crate::driver::op::Op;
use crate::driver::{Error, context};
use std::ffi::c_void;
use std::sync::Arc;

/// `CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE`
const TOO_LARGE: Error = Error(720);

entries! { Cuda;
    /// Launches a kernel whose blocks could all be resident at once.
    "cuLaunchCooperativeKernel" 9000 => fn cuLaunchCooperativeKernel(
        function: u64, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared: u32, stream: u64, params: KernelParams,
    ) {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let launch = prepare(function, grid, block, shared, params, std::ptr::null())?;
        let stream = stream_of(stream)?;
        if stream.context.handle != launch.function().context.handle {
            return Err(Error::INVALID_HANDLE);
        }
        if !launch.is_resident() {
            return Err(TOO_LARGE);
        }
        stream.enqueue([Op::Launch(Arc::new(launch))]).map(drop)
    }
    /// How much dynamic shared memory is left when so many blocks are resident.
    "cuOccupancyAvailableDynamicSMemPerBlock" 10020 => fn cuOccupancyAvailableDynamicSMemPerBlock(
        size: Out<usize>, function: u64, blocks: i32, threads: i32,
    ) {
        size.check()?;
        let function = FUNCTIONS.get(function)?;
        let blocks = u32::try_from(blocks).ok().filter(|&n| n > 0).ok_or(Error::INVALID_VALUE)?;
        let threads = u32::try_from(threads).ok().filter(|&n| n > 0).ok_or(Error::INVALID_VALUE)?;
        if function.blocks_per_multiprocessor(threads, 0) < blocks {
            return Err(Error::INVALID_VALUE);
        }
        let each = (limits::SHARED_OPTIN + 1024) / blocks;
        size.set(each.saturating_sub(function.kernel.static_shared).min(function.max_dynamic_shared()) as usize)
    }
    /// What two devices can do together: access each other's memory, and no more.
    "cuDeviceGetP2PAttribute" 8000 => fn cuDeviceGetP2PAttribute(
        value: Out<i32>, attribute: i32, device: i32, peer: i32,
    ) {
        value.check()?;
        if device_of(device)?.ordinal == device_of(peer)?.ordinal {
            return Err(Error::INVALID_DEVICE);
        }
        match attribute {
            1 | 4 => value.set(0),
            2 | 3 => value.set(1),
            _ => Err(Error::INVALID_VALUE),
        }
    }
    /// Gives back what graphs do not use; they use all that they hold.
    "cuDeviceGraphMemTrim" 11040 => fn cuDeviceGraphMemTrim(device: i32) {
        device_of(device).map(drop)
    }
    /// What graphs hold of a device's memory.
    "cuDeviceGetGraphMemAttribute" 11040 => fn cuDeviceGetGraphMemAttribute(
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
    /// The preferred split of cache and shared memory: none.
    "cuCtxGetCacheConfig" 3020 => fn cuCtxGetCacheConfig(config: Out<i32>) {
        context::current()?;
        config.set(0)
    }
    /// The width of shared memory banks: four bytes.
    "cuCtxGetSharedMemConfig" 4020 => fn cuCtxGetSharedMemConfig(config: Out<i32>) {
        context::current()?;
        config.set(1)
    }
    /// Prefers a width of shared memory banks; advice.
    "cuCtxSetSharedMemConfig" 4020 => fn cuCtxSetSharedMemConfig(config: i32) {
        let _ = config;
        context::current().map(drop)
    }
    /// A number that no other context has; null is the current one.
    "cuCtxGetId" 12000 => fn cuCtxGetId(handle: u64, id: Out<u64>) {
        let context = if handle == 0 { context::current()? } else { context::context_of(handle)? };
        id.set(context.handle)
    }
    /// Whether a function is loaded: always.
    "cuFuncIsLoaded" 12040 => fn cuFuncIsLoaded(state: Out<i32>, function: u64) {
        FUNCTIONS.get(function)?;
        state.set(1)
    }
    /// Loads a function: it is.
    "cuFuncLoad" 12040 => fn cuFuncLoad(function: u64) {
        FUNCTIONS.get(function).map(drop)
    }
    /// Prefers a width of shared memory banks; advice.
    "cuFuncSetSharedMemConfig" 4020 => fn cuFuncSetSharedMemConfig(function: u64, config: i32) {
        let _ = config;
        FUNCTIONS.get(function).map(drop)
    }
}
