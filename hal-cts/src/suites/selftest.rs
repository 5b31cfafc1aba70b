//! Cases that pass, fail, panic, abort and hang: for testing the program that runs cases.

use crate::support::{Spinner, soon};
use crate::{Failure, Outcome, Requirement};
use hal_core::{Deadline, Device, Submission};
use std::sync::Arc;

suite! { "selftest",
    &[] => [passes, fails, panics, aborts],
    &[Requirement::Kernels] => [hangs_on_the_device],
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

/// Runs a kernel that never ends, and waits for it without a deadline.
fn hangs_on_the_device(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let done = device.create_semaphore(0)?;
    let spinner = Spinner::new(device)?;
    queue.submit(Submission::new().label("spins for ever").execute(spinner.commands()).signal(&done, 1))?;
    done.wait(1, Deadline::NEVER)?;
    Ok(())
}
