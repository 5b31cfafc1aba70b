//! The device and the context of a thread.
//!
//! A thread begins with device 0 and no context. The first call that needs one makes the primary context of the
//! thread's device current, and the runtime holds that context from then on. A current context that is gone is replaced
//! in the same way.

use crate::driver::context::{self, Context};
use crate::driver::device::{Device, device_of};
use crate::driver::{Error, Result};
use parking_lot::Mutex;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

thread_local! {
    static DEVICE: Cell<i32> = const { Cell::new(0) };
}

/// Who holds a primary context.
#[derive(Default)]
struct Holders {
    runtime: bool,
    program: u32,
}

static HOLDERS: Mutex<BTreeMap<usize, Holders>> = Mutex::new(BTreeMap::new());

/// The primary context of a device, held by the runtime from now on.
fn primary(device: &'static Device) -> Result<Arc<Context>> {
    let mut holders = HOLDERS.lock();
    let holders = holders.entry(device.ordinal).or_default();
    let held = holders.runtime && device.primary_state().1;
    let context = device.retain_primary();
    if held {
        device.release_primary()?;
    }
    holders.runtime = true;
    device.held_by_runtime();
    Ok(context)
}

/// Holds the primary context of a device for the program.
pub(super) fn retain(device: &'static Device) -> Arc<Context> {
    HOLDERS.lock().entry(device.ordinal).or_default().program += 1;
    device.retain_primary()
}

/// Undoes [`retain`]. What was not retained is not released, and that is no error, as on the vendor's runtime.
pub(super) fn release(device: &'static Device) -> Result<()> {
    let mut holders = HOLDERS.lock();
    let holders = holders.entry(device.ordinal).or_default();
    match holders.program.checked_sub(1) {
        Some(left) => {
            holders.program = left;
            device.release_primary()
        }
        None => Ok(()),
    }
}

/// The thread's context, made current if there is none; it may have failed.
pub(super) fn context_in_any_state() -> Result<Arc<Context>> {
    if let Some(context) = context::current_handle().and_then(|handle| context::context_of(handle).ok()) {
        return Ok(context);
    }
    let ordinal = DEVICE.try_with(Cell::get).map_err(|_| Error::DEINITIALIZED)?;
    let context = primary(device_of(ordinal)?)?;
    context::set_current(Some(context.handle))?;
    Ok(context)
}

/// The thread's context, usable: the beginning of almost every call.
pub(super) fn context() -> Result<Arc<Context>> {
    let context = context_in_any_state()?;
    context.check()?;
    Ok(context)
}

/// The thread's device.
pub(super) fn device() -> Result<&'static Device> {
    Ok(context_in_any_state()?.device)
}

/// Chooses the thread's device and makes its primary context current.
pub(super) fn set_device(device: &'static Device) -> Result<()> {
    let context = primary(device)?;
    remember(device);
    context::set_current(Some(context.handle))
}

/// Replaces the current context; `None` takes it away.
pub(super) fn set_context(handle: Option<u64>) -> Result<()> {
    if let Some(handle) = handle {
        remember(context::context_of(handle)?.device);
    }
    context::set_current(handle)
}

fn remember(device: &Device) {
    // At thread exit there is nothing left that could ask.
    let _ = DEVICE.try_with(|current| current.set(device.ordinal as i32));
}
