//! Memory pools and stream-ordered allocation.
//!
//! An address is given out when the call is made and is good for work issued after it; it dies when the stream comes
//! to its free. Freed memory counts as reserved by the pool until the pool is trimmed; addresses are not reused.

use super::capture;
use super::error::{Error, Result};
use super::graph::GraphMemory;
use super::handle::{Handle, Registry};
use super::memory::{self, Allocation, Kind, Request};
use super::op::Op;
use super::stream::Stream;
use parking_lot::Mutex;
use std::sync::Arc;

/// Every live pool.
pub static POOLS: Registry<Pool> = Registry::new("pools");

/// What a pool counts and what was set on it.
#[derive(Clone, Copy, Debug)]
pub struct PoolState {
    /// Bytes in use.
    pub used: u64,
    /// The most there were since this was reset.
    pub used_high: u64,
    /// Bytes held, in use or not.
    pub reserved: u64,
    /// The most there were since this was reset.
    pub reserved_high: u64,
    /// Bytes to hold before a synchronisation gives memory back.
    pub release_threshold: u64,
    /// The three reuse policies, in the order of their attributes. Kept, and without effect.
    pub reuse: [bool; 3],
}

/// A memory pool.
#[derive(Debug)]
pub struct Pool {
    /// Its handle.
    pub handle: Handle,
    /// Ordinal of its device.
    pub device: usize,
    /// The most it may hold; 0 for no limit of its own.
    pub max_size: u64,
    state: Mutex<PoolState>,
}

impl Pool {
    /// Makes a pool.
    pub fn register(device: usize, max_size: u64) -> Arc<Self> {
        let state = PoolState {
            used: 0,
            used_high: 0,
            reserved: 0,
            reserved_high: 0,
            release_threshold: 0,
            reuse: [true; 3],
        };
        POOLS.insert_with(|handle| Self { handle, device, max_size, state: Mutex::new(state) })
    }

    /// Destroys a pool. What was allocated from it stays until it is freed.
    pub fn destroy(handle: Handle) -> Result<()> {
        let pool = POOLS.get(handle)?;
        if super::device::device(pool.device)?.default_pool().handle == handle {
            return Err(Error::INVALID_VALUE);
        }
        POOLS.remove(handle).map(drop)
    }

    /// Counters and settings now.
    pub fn state(&self) -> PoolState {
        *self.state.lock()
    }

    /// Changes counters or settings.
    pub fn update(&self, change: impl FnOnce(&mut PoolState)) {
        change(&mut self.state.lock());
    }

    /// Gives memory back that is not in use, down to `keep` bytes.
    pub fn trim(&self, keep: u64) {
        self.update(|state| state.reserved = state.reserved.min(keep).max(state.used));
    }

    fn take(&self, len: u64) -> Result<()> {
        let mut state = self.state.lock();
        let used = state.used.checked_add(len).ok_or(Error::OUT_OF_MEMORY)?;
        if self.max_size != 0 && used > self.max_size {
            return Err(Error::OUT_OF_MEMORY);
        }
        state.used = used;
        state.used_high = state.used_high.max(used);
        state.reserved = state.reserved.max(used);
        state.reserved_high = state.reserved_high.max(state.reserved);
        Ok(())
    }

    fn give(&self, len: u64) {
        self.update(|state| {
            state.used -= len;
            state.reserved = state.reserved.min(state.release_threshold).max(state.used);
        });
    }

    /// Allocates for use on a stream.
    pub fn allocate(&self, stream: &Stream, len: u64) -> Result<Arc<Allocation>> {
        stream.context.check()?;
        if len == 0 {
            return Err(Error::INVALID_VALUE);
        }
        let request = Request {
            len,
            kind: Kind::Device,
            device: self.device,
            context: stream.context.handle,
            flags: 0,
            pool: Some(self.handle),
            writable: true,
        };
        // Memory of graphs is not the pool's.
        if let Some(memory) = capture::allocate(stream, Request { pool: None, ..request })? {
            return Ok(memory.allocation.clone());
        }
        self.take(len)?;
        memory::allocate(request).inspect_err(|_| self.give(len))
    }
}

/// Frees an allocation, whole, when the stream comes to it. The program may not name it from here on.
pub fn free_async(address: u64, stream: &Arc<Stream>) -> Result<()> {
    stream.context.check()?;
    if capture::free(stream, address)? {
        return Ok(());
    }
    if let Some(memory) = GraphMemory::at(address) {
        return memory.free();
    }
    let allocation =
        memory::start_of(address).filter(|a| a.kind == Kind::Device).ok_or(Error::INVALID_VALUE)?;
    memory::begin_release(&allocation)?;
    stream.enqueue([Op::Free(allocation)]).map(drop)
}

/// Frees an allocation now and takes it off its pool's account.
pub fn free_now(allocation: &Arc<Allocation>) {
    if allocation.is_freed() {
        return;
    }
    memory::release(allocation);
    if let Some(pool) = allocation.pool.and_then(|pool| POOLS.get(pool).ok()) {
        pool.give(allocation.len);
    }
}

/// Frees device memory, after the work of its context that may use it.
pub fn free(address: u64) -> Result<()> {
    capture::unsafe_call()?;
    if let Some(memory) = GraphMemory::at(address) {
        let context = super::context::context_of(memory.allocation.context)?;
        context.quiesce();
        return memory.free().and_then(|()| context.check());
    }
    let allocation = memory::start_of(address).ok_or(Error::INVALID_VALUE)?;
    if !matches!(allocation.kind, Kind::Device | Kind::Managed) {
        return Err(Error::INVALID_VALUE);
    }
    free_idle(&allocation)
}

/// Frees page-locked memory of the driver, after the work of its context.
pub fn free_host(address: u64) -> Result<()> {
    let allocation = memory::start_of(address).ok_or(Error::INVALID_VALUE)?;
    if allocation.kind != Kind::Pinned {
        return Err(Error::INVALID_VALUE);
    }
    free_idle(&allocation)
}

/// Forgets registered host memory, after the work of its context.
pub fn unregister(address: u64) -> Result<()> {
    let allocation = memory::start_of(address).filter(|a| a.kind == Kind::Registered);
    free_idle(&allocation.ok_or(Error::HOST_MEMORY_NOT_REGISTERED)?)
}

fn free_idle(allocation: &Arc<Allocation>) -> Result<()> {
    capture::unsafe_call()?;
    let context = super::context::context_of(allocation.context).ok();
    if let Some(context) = &context {
        context.quiesce();
    }
    free_now(allocation);
    context.map_or(Ok(()), |context| context.check())
}
