//! Calls, numbered, so that a report can say which one made or issued something.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// A call of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// Its number, from 1; 0 if calls were not counted when it was made.
    pub number: u64,
    /// The function.
    pub name: &'static str,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            0 => f.write_str("a call that was not counted"),
            number => write!(f, "call {number} ({})", self.name),
        }
    }
}

static CALLS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static CURRENT: Cell<Call> = const { Cell::new(Call { number: 0, name: "" }) };
}

/// A call begins on this thread.
pub(crate) fn begin(name: &'static str) {
    if super::any_on() {
        let number = CALLS.fetch_add(1, Ordering::Relaxed) + 1;
        // A thread that is ending may have no place for it any more.
        let _ = CURRENT.try_with(|current| current.set(Call { number, name }));
    }
}

/// The call that this thread is in.
pub(crate) fn current() -> Call {
    CURRENT.try_with(Cell::get).unwrap_or_default()
}
