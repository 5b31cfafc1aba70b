//! Conformance suite for implementations of [`hal_core`].
//!
//! A [`Case`] tests one idea against an open device and knows nothing of backends. [`cases`] lists them all. Whether
//! a device can run a case is decided from its [`DeviceInfo`](hal_core::DeviceInfo) beforehand
//! ([`Case::unsupported`]): a case that runs passes or fails, and never skips itself.
//!
//! Cases have deadlines on every wait, yet a device can hang and a driver can abort. Run each in a process of its own.

#[macro_use]
mod check;
mod case;
mod futures;
mod kernels;
mod suites;
mod support;

pub use case::{Case, Requirement};
pub use check::{Failure, Outcome};
pub use suites::{cases, selftest};
