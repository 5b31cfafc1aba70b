//! Host calls: functions that a queue runs on the host, ordered by semaphores like everything else.
//!
//! A host call is a submission of its queue that the device has no part in. It has three states, and whoever takes the
//! [`Call`](submission) out of it moves it on:
//!
//! ```text
//!  submit ──► pending ───────────► ready ─────────────► running ───────────────► ended: signals, then counts as retired
//!             waits unmet          in the pool's line   the function, and then
//!                │                    │                 whoever has its token
//!                └────────────────────┴── a wait fails, the device ends ──► failed
//! ```
//!
//! Waits are those of the host: a point counts once it is reached, since the function may look at what the device wrote.
//! There is no thread per call but a pool that grows on demand up to `DeviceParams::host_call_threads`. A token that
//! outlives its function costs no thread.
//!
//! The core holds what is in flight, which holds the core: each end takes itself off the list, and closing the device
//! ends what is left.

mod pool;
mod submission;

#[cfg(not(any(hal_loom, hal_shuttle)))]
#[cfg(test)]
mod tests;

pub(crate) use pool::HostCalls;
pub(crate) use submission::submit;
