//! What CUDA and HIP share, written once: generic over the [`native`] primitives that each backend supplies.
//!
//! | Idea | Where |
//! |---|---|
//! | what a backend supplies | [`native`] |
//! | finding its library and functions | [`loader`] |
//! | a driver made of that | [`SharedDriver`] |
//! | one open device, what all of it shares, its end | `device`, `core` |
//! | submissions: the queue, its states and threads | `deferred_work_queue` |
//! | the semaphore that hosts, devices and backends meet at | [`TimelineSemaphore`] |
//! | native events and streams, used again | `event_pool`, `streams` |
//! | recorded work, replayed | `command_buffer` |
//! | functions of queues on the host | `host_calls` |
//! | transfers between files and buffers | `file` |
//! | points on timelines as file descriptors | `interop` |

pub mod loader;
pub mod native;

mod buffer;
mod command_buffer;
mod context;
mod core;
mod deferred_work_queue;
mod device;
mod driver;
mod event_pool;
mod executable;
mod file;
mod host_calls;
mod interop;
mod memory;
mod queue;
mod recycle;
mod shared_memory;
mod streams;
mod sync;
mod timeline;

#[cfg(test)]
mod mock;
#[cfg(not(any(hal_loom, hal_shuttle)))]
#[cfg(test)]
mod oracle;
#[cfg(not(any(hal_loom, hal_shuttle)))]
#[cfg(test)]
mod sweep;

pub use driver::SharedDriver;
pub use timeline::TimelineSemaphore;
