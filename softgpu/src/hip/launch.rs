//! Launches.

use super::function::of_stub;
use super::{Hip, stream_of};
use crate::abi::{In, entries};
use crate::driver::device::limits;
use crate::driver::launch::{Launch, Params};
use crate::driver::module::{FUNCTIONS, Function};
use crate::driver::op::Op;
use crate::driver::{Error, Result};
use std::sync::Arc;

/// Pointers to the parameters, as C passes them.
pub(super) type KernelParams = *const *const u8;
/// The other way to pass them: a list of tags and values. The tags are not CUDA's.
pub(super) type Extra = *const u64;

const EXTRA_BUFFER: u64 = 1;
const EXTRA_SIZE: u64 = 2;
const EXTRA_END: u64 = 3;

/// `dim3`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Dim3 {
    x: u32,
    y: u32,
    z: u32,
}

impl From<Dim3> for [u32; 3] {
    fn from(dim: Dim3) -> Self {
        [dim.x, dim.y, dim.z]
    }
}

impl From<[u32; 3]> for Dim3 {
    fn from([x, y, z]: [u32; 3]) -> Self {
        Self { x, y, z }
    }
}

/// Checks a launch and copies its parameters.
pub(super) fn prepare(
    function: &Arc<Function>,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    pointers: KernelParams,
    extra: Extra,
) -> Result<Launch> {
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
    unsafe { Launch::new(function, grid, block, shared, params) }
}

fn read_extra(extra: Extra) -> Result<Vec<u8>> {
    // Two pairs are all there is; a list with more tags than that is none.
    const MOST: usize = 4;
    let (mut buffer, mut size) = (0, None);
    for pair in 0..MOST {
        // SAFETY: the caller of the entry point promises a list ended by `EXTRA_END`, which was not met yet.
        let tag = unsafe { extra.add(2 * pair).read_unaligned() };
        if tag == EXTRA_END {
            return In::<u8>::at(buffer).list(size.ok_or(Error::INVALID_VALUE)?);
        }
        // Nothing follows a tag that is none.
        if !matches!(tag, EXTRA_BUFFER | EXTRA_SIZE) {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: as above: a tag is followed by its value.
        let value = unsafe { extra.add(2 * pair + 1).read_unaligned() };
        if tag == EXTRA_BUFFER {
            buffer = value;
            continue;
        }
        let bytes = In::<usize>::at(value).get()?;
        size = Some(Some(bytes).filter(|&n| n <= limits::PARAMETERS).ok_or(Error::INVALID_VALUE)?);
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

entries! { Hip;
    /// Launches a kernel.
    "hipModuleLaunchKernel" 50200000 => fn hipModuleLaunchKernel(
        function: u64, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared: u32, stream: u64, params: KernelParams, extra: Extra,
    ) {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        launch(prepare(&FUNCTIONS.get(function)?, grid, block, shared, params, extra)?, stream)
    }
    /// Launches a kernel by its stub.
    "hipLaunchKernel" 50200000 => fn hipLaunchKernel(
        stub: u64, grid: Dim3, block: Dim3, params: KernelParams, shared: usize, stream: u64,
    ) {
        let shared = u32::try_from(shared).map_err(|_| Error::INVALID_VALUE)?;
        let none = std::ptr::null();
        launch(prepare(&of_stub(stub)?, grid.into(), block.into(), shared, params, none)?, stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameter_lists_end_with_their_own_tag() {
        let (bytes, size) = ([1u8, 2, 3], 3usize);
        let (buffer, size) = (bytes.as_ptr() as u64, &raw const size as u64);
        let read = |list: &[u64]| read_extra(list.as_ptr());
        assert_eq!(read(&[EXTRA_BUFFER, buffer, EXTRA_SIZE, size, EXTRA_END]), Ok(vec![1, 2, 3]));
        assert_eq!(read(&[EXTRA_SIZE, size, EXTRA_BUFFER, buffer, EXTRA_END]), Ok(vec![1, 2, 3]));
        assert_eq!(read(&[EXTRA_BUFFER, buffer, EXTRA_END]), Err(Error::INVALID_VALUE));
        assert_eq!(read(&[EXTRA_SIZE, size, EXTRA_END]), Err(Error::INVALID_VALUE));
        assert_eq!(read(&[EXTRA_SIZE, 0, EXTRA_END]), Err(Error::INVALID_VALUE));
        assert_eq!(read(&[0]), Err(Error::INVALID_VALUE));
    }
}
