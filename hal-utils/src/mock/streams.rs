//! Streams: what they have been given, and how far they are.

use super::faults::Reach;
use super::state::State;
use crate::native::Progress;
use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};

/// When streams run what they are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pace {
    /// At once.
    #[default]
    Free,
    /// Not, but for what a test lets finish.
    Held,
    /// A little at every query, at random from this seed. A query sees that its work runs at least once.
    Lagging(u64),
}

#[derive(Debug, Default)]
pub(super) struct Stream {
    /// How many operations it has been given, has run, and may run while held.
    pub(super) given: u64,
    pub(super) passed: u64,
    allowed: u64,
    pending: VecDeque<Op>,
    pub(super) destroyed: bool,
    /// The last place a query has looked at.
    looked_at: Option<u64>,
    /// What the next query returns, and whether all later ones do.
    fault: Option<(i64, Reach)>,
    /// What the next event recorded will say of the work before it.
    pub(super) unreported: Option<i64>,
}

/// One operation in a stream.
#[derive(Debug)]
pub(super) enum Op {
    /// Until another stream has passed a place.
    Wait {
        stream: u64,
        place: u64,
    },
    Record,
    Work(Use),
}

/// What a piece of work uses.
#[derive(Clone, Debug, Default)]
pub(super) struct Use {
    pub(super) allocations: BTreeSet<u64>,
    pub(super) module: Option<u64>,
    pub(super) pattern: Option<u32>,
    pub(super) exec: Option<u64>,
}

/// Orders what runs, across devices.
static CLOCK: AtomicU64 = AtomicU64::new(1);

impl State {
    pub(super) fn set_pace(&mut self, pace: Pace) {
        self.pace = pace;
        if let Pace::Lagging(seed) = pace {
            self.random = seed | 1;
        }
        self.run();
    }

    pub(super) fn finish(&mut self, stream: u64) {
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.allowed = stream.given;
        }
        self.run();
    }

    pub(super) fn give(&mut self, stream: u64, op: Op) {
        match self.streams.get_mut(&stream) {
            Some(stream) if !stream.destroyed => {
                stream.given += 1;
                stream.pending.push_back(op);
            }
            _ => self.violation(format!("work for the dead stream {stream}")),
        }
        self.run();
    }

    /// Makes a query of the stream fail; without one, of whichever is queried next.
    pub(super) fn defer(&mut self, stream: Option<u64>, code: i64, reach: Reach) {
        match stream.and_then(|stream| self.streams.get_mut(&stream)) {
            Some(stream) => stream.fault = Some((code, reach)),
            None => self.anywhere = Some((code, reach)),
        }
    }

    /// Whether a query has looked at this place of the stream before, and nothing has changed since.
    pub(super) fn repeated(&self, stream: u64, place: u64) -> bool {
        self.streams.get(&stream).is_some_and(|s| s.passed < place && s.looked_at == Some(place))
    }

    /// How far the stream is, for a query.
    pub(super) fn look(&mut self, stream: u64, place: u64) -> Result<Progress, i64> {
        if self.anywhere.is_some() {
            let fault = self.anywhere.take();
            if let Some(stream) = self.streams.get_mut(&stream) {
                stream.fault = fault;
            }
        }
        let Some(s) = self.streams.get_mut(&stream) else {
            self.violation(format!("query of the unknown stream {stream}"));
            return Ok(Progress::Done);
        };
        if let Some((code, reach)) = s.fault {
            if reach == Reach::Once {
                s.fault = None;
            }
            return Err(code);
        }
        s.looked_at = Some(place);
        let answer = if s.passed >= place { Progress::Done } else { Progress::Running };
        if let Pace::Lagging(_) = self.pace {
            self.step_at_random();
        }
        Ok(answer)
    }

    /// Runs as far as the pace allows.
    pub(super) fn run(&mut self) {
        if self.lost || matches!(self.pace, Pace::Lagging(_)) {
            return;
        }
        let names: Vec<u64> = self.streams.keys().copied().collect();
        let mut progress = true;
        while std::mem::take(&mut progress) {
            for &name in &names {
                while self.may_run(name) && self.step(name) {
                    progress = true;
                }
            }
        }
    }

    fn may_run(&self, stream: u64) -> bool {
        self.pace == Pace::Free || self.streams.get(&stream).is_some_and(|s| s.passed < s.allowed)
    }

    fn step_at_random(&mut self) {
        if self.lost {
            return;
        }
        let names: Vec<u64> = self.streams.keys().copied().collect();
        for name in names {
            // Xorshift: any will do.
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            for _ in 0..self.random % 4 {
                self.step(name);
            }
        }
    }

    /// Runs the next operation of a stream, if there is one that can run.
    fn step(&mut self, name: u64) -> bool {
        let Some(op) = self.streams.get(&name).and_then(|stream| stream.pending.front()) else {
            return false;
        };
        if let Op::Wait { stream, place } = op
            && self.streams.get(stream).is_some_and(|other| other.passed < *place)
        {
            return false;
        }
        let Some(stream) = self.streams.get_mut(&name) else { return false };
        stream.passed += 1;
        let op = stream.pending.pop_front();
        if let Some(Op::Work(used)) = op {
            self.perform(&used);
        }
        true
    }

    fn perform(&mut self, used: &Use) {
        for allocation in &used.allocations {
            if !self.allocations.contains_key(allocation) {
                self.violation(format!("the device used {allocation:#x}, which is not allocated"));
            }
        }
        if let Some(module) = used.module
            && !self.modules.contains(&module)
        {
            self.violation(format!("the device ran code of module {module}, which is not loaded"));
        }
        if let Some(pattern) = used.pattern {
            let now = CLOCK.fetch_add(1, Ordering::Relaxed);
            self.ran.insert(pattern, now);
        }
    }

    /// Work that has not run and answers to the question.
    pub(super) fn in_flight(&self, uses: impl Fn(&Use) -> bool) -> bool {
        !self.lost
            && self.streams.values().any(|stream| {
                stream.pending.iter().any(|op| match op {
                    Op::Work(used) => uses(used),
                    _ => false,
                })
            })
    }
}
