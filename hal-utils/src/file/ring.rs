//! Pinned memory for pieces of files on their way.

use crate::buffer::DeviceBuffer;
use crate::core::Core;
use crate::native::Native;
use crate::sync::{Arc, Mutex};
use hal_core::{Buffer, BufferParams, BufferRange, Error, ErrorKind, Result};
use std::ptr::NonNull;

/// Bytes of one piece. Large enough that the calls for it do not count, small enough that a ring costs little.
pub(super) const PIECE: u64 = 1 << 20;

/// Pieces of a ring: one that the file works on, one that the device works on, and two on their way.
pub(super) const PIECES: u64 = 4;

/// Rings that nobody uses now. There are never more than threads that run host calls, so memory is bounded by those.
pub(crate) struct Rings<N: Native> {
    idle: Mutex<Vec<Ring<N>>>,
}

impl<N: Native> Default for Rings<N> {
    fn default() -> Self {
        Rings { idle: Mutex::new(Vec::new()) }
    }
}

impl<N: Native> Rings<N> {
    /// One to use. The device uses none of it.
    pub(super) fn take(&self, core: &Arc<Core<N>>) -> Result<Ring<N>> {
        let idle = self.idle.lock().pop();
        match idle {
            Some(ring) => Ok(ring),
            None => Ring::allocate(core),
        }
    }

    /// Takes one back that the device no longer uses.
    pub(super) fn give(&self, core: &Core<N>, ring: Ring<N>) {
        let mut idle = self.idle.lock();
        if core.is_closed() {
            // Kept, it would keep the core, which has this.
            drop(idle);
            drop(ring);
        } else {
            idle.push(ring);
        }
    }

    /// Frees them all.
    pub(crate) fn clear(&self) {
        let rings = std::mem::take(&mut *self.idle.lock());
        drop(rings);
    }
}

/// Pinned memory in pieces. Nobody else has it.
pub(super) struct Ring<N: Native> {
    memory: Arc<DeviceBuffer<N>>,
    base: NonNull<u8>,
}

// SAFETY: the pointer is into `memory`, which is `Send`; access takes `&mut self`.
unsafe impl<N: Native> Send for Ring<N> {}

impl<N: Native> Ring<N> {
    fn allocate(core: &Arc<Core<N>>) -> Result<Self> {
        let memory = DeviceBuffer::allocate(core, &BufferParams::host_visible(PIECE * PIECES))
            .map_err(|error| error.context("pinned memory for a file transfer"))?;
        let base = memory.host_address().ok_or_else(|| {
            Error::new(ErrorKind::Internal, "host-visible memory without a host address; please report this")
        })?;
        // Once, so that the slices below are of initialised bytes whatever the driver gave.
        // SAFETY: within the allocation, which nobody else has.
        unsafe { base.write_bytes(0, (PIECE * PIECES) as usize) };
        Ok(Ring { memory: Arc::new(memory), base })
    }

    /// As commands name it.
    pub(super) fn range(&self, piece: u64, length: u64) -> BufferRange {
        let memory: Arc<dyn Buffer> = self.memory.clone();
        BufferRange::new(&memory, piece % PIECES * PIECE, length)
    }

    /// As the host sees it.
    ///
    /// # Safety
    /// The device does not use this piece while the slice lives.
    pub(super) unsafe fn bytes(&mut self, piece: u64, length: u64) -> &mut [u8] {
        let length = length.min(PIECE) as usize;
        // SAFETY: within the allocation, which is initialised, and which nobody but this ring and the device reaches.
        unsafe {
            let start = self.base.add((piece % PIECES * PIECE) as usize);
            std::slice::from_raw_parts_mut(start.as_ptr(), length)
        }
    }
}
