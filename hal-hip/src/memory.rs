//! Allocating and freeing the kinds of memory.

use crate::status::call;
use crate::sys::Symbols;
use crate::sys::bindings::{hipHostMallocMapped, hipHostMallocPortable, hipMemAttachGlobal};
use hal_core::{Error, ErrorKind, MemoryKind, Result};
use hal_utils::native::Allocation;
use std::ffi::c_void;
use std::ptr::{self, NonNull};

/// A device address as HIP passes it.
pub(crate) fn pointer(address: u64) -> *mut c_void {
    ptr::with_exposed_provenance_mut(address as usize)
}

/// # Safety
/// The device is current, and `size` is not zero.
pub(crate) unsafe fn allocate(symbols: &Symbols, kind: MemoryKind, size: usize) -> Result<Allocation> {
    match kind {
        MemoryKind::DeviceLocal => {
            let mut device = ptr::null_mut();
            // SAFETY: writes one address; the device is current.
            unsafe { call!(symbols, hipMalloc(&mut device, size)) }?;
            Ok(Allocation { device: device.expose_provenance() as u64, host: None, kind })
        }
        // SAFETY: the caller's promise.
        MemoryKind::HostVisible => unsafe { allocate_host(symbols, size) },
        MemoryKind::Managed => {
            let mut device = ptr::null_mut();
            // SAFETY: writes one address; the device is current.
            unsafe { call!(symbols, hipMallocManaged(&mut device, size, hipMemAttachGlobal)) }?;
            // One address for both.
            let host = NonNull::new(device.cast());
            Ok(Allocation { device: device.expose_provenance() as u64, host, kind })
        }
        other => Err(Error::new(ErrorKind::Unimplemented, format!("HIP has no {other:?} memory"))),
    }
}

/// # Safety
/// As for [`allocate`].
unsafe fn allocate_host(symbols: &Symbols, size: usize) -> Result<Allocation> {
    let mut host = ptr::null_mut();
    let flags = hipHostMallocPortable | hipHostMallocMapped;
    // SAFETY: writes one address; the device is current.
    unsafe { call!(symbols, hipHostMalloc(&mut host, size, flags)) }?;
    let mut device = ptr::null_mut();
    // SAFETY: the memory was allocated above, mapped into the device's address space.
    let mapped = unsafe { call!(symbols, hipHostGetDevicePointer(&mut device, host, 0)) };
    if let Err(error) = mapped {
        // The first error says more than one of freeing could.
        // SAFETY: allocated above, and given to nobody.
        let _ = unsafe { call!(symbols, hipHostFree(host)) };
        return Err(error);
    }
    let device = device.expose_provenance() as u64;
    Ok(Allocation { device, host: NonNull::new(host.cast()), kind: MemoryKind::HostVisible })
}

/// # Safety
/// The device is current, and nothing uses the memory any more.
pub(crate) unsafe fn free(symbols: &Symbols, allocation: Allocation) -> Result<()> {
    match (allocation.kind, allocation.host) {
        (MemoryKind::HostVisible, Some(host)) => {
            // SAFETY: came from `hipHostMalloc`; the caller's promise.
            unsafe { call!(symbols, hipHostFree(host.as_ptr().cast())) }
        }
        // SAFETY: came from `hipMalloc` or `hipMallocManaged`; the caller's promise.
        _ => unsafe { call!(symbols, hipFree(pointer(allocation.device))) },
    }
}
