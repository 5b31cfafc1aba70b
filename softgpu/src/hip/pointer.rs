//! What the driver knows of an address.

use super::{Hip, current};
use crate::abi::{Out, entries};
use crate::driver::config::config;
use crate::driver::memory::{self, Allocation, Kind};
use crate::driver::{Error, Result};
use std::ffi::c_void;

/// HIP 6 renumbered the kinds of memory.
const RENUMBERED: i32 = 60_000_000;

/// `hipMemoryType`, in the numbering of a version. Unknown memory had no number at first.
fn memory_type(kind: Option<Kind>, version: i32) -> u32 {
    let [unknown, host, device, managed] = if version < RENUMBERED { [0, 0, 1, 4] } else { [0, 1, 2, 3] };
    match kind {
        None => unknown,
        Some(Kind::Pinned | Kind::Registered) => host,
        Some(Kind::Device | Kind::Global | Kind::Mapped) => device,
        Some(Kind::Managed) => managed,
    }
}

/// `hipPointerAttribute_t`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PointerAttributes {
    kind: u32,
    device: i32,
    device_pointer: u64,
    host_pointer: u64,
    managed: i32,
    flags: u32,
}

/// `hipInvalidDeviceId`
const NO_DEVICE: i32 = -2;

impl PointerAttributes {
    fn of(address: u64) -> Result<Self> {
        let version = config().hip_version;
        let Some(allocation) = memory::find(address) else {
            // Up to HIP 5 an address that nobody allocated was an error.
            if address == 0 || version < RENUMBERED {
                return Err(Error::INVALID_VALUE);
            }
            let kind = memory_type(None, version);
            return Ok(Self {
                kind,
                device: NO_DEVICE,
                device_pointer: 0,
                host_pointer: 0,
                managed: 0,
                flags: 0,
            });
        };
        Ok(Self {
            kind: memory_type(Some(allocation.kind), version),
            device: allocation.device as i32,
            device_pointer: address,
            host_pointer: if allocation.kind.is_host() { address } else { 0 },
            managed: i32::from(allocation.kind == Kind::Managed),
            flags: allocation.flags,
        })
    }
}

fn write(allocation: &Allocation, address: u64, attribute: i32, data: Out<c_void>) -> Result<()> {
    match attribute {
        1 => data.cast::<u64>().set(allocation.context),
        2 => data.cast::<u32>().set(memory_type(Some(allocation.kind), config().hip_version)),
        3 => data.cast::<u64>().set(address),
        4 if allocation.kind.is_host() => data.cast::<u64>().set(address),
        6 | 10 | 15 => data.cast::<u32>().set(0),
        7 => data.cast::<u64>().set(allocation.id),
        8 => data.cast::<u32>().set(u32::from(allocation.kind == Kind::Managed)),
        9 => data.cast::<i32>().set(allocation.device as i32),
        11 => data.cast::<u64>().set(allocation.start),
        12 => data.cast::<usize>().set(allocation.len as usize),
        13 => data.cast::<u32>().set(1),
        14 => data.cast::<u64>().set(0),
        16 => data.cast::<u32>().set(if allocation.writable { 3 } else { 1 }),
        17 => data.cast::<u64>().set(allocation.pool.unwrap_or(0)),
        _ => Err(Error::INVALID_VALUE),
    }
}

entries! { Hip;
    /// What is known of an address.
    "hipPointerGetAttributes" 50200000 => fn hipPointerGetAttributes(
        attributes: Out<PointerAttributes>, address: u64,
    ) {
        current::context()?;
        attributes.set(PointerAttributes::of(address)?)
    }
    /// One attribute of an address.
    "hipPointerGetAttribute" 50200000 => fn hipPointerGetAttribute(
        data: Out<c_void>, attribute: i32, address: u64,
    ) {
        current::context()?;
        write(&*memory::find(address).ok_or(Error::INVALID_VALUE)?, address, attribute, data)
    }
    /// Start and length of the allocation that holds an address.
    "hipMemGetAddressRange" 50200000 => fn hipMemGetAddressRange(
        start: Out<u64>, len: Out<usize>, address: u64,
    ) {
        current::context()?;
        let found = memory::find(address).ok_or(Error::NOT_FOUND)?;
        start.set_if(found.start);
        len.set_if(found.len as usize);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_memory_are_numbered_as_the_version_says() {
        assert_eq!(size_of::<PointerAttributes>(), 32);
        assert_eq!(memory_type(Some(Kind::Device), 50_721_151), 1);
        assert_eq!(memory_type(Some(Kind::Device), 60_342_134), 2);
        assert_eq!(memory_type(Some(Kind::Managed), 70_125_424), 3);
    }
}
