//! What a case is, and what it asks of a device.

use crate::{Outcome, kernels};
use hal_core::{Device, DeviceInfo, Encoding, ExecutableFormat};
use std::fmt;
use std::sync::Arc;

/// One idea, tested against an open device.
#[derive(Clone, Copy)]
pub struct Case {
    /// The file it lives in.
    pub suite: &'static str,
    /// Unique within its suite.
    pub name: &'static str,
    /// What the device must be able to do.
    pub requires: &'static [Requirement],
    /// What the device is to be opened with: `DeviceParams::encoding`. With `Encoding::Graph` it must have graphs.
    pub encoding: Encoding,
    /// Runs it.
    pub run: fn(&Arc<dyn Device>) -> Outcome,
}

impl Case {
    /// `suite/name`, unique among all cases.
    pub fn id(&self) -> String {
        format!("{}/{}", self.suite, self.name)
    }

    /// Why this device cannot run it; `None` if it can.
    pub fn unsupported(&self, info: &DeviceInfo) -> Option<String> {
        if self.encoding == Encoding::Graph && !info.capabilities.graphs {
            return Some("the device has no graphs".to_owned());
        }
        self.requires.iter().find_map(|requirement| requirement.unmet(info))
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case")
            .field("id", &self.id())
            .field("requires", &self.requires)
            .finish_non_exhaustive()
    }
}

/// Keeps ROCm's runtime from calling abort() when a kernel faults.
const KEEP_RUNNING: &str = "HIP_SKIP_ABORT_ON_GPU_ERROR";

/// Something not every device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Requirement {
    /// The suite's kernels exist in a format and for an architecture that the device loads.
    Kernels,
    /// PTX is loaded.
    Ptx,
    /// Managed memory can be allocated.
    ManagedMemory,
    /// Dispatches are checked against the kernel's parameters.
    ParameterReflection,
    /// Entry points can be listed.
    EntryPointListing,
    /// Points on timelines can be file descriptors.
    EventFd,
    /// A faulting kernel is reported rather than ending the process.
    FaultReporting,
}

impl Requirement {
    /// Why the device does not meet it; `None` if it does.
    pub fn unmet(self, info: &DeviceInfo) -> Option<String> {
        let can = &info.capabilities;
        let (met, reason) = match self {
            Requirement::Kernels => (
                kernels::available(info),
                format!("the suite has no kernels for {} that {} loads", info.arch, info.driver.backend),
            ),
            Requirement::Ptx => {
                (can.formats.contains(&ExecutableFormat::Ptx), "the device does not load PTX".into())
            }
            Requirement::ManagedMemory => (can.managed_memory, "the device has no managed memory".into()),
            Requirement::ParameterReflection => {
                (can.parameter_reflection, "the driver does not tell the parameters of kernels".into())
            }
            Requirement::EntryPointListing => {
                (can.entry_point_listing, "the driver does not list entry points".into())
            }
            Requirement::EventFd => (can.eventfd(), "the platform has no eventfd".into()),
            Requirement::FaultReporting => (
                can.formats.contains(&ExecutableFormat::Ptx) || std::env::var_os(KEEP_RUNNING).is_some(),
                format!("the driver ends the process when a kernel faults; set {KEEP_RUNNING}=1"),
            ),
        };
        (!met).then_some(reason)
    }
}
