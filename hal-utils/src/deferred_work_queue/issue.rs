//! From ready to issued: the only place where a submission's work is handed to the driver.

use super::queue_core::QueueCore;
use super::states::{Issued, Ready, Work};
use crate::command_buffer::{Recorded, Target};
use crate::native::Native;
use crate::sync::{Arc, Ordering};
use crate::timeline::{DevicePoint, Worklist};
use hal_core::{Error, ErrorKind, Result};

/// Issues a submission. The calling thread is the one that drains its queue, and has the device current.
pub(super) fn issue<N: Native>(queue: &Arc<QueueCore<N>>, ready: Ready<N>) {
    // SAFETY: there is no event.
    unsafe { issue_after(queue, ready, None) };
}

/// As [`issue`], after what an event of somebody else's has recorded.
///
/// # Safety
/// The event is one of this device's driver and lives until this returns.
pub(super) unsafe fn issue_after<N: Native>(
    queue: &Arc<QueueCore<N>>,
    ready: Ready<N>,
    foreign: Option<N::Event>,
) {
    let worklist = {
        // Until it has been pushed: the loss of the device is delivered when nobody is at it, so that none is missed.
        let _issuing = queue.core.issuing();
        // SAFETY: by contract.
        unsafe { hand_on(queue, ready, foreign) }
    };
    // Callbacks run here, and one of them may close the device, which waits for all that has been pushed.
    worklist.settle();
}

/// Gives it to the driver and then to the completion thread. What follows for others is in the answer.
///
/// # Safety
/// As for [`issue_after`].
unsafe fn hand_on<N: Native>(
    queue: &Arc<QueueCore<N>>,
    mut ready: Ready<N>,
    foreign: Option<N::Event>,
) -> Worklist {
    let core = &queue.core;
    if core.lost().is_some() {
        return leave_to_loss(queue, ready);
    }
    if let Some(error) = ready.0.dependencies.iter().find_map(|node| node.failure().cloned()) {
        return refuse(ready, error);
    }
    ready.0.stamp_issue();
    let mut touched = false;
    // SAFETY: the device is current; the event lives, by contract.
    let recorded = unsafe { hand_over(queue, &mut ready.0, foreign, &mut touched) };
    let error = match core.inspect(recorded) {
        Ok(()) => None,
        Err(_) if core.lost().is_some() => return leave_to_loss(queue, ready),
        Err(error) if touched => Some(error),
        Err(error) => return refuse(ready, error),
    };
    core.counters.issued.fetch_add(1, Ordering::Relaxed);
    let mut issued = Issued(ready.0);
    let mut worklist = Worklist::default();
    match error {
        None => {
            issued.0.node.recorded();
            promise(&issued, &mut worklist);
        }
        Some(error) => mark_failed(&mut issued, error, &mut worklist),
    }
    if let Err(Issued(work)) = core.completion.push(issued) {
        // Only where a callback closed the device on this very thread. Nobody will look at it again, and the device may
        // be using it, so it stays.
        core.note(Err(Error::new(ErrorKind::Cancelled, format!("abandoned {}", work.origin()))));
        std::mem::forget(work);
    }
    worklist
}

/// The device could not be made current.
pub(super) fn no_context<N: Native>(queue: &Arc<QueueCore<N>>, ready: Ready<N>, error: Error) {
    queue.core.observe(&error);
    let worklist = match queue.core.lost() {
        Some(_) => leave_to_loss(queue, ready),
        None => refuse(ready, error),
    };
    worklist.settle();
}

/// Fails a submission of which the device has nothing.
fn refuse<N: Native>(ready: Ready<N>, error: Error) -> Worklist {
    let mut worklist = Worklist::default();
    let Ready(mut work) = ready;
    work.fail(error, &mut worklist);
    // Resources first: who sees the failure may count on them being free.
    work.recycle();
    worklist
}

/// The device is lost: the completion thread fails this with everything else, after it has told the observer.
fn leave_to_loss<N: Native>(queue: &Arc<QueueCore<N>>, ready: Ready<N>) -> Worklist {
    let mut worklist = Worklist::default();
    if let Err(mut issued) = queue.core.completion.push(Issued(ready.0)) {
        let closed = || Error::new(ErrorKind::DeviceLost, "the device is closed");
        let lost = queue.core.lost().cloned().unwrap_or_else(closed);
        mark_failed(&mut issued, lost, &mut worklist);
        issued.0.recycle();
    }
    worklist
}

/// Fails a submission that stays where it is, since the device may be using what it holds.
pub(super) fn fail_issued<N: Native>(issued: &mut Issued<N>, error: Error) {
    let mut worklist = Worklist::default();
    mark_failed(issued, error, &mut worklist);
    worklist.settle();
}

fn mark_failed<N: Native>(issued: &mut Issued<N>, error: Error, worklist: &mut Worklist) {
    let error = issued.0.fail(error, worklist);
    issued.0.node.fail(error, worklist);
}

/// The driver calls of one submission, in stream order. `touched` tells whether the device may be using its resources.
///
/// # Safety
/// The device is current, and the foreign event lives.
unsafe fn hand_over<N: Native>(
    queue: &Arc<QueueCore<N>>,
    work: &mut Work<N>,
    foreign: Option<N::Event>,
    touched: &mut bool,
) -> Result<()> {
    let core = &queue.core;
    let native = core.native();
    for node in &work.dependencies {
        let Some(event) = node.event_for(queue.stream) else {
            core.counters.elided_waits.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        core.counters.device_waits.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the device is current; the node keeps its event, which was recorded before it was published.
        unsafe { native.stream_wait_event(queue.stream, event) }?;
    }
    // Before the work: what fails here costs nothing.
    // SAFETY: the device is current.
    let event = unsafe { work.node.event_to_record(core) }?;
    // SAFETY: the device is current.
    unsafe { put_work(queue, work, event, foreign, touched) }
}

/// The work itself, and the record of its end.
///
/// # Safety
/// The device is current.
unsafe fn put_work<N: Native>(
    queue: &Arc<QueueCore<N>>,
    work: &mut Work<N>,
    event: N::Event,
    foreign: Option<N::Event>,
    touched: &mut bool,
) -> Result<()> {
    let core = &queue.core;
    let native = core.native();
    if let Some(event) = foreign {
        core.counters.device_waits.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the device is current; the event lives, by contract.
        unsafe { native.stream_wait_event(queue.stream, event) }?;
        // Nobody knows when it lets go: the stream is not idle before that.
        *touched = true;
    }
    for execute in &work.execute {
        let Some(commands) = execute.commands.as_any().downcast_ref::<Recorded<N>>() else {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "a command buffer of a foreign implementation",
            ));
        };
        let target =
            Target { native, stream: queue.stream, queue: queue.id, touched, leases: &mut work.leases };
        // SAFETY: the device is current; `work` keeps the command buffer, the bindings and the leases until it is
        // retired.
        unsafe { commands.put(target, &execute.bindings) }?;
    }
    // SAFETY: the device is current.
    unsafe { native.event_record(event, queue.stream) }
}

/// Tells the signalled semaphores that the device has it, and so the dependants on this device.
fn promise<N: Native>(issued: &Issued<N>, worklist: &mut Worklist) {
    let point: Arc<dyn DevicePoint> = issued.0.node.clone();
    for signal in &issued.0.signals {
        signal.timeline.promise(signal.value, &point, worklist);
    }
}
