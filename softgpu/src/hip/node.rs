//! Nodes of graphs: adding them, and reading and changing what they do.

use super::copy::{DriverMemcpy3D, Memcpy3DParms, linear};
use super::function::of_stub;
use super::launch::{Dim3, Extra, KernelParams, prepare};
use super::stream::host_function;
use super::{Hip, current};
use crate::abi::{In, Out, entries};
use crate::both::graph::{self, add};
use crate::both::pool::{MemAccessDesc, MemPoolProps, allow};
use crate::driver::context::context_of;
use crate::driver::event::EVENTS;
use crate::driver::graph::{GRAPHS, GraphMemory, NodeKind, Work, set_work_of, work_of};
use crate::driver::launch::Launch;
use crate::driver::memory::{Kind, Request};
use crate::driver::op::HostFn;
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

/// `hipMemAllocNodeParams`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MemAllocNodeParams {
    pool: MemPoolProps,
    access: In<MemAccessDesc>,
    access_count: usize,
    len: usize,
    address: u64,
}

impl KernelNodeParams {
    fn of(launch: &Launch) -> Self {
        Self {
            block: launch.block().into(),
            extra: std::ptr::null(),
            function: launch.function().handle,
            grid: launch.grid().into(),
            params: launch.param_pointers(),
            shared: launch.shared(),
        }
    }
}

pub(super) fn kernel_work(params: In<KernelNodeParams>) -> Result<Work> {
    let p = params.get()?;
    let launch = prepare(&of_stub(p.function)?, p.grid.into(), p.block.into(), p.shared, p.params, p.extra);
    launch.map(|launch| Work::Launch(Arc::new(launch)))
}

fn launch_of(node: u64) -> Result<Arc<Launch>> {
    match work_of(node)? {
        Work::Launch(launch) => Ok(launch),
        _ => Err(Error::INVALID_VALUE),
    }
}

pub(super) fn copy_work(params: In<Memcpy3DParms>) -> Result<Work> {
    Ok(Work::Copy(params.get()?.prepare()?.map(Arc::new)))
}

pub(super) fn driver_copy_work(params: In<DriverMemcpy3D>, context: u64) -> Result<Work> {
    context_of(context)?;
    Ok(Work::Copy(params.get()?.prepare()?.map(Arc::new)))
}

pub(super) fn fill_work(params: In<MemsetParams>) -> Result<Work> {
    let p = params.get()?;
    graph::fill_work(p.dst, p.value, p.element, (p.width, p.height), p.pitch)
}

pub(super) fn host_work(params: In<HostNodeParams>) -> Result<Work> {
    let p = params.get()?;
    host_function(p.function, p.data).map(Work::Host)
}

fn allocate_work(params: Out<MemAllocNodeParams>) -> Result<Work> {
    let mut p = params.get()?;
    let device = p.pool.device()?;
    for access in p.access.list(p.access_count)? {
        allow(device, access)?;
    }
    let request = Request {
        len: p.len as u64,
        kind: Kind::Device,
        device: device.ordinal,
        context: current::context()?.handle,
        flags: 0,
        pool: None,
        writable: true,
    };
    let memory = GraphMemory::reserve(request)?;
    p.address = memory.allocation.start;
    params.set(p)?;
    Ok(Work::Allocate(memory))
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
    /// What a kernel node launches; the parameters are the node's.
    "hipGraphKernelNodeGetParams" 50200000 => fn hipGraphKernelNodeGetParams(
        node: u64, params: Out<KernelNodeParams>,
    ) {
        params.set(KernelNodeParams::of(&*launch_of(node)?))
    }
    /// Gives a kernel node new parameters.
    "hipGraphKernelNodeSetParams" 50200000 => fn hipGraphKernelNodeSetParams(
        node: u64, params: In<KernelNodeParams>,
    ) {
        set_work_of(node, kernel_work(params)?)
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
    /// What a copy node copies.
    "hipGraphMemcpyNodeGetParams" 50200000 => fn hipGraphMemcpyNodeGetParams(
        node: u64, params: Out<Memcpy3DParms>,
    ) {
        match work_of(node)? {
            Work::Copy(copy) => params.set(Memcpy3DParms::of(copy.as_deref())),
            _ => Err(Error::INVALID_VALUE),
        }
    }
    /// Gives a copy node new parameters.
    "hipGraphMemcpyNodeSetParams" 50200000 => fn hipGraphMemcpyNodeSetParams(
        node: u64, params: In<Memcpy3DParms>,
    ) {
        set_work_of(node, copy_work(params)?)
    }
    /// Gives a copy node new parameters.
    "hipGraphMemcpyNodeSetParams1D" 50200000 => fn hipGraphMemcpyNodeSetParams1D(
        node: u64, dst: u64, src: u64, len: usize, kind: i32,
    ) {
        set_work_of(node, Work::Copy(linear(dst, src, len, kind)?.map(Arc::new)))
    }
    /// Adds a copy, described as in CUDA's driver API.
    "hipDrvGraphAddMemcpyNode" 60000000 => fn hipDrvGraphAddMemcpyNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, params: In<DriverMemcpy3D>, context: u64,
    ) {
        add(node, graph, after, count, driver_copy_work(params, context))
    }
    /// What a copy node copies, described as in CUDA's driver API.
    "hipDrvGraphMemcpyNodeGetParams" 60100000 => fn hipDrvGraphMemcpyNodeGetParams(
        node: u64, params: Out<DriverMemcpy3D>,
    ) {
        match work_of(node)? {
            Work::Copy(copy) => params.set(DriverMemcpy3D::of(copy.as_deref())),
            _ => Err(Error::INVALID_VALUE),
        }
    }
    /// Gives a copy node new parameters, described as in CUDA's driver API.
    "hipDrvGraphMemcpyNodeSetParams" 60100000 => fn hipDrvGraphMemcpyNodeSetParams(
        node: u64, params: In<DriverMemcpy3D>,
    ) {
        set_work_of(node, Work::Copy(params.get()?.prepare()?.map(Arc::new)))
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
    /// What a fill node fills.
    "hipGraphMemsetNodeGetParams" 50200000 => fn hipGraphMemsetNodeGetParams(
        node: u64, params: Out<MemsetParams>,
    ) {
        let Work::Fill(fill) = work_of(node)? else { return Err(Error::INVALID_VALUE) };
        let asked = fill.map(|fill| fill.parts());
        params.set(asked.map_or(
            MemsetParams { dst: 0, element: 1, height: 0, pitch: 0, value: 0, width: 0 },
            |(dst, value, element, shape)| MemsetParams {
                dst,
                element: u32::from(element),
                height: shape.height as usize,
                pitch: shape.dst.row as usize,
                value,
                width: shape.width as usize / usize::from(element),
            },
        ))
    }
    /// Gives a fill node new parameters.
    "hipGraphMemsetNodeSetParams" 50200000 => fn hipGraphMemsetNodeSetParams(
        node: u64, params: In<MemsetParams>,
    ) {
        set_work_of(node, fill_work(params)?)
    }
    /// Adds a call into the program.
    "hipGraphAddHostNode" 50200000 => fn hipGraphAddHostNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, params: In<HostNodeParams>,
    ) {
        add(node, graph, after, count, host_work(params))
    }
    /// What a host node calls.
    "hipGraphHostNodeGetParams" 50200000 => fn hipGraphHostNodeGetParams(
        node: u64, params: Out<HostNodeParams>,
    ) {
        let Work::Host(function) = work_of(node)? else { return Err(Error::INVALID_VALUE) };
        let (function, data) = function.parts();
        params.set(HostNodeParams { function, data })
    }
    /// Gives a host node another function.
    "hipGraphHostNodeSetParams" 50200000 => fn hipGraphHostNodeSetParams(
        node: u64, params: In<HostNodeParams>,
    ) {
        set_work_of(node, host_work(params)?)
    }
    /// Adds the nodes of another graph, as they are now.
    "hipGraphAddChildGraphNode" 50200000 => fn hipGraphAddChildGraphNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, child: u64,
    ) {
        node.check()?;
        let work = GRAPHS.get(child)?.as_child();
        add(node, graph, after, count, work)
    }
    /// The graph that a child node runs; it is the node's.
    "hipGraphChildGraphNodeGetGraph" 50200000 => fn hipGraphChildGraphNodeGetGraph(
        node: u64, graph: Out<u64>,
    ) {
        match work_of(node)? {
            Work::Child(child) => graph.set(child.handle),
            _ => Err(Error::INVALID_VALUE),
        }
    }
    /// Adds the record of an event.
    "hipGraphAddEventRecordNode" 50200000 => fn hipGraphAddEventRecordNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, event: u64,
    ) {
        add(node, graph, after, count, EVENTS.get(event).map(Work::Record))
    }
    /// The event of such a node.
    "hipGraphEventRecordNodeGetEvent" 50200000 => fn hipGraphEventRecordNodeGetEvent(
        node: u64, event: Out<u64>,
    ) {
        match work_of(node)? {
            Work::Record(of_node) => event.set(of_node.handle),
            _ => Err(Error::INVALID_VALUE),
        }
    }
    /// Gives such a node another event.
    "hipGraphEventRecordNodeSetEvent" 50200000 => fn hipGraphEventRecordNodeSetEvent(
        node: u64, event: u64,
    ) {
        set_work_of(node, Work::Record(EVENTS.get(event)?))
    }
    /// Adds a wait for an event.
    "hipGraphAddEventWaitNode" 50200000 => fn hipGraphAddEventWaitNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, event: u64,
    ) {
        add(node, graph, after, count, EVENTS.get(event).map(Work::WaitEvent))
    }
    /// The event of such a node.
    "hipGraphEventWaitNodeGetEvent" 50200000 => fn hipGraphEventWaitNodeGetEvent(
        node: u64, event: Out<u64>,
    ) {
        match work_of(node)? {
            Work::WaitEvent(of_node) => event.set(of_node.handle),
            _ => Err(Error::INVALID_VALUE),
        }
    }
    /// Gives such a node another event.
    "hipGraphEventWaitNodeSetEvent" 50200000 => fn hipGraphEventWaitNodeSetEvent(
        node: u64, event: u64,
    ) {
        set_work_of(node, Work::WaitEvent(EVENTS.get(event)?))
    }
    /// Adds an allocation; its address is known at once.
    "hipGraphAddMemAllocNode" 50500000 => fn hipGraphAddMemAllocNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, params: Out<MemAllocNodeParams>,
    ) {
        add(node, graph, after, count, allocate_work(params))
    }
    /// What an allocation node allocates.
    "hipGraphMemAllocNodeGetParams" 50500000 => fn hipGraphMemAllocNodeGetParams(
        node: u64, params: Out<MemAllocNodeParams>,
    ) {
        let memory = graph::memory_of(node, NodeKind::Allocate)?;
        params.set(MemAllocNodeParams {
            pool: MemPoolProps::of_device(memory.allocation.device),
            access: In::at(0),
            access_count: 0,
            len: memory.allocation.len as usize,
            address: memory.allocation.start,
        })
    }
    /// Adds the free of what an allocation node allocates.
    "hipGraphAddMemFreeNode" 50500000 => fn hipGraphAddMemFreeNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, address: u64,
    ) {
        add(node, graph, after, count, graph::free_work(address))
    }
    /// The address that a free node frees.
    "hipGraphMemFreeNodeGetParams" 50500000 => fn hipGraphMemFreeNodeGetParams(
        node: u64, address: Out<u64>,
    ) {
        address.set(graph::memory_of(node, NodeKind::Free)?.allocation.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_those_of_the_headers() {
        assert_eq!(size_of::<KernelNodeParams>(), 64);
        assert_eq!(size_of::<MemsetParams>(), 48);
        assert_eq!(size_of::<MemAllocNodeParams>(), 120);
    }
}
