//! A runtime that is a handful of functions here, and answers what no runtime at hand would.

use super::*;
use hal_core::DriverKind;
use std::ffi::c_char;

extern "C" fn ok() -> hipError_t {
    hipError_t::hipSuccess
}

extern "C" fn strange() -> hipError_t {
    hipError_t(9999)
}

extern "C" fn no_device() -> hipError_t {
    hipError_t::hipErrorNoDevice
}

extern "C" fn name(status: hipError_t) -> *const c_char {
    match status {
        hipError_t::hipErrorNoDevice => c"hipErrorNoDevice".as_ptr(),
        _ => c"hipErrorUnknown".as_ptr(),
    }
}

extern "C" fn version_of<const VERSION: c_int>(version: *mut c_int) -> hipError_t {
    // SAFETY: a test's pointer to a number.
    unsafe { *version = VERSION };
    hipError_t::hipSuccess
}

/// Every function of a runtime; most must not be called.
fn modern(symbol: &str) -> Option<*const c_void> {
    match symbol {
        "hipRuntimeGetVersion" => Some(version_of::<60_342_134> as *const c_void),
        "hipGetErrorName" => Some(name as *const c_void),
        _ => Some(ok as *const c_void),
    }
}

fn start(lookup: fn(&str) -> Option<*const c_void>) -> Result<HipDriver> {
    // SAFETY: the functions that get called have the runtime's types.
    let resolver = unsafe { Resolver::new("test", lookup) };
    load(&DriverChoice::Soft, Some(resolver))
}

#[test]
fn a_runtime_starts_and_names_its_count() {
    let driver = start(modern).unwrap();
    assert_eq!((driver.info.kind, &*driver.info.version), (DriverKind::Soft, "6.3.42134"));
    let error = driver.device_info(7).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains("the runtime has 0"), "{error}");
}

#[test]
fn an_old_runtime_is_refused_by_its_version() {
    let old = |name: &str| match name {
        "hipRuntimeGetVersion" => Some(version_of::<50_221_153> as *const c_void),
        _ => None,
    };
    let error = start(old).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("HIP 5.2.21153; 6.0 or later is needed"), "{error}");
}

#[test]
fn a_missing_required_function_is_named() {
    let lacking = |name: &str| if name == "hipGetDevicePropertiesR0600" { None } else { modern(name) };
    let error = start(lacking).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("lacks hipGetDeviceProperties (version 60000000)"), "{error}");
}

#[test]
fn a_status_nobody_knows_is_named_by_its_number() {
    let strange = |name: &str| if name == "hipInit" { Some(strange as *const c_void) } else { modern(name) };
    let error = start(strange).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    assert!(error.to_string().contains("hipInit returned 9999"), "{error}");
    assert!(!error.to_string().contains("hipErrorUnknown"), "{error}");
}

#[test]
fn no_device_means_unavailable_and_keeps_the_runtimes_words() {
    let absent = |name: &str| if name == "hipInit" { Some(no_device as *const c_void) } else { modern(name) };
    let error = start(absent).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("hipInit returned 100 (hipErrorNoDevice)"), "{error}");
}
