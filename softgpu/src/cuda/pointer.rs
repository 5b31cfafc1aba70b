//! What the driver knows of an address.

use super::Cuda;
use crate::abi::{In, Out, entries};
use crate::driver::memory::{self, Allocation, Kind};
use crate::driver::{Error, Result, context};
use std::ffi::c_void;
use std::sync::Arc;

const MEMORYTYPE_HOST: u32 = 1;
const MEMORYTYPE_DEVICE: u32 = 2;

fn write(allocation: &Arc<Allocation>, address: u64, attribute: i32, data: Out<c_void>) -> Result<()> {
    match attribute {
        1 => data.cast::<u64>().set(allocation.context),
        2 => data.cast::<u32>().set(match allocation.kind {
            Kind::Pinned | Kind::Registered => MEMORYTYPE_HOST,
            Kind::Device | Kind::Global | Kind::Managed | Kind::Mapped => MEMORYTYPE_DEVICE,
        }),
        3 => data.cast::<u64>().set(address),
        4 if allocation.kind.is_host() => data.cast::<u64>().set(address),
        6 => data.cast::<u32>().set(0),
        7 => data.cast::<u64>().set(allocation.id),
        8 => data.cast::<u32>().set(u32::from(allocation.kind == Kind::Managed)),
        9 => data.cast::<i32>().set(allocation.device as i32),
        10 | 15 => data.cast::<u32>().set(0),
        11 => data.cast::<u64>().set(allocation.start),
        12 => data.cast::<usize>().set(allocation.len as usize),
        13 => data.cast::<u32>().set(1),
        14 => data.cast::<u64>().set(0),
        16 => data.cast::<u32>().set(if allocation.writable { 3 } else { 1 }),
        17 => data.cast::<u64>().set(allocation.pool.unwrap_or(0)),
        _ => Err(Error::INVALID_VALUE),
    }
}

entries! { Cuda;
    /// One attribute of an address.
    "cuPointerGetAttribute" 4000 => fn cuPointerGetAttribute(data: Out<c_void>, attribute: i32, address: u64) {
        context::current()?;
        let allocation = memory::find(address).ok_or(Error::INVALID_VALUE)?;
        write(&allocation, address, attribute, data)
    }
    /// Several attributes of an address; zeros where the address is unknown.
    "cuPointerGetAttributes" 7000 => fn cuPointerGetAttributes(
        count: u32, attributes: In<i32>, data: In<Out<c_void>>, address: u64,
    ) {
        let attributes = attributes.list(count as usize)?;
        let places = data.list(count as usize)?;
        let allocation = memory::find(address);
        for (attribute, place) in attributes.into_iter().zip(places) {
            let known = allocation.as_ref().map(|a| write(a, address, attribute, place));
            match known {
                Some(Ok(())) => {}
                _ if matches!(attribute, 1 | 3 | 4 | 7 | 11 | 12 | 14 | 17) => place.cast::<u64>().set(0)?,
                _ if attribute == 9 => place.cast::<i32>().set(-2)?,
                _ if matches!(attribute, 2 | 6 | 8 | 10 | 13 | 15 | 16) => place.cast::<u32>().set(0)?,
                _ => return Err(Error::INVALID_VALUE),
            }
        }
        Ok(())
    }
}
