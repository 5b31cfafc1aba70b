//! Points on timelines as file descriptors, and back.

use crate::support::{Gate, shortly, soon};
use crate::{Failure, Outcome, Requirement};
use hal_core::{
    Deadline, Device, Error, ErrorKind, EventFd, ExportedEventFd, QueueParams, Result, SemaphorePoint,
    Submission,
};
use std::fs::File;
use std::io::{ErrorKind as IoErrorKind, PipeWriter, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread;

suite! { "interop",
    &[Requirement::EventFd] => [
        eventfd_tells_that_its_point_is_reached,
        eventfd_tells_that_its_point_failed,
        eventfd_of_a_reached_point_is_readable_at_once,
        eventfd_of_what_a_queue_signals,
        eventfd_needs_no_issue,
        dropped_eventfd_is_cancelled,
        hundred_eventfds_of_one_signal,
        readable_descriptor_signals,
        readable_descriptor_releases_a_queue,
        import_reads_nothing,
        dropped_import_is_cancelled,
        detached_import_stays,
        hang_up_fails_what_waits,
        descriptor_of_a_settled_point_is_closed,
        regular_file_is_refused,
        exported_and_imported_again,
        closed_before_it_is_readable,
    ],
}

fn point(device: &Arc<dyn Device>) -> Result<SemaphorePoint> {
    Ok(SemaphorePoint::new(&device.create_semaphore(0)?, 1))
}

/// A descriptor to import, and what makes it readable or shows that it was closed.
fn descriptor() -> Outcome<(EventFd, PipeWriter)> {
    let (reader, writer) = std::io::pipe().map_err(failed)?;
    Ok((EventFd::from(OwnedFd::from(reader)), writer))
}

#[track_caller]
fn failed(error: std::io::Error) -> Failure {
    Failure::new(format!("a system call failed: {error}"))
}

fn duplicate(descriptor: &impl AsFd) -> Outcome<OwnedFd> {
    descriptor.as_fd().try_clone_to_owned().map_err(failed)
}

/// What a reader gets now.
fn read(descriptor: &impl AsFd) -> Outcome<Option<u64>> {
    let mut bytes = [0; 8];
    match File::from(duplicate(descriptor)?).read(&mut bytes) {
        Ok(8) => Ok(Some(u64::from_ne_bytes(bytes))),
        Ok(other) => Err(Failure::new(format!("{other} bytes read of an eventfd"))),
        Err(error) if error.kind() == IoErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// What a reader gets in the end.
fn read_soon(descriptor: &ExportedEventFd) -> Outcome<u64> {
    let deadline = soon();
    loop {
        if let Some(count) = read(descriptor)? {
            return Ok(count);
        }
        check!(!deadline.has_passed(), "the descriptor does not become readable");
        thread::yield_now();
    }
}

/// Waits until the other side of a pipe is closed.
fn closed(writer: &mut PipeWriter, deadline: Deadline) -> bool {
    loop {
        if writer.write(&[1]).is_err() {
            return true;
        }
        if deadline.has_passed() {
            return false;
        }
        thread::yield_now();
    }
}

/// And not before.
fn eventfd_tells_that_its_point_is_reached(device: &Arc<dyn Device>) -> Outcome {
    let point = SemaphorePoint::new(&device.create_semaphore(0)?, 3);
    let ready = device.export_eventfd(&point)?;
    point.semaphore.signal(2)?;
    check_eq!(read(&ready)?, None);
    point.semaphore.signal(3)?;
    check_eq!(read(&ready)?, Some(1));
    check!(ready.point().is_reached()?);
    Ok(())
}

/// With another number.
fn eventfd_tells_that_its_point_failed(device: &Arc<dyn Device>) -> Outcome {
    let point = point(device)?;
    let ready = device.export_eventfd(&point)?;
    point.semaphore.fail(Error::new(ErrorKind::Aborted, "not today"));
    check_eq!(read(&ready)?, Some(2));
    check_err!(ready.point().is_reached(), ErrorKind::Aborted);
    check_eq!(read(&device.export_eventfd(&point)?)?, Some(2));
    Ok(())
}

/// There is nothing to wait for.
fn eventfd_of_a_reached_point_is_readable_at_once(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(7)?;
    for value in [0, 1, 7] {
        check_eq!(read(&device.export_eventfd(&SemaphorePoint::new(&semaphore, value))?)?, Some(1));
    }
    Ok(())
}

/// Completion reaches it without anybody waiting.
fn eventfd_of_what_a_queue_signals(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&QueueParams::default())?;
    for _ in 0..20 {
        let point = point(device)?;
        queue.submit(Submission::new().signal(&point.semaphore, 1))?;
        check_eq!(read_soon(&device.export_eventfd(&point)?)?, 1);
        check!(point.is_reached()?);
    }
    Ok(())
}

/// Unlike an event, it can be had before anything is on the device.
fn eventfd_needs_no_issue(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&QueueParams::default())?;
    let (gate, point) = (Gate::new(device)?, point(device)?);
    let ready = device.export_eventfd(&point)?;
    queue.submit(Submission::new().wait(gate.semaphore(), 1).signal(&point.semaphore, 1))?;
    check_eq!(read(&ready)?, None);
    gate.open()?;
    check_eq!(read_soon(&ready)?, 1);
    Ok(())
}

/// Whoever has a duplicate hears nothing more.
fn dropped_eventfd_is_cancelled(device: &Arc<dyn Device>) -> Outcome {
    let point = point(device)?;
    let ready = device.export_eventfd(&point)?;
    let kept = duplicate(&ready)?;
    drop(ready);
    point.semaphore.signal(1)?;
    check_eq!(read(&kept)?, None);
    Ok(())
}

/// Each has its own.
fn hundred_eventfds_of_one_signal(device: &Arc<dyn Device>) -> Outcome {
    let point = point(device)?;
    let all = (0..100).map(|_| device.export_eventfd(&point)).collect::<Result<Vec<_>>>()?;
    point.semaphore.signal(1)?;
    for ready in &all {
        check_eq!(read(ready)?, Some(1));
    }
    Ok(())
}

/// And not before.
fn readable_descriptor_signals(device: &Arc<dyn Device>) -> Outcome {
    let point = point(device)?;
    let (descriptor, mut writer) = descriptor()?;
    let _watch = device.import_eventfd(descriptor, &point)?;
    check_err!(point.semaphore.wait(1, shortly()), ErrorKind::DeadlineExceeded);
    writer.write_all(&[1]).map_err(failed)?;
    point.semaphore.wait(1, soon())?;
    Ok(())
}

/// Work waits for what only the operating system knows.
fn readable_descriptor_releases_a_queue(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&QueueParams::default())?;
    let (ready, done) = (point(device)?, point(device)?);
    let (descriptor, mut writer) = descriptor()?;
    let _watch = device.import_eventfd(descriptor, &ready)?;
    queue.submit(Submission::new().wait(&ready.semaphore, 1).signal(&done.semaphore, 1))?;
    check!(!queue.is_idle());
    writer.write_all(&[1]).map_err(failed)?;
    done.semaphore.wait(1, soon())?;
    Ok(())
}

/// The count is left to whoever it is meant for.
fn import_reads_nothing(device: &Arc<dyn Device>) -> Outcome {
    let (reached, imported) = (SemaphorePoint::new(&device.create_semaphore(1)?, 1), point(device)?);
    let ready = device.export_eventfd(&reached)?;
    let _watch = device.import_eventfd(EventFd::from(duplicate(&ready)?), &imported)?;
    imported.semaphore.wait(1, soon())?;
    check_eq!(read(&ready)?, Some(1));
    Ok(())
}

/// The semaphore stays as it is, and the descriptor is closed.
fn dropped_import_is_cancelled(device: &Arc<dyn Device>) -> Outcome {
    let point = point(device)?;
    for _ in 0..50 {
        let (descriptor, mut writer) = descriptor()?;
        drop(device.import_eventfd(descriptor, &point)?);
        check!(closed(&mut writer, Deadline::NOW));
    }
    check_eq!(point.semaphore.query()?, 0);
    Ok(())
}

/// Nobody has to keep the guard.
fn detached_import_stays(device: &Arc<dyn Device>) -> Outcome {
    let point = point(device)?;
    let (descriptor, mut writer) = descriptor()?;
    device.import_eventfd(descriptor, &point)?.detach();
    writer.write_all(&[1]).map_err(failed)?;
    point.semaphore.wait(1, soon())?;
    check!(closed(&mut writer, soon()));
    Ok(())
}

/// Nobody will ever make it readable.
fn hang_up_fails_what_waits(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&QueueParams::default())?;
    let (ready, done) = (point(device)?, point(device)?);
    let (descriptor, writer) = descriptor()?;
    let _watch = device.import_eventfd(descriptor, &ready)?;
    queue.submit(Submission::new().wait(&ready.semaphore, 1).signal(&done.semaphore, 1))?;
    drop(writer);
    let error = check_err!(done.semaphore.wait(1, soon()), ErrorKind::Aborted);
    check!(error.message().contains("hung up"), "{error}");
    queue.wait_idle(soon())?;
    Ok(())
}

/// It is not watched at all.
fn descriptor_of_a_settled_point_is_closed(device: &Arc<dyn Device>) -> Outcome {
    let reached = SemaphorePoint::new(&device.create_semaphore(1)?, 1);
    let (imported, mut writer) = descriptor()?;
    let _watch = device.import_eventfd(imported, &reached)?;
    check!(closed(&mut writer, Deadline::NOW));

    let failed = point(device)?;
    failed.semaphore.fail(Error::new(ErrorKind::Cancelled, "earlier"));
    let (imported, mut writer) = descriptor()?;
    check_err!(device.import_eventfd(imported, &failed), ErrorKind::Cancelled);
    check!(closed(&mut writer, Deadline::NOW));
    Ok(())
}

/// Regular files are always readable, so watching one makes no sense.
fn regular_file_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let point = point(device)?;
    let file = std::env::current_exe().and_then(File::open).map_err(failed)?;
    check_err!(device.import_eventfd(EventFd::from(OwnedFd::from(file)), &point), ErrorKind::InvalidArgument);
    check_eq!(point.semaphore.query()?, 0);
    Ok(())
}

/// A chain of timelines with nothing but descriptors between them.
fn exported_and_imported_again(device: &Arc<dyn Device>) -> Outcome {
    let points = (0..10).map(|_| point(device)).collect::<Result<Vec<_>>>()?;
    let mut kept = Vec::new();
    for pair in points.windows(2) {
        let ready = device.export_eventfd(&pair[0])?;
        let watch = device.import_eventfd(EventFd::from(duplicate(&ready)?), &pair[1])?;
        kept.push((ready, watch));
    }
    points[0].semaphore.signal(1)?;
    points[9].semaphore.wait(1, soon())?;
    Ok(())
}

/// What a cancelled watch leaves behind does not reach the next one.
fn closed_before_it_is_readable(device: &Arc<dyn Device>) -> Outcome {
    let (first, second) = (point(device)?, point(device)?);
    let (imported, mut writer) = descriptor()?;
    let same = EventFd::from(duplicate(&imported)?);
    drop(device.import_eventfd(imported, &first)?);
    let _watch = device.import_eventfd(same, &second)?;
    check!(!second.is_reached()?);
    writer.write_all(&[1]).map_err(failed)?;
    second.semaphore.wait(1, soon())?;
    check_eq!(first.semaphore.query()?, 0);
    Ok(())
}
