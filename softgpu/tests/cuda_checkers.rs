//! Checkers. They hold for the whole process, so this is one test in a process of its own.

#![allow(clippy::unwrap_used)]

mod cuda_support;

use cuda_support::*;
use softgpu::check::{self, Checker, Finding};
use softgpu::driver::leaks;
use std::ffi::c_char;

const KERNELS: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry bump(.param .u64 at)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<4>;
    ld.param.u64 %rd1, [at];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3];
    add.u32 %r3, %r2, 1;
    st.global.u32 [%rd3], %r3;
    ret;
}
.visible .entry count(.param .u64 at)
{
    .reg .b64 %rd<2>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [at];
    atom.global.add.u32 %r1, [%rd1], 1;
    ret;
}
";

fn texts(checker: Checker) -> Vec<String> {
    let of = |finding: Finding| (finding.checker == checker).then_some(finding.text);
    check::take_findings().into_iter().filter_map(of).collect()
}

fn set8(at: u64, len: usize, stream: u64) {
    assert_eq!(cu!(cuMemsetD8Async(at => u64, 1 => u8, len => usize, stream => u64)), 0);
}

fn synchronize() {
    assert_eq!(cu!(cuCtxSynchronize()), 0);
}

#[test]
fn checkers_find_what_is_wrong_and_nothing_else() {
    assert!(check::set("rase").unwrap_err().to_string().contains("`rase`"));
    check::set("all").unwrap();
    let context = Context::new();
    let module = load(KERNELS).unwrap();
    let (bump, count) = (function(module, "bump").unwrap(), function(module, "count").unwrap());
    let (a, b, joint) = (stream(1), stream(1), event(2));
    unordered_operations_race(bump, count, a, b, joint);
    edges_of_graphs_order(a);
    unwritten_memory_is_reported(bump);
    leaks_are_listed();
    drop(context);
    assert_eq!(leaks::list(), []);
    control();
}

/// The same by exported functions.
fn control() {
    type Set = unsafe extern "C" fn(*const c_char, *const c_char) -> i32;
    type Report = unsafe extern "C" fn(*const c_char, *mut c_char, usize) -> usize;
    let (set, report) =
        ["softgpu_set", "softgpu_report"].map(|n| softgpu::resolver::symbol(n).unwrap()).into();
    // SAFETY: the type of `softgpu_set`.
    let set: Set = unsafe { std::mem::transmute(set) };
    // SAFETY: the type of `softgpu_report`.
    let report: Report = unsafe { std::mem::transmute(report) };
    let memory = alloc_in_new_context();
    let mut text = [0u8; 256];
    // SAFETY: a text ended by a zero byte, and a buffer of the length given.
    let len = unsafe { report(c"leaks".as_ptr(), text.as_mut_ptr().cast(), text.len()) };
    let text = std::str::from_utf8(&text[..len]).unwrap();
    assert!(text.contains("context") && text.contains("allocation of 5 bytes"), "{text}");
    drop(memory);
    for (instrument, value, expected) in [
        (c"check", c"memory,race", 0),
        (c"check", c"rase", 1),
        (c"order", c"12", 0),
        (c"order", c"x", 1),
        (c"order", c"", 0),
        (c"faults", c"cuInit", 1),
        (c"trace", c"0", 0),
        (c"nothing", c"", 1),
        (c"check", c"", 0),
    ] {
        // SAFETY: texts ended by a zero byte.
        assert_eq!(unsafe { set(instrument.as_ptr(), value.as_ptr()) }, expected, "{instrument:?} {value:?}");
    }
}

fn alloc_in_new_context() -> Context {
    let context = Context::new();
    alloc(5);
    context
}

fn unordered_operations_race(bump: u64, count: u64, a: u64, b: u64, joint: u64) {
    let memory = alloc(256);
    set8(memory, 256, a);
    synchronize();
    assert_eq!(texts(Checker::Race), [] as [String; 0]);

    // Each is done before the next begins, and still nothing orders them: nobody asked.
    assert_eq!(launch(bump, 1, 32, a, &[param(&memory)]), 0);
    set8(memory + 64, 4, b);
    synchronize();
    let found = texts(Checker::Race);
    assert_eq!(found.len(), 1, "{found:?}");
    for part in
        ["64..68", "256 bytes", "cuMemAlloc_v2", "kernel `bump`", "fill of 4 bytes", "an event recorded"]
    {
        assert!(found[0].contains(part), "{part} is not in {}", found[0]);
    }

    // Side by side, one after the other by an event, by the program, and atomics among each other.
    assert_eq!(launch(bump, 1, 8, a, &[param(&memory)]), 0);
    set8(memory + 32, 4, b);
    assert_eq!(cu!(cuEventRecord(joint => u64, a => u64)), 0);
    assert_eq!(cu!(cuStreamWaitEvent(b => u64, joint => u64, 0 => u32)), 0);
    set8(memory, 4, b);
    assert_eq!(cu!(cuStreamSynchronize(b => u64)), 0);
    set8(memory, 256, a);
    synchronize();
    for stream in [a, b] {
        assert_eq!(launch(count, 1, 32, stream, &[param(&memory)]), 0);
    }
    synchronize();
    // Two that only read.
    let other = alloc(512);
    for (stream, half) in [(a, other), (b, other + 256)] {
        let code = cu!(cuMemcpyDtoDAsync_v2(half => u64, memory => u64, 256 => usize, stream => u64));
        assert_eq!(code, 0);
    }
    synchronize();
    assert_eq!(texts(Checker::Race), [] as [String; 0]);

    // An event that is recorded too early, and an atomic next to a plain write.
    assert_eq!(cu!(cuEventRecord(joint => u64, a => u64)), 0);
    assert_eq!(launch(count, 1, 1, a, &[param(&memory)]), 0);
    assert_eq!(cu!(cuStreamWaitEvent(b => u64, joint => u64, 0 => u32)), 0);
    set8(memory, 1, b);
    synchronize();
    let found = texts(Checker::Race);
    assert!(found.len() == 1 && found[0].contains("atomic access"), "{found:?}");
    for memory in [memory, other] {
        assert_eq!(cu!(cuMemFree_v2(memory => u64)), 0);
    }
}

/// `CUDA_MEMSET_NODE_PARAMS`
#[repr(C)]
struct MemsetNode {
    dst: u64,
    pitch: usize,
    value: u32,
    element: u32,
    width: usize,
    height: usize,
}

fn edges_of_graphs_order(stream: u64) {
    let memory = alloc(64);
    let mut context = 0u64;
    assert_eq!(cu!(cuCtxGetCurrent(&mut context => *mut u64)), 0);
    for ordered in [true, false] {
        let (mut graph, mut exec) = (0u64, 0u64);
        assert_eq!(cu!(cuGraphCreate(&mut graph => *mut u64, 0 => u32)), 0);
        let node = MemsetNode { dst: memory, pitch: 0, value: 1, element: 1, width: 64, height: 1 };
        let mut nodes = [0u64; 2];
        for at in 0..2 {
            let before = nodes;
            let count = usize::from(ordered && at == 1);
            let code = cu!(cuGraphAddMemsetNode(
                &mut nodes[at] => *mut u64, graph => u64, before.as_ptr() => *const u64, count => usize,
                &node => *const MemsetNode, context => u64,
            ));
            assert_eq!(code, 0);
        }
        let code = cu!(cuGraphInstantiateWithFlags(&mut exec => *mut u64, graph => u64, 0 => u64));
        assert_eq!(code, 0);
        for _ in 0..2 {
            assert_eq!(cu!(cuGraphLaunch(exec => u64, stream => u64)), 0);
        }
        synchronize();
        let found = texts(Checker::Race);
        assert_eq!(found.is_empty(), ordered, "{found:?}");
        assert!(found.iter().all(|text| text.contains("an edge of the graph")), "{found:?}");
        assert_eq!(cu!(cuGraphExecDestroy(exec => u64)), 0);
        assert_eq!(cu!(cuGraphDestroy(graph => u64)), 0);
    }
    assert_eq!(cu!(cuMemFree_v2(memory => u64)), 0);
}

fn unwritten_memory_is_reported(bump: u64) {
    let (memory, copy) = (alloc(256), alloc(256));
    assert_eq!(upload(memory, &[1u32; 16]), 0);
    assert_eq!(launch(bump, 1, 16, 0, &[param(&memory)]), 0);
    // Copies carry the knowledge along.
    assert_eq!(cu!(cuMemcpyDtoD_v2(copy => u64, memory => u64, 256 => usize)), 0);
    download::<u32>(copy, 16).unwrap();
    assert_eq!(texts(Checker::Memory), [] as [String; 0]);
    download::<u32>(copy, 17).unwrap();
    let found = texts(Checker::Memory);
    assert!(found.len() == 1 && found[0].contains("byte 64 of the allocation of 256 bytes"), "{found:?}");
    assert_eq!(launch(bump, 1, 18, 0, &[param(&memory)]), 0);
    synchronize();
    let found = texts(Checker::Memory);
    assert_eq!(found.len(), 1, "{found:?}");
    for part in ["kernel `bump`", "thread (16,0,0)", "PTX line 13", "cuMemAlloc_v2"] {
        assert!(found[0].contains(part), "{part} is not in {}", found[0]);
    }
    for memory in [memory, copy] {
        assert_eq!(cu!(cuMemFree_v2(memory => u64)), 0);
    }
}

fn leaks_are_listed() {
    let before = leaks::list().len();
    let (event, memory) = (event(2), alloc(77));
    let found: Vec<String> = leaks::list().iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), before + 2);
    let names = |text: &str, call: &str| found.iter().any(|leak| leak.contains(text) && leak.contains(call));
    assert!(names(&format!("event {event:#x}"), "(cuEventCreate)"), "{found:?}");
    assert!(names("allocation of 77 bytes", "(cuMemAlloc_v2)"), "{found:?}");
    assert_eq!(cu!(cuEventDestroy_v2(event => u64)), 0);
    assert_eq!(cu!(cuMemFree_v2(memory => u64)), 0);
    assert_eq!(leaks::list().len(), before);
}
