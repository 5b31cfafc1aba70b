//! A driver that is a handful of functions here, and answers what no driver at hand would.

use super::*;
use hal_core::DriverKind;

extern "C" fn ok() -> CUresult {
    CUresult::CUDA_SUCCESS
}

extern "C" fn strange() -> CUresult {
    CUresult(9999)
}

extern "C" fn no_device() -> CUresult {
    CUresult::CUDA_ERROR_NO_DEVICE
}

extern "C" fn name(status: CUresult, name: *mut *const std::ffi::c_char) -> CUresult {
    if status != CUresult::CUDA_ERROR_NO_DEVICE {
        return CUresult::CUDA_ERROR_INVALID_VALUE;
    }
    // SAFETY: a test's pointer to a pointer.
    unsafe { *name = c"CUDA_ERROR_NO_DEVICE".as_ptr() };
    CUresult::CUDA_SUCCESS
}

extern "C" fn version_of<const VERSION: c_int>(version: *mut c_int) -> CUresult {
    // SAFETY: a test's pointer to a number.
    unsafe { *version = VERSION };
    CUresult::CUDA_SUCCESS
}

/// Every function of a driver; most must not be called.
fn modern(symbol: &str) -> Option<*const c_void> {
    match symbol {
        "cuGetProcAddress" | "cuGetProcAddress_v2" => None,
        "cuDriverGetVersion" => Some(version_of::<12080> as *const c_void),
        "cuGetErrorName" => Some(name as *const c_void),
        "cuFuncGetName" => None,
        _ => Some(ok as *const c_void),
    }
}

fn old(symbol: &str) -> Option<*const c_void> {
    (symbol == "cuDriverGetVersion").then_some(version_of::<10020> as *const c_void)
}

fn start(lookup: fn(&str) -> Option<*const c_void>) -> Result<CudaDriver> {
    // SAFETY: the functions that get called have the driver's types.
    let resolver = unsafe { Resolver::new("test", lookup) };
    load(&DriverChoice::Soft, Some(resolver))
}

#[test]
fn a_driver_starts_without_an_optional_function() {
    let driver = start(modern).unwrap();
    assert_eq!((driver.info.kind, &*driver.info.version), (DriverKind::Soft, "12.8"));
    assert!(driver.symbols.cuFuncGetName.is_none() && driver.symbols.cuFuncGetParamInfo.is_some());
    let error = driver.device_info(7).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains("the driver has 0"), "{error}");
}

#[test]
fn an_old_driver_is_refused_by_its_version() {
    let error = start(old).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("CUDA 10.2; 11.3 or later is needed"), "{error}");
}

#[test]
fn what_is_no_driver_is_refused() {
    let error = start(|_| None).unwrap_err();
    assert!(error.message().contains("cuDriverGetVersion"), "{error}");
}

#[test]
fn a_missing_required_function_is_named() {
    let error = start(|name| if name == "cuMemAlloc_v2" { None } else { modern(name) }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("lacks cuMemAlloc (version 3020)"), "{error}");
}

#[test]
fn a_status_nobody_knows_is_named_by_its_number() {
    let strange = |name: &str| if name == "cuInit" { Some(strange as *const c_void) } else { modern(name) };
    let error = start(strange).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    assert!(error.to_string().contains("cuInit returned 9999"), "{error}");
}

#[test]
fn no_device_means_unavailable_and_keeps_the_drivers_words() {
    let absent = |name: &str| if name == "cuInit" { Some(no_device as *const c_void) } else { modern(name) };
    let error = start(absent).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("cuInit returned 100 (CUDA_ERROR_NO_DEVICE)"), "{error}");
}

extern "C" fn get_address(
    name: *const std::ffi::c_char,
    address: *mut *mut c_void,
    version: c_int,
    _flags: u64,
    _status: *mut c_void,
) -> CUresult {
    // SAFETY: the arguments of a test.
    let name = unsafe { std::ffi::CStr::from_ptr(name) }.to_str().unwrap();
    let found = match (name, version) {
        // As drivers do: success, and a null address.
        ("cuFuncGetParamInfo", _) => None,
        ("cuMemAlloc", 3020) => Some(strange as *const c_void),
        (other, _) => modern(other),
    };
    // SAFETY: as above.
    unsafe { *address = found.unwrap_or(ptr::null()).cast_mut() };
    CUresult::CUDA_SUCCESS
}

#[test]
fn addresses_come_from_the_driver_by_documented_name_and_version() {
    let driver = start(|name| match name {
        "cuGetProcAddress_v2" => Some(get_address as *const c_void),
        other => old(other).and(modern(other)),
    })
    .unwrap();
    let mut address = 0;
    // SAFETY: it is `strange`, which takes nothing.
    assert_eq!(unsafe { (driver.symbols.cuMemAlloc)(&mut address, 1) }, CUresult(9999));
    assert!(driver.symbols.cuFuncGetParamInfo.is_none());
}
