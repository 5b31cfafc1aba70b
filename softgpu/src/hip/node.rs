//! Nodes of graphs: adding them, and giving those of an executable graph new parameters.

use super::Hip;
use super::copy::{DriverMemcpy3D, Memcpy3DParms, linear};
use super::function::of_stub;
use super::launch::{Dim3, Extra, KernelParams, prepare};
use super::stream::{HostFn, host_function};
use crate::abi::{In, Out, entries};
use crate::driver::context::context_of;
use crate::driver::copy::Fill;
use crate::driver::event::EVENTS;
use crate::driver::graph::{EXECS, GRAPHS, Work};
use crate::driver::{Error, Result};
use std::ffi::c_void;
use std::sync::Arc;

/// `hipKernelNodeParams`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KernelNodeParams {
    block: Dim3,
    extra: Extra,
    function: u64,
    grid: Dim3,
    params: KernelParams,
    shared: u32,
}

/// `hipMemsetParams`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MemsetParams {
    dst: u64,
    element: u32,
    height: usize,
    pitch: usize,
    value: u32,
    width: usize,
}

/// `hipHostNodeParams`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HostNodeParams {
    function: HostFn,
    data: *mut c_void,
}

fn kernel_work(params: In<KernelNodeParams>) -> Result<Work> {
    let p = params.get()?;
    let launch = prepare(&of_stub(p.function)?, p.grid.into(), p.block.into(), p.shared, p.params, p.extra);
    launch.map(|launch| Work::Launch(Arc::new(launch)))
}

fn copy_work(params: In<Memcpy3DParms>) -> Result<Work> {
    Ok(Work::Copy(params.get()?.prepare()?.map(Arc::new)))
}

fn driver_copy_work(params: In<DriverMemcpy3D>, context: u64) -> Result<Work> {
    context_of(context)?;
    Ok(Work::Copy(params.get()?.prepare()?.map(Arc::new)))
}

fn fill_work(params: In<MemsetParams>) -> Result<Work> {
    let p = params.get()?;
    let element = u8::try_from(p.element).map_err(|_| Error::INVALID_VALUE)?;
    let fill = Fill::new(p.dst, p.value, element, p.width as u64, p.height as u64, p.pitch as u64)?;
    Ok(Work::Fill(fill.map(Arc::new)))
}

fn host_work(params: In<HostNodeParams>) -> Result<Work> {
    let p = params.get()?;
    host_function(p.function, p.data).map(Work::Host)
}

fn child_work(child: u64) -> Result<Work> {
    Ok(Work::Child(GRAPHS.get(child)?.nodes()))
}

fn add(node: Out<u64>, graph: u64, after: In<u64>, count: usize, work: Result<Work>) -> Result<()> {
    node.check()?;
    node.set(GRAPHS.get(graph)?.add(&after.list(count)?, work?)?)
}

fn set(exec: u64, node: u64, work: Result<Work>) -> Result<()> {
    EXECS.get(exec)?.set_work(node, work?)
}

entries! { Hip;
    /// Adds a node that does nothing.
    "hipGraphAddEmptyNode" 50200000 => fn hipGraphAddEmptyNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize,
    ) {
        add(node, graph, after, count, Ok(Work::Empty))
    }
    /// Adds a kernel.
    "hipGraphAddKernelNode" 50200000 => fn hipGraphAddKernelNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, params: In<KernelNodeParams>,
    ) {
        add(node, graph, after, count, kernel_work(params))
    }
    /// Adds a copy.
    "hipGraphAddMemcpyNode" 50200000 => fn hipGraphAddMemcpyNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, params: In<Memcpy3DParms>,
    ) {
        add(node, graph, after, count, copy_work(params))
    }
    /// Adds a copy of bytes in one piece.
    "hipGraphAddMemcpyNode1D" 50200000 => fn hipGraphAddMemcpyNode1D(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, dst: u64, src: u64, len: usize, kind: i32,
    ) {
        let copy = linear(dst, src, len, kind);
        add(node, graph, after, count, copy.map(|copy| Work::Copy(copy.map(Arc::new))))
    }
    /// Adds a copy, described as in CUDA's driver API.
    "hipDrvGraphAddMemcpyNode" 60000000 => fn hipDrvGraphAddMemcpyNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, params: In<DriverMemcpy3D>, context: u64,
    ) {
        add(node, graph, after, count, driver_copy_work(params, context))
    }
    /// Adds a fill.
    "hipGraphAddMemsetNode" 50200000 => fn hipGraphAddMemsetNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, params: In<MemsetParams>,
    ) {
        add(node, graph, after, count, fill_work(params))
    }
    /// Adds a fill.
    "hipDrvGraphAddMemsetNode" 60100000 => fn hipDrvGraphAddMemsetNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, params: In<MemsetParams>, context: u64,
    ) {
        context_of(context)?;
        add(node, graph, after, count, fill_work(params))
    }
    /// Adds a call into the program.
    "hipGraphAddHostNode" 50200000 => fn hipGraphAddHostNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, params: In<HostNodeParams>,
    ) {
        add(node, graph, after, count, host_work(params))
    }
    /// Adds the nodes of another graph.
    "hipGraphAddChildGraphNode" 50200000 => fn hipGraphAddChildGraphNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, child: u64,
    ) {
        add(node, graph, after, count, child_work(child))
    }
    /// Adds the record of an event.
    "hipGraphAddEventRecordNode" 50200000 => fn hipGraphAddEventRecordNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, event: u64,
    ) {
        add(node, graph, after, count, EVENTS.get(event).map(Work::Record))
    }
    /// Adds a wait for an event.
    "hipGraphAddEventWaitNode" 50200000 => fn hipGraphAddEventWaitNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, event: u64,
    ) {
        add(node, graph, after, count, EVENTS.get(event).map(Work::WaitEvent))
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
        context_of(context)?;
        set(exec, node, fill_work(params))
    }
    /// Gives a host node of an executable another function.
    "hipGraphExecHostNodeSetParams" 50200000 => fn hipGraphExecHostNodeSetParams(
        exec: u64, node: u64, params: In<HostNodeParams>,
    ) {
        set(exec, node, host_work(params))
    }
    /// Gives a child node of an executable another graph.
    "hipGraphExecChildGraphNodeSetParams" 50200000 => fn hipGraphExecChildGraphNodeSetParams(
        exec: u64, node: u64, child: u64,
    ) {
        set(exec, node, child_work(child))
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_those_of_the_headers() {
        assert_eq!(size_of::<KernelNodeParams>(), 64);
        assert_eq!(size_of::<MemsetParams>(), 48);
    }
}
