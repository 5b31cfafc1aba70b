//! A device without a driver, for the tests of this crate. A stream does nothing until told how far it may go, every
//! call is logged, and any call can be made to fail.

use crate::device::SharedDevice;
use crate::native::{Allocation, FunctionInfo, LaunchShape, Native, Progress, status_kind};
use crate::sync;
use hal_core::{
    Capabilities, Device, DeviceInfo, DeviceParams, DriverInfo, DriverKind, Error, ExecutableFormat, Limits,
    MemoryKind, NativeStatus, QueuePriority, Result,
};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Arc;

/// What a test sees and steers. The lock is a plain one: a call is one step of a model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Control(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    log: Vec<String>,
    /// Per stream, how many commands it has been given and how many it may finish.
    streams: HashMap<u64, Stream>,
    /// Per event, the stream and place it recorded.
    events: HashMap<u64, Option<(u64, u64)>>,
    allocations: HashMap<u64, usize>,
    next_handle: u64,
    faults: Vec<Fault>,
    sticky: Option<i64>,
    held: bool,
}

#[derive(Debug, Default)]
struct Stream {
    given: u64,
    allowed: u64,
}

#[derive(Debug)]
struct Fault {
    call: &'static str,
    countdown: u32,
    code: i64,
    forever: bool,
}

impl Control {
    /// Streams stop until [`release`](Control::release).
    pub(crate) fn hold(&self) {
        self.0.lock().held = true;
    }

    /// Streams run freely again.
    pub(crate) fn release(&self) {
        self.0.lock().held = false;
    }

    /// A held stream may finish everything it has been given so far.
    pub(crate) fn finish(&self, stream: u64) {
        if let Some(stream) = self.0.lock().streams.get_mut(&stream) {
            stream.allowed = stream.given;
        }
    }

    /// The `nth` call from now of this name (1 is the next) returns `code`; with `forever` all later ones as well.
    pub(crate) fn fail(&self, call: &'static str, nth: u32, code: i64, forever: bool) {
        self.0.lock().faults.push(Fault { call, countdown: nth, code, forever });
    }

    /// Every call returns `code` from now on.
    pub(crate) fn lose(&self, code: i64) {
        self.0.lock().sticky = Some(code);
    }

    /// Calls that put something into a stream, in order, `launch s1 7`.
    pub(crate) fn log(&self) -> Vec<String> {
        self.0.lock().log.clone()
    }

    pub(crate) fn count(&self, call: &str) -> usize {
        self.0.lock().log.iter().filter(|line| line.split(' ').next() == Some(call)).count()
    }

    pub(crate) fn live_allocations(&self) -> usize {
        self.0.lock().allocations.len()
    }

    pub(crate) fn live_events(&self) -> usize {
        self.0.lock().events.len()
    }

    pub(crate) fn live_streams(&self) -> usize {
        self.0.lock().streams.len()
    }

    fn call<T>(&self, call: &'static str, what: impl FnOnce(&mut State) -> T) -> Result<T> {
        sync::assert_unlocked();
        let mut state = self.0.lock();
        let failed = state.faults.iter_mut().find_map(|fault| {
            if fault.call != call || fault.countdown == 0 {
                return None;
            }
            fault.countdown -= 1;
            if fault.countdown > 0 {
                return None;
            }
            if fault.forever {
                fault.countdown = 1;
            }
            Some(fault.code)
        });
        match state.sticky.or(failed) {
            Some(code) => Err(Error::new(status_kind(code), "mock").with_native(NativeStatus {
                call,
                code,
                name: None,
            })),
            None => Ok(what(&mut state)),
        }
    }

    /// Puts a command into a stream.
    fn put(&self, call: &'static str, stream: u64, what: u64) -> Result<()> {
        self.call(call, |state| {
            state.log.push(format!("{call} s{stream} {what}"));
            state.streams.entry(stream).or_default().given += 1;
        })
    }
}

impl State {
    fn handle(&mut self) -> u64 {
        self.next_handle += 1;
        self.next_handle
    }

    fn done(&self, stream: u64, place: u64) -> Progress {
        let allowed = self.streams.get(&stream).map_or(u64::MAX, |stream| stream.allowed);
        if !self.held || place <= allowed { Progress::Done } else { Progress::Running }
    }
}

#[derive(Debug)]
pub(crate) struct MockDevice {
    control: Control,
    info: DeviceInfo,
}

/// An open device and its control.
pub(crate) fn device(params: &DeviceParams) -> (Arc<dyn Device>, Control) {
    let control = Control::default();
    let info = DeviceInfo {
        driver: DriverInfo::new("mock", DriverKind::Soft, "1".into(), "in-process".into()),
        ordinal: 0,
        name: "mock".into(),
        uuid: "GPU-0".into(),
        arch: "mock".into(),
        total_memory: 1 << 30,
        capabilities: Capabilities {
            formats: vec![ExecutableFormat::Ptx],
            managed_memory: false,
            memory_pools: false,
            graphs: false,
            parameter_reflection: false,
            entry_point_listing: false,
        },
        limits: Limits {
            max_workgroup_size: 1024,
            max_workgroup_dims: [1024; 3],
            max_grid_dims: [u32::MAX; 3],
            max_shared_memory: 48 << 10,
            subgroup_size: 32,
            multiprocessors: 1,
            stream_priorities: [0, 0],
        },
    };
    let native = MockDevice { control: control.clone(), info };
    (Arc::new(SharedDevice::open(native, params).unwrap()), control)
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
        self.control.call("enter", |_| ())
    }

    fn leave(&self, _previous: ()) {}

    unsafe fn stream_create(&self, _priority: QueuePriority) -> Result<u64> {
        self.control.call("stream_create", |state| {
            let stream = state.handle();
            state.streams.insert(stream, Stream::default());
            stream
        })
    }

    unsafe fn stream_destroy(&self, stream: u64) -> Result<()> {
        self.control.call("stream_destroy", |state| assert!(state.streams.remove(&stream).is_some()))
    }

    unsafe fn stream_query(&self, stream: u64) -> Result<Progress> {
        self.control.call("stream_query", |state| state.done(stream, state.streams[&stream].given))
    }

    unsafe fn stream_wait_event(&self, stream: u64, event: u64) -> Result<()> {
        self.control.put("wait", stream, event)
    }

    unsafe fn event_create(&self) -> Result<u64> {
        self.control.call("event_create", |state| {
            let event = state.handle();
            state.events.insert(event, None);
            event
        })
    }

    unsafe fn event_destroy(&self, event: u64) -> Result<()> {
        self.control.call("event_destroy", |state| assert!(state.events.remove(&event).is_some()))
    }

    unsafe fn event_record(&self, event: u64, stream: u64) -> Result<()> {
        self.control.put("record", stream, event)?;
        let mut state = self.control.0.lock();
        let place = state.streams[&stream].given;
        state.events.insert(event, Some((stream, place)));
        Ok(())
    }

    unsafe fn event_query(&self, event: u64) -> Result<Progress> {
        self.control.call("event_query", |state| {
            let (stream, place) = state.events[&event].expect("queried before it was recorded");
            state.done(stream, place)
        })
    }

    unsafe fn allocate(&self, kind: MemoryKind, size: usize) -> Result<Allocation> {
        self.control.call("allocate", |state| {
            let device = state.handle() << 20;
            state.allocations.insert(device, size);
            Allocation { device, host: None, kind }
        })
    }

    unsafe fn free(&self, allocation: Allocation) -> Result<()> {
        self.control.call("free", |state| assert!(state.allocations.remove(&allocation.device).is_some()))
    }

    unsafe fn fill(&self, stream: u64, _target: u64, pattern: u32, _size: u32, _count: usize) -> Result<()> {
        self.control.put("fill", stream, pattern.into())
    }

    unsafe fn copy(&self, stream: u64, _target: u64, _source: u64, size: usize) -> Result<()> {
        self.control.put("copy", stream, size as u64)
    }

    unsafe fn upload(&self, stream: u64, _target: u64, source: &[u8]) -> Result<()> {
        self.control.put("upload", stream, source.len() as u64)
    }

    unsafe fn module_load(&self, _format: ExecutableFormat, _image: &[u8]) -> Result<u64> {
        self.control.call("module_load", State::handle)
    }

    unsafe fn module_unload(&self, _module: u64) -> Result<()> {
        self.control.call("module_unload", |_| ())
    }

    unsafe fn module_function(&self, _module: u64, _name: &str) -> Result<u64> {
        self.control.call("module_function", State::handle)
    }

    unsafe fn module_functions(&self, _module: u64) -> Result<Option<Vec<String>>> {
        Ok(None)
    }

    unsafe fn function_info(&self, _function: u64) -> Result<FunctionInfo> {
        Ok(FunctionInfo::default())
    }

    unsafe fn function_allow_shared_memory(&self, _function: u64, _bytes: u32) -> Result<()> {
        Ok(())
    }

    unsafe fn launch(
        &self,
        stream: u64,
        function: u64,
        _shape: LaunchShape,
        _arguments: &mut [*mut c_void],
    ) -> Result<()> {
        self.control.put("launch", stream, function)
    }
}
