//! From ready to issued: the only place where a submission's work is handed to the driver.

use super::queue_core::QueueCore;
use super::states::{Issued, Point, Ready, Work};
use crate::command_buffer::StreamCommandBuffer;
use crate::event_pool::PooledEvent;
use crate::native::Native;
use crate::sync::{Arc, Ordering};
use crate::timeline::{DevicePoint, TimelineSemaphore, Worklist};
use hal_core::{Error, ErrorKind, Result};

/// Issues a submission. The calling thread is the one that drains its queue, and has the device current.
pub(super) fn issue<N: Native>(ready: Ready<N>) {
    let Ready { work, dependencies } = ready;
    let queue = work.queue().clone();
    let core = &queue.core;
    if core.lost().is_some() {
        return leave_to_loss(Ready { work, dependencies });
    }
    if let Some(error) = dependencies.iter().find_map(|point| point.failure().cloned()) {
        return refuse(Ready { work, dependencies }, error);
    }
    let mut touched = false;
    // SAFETY: the device is current.
    let recorded = unsafe { hand_over(&queue, &work, &dependencies, &mut touched) };
    let (event, error) = match core.inspect(recorded) {
        Ok(event) => (Some(event), None),
        Err(_) if core.lost().is_some() => return leave_to_loss(Ready { work, dependencies }),
        Err(error) if touched => (None, Some(error)),
        Err(error) => return refuse(Ready { work, dependencies }, error),
    };
    core.counters.issued.fetch_add(1, Ordering::Relaxed);
    let point = Point::new(queue.stream, core.id, event);
    let mut issued = Issued { work, dependencies, point };
    match error {
        None => promise(&issued),
        Some(error) => fail_issued(&mut issued, error),
    }
    push(issued);
}

/// Hands a submission over to the completion thread.
fn push<N: Native>(issued: Issued<N>) {
    let queue = issued.work.queue().clone();
    if let Err(issued) = queue.core.completion.push(issued) {
        // Only where a callback closed the device on this very thread. Nobody will look at it again, and the device may
        // be using it, so it stays.
        queue.core.note(Err(Error::new(ErrorKind::Cancelled, format!("abandoned {}", issued.work.origin()))));
        std::mem::forget(issued);
    }
}

/// The device is lost: the completion thread fails this with everything else, after it has told the observer.
fn leave_to_loss<N: Native>(ready: Ready<N>) {
    let Ready { work, dependencies } = ready;
    let queue = work.queue().clone();
    let point = Point::new(queue.stream, queue.core.id, None);
    if let Err(mut issued) = queue.core.completion.push(Issued { work, dependencies, point }) {
        let lost = queue.core.lost().cloned();
        fail_issued(
            &mut issued,
            lost.unwrap_or_else(|| Error::new(ErrorKind::DeviceLost, "the device is closed")),
        );
    }
}

/// Fails a submission of which the device has nothing.
pub(super) fn refuse<N: Native>(ready: Ready<N>, error: Error) {
    let core = &ready.work.queue().core;
    core.observe(&error);
    if core.lost().is_some() {
        return leave_to_loss(ready);
    }
    let mut worklist = Worklist::default();
    let mut work = ready.work;
    work.fail(error, &mut worklist);
    // Resources first: who sees the failure may count on them being free.
    drop(work);
    worklist.settle();
}

/// Fails a submission that stays where it is, since the device may be using what it holds.
pub(super) fn fail_issued<N: Native>(issued: &mut Issued<N>, error: Error) {
    let mut worklist = Worklist::default();
    let error = issued.work.fail(error, &mut worklist);
    issued.point.fail(error);
    worklist.settle();
}

/// The driver calls of one submission, in stream order. `touched` tells whether the device may be using its resources.
///
/// # Safety
/// The device is current.
unsafe fn hand_over<N: Native>(
    queue: &Arc<QueueCore<N>>,
    work: &Work<N>,
    dependencies: &[Arc<Point<N>>],
    touched: &mut bool,
) -> Result<PooledEvent<N>> {
    let core = &queue.core;
    let native = core.native();
    for point in dependencies {
        let event = match point.event() {
            Some(event) if point.stream != queue.stream && !point.is_retired() => event,
            _ => {
                core.counters.elided_waits.fetch_add(1, Ordering::Relaxed);
                continue;
            }
        };
        core.counters.device_waits.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the device is current; the point keeps its event, which was recorded before the point was made.
        unsafe { native.stream_wait_event(queue.stream, event.handle()) }?;
    }
    // Before the work: what fails here costs nothing.
    // SAFETY: the device is current.
    let event = unsafe { PooledEvent::acquire(core) }?;
    for execute in &work.execute {
        let Some(commands) = execute.commands.as_any().downcast_ref::<StreamCommandBuffer<N>>() else {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "a command buffer of a foreign implementation",
            ));
        };
        // SAFETY: the device is current; `work` keeps the command buffer and the bindings until it is retired.
        unsafe { commands.replay(native, queue.stream, &execute.bindings, touched) }?;
    }
    // SAFETY: the device is current.
    unsafe { native.event_record(event.handle(), queue.stream) }?;
    Ok(event)
}

/// Tells the signalled semaphores that the device has it, and so the dependants on this device.
fn promise<N: Native>(issued: &Issued<N>) {
    let point: Arc<dyn DevicePoint> = issued.point.clone();
    let mut worklist = Worklist::default();
    for signal in &issued.work.signals {
        if let Some(timeline) = TimelineSemaphore::of(&*signal.semaphore) {
            timeline.promise(signal.value, &point, &mut worklist);
        }
    }
    worklist.settle();
}
