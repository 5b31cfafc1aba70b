//! The synchronisation primitives of this crate, in one place, so that model checkers can stand in for them.
//!
//! | Compiled with | Primitives | For |
//! |---|---|---|
//! | nothing | `plain`: parking_lot and std | everything but models |
//! | `--cfg hal_loom` | `checked`, over loom | small protocols, every interleaving |
//! | `--cfg hal_shuttle` | `checked`, over shuttle | the whole queue, many random interleavings |
//!
//! `cargo xtask model` sets the flags. They are ours rather than loom's own, since dependencies react to that one.
//!
//! `Arc` is std's everywhere: traits are called through it, and its counts are no protocol of ours. Deadlines never
//! fire in a model; a wait with a limit may end early instead, which its caller must bear anyway.
//!
//! Mutexes have a [`Rank`], and debug builds check that they are taken in that order; see [`order`].

#[cfg(any(hal_loom, hal_shuttle))]
mod checked;
mod lock;
#[cfg(test)]
#[cfg(any(hal_loom, hal_shuttle))]
pub(crate) mod model;
pub(crate) mod order;
#[cfg(not(any(hal_loom, hal_shuttle)))]
mod plain;

#[cfg(any(hal_loom, hal_shuttle))]
use checked as primitives;
#[cfg(not(any(hal_loom, hal_shuttle)))]
use plain as primitives;

pub(crate) use lock::{Condvar, Mutex, MutexGuard};
pub(crate) use order::{Rank, assert_unlocked};
pub(crate) use primitives::{AtomicBool, AtomicU64, AtomicUsize, OnceLock, Ordering, thread};
pub(crate) use std::sync::{Arc, Weak};
