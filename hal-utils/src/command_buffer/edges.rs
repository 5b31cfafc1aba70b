//! Which commands of a graph come after which.
//!
//! A command comes after another where a barrier between them says so and both use the same memory, one of them writing
//! it. Memory known now is compared by address, so that two buffers over the same memory are one. What a slot stands for
//! is known at submission only: it may be anything, but two offsets in one slot are as far apart as they look.
//!
//! Where several commands come after the same several, they do so through a node that does nothing: exactly the same
//! order, with the sum of both in place of their product. There is no limit on either.

use hal_core::{Accesses, Barrier, BufferRef, Command, Stages};
use smallvec::SmallVec;
use std::collections::{BTreeMap, HashMap};

/// Memory, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Known { start: u64, end: u64 },
    Slot { slot: u32, start: u64, end: u64 },
}

/// A use of memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    pub(super) place: Place,
    pub(super) access: Accesses,
}

/// What matters of a command.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Work { stage: Stages, uses: SmallVec<[Use; 4]> },
    Barrier(Barrier),
}

/// The nodes of a graph; each comes after earlier ones only.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) nodes: Vec<Planned>,
}

#[derive(Debug)]
pub(super) struct Planned {
    /// The number of the command among those that do something; `None` for a node that only joins.
    pub(super) step: Option<usize>,
    /// Nodes.
    pub(super) after: Vec<usize>,
}

/// The commands of a list.
pub(super) fn items(commands: &[Command]) -> impl Iterator<Item = Item> {
    commands.iter().filter_map(|command| match command {
        Command::Fill { target, .. } | Command::Update { target, .. } => {
            Some(work(Stages::TRANSFER, [(target, Accesses::WRITE)]))
        }
        Command::Copy { source, target } => {
            Some(work(Stages::TRANSFER, [(source, Accesses::READ), (target, Accesses::WRITE)]))
        }
        Command::Dispatch(dispatch) => {
            let arguments = dispatch.arguments.iter().filter_map(|argument| {
                let read_only = matches!(argument, hal_core::Argument::ReadOnly(_));
                Some((argument.buffer()?, if read_only { Accesses::READ } else { Accesses::ALL }))
            });
            let reached = dispatch.reached.iter().map(|buffer| (buffer, Accesses::ALL));
            Some(work(Stages::DISPATCH, arguments.chain(reached)))
        }
        Command::Barrier(barrier) => Some(Item::Barrier(*barrier)),
        _ => None,
    })
}

fn work<'a>(stage: Stages, uses: impl IntoIterator<Item = (&'a BufferRef, Accesses)>) -> Item {
    let uses = uses.into_iter().map(|(buffer, access)| Use { place: Place::of(buffer), access });
    Item::Work { stage, uses: uses.filter(|used| !used.place.is_empty()).collect() }
}

impl Place {
    fn of(buffer: &BufferRef) -> Self {
        match buffer {
            BufferRef::Direct(range) => {
                let start = range.buffer.device_address().saturating_add(range.offset);
                Place::Known { start, end: start.saturating_add(range.length) }
            }
            BufferRef::Slot { slot, offset, length } => {
                Place::Slot { slot: *slot, start: *offset, end: offset.saturating_add(*length) }
            }
        }
    }

    fn is_empty(self) -> bool {
        let (Place::Known { start, end } | Place::Slot { start, end, .. }) = self;
        start == end
    }

    /// Whether both may contain the same byte.
    pub(super) fn may_overlap(self, other: Place) -> bool {
        match (self.comparable(other), self, other) {
            (
                true,
                Place::Known { start, end } | Place::Slot { start, end, .. },
                Place::Known { start: from, end: to } | Place::Slot { start: from, end: to, .. },
            ) => start < to && from < end,
            (false, ..) => true,
        }
    }

    /// Whether this certainly contains all of the other.
    fn covers(self, other: Place) -> bool {
        let (Place::Known { start, end } | Place::Slot { start, end, .. }) = self;
        let (Place::Known { start: from, end: to } | Place::Slot { start: from, end: to, .. }) = other;
        self.comparable(other) && start <= from && to <= end
    }

    fn comparable(self, other: Place) -> bool {
        match (self, other) {
            (Place::Known { .. }, Place::Known { .. }) => true,
            (Place::Slot { slot, .. }, Place::Slot { slot: other, .. }) => slot == other,
            _ => false,
        }
    }
}

/// Arranges the commands of a list.
pub(super) fn plan(items: impl IntoIterator<Item = Item>) -> Plan {
    let mut planner = Planner::default();
    let mut after: Vec<Vec<usize>> = Vec::new();
    for item in items {
        match item {
            Item::Barrier(barrier) => planner.barrier(barrier),
            Item::Work { stage, uses } => after.push(planner.work(after.len(), stage, &uses)),
        }
    }
    join(after)
}

/// Puts a node between several commands and the several that all of them come after.
fn join(after: Vec<Vec<usize>>) -> Plan {
    let mut shared: HashMap<&[usize], usize> = HashMap::new();
    for before in after.iter().filter(|before| before.len() > 1) {
        *shared.entry(before).or_default() += 1;
    }
    let mut plan = Plan::default();
    let mut node_of: Vec<usize> = Vec::with_capacity(after.len());
    let mut joins: HashMap<&[usize], usize> = HashMap::new();
    for (step, before) in after.iter().enumerate() {
        let nodes = before.iter().map(|&step| node_of[step]).collect();
        let after = if shared.get(&before[..]).is_some_and(|&sharing| sharing > 1) {
            let join = *joins.entry(before).or_insert_with(|| {
                plan.nodes.push(Planned { step: None, after: nodes });
                plan.nodes.len() - 1
            });
            vec![join]
        } else {
            nodes
        };
        node_of.push(plan.nodes.len());
        plan.nodes.push(Planned { step: Some(step), after });
    }
    plan
}

/// An earlier use that later commands may have to come after.
#[derive(Clone, Copy)]
struct Entry {
    step: usize,
    /// Barriers before it.
    epoch: usize,
    stage: Stages,
    used: Use,
}

const STAGES: [Stages; 2] = [Stages::TRANSFER, Stages::DISPATCH];
const ACCESSES: [Accesses; 2] = [Accesses::READ, Accesses::WRITE];

#[derive(Default)]
struct Planner {
    /// Barriers so far.
    epoch: usize,
    /// By stage before and after, and access before and after: the number of the last barrier, from 1, that has both in
    /// scope.
    last: [[[[usize; 2]; 2]; 2]; 2],
    /// By start.
    known: BTreeMap<(u64, usize), Entry>,
    /// No known use is longer.
    longest: u64,
    slots: Vec<Entry>,
    /// Entries given out so far.
    serial: usize,
    /// Known and slot uses that a write has taken the place of: who would come after them comes after that, once a full
    /// barrier stands behind it.
    superseded: Vec<(u64, usize)>,
    superseded_slots: Vec<usize>,
}

impl Planner {
    fn barrier(&mut self, barrier: Barrier) {
        self.epoch += 1;
        for (before, stage_before) in STAGES.into_iter().enumerate() {
            for (after, stage_after) in STAGES.into_iter().enumerate() {
                for (had, access_before) in ACCESSES.into_iter().enumerate() {
                    for (has, access_after) in ACCESSES.into_iter().enumerate() {
                        let in_scope = barrier.before.stages.contains(stage_before)
                            && barrier.after.stages.contains(stage_after)
                            && barrier.before.accesses.contains(access_before)
                            && barrier.after.accesses.contains(access_after);
                        if in_scope {
                            self.last[before][after][had][has] = self.epoch;
                        }
                    }
                }
            }
        }
        if barrier == Barrier::FULL {
            self.forget_superseded();
        }
    }

    fn forget_superseded(&mut self) {
        for key in self.superseded.drain(..) {
            self.known.remove(&key);
        }
        self.superseded_slots.sort_unstable();
        self.superseded_slots.dedup();
        for index in self.superseded_slots.drain(..).rev() {
            self.slots.swap_remove(index);
        }
    }

    /// The commands that one comes after, in order.
    fn work(&mut self, step: usize, stage: Stages, uses: &[Use]) -> Vec<usize> {
        let mut before: Vec<usize> = Vec::new();
        for used in uses {
            let keys = match used.place {
                Place::Known { start, end } => (start.saturating_sub(self.longest), 0)..=(end, 0),
                Place::Slot { .. } => (0, 0)..=(u64::MAX, usize::MAX),
            };
            for (key, entry) in self.known.range(keys) {
                if self.ordered(entry, stage, used) {
                    before.push(entry.step);
                    if supersedes(used, entry) {
                        self.superseded.push(*key);
                    }
                }
            }
            for (index, entry) in self.slots.iter().enumerate() {
                if self.ordered(entry, stage, used) {
                    before.push(entry.step);
                    if supersedes(used, entry) {
                        self.superseded_slots.push(index);
                    }
                }
            }
        }
        for used in uses {
            let entry = Entry { step, epoch: self.epoch, stage, used: *used };
            self.serial += 1;
            match used.place {
                Place::Known { start, end } => {
                    self.longest = self.longest.max(end - start);
                    self.known.insert((start, self.serial), entry);
                }
                Place::Slot { .. } => self.slots.push(entry),
            }
        }
        before.sort_unstable();
        before.dedup();
        before
    }

    /// Whether both use the same memory, one writing it, and a barrier between them has both in scope.
    fn ordered(&self, entry: &Entry, stage: Stages, used: &Use) -> bool {
        if !entry.used.place.may_overlap(used.place) {
            return false;
        }
        let at = |stage| usize::from(stage == Stages::DISPATCH);
        let last = &self.last[at(entry.stage)][at(stage)];
        ACCESSES.into_iter().enumerate().any(|(had, before)| {
            ACCESSES.into_iter().enumerate().any(|(has, after)| {
                (had, has) != (0, 0)
                    && entry.used.access.contains(before)
                    && used.access.contains(after)
                    && last[had][has] > entry.epoch
            })
        })
    }
}

fn supersedes(used: &Use, entry: &Entry) -> bool {
    used.access.contains(Accesses::WRITE) && used.place.covers(entry.used.place)
}
