//! What a program made and did not destroy.

use super::handle::{Handle, Registry};
use super::memory::{self, Kind};
use super::{context, event, graph, module, pool, stream};
use crate::check::calls::{self, Call};
use crate::check::{Checker, is_on};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;

/// An object that is alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leak {
    /// What it is.
    pub what: String,
    /// The call that made it.
    pub made: Call,
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, made by {}, was not destroyed", self.what, self.made)
    }
}

static MADE: Mutex<BTreeMap<Handle, Call>> = Mutex::new(BTreeMap::new());

/// Notes which call made an object.
pub(super) fn made(handle: Handle) {
    if is_on(Checker::Leaks) {
        MADE.lock().insert(handle, calls::current());
    }
}

/// Forgets an object that is destroyed.
pub(super) fn gone(handle: Handle) {
    if is_on(Checker::Leaks) {
        MADE.lock().remove(&handle);
    }
}

/// Every context, stream, event, module, graph, executable graph, pool and allocation that was not destroyed, whatever
/// its context came to: but a context that failed cannot free what it holds, so of such ones only the context counts.
pub fn list() -> Vec<Leak> {
    let mut leaks = Vec::new();
    let failed: Vec<Handle> =
        context::CONTEXTS.all().iter().filter(|c| c.check().is_err()).map(|c| c.handle).collect();
    let of_well = |context: Handle| !failed.contains(&context);
    of_kind(&mut leaks, "context", &context::CONTEXTS, |context| {
        of_well(context.handle) && (!context.primary || context.device.is_primary_held())
    });
    of_kind(&mut leaks, "stream", &stream::STREAMS, |stream| of_well(stream.context.handle));
    of_kind(&mut leaks, "event", &event::EVENTS, |event| of_well(event.context.handle));
    of_kind(&mut leaks, "module", &module::MODULES, |module| of_well(module.context.handle));
    of_kind(&mut leaks, "graph", &graph::GRAPHS, |graph| of_well(graph.context()));
    of_kind(&mut leaks, "executable graph", &graph::EXECS, |exec| of_well(exec.context()));
    let defaults: Vec<Handle> =
        super::device::devices().iter().filter_map(|d| d.made_default_pool()).collect();
    of_kind(&mut leaks, "pool", &pool::POOLS, |pool| !defaults.contains(&pool.handle));
    for allocation in memory::live() {
        if allocation.kind != Kind::Global && of_well(allocation.context) && !allocation.is_freeing() {
            let what = format!("allocation of {} bytes at {:#x}", allocation.len, allocation.start);
            leaks.push(Leak { what, made: allocation.made });
        }
    }
    leaks
}

fn of_kind<T>(leaks: &mut Vec<Leak>, kind: &str, registry: &Registry<T>, counts: impl Fn(&T) -> bool) {
    let known = MADE.lock();
    for (handle, object) in registry.entries() {
        if counts(&object) {
            let made = known.get(&handle).copied().unwrap_or_default();
            leaks.push(Leak { what: format!("{kind} {handle:#x}"), made });
        }
    }
}
