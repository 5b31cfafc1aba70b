//! Virtual memory management: address ranges, physical memory, and mappings between them.
//!
//! Physical memory is a memory file, so that it can be handed to another process as a descriptor.

use super::context::Context;
use super::device::device;
use super::error::{Error, Result};
use super::handle::{Handle, Registry};
use super::memory::{self, Allocation, Kind, Request};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// What sizes and addresses must be multiples of.
pub const GRANULARITY: u64 = 2 << 20;

/// All physical memory that a program has a handle to.
pub static PHYSICAL: Registry<Physical> = Registry::new("physical allocations");

/// Physical memory.
#[derive(Debug)]
pub struct Physical {
    /// Its handle.
    pub handle: Handle,
    /// Bytes.
    pub len: u64,
    /// Ordinal of its device.
    pub device: usize,
    /// Whether it may be exported.
    pub shareable: bool,
    /// Whether the device's account has it: what is imported is on the account of who made it.
    accounted: bool,
    holders: AtomicU32,
    file: OwnedFd,
    host: *mut u8,
}

// SAFETY: the pointer is to a mapping that goes with the object; its bytes are accessed through raw copies.
unsafe impl Send for Physical {}
// SAFETY: as above.
unsafe impl Sync for Physical {}

impl Drop for Physical {
    fn drop(&mut self) {
        // SAFETY: mapped by `map_file` with this length; the last mapping that a device sees is gone.
        unsafe { libc::munmap(self.host.cast(), self.len as usize) };
        if self.accounted
            && let Ok(device) = device(self.device)
        {
            device.give(self.len);
        }
    }
}

fn map_file(file: &OwnedFd, len: u64) -> Result<*mut u8> {
    let (prot, fd) = (libc::PROT_READ | libc::PROT_WRITE, file.as_raw_fd());
    // SAFETY: a new mapping of a file at an address of the system's choice.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), len as usize, prot, libc::MAP_SHARED, fd, 0) };
    if at == libc::MAP_FAILED { Err(Error::OUT_OF_MEMORY) } else { Ok(at.cast()) }
}

fn memory_file(len: u64) -> Result<OwnedFd> {
    // SAFETY: a name that ends in a zero byte.
    let fd = unsafe { libc::memfd_create(c"softgpu".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(Error::OPERATING_SYSTEM);
    }
    // SAFETY: a new descriptor that nobody else owns.
    let file = unsafe { OwnedFd::from_raw_fd(fd) };
    let size = libc::off_t::try_from(len).map_err(|_| Error::OUT_OF_MEMORY)?;
    // SAFETY: a descriptor of our own.
    if unsafe { libc::ftruncate(file.as_raw_fd(), size) } == 0 { Ok(file) } else { Err(Error::OUT_OF_MEMORY) }
}

impl Physical {
    /// Makes physical memory.
    pub fn create(ordinal: usize, len: u64, shareable: bool) -> Result<Arc<Self>> {
        if len == 0 || !len.is_multiple_of(GRANULARITY) {
            return Err(Error::INVALID_VALUE);
        }
        device(ordinal)?.take(len)?;
        let made = memory_file(len).and_then(|file| Self::register(ordinal, len, shareable, true, file));
        made.inspect_err(|_| {
            if let Ok(device) = device(ordinal) {
                device.give(len);
            }
        })
    }

    fn register(
        device: usize,
        len: u64,
        shareable: bool,
        accounted: bool,
        file: OwnedFd,
    ) -> Result<Arc<Self>> {
        let host = map_file(&file, len)?;
        let make = |handle| Self {
            handle,
            len,
            device,
            shareable,
            accounted,
            holders: AtomicU32::new(1),
            file,
            host,
        };
        Ok(PHYSICAL.insert_with(make))
    }

    /// A descriptor of the memory, for another process; the caller closes it.
    pub fn export(&self) -> Result<RawFd> {
        if !self.shareable {
            return Err(Error::INVALID_VALUE);
        }
        self.file.try_clone().map(IntoRawFd::into_raw_fd).map_err(|_| Error::OPERATING_SYSTEM)
    }

    /// Memory of a descriptor from [`Physical::export`]; the descriptor stays the caller's.
    pub fn import(ordinal: usize, fd: RawFd) -> Result<Arc<Self>> {
        device(ordinal)?;
        // SAFETY: a descriptor, good or not; the copy is checked.
        let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) };
        if copy < 0 {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: a new descriptor that nobody else owns.
        let file = unsafe { OwnedFd::from_raw_fd(copy) };
        // SAFETY: plain numbers, for which zeros are values.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: a descriptor of our own and a place for the answer.
        let known = unsafe { libc::fstat(file.as_raw_fd(), &mut stat) } == 0;
        let len = u64::try_from(stat.st_size).unwrap_or(0);
        if !known || len == 0 || !len.is_multiple_of(GRANULARITY) {
            return Err(Error::INVALID_VALUE);
        }
        Self::register(ordinal, len, true, false, file)
    }

    /// Holds a handle once more.
    pub fn retain(&self) {
        self.holders.fetch_add(1, Ordering::AcqRel);
    }

    /// Lets go of a handle; mappings keep the memory.
    pub fn release(handle: Handle) -> Result<()> {
        let physical = PHYSICAL.get(handle)?;
        if physical.holders.fetch_sub(1, Ordering::AcqRel) == 1 {
            PHYSICAL.remove(handle)?;
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Mapping {
    len: u64,
    offset: u64,
    physical: Arc<Physical>,
    /// There once a device may access it.
    visible: Option<(Arc<Allocation>, u64)>,
}

#[derive(Debug)]
struct Range {
    len: u64,
    mappings: BTreeMap<u64, Mapping>,
}

static RANGES: Mutex<BTreeMap<u64, Range>> = Mutex::new(BTreeMap::new());

fn aligned(values: &[u64]) -> Result<()> {
    let fits = values.iter().all(|value| value.is_multiple_of(GRANULARITY));
    if fits { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

/// Reserves addresses. They are not used again when they are freed.
pub fn reserve(len: u64, align: u64) -> Result<u64> {
    aligned(&[len])?;
    if len == 0 || align != 0 && !align.is_power_of_two() {
        return Err(Error::INVALID_VALUE);
    }
    let start = memory::reserve(len, align.max(GRANULARITY))?;
    RANGES.lock().insert(start, Range { len, mappings: BTreeMap::new() });
    Ok(start)
}

/// Frees reserved addresses, whole, that nothing is mapped at.
pub fn free(start: u64, len: u64) -> Result<()> {
    let mut ranges = RANGES.lock();
    let range = ranges.get(&start).ok_or(Error::INVALID_VALUE)?;
    if range.len != len || !range.mappings.is_empty() {
        return Err(Error::INVALID_VALUE);
    }
    ranges.remove(&start);
    Ok(())
}

fn range_of(ranges: &mut BTreeMap<u64, Range>, start: u64, len: u64) -> Result<&mut Range> {
    let end = start.checked_add(len).filter(|_| len > 0).ok_or(Error::INVALID_VALUE)?;
    let (base, range) = ranges.range_mut(..=start).next_back().ok_or(Error::INVALID_VALUE)?;
    if end <= base + range.len { Ok(range) } else { Err(Error::INVALID_VALUE) }
}

/// Maps physical memory. No device may access it yet.
pub fn map(start: u64, len: u64, offset: u64, physical: Arc<Physical>) -> Result<()> {
    aligned(&[start, len, offset])?;
    let mut ranges = RANGES.lock();
    let range = range_of(&mut ranges, start, len)?;
    let taken = range.mappings.range(..start + len).next_back().is_some_and(|(at, m)| at + m.len > start);
    let fits = offset.checked_add(len).is_some_and(|end| end <= physical.len);
    if taken || !fits {
        return Err(Error::INVALID_VALUE);
    }
    range.mappings.insert(start, Mapping { len, offset, physical, visible: None });
    Ok(())
}

/// Whole mappings that fill `start..start + len` without a gap.
fn covered(range: &Range, start: u64, len: u64) -> Result<Vec<u64>> {
    let mut next = start;
    let mut found = Vec::new();
    for (at, mapping) in range.mappings.range(start..start + len) {
        if *at != next {
            return Err(Error::INVALID_VALUE);
        }
        next += mapping.len;
        found.push(*at);
    }
    if next == start + len { Ok(found) } else { Err(Error::INVALID_VALUE) }
}

/// Unmaps whole mappings, after the work of the context.
pub fn unmap(context: &Context, start: u64, len: u64) -> Result<()> {
    context.quiesce();
    let mut ranges = RANGES.lock();
    let range = range_of(&mut ranges, start, len)?;
    for at in covered(range, start, len)? {
        if let Some(Mapping { visible: Some((allocation, _)), .. }) = range.mappings.remove(&at) {
            memory::release(&allocation);
        }
    }
    Ok(())
}

/// Lets the device that owns the memory read it (1), read and write it (3), or neither (0).
pub fn set_access(context: &Context, start: u64, len: u64, flags: u64) -> Result<()> {
    let mut ranges = RANGES.lock();
    let range = range_of(&mut ranges, start, len)?;
    for at in covered(range, start, len)? {
        let Some(mapping) = range.mappings.get_mut(&at) else { continue };
        if let Some((old, _)) = mapping.visible.take() {
            memory::release(&old);
        }
        if flags == 0 {
            continue;
        }
        let request = Request {
            len: mapping.len,
            kind: Kind::Mapped,
            device: mapping.physical.device,
            context: context.handle,
            flags: 0,
            pool: None,
            writable: flags == 3,
        };
        let host = mapping.physical.host.wrapping_add(mapping.offset as usize);
        mapping.visible = Some((memory::show(request, at, host, mapping.physical.clone()), flags));
    }
    Ok(())
}

/// What devices may do at an address.
pub fn access(address: u64) -> Result<u64> {
    let mut ranges = RANGES.lock();
    let range = range_of(&mut ranges, address, 1)?;
    let (at, mapping) = range.mappings.range(..=address).next_back().ok_or(Error::INVALID_VALUE)?;
    if address - at < mapping.len {
        Ok(mapping.visible.as_ref().map_or(0, |(_, flags)| *flags))
    } else {
        Err(Error::INVALID_VALUE)
    }
}

/// The physical memory mapped at an address.
pub fn physical_at(address: u64) -> Result<Arc<Physical>> {
    let mut ranges = RANGES.lock();
    let range = range_of(&mut ranges, address, 1)?;
    let (at, mapping) = range.mappings.range(..=address).next_back().ok_or(Error::INVALID_VALUE)?;
    if address - at < mapping.len { Ok(mapping.physical.clone()) } else { Err(Error::INVALID_VALUE) }
}
