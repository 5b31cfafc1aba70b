//! An open device.

use crate::memory::pointer;
use crate::status::{call, progress};
use crate::sys::Symbols;
use crate::sys::bindings::{
    hipCtx_t, hipDevice_t, hipEvent_t, hipEventDisableTiming, hipFunction_t, hipMemcpyKind, hipModule_t,
    hipStream_t, hipStreamNonBlocking,
};
use crate::{graph, info, memory, module};
use hal_core::{DeviceInfo, Error, ErrorKind, ExecutableFormat, MemoryKind, QueuePriority, Result};
use hal_utils::native::{
    Allocation, FunctionInfo, Graph, GraphExec, GraphNode, Handle, LaunchShape, Native, NodeWork, Progress,
    is_teardown,
};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

hal_utils::native_handle! {
    /// A stream.
    pub struct Stream(hipStream_t);
    /// An event.
    pub struct Event(hipEvent_t);
    /// A module.
    pub struct Module(hipModule_t);
    /// A function of a module.
    pub struct Function(hipFunction_t);
    /// A context.
    pub struct Context(hipCtx_t);
}

/// An open HIP device: holds its primary context.
#[derive(Debug)]
pub struct HipDevice {
    symbols: Arc<Symbols>,
    info: DeviceInfo,
    device: hipDevice_t,
    /// Other libraries may want it; the runtime itself goes by devices.
    context: Context,
    /// The driver is being torn down, and the context with it.
    gone: AtomicBool,
}

impl HipDevice {
    pub(crate) fn open(symbols: Arc<Symbols>, info: DeviceInfo, device: hipDevice_t) -> Result<Self> {
        let mut context = ptr::null_mut();
        // SAFETY: writes one handle.
        unsafe { call!(symbols, hipDevicePrimaryCtxRetain(&mut context, device)) }?;
        // From here on dropping it releases the context.
        let mut device =
            HipDevice { symbols, info, device, context: Context(context), gone: AtomicBool::new(false) };
        let previous = device.enter().inspect_err(|error| device.heed(error))?;
        let [mut least, mut greatest] = [0, 0];
        // SAFETY: writes two numbers; the device is current.
        let asked =
            unsafe { call!(device.symbols, hipDeviceGetStreamPriorityRange(&mut least, &mut greatest)) };
        if let Err(error) = &asked {
            device.heed(error);
        }
        device.leave(previous);
        asked?;
        device.info.limits.stream_priorities = [least, greatest];
        Ok(device)
    }
}

impl HipDevice {
    /// Before there is anybody else to do so.
    fn heed(&self, error: &Error) {
        if error.native().is_some_and(|native| is_teardown(native.code)) {
            self.set_gone();
        }
    }
}

impl Drop for HipDevice {
    fn drop(&mut self) {
        if self.gone.load(Ordering::Acquire) {
            return;
        }
        // The runtime may be gone already when the process ends; then so is the context.
        // SAFETY: retained once in `open`.
        let _ = unsafe { (self.symbols.hipDevicePrimaryCtxRelease)(self.device) };
    }
}

// SAFETY: handles are the runtime's own, and it answers a query with success only once the work and its effects are
// complete.
unsafe impl Native for HipDevice {
    type Stream = Stream;
    type Event = Event;
    type Module = Module;
    type Function = Function;
    /// The runtime keeps one current device for each thread.
    type Previous = c_int;

    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn context(&self) -> Option<usize> {
        Some(self.context.raw())
    }

    fn enter(&self) -> Result<c_int> {
        let mut previous = 0;
        // SAFETY: writes one number.
        unsafe { call!(self.symbols, hipGetDevice(&mut previous)) }?;
        if previous != self.device {
            // SAFETY: the device exists.
            unsafe { call!(self.symbols, hipSetDevice(self.device)) }?;
        }
        Ok(previous)
    }

    fn set_gone(&self) {
        self.gone.store(true, Ordering::Release);
    }

    fn leave(&self, previous: c_int) {
        if self.gone.load(Ordering::Acquire) {
            return;
        }
        if previous != self.device {
            // SAFETY: was current before, so it exists.
            let _ = unsafe { (self.symbols.hipSetDevice)(previous) };
        }
    }

    unsafe fn stream_create(&self, priority: QueuePriority) -> Result<Stream> {
        let [least, greatest] = self.info.limits.stream_priorities;
        let priority = match priority {
            QueuePriority::Low => least,
            QueuePriority::Normal => 0,
            QueuePriority::High => greatest,
        };
        let mut stream = ptr::null_mut();
        // SAFETY: writes one handle; the caller's promise.
        unsafe {
            call!(self.symbols, hipStreamCreateWithPriority(&mut stream, hipStreamNonBlocking, priority))
        }?;
        Ok(Stream(stream))
    }

    unsafe fn stream_destroy(&self, stream: Stream) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { call!(self.symbols, hipStreamDestroy(stream.0)) }
    }

    unsafe fn stream_query(&self, stream: Stream) -> Result<Progress> {
        // SAFETY: the caller's promise.
        let status = unsafe { (self.symbols.hipStreamQuery)(stream.0) };
        progress(&self.symbols, "hipStreamQuery", status)
    }

    unsafe fn stream_wait_event(&self, stream: Stream, event: Event) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { call!(self.symbols, hipStreamWaitEvent(stream.0, event.0, 0)) }
    }

    unsafe fn event_create(&self) -> Result<Event> {
        let mut event = ptr::null_mut();
        // SAFETY: writes one handle; the caller's promise.
        unsafe { call!(self.symbols, hipEventCreateWithFlags(&mut event, hipEventDisableTiming)) }?;
        Ok(Event(event))
    }

    unsafe fn event_destroy(&self, event: Event) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { call!(self.symbols, hipEventDestroy(event.0)) }
    }

    unsafe fn event_record(&self, event: Event, stream: Stream) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { call!(self.symbols, hipEventRecord(event.0, stream.0)) }
    }

    unsafe fn event_query(&self, event: Event) -> Result<Progress> {
        // SAFETY: the caller's promise.
        let status = unsafe { (self.symbols.hipEventQuery)(event.0) };
        progress(&self.symbols, "hipEventQuery", status)
    }

    unsafe fn allocate(&self, kind: MemoryKind, size: usize) -> Result<Allocation> {
        // SAFETY: the caller's promise.
        unsafe { memory::allocate(&self.symbols, kind, size) }
    }

    unsafe fn free(&self, allocation: Allocation) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { memory::free(&self.symbols, allocation) }
    }

    unsafe fn fill(
        &self,
        stream: Stream,
        target: u64,
        pattern: u32,
        pattern_size: u32,
        count: usize,
    ) -> Result<()> {
        let target = pointer(target);
        match pattern_size {
            // SAFETY: the caller's promise.
            1 => unsafe { call!(self.symbols, hipMemsetD8Async(target, pattern as u8, count, stream.0)) },
            // SAFETY: the caller's promise.
            2 => unsafe { call!(self.symbols, hipMemsetD16Async(target, pattern as u16, count, stream.0)) },
            // SAFETY: the caller's promise.
            4 => unsafe { call!(self.symbols, hipMemsetD32Async(target, pattern as c_int, count, stream.0)) },
            other => Err(Error::new(ErrorKind::Internal, format!("a fill pattern of {other} bytes"))),
        }
    }

    unsafe fn copy(&self, stream: Stream, target: u64, source: u64, size: usize) -> Result<()> {
        let kind = hipMemcpyKind::hipMemcpyDefault;
        // The generic copy: either side may be device, pinned or managed memory.
        // SAFETY: the caller's promise.
        unsafe { call!(self.symbols, hipMemcpyAsync(pointer(target), pointer(source), size, kind, stream.0)) }
    }

    unsafe fn upload(&self, stream: Stream, target: u64, source: &[u8]) -> Result<()> {
        let (address, size) = (source.as_ptr().cast(), source.len());
        let kind = hipMemcpyKind::hipMemcpyDefault;
        // SAFETY: the caller's promise.
        unsafe { call!(self.symbols, hipMemcpyAsync(pointer(target), address, size, kind, stream.0)) }
    }

    unsafe fn module_load(&self, format: ExecutableFormat, image: &[u8]) -> Result<Module> {
        let supported = info::format(&self.info.arch);
        // SAFETY: the caller's promise.
        unsafe { module::load(&self.symbols, supported, format, image) }
    }

    unsafe fn module_unload(&self, module: Module) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { call!(self.symbols, hipModuleUnload(module.0)) }
    }

    unsafe fn module_function(&self, module: Module, name: &str) -> Result<Function> {
        // SAFETY: the caller's promise.
        unsafe { module::function(&self.symbols, module, name) }
    }

    unsafe fn module_functions(&self, _module: Module) -> Result<Option<Vec<String>>> {
        Ok(None)
    }

    unsafe fn module_global(&self, module: Module, name: &str) -> Result<(u64, usize)> {
        // SAFETY: the caller's promise.
        unsafe { module::global(&self.symbols, module, name) }
    }

    unsafe fn function_info(&self, function: Function) -> Result<FunctionInfo> {
        // SAFETY: the caller's promise.
        unsafe { module::function_info(&self.symbols, function) }
    }

    /// The device's limit is what every function may have: nothing to allow.
    unsafe fn function_allow_shared_memory(&self, _function: Function, _bytes: u32) -> Result<()> {
        Ok(())
    }

    unsafe fn launch(
        &self,
        stream: Stream,
        function: Function,
        shape: LaunchShape,
        arguments: &mut [*mut c_void],
    ) -> Result<()> {
        let [grid_x, grid_y, grid_z] = shape.grid;
        let [block_x, block_y, block_z] = shape.block;
        // SAFETY: the caller's promise; the runtime copies the arguments before it returns.
        unsafe {
            call!(
                self.symbols,
                hipModuleLaunchKernel(
                    function.0,
                    grid_x,
                    grid_y,
                    grid_z,
                    block_x,
                    block_y,
                    block_z,
                    shape.shared_memory,
                    stream.0,
                    arguments.as_mut_ptr(),
                    ptr::null_mut()
                )
            )
        }
    }

    unsafe fn graph_create(&self) -> Result<Graph> {
        // SAFETY: the caller's promise.
        unsafe { graph::create(&self.symbols) }
    }

    unsafe fn graph_destroy(&self, graph: Graph) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { graph::destroy(&self.symbols, graph) }
    }

    unsafe fn graph_add(
        &self,
        graph: Graph,
        after: &[GraphNode],
        work: NodeWork<'_, Function>,
    ) -> Result<GraphNode> {
        // SAFETY: the caller's promise.
        unsafe { graph::add(&self.symbols, graph, after, work) }
    }

    unsafe fn graph_instantiate(&self, graph: Graph) -> Result<GraphExec> {
        // SAFETY: the caller's promise.
        unsafe { graph::instantiate(&self.symbols, graph) }
    }

    unsafe fn graph_exec_set(
        &self,
        exec: GraphExec,
        node: GraphNode,
        work: NodeWork<'_, Function>,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { graph::exec_set(&self.symbols, exec, node, work) }
    }

    unsafe fn graph_launch(&self, exec: GraphExec, stream: Stream) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { graph::launch(&self.symbols, exec, stream) }
    }

    unsafe fn graph_exec_destroy(&self, exec: GraphExec) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { graph::exec_destroy(&self.symbols, exec) }
    }
}
