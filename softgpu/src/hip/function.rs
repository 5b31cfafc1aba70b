//! Kernels: attributes and occupancy.
//!
//! Where HIP takes the address of a host-side stub, the handle from `hipModuleGetFunction` stands in for it: nothing
//! registers stubs here.

use super::errors::INVALID_DEVICE_FUNCTION;
use super::{Hip, unsigned};
use crate::abi::{Out, entries};
use crate::driver::device::limits;
use crate::driver::module::{FUNCTIONS, Function};
use crate::driver::{Error, Result};
use std::sync::Arc;

const MAX_DYNAMIC_SHARED: i32 = 8;
const CARVE_OUT: i32 = 9;
/// Registers that every kernel is said to use.
const REGISTERS: i32 = 32;

/// The kernel that a stub's address stands for.
pub(super) fn of_stub(stub: u64) -> Result<Arc<Function>> {
    FUNCTIONS.get(stub).map_err(|_| INVALID_DEVICE_FUNCTION)
}

fn attribute(function: &Function, attribute: i32) -> Result<i32> {
    Ok(match attribute {
        0 => function.max_threads() as i32,
        1 => function.kernel.static_shared as i32,
        // Constant and local memory, cache mode.
        2 | 3 | 7 => 0,
        4 => REGISTERS,
        5 | 6 => limits::CAPABILITY.0 * 10 + limits::CAPABILITY.1,
        MAX_DYNAMIC_SHARED => function.max_dynamic_shared() as i32,
        // The driver's choice.
        CARVE_OUT => -1,
        _ => return Err(Error::INVALID_VALUE),
    })
}

fn set_attribute(function: &Function, attribute: i32, value: i32) -> Result<()> {
    function.context.check()?;
    match attribute {
        MAX_DYNAMIC_SHARED => {
            function.set_max_dynamic_shared(u32::try_from(value).map_err(|_| Error::INVALID_VALUE)?)
        }
        // Advice.
        CARVE_OUT if (-1..=100).contains(&value) => Ok(()),
        _ => Err(Error::INVALID_VALUE),
    }
}

/// `hipFuncAttributes`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FuncAttributes {
    binary_version: i32,
    cache_mode: i32,
    constant: usize,
    local: usize,
    max_dynamic_shared: i32,
    max_threads: i32,
    registers: i32,
    carve_out: i32,
    ptx_version: i32,
    shared: usize,
}

impl FuncAttributes {
    fn of(function: &Function) -> Self {
        let version = limits::CAPABILITY.0 * 10 + limits::CAPABILITY.1;
        Self {
            binary_version: version,
            cache_mode: 0,
            constant: 0,
            local: 0,
            max_dynamic_shared: function.max_dynamic_shared() as i32,
            max_threads: function.max_threads() as i32,
            registers: REGISTERS,
            carve_out: -1,
            ptx_version: version,
            shared: function.kernel.static_shared as usize,
        }
    }
}

fn blocks(function: &Function, threads: i32, shared: usize) -> Result<i32> {
    let threads = u32::try_from(threads).ok().filter(|&n| n > 0).ok_or(Error::INVALID_VALUE)?;
    Ok(function.blocks_per_multiprocessor(threads, shared as u64) as i32)
}

/// The grid and the block that keep most threads resident.
fn best(function: &Function, shared: usize, limit: i32) -> Result<(i32, i32)> {
    let most = match unsigned(limit)? as u32 {
        0 => function.max_threads(),
        limit => limit.min(function.max_threads()),
    };
    let resident = |threads| (function.blocks_per_multiprocessor(threads, shared as u64), threads);
    let sizes = (1..=most / limits::WARP).map(|warps| warps * limits::WARP).chain([most]);
    let best = sizes.map(resident).max_by_key(|(blocks, threads)| (blocks * threads, *threads));
    let (blocks, threads) = best.filter(|(blocks, _)| *blocks > 0).ok_or(Error::INVALID_VALUE)?;
    Ok(((blocks * limits::MULTIPROCESSORS) as i32, threads as i32))
}

fn write_best(grid: Out<i32>, block: Out<i32>, best: Result<(i32, i32)>) -> Result<()> {
    grid.check()?;
    block.check()?;
    let best = best?;
    block.set(best.1)?;
    grid.set(best.0)
}

entries! { Hip;
    /// Reads an attribute of a kernel.
    "hipFuncGetAttribute" 50200000 => fn hipFuncGetAttribute(value: Out<i32>, which: i32, function: u64) {
        value.set(attribute(&*FUNCTIONS.get(function)?, which)?)
    }
    /// Reads the attributes of a kernel.
    "hipFuncGetAttributes" 50200000 => fn hipFuncGetAttributes(out: Out<FuncAttributes>, stub: u64) {
        out.set(FuncAttributes::of(&*of_stub(stub)?))
    }
    /// Sets an attribute of a kernel.
    "hipFuncSetAttribute" 50200000 => fn hipFuncSetAttribute(stub: u64, which: i32, value: i32) {
        set_attribute(&*of_stub(stub)?, which, value)
    }
    /// Prefers a split of cache and shared memory; advice.
    "hipFuncSetCacheConfig" 50200000 => fn hipFuncSetCacheConfig(stub: u64, config: i32) {
        let _ = config;
        of_stub(stub).map(drop)
    }
    /// How many blocks a multiprocessor runs at once.
    "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor" 50200000 =>
    fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
        count: Out<i32>, function: u64, threads: i32, shared: usize,
    ) {
        count.set(blocks(&*FUNCTIONS.get(function)?, threads, shared)?)
    }
    /// How many blocks a multiprocessor runs at once.
    "hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags" 50200000 =>
    fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        count: Out<i32>, function: u64, threads: i32, shared: usize, flags: u32,
    ) {
        if flags > 1 {
            return Err(Error::INVALID_VALUE);
        }
        count.set(blocks(&*FUNCTIONS.get(function)?, threads, shared)?)
    }
    /// The block size that keeps most threads resident.
    "hipModuleOccupancyMaxPotentialBlockSize" 50200000 => fn hipModuleOccupancyMaxPotentialBlockSize(
        grid: Out<i32>, block: Out<i32>, function: u64, shared: usize, limit: i32,
    ) {
        write_best(grid, block, best(&*FUNCTIONS.get(function)?, shared, limit))
    }
    /// How many blocks a multiprocessor runs at once.
    "hipOccupancyMaxActiveBlocksPerMultiprocessor" 50200000 => fn hipOccupancyMaxActiveBlocksPerMultiprocessor(
        count: Out<i32>, stub: u64, threads: i32, shared: usize,
    ) {
        count.set(blocks(&*of_stub(stub)?, threads, shared)?)
    }
    /// The block size that keeps most threads resident.
    "hipOccupancyMaxPotentialBlockSize" 50200000 => fn hipOccupancyMaxPotentialBlockSize(
        grid: Out<i32>, block: Out<i32>, stub: u64, shared: usize, limit: i32,
    ) {
        write_best(grid, block, best(&*of_stub(stub)?, shared, limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_that_of_the_headers() {
        assert_eq!(size_of::<FuncAttributes>(), 56);
    }
}
