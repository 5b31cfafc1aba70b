//! A GPU, and what it can do.

use crate::{
    Buffer, BufferParams, CommandBuffer, CommandEncoder, CommandList, Deadline, DriverInfo, Encoding, Error,
    EventFd, Executable, ExecutableFormat, ExecutableParams, ExportedEvent, ExportedEventFd, ImportedEventFd,
    Loading, MemoryBudgets, MemoryKind, MemoryStatistics, NativeContext, NativeEvent, OnLoaded, Queue,
    QueueParams, Result, Semaphore, SemaphorePoint, SubmissionTrace,
};
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Tells open devices apart within this process. Opening a GPU twice gives two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId(pub u64);

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "device#{}", self.0)
    }
}

/// What is known of a device without opening it.
#[derive(Clone, Debug)]
pub struct DeviceInfo {
    /// The driver it belongs to.
    pub driver: DriverInfo,
    /// Its place in the driver's list.
    pub ordinal: u32,
    /// Its name as the driver gives it.
    pub name: String,
    /// Stable across reboots and enumeration order, `GPU-xxxxxxxx-xxxx-…`.
    pub uuid: String,
    /// `sm_80`, `gfx90a`.
    pub arch: String,
    /// Device memory in bytes.
    pub total_memory: u64,
    /// What it can do.
    pub capabilities: Capabilities,
    /// How much of it.
    pub limits: Limits,
}

impl DeviceInfo {
    /// The URI that opens this device, `cuda://0`.
    pub fn uri(&self) -> String {
        format!("{}://{}", self.driver.backend, self.ordinal)
    }
}

/// What a device can do. A conformance case names the ones it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Formats `load_executable` takes.
    pub formats: Vec<ExecutableFormat>,
    /// [`MemoryKind::Managed`](crate::MemoryKind::Managed) can be allocated.
    pub managed_memory: bool,
    /// Stream-ordered allocation.
    pub memory_pools: bool,
    /// Native graphs.
    pub graphs: bool,
    /// [`EntryPoint::parameters`](crate::EntryPoint::parameters) is known, and dispatches are checked against it.
    pub parameter_reflection: bool,
    /// Entry points can be listed rather than only looked up by name.
    pub entry_point_listing: bool,
}

impl Capabilities {
    /// Each capability by name, and what this device has of it, for reports. Complete: the compiler tells where a new one
    /// is missing.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let Capabilities {
            formats,
            managed_memory,
            memory_pools,
            graphs,
            parameter_reflection,
            entry_point_listing,
        } = self;
        let yes = |has: bool| if has { "yes" } else { "no" }.to_owned();
        let formats: Vec<_> = formats.iter().map(|format| format.name()).collect();
        vec![
            ("executable formats", formats.join(", ")),
            ("managed memory", yes(*managed_memory)),
            ("memory pools", yes(*memory_pools)),
            ("graphs", yes(*graphs)),
            ("parameter reflection", yes(*parameter_reflection)),
            ("entry point listing", yes(*entry_point_listing)),
            ("eventfd", yes(self.eventfd())),
        ]
    }

    /// [`Device::export_eventfd`] and [`Device::import_eventfd`] are there. The platform decides, not the driver.
    pub const fn eventfd(&self) -> bool {
        cfg!(target_os = "linux")
    }
}

/// How much of it. Validation holds calls to these before a driver sees them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Threads in one workgroup, all dimensions multiplied.
    pub max_workgroup_size: u32,
    /// Threads in one workgroup, per dimension.
    pub max_workgroup_dims: [u32; 3],
    /// Workgroups in one dispatch, per dimension.
    pub max_grid_dims: [u32; 3],
    /// Shared memory of one workgroup, in bytes.
    pub max_shared_memory: u32,
    /// Threads that run in lock-step.
    pub subgroup_size: u32,
    /// Multiprocessors or compute units.
    pub multiprocessors: u32,
    /// Lowest and highest stream priority as the driver numbers them; equal if it has only one.
    pub stream_priorities: [i32; 2],
}

/// What could not be freed when a device was closed.
#[derive(Clone, Debug)]
pub struct TeardownReport {
    /// The device.
    pub device: String,
    /// Submissions still running when the limit passed; their resources stay allocated.
    pub abandoned: Vec<String>,
    /// Frees that the driver refused.
    pub failures: Vec<Error>,
}

/// Somebody to be told.
pub type Observer<T> = Arc<dyn Fn(&T) + Send + Sync>;

/// How a device is run. The defaults suit a framework.
#[derive(Clone)]
pub struct DeviceParams {
    /// Events kept ready for reuse. More are created on demand and destroyed when they come back. Default 64.
    pub event_pool_capacity: usize,
    /// Submissions that one queue may have on the device before `submit` hands further ones to the worker thread
    /// instead of calling the driver itself, which would block once the driver's own queue is full. Default 512.
    pub inline_issue_limit: usize,
    /// Native streams. Queues beyond that share them: their order is as promised, but a long kernel of one may delay the
    /// other. A priority that has no stream yet gets one all the same. Default 64.
    pub max_streams: usize,
    /// Longest pause between two looks at running work. Shorter finds completions sooner and costs more of a core.
    /// Default 200 µs.
    pub completion_interval: Duration,
    /// How long closing the device waits for work that runs. Default 10 s.
    pub teardown_limit: Duration,
    /// How long a submission may take from `submit` to its end, waits included. One that outlives this fails as
    /// `DeadlineExceeded`, with a report of what it waits for and who was to signal that; its resources stay until the
    /// device is done with them. Somebody looks four times per limit, also if nobody waits. Default none.
    pub watchdog: Option<Duration>,
    /// What [`Encoding::Auto`] means for command buffers of this device. Default [`Encoding::Auto`], which is
    /// [`Encoding::Stream`].
    pub encoding: Encoding,
    /// Most threads that run host calls, file transfers and the loading of executables in the background. They are
    /// started on demand. A call that waits for another one's end takes a thread meanwhile: enough of those need more
    /// than there are, so let such a call keep its [`HostCompletion`](crate::HostCompletion) and return. Default 4.
    pub host_call_threads: usize,
    /// Most memory the device may have allocated. Default none.
    pub memory_budgets: MemoryBudgets,
    /// Called for each submission as it ends, on the thread that ends it, before its resources are freed: once
    /// `wait_idle` returns, all that it waited for has been told. It must not block or call the device; what it is told
    /// of is allocated for it. What is given up as the device closes is told to `on_teardown` instead. Default none, which
    /// costs nothing.
    pub trace: Option<Observer<SubmissionTrace>>,
    /// Called once if the device is lost, before any wait sees the loss. Must not block.
    pub on_lost: Option<Observer<Error>>,
    /// Called when the device could not free everything as it closed, and again if what outlived it cannot be freed.
    pub on_teardown: Option<Observer<TeardownReport>>,
}

impl Default for DeviceParams {
    fn default() -> Self {
        DeviceParams {
            event_pool_capacity: 64,
            inline_issue_limit: 512,
            max_streams: 64,
            completion_interval: Duration::from_micros(200),
            teardown_limit: Duration::from_secs(10),
            watchdog: None,
            host_call_threads: 4,
            memory_budgets: MemoryBudgets::default(),
            trace: None,
            encoding: Encoding::Auto,
            on_lost: None,
            on_teardown: None,
        }
    }
}

impl fmt::Debug for DeviceParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceParams")
            .field("event_pool_capacity", &self.event_pool_capacity)
            .field("inline_issue_limit", &self.inline_issue_limit)
            .field("max_streams", &self.max_streams)
            .field("completion_interval", &self.completion_interval)
            .field("teardown_limit", &self.teardown_limit)
            .field("watchdog", &self.watchdog)
            .field("host_call_threads", &self.host_call_threads)
            .field("memory_budgets", &self.memory_budgets)
            .field("trace", &self.trace.is_some())
            .field("encoding", &self.encoding)
            .finish_non_exhaustive()
    }
}

/// Counts of a device's queues and native streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounters {
    /// Queues the user holds.
    pub live: u64,
    /// Dropped queues whose work still runs.
    pub outstanding: u64,
    /// Queues that took over an idle stream instead of creating one.
    pub reused: u64,
    /// Queues that share a busy stream, since there were [`DeviceParams::max_streams`] already.
    pub shared: u64,
    /// Native streams ever created.
    pub created: u64,
}

/// Counts of what a device has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Queues and streams.
    pub queues: QueueCounters,
    /// Submissions accepted.
    pub submitted: u64,
    /// Submissions handed to the driver.
    pub issued: u64,
    /// Submissions that ended, either way.
    pub retired: u64,
    /// Of those, the ones that failed.
    pub failed: u64,
    /// Submissions issued on the thread that called `submit`.
    pub issued_inline: u64,
    /// Waits handed to the device.
    pub device_waits: u64,
    /// Waits that stream order made unnecessary.
    pub elided_waits: u64,
    /// Native events in existence.
    pub events: u64,
}

/// An open GPU.
///
/// Queues keep their device open. When the last of the device's and its queues' handles is dropped, unissued work
/// fails as `Cancelled`, issued work is waited for up to [`DeviceParams::teardown_limit`], and the device closes.
/// Buffers, executables and semaphores may outlive it.
pub trait Device: Send + Sync + fmt::Debug {
    /// Identity within this process.
    fn id(&self) -> DeviceId;

    /// What is known of it.
    fn info(&self) -> &DeviceInfo;

    /// A new queue, on a new or a recycled stream.
    ///
    /// # Errors
    /// `DeviceLost`, or what the driver answers.
    fn create_queue(&self, params: &QueueParams) -> Result<Arc<dyn Queue>>;

    /// A new timeline whose payload is `initial`. Usable with queues of every device and backend in this process.
    /// If this device is lost, the semaphore fails.
    ///
    /// # Errors
    /// `DeviceLost`.
    fn create_semaphore(&self, initial: u64) -> Result<Arc<dyn Semaphore>>;

    /// Allocates memory. Contents are undefined. Size zero is allowed and takes no memory.
    ///
    /// # Errors
    /// `ResourceExhausted` if there is not enough or the budget does not allow it, `OutOfRange` for sizes no device can have, `Unimplemented` if the
    /// device lacks the kind, `DeviceLost`.
    fn allocate_buffer(&self, params: &BufferParams) -> Result<Arc<dyn Buffer>>;

    /// What is allocated of one kind of memory, live and at most, and its budget.
    fn memory_statistics(&self, kind: MemoryKind) -> MemoryStatistics;

    /// Loads code. May take long, since drivers compile here.
    ///
    /// # Errors
    /// `InvalidArgument` with the driver's log if the driver does not accept the image, `Unimplemented` if the device
    /// does not take the format.
    fn load_executable(&self, params: &ExecutableParams<'_>) -> Result<Arc<dyn Executable>>;

    /// As [`load_executable`](Device::load_executable), on a thread of the pool that runs host calls; `then` is called
    /// there, or at once if the device has ended. The image is copied. When the device closes, what has not been begun
    /// ends as `Cancelled`.
    fn load_executable_then(&self, params: &ExecutableParams<'_>, then: OnLoaded);

    /// Makes a command buffer of a list that a [`CommandEncoder`] has validated. Use [`encoder`](#method.encoder) instead.
    ///
    /// # Errors
    /// `InvalidArgument` if the list was recorded for another device.
    fn create_command_buffer(&self, list: CommandList) -> Result<Arc<dyn CommandBuffer>>;

    /// The driver's context, for other libraries to make current. Valid while the device is open. `None` if the driver
    /// has no contexts.
    fn native_context(&self) -> Option<NativeContext>;

    /// A native event that stands for `point`: a stream of any library that waits for it waits for the point.
    ///
    /// The point must have been issued on this device: a submission of one of its queues that signals it, or more,
    /// has been handed to the driver. A point already reached gives an event that is complete. Keep what this returns
    /// until the driver has taken the waits.
    ///
    /// An event tells that the work has ended, not how: whether it failed, the semaphore says.
    ///
    /// ```no_run
    /// # use hal_core::*;
    /// # unsafe extern "C" { fn cuStreamWaitEvent(stream: *mut std::ffi::c_void, event: *mut std::ffi::c_void, flags: u32) -> u32; }
    /// # unsafe fn f(device: &dyn Device, point: &SemaphorePoint, theirs: *mut std::ffi::c_void) -> Result<()> {
    /// let event = device.export_event(point)?;
    /// // SAFETY: the handle is an event of this driver while `event` lives.
    /// unsafe { cuStreamWaitEvent(theirs, event.handle().as_ptr(), 0) };
    /// drop(event);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// `Unavailable` if the point has not been issued on this device, which may come right later; the semaphore's
    /// failure; `InvalidArgument` for a semaphore of a foreign implementation; `DeviceLost`, or what the driver answers.
    fn export_event(&self, point: &SemaphorePoint) -> Result<ExportedEvent>;

    /// Raises `point`'s semaphore to its value when what `event` has recorded by now has happened; fails it if that
    /// fails. A payload already there or beyond stays as it is.
    ///
    /// For the device it is a submission that signals the point: its dependants wait on the device. Recording the event
    /// again afterwards, or destroying it, changes nothing, and the HAL never does either. An event that was never
    /// recorded counts as happened.
    ///
    /// ```no_run
    /// # use hal_core::*;
    /// # unsafe fn f(device: &dyn Device, queue: &dyn Queue, theirs: *mut std::ffi::c_void) -> Result<()> {
    /// let done = device.create_semaphore(0)?;
    /// // SAFETY: `theirs` is an event of this device's driver, and has been recorded.
    /// unsafe { device.import_event(NativeEvent::from_ptr(theirs), &SemaphorePoint::new(&done, 1)) }?;
    /// queue.submit(Submission::new().wait(&done, 1))?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Safety
    /// `event` is null or an event of the driver that this device belongs to, and is not destroyed during this call.
    ///
    /// # Errors
    /// On error the semaphore is as it was: `InvalidArgument` for null, for what the driver knows to be no event, and
    /// for a semaphore of a foreign implementation; the semaphore's failure; `DeviceLost`, or what the driver answers.
    #[allow(unsafe_code, reason = "declares what its caller owes")]
    unsafe fn import_event(&self, event: NativeEvent, point: &SemaphorePoint) -> Result<()>;

    /// An eventfd (Linux) that becomes readable once `point` is reached or its semaphore fails, for `poll`, `epoll`,
    /// io_uring and everything built on them. The point need not have been issued, and the semaphore may be of any
    /// device.
    ///
    /// How it ended, [`SemaphorePoint::is_reached`] tells; a process that has only the descriptor reads 1 from it if
    /// the point was reached, and 2 if it failed. The descriptor does not block and is closed on `exec`.
    ///
    /// ```no_run
    /// # #[cfg(unix)]
    /// # fn f(device: &dyn hal_core::Device, point: &hal_core::SemaphorePoint) -> Result<(), Box<dyn std::error::Error>> {
    /// use std::os::fd::AsFd;
    ///
    /// let ready = device.export_eventfd(point)?;
    /// let for_the_event_loop = ready.as_fd().try_clone_to_owned()?;
    /// // ... once it is readable:
    /// assert!(ready.point().is_reached()?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// `Unimplemented` elsewhere than on Linux; `ResourceExhausted` if the process has too many descriptors.
    fn export_eventfd(&self, point: &SemaphorePoint) -> Result<ExportedEventFd>;

    /// Raises `point`'s semaphore to its value when `descriptor` becomes readable (Linux); a payload already there or
    /// beyond stays as it is. Nothing is read from it. Fails the semaphore if the descriptor reports an error or hangs
    /// up without having been readable, and with `Cancelled` if the device closes first.
    ///
    /// One thread per device watches all of them; it starts with the first and ends with the device. Callbacks of the
    /// semaphore run there.
    ///
    /// ```no_run
    /// # #[cfg(unix)]
    /// # fn f(device: &dyn hal_core::Device, theirs: std::os::fd::OwnedFd) -> hal_core::Result<()> {
    /// # use hal_core::*;
    /// let ready = device.create_semaphore(0)?;
    /// let watch = device.import_eventfd(EventFd::from(theirs), &SemaphorePoint::new(&ready, 1))?;
    /// ready.wait(1, Deadline::NEVER)?;
    /// drop(watch);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// `Unimplemented` elsewhere than on Linux; `InvalidArgument` for a descriptor that cannot be watched, such as a
    /// regular file; the semaphore's failure; `ResourceExhausted`.
    fn import_eventfd(&self, descriptor: EventFd, point: &SemaphorePoint) -> Result<ImportedEventFd>;

    /// Why the device is lost, if it is.
    fn lost(&self) -> Option<Error>;

    /// Blocks until everything has ended that was submitted to any of its queues before the call. What is submitted
    /// meanwhile is not waited for.
    ///
    /// # Errors
    /// `DeadlineExceeded`.
    fn wait_idle(&self, deadline: Deadline) -> Result<()>;

    /// What it has done so far.
    fn counters(&self) -> DeviceCounters;

    /// For backends to recognise their own.
    fn as_any(&self) -> &dyn Any;
}

impl dyn Device {
    /// Loads code without blocking the caller.
    ///
    /// ```no_run
    /// # async fn f(device: std::sync::Arc<dyn hal_core::Device>, text: &str) -> hal_core::Result<()> {
    /// use hal_core::ExecutableParams;
    ///
    /// let kernels = device.load_executable_in_background(&ExecutableParams::ptx("kernels", text));
    /// // Allocate, read files …
    /// let kernels = kernels.await?;
    /// # Ok(()) }
    /// ```
    pub fn load_executable_in_background(&self, params: &ExecutableParams<'_>) -> Loading {
        let (loading, then) = Loading::new();
        self.load_executable_then(params, then);
        loading
    }

    /// Starts recording a command buffer for this device.
    ///
    /// ```no_run
    /// # fn f(device: std::sync::Arc<dyn hal_core::Device>, buffer: std::sync::Arc<dyn hal_core::Buffer>)
    /// # -> hal_core::Result<()> {
    /// let mut encoder = device.encoder();
    /// encoder.fill(&buffer, 0, 1024, &[0])?;
    /// let commands = encoder.finish(&*device)?;
    /// # Ok(()) }
    /// ```
    pub fn encoder(&self) -> CommandEncoder {
        CommandEncoder::new(self.id(), self.info().limits.clone())
    }
}
