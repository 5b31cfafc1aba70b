//! A loaded driver.

use crate::{Device, DeviceInfo, DeviceParams, Result};
use std::fmt;
use std::sync::Arc;

/// Where a driver came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DriverKind {
    /// The library the system has under the platform's usual names.
    System,
    /// The software GPU inside this process.
    Soft,
    /// A library loaded from a path that the caller or the environment gave.
    Path,
}

impl DriverKind {
    /// `system`, `soft` or `path`.
    pub fn name(self) -> &'static str {
        match self {
            DriverKind::System => "system",
            DriverKind::Soft => "soft",
            DriverKind::Path => "path",
        }
    }
}

impl fmt::Display for DriverKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is known of a driver without opening a device.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DriverInfo {
    /// The backend, `cuda` or `hip`.
    pub backend: &'static str,
    /// Where it came from.
    pub kind: DriverKind,
    /// Its version as the vendor writes it, `12.8`.
    pub version: String,
    /// The library that was loaded, or `in-process`.
    pub path: String,
}

impl DriverInfo {
    /// Everything a driver says of itself.
    pub fn new(backend: &'static str, kind: DriverKind, version: String, path: String) -> Self {
        DriverInfo { backend, kind, version, path }
    }
}

/// A loaded driver. Enumeration creates no contexts.
pub trait Driver: Send + Sync + fmt::Debug {
    /// What is known of it.
    fn info(&self) -> &DriverInfo;

    /// Every device it has, in the driver's order.
    ///
    /// # Errors
    /// Whatever the driver answers to being asked.
    fn devices(&self) -> Result<Vec<DeviceInfo>>;

    /// Opens the device with this ordinal.
    ///
    /// # Errors
    /// `NotFound` if there is no such ordinal, naming how many there are; otherwise what the driver answers.
    fn open(&self, ordinal: u32, params: &DeviceParams) -> Result<Arc<dyn Device>>;
}
