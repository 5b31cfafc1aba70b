//! Programs that misuse the driver, or leave it in the middle: an error each time, never a hang, a crash or a panic.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cuda_support;

use cuda_support::*;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, Ordering};

const NOT_INITIALIZED: i32 = 3;

#[test]
fn a_child_of_a_fork_is_refused_and_does_not_hang() {
    let test = "a_child_of_a_fork_is_refused_and_does_not_hang";
    if !alone(test) {
        return;
    }
    let _context = Context::new();
    let (stream, address) = (stream(1), alloc(4));
    assert_eq!(cu!(cuMemsetD32Async(address => u64, 1 => u32, 1 => usize, stream => u64)), 0);
    // SAFETY: the child calls the driver, which takes no lock there, and leaves without unwinding.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let init = cu!(cuInit(0 => u32));
        let wait = cu!(cuStreamSynchronize(stream => u64));
        let hip = {
            let entry = softgpu::hip::resolve("hipDeviceSynchronize").unwrap();
            // SAFETY: the type of the vendor's header.
            let entry: extern "C" fn() -> i32 = unsafe { std::mem::transmute(entry) };
            entry()
        };
        let refused = [init, wait, hip] == [NOT_INITIALIZED; 3];
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(if refused { 0 } else { 1 }) };
    }
    let mut status = -1;
    // SAFETY: our own child, and a place for its status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child saw something else than NOT_INITIALIZED");
    assert_eq!(cu!(cuStreamSynchronize(stream => u64)), 0);
    assert_eq!(download::<u32>(address, 1), Ok(vec![1]));
}

#[test]
fn a_process_may_end_with_work_in_flight() {
    let test = "a_process_may_end_with_work_in_flight";
    if std::env::var_os("SOFTGPU_TEST_INNER").is_none() {
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test])
            .env("SOFTGPU_TEST_INNER", "1")
            .status();
        assert_eq!(status.unwrap().code(), Some(17));
        return;
    }
    unsafe extern "C" fn for_ever(_: *mut c_void) {
        loop {
            std::thread::park();
        }
    }
    type HostFn = unsafe extern "C" fn(*mut c_void);
    let context = Context::new();
    let (stream, address) = (stream(1), alloc(4));
    assert_eq!(cu!(cuLaunchHostFunc(stream => u64, for_ever => HostFn, null_mut() => *mut c_void)), 0);
    assert_eq!(cu!(cuMemsetD32Async(address => u64, 1 => u32, 1 => usize, stream => u64)), 0);
    assert_eq!(cu!(cuStreamQuery(stream => u64)), 600);
    std::mem::forget(context);
    // Runs what the C library runs at exit.
    std::process::exit(17);
}

#[test]
fn sizes_that_overflow_are_refused() {
    let _context = Context::new();
    let (address, stream, mut out) = (alloc(64), stream(1), 0u64);
    for len in [usize::MAX, usize::MAX - 255, 1 << 63, 1 << 48] {
        assert_eq!(cu!(cuMemAlloc_v2(&mut out => *mut u64, len => usize)), 2);
        assert_eq!(cu!(cuMemAllocManaged(&mut out => *mut u64, len => usize, 1 => u32)), 2);
        assert_ne!(cu!(cuMemHostAlloc(&mut out => *mut u64, len => usize, 0 => u32)), 0);
        assert_eq!(cu!(cuMemAllocAsync(&mut out => *mut u64, len => usize, stream => u64)), 2);
        assert_eq!(cu!(cuMemsetD8Async(address => u64, 1 => u8, len => usize, stream => u64)), 1);
        assert_eq!(cu!(cuMemsetD32Async(address => u64, 1 => u32, len => usize, stream => u64)), 1);
        let to = address + 8;
        assert_eq!(cu!(cuMemcpyDtoDAsync_v2(to => u64, address => u64, len => usize, stream => u64)), 1);
        let code = cu!(cuMemsetD2D8_v2(address => u64, len => usize, 1 => u8, 2 => usize, len => usize));
        assert_eq!(code, 1);
        // A list that long does not exist.
        let nodes = [0u64; 1];
        let mut graph = 0u64;
        assert_eq!(cu!(cuGraphCreate(&mut graph => *mut u64, 0 => u32)), 0);
        let code = cu!(cuGraphAddEmptyNode(
            &mut out => *mut u64, graph => u64, nodes.as_ptr() => *const u64, len => usize
        ));
        assert_eq!(code, 1);
    }
    assert_eq!(out, 0);
}

#[test]
fn objects_of_another_context_are_refused() {
    let first = Context::new();
    let event = event(2);
    let module =
        load(".version 6.0\n.target sm_52\n.address_size 64\n.visible .entry k() { ret; }\n").unwrap();
    let kernel = function(module, "k").unwrap();
    let second = Context::new();
    let stream = stream(1);
    assert_eq!(
        cu!(cuEventRecord(event => u64, stream => u64)),
        400,
        "an event is recorded in its own context only"
    );
    assert_eq!(launch(kernel, 1, 1, stream, &[]), 400);
    // Handles of another kind are none of this one.
    for (handle, of) in [(stream, "stream"), (module, "module"), (first.0, "context")] {
        assert_eq!(cu!(cuEventQuery(handle => u64)), 400, "{of}");
        assert_eq!(cu!(cuGraphDestroy(handle => u64)), 400, "{of}");
        assert_eq!(cu!(cuMemPoolDestroy(handle => u64)), 400, "{of}");
    }
    drop(second);
    drop(first);
    assert_eq!(cu!(cuModuleUnload(module => u64)), 400, "it went with its context");
}

#[test]
fn launches_beyond_the_limits_are_refused() {
    let _context = Context::new();
    let module =
        load(".version 6.0\n.target sm_52\n.address_size 64\n.visible .entry k() { ret; }\n").unwrap();
    let kernel = function(module, "k").unwrap();
    let shape = |grid: [u32; 3], block: [u32; 3], shared: u32| {
        cu!(cuLaunchKernel(
            kernel => u64, grid[0] => u32, grid[1] => u32, grid[2] => u32, block[0] => u32, block[1] => u32,
            block[2] => u32, shared => u32, 0 => u64, null_mut() => *mut u64, null_mut() => *mut u64,
        ))
    };
    for (grid, block) in [
        ([0, 1, 1], [1, 1, 1]),
        ([1, 1, 1], [1, 0, 1]),
        ([1, 1, 1], [1025, 1, 1]),
        ([1, 1, 1], [32, 33, 1]),
        ([1, 1, 1], [1, 1, 65]),
        ([1 << 31, 1, 1], [1, 1, 1]),
        ([1, 65536, 1], [1, 1, 1]),
        ([u32::MAX; 3], [u32::MAX; 3]),
    ] {
        assert_eq!(shape(grid, block, 0), 1, "{grid:?} {block:?}");
    }
    assert_eq!(shape([1; 3], [1; 3], u32::MAX), 1);
    assert_eq!((shape([1; 3], [1024, 1, 1], 0), cu!(cuCtxSynchronize())), (0, 0));
}

#[test]
fn callbacks_of_every_kind_may_not_call_back() {
    static SEEN: [AtomicI32; 3] = [const { AtomicI32::new(-1) }; 3];
    unsafe extern "C" fn host(_: *mut c_void) {
        SEEN[0].store(cu!(cuCtxSynchronize()), Ordering::SeqCst);
    }
    unsafe extern "C" fn callback(stream: u64, _: i32, _: *mut c_void) {
        SEEN[1].store(cu!(cuStreamSynchronize(stream => u64)), Ordering::SeqCst);
    }
    unsafe extern "C" fn node(_: *mut c_void) {
        let mut address = 0u64;
        SEEN[2].store(cu!(cuMemAlloc_v2(&mut address => *mut u64, 4 => usize)), Ordering::SeqCst);
    }
    type HostFn = unsafe extern "C" fn(*mut c_void);
    type Callback = unsafe extern "C" fn(u64, i32, *mut c_void);
    let _context = Context::new();
    let (stream, null) = (stream(1), null_mut());
    assert_eq!(cu!(cuLaunchHostFunc(stream => u64, host => HostFn, null => *mut c_void)), 0);
    let code = cu!(cuStreamAddCallback(stream => u64, callback => Callback, null => *mut c_void, 0 => u32));
    assert_eq!(code, 0);
    let (mut graph, mut exec, mut made) = (0u64, 0u64, 0u64);
    assert_eq!(cu!(cuGraphCreate(&mut graph => *mut u64, 0 => u32)), 0);
    let params = [node as HostFn as usize as u64, 0];
    let code = cu!(cuGraphAddHostNode(
        &mut made => *mut u64, graph => u64, null_mut() => *mut u64, 0 => usize, params.as_ptr() => *const u64
    ));
    assert_eq!(code, 0);
    assert_eq!(cu!(cuGraphInstantiateWithFlags(&mut exec => *mut u64, graph => u64, 0 => u64)), 0);
    assert_eq!(cu!(cuGraphLaunch(exec => u64, stream => u64)), 0);
    assert_eq!(cu!(cuStreamSynchronize(stream => u64)), 0);
    assert_eq!(SEEN.each_ref().map(|seen| seen.load(Ordering::SeqCst)), [800; 3]);
}

#[test]
fn a_primary_context_survives_that_another_thread_lets_go_of_it() {
    assert_eq!(cu!(cuInit(0 => u32)), 0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let mut context = 0u64;
                    assert_eq!(cu!(cuDevicePrimaryCtxRetain(&mut context => *mut u64, 0 => i32)), 0);
                    assert_eq!(cu!(cuCtxSetCurrent(context => u64)), 0);
                    let event = event(2);
                    assert_eq!(cu!(cuEventQuery(event => u64)), 0);
                    assert_eq!(cu!(cuDevicePrimaryCtxRelease_v2(0 => i32)), 0);
                }
            });
        }
    });
}
