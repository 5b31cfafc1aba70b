//! A warp: 32 threads in lock step until they diverge.
//!
//! Threads that stand at the same instruction form a *fragment*. The fragment deepest in calls and lowest in the
//! code runs first, so that the others are waiting where paths meet and all join again. That order alone would
//! starve a thread that holds a lock while others spin for it at a lower address; fragments that loop for long
//! therefore give way.

use super::code::{BarReduce, Code};
use super::regs::Regs;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    /// Waits at a `.sync` instruction for other lanes of its warp.
    Sync,
    Barrier {
        id: u32,
        threads: u32,
        reduce: BarReduce,
        pred: u32,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct Fragment {
    pub pc: u32,
    pub mask: u32,
    /// Return addresses, innermost last.
    pub stack: Vec<u32>,
    pub state: State,
}

impl Fragment {
    /// Smaller runs first.
    pub(crate) fn key(&self) -> u64 {
        key(self.stack.len(), self.pc)
    }
}

#[inline(always)]
pub(crate) fn key(depth: usize, pc: u32) -> u64 {
    u64::from(u32::MAX - depth as u32) << 32 | u64::from(pc)
}

#[derive(Debug)]
pub(crate) struct Warp {
    pub regs: Regs,
    /// Threads that have not exited.
    pub live: u32,
    /// Number in the block of lane 0's thread.
    pub first_thread: u32,
    pub fragments: Vec<Fragment>,
    /// Take the fragment that has waited longest, not the lowest, next time.
    pub rotate: bool,
}

impl Warp {
    pub(crate) fn new(code: &Code, first_thread: u32) -> Self {
        Self {
            regs: Regs::new(code.slots, code.preds),
            live: 0,
            first_thread,
            fragments: Vec::new(),
            rotate: false,
        }
    }

    pub(crate) fn start(&mut self, lanes: u32) {
        self.live = if lanes >= 32 { u32::MAX } else { (1 << lanes) - 1 };
        self.rotate = false;
        self.fragments.clear();
        self.fragments.push(Fragment { pc: 0, mask: self.live, stack: Vec::new(), state: State::Ready });
    }

    /// Takes out the fragment to run next and says whether it must not wait for others any more.
    pub(crate) fn take_next(&mut self) -> Option<(Fragment, bool)> {
        self.merge();
        let ready = |f: &Fragment| f.state == State::Ready;
        let rotate = std::mem::take(&mut self.rotate);
        let found =
            if rotate { self.fragments.iter().position(ready) } else { lowest(&self.fragments, ready) };
        if let Some(at) = found {
            return Some((self.fragments.remove(at), false));
        }
        // Nobody else can move: those who wait for lanes that will not come go on without them.
        let at = lowest(&self.fragments, |f| f.state == State::Sync)?;
        let mut fragment = self.fragments.remove(at);
        fragment.state = State::Ready;
        Some((fragment, true))
    }

    /// Joins fragments that stand at the same place.
    fn merge(&mut self) {
        let mut at = 0;
        while at < self.fragments.len() {
            let mut other = at + 1;
            while other < self.fragments.len() {
                let (a, b) = (&self.fragments[at], &self.fragments[other]);
                let waiting = |f: &Fragment| matches!(f.state, State::Barrier { .. });
                if a.pc == b.pc && !waiting(a) && !waiting(b) && a.stack == b.stack {
                    let joined = self.fragments.remove(other);
                    self.fragments[at].mask |= joined.mask;
                    self.fragments[at].state = State::Ready;
                } else {
                    other += 1;
                }
            }
            at += 1;
        }
    }

    /// The key at which a running fragment must stop: where another one waits to join it, or should run instead.
    pub(crate) fn limit(&self, current: u64, rotated: bool) -> u64 {
        let mut limit = u64::MAX;
        for fragment in &self.fragments {
            let other = fragment.key();
            let counts = match fragment.state {
                State::Ready => other >= current || !rotated,
                State::Sync => other >= current,
                State::Barrier { .. } => false,
            };
            if counts {
                limit = limit.min(other);
            }
        }
        limit
    }

    pub(crate) fn runnable(&self) -> bool {
        self.fragments.iter().any(|f| !matches!(f.state, State::Barrier { .. }))
    }
}

fn lowest(fragments: &[Fragment], wanted: impl Fn(&Fragment) -> bool) -> Option<usize> {
    let candidates = fragments.iter().enumerate().filter(|(_, f)| wanted(f));
    candidates.min_by_key(|(_, f)| f.key()).map(|(at, _)| at)
}
