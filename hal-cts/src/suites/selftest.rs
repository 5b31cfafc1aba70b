//! Cases that pass, fail, panic, abort and hang: for testing the program that runs cases.

use crate::support::soon;
use crate::{Failure, Outcome};
use hal_core::Device;
use std::sync::Arc;

suite! { "selftest",
    &[] => [passes, fails, panics, aborts, hangs_on_the_device],
}

/// Passes.
fn passes(device: &Arc<dyn Device>) -> Outcome {
    device.wait_idle(soon())?;
    Ok(())
}

/// Fails.
fn fails(_: &Arc<dyn Device>) -> Outcome {
    Err(Failure::new("this case always fails"))
}

/// Panics, as a bug in a case would.
#[allow(clippy::panic, reason = "what it is for")]
fn panics(_: &Arc<dyn Device>) -> Outcome {
    panic!("this case always panics")
}

/// Ends the process, as some drivers do.
fn aborts(_: &Arc<dyn Device>) -> Outcome {
    std::process::abort()
}

/// Never ends.
fn hangs_on_the_device(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    semaphore.wait(1, hal_core::Deadline::NEVER)?;
    Ok(())
}
