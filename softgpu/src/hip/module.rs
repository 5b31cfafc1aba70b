//! Modules.

use super::{Hip, current};
use crate::abi::{In, Out, Text, entries};
use crate::both::jit::{self, Logs};
use crate::driver::module::{LoadError, MODULES, Module};
use std::sync::Arc;

/// `hipJitOption*`
const LAST_OPTION: i32 = 28;
const FIRST_AMD_OPTION: i32 = 10_000;
const LAST_AMD_OPTION: i32 = 10_001;

/// Whether there is such a JIT option.
pub(super) fn is_option(option: i32) -> bool {
    matches!(option, 0..=LAST_OPTION | FIRST_AMD_OPTION..=LAST_AMD_OPTION)
}

fn load(image: In<u8>) -> std::result::Result<Arc<Module>, LoadError> {
    jit::load(&current::context()?, image)
}

entries! { Hip;
    /// Loads PTX text from a file.
    "hipModuleLoad" 50200000 => fn hipModuleLoad(module: Out<u64>, path: Text) {
        module.check()?;
        module.set(jit::load_file(&current::context()?, path.get()?).map_err(|failure| failure.error)?.handle)
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
        let logs = Logs::read(count, options, values, is_option)?;
        let loaded = load(image);
        logs.write(loaded.as_ref().map_or_else(|failure| failure.log.as_str(), |_| ""))?;
        module.set(loaded.map_err(|failure| failure.error)?.handle)
    }
    /// Loads an image that may hold code for several machines; PTX text only.
    "hipModuleLoadFatBinary" 70000000 => fn hipModuleLoadFatBinary(module: Out<u64>, image: In<u8>) {
        module.check()?;
        module.set(load(image).map_err(|failure| failure.error)?.handle)
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
