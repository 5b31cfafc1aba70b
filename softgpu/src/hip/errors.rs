//! Codes: from the core's numbers to HIP's, their names, and the last error of a thread.

use super::Hip;
use crate::abi::{Address, Entry, Out, entries};
use crate::driver::config::config;
use crate::driver::{Error, Result};
use crate::fault::{self, Hook};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};

const SUCCESS: i32 = 0;
const NO_DEVICE: i32 = 100;
const ILLEGAL_STATE: i32 = 401;
const NOT_READY: i32 = 600;
const LAUNCH_FAILURE: i32 = 719;
/// What the name functions answer for a code that is none.
const UNKNOWN: i32 = 999;
/// `hipErrorInvalidMemcpyDirection`, which the core has no need of.
pub(super) const INVALID_DIRECTION: Error = Error(21);
/// `hipErrorInvalidDeviceFunction`, likewise.
pub(super) const INVALID_DEVICE_FUNCTION: Error = Error(98);
/// From this version on success does not wipe out the last error.
const KEEPS_ERRORS: i32 = 70_000_000;

/// HIP's number for an answer of the core. Most are the same as CUDA's.
pub(super) fn code(result: Result<()>) -> i32 {
    let Err(error) = result else { return SUCCESS };
    match error {
        // Only a machine without a device is never ready.
        Error::NOT_INITIALIZED => NO_DEVICE,
        // HIP has no code for a call from a host function.
        Error::NOT_PERMITTED => ILLEGAL_STATE,
        // Nor for the finer kinds of kernel faults.
        Error::HARDWARE_STACK_ERROR
        | Error::ILLEGAL_INSTRUCTION
        | Error::MISALIGNED_ADDRESS
        | Error::INVALID_ADDRESS_SPACE => LAUNCH_FAILURE,
        Error(code) => code,
    }
}

thread_local! {
    static LAST: Cell<i32> = const { Cell::new(SUCCESS) };
}

/// Keeps what a call returned for `hipGetLastError`.
pub(super) fn remember(code: i32) -> i32 {
    // At thread exit there is nobody left to ask.
    let _ = LAST.try_with(|last| last.set(next(last.get(), code, config().hip_version)));
    code
}

/// The last error after a call returned `code`. Up to HIP 6 it is what the last call returned, be it success; from HIP 7
/// on it is the last failure, and "not ready" is none.
fn next(last: i32, code: i32, version: i32) -> i32 {
    match code {
        SUCCESS | NOT_READY if version >= KEEPS_ERRORS => last,
        _ => code,
    }
}

/// The code that a fault rule wants returned.
fn injected(entry: &Entry) -> Option<i32> {
    match fault::hook(entry) {
        Some(Hook::Return(code)) => Some(code),
        _ => None,
    }
}

/// The last error of this thread, which is forgotten.
#[allow(non_snake_case)]
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub extern "C" fn hipGetLastError() -> i32 {
    injected(&GET_LAST).unwrap_or_else(|| LAST.try_with(|last| last.replace(SUCCESS)).unwrap_or(SUCCESS))
}

/// The last error of this thread, which is kept.
#[allow(non_snake_case)]
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub extern "C" fn hipPeekAtLastError() -> i32 {
    injected(&PEEK_LAST).unwrap_or_else(|| LAST.try_with(Cell::get).unwrap_or(SUCCESS))
}

/// The name of a code; the name of the unknown error if there is none.
#[allow(non_snake_case)]
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub extern "C" fn hipGetErrorName(error: i32) -> *const c_char {
    find(error).or_else(|| find(UNKNOWN)).map_or(std::ptr::null(), |(_, name, _)| name.as_ptr())
}

/// What a code means; that it is unknown if it is.
#[allow(non_snake_case)]
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub extern "C" fn hipGetErrorString(error: i32) -> *const c_char {
    find(error).or_else(|| find(UNKNOWN)).map_or(std::ptr::null(), |(.., meaning)| meaning.as_ptr())
}

const fn plain(name: &'static str, address: *const c_void) -> Entry {
    Entry { base: name, symbol: name, since: 50_200_000, early: true, address: Address(address) }
}

static GET_LAST: Entry = plain("hipGetLastError", hipGetLastError as *const c_void);
static PEEK_LAST: Entry = plain("hipPeekAtLastError", hipPeekAtLastError as *const c_void);

/// The entry points that do not answer with a code, or must not change the last one.
pub(crate) static PLAIN: &[Entry] = &[
    plain("hipGetLastError", hipGetLastError as *const c_void),
    plain("hipPeekAtLastError", hipPeekAtLastError as *const c_void),
    plain("hipGetErrorName", hipGetErrorName as *const c_void),
    plain("hipGetErrorString", hipGetErrorString as *const c_void),
];

entries! { Hip;
    /// The name of a code; null and an error if the code is unknown.
    early "hipDrvGetErrorName" 50500000 => fn hipDrvGetErrorName(error: i32, text: Out<*const c_char>) {
        let found = find(error);
        text.set(found.map_or(std::ptr::null(), |(_, name, _)| name.as_ptr()))?;
        found.map(drop).ok_or(Error::INVALID_VALUE)
    }
    /// What a code means; null and an error if the code is unknown.
    early "hipDrvGetErrorString" 50500000 => fn hipDrvGetErrorString(error: i32, text: Out<*const c_char>) {
        let found = find(error);
        text.set(found.map_or(std::ptr::null(), |(.., meaning)| meaning.as_ptr()))?;
        found.map(drop).ok_or(Error::INVALID_VALUE)
    }
}

fn find(code: i32) -> Option<&'static (i32, &'static CStr, &'static CStr)> {
    CODES.iter().find(|(known, ..)| *known == code)
}

const CODES: &[(i32, &CStr, &CStr)] = &[
    (0, c"hipSuccess", c"no error"),
    (1, c"hipErrorInvalidValue", c"invalid argument"),
    (2, c"hipErrorOutOfMemory", c"out of memory"),
    (3, c"hipErrorNotInitialized", c"initialization error"),
    (4, c"hipErrorDeinitialized", c"deinitialized"),
    (5, c"hipErrorProfilerDisabled", c"profiler disabled"),
    (6, c"hipErrorProfilerNotInitialized", c"profiler not initialized"),
    (7, c"hipErrorProfilerAlreadyStarted", c"profiler already started"),
    (8, c"hipErrorProfilerAlreadyStopped", c"profiler already stopped"),
    (9, c"hipErrorInvalidConfiguration", c"invalid configuration argument"),
    (12, c"hipErrorInvalidPitchValue", c"invalid pitch value"),
    (13, c"hipErrorInvalidSymbol", c"invalid symbol"),
    (17, c"hipErrorInvalidDevicePointer", c"invalid device pointer"),
    (21, c"hipErrorInvalidMemcpyDirection", c"invalid copy direction for memcpy"),
    (35, c"hipErrorInsufficientDriver", c"insufficient driver"),
    (52, c"hipErrorMissingConfiguration", c"missing configuration"),
    (53, c"hipErrorPriorLaunchFailure", c"prior launch failure"),
    (98, c"hipErrorInvalidDeviceFunction", c"invalid device function"),
    (100, c"hipErrorNoDevice", c"no device is present"),
    (101, c"hipErrorInvalidDevice", c"invalid device ordinal"),
    (200, c"hipErrorInvalidImage", c"device kernel image is invalid"),
    (201, c"hipErrorInvalidContext", c"invalid device context"),
    (202, c"hipErrorContextAlreadyCurrent", c"context already current"),
    (205, c"hipErrorMapFailed", c"map failed"),
    (206, c"hipErrorUnmapFailed", c"unmap failed"),
    (207, c"hipErrorArrayIsMapped", c"array is mapped"),
    (208, c"hipErrorAlreadyMapped", c"already mapped"),
    (209, c"hipErrorNoBinaryForGpu", c"no kernel image is available for execution on the device"),
    (210, c"hipErrorAlreadyAcquired", c"already acquired"),
    (211, c"hipErrorNotMapped", c"not mapped"),
    (212, c"hipErrorNotMappedAsArray", c"not mapped as array"),
    (213, c"hipErrorNotMappedAsPointer", c"not mapped as pointer"),
    (214, c"hipErrorECCNotCorrectable", c"ecc not correctable"),
    (215, c"hipErrorUnsupportedLimit", c"unsupported limit"),
    (216, c"hipErrorContextAlreadyInUse", c"context already in use"),
    (217, c"hipErrorPeerAccessUnsupported", c"peer access unsupported"),
    (218, c"hipErrorInvalidKernelFile", c"invalid kernel file"),
    (219, c"hipErrorInvalidGraphicsContext", c"invalid graphics context"),
    (300, c"hipErrorInvalidSource", c"invalid source"),
    (301, c"hipErrorFileNotFound", c"file not found"),
    (302, c"hipErrorSharedObjectSymbolNotFound", c"shared object symbol not found"),
    (303, c"hipErrorSharedObjectInitFailed", c"shared object init failed"),
    (304, c"hipErrorOperatingSystem", c"operating system"),
    (400, c"hipErrorInvalidHandle", c"invalid resource handle"),
    (401, c"hipErrorIllegalState", c"the operation cannot be performed in the present state"),
    (500, c"hipErrorNotFound", c"named symbol not found"),
    (600, c"hipErrorNotReady", c"device not ready"),
    (700, c"hipErrorIllegalAddress", c"an illegal memory access was encountered"),
    (701, c"hipErrorLaunchOutOfResources", c"too many resources requested for launch"),
    (702, c"hipErrorLaunchTimeOut", c"the launch timed out and was terminated"),
    (704, c"hipErrorPeerAccessAlreadyEnabled", c"peer access is already enabled"),
    (705, c"hipErrorPeerAccessNotEnabled", c"peer access has not been enabled"),
    (708, c"hipErrorSetOnActiveProcess", c"set on active process"),
    (709, c"hipErrorContextIsDestroyed", c"context is destroyed"),
    (710, c"hipErrorAssert", c"device-side assert triggered"),
    (712, c"hipErrorHostMemoryAlreadyRegistered", c"host memory is already registered"),
    (713, c"hipErrorHostMemoryNotRegistered", c"host memory is not registered"),
    (719, c"hipErrorLaunchFailure", c"unspecified launch failure"),
    (720, c"hipErrorCooperativeLaunchTooLarge", c"cooperative launch too large"),
    (801, c"hipErrorNotSupported", c"operation not supported"),
    (900, c"hipErrorStreamCaptureUnsupported", c"stream capture unsupported"),
    (901, c"hipErrorStreamCaptureInvalidated", c"stream capture invalidated"),
    (902, c"hipErrorStreamCaptureMerge", c"stream capture merge"),
    (903, c"hipErrorStreamCaptureUnmatched", c"stream capture unmatched"),
    (904, c"hipErrorStreamCaptureUnjoined", c"stream capture unjoined"),
    (905, c"hipErrorStreamCaptureIsolation", c"stream capture isolation"),
    (906, c"hipErrorStreamCaptureImplicit", c"stream capture implicit"),
    (907, c"hipErrorCapturedEvent", c"captured event"),
    (908, c"hipErrorStreamCaptureWrongThread", c"stream capture wrong thread"),
    (910, c"hipErrorGraphExecUpdateFailure", c"graph exec update failure"),
    (911, c"hipErrorInvalidChannelDescriptor", c"invalid channel descriptor"),
    (912, c"hipErrorInvalidTexture", c"invalid texture"),
    (999, c"hipErrorUnknown", c"unknown error"),
    (1052, c"hipErrorRuntimeMemory", c"runtime memory"),
    (1053, c"hipErrorRuntimeOther", c"runtime other"),
    (1054, c"hipErrorTbd", c"tbd"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_error_is_kept_as_the_version_says() {
        const HIP_6: i32 = 60_342_134;
        const HIP_7: i32 = 70_125_424;
        assert_eq!(next(700, SUCCESS, HIP_6), SUCCESS);
        assert_eq!(next(700, SUCCESS, HIP_7), 700);
        assert_eq!(next(SUCCESS, NOT_READY, HIP_6), NOT_READY);
        assert_eq!(next(1, NOT_READY, HIP_7), 1);
        assert_eq!(next(1, 700, HIP_7), 700);
    }

    #[test]
    fn codes_that_hip_lacks_become_codes_that_it_has() {
        for core in [3, 714, 715, 716, 717, 719, 800] {
            let code = code(Err(Error(core)));
            assert!(find(code).is_some(), "{core} became {code}");
        }
        assert_eq!(code(Err(Error::ILLEGAL_ADDRESS)), 700);
        assert_eq!(code(Ok(())), SUCCESS);
    }
}
