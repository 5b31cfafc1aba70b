//! Device and host memory.

use crate::{DeviceId, Result, validate};
use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

/// Where memory lives, and who reaches it how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemoryKind {
    /// Device memory. Fastest for kernels; the host reaches it through copies only.
    DeviceLocal,
    /// Pinned host memory that kernels and copies reach directly. Mappable.
    HostVisible,
    /// Memory that migrates between host and device on access. Mappable.
    Managed,
}

impl MemoryKind {
    /// Whether [`Buffer::map`](#method.map) works.
    pub fn is_mappable(self) -> bool {
        matches!(self, MemoryKind::HostVisible | MemoryKind::Managed)
    }
}

/// What to allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferParams {
    /// Bytes. Zero is allowed.
    pub size: u64,
    /// Where.
    pub kind: MemoryKind,
}

impl BufferParams {
    /// `size` bytes of device memory.
    pub fn device_local(size: u64) -> Self {
        BufferParams { size, kind: MemoryKind::DeviceLocal }
    }

    /// `size` bytes of pinned host memory.
    pub fn host_visible(size: u64) -> Self {
        BufferParams { size, kind: MemoryKind::HostVisible }
    }
}

/// Memory of one device.
///
/// It stays allocated while a handle, a command buffer or a submission in flight holds it.
pub trait Buffer: Send + Sync + fmt::Debug {
    /// The device it belongs to.
    fn device_id(&self) -> DeviceId;

    /// Bytes.
    fn size(&self) -> u64;

    /// Where it lives.
    fn kind(&self) -> MemoryKind;

    /// Its address as kernels see it; 256-byte aligned; 0 for an empty buffer.
    fn device_address(&self) -> u64;

    /// Its address as the host sees it; `None` if it is not mappable or is empty. Reading or writing through it while
    /// the device writes there gives undefined contents.
    fn host_address(&self) -> Option<NonNull<u8>>;

    /// Copies from the buffer to the host, without ordering against the device: wait for the work that writes it.
    ///
    /// # Errors
    /// `InvalidArgument` if it is not mappable, `OutOfRange` if the range does not lie within it.
    fn read(&self, offset: u64, target: &mut [u8]) -> Result<()>;

    /// Copies from the host to the buffer, without ordering against the device: wait for the work that uses it.
    ///
    /// # Errors
    /// As for [`read`](Buffer::read).
    fn write(&self, offset: u64, source: &[u8]) -> Result<()>;

    /// For backends to recognise their own.
    fn as_any(&self) -> &dyn Any;
}

impl dyn Buffer {
    /// A view of part of a mappable buffer.
    ///
    /// # Errors
    /// As for [`read`](Buffer::read).
    pub fn map(self: &Arc<Self>, offset: u64, length: u64) -> Result<Mapping> {
        validate::mappable(&**self)?;
        validate::range("map", offset, length, self.size())?;
        Ok(Mapping { buffer: self.clone(), offset, length })
    }
}

/// Part of a mappable buffer, seen by the host. Keeps the buffer alive.
#[derive(Clone, Debug)]
pub struct Mapping {
    buffer: Arc<dyn Buffer>,
    offset: u64,
    length: u64,
}

impl Mapping {
    /// Bytes.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// First byte; dangling if empty. Valid for [`len`](Mapping::len) bytes while the mapping lives. Who dereferences
    /// it owes what Rust asks of raw pointers, with the device as one more thread.
    pub fn as_ptr(&self) -> *mut u8 {
        match self.buffer.host_address() {
            // In range: checked when the mapping was made.
            Some(base) => base.as_ptr().wrapping_add(self.offset as usize),
            None => NonNull::dangling().as_ptr(),
        }
    }

    /// Copies out of the mapping. Safe at any time; what the device writes meanwhile may be seen in part.
    ///
    /// # Errors
    /// `OutOfRange` if the range does not lie within the mapping.
    pub fn read(&self, offset: u64, target: &mut [u8]) -> Result<()> {
        validate::range("read of a mapping", offset, target.len() as u64, self.length)?;
        self.buffer.read(self.offset + offset, target)
    }

    /// Copies into the mapping.
    ///
    /// # Errors
    /// As for [`read`](Mapping::read).
    pub fn write(&self, offset: u64, source: &[u8]) -> Result<()> {
        validate::range("write of a mapping", offset, source.len() as u64, self.length)?;
        self.buffer.write(self.offset + offset, source)
    }
}

/// Part of a buffer.
#[derive(Clone, Debug)]
pub struct BufferRange {
    /// The buffer.
    pub buffer: Arc<dyn Buffer>,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
}

impl BufferRange {
    /// All of a buffer.
    pub fn whole(buffer: &Arc<dyn Buffer>) -> Self {
        BufferRange { buffer: buffer.clone(), offset: 0, length: buffer.size() }
    }

    /// Part of a buffer. Whether it lies within is checked where it is used.
    pub fn new(buffer: &Arc<dyn Buffer>, offset: u64, length: u64) -> Self {
        BufferRange { buffer: buffer.clone(), offset, length }
    }
}

impl From<&Arc<dyn Buffer>> for BufferRange {
    fn from(buffer: &Arc<dyn Buffer>) -> Self {
        BufferRange::whole(buffer)
    }
}
