//! Memory pools: their description, attributes and access.

use crate::abi::{In, Out};
use crate::driver::device::{Device, device, device_of};
use crate::driver::memory;
use crate::driver::pool::{POOLS, Pool, PoolState};
use crate::driver::stream::Stream;
use crate::driver::{Error, Result};
use std::ffi::c_void;

/// `CUmemLocation`, `hipMemLocation`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MemLocation {
    /// What kind of place.
    pub kind: i32,
    /// Which one of that kind.
    pub id: i32,
}

/// `CU_MEM_LOCATION_TYPE_DEVICE`, `hipMemLocationTypeDevice`
pub const LOCATION_DEVICE: i32 = 1;
/// `CU_MEM_ACCESS_FLAGS_PROT_READWRITE`, `hipMemAccessFlagsProtReadWrite`
pub const READ_WRITE: i32 = 3;
/// `CU_MEM_ALLOCATION_TYPE_PINNED`, `hipMemAllocationTypePinned`
const PINNED: i32 = 1;

/// `CUmemPoolProps`, `hipMemPoolProps`
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

impl MemPoolProps {
    /// The device whose memory this describes.
    pub(crate) fn device(&self) -> Result<&'static Device> {
        if self.alloc_type != PINNED || self.location.kind != LOCATION_DEVICE {
            return Err(Error::INVALID_VALUE);
        }
        if self.handle_types != 0 {
            return Err(Error::NOT_SUPPORTED);
        }
        device_of(self.location.id)
    }

    /// Describes plain memory of a device.
    pub(crate) fn of_device(ordinal: usize) -> Self {
        Self {
            alloc_type: PINNED,
            handle_types: 0,
            location: MemLocation { kind: LOCATION_DEVICE, id: ordinal as i32 },
            security: 0,
            max_size: 0,
            reserved: [0; 56],
        }
    }
}

/// `CUmemAccessDesc`, `hipMemAccessDesc`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MemAccessDesc {
    /// Who.
    pub location: MemLocation,
    /// May do what.
    pub flags: i32,
}

/// Makes a pool of device memory.
pub(crate) fn create(pool: Out<u64>, props: In<MemPoolProps>) -> Result<()> {
    pool.check()?;
    let props = props.get()?;
    let device = props.device()?;
    pool.set(Pool::register(device.ordinal, props.max_size as u64).handle)
}

/// Lets a device access memory of another, or no longer.
pub(crate) fn allow(owner: &'static Device, access: MemAccessDesc) -> Result<()> {
    let peer = device_of(access.location.id)?;
    if access.location.kind != LOCATION_DEVICE || !matches!(access.flags, 0 | READ_WRITE) {
        return Err(Error::INVALID_VALUE);
    }
    match (peer.ordinal == owner.ordinal, access.flags) {
        (true, READ_WRITE) => Ok(()),
        // The owner always may.
        (true, _) => Err(Error::INVALID_VALUE),
        (false, READ_WRITE) => peer.enable_peer(owner).or_else(already),
        (false, _) => peer.disable_peer(owner).or_else(already),
    }
}

fn already(error: Error) -> Result<()> {
    match error {
        Error::PEER_ACCESS_ALREADY_ENABLED | Error::PEER_ACCESS_NOT_ENABLED => Ok(()),
        other => Err(other),
    }
}

/// Lets devices access a pool's memory.
pub(crate) fn set_access(pool: u64, list: In<MemAccessDesc>, count: usize) -> Result<()> {
    let owner = device(POOLS.get(pool)?.device)?;
    list.list(count)?.into_iter().try_for_each(|access| allow(owner, access))
}

/// Whether a device may access a pool's memory.
pub(crate) fn get_access(flags: Out<i32>, pool: u64, location: In<MemLocation>) -> Result<()> {
    let pool = POOLS.get(pool)?;
    let location = location.get()?;
    if location.kind != LOCATION_DEVICE {
        return Err(Error::INVALID_VALUE);
    }
    let peer = device_of(location.id)?;
    let may = peer.ordinal == pool.device || peer.peers() >> pool.device & 1 == 1;
    flags.set(if may { READ_WRITE } else { 0 })
}

/// Reads an attribute of a pool.
pub(crate) fn read(state: &PoolState, attribute: i32, value: Out<c_void>) -> Result<()> {
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

/// Sets an attribute of a pool.
pub(crate) fn write(pool: &Pool, attribute: i32, value: Out<c_void>) -> Result<()> {
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

/// Whether a range is managed memory: what prefetches and advice are for.
pub(crate) fn is_managed(address: u64, len: usize) -> Result<()> {
    let fits = memory::find(address).is_some_and(|a| {
        a.kind == memory::Kind::Managed && len > 0 && len as u64 <= a.len - (address - a.start)
    });
    if fits { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

/// Names the streams that may use managed memory: any, none but the host, or one. Without a length, all of it.
pub(crate) fn attach(stream: &Stream, address: u64, len: usize, flags: u32) -> Result<()> {
    stream.context.check()?;
    let managed = memory::start_of(address).filter(|a| a.kind == memory::Kind::Managed);
    let managed = managed.ok_or(Error::INVALID_VALUE)?;
    let whole = len == 0 || len as u64 == managed.len;
    if whole && matches!(flags, 1 | 2 | 4) { Ok(()) } else { Err(Error::INVALID_VALUE) }
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
