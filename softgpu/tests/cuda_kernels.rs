//! Modules, launches, graphs and sticky faults through the CUDA ABI.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cuda_support;

use cuda_support::*;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The text of the last fault is the process's: tests that fault take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

const VECTOR_ADD: &str = include_str!("../../kernels/ptx/vector_add.ptx");
const INVALID_VALUE: i32 = 1;

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
.visible .entry halt()
{
    trap;
}
.visible .entry narrow()
.maxntid 32, 1, 1
{
    ret;
}
";

#[test]
fn vectors_are_added() {
    let _context = Context::new();
    let vadd = function(load(VECTOR_ADD).unwrap(), "vadd").unwrap();
    let count = 1000u32;
    let a: Vec<f32> = (0..count).map(|i| i as f32).collect();
    let b = vec![0.25f32; count as usize];
    let (da, db, dc) = (alloc(4000), alloc(4000), alloc(4000));
    assert_eq!((upload(da, &a), upload(db, &b)), (0, 0));
    let params = [param(&da), param(&db), param(&dc), param(&count)];
    assert_eq!(launch(vadd, 8, 128, 0, &params), 0);
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
    let launch = |size: &usize| {
        let extra = [1, packed.as_ptr() as u64, 2, std::ptr::from_ref(size) as u64, 0];
        cu!(cuLaunchKernel(
            store => u64, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 0 => u32, 0 => u64,
            std::ptr::null() => *const u64, extra.as_ptr() => *const u64,
        ))
    };
    assert_eq!(launch(&12), 0);
    assert_eq!(download::<u32>(address, 1), Ok(vec![77]));
    assert_eq!(launch(&11), INVALID_VALUE);
}

#[test]
fn launches_are_checked() {
    let _context = Context::new();
    let module = load(STORE).unwrap();
    let (store, narrow) = (function(module, "store").unwrap(), function(module, "narrow").unwrap());
    assert_eq!(function(module, "nothing"), Err(500));
    let params = [param(&0u64), param(&0u32)];
    for (grid, block) in [(0, 1), (1, 0), (1, 1025)] {
        assert_eq!(launch(store, grid, block, 0, &params), INVALID_VALUE);
    }
    assert_eq!((launch(narrow, 1, 32, 0, &[]), launch(narrow, 1, 33, 0, &[])), (0, 701));
    let shared = |function: u64, bytes: u32| {
        let null = std::ptr::null();
        cu!(cuLaunchKernel(
            function => u64, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 1 => u32, bytes => u32,
            0 => u64, null => *const u64, null => *const u64,
        ))
    };
    assert_eq!((shared(narrow, 48 << 10), shared(narrow, (48 << 10) + 1)), (0, INVALID_VALUE));
    let opt_in = |bytes: i32| cu!(cuFuncSetAttribute(narrow => u64, 8 => i32, bytes => i32));
    assert_eq!((opt_in(64 << 10), opt_in(1 << 20), opt_in(-1)), (0, INVALID_VALUE, INVALID_VALUE));
    assert_eq!(shared(narrow, 64 << 10), 0);
    assert_eq!(shared(store, 0), INVALID_VALUE, "a kernel with parameters needs them");
    assert_eq!(cu!(cuModuleUnload(module => u64)), 0);
    assert_eq!(launch(narrow, 1, 1, 0, &[]), 400);
}

#[test]
fn the_compiler_says_what_is_wrong() {
    let _context = Context::new();
    let (code, log) = load(&STORE.replace("st.global.u32", "st.globule.u32")).unwrap_err();
    assert_eq!(code, 218);
    assert!(log.contains("line 12"), "{log}");
    assert!(log.contains("globule"), "{log}");
    let (code, log) = load("\x7fELF\x02").unwrap_err();
    assert_eq!(code, 209);
    assert!(log.contains("PTX"), "{log}");
    assert_eq!(load("hello").unwrap_err().0, 200);
}

#[test]
fn globals_have_addresses_and_values() {
    let _context = Context::new();
    let module = load(STORE).unwrap();
    let (mut address, mut len) = (0u64, 0usize);
    let code = cu!(cuModuleGetGlobal_v2(
        &mut address => *mut u64, &mut len => *mut usize, module => u64, c"counter".as_ptr() => *const i8
    ));
    assert_eq!((code, len), (0, 4));
    assert_eq!(download::<u32>(address, 1), Ok(vec![41]));
    assert_eq!(cu!(cuMemFree_v2(address => u64)), INVALID_VALUE, "it is the module's");
    assert_eq!(cu!(cuModuleUnload(module => u64)), 0);
    assert_eq!(download::<u32>(address, 1), Err(INVALID_VALUE));
}

#[test]
fn a_fault_is_sticky_and_stays_in_its_context() {
    let _turn = turn();
    let bystander = Context::new();
    let victim = Context::new();
    let (stream, event) = (stream(1), event(2));
    let store = function(load(STORE).unwrap(), "store").unwrap();
    let address = alloc(16);
    let (past, value) = (address + 16, 1u32);
    assert_eq!(launch(store, 1, 1, stream, &[param(&past), param(&value)]), 0);
    assert_eq!(cu!(cuStreamSynchronize(stream => u64)), 700);
    let text = softgpu::last_fault().unwrap();
    assert!(text.contains("store") && text.contains("0 bytes past the end"), "{text}");
    for _ in 0..2 {
        assert_eq!(cu!(cuStreamQuery(stream => u64)), 700);
        assert_eq!(cu!(cuEventRecord(event => u64, stream => u64)), 700);
        assert_eq!(cu!(cuEventQuery(event => u64)), 700);
        assert_eq!(cu!(cuEventSynchronize(event => u64)), 700);
        assert_eq!(cu!(cuCtxSynchronize()), 700);
        assert_eq!(launch(store, 1, 1, 0, &[param(&address), param(&value)]), 700);
        assert_eq!(download::<u32>(address, 1), Err(700));
    }
    assert_eq!(cu!(cuMemFree_v2(address => u64)), 700);
    assert_eq!(cu!(cuCtxPushCurrent_v2(bystander.0 => u64)), 0);
    assert_eq!(cu!(cuCtxSynchronize()), 0);
    let whole = alloc(4);
    assert_eq!(upload(whole, &[1u32]), 0);
    assert_eq!(cu!(cuCtxPopCurrent_v2(std::ptr::null_mut() => *mut u64)), 0);
    drop(victim);
    drop(bystander);
}

#[test]
fn work_behind_a_fault_is_dropped_but_told() {
    let _turn = turn();
    let _context = Context::new();
    let (stream, gate) = (stream(1), Gate::default());
    let module = load(STORE).unwrap();
    let (store, halt) = (function(module, "store").unwrap(), function(module, "halt").unwrap());
    let (address, value) = (alloc(4), 1u32);
    gate.block(stream);
    assert_eq!(launch(halt, 1, 1, stream, &[]), 0);
    assert_eq!(launch(store, 1, 1, stream, &[param(&address), param(&value)]), 0);
    let mut told = -1i32;
    unsafe extern "C" fn tell(_: u64, code: i32, told: *mut c_void) {
        // SAFETY: the test waits for the callback before it reads.
        unsafe { told.cast::<i32>().write(code) };
    }
    type Callback = unsafe extern "C" fn(u64, i32, *mut c_void);
    let at: *mut i32 = &mut told;
    let code = cu!(cuStreamAddCallback(
        stream => u64, tell => Callback, at.cast() => *mut c_void, 0 => u32
    ));
    assert_eq!(code, 0);
    gate.open();
    assert_eq!(cu!(cuStreamSynchronize(stream => u64)), 719);
    assert!(softgpu::last_fault().is_some());
    // Freeing waits for the stream, whatever became of the context.
    assert_eq!(cu!(cuMemFree_v2(address => u64)), 719);
    // SAFETY: the callback has run.
    assert_eq!(unsafe { at.read() }, 719);
}

#[test]
fn freed_memory_is_no_memory() {
    let _turn = turn();
    let _context = Context::new();
    let store = function(load(STORE).unwrap(), "store").unwrap();
    let (address, value) = (alloc(4), 1u32);
    assert_eq!(cu!(cuMemFree_v2(address => u64)), 0);
    assert_eq!(launch(store, 1, 1, 0, &[param(&address), param(&value)]), 0);
    assert_eq!(cu!(cuCtxSynchronize()), 700);
    let text = softgpu::last_fault().unwrap();
    assert!(text.contains("freed"), "{text}");
}

#[test]
fn graphs_replay_and_take_new_parameters() {
    #[repr(C)]
    struct Params {
        function: u64,
        dims: [u32; 7],
        params: *const *const c_void,
        extra: *const u64,
    }
    let _context = Context::new();
    let (stream, event) = (stream(1), event(2));
    let store = function(load(STORE).unwrap(), "store").unwrap();
    let (address, mut value) = (alloc(8), 5u32);
    let (mut graph, mut exec, mut fill, mut node, mut record) = (0u64, 0u64, 0u64, 0u64, 0u64);
    assert_eq!(cu!(cuGraphCreate(&mut graph => *mut u64, 0 => u32)), 0);
    let set = [address, 0, 9 | 4 << 32, 2, 1];
    let mut context = 0u64;
    assert_eq!(cu!(cuCtxGetCurrent(&mut context => *mut u64)), 0);
    assert_eq!(
        cu!(cuGraphAddMemsetNode(
            &mut fill => *mut u64, graph => u64, std::ptr::null() => *const u64, 0 => usize,
            set.as_ptr() => *const u64, context => u64
        )),
        0
    );
    let pointers = [param(&address), std::ptr::from_mut(&mut value).cast_const().cast()];
    let params = Params {
        function: store,
        dims: [1, 1, 1, 1, 1, 1, 0],
        params: pointers.as_ptr(),
        extra: std::ptr::null(),
    };
    assert_eq!(
        cu!(cuGraphAddKernelNode(
            &mut node => *mut u64, graph => u64, &fill => *const u64, 1 => usize, &params => *const Params
        )),
        0
    );
    assert_eq!(
        cu!(cuGraphAddEventRecordNode(
            &mut record => *mut u64, graph => u64, &node => *const u64, 1 => usize, event => u64
        )),
        0
    );
    let stranger = cu!(cuGraphAddEmptyNode(
        &mut record => *mut u64, graph => u64, &stream => *const u64, 1 => usize
    ));
    assert_eq!(stranger, INVALID_VALUE);
    assert_eq!(cu!(cuGraphInstantiateWithFlags(&mut exec => *mut u64, graph => u64, 0 => u64)), 0);
    assert_eq!(cu!(cuGraphDestroy(graph => u64)), 0);
    assert_eq!(cu!(cuGraphLaunch(exec => u64, stream => u64)), 0);
    assert_eq!(cu!(cuEventSynchronize(event => u64)), 0);
    assert_eq!(download::<u32>(address, 2), Ok(vec![5, 9]));
    // SAFETY: the parameter's value, read by the next call through `pointers`.
    unsafe { std::ptr::from_mut(&mut value).write(6) };
    let code = cu!(cuGraphExecKernelNodeSetParams(exec => u64, node => u64, &params => *const Params));
    assert_eq!(code, 0);
    assert_eq!(cu!(cuGraphLaunch(exec => u64, stream => u64)), 0);
    assert_eq!(cu!(cuGraphExecDestroy(exec => u64)), 0);
    assert_eq!(cu!(cuStreamSynchronize(stream => u64)), 0);
    assert_eq!(download::<u32>(address, 2), Ok(vec![6, 9]));
}
