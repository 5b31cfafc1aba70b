//! The calls.

use super::Control;
use super::faults::Timing;
use super::state::State;
use super::streams::{Stream, Use};
use crate::native::{
    Allocation, FunctionInfo, Graph, GraphExec, GraphNode, LaunchShape, Native, NodeWork, Progress,
};
use crate::sync;
use hal_core::{DeviceInfo, ExecutableFormat, MemoryKind, ParameterInfo, QueuePriority, Result};
use std::ffi::c_void;

/// Addresses are multiples of this, and no allocation is larger.
const SPACING: u32 = 20;

#[derive(Debug)]
pub(crate) struct MockDevice {
    control: Control,
    info: DeviceInfo,
}

impl MockDevice {
    pub(super) fn new(control: Control, info: DeviceInfo) -> Self {
        control.0.lock().opened += 1;
        MockDevice { control, info }
    }

    fn state(&self) -> parking_lot::MutexGuard<'_, State> {
        sync::assert_unlocked();
        self.control.0.lock()
    }
}

impl Drop for MockDevice {
    fn drop(&mut self) {
        self.control.0.lock().released += 1;
    }
}

/// The allocation that an address is in.
fn allocation(address: u64) -> u64 {
    address >> SPACING << SPACING
}

// SAFETY: handles are numbers, and there is no device that could touch memory.
unsafe impl Native for MockDevice {
    type Stream = u64;
    type Event = u64;
    type Module = u64;
    type Function = u64;
    type Previous = ();

    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn enter(&self) -> Result<()> {
        self.state().call("enter", |_| ())
    }

    fn leave(&self, _previous: ()) {}

    unsafe fn stream_create(&self, _priority: QueuePriority) -> Result<u64> {
        self.state().call("stream_create", |state| {
            let stream = state.handle();
            state.streams.insert(stream, Stream::default());
            stream
        })
    }

    unsafe fn stream_destroy(&self, stream: u64) -> Result<()> {
        self.state().call("stream_destroy", |state| state.destroy_stream(stream))
    }

    unsafe fn stream_query(&self, stream: u64) -> Result<Progress> {
        self.state().stream_query(stream)
    }

    unsafe fn stream_wait_event(&self, stream: u64, event: u64) -> Result<()> {
        self.state().wait(stream, event)
    }

    unsafe fn event_create(&self) -> Result<u64> {
        self.state().call("event_create", |state| {
            let event = state.handle();
            state.events.insert(event, None);
            event
        })
    }

    unsafe fn event_destroy(&self, event: u64) -> Result<()> {
        self.state().call("event_destroy", |state| state.destroy_event(event))
    }

    unsafe fn event_record(&self, event: u64, stream: u64) -> Result<()> {
        self.state().record(event, stream)
    }

    unsafe fn event_query(&self, event: u64) -> Result<Progress> {
        self.state().event_query(event)
    }

    unsafe fn allocate(&self, kind: MemoryKind, size: usize) -> Result<Allocation> {
        self.state().call("allocate", |state| {
            let device = state.handle() << SPACING;
            state.allocations.insert(device, size);
            Allocation { device, host: None, kind }
        })
    }

    unsafe fn free(&self, allocation: Allocation) -> Result<()> {
        self.state().call("free", |state| state.free(allocation.device))
    }

    unsafe fn fill(&self, stream: u64, target: u64, pattern: u32, _size: u32, _count: usize) -> Result<()> {
        let mut state = self.state();
        let failing = state.faults.pattern(pattern);
        if let Some((code, Timing::Immediate)) = failing {
            return Err(state.error("fill", code));
        }
        let used = Use { allocations: [allocation(target)].into(), pattern: Some(pattern), ..Use::default() };
        state.work("fill", stream, pattern.into(), used)?;
        if let Some((code, Timing::Deferred)) = failing
            && let Some(stream) = state.streams.get_mut(&stream)
        {
            stream.unreported = Some(code);
        }
        Ok(())
    }

    unsafe fn copy(&self, stream: u64, target: u64, source: u64, size: usize) -> Result<()> {
        let used = Use { allocations: [target, source].map(allocation).into(), ..Use::default() };
        self.state().work("copy", stream, size as u64, used)
    }

    unsafe fn upload(&self, stream: u64, target: u64, source: &[u8]) -> Result<()> {
        let used = Use { allocations: [allocation(target)].into(), ..Use::default() };
        self.state().work("upload", stream, source.len() as u64, used)
    }

    unsafe fn module_load(&self, _format: ExecutableFormat, _image: &[u8]) -> Result<u64> {
        self.state().call("module_load", |state| {
            let module = state.handle();
            state.modules.insert(module);
            module
        })
    }

    unsafe fn module_unload(&self, module: u64) -> Result<()> {
        self.state().call("module_unload", |state| state.unload(module))
    }

    /// A name that ends in a digit has that many parameters.
    unsafe fn module_function(&self, module: u64, name: &str) -> Result<u64> {
        self.state().call("module_function", |state| {
            if !state.modules.contains(&module) {
                state.violation(format!("function of module {module}, which is not loaded"));
            }
            let digit = name.chars().last().and_then(|last| last.to_digit(10));
            let function = state.handle();
            state.functions.insert(function, (module, digit.unwrap_or(0) as usize));
            function
        })
    }

    unsafe fn module_functions(&self, _module: u64) -> Result<Option<Vec<String>>> {
        self.state().call("module_functions", |_| None)
    }

    unsafe fn function_info(&self, function: u64) -> Result<FunctionInfo> {
        self.state().call("function_info", |state| {
            let count = state.functions.get(&function).map_or(0, |(_, count)| *count);
            let parameter = |index| ParameterInfo { offset: index * 8, size: 8 };
            FunctionInfo { parameters: Some((0..count).map(parameter).collect()), ..FunctionInfo::default() }
        })
    }

    unsafe fn function_allow_shared_memory(&self, _function: u64, _bytes: u32) -> Result<()> {
        self.state().call("function_allow_shared_memory", |_| ())
    }

    unsafe fn launch(
        &self,
        stream: u64,
        function: u64,
        _shape: LaunchShape,
        arguments: &mut [*mut c_void],
    ) -> Result<()> {
        let mut state = self.state();
        // SAFETY: the caller's promise.
        let used = unsafe { launched(&mut state, function, arguments) };
        state.work("launch", stream, function, used)
    }

    unsafe fn graph_create(&self) -> Result<Graph> {
        Ok(Graph(self.state().graph_create()? as usize))
    }

    unsafe fn graph_destroy(&self, graph: Graph) -> Result<()> {
        self.state().graph_destroy(graph.0 as u64)
    }

    unsafe fn graph_add(
        &self,
        graph: Graph,
        after: &[GraphNode],
        work: NodeWork<'_, u64>,
    ) -> Result<GraphNode> {
        let mut state = self.state();
        let after: Vec<u64> = after.iter().map(|node| node.0 as u64).collect();
        // SAFETY: the caller's promise.
        let (sort, used) = unsafe { node(&mut state, work) };
        Ok(GraphNode(state.graph_add(graph.0 as u64, &after, sort, used)? as usize))
    }

    unsafe fn graph_instantiate(&self, graph: Graph) -> Result<GraphExec> {
        Ok(GraphExec(self.state().graph_instantiate(graph.0 as u64)? as usize))
    }

    unsafe fn graph_exec_set(
        &self,
        exec: GraphExec,
        changed: GraphNode,
        work: NodeWork<'_, u64>,
    ) -> Result<()> {
        let mut state = self.state();
        // SAFETY: the caller's promise.
        let (sort, used) = unsafe { node(&mut state, work) };
        state.graph_exec_set(exec.0 as u64, changed.0 as u64, sort, used)
    }

    unsafe fn graph_launch(&self, exec: GraphExec, stream: u64) -> Result<()> {
        self.state().graph_launch(exec.0 as u64, stream)
    }

    unsafe fn graph_exec_destroy(&self, exec: GraphExec) -> Result<()> {
        self.state().graph_exec_destroy(exec.0 as u64)
    }
}

/// What a launch uses.
///
/// # Safety
/// As for `Native::launch`.
unsafe fn launched(state: &mut State, function: u64, arguments: &mut [*mut c_void]) -> Use {
    let mut used = Use::default();
    match state.functions.get(&function) {
        Some(&(module, count)) if count == arguments.len() => {
            used.module = Some(module);
            for argument in arguments {
                // SAFETY: the arguments are what the function was said to take: eight bytes each.
                let bits = unsafe { argument.cast::<u64>().read_unaligned() };
                // Plain numbers are small, addresses are not.
                if bits >> SPACING != 0 {
                    used.allocations.insert(allocation(bits));
                }
            }
        }
        _ => state.violation(format!("launch of function {function}, which is not loaded or takes others")),
    }
    used
}

/// What a node does and uses.
///
/// # Safety
/// As for `Native::graph_add`.
unsafe fn node(state: &mut State, work: NodeWork<'_, u64>) -> (&'static str, Use) {
    match work {
        NodeWork::Empty => ("empty", Use::default()),
        NodeWork::Fill { target, pattern, .. } => {
            let allocations = [allocation(target)].into();
            ("fill", Use { allocations, pattern: Some(pattern), ..Use::default() })
        }
        NodeWork::Copy { target, source, .. } => {
            ("copy", Use { allocations: [target, source].map(allocation).into(), ..Use::default() })
        }
        NodeWork::Upload { target, .. } => {
            ("upload", Use { allocations: [allocation(target)].into(), ..Use::default() })
        }
        // SAFETY: the caller's promise.
        NodeWork::Launch { function, arguments, .. } => unsafe {
            ("launch", launched(state, function, arguments))
        },
    }
}
