//! Virtual memory management: descriptions that both ABIs lay out alike.

use crate::abi::{In, Out};
use crate::both::pool::{LOCATION_DEVICE, MemAccessDesc, MemLocation, allow};
use crate::driver::context::Context;
use crate::driver::device::{Device, device, device_of};
use crate::driver::virtual_memory::{self as core, GRANULARITY, PHYSICAL, Physical};
use crate::driver::{Error, Result};
use std::ffi::c_void;

/// `CU_MEM_ALLOCATION_TYPE_PINNED`
const PINNED: i32 = 1;
/// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`
const FILE_DESCRIPTOR: i32 = 1;

/// `CUmemAllocationProp`, `hipMemAllocationProp`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AllocationProp {
    kind: i32,
    handle_types: i32,
    location: MemLocation,
    windows: u64,
    flags: u64,
}

impl AllocationProp {
    fn device(&self) -> Result<&'static Device> {
        if self.kind != PINNED || self.location.kind != LOCATION_DEVICE {
            return Err(Error::INVALID_VALUE);
        }
        if self.handle_types & !FILE_DESCRIPTOR != 0 {
            return Err(Error::NOT_SUPPORTED);
        }
        device_of(self.location.id)
    }
}

/// Reserves addresses; a wish for certain ones is advice.
pub(crate) fn reserve(address: Out<u64>, len: usize, align: usize, flags: u64) -> Result<()> {
    address.check()?;
    if flags != 0 {
        return Err(Error::INVALID_VALUE);
    }
    address.set(core::reserve(len as u64, align as u64)?)
}

/// Makes physical memory.
pub(crate) fn create(handle: Out<u64>, len: usize, prop: In<AllocationProp>, flags: u64) -> Result<()> {
    handle.check()?;
    let prop = prop.get()?;
    let device = prop.device()?;
    if flags != 0 {
        return Err(Error::INVALID_VALUE);
    }
    handle.set(Physical::create(device.ordinal, len as u64, prop.handle_types == FILE_DESCRIPTOR)?.handle)
}

/// Maps physical memory.
pub(crate) fn map(address: u64, len: usize, offset: usize, handle: u64, flags: u64) -> Result<()> {
    let physical = PHYSICAL.get(handle)?;
    if flags != 0 {
        return Err(Error::INVALID_VALUE);
    }
    core::map(address, len as u64, offset as u64, physical)
}

/// Lets devices access mappings.
pub(crate) fn set_access(
    context: &Context,
    address: u64,
    len: usize,
    list: In<MemAccessDesc>,
    count: usize,
) -> Result<()> {
    let owner = device(core::physical_at(address)?.device)?;
    for access in list.list(count)? {
        let flags = u64::try_from(access.flags).map_err(|_| Error::INVALID_VALUE)?;
        if access.location.kind != LOCATION_DEVICE || !matches!(flags, 0 | 1 | 3) {
            return Err(Error::INVALID_VALUE);
        }
        if device_of(access.location.id)?.ordinal == owner.ordinal {
            core::set_access(context, address, len as u64, flags)?;
        } else {
            allow(owner, access)?;
        }
    }
    Ok(())
}

/// What a device may do at an address.
pub(crate) fn get_access(flags: Out<u64>, location: In<MemLocation>, address: u64) -> Result<()> {
    flags.check()?;
    let (location, owner) = (location.get()?, core::physical_at(address)?.device);
    let asking = device_of(location.id)?;
    let may = asking.ordinal == owner || asking.peers() >> owner & 1 == 1;
    flags.set(if may { core::access(address)? } else { 0 })
}

/// What sizes and addresses must be multiples of, for memory that is described.
pub(crate) fn granularity(out: Out<usize>, prop: In<AllocationProp>, option: i32) -> Result<()> {
    out.check()?;
    prop.get()?.device()?;
    if matches!(option, 0 | 1) { out.set(GRANULARITY as usize) } else { Err(Error::INVALID_VALUE) }
}

/// Describes physical memory.
pub(crate) fn properties(prop: Out<AllocationProp>, handle: u64) -> Result<()> {
    let physical = PHYSICAL.get(handle)?;
    prop.set(AllocationProp {
        kind: PINNED,
        handle_types: if physical.shareable { FILE_DESCRIPTOR } else { 0 },
        location: MemLocation { kind: LOCATION_DEVICE, id: physical.device as i32 },
        windows: 0,
        flags: 0,
    })
}

/// Holds the handle of what is mapped at an address.
pub(crate) fn retain(handle: Out<u64>, address: u64) -> Result<()> {
    handle.check()?;
    let physical = core::physical_at(address)?;
    PHYSICAL.get(physical.handle)?.retain();
    handle.set(physical.handle)
}

/// A descriptor of physical memory.
pub(crate) fn export(out: Out<c_void>, handle: u64, kind: i32, flags: u64) -> Result<()> {
    let out = out.cast::<i32>().check()?;
    let physical = PHYSICAL.get(handle)?;
    if kind != FILE_DESCRIPTOR || flags != 0 {
        return Err(Error::INVALID_VALUE);
    }
    out.set(physical.export()?)
}

/// Physical memory of a descriptor, which is the value that C passes as a pointer.
pub(crate) fn import(context: &Context, handle: Out<u64>, descriptor: u64, kind: i32) -> Result<()> {
    handle.check()?;
    let fd = i32::try_from(descriptor).map_err(|_| Error::INVALID_VALUE)?;
    if kind != FILE_DESCRIPTOR {
        return Err(Error::INVALID_VALUE);
    }
    handle.set(Physical::import(context.device.ordinal, fd)?.handle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_that_of_the_headers() {
        assert_eq!(size_of::<AllocationProp>(), 32);
    }
}
