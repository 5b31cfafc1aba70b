//! Launches.

use super::{Cuda, stream_of};
use crate::abi::{In, entries};
use crate::driver::device::limits;
use crate::driver::launch::{Launch, Params};
use crate::driver::module::FUNCTIONS;
use crate::driver::op::Op;
use crate::driver::{Error, Result};
use std::sync::Arc;

/// Pointers to the parameters, as C passes them.
pub(super) type KernelParams = *const *const u8;
/// The other way to pass them: a list of tags and values, ended by a null tag.
pub(super) type Extra = *const u64;

const EXTRA_END: u64 = 0;
const EXTRA_BUFFER: u64 = 1;
const EXTRA_SIZE: u64 = 2;

/// Checks a launch and copies its parameters.
pub(super) fn prepare(
    function: u64,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    pointers: KernelParams,
    extra: Extra,
) -> Result<Launch> {
    let function = FUNCTIONS.get(function)?;
    function.context.check()?;
    let packed;
    let params = match (pointers.is_null(), extra.is_null()) {
        (false, false) => return Err(Error::INVALID_VALUE),
        (true, false) => {
            packed = read_extra(extra)?;
            Params::Packed(&packed)
        }
        _ => Params::Pointers(pointers),
    };
    // SAFETY: the caller of the entry point promises a pointer to a value of the declared size for each parameter.
    unsafe { Launch::new(&function, grid, block, shared, params) }
}

fn read_extra(extra: Extra) -> Result<Vec<u8>> {
    // Two pairs are all there is; a list with more tags than that is none.
    const MOST: usize = 4;
    let (mut buffer, mut size) = (0, None);
    for pair in 0..MOST {
        // SAFETY: the caller of the entry point promises a list ended by `EXTRA_END`, which was not met yet.
        let tag = unsafe { extra.add(2 * pair).read_unaligned() };
        if tag == EXTRA_END {
            let size = size.ok_or(Error::INVALID_VALUE)?;
            return In::<u8>::at(buffer).list(size);
        }
        // SAFETY: as above: a tag is followed by its value.
        let value = unsafe { extra.add(2 * pair + 1).read_unaligned() };
        match tag {
            EXTRA_BUFFER => buffer = value,
            EXTRA_SIZE => {
                let bytes = In::<usize>::at(value).get()?;
                size = Some(Some(bytes).filter(|&n| n <= limits::PARAMETERS).ok_or(Error::INVALID_VALUE)?);
            }
            _ => return Err(Error::INVALID_VALUE),
        }
    }
    Err(Error::INVALID_VALUE)
}

fn launch(launch: Launch, stream: u64) -> Result<()> {
    let stream = stream_of(stream)?;
    if stream.context.handle != launch.function().context.handle {
        return Err(Error::INVALID_HANDLE);
    }
    stream.enqueue([Op::Launch(Arc::new(launch))]).map(drop)
}

/// `CUlaunchConfig`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LaunchConfig {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: u64,
    attributes: In<LaunchAttribute>,
    count: u32,
}

/// `CUlaunchAttribute`
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
pub struct LaunchAttribute {
    id: i32,
    pad: [u8; 4],
    value: [u8; 64],
}

/// Attributes that change what a kernel may do, and so cannot be ignored: cooperative launch and clusters.
const UNSUPPORTED_ATTRIBUTES: [i32; 2] = [2, 4];

entries! { Cuda;
    /// Launches a kernel.
    "cuLaunchKernel" 4000 => fn cuLaunchKernel(
        function: u64, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared: u32, stream: u64, params: KernelParams, extra: Extra,
    ) {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        launch(prepare(function, grid, block, shared, params, extra)?, stream)
    }
    /// Launches a kernel with attributes; those that are advice are ignored.
    "cuLaunchKernelEx" 11060 => fn cuLaunchKernelEx(
        config: In<LaunchConfig>, function: u64, params: KernelParams, extra: Extra,
    ) {
        let config = config.get()?;
        let attributes = config.attributes.list(config.count as usize)?;
        if attributes.iter().any(|attribute| UNSUPPORTED_ATTRIBUTES.contains(&attribute.id)) {
            return Err(Error::NOT_SUPPORTED);
        }
        launch(prepare(function, config.grid, config.block, config.shared, params, extra)?, config.stream)
    }
}
