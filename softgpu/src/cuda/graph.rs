//! Graphs.

use super::copy::Memcpy3D;
use super::launch::{Extra, KernelParams, prepare};
use super::stream::{HostFn, host_function};
use super::{Cuda, stream_of};
use crate::abi::{Address, Entry, In, Out, entries};
use crate::driver::copy::Fill;
use crate::driver::event::EVENTS;
use crate::driver::graph::{EXECS, GRAPHS, Graph, GraphExec, Work};
use crate::driver::{Error, Result, context};
use std::ffi::{c_char, c_void};
use std::sync::Arc;

/// `CUDA_KERNEL_NODE_PARAMS` of the first ABI; the second only adds fields.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KernelNodeParams {
    function: u64,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    params: KernelParams,
    extra: Extra,
}

/// `CUDA_MEMSET_NODE_PARAMS`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MemsetNodeParams {
    dst: u64,
    pitch: usize,
    value: u32,
    element: u32,
    width: usize,
    height: usize,
}

/// `CUDA_HOST_NODE_PARAMS`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HostNodeParams {
    function: HostFn,
    data: *mut c_void,
}

fn kernel_work(params: In<KernelNodeParams>) -> Result<Work> {
    let p = params.get()?;
    prepare(p.function, p.grid, p.block, p.shared, p.params, p.extra)
        .map(|launch| Work::Launch(Arc::new(launch)))
}

fn copy_work(params: In<Memcpy3D>) -> Result<Work> {
    Ok(Work::Copy(params.get()?.prepare()?.map(Arc::new)))
}

fn fill_work(params: In<MemsetNodeParams>) -> Result<Work> {
    let p = params.get()?;
    let element = u8::try_from(p.element).map_err(|_| Error::INVALID_VALUE)?;
    let fill = Fill::new(p.dst, p.value, element, p.width as u64, p.height as u64, p.pitch as u64)?;
    Ok(Work::Fill(fill.map(Arc::new)))
}

fn add(node: Out<u64>, graph: u64, after: In<u64>, count: usize, work: Result<Work>) -> Result<()> {
    node.check()?;
    node.set(GRAPHS.get(graph)?.add(&after.list(count)?, work?)?)
}

fn instantiate(exec: Out<u64>, graph: u64) -> Result<()> {
    exec.check()?;
    exec.set(GRAPHS.get(graph)?.instantiate().handle)
}

/// From CUDA 12 on, the plain name stands for the call that takes flags.
pub(crate) static ALIASES: &[Entry] = &[Entry {
    base: "cuGraphInstantiate",
    symbol: "cuGraphInstantiateWithFlags",
    since: 12000,
    early: false,
    address: Address(cuGraphInstantiateWithFlags as *const c_void),
}];

entries! { Cuda;
    /// Makes an empty graph.
    "cuGraphCreate" 10000 => fn cuGraphCreate(graph: Out<u64>, flags: u32) {
        graph.check()?;
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        graph.set(Graph::create(&*context::current()?).handle)
    }
    /// Destroys a graph.
    "cuGraphDestroy" 10000 => fn cuGraphDestroy(graph: u64) {
        Graph::destroy(graph)
    }
    /// Adds a node that does nothing.
    "cuGraphAddEmptyNode" 10000 => fn cuGraphAddEmptyNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize,
    ) {
        add(node, graph, after, count, Ok(Work::Empty))
    }
    /// Adds a kernel.
    "cuGraphAddKernelNode" 10000 => fn cuGraphAddKernelNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, params: In<KernelNodeParams>,
    ) {
        add(node, graph, after, count, kernel_work(params))
    }
    /// Adds a kernel.
    "cuGraphAddKernelNode" 12000 => fn cuGraphAddKernelNode_v2(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, params: In<KernelNodeParams>,
    ) {
        add(node, graph, after, count, kernel_work(params))
    }
    /// Adds a copy.
    "cuGraphAddMemcpyNode" 10000 => fn cuGraphAddMemcpyNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, params: In<Memcpy3D>, context: u64,
    ) {
        context::context_of(context)?;
        add(node, graph, after, count, copy_work(params))
    }
    /// Adds a fill.
    "cuGraphAddMemsetNode" 10000 => fn cuGraphAddMemsetNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, params: In<MemsetNodeParams>, context: u64,
    ) {
        context::context_of(context)?;
        add(node, graph, after, count, fill_work(params))
    }
    /// Adds a call into the program.
    "cuGraphAddHostNode" 10000 => fn cuGraphAddHostNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, params: In<HostNodeParams>,
    ) {
        let params = params.get()?;
        add(node, graph, after, count, host_function(params.function, params.data).map(Work::Host))
    }
    /// Adds the nodes of another graph.
    "cuGraphAddChildGraphNode" 10000 => fn cuGraphAddChildGraphNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, child: u64,
    ) {
        let work = GRAPHS.get(child).map(|child| Work::Child(child.nodes()));
        add(node, graph, after, count, work)
    }
    /// Adds the record of an event.
    "cuGraphAddEventRecordNode" 11010 => fn cuGraphAddEventRecordNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, event: u64,
    ) {
        add(node, graph, after, count, EVENTS.get(event).map(Work::Record))
    }
    /// Adds a wait for an event.
    "cuGraphAddEventWaitNode" 11010 => fn cuGraphAddEventWaitNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, event: u64,
    ) {
        add(node, graph, after, count, EVENTS.get(event).map(Work::WaitEvent))
    }
    /// The nodes of a graph; without a place for them, how many there are.
    "cuGraphGetNodes" 10000 => fn cuGraphGetNodes(graph: u64, nodes: Out<u64>, count: Out<usize>) {
        let all = GRAPHS.get(graph)?.nodes();
        if nodes.is_null() {
            return count.set(all.len());
        }
        let room = count.get()?;
        for at in 0..room {
            nodes.set_at(at, all.get(at).map_or(0, |node| node.handle));
        }
        count.set(room.min(all.len()))
    }
    /// Makes an executable graph; the log stays empty.
    "cuGraphInstantiate" 10000 => fn cuGraphInstantiate(
        exec: Out<u64>, graph: u64, node: Out<u64>, log: Out<c_char>, size: usize,
    ) {
        instantiate_with_log(exec, graph, node, log, size)
    }
    /// Makes an executable graph; the log stays empty.
    "cuGraphInstantiate" 11000 => fn cuGraphInstantiate_v2(
        exec: Out<u64>, graph: u64, node: Out<u64>, log: Out<c_char>, size: usize,
    ) {
        instantiate_with_log(exec, graph, node, log, size)
    }
    /// Makes an executable graph.
    "cuGraphInstantiateWithFlags" 11040 => fn cuGraphInstantiateWithFlags(
        exec: Out<u64>, graph: u64, flags: u64,
    ) {
        if flags > 15 {
            return Err(Error::INVALID_VALUE);
        }
        instantiate(exec, graph)
    }
    /// Gives a kernel node of an executable new parameters.
    "cuGraphExecKernelNodeSetParams" 10010 => fn cuGraphExecKernelNodeSetParams(
        exec: u64, node: u64, params: In<KernelNodeParams>,
    ) {
        EXECS.get(exec)?.set_work(node, kernel_work(params)?)
    }
    /// Gives a kernel node of an executable new parameters.
    "cuGraphExecKernelNodeSetParams" 12000 => fn cuGraphExecKernelNodeSetParams_v2(
        exec: u64, node: u64, params: In<KernelNodeParams>,
    ) {
        EXECS.get(exec)?.set_work(node, kernel_work(params)?)
    }
    /// Gives a copy node of an executable new parameters.
    "cuGraphExecMemcpyNodeSetParams" 10020 => fn cuGraphExecMemcpyNodeSetParams(
        exec: u64, node: u64, params: In<Memcpy3D>, context: u64,
    ) {
        context::context_of(context)?;
        EXECS.get(exec)?.set_work(node, copy_work(params)?)
    }
    /// Gives a fill node of an executable new parameters.
    "cuGraphExecMemsetNodeSetParams" 10020 => fn cuGraphExecMemsetNodeSetParams(
        exec: u64, node: u64, params: In<MemsetNodeParams>, context: u64,
    ) {
        context::context_of(context)?;
        EXECS.get(exec)?.set_work(node, fill_work(params)?)
    }
    /// Gives an event record node of an executable another event.
    "cuGraphExecEventRecordNodeSetEvent" 11010 => fn cuGraphExecEventRecordNodeSetEvent(
        exec: u64, node: u64, event: u64,
    ) {
        EXECS.get(exec)?.set_work(node, Work::Record(EVENTS.get(event)?))
    }
    /// Readies an executable graph for a stream; nothing is left to do.
    "cuGraphUpload" 11010 => fn cuGraphUpload(exec: u64, stream: u64) {
        EXECS.get(exec)?;
        stream_of(stream).map(drop)
    }
    /// Puts an executable graph on a stream.
    "cuGraphLaunch" 10000 => fn cuGraphLaunch(exec: u64, stream: u64) {
        EXECS.get(exec)?.launch(&stream_of(stream)?)
    }
    /// Destroys an executable graph.
    "cuGraphExecDestroy" 10000 => fn cuGraphExecDestroy(exec: u64) {
        GraphExec::destroy(exec)
    }
    /// Capture does not exist; the mode is kept per thread nowhere.
    "cuThreadExchangeStreamCaptureMode" 10010 => fn cuThreadExchangeStreamCaptureMode(mode: Out<i32>) {
        let asked = mode.get()?;
        if !(0..=2).contains(&asked) {
            return Err(Error::INVALID_VALUE);
        }
        mode.set(0)
    }
}

fn instantiate_with_log(
    exec: Out<u64>,
    graph: u64,
    node: Out<u64>,
    log: Out<c_char>,
    size: usize,
) -> Result<()> {
    node.set_if(0);
    if !log.is_null() && size > 0 {
        log.set_text("", size)?;
    }
    instantiate(exec, graph)
}
