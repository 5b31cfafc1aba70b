//! Ends submissions that take too long, and says what they were waiting for.
//!
//! Part of the completion thread, which looks a few times per limit and otherwise keeps no record: the time of
//! submission stands in each. What it finds pending it fails; what it finds issued it fails as well, but leaves to the
//! device.

use super::issue::fail_issued;
use super::lanes::Lanes;
use super::node::Node;
use super::queue_core::QueueCore;
use crate::core::Core;
use crate::native::Native;
use crate::sync::{Arc, Weak};
use crate::timeline::{TimelinePoint, Worklist};
use hal_core::{Error, ErrorKind, Semaphore};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Looks per limit.
const LOOKS: u32 = 4;
/// Waits that a report names.
const MOST_NAMED: usize = 8;

pub(super) struct Watchdog {
    limit: Duration,
    due: Instant,
}

impl Watchdog {
    pub(super) fn new(limit: Duration) -> Self {
        Watchdog { limit, due: Instant::now() + limit / LOOKS }
    }

    pub(super) fn until_due(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// Fails what has taken too long, if it is time to look.
    pub(super) fn look<N: Native>(&mut self, core: &Arc<Core<N>>, lanes: &mut Lanes<N>) {
        if !self.until_due().is_zero() {
            return;
        }
        self.due = Instant::now() + self.limit / LOOKS;
        let queues: Vec<_> = core.members.lock().queues.iter().filter_map(Weak::upgrade).collect();
        let overdue: Vec<_> = queues.iter().flat_map(|queue| self.overdue(queue)).collect();
        // All reports before the first failure, which would change what they say.
        let reports: Vec<_> = overdue
            .into_iter()
            .map(|node| (report_pending(&node, &queues, lanes, self.limit), node))
            .collect();
        let mut worklist = Worklist::default();
        for (report, node) in reports {
            node.fail_pending(&Error::new(ErrorKind::DeadlineExceeded, report), &mut worklist);
        }
        worklist.settle();
        self.fail_issued(lanes);
    }

    fn overdue<N: Native>(&self, queue: &QueueCore<N>) -> Vec<Arc<Node<N>>> {
        let state = queue.state.lock();
        let pending = state.pending.iter().map(|(_, node)| node);
        let overdue = pending.filter(|node| node.inspect(|work, _| work.outlives(self.limit)) == Some(true));
        overdue.cloned().collect()
    }

    fn fail_issued<N: Native>(&self, lanes: &mut Lanes<N>) {
        for issued in lanes.iter_mut().flat_map(|lane| &mut lane.issued) {
            if issued.0.outlives(self.limit) && issued.0.node.failure().is_none() {
                let report = format!(
                    "the watchdog found a submission on the device that has not ended {} after it was submitted; its \
                     kernels or what its stream waits for may never end",
                    shown(self.limit)
                );
                fail_issued(issued, Error::new(ErrorKind::DeadlineExceeded, report));
            }
        }
    }
}

fn shown(limit: Duration) -> String {
    format!("{limit:?}")
}

/// What a pending submission waits for, how far that is, and who was to signal it.
fn report_pending<N: Native>(
    node: &Node<N>,
    queues: &[Arc<QueueCore<N>>],
    lanes: &Lanes<N>,
    limit: Duration,
) -> String {
    let waits: Vec<TimelinePoint> = node.inspect(|_, waits| waits.collect()).unwrap_or_default();
    let mut report =
        format!("the watchdog found a submission still waiting {} after it was submitted", shown(limit));
    for wait in waits.iter().take(MOST_NAMED) {
        let name = wait.timeline.number();
        let _ = match wait.timeline.query() {
            Ok(payload) if payload >= wait.value => continue,
            Ok(payload) => write!(
                report,
                "; it waits for semaphore {name} to reach {}, which is at {payload}",
                wait.value
            ),
            Err(_) => continue,
        };
        let signallers = signallers(wait, queues, lanes);
        // Writing to a string cannot fail.
        let _ = match signallers.first() {
            Some(first) => write!(report, " and was to be signalled by {first}"),
            None => write!(
                report,
                " and which no submission of this device was to signal; did the host forget to?"
            ),
        };
    }
    if waits.len() > MOST_NAMED {
        let _ = write!(report, "; and for {} more", waits.len() - MOST_NAMED);
    }
    report
}

/// The submissions of this device that were to bring a semaphore there.
fn signallers<N: Native>(
    wait: &TimelinePoint,
    queues: &[Arc<QueueCore<N>>],
    lanes: &Lanes<N>,
) -> Vec<String> {
    let mut found = Vec::new();
    for queue in queues {
        let state = queue.state.lock();
        for (_, node) in &state.pending {
            let promised = node.inspect(|work, _| work.promises(wait).then(|| work.origin().to_string()));
            found.extend(promised.flatten().map(|origin| format!("{origin}, itself waiting")));
        }
        let ready = state.ready.iter().filter(|ready| ready.0.promises(wait));
        found.extend(ready.map(|ready| format!("{}, about to be issued", ready.0.origin())));
    }
    let issued = lanes.iter().flat_map(|lane| &lane.issued).filter(|issued| issued.0.promises(wait));
    found.extend(issued.map(|issued| format!("{}, which runs", issued.0.origin())));
    found
}
