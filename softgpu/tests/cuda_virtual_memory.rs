//! Virtual memory management through the CUDA ABI.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cuda_support;

use cuda_support::*;

const SIZE: usize = 2 << 20;
const INVALID_VALUE: i32 = 1;

/// An allocation's description: pinned, with which handles, on the first device.
fn prop(handles: u64) -> [u64; 4] {
    [1 | handles << 32, 1, 0, 0]
}

fn create(handles: u64) -> u64 {
    let mut handle = 0u64;
    let code = cu!(cuMemCreate(
        &mut handle => *mut u64, SIZE => usize, prop(handles).as_ptr() => *const u64, 0 => u64
    ));
    assert_eq!(code, 0);
    handle
}

fn reserve(len: usize) -> u64 {
    let mut address = 0u64;
    let code =
        cu!(cuMemAddressReserve(&mut address => *mut u64, len => usize, 0 => usize, 0 => u64, 0 => u64));
    assert_eq!(code, 0);
    address
}

fn map(address: u64, offset: usize, handle: u64) -> i32 {
    cu!(cuMemMap(address => u64, SIZE => usize, offset => usize, handle => u64, 0 => u64))
}

/// Gives the first device access: 0 for none, 1 to read, 3 to read and write.
fn allow(address: u64, len: usize, flags: i32) -> i32 {
    let access = [1i32, 0, flags];
    cu!(cuMemSetAccess(address => u64, len => usize, access.as_ptr() => *const i32, 1 => usize))
}

#[test]
fn memory_is_mapped_where_addresses_are_reserved() {
    let _context = Context::new();
    let mut granularity = 0usize;
    let code = cu!(cuMemGetAllocationGranularity(
        &mut granularity => *mut usize, prop(0).as_ptr() => *const u64, 0 => i32
    ));
    assert_eq!((code, granularity), (0, SIZE));
    let (address, handle) = (reserve(2 * SIZE), create(0));
    assert_eq!(map(address, 0, handle), 0);
    assert_eq!(map(address, 0, handle), INVALID_VALUE, "taken");
    assert_eq!(map(address + 1, 0, handle), INVALID_VALUE, "not aligned");
    assert_eq!(map(address + SIZE as u64, SIZE, handle), INVALID_VALUE, "beyond the memory");
    assert_eq!(map(address + 2 * SIZE as u64, 0, handle), INVALID_VALUE, "beyond the addresses");
    // Mapped, but nobody may access it.
    assert_eq!(upload(address, &[1u32]), INVALID_VALUE);
    assert_eq!(allow(address, 2 * SIZE, 3), INVALID_VALUE, "half of it is not mapped");
    // The same memory twice.
    assert_eq!((map(address + SIZE as u64, 0, handle), allow(address, 2 * SIZE, 3)), (0, 0));
    assert_eq!(upload(address, &[1u32, 2, 3]), 0);
    assert_eq!(download::<u32>(address + SIZE as u64, 3), Ok(vec![1, 2, 3]));
    let mut flags = 0u64;
    let location = [1i32, 0];
    let code = cu!(cuMemGetAccess(&mut flags => *mut u64, location.as_ptr() => *const i32, address => u64));
    assert_eq!((code, flags), (0, 3));
    // Mappings keep memory whose handle is gone.
    assert_eq!(cu!(cuMemRelease(handle => u64)), 0);
    assert_eq!(cu!(cuMemRelease(handle => u64)), 400);
    assert_eq!(download::<u32>(address, 1), Ok(vec![1]));
    assert_eq!(cu!(cuMemAddressFree(address => u64, 2 * SIZE => usize)), INVALID_VALUE, "still mapped");
    assert_eq!(cu!(cuMemUnmap(address => u64, 2 * SIZE => usize)), 0);
    assert_eq!(download::<u32>(address, 1), Err(INVALID_VALUE));
    assert_eq!(cu!(cuMemAddressFree(address => u64, 2 * SIZE => usize)), 0);
}

#[test]
fn memory_goes_to_others_as_a_descriptor() {
    let _context = Context::new();
    let (handle, mut fd, mut other) = (create(1), -1i32, 0u64);
    let export = |handle: u64, fd: &mut i32| cu!(cuMemExportToShareableHandle(fd => *mut i32, handle => u64, 1 => i32, 0 => u64));
    assert_eq!((export(handle, &mut fd), export(create(0), &mut -1)), (0, INVALID_VALUE));
    let import = |fd: i32, other: &mut u64| cu!(cuMemImportFromShareableHandle(other => *mut u64, fd as u64 => u64, 1 => i32));
    assert_eq!((import(fd, &mut other), import(9999, &mut 0)), (0, INVALID_VALUE));
    // SAFETY: a descriptor that the call made ours.
    unsafe { libc::close(fd) };
    let (first, second) = (reserve(SIZE), reserve(SIZE));
    assert_eq!((map(first, 0, handle), map(second, 0, other)), (0, 0));
    assert_eq!((allow(first, SIZE, 3), allow(second, SIZE, 1)), (0, 0));
    assert_eq!(upload(first, &[7u32]), 0);
    assert_eq!(download::<u32>(second, 1), Ok(vec![7]));
    let mut again = 0u64;
    assert_eq!(cu!(cuMemRetainAllocationHandle(&mut again => *mut u64, first => u64)), 0);
    assert_eq!(again, handle);
    for address in [first, second] {
        assert_eq!(cu!(cuMemUnmap(address => u64, SIZE => usize)), 0);
    }
    assert_eq!((cu!(cuMemRelease(handle => u64)), cu!(cuMemRelease(handle => u64))), (0, 0));
}
