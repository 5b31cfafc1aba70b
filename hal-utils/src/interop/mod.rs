//! Points on timelines as file descriptors, and back. (Native events are a matter of the deferred work queue.)
//!
//! | | How | Thread |
//! |---|---|---|
//! | out | a callback of the semaphore writes to an eventfd | whoever signals |
//! | in | epoll; the semaphore is signalled when the descriptor is readable | one per device, from the first import on |

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "elsewhere.rs"]
mod platform;
#[cfg(target_os = "linux")]
mod reactor;

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;

pub(crate) use platform::{Watcher, export_eventfd};
