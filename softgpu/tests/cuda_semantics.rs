//! Rules of the CUDA driver API that programs rely on, each as a test that names the text it follows: "CUDA Driver API"
//! is the vendor's reference, chapter by chapter, "Programming Guide" the CUDA C++ Programming Guide.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cuda_support;

use cuda_support::*;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

const FAULTS: &str = include_str!("../../kernels/ptx/faults.ptx");
const NOT_READY: i32 = 600;
const ILLEGAL_ADDRESS: i32 = 700;

fn query(stream: u64) -> i32 {
    cu!(cuStreamQuery(stream => u64))
}

fn synchronize(stream: u64) -> i32 {
    cu!(cuStreamSynchronize(stream => u64))
}

fn set(address: u64, value: u32, stream: u64) -> i32 {
    cu!(cuMemsetD32Async(address => u64, value => u32, 1 => usize, stream => u64))
}

/// CUDA Driver API, "API synchronization behavior" and "Stream synchronization behavior": the legacy default stream
/// synchronises with all blocking streams of its context; streams made non-blocking do not.
#[test]
fn the_legacy_default_stream_waits_for_blocking_streams_only() {
    let _context = Context::new();
    let (blocking, apart, gate, address) = (stream(0), stream(1), Gate::default(), alloc(4));
    gate.block(apart);
    assert_eq!((set(address, 1, 0), cu!(cuStreamSynchronize(0 => u64))), (0, 0), "apart does not hold it up");
    let held = Gate::default();
    held.block(blocking);
    assert_eq!((set(address, 2, 0), query(0)), (0, NOT_READY));
    held.open();
    assert_eq!((synchronize(0), query(apart)), (0, NOT_READY));
    gate.open();
    assert_eq!(synchronize(apart), 0);
}

/// CUDA Driver API, `cuStreamWaitEvent`: "If cuEventRecord() has not been called on hEvent, this call acts as if the
/// record has already completed, and so is a functional no-op", and later calls of `cuEventRecord` do not affect it.
#[test]
fn a_wait_on_an_event_that_was_never_recorded_returns_at_once() {
    let _context = Context::new();
    let (waiting, other, event, gate) = (stream(1), stream(1), event(2), Gate::default());
    assert_eq!(cu!(cuStreamWaitEvent(waiting => u64, event => u64, 0 => u32)), 0);
    gate.block(other);
    assert_eq!(cu!(cuEventRecord(event => u64, other => u64)), 0);
    assert_eq!(synchronize(waiting), 0, "the record came after the wait");
    gate.open();
    assert_eq!(synchronize(other), 0);
}

/// CUDA Driver API, `cuEventRecord`: "can be called multiple times on the same event and will overwrite the previously
/// captured state"; `cuEventQuery`: an event whose work is pending is `CUDA_ERROR_NOT_READY`.
#[test]
fn a_record_replaces_the_one_before() {
    let _context = Context::new();
    let (first, second, event) = (stream(1), stream(1), event(2));
    let (held, later) = (Gate::default(), Gate::default());
    held.block(first);
    later.block(second);
    assert_eq!(cu!(cuEventRecord(event => u64, first => u64)), 0);
    assert_eq!(cu!(cuEventQuery(event => u64)), NOT_READY);
    assert_eq!(cu!(cuEventRecord(event => u64, second => u64)), 0);
    held.open();
    assert_eq!(synchronize(first), 0);
    assert_eq!(cu!(cuEventQuery(event => u64)), NOT_READY, "it stands for the second record");
    later.open();
    assert_eq!(cu!(cuEventSynchronize(event => u64)), 0);
}

/// CUDA Driver API, `cuEventElapsedTime`: `CUDA_ERROR_NOT_READY` while either event is pending, and
/// `CUDA_ERROR_INVALID_HANDLE` if either was never recorded.
#[test]
fn time_between_events_needs_both_to_be_done() {
    let _context = Context::new();
    let (stream, start, end, never) = (stream(1), event(0), event(0), event(0));
    let (gate, mut time) = (Gate::default(), 0f32);
    assert_eq!(cu!(cuEventRecord(start => u64, stream => u64)), 0);
    gate.block(stream);
    assert_eq!(cu!(cuEventRecord(end => u64, stream => u64)), 0);
    assert_eq!(cu!(cuEventElapsedTime(&mut time => *mut f32, start => u64, end => u64)), NOT_READY);
    assert_eq!(cu!(cuEventElapsedTime(&mut time => *mut f32, start => u64, never => u64)), 400);
    gate.open();
    assert_eq!(synchronize(stream), 0);
    assert_eq!(cu!(cuEventElapsedTime(&mut time => *mut f32, start => u64, end => u64)), 0);
    let mut back = 0f32;
    assert_eq!(cu!(cuEventElapsedTime(&mut back => *mut f32, end => u64, start => u64)), 0);
    assert_eq!(time, -back, "from real timestamps");
}

/// CUDA Driver API, "Difference between the driver and runtime APIs" and each function's "may also return error codes from
/// previous, asynchronous launches"; `CUDA_ERROR_ILLEGAL_ADDRESS`: "leaves the process in an inconsistent state and any
/// further CUDA work will return the same error".
#[test]
fn errors_of_kernels_come_late_and_stay() {
    let context = Context::new();
    let (held, address, gate) = (stream(1), alloc(4), Gate::default());
    let kernel = function(load(FAULTS).unwrap(), "oob_write").unwrap();
    gate.block(held);
    let offset = 1u64 << 30;
    assert_eq!(
        launch(kernel, 1, 1, held, &[param(&address), param(&offset)]),
        0,
        "the launch itself succeeds"
    );
    assert_eq!(set(address, 1, 0), 0, "nothing has failed yet");
    gate.open();
    assert_eq!(synchronize(held), ILLEGAL_ADDRESS);
    let mut other = 0u64;
    assert_eq!(cu!(cuMemAlloc_v2(&mut other => *mut u64, 4 => usize)), ILLEGAL_ADDRESS);
    assert_eq!(cu!(cuEventCreate(&mut other => *mut u64, 0 => u32)), ILLEGAL_ADDRESS);
    assert_eq!((cu!(cuCtxSynchronize()), synchronize(held)), (ILLEGAL_ADDRESS, ILLEGAL_ADDRESS));
    drop(context);
    // The error was the context's: another is well.
    let _context = Context::new();
    assert_eq!(set(alloc(4), 1, 0), 0);
}

/// CUDA Driver API, `cuLaunchHostFunc`: "the function will not be called in the event of an error in the CUDA context";
/// `cuStreamAddCallback`: "executed once, regardless of whether an error occurred", and told of it.
#[test]
fn host_functions_are_dropped_after_an_error_and_callbacks_are_not() {
    static CALLED: AtomicU32 = AtomicU32::new(0);
    static TOLD: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn host(_: *mut c_void) {
        CALLED.fetch_add(1, Ordering::SeqCst);
    }
    unsafe extern "C" fn callback(_: u64, state: i32, _: *mut c_void) {
        TOLD.store(state as u32, Ordering::SeqCst);
    }
    type HostFn = unsafe extern "C" fn(*mut c_void);
    type Callback = unsafe extern "C" fn(u64, i32, *mut c_void);
    let context = Context::new();
    let (held, address, gate, null) = (stream(1), alloc(4), Gate::default(), null_mut());
    let kernel = function(load(FAULTS).unwrap(), "oob_write").unwrap();
    gate.block(held);
    let offset = 1u64 << 30;
    assert_eq!(launch(kernel, 1, 1, held, &[param(&address), param(&offset)]), 0);
    assert_eq!(cu!(cuLaunchHostFunc(held => u64, host => HostFn, null => *mut c_void)), 0);
    assert_eq!(cu!(cuStreamAddCallback(held => u64, callback => Callback, null => *mut c_void, 0 => u32)), 0);
    gate.open();
    assert_eq!(synchronize(held), ILLEGAL_ADDRESS);
    // Its end waits for the streams' ends.
    drop(context);
    assert_eq!((CALLED.load(Ordering::SeqCst), TOLD.load(Ordering::SeqCst)), (0, ILLEGAL_ADDRESS as u32));
}

/// CUDA Driver API, `cuMemFree`: frees memory in use after the work that uses it; "API synchronization behavior".
#[test]
fn freeing_waits_for_the_work_of_the_context() {
    let _context = Context::new();
    let (busy, address, kept, gate) = (stream(1), alloc(4), alloc(4), Gate::default());
    gate.block(busy);
    let copy = cu!(cuMemcpyDtoDAsync_v2(kept => u64, address => u64, 4 => usize, busy => u64));
    assert_eq!((upload(address, &[42u32]), copy), (0, 0));
    std::thread::scope(|scope| {
        let mut context = 0u64;
        assert_eq!(cu!(cuCtxGetCurrent(&mut context => *mut u64)), 0);
        let freeing = scope.spawn(move || {
            assert_eq!(cu!(cuCtxSetCurrent(context => u64)), 0);
            let code = cu!(cuMemFree_v2(address => u64));
            (code, query(busy))
        });
        gate.open();
        assert_eq!(freeing.join().unwrap(), (0, 0), "what used it was done when the call returned");
    });
    assert_eq!(download::<u32>(kept, 1), Ok(vec![42]));
}
