//! Conflicting accesses that nothing orders.
//!
//! An operation is before another if stream order, an event, the null stream's rule, an edge of a graph, or the program
//! says so: the program knows what it waited for or found complete, and all it issues afterwards comes after that. The
//! program counts as one thread, since how its threads agree among each other cannot be seen; and what a host function
//! runs after, the program knows.

use super::{Checker, Clock, calls::Call, found, is_on};
use crate::exec::AccessKind;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// An operation as the checker knows it.
#[derive(Debug)]
pub(crate) struct Task {
    /// What it is, in words.
    pub what: String,
    /// The sequence it belongs to: its stream, or its node of an executable graph.
    pub sequence: u64,
    /// Its number there.
    pub number: u64,
    /// Its stream.
    pub stream: u64,
    /// The call that issued it.
    pub call: Call,
    /// What is before it, itself included.
    pub clock: Clock,
}

impl Task {
    fn is_before(&self, other: &Self) -> bool {
        other.clock.knows(self.sequence, self.number)
    }

    fn describe(&self, kind: AccessKind) -> String {
        format!("{kind} by {} on stream {:#x}, issued by {}", self.what, self.stream, self.call)
    }
}

/// What the program knows.
static HOST: Mutex<Clock> = Mutex::new(Clock::new());

/// What the program knows now.
pub(crate) fn host_clock() -> Clock {
    HOST.lock().clone()
}

/// The program learns that an operation and what is before it are complete.
pub(crate) fn host_learns(task: Option<&Arc<Task>>) {
    if let Some(task) = task {
        HOST.lock().join(&task.clock);
    }
}

/// An allocation as reports name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub id: u64,
    pub len: u64,
    pub made: Call,
}

#[derive(Clone, Debug, Default)]
struct Cell {
    end: u64,
    writer: Option<Arc<Task>>,
    readers: Vec<Arc<Task>>,
    atomics: Vec<Arc<Task>>,
}

/// For each allocation, ranges and who accessed them last.
static SHADOW: Mutex<BTreeMap<u64, BTreeMap<u64, Cell>>> = Mutex::new(BTreeMap::new());

/// Notes that a task accessed a range of an allocation, and reports what conflicts with it.
pub(crate) fn accessed(task: &Arc<Task>, place: Place, start: u64, end: u64, kind: AccessKind) {
    if start >= end || !is_on(Checker::Race) {
        return;
    }
    let mut shadow = SHADOW.lock();
    let cells = shadow.entry(place.id).or_default();
    cut(cells, start);
    cut(cells, end);
    fill_gaps(cells, start, end);
    let mut reported: HashMap<u64, ()> = HashMap::new();
    for (at, cell) in cells.range_mut(start..end) {
        let conflicts = conflicts(cell, kind);
        for (other, other_kind) in conflicts {
            let unordered = !Arc::ptr_eq(&other, task) && !other.is_before(task);
            if unordered && reported.insert(Arc::as_ptr(&other) as u64, ()).is_none() {
                report((&other, other_kind), (task, kind), place, *at, cell.end);
            }
        }
        let is_current = |other: &Arc<Task>| !other.is_before(task);
        match kind {
            AccessKind::Write => {
                *cell = Cell { end: cell.end, writer: Some(task.clone()), ..Cell::default() };
            }
            AccessKind::Read => {
                cell.readers.retain(is_current);
                cell.readers.push(task.clone());
            }
            AccessKind::Atomic => {
                cell.atomics.retain(is_current);
                cell.atomics.push(task.clone());
            }
        }
    }
}

/// Forgets an allocation that is gone.
pub(crate) fn forget(id: u64) {
    if is_on(Checker::Race) {
        SHADOW.lock().remove(&id);
    }
}

fn conflicts(cell: &Cell, kind: AccessKind) -> Vec<(Arc<Task>, AccessKind)> {
    let mut all: Vec<_> = cell.writer.iter().map(|task| (task.clone(), AccessKind::Write)).collect();
    if kind != AccessKind::Read {
        all.extend(cell.readers.iter().map(|task| (task.clone(), AccessKind::Read)));
    }
    if kind != AccessKind::Atomic {
        all.extend(cell.atomics.iter().map(|task| (task.clone(), AccessKind::Atomic)));
    }
    all
}

/// Lets no cell reach over a byte.
fn cut(cells: &mut BTreeMap<u64, Cell>, at: u64) {
    if let Some((&start, cell)) = cells.range_mut(..at).next_back()
        && cell.end > at
        && start < at
    {
        let behind = cell.clone();
        cell.end = at;
        cells.insert(at, behind);
    }
}

fn fill_gaps(cells: &mut BTreeMap<u64, Cell>, start: u64, end: u64) {
    let mut at = start;
    let mut gaps = Vec::new();
    for (&cell_start, cell) in cells.range(start..end) {
        if at < cell_start {
            gaps.push((at, cell_start));
        }
        at = cell.end;
    }
    if at < end {
        gaps.push((at, end));
    }
    cells.extend(gaps.into_iter().map(|(start, end)| (start, Cell { end, ..Cell::default() })));
}

fn report(first: (&Task, AccessKind), second: (&Task, AccessKind), place: Place, start: u64, end: u64) {
    let (before, after) = (first.0, second.0);
    let missing = if before.stream == after.stream {
        format!("an edge of the graph from {} to {}, or back", before.what, after.what)
    } else {
        format!(
            "a wait on stream {:#x} for an event recorded on stream {:#x} between the two, or by the program",
            after.stream, before.stream
        )
    };
    let text = format!(
        "bytes {start}..{end} of the allocation of {} bytes made by {}: {}; and {}; nothing orders them: missing is {missing}",
        place.len,
        place.made,
        before.describe(first.1),
        after.describe(second.1),
    );
    found(Checker::Race, text);
}
