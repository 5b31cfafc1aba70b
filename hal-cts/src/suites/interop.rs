//! Native handles out and in. The foreign events are those that the device itself exports.

use crate::support::{Gate, Spinner, shortly, soon};
use crate::{Outcome, Requirement};
use hal_core::{
    Device, Error, ErrorKind, ExportedEvent, NativeEvent, Queue, QueueParams, Result, SemaphorePoint,
    Submission,
};
use std::sync::Arc;

suite! { "interop",
    &[] => [
        context_is_a_handle,
        stream_is_a_handle,
        unissued_point_has_no_event,
        point_of_no_queue_has_no_event,
        reached_point_has_an_event,
        failed_point_has_no_event,
        null_event_is_refused,
        complete_event_signals_at_once,
        larger_payload_stays,
        failed_semaphore_takes_no_event,
        event_and_its_point_may_go_before_its_import_is_used,
    ],
    &[Requirement::Kernels] => [
        running_point_has_one_event,
        larger_point_has_the_event_of_what_signals_it,
        import_signals_when_its_event_has_happened,
        import_needs_its_event_no_longer,
        held_event_stays_what_it_is,
        dependants_of_an_import_are_issued_at_once,
        imports_end_in_any_order,
        one_event_for_many_points,
        import_is_work_of_the_device,
        import_wakes_a_callback,
        imports_one_after_the_other_share_a_stream,
        streams_of_two_queues_at_work_differ,
    ],
}

/// A kernel that runs on a queue of its own until it is told to stop.
struct Running {
    spinner: Spinner,
    queue: Arc<dyn Queue>,
    point: SemaphorePoint,
}

impl Running {
    fn new(device: &Arc<dyn Device>) -> Result<Self> {
        let spinner = Spinner::new(device)?;
        let queue = device.create_queue(&QueueParams::default())?;
        let point = point(device)?;
        queue.submit(Submission::new().execute(spinner.commands()).signal(&point.semaphore, 1))?;
        Ok(Running { spinner, queue, point })
    }
}

/// Value 1 of a new timeline.
fn point(device: &Arc<dyn Device>) -> Result<SemaphorePoint> {
    Ok(SemaphorePoint::new(&device.create_semaphore(0)?, 1))
}

fn import(device: &Arc<dyn Device>, event: &ExportedEvent, point: &SemaphorePoint) -> Result<()> {
    // SAFETY: an event of this device, which is held.
    unsafe { device.import_event(event.handle(), point) }
}

fn wait(point: &SemaphorePoint) -> Result<()> {
    point.semaphore.wait(point.value, soon())
}

/// It is the same one whenever it is asked for.
fn context_is_a_handle(device: &Arc<dyn Device>) -> Outcome {
    if let Some(context) = device.native_context() {
        check!(!context.is_null());
        check_eq!(device.native_context(), Some(context));
    }
    Ok(())
}

/// It is the same one whenever it is asked for, and work may be on its way.
fn stream_is_a_handle(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&QueueParams::default())?;
    let stream = queue.native_stream();
    check!(!stream.is_null());
    let done = point(device)?;
    queue.submit(Submission::new().signal(&done.semaphore, 1))?;
    check_eq!(queue.native_stream(), stream);
    wait(&done)?;
    check_eq!(queue.native_stream(), stream);
    Ok(())
}

/// The error says what to do, and doing it helps.
fn unissued_point_has_no_event(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&QueueParams::default())?;
    let (gate, done) = (Gate::new(device)?, point(device)?);
    queue.submit(Submission::new().wait(gate.semaphore(), 1).signal(&done.semaphore, 1))?;
    let error = check_err!(device.export_event(&done), ErrorKind::Unavailable);
    check!(error.message().contains("has been issued"), "{error}");
    gate.open()?;
    wait(&done)?;
    drop(device.export_event(&done)?);
    Ok(())
}

/// Nobody has promised to signal it.
fn point_of_no_queue_has_no_event(device: &Arc<dyn Device>) -> Outcome {
    check_err!(device.export_event(&point(device)?), ErrorKind::Unavailable);
    Ok(())
}

/// Whoever waits for it waits for nothing.
fn reached_point_has_an_event(device: &Arc<dyn Device>) -> Outcome {
    let semaphore = device.create_semaphore(5)?;
    for value in [0, 1, 5] {
        let event = device.export_event(&SemaphorePoint::new(&semaphore, value))?;
        check!(!event.handle().is_null());
        let imported = point(device)?;
        import(device, &event, &imported)?;
        check!(imported.is_reached()?);
    }
    Ok(())
}

/// An event cannot tell a failure.
fn failed_point_has_no_event(device: &Arc<dyn Device>) -> Outcome {
    let failed = point(device)?;
    failed.semaphore.fail(Error::new(ErrorKind::Aborted, "no more"));
    let error = check_err!(device.export_event(&failed), ErrorKind::Aborted);
    check!(error.message().contains("no more"), "{error}");
    Ok(())
}

/// Nothing has happened to the semaphore.
fn null_event_is_refused(device: &Arc<dyn Device>) -> Outcome {
    let target = point(device)?;
    // SAFETY: null is allowed.
    let refused = unsafe { device.import_event(NativeEvent::from_raw(0), &target) };
    check_err!(refused, ErrorKind::InvalidArgument);
    check_eq!(target.semaphore.query()?, 0);
    Ok(())
}

/// Before the call returns.
fn complete_event_signals_at_once(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&QueueParams::default())?;
    for _ in 0..20 {
        let (done, imported) = (point(device)?, point(device)?);
        queue.submit(Submission::new().signal(&done.semaphore, 1))?;
        wait(&done)?;
        import(device, &device.export_event(&done)?, &imported)?;
        check!(imported.is_reached()?);
    }
    Ok(())
}

/// As with any signal of a queue.
fn larger_payload_stays(device: &Arc<dyn Device>) -> Outcome {
    let done = SemaphorePoint::new(&device.create_semaphore(1)?, 1);
    let event = device.export_event(&done)?;
    let ahead = SemaphorePoint::new(&device.create_semaphore(9)?, 3);
    import(device, &event, &ahead)?;
    check_eq!(ahead.semaphore.query()?, 9);
    Ok(())
}

/// The failure is the answer.
fn failed_semaphore_takes_no_event(device: &Arc<dyn Device>) -> Outcome {
    let done = SemaphorePoint::new(&device.create_semaphore(1)?, 1);
    let event = device.export_event(&done)?;
    let failed = point(device)?;
    failed.semaphore.fail(Error::new(ErrorKind::Cancelled, "too late"));
    check_err!(import(device, &event, &failed), ErrorKind::Cancelled);
    Ok(())
}

/// Work that waits for an import does not care what became of what was imported.
fn event_and_its_point_may_go_before_its_import_is_used(device: &Arc<dyn Device>) -> Outcome {
    let queue = device.create_queue(&QueueParams::default())?;
    for _ in 0..20 {
        let (done, imported, end) = (point(device)?, point(device)?, point(device)?);
        queue.submit(Submission::new().signal(&done.semaphore, 1))?;
        let event = device.export_event(&done)?;
        drop(done);
        import(device, &event, &imported)?;
        drop(event);
        queue.submit(Submission::new().wait(&imported.semaphore, 1).signal(&end.semaphore, 1))?;
        drop(imported);
        wait(&end)?;
    }
    Ok(())
}

/// Asking twice gives the same.
fn running_point_has_one_event(device: &Arc<dyn Device>) -> Outcome {
    let running = Running::new(device)?;
    let event = device.export_event(&running.point)?;
    check_eq!(device.export_event(&running.point)?.handle(), event.handle());
    check!(!running.point.is_reached()?);
    running.spinner.stop()?;
    wait(&running.point)?;
    Ok(())
}

/// A smaller value is reached by then.
fn larger_point_has_the_event_of_what_signals_it(device: &Arc<dyn Device>) -> Outcome {
    let spinner = Spinner::new(device)?;
    let queue = device.create_queue(&QueueParams::default())?;
    let timeline = device.create_semaphore(0)?;
    queue.submit(Submission::new().execute(spinner.commands()).signal(&timeline, 10))?;
    let ten = device.export_event(&SemaphorePoint::new(&timeline, 10))?;
    let three = device.export_event(&SemaphorePoint::new(&timeline, 3))?;
    check_eq!(three.handle(), ten.handle());
    check_err!(device.export_event(&SemaphorePoint::new(&timeline, 11)), ErrorKind::Unavailable);
    spinner.stop()?;
    timeline.wait(10, soon())?;
    Ok(())
}

/// Not before.
fn import_signals_when_its_event_has_happened(device: &Arc<dyn Device>) -> Outcome {
    let (running, imported) = (Running::new(device)?, point(device)?);
    let event = device.export_event(&running.point)?;
    import(device, &event, &imported)?;
    check_err!(imported.semaphore.wait(1, shortly()), ErrorKind::DeadlineExceeded);
    running.spinner.stop()?;
    wait(&imported)?;
    check!(running.point.semaphore.wait(1, soon()).is_ok());
    Ok(())
}

/// What it stood for has been noted.
fn import_needs_its_event_no_longer(device: &Arc<dyn Device>) -> Outcome {
    let (running, imported) = (Running::new(device)?, point(device)?);
    import(device, &device.export_event(&running.point)?, &imported)?;
    check!(!imported.is_reached()?);
    running.spinner.stop()?;
    wait(&imported)?;
    Ok(())
}

/// While it is held it is not used again, however much happens.
fn held_event_stays_what_it_is(device: &Arc<dyn Device>) -> Outcome {
    let running = Running::new(device)?;
    let event = device.export_event(&running.point)?;
    running.spinner.stop()?;
    wait(&running.point)?;
    let queue = device.create_queue(&QueueParams::default())?;
    let timeline = device.create_semaphore(0)?;
    for value in 1..=200 {
        queue.submit(Submission::new().signal(&timeline, value))?;
        timeline.wait(value, soon())?;
    }
    // Were it recorded again by what runs now, it would not be complete.
    let others = [Running::new(device)?, Running::new(device)?];
    let imported = point(device)?;
    import(device, &event, &imported)?;
    check!(imported.is_reached()?);
    // By reference: freeing what one of them used may wait for the other.
    for other in &others {
        check!(device.export_event(&other.point)?.handle() != event.handle());
        other.spinner.stop()?;
        wait(&other.point)?;
    }
    Ok(())
}

/// They wait on the device: the host is not in the path.
fn dependants_of_an_import_are_issued_at_once(device: &Arc<dyn Device>) -> Outcome {
    let (running, imported) = (Running::new(device)?, point(device)?);
    import(device, &device.export_event(&running.point)?, &imported)?;
    let queue = device.create_queue(&QueueParams::default())?;
    let chain = device.create_semaphore(0)?;
    let before = device.counters();
    queue.submit(Submission::new().wait(&imported.semaphore, 1).signal(&chain, 1))?;
    for value in 2..=10 {
        queue.submit(Submission::new().wait(&chain, value - 1).signal(&chain, value))?;
    }
    let after = device.counters();
    check_eq!(after.issued - before.issued, 10);
    check_eq!(after.device_waits - before.device_waits, 1);
    check_eq!(chain.query()?, 0);
    running.spinner.stop()?;
    chain.wait(10, soon())?;
    check!(imported.is_reached()?);
    Ok(())
}

/// One that takes long delays no other.
fn imports_end_in_any_order(device: &Arc<dyn Device>) -> Outcome {
    let running = [Running::new(device)?, Running::new(device)?, Running::new(device)?];
    let mut imported = Vec::new();
    for running in &running {
        let target = point(device)?;
        import(device, &device.export_event(&running.point)?, &target)?;
        imported.push(target);
    }
    for index in [2, 0, 1] {
        check!(!imported[index].is_reached()?);
        running[index].spinner.stop()?;
        wait(&imported[index])?;
    }
    Ok(())
}

/// An event may be imported as often as one likes.
fn one_event_for_many_points(device: &Arc<dyn Device>) -> Outcome {
    let running = Running::new(device)?;
    let event = device.export_event(&running.point)?;
    let timeline = device.create_semaphore(0)?;
    let mut imported = vec![SemaphorePoint::new(&timeline, 7), SemaphorePoint::new(&timeline, 3)];
    for _ in 0..8 {
        imported.push(point(device)?);
    }
    for target in &imported {
        import(device, &event, target)?;
    }
    running.spinner.stop()?;
    imported.iter().try_for_each(wait)?;
    check_eq!(timeline.query()?, 7);
    Ok(())
}

/// A device is not idle before its imports have ended.
fn import_is_work_of_the_device(device: &Arc<dyn Device>) -> Outcome {
    let (running, imported) = (Running::new(device)?, point(device)?);
    let before = device.counters();
    import(device, &device.export_event(&running.point)?, &imported)?;
    check_err!(device.wait_idle(shortly()), ErrorKind::DeadlineExceeded);
    running.spinner.stop()?;
    device.wait_idle(soon())?;
    check!(imported.is_reached()?);
    let after = device.counters();
    check_eq!(after.submitted, before.submitted + 1);
    check_eq!(after.failed, before.failed);
    Ok(())
}

/// Nobody has to wait for it.
fn import_wakes_a_callback(device: &Arc<dyn Device>) -> Outcome {
    let (running, imported, called) = (Running::new(device)?, point(device)?, point(device)?);
    import(device, &device.export_event(&running.point)?, &imported)?;
    let tell = called.semaphore.clone();
    let callback = move |outcome: Result<()>| match outcome {
        Ok(()) => drop(tell.signal(1)),
        Err(error) => drop(tell.fail(error)),
    };
    imported.semaphore.on_reached(1, Box::new(callback));
    running.spinner.stop()?;
    wait(&called)?;
    Ok(())
}

/// A stream whose import has ended serves the next.
fn imports_one_after_the_other_share_a_stream(device: &Arc<dyn Device>) -> Outcome {
    let mut created = None;
    for _ in 0..5 {
        let (running, imported) = (Running::new(device)?, point(device)?);
        import(device, &device.export_event(&running.point)?, &imported)?;
        running.spinner.stop()?;
        wait(&imported)?;
        drop(running);
        device.wait_idle(soon())?;
        let deadline = soon();
        while device.counters().queues.outstanding > 0 {
            check!(!deadline.has_passed(), "a stream is not given back");
            std::thread::yield_now();
        }
        let streams = device.counters().queues.created;
        check_eq!(*created.get_or_insert(streams), streams);
    }
    Ok(())
}

/// Two queues that run at the same time have two streams.
fn streams_of_two_queues_at_work_differ(device: &Arc<dyn Device>) -> Outcome {
    let running = [Running::new(device)?, Running::new(device)?];
    check!(running[0].queue.native_stream() != running[1].queue.native_stream());
    for running in &running {
        running.spinner.stop()?;
        wait(&running.point)?;
    }
    Ok(())
}
