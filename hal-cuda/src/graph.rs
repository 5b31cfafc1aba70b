//! Graphs and executable graphs.

use crate::device::{Function, Stream};
use crate::status::call_optional;
use crate::sys::Symbols;
use crate::sys::bindings::{
    CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUcontext, CUgraph, CUgraphExec,
    CUgraphNode, CUmemorytype,
};
use hal_core::Result;
use hal_utils::native::{Graph, GraphExec, GraphNode, LaunchShape, NodeWork};
use std::ffi::c_void;
use std::ptr;

/// Whether the driver has all of it.
pub(crate) fn available(symbols: &Symbols) -> bool {
    symbols.cuGraphCreate.is_some()
        && symbols.cuGraphDestroy.is_some()
        && symbols.cuGraphAddEmptyNode.is_some()
        && symbols.cuGraphAddMemsetNode.is_some()
        && symbols.cuGraphAddMemcpyNode.is_some()
        && symbols.cuGraphAddKernelNode.is_some()
        && symbols.cuGraphInstantiateWithFlags.is_some()
        && symbols.cuGraphExecMemsetNodeSetParams.is_some()
        && symbols.cuGraphExecMemcpyNodeSetParams.is_some()
        && symbols.cuGraphExecKernelNodeSetParams.is_some()
        && symbols.cuGraphLaunch.is_some()
        && symbols.cuGraphExecDestroy.is_some()
}

fn graph_of(graph: Graph) -> CUgraph {
    ptr::with_exposed_provenance_mut(graph.0)
}

fn exec_of(exec: GraphExec) -> CUgraphExec {
    ptr::with_exposed_provenance_mut(exec.0)
}

fn node_of(node: GraphNode) -> CUgraphNode {
    ptr::with_exposed_provenance_mut(node.0)
}

/// # Safety
/// The device is current.
pub(crate) unsafe fn create(symbols: &Symbols) -> Result<Graph> {
    let mut graph = ptr::null_mut();
    // SAFETY: writes one handle; the caller's promise.
    unsafe { call_optional!(symbols, cuGraphCreate(&mut graph, 0)) }?;
    Ok(Graph(graph.expose_provenance()))
}

/// # Safety
/// As for `Native::graph_destroy`.
pub(crate) unsafe fn destroy(symbols: &Symbols, graph: Graph) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { call_optional!(symbols, cuGraphDestroy(graph_of(graph))) }
}

/// # Safety
/// As for `Native::graph_add`.
pub(crate) unsafe fn add(
    symbols: &Symbols,
    context: CUcontext,
    graph: Graph,
    after: &[GraphNode],
    work: NodeWork<'_, Function>,
) -> Result<GraphNode> {
    let graph = graph_of(graph);
    // A node is its handle in a number (`repr(transparent)`), which has the size of a pointer.
    let (after, count) = (after.as_ptr().cast::<CUgraphNode>(), after.len());
    let mut node = ptr::null_mut();
    let made = &mut node;
    // SAFETY: reads `count` handles and parameters that live until it returns, writes one handle; the caller's promise.
    unsafe {
        match work {
            NodeWork::Empty => call_optional!(symbols, cuGraphAddEmptyNode(made, graph, after, count)),
            NodeWork::Fill { target, pattern, pattern_size, count: width } => {
                let fill = fill(target, pattern, pattern_size, width);
                call_optional!(symbols, cuGraphAddMemsetNode(made, graph, after, count, &fill, context))
            }
            NodeWork::Copy { target, source, size } => {
                let copy = copy(target, source, size);
                call_optional!(symbols, cuGraphAddMemcpyNode(made, graph, after, count, &copy, context))
            }
            NodeWork::Upload { target, source } => {
                let copy = upload(target, source);
                call_optional!(symbols, cuGraphAddMemcpyNode(made, graph, after, count, &copy, context))
            }
            NodeWork::Launch { function, shape, arguments } => {
                let kernel = kernel(function, shape, arguments);
                call_optional!(symbols, cuGraphAddKernelNode(made, graph, after, count, &kernel))
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
    unsafe { call_optional!(symbols, cuGraphInstantiateWithFlags(&mut exec, graph_of(graph), 0)) }?;
    Ok(GraphExec(exec.expose_provenance()))
}

/// # Safety
/// As for `Native::graph_exec_set`.
pub(crate) unsafe fn exec_set(
    symbols: &Symbols,
    context: CUcontext,
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
                call_optional!(symbols, cuGraphExecMemsetNodeSetParams(exec, node, &fill, context))
            }
            NodeWork::Copy { target, source, size } => {
                let copy = copy(target, source, size);
                call_optional!(symbols, cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context))
            }
            NodeWork::Upload { target, source } => {
                let copy = upload(target, source);
                call_optional!(symbols, cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context))
            }
            NodeWork::Launch { function, shape, arguments } => {
                let kernel = kernel(function, shape, arguments);
                call_optional!(symbols, cuGraphExecKernelNodeSetParams(exec, node, &kernel))
            }
        }
    }
}

/// # Safety
/// As for `Native::graph_launch`.
pub(crate) unsafe fn launch(symbols: &Symbols, exec: GraphExec, stream: Stream) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { call_optional!(symbols, cuGraphLaunch(exec_of(exec), stream.0)) }
}

/// # Safety
/// As for `Native::graph_exec_destroy`.
pub(crate) unsafe fn exec_destroy(symbols: &Symbols, exec: GraphExec) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { call_optional!(symbols, cuGraphExecDestroy(exec_of(exec))) }
}

fn fill(target: u64, pattern: u32, pattern_size: u32, count: usize) -> CUDA_MEMSET_NODE_PARAMS {
    CUDA_MEMSET_NODE_PARAMS {
        dst: target,
        pitch: 0,
        value: pattern,
        elementSize: pattern_size,
        width: count,
        height: 1,
    }
}

/// Either side may be device, pinned or managed memory.
fn copy(target: u64, source: u64, size: usize) -> CUDA_MEMCPY3D {
    CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_UNIFIED,
        srcHost: ptr::null(),
        srcDevice: source,
        srcArray: ptr::null_mut(),
        reserved0: ptr::null_mut(),
        srcPitch: 0,
        srcHeight: 0,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_UNIFIED,
        dstHost: ptr::null_mut(),
        dstDevice: target,
        dstArray: ptr::null_mut(),
        reserved1: ptr::null_mut(),
        dstPitch: 0,
        dstHeight: 0,
        WidthInBytes: size,
        Height: 1,
        Depth: 1,
    }
}

fn upload(target: u64, source: &[u8]) -> CUDA_MEMCPY3D {
    CUDA_MEMCPY3D {
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
        srcHost: source.as_ptr().cast(),
        ..copy(target, 0, source.len())
    }
}

/// The driver copies the arguments; the pointers to them must live until it has.
fn kernel(function: Function, shape: LaunchShape, arguments: &mut [*mut c_void]) -> CUDA_KERNEL_NODE_PARAMS {
    let [grid_x, grid_y, grid_z] = shape.grid;
    let [block_x, block_y, block_z] = shape.block;
    CUDA_KERNEL_NODE_PARAMS {
        func: function.0,
        gridDimX: grid_x,
        gridDimY: grid_y,
        gridDimZ: grid_z,
        blockDimX: block_x,
        blockDimY: block_y,
        blockDimZ: block_z,
        sharedMemBytes: shape.shared_memory,
        kernelParams: arguments.as_mut_ptr(),
        extra: ptr::null_mut(),
        kern: ptr::null_mut(),
        ctx: ptr::null_mut(),
    }
}
