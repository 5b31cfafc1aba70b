//! The contract of the HAL: traits, types, errors, and the one place where calls are validated.
//!
//! | Idea | Where |
//! |---|---|
//! | a loaded driver, and what it can open | [`Driver`], [`DriverInfo`] |
//! | a GPU | [`Device`], [`DeviceInfo`], [`Limits`], [`Capabilities`] |
//! | an ordered place to submit work to | [`Queue`], [`Submission`] |
//! | a timeline, the only synchronisation primitive | [`Semaphore`], [`SemaphorePoint`], [`Fence`] |
//! | memory | [`Buffer`], [`BufferParams`], [`BufferRange`] |
//! | code | [`Executable`], [`EntryPoint`] |
//! | recorded work | [`CommandEncoder`], [`CommandList`], [`CommandBuffer`] |
//! | handles that other libraries understand | [`NativeContext`], [`NativeStream`], [`NativeEvent`], [`EventFd`] |
//! | what went wrong, and whose fault it is | [`Error`] |
//!
//! # Static or dynamic
//!
//! Every trait here is object-safe and users hold `Arc<dyn …>`: one program chooses backends at run time and mixes
//! them. There are no associated types to infect callers. What is not a matter of backends (recording, validation,
//! fences, deadlines, submissions) is a plain struct, so that it exists once. The cost is one virtual call per
//! operation; no list is rebuilt to down-cast it.
//!
//! # Safety
//!
//! This crate has no unsafe code. Safe calls cannot cause undefined behaviour; dispatch is `unsafe`, since what a
//! kernel does is beyond checking.
//!
//! # Threads
//!
//! Every object is `Send + Sync` and may be used from any thread without external locking. Nothing here starts threads,
//! allocates in a signal path, or blocks unless its name says `wait`.

#![deny(unsafe_code)]

mod buffer;
mod command;
mod deadline;
mod device;
mod driver;
mod encoder;
mod encoding;
mod error;
mod executable;
mod fence;
mod future;
mod host;
mod interop;
mod loading;
mod memory;
mod queue;
mod semaphore;
mod trace;
pub mod validate;
mod wait;

pub use buffer::{Buffer, BufferParams, BufferRange, Mapping, MemoryKind};
pub use command::{Argument, BufferRef, Command, CommandBuffer, CommandList, Dispatch, Extent3, Value};
pub use deadline::Deadline;
pub use device::{
    Capabilities, Device, DeviceCounters, DeviceId, DeviceInfo, DeviceParams, Limits, Observer,
    QueueCounters, TeardownReport,
};
pub use driver::{Driver, DriverInfo, DriverKind};
pub use encoder::CommandEncoder;
pub use encoding::{Accesses, Barrier, Encoding, Scope, Stages};
pub use error::{Error, ErrorKind, NativeStatus, Origin, Result};
pub use executable::{EntryPoint, Executable, ExecutableFormat, ExecutableParams, ParameterInfo};
pub use fence::Fence;
pub use future::{FenceFuture, Reached};
pub use host::{HostCall, HostCompletion, HostFile, HostOutcome};
pub use interop::{
    EventFd, ExportedEvent, ExportedEventFd, ImportedEventFd, NativeContext, NativeEvent, NativeStream,
};
pub use loading::{Loading, OnLoaded};
pub use memory::{MemoryBudgets, MemoryStatistics};
pub use queue::{Execute, Queue, QueueParams, QueuePriority, Submission, SubmissionId, SubmissionParts};
pub use semaphore::{Callback, Semaphore, SemaphoreExt, SemaphorePoint, TimepointId};
pub use trace::SubmissionTrace;
pub use wait::{wait_all, wait_any};
