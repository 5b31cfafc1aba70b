//! Memory that nodes of graphs allocate.
//!
//! The address is chosen when the node is made and stays the same for every launch, as documented. Here the bytes are
//! there from then on too, until the last graph and executable with the node is gone; what a launch changes is whether
//! the program has to free them.

use crate::driver::error::{Error, Result};
use crate::driver::memory::{self, Allocation, Request};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

static LIVE: Mutex<BTreeMap<u64, Weak<GraphMemory>>> = Mutex::new(BTreeMap::new());
static RESERVED: AtomicU64 = AtomicU64::new(0);
static RESERVED_HIGH: AtomicU64 = AtomicU64::new(0);

/// The memory of one allocation node.
#[derive(Debug)]
pub struct GraphMemory {
    /// Where it is.
    pub allocation: Arc<Allocation>,
    /// Whether a node of some graph frees it.
    has_free_node: AtomicBool,
    /// A launch allocated it, and nothing freed it yet.
    outstanding: AtomicBool,
}

impl GraphMemory {
    /// Reserves memory for a node.
    pub fn reserve(request: Request) -> Result<Arc<Self>> {
        let allocation = memory::allocate(request)?;
        let reserved = RESERVED.fetch_add(request.len, Ordering::AcqRel) + request.len;
        RESERVED_HIGH.fetch_max(reserved, Ordering::AcqRel);
        let start = allocation.start;
        let memory = Arc::new(Self {
            allocation,
            has_free_node: AtomicBool::new(false),
            outstanding: AtomicBool::new(false),
        });
        LIVE.lock().insert(start, Arc::downgrade(&memory));
        Ok(memory)
    }

    /// The memory that starts at an address, if a node allocates it.
    pub fn at(address: u64) -> Option<Arc<Self>> {
        LIVE.lock().get(&address).and_then(Weak::upgrade)
    }

    /// Notes that a node frees it; only one may.
    pub(super) fn claim_free_node(&self) -> Result<()> {
        if self.has_free_node.swap(true, Ordering::AcqRel) { Err(Error::INVALID_VALUE) } else { Ok(()) }
    }

    /// Whether a launch allocated it and nothing freed it.
    pub fn is_outstanding(&self) -> bool {
        self.outstanding.load(Ordering::Acquire)
    }

    pub(super) fn allocated(&self) {
        self.outstanding.store(true, Ordering::Release);
    }

    /// Frees what a launch allocated.
    pub fn free(&self) -> Result<()> {
        if self.outstanding.swap(false, Ordering::AcqRel) { Ok(()) } else { Err(Error::INVALID_VALUE) }
    }
}

impl Drop for GraphMemory {
    fn drop(&mut self) {
        LIVE.lock().remove(&self.allocation.start);
        RESERVED.fetch_sub(self.allocation.len, Ordering::AcqRel);
        memory::release(&self.allocation);
    }
}

/// What graphs hold of a device's memory: bytes used by launches now, and reserved; the most there was of the latter.
pub fn usage(device: usize) -> (u64, u64, u64) {
    let live: Vec<_> = LIVE.lock().values().filter_map(Weak::upgrade).collect();
    let of_device = || live.iter().filter(|memory| memory.allocation.device == device);
    let sum = |used: bool| {
        of_device()
            .filter(|memory| !used || memory.is_outstanding())
            .map(|memory| memory.allocation.len)
            .sum()
    };
    (sum(true), sum(false), RESERVED_HIGH.load(Ordering::Acquire))
}
