//! Recorded commands, as data. A [`CommandEncoder`](crate::CommandEncoder) makes them, an encoding replays them.

use crate::{Barrier, Buffer, BufferRange, DeviceId, Encoding, EntryPoint, Executable, Result};
use smallvec::SmallVec;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Memory a command uses.
#[derive(Clone, Debug)]
pub enum BufferRef {
    /// Known now.
    Direct(BufferRange),
    /// Entry `slot` of the binding table of each submission; `offset` counts from the start of that entry's range.
    Slot {
        /// The entry.
        slot: u32,
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
}

impl BufferRef {
    /// Bytes.
    pub fn length(&self) -> u64 {
        match self {
            BufferRef::Direct(range) => range.length,
            BufferRef::Slot { length, .. } => *length,
        }
    }
}

/// Bytes of a plain kernel argument, copied at record time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value(SmallVec<[u8; 16]>);

impl Value {
    /// A struct or array argument: its bytes as the kernel lays them out.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Value(SmallVec::from_slice(bytes))
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A kernel argument.
#[derive(Clone, Debug)]
pub enum Argument {
    /// The address of some memory, which must lie within one buffer. The kernel may read and write it.
    Buffer(BufferRef),
    /// As [`Buffer`](Argument::Buffer), and the kernel does not write it: in a graph, dispatches that only read the
    /// same memory need not wait for each other.
    ReadOnly(BufferRef),
    /// A plain value.
    Value(Value),
}

impl Argument {
    /// The address of entry `slot` of the binding table, whose range must have at least `length` bytes.
    pub fn slot(slot: u32, length: u64) -> Self {
        Argument::Buffer(BufferRef::Slot { slot, offset: 0, length })
    }

    /// The address of memory that the kernel only reads.
    pub fn read_only(range: impl Into<BufferRange>) -> Self {
        Argument::ReadOnly(BufferRef::Direct(range.into()))
    }

    /// The memory, if it is some.
    pub fn buffer(&self) -> Option<&BufferRef> {
        match self {
            Argument::Buffer(buffer) | Argument::ReadOnly(buffer) => Some(buffer),
            Argument::Value(_) => None,
        }
    }

    /// Bytes it takes in the parameter block.
    pub fn size(&self) -> usize {
        match self {
            Argument::Buffer(_) | Argument::ReadOnly(_) => size_of::<u64>(),
            Argument::Value(value) => value.bytes().len(),
        }
    }
}

macro_rules! value_from {
    ($($type:ty),*) => {$(
        impl From<$type> for Argument {
            fn from(value: $type) -> Self {
                Argument::Value(Value::from_bytes(&value.to_ne_bytes()))
            }
        }
    )*};
}
value_from!(u8, u16, u32, u64, i8, i16, i32, i64, f32, f64);

impl From<Value> for Argument {
    fn from(value: Value) -> Self {
        Argument::Value(value)
    }
}

impl From<&Arc<dyn Buffer>> for Argument {
    fn from(buffer: &Arc<dyn Buffer>) -> Self {
        BufferRange::whole(buffer).into()
    }
}

impl From<BufferRange> for Argument {
    fn from(range: BufferRange) -> Self {
        Argument::Buffer(BufferRef::Direct(range))
    }
}

/// Running a kernel: what, how large, and with which arguments.
///
/// ```no_run
/// # use hal_core::*;
/// # use std::sync::Arc;
/// # fn f(executable: &Arc<dyn Executable>, x: &Arc<dyn Buffer>, n: u32) -> Result<Dispatch> {
/// let dispatch = Dispatch::new(executable, "scale")?.grid(n.div_ceil(256)).block(256).arg(x).arg(2.0f32).arg(n);
/// # Ok(dispatch) }
/// ```
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// The code.
    pub executable: Arc<dyn Executable>,
    /// The kernel in it.
    pub entry_point: EntryPoint,
    /// Workgroups, x y z. A zero makes the dispatch do nothing.
    pub workgroups: [u32; 3],
    /// Threads in a workgroup, x y z.
    pub workgroup_size: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub dynamic_shared_memory: u32,
    /// In the order of the kernel's parameters.
    pub arguments: Vec<Argument>,
    /// Memory that the kernel reaches by other ways than a buffer argument.
    pub reached: Vec<BufferRef>,
}

impl Dispatch {
    /// One workgroup of one thread of this kernel, without arguments.
    ///
    /// # Errors
    /// `NotFound` if the executable has no such entry point.
    pub fn new(executable: &Arc<dyn Executable>, entry_point: &str) -> Result<Self> {
        Ok(Dispatch {
            executable: executable.clone(),
            entry_point: executable.entry_point(entry_point)?,
            workgroups: [1; 3],
            workgroup_size: [1; 3],
            dynamic_shared_memory: 0,
            arguments: Vec::new(),
            reached: Vec::new(),
        })
    }

    /// Workgroups: `n`, `[x, y]` or `[x, y, z]`.
    #[must_use]
    pub fn grid(mut self, workgroups: impl Into<Extent3>) -> Self {
        self.workgroups = workgroups.into().0;
        self
    }

    /// Threads in a workgroup: `n`, `[x, y]` or `[x, y, z]`.
    #[must_use]
    pub fn block(mut self, threads: impl Into<Extent3>) -> Self {
        self.workgroup_size = threads.into().0;
        self
    }

    /// Dynamic shared memory in bytes.
    #[must_use]
    pub fn shared_memory(mut self, bytes: u32) -> Self {
        self.dynamic_shared_memory = bytes;
        self
    }

    /// Memory that the kernel reads or writes without having it as a buffer argument, such as what a pointer within a
    /// struct or within a buffer leads to. It is kept alive, and barriers order its uses.
    #[must_use]
    pub fn reaches(mut self, range: impl Into<BufferRange>) -> Self {
        self.reached.push(BufferRef::Direct(range.into()));
        self
    }

    /// Every memory it is known to use: buffer arguments, and what it reaches otherwise.
    pub fn memory(&self) -> impl Iterator<Item = &BufferRef> {
        self.arguments.iter().filter_map(Argument::buffer).chain(&self.reached)
    }

    /// The next argument: a buffer, a buffer range, a slot, a number.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<Argument>) -> Self {
        self.arguments.push(argument.into());
        self
    }
}

/// A size in up to three dimensions; missing ones are 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent3(pub [u32; 3]);

impl From<u32> for Extent3 {
    fn from(x: u32) -> Self {
        Extent3([x, 1, 1])
    }
}

impl From<[u32; 2]> for Extent3 {
    fn from([x, y]: [u32; 2]) -> Self {
        Extent3([x, y, 1])
    }
}

impl From<[u32; 3]> for Extent3 {
    fn from(xyz: [u32; 3]) -> Self {
        Extent3(xyz)
    }
}

/// One recorded command. All of it has been validated but what depends on the binding table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Command {
    /// Repeats a pattern of 1, 2 or 4 bytes, the low ones of `pattern`.
    Fill {
        /// Where.
        target: BufferRef,
        /// What.
        pattern: u32,
        /// 1, 2 or 4.
        pattern_size: u32,
    },
    /// Writes bytes that were copied at record time.
    Update {
        /// Where.
        target: BufferRef,
        /// What.
        data: Arc<[u8]>,
    },
    /// Copies between buffers, or within one without overlap.
    Copy {
        /// From.
        source: BufferRef,
        /// To. The same length.
        target: BufferRef,
    },
    /// Runs a kernel.
    Dispatch(Dispatch),
    /// What comes after waits for what came before, as far as the barrier says.
    Barrier(Barrier),
    /// Opens a named group, for tools.
    BeginGroup(String),
    /// Closes it.
    EndGroup,
}

/// Commands in order, validated, immutable.
#[derive(Clone, Debug)]
pub struct CommandList {
    pub(crate) device: DeviceId,
    pub(crate) commands: Vec<Command>,
    pub(crate) slots: Vec<u64>,
    pub(crate) encoding: Encoding,
}

impl CommandList {
    /// The encoding that was asked for.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The device it was recorded for.
    pub fn device_id(&self) -> DeviceId {
        self.device
    }

    /// The commands.
    pub fn commands(&self) -> &[Command] {
        &self.commands
    }

    /// For each slot, how many bytes its range must have at least. Its length is the number of slots needed.
    pub fn slots(&self) -> &[u64] {
        &self.slots
    }
}

/// Recorded work, ready to be submitted any number of times, also concurrently.
pub trait CommandBuffer: Send + Sync + fmt::Debug {
    /// The device it was recorded for.
    fn device_id(&self) -> DeviceId;

    /// What was recorded.
    fn list(&self) -> &CommandList;

    /// How it reaches the driver: [`Encoding::Stream`] or [`Encoding::Graph`].
    fn encoding(&self) -> Encoding;

    /// For backends to recognise their own.
    fn as_any(&self) -> &dyn Any;
}
