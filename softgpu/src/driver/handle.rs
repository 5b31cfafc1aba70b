//! Handles: numbers that stand for objects, checked on every use.
//!
//! A handle is never a pointer and never comes back: a destroyed, foreign or invented one is an error, not undefined
//! behaviour.

use super::error::{Error, Result};
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The value of a handle, as it crosses an ABI in place of a pointer.
pub type Handle = u64;

static NEXT: AtomicU64 = AtomicU64::new(1);

/// A handle nothing has yet. Looks like an address, so that clients which test alignment are content.
pub fn fresh() -> Handle {
    0x6a00_0000_0000 | (NEXT.fetch_add(1, Ordering::Relaxed) << 4)
}

/// The live objects of one kind.
pub struct Registry<T> {
    kind: &'static str,
    live: RwLock<BTreeMap<Handle, Arc<T>>>,
}

impl<T> Registry<T> {
    /// An empty registry; `kind` names its objects in reports.
    pub const fn new(kind: &'static str) -> Self {
        Self { kind, live: RwLock::new(BTreeMap::new()) }
    }

    /// Makes an object that knows its handle and registers it.
    pub fn insert_with(&self, make: impl FnOnce(Handle) -> T) -> Arc<T> {
        let handle = fresh();
        let object = Arc::new(make(handle));
        self.insert_at(handle, object.clone());
        object
    }

    /// Registers an object under a handle from [`fresh`].
    pub fn insert_at(&self, handle: Handle, object: Arc<T>) {
        super::leaks::made(handle);
        self.live.write().insert(handle, object);
    }

    /// The object of a handle.
    pub fn get(&self, handle: Handle) -> Result<Arc<T>> {
        self.live.read().get(&handle).cloned().ok_or(Error::INVALID_HANDLE)
    }

    /// Takes the object out; the handle is dead from here on.
    pub fn remove(&self, handle: Handle) -> Result<Arc<T>> {
        super::leaks::gone(handle);
        self.live.write().remove(&handle).ok_or(Error::INVALID_HANDLE)
    }

    /// Takes out every object for which `dead` holds.
    pub fn remove_where(&self, dead: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let mut live = self.live.write();
        let handles: Vec<Handle> = live.iter().filter(|(_, object)| dead(object)).map(|(h, _)| *h).collect();
        handles.iter().filter_map(|handle| live.remove(handle)).collect()
    }

    /// All live objects.
    pub fn all(&self) -> Vec<Arc<T>> {
        self.live.read().values().cloned().collect()
    }

    /// All live objects with their handles.
    pub fn entries(&self) -> Vec<(Handle, Arc<T>)> {
        self.live.read().iter().map(|(handle, object)| (*handle, object.clone())).collect()
    }

    /// What kind of object this is, and how many are alive.
    pub fn census(&self) -> (&'static str, usize) {
        (self.kind, self.live.read().len())
    }
}

impl<T> fmt::Debug for Registry<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, live) = self.census();
        write!(f, "Registry({live} {kind})")
    }
}
