//! Modules.

use super::Cuda;
use crate::abi::{In, Out, Text, entries};
use crate::driver::module::{LoadError, MODULES, Module, image_text};
use crate::driver::{Error, Result, context};
use std::ffi::c_char;
use std::sync::Arc;

fn load(image: In<u8>) -> std::result::Result<Arc<Module>, LoadError> {
    let context = context::current()?;
    // SAFETY: the caller of the entry point promises an image of a kind that says where it ends.
    let text = unsafe { image_text(image.as_ptr()) }?;
    Module::load(&context, text)
}

/// A log buffer among JIT options: where it is, how large, and where to say how much was written.
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

const WALL_TIME: i32 = 2;
const INFO_LOG: i32 = 3;
const INFO_LOG_SIZE: i32 = 4;
const ERROR_LOG: i32 = 5;
const ERROR_LOG_SIZE: i32 = 6;
/// The last option a 12.x driver knows.
const LAST_OPTION: i32 = 33;

entries! { Cuda;
    /// Loads PTX text.
    "cuModuleLoadData" 2000 => fn cuModuleLoadData(module: Out<u64>, image: In<u8>) {
        module.check()?;
        module.set(load(image).map_err(|failure| failure.error)?.handle)
    }
    /// Loads PTX text with options: the log buffers are honoured, the rest is advice.
    "cuModuleLoadDataEx" 2010 => fn cuModuleLoadDataEx(
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
                0..=LAST_OPTION => {}
                _ => return Err(Error::INVALID_VALUE),
            }
        }
        match load(image) {
            Ok(loaded) => {
                info.write(values, "")?;
                error.write(values, "")?;
                module.set(loaded.handle)
            }
            Err(failure) => {
                info.write(values, "")?;
                error.write(values, &failure.log)?;
                Err(failure.error)
            }
        }
    }
    /// Loads an image that may hold code for several machines; PTX text only.
    "cuModuleLoadFatBinary" 2000 => fn cuModuleLoadFatBinary(module: Out<u64>, image: In<u8>) {
        module.check()?;
        module.set(load(image).map_err(|failure| failure.error)?.handle)
    }
    /// Unloads a module.
    "cuModuleUnload" 2000 => fn cuModuleUnload(module: u64) {
        Module::unload(module)
    }
    /// The kernel of a name.
    "cuModuleGetFunction" 2000 => fn cuModuleGetFunction(function: Out<u64>, module: u64, name: Text) {
        function.check()?;
        let module = MODULES.get(module)?;
        module.context.check()?;
        function.set(module.function(name.get()?)?.handle)
    }
    /// Address and size of the global of a name.
    "cuModuleGetGlobal" 3020 => fn cuModuleGetGlobal_v2(
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
    "cuModuleGetFunctionCount" 12040 => fn cuModuleGetFunctionCount(count: Out<u32>, module: u64) {
        count.set(MODULES.get(module)?.functions().len() as u32)
    }
    /// The kernels of a module.
    "cuModuleEnumerateFunctions" 12040 => fn cuModuleEnumerateFunctions(
        functions: Out<u64>, count: u32, module: u64,
    ) {
        functions.check()?;
        for (at, function) in MODULES.get(module)?.functions().iter().take(count as usize).enumerate() {
            functions.set_at(at, function.handle);
        }
        Ok(())
    }
    /// Modules are translated when they are loaded.
    early "cuModuleGetLoadingMode" 11070 => fn cuModuleGetLoadingMode(mode: Out<i32>) {
        mode.set(1)
    }
}
