//! Memory pools and stream-ordered allocation.

use super::{Cuda, stream_of};
use crate::abi::{In, Out, entries};
use crate::driver::device::{device, device_of};
use crate::driver::memory;
use crate::driver::pool::{self, POOLS, Pool, PoolState};
use crate::driver::{Error, Result, context};
use std::ffi::c_void;

/// `CUmemLocation`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MemLocation {
    kind: i32,
    id: i32,
}

/// `CU_MEM_LOCATION_TYPE_DEVICE`
const LOCATION_DEVICE: i32 = 1;

/// `CUmemPoolProps`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MemPoolProps {
    alloc_type: i32,
    handle_types: i32,
    location: MemLocation,
    security: u64,
    max_size: usize,
    usage: u16,
    reserved: [u8; 54],
}

/// `CUmemAccessDesc`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MemAccessDesc {
    location: MemLocation,
    flags: i32,
}

fn allocate(out: Out<u64>, len: usize, pool: &Pool, stream: u64) -> Result<()> {
    out.check()?;
    out.set(pool.allocate(&*stream_of(stream)?, len as u64)?.start)
}

fn read(state: &PoolState, attribute: i32, value: Out<c_void>) -> Result<()> {
    match attribute {
        1..=3 => value.cast::<i32>().set(i32::from(state.reuse[attribute as usize - 1])),
        4 => value.cast::<u64>().set(state.release_threshold),
        5 => value.cast::<u64>().set(state.reserved),
        6 => value.cast::<u64>().set(state.reserved_high),
        7 => value.cast::<u64>().set(state.used),
        8 => value.cast::<u64>().set(state.used_high),
        _ => Err(Error::INVALID_VALUE),
    }
}

fn write(pool: &Pool, attribute: i32, value: Out<c_void>) -> Result<()> {
    match attribute {
        1..=3 => {
            let on = value.cast::<i32>().get()? != 0;
            pool.update(|state| state.reuse[attribute as usize - 1] = on);
        }
        4 => {
            let threshold = value.cast::<u64>().get()?;
            pool.update(|state| state.release_threshold = threshold);
        }
        // The high marks can be reset, and only that.
        6 | 8 => {
            if value.cast::<u64>().get()? != 0 {
                return Err(Error::INVALID_VALUE);
            }
            pool.update(|state| match attribute {
                6 => state.reserved_high = state.reserved,
                _ => state.used_high = state.used,
            });
        }
        _ => return Err(Error::INVALID_VALUE),
    }
    Ok(())
}

entries! { Cuda;
    /// The pool a device starts with.
    "cuDeviceGetDefaultMemPool" 11020 => fn cuDeviceGetDefaultMemPool(pool: Out<u64>, device: i32) {
        pool.set(device_of(device)?.default_pool().handle)
    }
    /// The pool that stream-ordered allocation uses.
    "cuDeviceGetMemPool" 11020 => fn cuDeviceGetMemPool(pool: Out<u64>, device: i32) {
        pool.set(device_of(device)?.current_pool().handle)
    }
    /// Chooses the pool that stream-ordered allocation uses.
    "cuDeviceSetMemPool" 11020 => fn cuDeviceSetMemPool(device: i32, pool: u64) {
        device_of(device)?.set_current_pool(&*POOLS.get(pool)?)
    }
    /// Makes a pool of device memory.
    "cuMemPoolCreate" 11020 => fn cuMemPoolCreate(pool: Out<u64>, props: In<MemPoolProps>) {
        pool.check()?;
        let props = props.get()?;
        if props.alloc_type != 1 || props.location.kind != LOCATION_DEVICE {
            return Err(Error::INVALID_VALUE);
        }
        if props.handle_types != 0 {
            return Err(Error::NOT_SUPPORTED);
        }
        let device = device_of(props.location.id)?;
        pool.set(Pool::register(device.ordinal, props.max_size as u64).handle)
    }
    /// Destroys a pool.
    "cuMemPoolDestroy" 11020 => fn cuMemPoolDestroy(pool: u64) {
        Pool::destroy(pool)
    }
    /// Reads an attribute of a pool.
    "cuMemPoolGetAttribute" 11020 => fn cuMemPoolGetAttribute(pool: u64, attribute: i32, value: Out<c_void>) {
        read(&POOLS.get(pool)?.state(), attribute, value)
    }
    /// Sets an attribute of a pool.
    "cuMemPoolSetAttribute" 11020 => fn cuMemPoolSetAttribute(pool: u64, attribute: i32, value: Out<c_void>) {
        write(&*POOLS.get(pool)?, attribute, value)
    }
    /// Gives back memory of a pool that is not in use.
    "cuMemPoolTrimTo" 11020 => fn cuMemPoolTrimTo(pool: u64, keep: usize) {
        POOLS.get(pool)?.trim(keep as u64);
        Ok(())
    }
    /// Lets devices access a pool's memory: the owner always may, others by peer access.
    "cuMemPoolSetAccess" 11020 => fn cuMemPoolSetAccess(pool: u64, list: In<MemAccessDesc>, count: usize) {
        let pool = POOLS.get(pool)?;
        for access in list.list(count)? {
            let peer = device_of(access.location.id)?;
            if access.location.kind != LOCATION_DEVICE || !matches!(access.flags, 0 | 3) {
                return Err(Error::INVALID_VALUE);
            }
            match (peer.ordinal == pool.device, access.flags) {
                (true, 3) => {}
                (true, _) => return Err(Error::INVALID_VALUE),
                (false, 3) => peer.enable_peer(device(pool.device)?).or_else(already)?,
                (false, _) => peer.disable_peer(device(pool.device)?).or_else(already)?,
            }
        }
        Ok(())
    }
    /// Allocates from the device's current pool, in stream order.
    "cuMemAllocAsync" 11020 => fn cuMemAllocAsync(address: Out<u64>, len: usize, stream: u64) {
        let pool = stream_of(stream)?.context.device.current_pool();
        allocate(address, len, &pool, stream)
    }
    /// Allocates from a pool, in stream order.
    "cuMemAllocFromPoolAsync" 11020 => fn cuMemAllocFromPoolAsync(
        address: Out<u64>, len: usize, pool: u64, stream: u64,
    ) {
        allocate(address, len, &*POOLS.get(pool)?, stream)
    }
    /// Frees in stream order.
    "cuMemFreeAsync" 11020 => fn cuMemFreeAsync(address: u64, stream: u64) {
        pool::free_async(address, &stream_of(stream)?)
    }
    /// Moves managed memory; it is everywhere already.
    "cuMemPrefetchAsync" 8000 => fn cuMemPrefetchAsync(address: u64, len: usize, device: i32, stream: u64) {
        stream_of(stream)?;
        // -1 is the host.
        if device != -1 {
            device_of(device)?;
        }
        is_managed(address, len)
    }
    /// Moves managed memory; it is everywhere already.
    "cuMemPrefetchAsync" 12020 => fn cuMemPrefetchAsync_v2(
        address: u64, len: usize, location: MemLocation, flags: u32, stream: u64,
    ) {
        stream_of(stream)?;
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        if location.kind == LOCATION_DEVICE {
            device_of(location.id)?;
        }
        is_managed(address, len)
    }
    /// Advises on managed memory; advice changes nothing here.
    "cuMemAdvise" 8000 => fn cuMemAdvise(address: u64, len: usize, advice: i32, device: i32) {
        let _ = (advice, device);
        context::current()?;
        is_managed(address, len)
    }
}

fn already(error: Error) -> Result<()> {
    match error {
        Error::PEER_ACCESS_ALREADY_ENABLED | Error::PEER_ACCESS_NOT_ENABLED => Ok(()),
        other => Err(other),
    }
}

fn is_managed(address: u64, len: usize) -> Result<()> {
    let fits = memory::find(address).is_some_and(|a| {
        a.kind == memory::Kind::Managed && len > 0 && len as u64 <= a.len - (address - a.start)
    });
    if fits { Ok(()) } else { Err(Error::INVALID_VALUE) }
}
