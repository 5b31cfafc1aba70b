//! What a backend must supply. Everything else is written once, in this crate, over these two traits.
//!
//! A backend is a mirror of its driver: one driver call per method, no state, no validation, no policy. Arguments have
//! been validated by `hal-core`; a zero-size call never arrives. Errors carry the call, the status and its name
//! ([`hal_core::NativeStatus`]) and the kind that follows from the status; see [`status_kind`].
//!
//! | Room | Methods |
//! |---|---|
//! | context | [`enter`](Native::enter), [`leave`](Native::leave) |
//! | stream | `stream_*` |
//! | event | `event_*` |
//! | memory | `allocate`, `free`, `fill`, `copy`, `upload` |
//! | code | `module_*`, `function_*`, `launch` |
//! | graphs | `graph_*`; a device whose `Capabilities::graphs` is false needs none |
//!
//! Implemented by `hal-cuda`, `hal-hip`, the mock of this crate's tests and the ones of `hal-bench`, and by nothing else.

use hal_core::{
    DeviceInfo, DriverInfo, Error, ErrorKind, ExecutableFormat, MemoryKind, ParameterInfo, QueuePriority,
    Result,
};
use std::fmt::Debug;

/// A loaded driver.
pub trait NativeDriver: Send + Sync + Debug + 'static {
    /// Its devices.
    type Device: Native;

    /// What is known of it.
    fn info(&self) -> &DriverInfo;

    /// How many devices it has. Creates no context.
    ///
    /// # Errors
    /// What the driver answers.
    fn device_count(&self) -> Result<u32>;

    /// What is known of one. Creates no context.
    ///
    /// # Errors
    /// What the driver answers.
    fn device_info(&self, ordinal: u32) -> Result<DeviceInfo>;

    /// Opens one: retains its primary context, without making it current.
    ///
    /// # Errors
    /// What the driver answers.
    fn open(&self, ordinal: u32) -> Result<Self::Device>;
}

/// What memory an allocation gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// As kernels see it.
    pub device: u64,
    /// As the host sees it; `None` for device-local memory.
    pub host: Option<std::ptr::NonNull<u8>>,
    /// Kind, for freeing it.
    pub kind: MemoryKind,
}

// SAFETY: the pointer is an address of memory that the driver shares between threads; who dereferences it answers for
// that.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

/// What a driver tells of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionInfo {
    /// Where each parameter lies; `None` if the driver cannot tell.
    pub parameters: Option<Vec<ParameterInfo>>,
    /// Most threads per workgroup; `None` if the driver cannot tell.
    pub max_workgroup_size: Option<u32>,
    /// Static shared memory in bytes; `None` if the driver cannot tell.
    pub static_shared_memory: Option<u32>,
    /// Registers of each thread; `None` if the driver cannot tell.
    pub registers: Option<u32>,
    /// Local memory of each thread in bytes; `None` if the driver cannot tell.
    pub local_memory: Option<u32>,
}

/// One launch. Sizes are within the device's limits.
#[derive(Clone, Copy, Debug)]
pub struct LaunchShape {
    /// Workgroups.
    pub grid: [u32; 3],
    /// Threads in a workgroup.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub shared_memory: u32,
}

/// A graph under construction, as the driver's handle in a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Graph(pub usize);

/// A node of a graph; valid as long as its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct GraphNode(pub usize);

/// An executable graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphExec(pub usize);

/// What a node of a graph does. What each needs is what the call of the same name needs for a stream.
#[derive(Debug)]
pub enum NodeWork<'a, F> {
    /// Nothing: something to depend on.
    Empty,
    /// See [`Native::fill`].
    Fill {
        /// Where.
        target: u64,
        /// What.
        pattern: u32,
        /// 1, 2 or 4.
        pattern_size: u32,
        /// How often.
        count: usize,
    },
    /// See [`Native::copy`].
    Copy {
        /// To.
        target: u64,
        /// From.
        source: u64,
        /// Bytes.
        size: usize,
    },
    /// See [`Native::upload`]. Read each time the graph runs.
    Upload {
        /// To.
        target: u64,
        /// From.
        source: &'a [u8],
    },
    /// See [`Native::launch`]. The arguments are copied now.
    Launch {
        /// What.
        function: F,
        /// How large.
        shape: LaunchShape,
        /// Pointers to the bytes of each.
        arguments: &'a mut [*mut std::ffi::c_void],
    },
}

/// The answer of a device without graphs.
fn no_graphs<T>() -> Result<T> {
    Err(Error::new(ErrorKind::Unimplemented, "the device has no graphs; use the stream encoding"))
}

/// What an event or a stream answers to a query.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// All of it has happened.
    Done,
    /// Not yet.
    Running,
}

/// A driver's handle that other libraries may see, as a number; see `hal_core::NativeEvent` and its kin.
pub trait Handle: Copy {
    /// The number.
    fn raw(self) -> usize;

    /// The handle with this number. Whoever uses it answers for there being one.
    fn from_raw(raw: usize) -> Self;
}

/// For devices without a driver, whose handles are numbers.
impl Handle for u64 {
    fn raw(self) -> usize {
        self as usize
    }

    fn from_raw(raw: usize) -> Self {
        raw as u64
    }
}

/// An open device of a driver.
///
/// # Safety
///
/// For implementors: handles given out must be what the driver gave; `Done` must mean that every effect of the work is
/// visible to the host and the device.
///
/// For callers, of every method: between [`enter`](Native::enter) and [`leave`](Native::leave) on the calling thread;
/// handles come from this device and have not been destroyed. Methods ask for more where they need more.
pub unsafe trait Native: Send + Sync + Debug + 'static {
    /// A stream handle.
    type Stream: Handle + Send + Sync + Debug + Eq + 'static;
    /// An event handle.
    type Event: Handle + Send + Sync + Debug + 'static;
    /// A module handle.
    type Module: Copy + Send + Sync + Debug + 'static;
    /// A function handle; valid as long as its module.
    type Function: Copy + Send + Sync + Debug + 'static;
    /// What `leave` needs to put back what `enter` replaced.
    type Previous;

    /// What is known of the device.
    fn info(&self) -> &DeviceInfo;

    /// The context that [`enter`](Native::enter) makes current, as a number; `None` if there is no such thing.
    fn context(&self) -> Option<usize> {
        None
    }

    /// Makes this device current on the calling thread, and returns what was.
    ///
    /// # Errors
    /// What the driver answers; then nothing has changed.
    fn enter(&self) -> Result<Self::Previous>;

    /// Puts back what was current. Cannot fail: a driver that refuses is past helping here, and the next call says so.
    fn leave(&self, previous: Self::Previous);

    /// The driver is being torn down: it is not to be called again, neither by [`leave`](Native::leave) nor as this is
    /// dropped.
    fn set_gone(&self) {}

    /// A stream that does not synchronise with the default stream.
    ///
    /// # Safety
    /// As for the trait.
    ///
    /// # Errors
    /// What the driver answers.
    unsafe fn stream_create(&self, priority: QueuePriority) -> Result<Self::Stream>;

    /// # Safety
    /// No use of the stream follows. Work on it may still run.
    ///
    /// # Errors
    /// What the driver answers.
    unsafe fn stream_destroy(&self, stream: Self::Stream) -> Result<()>;

    /// Whether everything put into the stream has happened.
    ///
    /// # Safety
    /// As for the trait.
    ///
    /// # Errors
    /// An asynchronous failure of earlier work, or what the driver answers.
    unsafe fn stream_query(&self, stream: Self::Stream) -> Result<Progress>;

    /// Makes later work of the stream wait for what the event has recorded.
    ///
    /// # Safety
    /// As for the trait.
    ///
    /// # Errors
    /// What the driver answers; then nothing was put into the stream.
    unsafe fn stream_wait_event(&self, stream: Self::Stream, event: Self::Event) -> Result<()>;

    /// An event without timing.
    ///
    /// # Safety
    /// As for the trait.
    ///
    /// # Errors
    /// What the driver answers.
    unsafe fn event_create(&self) -> Result<Self::Event>;

    /// # Safety
    /// No use of the event follows.
    ///
    /// # Errors
    /// What the driver answers.
    unsafe fn event_destroy(&self, event: Self::Event) -> Result<()>;

    /// Records everything put into the stream so far.
    ///
    /// # Safety
    /// As for the trait.
    ///
    /// # Errors
    /// What the driver answers.
    unsafe fn event_record(&self, event: Self::Event, stream: Self::Stream) -> Result<()>;

    /// Whether what the event recorded has happened.
    ///
    /// # Safety
    /// The event has been recorded. (Drivers answer `Done` for one that never was.)
    ///
    /// # Errors
    /// An asynchronous failure of earlier work, or what the driver answers.
    unsafe fn event_query(&self, event: Self::Event) -> Result<Progress>;

    /// Allocates `size > 0` bytes, aligned to 256.
    ///
    /// # Safety
    /// As for the trait.
    ///
    /// # Errors
    /// `ResourceExhausted`, `Unimplemented` for a kind the device lacks, or what the driver answers.
    unsafe fn allocate(&self, kind: MemoryKind, size: usize) -> Result<Allocation>;

    /// Frees it. May wait for the device.
    ///
    /// # Safety
    /// Nothing uses the memory any more.
    ///
    /// # Errors
    /// What the driver answers.
    unsafe fn free(&self, allocation: Allocation) -> Result<()>;

    /// Repeats the low `pattern_size` (1, 2 or 4) bytes of `pattern`, `count > 0` times.
    ///
    /// # Safety
    /// `target` is aligned to the pattern and the memory stays allocated until the stream has done this.
    ///
    /// # Errors
    /// What the driver answers; then nothing was put into the stream.
    unsafe fn fill(
        &self,
        stream: Self::Stream,
        target: u64,
        pattern: u32,
        pattern_size: u32,
        count: usize,
    ) -> Result<()>;

    /// Copies `size > 0` bytes from device address to device address.
    ///
    /// # Safety
    /// The ranges do not overlap; both stay allocated until the stream has done this.
    ///
    /// # Errors
    /// What the driver answers; then nothing was put into the stream.
    unsafe fn copy(&self, stream: Self::Stream, target: u64, source: u64, size: usize) -> Result<()>;

    /// Copies from host memory to a device address.
    ///
    /// # Safety
    /// `source` stays valid and unchanged, and `target` allocated, until the stream has done this.
    ///
    /// # Errors
    /// What the driver answers; then nothing was put into the stream.
    unsafe fn upload(&self, stream: Self::Stream, target: u64, source: &[u8]) -> Result<()>;

    /// Loads code.
    ///
    /// # Safety
    /// As for the trait. The image is untrusted: a driver that can be harmed by a malformed one is out of our hands.
    ///
    /// # Errors
    /// `InvalidArgument` with the driver's log in the message; `Unimplemented` for a format it does not take.
    unsafe fn module_load(&self, format: ExecutableFormat, image: &[u8]) -> Result<Self::Module>;

    /// # Safety
    /// No function of it is used any more, and none runs.
    ///
    /// # Errors
    /// What the driver answers.
    unsafe fn module_unload(&self, module: Self::Module) -> Result<()>;

    /// Looks a kernel up.
    ///
    /// # Safety
    /// As for the trait.
    ///
    /// # Errors
    /// `NotFound`, or what the driver answers.
    unsafe fn module_function(&self, module: Self::Module, name: &str) -> Result<Self::Function>;

    /// The names of all kernels, or `None` if the driver cannot list them.
    ///
    /// # Safety
    /// As for the trait.
    ///
    /// # Errors
    /// What the driver answers.
    unsafe fn module_functions(&self, module: Self::Module) -> Result<Option<Vec<String>>>;

    /// Address and size of a global or constant variable.
    ///
    /// # Safety
    /// As for the trait.
    ///
    /// # Errors
    /// `NotFound`, or what the driver answers.
    unsafe fn module_global(&self, module: Self::Module, name: &str) -> Result<(u64, usize)> {
        let _ = module;
        Err(Error::new(
            ErrorKind::Unimplemented,
            format!("{name:?}: this driver does not find variables of modules"),
        ))
    }

    /// What the driver tells of a function.
    ///
    /// # Safety
    /// As for the trait.
    ///
    /// # Errors
    /// What the driver answers.
    unsafe fn function_info(&self, function: Self::Function) -> Result<FunctionInfo>;

    /// Allows launches with this much dynamic shared memory. Called once before a launch that needs more than the
    /// driver allows by default.
    ///
    /// # Safety
    /// As for the trait.
    ///
    /// # Errors
    /// What the driver answers.
    unsafe fn function_allow_shared_memory(&self, function: Self::Function, bytes: u32) -> Result<()>;

    /// Launches a kernel. `arguments[i]` points to the bytes of argument *i*, which the driver copies now.
    ///
    /// # Safety
    /// The arguments are what the kernel expects, in number, order and type, and all memory it touches stays allocated
    /// until the stream has done this.
    ///
    /// # Errors
    /// What the driver answers; then nothing was put into the stream.
    unsafe fn launch(
        &self,
        stream: Self::Stream,
        function: Self::Function,
        shape: LaunchShape,
        arguments: &mut [*mut std::ffi::c_void],
    ) -> Result<()>;

    /// A graph without nodes.
    ///
    /// # Safety
    /// As for the trait.
    ///
    /// # Errors
    /// What the driver answers.
    unsafe fn graph_create(&self) -> Result<Graph> {
        no_graphs()
    }

    /// # Safety
    /// No use of the graph or its nodes follows. Executable graphs made of it live on.
    ///
    /// # Errors
    /// What the driver answers.
    unsafe fn graph_destroy(&self, _graph: Graph) -> Result<()> {
        no_graphs()
    }

    /// Adds a node after others of the graph.
    ///
    /// # Safety
    /// As for the call of the work's name; what it says of the stream holds for each launch.
    ///
    /// # Errors
    /// What the driver answers; then the graph is as it was.
    unsafe fn graph_add(
        &self,
        _graph: Graph,
        _after: &[GraphNode],
        _work: NodeWork<'_, Self::Function>,
    ) -> Result<GraphNode> {
        no_graphs()
    }

    /// Makes an executable graph of a graph as it is now.
    ///
    /// # Safety
    /// As for the trait.
    ///
    /// # Errors
    /// What the driver answers.
    unsafe fn graph_instantiate(&self, _graph: Graph) -> Result<GraphExec> {
        no_graphs()
    }

    /// Gives a node of an executable graph, which is not running, other work of the same kind.
    ///
    /// # Safety
    /// As for [`graph_add`](Native::graph_add). The node's graph exists. No other thread uses the executable graph.
    ///
    /// # Errors
    /// What the driver answers; `InvalidArgument` also where it cannot change a node in that way, such as to memory of
    /// another kind. Then nobody knows what the node does.
    unsafe fn graph_exec_set(
        &self,
        _exec: GraphExec,
        _node: GraphNode,
        _work: NodeWork<'_, Self::Function>,
    ) -> Result<()> {
        no_graphs()
    }

    /// Puts an executable graph into a stream.
    ///
    /// # Safety
    /// As for [`graph_add`](Native::graph_add). No other thread uses the executable graph.
    ///
    /// # Errors
    /// What the driver answers; part of it may have been put into the stream.
    unsafe fn graph_launch(&self, _exec: GraphExec, _stream: Self::Stream) -> Result<()> {
        no_graphs()
    }

    /// # Safety
    /// No use of the executable graph follows, and it does not run.
    ///
    /// # Errors
    /// What the driver answers.
    unsafe fn graph_exec_destroy(&self, _exec: GraphExec) -> Result<()> {
        no_graphs()
    }
}

/// The kind that follows from a driver's status. CUDA's numbers; HIP uses the same where it has the error.
///
/// The sticky codes and their classes are those of the documentation of `CUresult` in the CUDA driver API reference;
/// 214 and 220 are not documented as sticky but leave nothing that could be trusted.
pub fn status_kind(code: i64) -> ErrorKind {
    match code {
        1 | 101 | 200 | 201 | 218 | 400 => ErrorKind::InvalidArgument,
        2 | 701 => ErrorKind::ResourceExhausted,
        3 | 34 | 35 | 36 | 46 | 100 | 802 | 803 | 804 => ErrorKind::Unavailable,
        500 => ErrorKind::NotFound,
        209 | 221 | 222 | 223 | 801 => ErrorKind::Unimplemented,
        226 | 700 | 702 | 710 | 714..=719 | 721 | 911 | 214 | 220 => ErrorKind::DeviceLost,
        4 | 709 => ErrorKind::DeviceLost,
        _ => ErrorKind::Internal,
    }
}

/// Whether a status says that the driver is being torn down: it must not be called any more.
pub fn is_teardown(code: i64) -> bool {
    matches!(code, 4 | 709)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sticky_codes_mean_loss() {
        for code in [226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 911, 214, 220, 4, 709] {
            assert_eq!(status_kind(code), ErrorKind::DeviceLost, "{code}");
        }
        for code in [1, 2, 201, 400, 401, 500, 600, 701, 720, 800, 801, 901, 9999] {
            assert_ne!(status_kind(code), ErrorKind::DeviceLost, "{code}");
        }
    }
}
