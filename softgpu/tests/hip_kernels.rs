//! Modules, launches, graphs and sticky faults through the HIP ABI.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod hip_support;

use hip_support::*;
use std::ffi::c_void;

const VECTOR_ADD: &str = include_str!("../../kernels/ptx/vector_add.ptx");
const FAULTS: &str = include_str!("../../kernels/ptx/faults.ptx");
const INVALID_VALUE: i32 = 1;
const INVALID_DEVICE_FUNCTION: i32 = 98;

/// Writes its parameter to an address.
const STORE: &str = "
.version 5.0
.target sm_52
.address_size 64
.visible .global .align 4 .u32 counter = 41;
.visible .entry store(.param .u64 at, .param .u32 value)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [at];
    ld.param.u32 %r1, [value];
    st.global.u32 [%rd1], %r1;
    ret;
}
";

#[test]
fn vectors_are_added() {
    // In the primary context, which no call mentions.
    let vadd = function(load(VECTOR_ADD).unwrap(), "vadd").unwrap();
    let count = 1000u32;
    let a: Vec<f32> = (0..count).map(|i| i as f32).collect();
    let b = vec![0.25f32; count as usize];
    let (da, db, dc) = (alloc(4000), alloc(4000), alloc(4000));
    assert_eq!((upload(da, &a), upload(db, &b)), (0, 0));
    let params = [param(&da), param(&db), param(&dc), param(&count)];
    let stream = stream();
    assert_eq!(launch(vadd, 8, 128, stream, &params), 0);
    assert_eq!(synchronize(stream), 0);
    let sums = download::<f32>(dc, count as usize).unwrap();
    assert!(sums.iter().zip(&a).all(|(sum, a)| *sum == a + 0.25));
}

#[test]
fn parameters_come_packed_too() {
    let _context = Context::new();
    let store = function(load(STORE).unwrap(), "store").unwrap();
    let address = alloc(4);
    let mut packed = [0u8; 12];
    packed[..8].copy_from_slice(&address.to_le_bytes());
    packed[8..].copy_from_slice(&77u32.to_le_bytes());
    let launch = |size: &usize, end: u64| {
        let extra = [1, packed.as_ptr() as u64, 2, std::ptr::from_ref(size) as u64, end];
        hip!(hipModuleLaunchKernel(
            store => u64, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 0 => u32, 0 => u64,
            std::ptr::null() => *const u64, extra.as_ptr() => *const u64,
        ))
    };
    assert_eq!(launch(&12, 3), 0);
    assert_eq!(download::<u32>(address, 1), Ok(vec![77]));
    assert_eq!(launch(&11, 3), INVALID_VALUE);
    assert_eq!(launch(&12, 0), INVALID_VALUE, "CUDA's end is not HIP's");
}

#[test]
fn functions_stand_in_for_stubs() {
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Dim3(u32, u32, u32);
    let _context = Context::new();
    let store = function(load(STORE).unwrap(), "store").unwrap();
    let (address, value, one) = (alloc(4), 5u32, Dim3(1, 1, 1));
    let params = [param(&address), param(&value)];
    let launch = |stub: u64| {
        hip!(hipLaunchKernel(
            stub => u64, one => Dim3, one => Dim3, params.as_ptr() => *const *const c_void, 0 => usize, 0 => u64
        ))
    };
    assert_eq!((launch(store), launch(12345)), (0, INVALID_DEVICE_FUNCTION));
    assert_eq!(download::<u32>(address, 1), Ok(vec![5]));
    let opt_in = |stub: u64, bytes: i32| hip!(hipFuncSetAttribute(stub => u64, 8 => i32, bytes => i32));
    assert_eq!((opt_in(store, 64 << 10), opt_in(store, 1 << 20)), (0, INVALID_VALUE));
    assert_eq!(opt_in(12345, 0), INVALID_DEVICE_FUNCTION);
    let (mut bytes, mut blocks, mut grid, mut block) = (0, 0, 0, 0);
    assert_eq!(hip!(hipFuncGetAttribute(&mut bytes => *mut i32, 8 => i32, store => u64)), 0);
    assert_eq!(bytes, 64 << 10);
    let occupancy = hip!(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
        &mut blocks => *mut i32, store => u64, 1024 => i32, 0 => usize
    ));
    assert_eq!((occupancy, blocks), (0, 2));
    let best = hip!(hipModuleOccupancyMaxPotentialBlockSize(
        &mut grid => *mut i32, &mut block => *mut i32, store => u64, 0 => usize, 0 => i32
    ));
    assert_eq!((best, grid, block), (0, 16, 1024));
}

#[test]
fn code_objects_and_bad_text_are_refused_with_a_reason() {
    let _context = Context::new();
    for image in ["\x7fELF\x02", "__CLANG_OFFLOAD_BUNDLE__"] {
        let (code, log) = load(image).unwrap_err();
        assert_eq!(code, 209, "{image}");
        assert!(log.contains("AMD code object") && log.contains("PTX"), "{log}");
    }
    let (code, log) = load(&STORE.replace("st.global.u32", "st.globule.u32")).unwrap_err();
    assert_eq!(code, 218);
    assert!(log.contains("globule"), "{log}");
    assert_eq!(load("hello").unwrap_err().0, 200);
    let mut module = 0u64;
    assert_eq!(
        hip!(hipModuleLoadData(&mut module => *mut u64, std::ptr::null() => *const u8)),
        INVALID_VALUE
    );
    let (module, (mut address, mut len)) = (load(STORE).unwrap(), (0u64, 0usize));
    assert_eq!(function(module, "nothing"), Err(500));
    let global = hip!(hipModuleGetGlobal(
        &mut address => *mut u64, &mut len => *mut usize, module => u64, c"counter".as_ptr() => *const i8
    ));
    assert_eq!((global, len), (0, 4));
    assert_eq!(download::<u32>(address, 1), Ok(vec![41]));
    assert_eq!(hip!(hipModuleUnload(module => u64)), 0);
}

#[test]
fn a_fault_is_sticky_and_stays_in_its_context() {
    let bystander = Context::new();
    let victim = Context::new();
    let (stream, event) = (stream(), event());
    let store = function(load(STORE).unwrap(), "store").unwrap();
    let address = alloc(16);
    let (past, value) = (address + 16, 1u32);
    assert_eq!(launch(store, 1, 1, stream, &[param(&past), param(&value)]), 0);
    assert_eq!(synchronize(stream), 700);
    for _ in 0..2 {
        assert_eq!(hip!(hipStreamQuery(stream => u64)), 700);
        assert_eq!(hip!(hipEventRecord(event => u64, stream => u64)), 700);
        assert_eq!(hip!(hipEventSynchronize(event => u64)), 700);
        assert_eq!(hip!(hipDeviceSynchronize()), 700);
        assert_eq!(launch(store, 1, 1, 0, &[param(&address), param(&value)]), 700);
        assert_eq!(download::<u32>(address, 1), Err(700));
    }
    assert_eq!(hip!(hipFree(address => u64)), 700);
    assert_eq!(hip!(hipCtxPushCurrent(bystander.0 => u64)), 0);
    assert_eq!(hip!(hipDeviceSynchronize()), 0);
    assert_eq!(upload(alloc(4), &[1u32]), 0);
    assert_eq!(hip!(hipCtxPopCurrent(std::ptr::null_mut() => *mut u64)), 0);
    drop(victim);
    drop(bystander);
}

#[test]
fn faults_that_hip_has_no_code_for_are_launch_failures() {
    for kernel in ["misaligned_read", "trap_now"] {
        let _context = Context::new();
        let function = function(load(FAULTS).unwrap(), kernel).unwrap();
        let address = alloc(16);
        let params = [param(&address), param(&address)];
        assert_eq!(launch(function, 1, 1, 0, &params), 0);
        assert_eq!(hip!(hipDeviceSynchronize()), 719, "{kernel}");
        assert_eq!(hip!(hipGetLastError()), 719, "{kernel}");
    }
}

#[repr(C)]
struct KernelParams {
    block: [u32; 3],
    extra: *const u64,
    function: u64,
    grid: [u32; 3],
    params: *const *const c_void,
    shared: u32,
}

#[test]
fn graphs_replay_and_take_new_parameters() {
    let _context = Context::new();
    let (stream, event) = (stream(), event());
    let store = function(load(STORE).unwrap(), "store").unwrap();
    let (address, value, other) = (alloc(8), 5u32, 6u32);
    let (mut graph, mut exec, mut fill, mut node, mut record) = (0u64, 0u64, 0u64, 0u64, 0u64);
    assert_eq!(hip!(hipGraphCreate(&mut graph => *mut u64, 0 => u32)), 0);
    // Destination, element size, height, pitch, value, width.
    let set = [address, 4, 1, 0, 9, 2];
    let code = hip!(hipGraphAddMemsetNode(
        &mut fill => *mut u64, graph => u64, std::ptr::null() => *const u64, 0 => usize,
        set.as_ptr() => *const u64
    ));
    assert_eq!(code, 0);
    let pointers = |value: &u32| [param(&address), param(value)];
    let (first, second) = (pointers(&value), pointers(&other));
    let params = |pointers: &[*const c_void; 2]| KernelParams {
        block: [1; 3],
        extra: std::ptr::null(),
        function: store,
        grid: [1; 3],
        params: pointers.as_ptr(),
        shared: 0,
    };
    let code = hip!(hipGraphAddKernelNode(
        &mut node => *mut u64, graph => u64, &fill => *const u64, 1 => usize,
        &params(&first) => *const KernelParams
    ));
    assert_eq!(code, 0);
    let code = hip!(hipGraphAddEventRecordNode(
        &mut record => *mut u64, graph => u64, &node => *const u64, 1 => usize, event => u64
    ));
    assert_eq!(code, 0);
    let (mut roots, mut count, mut kind) = ([0u64; 2], 2usize, -1);
    let code =
        hip!(hipGraphGetRootNodes(graph => u64, roots.as_mut_ptr() => *mut u64, &mut count => *mut usize));
    assert_eq!((code, count, roots), (0, 1, [fill, 0]));
    assert_eq!(hip!(hipGraphNodeGetType(node => u64, &mut kind => *mut i32)), 0);
    assert_eq!(kind, 0);
    let null = std::ptr::null_mut();
    let code = hip!(hipGraphInstantiate(
        &mut exec => *mut u64, graph => u64, null => *mut u64, null => *mut u64, 0 => usize
    ));
    assert_eq!(code, 0);

    let mut clone = 0u64;
    assert_eq!(hip!(hipGraphClone(&mut clone => *mut u64, graph => u64)), 0);
    let (mut from, mut to) = ([0u64; 4], [0u64; 4]);
    count = 4;
    let code = hip!(hipGraphGetEdges(
        clone => u64, from.as_mut_ptr() => *mut u64, to.as_mut_ptr() => *mut u64, &mut count => *mut usize
    ));
    assert_eq!((code, count), (0, 2));
    assert_eq!(to[0], from[1]);
    assert!(![fill, node, record].contains(&from[0]), "a clone has nodes of its own");
    assert_eq!((hip!(hipGraphDestroy(clone => u64)), hip!(hipGraphDestroy(graph => u64))), (0, 0));

    assert_eq!(hip!(hipGraphLaunch(exec => u64, stream => u64)), 0);
    assert_eq!(hip!(hipEventSynchronize(event => u64)), 0);
    assert_eq!(download::<u32>(address, 2), Ok(vec![5, 9]));
    let update = |params: &KernelParams| hip!(hipGraphExecKernelNodeSetParams(exec => u64, node => u64, params => *const KernelParams));
    assert_eq!(update(&params(&second)), 0);
    assert_eq!(hip!(hipGraphLaunch(exec => u64, stream => u64)), 0);
    assert_eq!(hip!(hipGraphExecDestroy(exec => u64)), 0);
    assert_eq!(synchronize(stream), 0);
    assert_eq!(download::<u32>(address, 2), Ok(vec![6, 9]));
}

#[test]
fn graphs_copy_what_both_structs_describe() {
    let _context = Context::new();
    let (src, dst, stream) = (alloc(16), alloc(16), stream());
    assert_eq!(upload(src, &[1u32, 2, 3, 4]), 0);
    assert_eq!(upload(dst, &[0u32; 4]), 0);
    let (mut graph, mut exec, mut node, mut context) = (0u64, 0u64, 0u64, 0u64);
    assert_eq!(hip!(hipGraphCreate(&mut graph => *mut u64, 0 => u32)), 0);
    // Arrays, positions and pitched pointers of both ends; extent; kind.
    let runtime: [u64; 20] = [0, 4, 0, 0, src, 16, 16, 1, 0, 0, 0, 0, dst, 16, 16, 1, 8, 1, 1, 3];
    let code = hip!(hipGraphAddMemcpyNode(
        &mut node => *mut u64, graph => u64, std::ptr::null() => *const u64, 0 => usize,
        runtime.as_ptr() => *const u64
    ));
    assert_eq!(code, 0);
    // Position, level, type, host, device, array, pitch and height of both ends; extent.
    let driver: [u64; 23] = [0, 0, 0, 0, 2, 0, src, 0, 0, 0, 12, 0, 0, 0, 2, 0, dst, 0, 0, 0, 4, 1, 1];
    assert_eq!(hip!(hipCtxGetCurrent(&mut context => *mut u64)), 0);
    let code = hip!(hipDrvGraphAddMemcpyNode(
        &mut node => *mut u64, graph => u64, &node => *const u64, 1 => usize, driver.as_ptr() => *const u64,
        context => u64
    ));
    assert_eq!(code, 0);
    assert_eq!(hip!(hipGraphInstantiateWithFlags(&mut exec => *mut u64, graph => u64, 0 => u64)), 0);
    assert_eq!(hip!(hipGraphLaunch(exec => u64, stream => u64)), 0);
    assert_eq!(synchronize(stream), 0);
    assert_eq!(download::<u32>(dst, 4), Ok(vec![2, 3, 0, 1]));
}
