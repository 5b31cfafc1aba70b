//! Memory pools, stream-ordered allocation, and advice on managed memory.

use super::{Hip, current, stream_of};
use crate::abi::{In, Out, entries};
use crate::driver::device::{device, device_of};
use crate::driver::memory;
use crate::driver::pool::{self, POOLS, Pool, PoolState};
use crate::driver::{Error, Result};
use std::ffi::c_void;

/// `hipMemLocation`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MemLocation {
    kind: i32,
    id: i32,
}

/// `hipMemLocationTypeDevice`
const LOCATION_DEVICE: i32 = 1;
/// `hipMemAccessFlagsProtReadWrite`
const READ_WRITE: i32 = 3;

/// `hipMemPoolProps`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MemPoolProps {
    alloc_type: i32,
    handle_types: i32,
    location: MemLocation,
    security: u64,
    max_size: usize,
    reserved: [u8; 56],
}

/// `hipMemAccessDesc`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MemAccessDesc {
    location: MemLocation,
    flags: i32,
}

/// Allocates for use on a stream; nothing at all, without an error, if the size is zero.
fn allocate(out: Out<u64>, len: usize, pool: &Pool, stream: u64) -> Result<()> {
    out.check()?;
    let stream = stream_of(stream)?;
    if len == 0 {
        return out.set(0);
    }
    out.set(pool.allocate(&stream, len as u64)?.start)
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

fn already(error: Error) -> Result<()> {
    match error {
        Error::PEER_ACCESS_ALREADY_ENABLED | Error::PEER_ACCESS_NOT_ENABLED => Ok(()),
        other => Err(other),
    }
}

/// The owner always may access a pool; others may by peer access.
fn set_access(pool: &Pool, access: MemAccessDesc) -> Result<()> {
    let peer = device_of(access.location.id)?;
    if access.location.kind != LOCATION_DEVICE || !matches!(access.flags, 0 | READ_WRITE) {
        return Err(Error::INVALID_VALUE);
    }
    let owner = device(pool.device)?;
    match (peer.ordinal == owner.ordinal, access.flags) {
        (true, READ_WRITE) => Ok(()),
        (true, _) => Err(Error::INVALID_VALUE),
        (false, READ_WRITE) => peer.enable_peer(owner).or_else(already),
        (false, _) => peer.disable_peer(owner).or_else(already),
    }
}

fn is_managed(address: u64, len: usize) -> Result<()> {
    let fits = memory::find(address).is_some_and(|a| {
        a.kind == memory::Kind::Managed && len > 0 && len as u64 <= a.len - (address - a.start)
    });
    if fits { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

entries! { Hip;
    /// The pool a device starts with.
    "hipDeviceGetDefaultMemPool" 50200000 => fn hipDeviceGetDefaultMemPool(pool: Out<u64>, device: i32) {
        pool.set(device_of(device)?.default_pool().handle)
    }
    /// The pool that stream-ordered allocation uses.
    "hipDeviceGetMemPool" 50200000 => fn hipDeviceGetMemPool(pool: Out<u64>, device: i32) {
        pool.set(device_of(device)?.current_pool().handle)
    }
    /// Chooses the pool that stream-ordered allocation uses.
    "hipDeviceSetMemPool" 50200000 => fn hipDeviceSetMemPool(device: i32, pool: u64) {
        device_of(device)?.set_current_pool(&*POOLS.get(pool)?)
    }
    /// Makes a pool of device memory.
    "hipMemPoolCreate" 50200000 => fn hipMemPoolCreate(pool: Out<u64>, props: In<MemPoolProps>) {
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
    "hipMemPoolDestroy" 50200000 => fn hipMemPoolDestroy(pool: u64) {
        Pool::destroy(pool)
    }
    /// Reads an attribute of a pool.
    "hipMemPoolGetAttribute" 50200000 => fn hipMemPoolGetAttribute(
        pool: u64, attribute: i32, value: Out<c_void>,
    ) {
        read(&POOLS.get(pool)?.state(), attribute, value)
    }
    /// Sets an attribute of a pool.
    "hipMemPoolSetAttribute" 50200000 => fn hipMemPoolSetAttribute(
        pool: u64, attribute: i32, value: Out<c_void>,
    ) {
        write(&*POOLS.get(pool)?, attribute, value)
    }
    /// Gives back memory of a pool that is not in use.
    "hipMemPoolTrimTo" 50200000 => fn hipMemPoolTrimTo(pool: u64, keep: usize) {
        POOLS.get(pool)?.trim(keep as u64);
        Ok(())
    }
    /// Lets devices access a pool's memory.
    "hipMemPoolSetAccess" 50200000 => fn hipMemPoolSetAccess(pool: u64, list: In<MemAccessDesc>, count: usize) {
        let pool = POOLS.get(pool)?;
        list.list(count)?.into_iter().try_for_each(|access| set_access(&pool, access))
    }
    /// Whether a device may access a pool's memory.
    "hipMemPoolGetAccess" 50200000 => fn hipMemPoolGetAccess(
        flags: Out<i32>, pool: u64, location: In<MemLocation>,
    ) {
        let pool = POOLS.get(pool)?;
        let location = location.get()?;
        if location.kind != LOCATION_DEVICE {
            return Err(Error::INVALID_VALUE);
        }
        let peer = device_of(location.id)?;
        let may = peer.ordinal == pool.device || peer.peers() >> pool.device & 1 == 1;
        flags.set(if may { READ_WRITE } else { 0 })
    }
    /// Allocates from the device's current pool, in stream order.
    "hipMallocAsync" 50200000 => fn hipMallocAsync(address: Out<u64>, len: usize, stream: u64) {
        let pool = stream_of(stream)?.context.device.current_pool();
        allocate(address, len, &pool, stream)
    }
    /// Allocates from a pool, in stream order.
    "hipMallocFromPoolAsync" 50200000 => fn hipMallocFromPoolAsync(
        address: Out<u64>, len: usize, pool: u64, stream: u64,
    ) {
        allocate(address, len, &*POOLS.get(pool)?, stream)
    }
    /// Frees in stream order.
    "hipFreeAsync" 50200000 => fn hipFreeAsync(address: u64, stream: u64) {
        pool::free_async(address, &stream_of(stream)?)
    }
    /// Moves managed memory; it is everywhere already.
    "hipMemPrefetchAsync" 50200000 => fn hipMemPrefetchAsync(
        address: u64, len: usize, device: i32, stream: u64,
    ) {
        stream_of(stream)?;
        // -1 is the host.
        if device != -1 {
            device_of(device)?;
        }
        is_managed(address, len)
    }
    /// Advises on managed memory; advice changes nothing here.
    "hipMemAdvise" 50200000 => fn hipMemAdvise(address: u64, len: usize, advice: i32, device: i32) {
        let _ = (advice, device);
        current::context()?;
        is_managed(address, len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_those_of_the_headers() {
        assert_eq!(size_of::<MemPoolProps>(), 88);
        assert_eq!(size_of::<MemAccessDesc>(), 12);
    }
}
