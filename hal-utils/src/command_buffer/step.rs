//! Recorded commands, resolved: what remains is to put the binding table's addresses in.

use crate::executable::Module;
use crate::native::{LaunchShape, Native, NodeWork};
use crate::sync::Arc;
use hal_core::{Argument, BufferRange, BufferRef, Command, Dispatch, Error, ErrorKind, Result};
use smallvec::SmallVec;
use std::ffi::c_void;

/// A command that does something.
pub(super) enum Step<N: Native> {
    Fill { target: Address, pattern: u32, pattern_size: u32, count: usize },
    Update { target: Address, data: Arc<[u8]> },
    Copy { source: Address, target: Address, size: usize },
    Launch(Launch<N>),
}

/// Where, as far as it is known.
#[derive(Clone, Copy)]
pub(super) enum Address {
    Known(u64),
    Slot { slot: usize, offset: u64 },
}

pub(super) struct Launch<N: Native> {
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

/// The commands of a list that do something.
pub(super) fn steps<N: Native>(commands: &[Command]) -> Result<Arc<[Step<N>]>> {
    let steps: Vec<_> =
        commands.iter().filter_map(|command| step(command).transpose()).collect::<Result<_>>()?;
    Ok(steps.into())
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
        Command::Barrier(_) | Command::BeginGroup(_) | Command::EndGroup => None,
        other => {
            return Err(Error::new(ErrorKind::Unimplemented, format!("command buffers have no {other:?}")));
        }
    })
}

impl<N: Native> Step<N> {
    /// The slots it uses.
    pub(super) fn slots(&self) -> impl Iterator<Item = usize> {
        let (first, second, launch) = match self {
            Step::Fill { target, .. } | Step::Update { target, .. } => (target.slot(), None, None),
            Step::Copy { source, target, .. } => (source.slot(), target.slot(), None),
            Step::Launch(launch) => (None, None, Some(launch)),
        };
        let arguments = launch.into_iter().flat_map(|launch| &launch.arguments);
        first.into_iter().chain(second).chain(arguments.filter_map(|argument| match argument {
            LaunchArgument::Address(address) => address.slot(),
            LaunchArgument::Value(_) => None,
        }))
    }

    /// Does something with what this comes to, bound so.
    pub(super) fn with<R>(
        &self,
        bindings: &[BufferRange],
        then: impl FnOnce(NodeWork<'_, N::Function>) -> Result<R>,
    ) -> Result<R> {
        match self {
            Step::Fill { target, pattern, pattern_size, count } => then(NodeWork::Fill {
                target: target.resolve(bindings)?,
                pattern: *pattern,
                pattern_size: *pattern_size,
                count: *count,
            }),
            Step::Update { target, data } => {
                then(NodeWork::Upload { target: target.resolve(bindings)?, source: data })
            }
            Step::Copy { source, target, size } => then(NodeWork::Copy {
                target: target.resolve(bindings)?,
                source: source.resolve(bindings)?,
                size: *size,
            }),
            Step::Launch(launch) => launch.with(bindings, then),
        }
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

    fn slot(&self) -> Option<usize> {
        match self {
            Address::Known(_) => None,
            Address::Slot { slot, .. } => Some(*slot),
        }
    }

    fn resolve(self, bindings: &[BufferRange]) -> Result<u64> {
        match self {
            Address::Known(address) => Ok(address),
            Address::Slot { slot, offset } => match bindings.get(slot) {
                Some(range) => Ok(base(range).wrapping_add(offset)),
                // Validated at submission.
                None => Err(Error::new(ErrorKind::Internal, format!("slot {slot} is not bound"))),
            },
        }
    }
}

/// Where what a slot stands for begins.
pub(super) fn base(range: &BufferRange) -> u64 {
    range.buffer.device_address().wrapping_add(range.offset)
}

impl<N: Native> Launch<N> {
    fn new(dispatch: &Dispatch) -> Result<Self> {
        let module = Module::<N>::of(&*dispatch.executable)?;
        let function = module.function(&dispatch.entry_point, dispatch.dynamic_shared_memory)?;
        let mut values = Vec::new();
        let mut arguments = Vec::with_capacity(dispatch.arguments.len());
        for argument in &dispatch.arguments {
            arguments.push(match argument {
                Argument::Buffer(buffer) | Argument::ReadOnly(buffer) => {
                    LaunchArgument::Address(Address::of(buffer))
                }
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

    fn with<R>(
        &self,
        bindings: &[BufferRange],
        then: impl FnOnce(NodeWork<'_, N::Function>) -> Result<R>,
    ) -> Result<R> {
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
        then(NodeWork::Launch { function: self.function, shape: self.shape, arguments: &mut pointers })
            .map_err(|error| error.context(format_args!("dispatch of `{}`", self.name)))
    }
}
