//! Contexts, the thread's current one, and the sticky error.

use super::capture;
use super::device::Device;
use super::error::{Error, Result, set_last_fault};
use super::handle::{Handle, Registry, fresh};
use super::stream::{self, Stream};
use super::{event, graph, memory, module};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

/// Every live context.
pub static CONTEXTS: Registry<Context> = Registry::new("contexts");

thread_local! {
    static STACK: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
}

/// A context: the owner of streams, events, modules and memory, and the scope of a sticky error.
#[derive(Debug)]
pub struct Context {
    /// Its handle.
    pub handle: Handle,
    /// Its device.
    pub device: &'static Device,
    /// Whether it is its device's primary context.
    pub primary: bool,
    flags: AtomicU32,
    error: AtomicI32,
    /// Stops running kernels.
    pub(super) stop: AtomicBool,
    /// Held while work is put on the null stream or a stream that synchronises with it.
    pub(super) order: Mutex<()>,
    /// Every stream that exists or still has work.
    pub(super) streams: Mutex<Vec<Arc<Stream>>>,
    null: Mutex<Option<Arc<Stream>>>,
}

impl Context {
    /// Makes a context that is not primary. It is not made current.
    pub fn create(device: &'static Device, flags: u32) -> Arc<Self> {
        Self::register(fresh(), device, flags, false)
    }

    pub(super) fn register(handle: Handle, device: &'static Device, flags: u32, primary: bool) -> Arc<Self> {
        let context = Arc::new(Self {
            handle,
            device,
            primary,
            flags: AtomicU32::new(flags),
            error: AtomicI32::new(0),
            stop: AtomicBool::new(false),
            order: Mutex::new(()),
            streams: Mutex::new(Vec::new()),
            null: Mutex::new(None),
        });
        CONTEXTS.insert_at(handle, context.clone());
        context
    }

    /// The flags it was made with.
    pub fn flags(&self) -> u32 {
        self.flags.load(Ordering::Relaxed)
    }

    pub(super) fn set_flags(&self, flags: u32) {
        self.flags.store(flags, Ordering::Relaxed);
    }

    /// The sticky error, if there is one. Every call in the context begins with this.
    pub fn check(&self) -> Result<()> {
        match self.error.load(Ordering::Acquire) {
            0 => Ok(()),
            code => Err(Error(code)),
        }
    }

    /// Makes an error sticky: the first one wins, running kernels are stopped, waiting work is dropped.
    pub fn fail(&self, error: Error, text: impl FnOnce() -> String) {
        if self.check().is_err() {
            return;
        }
        let publish = || self.error.compare_exchange(0, error.0, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if set_last_fault(text(), publish) {
            self.stop.store(true, Ordering::Release);
            stream::wake_waiters();
        }
    }

    /// Makes every stream of the context stand still until the context fails or goes: a device that hangs.
    pub fn hang(self: &Arc<Self>) {
        self.null_stream();
        let streams = self.streams.lock().clone();
        for stream in streams {
            stream.hang();
        }
    }

    /// The stream that calls without a stream use.
    pub fn null_stream(self: &Arc<Self>) -> Arc<Stream> {
        self.null.lock().get_or_insert_with(|| Stream::null(self)).clone()
    }

    pub(super) fn existing_null(&self) -> Option<Arc<Stream>> {
        self.null.lock().clone()
    }

    /// Waits until all work issued so far is done, and tells whether it went well.
    pub fn synchronize(&self) -> Result<()> {
        self.check()?;
        capture::unsafe_call()?;
        for point in self.points() {
            point.wait(|| self.check().is_err());
        }
        self.check()
    }

    /// Waits until no work of this context can touch memory any more, error or not.
    pub(super) fn quiesce(&self) {
        for point in self.points() {
            point.wait(|| false);
        }
    }

    fn points(&self) -> Vec<stream::Point> {
        let streams = self.streams.lock().clone();
        streams.iter().map(|stream| stream.last_point()).collect()
    }

    /// Destroys a created context.
    pub fn destroy(&self) -> Result<()> {
        if self.primary {
            return Err(Error::INVALID_CONTEXT);
        }
        self.tear_down();
        Ok(())
    }

    /// Stops the work of the context and frees all it owns. Calls with its handle or its objects fail from here on.
    pub(super) fn tear_down(&self) {
        if CONTEXTS.remove(self.handle).is_err() {
            return;
        }
        let first = self.error.compare_exchange(
            0,
            Error::CONTEXT_IS_DESTROYED.0,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        self.stop.store(true, Ordering::Release);
        if first.is_ok() {
            stream::wake_waiters();
        }
        let streams = std::mem::take(&mut *self.streams.lock());
        for stream in &streams {
            stream.close();
            stream.wake();
        }
        for stream in &streams {
            stream.last_point().wait(|| false);
        }
        self.null.lock().take();
        stream::STREAMS.remove_where(|stream| stream.context.handle == self.handle);
        event::EVENTS.remove_where(|event| event.context.handle == self.handle);
        module::remove_of(self.handle);
        graph::remove_of(self.handle);
        for allocation in memory::live() {
            if allocation.context == self.handle {
                memory::release(&allocation);
            }
        }
    }
}

/// The live context of a handle.
pub fn context_of(handle: Handle) -> Result<Arc<Context>> {
    CONTEXTS.get(handle).map_err(|_| Error::INVALID_CONTEXT)
}

/// The thread's current context, if any, dead or alive.
pub fn current_handle() -> Option<Handle> {
    STACK.try_with(|stack| stack.borrow().last().copied()).ok().flatten()
}

/// The thread's current context, usable: the beginning of almost every call.
pub fn current() -> Result<Arc<Context>> {
    let handle = current_handle().ok_or(Error::INVALID_CONTEXT)?;
    let context = CONTEXTS.get(handle).map_err(|_| Error::CONTEXT_IS_DESTROYED)?;
    context.check()?;
    Ok(context)
}

/// Puts a context on top of the thread's stack.
pub fn push_current(handle: Handle) -> Result<()> {
    context_of(handle)?;
    with_stack(|stack| stack.push(handle))
}

/// Takes the top of the thread's stack.
pub fn pop_current() -> Result<Handle> {
    with_stack(Vec::pop)?.ok_or(Error::INVALID_CONTEXT)
}

/// Replaces the top of the thread's stack; `None` takes it away.
pub fn set_current(handle: Option<Handle>) -> Result<()> {
    if let Some(handle) = handle {
        context_of(handle)?;
    }
    with_stack(|stack| {
        stack.pop();
        stack.extend(handle);
    })
}

/// Takes a destroyed context off the thread's stack, if it is on top.
pub fn forget_current(handle: Handle) {
    if current_handle() == Some(handle) {
        let _ = with_stack(Vec::pop);
    }
}

fn with_stack<T>(f: impl FnOnce(&mut Vec<Handle>) -> T) -> Result<T> {
    STACK.try_with(|stack| f(&mut stack.borrow_mut())).map_err(|_| Error::DEINITIALIZED)
}
