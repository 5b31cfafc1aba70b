//! What a program must come to, worked out without threads, queues or devices.
//!
//! Where timing may decide, the answer is the set of what is allowed: a semaphore that several signal may fail before or
//! after somebody finds it reached. Programs where timing decides whether something ever ends are given up.

use super::program::{FAILING_LATER, LOST, Op, Point, Program};
use std::collections::{BTreeMap, BTreeSet};

/// Why something failed, as far as an error tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cause {
    pub(super) what: What,
    /// The submission in which it began.
    pub(super) origin: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// The host failed a semaphore, in this operation.
    Host(u32),
    /// A command failed with this status, or every call of a lost device.
    Native(i64),
    /// The device was closed.
    Cancelled,
}

/// What may become of something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcomes {
    pub(super) ok: bool,
    /// Has not ended yet.
    pub(super) open: bool,
    pub(super) errors: BTreeSet<Cause>,
}

/// Whatever waits and then signals: a submission, or a callback.
struct Actor {
    id: u32,
    /// When it came.
    at: usize,
    /// For a submission, which alone is cancelled and has a place in errors.
    device: Option<usize>,
    waits: Vec<Point>,
    signals: Vec<Point>,
    fails: Option<i64>,
}

#[derive(Default)]
pub(super) struct Model {
    semaphores: Vec<u64>,
    actors: Vec<Actor>,
    /// What was done to semaphores from outside: when, to which, and the value it was signalled or why it failed.
    host: Vec<(usize, usize, Result<u64, What>)>,
    pub(super) outcomes: BTreeMap<u32, Outcomes>,
    /// Ended before some device was closed, so that nothing later matters.
    final_: BTreeSet<u32>,
    /// Submissions that ended with their device, and how.
    ended_by_device: BTreeMap<u32, What>,
    closed: BTreeSet<usize>,
    /// For each closing of an open device, how many submissions each device has ended just before.
    pub(super) ended: Vec<Vec<u64>>,
}

impl Model {
    /// `None` if timing decides whether something ends.
    pub(super) fn of(program: &Program) -> Option<Model> {
        let mut model = Model { semaphores: program.semaphores.clone(), ..Model::default() };
        for (at, op) in program.all_ops().enumerate() {
            let actor = |id, waits, signals| Actor { id, at, device: None, waits, signals, fails: None };
            match op {
                Op::Submit(submit) => {
                    let device = program.device_of(submit.queue);
                    if !model.closed.contains(&device) {
                        let fails = submit.fails.map(|(_, code)| code);
                        let actor = actor(submit.id, submit.waits, submit.signals);
                        model.actors.push(Actor { device: Some(device), fails, ..actor });
                    }
                }
                Op::DropQueue(_) => {}
                Op::Signal(point) => model.host.push((at, point.semaphore, Ok(point.value))),
                Op::Fail { id, semaphore } => model.host.push((at, semaphore, Err(What::Host(id)))),
                Op::Watch { id, wait } => model.actors.push(actor(id, vec![wait], vec![])),
                Op::Relay { id, wait, then } => model.actors.push(actor(id, vec![wait], vec![then])),
                Op::Close(device) => model.close(device, program.devices, What::Cancelled, |_| {})?,
                Op::Lose(device) => {
                    let lost = What::Native(LOST);
                    // With it go the semaphores that it made.
                    model.close(device, program.devices, lost, |model| {
                        let made = (device..model.semaphores.len()).step_by(program.devices);
                        model.host.extend(made.map(|semaphore| (at, semaphore, Err(lost))));
                    })?;
                }
            }
        }
        // Every device may have been closed long before the end.
        model.settle()?;
        Some(model)
    }

    /// `end` comes once everything has settled, and before the open submissions end like this.
    fn close(
        &mut self,
        device: usize,
        devices: usize,
        like: What,
        end: impl FnOnce(&mut Self),
    ) -> Option<()> {
        if !self.closed.insert(device) {
            return Some(());
        }
        self.settle()?;
        let ended = |device| {
            let of = |actor: &&Actor| actor.device == Some(device) && !self.outcomes[&actor.id].open;
            self.actors.iter().filter(of).count() as u64
        };
        self.ended.push((0..devices).map(ended).collect());
        let open = self.actors.iter().filter(|actor| actor.device == Some(device));
        let open: Vec<u32> = open.map(|actor| actor.id).filter(|id| self.outcomes[id].open).collect();
        self.final_.extend(self.outcomes.iter().filter(|(_, outcomes)| !outcomes.open).map(|(id, _)| id));
        self.ended_by_device.extend(open.into_iter().map(|id| (id, like)));
        end(self);
        self.settle()?;
        self.final_.extend(self.outcomes.iter().filter(|(_, outcomes)| !outcomes.open).map(|(id, _)| id));
        Some(())
    }

    /// Lets everything happen that can: first what may become of everybody, then who is sure to end. Either only grows.
    fn settle(&mut self) -> Option<()> {
        let open = Outcomes { open: true, ..Outcomes::default() };
        let ids: Vec<u32> = self.actors.iter().map(|actor| actor.id).collect();
        for id in ids.iter().filter(|id| !self.final_.contains(id)) {
            self.outcomes.insert(*id, open.clone());
        }
        self.repeat(|now, next| Outcomes { open: now.open, ..next });
        self.repeat(|now, next| Outcomes { open: next.open, ..now.clone() });
        let ambiguous = |outcomes: &Outcomes| outcomes.open && (outcomes.ok || !outcomes.errors.is_empty());
        (!self.outcomes.values().any(ambiguous)).then_some(())
    }

    fn repeat(&mut self, update: impl Fn(&Outcomes, Outcomes) -> Outcomes) {
        loop {
            let mut next = self.outcomes.clone();
            for actor in self.actors.iter().filter(|actor| !self.final_.contains(&actor.id)) {
                next.insert(actor.id, update(&self.outcomes[&actor.id], self.act(actor)));
            }
            if next == self.outcomes {
                return;
            }
            self.outcomes = next;
        }
    }

    fn act(&self, actor: &Actor) -> Outcomes {
        let waits: Vec<_> = actor.waits.iter().map(|wait| self.wait(*wait, actor.at)).collect();
        let mut errors: BTreeSet<Cause> = waits.iter().flat_map(|wait| wait.errors.clone()).collect();
        let mut ok = waits.iter().all(|wait| wait.ok);
        let mut open = waits.iter().any(|wait| wait.open) && waits.iter().all(|wait| wait.ok || wait.open);
        // On the device it comes to its work before it hears that what it waited for there has failed.
        if let Some(code) = actor.fails
            && waits.iter().all(Outcomes::may_have_run)
        {
            errors.insert(Cause { what: What::Native(code), origin: None });
            ok = false;
        }
        if let Some(&what) = self.ended_by_device.get(&actor.id) {
            errors.insert(Cause { what, origin: None });
            (ok, open) = (false, false);
        }
        if actor.device.is_some() {
            let here = |cause: Cause| Cause { origin: cause.origin.or(Some(actor.id)), ..cause };
            errors = errors.into_iter().map(here).collect();
        }
        Outcomes { ok, open, errors }
    }

    /// What a wait that begins at some time finds.
    fn wait(&self, point: Point, at: usize) -> Outcomes {
        let Point { semaphore, value } = point;
        let signallers = self.signallers(semaphore);
        let host = || self.host.iter().filter(|(_, which, _)| *which == semaphore);
        if signallers.is_empty() {
            return self.wait_for_host(point, at);
        }
        let at_first = self.semaphores[semaphore] >= value;
        let signalled = at_first || host().any(|(_, _, what)| what.is_ok_and(|to| to >= value));
        let failed = host().find(|(_, _, what)| what.is_err()).map(|(when, ..)| *when);
        let able = signallers.iter().filter(|(_, to)| *to >= value);
        let reaches = signalled || able.clone().any(|(outcomes, _)| outcomes.ok);
        let must_fail = signallers.iter().any(|(outcomes, _)| !outcomes.ok && !outcomes.open);
        let resolved = signalled || failed.is_some() || must_fail || able.clone().any(|(o, _)| !o.open);
        Outcomes {
            ok: reaches && failed.is_none_or(|when| when > at),
            open: !resolved,
            errors: self.failures(semaphore),
        }
    }

    /// Only the host touches it, one operation after the other, and each is over when the next begins.
    fn wait_for_host(&self, point: Point, at: usize) -> Outcomes {
        let mut payload = Ok(self.semaphores[point.semaphore]);
        let of = self.host.iter().filter(|(_, which, _)| *which == point.semaphore);
        let (before, after): (Vec<_>, Vec<_>) = of.partition(|(when, ..)| *when < at);
        for (_, _, what) in before {
            payload = payload.and_then(|payload| what.map(|to| to.max(payload)));
        }
        let mut outcome = payload.map(|payload| payload >= point.value);
        for (_, _, what) in after {
            if outcome == Ok(false) {
                outcome = what.map(|to| to >= point.value);
            }
        }
        match outcome {
            Ok(ok) => Outcomes { ok, open: !ok, errors: BTreeSet::new() },
            Err(what) => {
                let cause = Cause { what, origin: None };
                Outcomes { ok: false, open: false, errors: [cause].into() }
            }
        }
    }

    fn signallers(&self, semaphore: usize) -> Vec<(&Outcomes, u64)> {
        let points =
            self.actors.iter().flat_map(|actor| actor.signals.iter().map(move |point| (actor, point)));
        let of = points.filter(|(_, point)| point.semaphore == semaphore);
        of.map(|(actor, point)| (&self.outcomes[&actor.id], point.value)).collect()
    }

    fn failures(&self, semaphore: usize) -> BTreeSet<Cause> {
        let of = |(_, which, what): &(usize, usize, Result<u64, What>)| match what {
            Err(what) if *which == semaphore => Some(Cause { what: *what, origin: None }),
            _ => None,
        };
        let signallers = self.signallers(semaphore).into_iter();
        self.host
            .iter()
            .find_map(of)
            .into_iter()
            .chain(signallers.flat_map(|(o, _)| o.errors.clone()))
            .collect()
    }

    /// What a semaphore may be in the end: its payload, unless it must fail, and its failures.
    pub(super) fn semaphore(&self, semaphore: usize) -> (Option<u64>, BTreeSet<Cause>) {
        let signallers = self.signallers(semaphore);
        let host = self.host.iter().filter(|(_, which, _)| *which == semaphore).map(|(_, _, what)| what);
        let fails = signallers.iter().any(|(outcomes, _)| !outcomes.ok && !outcomes.open);
        let fails = fails || host.clone().any(|what| what.is_err());
        // One that is open to the end is a callback that was never called.
        let reached = signallers.iter().filter(|(outcomes, _)| !outcomes.open).map(|(_, to)| *to);
        let payload =
            reached.chain(host.filter_map(|what| what.ok())).fold(self.semaphores[semaphore], u64::max);
        ((!fails).then_some(payload), self.failures(semaphore))
    }

    /// The one that must have ended before a wait is over, if it is certain who that is.
    pub(super) fn producer(&self, point: Point) -> Option<u32> {
        let host = self.host.iter().any(|(_, which, _)| *which == point.semaphore);
        if host || self.semaphores[point.semaphore] >= point.value {
            return None;
        }
        let signals = |actor: &&Actor| {
            actor.signals.iter().any(|to| to.semaphore == point.semaphore && to.value >= point.value)
        };
        let mut able = self.actors.iter().filter(signals);
        match (able.next(), able.next()) {
            (Some(actor), None) => actor.device.map(|_| actor.id),
            _ => None,
        }
    }
}

impl Outcomes {
    /// What waits for something that fails like this may have run before it failed.
    pub(super) fn may_have_run(&self) -> bool {
        self.ok
            || self
                .errors
                .iter()
                .any(|cause| matches!(cause.what, What::Native(code) if FAILING_LATER.contains(&code)))
    }

    /// Whether timing has no say in whether it succeeds.
    pub(super) fn is_certain(&self) -> bool {
        !self.ok || self.errors.is_empty()
    }
}
