//! Memory pools, stream-ordered allocation, and advice on managed memory.

use super::{Hip, current, stream_of};
use crate::abi::{In, Out, entries};
use crate::both::pool::{
    MemAccessDesc, MemLocation, MemPoolProps, create, get_access, is_managed, read, set_access, write,
};
use crate::driver::Result;
use crate::driver::device::device_of;
use crate::driver::pool::{self, POOLS, Pool};
use std::ffi::c_void;

fn allocate(out: Out<u64>, len: usize, pool: &Pool, stream: u64) -> Result<()> {
    out.check()?;
    let stream = stream_of(stream)?;
    if len == 0 {
        return out.set(0);
    }
    out.set(pool.allocate(&stream, len as u64)?.start)
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
        create(pool, props)
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
        set_access(pool, list, count)
    }
    /// Whether a device may access a pool's memory.
    "hipMemPoolGetAccess" 50200000 => fn hipMemPoolGetAccess(
        flags: Out<i32>, pool: u64, location: In<MemLocation>,
    ) {
        get_access(flags, pool, location)
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
