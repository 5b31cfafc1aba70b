//! Graphs and executable graphs.

use crate::device::{Function, Stream};
use crate::memory::pointer;
use crate::status::call_optional;
use crate::sys::Symbols;
use crate::sys::bindings::{
    dim3, hipGraph_t, hipGraphExec_t, hipGraphNode_t, hipKernelNodeParams, hipMemcpyKind, hipMemsetParams,
};
use hal_core::Result;
use hal_utils::native::{Graph, GraphExec, GraphNode, LaunchShape, NodeWork};
use std::ffi::c_void;
use std::ptr;

/// Either side may be device, pinned, managed or pageable memory.
const COPY: hipMemcpyKind = hipMemcpyKind::hipMemcpyDefault;

/// Whether the runtime has all of it.
pub(crate) fn available(symbols: &Symbols) -> bool {
    symbols.hipGraphCreate.is_some()
        && symbols.hipGraphDestroy.is_some()
        && symbols.hipGraphAddEmptyNode.is_some()
        && symbols.hipGraphAddMemsetNode.is_some()
        && symbols.hipGraphAddMemcpyNode1D.is_some()
        && symbols.hipGraphAddKernelNode.is_some()
        && symbols.hipGraphInstantiateWithFlags.is_some()
        && symbols.hipGraphExecMemsetNodeSetParams.is_some()
        && symbols.hipGraphExecMemcpyNodeSetParams1D.is_some()
        && symbols.hipGraphExecKernelNodeSetParams.is_some()
        && symbols.hipGraphLaunch.is_some()
        && symbols.hipGraphExecDestroy.is_some()
}

fn graph_of(graph: Graph) -> hipGraph_t {
    ptr::with_exposed_provenance_mut(graph.0)
}

fn exec_of(exec: GraphExec) -> hipGraphExec_t {
    ptr::with_exposed_provenance_mut(exec.0)
}

fn node_of(node: GraphNode) -> hipGraphNode_t {
    ptr::with_exposed_provenance_mut(node.0)
}

/// # Safety
/// The device is current.
pub(crate) unsafe fn create(symbols: &Symbols) -> Result<Graph> {
    let mut graph = ptr::null_mut();
    // SAFETY: writes one handle; the caller's promise.
    unsafe { call_optional!(symbols, hipGraphCreate(&mut graph, 0)) }?;
    Ok(Graph(graph.expose_provenance()))
}

/// # Safety
/// As for `Native::graph_destroy`.
pub(crate) unsafe fn destroy(symbols: &Symbols, graph: Graph) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { call_optional!(symbols, hipGraphDestroy(graph_of(graph))) }
}

/// # Safety
/// As for `Native::graph_add`.
pub(crate) unsafe fn add(
    symbols: &Symbols,
    graph: Graph,
    after: &[GraphNode],
    work: NodeWork<'_, Function>,
) -> Result<GraphNode> {
    let graph = graph_of(graph);
    // A node is its handle in a number (`repr(transparent)`), which has the size of a pointer.
    let (after, count) = (after.as_ptr().cast::<hipGraphNode_t>(), after.len());
    let mut node = ptr::null_mut();
    let made = &mut node;
    // SAFETY: reads `count` handles and parameters that live until it returns, writes one handle; the caller's promise.
    unsafe {
        match work {
            NodeWork::Empty => call_optional!(symbols, hipGraphAddEmptyNode(made, graph, after, count)),
            NodeWork::Fill { target, pattern, pattern_size, count: width } => {
                let fill = fill(target, pattern, pattern_size, width);
                call_optional!(symbols, hipGraphAddMemsetNode(made, graph, after, count, &fill))
            }
            NodeWork::Copy { target, source, size } => {
                let (to, from) = (pointer(target), pointer(source));
                call_optional!(
                    symbols,
                    hipGraphAddMemcpyNode1D(made, graph, after, count, to, from, size, COPY)
                )
            }
            NodeWork::Upload { target, source } => {
                let (to, from, size) = (pointer(target), source.as_ptr().cast(), source.len());
                call_optional!(
                    symbols,
                    hipGraphAddMemcpyNode1D(made, graph, after, count, to, from, size, COPY)
                )
            }
            NodeWork::Launch { function, shape, arguments } => {
                let kernel = kernel(function, shape, arguments);
                call_optional!(symbols, hipGraphAddKernelNode(made, graph, after, count, &kernel))
            }
        }
    }?;
    Ok(GraphNode(node.expose_provenance()))
}

/// # Safety
/// As for `Native::graph_instantiate`.
pub(crate) unsafe fn instantiate(symbols: &Symbols, graph: Graph) -> Result<GraphExec> {
    let mut exec = ptr::null_mut();
    // SAFETY: writes one handle; the caller's promise.
    unsafe { call_optional!(symbols, hipGraphInstantiateWithFlags(&mut exec, graph_of(graph), 0)) }?;
    Ok(GraphExec(exec.expose_provenance()))
}

/// # Safety
/// As for `Native::graph_exec_set`.
pub(crate) unsafe fn exec_set(
    symbols: &Symbols,
    exec: GraphExec,
    node: GraphNode,
    work: NodeWork<'_, Function>,
) -> Result<()> {
    let (exec, node) = (exec_of(exec), node_of(node));
    // SAFETY: reads parameters that live until it returns; the caller's promise.
    unsafe {
        match work {
            NodeWork::Empty => Ok(()),
            NodeWork::Fill { target, pattern, pattern_size, count } => {
                let fill = fill(target, pattern, pattern_size, count);
                call_optional!(symbols, hipGraphExecMemsetNodeSetParams(exec, node, &fill))
            }
            NodeWork::Copy { target, source, size } => {
                let (to, from) = (pointer(target), pointer(source));
                call_optional!(symbols, hipGraphExecMemcpyNodeSetParams1D(exec, node, to, from, size, COPY))
            }
            NodeWork::Upload { target, source } => {
                let (to, from, size) = (pointer(target), source.as_ptr().cast(), source.len());
                call_optional!(symbols, hipGraphExecMemcpyNodeSetParams1D(exec, node, to, from, size, COPY))
            }
            NodeWork::Launch { function, shape, arguments } => {
                let kernel = kernel(function, shape, arguments);
                call_optional!(symbols, hipGraphExecKernelNodeSetParams(exec, node, &kernel))
            }
        }
    }
}

/// # Safety
/// As for `Native::graph_launch`.
pub(crate) unsafe fn launch(symbols: &Symbols, exec: GraphExec, stream: Stream) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { call_optional!(symbols, hipGraphLaunch(exec_of(exec), stream.0)) }
}

/// # Safety
/// As for `Native::graph_exec_destroy`.
pub(crate) unsafe fn exec_destroy(symbols: &Symbols, exec: GraphExec) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { call_optional!(symbols, hipGraphExecDestroy(exec_of(exec))) }
}

fn fill(target: u64, pattern: u32, pattern_size: u32, count: usize) -> hipMemsetParams {
    hipMemsetParams {
        dst: pointer(target),
        elementSize: pattern_size,
        height: 1,
        pitch: 0,
        value: pattern,
        width: count,
    }
}

/// The runtime copies the arguments; the pointers to them must live until it has. It takes a module's function where
/// the type says a host function.
fn kernel(function: Function, shape: LaunchShape, arguments: &mut [*mut c_void]) -> hipKernelNodeParams {
    let dim = |[x, y, z]: [u32; 3]| dim3 { x, y, z };
    hipKernelNodeParams {
        blockDim: dim(shape.block),
        extra: ptr::null_mut(),
        func: function.0.cast(),
        gridDim: dim(shape.grid),
        kernelParams: arguments.as_mut_ptr(),
        sharedMemBytes: shape.shared_memory,
    }
}
