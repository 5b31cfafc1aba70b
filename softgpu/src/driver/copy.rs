//! Copies and fills: checked and resolved when they are issued, run on the stream.

use super::error::{Error, Result};
use super::memory::{self, Allocation};
use super::op::{Op, Range};
use super::stream::Stream;
use crate::check::{self, Checker, Init};
use crate::exec::AccessKind;
use std::ptr;
use std::sync::Arc;

/// What a call says about an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Must be memory that the device can name.
    Device,
    /// Must not be device memory.
    Host,
    /// Whatever the address turns out to be.
    Any,
}

/// Whether a call returns before its work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Return {
    /// When the work is done.
    Done,
    /// As soon as the documented rules for pageable memory allow.
    Issued,
}

/// Distances in bytes between rows and between slices.
#[derive(Clone, Copy, Debug)]
pub struct Pitch {
    /// From row to row.
    pub row: u64,
    /// From slice to slice.
    pub slice: u64,
}

/// What is copied: `depth` slices of `height` rows of `width` bytes.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Bytes in a row.
    pub width: u64,
    /// Rows in a slice.
    pub height: u64,
    /// Slices.
    pub depth: u64,
    /// Layout of the source.
    pub src: Pitch,
    /// Layout of the destination.
    pub dst: Pitch,
}

impl Shape {
    /// So many bytes in one piece.
    pub fn linear(len: u64) -> Self {
        let pitch = Pitch { row: len, slice: len };
        Self { width: len, height: 1, depth: 1, src: pitch, dst: pitch }
    }

    fn bytes(&self) -> u64 {
        self.width.saturating_mul(self.height).saturating_mul(self.depth)
    }

    fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }

    /// Bytes from the first to the last, gaps included.
    fn extent(&self, pitch: Pitch) -> Result<u64> {
        let rows_fit = self.height == 1 || pitch.row >= self.width;
        let slices = (self.depth - 1).checked_mul(pitch.slice);
        let rows = (self.height - 1).checked_mul(pitch.row);
        slices
            .zip(rows)
            .and_then(|(slices, rows)| slices.checked_add(rows)?.checked_add(self.width))
            .filter(|_| rows_fit)
            .ok_or(Error::INVALID_VALUE)
    }

    fn rows(&self, pitch: Pitch) -> impl Iterator<Item = usize> {
        let (depth, height) = (self.depth, self.height);
        (0..depth).flat_map(move |z| (0..height).map(move |y| (z * pitch.slice + y * pitch.row) as usize))
    }
}

#[derive(Debug)]
enum Side {
    /// Memory in the table.
    Tracked(Arc<Allocation>, u64),
    /// Host memory the driver knows nothing of: pageable.
    Pageable(*mut u8),
    /// The driver's own copy of pageable memory.
    Staged(Box<[u8]>),
}

// SAFETY: a pageable pointer is only used by the stream's thread while the caller keeps it valid, which the callers
// of `Copy::new` promise.
unsafe impl Send for Side {}
// SAFETY: as above.
unsafe impl Sync for Side {}

impl Side {
    fn resolve(address: u64, len: u64, space: Space) -> Result<Self> {
        match memory::find(address) {
            Some(allocation) => {
                let offset = address - allocation.start;
                if space == Space::Host && !allocation.kind.is_host() || len > allocation.len - offset {
                    return Err(Error::INVALID_VALUE);
                }
                Ok(Self::Tracked(allocation, offset))
            }
            None if space == Space::Device || address == 0 || memory::is_arena(address) => {
                Err(Error::INVALID_VALUE)
            }
            None => Ok(Self::Pageable(address as *mut u8)),
        }
    }

    fn pointer(&self) -> *mut u8 {
        match self {
            Self::Tracked(allocation, offset) => allocation.at(*offset),
            Self::Pageable(pointer) => *pointer,
            // Only ever read: a destination is never staged.
            Self::Staged(bytes) => bytes.as_ptr().cast_mut(),
        }
    }

    /// The address that the call named.
    fn address(&self) -> u64 {
        match self {
            Self::Tracked(allocation, offset) => allocation.start + offset,
            Self::Pageable(pointer) => *pointer as u64,
            Self::Staged(_) => 0,
        }
    }

    fn init(&self) -> Option<(&Allocation, u64, &Init)> {
        match self {
            Self::Tracked(allocation, offset) => Some((allocation, *offset, allocation.init.as_ref()?)),
            _ => None,
        }
    }

    fn ranges(&self, shape: &Shape, pitch: Pitch, kind: AccessKind) -> Vec<Range<'_>> {
        let Self::Tracked(allocation, offset) = self else { return Vec::new() };
        let one = |row: usize| {
            let start = offset + row as u64;
            (&**allocation, start, start + shape.width, kind)
        };
        shape.rows(pitch).map(one).collect()
    }

    fn freed(&self) -> Option<&Allocation> {
        match self {
            Self::Tracked(allocation, _) if allocation.is_freed() => Some(allocation),
            _ => None,
        }
    }
}

/// A copy, ready to run.
#[derive(Debug)]
pub struct Copy {
    src: Side,
    dst: Side,
    shape: Shape,
}

impl Copy {
    /// Checks a copy. `None` if there is nothing to copy.
    ///
    /// # Safety
    /// Addresses that are neither device memory nor known to the driver must be valid host memory until the copy has
    /// run, in each of its runs.
    pub unsafe fn new(dst: (u64, Space), src: (u64, Space), shape: Shape) -> Result<Option<Self>> {
        if shape.is_empty() {
            return Ok(None);
        }
        let src = Side::resolve(src.0, shape.extent(shape.src)?, src.1)?;
        let dst = Side::resolve(dst.0, shape.extent(shape.dst)?, dst.1)?;
        Ok(Some(Self { src, dst, shape }))
    }

    /// Address of the source, address of the destination, and the shape. An address that the driver staged is gone.
    pub fn parts(&self) -> (u64, u64, Shape) {
        (self.src.address(), self.dst.address(), self.shape)
    }

    /// What it is, in words.
    pub(super) fn label(&self) -> String {
        format!("copy of {} bytes", self.shape.bytes())
    }

    /// What it accesses.
    pub(super) fn ranges(&self) -> Vec<Range<'_>> {
        let mut ranges = self.src.ranges(&self.shape, self.shape.src, AccessKind::Read);
        ranges.extend(self.dst.ranges(&self.shape, self.shape.dst, AccessKind::Write));
        ranges
    }

    /// Keeps account of what was written, and reports what leaves the device unwritten.
    fn check_init(&self) {
        let rows = self.shape.rows(self.shape.src).zip(self.shape.rows(self.shape.dst));
        let width = self.shape.width;
        for (from, to) in rows {
            let (from, to) = (from as u64, to as u64);
            match (self.src.init(), self.dst.init()) {
                (None, None) => return,
                (None, Some((_, offset, dst))) => dst.set(offset + to, width),
                (Some((_, from_offset, src)), Some((_, to_offset, dst))) => {
                    dst.copy_from(to_offset + to, src, from_offset + from, width);
                }
                (Some((allocation, offset, src)), None) => {
                    if let Some(first) = src.first_unset(offset + from, width) {
                        let text = format!(
                            "{} to the host reads byte {first} of the allocation of {} bytes made by {}, which nobody \
                             wrote",
                            self.label(),
                            allocation.len,
                            allocation.made
                        );
                        return check::found(Checker::Memory, text);
                    }
                }
            }
        }
    }

    /// Takes the driver's own copy of a pageable source, so that the caller may change it at once.
    fn stage(&mut self) -> Result<()> {
        let Side::Pageable(source) = self.src else { return Ok(()) };
        let len = self.shape.extent(self.shape.src)? as usize;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|_| Error::OUT_OF_MEMORY)?;
        bytes.resize(len, 0);
        for row in self.shape.rows(self.shape.src) {
            let part = &mut bytes[row..row + self.shape.width as usize];
            // SAFETY: the caller of `new` promised the source; `part` is as long as a row.
            unsafe { ptr::copy_nonoverlapping(source.add(row), part.as_mut_ptr(), part.len()) };
        }
        self.src = Side::Staged(bytes.into_boxed_slice());
        Ok(())
    }

    /// An allocation it uses that is gone.
    pub(super) fn freed(&self) -> Option<&Allocation> {
        self.src.freed().or_else(|| self.dst.freed())
    }

    pub(super) fn run(&self) {
        if check::is_on(Checker::Memory) {
            self.check_init();
        }
        let (src, dst) = (self.src.pointer(), self.dst.pointer());
        let rows = self.shape.rows(self.shape.src).zip(self.shape.rows(self.shape.dst));
        for (from, to) in rows {
            // SAFETY: `new` checked tracked sides to the byte and its caller promised the others. Other threads may
            // touch the bytes only if the program races on device memory.
            unsafe { ptr::copy(src.add(from), dst.add(to), self.shape.width as usize) };
        }
    }

    /// Issues the copy.
    pub fn issue(mut self, stream: &Arc<Stream>, when: Return) -> Result<()> {
        stream.context.check()?;
        if stream.is_capturing() {
            // A node copies what is there at each launch.
            return stream.enqueue([Op::Copy(Arc::new(self))]).map(drop);
        }
        let pageable_target = matches!(self.dst, Side::Pageable(_));
        let wait = when == Return::Done || pageable_target;
        if !wait {
            self.stage()?;
        }
        // The wait goes on after a failure too: the stream must not touch the caller's memory after this call.
        let point = stream.enqueue([Op::Copy(Arc::new(self))])?;
        if wait {
            point.wait(|| false);
        }
        stream.context.check()
    }
}

/// A fill, ready to run.
#[derive(Debug)]
pub struct Fill {
    dst: Side,
    value: u32,
    element: u8,
    shape: Shape,
}

impl Fill {
    /// Checks a fill of `height` rows of `width` elements of 1, 2 or 4 bytes. `None` if there is nothing to fill.
    pub fn new(
        dst: u64,
        value: u32,
        element: u8,
        width: u64,
        height: u64,
        pitch: u64,
    ) -> Result<Option<Self>> {
        let bytes = u64::from(element);
        if !matches!(element, 1 | 2 | 4) || !dst.is_multiple_of(bytes) {
            return Err(Error::INVALID_VALUE);
        }
        let width = width.checked_mul(bytes).ok_or(Error::INVALID_VALUE)?;
        let pitch = if height == 1 { Pitch { row: width, slice: 0 } } else { Pitch { row: pitch, slice: 0 } };
        if !pitch.row.is_multiple_of(bytes) {
            return Err(Error::INVALID_VALUE);
        }
        let shape = Shape { width, height, depth: 1, src: pitch, dst: pitch };
        if shape.is_empty() {
            return Ok(None);
        }
        let dst = Side::resolve(dst, shape.extent(pitch)?, Space::Device)?;
        Ok(Some(Self { dst, value, element, shape }))
    }

    /// Address, value, bytes of an element, and the shape in bytes.
    pub fn parts(&self) -> (u64, u32, u8, Shape) {
        (self.dst.address(), self.value, self.element, self.shape)
    }

    /// What it is, in words.
    pub(super) fn label(&self) -> String {
        format!("fill of {} bytes", self.shape.bytes())
    }

    /// What it accesses.
    pub(super) fn ranges(&self) -> Vec<Range<'_>> {
        self.dst.ranges(&self.shape, self.shape.dst, AccessKind::Write)
    }

    pub(super) fn freed(&self) -> Option<&Allocation> {
        self.dst.freed()
    }

    pub(super) fn run(&self) {
        let dst = self.dst.pointer();
        for row in self.shape.rows(self.shape.dst) {
            if let Some((_, offset, init)) = self.dst.init() {
                init.set(offset + row as u64, self.shape.width);
            }
            let at = dst.wrapping_add(row);
            let count = self.shape.width as usize / self.element as usize;
            match self.element {
                // SAFETY: `new` checked the range to the byte, for this and the next two.
                1 => unsafe { ptr::write_bytes(at, self.value as u8, count) },
                // SAFETY: as above, and the address is aligned.
                2 => (0..count).for_each(|i| unsafe { at.cast::<u16>().add(i).write(self.value as u16) }),
                // SAFETY: as above.
                _ => (0..count).for_each(|i| unsafe { at.cast::<u32>().add(i).write(self.value) }),
            }
        }
    }

    /// Issues the fill.
    pub fn issue(self, stream: &Arc<Stream>, when: Return) -> Result<()> {
        let point = stream.enqueue([Op::Fill(Arc::new(self))])?;
        match when {
            Return::Done => stream.wait_for(&point),
            Return::Issued => Ok(()),
        }
    }
}
