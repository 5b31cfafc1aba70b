//! Virtual memory management.

use super::Cuda;
use crate::abi::{In, Out, entries};
use crate::both::pool::{MemAccessDesc, MemLocation};
use crate::both::virtual_memory::{self as both, AllocationProp};
use crate::driver::context;
use crate::driver::virtual_memory::{self as core, Physical};
use std::ffi::c_void;

entries! { Cuda;
    /// Reserves addresses.
    "cuMemAddressReserve" 10020 => fn cuMemAddressReserve(
        address: Out<u64>, len: usize, align: usize, wish: u64, flags: u64,
    ) {
        let _ = wish;
        both::reserve(address, len, align, flags)
    }
    /// Frees reserved addresses.
    "cuMemAddressFree" 10020 => fn cuMemAddressFree(address: u64, len: usize) {
        core::free(address, len as u64)
    }
    /// Makes physical memory.
    "cuMemCreate" 10020 => fn cuMemCreate(handle: Out<u64>, len: usize, prop: In<AllocationProp>, flags: u64) {
        both::create(handle, len, prop, flags)
    }
    /// Lets go of physical memory; mappings keep it.
    "cuMemRelease" 10020 => fn cuMemRelease(handle: u64) {
        Physical::release(handle)
    }
    /// Maps physical memory at reserved addresses.
    "cuMemMap" 10020 => fn cuMemMap(address: u64, len: usize, offset: usize, handle: u64, flags: u64) {
        both::map(address, len, offset, handle, flags)
    }
    /// Unmaps whole mappings, after the context's work.
    "cuMemUnmap" 10020 => fn cuMemUnmap(address: u64, len: usize) {
        core::unmap(&*context::current()?, address, len as u64)
    }
    /// Lets devices access mappings.
    "cuMemSetAccess" 10020 => fn cuMemSetAccess(address: u64, len: usize, list: In<MemAccessDesc>, count: usize) {
        both::set_access(&*context::current()?, address, len, list, count)
    }
    /// What a device may do at an address.
    "cuMemGetAccess" 10020 => fn cuMemGetAccess(flags: Out<u64>, location: In<MemLocation>, address: u64) {
        both::get_access(flags, location, address)
    }
    /// What sizes and addresses must be multiples of.
    "cuMemGetAllocationGranularity" 10020 => fn cuMemGetAllocationGranularity(
        granularity: Out<usize>, prop: In<AllocationProp>, option: i32,
    ) {
        both::granularity(granularity, prop, option)
    }
    /// Describes physical memory.
    "cuMemGetAllocationPropertiesFromHandle" 10020 => fn cuMemGetAllocationPropertiesFromHandle(
        prop: Out<AllocationProp>, handle: u64,
    ) {
        both::properties(prop, handle)
    }
    /// Holds the physical memory at an address once more.
    "cuMemRetainAllocationHandle" 11000 => fn cuMemRetainAllocationHandle(
        handle: Out<u64>, address: u64,
    ) {
        both::retain(handle, address)
    }
    /// A descriptor of physical memory, for another process.
    "cuMemExportToShareableHandle" 10020 => fn cuMemExportToShareableHandle(
        out: Out<c_void>, handle: u64, kind: i32, flags: u64,
    ) {
        both::export(out, handle, kind, flags)
    }
    /// Physical memory of a descriptor from another process.
    "cuMemImportFromShareableHandle" 10020 => fn cuMemImportFromShareableHandle(
        handle: Out<u64>, descriptor: u64, kind: i32,
    ) {
        both::import(&*context::current()?, handle, descriptor, kind)
    }
}
