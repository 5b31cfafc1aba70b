//! What is known to have happened: vector clocks.

use std::collections::BTreeMap;

/// For each sequence of operations (a stream, a node of an executable graph), the number of the last that is known to
/// be before. Sequences that do not occur are unknown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    last: BTreeMap<u64, u64>,
    /// After a wait for a value in memory, which any write may have ended: nothing is known to be unordered.
    after_all: bool,
}

impl Clock {
    pub(crate) const fn new() -> Self {
        Self { last: BTreeMap::new(), after_all: false }
    }

    /// Knows from here on all that `other` knows.
    pub(crate) fn join(&mut self, other: &Self) {
        self.after_all |= other.after_all;
        for (sequence, number) in &other.last {
            self.learn(*sequence, *number);
        }
    }

    /// Knows from here on an operation and all before it in its sequence.
    pub(crate) fn learn(&mut self, sequence: u64, number: u64) {
        let known = self.last.entry(sequence).or_default();
        *known = number.max(*known);
    }

    /// Counts as after everything from here on.
    pub(crate) fn give_up(&mut self) {
        self.after_all = true;
    }

    pub(crate) fn knows(&self, sequence: u64, number: u64) -> bool {
        self.after_all || self.last.get(&sequence).is_some_and(|known| *known >= number)
    }
}
