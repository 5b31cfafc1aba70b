//! Device, page-locked, registered and managed memory.

use super::{Hip, current};
use crate::abi::{Out, entries};
use crate::driver::context::Context;
use crate::driver::memory::{self, Kind, Request};
use crate::driver::{Error, Result, pool};
use std::ffi::c_void;

/// `hipHostMalloc*`: portable, mapped, write-combined, uncached, NUMA, coherent, non-coherent. All are advice here.
const HOST_FLAGS: u32 = 7 | 0xf000_0000;
/// Coherent and non-coherent, of which one may be chosen.
const COHERENCE: u32 = 0xc000_0000;
/// `hipHostRegister*`
const REGISTER_FLAGS: u32 = 15;
/// Distance of rows is a multiple of this.
const PITCH: usize = 512;

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

/// Allocates; nothing at all, without an error, if the size is zero.
fn allocate(out: Out<u64>, kind: Kind, len: usize, flags: u32) -> Result<()> {
    out.check()?;
    crate::driver::capture::unsafe_call()?;
    let context = current::context()?;
    if len == 0 {
        return out.set(0);
    }
    out.set(memory::allocate(request(&context, kind, len, flags))?.start)
}

fn allocate_host(out: Out<u64>, len: usize, flags: u32) -> Result<()> {
    if flags & !HOST_FLAGS != 0 || flags & COHERENCE == COHERENCE {
        return Err(Error::INVALID_VALUE);
    }
    allocate(out, Kind::Pinned, len, flags)
}

fn free_host(pointer: u64) -> Result<()> {
    if pointer == 0 { Ok(()) } else { pool::free_host(pointer) }
}

entries! { Hip;
    /// Allocates device memory.
    "hipMalloc" 50200000 => fn hipMalloc(address: Out<u64>, len: usize) {
        allocate(address, Kind::Device, len, 0)
    }
    /// Allocates rows of device memory, each aligned.
    "hipMallocPitch" 50200000 => fn hipMallocPitch(
        address: Out<u64>, pitch: Out<usize>, width: usize, height: usize,
    ) {
        pitch.check()?;
        let row = width.checked_next_multiple_of(PITCH).ok_or(Error::OUT_OF_MEMORY)?;
        allocate(address, Kind::Device, row.checked_mul(height).ok_or(Error::OUT_OF_MEMORY)?, 0)?;
        pitch.set(row)
    }
    /// Frees device or managed memory, after the context's work. Null is nothing to free.
    "hipFree" 50200000 => fn hipFree(address: u64) {
        if address == 0 { Ok(()) } else { pool::free(address) }
    }
    /// Allocates managed memory.
    "hipMallocManaged" 50200000 => fn hipMallocManaged(address: Out<u64>, len: usize, flags: u32) {
        if !matches!(flags, 1 | 2) || len == 0 {
            return Err(Error::INVALID_VALUE);
        }
        allocate(address, Kind::Managed, len, flags)
    }
    /// Allocates page-locked host memory.
    "hipHostMalloc" 50200000 => fn hipHostMalloc(pointer: Out<u64>, len: usize, flags: u32) {
        allocate_host(pointer, len, flags)
    }
    /// Allocates page-locked host memory, by an old name.
    "hipHostAlloc" 50200000 => fn hipHostAlloc(pointer: Out<u64>, len: usize, flags: u32) {
        allocate_host(pointer, len, flags)
    }
    /// Allocates page-locked host memory, by an older name.
    "hipMallocHost" 50200000 => fn hipMallocHost(pointer: Out<u64>, len: usize) {
        allocate_host(pointer, len, 0)
    }
    /// Frees page-locked host memory, after the context's work. Null is nothing to free.
    "hipHostFree" 50200000 => fn hipHostFree(pointer: u64) {
        free_host(pointer)
    }
    /// Frees page-locked host memory, by an old name.
    "hipFreeHost" 50200000 => fn hipFreeHost(pointer: u64) {
        free_host(pointer)
    }
    /// Registers host memory.
    "hipHostRegister" 50200000 => fn hipHostRegister(pointer: *mut c_void, len: usize, flags: u32) {
        if flags & !REGISTER_FLAGS != 0 {
            return Err(Error::INVALID_VALUE);
        }
        let context = current::context()?;
        // SAFETY: the caller of the entry point promises the range until it unregisters it.
        unsafe { memory::register(pointer.cast(), request(&context, Kind::Registered, len, flags)) }.map(drop)
    }
    /// Forgets registered host memory, after the context's work.
    "hipHostUnregister" 50200000 => fn hipHostUnregister(pointer: u64) {
        pool::unregister(pointer)
    }
    /// The device address of page-locked or registered host memory.
    "hipHostGetDevicePointer" 50200000 => fn hipHostGetDevicePointer(
        address: Out<u64>, pointer: u64, flags: u32,
    ) {
        address.check()?;
        current::context()?;
        let known = memory::find(pointer).is_some_and(|a| a.kind.is_host());
        if flags != 0 || !known {
            return Err(Error::INVALID_VALUE);
        }
        address.set(pointer)
    }
    /// The flags page-locked memory was allocated with.
    "hipHostGetFlags" 50200000 => fn hipHostGetFlags(flags: Out<u32>, pointer: u64) {
        current::context()?;
        let found = memory::find(pointer).filter(|a| matches!(a.kind, Kind::Pinned | Kind::Registered));
        flags.set(found.ok_or(Error::INVALID_VALUE)?.flags)
    }
    /// Free and total device memory.
    "hipMemGetInfo" 50200000 => fn hipMemGetInfo(free: Out<usize>, total: Out<usize>) {
        let info = current::context()?.device.memory_info();
        free.set_if(info.0 as usize);
        total.set_if(info.1 as usize);
        Ok(())
    }
}
