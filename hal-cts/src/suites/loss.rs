//! Kernels that fault, and the loss of the device. Each case ends with a lost device.

use crate::futures::block_on;
use crate::support::{Gate, Launch, record, soon};
use crate::{Outcome, Requirement, kernels};
use hal_core::{
    BufferParams, CommandBuffer, Deadline, Device, Dispatch, Error, ErrorKind, Queue, Result, SemaphoreExt,
    Submission,
};
use std::sync::Arc;
use std::thread;

suite! { "loss",
    &[Requirement::Kernels, Requirement::FaultReporting] => [
        write_out_of_bounds_names_the_kernel,
        trap_names_the_kernel,
        misaligned_read_names_the_kernel,
        origin_has_label_and_sequence,
        driver_is_quoted,
        device_says_why_it_is_lost,
        later_calls_say_so_at_once,
        pending_submissions_fail,
        submissions_behind_it_fail,
        dependants_on_other_queues_keep_the_origin,
        other_timelines_fail,
        blocked_threads_return,
        futures_are_woken,
        device_becomes_idle,
        everything_can_be_dropped,
    ],
}

/// Commands that fault.
fn faulty(device: &Arc<dyn Device>, kernel: &str) -> Result<Arc<dyn CommandBuffer>> {
    let executable = kernels::FAULTS.load(device)?;
    let buffer = device.allocate_buffer(&BufferParams::device_local(64))?;
    let dispatch = Dispatch::new(&executable, kernel)?;
    record(device, |encoder| {
        encoder.launch(match kernel {
            // Far beyond any allocation.
            "oob_write" => dispatch.arg(&buffer).arg(1_u64 << 42),
            "misaligned_read" => dispatch.arg(&buffer),
            _ => dispatch,
        })
    })
}

/// Loses the device, and returns the queue it happened on and the error.
fn lose(device: &Arc<dyn Device>, kernel: &str) -> Outcome<(Arc<dyn Queue>, Error)> {
    let queue = device.create_queue(&Default::default())?;
    let done = device.create_semaphore(0)?;
    let submission = Submission::new().label("the culprit").execute(&faulty(device, kernel)?);
    queue.submit(submission.signal(&done, 1))?;
    let error = check_err!(done.wait(1, soon()), ErrorKind::DeviceLost);
    Ok((queue, error))
}

fn names_the_kernel(device: &Arc<dyn Device>, kernel: &str) -> Outcome {
    let (_, error) = lose(device, kernel)?;
    check!(error.to_string().contains(kernel), "{error}");
    check!(device.lost().is_some());
    Ok(())
}

/// An address that is nobody's.
fn write_out_of_bounds_names_the_kernel(device: &Arc<dyn Device>) -> Outcome {
    names_the_kernel(device, "oob_write")
}

/// A failed assertion in device code.
fn trap_names_the_kernel(device: &Arc<dyn Device>) -> Outcome {
    names_the_kernel(device, "trap_now")
}

/// Four bytes at an odd address.
fn misaligned_read_names_the_kernel(device: &Arc<dyn Device>) -> Outcome {
    names_the_kernel(device, "misaligned_read")
}

/// Which submission it was.
fn origin_has_label_and_sequence(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&Default::default())?;
    let done = device.create_semaphore(0)?;
    for value in 1..=3 {
        queue.submit(Submission::new().label("innocent").signal(&done, value))?;
    }
    done.wait(3, soon())?;
    let commands = faulty(device, "oob_write")?;
    let id = queue.submit(Submission::new().label("the culprit").execute(&commands).signal(&done, 4))?;
    let error = check_err!(done.wait(4, soon()), ErrorKind::DeviceLost);
    check!(error.origin().is_some(), "{error}");
    if let Some(origin) = error.origin() {
        check_eq!(origin.label.as_deref(), Some("the culprit"));
        check_eq!(origin.sequence, id.sequence);
        check_eq!(origin.queue, id.queue);
        check_eq!(origin.kernels, ["oob_write"]);
    }
    Ok(())
}

/// The call, the number and the driver's name for it.
fn driver_is_quoted(device: &Arc<dyn Device>) -> Outcome {
    let (_, error) = lose(device, "oob_write")?;
    check!(error.native().is_some_and(|native| native.code != 0 && native.name.is_some()), "{error}");
    Ok(())
}

/// The driver's words, as those that were delivered.
fn device_says_why_it_is_lost(device: &Arc<dyn Device>) -> Outcome {
    check!(device.lost().is_none());
    let (_, delivered) = lose(device, "oob_write")?;
    let lost = device.lost();
    check!(lost.is_some());
    if let Some(error) = lost {
        check_eq!(error.kind(), ErrorKind::DeviceLost);
        let code = |error: &Error| error.native().map(|native| native.code);
        check_eq!(code(&error), code(&delivered));
    }
    Ok(())
}

/// Nothing reaches the driver any more.
fn later_calls_say_so_at_once(device: &Arc<dyn Device>) -> Outcome {
    let (queue, _) = lose(device, "oob_write")?;
    check_err!(queue.submit(Submission::new()), ErrorKind::DeviceLost);
    check_err!(device.create_queue(&Default::default()), ErrorKind::DeviceLost);
    check_err!(device.create_semaphore(0), ErrorKind::DeviceLost);
    check_err!(device.allocate_buffer(&BufferParams::device_local(16)), ErrorKind::DeviceLost);
    check_err!(device.allocate_buffer(&BufferParams::host_visible(16)), ErrorKind::DeviceLost);
    check_err!(kernels::ADD_ONE.load(device), ErrorKind::DeviceLost);
    Ok(())
}

/// What could not start never will.
fn pending_submissions_fail(device: &Arc<dyn Device>) -> Outcome {
    let gate = Gate::new(device)?;
    let queues = [device.create_queue(&Default::default())?, device.create_queue(&Default::default())?];
    let ends = (0..20).map(|_| device.create_semaphore(0)).collect::<Result<Vec<_>>>()?;
    for (index, end) in ends.iter().enumerate() {
        queues[index % 2].submit(Submission::new().wait(gate.semaphore(), 1).signal(end, 1))?;
    }
    lose(device, "oob_write")?;
    for end in &ends {
        check_err!(end.wait(1, soon()), ErrorKind::DeviceLost);
    }
    Ok(())
}

/// What follows on the stream.
fn submissions_behind_it_fail(device: &Arc<dyn Device>) -> Outcome {
    let gate = Gate::new(device)?;
    let queue = device.create_queue(&Default::default())?;
    let commands = faulty(device, "oob_write")?;
    let ends = (0..10).map(|_| device.create_semaphore(0)).collect::<Result<Vec<_>>>()?;
    let first = device.create_semaphore(0)?;
    queue.submit(Submission::new().wait(gate.semaphore(), 1).execute(&commands).signal(&first, 1))?;
    for end in &ends {
        queue.submit(Submission::new().wait(&first, 1).signal(end, 1))?;
    }
    gate.open()?;
    for end in &ends {
        check_err!(end.wait(1, soon()), ErrorKind::DeviceLost);
    }
    Ok(())
}

/// The text still names the kernel.
fn dependants_on_other_queues_keep_the_origin(device: &Arc<dyn Device>) -> Outcome {
    let gate = Gate::new(device)?;
    let queues = (0..3).map(|_| device.create_queue(&Default::default())).collect::<Result<Vec<_>>>()?;
    let links = (0..4).map(|_| device.create_semaphore(0)).collect::<Result<Vec<_>>>()?;
    let culprit = Submission::new().label("the culprit").execute(&faulty(device, "oob_write")?);
    for hop in 1..3 {
        queues[hop].submit(Submission::new().wait(&links[hop], 1).signal(&links[hop + 1], 1))?;
    }
    queues[0].submit(culprit.wait(gate.semaphore(), 1).signal(&links[1], 1))?;
    gate.open()?;
    for link in &links[1..] {
        let error = check_err!(link.wait(1, soon()), ErrorKind::DeviceLost);
        check!(error.to_string().contains("oob_write"), "{error}");
        check!(error.to_string().contains("the culprit"), "{error}");
    }
    Ok(())
}

/// A timeline of the device that nobody will signal any more.
fn other_timelines_fail(device: &Arc<dyn Device>) -> Outcome {
    let (idle, reached) = (device.create_semaphore(0)?, device.create_semaphore(0)?);
    reached.signal(5)?;
    lose(device, "oob_write")?;
    for semaphore in [idle, reached] {
        check_err!(semaphore.wait(9, soon()), ErrorKind::DeviceLost);
        check_err!(semaphore.query(), ErrorKind::DeviceLost);
        check_err!(semaphore.signal(10), ErrorKind::DeviceLost);
    }
    Ok(())
}

/// Waits without a deadline end too.
fn blocked_threads_return(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let (lost, outcomes): (_, Vec<_>) = thread::scope(|scope| {
        let wait = |value| semaphore.wait(value, soon());
        let waiters = [1, 2, u64::MAX].map(|value| scope.spawn(move || wait(value)));
        (lose(device, "oob_write"), waiters.into_iter().map(|waiter| waiter.join()).collect())
    });
    lost?;
    for outcome in outcomes {
        check!(matches!(&outcome, Ok(Err(error)) if error.kind() == ErrorKind::DeviceLost), "{outcome:?}");
    }
    Ok(())
}

/// A task that awaits is not left behind.
fn futures_are_woken(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(0)?;
    let queue = device.create_queue(&Default::default())?;
    let commands = faulty(device, "trap_now")?;
    let submit = || queue.submit(Submission::new().execute(&commands));
    let (submitted, outcome) = thread::scope(|scope| {
        let waiting = scope.spawn(|| block_on(semaphore.reached(1)));
        (submit(), waiting.join())
    });
    submitted?;
    check!(matches!(&outcome, Ok(Ok(Err(error))) if error.kind() == ErrorKind::DeviceLost), "{outcome:?}");
    Ok(())
}

/// Everything has ended, if badly.
fn device_becomes_idle(device: &Arc<dyn Device>) -> Outcome {
    let gate = Gate::new(device)?;
    let queue = device.create_queue(&Default::default())?;
    queue.submit(Submission::new().wait(gate.semaphore(), 1))?;
    lose(device, "oob_write")?;
    queue.wait_idle(soon())?;
    device.wait_idle(soon())?;
    check!(queue.is_idle());
    device.wait_idle(Deadline::NOW)?;
    Ok(())
}

/// Handles of a lost device are dropped like any others.
fn everything_can_be_dropped(device: &Arc<dyn Device>) -> Outcome {
    let executable = kernels::ADD_ONE.load(device)?;
    let buffer = device.allocate_buffer(&BufferParams::device_local(1024))?;
    let host = device.allocate_buffer(&BufferParams::host_visible(1024))?;
    let commands = record(device, |encoder| encoder.copy(&buffer, 0, &host, 0, 1024))?;
    let (queue, error) = lose(device, "oob_write")?;
    drop((executable, buffer, host, commands, queue, error));
    check!(device.lost().is_some());
    Ok(())
}
