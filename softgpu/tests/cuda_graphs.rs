//! Explicit graphs through the CUDA ABI.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cuda_support;

use cuda_support::*;
use std::ffi::c_void;
use std::ptr::null;

const INVALID_VALUE: i32 = 1;
const UPDATE_FAILURE: i32 = 910;

/// Writes its parameter to an address.
const STORE: &str = "
.version 5.0
.target sm_52
.address_size 64
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

#[repr(C)]
#[derive(Clone, Copy)]
struct Kernel {
    function: u64,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    params: *const *const c_void,
    extra: *const u64,
}

fn kernel(function: u64, params: &[*const c_void]) -> Kernel {
    Kernel { function, grid: [1; 3], block: [1; 3], shared: 0, params: params.as_ptr(), extra: null() }
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Memset {
    dst: u64,
    pitch: usize,
    value: u32,
    element: u32,
    width: usize,
    height: usize,
}

fn memset(dst: u64, value: u32) -> Memset {
    Memset { dst, pitch: 0, value, element: 4, width: 1, height: 1 }
}

/// The pool's description as 32-bit words up to the location, and words of 64 bits for the rest.
#[repr(C)]
#[derive(Clone, Copy)]
struct Allocation {
    pool: [u64; 11],
    access: [u64; 2],
    len: usize,
    address: u64,
}

fn context() -> u64 {
    let mut context = 0u64;
    assert_eq!(cu!(cuCtxGetCurrent(&mut context => *mut u64)), 0);
    context
}

fn new_stream() -> u64 {
    stream(1)
}

/// Adds a host node that waits at a gate.
fn host(graph: u64, gate: &Gate) -> u64 {
    let (mut node, params) = (0u64, gate.host_node());
    let code = cu!(cuGraphAddHostNode(
        &mut node => *mut u64, graph => u64, null() => *const u64, 0 => usize, params.as_ptr() => *const u64
    ));
    assert_eq!(code, 0);
    node
}

fn graph() -> u64 {
    let mut graph = 0u64;
    assert_eq!(cu!(cuGraphCreate(&mut graph => *mut u64, 0 => u32)), 0);
    graph
}

fn instantiate(graph: u64, flags: u64) -> Result<u64, i32> {
    let mut exec = 0u64;
    let code = cu!(cuGraphInstantiateWithFlags(&mut exec => *mut u64, graph => u64, flags => u64));
    if code == 0 { Ok(exec) } else { Err(code) }
}

fn empty(graph: u64, after: &[u64]) -> u64 {
    let mut node = 0u64;
    let code = cu!(cuGraphAddEmptyNode(
        &mut node => *mut u64, graph => u64, after.as_ptr() => *const u64, after.len() => usize
    ));
    assert_eq!(code, 0);
    node
}

/// Adds a fill of one element.
fn fill(graph: u64, after: &[u64], address: u64, value: u32) -> u64 {
    let mut node = 0u64;
    let set = memset(address, value);
    let code = cu!(cuGraphAddMemsetNode(
        &mut node => *mut u64, graph => u64, after.as_ptr() => *const u64, after.len() => usize,
        &set => *const Memset, context() => u64
    ));
    assert_eq!(code, 0);
    node
}

fn edges(graph: u64) -> Vec<(u64, u64)> {
    let (mut from, mut to, mut count) = ([0u64; 8], [0u64; 8], 8usize);
    let code = cu!(cuGraphGetEdges(
        graph => u64, from.as_mut_ptr() => *mut u64, to.as_mut_ptr() => *mut u64, &mut count => *mut usize
    ));
    assert_eq!(code, 0);
    from.into_iter().zip(to).take(count).collect()
}

fn launch_graph(exec: u64, stream: u64) -> i32 {
    match cu!(cuGraphLaunch(exec => u64, stream => u64)) {
        0 => cu!(cuStreamSynchronize(stream => u64)),
        code => code,
    }
}

#[test]
fn edges_are_added_removed_and_give_the_order() {
    let _context = Context::new();
    let (graph, address) = (graph(), alloc(4));
    // The second node is made later and runs first.
    let last = fill(graph, &[], address, 1);
    let first = fill(graph, &[], address, 2);
    let add = |from: u64, to: u64| cu!(cuGraphAddDependencies(graph => u64, &from => *const u64, &to => *const u64, 1 => usize));
    assert_eq!(add(first, last), 0);
    assert_eq!(add(first, last), INVALID_VALUE, "an existing dependency is an error");
    assert_eq!(add(first, first), INVALID_VALUE);
    assert_eq!(add(first, 77), INVALID_VALUE);
    assert_eq!(edges(graph), [(first, last)]);
    let exec = instantiate(graph, 0).unwrap();
    let stream = new_stream();
    assert_eq!(launch_graph(exec, stream), 0);
    assert_eq!(download::<u32>(address, 1), Ok(vec![1]));
    // A circle is found when the graph is instantiated.
    assert_eq!(add(last, first), 0);
    assert_eq!(instantiate(graph, 0), Err(INVALID_VALUE));
    let remove = |from: u64, to: u64| cu!(cuGraphRemoveDependencies(graph => u64, &from => *const u64, &to => *const u64, 1 => usize));
    assert_eq!(remove(first, last), 0);
    assert_eq!(remove(first, last), INVALID_VALUE, "a dependency that is not there is an error");
    assert_eq!(edges(graph), [(last, first)]);
    let exec = instantiate(graph, 0).unwrap();
    assert_eq!(launch_graph(exec, stream), 0);
    assert_eq!(download::<u32>(address, 1), Ok(vec![2]));
    let (mut count, mut before) = (1usize, 0u64);
    let code =
        cu!(cuGraphNodeGetDependencies(first => u64, &mut before => *mut u64, &mut count => *mut usize));
    assert_eq!((code, count, before), (0, 1, last));
    let mut after = 0u64;
    let code =
        cu!(cuGraphNodeGetDependentNodes(last => u64, &mut after => *mut u64, &mut count => *mut usize));
    assert_eq!((code, count, after), (0, 1, first));
    // A removed node takes its edges along.
    assert_eq!(cu!(cuGraphDestroyNode(last => u64)), 0);
    assert_eq!(cu!(cuGraphDestroyNode(last => u64)), INVALID_VALUE);
    assert_eq!(edges(graph), []);
}

#[test]
fn a_clone_has_its_own_nodes_and_knows_their_origins() {
    let _context = Context::new();
    let (graph, inner, address) = (graph(), graph(), alloc(4));
    let first = fill(graph, &[], address, 1);
    fill(inner, &[], address, 9);
    let mut child = 0u64;
    let code = cu!(cuGraphAddChildGraphNode(
        &mut child => *mut u64, graph => u64, &first => *const u64, 1 => usize, inner => u64
    ));
    assert_eq!(code, 0);
    let mut clone = 0u64;
    assert_eq!(cu!(cuGraphClone(&mut clone => *mut u64, graph => u64)), 0);
    let find = |node: u64| {
        let mut found = 0u64;
        let code = cu!(cuGraphNodeFindInClone(&mut found => *mut u64, node => u64, clone => u64));
        (code, found)
    };
    let ((code, copy), (other, _)) = (find(child), find(77));
    assert_eq!((code, other), (0, INVALID_VALUE));
    assert_eq!(edges(clone), [(find(first).1, copy)]);
    assert_ne!(copy, child);
    // Each child node has a graph of its own.
    let graph_of = |node: u64| {
        let mut graph = 0u64;
        assert_eq!(cu!(cuGraphChildGraphNodeGetGraph(node => u64, &mut graph => *mut u64)), 0);
        graph
    };
    assert_ne!(graph_of(child), graph_of(copy));
    assert_ne!(graph_of(child), inner);
    assert_eq!(cu!(cuGraphDestroy(graph_of(child) => u64)), INVALID_VALUE, "it is the node's");
    let mut code = cu!(cuGraphDestroy(graph => u64));
    assert_eq!(code, 0);
    code = cu!(cuGraphDestroy(inner => u64));
    assert_eq!(code, 0);
    let exec = instantiate(clone, 0).unwrap();
    assert_eq!(launch_graph(exec, new_stream()), 0);
    assert_eq!(download::<u32>(address, 1), Ok(vec![9]));
}

#[test]
fn parameters_are_read_back_and_changed() {
    let _context = Context::new();
    let store = function(load(STORE).unwrap(), "store").unwrap();
    let (graph, address, value) = (graph(), alloc(8), 5u32);
    let mut node = 0u64;
    let pointers = [param(&address), param(&value)];
    let params = kernel(store, &pointers);
    let code = cu!(cuGraphAddKernelNode(
        &mut node => *mut u64, graph => u64, null() => *const u64, 0 => usize, &params => *const Kernel
    ));
    assert_eq!(code, 0);
    let mut seen = kernel(0, &pointers);
    assert_eq!(cu!(cuGraphKernelNodeGetParams(node => u64, &mut seen => *mut Kernel)), 0);
    assert_eq!((seen.function, seen.grid, seen.block), (store, [1; 3], [1; 3]));
    // SAFETY: the node's own parameters, as documented: an address and a number.
    let given = unsafe { ((*seen.params).cast::<u64>().read(), (*seen.params.add(1)).cast::<u32>().read()) };
    assert_eq!(given, (address, 5));
    let set = fill(graph, &[node], address + 4, 7);
    let mut seen = memset(0, 0);
    assert_eq!(cu!(cuGraphMemsetNodeGetParams(set => u64, &mut seen => *mut Memset)), 0);
    assert_eq!((seen.dst, seen.element, seen.value, seen.width, seen.height), (address + 4, 4, 7, 1, 1));
    assert_eq!(cu!(cuGraphMemsetNodeGetParams(node => u64, &mut seen => *mut Memset)), INVALID_VALUE);
    seen.value = 8;
    assert_eq!(cu!(cuGraphMemsetNodeSetParams(set => u64, &seen => *const Memset)), 0);
    let exec = instantiate(graph, 0).unwrap();
    // A change of the graph does not reach the executable.
    seen.value = 9;
    assert_eq!(cu!(cuGraphMemsetNodeSetParams(set => u64, &seen => *const Memset)), 0);
    let stream = new_stream();
    assert_eq!(launch_graph(exec, stream), 0);
    assert_eq!(download::<u32>(address, 2), Ok(vec![5, 8]));
    let other = 6u32;
    let pointers = [param(&address), param(&other)];
    let code = cu!(cuGraphExecKernelNodeSetParams(
        exec => u64, node => u64, &kernel(store, &pointers) => *const Kernel
    ));
    assert_eq!(code, 0);
    assert_eq!(launch_graph(exec, stream), 0);
    assert_eq!(download::<u32>(address, 2), Ok(vec![6, 8]));
}

#[test]
fn an_executable_takes_the_parameters_of_a_graph_of_the_same_shape() {
    let _context = Context::new();
    let address = alloc(8);
    let make = |value: u32| {
        let graph = graph();
        let first = fill(graph, &[], address, value);
        fill(graph, &[first], address + 4, value + 1);
        graph
    };
    let (graph, stream) = (make(1), new_stream());
    let exec = instantiate(graph, 0).unwrap();
    let update = |other: u64| {
        let (mut node, mut result) = (1u64, -1i32);
        let code = cu!(cuGraphExecUpdate(
            exec => u64, other => u64, &mut node => *mut u64, &mut result => *mut i32
        ));
        (code, result, node)
    };
    assert_eq!(update(make(5)), (0, 0, 0));
    assert_eq!(launch_graph(exec, stream), 0);
    assert_eq!(download::<u32>(address, 2), Ok(vec![5, 6]));
    // Another number of nodes, another edge, another kind: nothing changes.
    let larger = make(7);
    empty(larger, &[]);
    assert_eq!(update(larger), (UPDATE_FAILURE, 2, 0));
    let loose = self::graph();
    fill(loose, &[], address, 7);
    let second = fill(loose, &[], address + 4, 7);
    assert_eq!(update(loose), (UPDATE_FAILURE, 2, second));
    let other = self::graph();
    let first = empty(other, &[]);
    fill(other, &[first], address, 7);
    assert_eq!(update(other), (UPDATE_FAILURE, 3, first));
    assert_eq!(launch_graph(exec, stream), 0);
    assert_eq!(download::<u32>(address, 2), Ok(vec![5, 6]));
}

#[test]
fn nodes_are_switched_off_and_on() {
    let _context = Context::new();
    let (graph, address, stream) = (graph(), alloc(4), new_stream());
    let first = fill(graph, &[], address, 1);
    let second = fill(graph, &[first], address, 2);
    let nothing = empty(graph, &[]);
    let exec = instantiate(graph, 0).unwrap();
    let enable = |node: u64, on: u32| cu!(cuGraphNodeSetEnabled(exec => u64, node => u64, on => u32));
    assert_eq!((enable(nothing, 0), enable(77, 0)), (INVALID_VALUE, INVALID_VALUE));
    for (on, expected) in [(0, 1u32), (1, 2)] {
        assert_eq!(enable(second, on), 0);
        let mut seen = 7u32;
        assert_eq!(cu!(cuGraphNodeGetEnabled(exec => u64, second => u64, &mut seen => *mut u32)), 0);
        assert_eq!(seen, on);
        assert_eq!(launch_graph(exec, stream), 0);
        assert_eq!(download::<u32>(address, 1), Ok(vec![expected]));
    }
}

#[test]
fn one_executable_runs_once_at_a_time() {
    let _context = Context::new();
    let (graph, gate) = (graph(), Gate::default());
    let (first, second) = (new_stream(), new_stream());
    let node = host(graph, &gate);
    let exec = instantiate(graph, 0).unwrap();
    assert_eq!(cu!(cuGraphLaunch(exec => u64, first => u64)), 0);
    assert_eq!(cu!(cuGraphLaunch(exec => u64, second => u64)), 0);
    // The second launch waits for the first, though it is on another stream; what was there before it does not.
    assert_eq!(cu!(cuStreamQuery(second => u64)), 600);
    let (mut function, expected) = ([0u64; 2], std::ptr::from_ref(&gate) as u64);
    assert_eq!(cu!(cuGraphHostNodeGetParams(node => u64, function.as_mut_ptr() => *mut u64)), 0);
    assert_eq!(function[1], expected);
    gate.open();
    assert_eq!(cu!(cuStreamSynchronize(second => u64)), 0);
    assert_eq!(cu!(cuStreamQuery(first => u64)), 0);
}

#[test]
fn nodes_allocate_and_free() {
    let _context = Context::new();
    let (graph, stream) = (graph(), new_stream());
    let mut request = Allocation { pool: [0; 11], access: [0; 2], len: 64, address: 0 };
    // Pinned, no handle type; a device, the first.
    request.pool[0] = 1;
    request.pool[1] = 1;
    let (mut node, mut free) = (0u64, 0u64);
    let code = cu!(cuGraphAddMemAllocNode(
        &mut node => *mut u64, graph => u64, null() => *const u64, 0 => usize, &mut request => *mut Allocation
    ));
    assert_eq!(code, 0);
    let address = request.address;
    let set = fill(graph, &[node], address, 3);
    let exec = instantiate(graph, 0).unwrap();
    assert_eq!(launch_graph(exec, stream), 0);
    assert_eq!(download::<u32>(address, 1), Ok(vec![3]));
    assert_eq!(launch_graph(exec, stream), INVALID_VALUE, "it is not freed yet");
    assert_eq!(cu!(cuMemFreeAsync(address => u64, stream => u64)), 0);
    assert_eq!(cu!(cuMemFreeAsync(address => u64, stream => u64)), INVALID_VALUE);
    assert_eq!(launch_graph(exec, stream), 0);
    let auto = instantiate(graph, 1).unwrap();
    assert_eq!((launch_graph(auto, stream), launch_graph(auto, stream)), (0, 0));
    assert_eq!(cu!(cuMemFreeAsync(address => u64, stream => u64)), 0);
    // A graph that frees what it allocates can be launched again and again. One node frees, no more.
    let mut add_free = || {
        cu!(cuGraphAddMemFreeNode(
            &mut free => *mut u64, graph => u64, &set => *const u64, 1 => usize, address => u64
        ))
    };
    assert_eq!((add_free(), add_free()), (0, INVALID_VALUE));
    let exec = instantiate(graph, 0).unwrap();
    assert_eq!((launch_graph(exec, stream), launch_graph(exec, stream)), (0, 0));
    // Such graphs cannot be cloned, and their memory goes with the last of them.
    let mut clone = 0u64;
    assert_ne!(cu!(cuGraphClone(&mut clone => *mut u64, graph => u64)), 0);
    let mut seen = 0u64;
    assert_eq!(cu!(cuGraphMemFreeNodeGetParams(free => u64, &mut seen => *mut u64)), 0);
    assert_eq!(seen, address);
}
