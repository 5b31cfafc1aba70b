//! Libraries and their kernels: here a module of the context that is current when the library is loaded, and the
//! module's functions.

use super::Cuda;
use super::module::{is_option, load};
use crate::abi::{In, Out, Text, entries};
use crate::both::jit::{self, Logs};
use crate::driver::context;
use crate::driver::module::{FUNCTIONS, MODULES, Module};
use std::ffi::c_char;

entries! { Cuda;
    /// Loads PTX text; the log buffers among the options are honoured, the rest is advice.
    "cuLibraryLoadData" 12000 => fn cuLibraryLoadData(
        library: Out<u64>, image: In<u8>, options: In<i32>, values: Out<u64>, count: u32,
        library_options: In<i32>, library_values: Out<u64>, library_count: u32,
    ) {
        let _ = (library_options, library_values, library_count);
        library.check()?;
        let logs = Logs::read(count, options, values, is_option)?;
        let loaded = load(image);
        logs.write(loaded.as_ref().map_or_else(|failure| failure.log.as_str(), |_| ""))?;
        library.set(loaded.map_err(|failure| failure.error)?.handle)
    }
    /// Loads PTX text from a file.
    "cuLibraryLoadFromFile" 12000 => fn cuLibraryLoadFromFile(
        library: Out<u64>, path: Text, options: In<i32>, values: Out<u64>, count: u32,
        library_options: In<i32>, library_values: Out<u64>, library_count: u32,
    ) {
        let _ = (library_options, library_values, library_count);
        library.check()?;
        let logs = Logs::read(count, options, values, is_option)?;
        let loaded = jit::load_file(&context::current()?, path.get()?);
        logs.write(loaded.as_ref().map_or_else(|failure| failure.log.as_str(), |_| ""))?;
        library.set(loaded.map_err(|failure| failure.error)?.handle)
    }
    /// Unloads a library.
    "cuLibraryUnload" 12000 => fn cuLibraryUnload(library: u64) {
        Module::unload(library)
    }
    /// The kernel of a name.
    "cuLibraryGetKernel" 12000 => fn cuLibraryGetKernel(kernel: Out<u64>, library: u64, name: Text) {
        kernel.check()?;
        kernel.set(MODULES.get(library)?.function(name.get()?)?.handle)
    }
    /// How many kernels there are.
    "cuLibraryGetKernelCount" 12040 => fn cuLibraryGetKernelCount(count: Out<u32>, library: u64) {
        count.set(MODULES.get(library)?.functions().len() as u32)
    }
    /// The kernels of a library.
    "cuLibraryEnumerateKernels" 12040 => fn cuLibraryEnumerateKernels(kernels: Out<u64>, count: u32, library: u64) {
        kernels.check()?;
        for (at, kernel) in MODULES.get(library)?.functions().iter().take(count as usize).enumerate() {
            kernels.set_at(at, kernel.handle);
        }
        Ok(())
    }
    /// The module of a library in the current context.
    "cuLibraryGetModule" 12000 => fn cuLibraryGetModule(module: Out<u64>, library: u64) {
        module.set(MODULES.get(library)?.handle)
    }
    /// Address and size of the global of a name.
    "cuLibraryGetGlobal" 12000 => fn cuLibraryGetGlobal(
        address: Out<u64>, len: Out<usize>, library: u64, name: Text,
    ) {
        let (start, size) = MODULES.get(library)?.global(name.get()?)?;
        address.set_if(start);
        len.set_if(size as usize);
        Ok(())
    }
    /// The function of a kernel in the current context.
    "cuKernelGetFunction" 12000 => fn cuKernelGetFunction(function: Out<u64>, kernel: u64) {
        function.set(FUNCTIONS.get(kernel)?.handle)
    }
    /// The library of a kernel.
    "cuKernelGetLibrary" 12050 => fn cuKernelGetLibrary(library: Out<u64>, kernel: u64) {
        library.set(FUNCTIONS.get(kernel)?.module)
    }
    /// The name of a kernel; good as long as its library.
    "cuKernelGetName" 12030 => fn cuKernelGetName(name: Out<*const c_char>, kernel: u64) {
        name.set(FUNCTIONS.get(kernel)?.name.as_ptr())
    }
}
