//! A device without a driver, for the tests of this crate. Its streams go as far and as fast as a test lets them, every
//! call is logged, any call can be made to fail, and what the rules of [`crate::native`] forbid is recorded.
//!
//! | Idea | Where |
//! |---|---|
//! | what a test sees and steers | [`Control`], here |
//! | streams, and what runs in them | `streams` |
//! | handles in existence, and violations | `state` |
//! | graphs | `graphs` |
//! | which call fails, how | `faults` |
//! | the calls | `native` |

#![cfg_attr(any(hal_loom, hal_shuttle), allow(dead_code, reason = "models use a part of it"))]

mod faults;
mod graphs;
mod native;
mod state;
mod streams;

#[cfg_attr(any(hal_loom, hal_shuttle), allow(unused_imports, reason = "models use a part of it"))]
pub(crate) use {
    faults::{Injection, Reach, Timing},
    native::MockDevice,
    state::Census,
    streams::Pace,
};

use crate::device::SharedDevice;
use hal_core::{
    Capabilities, Device, DeviceInfo, DeviceParams, DriverInfo, DriverKind, ExecutableFormat, Limits, Result,
};
use parking_lot::Mutex;
use state::State;
use std::sync::Arc;

/// What a test sees and steers. The lock is a plain one: a call is one step of a model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Control(Arc<Mutex<State>>);

impl Control {
    /// Streams stop until [`release`](Control::release).
    pub(crate) fn hold(&self) {
        self.pace(Pace::Held);
    }

    /// Streams run freely again.
    pub(crate) fn release(&self) {
        self.pace(Pace::Free);
    }

    pub(crate) fn pace(&self, pace: Pace) {
        self.0.lock().set_pace(pace);
    }

    /// A held stream may finish everything it has been given so far.
    pub(crate) fn finish(&self, stream: u64) {
        self.0.lock().finish(stream);
    }

    /// The `nth` call from now of this name (1 is the next) returns `code`; with `forever` all later ones as well.
    pub(crate) fn fail(&self, call: &'static str, nth: u32, code: i64, forever: bool) {
        self.0.lock().faults.fail(call, nth, code, forever);
    }

    /// Fills with this pattern, wherever they are, return `code`; with [`Timing::Deferred`] they are taken, run, and
    /// make the query of the next event in their stream return it.
    pub(crate) fn fail_pattern(&self, pattern: u32, code: i64, timing: Timing) {
        self.0.lock().faults.fail_pattern(pattern, code, timing);
    }

    /// Counts calls from now, and makes one of them fail.
    pub(crate) fn inject(&self, injection: Injection) {
        self.0.lock().faults.inject(injection);
    }

    /// How often an injected status has been returned.
    pub(crate) fn delivered(&self) -> u64 {
        self.0.lock().faults.delivered
    }

    /// The call that returned an injected status first.
    pub(crate) fn first_failed(&self) -> Option<&'static str> {
        self.0.lock().faults.first_failed
    }

    /// The calls counted so far, see [`inject`](Control::inject).
    pub(crate) fn counted(&self) -> u64 {
        self.0.lock().faults.counted
    }

    /// Devices opened and let go of.
    pub(crate) fn devices(&self) -> (u64, u64) {
        let state = self.0.lock();
        (state.opened, state.released)
    }

    /// Every call returns `code` from now on.
    pub(crate) fn lose(&self, code: i64) {
        self.0.lock().lose(code);
    }

    /// Calls that put something into a stream, in order, `launch s1 7`.
    pub(crate) fn log(&self) -> Vec<String> {
        self.0.lock().log.clone()
    }

    pub(crate) fn count(&self, call: &str) -> usize {
        self.0.lock().log.iter().filter(|line| line.split(' ').next() == Some(call)).count()
    }

    /// When a fill with this pattern has run: larger is later, across devices.
    pub(crate) fn ran(&self, pattern: u32) -> Option<u64> {
        self.0.lock().ran.get(&pattern).copied()
    }

    pub(crate) fn live_allocations(&self) -> usize {
        self.0.lock().census().allocations
    }

    pub(crate) fn live_events(&self) -> usize {
        self.0.lock().census().events
    }

    pub(crate) fn live_streams(&self) -> usize {
        self.0.lock().census().streams
    }

    /// Handles given out and not taken back.
    pub(crate) fn census(&self) -> Census {
        self.0.lock().census()
    }

    /// Handles whose destruction was refused.
    pub(crate) fn refused(&self) -> Census {
        self.0.lock().refused
    }

    /// Whether a status that means loss has been returned.
    #[cfg(hal_shuttle)]
    pub(crate) fn is_lost(&self) -> bool {
        self.0.lock().lost
    }

    /// Whether nothing holds the native device any more.
    #[cfg(any(hal_loom, hal_shuttle))]
    pub(crate) fn is_released(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    /// What has been done that [`crate::native`] forbids.
    pub(crate) fn violations(&self) -> Vec<String> {
        self.0.lock().violations.clone()
    }
}

/// An open device and its control.
pub(crate) fn device(params: &DeviceParams) -> (Arc<dyn Device>, Control) {
    let control = Control::default();
    let device = open(params, &control).unwrap();
    (device, control)
}

/// Opens a device that a test already steers.
pub(crate) fn open(params: &DeviceParams, control: &Control) -> Result<Arc<dyn Device>> {
    Ok(Arc::new(SharedDevice::open(native(control), params)?))
}

/// What a device is opened on.
pub(crate) fn native(control: &Control) -> MockDevice {
    MockDevice::new(control.clone(), info())
}

fn info() -> DeviceInfo {
    DeviceInfo {
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
            graphs: true,
            parameter_reflection: false,
            entry_point_listing: false,
        },
        limits: Limits {
            max_workgroup_size: 1024,
            max_workgroup_dims: [1024; 3],
            max_grid_dims: [u32::MAX; 3],
            max_shared_memory: 64 << 10,
            subgroup_size: 32,
            multiprocessors: 1,
            stream_priorities: [0, 0],
        },
    }
}
