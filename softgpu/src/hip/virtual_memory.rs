//! Virtual memory management.

use super::{Hip, current};
use crate::abi::{In, Out, entries};
use crate::both::pool::{MemAccessDesc, MemLocation};
use crate::both::virtual_memory::{self as both, AllocationProp};

use crate::driver::virtual_memory::{self as core, Physical};
use std::ffi::c_void;

entries! { Hip;
    /// Reserves addresses.
    "hipMemAddressReserve" 50200000 => fn hipMemAddressReserve(
        address: Out<u64>, len: usize, align: usize, wish: u64, flags: u64,
    ) {
        let _ = wish;
        both::reserve(address, len, align, flags)
    }
    /// Frees reserved addresses.
    "hipMemAddressFree" 50200000 => fn hipMemAddressFree(address: u64, len: usize) {
        core::free(address, len as u64)
    }
    /// Makes physical memory.
    "hipMemCreate" 50200000 => fn hipMemCreate(handle: Out<u64>, len: usize, prop: In<AllocationProp>, flags: u64) {
        both::create(handle, len, prop, flags)
    }
    /// Lets go of physical memory; mappings keep it.
    "hipMemRelease" 50200000 => fn hipMemRelease(handle: u64) {
        Physical::release(handle)
    }
    /// Maps physical memory at reserved addresses.
    "hipMemMap" 50200000 => fn hipMemMap(address: u64, len: usize, offset: usize, handle: u64, flags: u64) {
        both::map(address, len, offset, handle, flags)
    }
    /// Unmaps whole mappings, after the context's work.
    "hipMemUnmap" 50200000 => fn hipMemUnmap(address: u64, len: usize) {
        core::unmap(&*current::context()?, address, len as u64)
    }
    /// Lets devices access mappings.
    "hipMemSetAccess" 50200000 => fn hipMemSetAccess(address: u64, len: usize, list: In<MemAccessDesc>, count: usize) {
        both::set_access(&*current::context()?, address, len, list, count)
    }
    /// What a device may do at an address.
    "hipMemGetAccess" 50200000 => fn hipMemGetAccess(flags: Out<u64>, location: In<MemLocation>, address: u64) {
        both::get_access(flags, location, address)
    }
    /// What sizes and addresses must be multiples of.
    "hipMemGetAllocationGranularity" 50200000 => fn hipMemGetAllocationGranularity(
        granularity: Out<usize>, prop: In<AllocationProp>, option: i32,
    ) {
        both::granularity(granularity, prop, option)
    }
    /// Describes physical memory.
    "hipMemGetAllocationPropertiesFromHandle" 50200000 => fn hipMemGetAllocationPropertiesFromHandle(
        prop: Out<AllocationProp>, handle: u64,
    ) {
        both::properties(prop, handle)
    }
    /// Holds the physical memory at an address once more.
    "hipMemRetainAllocationHandle" 50200000 => fn hipMemRetainAllocationHandle(
        handle: Out<u64>, address: u64,
    ) {
        both::retain(handle, address)
    }
    /// A descriptor of physical memory, for another process.
    "hipMemExportToShareableHandle" 50200000 => fn hipMemExportToShareableHandle(
        out: Out<c_void>, handle: u64, kind: i32, flags: u64,
    ) {
        both::export(out, handle, kind, flags)
    }
    /// Physical memory of a descriptor from another process.
    "hipMemImportFromShareableHandle" 50200000 => fn hipMemImportFromShareableHandle(
        handle: Out<u64>, descriptor: u64, kind: i32,
    ) {
        both::import(&*current::context()?, handle, descriptor, kind)
    }
}
