//! The synchronisation primitives of this crate, in one place, so that a model checker can stand in for them.

pub(crate) use parking_lot::{Condvar, Mutex};
pub(crate) use std::sync::Arc;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
