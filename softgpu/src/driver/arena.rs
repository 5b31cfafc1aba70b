//! Device addresses and the host memory behind them.
//!
//! Two address ranges of the same size are reserved. The first gives device addresses and is never accessible: a host
//! program that dereferences a device pointer is stopped at once, as with a discrete GPU. The second, at a constant
//! distance, holds the bytes.
//!
//! Freed ranges rest in a quarantine, filled with [`FREED`], and addresses are not handed out again before the
//! reservation is used up: a stale pointer hits nothing instead of somebody else's allocation.

use super::error::{Error, Result};
use std::collections::{BTreeMap, VecDeque};
use std::ptr;

/// Alignment of every allocation.
pub const ALIGN: u64 = 256;
/// What freed memory holds while in quarantine.
pub const FREED: u8 = 0xDD;
/// What fresh memory holds: nobody may rely on zeros.
pub const FRESH: u8 = 0xCD;

/// Unused bytes after every allocation, so that running over its end never lands in the next.
const GUARD: u64 = 256;
/// Only so much of an allocation is painted: painting touches pages that the program itself may never touch.
const PAINTED: u64 = 1 << 20;
/// The most bytes that rest in quarantine.
const QUARANTINE: u64 = 64 << 20;
/// Memory becomes accessible in steps of this size.
const STEP: u64 = 16 << 20;
/// Sizes to try for the reservation, for processes with limited address space.
const RESERVATIONS: [u64; 3] = [1 << 40, 1 << 36, 1 << 33];

/// The reservation and what of it is in use.
#[derive(Debug)]
pub struct Arena {
    /// First device address.
    pub base: u64,
    size: u64,
    backing: *mut u8,
    /// Bytes from the start that are accessible.
    committed: u64,
    /// Bytes from the start that were handed out at least once.
    used: u64,
    quarantine: VecDeque<(u64, u64)>,
    quarantined: u64,
    /// Ranges free for reuse: offset to length, neighbours merged.
    free: BTreeMap<u64, u64>,
}

// SAFETY: the pointer is to memory that belongs to the arena and is moved with it.
unsafe impl Send for Arena {}

impl Arena {
    /// Reserves addresses.
    pub fn new() -> Result<Self> {
        let reserved = RESERVATIONS.iter().find_map(|&size| {
            let base = reserve(size)?;
            match reserve(size) {
                Some(backing) => Some((base, backing, size)),
                None => {
                    // SAFETY: just mapped, known to nobody else.
                    unsafe { libc::munmap(base.cast(), size as usize) };
                    None
                }
            }
        });
        let (base, backing, size) = reserved.ok_or(Error::OUT_OF_MEMORY)?;
        Ok(Self {
            base: base as u64,
            size,
            backing,
            committed: 0,
            used: 0,
            quarantine: VecDeque::new(),
            quarantined: 0,
            free: BTreeMap::new(),
        })
    }

    /// Whether an address is one of the arena's, allocated or not.
    pub fn range(&self) -> std::ops::Range<u64> {
        self.base..self.base + self.size
    }

    /// Takes `len` bytes: the device address and the host address of the first byte.
    pub fn allocate(&mut self, len: u64) -> Result<(u64, *mut u8)> {
        let span = span_of(len).ok_or(Error::OUT_OF_MEMORY)?;
        let offset = if span <= self.size - self.used { self.extend(span)? } else { self.reuse(span)? };
        // SAFETY: `offset + span` lies in the committed part of the backing range.
        let host = unsafe { self.backing.add(offset as usize) };
        // SAFETY: as above; the range belongs to nobody else.
        unsafe { ptr::write_bytes(host, FRESH, len.min(PAINTED) as usize) };
        Ok((self.base + offset, host))
    }

    /// Takes addresses without memory. They do not come back.
    pub fn reserve_range(&mut self, len: u64, align: u64) -> Result<u64> {
        let start =
            (self.base + self.used).checked_next_multiple_of(align).ok_or(Error::OUT_OF_MEMORY)? - self.base;
        let end =
            start.checked_add(len).and_then(|end| end.checked_add(GUARD)).ok_or(Error::OUT_OF_MEMORY)?;
        if end > self.size {
            return Err(Error::OUT_OF_MEMORY);
        }
        self.used = end.next_multiple_of(ALIGN).min(self.size);
        Ok(self.base + start)
    }

    /// Gives a range back. The bytes stay accessible, so a kernel that still runs meets paint and not a signal.
    pub fn release(&mut self, address: u64, len: u64) {
        let Some(span) = span_of(len) else { return };
        let offset = address - self.base;
        // SAFETY: the range was handed out by `allocate`, so it lies in the committed part.
        let host = unsafe { self.backing.add(offset as usize) };
        let painted = len.min(PAINTED);
        // SAFETY: as above.
        unsafe { ptr::write_bytes(host, FREED, painted as usize) };
        discard(host, painted, len);
        self.quarantine.push_back((offset, span));
        self.quarantined += (span - GUARD).min(PAINTED);
        while self.quarantined > QUARANTINE {
            let Some((offset, span)) = self.quarantine.pop_front() else { break };
            self.quarantined -= (span - GUARD).min(PAINTED);
            self.retire(offset, span);
        }
    }

    fn extend(&mut self, span: u64) -> Result<u64> {
        let end = self.used + span;
        if end > self.committed {
            let target = end.next_multiple_of(STEP).min(self.size);
            // SAFETY: the range lies in the reservation, and no reference into it exists yet.
            let rc = unsafe {
                libc::mprotect(
                    self.backing.add(self.committed as usize).cast(),
                    (target - self.committed) as usize,
                    libc::PROT_READ | libc::PROT_WRITE,
                )
            };
            if rc != 0 {
                return Err(Error::OUT_OF_MEMORY);
            }
            self.committed = target;
        }
        let offset = self.used;
        self.used = end;
        Ok(offset)
    }

    fn reuse(&mut self, span: u64) -> Result<u64> {
        while !self.free.values().any(|&len| len >= span) {
            let (offset, len) = self.quarantine.pop_front().ok_or(Error::OUT_OF_MEMORY)?;
            self.quarantined -= (len - GUARD).min(PAINTED);
            self.retire(offset, len);
        }
        let found = self.free.iter().find(|&(_, &len)| len >= span).map(|(&offset, &len)| (offset, len));
        let (offset, len) = found.ok_or(Error::OUT_OF_MEMORY)?;
        self.free.remove(&offset);
        if len > span {
            self.free.insert(offset + span, len - span);
        }
        Ok(offset)
    }

    fn retire(&mut self, mut offset: u64, mut span: u64) {
        // SAFETY: the range was handed out by `allocate`, so it lies in the committed part.
        discard(unsafe { self.backing.add(offset as usize) }, 0, span);
        if let Some((&before, &len)) = self.free.range(..offset).next_back()
            && before + len == offset
        {
            self.free.remove(&before);
            offset = before;
            span += len;
        }
        if let Some(len) = self.free.remove(&(offset + span)) {
            span += len;
        }
        self.free.insert(offset, span);
    }
}

/// What an allocation takes of the arena.
fn span_of(len: u64) -> Option<u64> {
    len.checked_add(GUARD)?.checked_next_multiple_of(ALIGN)
}

/// Returns the whole pages in `from..len` to the system.
fn discard(host: *mut u8, from: u64, len: u64) {
    const PAGE: usize = 4096;
    let start = (host as usize + from as usize).next_multiple_of(PAGE);
    let end = (host as usize + len as usize) / PAGE * PAGE;
    if start < end {
        // SAFETY: whole pages inside a range that nobody owns; the mapping stays, only the contents go.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED) };
    }
}

fn reserve(size: u64) -> Option<*mut u8> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new anonymous mapping at an address of the kernel's choice.
    let at = unsafe { libc::mmap(ptr::null_mut(), size as usize, libc::PROT_NONE, flags, -1, 0) };
    (at != libc::MAP_FAILED).then_some(at.cast())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_are_aligned_apart_and_not_reused() {
        let mut arena = Arena::new().unwrap();
        let (a, host) = arena.allocate(100).unwrap();
        let (b, _) = arena.allocate(1).unwrap();
        assert_eq!(a % ALIGN, 0);
        assert!(b >= a + 100 + GUARD);
        // SAFETY: inside the allocation.
        assert_eq!(unsafe { *host.add(99) }, FRESH);
        arena.release(a, 100);
        // SAFETY: freed, but documented to stay readable.
        assert_eq!(unsafe { *host }, FREED);
        let (c, _) = arena.allocate(100).unwrap();
        assert_ne!(a, c);
    }

    #[test]
    fn used_up_addresses_come_back_merged() {
        let mut arena = Arena::new().unwrap();
        arena.used = arena.size - 4 * ALIGN;
        arena.committed = arena.size - STEP;
        let (a, _) = arena.allocate(256).unwrap();
        let (b, _) = arena.allocate(256).unwrap();
        assert_eq!(arena.allocate(1), Err(Error::OUT_OF_MEMORY));
        arena.release(a, 256);
        arena.release(b, 256);
        assert_eq!(arena.allocate(3 * ALIGN).map(|(at, _)| at), Ok(a));
        assert_eq!(arena.allocate(u64::MAX), Err(Error::OUT_OF_MEMORY));
    }
}
