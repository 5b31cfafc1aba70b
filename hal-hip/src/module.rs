//! Loading code and asking about it.

use crate::device::{Function, Module};
use crate::status::call;
use crate::sys::Symbols;
use crate::sys::bindings::{hipFunction_attribute as Attribute, hipJitOption};
use hal_core::{Error, ErrorKind, ExecutableFormat, Result};
use hal_utils::loader::{c_string, code_object, ptx, text_of_array};
use hal_utils::native::FunctionInfo;
use std::ffi::c_char;
use std::ptr;

/// Most bytes of a compiler's log that go into an error.
const LOG_SIZE: usize = 8192;

/// `supported` is the one format of the device.
///
/// # Safety
/// The device is current.
pub(crate) unsafe fn load(
    symbols: &Symbols,
    supported: ExecutableFormat,
    format: ExecutableFormat,
    image: &[u8],
) -> Result<Module> {
    match format {
        _ if format != supported => Err(Error::new(
            ErrorKind::Unimplemented,
            format!("the device does not load a {format}; pass a {supported}"),
        )),
        // SAFETY: the caller's promise.
        ExecutableFormat::Ptx => unsafe { load_ptx(symbols, image) },
        _ => {
            code_object("AMD code object", image)?;
            let mut module = ptr::null_mut();
            // SAFETY: the image is whole; the caller's promise.
            unsafe { call!(symbols, hipModuleLoadData(&mut module, image.as_ptr().cast())) }
                .map_err(|error| error.context(format!("loading {format}")))?;
            Ok(Module(module))
        }
    }
}

/// # Safety
/// As for [`load`].
unsafe fn load_ptx(symbols: &Symbols, image: &[u8]) -> Result<Module> {
    let image = ptx(image)?;
    let mut log: Vec<c_char> = vec![0; LOG_SIZE];
    let mut options =
        [hipJitOption::hipJitOptionErrorLogBuffer, hipJitOption::hipJitOptionErrorLogBufferSizeBytes];
    // The runtime takes a number in place of a pointer where an option is a number.
    let mut values = [log.as_mut_ptr().cast(), ptr::without_provenance_mut(LOG_SIZE - 1)];
    let mut module = ptr::null_mut();
    // SAFETY: the text ends in a NUL; the log has the size given, and both outlive the call.
    let loaded = unsafe {
        call!(
            symbols,
            hipModuleLoadDataEx(
                &mut module,
                image.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr()
            )
        )
    };
    loaded.map_err(|error| match text_of_array(&log).trim() {
        "" => error.context("loading PTX"),
        log => error.context(format!("loading PTX: {log}")),
    })?;
    Ok(Module(module))
}

/// # Safety
/// The device is current, and the module is loaded.
pub(crate) unsafe fn function(symbols: &Symbols, module: Module, name: &str) -> Result<Function> {
    let name = c_string("an entry point's name", name)?;
    let mut function = ptr::null_mut();
    // SAFETY: reads a string, writes one handle; the caller's promise.
    unsafe { call!(symbols, hipModuleGetFunction(&mut function, module.0, name.as_ptr())) }?;
    Ok(Function(function))
}

/// # Safety
/// The device is current, and the module is loaded.
pub(crate) unsafe fn global(symbols: &Symbols, module: Module, name: &str) -> Result<(u64, usize)> {
    let name = c_string("a variable's name", name)?;
    let (mut address, mut size) = (ptr::null_mut(), 0);
    // SAFETY: reads a string, writes an address and a number; the caller's promise.
    unsafe { call!(symbols, hipModuleGetGlobal(&mut address, &mut size, module.0, name.as_ptr())) }?;
    Ok((address.expose_provenance() as u64, size))
}

/// # Safety
/// The device is current, and the function's module is loaded.
pub(crate) unsafe fn function_info(symbols: &Symbols, function: Function) -> Result<FunctionInfo> {
    let get = |attribute| -> Result<Option<u32>> {
        let mut value = 0;
        // SAFETY: writes one number; the caller's promise.
        unsafe { call!(symbols, hipFuncGetAttribute(&mut value, attribute, function.0)) }?;
        Ok(u32::try_from(value).ok())
    };
    Ok(FunctionInfo {
        parameters: None,
        max_workgroup_size: get(Attribute::HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        registers: get(Attribute::HIP_FUNC_ATTRIBUTE_NUM_REGS)?,
        local_memory: get(Attribute::HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
        static_shared_memory: get(Attribute::HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
    })
}
