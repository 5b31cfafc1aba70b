//! Buffers over native allocations.

use crate::core::Core;
use crate::native::{Allocation, Native};
use crate::shared_memory;
use crate::sync::Arc;
use hal_core::{Buffer, BufferParams, DeviceId, Error, ErrorKind, MemoryKind, Result, validate};
use std::any::Any;
use std::fmt;
use std::ptr::NonNull;

pub(crate) struct DeviceBuffer<N: Native> {
    core: Arc<Core<N>>,
    size: u64,
    kind: MemoryKind,
    /// `None` if empty: drivers refuse to allocate nothing.
    allocation: Option<Allocation>,
    /// Whose memory it is, if not this buffer's own: it is kept rather than the memory freed.
    owner: Option<Arc<dyn Any + Send + Sync>>,
}

impl<N: Native> DeviceBuffer<N> {
    pub(crate) fn allocate(core: &Arc<Core<N>>, params: &BufferParams) -> Result<Self> {
        core.alive()?;
        validate::buffer_params(params)?;
        if params.kind == MemoryKind::Managed && !core.info().capabilities.managed_memory {
            return Err(Error::new(
                ErrorKind::Unimplemented,
                format!(
                    "{} has no managed memory; allocate device-local or host-visible memory",
                    core.info().name
                ),
            ));
        }
        let allocation = match params.size {
            0 => None,
            // `buffer_params` has checked that it fits.
            size => {
                let account = core.memory.of(params.kind);
                account.map_or(Ok(()), |account| account.take(params.kind, size))?;
                // SAFETY: the closure runs with the device current.
                let allocated =
                    core.with_current(|native| unsafe { native.allocate(params.kind, size as usize) });
                match (account, &allocated) {
                    (Some(account), Ok(_)) => account.given(),
                    (Some(account), Err(_)) => account.put_back(size),
                    (None, _) => {}
                }
                let allocated = core.inspect(allocated);
                Some(allocated.map_err(|error| {
                    error.context(format_args!("allocating {size} bytes of {:?} memory", params.kind))
                })?)
            }
        };
        Ok(DeviceBuffer { core: core.clone(), size: params.size, kind: params.kind, allocation, owner: None })
    }

    /// Device memory that something else owns, which lives as long as this.
    ///
    /// # Safety
    /// `size` bytes at `address` are memory of this device while `owner` lives.
    pub(crate) unsafe fn of(
        core: &Arc<Core<N>>,
        address: u64,
        size: u64,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        let kind = MemoryKind::DeviceLocal;
        let allocation = Some(Allocation { device: address, host: None, kind });
        DeviceBuffer { core: core.clone(), size, kind, allocation, owner: Some(owner) }
    }

    /// The host's view of a range.
    fn host_range(&self, what: &str, offset: u64, length: usize) -> Result<Option<NonNull<u8>>> {
        validate::mappable(self)?;
        validate::range(what, offset, length as u64, self.size)?;
        let Some(base) = self.host_address() else { return Ok(None) };
        // SAFETY: in range, so within one allocation.
        Ok(Some(unsafe { base.add(offset as usize) }))
    }
}

impl<N: Native> Buffer for DeviceBuffer<N> {
    fn device_id(&self) -> DeviceId {
        self.core.id
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn kind(&self) -> MemoryKind {
        self.kind
    }

    fn device_address(&self) -> u64 {
        self.allocation.map_or(0, |allocation| allocation.device)
    }

    fn host_address(&self) -> Option<NonNull<u8>> {
        self.allocation?.host
    }

    fn read(&self, offset: u64, target: &mut [u8]) -> Result<()> {
        if let Some(source) = self.host_range("read", offset, target.len())? {
            // SAFETY: in range of an allocation that lives as long as this.
            unsafe { shared_memory::read(source, target) };
        }
        Ok(())
    }

    fn write(&self, offset: u64, source: &[u8]) -> Result<()> {
        if let Some(target) = self.host_range("write", offset, source.len())? {
            // SAFETY: in range of an allocation that lives as long as this.
            unsafe { shared_memory::write(target, source) };
        }
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl<N: Native> Drop for DeviceBuffer<N> {
    fn drop(&mut self) {
        if let (Some(allocation), None) = (self.allocation.take(), &self.owner) {
            // SAFETY: the closure runs with the device current; every submission that uses the memory holds this.
            let freed = self.core.with_current(|native| unsafe { native.free(allocation) });
            if let (Ok(()), Some(account)) = (&freed, self.core.memory.of(self.kind)) {
                account.put_back(self.size);
            }
            self.core.note(freed);
        }
    }
}

impl<N: Native> fmt::Debug for DeviceBuffer<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("device", &self.core.id)
            .field("kind", &self.kind)
            .field("size", &self.size)
            .field("address", &format_args!("{:#x}", self.device_address()))
            .finish()
    }
}
