//! Loading code and asking about it.

use crate::device::{Function, Module};
use crate::status::call;
use crate::sys::Symbols;
use crate::sys::bindings::{CUfunction_attribute as Attribute, CUjit_option, CUresult};
use hal_core::{Error, ErrorKind, ExecutableFormat, ParameterInfo, Result};
use hal_utils::loader::{c_string, elf, fat_binary, ptx, text_of, text_of_array};
use hal_utils::native::FunctionInfo;
use std::ffi::c_char;
use std::ptr;

/// Most bytes of a compiler's log that go into an error.
const LOG_SIZE: usize = 8192;

/// # Safety
/// The device is current.
pub(crate) unsafe fn load(symbols: &Symbols, format: ExecutableFormat, image: &[u8]) -> Result<Module> {
    let image = match format {
        ExecutableFormat::Ptx => ptx(image)?,
        ExecutableFormat::Cubin => {
            elf("cubin", image)?;
            image.into()
        }
        ExecutableFormat::FatBinary => {
            fat_binary(image)?;
            image.into()
        }
        other => {
            return Err(Error::new(
                ErrorKind::Unimplemented,
                format!("CUDA does not load a {other}; pass PTX, a cubin or a fat binary"),
            ));
        }
    };
    let mut log: Vec<c_char> = vec![0; LOG_SIZE];
    let mut options =
        [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    // The driver takes a number in place of a pointer where an option is a number.
    let mut values = [log.as_mut_ptr().cast(), ptr::without_provenance_mut(LOG_SIZE - 1)];
    let mut module = ptr::null_mut();
    // SAFETY: the image is whole, and text ends in a NUL; the log has the size given, and both outlive the call.
    let loaded = unsafe {
        call!(
            symbols,
            cuModuleLoadDataEx(
                &mut module,
                image.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr()
            )
        )
    };
    loaded.map_err(|error| match text_of_array(&log).trim() {
        "" => error.context(format!("loading {format}")),
        log => error.context(format!("loading {format}: {log}")),
    })?;
    Ok(Module(module))
}

/// # Safety
/// The device is current, and the module is loaded.
pub(crate) unsafe fn function(symbols: &Symbols, module: Module, name: &str) -> Result<Function> {
    let name = c_string("an entry point's name", name)?;
    let mut function = ptr::null_mut();
    // SAFETY: reads a string, writes one handle; the caller's promise.
    unsafe { call!(symbols, cuModuleGetFunction(&mut function, module.0, name.as_ptr())) }?;
    Ok(Function(function))
}

/// # Safety
/// As for [`function`].
pub(crate) unsafe fn functions(symbols: &Symbols, module: Module) -> Result<Option<Vec<String>>> {
    let (Some(count_functions), Some(enumerate), Some(get_name)) =
        (symbols.cuModuleGetFunctionCount, symbols.cuModuleEnumerateFunctions, symbols.cuFuncGetName)
    else {
        return Ok(None);
    };
    let check = |call, status| crate::status::check(symbols, call, status);
    let mut count = 0;
    // SAFETY: writes one number; the caller's promise.
    check("cuModuleGetFunctionCount", unsafe { count_functions(&mut count, module.0) })?;
    let mut functions = vec![ptr::null_mut(); count as usize];
    // SAFETY: writes at most `count` handles; the caller's promise.
    check("cuModuleEnumerateFunctions", unsafe { enumerate(functions.as_mut_ptr(), count, module.0) })?;
    let mut names = Vec::with_capacity(functions.len());
    for function in functions {
        let mut name = ptr::null();
        // SAFETY: the handle comes from the driver, and the module it belongs to is loaded.
        check("cuFuncGetName", unsafe { get_name(&mut name, function) })?;
        // SAFETY: the string lives as long as the module.
        names.extend(unsafe { text_of(name) });
    }
    Ok(Some(names))
}

/// # Safety
/// The device is current, and the module is loaded.
pub(crate) unsafe fn global(symbols: &Symbols, module: Module, name: &str) -> Result<(u64, usize)> {
    let name = c_string("a variable's name", name)?;
    let (mut address, mut size) = (0, 0);
    // SAFETY: reads a string, writes an address and a number; the caller's promise.
    unsafe { call!(symbols, cuModuleGetGlobal(&mut address, &mut size, module.0, name.as_ptr())) }?;
    Ok((address, size))
}

/// # Safety
/// The device is current, and the function's module is loaded.
pub(crate) unsafe fn function_info(symbols: &Symbols, function: Function) -> Result<FunctionInfo> {
    let get = |attribute| -> Result<Option<u32>> {
        let mut value = 0;
        // SAFETY: writes one number; the caller's promise.
        unsafe { call!(symbols, cuFuncGetAttribute(&mut value, attribute, function.0)) }?;
        Ok(u32::try_from(value).ok())
    };
    Ok(FunctionInfo {
        // SAFETY: the caller's promise.
        parameters: unsafe { parameters(symbols, function) }?,
        max_workgroup_size: get(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        registers: get(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
        local_memory: get(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
        static_shared_memory: get(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
    })
}

/// # Safety
/// As for [`function_info`].
unsafe fn parameters(symbols: &Symbols, function: Function) -> Result<Option<Vec<ParameterInfo>>> {
    let Some(get) = symbols.cuFuncGetParamInfo else { return Ok(None) };
    let mut parameters = Vec::new();
    loop {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: writes two numbers; the caller's promise.
        match unsafe { get(function.0, parameters.len(), &mut offset, &mut size) } {
            CUresult::CUDA_SUCCESS => parameters.push(ParameterInfo { offset, size }),
            // How the driver says that there are no more.
            CUresult::CUDA_ERROR_INVALID_VALUE => return Ok(Some(parameters)),
            status => crate::status::check(symbols, "cuFuncGetParamInfo", status)?,
        }
    }
}
