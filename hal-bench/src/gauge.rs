//! A decorator of any native device: counts its calls, and holds its work back.
//!
//! Work that is held back looks unfinished until a given number of events has been recorded. So how many submissions
//! the HAL finds done at once does not depend on who runs when, and neither does what a submission costs. The thread
//! that asks sleeps meanwhile: one that came back to ask again would do so more or less often.

use crate::allocations;
use hal_core::{DeviceInfo, DriverInfo, ExecutableFormat, MemoryKind, QueuePriority, Result};
use hal_utils::native::{
    Allocation, FunctionInfo, Graph, GraphExec, GraphNode, LaunchShape, Native, NativeDriver, NodeWork,
    Progress,
};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// What a gauge sees and does; shared with whoever reads it.
#[derive(Debug, Default)]
pub struct Gauge {
    /// `None` of the calls is counted otherwise: counting costs, too.
    counts: bool,
    calls: AtomicU64,
    records: AtomicU64,
    /// Work is held back until this many records.
    until: AtomicU64,
    lock: Mutex<()>,
    opened: Condvar,
}

impl Gauge {
    pub fn new(counts: bool) -> Arc<Self> {
        Arc::new(Gauge { counts, ..Gauge::default() })
    }

    /// Native calls so far, if this gauge counts.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    /// Events recorded so far.
    pub fn records(&self) -> u64 {
        self.records.load(Ordering::SeqCst)
    }

    /// Holds work back until that many more records.
    pub fn hold(&self, records: u64) {
        self.until.store(self.records() + records, Ordering::SeqCst);
    }

    /// Holds nothing back any more.
    pub fn release(&self) {
        self.until.store(0, Ordering::SeqCst);
        self.notify();
    }

    fn is_open(&self) -> bool {
        self.records.load(Ordering::SeqCst) >= self.until.load(Ordering::SeqCst)
    }

    fn notify(&self) {
        // Whoever is between looking and waiting holds the lock.
        drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
        self.opened.notify_all();
    }

    fn recorded(&self) {
        let records = self.records.fetch_add(1, Ordering::SeqCst) + 1;
        if records == self.until.load(Ordering::SeqCst) {
            self.notify();
        }
    }

    fn wait(&self) {
        if self.is_open() {
            return;
        }
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.is_open() {
            guard = self.opened.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn call<R>(&self, call: impl FnOnce() -> R) -> R {
        if !self.counts {
            return call();
        }
        self.calls.fetch_add(1, Ordering::Relaxed);
        allocations::in_driver(call)
    }
}

/// A driver whose devices are gauged.
#[derive(Debug)]
pub struct Gauged<D> {
    native: D,
    gauge: Arc<Gauge>,
}

impl<D> Gauged<D> {
    pub fn new(native: D, gauge: &Arc<Gauge>) -> Self {
        Gauged { native, gauge: gauge.clone() }
    }
}

impl<D: NativeDriver> NativeDriver for Gauged<D> {
    type Device = Gauged<D::Device>;

    fn info(&self) -> &DriverInfo {
        self.native.info()
    }

    fn device_count(&self) -> Result<u32> {
        self.native.device_count()
    }

    fn device_info(&self, ordinal: u32) -> Result<DeviceInfo> {
        self.native.device_info(ordinal)
    }

    fn open(&self, ordinal: u32) -> Result<Self::Device> {
        Ok(Gauged::new(self.native.open(ordinal)?, &self.gauge))
    }
}

macro_rules! forward {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {$(
        unsafe fn $name(&self, $($argument: $type),*) -> $answer {
            // SAFETY: as the caller promises.
            self.gauge.call(|| unsafe { self.native.$name($($argument),*) })
        }
    )*};
}

// SAFETY: handles are those of the device underneath, and so is every `Done`.
unsafe impl<N: Native> Native for Gauged<N> {
    type Stream = N::Stream;
    type Event = N::Event;
    type Module = N::Module;
    type Function = N::Function;
    type Previous = N::Previous;

    fn info(&self) -> &DeviceInfo {
        self.native.info()
    }

    fn enter(&self) -> Result<N::Previous> {
        if self.gauge.counts {
            allocations::enter();
        }
        self.gauge.call(|| self.native.enter())
    }

    fn leave(&self, previous: N::Previous) {
        self.gauge.call(|| self.native.leave(previous));
    }

    unsafe fn event_record(&self, event: N::Event, stream: N::Stream) -> Result<()> {
        // SAFETY: as the caller promises.
        let result = self.gauge.call(|| unsafe { self.native.event_record(event, stream) });
        self.gauge.recorded();
        result
    }

    unsafe fn event_query(&self, event: N::Event) -> Result<Progress> {
        self.gauge.wait();
        // SAFETY: as the caller promises.
        self.gauge.call(|| unsafe { self.native.event_query(event) })
    }

    forward! {
        stream_create(priority: QueuePriority) -> Result<N::Stream>;
        stream_destroy(stream: N::Stream) -> Result<()>;
        stream_query(stream: N::Stream) -> Result<Progress>;
        stream_wait_event(stream: N::Stream, event: N::Event) -> Result<()>;
        event_create() -> Result<N::Event>;
        event_destroy(event: N::Event) -> Result<()>;
        allocate(kind: MemoryKind, size: usize) -> Result<Allocation>;
        free(allocation: Allocation) -> Result<()>;
        fill(stream: N::Stream, target: u64, pattern: u32, pattern_size: u32, count: usize) -> Result<()>;
        copy(stream: N::Stream, target: u64, source: u64, size: usize) -> Result<()>;
        upload(stream: N::Stream, target: u64, source: &[u8]) -> Result<()>;
        module_load(format: ExecutableFormat, image: &[u8]) -> Result<N::Module>;
        module_unload(module: N::Module) -> Result<()>;
        module_function(module: N::Module, name: &str) -> Result<N::Function>;
        module_functions(module: N::Module) -> Result<Option<Vec<String>>>;
        function_info(function: N::Function) -> Result<FunctionInfo>;
        function_allow_shared_memory(function: N::Function, bytes: u32) -> Result<()>;
        launch(
            stream: N::Stream,
            function: N::Function,
            shape: LaunchShape,
            arguments: &mut [*mut c_void]
        ) -> Result<()>;
        graph_create() -> Result<Graph>;
        graph_destroy(graph: Graph) -> Result<()>;
        graph_add(graph: Graph, after: &[GraphNode], work: NodeWork<'_, N::Function>) -> Result<GraphNode>;
        graph_instantiate(graph: Graph) -> Result<GraphExec>;
        graph_exec_set(exec: GraphExec, node: GraphNode, work: NodeWork<'_, N::Function>) -> Result<()>;
        graph_launch(exec: GraphExec, stream: N::Stream) -> Result<()>;
        graph_exec_destroy(exec: GraphExec) -> Result<()>;
    }
}
