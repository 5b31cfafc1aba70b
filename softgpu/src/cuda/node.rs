//! Nodes of graphs: adding them, and reading and changing what they do.

use super::Cuda;
use super::copy::Memcpy3D;
use super::launch::{Extra, KernelParams, prepare};
use super::stream::host_function;
use crate::abi::{In, Out, entries};
use crate::both::graph::{self, add};
use crate::both::pool::{MemAccessDesc, MemPoolProps, allow};
use crate::driver::event::EVENTS;
use crate::driver::graph::{GRAPHS, GraphMemory, NodeKind, Work, set_work_of, work_of};
use crate::driver::launch::Launch;
use crate::driver::memory::{Kind, Request};
use crate::driver::op::HostFn;
use crate::driver::{Error, Result, context};
use std::ffi::c_void;
use std::sync::Arc;

/// `CUDA_KERNEL_NODE_PARAMS` of the first ABI.
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

/// `CUDA_KERNEL_NODE_PARAMS` of the second ABI, which adds fields.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KernelNodeParams2 {
    first: KernelNodeParams,
    kernel: u64,
    context: u64,
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

/// `CUDA_MEM_ALLOC_NODE_PARAMS`
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
            function: launch.function().handle,
            grid: launch.grid(),
            block: launch.block(),
            shared: launch.shared(),
            params: launch.param_pointers(),
            extra: std::ptr::null(),
        }
    }
}

pub(super) fn kernel_work(params: In<KernelNodeParams>) -> Result<Work> {
    let p = params.get()?;
    prepare(p.function, p.grid, p.block, p.shared, p.params, p.extra)
        .map(|launch| Work::Launch(Arc::new(launch)))
}

/// The second ABI also takes a `CUkernel` in place of a function; both are the same handle here.
fn kernel_work_2(params: In<KernelNodeParams2>) -> Result<Work> {
    let p = params.get()?;
    let function = if p.first.function == 0 { p.kernel } else { p.first.function };
    prepare(function, p.first.grid, p.first.block, p.first.shared, p.first.params, p.first.extra)
        .map(|launch| Work::Launch(Arc::new(launch)))
}

fn launch_of(node: u64) -> Result<Arc<Launch>> {
    match work_of(node)? {
        Work::Launch(launch) => Ok(launch),
        _ => Err(Error::INVALID_VALUE),
    }
}

pub(super) fn copy_work(params: In<Memcpy3D>) -> Result<Work> {
    Ok(Work::Copy(params.get()?.prepare()?.map(Arc::new)))
}

pub(super) fn fill_work(params: In<MemsetNodeParams>) -> Result<Work> {
    let p = params.get()?;
    graph::fill_work(p.dst, p.value, p.element, (p.width, p.height), p.pitch)
}

pub(super) fn host_work(params: In<HostNodeParams>) -> Result<Work> {
    let params = params.get()?;
    host_function(params.function, params.data).map(Work::Host)
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
        context: context::current()?.handle,
        flags: 0,
        pool: None,
        writable: true,
    };
    let memory = GraphMemory::reserve(request)?;
    p.address = memory.allocation.start;
    params.set(p)?;
    Ok(Work::Allocate(memory))
}

entries! { Cuda;
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
    /// What a kernel node launches; the parameters are the node's.
    "cuGraphKernelNodeGetParams" 10000 => fn cuGraphKernelNodeGetParams(
        node: u64, params: Out<KernelNodeParams>,
    ) {
        params.set(KernelNodeParams::of(&*launch_of(node)?))
    }
    /// Gives a kernel node new parameters.
    "cuGraphKernelNodeSetParams" 10000 => fn cuGraphKernelNodeSetParams(
        node: u64, params: In<KernelNodeParams>,
    ) {
        set_work_of(node, kernel_work(params)?)
    }
    /// Adds a kernel.
    "cuGraphAddKernelNode" 12000 => fn cuGraphAddKernelNode_v2(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, params: In<KernelNodeParams2>,
    ) {
        add(node, graph, after, count, kernel_work_2(params))
    }
    /// What a kernel node launches; the parameters are the node's.
    "cuGraphKernelNodeGetParams" 12000 => fn cuGraphKernelNodeGetParams_v2(
        node: u64, params: Out<KernelNodeParams2>,
    ) {
        let launch = launch_of(node)?;
        let context = launch.function().context.handle;
        params.set(KernelNodeParams2 { first: KernelNodeParams::of(&launch), kernel: 0, context })
    }
    /// Gives a kernel node new parameters.
    "cuGraphKernelNodeSetParams" 12000 => fn cuGraphKernelNodeSetParams_v2(
        node: u64, params: In<KernelNodeParams2>,
    ) {
        set_work_of(node, kernel_work_2(params)?)
    }
    /// Adds a copy.
    "cuGraphAddMemcpyNode" 10000 => fn cuGraphAddMemcpyNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, params: In<Memcpy3D>, context: u64,
    ) {
        context::context_of(context)?;
        add(node, graph, after, count, copy_work(params))
    }
    /// What a copy node copies.
    "cuGraphMemcpyNodeGetParams" 10000 => fn cuGraphMemcpyNodeGetParams(node: u64, params: Out<Memcpy3D>) {
        match work_of(node)? {
            Work::Copy(copy) => params.set(Memcpy3D::of(copy.as_deref())),
            _ => Err(Error::INVALID_VALUE),
        }
    }
    /// Gives a copy node new parameters.
    "cuGraphMemcpyNodeSetParams" 10000 => fn cuGraphMemcpyNodeSetParams(node: u64, params: In<Memcpy3D>) {
        set_work_of(node, copy_work(params)?)
    }
    /// Adds a fill.
    "cuGraphAddMemsetNode" 10000 => fn cuGraphAddMemsetNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, params: In<MemsetNodeParams>, context: u64,
    ) {
        context::context_of(context)?;
        add(node, graph, after, count, fill_work(params))
    }
    /// What a fill node fills.
    "cuGraphMemsetNodeGetParams" 10000 => fn cuGraphMemsetNodeGetParams(
        node: u64, params: Out<MemsetNodeParams>,
    ) {
        let Work::Fill(fill) = work_of(node)? else { return Err(Error::INVALID_VALUE) };
        let asked = fill.map(|fill| fill.parts());
        params.set(asked.map_or(
            MemsetNodeParams { dst: 0, element: 1, height: 0, pitch: 0, value: 0, width: 0 },
            |(dst, value, element, shape)| MemsetNodeParams {
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
    "cuGraphMemsetNodeSetParams" 10000 => fn cuGraphMemsetNodeSetParams(
        node: u64, params: In<MemsetNodeParams>,
    ) {
        set_work_of(node, fill_work(params)?)
    }
    /// Adds a call into the program.
    "cuGraphAddHostNode" 10000 => fn cuGraphAddHostNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, params: In<HostNodeParams>,
    ) {
        add(node, graph, after, count, host_work(params))
    }
    /// What a host node calls.
    "cuGraphHostNodeGetParams" 10000 => fn cuGraphHostNodeGetParams(
        node: u64, params: Out<HostNodeParams>,
    ) {
        let Work::Host(function) = work_of(node)? else { return Err(Error::INVALID_VALUE) };
        let (function, data) = function.parts();
        params.set(HostNodeParams { function, data })
    }
    /// Gives a host node another function.
    "cuGraphHostNodeSetParams" 10000 => fn cuGraphHostNodeSetParams(
        node: u64, params: In<HostNodeParams>,
    ) {
        set_work_of(node, host_work(params)?)
    }
    /// Adds the nodes of another graph, as they are now.
    "cuGraphAddChildGraphNode" 10000 => fn cuGraphAddChildGraphNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, child: u64,
    ) {
        node.check()?;
        let work = GRAPHS.get(child)?.as_child();
        add(node, graph, after, count, work)
    }
    /// The graph that a child node runs; it is the node's.
    "cuGraphChildGraphNodeGetGraph" 10000 => fn cuGraphChildGraphNodeGetGraph(
        node: u64, graph: Out<u64>,
    ) {
        match work_of(node)? {
            Work::Child(child) => graph.set(child.handle),
            _ => Err(Error::INVALID_VALUE),
        }
    }
    /// Adds the record of an event.
    "cuGraphAddEventRecordNode" 11010 => fn cuGraphAddEventRecordNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, event: u64,
    ) {
        add(node, graph, after, count, EVENTS.get(event).map(Work::Record))
    }
    /// The event of such a node.
    "cuGraphEventRecordNodeGetEvent" 11010 => fn cuGraphEventRecordNodeGetEvent(
        node: u64, event: Out<u64>,
    ) {
        match work_of(node)? {
            Work::Record(of_node) => event.set(of_node.handle),
            _ => Err(Error::INVALID_VALUE),
        }
    }
    /// Gives such a node another event.
    "cuGraphEventRecordNodeSetEvent" 11010 => fn cuGraphEventRecordNodeSetEvent(
        node: u64, event: u64,
    ) {
        set_work_of(node, Work::Record(EVENTS.get(event)?))
    }
    /// Adds a wait for an event.
    "cuGraphAddEventWaitNode" 11010 => fn cuGraphAddEventWaitNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, event: u64,
    ) {
        add(node, graph, after, count, EVENTS.get(event).map(Work::WaitEvent))
    }
    /// The event of such a node.
    "cuGraphEventWaitNodeGetEvent" 11010 => fn cuGraphEventWaitNodeGetEvent(
        node: u64, event: Out<u64>,
    ) {
        match work_of(node)? {
            Work::WaitEvent(of_node) => event.set(of_node.handle),
            _ => Err(Error::INVALID_VALUE),
        }
    }
    /// Gives such a node another event.
    "cuGraphEventWaitNodeSetEvent" 11010 => fn cuGraphEventWaitNodeSetEvent(
        node: u64, event: u64,
    ) {
        set_work_of(node, Work::WaitEvent(EVENTS.get(event)?))
    }
    /// Adds an allocation; its address is known at once.
    "cuGraphAddMemAllocNode" 11040 => fn cuGraphAddMemAllocNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, params: Out<MemAllocNodeParams>,
    ) {
        add(node, graph, after, count, allocate_work(params))
    }
    /// What an allocation node allocates.
    "cuGraphMemAllocNodeGetParams" 11040 => fn cuGraphMemAllocNodeGetParams(
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
    "cuGraphAddMemFreeNode" 11040 => fn cuGraphAddMemFreeNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, address: u64,
    ) {
        add(node, graph, after, count, graph::free_work(address))
    }
    /// The address that a free node frees.
    "cuGraphMemFreeNodeGetParams" 11040 => fn cuGraphMemFreeNodeGetParams(
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
        assert_eq!(size_of::<KernelNodeParams>(), 56);
        assert_eq!(size_of::<KernelNodeParams2>(), 72);
        assert_eq!(size_of::<MemAllocNodeParams>(), 120);
    }
}
