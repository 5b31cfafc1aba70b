//! Memory pools and stream-ordered allocation.

use super::{Cuda, stream_of};
use crate::abi::{In, Out, entries};
use crate::both::pool::{
    LOCATION_DEVICE, MemAccessDesc, MemLocation, MemPoolProps, create, get_access, is_managed, read,
    set_access, write,
};
use crate::driver::device::device_of;
use crate::driver::pool::{self, POOLS, Pool};
use crate::driver::{Error, Result, context};
use std::ffi::c_void;

fn allocate(out: Out<u64>, len: usize, pool: &Pool, stream: u64) -> Result<()> {
    out.check()?;
    out.set(pool.allocate(&*stream_of(stream)?, len as u64)?.start)
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
        create(pool, props)
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
        set_access(pool, list, count)
    }
    /// Whether a device may access a pool's memory.
    "cuMemPoolGetAccess" 11020 => fn cuMemPoolGetAccess(flags: Out<i32>, pool: u64, location: In<MemLocation>) {
        get_access(flags, pool, location)
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
