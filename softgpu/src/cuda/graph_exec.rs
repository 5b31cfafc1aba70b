//! Executable graphs: making, updating and launching them.

use super::copy::Memcpy3D;
use super::node::{
    HostNodeParams, KernelNodeParams, MemsetNodeParams, copy_work, fill_work, host_work, kernel_work,
};
use super::{Cuda, stream_of};
use crate::abi::{Address, Entry, In, Out, entries};
use crate::both::graph;
use crate::driver::event::EVENTS;
use crate::driver::graph::{EXECS, GRAPHS, GraphExec, Work};
use crate::driver::{Result, context};
use std::ffi::{c_char, c_void};

fn set(exec: u64, node: u64, work: Result<Work>) -> Result<()> {
    EXECS.get(exec)?.set_work(node, work?)
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct InstantiateParams {
    flags: u64,
    upload_stream: u64,
    error_node: u64,
    result: i32,
}

/// `CUgraphExecUpdateResultInfo`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct UpdateResultInfo {
    result: i32,
    error_node: u64,
    error_from_node: u64,
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
    /// Makes an executable graph; the log stays empty.
    "cuGraphInstantiate" 10000 => fn cuGraphInstantiate(
        exec: Out<u64>, graph: u64, node: Out<u64>, log: Out<c_char>, size: usize,
    ) {
        graph::instantiate_with_log(exec, graph, node, log, size)
    }
    /// Makes an executable graph; the log stays empty.
    "cuGraphInstantiate" 11000 => fn cuGraphInstantiate_v2(
        exec: Out<u64>, graph: u64, node: Out<u64>, log: Out<c_char>, size: usize,
    ) {
        graph::instantiate_with_log(exec, graph, node, log, size)
    }
    /// Makes an executable graph.
    "cuGraphInstantiateWithFlags" 11040 => fn cuGraphInstantiateWithFlags(
        exec: Out<u64>, graph: u64, flags: u64,
    ) {
        graph::instantiate(exec, graph, flags)
    }
    /// Makes an executable graph, and says what stood in the way.
    "cuGraphInstantiateWithParams" 12000 => fn cuGraphInstantiateWithParams(
        exec: Out<u64>, graph: u64, params: Out<InstantiateParams>,
    ) {
        let mut p = params.get()?;
        let mut asked = graph::InstantiateParams { flags: p.flags, result: 1 };
        let answer = asked.run(exec, graph);
        p.result = asked.result;
        p.error_node = 0;
        params.set(p)?;
        answer
    }
    /// The flags of an executable graph.
    "cuGraphExecGetFlags" 12000 => fn cuGraphExecGetFlags(exec: u64, flags: Out<u64>) {
        flags.set(EXECS.get(exec)?.flags)
    }
    /// Gives an executable the parameters of a graph of the same shape.
    "cuGraphExecUpdate" 10020 => fn cuGraphExecUpdate(
        exec: u64, graph: u64, node: Out<u64>, result: Out<i32>,
    ) {
        let failure = graph::update(exec, graph)?.err();
        let (number, at) = failure.unwrap_or_default();
        node.set_if(at);
        result.set_if(number);
        failure.map_or(Ok(()), |_| Err(graph::UPDATE_FAILURE))
    }
    /// Gives an executable the parameters of a graph of the same shape.
    "cuGraphExecUpdate" 12000 => fn cuGraphExecUpdate_v2(
        exec: u64, graph: u64, info: Out<UpdateResultInfo>,
    ) {
        let failure = graph::update(exec, graph)?.err();
        let (result, error_node) = failure.unwrap_or_default();
        info.set_if(UpdateResultInfo { result, error_node, error_from_node: 0 });
        failure.map_or(Ok(()), |_| Err(graph::UPDATE_FAILURE))
    }
    /// Gives a kernel node of an executable new parameters.
    "cuGraphExecKernelNodeSetParams" 10010 => fn cuGraphExecKernelNodeSetParams(
        exec: u64, node: u64, params: In<KernelNodeParams>,
    ) {
        set(exec, node, kernel_work(params))
    }
    /// Gives a kernel node of an executable new parameters.
    "cuGraphExecKernelNodeSetParams" 12000 => fn cuGraphExecKernelNodeSetParams_v2(
        exec: u64, node: u64, params: In<KernelNodeParams>,
    ) {
        set(exec, node, kernel_work(params))
    }
    /// Gives a copy node of an executable new parameters.
    "cuGraphExecMemcpyNodeSetParams" 10020 => fn cuGraphExecMemcpyNodeSetParams(
        exec: u64, node: u64, params: In<Memcpy3D>, context: u64,
    ) {
        context::context_of(context)?;
        set(exec, node, copy_work(params))
    }
    /// Gives a fill node of an executable new parameters.
    "cuGraphExecMemsetNodeSetParams" 10020 => fn cuGraphExecMemsetNodeSetParams(
        exec: u64, node: u64, params: In<MemsetNodeParams>, context: u64,
    ) {
        context::context_of(context)?;
        set(exec, node, fill_work(params))
    }
    /// Gives a host node of an executable another function.
    "cuGraphExecHostNodeSetParams" 10020 => fn cuGraphExecHostNodeSetParams(
        exec: u64, node: u64, params: In<HostNodeParams>,
    ) {
        set(exec, node, host_work(params))
    }
    /// Gives a child node of an executable another graph of the same shape.
    "cuGraphExecChildGraphNodeSetParams" 11010 => fn cuGraphExecChildGraphNodeSetParams(
        exec: u64, node: u64, child: u64,
    ) {
        set(exec, node, GRAPHS.get(child).map(Work::Child))
    }
    /// Gives an event record node of an executable another event.
    "cuGraphExecEventRecordNodeSetEvent" 11010 => fn cuGraphExecEventRecordNodeSetEvent(
        exec: u64, node: u64, event: u64,
    ) {
        set(exec, node, EVENTS.get(event).map(Work::Record))
    }
    /// Gives an event wait node of an executable another event.
    "cuGraphExecEventWaitNodeSetEvent" 11010 => fn cuGraphExecEventWaitNodeSetEvent(
        exec: u64, node: u64, event: u64,
    ) {
        set(exec, node, EVENTS.get(event).map(Work::WaitEvent))
    }
    /// Switches a kernel, copy or fill of an executable on or off.
    "cuGraphNodeSetEnabled" 11060 => fn cuGraphNodeSetEnabled(exec: u64, node: u64, enabled: u32) {
        EXECS.get(exec)?.set_enabled(node, enabled != 0)
    }
    /// Whether a kernel, copy or fill of an executable is switched on.
    "cuGraphNodeGetEnabled" 11060 => fn cuGraphNodeGetEnabled(
        exec: u64, node: u64, enabled: Out<u32>,
    ) {
        enabled.set(u32::from(EXECS.get(exec)?.is_enabled(node)?))
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
}
