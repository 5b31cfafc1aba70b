//! What the checkers see of a kernel.

use super::memory::{self, Allocation};
use crate::check::race::{self, Task};
use crate::check::{self, Checker, Touched};
use crate::exec::{AccessKind, Accesses, Place, Watch};
use parking_lot::Mutex;
use std::sync::Arc;

/// Watches one launch.
#[derive(Debug)]
pub(super) struct Watcher {
    memory: bool,
    race: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    touched: Touched,
    /// Where the last accesses were: nearly always where the next ones are.
    recent: Vec<Arc<Allocation>>,
}

/// As many allocations as a kernel usually works on.
const RECENT: usize = 4;

impl State {
    fn find(&mut self, address: u64) -> Option<Arc<Allocation>> {
        let holds = |a: &&Arc<Allocation>| address.wrapping_sub(a.start) < a.len;
        if let Some(found) = self.recent.iter().find(holds) {
            return Some(found.clone());
        }
        let found = memory::find(address)?;
        self.recent.truncate(RECENT - 1);
        self.recent.insert(0, found.clone());
        Some(found)
    }
}

impl Watcher {
    /// A watcher, if a checker wants to know.
    pub(super) fn new() -> Option<Self> {
        let (memory, race) = (check::is_on(Checker::Memory), check::is_on(Checker::Race));
        (memory || race).then(|| Self { memory, race, state: Mutex::default() })
    }

    /// Tells what the kernel touched.
    pub(super) fn finish(&self, task: &Arc<Task>) {
        let mut state = self.state.lock();
        for (start, end, kind) in state.touched.ranges() {
            let mut at = start;
            // Ranges of neighbours may have joined.
            while at < end {
                let Some(allocation) = state.find(at) else { break };
                let stop = end.min(allocation.start + allocation.len);
                let (from, to) = (at - allocation.start, stop - allocation.start);
                race::accessed(task, allocation.place(), from, to, kind);
                at = stop;
            }
        }
    }
}

impl Watch for Watcher {
    fn touched(&self, accesses: Accesses<'_>, place: &dyn Fn(u32) -> Place) {
        let Accesses { addresses, mask, bytes, kind } = accesses;
        let bytes = u64::from(bytes);
        let mut state = self.state.lock();
        for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
            let address = addresses[lane as usize];
            if self.race {
                state.touched.mark(address, bytes, kind);
            }
            if !self.memory {
                continue;
            }
            let Some(allocation) = state.find(address) else { continue };
            let Some(init) = &allocation.init else { continue };
            let offset = address - allocation.start;
            if kind != AccessKind::Write
                && let Some(first) = init.first_unset(offset, bytes)
            {
                let place = place(lane);
                let text = format!(
                    "kernel `{}`: {kind} of {bytes} bytes {place}: byte {first} of the allocation of {} bytes made by {} \
                     was written by nobody",
                    place.kernel, allocation.len, allocation.made
                );
                check::found(Checker::Memory, text);
                // Once is enough.
                init.set(0, allocation.len);
            }
            if kind != AccessKind::Read {
                init.set(offset, bytes);
            }
        }
    }
}
