//! Streams, events and handles through the CUDA ABI.

mod cuda_support;

use cuda_support::*;
use std::ffi::c_void;
use std::sync::atomic::{AtomicI32, Ordering};

const INVALID_HANDLE: i32 = 400;
const NOT_READY: i32 = 600;

#[test]
fn a_blocked_stream_does_not_delay_another() {
    let _context = Context::new();
    let (blocked, free, gate) = (stream(1), stream(1), Gate::default());
    gate.block(blocked);
    assert_eq!(cu!(cuStreamQuery(blocked => u64)), NOT_READY);
    let address = alloc(4);
    assert_eq!(cu!(cuMemsetD32Async(address => u64, 1 => u32, 1 => usize, free => u64)), 0);
    assert_eq!(cu!(cuStreamSynchronize(free => u64)), 0);
    assert_eq!(cu!(cuStreamQuery(blocked => u64)), NOT_READY);
    gate.open();
    assert_eq!(cu!(cuStreamSynchronize(blocked => u64)), 0);
    assert_eq!(cu!(cuStreamQuery(blocked => u64)), 0);
}

#[test]
fn the_null_stream_waits_for_blocking_streams_and_they_for_it() {
    let _context = Context::new();
    let (blocking, other, apart, gate) = (stream(0), stream(0), stream(1), Gate::default());
    gate.block(blocking);
    let (done, after, free) = (event(2), event(2), event(2));
    assert_eq!(cu!(cuEventRecord(done => u64, 0 => u64)), 0);
    assert_eq!(cu!(cuEventRecord(after => u64, other => u64)), 0);
    assert_eq!(cu!(cuEventRecord(free => u64, apart => u64)), 0);
    assert_eq!(cu!(cuEventSynchronize(free => u64)), 0);
    assert_eq!(cu!(cuEventQuery(done => u64)), NOT_READY);
    assert_eq!(cu!(cuEventQuery(after => u64)), NOT_READY);
    gate.open();
    assert_eq!(cu!(cuEventSynchronize(after => u64)), 0);
    assert_eq!(cu!(cuEventQuery(done => u64)), 0);
}

#[test]
fn events_that_were_never_recorded_hold_nothing_up() {
    let _context = Context::new();
    let (event, stream) = (event(0), stream(1));
    assert_eq!(cu!(cuEventQuery(event => u64)), 0);
    assert_eq!(cu!(cuEventSynchronize(event => u64)), 0);
    assert_eq!(cu!(cuStreamWaitEvent(stream => u64, event => u64, 0 => u32)), 0);
    assert_eq!(cu!(cuStreamSynchronize(stream => u64)), 0);
    let mut time = 0f32;
    let elapsed = cu!(cuEventElapsedTime(&mut time => *mut f32, event => u64, event => u64));
    assert_eq!(elapsed, INVALID_HANDLE);
}

#[test]
fn a_stream_waits_for_the_record_it_saw() {
    let _context = Context::new();
    let (first, second, waiting) = (stream(1), stream(1), stream(1));
    let (gate, later, event) = (Gate::default(), Gate::default(), event(2));
    gate.block(first);
    assert_eq!(cu!(cuEventRecord(event => u64, first => u64)), 0);
    assert_eq!(cu!(cuStreamWaitEvent(waiting => u64, event => u64, 0 => u32)), 0);
    later.block(second);
    assert_eq!(cu!(cuEventRecord(event => u64, second => u64)), 0);
    assert_eq!(cu!(cuStreamQuery(waiting => u64)), NOT_READY);
    gate.open();
    // The event was moved, but not the wait.
    assert_eq!(cu!(cuStreamSynchronize(waiting => u64)), 0);
    assert_eq!(cu!(cuEventQuery(event => u64)), NOT_READY);
    // The wait outlives the event, and the record outlives the stream's handle.
    assert_eq!(cu!(cuStreamWaitEvent(waiting => u64, event => u64, 0 => u32)), 0);
    assert_eq!(cu!(cuEventDestroy_v2(event => u64)), 0);
    assert_eq!(cu!(cuStreamDestroy_v2(second => u64)), 0);
    assert_eq!(cu!(cuStreamQuery(waiting => u64)), NOT_READY);
    later.open();
    assert_eq!(cu!(cuStreamSynchronize(waiting => u64)), 0);
}

#[test]
fn time_passes_between_records() {
    let _context = Context::new();
    let (start, end, quiet) = (event(0), event(0), event(2));
    for event in [start, end, quiet] {
        assert_eq!(cu!(cuEventRecord(event => u64, 0 => u64)), 0);
    }
    assert_eq!(cu!(cuCtxSynchronize()), 0);
    let mut time = -1f32;
    assert_eq!(cu!(cuEventElapsedTime(&mut time => *mut f32, start => u64, end => u64)), 0);
    assert!(time >= 0.0);
    let code = cu!(cuEventElapsedTime(&mut time => *mut f32, start => u64, quiet => u64));
    assert_eq!(code, INVALID_HANDLE, "an event without timing has no time");
}

#[test]
fn a_destroyed_stream_finishes_its_work() {
    let _context = Context::new();
    let (stream, gate, event) = (stream(1), Gate::default(), event(2));
    gate.block(stream);
    let address = alloc(4);
    assert_eq!(cu!(cuMemsetD32Async(address => u64, 8 => u32, 1 => usize, stream => u64)), 0);
    assert_eq!(cu!(cuEventRecord(event => u64, stream => u64)), 0);
    assert_eq!(cu!(cuStreamDestroy_v2(stream => u64)), 0);
    assert_eq!(cu!(cuStreamQuery(stream => u64)), INVALID_HANDLE);
    gate.open();
    assert_eq!(cu!(cuEventSynchronize(event => u64)), 0);
    assert_eq!(download::<u32>(address, 1), Ok(vec![8]));
}

#[test]
fn handles_that_are_none_are_refused() {
    let _context = Context::new();
    let (stream, event) = (stream(0), event(0));
    for bad in [3u64, 0xdead_beef_0000, u64::MAX, event] {
        assert_eq!(cu!(cuStreamSynchronize(bad => u64)), INVALID_HANDLE);
        assert_eq!(cu!(cuStreamDestroy_v2(bad => u64)), INVALID_HANDLE);
        assert_eq!(cu!(cuEventRecord(event => u64, bad => u64)), INVALID_HANDLE);
    }
    for bad in [0u64, 3, 0xdead_beef_0000, stream] {
        assert_eq!(cu!(cuEventQuery(bad => u64)), INVALID_HANDLE);
        assert_eq!(cu!(cuModuleUnload(bad => u64)), INVALID_HANDLE);
        assert_eq!(launch(bad, 1, 1, 0, &[]), INVALID_HANDLE);
        assert_eq!(cu!(cuGraphLaunch(bad => u64, 0 => u64)), INVALID_HANDLE);
        assert_eq!(cu!(cuCtxSetCurrent(bad.max(1) => u64)), 201);
    }
    assert_eq!(cu!(cuEventDestroy_v2(event => u64)), 0);
    assert_eq!(cu!(cuEventDestroy_v2(event => u64)), INVALID_HANDLE);
}

#[test]
fn no_calls_from_host_functions() {
    static SEEN: AtomicI32 = AtomicI32::new(-1);
    unsafe extern "C" fn call(_: *mut c_void) {
        SEEN.store(cu!(cuCtxSynchronize()), Ordering::SeqCst);
    }
    type HostFn = unsafe extern "C" fn(*mut c_void);
    let _context = Context::new();
    let stream = stream(0);
    let null = std::ptr::null_mut();
    assert_eq!(cu!(cuLaunchHostFunc(stream => u64, call => HostFn, null => *mut c_void)), 0);
    assert_eq!(cu!(cuStreamSynchronize(stream => u64)), 0);
    assert_eq!(SEEN.load(Ordering::SeqCst), 800);
}

#[test]
fn contexts_are_a_stack_per_thread() {
    let first = Context::new();
    let second = Context::new();
    let current = || {
        let mut current = 1u64;
        assert_eq!(cu!(cuCtxGetCurrent(&mut current => *mut u64)), 0);
        current
    };
    assert_eq!(current(), second.0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(current(), 0);
            assert_eq!(cu!(cuCtxSynchronize()), 201);
            assert_eq!(cu!(cuCtxPopCurrent_v2(std::ptr::null_mut() => *mut u64)), 201);
        });
    });
    let stream = stream(0);
    drop(second);
    assert_eq!(current(), first.0);
    assert_eq!(cu!(cuStreamQuery(stream => u64)), INVALID_HANDLE, "it went with its context");
}

#[test]
fn tearing_a_context_down_ends_its_waits() {
    let waiting = Context::new();
    let held = stream(1);
    let elsewhere = Context::new();
    let (source, gate, event) = (stream(1), Gate::default(), event(2));
    gate.block(source);
    assert_eq!(cu!(cuEventRecord(event => u64, source => u64)), 0);
    assert_eq!(cu!(cuStreamWaitEvent(held => u64, event => u64, 0 => u32)), 0);
    drop(waiting);
    gate.open();
    assert_eq!(cu!(cuStreamSynchronize(source => u64)), 0);
    drop(elsewhere);
}

#[test]
fn the_primary_context_lives_as_long_as_it_is_held() {
    assert_eq!(cu!(cuInit(0 => u32)), 0);
    let (mut first, mut second) = (0u64, 0u64);
    assert_eq!(cu!(cuDevicePrimaryCtxRetain(&mut first => *mut u64, 0 => i32)), 0);
    assert_eq!(cu!(cuDevicePrimaryCtxRetain(&mut second => *mut u64, 0 => i32)), 0);
    assert_eq!(first, second);
    assert_eq!(cu!(cuCtxDestroy_v2(first => u64)), 201);
    assert_eq!(cu!(cuCtxSetCurrent(first => u64)), 0);
    assert_eq!(cu!(cuDevicePrimaryCtxRelease_v2(0 => i32)), 0);
    assert_eq!(cu!(cuCtxSynchronize()), 0);
    assert_eq!(cu!(cuDevicePrimaryCtxRelease_v2(0 => i32)), 0);
    assert_eq!(cu!(cuCtxSynchronize()), 709);
    assert_eq!(cu!(cuDevicePrimaryCtxRelease_v2(0 => i32)), 201);
    assert_eq!(cu!(cuDevicePrimaryCtxRetain(&mut first => *mut u64, 1 => i32)), 101);
}
