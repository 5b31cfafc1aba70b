//! Devices, contexts, memory, streams and events through the HIP ABI.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod hip_support;

use hip_support::*;
use std::ffi::{CStr, CString, c_char, c_void};

const INVALID_VALUE: i32 = 1;
const INVALID_DIRECTION: i32 = 21;
const INVALID_DEVICE: i32 = 101;
const INVALID_HANDLE: i32 = 400;
const NOT_READY: i32 = 600;

/// The symbols that IREE's HIP driver loads.
const IREE: &str = "hipCtxSetCurrent hipCtxGetCurrent hipCtxPushCurrent hipCtxPopCurrent hipDeviceCanAccessPeer \
    hipDeviceEnablePeerAccess hipDeviceGet hipDeviceGetAttribute hipDeviceGetName hipDeviceGetUuid \
    hipDevicePrimaryCtxRelease hipDevicePrimaryCtxRetain hipDrvGraphAddMemcpyNode hipEventCreate \
    hipEventCreateWithFlags hipEventDestroy hipEventElapsedTime hipEventQuery hipEventRecord hipEventSynchronize \
    hipFree hipFreeAsync hipFuncGetAttribute hipFuncSetAttribute hipGetDeviceCount hipGetDeviceProperties \
    hipGetErrorName hipGetErrorString hipGetLastError hipGraphAddEmptyNode hipGraphAddEventRecordNode \
    hipGraphAddKernelNode hipGraphAddMemsetNode hipGraphCreate hipGraphDestroy hipGraphExecDestroy \
    hipGraphInstantiate hipGraphLaunch hipHostFree hipHostGetDevicePointer hipHostMalloc hipHostRegister \
    hipHostUnregister hipInit hipLaunchHostFunc hipLaunchKernel hipMalloc hipMallocFromPoolAsync hipMallocManaged \
    hipMallocAsync hipMemcpy hipMemcpyAsync hipMemcpyHtoDAsync hipMemPoolCreate hipMemPoolDestroy \
    hipMemPoolGetAttribute hipMemPoolSetAttribute hipMemPoolTrimTo hipMemPrefetchAsync hipMemset hipMemsetAsync \
    hipMemsetD8Async hipMemsetD16Async hipMemsetD32Async hipModuleGetFunction hipModuleGetGlobal \
    hipModuleLaunchKernel hipModuleLoadData hipModuleLoadDataEx hipModuleUnload hipSetDevice \
    hipStreamCreateWithFlags hipStreamDestroy hipStreamSynchronize hipStreamWaitEvent";

#[test]
fn the_table_has_what_programs_load() {
    let names: Vec<&str> = IREE.split_whitespace().collect();
    assert_eq!(names.len(), 75);
    for name in names {
        assert!(softgpu::hip::resolve(name).is_some(), "{name}");
    }
    let rows: Vec<_> = softgpu::hip::tables().iter().copied().flatten().collect();
    for row in &rows {
        assert!(row.symbol.starts_with(row.base), "{}", row.symbol);
        assert_eq!(rows.iter().filter(|other| other.symbol == row.symbol).count(), 1, "{}", row.symbol);
        let same = rows.iter().filter(|other| other.base == row.base && other.since == row.since);
        assert_eq!(same.count(), 1, "{} {}", row.base, row.since);
    }
    assert_eq!(softgpu::hip::resolve("cuInit"), None);
    assert_eq!(softgpu::hip::resolve("hipNoSuchThing"), None);
}

#[test]
fn names_are_found_by_version() {
    let look_up = |name: &CStr, version: i32| {
        let (mut address, mut status) = (1usize, -1);
        let code = hip!(hipGetProcAddress(
            name.as_ptr() => *const c_char, &mut address => *mut usize, version => i32, 0 => u64,
            &mut status => *mut i32
        ));
        (code, address, status)
    };
    let exported = |name: &str| softgpu::hip::resolve(name).unwrap() as usize;
    let properties = c"hipGetDeviceProperties";
    assert_eq!(look_up(properties, 60_342_134), (0, exported("hipGetDevicePropertiesR0600"), 0));
    assert_eq!(look_up(properties, 603), (0, exported("hipGetDevicePropertiesR0600"), 0));
    assert_eq!(look_up(properties, 50_221_151), (0, exported("hipGetDeviceProperties"), 0));
    assert_eq!(look_up(c"hipGetDevicePropertiesR0600", 60_342_134).0, 0);
    assert_eq!(look_up(c"hipLaunchHostFunc", 50_221_151), (INVALID_VALUE, 0, 2));
    assert_eq!(look_up(c"hipNoSuchThing", 60_342_134), (INVALID_VALUE, 0, 1));
}

#[test]
fn devices_describe_themselves() {
    assert_eq!((hip!(hipInit(0 => u32)), hip!(hipInit(1 => u32))), (0, INVALID_VALUE));
    let (mut count, mut version, mut warp) = (0, 0, 0);
    assert_eq!(hip!(hipGetDeviceCount(&mut count => *mut i32)), 0);
    assert_eq!(count, 1);
    assert_eq!(hip!(hipRuntimeGetVersion(&mut version => *mut i32)), 0);
    assert_eq!(version, 60_342_134);
    let mut name = [1u8; 4];
    assert_eq!(hip!(hipDeviceGetName(name.as_mut_ptr() => *mut u8, 4 => i32, 0 => i32)), 0);
    assert_eq!(&name, b"sof\0");
    assert_eq!(hip!(hipDeviceGetName(name.as_mut_ptr() => *mut u8, -1 => i32, 0 => i32)), INVALID_VALUE);
    assert_eq!(hip!(hipDeviceGetName(name.as_mut_ptr() => *mut u8, 4 => i32, 1 => i32)), INVALID_DEVICE);
    assert_eq!(hip!(hipDeviceGetAttribute(&mut warp => *mut i32, 87 => i32, 0 => i32)), 0);
    assert_eq!(hip!(hipDeviceGetAttribute(&mut count => *mut i32, 5555 => i32, 0 => i32)), INVALID_VALUE);

    let (mut new, mut old) = ([1u8; 1472 + 8], [1u8; 792 + 8]);
    assert_eq!(hip!(hipGetDevicePropertiesR0600(new.as_mut_ptr() => *mut u8, 0 => i32)), 0);
    assert_eq!(hip!(hipGetDeviceProperties(old.as_mut_ptr() => *mut u8, 0 => i32)), 0);
    let text = |bytes: &[u8]| CStr::from_bytes_until_nul(bytes).unwrap().to_str().unwrap().to_owned();
    assert_eq!((text(&new), text(&old)), ("softgpu".into(), "softgpu".into()));
    assert_eq!((text(&new[1160..]), text(&old[396..])), ("softgpu-ptx".into(), "softgpu-ptx".into()));
    assert_eq!((&new[1472..], &old[792..]), (&[1u8; 8][..], &[1u8; 8][..]), "written past the end");
    assert_eq!(new[308..312], i32::to_le_bytes(warp));
    assert_eq!(old[276..280], i32::to_le_bytes(warp));
}

#[test]
fn errors_have_names_and_the_last_one_is_kept_per_thread() {
    let text = |address: *const c_char| {
        // SAFETY: a static text.
        unsafe { CStr::from_ptr(address) }.to_str().unwrap()
    };
    assert_eq!(text(hip!(hipGetErrorName(700 => i32) -> *const c_char)), "hipErrorIllegalAddress");
    assert_eq!(text(hip!(hipGetErrorName(12345 => i32) -> *const c_char)), "hipErrorUnknown");
    assert_eq!(text(hip!(hipGetErrorString(0 => i32) -> *const c_char)), "no error");
    let mut name = std::ptr::null();
    assert_eq!(hip!(hipDrvGetErrorName(2 => i32, &mut name => *mut *const c_char)), 0);
    assert_eq!(text(name), "hipErrorOutOfMemory");
    assert_eq!(hip!(hipDrvGetErrorName(12345 => i32, &mut name => *mut *const c_char)), INVALID_VALUE);

    assert_eq!(hip!(hipSetDevice(7 => i32)), INVALID_DEVICE);
    let other = std::thread::spawn(|| hip!(hipPeekAtLastError()));
    assert_eq!(other.join().unwrap(), 0);
    assert_eq!(hip!(hipPeekAtLastError()), INVALID_DEVICE);
    assert_eq!(hip!(hipGetLastError()), INVALID_DEVICE);
    assert_eq!(hip!(hipGetLastError()), 0);
    // Up to HIP 6 a call that succeeds wipes the last error out.
    assert_eq!((hip!(hipSetDevice(7 => i32)), hip!(hipSetDevice(0 => i32))), (INVALID_DEVICE, 0));
    assert_eq!(hip!(hipGetLastError()), 0);
}

#[test]
fn a_thread_begins_in_the_primary_context_of_device_0() {
    let (mut context, mut primary, mut device) = (0u64, 0u64, -1);
    assert_eq!(hip!(hipCtxPopCurrent(&mut context => *mut u64)), 201, "there is nothing to pop yet");
    assert_eq!(hip!(hipCtxGetCurrent(&mut context => *mut u64)), 0);
    assert_eq!(hip!(hipDevicePrimaryCtxRetain(&mut primary => *mut u64, 0 => i32)), 0);
    assert_eq!(context, primary);
    assert_eq!(hip!(hipGetDevice(&mut device => *mut i32)), 0);
    assert_eq!(device, 0);
    // The runtime holds it too, so that one release too many does no harm.
    for _ in 0..3 {
        assert_eq!(hip!(hipDevicePrimaryCtxRelease(0 => i32)), 0);
    }
    let address = alloc(4);
    assert_eq!(hip!(hipFree(address => u64)), 0);

    let own = Context::new();
    assert_eq!(hip!(hipCtxGetCurrent(&mut context => *mut u64)), 0);
    assert_eq!(context, own.0);
    drop(own);
    assert_eq!(hip!(hipCtxSetCurrent(12345 => u64)), 201);
    assert_eq!(hip!(hipCtxSetCurrent(0 => u64)), 0);
    assert_eq!(hip!(hipCtxGetCurrent(&mut context => *mut u64)), 0);
    assert_eq!(context, primary);
}

#[test]
fn nothing_is_allocated_for_a_size_of_zero() {
    let (mut address, mut free, mut total) = (1u64, 0usize, 0usize);
    assert_eq!(hip!(hipMalloc(&mut address => *mut u64, 0 => usize)), 0);
    assert_eq!((address, hip!(hipFree(address => u64))), (0, 0));
    assert_eq!(hip!(hipHostMalloc(&mut address => *mut u64, 0 => usize, 0 => u32)), 0);
    assert_eq!((address, hip!(hipHostFree(address => u64))), (0, 0));
    assert_eq!(hip!(hipMalloc(std::ptr::null_mut() => *mut u64, 1 => usize)), INVALID_VALUE);
    assert_eq!(hip!(hipMallocManaged(&mut address => *mut u64, 0 => usize, 1 => u32)), INVALID_VALUE);
    assert_eq!(hip!(hipMemGetInfo(&mut free => *mut usize, &mut total => *mut usize)), 0);
    assert!(free <= total && total == 4 << 30);
    assert_eq!(hip!(hipMalloc(&mut address => *mut u64, total + 1 => usize)), 2);
}

#[test]
fn copies_are_checked_to_the_byte_and_by_kind() {
    let _context = Context::new();
    let (address, host) = (alloc(10), [7u8; 10]);
    let copy = |dst: u64, src: u64, len: usize, kind: i32| hip!(hipMemcpy(dst => u64, src => u64, len => usize, kind => i32));
    let from = host.as_ptr() as u64;
    assert_eq!(copy(address, from, 10, 1), 0);
    assert_eq!(download::<u8>(address, 10), Ok(vec![7; 10]));
    assert_eq!(copy(address, from, 10, 4), 0);
    assert_eq!(copy(address, from, 11, 1), INVALID_VALUE);
    assert_eq!(copy(address, from, 10, 2), INVALID_VALUE, "host memory is no device memory");
    assert_eq!(copy(address, from, 10, 5), INVALID_DIRECTION);
    assert_eq!(copy(address, from, 0, 1), 0);
    assert_eq!(copy(address, 0, 1, 1), INVALID_VALUE);
    let other = alloc(10);
    assert_eq!(copy(other, address, 10, 3), 0);
    assert_eq!(download::<u8>(other, 10), Ok(vec![7; 10]));
    assert_eq!(hip!(hipFree(other + 1 => u64)), INVALID_VALUE);
    assert_eq!(hip!(hipFree(other => u64)), 0);
    assert_eq!(hip!(hipFree(other => u64)), INVALID_VALUE);
    let two_rows = hip!(hipMemcpy2D(
        address => u64, 5 => usize, c"abcdef".as_ptr() as u64 => u64, 3 => usize, 2 => usize, 2 => usize, 1 => i32
    ));
    assert_eq!(two_rows, 0);
    assert_eq!(download::<u8>(address, 8), Ok(b"ab\x07\x07\x07de\x07".to_vec()));
}

#[test]
fn fills_of_each_width() {
    let _context = Context::new();
    let (address, stream) = (alloc(16), stream());
    assert_eq!(hip!(hipMemset(address => u64, 0x1ff => i32, 16 => usize)), 0);
    assert_eq!(hip!(hipMemsetD16(address + 2 => u64, 0x1234 => u16, 1 => usize)), 0);
    // Fills do not wait, and the stream does not wait for the null stream.
    assert_eq!(hip!(hipDeviceSynchronize()), 0);
    assert_eq!(hip!(hipMemsetD32Async(address + 4 => u64, -2 => i32, 1 => usize, stream => u64)), 0);
    assert_eq!(hip!(hipMemsetD8Async(address + 8 => u64, 9 => u8, 4 => usize, stream => u64)), 0);
    assert_eq!(hip!(hipMemsetD32(address + 2 => u64, 0 => i32, 1 => usize)), INVALID_VALUE);
    assert_eq!(hip!(hipMemset(address => u64, 0 => i32, 17 => usize)), INVALID_VALUE);
    assert_eq!(synchronize(stream), 0);
    assert_eq!(download::<u32>(address, 4), Ok(vec![0x1234_ffff, u32::MAX - 1, 0x0909_0909, u32::MAX]));
}

#[test]
fn addresses_say_what_they_are() {
    #[repr(C)]
    #[derive(Debug, Default, PartialEq)]
    struct Attributes {
        kind: u32,
        device: i32,
        device_pointer: u64,
        host_pointer: u64,
        managed: i32,
        flags: u32,
    }
    let _context = Context::new();
    let of = |address: u64| {
        let mut attributes = Attributes::default();
        let code = hip!(hipPointerGetAttributes(&mut attributes => *mut Attributes, address => u64));
        (code, attributes)
    };
    let (address, mut pinned, mut managed, local) = (alloc(8), 0u64, 0u64, 0u8);
    assert_eq!(hip!(hipHostMalloc(&mut pinned => *mut u64, 8 => usize, 1 => u32)), 0);
    assert_eq!(hip!(hipMallocManaged(&mut managed => *mut u64, 8 => usize, 1 => u32)), 0);
    let (code, device) = of(address + 4);
    assert_eq!((code, device.kind, device.device_pointer, device.host_pointer), (0, 2, address + 4, 0));
    let (code, host) = of(pinned);
    assert_eq!((code, host.kind, host.host_pointer, host.flags), (0, 1, pinned, 1));
    assert_eq!((of(managed).1.kind, of(managed).1.managed), (3, 1));
    assert_eq!((of(&raw const local as u64).1.kind, of(0).0), (0, INVALID_VALUE));
    let (mut start, mut len, mut device_pointer) = (0u64, 0usize, 0u64);
    let range =
        hip!(hipMemGetAddressRange(&mut start => *mut u64, &mut len => *mut usize, address + 4 => u64));
    assert_eq!((range, start, len), (0, address, 8));
    let map = hip!(hipHostGetDevicePointer(&mut device_pointer => *mut u64, pinned => u64, 0 => u32));
    assert_eq!((map, device_pointer), (0, pinned));
    assert_eq!(hip!(hipMemPrefetchAsync(managed => u64, 8 => usize, -1 => i32, 0 => u64)), 0);
    assert_eq!(hip!(hipFree(pinned => u64)), INVALID_VALUE);
    assert_eq!((hip!(hipHostFree(pinned => u64)), hip!(hipFree(managed => u64))), (0, 0));
    let mut page = vec![0u8; 4096];
    let registered: *mut c_void = page.as_mut_ptr().cast();
    let register = || hip!(hipHostRegister(registered => *mut c_void, 4096 => usize, 0 => u32));
    assert_eq!((register(), register()), (0, 712));
    let unregister = || hip!(hipHostUnregister(registered => *mut c_void));
    assert_eq!((unregister(), unregister()), (0, 713));
}

#[test]
fn pools_allocate_in_stream_order() {
    let _context = Context::new();
    let (stream, gate) = (stream(), Gate::default());
    let props: [u64; 11] = [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let (mut pool, mut address, mut used) = (0u64, 0u64, 0u64);
    assert_eq!(hip!(hipMemPoolCreate(&mut pool => *mut u64, props.as_ptr() => *const u64)), 0);
    let allocate =
        hip!(hipMallocFromPoolAsync(&mut address => *mut u64, 8 => usize, pool => u64, stream => u64));
    assert_eq!(allocate, 0);
    let mut used_now = || {
        assert_eq!(hip!(hipMemPoolGetAttribute(pool => u64, 7 => i32, &mut used => *mut u64)), 0);
        used
    };
    assert_eq!(used_now(), 8);
    gate.block(stream);
    assert_eq!(hip!(hipFreeAsync(address => u64, stream => u64)), 0);
    assert_eq!(hip!(hipFreeAsync(address => u64, stream => u64)), INVALID_VALUE);
    assert_eq!(used_now(), 8);
    gate.open();
    assert_eq!(synchronize(stream), 0);
    assert_eq!(used_now(), 0);
    assert_eq!(hip!(hipMemPoolTrimTo(pool => u64, 0 => usize)), 0);
    assert_eq!(hip!(hipMemPoolDestroy(pool => u64)), 0);
    assert_eq!(hip!(hipMemPoolDestroy(pool => u64)), INVALID_HANDLE);
    assert_eq!(hip!(hipMallocAsync(&mut address => *mut u64, 0 => usize, stream => u64)), 0);
    assert_eq!(address, 0);
}

#[test]
fn a_blocked_stream_does_not_delay_another() {
    let _context = Context::new();
    let (blocked, free, gate, event) = (stream(), stream(), Gate::default(), event());
    gate.block(blocked);
    assert_eq!(hip!(hipEventRecord(event => u64, blocked => u64)), 0);
    assert_eq!(hip!(hipStreamQuery(blocked => u64)), NOT_READY);
    assert_eq!(hip!(hipEventQuery(event => u64)), NOT_READY);
    let address = alloc(4);
    assert_eq!(hip!(hipMemsetD32Async(address => u64, 1 => i32, 1 => usize, free => u64)), 0);
    assert_eq!(synchronize(free), 0);
    assert_eq!(hip!(hipStreamWaitEvent(free => u64, event => u64, 0 => u32)), 0);
    assert_eq!(hip!(hipStreamQuery(free => u64)), NOT_READY);
    gate.open();
    assert_eq!(synchronize(free), 0);
    assert_eq!(hip!(hipEventQuery(event => u64)), 0);
    assert_eq!(hip!(hipDeviceSynchronize()), 0);
}

#[test]
fn time_passes_between_records() {
    let _context = Context::new();
    let (start, end) = (event(), event());
    let mut time = -1f32;
    let mut elapsed = || hip!(hipEventElapsedTime(&mut time => *mut f32, start => u64, end => u64));
    assert_eq!(elapsed(), INVALID_HANDLE, "never recorded");
    for event in [start, end] {
        assert_eq!(hip!(hipEventRecord(event => u64, 0 => u64)), 0);
    }
    assert_eq!(hip!(hipEventSynchronize(end => u64)), 0);
    assert_eq!(elapsed(), 0);
    assert!(time >= 0.0);
}

#[test]
fn streams_know_their_flags_and_callbacks_run_once() {
    let _context = Context::new();
    let (mut stream, mut flags, mut priority, mut device) = (0u64, 9u32, 9, 9);
    let create = hip!(hipStreamCreateWithPriority(&mut stream => *mut u64, 1 => u32, -99 => i32));
    assert_eq!(create, 0);
    let (mut least, mut greatest) = (9, 9);
    assert_eq!(hip!(hipDeviceGetStreamPriorityRange(&mut least => *mut i32, &mut greatest => *mut i32)), 0);
    assert_eq!(hip!(hipStreamGetFlags(stream => u64, &mut flags => *mut u32)), 0);
    assert_eq!(hip!(hipStreamGetPriority(stream => u64, &mut priority => *mut i32)), 0);
    assert_eq!(hip!(hipStreamGetDevice(stream => u64, &mut device => *mut i32)), 0);
    assert_eq!((flags, priority, device), (1, greatest, 0));
    assert_eq!(hip!(hipStreamCreateWithFlags(&mut stream => *mut u64, 2 => u32)), INVALID_VALUE);

    /// What a callback saw: the code it was told, and what a call from within it answers.
    static SEEN: std::sync::Mutex<Vec<(i32, i32)>> = std::sync::Mutex::new(Vec::new());
    unsafe extern "C" fn see(_: u64, code: i32, _: *mut c_void) {
        SEEN.lock().unwrap().push((code, hip!(hipDeviceSynchronize())));
    }
    type Callback = unsafe extern "C" fn(u64, i32, *mut c_void);
    let null = std::ptr::null_mut();
    let add = |flags: u32| hip!(hipStreamAddCallback(stream => u64, see => Callback, null => *mut c_void, flags => u32));
    assert_eq!((add(0), add(1)), (0, INVALID_VALUE));
    assert_eq!(synchronize(stream), 0);
    assert_eq!(*SEEN.lock().unwrap(), [(0, 401)]);
}

#[test]
fn unknown_handles_are_errors() {
    let _context = Context::new();
    let (stream, event, known) = (stream(), event(), 0x6a00_dead_beefu64);
    for handle in [event, known, 3, u64::MAX] {
        assert_eq!(synchronize(handle), INVALID_HANDLE);
        assert_eq!(hip!(hipStreamDestroy(handle => u64)), INVALID_HANDLE);
    }
    for handle in [stream, known, 0, u64::MAX] {
        assert_eq!(hip!(hipEventQuery(handle => u64)), INVALID_HANDLE);
        assert_eq!(hip!(hipEventRecord(handle => u64, stream => u64)), INVALID_HANDLE);
        assert_eq!(hip!(hipModuleUnload(handle => u64)), INVALID_HANDLE);
        assert_eq!(hip!(hipGraphLaunch(handle => u64, stream => u64)), INVALID_HANDLE);
        assert_eq!(launch(handle, 1, 1, 0, &[]), INVALID_HANDLE);
    }
    assert_eq!(hip!(hipStreamDestroy(stream => u64)), 0);
    assert_eq!(hip!(hipStreamDestroy(stream => u64)), INVALID_HANDLE);
    assert_eq!(hip!(hipEventDestroy(event => u64)), 0);
    assert_eq!(hip!(hipEventDestroy(event => u64)), INVALID_HANDLE);
    assert_eq!(hip!(hipStreamDestroy(0 => u64)), INVALID_HANDLE, "the null stream is not the program's");
    let mut event = 0;
    for (flags, expected) in [(0x4000_0002, 0), (0xc000_0000, 1), (4, 1), (6, 801), (8, 1)] {
        let code = hip!(hipEventCreateWithFlags(&mut event => *mut u64, flags => u32));
        assert_eq!(code, expected, "{flags:#x}");
    }
}

#[test]
fn two_threads_have_devices_of_their_own() {
    if !with("two_threads_have_devices_of_their_own", &[("SOFTGPU_DEVICES", "2")]) {
        return;
    }
    let current = || {
        let mut device = -1;
        assert_eq!(hip!(hipGetDevice(&mut device => *mut i32)), 0);
        device
    };
    assert_eq!(hip!(hipSetDevice(1 => i32)), 0);
    assert_eq!(current(), 1);
    assert_eq!(std::thread::spawn(current).join().unwrap(), 0);
    let theirs = alloc(4);
    let (mut device, mut on_first) = (-1, 0u64);
    assert_eq!(hip!(hipPointerGetAttribute(&mut device => *mut i32, 9 => i32, theirs => u64)), 0);
    assert_eq!(device, 1);
    assert_eq!(hip!(hipDevicePrimaryCtxRetain(&mut on_first => *mut u64, 0 => i32)), 0);
    assert_eq!(hip!(hipCtxPushCurrent(on_first => u64)), 0);
    assert_eq!(current(), 0);
    let enable = || hip!(hipDeviceEnablePeerAccess(1 => i32, 0 => u32));
    assert_eq!((enable(), enable()), (0, 704));
    let mine = alloc(4);
    assert_eq!(hip!(hipMemcpyPeer(mine => u64, 0 => i32, theirs => u64, 1 => i32, 4 => usize)), 0);
    assert_eq!(hip!(hipCtxPopCurrent(&mut on_first => *mut u64)), 0);
    assert_eq!(current(), 1);
}

#[test]
fn without_a_device_nothing_works() {
    if with("without_a_device_nothing_works", &[("SOFTGPU_DEVICES", "0")]) {
        let (mut count, mut address) = (-1, 0u64);
        assert_eq!(hip!(hipInit(0 => u32)), 100);
        assert_eq!(hip!(hipGetDeviceCount(&mut count => *mut i32)), 100);
        assert_eq!(count, 0);
        assert_eq!(hip!(hipMalloc(&mut address => *mut u64, 4 => usize)), 100);
        assert_eq!(hip!(hipDriverGetVersion(&mut count => *mut i32)), 0);
    }
}

#[test]
fn an_old_runtime_lacks_new_symbols() {
    if with("an_old_runtime_lacks_new_symbols", &[("SOFTGPU_HIP_VERSION", "50221151")]) {
        for missing in ["hipLaunchHostFunc", "hipDrvGraphAddMemcpyNode", "hipGetDevicePropertiesR0600"] {
            assert_eq!(softgpu::hip::resolve(missing), None, "{missing}");
        }
        assert!(softgpu::hip::resolve("hipStreamAddCallback").is_some());
        let local = 0u8;
        let mut attributes = [0u64; 4];
        let code = hip!(hipPointerGetAttributes(
            attributes.as_mut_ptr() => *mut u64, &raw const local as u64 => u64
        ));
        assert_eq!(code, INVALID_VALUE);
    }
}

#[test]
fn a_new_runtime_keeps_the_last_error() {
    if with("a_new_runtime_keeps_the_last_error", &[("SOFTGPU_HIP_VERSION", "70125424")]) {
        assert!(softgpu::hip::resolve("hipEventRecordWithFlags").is_some());
        assert_eq!((hip!(hipSetDevice(7 => i32)), hip!(hipSetDevice(0 => i32))), (INVALID_DEVICE, 0));
        assert_eq!(hip!(hipGetLastError()), INVALID_DEVICE);
        assert_eq!(hip!(hipGetLastError()), 0);
    }
}

#[test]
fn rules_make_calls_fail() {
    let rules = "hipMalloc:2=2;missing:hipMallocAsync;hipEventCreate:1=later:700";
    if with("rules_make_calls_fail", &[("SOFTGPU_FAULTS", rules)]) {
        assert_eq!(softgpu::hip::resolve("hipMallocAsync"), None);
        let mut address = 0u64;
        let mut allocate = || hip!(hipMalloc(&mut address => *mut u64, 4 => usize));
        assert_eq!([allocate(), allocate(), allocate()], [0, 2, 0]);
        assert_eq!(hip!(hipPeekAtLastError()), 0);
        // The first context there is, made by the calls above, fails; a reset makes the device like new.
        event();
        assert_eq!((hip!(hipDeviceSynchronize()), hip!(hipGetLastError())), (700, 700));
        assert_eq!((hip!(hipDeviceReset()), hip!(hipDeviceSynchronize())), (0, 0));
    }
}

#[test]
fn modules_load_from_files() {
    let path = CString::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../kernels/ptx/scale.ptx")).unwrap();
    let mut module = 0u64;
    assert_eq!(hip!(hipModuleLoad(&mut module => *mut u64, path.as_ptr() => *const c_char)), 0);
    assert!(function(module, "scale").is_ok());
    assert_eq!(hip!(hipModuleUnload(module => u64)), 0);
    let load = |path: &CStr| hip!(hipModuleLoad(&mut module => *mut u64, path.as_ptr() => *const c_char));
    let mut load = load;
    assert_eq!(load(c"/no/such/file"), 301);
    let code =
        CString::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../kernels/amdgpu/scale.gfx90a.co")).unwrap();
    assert_eq!(load(&code), 209);
}
