//! The deferred work queue: takes submissions whose waits may be unmet, hands them to the driver once they are ready,
//! and ends them when the device is done.
//!
//! # States
//!
//! A submission is one boxed `Work`, and a state is who owns the box. What others see of it is its `Node`. A transition moves it, so nothing can happen
//! twice, and nothing can be forgotten without being dropped, which the in-flight count would tell.
//!
//! ```text
//!              waits unmet          waits met or on the device        event recorded
//!  submit ──► Pending ────────────► Ready ──────────────────────────► Issued ────────────► retired
//!     │          │                    ▲ │                               │   done or failed
//!     └──────────┼────────────────────┘ │                               │
//!                └──────────────────────┴── failed, nothing issued ─────┴─► signals failed, then retired
//! ```
//!
//! | State | Owner of the box | Who moves it on |
//! |---|---|---|
//! | pending | its own `Node`, registered with semaphores and listed by its queue | the semaphore that resolves its last wait, or fails one |
//! | `Ready` | the queue's heap, by sequence number | whoever drains the queue |
//! | `Issued` | the completion thread's lane for the queue | the completion thread |
//!
//! # Threads
//!
//! - **Callers** of `submit`: issue their own submission when it is ready and nothing stands before it. Otherwise they
//!   leave it for the worker.
//! - **The worker** drains queues whose submissions became ready by signals or by the issue of what they wait for.
//!   At most one thread drains a queue at a time (`draining`), which is what makes issue order sequence order.
//! - **The completion thread** looks at the oldest issued submission of every busy queue, so that a long kernel on one
//!   delays no other; signals, frees resources, and delivers the loss of the device. One direction: worker →
//!   completion. It never issues.
//!
//! # Locks
//!
//! In this order, and none but the first is held while a driver is called, a callback runs or a waiter is woken. Debug
//! builds check both (`sync::order`):
//!
//! 1. a module's functions: what it allows a function is set in the driver in the same order
//! 2. `Core::members`
//! 3. `QueueCore::state`
//! 4. a semaphore's state
//! 5. `Node::pending`
//! 6. the two inboxes, the event pool, the stream pool and others: leaves, never held with another lock.
//!
//! # What is owned when a driver call fails
//!
//! | Failed call | The device may be using | So |
//! |---|---|---|
//! | a wait, or the first command | nothing | the submission fails and is dropped |
//! | a later command, the event, its record | the submission's resources | its signals fail now; the box goes to the completion thread, which keeps it until the stream is idle or the device lost |
//! | a query | the submission's resources | the same |
//! | any, with a sticky code | nothing any more | the device is lost: the box goes to the completion thread, which first tells the observer, then fails everything |

mod completion;
mod failure;
mod in_flight;
mod interop;
mod issue;
mod lanes;
mod node;
mod queue_core;
mod stamps;
mod states;
mod submit;
mod watchdog;
mod worker;

#[cfg(test)]
#[cfg(hal_loom)]
mod handshake_models;
#[cfg(test)]
#[cfg(hal_shuttle)]
mod models;
/// How often a thread with nothing to do offers the processor to others and looks again, before it sleeps. Work that
/// follows on work finds it awake, and need not pay for a wake-up, which costs its caller more than all the rest. Models
/// gain nothing by it but schedules.
const LINGER: u32 = if cfg!(any(hal_loom, hal_shuttle)) { 0 } else { 16 };

#[cfg(test)]
mod tests;

pub(crate) use completion::{CompletionInbox, run as run_completion};
pub(crate) use failure::cancel_unissued;
pub(crate) use in_flight::{Ages, InFlight};
pub(crate) use interop::{export_event, import_event};
pub(crate) use node::Node;
pub(crate) use queue_core::{Counters, QueueCore};
pub(crate) use states::Work;
pub(crate) use submit::ours;
pub(crate) use worker::{WorkerInbox, run as run_worker};
