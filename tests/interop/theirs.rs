//! What another library does with the driver. Both backends' functions take the same arguments.

use std::ffi::c_void;
use std::mem::transmute;
use std::sync::{Arc, Condvar, Mutex};

type HostFunction = extern "C" fn(*mut c_void);

const SUCCESS: i32 = 0;
/// `CUDA_ERROR_NOT_READY`, `hipErrorNotReady`
const NOT_READY: i32 = 600;

pub struct Driver {
    backend: &'static str,
}

impl Driver {
    /// With the first device's context current on this thread.
    pub fn new(backend: &'static str) -> Self {
        let driver = Driver { backend };
        if backend == "cuda" {
            driver.call("cuCtxSetCurrent", &[driver.retained_context()]);
            // What is current is held by the device under test.
            driver.call("cuDevicePrimaryCtxRelease_v2", &[0]);
        } else {
            driver.call("hipSetDevice", &[0]);
        }
        driver
    }

    fn status(&self, name: &str, arguments: &[usize]) -> i32 {
        let address = softgpu::resolver::symbol(name).expect(name);
        // SAFETY: the functions take this many arguments, none wider than a register.
        unsafe {
            match *arguments {
                [first] => transmute::<*const c_void, extern "C" fn(usize) -> i32>(address)(first),
                [first, second] => {
                    transmute::<*const c_void, extern "C" fn(usize, usize) -> i32>(address)(first, second)
                }
                [first, second, third] => {
                    let function =
                        transmute::<*const c_void, extern "C" fn(usize, usize, usize) -> i32>(address);
                    function(first, second, third)
                }
                _ => unreachable!("{name}"),
            }
        }
    }

    fn call(&self, name: &str, arguments: &[usize]) {
        assert_eq!(self.status(name, arguments), SUCCESS, "{name}");
    }

    /// The name of both backends' function.
    fn name(&self, cuda: &'static str, hip: &'static str) -> &'static str {
        if self.backend == "cuda" { cuda } else { hip }
    }

    fn create(&self, name: &str, flags: usize) -> usize {
        let mut handle = 0_usize;
        self.call(name, &[(&raw mut handle).expose_provenance(), flags]);
        handle
    }

    /// The primary context of the first device, retained.
    pub fn retained_context(&self) -> usize {
        self.create(self.name("cuDevicePrimaryCtxRetain", "hipDevicePrimaryCtxRetain"), 0)
    }

    /// A stream that does not wait for the default stream.
    pub fn stream(&self) -> usize {
        self.create(self.name("cuStreamCreate", "hipStreamCreateWithFlags"), 1)
    }

    /// An event without timing.
    pub fn event(&self) -> usize {
        self.create(self.name("cuEventCreate", "hipEventCreateWithFlags"), 2)
    }

    pub fn record(&self, event: usize, stream: usize) {
        self.call(self.name("cuEventRecord", "hipEventRecord"), &[event, stream]);
    }

    pub fn wait(&self, stream: usize, event: usize) {
        self.call(self.name("cuStreamWaitEvent", "hipStreamWaitEvent"), &[stream, event, 0]);
    }

    pub fn synchronize(&self, event: usize) {
        self.call(self.name("cuEventSynchronize", "hipEventSynchronize"), &[event]);
    }

    fn query(&self, event: usize) -> i32 {
        self.status(self.name("cuEventQuery", "hipEventQuery"), &[event])
    }

    pub fn is_done(&self, event: usize) -> bool {
        let status = self.query(event);
        assert!([SUCCESS, NOT_READY].contains(&status), "{status}");
        status == SUCCESS
    }

    pub fn exists(&self, event: usize) -> bool {
        [SUCCESS, NOT_READY].contains(&self.query(event))
    }

    pub fn destroy_event(&self, event: usize) {
        self.call(self.name("cuEventDestroy_v2", "hipEventDestroy"), &[event]);
    }

    pub fn destroy_stream(&self, stream: usize) {
        self.call(self.name("cuStreamDestroy_v2", "hipStreamDestroy"), &[stream]);
    }

    /// Holds up the stream until the blocker is released.
    pub fn block(&self, stream: usize, blocker: &Blocker) {
        let data = Arc::into_raw(blocker.0.clone()).expose_provenance();
        let function = blocked as HostFunction as usize;
        self.call(self.name("cuLaunchHostFunc", "hipLaunchHostFunc"), &[stream, function, data]);
    }
}

/// Holds up streams until it is released or dropped.
pub struct Blocker(Arc<Gate>);

#[derive(Default)]
struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Blocker {
    pub fn new() -> Self {
        Blocker(Arc::default())
    }

    pub fn release(&self) {
        *self.0.open.lock().unwrap() = true;
        self.0.opened.notify_all();
    }
}

impl Drop for Blocker {
    fn drop(&mut self) {
        self.release();
    }
}

extern "C" fn blocked(data: *mut c_void) {
    // SAFETY: `Driver::block` gave a reference away for each call.
    let gate = unsafe { Arc::from_raw(data.cast::<Gate>()) };
    let open = gate.open.lock().unwrap();
    drop(gate.opened.wait_while(open, |open| !*open).unwrap());
}
