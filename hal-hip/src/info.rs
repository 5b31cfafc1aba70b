//! What is known of a device, without a context.

use crate::graph;
use crate::status::call;
use crate::sys::Symbols;
use crate::sys::bindings::{hipDevice_t, hipDeviceAttribute_t as Attribute, hipDeviceProp_tR0600, hipUUID};
use hal_core::{Capabilities, DeviceInfo, DriverInfo, ExecutableFormat, Limits, Result};
use hal_utils::loader::{text_of_array, uuid};
use std::ffi::c_int;
use std::mem::MaybeUninit;

/// The handle of a device.
pub(crate) fn device(symbols: &Symbols, number: c_int) -> Result<hipDevice_t> {
    let mut device = 0;
    // SAFETY: writes one handle.
    unsafe { call!(symbols, hipDeviceGet(&mut device, number)) }?;
    Ok(device)
}

/// The one format that code for this architecture has. AMD's are called `gfx…`; every other device that HIP drives
/// takes PTX.
pub(crate) fn format(arch: &str) -> ExecutableFormat {
    if arch.starts_with("gfx") { ExecutableFormat::AmdCodeObject } else { ExecutableFormat::Ptx }
}

/// Everything but the stream priorities, which a runtime tells of the current device only.
pub(crate) fn device_info(
    symbols: &Symbols,
    driver: &DriverInfo,
    ordinal: u32,
    device: hipDevice_t,
) -> Result<DeviceInfo> {
    let mut id = hipUUID { bytes: [0; 16] };
    // SAFETY: writes one value.
    unsafe { call!(symbols, hipDeviceGetUuid(&mut id, device)) }?;
    let mut properties = MaybeUninit::<hipDeviceProp_tR0600>::zeroed();
    // SAFETY: writes one structure, whose layout the function's suffix fixes.
    unsafe { call!(symbols, hipGetDeviceProperties(properties.as_mut_ptr(), device)) }?;
    // SAFETY: plain numbers and pointers, for which zero is a value, and written above.
    let properties = unsafe { properties.assume_init() };
    let arch = text_of_array(&properties.gcnArchName);
    // `gfx90a:sramecc+:xnack-` is the architecture and how it is set up.
    let arch = arch.split(':').next().unwrap_or(&arch).to_owned();
    // Old runtimes refuse attributes they do not know.
    let has = |attribute| self::attribute(symbols, device, attribute).is_ok_and(|value| value != 0);
    Ok(DeviceInfo {
        driver: driver.clone(),
        ordinal,
        name: text_of_array(&properties.name),
        uuid: uuid(&id.bytes),
        total_memory: properties.totalGlobalMem as u64,
        capabilities: Capabilities {
            formats: vec![format(&arch)],
            managed_memory: has(Attribute::hipDeviceAttributeManagedMemory),
            memory_pools: has(Attribute::hipDeviceAttributeMemoryPoolsSupported),
            graphs: graph::available(symbols),
            parameter_reflection: false,
            entry_point_listing: false,
        },
        limits: limits(&properties),
        arch,
    })
}

fn limits(properties: &hipDeviceProp_tR0600) -> Limits {
    let number = |value: c_int| u32::try_from(value).unwrap_or(0);
    Limits {
        max_workgroup_size: number(properties.maxThreadsPerBlock),
        max_workgroup_dims: properties.maxThreadsDim.map(number),
        max_grid_dims: properties.maxGridSize.map(number),
        // Without opting in to more: HIP can do that for functions of the host program only, not of a module.
        max_shared_memory: u32::try_from(properties.sharedMemPerBlock).unwrap_or(u32::MAX),
        subgroup_size: number(properties.warpSize),
        multiprocessors: number(properties.multiProcessorCount),
        stream_priorities: [0, 0],
    }
}

fn attribute(symbols: &Symbols, device: hipDevice_t, attribute: Attribute) -> Result<u32> {
    let mut value = 0;
    // SAFETY: writes one number.
    unsafe { call!(symbols, hipDeviceGetAttribute(&mut value, attribute, device)) }?;
    Ok(u32::try_from(value).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_architecture_decides_the_format() {
        assert_eq!(format("gfx90a"), ExecutableFormat::AmdCodeObject);
        for arch in ["softgpu-ptx", "", "sm_80"] {
            assert_eq!(format(arch), ExecutableFormat::Ptx);
        }
    }
}
