//! Points on timelines as native events, and back.
//!
//! Out: an issued submission has an event already; who exports it holds its node, and so keeps the event from being
//! recorded again.
//!
//! In: a submission without work, on a stream that waits for the foreign event. So it is issued, watched, failed, lost
//! and torn down as any other, and needs the foreign event no longer than the call lasts: a wait handed to a driver has
//! captured what it waits for. Each has a queue of its own, since foreign events come in any order.

use super::in_flight::InFlight;
use super::issue;
use super::node::Node;
use super::queue_core::QueueCore;
use super::stamps::Stamps;
use super::states::{Ready, Work};
use crate::core::Core;
use crate::event_pool::PooledEvent;
use crate::native::{Handle, Native, Progress};
use crate::sync::Arc;
use crate::timeline::{Resolution, TimelinePoint, Worklist};
use hal_core::{
    Error, ErrorKind, ExportedEvent, NativeEvent, QueuePriority, Result, SemaphorePoint, SubmissionId,
};
use smallvec::{SmallVec, smallvec};
use std::any::Any;
use std::borrow::Cow;
use std::time::Instant;

/// A native event that stands for the point.
pub(crate) fn export_event<N: Native>(core: &Arc<Core<N>>, point: &SemaphorePoint) -> Result<ExportedEvent> {
    core.alive()?;
    match timeline(point)?.timeline.resolve(point.value, core.id) {
        Resolution::Failed(error) => Err(error),
        Resolution::Unmet => Err(not_issued(core, point)),
        Resolution::Reached => {
            // A new one rather than a pooled one: that it was never recorded leaves no doubt that it is complete.
            // SAFETY: the closure runs with the device current.
            let event = core.inspect(core.with_current(|_| unsafe { PooledEvent::create(core) }))?;
            Ok(exported(event.handle(), Arc::new(event)))
        }
        Resolution::Issued(issued) => {
            // A semaphore offers points of this device alone; those are nodes, and have an event.
            let node = issued.into_any().downcast::<Node<N>>().ok();
            let Some((event, node)) = node.and_then(|node| Some((node.event()?, node))) else {
                return Err(not_issued(core, point));
            };
            Ok(exported(event, node))
        }
    }
}

fn exported<E: Handle>(event: E, keep: Arc<dyn Any + Send + Sync>) -> ExportedEvent {
    ExportedEvent::new(NativeEvent::from_raw(event.raw()), keep)
}

fn not_issued<N: Native>(core: &Core<N>, point: &SemaphorePoint) -> Error {
    let payload = point.semaphore.query().unwrap_or_default();
    Error::new(
        ErrorKind::Unavailable,
        format!(
            "exporting value {} of a semaphore that is at {payload} as an event: no submission that signals it has \
             been issued on {}; export it once its producer has been issued there, wait for it first, or export an \
             eventfd, which needs neither",
            point.value,
            core.info().uri()
        ),
    )
}

/// Makes a foreign event the signaller of the point.
///
/// # Safety
/// `event` is null or an event of this device's driver, and lives until this returns.
pub(crate) unsafe fn import_event<N: Native>(
    core: &Arc<Core<N>>,
    event: NativeEvent,
    point: &SemaphorePoint,
) -> Result<()> {
    core.alive()?;
    let signal = timeline(point)?;
    if event.is_null() {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            "importing a null event; create one with the driver and record it first",
        ));
    }
    let event = N::Event::from_raw(event.raw());
    let asked = core.with_current(|native| {
        // SAFETY: the closure runs with the device current; the event lives, by contract.
        unsafe { native.event_query(event) }
    });
    // Asked now, so that a handle the driver does not know is the caller's error and nobody else's.
    let progress = core.inspect(asked).map_err(|error| {
        error.context(format_args!("importing an event of {}", core.info().driver.backend))
    })?;
    // Failed, or there already: nothing to signal.
    if point.is_reached()? {
        return Ok(());
    }
    if progress == Progress::Done {
        let mut worklist = Worklist::default();
        signal.timeline.raise(signal.value, &mut worklist);
        worklist.settle();
        return Ok(());
    }
    let queue = core.inspect(QueueCore::create(core, QueuePriority::Normal))?;
    // Nobody holds it; it is its one submission's from the start.
    core.streams.abandon();
    let ready = Ready(queue.import(signal));
    match core.enter() {
        // SAFETY: the event lives, by contract.
        Ok(_current) => unsafe { issue::issue_after(&queue, ready, Some(event)) },
        Err(error) => issue::no_context(&queue, ready, error),
    }
    Ok(())
}

impl<N: Native> QueueCore<N> {
    /// A submission that does nothing but signal.
    fn import(self: &Arc<Self>, signal: TimelinePoint) -> Box<Work<N>> {
        let submitted = self.core.params.watchdog.map(|_| Instant::now());
        let stamps = Stamps::new(&self.core);
        self.spare().fill(|node| Work {
            id: SubmissionId { queue: self.id, sequence: 0 },
            label: Some(Cow::Borrowed("imported event")),
            execute: SmallVec::new(),
            leases: SmallVec::new(),
            signals: smallvec![signal],
            dependencies: SmallVec::new(),
            submitted,
            stamps,
            node,
            in_flight: InFlight::new(self),
        })
    }
}

fn timeline(point: &SemaphorePoint) -> Result<TimelinePoint> {
    TimelinePoint::of(point.clone()).ok_or_else(|| {
        Error::new(
            ErrorKind::InvalidArgument,
            "a semaphore of a foreign implementation; create it with a device",
        )
    })
}

#[cfg(test)]
mod tests;
