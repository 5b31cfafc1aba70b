//! Stream memory operations: waiting for a value in memory, and writing one.

use super::context::Context;
use super::error::{Error, Result};
use super::memory::{self, Allocation};
use super::op::Op;
use super::stream::Stream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// When a wait is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// The signed difference to the value is not negative.
    AtLeast,
    /// It is the value.
    Equal,
    /// It has a bit in common with the value.
    And,
    /// A bit is clear in both.
    Nor,
}

impl Until {
    /// The condition that ABIs give this number.
    pub fn of(number: u32) -> Result<Self> {
        match number {
            0 => Ok(Self::AtLeast),
            1 => Ok(Self::Equal),
            2 => Ok(Self::And),
            3 => Ok(Self::Nor),
            _ => Err(Error::INVALID_VALUE),
        }
    }
}

/// How often a wait looks: nothing tells it when a kernel or the host writes.
const PAUSE: Duration = Duration::from_micros(20);

/// A number in memory.
#[derive(Debug)]
pub struct Value {
    allocation: Arc<Allocation>,
    offset: u64,
    value: u64,
    mask: u64,
    is_64: bool,
    /// What to wait for; `None` writes the value.
    until: Option<Until>,
}

impl Value {
    /// Checks an operation on 4 or 8 bytes at an aligned address of known memory.
    pub fn new(address: u64, value: u64, mask: u64, is_64: bool, until: Option<Until>) -> Result<Self> {
        let len = if is_64 { 8 } else { 4 };
        let allocation = memory::find(address).ok_or(Error::INVALID_VALUE)?;
        let offset = address - allocation.start;
        if !address.is_multiple_of(len) || len > allocation.len - offset {
            return Err(Error::INVALID_VALUE);
        }
        Ok(Self { allocation, offset, value, mask, is_64, until })
    }

    /// Puts it on a stream.
    pub fn issue(self, stream: &Arc<Stream>) -> Result<()> {
        stream.enqueue([Op::Value(Arc::new(self))]).map(drop)
    }

    /// The memory it uses, if that is gone.
    pub(super) fn freed(&self) -> Option<&Allocation> {
        self.allocation.is_freed().then_some(&*self.allocation)
    }

    /// Runs on the stream's thread.
    pub(super) fn run(&self, context: &Context) {
        let Some(until) = self.until else { return self.store() };
        while !self.holds(until) && context.check().is_ok() {
            std::thread::park_timeout(PAUSE);
        }
    }

    /// Whether it waits and does not write.
    pub(super) fn is_wait(&self) -> bool {
        self.until.is_some()
    }

    /// What it is, in words.
    pub(super) fn label(&self) -> &'static str {
        if self.until.is_some() { "wait for a value" } else { "write of a value" }
    }

    /// Whether it waits for a value that is not there yet. A wait for memory that is gone is over.
    pub(super) fn is_waiting(&self) -> bool {
        self.freed().is_none() && self.until.is_some_and(|until| !self.holds(until))
    }

    fn store(&self) {
        if let Some(init) = &self.allocation.init {
            init.set(self.offset, if self.is_64 { 8 } else { 4 });
        }
        let at = self.allocation.at(self.offset);
        if self.is_64 {
            // SAFETY: `new` checked the range and the alignment; the allocation keeps the bytes.
            unsafe { AtomicU64::from_ptr(at.cast()) }.store(self.value, Ordering::SeqCst);
        } else {
            // SAFETY: as above.
            unsafe { AtomicU32::from_ptr(at.cast()) }.store(self.value as u32, Ordering::SeqCst);
        }
    }

    fn load(&self) -> u64 {
        let at = self.allocation.at(self.offset);
        if self.is_64 {
            // SAFETY: as in `store`.
            unsafe { AtomicU64::from_ptr(at.cast()) }.load(Ordering::SeqCst)
        } else {
            // SAFETY: as in `store`.
            u64::from(unsafe { AtomicU32::from_ptr(at.cast()) }.load(Ordering::SeqCst))
        }
    }

    fn holds(&self, until: Until) -> bool {
        let (now, value) = (self.load() & self.mask, self.value);
        match until {
            Until::AtLeast if self.is_64 => now.wrapping_sub(value) as i64 >= 0,
            Until::AtLeast => (now as u32).wrapping_sub(value as u32) as i32 >= 0,
            Until::Equal => now == value,
            Until::And => now & value != 0,
            Until::Nor if self.is_64 => !(now | value) != 0,
            Until::Nor => !((now | value) as u32) != 0,
        }
    }
}
