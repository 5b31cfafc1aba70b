//! The completion thread: finds out what the device has done, signals, and frees.
//!
//! Drivers have no wait for any of several events, and a wait for one cannot be interrupted. So the thread looks at the
//! oldest issued submission of every busy queue, and pauses between looks: not at all at first, then longer, up to
//! `DeviceParams::completion_interval`. With nothing issued it sleeps until something is.

use super::LINGER;
use super::failure;
use super::issue::fail_issued;
use super::lanes::Lanes;
use super::states::Issued;
use super::watchdog::Watchdog;
use crate::core::Core;
use crate::native::{Native, Progress};
use crate::sync::{Arc, Condvar, Mutex, assert_unlocked, thread};
use crate::timeline::Worklist;
use hal_core::{Deadline, Error, ErrorKind, Result};
use std::time::Duration;

/// Looks without a pause before the pauses begin.
const EAGER_LOOKS: u32 = 16;
/// Looks in a row that the driver may refuse before what is issued counts as failed.
const BLIND_LOOKS: u32 = 32;
/// The first pause.
const FIRST_PAUSE: Duration = Duration::from_micros(5);

/// Issued submissions on their way to the completion thread.
pub(crate) struct CompletionInbox<N: Native> {
    state: Mutex<Inbox<N>>,
    changed: Condvar,
}

struct Inbox<N: Native> {
    issued: Vec<Issued<N>>,
    /// Sleeps with nothing to do, so that a push must wake it.
    asleep: bool,
    kicked: bool,
    /// Drain until then, and end.
    exit: Option<Deadline>,
    /// The thread has ended.
    ended: bool,
}

impl<N: Native> Default for CompletionInbox<N> {
    fn default() -> Self {
        let state = Inbox { issued: Vec::new(), asleep: false, kicked: false, exit: None, ended: false };
        CompletionInbox { state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl<N: Native> CompletionInbox<N> {
    /// Gives it back if the thread has ended.
    pub(super) fn push(&self, issued: Issued<N>) -> Result<(), Issued<N>> {
        let wake = {
            let mut inbox = self.state.lock();
            if inbox.ended {
                return Err(issued);
            }
            inbox.issued.push(issued);
            std::mem::take(&mut inbox.asleep)
        };
        if wake {
            self.changed.notify_one();
        }
        Ok(())
    }

    /// Ends taking, if nothing has arrived.
    fn end(&self) -> bool {
        let mut inbox = self.state.lock();
        inbox.ended = inbox.issued.is_empty();
        inbox.ended
    }

    /// Wakes the thread if it sleeps, since there is something to watch.
    pub(super) fn watch(&self) {
        let wake = std::mem::take(&mut self.state.lock().asleep);
        if wake {
            self.changed.notify_one();
        }
    }

    /// Makes the thread look at the device's state now.
    pub(crate) fn kick(&self) {
        self.state.lock().kicked = true;
        self.changed.notify_one();
    }

    /// Makes the thread end once everything issued has been retired, or when the deadline passes.
    pub(crate) fn exit(&self, deadline: Deadline) {
        self.state.lock().exit = Some(deadline);
        self.changed.notify_one();
    }
}

/// What the oldest submission of a lane turned out to be.
enum Look {
    Running,
    Done,
    /// A query failed.
    Failed(Error),
    /// What it waits for on the device has failed.
    Inherited(Error),
}

/// The thread. Returns what was still running when its deadline passed; those stay where they are for ever, since the
/// device may be using them.
pub(crate) fn run<N: Native>(core: &Arc<Core<N>>) -> Vec<String> {
    let mut lanes = Lanes::new();
    let mut arrived: Vec<Issued<N>> = Vec::new();
    let mut loss = Loss::default();
    let mut watchdog = core.params.watchdog.map(Watchdog::new);
    let (mut looks, mut blind) = (0, 0);
    loop {
        // Before the inbox: what was being issued as the device was lost has then arrived.
        let lost = core.lost().filter(|_| core.nobody_issues());
        let exit = {
            let mut inbox = core.completion.state.lock();
            let mut lingered = 0;
            while inbox.issued.is_empty() && lanes.is_empty() && !inbox.kicked && inbox.exit.is_none() {
                if lingered < LINGER {
                    lingered += 1;
                    drop(inbox);
                    thread::yield_now();
                    inbox = core.completion.state.lock();
                    continue;
                }
                inbox.asleep = true;
                match &watchdog {
                    // What is pending is on nobody else's mind.
                    Some(watchdog) if !core.is_idle() => {
                        core.completion.changed.wait_for(&mut inbox, watchdog.until_due());
                    }
                    _ => core.completion.changed.wait(&mut inbox),
                }
                inbox.asleep = false;
                if watchdog.as_ref().is_some_and(|watchdog| watchdog.until_due().is_zero()) {
                    break;
                }
            }
            // A kick stays until it has been followed.
            inbox.kicked = core.lost().is_some() && !loss.delivered;
            std::mem::swap(&mut inbox.issued, &mut arrived);
            inbox.exit
        };
        if !arrived.is_empty() {
            looks = 0;
        }
        for issued in arrived.drain(..) {
            lanes.add(issued);
        }
        if let Some(lost) = lost {
            loss.deliver(core, &mut lanes, lost);
        } else if core.lost().is_none() && pass(core, &mut lanes, &mut blind) {
            looks = 0;
        }
        if let Some(watchdog) = &mut watchdog {
            watchdog.look(core, &mut lanes);
        }
        if let Some(deadline) = exit
            && (lanes.is_empty() || deadline.has_passed())
            // A loss found just now says more than that time was up, and frees what the device had.
            && (core.lost().is_none() || loss.delivered)
            && core.completion.end()
        {
            return abandon(lanes);
        }
        if !lanes.is_empty() || (core.lost().is_some() && !loss.delivered) {
            pause(core, &mut looks);
        }
    }
}

/// Looks at every lane once, and retires what is done. Returns whether anything was. `blind` counts the looks in a row
/// that the driver has refused.
fn pass<N: Native>(core: &Arc<Core<N>>, lanes: &mut Lanes<N>, blind: &mut u32) -> bool {
    let current = match core.inspect(core.enter()) {
        Ok(current) => current,
        // Not lost, and yet not to be had: look again after a pause, but not for ever.
        Err(error) => {
            *blind += 1;
            return *blind > BLIND_LOOKS
                && core.lost().is_none()
                && fail_first(lanes.iter_mut().flat_map(|lane| lane.issued.iter_mut()), &error);
        }
    };
    *blind = 0;
    let mut progress = false;
    for lane in lanes.iter_mut() {
        while let Some(oldest) = lane.issued.front_mut() {
            if core.is_gone() {
                return progress;
            }
            // SAFETY: the device is current.
            match unsafe { look(core, oldest) } {
                Look::Running => break,
                Look::Failed(error) => {
                    core.observe(&error);
                    if core.lost().is_some() {
                        // Delivered by the caller, to everybody, in order.
                        return progress;
                    }
                    progress |= fail_first(lane.issued.iter_mut(), &error);
                    break;
                }
                Look::Inherited(error) => {
                    // It runs on and keeps its resources; its dependants need not wait to hear of it.
                    fail_issued(oldest, error);
                    progress = true;
                }
                Look::Done => {
                    if let Some(done) = lane.issued.pop_front() {
                        retire(done);
                    }
                    progress = true;
                }
            }
        }
    }
    drop(current);
    lanes.sweep();
    progress
}

/// Fails the first that has not failed yet: if the driver does not say how it ended, nobody can count on it. Those behind
/// it have their own chance. Returns whether there was one.
fn fail_first<'a, N: Native>(mut issued: impl Iterator<Item = &'a mut Issued<N>>, error: &Error) -> bool {
    let Some(first) = issued.find(|issued| issued.0.node.failure().is_none()) else { return false };
    let error = inherited(first).unwrap_or(error).clone();
    fail_issued(first, error);
    true
}

/// The failure of something it waits for on the device.
fn inherited<N: Native>(issued: &Issued<N>) -> Option<&Error> {
    issued.0.dependencies.iter().find_map(|node| node.failure())
}

/// Whether something it waits for on the device has not been ended yet.
fn waits_for_a_dependency<N: Native>(issued: &Issued<N>) -> bool {
    issued.0.dependencies.iter().any(|node| !node.is_retired() && node.failure().is_none())
}

/// # Safety
/// The device is current.
unsafe fn look<N: Native>(core: &Core<N>, issued: &Issued<N>) -> Look {
    if issued.0.node.failure().is_none()
        && let Some(error) = inherited(issued)
    {
        return Look::Inherited(error.clone());
    }
    // Both orders of completion are seen in passing; what counts is that a dependency's failure is known first.
    if waits_for_a_dependency(issued) {
        // SAFETY: the device is current. Only loss is of interest; the answer itself waits for the dependency.
        return match unsafe { progress(core, issued) } {
            Err(error) => Look::Failed(error),
            Ok(_) => Look::Running,
        };
    }
    // SAFETY: the device is current.
    match unsafe { progress(core, issued) } {
        Ok(Progress::Running) => Look::Running,
        Ok(Progress::Done) => Look::Done,
        Err(error) => Look::Failed(error),
    }
}

/// Asks the event, or the stream where there is none or its answer was an error: only an idle stream then tells that
/// the work has ended.
///
/// # Safety
/// The device is current.
unsafe fn progress<N: Native>(core: &Core<N>, issued: &Issued<N>) -> Result<Progress> {
    match issued.0.node.event() {
        // SAFETY: the device is current; a node's event has been recorded.
        Some(event) if issued.0.node.failure().is_none() => unsafe { core.native().event_query(event) },
        // SAFETY: the device is current; the queue keeps its stream.
        _ => unsafe { core.native().stream_query(issued.0.queue().stream) },
    }
}

/// The end of a submission: signals, then frees.
fn retire<N: Native>(issued: Issued<N>) {
    let mut worklist = Worklist::default();
    // A failed one has told its signals already.
    if issued.0.node.failure().is_none() {
        issued.0.signal(&mut worklist);
    }
    issued.0.node.retire();
    worklist.settle();
    issued.0.recycle();
}

/// The loss of the device, and how far the word has got.
#[derive(Default)]
struct Loss {
    /// With the first submission it hit.
    error: Option<Error>,
    /// Everybody knows; what arrives later is ended on arrival.
    delivered: bool,
}

impl Loss {
    /// Tells the observer, then ends what is issued, then everything else.
    fn deliver<N: Native>(&mut self, core: &Arc<Core<N>>, lanes: &mut Lanes<N>, lost: &Error) {
        let error = self.error.get_or_insert_with(|| {
            let first = lanes
                .iter()
                .filter_map(|lane| lane.issued.front())
                .find(|oldest| !waits_for_a_dependency(oldest));
            let error = match first {
                Some(first) => lost.clone().with_origin(|| first.0.origin()),
                None => lost.clone(),
            };
            if let Some(observer) = &core.params.on_lost {
                assert_unlocked();
                observer(&error);
            }
            error
        });
        end_issued(lanes, lost);
        if !std::mem::replace(&mut self.delivered, true) {
            failure::end_members(core, error);
        }
    }
}

/// Ends everything issued: dependencies first, so that their dependants fail with where it began.
fn end_issued<N: Native>(lanes: &mut Lanes<N>, lost: &Error) {
    let mut progress = true;
    while std::mem::take(&mut progress) {
        for lane in lanes.iter_mut() {
            while lane.issued.front().is_some_and(|oldest| !waits_for_a_dependency(oldest)) {
                if let Some(oldest) = lane.issued.pop_front() {
                    end(oldest, lost);
                    progress = true;
                }
            }
        }
    }
    // A dependency may still be on its way here; what waits for it is ended when it has come.
    lanes.sweep();
}

/// Ends a submission of a lost device. The device runs nothing any more, so its resources can go.
fn end<N: Native>(mut issued: Issued<N>, lost: &Error) {
    if issued.0.node.failure().is_none() {
        let error = inherited(&issued).unwrap_or(lost).clone();
        fail_issued(&mut issued, error);
    }
    issued.0.node.retire();
    issued.0.recycle();
}

fn abandon<N: Native>(lanes: Lanes<N>) -> Vec<String> {
    let mut named = Vec::new();
    for mut issued in lanes.into_issued() {
        named.push(issued.0.origin().to_string());
        if issued.0.node.failure().is_none() {
            let uri = issued.0.queue().core.info().uri();
            let error = Error::new(
                ErrorKind::Cancelled,
                format!("{uri} was closed, and the work had not ended within `teardown_limit`"),
            );
            fail_issued(&mut issued, error);
        }
        // The device may still be using what this owns. It is reported, and stays.
        std::mem::forget(issued);
    }
    named
}

fn pause<N: Native>(core: &Core<N>, looks: &mut u32) {
    *looks = looks.saturating_add(1);
    if *looks <= EAGER_LOOKS {
        thread::yield_now();
        return;
    }
    let doublings = (*looks - EAGER_LOOKS).min(16);
    let pause = (FIRST_PAUSE * (1 << doublings)).min(core.params.completion_interval);
    let mut inbox = core.completion.state.lock();
    if !inbox.kicked && inbox.exit.is_none() {
        core.completion.changed.wait_for(&mut inbox, pause);
    } else {
        drop(inbox);
        // On the way out there is nobody to wake it; the device's work is all that is waited for.
        thread::park_timeout(pause);
    }
}
