//! What must hold when a scenario is over and everything has been dropped.

use super::stage::Stage;
use crate::mock::{Census, Reach};
use crate::native::{is_teardown, status_kind};
use hal_core::{ErrorKind, Result};
use std::sync::atomic::Ordering;

pub(super) fn of(stage: &Stage, ended: Result<()>) -> Result<(), String> {
    let early = ended.err();
    stage.seen.lock().extend(early);
    require(stage.control.violations().is_empty(), || format!("{:#?}", stage.control.violations()))?;
    let unresolved = stage.unresolved.lock();
    require(unresolved.is_empty(), || format!("unresolved: {unresolved:?}"))?;
    for (semaphore, value) in &*stage.promised.lock() {
        let is = semaphore.query();
        let resolved = is.as_ref().map_or(true, |is| is >= value);
        require(resolved, || format!("nobody will ever signal {value} of {semaphore:?}"))?;
    }
    let (callbacks, called) = (stage.callbacks.load(Ordering::SeqCst), stage.called.load(Ordering::SeqCst));
    require(callbacks == called, || format!("{called} of {callbacks} callbacks were called"))?;
    let losses = stage.losses.load(Ordering::SeqCst);
    require(losses <= 1, || format!("told {losses} times that the device is lost"))?;
    told(stage)?;
    left(stage)
}

fn require(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

/// A failure that was returned has been seen somewhere, with its status.
fn told(stage: &Stage) -> Result<(), String> {
    let Some(injection) = stage.injection else {
        let (seen, reports) = (stage.seen.lock(), stage.reports.lock());
        return require(seen.is_empty() && reports.is_empty(), || {
            format!("failed by itself: {seen:?} {reports:?}")
        });
    };
    if stage.control.delivered() == 0 {
        return Ok(());
    }
    let (seen, reports) = (stage.seen.lock(), stage.reports.lock());
    let mut all = seen.iter().chain(reports.iter().flat_map(|report| &report.failures));
    let told = all.any(|error| error.native().is_some_and(|native| native.code == injection.code));
    // Where only a release finds out that the device is lost, there is nobody left to care.
    let releases = [
        "enter",
        "stream_destroy",
        "event_destroy",
        "free",
        "module_unload",
        "graph_destroy",
        "graph_exec_destroy",
    ];
    let released = stage.control.first_failed().is_some_and(|call| releases.contains(&call));
    let lost = status_kind(injection.code) == ErrorKind::DeviceLost;
    // Whoever looks at what runs looks again.
    let harmless = stage.control.first_failed() == Some("enter") && injection.reach == Reach::Once;
    require(told || harmless || lost && released, || {
        format!("{:?} was swallowed; seen: {seen:?}, reported: {reports:?}", stage.control.first_failed())
    })
}

/// What is left behind is what the driver refused to take, and has been reported.
fn left(stage: &Stage) -> Result<(), String> {
    let left = stage.control.census();
    let (opened, released) = stage.control.devices();
    let reports = stage.reports.lock();
    let abandoned = reports.iter().any(|report| !report.abandoned.is_empty());
    if abandoned {
        let hopeless = stage.injection.is_some_and(|injection| injection.reach != Reach::Once);
        return require(hopeless, || format!("work was abandoned: {reports:?}"));
    }
    require(opened == released, || format!("{released} of {opened} devices were let go of"))?;
    let Some(injection) = stage.injection else {
        return require(left.total() == 0, || format!("left behind: {left:?}"));
    };
    let lost = status_kind(injection.code) == ErrorKind::DeviceLost && stage.control.delivered() > 0;
    if lost && (injection.reach != Reach::Once || is_teardown(injection.code)) {
        return Ok(());
    }
    let failures: Vec<_> = reports.iter().flat_map(|report| &report.failures).collect();
    let no_context = lost && stage.control.first_failed() == Some("enter")
        || failures.iter().any(|error| error.native().is_some_and(|native| native.call == "enter"));
    let refused = stage.control.refused();
    require(covers(refused, left) || no_context || lost && left.total() <= 1, || {
        format!("left behind: {left:?}, refused: {refused:?}")
    })?;
    require(lost || no_context || failures.len() >= left.total(), || {
        format!("left behind {left:?}, but reported {reports:?}")
    })
}

fn covers(refused: Census, left: Census) -> bool {
    left.streams <= refused.streams
        && left.events <= refused.events
        && left.allocations <= refused.allocations
        && left.modules <= refused.modules
        && left.graphs <= refused.graphs
        && left.execs <= refused.execs
}
