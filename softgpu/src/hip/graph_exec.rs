//! Executable graphs: making, updating and launching them.

use super::copy::{DriverMemcpy3D, Memcpy3DParms, linear};
use super::node::{
    HostNodeParams, KernelNodeParams, MemsetParams, copy_work, driver_copy_work, fill_work, host_work,
    kernel_work,
};
use super::{Hip, stream_of};
use crate::abi::{In, Out, entries};
use crate::both::graph;
use crate::driver::event::EVENTS;
use crate::driver::graph::{EXECS, GRAPHS, GraphExec, Work};
use crate::driver::{Result, context};
use std::ffi::c_char;
use std::sync::Arc;
fn set(exec: u64, node: u64, work: Result<Work>) -> Result<()> {
    EXECS.get(exec)?.set_work(node, work?)
}

/// `hipGraphInstantiateParams`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct InstantiateParams {
    error_node: u64,
    flags: u64,
    result: i32,
    upload_stream: u64,
}

entries! { Hip;
    /// Makes an executable graph; the log stays empty.
    "hipGraphInstantiate" 50200000 => fn hipGraphInstantiate(
        exec: Out<u64>, graph: u64, node: Out<u64>, log: Out<c_char>, size: usize,
    ) {
        graph::instantiate_with_log(exec, graph, node, log, size)
    }
    /// Makes an executable graph.
    "hipGraphInstantiateWithFlags" 50200000 => fn hipGraphInstantiateWithFlags(
        exec: Out<u64>, graph: u64, flags: u64,
    ) {
        graph::instantiate(exec, graph, flags)
    }
    /// Makes an executable graph, and says what stood in the way.
    "hipGraphInstantiateWithParams" 60100000 => fn hipGraphInstantiateWithParams(
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
    "hipGraphExecGetFlags" 60100000 => fn hipGraphExecGetFlags(exec: u64, flags: Out<u64>) {
        flags.set(EXECS.get(exec)?.flags)
    }
    /// Gives an executable the parameters of a graph of the same shape.
    "hipGraphExecUpdate" 50200000 => fn hipGraphExecUpdate(
        exec: u64, graph: u64, node: Out<u64>, result: Out<i32>,
    ) {
        let failure = graph::update(exec, graph)?.err();
        let (number, at) = failure.unwrap_or_default();
        node.set_if(at);
        result.set_if(number);
        failure.map_or(Ok(()), |_| Err(graph::UPDATE_FAILURE))
    }
    /// Gives a kernel node of an executable new parameters.
    "hipGraphExecKernelNodeSetParams" 50200000 => fn hipGraphExecKernelNodeSetParams(
        exec: u64, node: u64, params: In<KernelNodeParams>,
    ) {
        set(exec, node, kernel_work(params))
    }
    /// Gives a copy node of an executable new parameters.
    "hipGraphExecMemcpyNodeSetParams" 50200000 => fn hipGraphExecMemcpyNodeSetParams(
        exec: u64, node: u64, params: In<Memcpy3DParms>,
    ) {
        set(exec, node, copy_work(params))
    }
    /// Gives a copy node of an executable new parameters.
    "hipGraphExecMemcpyNodeSetParams1D" 50200000 => fn hipGraphExecMemcpyNodeSetParams1D(
        exec: u64, node: u64, dst: u64, src: u64, len: usize, kind: i32,
    ) {
        set(exec, node, linear(dst, src, len, kind).map(|copy| Work::Copy(copy.map(Arc::new))))
    }
    /// Gives a copy node of an executable new parameters.
    "hipDrvGraphExecMemcpyNodeSetParams" 60300000 => fn hipDrvGraphExecMemcpyNodeSetParams(
        exec: u64, node: u64, params: In<DriverMemcpy3D>, context: u64,
    ) {
        set(exec, node, driver_copy_work(params, context))
    }
    /// Gives a fill node of an executable new parameters.
    "hipGraphExecMemsetNodeSetParams" 50200000 => fn hipGraphExecMemsetNodeSetParams(
        exec: u64, node: u64, params: In<MemsetParams>,
    ) {
        set(exec, node, fill_work(params))
    }
    /// Gives a fill node of an executable new parameters.
    "hipDrvGraphExecMemsetNodeSetParams" 60300000 => fn hipDrvGraphExecMemsetNodeSetParams(
        exec: u64, node: u64, params: In<MemsetParams>, context: u64,
    ) {
        context::context_of(context)?;
        set(exec, node, fill_work(params))
    }
    /// Gives a host node of an executable another function.
    "hipGraphExecHostNodeSetParams" 50200000 => fn hipGraphExecHostNodeSetParams(
        exec: u64, node: u64, params: In<HostNodeParams>,
    ) {
        set(exec, node, host_work(params))
    }
    /// Gives a child node of an executable another graph of the same shape.
    "hipGraphExecChildGraphNodeSetParams" 50200000 => fn hipGraphExecChildGraphNodeSetParams(
        exec: u64, node: u64, child: u64,
    ) {
        set(exec, node, GRAPHS.get(child).map(Work::Child))
    }
    /// Gives an event record node of an executable another event.
    "hipGraphExecEventRecordNodeSetEvent" 50200000 => fn hipGraphExecEventRecordNodeSetEvent(
        exec: u64, node: u64, event: u64,
    ) {
        set(exec, node, EVENTS.get(event).map(Work::Record))
    }
    /// Gives an event wait node of an executable another event.
    "hipGraphExecEventWaitNodeSetEvent" 50200000 => fn hipGraphExecEventWaitNodeSetEvent(
        exec: u64, node: u64, event: u64,
    ) {
        set(exec, node, EVENTS.get(event).map(Work::WaitEvent))
    }
    /// Switches a kernel, copy or fill of an executable on or off.
    "hipGraphNodeSetEnabled" 50500000 => fn hipGraphNodeSetEnabled(exec: u64, node: u64, enabled: u32) {
        EXECS.get(exec)?.set_enabled(node, enabled != 0)
    }
    /// Whether a kernel, copy or fill of an executable is switched on.
    "hipGraphNodeGetEnabled" 50500000 => fn hipGraphNodeGetEnabled(
        exec: u64, node: u64, enabled: Out<u32>,
    ) {
        enabled.set(u32::from(EXECS.get(exec)?.is_enabled(node)?))
    }
    /// Readies an executable graph for a stream; nothing is left to do.
    "hipGraphUpload" 50300000 => fn hipGraphUpload(exec: u64, stream: u64) {
        EXECS.get(exec)?;
        stream_of(stream).map(drop)
    }
    /// Puts an executable graph on a stream.
    "hipGraphLaunch" 50200000 => fn hipGraphLaunch(exec: u64, stream: u64) {
        EXECS.get(exec)?.launch(&stream_of(stream)?)
    }
    /// Destroys an executable graph.
    "hipGraphExecDestroy" 50200000 => fn hipGraphExecDestroy(exec: u64) {
        GraphExec::destroy(exec)
    }
}
