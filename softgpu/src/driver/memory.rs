//! The table of everything a device may touch, exact to the byte.

use super::arena::Arena;
use super::device::{Device, device};
use super::error::{Error, Result};
use super::handle::Handle;
use super::virtual_memory::Physical;
use crate::check::{self, Checker, Init, calls, calls::Call, race};
use crate::exec;
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// What kind of memory an allocation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Device memory; host accesses to its address fault.
    Device,
    /// A global of a module: device memory that the module frees.
    Global,
    /// Page-locked host memory of the driver; one address for host and device.
    Pinned,
    /// Host memory of the caller, registered.
    Registered,
    /// Managed memory; one address for host and device.
    Managed,
    /// Physical memory mapped at a reserved address.
    Mapped,
}

impl Kind {
    /// Whether the host may dereference the address.
    pub fn is_host(self) -> bool {
        matches!(self, Self::Pinned | Self::Registered | Self::Managed)
    }
}

/// One allocation.
#[derive(Debug)]
pub struct Allocation {
    /// Never the same twice in a process.
    pub id: u64,
    /// Its first device address.
    pub start: u64,
    /// Its length in bytes.
    pub len: u64,
    /// What it is.
    pub kind: Kind,
    /// Ordinal of the device that owns it.
    pub device: usize,
    /// The context that owns it.
    pub context: Handle,
    /// The flags it was made with, for the ABI to report.
    pub flags: u32,
    /// The pool it came from.
    pub pool: Option<Handle>,
    /// Whether kernels may write it.
    pub writable: bool,
    host: *mut u8,
    /// What the bytes belong to, where it is not the allocation.
    owner: Option<Arc<Physical>>,
    /// A stream-ordered free was issued: the program may not name it again, though the stream has not got there yet.
    freeing: AtomicBool,
    freed: AtomicBool,
    /// The call that made it.
    pub made: Call,
    /// Which bytes were written, if somebody checks that.
    pub(crate) init: Option<Init>,
}

// SAFETY: the pointer is to bytes that any thread may access through raw copies; the rest is plain data.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

impl Allocation {
    /// Host address of the byte at `offset`.
    pub fn at(&self, offset: u64) -> *mut u8 {
        self.host.wrapping_add(offset as usize)
    }

    /// What reports call it.
    pub(super) fn place(&self) -> race::Place {
        race::Place { id: self.id, len: self.len, made: self.made }
    }

    /// Whether the program has freed it, though its stream has not come there.
    pub(super) fn is_freeing(&self) -> bool {
        self.freeing.load(Ordering::Acquire)
    }

    /// Whether it was freed in the meantime.
    pub fn is_freed(&self) -> bool {
        self.freed.load(Ordering::Acquire)
    }

    /// The physical memory behind it, if it is mapped.
    pub fn physical(&self) -> Option<&Arc<Physical>> {
        self.owner.as_ref()
    }

    /// The device that owns it.
    pub fn device(&self) -> Result<&'static Device> {
        device(self.device)
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if matches!(self.kind, Kind::Pinned | Kind::Managed) {
            // SAFETY: mapped by `host_pages` with this length, and the last owner is going.
            unsafe { libc::munmap(self.host.cast(), self.len as usize) };
        }
    }
}

/// What to allocate.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Bytes.
    pub len: u64,
    /// Kind of memory; not `Registered`.
    pub kind: Kind,
    /// Owning device.
    pub device: usize,
    /// Owning context.
    pub context: Handle,
    /// Flags to keep.
    pub flags: u32,
    /// The pool to account it to.
    pub pool: Option<Handle>,
    /// Whether kernels may write it.
    pub writable: bool,
}

/// How many freed ranges are remembered to explain faults.
const REMEMBERED: usize = 1024;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);
static ARENA: Mutex<Option<Arena>> = Mutex::new(None);
static TABLE: RwLock<BTreeMap<u64, Arc<Allocation>>> = RwLock::new(BTreeMap::new());
static FREED: Mutex<VecDeque<(u64, u64)>> = Mutex::new(VecDeque::new());

/// Kernels hold addresses without owning them, so host pages freed meanwhile wait here for the last kernel to end.
static KERNELS: AtomicUsize = AtomicUsize::new(0);
static GRAVE: Mutex<Vec<Arc<Allocation>>> = Mutex::new(Vec::new());

fn with_arena<T>(f: impl FnOnce(&mut Arena) -> Result<T>) -> Result<T> {
    let mut arena = ARENA.lock();
    match arena.as_mut() {
        Some(arena) => f(arena),
        None => f(arena.insert(Arena::new()?)),
    }
}

/// Allocates memory. The device's limit counts device and managed memory.
pub fn allocate(request: Request) -> Result<Arc<Allocation>> {
    if request.len == 0 {
        return Err(Error::INVALID_VALUE);
    }
    let limited = request.kind != Kind::Pinned;
    if limited {
        device(request.device)?.take(request.len)?;
    }
    let placed = match request.kind {
        Kind::Device | Kind::Global => with_arena(|arena| arena.allocate(request.len)),
        Kind::Pinned | Kind::Managed => host_pages(request.len).map(|host| (host as u64, host)),
        Kind::Registered | Kind::Mapped => Err(Error::INVALID_VALUE),
    };
    match placed {
        Ok((start, host)) => Ok(enter(request, start, host, None)),
        Err(error) => {
            if limited {
                device(request.device)?.give(request.len);
            }
            Err(error)
        }
    }
}

/// Registers host memory of the caller. `request.kind` must be `Registered`.
///
/// # Safety
/// The range must be readable and writable until it is unregistered.
pub unsafe fn register(host: *mut u8, request: Request) -> Result<Arc<Allocation>> {
    let start = host as u64;
    let end = start.checked_add(request.len).ok_or(Error::INVALID_VALUE)?;
    if host.is_null() || request.len == 0 || is_arena(start) {
        return Err(Error::INVALID_VALUE);
    }
    let taken = TABLE.read().range(..end).next_back().is_some_and(|(_, a)| a.start + a.len > start);
    if taken {
        return Err(Error::HOST_MEMORY_ALREADY_REGISTERED);
    }
    Ok(enter(request, start, host, None))
}

/// Shows bytes of `owner` at a reserved address.
pub(super) fn show(request: Request, start: u64, host: *mut u8, owner: Arc<Physical>) -> Arc<Allocation> {
    enter(request, start, host, Some(owner))
}

/// Reserves device addresses without memory.
pub(super) fn reserve(len: u64, align: u64) -> Result<u64> {
    with_arena(|arena| arena.reserve_range(len, align))
}

fn enter(request: Request, start: u64, host: *mut u8, owner: Option<Arc<Physical>>) -> Arc<Allocation> {
    let Request { len, kind, device, context, flags, pool, writable } = request;
    // The host may write the other kinds unseen, and memory that is shown at an address may be shown at several.
    let checked = kind == Kind::Device && owner.is_none() && check::is_on(Checker::Memory);
    let allocation = Arc::new(Allocation {
        id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
        start,
        len,
        kind,
        device,
        context,
        flags,
        pool,
        writable,
        host,
        owner,
        freeing: AtomicBool::new(false),
        freed: AtomicBool::new(false),
        made: calls::current(),
        init: if checked { Init::new(len) } else { None },
    });
    TABLE.write().insert(start, allocation.clone());
    allocation
}

/// Frees an allocation that [`find`] or [`start_of`] returned. Freeing twice is harmless.
pub fn release(allocation: &Arc<Allocation>) {
    if allocation.freed.swap(true, Ordering::AcqRel) {
        return;
    }
    race::forget(allocation.id);
    TABLE.write().remove(&allocation.start);
    {
        let mut freed = FREED.lock();
        if freed.len() == REMEMBERED {
            freed.pop_front();
        }
        freed.push_back((allocation.start, allocation.len));
    }
    let (limited, in_arena) = match allocation.kind {
        Kind::Device | Kind::Global => (true, true),
        Kind::Managed => (true, false),
        Kind::Pinned | Kind::Registered | Kind::Mapped => (false, false),
    };
    if in_arena && let Some(arena) = ARENA.lock().as_mut() {
        arena.release(allocation.start, allocation.len);
    } else if KERNELS.load(Ordering::Acquire) > 0 {
        GRAVE.lock().push(allocation.clone());
    }
    if limited && let Ok(device) = allocation.device() {
        device.give(allocation.len);
    }
}

/// Marks an allocation as freed for the program, while its stream has yet to get there.
pub fn begin_release(allocation: &Allocation) -> Result<()> {
    if allocation.freeing.swap(true, Ordering::AcqRel) { Err(Error::INVALID_VALUE) } else { Ok(()) }
}

/// The live allocation that holds `address`.
pub fn find(address: u64) -> Option<Arc<Allocation>> {
    let table = TABLE.read();
    let (_, allocation) = table.range(..=address).next_back()?;
    let inside = address - allocation.start < allocation.len && !allocation.freeing.load(Ordering::Acquire);
    inside.then(|| allocation.clone())
}

/// The live allocation that starts at `address`.
pub fn start_of(address: u64) -> Option<Arc<Allocation>> {
    find(address).filter(|allocation| allocation.start == address)
}

/// Whether an address belongs to device memory, allocated or not.
pub fn is_arena(address: u64) -> bool {
    ARENA.lock().as_ref().is_some_and(|arena| arena.range().contains(&address))
}

/// Every live allocation.
pub fn live() -> Vec<Arc<Allocation>> {
    TABLE.read().values().cloned().collect()
}

/// What stands at an address, in words.
pub fn describe(address: u64) -> String {
    if let Some((start, len)) =
        FREED.lock().iter().rev().find(|(start, len)| (*start..*start + *len).contains(&address))
    {
        return format!("{} bytes into an allocation of {len} bytes that was freed", address - start);
    }
    let table = TABLE.read();
    match table.range(..=address).next_back().map(|(_, a)| (a.start, a.len)) {
        Some((start, len)) if address - start < len => {
            format!("{} bytes into a live allocation of {len} bytes", address - start)
        }
        Some((start, len)) => {
            format!(
                "{} bytes past the end of the allocation of {len} bytes at {start:#x}",
                address - start - len
            )
        }
        None => "no allocation is near".to_owned(),
    }
}

fn host_pages(len: u64) -> Result<*mut u8> {
    let len = usize::try_from(len).map_err(|_| Error::OUT_OF_MEMORY)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new anonymous mapping at an address of the kernel's choice.
    let at =
        unsafe { libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if at == libc::MAP_FAILED { Err(Error::OUT_OF_MEMORY) } else { Ok(at.cast()) }
}

/// Memory as one device sees it. While it lives, host pages that are freed stay mapped.
#[derive(Debug)]
pub struct View {
    device: usize,
    peers: u64,
}

impl View {
    /// The view of a device, with the peers it may reach now.
    pub fn new(device: &Device) -> Self {
        KERNELS.fetch_add(1, Ordering::AcqRel);
        Self { device: device.ordinal, peers: device.peers() }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        if KERNELS.fetch_sub(1, Ordering::AcqRel) == 1 {
            let graves = std::mem::take(&mut *GRAVE.lock());
            drop(graves);
        }
    }
}

impl exec::Memory for View {
    fn find(&self, address: u64) -> Option<exec::Extent> {
        let table = TABLE.read();
        let (_, a) = table.range(..=address).next_back()?;
        let reachable = a.kind.is_host() || a.device == self.device || self.peers >> a.device & 1 == 1;
        (reachable && address - a.start < a.len).then(|| exec::Extent {
            start: a.start,
            len: a.len,
            host: a.host,
            writable: a.writable,
        })
    }
}
