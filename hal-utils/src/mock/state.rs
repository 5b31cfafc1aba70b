//! The handles in existence, and what has been done wrong with them.

use super::faults::{Faults, Reach, Verdict};
use super::graphs::Graphs;
use super::streams::{Op, Pace, Stream, Use};
use crate::native::{Progress, is_teardown, status_kind};
use hal_core::{Error, ErrorKind, NativeStatus, Result};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::thread::ThreadId;

/// How many handles of each sort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    pub(crate) streams: usize,
    pub(crate) events: usize,
    pub(crate) allocations: usize,
    pub(crate) modules: usize,
    pub(crate) graphs: usize,
    pub(crate) execs: usize,
}

impl Census {
    pub(crate) fn total(&self) -> usize {
        self.streams + self.events + self.allocations + self.modules + self.graphs + self.execs
    }
}

/// Where an event was recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recorded {
    pub(super) stream: u64,
    place: u64,
    /// What a query says once it has happened.
    fails: Option<i64>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) log: Vec<String>,
    pub(super) ran: HashMap<u32, u64>,
    pub(super) streams: BTreeMap<u64, Stream>,
    pub(super) events: HashMap<u64, Option<Recorded>>,
    pub(super) allocations: HashMap<u64, usize>,
    pub(super) modules: HashSet<u64>,
    /// The module and the number of parameters, eight bytes each.
    pub(super) functions: HashMap<u64, (u64, usize)>,
    pub(super) graphs: Graphs,
    next_handle: u64,
    pub(super) faults: Faults,
    /// A status that means loss has been returned: the device runs nothing any more, and all it used is free.
    pub(super) lost: bool,
    pub(super) pace: Pace,
    pub(super) random: u64,
    /// For the next query of any stream.
    pub(super) anywhere: Option<(i64, Reach)>,
    pub(super) opened: u64,
    pub(super) released: u64,
    /// Threads that have been told that the driver is being torn down, and must not call it again.
    pub(super) dismissed: HashSet<ThreadId>,
    pub(super) refused: Census,
    pub(super) violations: Vec<String>,
}

impl State {
    pub(super) fn handle(&mut self) -> u64 {
        self.next_handle += 1;
        self.next_handle
    }

    pub(super) fn violation(&mut self, what: String) {
        self.violations.push(what);
    }

    pub(super) fn census(&self) -> Census {
        Census {
            streams: self.streams.values().filter(|stream| !stream.destroyed).count(),
            events: self.events.len(),
            allocations: self.allocations.len(),
            modules: self.modules.len(),
            graphs: self.graphs.graphs.len(),
            execs: self.graphs.execs.len(),
        }
    }

    /// Asks the faults what is to become of a call.
    fn judge(&mut self, call: &'static str, repeated: bool) -> Verdict {
        if self.dismissed.contains(&std::thread::current().id()) {
            self.violation(format!("{call} after the driver has said that it is being torn down"));
        }
        self.faults.judge(call, repeated)
    }

    pub(super) fn lose(&mut self, code: i64) {
        self.faults.sticky = Some(code);
        self.lost = true;
    }

    pub(super) fn error(&mut self, call: &'static str, code: i64) -> Error {
        if status_kind(code) == ErrorKind::DeviceLost {
            self.lost = true;
        }
        if is_teardown(code) {
            self.dismissed.insert(std::thread::current().id());
        }
        match call {
            "stream_destroy" => self.refused.streams += 1,
            "event_destroy" => self.refused.events += 1,
            "free" => self.refused.allocations += 1,
            "module_unload" => self.refused.modules += 1,
            "graph_destroy" => self.refused.graphs += 1,
            "graph_exec_destroy" => self.refused.execs += 1,
            _ => {}
        }
        let native = NativeStatus { call, code, name: None };
        Error::new(status_kind(code), "mock").with_native(native)
    }

    /// A call outside any stream.
    pub(super) fn call<T>(&mut self, call: &'static str, what: impl FnOnce(&mut State) -> T) -> Result<T> {
        self.call_on(call, None, what)
    }

    /// A call that concerns a stream.
    pub(super) fn call_on<T>(
        &mut self,
        call: &'static str,
        stream: Option<u64>,
        what: impl FnOnce(&mut State) -> T,
    ) -> Result<T> {
        match self.judge(call, false) {
            Verdict::Pass => {}
            Verdict::Fail(code) => return Err(self.error(call, code)),
            Verdict::Defer(code, reach) => self.defer(stream, code, reach),
        }
        Ok(what(self))
    }

    /// Puts an operation into a stream.
    pub(super) fn put(&mut self, call: &'static str, stream: u64, what: u64, op: Op) -> Result<()> {
        self.call_on(call, Some(stream), |state| {
            state.log.push(format!("{call} s{stream} {what}"));
            state.give(stream, op);
        })
    }

    /// A query, of a place in a stream.
    fn query(&mut self, call: &'static str, stream: u64, place: u64) -> Result<Progress> {
        let repeated = self.repeated(stream, place);
        match self.judge(call, repeated) {
            Verdict::Pass => {}
            Verdict::Fail(code) => return Err(self.error(call, code)),
            Verdict::Defer(code, reach) => {
                // This one answers as ever; the next does not.
                let answer = self.look(stream, place);
                self.defer(Some(stream), code, reach);
                return answer.map_err(|code| self.deferred(call, code));
            }
        }
        self.look(stream, place).map_err(|code| self.deferred(call, code))
    }

    /// A deferred failure comes to light. One that means loss is there to stay, if it is meant to stay at all.
    fn deferred(&mut self, call: &'static str, code: i64) -> Error {
        self.faults.deliver(call);
        let error = self.error(call, code);
        if self.lost && self.faults.stays() {
            self.faults.sticky = Some(code);
        }
        error
    }

    pub(super) fn stream_query(&mut self, stream: u64) -> Result<Progress> {
        match self.streams.get(&stream) {
            Some(found) if !found.destroyed => self.query("stream_query", stream, found.given),
            _ => {
                self.violation(format!("query of the dead stream {stream}"));
                Ok(Progress::Done)
            }
        }
    }

    pub(super) fn event_query(&mut self, event: u64) -> Result<Progress> {
        let Some(&Some(Recorded { stream, place, fails })) = self.events.get(&event) else {
            self.violation(format!("query of event {event}, which is dead or was never recorded"));
            return Ok(Progress::Done);
        };
        match (self.query("event_query", stream, place)?, fails) {
            (Progress::Done, Some(code)) => Err(self.error("event_query", code)),
            (progress, _) => Ok(progress),
        }
    }

    pub(super) fn record(&mut self, event: u64, stream: u64) -> Result<()> {
        self.put("record", stream, event, Op::Record)?;
        if !self.events.contains_key(&event) {
            self.violation(format!("record of the dead event {event}"));
        }
        if let Some(found) = self.streams.get_mut(&stream) {
            let (place, fails) = (found.given, found.unreported.take());
            self.events.insert(event, Some(Recorded { stream, place, fails }));
        }
        Ok(())
    }

    pub(super) fn wait(&mut self, stream: u64, event: u64) -> Result<()> {
        let op = match self.events.get(&event) {
            Some(&Some(Recorded { stream, place, .. })) => Op::Wait { stream, place },
            _ => {
                self.violation(format!("wait for event {event}, which is dead or was never recorded"));
                Op::Record
            }
        };
        self.put("wait", stream, event, op)
    }

    pub(super) fn work(&mut self, call: &'static str, stream: u64, what: u64, used: Use) -> Result<()> {
        for allocation in &used.allocations {
            if !self.allocations.contains_key(allocation) {
                self.violation(format!("{call} of {allocation:#x}, which is not allocated"));
            }
        }
        self.put(call, stream, what, Op::Work(used))
    }

    pub(super) fn destroy_stream(&mut self, stream: u64) {
        match self.streams.get_mut(&stream) {
            // What is in it runs on.
            Some(found) if !found.destroyed => found.destroyed = true,
            _ => self.violation(format!("stream {stream} destroyed twice")),
        }
    }

    pub(super) fn destroy_event(&mut self, event: u64) {
        if self.events.remove(&event).is_none() {
            self.violation(format!("event {event} destroyed twice"));
        }
    }

    pub(super) fn free(&mut self, allocation: u64) {
        if self.in_flight(|used| used.allocations.contains(&allocation)) {
            self.violation(format!("{allocation:#x} freed while the device may use it"));
        }
        if self.allocations.remove(&allocation).is_none() {
            self.violation(format!("{allocation:#x} freed twice"));
        }
    }

    pub(super) fn unload(&mut self, module: u64) {
        if self.in_flight(|used| used.module == Some(module)) {
            self.violation(format!("module {module} unloaded while the device may run it"));
        }
        if !self.modules.remove(&module) {
            self.violation(format!("module {module} unloaded twice"));
        }
        self.functions.retain(|_, (owner, _)| *owner != module);
    }
}
