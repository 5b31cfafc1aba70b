//! Devices and their primary contexts.

use super::config::config;
use super::context::Context;
use super::error::{Error, Result};
use super::handle::{self, Handle};
use super::pool::Pool;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// What a device can do. Fictional, but consistent: the limits are enforced.
pub mod limits {
    /// Threads in a block.
    pub const THREADS_PER_BLOCK: u32 = 1024;
    /// Block extents, x y z.
    pub const BLOCK: [u32; 3] = [1024, 1024, 64];
    /// Grid extents, x y z.
    pub const GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];
    /// Shared memory of a block without opting in to more.
    pub const SHARED: u32 = 48 << 10;
    /// Shared memory of a block, opted in.
    pub const SHARED_OPTIN: u32 = 163 << 10;
    /// Constant memory.
    pub const CONSTANT: u32 = 64 << 10;
    /// Threads in a warp.
    pub const WARP: u32 = 32;
    /// Multiprocessors.
    pub const MULTIPROCESSORS: u32 = 8;
    /// Threads resident on a multiprocessor.
    pub const THREADS_PER_MULTIPROCESSOR: u32 = 2048;
    /// Blocks resident on a multiprocessor.
    pub const BLOCKS_PER_MULTIPROCESSOR: u32 = 32;
    /// Registers of a block.
    pub const REGISTERS: u32 = 65536;
    /// Bytes of kernel parameters.
    pub const PARAMETERS: usize = 4096;
    /// Compute capability.
    pub const CAPABILITY: (i32, i32) = (8, 0);
    /// Stream priorities, least and greatest; lower is greater.
    pub const PRIORITIES: (i32, i32) = (0, -5);
}

/// The name every device bears.
pub const NAME: &str = "softgpu";

#[derive(Debug, Default)]
struct Primary {
    holders: u32,
    /// One of them is the ABI's runtime.
    runtime: bool,
    flags: u32,
    context: Option<Arc<Context>>,
}

/// One device.
#[derive(Debug)]
pub struct Device {
    /// Its number.
    pub ordinal: usize,
    /// Bytes of memory it has.
    pub memory: u64,
    used: AtomicU64,
    primary_handle: Handle,
    primary: Mutex<Primary>,
    peers: AtomicU64,
    default_pool: OnceLock<Arc<Pool>>,
    current_pool: Mutex<Option<Handle>>,
}

/// All devices.
pub fn devices() -> &'static [Device] {
    static DEVICES: OnceLock<Vec<Device>> = OnceLock::new();
    DEVICES.get_or_init(|| (0..config().devices).map(Device::new).collect())
}

/// The device of an ordinal.
pub fn device(ordinal: usize) -> Result<&'static Device> {
    devices().get(ordinal).ok_or(Error::INVALID_DEVICE)
}

/// The device of an ordinal as ABIs pass it.
pub fn device_of(ordinal: i32) -> Result<&'static Device> {
    usize::try_from(ordinal).map_err(|_| Error::INVALID_DEVICE).and_then(device)
}

impl Device {
    fn new(ordinal: usize) -> Self {
        Self {
            ordinal,
            memory: config().memory,
            used: AtomicU64::new(0),
            primary_handle: handle::fresh(),
            primary: Mutex::default(),
            peers: AtomicU64::new(0),
            default_pool: OnceLock::new(),
            current_pool: Mutex::new(None),
        }
    }

    /// Sixteen bytes that name the device.
    pub fn uuid(&self) -> [u8; 16] {
        let mut uuid = *b"softgpu-device-0";
        uuid[15] = self.ordinal as u8;
        uuid
    }

    /// A PCI address in the form that tools print.
    pub fn bus_id(&self) -> String {
        format!("0000:{:02x}:00.0", self.ordinal + 1)
    }

    /// Free and total bytes.
    pub fn memory_info(&self) -> (u64, u64) {
        (self.memory.saturating_sub(self.used.load(Ordering::Relaxed)), self.memory)
    }

    pub(super) fn take(&self, len: u64) -> Result<()> {
        self.used
            .try_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(len).filter(|&sum| sum <= self.memory)
            })
            .map(drop)
            .map_err(|_| Error::OUT_OF_MEMORY)
    }

    pub(super) fn give(&self, len: u64) {
        self.used.fetch_sub(len, Ordering::Relaxed);
    }

    /// Bit mask of the devices whose memory this one may access.
    pub fn peers(&self) -> u64 {
        self.peers.load(Ordering::Relaxed)
    }

    /// Lets kernels and copies of this device access `peer`'s memory.
    pub fn enable_peer(&self, peer: &Device) -> Result<()> {
        if peer.ordinal == self.ordinal {
            return Err(Error::INVALID_DEVICE);
        }
        let bit = 1 << peer.ordinal;
        match self.peers.fetch_or(bit, Ordering::Relaxed) & bit {
            0 => Ok(()),
            _ => Err(Error::PEER_ACCESS_ALREADY_ENABLED),
        }
    }

    /// Undoes [`Device::enable_peer`].
    pub fn disable_peer(&self, peer: &Device) -> Result<()> {
        let bit = 1 << peer.ordinal;
        match self.peers.fetch_and(!bit, Ordering::Relaxed) & bit {
            0 => Err(Error::PEER_ACCESS_NOT_ENABLED),
            _ => Ok(()),
        }
    }

    /// Makes the primary context if need be, and holds it.
    pub fn retain_primary(&'static self) -> Arc<Context> {
        let mut primary = self.primary.lock();
        primary.holders += 1;
        let flags = primary.flags;
        primary
            .context
            .get_or_insert_with(|| Context::register(self.primary_handle, self, flags, true))
            .clone()
    }

    /// Notes that a holder of the primary context is the ABI's runtime, which never lets go.
    pub fn held_by_runtime(&self) {
        self.primary.lock().runtime = true;
    }

    /// Whether the program holds the primary context.
    pub(super) fn is_primary_held(&self) -> bool {
        let primary = self.primary.lock();
        primary.holders > u32::from(primary.runtime)
    }

    /// Lets go of the primary context; the last holder takes it down.
    pub fn release_primary(&self) -> Result<()> {
        // Held to the end: the next primary context has the same handle, and must not be taken down in place of this.
        let mut primary = self.primary.lock();
        primary.holders = primary.holders.checked_sub(1).ok_or(Error::INVALID_CONTEXT)?;
        let last = if primary.holders == 0 { primary.context.take() } else { None };
        if let Some(context) = last {
            context.tear_down();
        }
        Ok(())
    }

    /// Takes the primary context down, whoever holds it. Holders stay holders of the one made next.
    pub fn reset_primary(&'static self) {
        let mut primary = self.primary.lock();
        if let Some(context) = primary.context.take() {
            context.tear_down();
        }
        if primary.holders > 0 {
            let flags = primary.flags;
            primary.context.get_or_insert_with(|| Context::register(self.primary_handle, self, flags, true));
        }
    }

    /// The flags of the primary context, and whether it is active.
    pub fn primary_state(&self) -> (u32, bool) {
        let primary = self.primary.lock();
        (primary.flags, primary.context.is_some())
    }

    /// Sets the flags of the primary context.
    pub fn set_primary_flags(&self, flags: u32) {
        let mut primary = self.primary.lock();
        primary.flags = flags;
        if let Some(context) = &primary.context {
            context.set_flags(flags);
        }
    }

    /// The pool that stream-ordered allocation uses unless told otherwise.
    pub fn default_pool(&self) -> Arc<Pool> {
        self.default_pool.get_or_init(|| Pool::register(self.ordinal, 0)).clone()
    }

    pub(super) fn made_default_pool(&self) -> Option<Handle> {
        self.default_pool.get().map(|pool| pool.handle)
    }

    pub(super) fn has_default_pool(&self) -> bool {
        self.default_pool.get().is_some()
    }

    /// The pool that stream-ordered allocation uses now.
    pub fn current_pool(&self) -> Arc<Pool> {
        let chosen = *self.current_pool.lock();
        chosen.and_then(|handle| super::pool::POOLS.get(handle).ok()).unwrap_or_else(|| self.default_pool())
    }

    /// Chooses the pool for stream-ordered allocation.
    pub fn set_current_pool(&self, pool: &Pool) -> Result<()> {
        if pool.device != self.ordinal {
            return Err(Error::INVALID_VALUE);
        }
        *self.current_pool.lock() = Some(pool.handle);
        Ok(())
    }
}
