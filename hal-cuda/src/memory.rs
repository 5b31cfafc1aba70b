//! Allocating and freeing the kinds of memory.

use crate::status::call;
use crate::sys::Symbols;
use crate::sys::bindings::{CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE, CUmemAttach_flags};
use hal_core::{Error, ErrorKind, MemoryKind, Result};
use hal_utils::native::Allocation;
use std::ptr::{self, NonNull};

/// # Safety
/// The device is current, and `size` is not zero.
pub(crate) unsafe fn allocate(symbols: &Symbols, kind: MemoryKind, size: usize) -> Result<Allocation> {
    match kind {
        MemoryKind::DeviceLocal => {
            let mut device = 0;
            // SAFETY: writes one address; the device is current.
            unsafe { call!(symbols, cuMemAlloc(&mut device, size)) }?;
            Ok(Allocation { device, host: None, kind })
        }
        // SAFETY: the caller's promise.
        MemoryKind::HostVisible => unsafe { allocate_host(symbols, size) },
        MemoryKind::Managed => {
            let mut device = 0;
            let flags = CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL.0;
            // SAFETY: writes one address; the device is current.
            unsafe { call!(symbols, cuMemAllocManaged(&mut device, size, flags)) }?;
            // One address for both.
            Ok(Allocation {
                device,
                host: NonNull::new(ptr::with_exposed_provenance_mut(device as usize)),
                kind,
            })
        }
        other => Err(Error::new(ErrorKind::Unimplemented, format!("CUDA has no {other:?} memory"))),
    }
}

/// # Safety
/// As for [`allocate`].
unsafe fn allocate_host(symbols: &Symbols, size: usize) -> Result<Allocation> {
    let mut host = ptr::null_mut();
    let flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
    // SAFETY: writes one address; the device is current.
    unsafe { call!(symbols, cuMemHostAlloc(&mut host, size, flags)) }?;
    let mut device = 0;
    // SAFETY: the memory was allocated above, mapped into the device's address space.
    let mapped = unsafe { call!(symbols, cuMemHostGetDevicePointer(&mut device, host, 0)) };
    if let Err(error) = mapped {
        // The first error says more than one of freeing could.
        // SAFETY: allocated above, and given to nobody.
        let _ = unsafe { call!(symbols, cuMemFreeHost(host)) };
        return Err(error);
    }
    Ok(Allocation { device, host: NonNull::new(host.cast()), kind: MemoryKind::HostVisible })
}

/// # Safety
/// The device is current, and nothing uses the memory any more.
pub(crate) unsafe fn free(symbols: &Symbols, allocation: Allocation) -> Result<()> {
    match (allocation.kind, allocation.host) {
        (MemoryKind::HostVisible, Some(host)) => {
            // SAFETY: came from `cuMemHostAlloc`; the caller's promise.
            unsafe { call!(symbols, cuMemFreeHost(host.as_ptr().cast())) }
        }
        // SAFETY: came from `cuMemAlloc` or `cuMemAllocManaged`; the caller's promise.
        _ => unsafe { call!(symbols, cuMemFree(allocation.device)) },
    }
}
