//! What the environment sets. It is read once, so each test runs itself again as a process with the setting.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cuda_support;

use cuda_support::*;
use std::process::Command;

/// Whether this is the process with the settings; if not, runs it.
fn with(test: &str, settings: &[(&str, &str)]) -> bool {
    if std::env::var_os("SOFTGPU_TEST_INNER").is_some() {
        return true;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env("SOFTGPU_TEST_INNER", "1")
        .envs(settings.iter().copied())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    false
}

#[test]
fn two_small_devices() {
    if !with("two_small_devices", &[("SOFTGPU_DEVICES", "2"), ("SOFTGPU_MEMORY", "1M")]) {
        return;
    }
    let first = Context::new();
    let mut count = 0;
    assert_eq!(cu!(cuDeviceGetCount(&mut count => *mut i32)), 0);
    assert_eq!(count, 2);
    let mine = alloc(1 << 19);
    let (mut free, mut total, mut more) = (0usize, 0usize, 0u64);
    assert_eq!(cu!(cuMemGetInfo_v2(&mut free => *mut usize, &mut total => *mut usize)), 0);
    assert_eq!((free, total), (1 << 19, 1 << 20));
    assert_eq!(cu!(cuMemAlloc_v2(&mut more => *mut u64, (1 << 19) + 1 => usize)), 2);

    let mut second = 0u64;
    assert_eq!(cu!(cuCtxCreate_v2(&mut second => *mut u64, 0 => u32, 1 => i32)), 0);
    let theirs = alloc(4);
    let (stream, event) = (stream(1), event(2));
    assert_eq!(cu!(cuMemcpyDtoD_v2(theirs => u64, mine => u64, 4 => usize)), 0);
    assert_eq!(cu!(cuCtxSynchronize()), 0);
    assert_eq!(cu!(cuCtxPopCurrent_v2(std::ptr::null_mut() => *mut u64)), 0);
    // An event is recorded on streams of its own context only, and waited for on any.
    assert_eq!(cu!(cuEventRecord(event => u64, 0 => u64)), 400);
    assert_eq!(cu!(cuEventRecord(event => u64, stream => u64)), 0);
    assert_eq!(cu!(cuStreamWaitEvent(0 => u64, event => u64, 0 => u32)), 0);
    let (mut can, mut cannot) = (-1, -1);
    assert_eq!(cu!(cuDeviceCanAccessPeer(&mut can => *mut i32, 0 => i32, 1 => i32)), 0);
    assert_eq!(cu!(cuDeviceCanAccessPeer(&mut cannot => *mut i32, 0 => i32, 0 => i32)), 0);
    assert_eq!((can, cannot), (1, 0));
    let enable = || cu!(cuCtxEnablePeerAccess(second => u64, 0 => u32));
    assert_eq!((enable(), enable()), (0, 704));
    assert_eq!(cu!(cuCtxDestroy_v2(second => u64)), 0);
    drop(first);
}

#[test]
fn an_old_driver_lacks_new_symbols() {
    if !with("an_old_driver_lacks_new_symbols", &[("SOFTGPU_CUDA_VERSION", "11030")]) {
        return;
    }
    let mut version = 0;
    assert_eq!(cu!(cuDriverGetVersion(&mut version => *mut i32)), 0);
    assert_eq!(version, 11030);
    assert_eq!(softgpu::cuda::resolve("cuGetProcAddress_v2"), None);
    assert_eq!(softgpu::cuda::resolve("cuCtxCreate_v3"), None);
    assert!(softgpu::cuda::resolve("cuMemAllocAsync").is_some());
}

#[test]
fn no_device() {
    if with("no_device", &[("SOFTGPU_DEVICES", "0")]) {
        assert_eq!(cu!(cuInit(0 => u32)), 100);
    }
}

#[test]
fn rules_from_the_environment() {
    if with("rules_from_the_environment", &[("SOFTGPU_FAULTS", "cuInit:1=999")]) {
        assert_eq!(cu!(cuInit(0 => u32)), 999);
        assert_eq!(cu!(cuInit(0 => u32)), 0);
    }
}

#[test]
fn streams_on_one_hardware_queue_hold_each_other_up() {
    let test = "streams_on_one_hardware_queue_hold_each_other_up";
    if !with(test, &[("SOFTGPU_HW_QUEUES", "2")]) {
        return;
    }
    let _context = Context::new();
    // In turns: the first and the third share a queue, the second has the other.
    let (first, second, third, gate) = (stream(1), stream(1), stream(1), Gate::default());
    gate.block(first);
    let address = alloc(8);
    assert_eq!(cu!(cuMemsetD32Async(address => u64, 1 => u32, 1 => usize, second => u64)), 0);
    assert_eq!(cu!(cuMemsetD32Async(address + 4 => u64, 1 => u32, 1 => usize, third => u64)), 0);
    assert_eq!(cu!(cuStreamSynchronize(second => u64)), 0);
    // Nothing in the program makes it wait.
    assert_eq!(cu!(cuStreamQuery(third => u64)), 600);
    gate.open();
    assert_eq!(cu!(cuStreamSynchronize(third => u64)), 0);
}
