//! Memory through the CUDA ABI: exact bounds, kinds, pools, and what happens after a free.

mod cuda_support;

use cuda_support::*;
use std::ffi::c_void;

const INVALID_VALUE: i32 = 1;
const OUT_OF_MEMORY: i32 = 2;

#[test]
fn copies_round_trip_and_are_checked_to_the_byte() {
    let _context = Context::new();
    let address = alloc(10);
    assert_eq!(address % 256, 0);
    assert_eq!(upload(address, &[7u8; 10]), 0);
    assert_eq!(download::<u8>(address, 10), Ok(vec![7; 10]));
    assert_eq!(upload(address, &[7u8; 11]), INVALID_VALUE);
    assert_eq!(upload(address + 1, &[7u8; 10]), INVALID_VALUE);
    assert_eq!(download::<u8>(address - 1, 1), Err(INVALID_VALUE));
    assert_eq!(cu!(cuMemFree_v2(address + 1 => u64)), INVALID_VALUE);
    assert_eq!(cu!(cuMemFree_v2(address => u64)), 0);
    assert_eq!(cu!(cuMemFree_v2(address => u64)), INVALID_VALUE);
    assert_eq!(download::<u8>(address, 1), Err(INVALID_VALUE));
    assert_ne!(alloc(10), address, "a freed address must not come back at once");
}

#[test]
fn fills_of_each_width() {
    let _context = Context::new();
    let address = alloc(64);
    assert_eq!(cu!(cuMemsetD8_v2(address => u64, 0 => u8, 64 => usize)), 0);
    assert_eq!(cu!(cuMemsetD16_v2(address + 2 => u64, 0x1234 => u16, 1 => usize)), 0);
    assert_eq!(cu!(cuMemsetD32_v2(address + 4 => u64, 0xdead_beef => u32, 2 => usize)), 0);
    assert_eq!(cu!(cuMemsetD32_v2(address + 2 => u64, 0 => u32, 1 => usize)), INVALID_VALUE);
    assert_eq!(cu!(cuMemsetD32_v2(address => u64, 0 => u32, 17 => usize)), INVALID_VALUE);
    assert_eq!(cu!(cuMemsetD32_v2(address => u64, 0 => u32, usize::MAX => usize)), INVALID_VALUE);
    let words = download::<u32>(address, 4).unwrap();
    assert_eq!(words, [0x1234_0000, 0xdead_beef, 0xdead_beef, 0]);
    let rows = cu!(cuMemsetD2D8_v2(
        address => u64, 16 => usize, 9 => u8, 2 => usize, 4 => usize
    ));
    assert_eq!(rows, 0);
    let bytes = download::<u8>(address, 64).unwrap();
    assert_eq!((bytes[16], bytes[17], bytes[18], bytes[49]), (9, 9, 0, 9));
}

#[test]
fn a_pageable_source_may_change_after_the_call() {
    let _context = Context::new();
    let (stream, gate) = (stream(1), Gate::default());
    let address = alloc(4);
    gate.block(stream);
    let mut source = 1u32;
    let code = cu!(cuMemcpyHtoDAsync_v2(
        address => u64, std::ptr::from_ref(&source).cast() => *const c_void, 4 => usize, stream => u64
    ));
    assert_eq!(code, 0);
    source += 1;
    gate.open();
    assert_eq!(cu!(cuStreamSynchronize(stream => u64)), 0);
    assert_eq!(download::<u32>(address, 1), Ok(vec![1]));
    assert_eq!(source, 2);
}

#[test]
fn page_locked_memory_is_copied_when_the_stream_gets_there() {
    let _context = Context::new();
    let (stream, gate) = (stream(1), Gate::default());
    let mut pinned = 0u64;
    assert_eq!(cu!(cuMemHostAlloc(&mut pinned => *mut u64, 4 => usize, 0 => u32)), 0);
    let value = pinned as *mut u32;
    let address = alloc(4);
    gate.block(stream);
    let code = cu!(cuMemcpyHtoDAsync_v2(
        address => u64, value.cast() => *const c_void, 4 => usize, stream => u64
    ));
    assert_eq!(code, 0);
    // SAFETY: page-locked memory of four bytes; the stream is blocked before it reads them.
    unsafe { value.write(5) };
    gate.open();
    assert_eq!(cu!(cuStreamSynchronize(stream => u64)), 0);
    assert_eq!(download::<u32>(address, 1), Ok(vec![5]));
    assert_eq!(cu!(cuMemFree_v2(pinned => u64)), INVALID_VALUE);
    assert_eq!(cu!(cuMemFreeHost(pinned => u64)), 0);
    assert_eq!(cu!(cuMemFreeHost(pinned => u64)), INVALID_VALUE);
}

#[test]
fn registration_refuses_overlap_and_strangers() {
    let _context = Context::new();
    let mut data = vec![0u8; 4096];
    let at = data.as_mut_ptr();
    let register = |at: *mut u8, len| cu!(cuMemHostRegister_v2(at => *mut u8, len => usize, 0 => u32));
    assert_eq!(register(at, 4096), 0);
    assert_eq!(register(at.wrapping_add(100), 1), 712);
    let mut device = 0;
    let code = cu!(cuMemHostGetDevicePointer_v2(
        &mut device => *mut u64, at.wrapping_add(8) => *mut u8, 0 => u32
    ));
    assert_eq!((code, device), (0, at as u64 + 8));
    assert_eq!(cu!(cuMemHostUnregister(at => *mut u8)), 0);
    assert_eq!(cu!(cuMemHostUnregister(at => *mut u8)), 713);
}

#[test]
fn managed_memory_has_one_address() {
    let _context = Context::new();
    let mut address = 0u64;
    assert_eq!(cu!(cuMemAllocManaged(&mut address => *mut u64, 8 => usize, 1 => u32)), 0);
    assert_eq!(cu!(cuMemsetD32_v2(address => u64, 3 => u32, 2 => usize)), 0);
    assert_eq!(cu!(cuCtxSynchronize()), 0);
    // SAFETY: managed memory of eight bytes, and nothing runs.
    assert_eq!(unsafe { (address as *const u32).add(1).read() }, 3);
    let prefetch = |len: usize| cu!(cuMemPrefetchAsync(address => u64, len => usize, 0 => i32, 0 => u64));
    assert_eq!((prefetch(8), prefetch(9)), (0, INVALID_VALUE));
    let (mut kind, mut managed) = (0u32, 0u32);
    assert_eq!(cu!(cuPointerGetAttribute(&mut kind => *mut u32, 2 => i32, address => u64)), 0);
    assert_eq!(cu!(cuPointerGetAttribute(&mut managed => *mut u32, 8 => i32, address => u64)), 0);
    assert_eq!((kind, managed), (2, 1));
    assert_eq!(cu!(cuMemFree_v2(address => u64)), 0);
}

#[test]
fn the_device_is_finite() {
    let _context = Context::new();
    let mut address = 0;
    for len in [8 << 30, usize::MAX, usize::MAX - 255] {
        assert_eq!(cu!(cuMemAlloc_v2(&mut address => *mut u64, len => usize)), OUT_OF_MEMORY);
    }
    assert_eq!(cu!(cuMemAlloc_v2(&mut address => *mut u64, 0 => usize)), INVALID_VALUE);
    assert_eq!(cu!(cuMemAlloc_v2(std::ptr::null_mut() => *mut u64, 1 => usize)), INVALID_VALUE);
}

#[test]
fn stream_ordered_memory_lives_until_its_stream_frees_it() {
    let _context = Context::new();
    let (stream, gate) = (stream(1), Gate::default());
    let (mut pool, mut address) = (0u64, 0u64);
    let mut props = [0u64; 11];
    props[0] = 1;
    props[1] = 1;
    assert_eq!(cu!(cuMemPoolCreate(&mut pool => *mut u64, props.as_ptr() => *const u64)), 0);
    let used = || {
        let mut used = 0u64;
        assert_eq!(cu!(cuMemPoolGetAttribute(pool => u64, 7 => i32, &mut used => *mut u64)), 0);
        used
    };
    let code = cu!(cuMemAllocFromPoolAsync(
        &mut address => *mut u64, 100 => usize, pool => u64, stream => u64
    ));
    assert_eq!((code, used()), (0, 100));
    gate.block(stream);
    assert_eq!(cu!(cuMemFreeAsync(address => u64, stream => u64)), 0);
    assert_eq!(used(), 100, "the stream has not come to the free");
    assert_eq!(cu!(cuMemFreeAsync(address => u64, stream => u64)), INVALID_VALUE);
    assert_eq!(download::<u8>(address, 1), Err(INVALID_VALUE));
    gate.open();
    assert_eq!(cu!(cuStreamSynchronize(stream => u64)), 0);
    assert_eq!(used(), 0);
    assert_eq!(cu!(cuMemPoolTrimTo(pool => u64, 0 => usize)), 0);
    assert_eq!(cu!(cuMemPoolDestroy(pool => u64)), 0);
    assert_eq!(cu!(cuMemPoolDestroy(pool => u64)), 400);
}

#[test]
fn a_copy_whose_memory_is_freed_before_it_runs_is_caught() {
    let context = Context::new();
    let (freeing, copying, gate) = (stream(1), stream(1), Gate::default());
    let mut address = 0u64;
    assert_eq!(cu!(cuMemAllocAsync(&mut address => *mut u64, 4 => usize, freeing => u64)), 0);
    gate.block(copying);
    let fill = cu!(cuMemsetD32Async(address => u64, 0 => u32, 1 => usize, copying => u64));
    assert_eq!(fill, 0);
    assert_eq!(cu!(cuMemFreeAsync(address => u64, freeing => u64)), 0);
    assert_eq!(cu!(cuStreamSynchronize(freeing => u64)), 0);
    gate.open();
    assert_eq!(cu!(cuStreamSynchronize(copying => u64)), 700);
    assert_eq!(cu!(cuCtxSynchronize()), 700);
    drop(context);
}
