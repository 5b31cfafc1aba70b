//! An open device.

use crate::status::{call, progress};
use crate::sys::Symbols;
use crate::sys::bindings::{
    CUcontext, CUdevice, CUevent, CUevent_flags, CUfunction, CUfunction_attribute, CUmodule, CUstream,
    CUstream_flags,
};
use crate::{graph, memory, module};
use hal_core::{DeviceInfo, Error, ErrorKind, ExecutableFormat, MemoryKind, QueuePriority, Result};
use hal_utils::native::{
    Allocation, FunctionInfo, Graph, GraphExec, GraphNode, Handle, LaunchShape, Native, NodeWork, Progress,
    is_teardown,
};
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

hal_utils::native_handle! {
    /// A stream.
    pub struct Stream(CUstream);
    /// An event.
    pub struct Event(CUevent);
    /// A module.
    pub struct Module(CUmodule);
    /// A function of a module.
    pub struct Function(CUfunction);
    /// A context.
    pub struct Context(CUcontext);
}

/// An open CUDA device: holds its primary context.
#[derive(Debug)]
pub struct CudaDevice {
    symbols: Arc<Symbols>,
    info: DeviceInfo,
    device: CUdevice,
    context: Context,
    /// The driver is being torn down, and the context with it.
    gone: AtomicBool,
}

impl CudaDevice {
    pub(crate) fn open(symbols: Arc<Symbols>, info: DeviceInfo, device: CUdevice) -> Result<Self> {
        let mut context = ptr::null_mut();
        // SAFETY: writes one handle.
        unsafe { call!(symbols, cuDevicePrimaryCtxRetain(&mut context, device)) }?;
        // From here on dropping it releases the context.
        let mut device =
            CudaDevice { symbols, info, device, context: Context(context), gone: AtomicBool::new(false) };
        device.enter().inspect_err(|error| device.heed(error))?;
        let [mut least, mut greatest] = [0, 0];
        // SAFETY: writes two numbers; a context is current.
        let asked = unsafe { call!(device.symbols, cuCtxGetStreamPriorityRange(&mut least, &mut greatest)) };
        if let Err(error) = &asked {
            device.heed(error);
        }
        device.leave(());
        asked?;
        device.info.limits.stream_priorities = [least, greatest];
        Ok(device)
    }
}

impl CudaDevice {
    /// Before there is anybody else to do so.
    fn heed(&self, error: &Error) {
        if error.native().is_some_and(|native| is_teardown(native.code)) {
            self.set_gone();
        }
    }
}

impl Drop for CudaDevice {
    fn drop(&mut self) {
        if self.gone.load(Ordering::Acquire) {
            return;
        }
        // The driver may be gone already when the process ends; then so is the context.
        // SAFETY: retained once in `open`.
        let _ = unsafe { (self.symbols.cuDevicePrimaryCtxRelease)(self.device) };
    }
}

// SAFETY: handles are the driver's own, and it answers a query with success only once the work and its effects are
// complete.
unsafe impl Native for CudaDevice {
    type Stream = Stream;
    type Event = Event;
    type Module = Module;
    type Function = Function;
    /// The driver keeps a stack of contexts for each thread.
    type Previous = ();

    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn context(&self) -> Option<usize> {
        Some(self.context.raw())
    }

    fn enter(&self) -> Result<()> {
        // SAFETY: the context is held until this is dropped.
        unsafe { call!(self.symbols, cuCtxPushCurrent(self.context.0)) }
    }

    fn set_gone(&self) {
        self.gone.store(true, Ordering::Release);
    }

    fn leave(&self, (): ()) {
        if self.gone.load(Ordering::Acquire) {
            return;
        }
        let mut popped = ptr::null_mut();
        // SAFETY: pops what `enter` pushed.
        let _ = unsafe { (self.symbols.cuCtxPopCurrent)(&mut popped) };
    }

    unsafe fn stream_create(&self, priority: QueuePriority) -> Result<Stream> {
        let [least, greatest] = self.info.limits.stream_priorities;
        let priority = match priority {
            QueuePriority::Low => least,
            QueuePriority::Normal => 0,
            QueuePriority::High => greatest,
        };
        let flags = CUstream_flags::CU_STREAM_NON_BLOCKING.0;
        let mut stream = ptr::null_mut();
        // SAFETY: writes one handle; the caller's promise.
        unsafe { call!(self.symbols, cuStreamCreateWithPriority(&mut stream, flags, priority)) }?;
        Ok(Stream(stream))
    }

    unsafe fn stream_destroy(&self, stream: Stream) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { call!(self.symbols, cuStreamDestroy(stream.0)) }
    }

    unsafe fn stream_query(&self, stream: Stream) -> Result<Progress> {
        // SAFETY: the caller's promise.
        let status = unsafe { (self.symbols.cuStreamQuery)(stream.0) };
        progress(&self.symbols, "cuStreamQuery", status)
    }

    unsafe fn stream_wait_event(&self, stream: Stream, event: Event) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { call!(self.symbols, cuStreamWaitEvent(stream.0, event.0, 0)) }
    }

    unsafe fn event_create(&self) -> Result<Event> {
        let mut event = ptr::null_mut();
        // SAFETY: writes one handle; the caller's promise.
        unsafe { call!(self.symbols, cuEventCreate(&mut event, CUevent_flags::CU_EVENT_DISABLE_TIMING.0)) }?;
        Ok(Event(event))
    }

    unsafe fn event_destroy(&self, event: Event) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { call!(self.symbols, cuEventDestroy(event.0)) }
    }

    unsafe fn event_record(&self, event: Event, stream: Stream) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { call!(self.symbols, cuEventRecord(event.0, stream.0)) }
    }

    unsafe fn event_query(&self, event: Event) -> Result<Progress> {
        // SAFETY: the caller's promise.
        let status = unsafe { (self.symbols.cuEventQuery)(event.0) };
        progress(&self.symbols, "cuEventQuery", status)
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
        match pattern_size {
            // SAFETY: the caller's promise.
            1 => unsafe { call!(self.symbols, cuMemsetD8Async(target, pattern as u8, count, stream.0)) },
            // SAFETY: the caller's promise.
            2 => unsafe { call!(self.symbols, cuMemsetD16Async(target, pattern as u16, count, stream.0)) },
            // SAFETY: the caller's promise.
            4 => unsafe { call!(self.symbols, cuMemsetD32Async(target, pattern, count, stream.0)) },
            other => Err(Error::new(ErrorKind::Internal, format!("a fill pattern of {other} bytes"))),
        }
    }

    unsafe fn copy(&self, stream: Stream, target: u64, source: u64, size: usize) -> Result<()> {
        // The generic copy: either side may be device, pinned or managed memory.
        // SAFETY: the caller's promise.
        unsafe { call!(self.symbols, cuMemcpyAsync(target, source, size, stream.0)) }
    }

    unsafe fn upload(&self, stream: Stream, target: u64, source: &[u8]) -> Result<()> {
        let address = source.as_ptr().expose_provenance() as u64;
        // SAFETY: the caller's promise.
        unsafe { call!(self.symbols, cuMemcpyAsync(target, address, source.len(), stream.0)) }
    }

    unsafe fn module_load(&self, format: ExecutableFormat, image: &[u8]) -> Result<Module> {
        // SAFETY: the caller's promise.
        unsafe { module::load(&self.symbols, format, image) }
    }

    unsafe fn module_unload(&self, module: Module) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { call!(self.symbols, cuModuleUnload(module.0)) }
    }

    unsafe fn module_function(&self, module: Module, name: &str) -> Result<Function> {
        // SAFETY: the caller's promise.
        unsafe { module::function(&self.symbols, module, name) }
    }

    unsafe fn module_functions(&self, module: Module) -> Result<Option<Vec<String>>> {
        // SAFETY: the caller's promise.
        unsafe { module::functions(&self.symbols, module) }
    }

    unsafe fn module_global(&self, module: Module, name: &str) -> Result<(u64, usize)> {
        // SAFETY: the caller's promise.
        unsafe { module::global(&self.symbols, module, name) }
    }

    unsafe fn function_info(&self, function: Function) -> Result<FunctionInfo> {
        // SAFETY: the caller's promise.
        unsafe { module::function_info(&self.symbols, function) }
    }

    unsafe fn function_allow_shared_memory(&self, function: Function, bytes: u32) -> Result<()> {
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
        // SAFETY: the caller's promise.
        unsafe { call!(self.symbols, cuFuncSetAttribute(function.0, attribute, bytes)) }
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
        // SAFETY: the caller's promise; the driver copies the arguments before it returns.
        unsafe {
            call!(
                self.symbols,
                cuLaunchKernel(
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
        unsafe { graph::add(&self.symbols, self.context.0, graph, after, work) }
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
        unsafe { graph::exec_set(&self.symbols, self.context.0, exec, node, work) }
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
