//! Modules.

use super::Cuda;
use crate::abi::{In, Out, Text, entries};
use crate::both::jit::{self, Logs};
use crate::driver::context;
use crate::driver::module::{LoadError, MODULES, Module};
use std::sync::Arc;

/// The last option a 12.x driver knows.
const LAST_OPTION: i32 = 33;

/// Whether there is such a JIT option.
pub(super) fn is_option(option: i32) -> bool {
    (0..=LAST_OPTION).contains(&option)
}

pub(super) fn load(image: In<u8>) -> std::result::Result<Arc<Module>, LoadError> {
    jit::load(&context::current()?, image)
}

entries! { Cuda;
    /// Loads PTX text from a file.
    "cuModuleLoad" 2000 => fn cuModuleLoad(module: Out<u64>, path: Text) {
        module.check()?;
        let loaded = jit::load_file(&context::current()?, path.get()?);
        module.set(loaded.map_err(|failure| failure.error)?.handle)
    }
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
        let logs = Logs::read(count, options, values, is_option)?;
        let loaded = load(image);
        logs.write(loaded.as_ref().map_or_else(|failure| failure.log.as_str(), |_| ""))?;
        module.set(loaded.map_err(|failure| failure.error)?.handle)
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
