//! Runs a grid of PTX code on the CPU. What the driver and the interpreter know of each other stands here.

mod access;
mod across;
pub(crate) mod alu;
mod block;
mod cells;
pub(crate) mod code;
mod fault;
pub(crate) mod half;
mod memory;
pub(crate) mod regs;
pub(crate) mod space;
mod step;
mod warp;

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

/// One memory instruction of a warp that went well.
#[derive(Clone, Copy, Debug)]
pub struct Accesses<'a> {
    /// The device address of each lane.
    pub addresses: &'a [u64; 32],
    /// The lanes that took part.
    pub mask: u32,
    /// Bytes per lane.
    pub bytes: u32,
    /// What they did.
    pub kind: AccessKind,
}

/// Sees what a kernel does to the device's memory.
pub trait Watch: Sync {
    /// Called after each instruction; `place` tells where a lane stands.
    fn touched(&self, accesses: Accesses<'_>, place: &dyn Fn(u32) -> Place);
}

/// One allocation: device addresses `start..start + len`, and where its bytes are in this process.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// First device address.
    pub start: u64,
    /// Length in bytes.
    pub len: u64,
    /// Host address of the first byte; valid for reads and writes of `len` bytes, and congruent to `start` modulo 8,
    /// so that what is aligned on the device is aligned here.
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
    /// Is told of every access to the device's memory.
    pub watch: Option<&'a dyn Watch>,
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

/// The largest block, in threads.
const MAX_THREADS: u64 = 1024;
/// The most shared memory a launch may ask for; drivers set lower limits.
const MAX_SHARED: u64 = 16 << 20;

/// Runs a grid to its end on the calling thread. An empty grid does nothing.
///
/// Blocks run one after another, in order of their index, so a block cannot wait for one that comes after it.
pub fn run(launch: &Launch<'_>) -> Result<(), Fault> {
    let code = &launch.kernel.code;
    check(launch)?;
    if launch.grid.contains(&0) {
        return Ok(());
    }
    let mut machine = block::Machine::new(launch, code);
    for z in 0..launch.grid[2] {
        for y in 0..launch.grid[1] {
            for x in 0..launch.grid[0] {
                machine.run([x, y, z])?;
            }
        }
    }
    Ok(())
}

fn check(launch: &Launch<'_>) -> Result<(), Fault> {
    let (kernel, code) = (launch.kernel, &launch.kernel.code);
    let refuse = |reason: String| Err(Fault::InvalidLaunch { kernel: kernel.name.clone(), reason });
    let threads = launch.block.iter().try_fold(1u64, |product, n| product.checked_mul(u64::from(*n)));
    let threads = threads.unwrap_or(u64::MAX);
    if !(1..=MAX_THREADS).contains(&threads) {
        return refuse(format!("a block has 1 to {MAX_THREADS} threads, not {:?}", launch.block));
    }
    if let Some(max) = kernel.max_threads.filter(|max| threads > u64::from(*max)) {
        return refuse(format!("compiled for at most {max} threads in a block, launched with {threads}"));
    }
    if launch.params.len() < code.param_bytes {
        return refuse(format!(
            "takes {} bytes of parameters, launched with {}",
            code.param_bytes,
            launch.params.len()
        ));
    }
    if launch.globals.len() != code.globals {
        return refuse(format!(
            "module has {} variables, launched with addresses of {}",
            code.globals,
            launch.globals.len()
        ));
    }
    let shared = block::dynamic_start(launch, code) + u64::from(launch.dynamic_shared);
    if shared > MAX_SHARED {
        return refuse(format!("needs {shared} bytes of shared memory, more than {MAX_SHARED}"));
    }
    Ok(())
}
