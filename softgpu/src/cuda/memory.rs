//! Device, page-locked, registered and managed memory.

use super::Cuda;
use crate::abi::{Out, entries};
use crate::driver::context::{self, Context};
use crate::driver::memory::{self, Kind, Request};
use crate::driver::{Error, Result, pool};
use std::ffi::c_void;

fn request(context: &Context, kind: Kind, len: usize, flags: u32) -> Request {
    Request {
        len: len as u64,
        kind,
        device: context.device.ordinal,
        context: context.handle,
        flags,
        pool: None,
        writable: true,
    }
}

fn allocate(out: Out<u64>, kind: Kind, len: usize, flags: u32) -> Result<()> {
    out.check()?;
    crate::driver::capture::unsafe_call()?;
    let context = context::current()?;
    out.set(memory::allocate(request(&context, kind, len, flags))?.start)
}

/// `CU_MEMHOSTALLOC_*`
const HOST_FLAGS: u32 = 7;
/// `CU_MEMHOSTREGISTER_*`
const REGISTER_FLAGS: u32 = 15;

fn register(pointer: *mut c_void, len: usize, flags: u32) -> Result<()> {
    if flags & !REGISTER_FLAGS != 0 {
        return Err(Error::INVALID_VALUE);
    }
    let context = context::current()?;
    let request = request(&context, Kind::Registered, len, flags);
    // SAFETY: the caller of the entry point promises the range until it unregisters it.
    unsafe { memory::register(pointer.cast(), request) }.map(drop)
}

entries! { Cuda;
    /// Allocates device memory.
    "cuMemAlloc" 3020 => fn cuMemAlloc_v2(address: Out<u64>, len: usize) {
        allocate(address, Kind::Device, len, 0)
    }
    /// Allocates rows of device memory whose starts are aligned.
    "cuMemAllocPitch" 3020 => fn cuMemAllocPitch_v2(
        address: Out<u64>, pitch: Out<usize>, width: usize, height: usize, element: u32,
    ) {
        pitch.check()?;
        if !matches!(element, 4 | 8 | 16) {
            return Err(Error::INVALID_VALUE);
        }
        let row = width.checked_next_multiple_of(512).ok_or(Error::OUT_OF_MEMORY)?;
        allocate(address, Kind::Device, row.checked_mul(height).ok_or(Error::OUT_OF_MEMORY)?, 0)?;
        pitch.set(row)
    }
    /// Frees device or managed memory, after the context's work.
    "cuMemFree" 3020 => fn cuMemFree_v2(address: u64) {
        if address == 0 { Ok(()) } else { pool::free(address) }
    }
    /// Allocates managed memory.
    "cuMemAllocManaged" 6000 => fn cuMemAllocManaged(address: Out<u64>, len: usize, flags: u32) {
        if !matches!(flags, 1 | 2) {
            return Err(Error::INVALID_VALUE);
        }
        allocate(address, Kind::Managed, len, flags)
    }
    /// Allocates page-locked host memory.
    "cuMemAllocHost" 3020 => fn cuMemAllocHost_v2(pointer: Out<u64>, len: usize) {
        allocate(pointer, Kind::Pinned, len, 0)
    }
    /// Allocates page-locked host memory with flags.
    "cuMemHostAlloc" 2020 => fn cuMemHostAlloc(pointer: Out<u64>, len: usize, flags: u32) {
        if flags & !HOST_FLAGS != 0 {
            return Err(Error::INVALID_VALUE);
        }
        allocate(pointer, Kind::Pinned, len, flags)
    }
    /// Frees page-locked host memory, after the context's work.
    "cuMemFreeHost" 2000 => fn cuMemFreeHost(pointer: u64) {
        pool::free_host(pointer)
    }
    /// Registers host memory.
    "cuMemHostRegister" 4000 => fn cuMemHostRegister(pointer: *mut c_void, len: usize, flags: u32) {
        register(pointer, len, flags)
    }
    /// Registers host memory.
    "cuMemHostRegister" 6050 => fn cuMemHostRegister_v2(pointer: *mut c_void, len: usize, flags: u32) {
        register(pointer, len, flags)
    }
    /// Forgets registered host memory, after the context's work.
    "cuMemHostUnregister" 4000 => fn cuMemHostUnregister(pointer: u64) {
        pool::unregister(pointer)
    }
    /// The device address of page-locked or registered host memory.
    "cuMemHostGetDevicePointer" 3020 => fn cuMemHostGetDevicePointer_v2(
        address: Out<u64>, pointer: u64, flags: u32,
    ) {
        address.check()?;
        context::current()?;
        let known = memory::find(pointer).is_some_and(|a| a.kind.is_host());
        if flags != 0 || !known {
            return Err(Error::INVALID_VALUE);
        }
        address.set(pointer)
    }
    /// The flags page-locked memory was allocated with.
    "cuMemHostGetFlags" 2030 => fn cuMemHostGetFlags(flags: Out<u32>, pointer: u64) {
        context::current()?;
        let found = memory::find(pointer).filter(|a| matches!(a.kind, Kind::Pinned | Kind::Registered));
        flags.set(found.ok_or(Error::INVALID_VALUE)?.flags)
    }
    /// Free and total device memory.
    "cuMemGetInfo" 3020 => fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) {
        let info = context::current()?.device.memory_info();
        total.check()?;
        free.set(info.0 as usize)?;
        total.set(info.1 as usize)
    }
    /// Start and length of the allocation that holds an address.
    "cuMemGetAddressRange" 3020 => fn cuMemGetAddressRange_v2(
        start: Out<u64>, len: Out<usize>, address: u64,
    ) {
        context::current()?;
        let found = memory::find(address).ok_or(Error::NOT_FOUND)?;
        start.set_if(found.start);
        len.set_if(found.len as usize);
        Ok(())
    }
}
