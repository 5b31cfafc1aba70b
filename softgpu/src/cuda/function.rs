//! Kernels: attributes and occupancy.

use super::Cuda;
use crate::abi::{Out, entries};
use crate::driver::device::limits;
use crate::driver::module::{FUNCTIONS, Function};
use crate::driver::{Error, Result};
use std::ffi::c_char;

/// `CUoccupancyB2DSize`
type SharedOfBlock = Option<unsafe extern "C" fn(i32) -> usize>;

const MAX_DYNAMIC_SHARED: i32 = 8;

fn attribute(function: &Function, attribute: i32) -> Result<i32> {
    let capability = limits::CAPABILITY.0 * 10 + limits::CAPABILITY.1;
    Ok(match attribute {
        0 => function.max_threads() as i32,
        1 => function.kernel.static_shared as i32,
        // Constant and local memory, cache mode, clusters.
        2 | 3 | 7 | 10..=15 => 0,
        4 => 32,
        5 | 6 => capability,
        MAX_DYNAMIC_SHARED => function.max_dynamic_shared() as i32,
        // The driver's choice.
        9 => -1,
        _ => return Err(Error::INVALID_VALUE),
    })
}

fn blocks(out: Out<i32>, function: u64, threads: i32, shared: usize) -> Result<()> {
    let function = FUNCTIONS.get(function)?;
    let threads = u32::try_from(threads).ok().filter(|&n| n > 0).ok_or(Error::INVALID_VALUE)?;
    out.set(function.blocks_per_multiprocessor(threads, shared as u64) as i32)
}

fn best_block(
    grid: Out<i32>,
    block: Out<i32>,
    function: u64,
    shared_of: SharedOfBlock,
    shared: usize,
    limit: i32,
) -> Result<()> {
    grid.check()?;
    block.check()?;
    let function = FUNCTIONS.get(function)?;
    let most = match u32::try_from(limit).map_err(|_| Error::INVALID_VALUE)? {
        0 => function.max_threads(),
        limit => limit.min(function.max_threads()),
    };
    let resident = |threads: u32| {
        // SAFETY: the caller of the entry point promises that the function may be called with any block size.
        let shared = shared_of.map_or(shared, |shared_of| unsafe { shared_of(threads as i32) });
        (function.blocks_per_multiprocessor(threads, shared as u64), threads)
    };
    let sizes = (1..=most / limits::WARP).map(|warps| warps * limits::WARP).chain([most]);
    let best = sizes.map(resident).max_by_key(|(blocks, threads)| (blocks * threads, *threads));
    let (blocks, threads) = best.filter(|(blocks, _)| *blocks > 0).ok_or(Error::INVALID_VALUE)?;
    block.set(threads as i32)?;
    grid.set((blocks * limits::MULTIPROCESSORS) as i32)
}

entries! { Cuda;
    /// Reads an attribute of a kernel.
    "cuFuncGetAttribute" 2020 => fn cuFuncGetAttribute(value: Out<i32>, which: i32, function: u64) {
        value.set(attribute(&*FUNCTIONS.get(function)?, which)?)
    }
    /// Sets an attribute of a kernel.
    "cuFuncSetAttribute" 9000 => fn cuFuncSetAttribute(function: u64, which: i32, value: i32) {
        let function = FUNCTIONS.get(function)?;
        function.context.check()?;
        match which {
            MAX_DYNAMIC_SHARED => {
                function.set_max_dynamic_shared(u32::try_from(value).map_err(|_| Error::INVALID_VALUE)?)
            }
            // Carve-out: advice.
            9 if (-1..=100).contains(&value) => Ok(()),
            _ => Err(Error::INVALID_VALUE),
        }
    }
    /// Prefers a split of cache and shared memory; advice.
    "cuFuncSetCacheConfig" 3000 => fn cuFuncSetCacheConfig(function: u64, config: i32) {
        let _ = config;
        FUNCTIONS.get(function).map(drop)
    }
    /// A kernel's name; good as long as its module.
    "cuFuncGetName" 12030 => fn cuFuncGetName(name: Out<*const c_char>, function: u64) {
        name.set(FUNCTIONS.get(function)?.name.as_ptr())
    }
    /// A kernel's module.
    "cuFuncGetModule" 11000 => fn cuFuncGetModule(module: Out<u64>, function: u64) {
        module.set(FUNCTIONS.get(function)?.module)
    }
    /// Where a parameter lies, and how large it is.
    "cuFuncGetParamInfo" 12040 => fn cuFuncGetParamInfo(
        function: u64, index: usize, offset: Out<usize>, size: Out<usize>,
    ) {
        offset.check()?;
        let function = FUNCTIONS.get(function)?;
        let param = function.kernel.params.get(index).ok_or(Error::INVALID_VALUE)?;
        offset.set(param.offset)?;
        size.set_if(param.size);
        Ok(())
    }
    /// How many blocks a multiprocessor runs at once.
    "cuOccupancyMaxActiveBlocksPerMultiprocessor" 6050 => fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        count: Out<i32>, function: u64, threads: i32, shared: usize,
    ) {
        blocks(count, function, threads, shared)
    }
    /// How many blocks a multiprocessor runs at once.
    "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags" 7000 =>
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        count: Out<i32>, function: u64, threads: i32, shared: usize, flags: u32,
    ) {
        if flags > 1 {
            return Err(Error::INVALID_VALUE);
        }
        blocks(count, function, threads, shared)
    }
    /// The block size that keeps most threads resident.
    "cuOccupancyMaxPotentialBlockSize" 6050 => fn cuOccupancyMaxPotentialBlockSize(
        grid: Out<i32>, block: Out<i32>, function: u64, shared_of: SharedOfBlock, shared: usize, limit: i32,
    ) {
        best_block(grid, block, function, shared_of, shared, limit)
    }
    /// The block size that keeps most threads resident.
    "cuOccupancyMaxPotentialBlockSizeWithFlags" 7000 => fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: Out<i32>, block: Out<i32>, function: u64, shared_of: SharedOfBlock, shared: usize, limit: i32,
        flags: u32,
    ) {
        if flags > 1 {
            return Err(Error::INVALID_VALUE);
        }
        best_block(grid, block, function, shared_of, shared, limit)
    }
}
