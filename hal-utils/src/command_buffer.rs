//! Command buffers in the stream encoding: resolved once when recorded, replayed into a stream for each submission.
//!
//! A stream runs its commands in order, so barriers cost nothing here.

use crate::buffer::DeviceBuffer;
use crate::executable::Module;
use crate::native::{LaunchShape, Native};
use crate::sync::Arc;
use hal_core::{
    Argument, Buffer, BufferRange, BufferRef, Command, CommandBuffer, CommandList, DeviceId, Dispatch, Error,
    ErrorKind, Result,
};
use smallvec::SmallVec;
use std::any::Any;
use std::ffi::c_void;
use std::fmt;

/// Recorded commands with everything looked up that does not depend on a binding table.
pub(crate) struct StreamCommandBuffer<N: Native> {
    /// Keeps buffers and executables alive.
    list: CommandList,
    steps: Vec<Step<N>>,
}

enum Step<N: Native> {
    Fill { target: Address, pattern: u32, pattern_size: u32, count: usize },
    Update { target: Address, data: Arc<[u8]> },
    Copy { source: Address, target: Address, size: usize },
    Launch(Launch<N>),
}

/// Where, as far as it is known.
#[derive(Clone, Copy)]
enum Address {
    Known(u64),
    Slot { slot: usize, offset: u64 },
}

struct Launch<N: Native> {
    name: String,
    function: N::Function,
    shape: LaunchShape,
    /// The bytes of the plain arguments.
    values: Vec<u8>,
    arguments: Vec<LaunchArgument>,
}

enum LaunchArgument {
    /// In `values`, at this offset.
    Value(usize),
    Address(Address),
}

impl<N: Native> StreamCommandBuffer<N> {
    pub(crate) fn new(list: CommandList) -> Result<Self> {
        let steps =
            list.commands().iter().filter_map(|command| step(command).transpose()).collect::<Result<_>>()?;
        Ok(StreamCommandBuffer { list, steps })
    }

    /// Puts the commands into a stream. Sets `touched` once the device may be using what they use.
    ///
    /// # Safety
    /// The device is current; this, and the buffers of `bindings`, live until the stream has done it.
    pub(crate) unsafe fn replay(
        &self,
        native: &N,
        stream: N::Stream,
        bindings: &[BufferRange],
        touched: &mut bool,
    ) -> Result<()> {
        for step in &self.steps {
            // SAFETY: as for this function. Ranges and alignment were validated when recorded, bindings when submitted.
            unsafe {
                match step {
                    Step::Fill { target, pattern, pattern_size, count } => {
                        native.fill(stream, target.resolve(bindings)?, *pattern, *pattern_size, *count)
                    }
                    Step::Update { target, data } => native.upload(stream, target.resolve(bindings)?, data),
                    Step::Copy { source, target, size } => {
                        native.copy(stream, target.resolve(bindings)?, source.resolve(bindings)?, *size)
                    }
                    Step::Launch(launch) => launch.issue(native, stream, bindings),
                }
            }?;
            *touched = true;
        }
        Ok(())
    }
}

impl Address {
    fn of(buffer: &BufferRef) -> Self {
        match buffer {
            BufferRef::Direct(range) => {
                Address::Known(range.buffer.device_address().wrapping_add(range.offset))
            }
            BufferRef::Slot { slot, offset, .. } => Address::Slot { slot: *slot as usize, offset: *offset },
        }
    }

    fn resolve(self, bindings: &[BufferRange]) -> Result<u64> {
        match self {
            Address::Known(address) => Ok(address),
            Address::Slot { slot, offset } => match bindings.get(slot) {
                Some(range) => {
                    Ok(range.buffer.device_address().wrapping_add(range.offset).wrapping_add(offset))
                }
                // Validated at submission.
                None => Err(Error::new(ErrorKind::Internal, format!("slot {slot} is not bound"))),
            },
        }
    }
}

fn step<N: Native>(command: &Command) -> Result<Option<Step<N>>> {
    Ok(match command {
        Command::Fill { target, pattern, pattern_size, .. } => Some(Step::Fill {
            target: Address::of(target),
            pattern: *pattern,
            pattern_size: *pattern_size,
            count: (target.length() / u64::from(*pattern_size)) as usize,
        }),
        Command::Update { target, data } => {
            Some(Step::Update { target: Address::of(target), data: data.clone() })
        }
        Command::Copy { source, target } => Some(Step::Copy {
            source: Address::of(source),
            target: Address::of(target),
            size: source.length() as usize,
        }),
        Command::Dispatch(dispatch) => Some(Step::Launch(Launch::new(dispatch)?)),
        Command::Barrier | Command::BeginGroup(_) | Command::EndGroup => None,
        other => {
            return Err(Error::new(
                ErrorKind::Unimplemented,
                format!("stream command buffers have no {other:?}"),
            ));
        }
    })
}

impl<N: Native> Launch<N> {
    fn new(dispatch: &Dispatch) -> Result<Self> {
        let module = Module::<N>::of(&*dispatch.executable)?;
        let function = module.function(&dispatch.entry_point, dispatch.dynamic_shared_memory)?;
        let mut values = Vec::new();
        let mut arguments = Vec::with_capacity(dispatch.arguments.len());
        for argument in &dispatch.arguments {
            arguments.push(match argument {
                Argument::Buffer(buffer) => LaunchArgument::Address(Address::of(buffer)),
                Argument::Value(value) => {
                    let offset = values.len();
                    values.extend_from_slice(value.bytes());
                    LaunchArgument::Value(offset)
                }
            });
        }
        Ok(Launch {
            name: dispatch.entry_point.name.clone(),
            function,
            shape: LaunchShape {
                grid: dispatch.workgroups,
                block: dispatch.workgroup_size,
                shared_memory: dispatch.dynamic_shared_memory,
            },
            values,
            arguments,
        })
    }

    /// # Safety
    /// As for `StreamCommandBuffer::replay`.
    unsafe fn issue(&self, native: &N, stream: N::Stream, bindings: &[BufferRange]) -> Result<()> {
        let mut addresses: SmallVec<[u64; 16]> = SmallVec::with_capacity(self.arguments.len());
        for argument in &self.arguments {
            addresses.push(match argument {
                LaunchArgument::Value(_) => 0,
                LaunchArgument::Address(address) => address.resolve(bindings)?,
            });
        }
        // The driver reads the arguments and writes nothing; its signature has no const.
        let mut pointers: SmallVec<[*mut c_void; 16]> = SmallVec::with_capacity(self.arguments.len());
        for (argument, address) in self.arguments.iter().zip(&addresses) {
            pointers.push(match argument {
                LaunchArgument::Value(offset) => self.values[*offset..].as_ptr().cast_mut().cast(),
                LaunchArgument::Address(_) => std::ptr::from_ref(address).cast_mut().cast(),
            });
        }
        // SAFETY: the device is current; `CommandEncoder::dispatch` is unsafe and leaves the arguments to its caller;
        // pointers point into this and into `addresses`, which outlive the call.
        unsafe { native.launch(stream, self.function, self.shape, &mut pointers) }
            .map_err(|error| error.context(format_args!("dispatch of `{}`", self.name)))
    }
}

impl<N: Native> CommandBuffer for StreamCommandBuffer<N> {
    fn device_id(&self) -> DeviceId {
        self.list.device_id()
    }

    fn list(&self) -> &CommandList {
        &self.list
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl<N: Native> fmt::Debug for StreamCommandBuffer<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamCommandBuffer")
            .field("commands", &self.list.commands().len())
            .finish_non_exhaustive()
    }
}

/// Whether a buffer is one of this crate's, so that its address can be trusted.
pub(crate) fn ours<N: Native>(buffer: &dyn Buffer) -> Result<()> {
    if buffer.as_any().is::<DeviceBuffer<N>>() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::InvalidArgument,
        "a buffer of a foreign implementation; allocate it with the device",
    ))
}
