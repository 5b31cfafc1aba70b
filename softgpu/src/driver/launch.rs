//! Kernel launches.

use super::context::Context;
use super::device::limits;
use super::error::{Error, Result};
use super::memory::{self, View};
use super::module::Function;
use super::watcher::Watcher;
use crate::check::race::Task;
use crate::exec::{self, Fault};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

/// A launch, checked and with its parameters copied.
#[derive(Debug)]
pub struct Launch {
    function: Arc<Function>,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    params: Vec<u8>,
    /// Where each parameter's value lies in `params`; made when a program asks for it.
    pointers: OnceLock<Vec<usize>>,
}

/// Where the parameters of a launch are.
#[derive(Clone, Copy, Debug)]
pub enum Params<'a> {
    /// A pointer to each value, in order. Null if the kernel takes none.
    Pointers(*const *const u8),
    /// All values, laid out as the kernel declares them.
    Packed(&'a [u8]),
}

impl Launch {
    /// Checks a launch.
    ///
    /// # Safety
    /// `Params::Pointers` must point to as many pointers as the kernel has parameters, each to a value of the
    /// declared size.
    pub unsafe fn new(
        function: &Arc<Function>,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        params: Params<'_>,
    ) -> Result<Self> {
        let kernel = &function.kernel;
        let within =
            |value: [u32; 3], limit: [u32; 3]| value.iter().zip(limit).all(|(v, l)| (1..=l).contains(v));
        if !within(grid, limits::GRID) || !within(block, limits::BLOCK) {
            return Err(Error::INVALID_VALUE);
        }
        let threads = block.iter().map(|&n| u64::from(n)).product::<u64>();
        if threads > u64::from(limits::THREADS_PER_BLOCK) {
            return Err(Error::INVALID_VALUE);
        }
        if threads > u64::from(function.max_threads()) {
            return Err(Error::LAUNCH_OUT_OF_RESOURCES);
        }
        if shared > function.max_dynamic_shared() {
            return Err(Error::INVALID_VALUE);
        }
        let size = function.param_bytes();
        let params = match params {
            Params::Packed(bytes) => bytes.get(..size).ok_or(Error::INVALID_VALUE)?.to_vec(),
            Params::Pointers(_) if kernel.params.is_empty() => Vec::new(),
            Params::Pointers(pointers) if pointers.is_null() => return Err(Error::INVALID_VALUE),
            Params::Pointers(pointers) => {
                let mut bytes = vec![0; size];
                for (index, param) in kernel.params.iter().enumerate() {
                    // SAFETY: the caller promised as many pointers as there are parameters.
                    let value = unsafe { pointers.add(index).read_unaligned() };
                    if value.is_null() {
                        return Err(Error::INVALID_VALUE);
                    }
                    let place = &mut bytes[param.offset..param.offset + param.size];
                    // SAFETY: the caller promised `param.size` bytes there.
                    unsafe { value.copy_to_nonoverlapping(place.as_mut_ptr(), param.size) };
                }
                bytes
            }
        };
        Ok(Self { function: function.clone(), grid, block, shared, params, pointers: OnceLock::new() })
    }

    /// The kernel.
    pub fn function(&self) -> &Arc<Function> {
        &self.function
    }

    /// Whether all blocks could be resident at once.
    pub fn is_resident(&self) -> bool {
        let product = |extents: [u32; 3]| extents.iter().map(|&n| u64::from(n)).product::<u64>();
        let each =
            self.function.blocks_per_multiprocessor(product(self.block) as u32, u64::from(self.shared));
        product(self.grid) <= u64::from(each * limits::MULTIPROCESSORS)
    }

    /// Extents of the grid.
    pub fn grid(&self) -> [u32; 3] {
        self.grid
    }

    /// Extents of a block.
    pub fn block(&self) -> [u32; 3] {
        self.block
    }

    /// Bytes of dynamic shared memory.
    pub fn shared(&self) -> u32 {
        self.shared
    }

    /// A pointer to each parameter's value, valid as long as the launch; null if the kernel takes none.
    pub fn param_pointers(&self) -> *const *const u8 {
        let params = &self.function.kernel.params;
        if params.is_empty() {
            return std::ptr::null();
        }
        let base = self.params.as_ptr() as usize;
        let pointers = self.pointers.get_or_init(|| params.iter().map(|param| base + param.offset).collect());
        pointers.as_ptr().cast()
    }

    /// Runs on the stream's thread.
    pub(super) fn run(&self, context: &Context, task: Option<&Arc<Task>>) {
        let view = View::new(context.device);
        let watcher = Watcher::new();
        let launch = exec::Launch {
            kernel: &self.function.kernel,
            grid: self.grid,
            block: self.block,
            dynamic_shared: self.shared,
            params: &self.params,
            globals: &self.function.globals,
            memory: &view,
            watch: watcher.as_ref().map(|watcher| watcher as &dyn exec::Watch),
            stop: &context.stop,
        };
        let ran = catch_unwind(AssertUnwindSafe(|| exec::run(&launch)));
        if let (Some(watcher), Some(task)) = (&watcher, task) {
            watcher.finish(task);
        }
        // A defect of the interpreter must not take the stream's thread with it.
        match ran {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => context.fail(Error::of_fault(&fault), || explain(&fault)),
            Err(_) => {
                let text = || format!("kernel `{}`: the interpreter failed", self.function.kernel.name);
                context.fail(Error::LAUNCH_FAILED, text);
            }
        }
    }
}

fn explain(fault: &Fault) -> String {
    match fault {
        Fault::IllegalAddress { access, .. } => format!("{fault}: {}", memory::describe(access.address)),
        _ => fault.to_string(),
    }
}
