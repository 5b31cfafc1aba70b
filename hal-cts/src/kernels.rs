//! The suite's kernels, in the format that a device loads.

use hal_core::{DeviceInfo, ExecutableFormat};

/// Whether there is an image of every kernel for this device.
pub(crate) fn available(info: &DeviceInfo) -> bool {
    info.capabilities.formats.contains(&ExecutableFormat::Ptx)
}
