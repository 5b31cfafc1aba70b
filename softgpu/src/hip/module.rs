//! Modules.

use super::{Hip, current};
use crate::abi::{In, Out, Text, entries};
use crate::driver::module::{LoadError, MODULES, Module, image_text};
use crate::driver::{Error, Result};
use std::ffi::{CString, c_char};
use std::sync::Arc;

fn load(image: In<u8>) -> std::result::Result<Arc<Module>, LoadError> {
    let context = current::context()?;
    // SAFETY: the caller of the entry point promises an image of a kind that says where it ends.
    let text = unsafe { image_text(image.as_ptr()) }?;
    Module::load(&context, text)
}

/// Loads a file, whose end is known though its kind is not.
fn load_file(path: &str) -> std::result::Result<Arc<Module>, LoadError> {
    let context = current::context()?;
    // `hipErrorFileNotFound`
    let mut bytes = std::fs::read(path).map_err(|_| Error(301))?;
    // What follows a zero byte would be no text; binary kinds are told by their beginning.
    bytes.truncate(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
    let bytes = CString::new(bytes).map_err(|_| Error::INVALID_IMAGE)?;
    // SAFETY: ended by a zero byte.
    let text = unsafe { image_text(bytes.as_ptr().cast()) }?;
    Module::load(&context, text)
}

/// A log buffer among JIT options: where it is, and where its size stands and how much was written is to stand.
#[derive(Clone, Copy, Default)]
struct Log {
    buffer: u64,
    size_at: Option<usize>,
}

impl Log {
    fn write(self, values: Out<u64>, text: &str) -> Result<()> {
        let Some(at) = self.size_at else { return Ok(()) };
        // The value itself is the size, as 32 bits.
        let size = values.list_at(at) as u32 as usize;
        let mut written = 0;
        if self.buffer != 0 && size > 0 {
            written = text.len().min(size - 1);
            Out::<c_char>::at(self.buffer).set_text(text, size)?;
        }
        values.set_at(at, written as u64);
        Ok(())
    }
}

/// `hipJitOption*`
const WALL_TIME: i32 = 2;
const INFO_LOG: i32 = 3;
const INFO_LOG_SIZE: i32 = 4;
const ERROR_LOG: i32 = 5;
const ERROR_LOG_SIZE: i32 = 6;
const LAST_OPTION: i32 = 28;
const FIRST_AMD_OPTION: i32 = 10_000;
const LAST_AMD_OPTION: i32 = 10_001;

entries! { Hip;
    /// Loads PTX text from a file.
    "hipModuleLoad" 50200000 => fn hipModuleLoad(module: Out<u64>, path: Text) {
        module.check()?;
        module.set(load_file(path.get()?).map_err(|failure| failure.error)?.handle)
    }
    /// Loads PTX text.
    "hipModuleLoadData" 50200000 => fn hipModuleLoadData(module: Out<u64>, image: In<u8>) {
        module.check()?;
        module.set(load(image).map_err(|failure| failure.error)?.handle)
    }
    /// Loads PTX text with options: the log buffers are honoured, the rest is advice.
    "hipModuleLoadDataEx" 50200000 => fn hipModuleLoadDataEx(
        module: Out<u64>, image: In<u8>, count: u32, options: In<i32>, values: Out<u64>,
    ) {
        module.check()?;
        let options = options.list(count as usize)?;
        if !options.is_empty() {
            values.check()?;
        }
        let (mut info, mut error) = (Log::default(), Log::default());
        for (at, option) in options.into_iter().enumerate() {
            match option {
                WALL_TIME => values.set_at(at, 0),
                INFO_LOG => info.buffer = values.list_at(at),
                INFO_LOG_SIZE => info.size_at = Some(at),
                ERROR_LOG => error.buffer = values.list_at(at),
                ERROR_LOG_SIZE => error.size_at = Some(at),
                0..=LAST_OPTION | FIRST_AMD_OPTION..=LAST_AMD_OPTION => {}
                _ => return Err(Error::INVALID_VALUE),
            }
        }
        let loaded = load(image);
        info.write(values, "")?;
        error.write(values, loaded.as_ref().map_or_else(|failure| failure.log.as_str(), |_| ""))?;
        module.set(loaded.map_err(|failure| failure.error)?.handle)
    }
    /// Unloads a module.
    "hipModuleUnload" 50200000 => fn hipModuleUnload(module: u64) {
        Module::unload(module)
    }
    /// The kernel of a name.
    "hipModuleGetFunction" 50200000 => fn hipModuleGetFunction(function: Out<u64>, module: u64, name: Text) {
        function.check()?;
        let module = MODULES.get(module)?;
        module.context.check()?;
        function.set(module.function(name.get()?)?.handle)
    }
    /// Address and size of the global of a name.
    "hipModuleGetGlobal" 50200000 => fn hipModuleGetGlobal(
        address: Out<u64>, len: Out<usize>, module: u64, name: Text,
    ) {
        let module = MODULES.get(module)?;
        module.context.check()?;
        let (start, size) = module.global(name.get()?)?;
        address.set_if(start);
        len.set_if(size as usize);
        Ok(())
    }
    /// How many kernels a module has.
    "hipModuleGetFunctionCount" 70100000 => fn hipModuleGetFunctionCount(count: Out<u32>, module: u64) {
        count.set(MODULES.get(module)?.functions().len() as u32)
    }
}
