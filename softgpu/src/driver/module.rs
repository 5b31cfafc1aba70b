//! Modules and their functions and globals.

use super::capture;
use super::context::Context;
use super::device::limits;
use super::error::{Error, Result};
use super::handle::{Handle, Registry};
use super::memory::{self, Allocation, Kind, Request};
use crate::ptx;
use std::ffi::{CStr, CString, c_char};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// Every loaded module.
pub static MODULES: Registry<Module> = Registry::new("modules");
/// Every function handed out.
pub static FUNCTIONS: Registry<Function> = Registry::new("functions");

/// A loaded module.
#[derive(Debug)]
pub struct Module {
    /// Its handle.
    pub handle: Handle,
    /// Its context.
    pub context: Arc<Context>,
    globals: Vec<(String, Arc<Allocation>)>,
    functions: OnceLock<Vec<Arc<Function>>>,
}

/// A kernel of a loaded module.
#[derive(Debug)]
pub struct Function {
    /// Its handle.
    pub handle: Handle,
    /// Its module's handle.
    pub module: Handle,
    /// Its context.
    pub context: Arc<Context>,
    /// Its code.
    pub kernel: Arc<ptx::Kernel>,
    /// Its name, for ABIs that hand it out.
    pub name: CString,
    pub(super) globals: Arc<[u64]>,
    max_dynamic_shared: AtomicU32,
}

/// Why an image was not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// The code.
    pub error: Error,
    /// What the compiler has to say.
    pub log: String,
}

impl From<Error> for LoadError {
    fn from(error: Error) -> Self {
        Self { error, log: String::new() }
    }
}

/// Reads a module image whose length is unknown, as ABIs pass it: PTX text, ended by a zero byte.
///
/// # Safety
/// `image` must be null, or PTX text ended by a zero byte, or begin as an image of a known binary format.
pub unsafe fn image_text<'a>(image: *const u8) -> std::result::Result<&'a str, LoadError> {
    const BINARY: [(&[u8], &str); 5] = [
        (b"\x7fELF", "an ELF image (cubin or AMD code object)"),
        (b"\x50\xed\x55\xba", "a fat binary"),
        (b"\xb1\x43\x62\x46", "a fat binary wrapper"),
        (b"__CLANG_OFFLOAD_BUNDLE__", "a clang offload bundle (AMD code objects)"),
        (b"CCOB", "a compressed offload bundle (AMD code objects)"),
    ];
    if image.is_null() {
        return Err(Error::INVALID_VALUE.into());
    }
    for (magic, what) in BINARY {
        // SAFETY: stops at the first byte that differs, so never reads past a zero byte or a known beginning.
        if magic.iter().enumerate().all(|(i, byte)| unsafe { image.add(i).read() } == *byte) {
            let log = format!("this is {what}; the software GPU runs PTX text only: compile to PTX");
            return Err(LoadError { error: Error::NO_BINARY_FOR_GPU, log });
        }
    }
    // SAFETY: the caller promised a text ended by a zero byte.
    let text = unsafe { CStr::from_ptr(image.cast::<c_char>()) };
    let looks_like_ptx = matches!(text.to_bytes().trim_ascii_start().first(), Some(b'.' | b'/'));
    match text.to_str() {
        Ok(text) if looks_like_ptx => Ok(text),
        _ => Err(LoadError {
            error: Error::INVALID_IMAGE,
            log: "this is no PTX text: it must begin with a directive or a comment, in UTF-8".into(),
        }),
    }
}

impl Module {
    /// Translates PTX text and loads it.
    pub fn load(context: &Arc<Context>, text: &str) -> std::result::Result<Arc<Self>, LoadError> {
        context.check()?;
        capture::unsafe_call()?;
        let code = ptx::parse(text)
            .map_err(|error| LoadError { error: Error::INVALID_PTX, log: format!("ptx error: {error}") })?;
        let globals = place_globals(context, &code.globals)?;
        let addresses: Arc<[u64]> = globals.iter().map(|(_, allocation)| allocation.start).collect();
        let module = MODULES.insert_with(|handle| Self {
            handle,
            context: context.clone(),
            globals,
            functions: OnceLock::new(),
        });
        let functions = code.kernels.iter().map(|kernel| {
            FUNCTIONS.insert_with(|handle| Function {
                handle,
                module: module.handle,
                context: context.clone(),
                kernel: kernel.clone(),
                name: CString::new(kernel.name.as_str()).unwrap_or_default(),
                globals: addresses.clone(),
                max_dynamic_shared: AtomicU32::new(limits::SHARED.saturating_sub(kernel.static_shared)),
            })
        });
        let functions = functions.collect();
        module.functions.get_or_init(|| functions);
        Ok(module)
    }

    /// Its kernels.
    pub fn functions(&self) -> &[Arc<Function>] {
        self.functions.get().map_or(&[], Vec::as_slice)
    }

    /// The kernel of a name.
    pub fn function(&self, name: &str) -> Result<Arc<Function>> {
        self.functions().iter().find(|f| f.kernel.name == name).cloned().ok_or(Error::NOT_FOUND)
    }

    /// Address and size of the global of a name.
    pub fn global(&self, name: &str) -> Result<(u64, u64)> {
        let found = self.globals.iter().find(|(global, _)| global == name);
        found.map(|(_, allocation)| (allocation.start, allocation.len)).ok_or(Error::NOT_FOUND)
    }

    /// Unloads a module. Waits for the context's work, which may use its globals.
    pub fn unload(handle: Handle) -> Result<()> {
        let module = MODULES.remove(handle)?;
        FUNCTIONS.remove_where(|function| function.module == handle);
        if !module.globals.is_empty() {
            module.context.quiesce();
        }
        module.globals.iter().for_each(|(_, allocation)| memory::release(allocation));
        module.context.check()
    }
}

fn place_globals(context: &Context, globals: &[ptx::Global]) -> Result<Vec<(String, Arc<Allocation>)>> {
    let mut placed: Vec<(String, Arc<Allocation>)> = Vec::with_capacity(globals.len());
    for global in globals {
        let request = Request {
            // A variable without a size still has an address.
            len: global.size.max(1),
            kind: Kind::Global,
            device: context.device.ordinal,
            context: context.handle,
            flags: 0,
            pool: None,
            writable: !global.constant,
        };
        match memory::allocate(request) {
            Ok(allocation) => {
                let init = global.init.len().min(allocation.len as usize);
                // SAFETY: a fresh allocation of at least `init` bytes, known to nobody else.
                unsafe {
                    allocation.at(0).copy_from_nonoverlapping(global.init.as_ptr(), init);
                    allocation.at(init as u64).write_bytes(0, allocation.len as usize - init);
                }
                placed.push((global.name.clone(), allocation));
            }
            Err(error) => {
                placed.iter().for_each(|(_, allocation)| memory::release(allocation));
                return Err(error);
            }
        }
    }
    Ok(placed)
}

/// Forgets the modules of a context that is gone.
pub(super) fn remove_of(context: Handle) {
    MODULES.remove_where(|module| module.context.handle == context);
    FUNCTIONS.remove_where(|function| function.context.handle == context);
}

impl Function {
    /// The most threads a block may have.
    pub fn max_threads(&self) -> u32 {
        self.kernel.max_threads.unwrap_or(limits::THREADS_PER_BLOCK).min(limits::THREADS_PER_BLOCK)
    }

    /// The most dynamic shared memory a launch may ask for.
    pub fn max_dynamic_shared(&self) -> u32 {
        self.max_dynamic_shared.load(Ordering::Relaxed)
    }

    /// Opts in to more dynamic shared memory.
    pub fn set_max_dynamic_shared(&self, bytes: u32) -> Result<()> {
        if bytes > limits::SHARED_OPTIN.saturating_sub(self.kernel.static_shared) {
            return Err(Error::INVALID_VALUE);
        }
        self.max_dynamic_shared.store(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Bytes of a packed parameter block.
    pub fn param_bytes(&self) -> usize {
        self.kernel.params.iter().map(|param| param.offset + param.size).max().unwrap_or(0)
    }

    /// How many blocks of so many threads and so much dynamic shared memory run on a multiprocessor at once.
    pub fn blocks_per_multiprocessor(&self, threads: u32, shared: u64) -> u32 {
        if threads == 0 || threads > self.max_threads() || shared > u64::from(self.max_dynamic_shared()) {
            return 0;
        }
        let by_threads = limits::THREADS_PER_MULTIPROCESSOR / threads.next_multiple_of(limits::WARP);
        let each = u64::from(self.kernel.static_shared) + shared;
        let by_shared = u64::from(limits::SHARED_OPTIN + 1024).checked_div(each).unwrap_or(u64::MAX);
        by_threads.min(limits::BLOCKS_PER_MULTIPROCESSOR).min(u32::try_from(by_shared).unwrap_or(u32::MAX))
    }
}
